"""Planning and action generation, A = Π(WM'): a reply, a deed or a choice, and its end (ID-RAG 5.3; Algorithm 1, 7)."""

from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from dramaturg.models.questions import choose, write
from dramaturg.nodes.drafts import DraftState, drafts_of, ended, new_draft, revision_note
from dramaturg.nodes.identity.episodes import EpisodeState
from dramaturg.nodes.identity.gate import GateSettings
from dramaturg.nodes.identity.retrieval import IdentityRetrievalSettings, SelfImageState, identity_grounds
from dramaturg.nodes.passages.documents import DocumentSettings, document_grounds
from dramaturg.nodes.reply import NO_GROUNDS, ReplySettings, ground_text, in_role, joined, section, spoken, wish_section
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


class DecisionSettings(IdentityRetrievalSettings, GateSettings, ReplySettings, DocumentSettings):
    """How a decision is made."""


class DecisionState(SelfImageState, DraftState):
    """What acting reads and writes: A' are drafts, also where it is a deed or a choice."""


@needs(
    question="read_turn",
    percept="perceive",
    situation="compose",
    identity_text="retrieve_identity",
    self_image="augment",
)
async def act(state: DecisionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Propose what the role says, does, or chooses of the options (5.2: a choice is made without chance).

    What it says may rest on its profile and its documents too; the paper's rests on its identity alone.

    It is streamed only without a gate: nobody is to read a line that is then taken back. A choice goes to no gate: it
    is one of the options.

    Raises:
        ModelError: the model gave no answer.
    """
    run = await open_run(runtime, DecisionSettings)
    name, percept, before, documents = run.role.card.name, state["percept"], drafts_of(state), NO_GROUNDS
    known: dict[str, Any] = {"situation": state["situation"], "self_image": state["self_image"]}
    question, note, slips = {"question": state["question"]}, revision_note(before), dict[str, Any]()
    checkers = ["gate"] if run.settings.gate and not percept["options"] else []
    if percept["options"]:
        messages = run.prompt("choose_option").messages(role=name, data=question, **known)
        said = AIMessage(await choose(run.chat, messages, percept["options"]))
    elif percept["observations"] is not None:
        limits = wish_section(run, state) + (section(run, "directed", note) if note else "")
        messages = run.prompt("take_action").messages(role=name, limits=limits, data=question, **known)
        deed, slips = await in_role(run, state, messages, quiet=True)
        said = AIMessage(" ".join(deed.text.split()))
    else:
        documents = await document_grounds(run, state)
        profile = run.role.card.profile.strip() if run.settings.document_passages else ""
        texts = {**({"profile": [profile]} if profile else {}), **documents["texts"]}
        turns = [one["id"] for one in state.get("recalled_episodes") or []]
        limited = NO_GROUNDS | {"texts": texts, "limits": {"directed": note}, "turns": turns}
        said, slips = await spoken(run, state, "respond_from_identity", limited, quiet=bool(checkers), **known)
    grounds = ground_text(joined([identity_grounds(state), documents]), run.role.card.profile)
    drafts, evidence = [*before, new_draft(state, said, checkers)], {**documents["evidence"], **slips}
    return {"drafts": drafts, "grounds": grounds, "asker": "", "evidence": evidence, "usage": {"act": run.usage}}


@needs(question="read_turn", drafts="a node that drafts")
async def decline(state: DecisionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say in place of what was blocked that the role will not do such a thing; in a simulation, do nothing.

    Raises:
        ModelError: the model gave no answer.
    """
    run = await open_run(runtime, ReplySettings)
    name, drafts = run.role.card.name, drafts_of(state)
    if (state.get("percept") or {}).get("observations") is not None:
        (only,) = run.prompt("hold_back").messages(role=name)
        return ended(drafts, AIMessage(only.text, name=run.role.id))
    verdicts = drafts[-1]["verdicts"].values() if drafts else ()
    triple = next((one["details"].get("triple") for one in verdicts if one["outcome"] == "block"), None)
    data = {"question": state["question"], "statement": triple["sentence"] if triple else ""}
    said, slips = await in_role(run, state, run.prompt("decline").messages(role=name, data=data))
    written = ended(drafts, said)
    return {**written, "evidence": {**written.get("evidence", {}), **slips}, "usage": {"decline": run.usage}}
