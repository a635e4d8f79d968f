"""Votes of a simulation: whoever has not voted is asked while the polls are open (ID-RAG 5.2)."""

import asyncio
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from dramaturg.models.questions import choose
from dramaturg.nodes.context import respondent_in, settings
from dramaturg.nodes.game_master import names_of
from dramaturg.nodes.world import WorldSettings, WorldState, event, scenario_of
from dramaturg.prompts import load


class VoterInput(TypedDict):
    """What a voter is given: its hour, and what its deed in this hour rested on."""

    agent: str
    step: int
    situation: str
    self_image: str


W = TypeVar("W", bound=WorldSettings)


async def poll(state: WorldState) -> dict[str, Any]:
    """Come together before votes are cast."""
    return {"step": state["step"]}


def send_voters(state: WorldState, runtime: Runtime[W]) -> list[Send] | str:
    """Have those vote who have not, while the polls are open."""
    scenario = scenario_of(settings(runtime, WorldSettings))
    if scenario.polls_at(scenario.clock.at(state["step"])) != "open":
        return "end_step"
    waiting = [one.role for one in scenario.agents if one.role not in state["votes"]]
    minds = {one["agent"]: one for one in state["deeds"]}
    sends = [Send("vote", {"step": state["step"], **minds[agent]}) for agent in waiting if agent in minds]
    return sends or "end_step"


async def vote(state: VoterInput, runtime: Runtime[W]) -> dict[str, Any]:
    """Have an agent cast its vote, or wait; an answer that is none of the options is asked for again (5.2).

    Raises:
        ModelError: the model gave no answer.
    """
    context = settings(runtime, WorldSettings)
    scenario = await asyncio.to_thread(scenario_of, context)
    names = await asyncio.to_thread(names_of, context, scenario)
    chat, language = await respondent_in(context, scenario.language), scenario.language
    (asked,) = load("call_to_vote", language).messages(role=names[state["agent"]])
    messages = load("choose_option", language).messages(
        role=names[state["agent"]],
        situation=state["situation"],
        self_image=state["self_image"],
        data={"question": asked.text},
    )
    (later,) = load("not_yet", language).messages()
    options = {names[one]: one for one in scenario.candidates} | {later.text: ""}
    choice = options[await choose(chat, messages, list(options))]
    log = [event(state["step"], scenario.clock.at(state["step"]), "vote", agent=state["agent"], choice=choice)]
    votes = {state["agent"]: choice} if choice else {}
    return {"votes": votes, "log": log, "usage": {"vote": chat.account.usage()}}
