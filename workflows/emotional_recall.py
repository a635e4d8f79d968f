"""What a text brings back, without a reply: the recall of Emotional RAG alone, for those who look into it."""

from langgraph.graph import END, START
from typing_extensions import TypedDict

from dramaturg.nodes.memories.index import MemoriesCheckState, check_memories, encoding_outcomes
from dramaturg.nodes.memories.recall import (
    MemoryRecallSettings,
    MemoryRecallState,
    encode_meaning,
    encode_mood,
    recall_memories,
)
from dramaturg.nodes.turn import EvidenceState, Question
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.emotional_rag_index import graph as emotional_rag_index


class EmotionalRecallContext(MemoryRecallSettings):
    """Everything that recall may be told."""


class RecallInput(TypedDict):
    """What recall takes."""

    question: Question


class EmotionalRecallState(MemoriesCheckState, MemoryRecallState):
    """A question under way."""


@changeable
def build() -> Workflow[EmotionalRecallState, EmotionalRecallContext, RecallInput, EvidenceState]:
    """Wire the graph (Figure 1, without response generation)."""
    builder = Workflow(
        EmotionalRecallState, EmotionalRecallContext, input_schema=RecallInput, output_schema=EvidenceState
    )
    builder.add_node(check_memories)
    builder.add_node("emotional_rag_index", emotional_rag_index)
    builder.add_node(encode_meaning)
    builder.add_node(encode_mood)
    builder.add_node(recall_memories)
    builder.add_edge(START, "check_memories")
    builder.add_conditional_edges(
        "check_memories",
        encoding_outcomes,
        {"stale": "emotional_rag_index", "meaning": "encode_meaning", "mood": "encode_mood"},
    )
    for encode in ("encode_meaning", "encode_mood"):
        builder.add_edge("emotional_rag_index", encode)
        builder.add_edge(encode, "recall_memories")
    builder.add_edge("recall_memories", END)
    return builder


graph = build().compile(name="emotional_recall")
