"""Perception: what a role is asked, and in a simulation what it sees and when (ID-RAG, Algorithm 1, step 1)."""

from datetime import datetime
from typing import Annotated, Any, NotRequired

from langgraph.channels import EphemeralValue
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from dramaturg.models.reading import normalize_word
from dramaturg.nodes.reply import AskedState
from dramaturg.nodes.turn import Report, TurnInput


class Percepts(TypedDict):
    """What a simulation gives beside the question: where it plays, what was seen, the hour, and what may be chosen.

    `observations` is there, if empty, wherever a deed is wanted and not a reply; `now` is a date and time of ISO 8601.
    Nothing of it stays for the next decision, also where this one is refused.
    """

    scene: NotRequired[Annotated[str, EphemeralValue]]
    observations: NotRequired[Annotated[list[str] | None, EphemeralValue]]
    options: NotRequired[Annotated[list[str], EphemeralValue]]
    now: NotRequired[Annotated[str, EphemeralValue]]


class DecisionInput(TurnInput, Percepts):
    """What a decision takes: in a conversation nothing but messages."""


class Percept(TypedDict):
    """What was perceived in this decision; `observations` is None in a conversation."""

    scene: str
    observations: list[str] | None
    options: list[str]
    now: str


class PerceptionState(AskedState, Percepts, Report):
    """What perceiving reads and writes: `percept` is o."""

    percept: Percept


async def perceive(state: PerceptionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take up what the role perceives, o = observe(E). It must come first: what is given is gone after a step.

    Raises:
        ValueError: `now` is no date and time, or there are options that do not differ.
    """
    percept: Percept = {
        "scene": state.get("scene", ""),
        "observations": state.get("observations"),
        "options": state.get("options") or [],
        "now": state.get("now", ""),
    }
    check(percept)
    return {"percept": percept}


def check(percept: Percept) -> None:
    """Refuse what nobody can decide on."""
    when(percept["now"])
    options = percept["options"]
    if (
        len({*map(normalize_word, options)}) != len(options)
        or len(options) == 1
        or not all(map(normalize_word, options))
    ):
        msg = "`options` are two or more texts that differ, or none."
        raise ValueError(msg)


def about(state: PerceptionState) -> str:
    """What a decision is about, in words to search by."""
    return "\n".join([state["question"], *(state["percept"]["observations"] or [])])


def when(text: str) -> datetime | None:
    """A date or a date and time; None for an empty text.

    Raises:
        ValueError: it is neither.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError as error:
        msg = f"{text!r} is no date and time: write one as 2024-10-01T09:00."
        raise ValueError(msg) from error


def speaks(state: PerceptionState) -> bool:
    """Whether the role replies, as in a conversation; else it acts or chooses, and is shown no window."""
    return state["percept"]["observations"] is None and not state["percept"]["options"]


def day_of(state: PerceptionState) -> str:
    """The day of a decision; empty where nobody says when it is."""
    now = when(state["percept"]["now"])
    return now.date().isoformat() if now else ""
