"""CRAG (Corrective RAG, Yan et al. 2024), a baseline of AMADEUS: passages are judged, refined, or searched beyond."""

from pydantic import Field

from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.passages.corrective import (
    CorrectiveReplySettings,
    CorrectiveState,
    WebSearchState,
    evaluate_passages,
    evaluation_outcome,
    refine_knowledge,
    refinement_outcome,
    respond_from_strips,
    rewrite_query,
    search_web,
)
from dramaturg.nodes.passages.index import IndexingSettings, PassagesCheckState, check_index, passages_outcome
from dramaturg.nodes.passages.retrieval import RetrievalState, retrieve
from dramaturg.nodes.text.splitter import Method
from dramaturg.nodes.turn import SummarySettings, SummaryState, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.amadeus_index import graph as amadeus_index
from dramaturg.workflows.wiring import wire_beginning, wire_end, wire_index


class CragContext(CorrectiveReplySettings, IndexingSettings, SummarySettings):
    """Everything that CRAG may be told."""

    splitter: Closed[Method] = Field(
        default="fixed",
        description="fixed: one length for every persona; the others: length by the longest paragraph.",
    )


class CragState(TurnState, PassagesCheckState, RetrievalState, CorrectiveState, WebSearchState, SummaryState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[CragState, CragContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(CragState, CragContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "passages_version", "stale": "passages_stale"}
    wire_beginning(builder, "check_index")
    wire_index(builder, check_index, passages_outcome, amadeus_index, "retrieve")
    builder.add_node(retrieve)
    builder.add_node(evaluate_passages)
    builder.add_node(refine_knowledge)
    builder.add_node(rewrite_query)
    builder.add_node(search_web)
    builder.add_node(respond_from_strips)
    builder.add_edge("retrieve", "evaluate_passages")
    builder.add_conditional_edges(
        "evaluate_passages",
        evaluation_outcome,
        {"some": "refine_knowledge", "elsewhere": "rewrite_query", "none": "respond_from_strips"},
    )
    builder.add_conditional_edges(
        "refine_knowledge", refinement_outcome, {"enough": "respond_from_strips", "elsewhere": "rewrite_query"}
    )
    builder.add_edge("rewrite_query", "search_web")
    builder.add_edge("search_web", "respond_from_strips")
    wire_end(builder, "respond_from_strips")
    return builder


graph = build().compile(name="crag")
