"""What a role is about to say or do, and what the gate says of it."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from dramaturg.nodes.identity_context import ContextState


class Verdict(TypedDict):
    """What the gate says: the triple that it rests on, why, and how sure it is, where that is known."""

    verdict: Literal["allow", "revise", "block"]
    triple: dict[str, Any] | None
    reason: str
    probability: float | None
    error: str


class Proposal(TypedDict):
    """What a role is about to say or do: of which turn, and what the gate says of it, if it was asked."""

    turn: str
    id: str | None
    text: str
    verdict: Verdict | None


class DecisionState(ContextState):
    """What acting reads and writes: `proposals` A', and what the next one is told of the one before."""

    proposals: NotRequired[list[Proposal]]
    note: NotRequired[str]


def proposals_of(state: DecisionState) -> list[Proposal]:
    """The proposals of this turn: one that failed and was given up may have left some."""
    return [one for one in state.get("proposals") or [] if one["turn"] == turn_of(state)]


def turn_of(state: DecisionState) -> str:
    """The id of the message that is answered."""
    return str(state["messages"][-1].id)
