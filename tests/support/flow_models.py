"""A model that plays all parts of all methods behind an endpoint, which has all messages of a prompt in one text."""

import re

from langchain_core.messages import BaseMessage, HumanMessage

from scope_roles import player, scoped


def answered(messages: list[BaseMessage]) -> str | Exception:
    """What a player says; the endpoint has all messages in one text, and a profile in each."""
    try:
        return player(scoped("Tom")).reply([HumanMessage(re.sub(r"(?s)<profile>.*?</profile>", "", messages[-1].text))])
    except KeyError:
        return "I keep the light."
