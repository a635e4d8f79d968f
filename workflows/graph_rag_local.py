"""GraphRAG's local search (Edge et al. 2024), a baseline of RoleRAG: nearest entities, their neighbours, reply."""

from pydantic import Field

from dramaturg.nodes.graph.index import GraphCheckState, GraphIndexSettings, check_graph, graph_outcome
from dramaturg.nodes.graph.recall import LocalReplySettings, LocalReplyState, respond_from_graph, search_locally
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.role_rag_index import graph as role_rag_index
from dramaturg.workflows.wiring import wire_beginning, wire_end, wire_index


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
    wire_beginning(builder, "check_graph")
    wire_index(builder, check_graph, graph_outcome, role_rag_index, "search_locally")
    builder.add_node(search_locally)
    builder.add_node(respond_from_graph)
    builder.add_edge("search_locally", "respond_from_graph")
    wire_end(builder, "respond_from_graph")
    return builder


graph = build().compile(name="graph_rag_local")
