"""GraphRAG's local search (Edge et al. 2024), a baseline of RoleRAG: nearest entities, their neighbours, reply."""

from langgraph.graph import END, START
from pydantic import Field

from dramaturg.nodes.graph.index import GraphCheckState, GraphIndexSettings, check_graph, graph_outcome
from dramaturg.nodes.graph.recall import LocalReplySettings, LocalReplyState, respond_from_graph, search_locally
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState, read_turn, summarize, window_outcome
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.role_rag_index import graph as role_rag_index


class GraphRagLocalContext(GraphIndexSettings, LocalReplySettings, SummarySettings):
    """Everything that local search may be told."""

    normalization: Closed[bool] = Field(
        default=False,
        description="Whether different names of one entity are merged, as in RoleRAG; otherwise only equal names are.",
    )


class GraphRagLocalState(TurnState, GraphCheckState, LocalReplyState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[GraphRagLocalState, GraphRagLocalContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(GraphRagLocalState, GraphRagLocalContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "graph_version", "stale": "graph_stale"}
    builder.add_node(read_turn)
    builder.add_node(check_graph)
    builder.add_node("role_rag_index", role_rag_index)
    builder.add_node(search_locally)
    builder.add_node(respond_from_graph)
    builder.add_node(summarize)
    builder.add_edge(START, "read_turn")
    builder.add_edge("read_turn", "check_graph")
    builder.add_conditional_edges(
        "check_graph", graph_outcome, {"current": "search_locally", "stale": "role_rag_index"}
    )
    builder.add_edge("role_rag_index", "search_locally")
    builder.add_edge("search_locally", "respond_from_graph")
    builder.add_conditional_edges("respond_from_graph", window_outcome, {"room": END, "full": "summarize"})
    builder.add_edge("summarize", END)
    return builder


graph = build().compile(name="graph_rag_local")
