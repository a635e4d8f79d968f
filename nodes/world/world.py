"""The world of a simulation: its clock, what everybody notices, and what each agent has lived through (ID-RAG 5.1)."""

import asyncio
import operator
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypedDict

from dramaturg.models.chat import ChatModel, Usage, add_usage
from dramaturg.models.clients import name_of
from dramaturg.models.extracted import Extracted
from dramaturg.models.reading import normalize_word
from dramaturg.nodes.asking import asked_in_all
from dramaturg.nodes.identity.chronicle import Condition, IdentityChange
from dramaturg.nodes.identity.episodes import Episode
from dramaturg.nodes.identity.retrieval import SEARCH, UNLIMITED, IdentitySearchSettings
from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.run import RunContext, chat_in, library_of, needs, settings
from dramaturg.nodes.turn import UsageByNode
from dramaturg.stores.documents.scenario import Scenario, read_scenario
from dramaturg.stores.library import open_role

EVENT_IMPORTANCE = 5.0  # of what everybody notices, from 1 to 10


class WorldSettings(IdentitySearchSettings):
    """Which scenario is played, for how long, and where the identities of its agents come from."""

    scenario: Closed[str] = Field(
        default="riverbend", max_length=4096, description="A scenario of the package, or the path of a .yaml file."
    )
    condition: Open[Condition] = Field(
        default="id-rag",
        description="Where the identity of agents with a chronicle comes from: id-rag: looked up; full: the whole "
        "chronicle; baseline: inferred from memories, as it is for all others.",
    )
    steps: Open[int] = Field(default=0, ge=0, le=100, description="The number of steps; 0: as the scenario says.")
    deadline: Open[float] = Field(
        default=600,
        gt=0,
        le=3600,
        description="Seconds for one question, re-asks included; agents ask at once.",
    )
    talks: Open[int] = Field(default=2, ge=0, le=50, description="The largest number of conversations in a step.")
    identity_tokens: Open[int] = Field(
        default=UNLIMITED,
        ge=100,
        le=UNLIMITED,
        description="The largest number of tokens of the triples that were looked up; as good as none (the paper).",
    )
    seed: Open[int] = Field(
        default=0, ge=0, le=2**31 - 1, description="The random seed, which decides in which order actions happen."
    )


class Deed(TypedDict):
    """What an agent does in a step, and what that rested on: its working memory, and what it took itself for."""

    agent: str
    text: str
    situation: str
    self_image: str


class Heard(TypedDict):
    """What an agent notices, and how important it is, from 1 to 10."""

    agent: str
    text: str
    importance: float


Event = dict[str, Any]
"""A line of the log: {"step", "time", "kind", …}."""


AgentId = Annotated[str, Field(description="The id of the agent's role.")]
Step = Annotated[int, Field(description="The step that is played, an hour, from 1.")]
News = Annotated[
    dict[str, list[Episode]], Field(description="What is new to each agent: what it heard in the step before.")
]
Lived = Annotated[
    dict[str, list[Episode]], Field(description="What each agent remembers: all that was once news, with its hour.")
]
HeardNow = Annotated[list[Heard], Field(description="What was heard in this step; news in the next."), operator.add]
ChangesOfAgents = Annotated[
    dict[str, list[IdentityChange]], Field(description="How the identity of each agent has changed."), operator.or_
]
PlansOfAgents = Annotated[dict[str, str], Field(description="What each agent means to do."), operator.or_]
Votes = Annotated[dict[str, str], Field(description="For whom each agent has voted."), operator.or_]
EventLog = Annotated[list[Event], Field(description="What has happened, line by line."), operator.add]


class WorldState(TypedDict):
    """What lives on. What is heard becomes news, and then a memory: no prompt shows it twice."""

    step: Step
    began: Annotated[float, Field(description="When the step began by the clock on the wall, in seconds.")]
    over: Annotated[bool, Field(description="Whether the last step was played.")]
    polls: Annotated[str, Field(description="Whether votes are cast in this step: open, or not.")]
    talks: Annotated[int, Field(description="How many talks the step may have.")]
    agent_news: News
    agent_lived: Lived
    deeds: Annotated[list[Deed], Field(description="What the agents do in this step."), operator.add]
    heard: HeardNow
    agent_changes: ChangesOfAgents
    agent_plans: PlansOfAgents
    votes: Votes
    log: EventLog
    usage: UsageByNode


class WorldInput(TypedDict, total=False):
    """What a simulation takes: nothing, for all that it needs is in the context.

    A program may send where another simulation has come to; no form asks for it.
    """

    step: SkipJsonSchema[Step]
    agent_news: SkipJsonSchema[News]
    agent_lived: SkipJsonSchema[Lived]
    heard: Annotated[SkipJsonSchema[HeardNow], operator.add]
    agent_changes: Annotated[SkipJsonSchema[ChangesOfAgents], operator.or_]
    agent_plans: Annotated[SkipJsonSchema[PlansOfAgents], operator.or_]
    votes: Annotated[SkipJsonSchema[Votes], operator.or_]
    log: Annotated[SkipJsonSchema[EventLog], operator.add]
    usage: Annotated[SkipJsonSchema[UsageByNode], add_usage]


class WorldOutput(TypedDict):
    """What a simulation gives."""

    log: EventLog
    votes: Votes
    usage: UsageByNode


S = TypeVar("S", bound=WorldSettings)


@dataclass(frozen=True)
class World(Generic[S]):
    """What a node of a simulation works with; agents are known by their ids, and `names` says what they are called."""

    settings: S
    scenario: Scenario
    names: Mapping[str, str]
    chat: ChatModel
    """The chat model, with an account of what this node asks."""

    @property
    def language(self) -> str:
        """The language of prompts and answers."""
        return self.scenario.language

    @property
    def usage(self) -> Usage:
        """What this node has asked so far."""
        return self.chat.account.usage()


