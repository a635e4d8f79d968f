"""The agents of a simulation: each decides by the loop of ID-RAG, and two may talk (Algorithm 1; 5.4)."""

import asyncio
from typing import Annotated, Any

from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Send
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.identity.chronicle import IdentityChanges
from dramaturg.nodes.identity.decision import DayPlan
from dramaturg.nodes.identity.episodes import Episode
from dramaturg.nodes.identity.update import MOST_FINDINGS
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import needs, run_of, settings, turns
from dramaturg.nodes.world.talk import TalkSettings
from dramaturg.nodes.world.world import AgentId, Deed, Step, WorldState, event, logged, scenario_of, steps_of
from dramaturg.prompts import load
from dramaturg.stores.documents.scenario import Scenario
from dramaturg.workflows.id_rag import ChangedInput, IdRagContext
from dramaturg.workflows.id_rag import build as id_rag

AGENT = id_rag(ChangedInput).compile(name="agent")  # with the saver of the world: a stopped decision goes on
KEPT = ("messages", "evidence", "usage", "situation", "self_image", "identity_changes", "day_plan")


class RiverbendContext(TalkSettings):
    """Everything that a simulation may be told."""

    recalled_episodes: Open[int] = Field(
        default=25,
        ge=1,
        le=200,
        description="The number of memories that are recalled for a decision (k in the paper).",
    )
    action_tokens: Open[int] = Field(
        default=256,
        ge=16,
        le=2000,
        description="The largest number of tokens for an action, the same in all conditions (as in the paper).",
    )
    context_tokens: Open[int] = Field(
        default=1000,
        ge=16,
        le=2000,
        description="The largest number of tokens for an inferred identity or a feeling (as in the paper).",
    )
    planning: Open[bool] = Field(
        default=True, description="Whether agents plan what is ahead before they act, as the paper's do: a call a deed."
    )
    gate: Open[bool] = Field(
        default=False, description="Whether actions are checked against the identity before they are done."
    )
    update: Open[bool] = Field(
        default=False,
        description="Whether actions may change the identity of the agent, unless it is inferred; costs a call per "
        "action. Core triples never change.",
    )


