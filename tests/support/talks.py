"""Conversations of AMADEUS with a model whose replies and findings name the question that they are from."""

import json
import re
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from dramaturg.conversations.conversation import Conversation
from dramaturg.models.errors import ModelUnavailable
from dramaturg.workflows import amadeus
from dramaturg.workflows.amadeus import AmadeusContext

from fakes import ScriptedChatModel
from roles import fenced, run_settings, said, small_role


class Player:
    """Plays AMADEUS: each reply and attribute names the question, so that a memory tells where it is from."""

    def __init__(self) -> None:
        self.down = False
        self.replies = 0
        self.shown: list[str] = []

    def __call__(self, messages: list[BaseMessage]) -> str | Exception:
        text = said(messages)
        question = fenced("question", text)
        if "In words that can be understood alone" in text:
            return question
        if "<passages>" in text:
            found = [{"attribute": f"She thought of {question}", "passage": 1}]
            return json.dumps({"belief_and_value": found, "psychological_traits": []})
        if "<passage>" in text:
            return '{"answer": "yes"}'
        if self.down:
            return ModelUnavailable("The model is not there.")
        self.replies += 1
        self.shown.append(text)
        return f"Reply {self.replies} to {question}"


def conversation(saver: BaseCheckpointSaver[Any], folder: Path, player: Player, **parameters: Any) -> Conversation:
    if not (folder / "library").exists():
        small_role(folder / "library")
    context = AmadeusContext(**run_settings(folder / "library", ScriptedChatModel(reply=player)))
    return Conversation(amadeus.build(), saver, context, "tea", **parameters)


async def questions(talk: Conversation) -> list[str]:
    return [turn.question for turn in await talk.history()]


async def memory(talk: Conversation) -> set[str]:
    """The questions that the role memory is from."""
    known = (await talk.values()).get("role_memory", [])
    return {re.sub("She thought of ", "", attribute["attribute"]) for attribute in known}
