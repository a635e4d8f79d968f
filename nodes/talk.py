"""A talk between two agents: line after line, until one leaves or the budget is spent (ID-RAG 5.5 and 6.3)."""

import asyncio
import operator
from typing import Annotated, Any, Literal, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.nodes.context import respondent_in, settings
from dramaturg.nodes.game_master import names_of
from dramaturg.nodes.world import Event, Heard, WorldSettings, event, scenario_of
from dramaturg.prompts import load

IMPORTANCE = 4.0  # of what is said in a talk, from 1 to 10


class TalkSettings(WorldSettings):
    """The budget of talks."""

    talks: int = Field(default=2, ge=0, le=50, description="The most talks in a step.")
    talk_lines: int = Field(default=4, ge=1, le=50, description="The most lines of a talk.")
    temperature: float = Field(default=0.5, ge=0, le=2, description="Sampling temperature of deeds and lines.")


class Said(TypedDict):
    """A line of a talk."""

    agent: str
    text: str


class TalkInput(TypedDict):
    """Who talks with whom, about what, and what the two take themselves for in this step."""

    step: int
    pair: list[str]
    about: str
    images: dict[str, str]


class TalkOutput(TypedDict):
    """What a talk leaves: what both have heard, its lines in the log, and its cost."""

    heard: Annotated[list[Heard], operator.add]
    log: Annotated[list[Event], operator.add]
    usage: Annotated[dict[str, Usage], add_usage]


class TalkState(TalkInput, TalkOutput):
    """A talk under way."""

    lines: Annotated[list[Said], operator.add]
    left: bool


class Line(BaseModel):
    """{line, leaves}: what is said, and whether whoever says it then leaves."""

    model_config = ConfigDict(extra="forbid")

    line: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]
    leaves: bool = Field(strict=True)


T = TypeVar("T", bound=TalkSettings)


async def say(state: TalkState, runtime: Runtime[T]) -> dict[str, Any]:
    """Say the next line of a talk, in turn; where the model gives no usable one the talk is over.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    context = settings(runtime, TalkSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    names = await asyncio.to_thread(names_of, context, scenario)
    chat = await respondent_in(context, scenario.language)
    lines, now = state.get("lines") or [], scenario.clock.at(state["step"])
    speaker, other = state["pair"] if len(lines) % 2 == 0 else reversed(state["pair"])
    said_so_far = "\n".join(f"{names[one['agent']]}: {one['text']}" for one in lines)
    messages = load("say_line", scenario.language).messages(
        role=names[speaker],
        user=names[other],
        self_image=state["images"][speaker],
        data={"deed": state["about"], "conversation": said_so_far},
    )
    try:
        said = await extract(chat, messages, Line, temperature=context.temperature)
    except UNANSWERED as error:
        log = [event(state["step"], now, "silence", agent=speaker, to=other, error=str(error))]
        return {"left": True, "log": log, "usage": {"say": chat.account.usage()}}
    log = [event(state["step"], now, "line", agent=speaker, to=other, text=said.line)]
    line = Said(agent=speaker, text=said.line)
    return {"lines": [line], "left": said.leaves, "log": log, "usage": {"say": chat.account.usage()}}


def talk_outcome(state: TalkState, runtime: Runtime[T]) -> Literal["goes on", "over"]:
    """Whether another line follows."""
    spent = len(state.get("lines") or []) >= settings(runtime, TalkSettings).talk_lines
    return "over" if state["left"] or spent else "goes on"


async def remember_talk(state: TalkState, runtime: Runtime[T]) -> dict[str, Any]:
    """Let both have heard what was said."""
    context = settings(runtime, TalkSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    names = await asyncio.to_thread(names_of, context, scenario)
    said = " ".join(f"{names[one['agent']]}: “{one['text']}”" for one in state.get("lines") or [])
    return {"heard": [Heard(agent=agent, text=said, importance=IMPORTANCE) for agent in state["pair"] if said]}
