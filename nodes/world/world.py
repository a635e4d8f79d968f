"""The world of a simulation: its clock, what everybody notices, and what each agent has lived through (ID-RAG 5.1)."""

import asyncio
import operator
import random
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage
from dramaturg.models.client import name_of
from dramaturg.nodes.identity.chronicle import Condition, IdentityChange
from dramaturg.nodes.identity.episodes import Episode
from dramaturg.nodes.run import RunContext, settings
from dramaturg.stores.scenario import Scenario, read_scenario


class WorldSettings(RunContext):
    """Which scenario is played, and for how long."""

    scenario: str = Field(
        default="riverbend", max_length=4096, description="A scenario of the package, or the path of a .yaml file."
    )
    condition: Condition = Field(
        default="id-rag",
        description="Where the identity of agents with a chronicle comes from: id-rag: looked up; full: the whole "
        "chronicle; baseline: inferred from memories, as it is for all others.",
    )
    steps: int = Field(default=0, ge=0, le=100, description="The steps that are played; 0: the scenario's own.")
    deadline: float = Field(
        default=600,
        gt=0,
        le=3600,
        description="Seconds for one question, re-asks included; agents ask at once.",
    )
    seed: int = Field(default=0, ge=0, le=2**31 - 1, description="Decides in which order deeds come about.")


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


OF_EVENTS = 5.0  # how important it is what everybody notices, from 1 to 10


class WorldState(TypedDict):
    """What lives on: the step, what each agent has lived through and become, its votes, and the log of all of it.

    `deeds` and `heard` are those of the step under way. What was heard in a step is `news` in the next one, and a
    memory, in `lived`, after that: no prompt shows it twice. It keeps the hour at which it happened.
    `began` is when the step began by the clock on the wall, `over` whether the last one was played.
    """

    step: int
    began: float
    over: bool
    news: dict[str, list[Episode]]
    lived: dict[str, list[Episode]]
    deeds: Annotated[list[Deed], operator.add]
    heard: Annotated[list[Heard], operator.add]
    identity_changes: Annotated[dict[str, list[IdentityChange]], operator.or_]
    votes: Annotated[dict[str, str], operator.or_]
    log: Annotated[list[Event], operator.add]
    usage: Annotated[dict[str, Usage], add_usage]


class WorldInput(TypedDict, total=False):
    """What a simulation takes: nothing, for all that it needs is in the context; or where another one has come to."""

    step: int
    news: dict[str, list[Episode]]
    lived: dict[str, list[Episode]]
    heard: Annotated[list[Heard], operator.add]
    identity_changes: Annotated[dict[str, list[IdentityChange]], operator.or_]
    votes: Annotated[dict[str, str], operator.or_]
    log: Annotated[list[Event], operator.add]
    usage: Annotated[dict[str, Usage], add_usage]


class WorldOutput(TypedDict):
    """What a simulation gives: its log, the votes, and what it cost by node."""

    log: Annotated[list[Event], operator.add]
    votes: Annotated[dict[str, str], operator.or_]
    usage: Annotated[dict[str, Usage], add_usage]


