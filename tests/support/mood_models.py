"""A chat model that plays all parts of Emotional RAG and feels what a text says."""

import re
from collections.abc import Mapping

from langchain_core.messages import BaseMessage

from fakes import ScriptedChatModel
from roles import fenced, mood, said
from scope_roles import Answer, player

FELT: Mapping[str, Mapping[str, int]] = {
    "storm": {"joy": 9},
    "wedding": {"joy": 9},
    "drowned": {"sadness": 9},
    "died": {"sadness": 9},
    "spit on": {"disgust": 8, "anger": 7},
    "parcel": {"anticipation": 8, "joy": 6},
    "breath of wind": {"fear": 6},
}


def feelings(text: str) -> str:
    """What is felt in a text, told by a word in it; a question of some words stands by itself."""
    heard = fenced("said", text)
    text = heard if len(heard.split()) > 3 else text
    return mood(**next((scores for word, scores in FELT.items() if word in text), {}))


def feeler(**parts: Answer) -> ScriptedChatModel:
    """Play all parts, and feel what a text says."""
    return player(**{"mood": feelings, **parts})


def joined_feeler(**parts: Answer) -> ScriptedChatModel:
    """The same behind an endpoint that makes one message of all: the profile says nothing of the part."""
    model = feeler(**parts)

    def answer(messages: list[BaseMessage]) -> str | Exception:
        text = re.sub(r"<profile>\n.*?\n</profile>", "", said(messages), flags=re.DOTALL)
        return str(model.reply([messages[0].model_copy(update={"content": text})]))

    return ScriptedChatModel(reply=answer)
