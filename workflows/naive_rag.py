"""Naive RAG, the baseline that AMADEUS is compared with: fixed passages, the nearest ones, reply."""

from langgraph.graph import END, START
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
from dramaturg.nodes.turn import (
    SummarySettings,
    SummaryState,
    TurnInput,
    TurnOutput,
    TurnState,
    read_turn,
    summarize,
    window_outcome,
)
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.amadeus_index import graph as amadeus_index


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
    builder.add_node(read_turn)
    builder.add_node(check_index)
    builder.add_node("amadeus_index", amadeus_index)
    builder.add_node(retrieve)
    builder.add_node(respond_from_knowledge)
    builder.add_node(summarize)
    builder.add_edge(START, "read_turn")
    builder.add_edge("read_turn", "check_index")
    builder.add_conditional_edges("check_index", passages_outcome, {"current": "retrieve", "stale": "amadeus_index"})
    builder.add_edge("amadeus_index", "retrieve")
    builder.add_edge("retrieve", "respond_from_knowledge")
    builder.add_conditional_edges("respond_from_knowledge", window_outcome, {"room": END, "full": "summarize"})
    builder.add_edge("summarize", END)
    return builder


graph = build().compile(name="naive_rag")
