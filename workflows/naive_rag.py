"""Naive RAG, the baseline that AMADEUS is compared with: fixed passages, the nearest ones, reply."""

from pydantic import Field

from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.passages.index import IndexingSettings, PassagesCheckState, check_index, passages_outcome
from dramaturg.nodes.passages.retrieval import (
    GroundedReplySettings,
    KnowledgeState,
    RetrievalState,
    respond_from_knowledge,
    retrieve,
)
from dramaturg.nodes.text.splitter import Method
from dramaturg.nodes.turn import SummarySettings, SummaryState, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.amadeus_index import graph as amadeus_index
from dramaturg.workflows.wiring import wire_beginning, wire_end, wire_index


class NaiveRagContext(GroundedReplySettings, IndexingSettings, SummarySettings):
    """Everything that naive RAG may be told."""

    splitter: Closed[Method] = Field(
        default="fixed",
        description="fixed: one length for every persona; the others: length by the longest paragraph.",
    )


class NaiveRagState(TurnState, PassagesCheckState, RetrievalState, KnowledgeState, SummaryState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[NaiveRagState, NaiveRagContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(NaiveRagState, NaiveRagContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "passages_version", "stale": "passages_stale"}
    wire_beginning(builder, "check_index")
    wire_index(builder, check_index, passages_outcome, amadeus_index, "retrieve")
    builder.add_node(retrieve)
    builder.add_node(respond_from_knowledge)
    builder.add_edge("retrieve", "respond_from_knowledge")
    wire_end(builder, "respond_from_knowledge")
    return builder


graph = build().compile(name="naive_rag")
