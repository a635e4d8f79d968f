"""What a text brings back, without a reply: the recall of Emotional RAG alone, for those who look into it."""

from langgraph.graph import END, START
from typing_extensions import TypedDict

from dramaturg.nodes.memories.index import MemoriesCheckState
from dramaturg.nodes.memories.recall import MemoryRecallSettings, MemoryRecallState
from dramaturg.nodes.turn import EvidenceState, Question
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.emotional_rag import wire_grounds


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
    wire_grounds(builder)
    builder.add_edge(START, "check_memories")
    builder.add_edge("recall_memories", END)
    return builder


graph = build().compile(name="emotional_recall")
