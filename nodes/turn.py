"""One turn of a conversation: what every workflow takes and gives, and how a turn begins."""

import operator
from typing import Annotated, Any, NotRequired

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage, trim_messages
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage
from dramaturg.nodes.run import RoleContext, settings
from dramaturg.prompts import load


class TurnInput(TypedDict):
    """What a workflow takes."""

    messages: Annotated[list[AnyMessage], add_messages]


class EvidenceState(TypedDict):
    """What every node may add to: why the reply is as it is, by mechanism, and what it cost, by node."""

    evidence: Annotated[dict[str, Any], operator.or_]
    usage: Annotated[dict[str, Usage], add_usage]


class TurnOutput(TurnInput, EvidenceState):
    """What a workflow gives: the window of the conversation, evidence and usage of this turn."""


class TurnState(TurnOutput):
    """A turn under way: the user's last message is its question u."""

    question: str


class StandaloneState(EvidenceState):
    """What the question means on its own, where a workflow has that worked out."""

    standalone: NotRequired[str]


class WindowSettings(RoleContext):
    """How much of a conversation stays in its state."""

    window: int = Field(
        default=20, ge=2, le=400, description="Messages kept in the state, and shown the model before the question."
    )


async def read_turn(state: TurnInput, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take the question from the last message, and begin new evidence and usage.

    More than the window and the question comes from elsewhere: a client that sends a whole conversation, a window that
    was made smaller, turns that had no reply. What is too old then is dropped without a summary.

    Raises:
        ValueError: the last message is not a user's, is empty, or is not valid Unicode.
    """
    messages = state["messages"]
    return {
        "question": question_in(messages),
        "messages": removals(leaving(messages, settings(runtime, WindowSettings).window + 1)),
        "evidence": Overwrite({}),
        "usage": Overwrite({}),
    }


def question_in(messages: list[AnyMessage]) -> str:
    """The text of the last message, which must be the user's."""
    last = messages[-1] if messages else None
    text = last.text.replace("\0", "").strip() if isinstance(last, HumanMessage) else ""
    if not text:
        msg = "There is nothing to answer: the last message must be the user's and hold some text."
        raise ValueError(msg)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = "The message is not valid Unicode (it holds half of a surrogate pair): send it again as UTF-8."
        raise ValueError(msg) from error
    return text


def leaving(messages: list[AnyMessage], most: int) -> list[AnyMessage]:
    """The oldest messages, so that at most `most` are left and the first of those is a user's."""
    kept = trim_messages(messages, max_tokens=most, token_counter=len, strategy="last", start_on="human")
    return messages[: len(messages) - len(kept)]


def removals(messages: list[AnyMessage]) -> list[BaseMessage]:
    """What a node returns to take messages out of the state."""
    return [RemoveMessage(id=str(message.id)) for message in messages]


def stranger_name(language: str) -> str:
    """What prompts call a user of whom nothing is known."""
    (only,) = load("stranger", language).messages()
    return only.text