async def begin_step(state: WorldState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Let the next hour begin: what was news has become memory, and what was heard since is news.

    Raises:
        RoleFileError: the scenario cannot be read.
    """
    context = settings(runtime, WorldSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    step = state.get("step", 0) + 1
    now = scenario.clock.at(step)
    told = [one.text for one in scenario.events if one.at == now]
    first = [event(step, now, "run", **described(context, scenario))] if step == 1 else []
    log = [*first, event(step, now, "step"), *(event(step, now, "event", text=text) for text in told)]
    return {
        "step": step,
        "lived": {one.role: lived_through(state, one.role) for one in scenario.agents},
        "news": {one.role: news_of(state, one.role, told, scenario) for one in scenario.agents},
        "log": log,
        "began": time.time(),
        "deeds": Overwrite([]),
        "heard": Overwrite([]),
    }


async def end_step(state: WorldState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Write down what everybody will remember, who was elected if the polls have closed, and the cost so far."""
    context = settings(runtime, WorldSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    step, now = state["step"], scenario.clock.at(state["step"])
    memories = [event(step, now, "memory", **one) for one in state["heard"]]
    before = scenario.polls_at(scenario.clock.at(step - 1))
    closed = scenario.polls_at(now) == "closed" and before != "closed"
    result = [event(step, now, "result", **counted(state["votes"], scenario.candidates))] if closed else []
    log = [*memories, *result, event(step, now, "cost", **cost_of(state))]
    return {"over": step >= steps_of(context), "log": log}


def step_outcome(state: WorldState) -> Literal["next", "over"]:
    """Whether there is another step; asked of the state alone, for who changes a state has no context."""
    return "over" if state["over"] else "next"


def scenario_of(context: WorldSettings) -> Scenario:
    """The scenario of a run, read once.

    Raises:
        RoleFileError: it cannot be read.
    """
    return _scenario(context.scenario)


def steps_of(context: WorldSettings) -> int:
    """How many steps are played."""
    return context.steps or scenario_of(context).clock.steps


def in_order(agents: Sequence[str], context: WorldSettings, step: int) -> list[str]:
    """The agents in the order in which their deeds come about in a step: chance, but the same for one seed."""
    order = list(agents)
    random.Random(f"{context.seed} {step}").shuffle(order)  # noqa: S311 (no secret hangs on it)
    return order


def event(step: int, now: str, kind: str, **told: Any) -> Event:
    """A line of the log."""
    return {"step": step, "time": now, "kind": kind, **told}


def described(context: WorldSettings, scenario: Scenario) -> dict[str, Any]:
    """What a run is, for whoever reads its log."""
    return {
        "scenario": scenario.name,
        "condition": context.condition,
        "steps": steps_of(context),
        "seed": context.seed,
        "model": name_of(context.chat_model),
        "agents": [one.role for one in scenario.agents],
    }


def lived_through(state: WorldState, agent: str) -> list[Episode]:
    """What an agent remembers of the simulation: with what was news until now."""
    before, news = state.get("lived") or {}, state.get("news") or {}
    return [*before.get(agent, []), *news.get(agent, [])]


def news_of(state: WorldState, agent: str, told: Sequence[str], scenario: Scenario) -> list[Episode]:
    """What an agent has heard in the step before, and what everybody notices in the one that begins."""
    step = state.get("step", 0) + 1
    before, now = scenario.clock.at(step - 1), scenario.clock.at(step)
    heard = [(before, one["text"], one["importance"]) for one in state.get("heard") or [] if one["agent"] == agent]
    noticed = [(now, text, OF_EVENTS) for text in told]
    return [
        Episode(id=f"{step}.{number}", at=at, text=text, importance=importance)
        for number, (at, text, importance) in enumerate([*heard, *noticed], start=1)
    ]


def counted(votes: Mapping[str, str], candidates: Sequence[str]) -> dict[str, Any]:
    """How many votes each candidate has, and who has the most; nobody where two have as many."""
    counts = {one: sum(choice == one for choice in votes.values()) for one in candidates}
    most = [one for one, number in counts.items() if number == max(counts.values())]
    return {"votes": counts, "winner": most[0] if len(most) == 1 else None}


def cost_of(state: WorldState) -> dict[str, Any]:
    """What the run has cost so far; seconds are those of the clock on the wall, and differ from run to run."""
    used = state["usage"].values()
    before = next((one["seconds"] for one in reversed(state["log"]) if one["kind"] == "cost"), 0.0)
    return {
        "calls": sum(one["calls"] for one in used),
        "tokens": sum(one["prompt_tokens"] + one["completion_tokens"] for one in used),
        "lines": sum(one["kind"] == "line" for one in state["log"]),
        "seconds": round(before + time.time() - state["began"], 3),
    }


@cache
def _scenario(name: str) -> Scenario:
    return read_scenario(name)
