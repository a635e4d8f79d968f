"""Perception: what a role is asked, and in a simulation what it sees and when (ID-RAG, Algorithm 1, step 1)."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired

from langgraph.channels import EphemeralValue
from langgraph.runtime import Runtime
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from dramaturg.models.reading import normalize_word
from dramaturg.nodes.reply import AskedState
from dramaturg.nodes.run import RoleContext, Run, needs, settings
from dramaturg.nodes.self_contained import in_full, talk_before
from dramaturg.nodes.turn import LONGEST_MESSAGE, StandaloneState, TurnInput


class PerceptInput(TypedDict):
    """What a simulation gives beside the question, and no form of a talk asks for.

    Nothing of it stays for the next decision, also where this one fails.
    """

    scene: NotRequired[Annotated[SkipJsonSchema[str], Field(description="Where it plays."), EphemeralValue]]
    observations: NotRequired[
        Annotated[
            SkipJsonSchema[list[str] | None],
            Field(description="What was seen; there, if empty, wherever an action is wanted and not a reply."),
            EphemeralValue,
        ]
    ]
    options: NotRequired[Annotated[SkipJsonSchema[list[str]], Field(description="What may be chosen."), EphemeralValue]]
    now: NotRequired[
        Annotated[SkipJsonSchema[str], Field(description="The date and time, in ISO 8601."), EphemeralValue]
    ]


class DecisionInput(TurnInput, PerceptInput):
    """The input of a decision: in a conversation nothing but messages."""


class Percept(TypedDict):
    """What was perceived in this decision; `observations` is None in a conversation.

    `as_of` is the moment by which an identity is read: of `now`, of the settings, or today as the turn began.
    """

    scene: str
    observations: list[str] | None
    options: list[str]
    now: str
    as_of: NotRequired[str]


Perceived = Annotated[Percept, Field(description="What was perceived in this decision, o.")]


class PerceptionState(AskedState, PerceptInput, StandaloneState):
    """What perceiving reads and writes."""

    percept: Perceived


async def perceive(state: PerceptionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Observe the environment, o = observe(E). This node comes first: its input is gone after one step.

    Raises:
        ValueError: `now` is not a date and time, the options do not differ, or there are more than `LONGEST_MESSAGE`
            characters of what is perceived.
    """
    percept: Percept = {
        "scene": state.get("scene", ""),
        "observations": state.get("observations"),
        "options": state.get("options") or [],
        "now": state.get("now", ""),
    }
    length = len(percept["scene"]) + sum(map(len, (*(percept["observations"] or ()), *percept["options"])))
    if length > LONGEST_MESSAGE:
        msg = f"`scene`, `observations` and `options` have {length:,} characters, and {LONGEST_MESSAGE:,} are the most."
        raise ValueError(msg)
    now = parse_time(percept["now"]) or datetime.now(UTC).astimezone()
    chosen = "" if percept["now"] else settings(runtime, RoleContext).as_of
    percept["as_of"] = chosen or now.date().isoformat()
    options = [normalize_word(one) for one in percept["options"]]
    if len({*options}) != len(options) or len(options) == 1 or not all(options):
        msg = "`options` are two or more texts that differ, or none."
        raise ValueError(msg)
    return {"percept": percept}


def search_text(state: PerceptionState) -> str:
    """The question and the observations, as the query of a similarity search."""
    return "\n".join([question_of(state), *(state["percept"]["observations"] or [])])


def question_of(state: PerceptionState) -> str:
    """The question, in full where it is one of a talk."""
    return in_full(state) if is_reply(state) else state["question"]


def before(run: Run[Any], state: PerceptionState) -> str:
    """What was said before the question, as a section of prompts; nothing where a deed is wanted, or a choice."""
    return talk_before(run, state) if is_reply(state) else ""


@needs(percept="perceive")
def hearing_outcome(state: PerceptionState) -> Literal["talk", "deed"]:
    """Whether the question is one of a talk, which may refer to what was said before."""
    return "talk" if is_reply(state) else "deed"


def is_reply(state: PerceptionState) -> bool:
    """Whether a reply is wanted, as in a conversation; for an action or a choice no message window is shown."""
    return state["percept"]["observations"] is None and not state["percept"]["options"]


def date_of_turn(state: PerceptionState) -> str:
    """The moment by which an identity is read, such as a day; empty where the time is not known."""
    percept = state["percept"]
    now = parse_time(percept["now"])
    return percept.get("as_of") or (now.date().isoformat() if now else "")


def parse_time(text: str) -> datetime | None:
    """Parse an ISO date, or date and time; None for an empty text.

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
