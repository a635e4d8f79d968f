"""ID-RAG (Platnick et al. 2025): a loop that looks up an identity, checks the deed against it, and keeps it."""

from typing import Any

from langgraph.graph import END, START
from pydantic.json_schema import SkipJsonSchema

from dramaturg.nodes.drafts import next_step, speak
from dramaturg.nodes.identity.chronicle import IdentityChanges
from dramaturg.nodes.identity.decision import (
    DayPlan,
    DecisionSettings,
    DecisionState,
    PlanState,
    act,
    decline,
    make_plan,
    planning_outcome,
)
from dramaturg.nodes.identity.episodes import (
    EpisodeInput,
    Episodes,
    EpisodeSettings,
    Situation,
    Updates,
    compose,
    recall_episodes,
    remember_episode,
)
from dramaturg.nodes.identity.gate import validate
from dramaturg.nodes.identity.perception import Perceived, hearing_outcome, perceive
from dramaturg.nodes.identity.retrieval import (
    FoundIdentity,
    augment,
    feel,
    feeling_outcome,
    ground_identity,
    identity_outcome,
    infer_identity,
    query_identity,
    retrieve_identity,
)
from dramaturg.nodes.identity.update import (
    UpdateSettings,
    UpdateState,
    approve,
    reflect,
    update_identity,
    update_outcome,
)
from dramaturg.nodes.reply import GroundsInput, GroundsOutput
from dramaturg.nodes.self_contained import make_self_contained
from dramaturg.nodes.talk.memory import recall_talk
from dramaturg.nodes.turn import SummarySettings, TalkHead, TurnOutput, TurnState, read_turn
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.wiring import wire_end


class IdRagContext(EpisodeSettings, DecisionSettings, UpdateSettings, SummarySettings):
    """Everything that ID-RAG may be told."""


class IdRagState(TurnState, DecisionState, PlanState, UpdateState):
    """A decision, and what lives on: the window and its summary, the memory stream M, the plan, the changes of 𝒞."""


class ChangedInput(EpisodeInput):
    """What a decision takes from a program that keeps the identity itself, such as a simulation."""

    identity_changes: SkipJsonSchema[IdentityChanges]
    day_plan: DayPlan


class IdentityInput(GroundsInput, total=False):
    """What the part that gathers grounds takes."""

    episodes: SkipJsonSchema[Episodes]
    talk_head: SkipJsonSchema[TalkHead]
    identity_changes: SkipJsonSchema[IdentityChanges]


class IdentityOutput(GroundsOutput):
    """What it gives; the gate, the memory stream and the update of 𝒞 are the affair of who has the reply."""

    percept: Perceived
    identity: FoundIdentity
    updates: Updates
    situation: Situation


class IdentityGroundsState(IdRagState, GroundsOutput):
    """Grounds under way."""


def wire_identity(builder: Workflow[Any, Any, Any, Any], begins: str) -> None:
    """Wire the identity (Algorithm 1, steps 2 to 6): from the memories to WM' = WM ⊕ K.

    Args:
        builder: of the graph.
        begins: the node after which it is looked for; what is asked in a talk is understood first.
    """
    builder.add_node(make_self_contained)
    builder.add_node(recall_episodes)
    builder.add_conditional_edges(begins, hearing_outcome, {"talk": "make_self_contained", "deed": "recall_episodes"})
    builder.add_edge("make_self_contained", "recall_episodes")
    builder.add_node(compose)
    builder.add_node(make_plan)
    builder.add_node(feel)
    builder.add_node(query_identity)
    builder.add_node(retrieve_identity)
    builder.add_node(infer_identity)
    builder.add_node(augment)
    builder.add_edge("recall_episodes", "compose")
    builder.add_conditional_edges("compose", planning_outcome, {"plan": "make_plan", "go on": "query_identity"})
    builder.add_edge("make_plan", "query_identity")
    builder.add_conditional_edges(
        "query_identity", identity_outcome, {"look up": "retrieve_identity", "infer": "infer_identity"}
    )
    builder.add_conditional_edges("retrieve_identity", feeling_outcome, {"asked": "feel", "unasked": "augment"})
    builder.add_conditional_edges("infer_identity", feeling_outcome, {"asked": "feel", "unasked": "augment"})
    builder.add_edge("feel", "augment")


@changeable
def build(taken: type[EpisodeInput] = EpisodeInput) -> Workflow[IdRagState, IdRagContext, EpisodeInput, TurnOutput]:
    """Wire the loop of Algorithm 1, with the gate and the update that it leaves open.

    Args:
        taken: what a decision takes. Who talks to a role is given no way to say how it has changed.
    """
    builder = Workflow(IdRagState, IdRagContext, input_schema=taken, output_schema=TurnOutput)
    builder.former_nodes = {"speak_up": "speak"}
    builder.former_channels = {"proposals": "drafts", "recalled": "recalled_episodes", "note": ""}
    builder.add_node(perceive)
    builder.add_node(read_turn)
    builder.add_node(recall_talk)
    wire_identity(builder, "recall_talk")
    builder.add_node(act)
    builder.add_node(validate)
    builder.add_node(decline)
    builder.add_node(speak)
    builder.add_node(remember_episode)
    builder.add_node(reflect)
    builder.add_node(approve)
    builder.add_node(update_identity)
    builder.add_edge(START, "perceive")
    builder.add_edge("perceive", "read_turn")
    builder.add_edge("read_turn", "recall_talk")
    builder.add_edge("augment", "act")
    builder.add_conditional_edges("act", next_step, {"gate": "validate", "settled": "speak"})
    builder.add_conditional_edges("validate", next_step, {"settled": "speak", "revise": "act", "blocked": "decline"})
    builder.add_edge("speak", "remember_episode")
    builder.add_edge("decline", "remember_episode")
    builder.add_conditional_edges("remember_episode", update_outcome, {"reflect": "reflect", "stay": END})
    builder.add_edge("reflect", "approve")
    builder.add_edge("approve", "update_identity")
    builder.add_edge("update_identity", END)
    wire_end(builder, "remember_episode")
    return builder


@changeable
def build_grounds() -> Workflow[IdentityGroundsState, IdRagContext, IdentityInput, IdentityOutput]:
    """Wire what a reply rests on, without the reply: a part of other graphs."""
    builder = Workflow(IdentityGroundsState, IdRagContext, input_schema=IdentityInput, output_schema=IdentityOutput)
    builder.add_node(perceive)
    wire_identity(builder, "perceive")
    builder.add_node(ground_identity)
    builder.add_edge(START, "perceive")
    builder.add_edge("augment", "ground_identity")
    builder.add_edge("ground_identity", END)
    return builder


graph = build().compile(name="id_rag")