def most_questions(context: RiverbendContext, *, after: int = 0, chronicled: int | None = None) -> dict[str, int]:
    """How many questions a run asks at most, re-asks left out: `deeds`, `talks` and `votes`.

    Statements count as asked about in one question; a model that is asked of each apart is asked more.

    Args:
        context: how it is played.
        after: the steps that were played already.
        chronicled: how many agents have a chronicle, whom alone gate and update ask about; None: all may have one.
    """
    scenario, steps = scenario_of(context), range(after + 1, steps_of(context) + 1)
    agents = len(scenario.agents)
    each = 4 + context.planning  # an identity, a feeling, a deed, the result of it; a plan
    # Evidence of a change, and each change checked against the core; two verdicts, a second deed and a refusal.
    own = context.update * (1 + MOST_FINDINGS) + context.gate * 4
    open_hours = sum(scenario.polls_at(scenario.clock.at(step)) == "open" for step in steps)
    return {
        "deeds": len(steps) * (agents * each + (agents if chronicled is None else chronicled) * own),
        "talks": len(steps) * min(context.talks, agents // 2) * context.most_lines,
        "votes": open_hours * agents,
    }


class AgentInput(TypedDict):
    """What an agent is given."""

    agent: AgentId
    step: Step
    news: Annotated[list[Episode], Field(description="What is new to it.")]
    lived: Annotated[list[Episode], Field(description="What it has lived through.")]
    changes: IdentityChanges
    day_plan: DayPlan


@needs(step="begin_step", agent_news="begin_step", agent_lived="begin_step")
def send_agents(state: WorldState) -> list[Send]:
    """Have all agents decide at the same time."""
    inputs: list[AgentInput] = [
        {
            "agent": agent,
            "step": state["step"],
            "news": news,
            "lived": state["agent_lived"][agent],
            "changes": state.get("agent_changes", {}).get(agent, []),
            "day_plan": state.get("agent_plans", {}).get(agent, ""),
        }
        for agent, news in state["agent_news"].items()
    ]
    return [Send("decide", one) for one in inputs]


@needs(agent="send_agents", step="send_agents", news="send_agents", lived="send_agents")
async def decide(state: AgentInput, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have an agent decide what it does within the hour.

    Raises:
        ModelError: the model gave no answer.
    """
    context = settings(runtime, RiverbendContext)
    scenario = await asyncio.to_thread(scenario_of, context)
    step, agent, now = state["step"], state["agent"], scenario.clock.at(state["step"])
    async with turns(context):  # no more agents than questions: a server then still knows what each was shown before
        own, given = await question_for(context, scenario, state)
        # Here, and not in a function that this one calls: LangGraph looks no further for the graphs of a node.
        found: dict[str, Any] = await AGENT.ainvoke(given, context=own, output_keys=[*KEPT])
    evidence, text = found["evidence"], found["messages"][-1].text
    seen = {"situation": found["situation"], "self_image": found["self_image"]}
    log = [
        event(step, now, "context", agent=agent, **seen, identity=evidence["identity"], feeling=evidence["feeling"]),
        event(step, now, "action", agent=agent, text=text, gate=evidence.get("gate")),
    ]
    for change in evidence.get("identity_changes") or []:
        gone = (change["replaces"] or {}).get("sentence", "")
        said = {"text": change["sentence"], "instead_of": gone, "evidence": change["evidence"]}
        log.append(event(step, now, "change", agent=agent, **said))
    deed = Deed(agent=agent, text=text, situation=found["situation"], self_image=found["self_image"])
    changes = {agent: found.get("identity_changes") or []}
    plans = {agent: found.get("day_plan", "")}
    return {
        "deeds": [deed],
        "agent_changes": changes,
        "agent_plans": plans,
        "log": logged(runtime, *log),
        "usage": found["usage"],
    }


async def question_for(context: RiverbendContext, scenario: Scenario, state: AgentInput) -> tuple[IdRagContext, Any]:
    """What the loop of Algorithm 1 is run with for one agent: its context, and its input.

    The condition changes where its identity comes from, and nothing else.
    """
    shared = type(context).model_fields.keys() & IdRagContext.model_fields.keys()
    own = IdRagContext(
        **{name: getattr(context, name) for name in shared},
        role=state["agent"],
        identity=context.condition,
        feeling=True,
        approval="nobody",
        turn_deadline=86_400,  # agents wait for one another: what bounds them is the deadline of each question
        kept_episodes=0,
        talk_tokens=0,
        reply_tokens=context.action_tokens,
    )
    role = (await run_of(own)).role
    chronicle = await asyncio.to_thread(role.chronicle)
    if context.condition == "baseline" or not chronicle.triples:
        own = own.model_copy(update={"identity": "baseline", "update": False})
    (call,) = load("call_to_action", scenario.language).messages(role=role.card.name, goal=scenario.goal(role.id))
    given: Any = {
        "messages": [HumanMessage(call.text, id=f"{state['step']}")],
        "scene": "\n".join(scenario.shared),
        "observations": [one["text"] for one in state["news"]],
        "now": scenario.clock.at(state["step"]),
        "episodes": state["lived"],
        "identity_changes": state["changes"],
        "day_plan": state.get("day_plan", ""),  # what an earlier version sent has none
    }
    return own, given


@needs(step="begin_step", talks="resolve")
def send_talks(state: WorldState) -> list[Send] | str:
    """Have those talk whom the game master brought together, each in one talk at most and as many as the budget has."""
    deeds = {one["agent"]: one for one in state["deeds"]}
    busy, sends = set[str](), list[Send]()
    for one in state["log"]:
        pair = [one.get("agent", ""), one.get("talks_with", "")]
        here = one["step"] == state["step"] and one["kind"] == "outcome" and all(pair)
        if here and not busy & {*pair} and len(sends) < state["talks"]:
            busy |= {*pair}
            images = {agent: deeds[agent]["self_image"] if agent in deeds else "" for agent in pair}
            given = {"step": state["step"], "pair": pair, "about": deeds[pair[0]]["text"], "images": images}
            sends.append(Send("talk", given))
    return sends or "poll"
