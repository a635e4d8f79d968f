"""Emotional RAG (Huang et al. 2024), the part that prepares a role: the memory unit, embedded, with its moods."""

from langgraph.graph import END, START

from dramaturg.nodes.index_steps import publishing_outcome, recheck_outcome
from dramaturg.nodes.memories.index import (
    MemoryDraftState,
    MemoryIndexInput,
    MemoryIndexOutput,
    MemorySettings,
    embed_memories,
    encode_moods,
    gather_memories,
    publish_memories,
    recheck_memories,
)
from dramaturg.nodes.workflow import Workflow, changeable


class EmotionalRagIndexContext(MemorySettings):
    """Everything that indexing may be told."""


@changeable
def build() -> Workflow[MemoryDraftState, EmotionalRagIndexContext, MemoryIndexInput, MemoryIndexOutput]:
    """Wire the graph (Figure 1, the memory encoding component)."""
    builder = Workflow(
        MemoryDraftState, EmotionalRagIndexContext, input_schema=MemoryIndexInput, output_schema=MemoryIndexOutput
    )
    builder.prepares = True
    builder.add_node(recheck_memories)
    builder.add_node(gather_memories)
    builder.add_node(embed_memories)
    builder.add_node(encode_moods)
    builder.add_node(publish_memories)
    builder.add_edge(START, "recheck_memories")
    builder.add_conditional_edges("recheck_memories", recheck_outcome, {"unchanged": END, "index": "gather_memories"})
    builder.add_edge("gather_memories", "embed_memories")
    builder.add_edge("gather_memories", "encode_moods")
    builder.add_edge("embed_memories", "publish_memories")
    builder.add_edge("encode_moods", "publish_memories")
    builder.add_conditional_edges("publish_memories", publishing_outcome, {"done": END, "stale": "gather_memories"})
    return builder


graph = build().compile(name="emotional_rag_index")
