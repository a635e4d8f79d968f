"""A talk between two agents: line after line, until one leaves or the budget is spent (ID-RAG 5.5 and 6.3)."""

import operator
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import Truth
from dramaturg.models.questions import extract
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import needs
from dramaturg.nodes.turn import UsageByNode
from dramaturg.nodes.world.world import (
    EventLog,
    Heard,
    HeardNow,
    Step,
    WorldSettings,
    event,
    left_out,
    logged,
    open_world,
)
from dramaturg.prompts import load

LONGEST_TALK = 200  # lines of a talk without a budget, in which nobody leaves
TOLD = 16_000  # bytes of a talk that a prompt shows and who talked remembers: about 4,000 tokens
SAID = 1000  # characters of a line, about the 256 tokens of the paper (5.2)
TALK_IMPORTANCE = 4.0  # of what is said in a talk, from 1 to 10


class TalkSettings(WorldSettings):
    """The budget of talks."""

    talk_lines: Open[int] = Field(
        default=4,
        ge=0,
        le=50,
        description="The largest number of lines in a conversation; 0: none, it ends when one of the two leaves (at "
        "the latest after 200 lines).",
    )
    temperature: Open[float] = Field(default=0.5, ge=0, le=2, description="Sampling temperature for actions and lines.")

    @property
    def most_lines(self) -> int:
        """The most lines that a talk can have."""
        return self.talk_lines or LONGEST_TALK


class Said(TypedDict):
    """A line of a talk."""

    agent: str
    text: str


class TalkInput(TypedDict):
    """What a talk begins with."""

    step: Step
    pair: Annotated[list[str], Field(description="Who talks with whom: two ids, of whom the first begins.")]
    about: Annotated[str, Field(description="What the talk is about: a deed of the one who begins.")]
    images: Annotated[dict[str, str], Field(description="What the two take themselves for in this step.")]


class TalkOutput(TypedDict):
    """What a talk leaves."""

    heard: HeardNow
    log: EventLog
    usage: UsageByNode


class TalkState(TalkInput, TalkOutput):
    """A talk under way."""

    lines: Annotated[list[Said], Field(description="What was said so far."), operator.add]
    most_lines: Annotated[int, Field(description="The most lines of the talk.")]
    left: Annotated[bool, Field(description="Whether one of the two has left.")]


class Line(Extracted):
    """{line, leaves}: what is said, and whether whoever says it then leaves."""

    line: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=SAID)]
    leaves: Truth = False


@needs(step="send_talks", pair="send_talks", about="send_talks", images="send_talks")
async def say(state: TalkState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say the next line of a talk, in turn; without a usable one of the model the talk is over.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    world = await open_world(runtime, TalkSettings)
    lines, step, most = state.get("lines") or [], state["step"], world.settings.most_lines
    now = world.scenario.clock.at(step)
    speaker, other = state["pair"] if len(lines) % 2 == 0 else reversed(state["pair"])
    messages = load("say_line", world.language).messages(
        role=world.names[speaker],
        user=world.names[other],
        self_image=state["images"][speaker],
        data={
            "deed": state["about"],
            "conversation": "\n".join(newest(f"{world.names[one['agent']]}: {one['text']}" for one in lines)),
        },
    )
    try:
        said = await extract(world.chat, messages, Line, temperature=world.settings.temperature)
    except UNANSWERED as error:
        log = logged(runtime, event(step, now, "silence", agent=speaker, to=other, error=str(error)))
        return {"left": True, "most_lines": most, "log": log, "usage": {"say": world.usage}}
    log = logged(runtime, event(step, now, "line", agent=speaker, to=other, text=said.line, **left_out(said)))
    line = Said(agent=speaker, text=said.line)
    written = {"lines": [line], "left": said.leaves, "most_lines": most}
    return {**written, "log": log, "usage": {"say": world.usage}}


@needs(left="say")
def talk_outcome(state: TalkState) -> Literal["goes on", "over"]:
    """Whether another line follows."""
    spent = len(state.get("lines") or []) >= state["most_lines"]
    return "over" if state["left"] or spent else "goes on"


@needs(pair="send_talks")
async def remember_talk(state: TalkState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Let both have heard what was said; of a very long talk, its end."""
    names = (await open_world(runtime, TalkSettings)).names
    said = " ".join(newest(f"{names[one['agent']]}: “{one['text']}”" for one in state.get("lines") or []))
    return {"heard": [Heard(agent=agent, text=said, importance=TALK_IMPORTANCE) for agent in state["pair"] if said]}


def newest(lines: Iterable[str]) -> list[str]:
    """The last lines of a talk, as many as have room together."""
    kept, left = list[str](), TOLD
    for one in reversed([*lines]):
        if (size := len(one.encode(errors="replace")) + 1) > left:
            break
        kept.append(one)
        left -= size
    return kept[::-1]
