"""Conversations of a plain method with a model that tells what it was shown of the talk before its window."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.conversation import Conversation
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.conversations.talk import TalkRecord, TalkRecords
from dramaturg.workflows.methods import chat_graph, context_type

from fakes import ScriptedChatModel
from roles import fenced, run_settings, said, small_role

TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon in the cellar."
ASKED = "What do you know of Wilhelmina and her tortoise?"
SMALL = ["Do you like rain?", "What is for supper?", "Is the ferry late?", "Who mends your nets?", "Are you tired?"]


class Listener:
    """Replies by number, and keeps what each prompt shows of the talk before the window."""

    def __init__(self) -> None:
        self.replies = 0
        self.recalled = ""
        self.down = False

    def __call__(self, messages: list[BaseMessage]) -> str | Exception:
        if self.down:
            return ModelUnavailable("The model is not there.")
        self.recalled = fenced("recalled", said(messages))
        self.replies += 1
        return f"Reply {self.replies}."


def kept_talk(
    folder: Path,
    saver: BaseCheckpointSaver[Any],
    store: BaseStore | None,
    thread: str = "tea",
    *,
    listener: Listener | None = None,
    method: str = "vanilla",
    **settings: Any,
) -> Conversation:
    """A talk with a window of four messages and no summary."""
    if not (folder / "library").exists():
        small_role(folder / "library")
    given = {"window": 4, "summary_tokens": 0} | settings
    model = ScriptedChatModel(reply=listener or Listener())
    context = context_type(method)(**run_settings(folder / "library", model, **given))
    return Conversation(chat_graph(method), saver, context, thread, store=store)


def small_talk(number: int) -> list[str]:
    """So many lines, no two of them the same."""
    return [f"{SMALL[at % len(SMALL)]} I ask for the {at}. time." for at in range(number)]


def history_of(*told: str) -> list[Exchange]:
    """What a chat client keeps of a talk."""
    return [Exchange(text, f"Well: {at}.") for at, text in enumerate(told)]


def records_of(talk: Conversation) -> TalkRecords:
    assert talk.store is not None
    return TalkRecords(talk.store, talk.context.role, talk.thread.name)


async def branch_of(talk: Conversation) -> list[TalkRecord]:
    """What is kept of the branch that is the head."""
    return await records_of(talk).branch((await talk.values()).get("talk_head", ""))


def lines_in(records: Sequence[TalkRecord]) -> list[str]:
    """What the user has said in records."""
    return [line.text for one in records for line in one.said if line.who == "human"]


async def recalled_in(talk: Conversation, text: str) -> list[str]:
    """What comes back of the talk where the user says something."""
    output = await talk.take_turn(text)
    return [one["text"] for one in output["evidence"].get("talk", [])]
