"""RoleRAG (Wang et al. 2025): hypothetical context, entity scoping, a strategy for each kind of entity, reply."""

from typing import Annotated, Any, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.graph.boundaries import Boundaries, BoundarySettings, BoundaryState, keep_boundaries
from dramaturg.nodes.graph.index import GraphCheckState, GraphIndexSettings, check_graph, graph_outcome
from dramaturg.nodes.graph.recall import (
    LocalReplySettings,
    LocalReplyState,
    RecallSettings,
    ScopedReplyState,
    SentenceSettings,
    ground_scope,
    note_out_of_scope,
    recall_general,
    recall_nearest,
    recall_sentences,
    recall_specific,
    respond_from_graph,
    respond_in_scope,
    search_locally,
)
from dramaturg.nodes.graph.scoping import HypotheticalSettings, hypothesize, scope_entities, scope_outcomes
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import GroundsInput, GroundsOutput
from dramaturg.nodes.run import needs, settings
from dramaturg.nodes.self_contained import SelfContainedSettings, SelfContainedState, make_self_contained
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.role_rag_index import graph as role_rag_index
from dramaturg.workflows.wiring import wire_beginning, wire_end, wire_index


class RoleRagContext(
    GraphIndexSettings,
    SelfContainedSettings,
    HypotheticalSettings,
    BoundarySettings,
    RecallSettings,
    SentenceSettings,
    LocalReplySettings,
    SummarySettings,
):
    """Everything that RoleRAG may be told."""

    retrieval: Open[Literal["scoped", "local"]] = Field(
        default="scoped",
        description="scoped: RoleRAG's retrieval; local: local search, the paper's ablation (Table 2).",
    )


class RoleRagState(TurnState, GraphCheckState, SelfContainedState, BoundaryState, ScopedReplyState, LocalReplyState):
    """A turn, and what lives on: the window and its summary, and what the role declined to speak of."""

    retrieval: Annotated[
        Literal["scoped", "local"], Field(description="How the graph is searched: by scope, or from what is nearest.")
    ]


async def choose_retrieval(state: RoleRagState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Note which retrieval the context asks for."""
    return {"retrieval": settings(runtime, RoleRagContext).retrieval}


@needs(retrieval="choose_retrieval")
def retrieval_outcome(state: RoleRagState) -> Literal["scoped", "local"]:
    """Which retrieval is wanted."""
    return state["retrieval"]


class ScopeMemory(TypedDict, total=False):
    """What RoleRAG remembers from turn to turn."""

    boundaries: Boundaries


class ScopeInput(GroundsInput, ScopeMemory):
    """What the part that gathers grounds takes."""


class ScopeOutput(GroundsOutput, ScopeMemory):
    """What it gives."""


class ScopeGroundsState(RoleRagState, GroundsOutput):
    """Grounds under way."""


STRATEGIES = ("note_out_of_scope", "recall_specific", "recall_general", "recall_nearest")


def wire_scope(builder: Workflow[Any, Any, Any, Any]) -> None:
    """Wire the scope (Figure 2, lower half): from the hypothetical context to what each kind of entity recalls.

    The sentences beside the graph are ours, see `source_sentences`.
    """
    builder.add_node(hypothesize)
    builder.add_node(scope_entities)
    builder.add_node(keep_boundaries)
    builder.add_node(note_out_of_scope)
    builder.add_node(recall_specific)
    builder.add_node(recall_general)
    builder.add_node(recall_nearest)
    builder.add_node(recall_sentences)
    builder.add_edge("hypothesize", "scope_entities")
    builder.add_edge("scope_entities", "keep_boundaries")
    builder.add_conditional_edges(
        "keep_boundaries",
        scope_outcomes,
        {
            "out of scope": "note_out_of_scope",
            "specific": "recall_specific",
            "general": "recall_general",
            "none": "recall_nearest",
        },
    )
    for strategy in STRATEGIES:
        builder.add_edge(strategy, "recall_sentences")


def wire_question(builder: Workflow[Any, Any, Any, Any]) -> None:
    """Wire what comes before: the graph is there, and the question is understood on its own."""
    wire_index(builder, check_graph, graph_outcome, role_rag_index, "make_self_contained")
    builder.add_node(make_self_contained)


@changeable
def build() -> Workflow[RoleRagState, RoleRagContext, TurnInput, TurnOutput]:
    """Wire the graph (Figure 2, lower half)."""
    builder = Workflow(RoleRagState, RoleRagContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "graph_version", "stale": "graph_stale"}
    wire_beginning(builder, "check_graph")
    wire_question(builder)
    builder.add_node(choose_retrieval)
    wire_scope(builder)
    builder.add_node(respond_in_scope)
    builder.add_node(search_locally)
    builder.add_node(respond_from_graph)
    builder.add_edge("make_self_contained", "choose_retrieval")
    builder.add_conditional_edges(
        "choose_retrieval", retrieval_outcome, {"scoped": "hypothesize", "local": "search_locally"}
    )
    builder.add_edge("recall_sentences", "respond_in_scope")
    builder.add_edge("search_locally", "respond_from_graph")
    wire_end(builder, "respond_in_scope", "respond_from_graph")
    return builder


@changeable
def build_grounds() -> Workflow[ScopeGroundsState, RoleRagContext, ScopeInput, ScopeOutput]:
    """Wire what a reply rests on, without the reply: a part of other graphs. Its retrieval is scoped."""
    builder = Workflow(ScopeGroundsState, RoleRagContext, input_schema=ScopeInput, output_schema=ScopeOutput)
    wire_question(builder)
    wire_scope(builder)
    builder.add_node(ground_scope)
    builder.add_edge(START, "check_graph")
    builder.add_edge("make_self_contained", "hypothesize")
    builder.add_edge("recall_sentences", "ground_scope")
    builder.add_edge("ground_scope", END)
    return builder


graph = build().compile(name="role_rag")
