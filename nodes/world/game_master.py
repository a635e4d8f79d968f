"""The game master: it says the result of a deed, who notices it, and who is drawn into a talk (ID-RAG 2.2 and 5.1)."""

import asyncio
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import Field, StringConstraints, create_model
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import Scale
from dramaturg.models.questions import choose, extract
from dramaturg.nodes.asking import together
from dramaturg.nodes.run import needs, settings
from dramaturg.nodes.world.world import (
    AgentId,
    Deed,
    Event,
    Heard,
    Step,
    World,
    WorldSettings,
    WorldState,
    event,
    left_out,
    logged,
    open_world,
    scenario_of,
)
from dramaturg.prompts import load

NOBODY = "nobody"
UNKNOWN_IMPORTANCE = 3.0  # of a deed of which the game master gives no account


class Outcome(Extracted):
    """{happens, noticed_by, talks_with, importance}: the result of a deed; nobody talks where nobody is named."""

    happens: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]  # about 256 tokens
    noticed_by: list[str]
    talks_with: str = NOBODY
    importance: Annotated[int, Scale(1, 10)]


class VoterInput(TypedDict):
    """What a voter is given: the hour, and what its deed in this hour rested on."""

    agent: AgentId
    step: Step
    situation: Annotated[str, Field(description="Its working memory.")]
    self_image: Annotated[str, Field(description="What it takes itself for.")]


@needs(step="begin_step")
async def resolve(state: WorldState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say of every deed the result of it; those who notice it hear of it, and whoever did it remembers it.

    Without a usable account of the model only the deed itself is known, to whoever did it.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    world = await open_world(runtime, WorldSettings)
    deeds = {one["agent"]: one for one in state["deeds"]}
    order = in_order([one for one in world.names if one in deeds], world.settings, state["step"])
    # One alone first: a server with a prompt cache then reads the scene once.
    found = [await resolved(world, deeds[agent], state["step"]) for agent in order[:1]]
    found += await together(*(resolved(world, deeds[agent], state["step"]) for agent in order[1:]))
    log, heard = logged(runtime, *(line for line, _ in found)), [one for _, heard in found for one in heard]
    return {"heard": heard, "log": log, "talks": world.settings.talks, "usage": {"resolve": world.usage}}


def in_order(agents: Sequence[str], context: WorldSettings, step: int) -> list[str]:
    """The agents in the order in which they act in a step: chance, but the same for one seed."""
    order = list(agents)
    random.Random(f"{context.seed} {step}").shuffle(order)  # noqa: S311 (no secret hangs on it)
    return order


async def resolved(world: World[WorldSettings], deed: Deed, step: int) -> tuple[Event, list[Heard]]:
    """Ask the result of a deed: what the log says of it, and who hears of it.

    The game master is shown and gives names; the log and what is heard have ids.
    """
    agent, now = deed["agent"], world.scenario.clock.at(step)
    ids = {name: one for one, name in world.names.items()}
    others = tuple(name for name, one in ids.items() if one != agent)
    messages = load("resolve_action", world.language).messages(
        place=world.scenario.name,
        role=world.names[agent],
        others=", ".join(others),
        data={"scene": "\n".join(world.scenario.shared), "now": now.replace("T", " "), "deed": deed["text"]},
    )
    try:
        outcome = await extract(world.chat, messages, outcome_among(others))
    except UNANSWERED as error:
        nothing = {"text": "", "noticed_by": [], "talks_with": "", "error": str(error)}
        heard = Heard(agent=agent, text=deed["text"], importance=UNKNOWN_IMPORTANCE)
        return event(step, now, "outcome", agent=agent, **nothing), [heard]
    noticed = {*outcome.noticed_by, outcome.talks_with}
    hearing = [agent, *(one for name, one in ids.items() if name in noticed and one != agent)]
    line = event(
        step,
        now,
        "outcome",
        agent=agent,
        talks_with=ids.get(outcome.talks_with, ""),
        text=outcome.happens,
        noticed_by=[ids[name] for name in dict.fromkeys(outcome.noticed_by)],
        importance=outcome.importance,
        **left_out(outcome),
    )
    importance = float(outcome.importance)
    return line, [Heard(agent=one, text=outcome.happens, importance=importance) for one in hearing]


@lru_cache(maxsize=128)
def outcome_among(others: tuple[str, ...]) -> type[Outcome]:
    """The form of an outcome that names nobody whom there is not."""
    who: Any = Literal.__getitem__(others)
    fields: dict[str, Any] = {
        "noticed_by": (Annotated[list[who], Field(max_length=len(others))], ...),
        "talks_with": (Literal.__getitem__((*others, NOBODY)), NOBODY),
    }
    return create_model("OutcomeAmong", __base__=Outcome, **fields)


@needs(step="begin_step")
async def poll(state: WorldState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Come together before votes are cast, and see whether the polls are open."""
    scenario = await asyncio.to_thread(scenario_of, settings(runtime, WorldSettings))
    return {"polls": scenario.polls_at(scenario.clock.at(state["step"]))}


@needs(polls="poll", agent_news="begin_step", step="begin_step")
def send_voters(state: WorldState) -> list[Send] | str:
    """Have those vote who have not, while the polls are open."""
    if state["polls"] != "open":
        return "end_step"
    waiting = [agent for agent in state["agent_news"] if agent not in state.get("votes", {})]
    minds = {one["agent"]: one for one in state["deeds"]}
    sends = [Send("vote", {"step": state["step"], **minds[agent]}) for agent in waiting if agent in minds]
    return sends or "end_step"


@needs(agent="send_voters", step="send_voters")
async def vote(state: VoterInput, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have an agent cast its vote, or wait; an answer that is none of the options is asked for again (5.2).

    Raises:
        ModelError: the model gave no answer.
    """
    world = await open_world(runtime, WorldSettings)
    agent, name = state["agent"], world.names[state["agent"]]
    (call,) = load("call_to_vote", world.language).messages(role=name)
    messages = load("choose_option", world.language).messages(
        role=name, situation=state["situation"], self_image=state["self_image"], data={"question": call.text}
    )
    (later,) = load("not_yet", world.language).messages()
    options = {world.names[one]: one for one in world.scenario.candidates} | {later.text: ""}
    choice = options[await choose(world.chat, messages, list(options))]
    cast = event(state["step"], world.scenario.clock.at(state["step"]), "vote", agent=agent, choice=choice)
    return {"votes": {agent: choice} if choice else {}, "log": logged(runtime, cast), "usage": {"vote": world.usage}}