async def open_world(runtime: Runtime[Any], kind: type[S]) -> World[S]:
    """Open the scenario, its agents and the chat model for a node.

    Raises:
        RoleError: the library lacks an agent, or the scenario cannot be read.
        ValueError: two agents have one name.
    """
    own = settings(runtime, kind)
    scenario = await asyncio.to_thread(scenario_of, own)
    names = await asyncio.to_thread(names_of, own, scenario)
    return World(own, scenario, names, await chat_in(own, scenario.language))


def scenario_of(context: WorldSettings) -> Scenario:
    """The scenario of a run, read once a process.

    Raises:
        RoleFileError: it cannot be read.
    """
    return _scenario(context.scenario)


_scenario = cache(read_scenario)


def names_of(context: RunContext, scenario: Scenario) -> dict[str, str]:
    """What the agents are called, by their ids.

    Raises:
        RoleError: the library has no such role.
        ValueError: two have one name.
    """
    library = library_of(context)
    names = {one.role: open_role(one.role, library).card.name for one in scenario.agents}
    if len({normalize_word(name) for name in names.values()}) < len(names):
        raise ValueError(f"Two agents of {scenario.name} have one name: {', '.join(names.values())}.")
    return names


def steps_of(context: WorldSettings) -> int:
    """How many steps are played."""
    return context.steps or scenario_of(context).clock.steps


def event(step: int, now: str, kind: str, **details: Any) -> Event:
    """A line of the log."""
    return {"step": step, "time": now, "kind": kind, **details}


def left_out(answer: Extracted) -> dict[str, list[str]]:
    """What a line of the log says of an answer that was not read whole."""
    return {"dropped": list(answer.dropped)} if answer.dropped else {}


def logged(runtime: Runtime[Any], *lines: Event) -> list[Event]:
    """Stream lines of the log, and return them for the log."""
    for line in lines:
        runtime.stream_writer({"event": "logged", **line})
    return [*lines]


def described(context: WorldSettings, scenario: Scenario) -> dict[str, Any]:
    """What a run is, for whoever reads its log."""
    return {
        "scenario": scenario.name,
        "condition": context.condition,
        "steps": steps_of(context),
        "seed": context.seed,
        "model": name_of(context.chat_model),
        "agents": [one.role for one in scenario.agents],
        **{name: getattr(context, name) for name in SEARCH},
    }


async def begin_step(state: WorldState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Begin the next hour: what was news has become memory, and what was heard since is news.

    Raises:
        RoleFileError: the scenario cannot be read.
    """
    context = settings(runtime, WorldSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    step = state.get("step", 0) + 1
    before, now = scenario.clock.at(step - 1), scenario.clock.at(step)
    happening = [one.text for one in scenario.events if one.at == now]
    happens = [event(step, now, "event", text=text) for text in happening]
    first = [event(step, now, "run", **described(context, scenario))] if step == 1 else []
    lived, news = state.get("agent_lived") or {}, state.get("agent_news") or {}

    def news_of(agent: str) -> list[Episode]:
        heard = [(before, one["text"], one["importance"]) for one in state.get("heard") or [] if one["agent"] == agent]
        noticed = [(now, text, EVENT_IMPORTANCE) for text in happening]
        return [
            Episode(id=f"{step}.{number}", at=at, text=text, importance=importance)
            for number, (at, text, importance) in enumerate([*heard, *noticed], start=1)
        ]

    agents = [one.role for one in scenario.agents]
    return {
        "step": step,
        "agent_lived": {agent: [*lived.get(agent, []), *news.get(agent, [])] for agent in agents},
        "agent_news": {agent: news_of(agent) for agent in agents},
        "log": logged(runtime, *first, event(step, now, "step"), *happens),
        "began": time.time(),
        "deeds": Overwrite([]),
        "heard": Overwrite([]),
    }


@needs(step="begin_step", began="begin_step")
async def end_step(state: WorldState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Log what everybody will remember, who was elected if the polls have closed, and the cost so far."""
    context = settings(runtime, WorldSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    step, now = state["step"], scenario.clock.at(state["step"])
    memories = [event(step, now, "memory", **one) for one in state["heard"]]
    before = scenario.polls_at(scenario.clock.at(step - 1))
    closed = scenario.polls_at(now) == "closed" and before != "closed"
    result = [event(step, now, "result", **counted(state["votes"], scenario.candidates))] if closed else []
    spent = next((one["seconds"] for one in reversed(state["log"]) if one["kind"] == "cost"), 0.0)
    cost = {
        **asked_in_all(state["usage"].values()),
        "lines": sum(one["kind"] == "line" for one in state["log"]),
        "seconds": round(spent + time.time() - state["began"], 3),  # by the wall clock: they differ from run to run
    }
    return {
        "over": step >= steps_of(context),
        "log": logged(runtime, *memories, *result, event(step, now, "cost", **cost)),
    }


def counted(votes: Mapping[str, str], candidates: Sequence[str]) -> dict[str, Any]:
    """How many votes each candidate has, and who has the most; nobody in a tie."""
    counts = {one: sum(choice == one for choice in votes.values()) for one in candidates}
    most = [one for one, number in counts.items() if number == max(counts.values())]
    return {"votes": counts, "winner": most[0] if len(most) == 1 else None}


@needs(over="end_step")
def step_outcome(state: WorldState) -> Literal["next", "over"]:
    """Whether there is another step; asked of the state alone, for who edits a state has no context."""
    return "over" if state["over"] else "next"
