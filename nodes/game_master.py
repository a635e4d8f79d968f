"""The game master: it says what comes of a deed, who notices it, and who is drawn into a talk (ID-RAG 2.2 and 5.1)."""

import asyncio
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from dramaturg.models.environment import environment
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import extract
from dramaturg.models.reading import normalize_word
from dramaturg.nodes.context import RunContext, respondent_in, settings
from dramaturg.nodes.world import Deed, Event, Heard, WorldSettings, WorldState, event, in_order, scenario_of
from dramaturg.prompts import load
from dramaturg.stores.library import open_role
from dramaturg.stores.scenario import Scenario

NOBODY = "nobody"
UNKNOWN = 3.0  # how important a deed is of which the game master gives no account


class Outcome(BaseModel):
    """{happens, noticed_by, talks_with, importance}: what comes of a deed."""

    model_config = ConfigDict(extra="forbid")

    happens: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)]
    noticed_by: list[str]
    talks_with: str
    importance: int = Field(strict=True, ge=1, le=10)


class Resolved(NamedTuple):
    """A deed and what came of it; why there is no account of it, if so."""

    deed: Deed
    outcome: Outcome | None
    error: str


W = TypeVar("W", bound=WorldSettings)


async def resolve(state: WorldState, runtime: Runtime[W]) -> dict[str, Any]:
    """Say of every deed what comes of it; those who notice it hear of it, and whoever did it remembers it.

    Of a deed of which the model gives no usable account, only the deed itself is known, to whoever did it.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    context = settings(runtime, WorldSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    names = await asyncio.to_thread(names_of, context, scenario)
    chat = await respondent_in(context, scenario.language)
    deeds = {one["agent"]: one for one in state["deeds"]}
    order = in_order([one.role for one in scenario.agents if one.role in deeds], context, state["step"])
    step, now = state["step"], scenario.clock.at(state["step"])

    async def resolved(deed: Deed) -> Resolved:
        messages = load("resolve_action", scenario.language).messages(
            place=scenario.name,
            role=names[deed["agent"]],
            others=", ".join(name for agent, name in names.items() if agent != deed["agent"]),
            data={"scene": scene_of(scenario), "now": now.replace("T", " "), "deed": deed["text"]},
        )
        try:
            return Resolved(deed, await extract(chat, messages, outcome_among(names, deed["agent"])), "")
        except UNANSWERED as error:
            return Resolved(deed, None, str(error))

    # One alone first: a server that keeps what it has read then reads the scene once.
    found = [await resolved(deeds[agent]) for agent in order[:1]]
    found += await asyncio.gather(*(resolved(deeds[agent]) for agent in order[1:]))
    log = [outcome_event(step, now, one, names) for one in found]
    usage = {"resolve": chat.account.usage()}
    return {"heard": [heard for one in found for heard in heard_of(one, names)], "log": log, "usage": usage}


def outcome_event(step: int, now: str, resolved: Resolved, names: dict[str, str]) -> Event:
    """What the log says of a deed's outcome; agents are named by their ids."""
    deed, outcome, error = resolved
    if outcome is None:
        return event(step, now, "outcome", agent=deed["agent"], text="", noticed_by=[], talks_with="", error=error)
    ids = {name: agent for agent, name in names.items()}
    noticed = [ids[name] for name in dict.fromkeys(outcome.noticed_by)]
    told = {"text": outcome.happens, "noticed_by": noticed, "importance": outcome.importance}
    return event(step, now, "outcome", agent=deed["agent"], talks_with=ids.get(outcome.talks_with, ""), **told)


def heard_of(resolved: Resolved, names: dict[str, str]) -> list[Heard]:
    """What becomes known of a deed, and to whom: the game master's account, or without one the deed itself."""
    deed, outcome, _ = resolved
    if outcome is None:
        return [Heard(agent=deed["agent"], text=deed["text"], importance=UNKNOWN)]
    importance = float(outcome.importance)
    noticed = {*outcome.noticed_by, outcome.talks_with}
    others = [agent for agent, name in names.items() if name in noticed and agent != deed["agent"]]
    return [Heard(agent=agent, text=outcome.happens, importance=importance) for agent in [deed["agent"], *others]]


def outcome_among(names: dict[str, str], agent: str) -> type[Outcome]:
    """The form of an outcome that names nobody whom there is not."""
    others = tuple(name for one, name in names.items() if one != agent)
    who: Any = Literal.__getitem__(others)
    fields: dict[str, Any] = {
        "noticed_by": (Annotated[list[who], Field(max_length=len(others))], ...),
        "talks_with": (Literal.__getitem__((*others, NOBODY)), ...),
    }
    return create_model("OutcomeAmong", __base__=Outcome, **fields)


def names_of(context: RunContext, scenario: Scenario) -> dict[str, str]:
    """What the agents are called, by their ids.

    Raises:
        RoleError: the library has no such role.
        ValueError: two have one name.
    """
    library = context.library or environment().library
    names = {one.role: open_role(one.role, library).card.name for one in scenario.agents}
    if len({normalize_word(name) for name in names.values()}) < len(names):
        raise ValueError(f"Two agents of {scenario.name} have one name: {', '.join(names.values())}.")
    return names


def scene_of(scenario: Scenario) -> str:
    """What everybody knows."""
    return "\n".join(scenario.shared)
