"""Planning: agents perceive, plan and act (ID-RAG 5.3); the working memory that ω sees holds the plan (4.1 and 5.4)."""

from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from dramaturg.models.questions import write
from dramaturg.nodes.identity.episodes import EpisodeState
from dramaturg.nodes.identity.retrieval import IdentityRetrievalSettings
from dramaturg.nodes.run import needs, open_run
from dramaturg.prompts import fence

DayPlan = Annotated[SkipJsonSchema[str], Field(description="What the role means to do, as it was last planned.")]


class PlanState(EpisodeState):
    """What planning reads and writes."""

    day_plan: NotRequired[DayPlan]


def planning_outcome(state: EpisodeState) -> Literal["plan", "go on"]:
    """Whether there is something to be planned."""
    return "plan" if state.get("plans_ahead") else "go on"


@needs(question="read_turn", situation="compose")
async def make_plan(state: PlanState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Plan what is ahead, from working memory, what the role wants, and the plan so far.

    No identity is shown: it is looked up for what is planned, and under each condition the plan is asked for alike.

    Raises:
        ModelError: the model gave no answer.
    """
    run = await open_run(runtime, IdentityRetrievalSettings)
    data = {"question": state["question"], "plan": state.get("day_plan", "")}
    messages = run.prompt("make_plan").messages(role=run.role.card.name, situation=state["situation"], data=data)
    plan = (await write(run.chat, messages, temperature=0, max_tokens=run.settings.context_tokens, quiet=True)).strip()
    situation = f"{state['situation']}\n\n{fence('plan', plan)}"
    return {
        "day_plan": plan,
        "situation": situation,
        "evidence": {"plan": plan},
        "usage": {"make_plan": run.usage},
    }
