"""RoleRAG (Wang et al. 2025), the part that prepares a role: facts, entity normalization, the knowledge graph."""

from langgraph.graph import END, START

from dramaturg.nodes.graph.build import GraphDraftState, GraphIndexInput, GraphIndexOutput
from dramaturg.nodes.graph.construction import summarize_facts
from dramaturg.nodes.graph.facts import extract_facts
from dramaturg.nodes.graph.index import (
    GraphIndexSettings,
    accept_merge_plan,
    chunk_persona,
    normalization_outcome,
    publish_graph,
    recheck_graph,
    request_outcome,
)
from dramaturg.nodes.graph.merging import compare_entities, name_groups, planning_outcome, write_merge_plan
from dramaturg.nodes.index_steps import publishing_outcome, recheck_outcome
from dramaturg.nodes.workflow import Workflow, changeable


class RoleRagIndexContext(GraphIndexSettings):
    """Everything that indexing may be told."""


@changeable
def build() -> Workflow[GraphDraftState, RoleRagIndexContext, GraphIndexInput, GraphIndexOutput]:
    """Wire the graph (Figure 2, upper half; Algorithm 1 is `compare_entities` and `name_groups`)."""
    builder = Workflow(
        GraphDraftState, RoleRagIndexContext, input_schema=GraphIndexInput, output_schema=GraphIndexOutput
    )
    builder.prepares = True
    builder.add_node(recheck_graph)
    builder.add_node(accept_merge_plan)
    builder.add_node(chunk_persona)
    builder.add_node(extract_facts)
    builder.add_node(compare_entities)
    builder.add_node(name_groups)
    builder.add_node(write_merge_plan)
    builder.add_node(summarize_facts)
    builder.add_node(publish_graph)
    builder.add_conditional_edges(START, request_outcome, {"apply": "accept_merge_plan", "index": "recheck_graph"})
    builder.add_conditional_edges("recheck_graph", recheck_outcome, {"unchanged": END, "index": "chunk_persona"})
    builder.add_edge("accept_merge_plan", "chunk_persona")
    builder.add_edge("chunk_persona", "extract_facts")
    builder.add_conditional_edges(
        "extract_facts", normalization_outcome, {"on": "compare_entities", "off": "summarize_facts"}
    )
    builder.add_edge("compare_entities", "name_groups")
    builder.add_conditional_edges(
        "name_groups", planning_outcome, {"apply": "summarize_facts", "plan": "write_merge_plan"}
    )
    builder.add_edge("write_merge_plan", END)
    builder.add_edge("summarize_facts", "publish_graph")
    builder.add_conditional_edges("publish_graph", publishing_outcome, {"done": END, "stale": "chunk_persona"})
    return builder


graph = build().compile(name="role_rag_index")
