"""Emotional RAG (Huang et al. 2024): the question by meaning and by mood, recall, reply, remember."""

from typing import Any, NotRequired

from langgraph.graph import END, START
from typing_extensions import TypedDict

from dramaturg.nodes.memories.index import MemoriesCheckState, MemoriesVersion, check_memories, encoding_outcomes
from dramaturg.nodes.memories.recall import (
    MemoryRecallState,
    MemoryReplySettings,
    MemoryReplyState,
    encode_meaning,
    encode_mood,
    ground_memories,
    recall_memories,
    respond_from_memories,
)
from dramaturg.nodes.memories.remembering import Remembered, RememberedState, remember
from dramaturg.nodes.reply import GroundsInput, GroundsOutput
from dramaturg.nodes.turn import SummarySettings, SummaryState, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.emotional_rag_index import graph as emotional_rag_index
from dramaturg.workflows.wiring import wire_beginning, wire_end


class EmotionalRagContext(MemoryReplySettings, SummarySettings):
    """Everything that Emotional RAG may be told."""


class EmotionalRagState(
    TurnState, MemoriesCheckState, MemoryRecallState, MemoryReplyState, RememberedState, SummaryState
):
    """A turn, and what lives on: the window and its summary, and the ids of what the conversation made remembered."""


class MemoriesMemory(TypedDict, total=False):
    """What Emotional RAG remembers from turn to turn."""

    remembered: Remembered


class MemoriesInput(GroundsInput, MemoriesMemory):
    """What the part that gathers grounds takes."""


class MemoriesOutput(GroundsOutput):
    """What it gives; the exchange is remembered by who has the reply."""

    memories_version: NotRequired[MemoriesVersion]


class MemoriesState(EmotionalRagState, GroundsOutput):
    """Grounds under way."""


def wire_grounds(builder: Workflow[Any, Any, Any, Any]) -> None:
    """Wire what a reply rests on (Figure 1): meaning and mood of the question, and the memories nearest to both."""
    builder.add_node(check_memories)
    builder.add_node("emotional_rag_index", emotional_rag_index)
    builder.add_node(encode_meaning)
    builder.add_node(encode_mood)
    builder.add_node(recall_memories)
    builder.add_conditional_edges(
        "check_memories",
        encoding_outcomes,
        {"stale": "emotional_rag_index", "meaning": "encode_meaning", "mood": "encode_mood"},
    )
    for encode in ("encode_meaning", "encode_mood"):
        builder.add_edge("emotional_rag_index", encode)
        builder.add_edge(encode, "recall_memories")


@changeable
def build() -> Workflow[EmotionalRagState, EmotionalRagContext, TurnInput, TurnOutput]:
    """Wire the graph (Figure 1)."""
    builder = Workflow(EmotionalRagState, EmotionalRagContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {
        "version": "memories_version",
        "stale": "memories_stale",
        "recalled": "recalled_memories",
    }
    wire_beginning(builder, "check_memories")
    wire_grounds(builder)
    builder.add_node(respond_from_memories)
    builder.add_node(remember)
    builder.add_edge("recall_memories", "respond_from_memories")
    builder.add_edge("respond_from_memories", "remember")
    builder.add_edge("remember", END)
    wire_end(builder, "respond_from_memories")
    return builder


@changeable
def build_grounds() -> Workflow[MemoriesState, EmotionalRagContext, MemoriesInput, MemoriesOutput]:
    """Wire what a reply rests on, without the reply: a part of other graphs."""
    builder = Workflow(MemoriesState, EmotionalRagContext, input_schema=MemoriesInput, output_schema=MemoriesOutput)
    wire_grounds(builder)
    builder.add_node(ground_memories)
    builder.add_edge(START, "check_memories")
    builder.add_edge("recall_memories", "ground_memories")
    builder.add_edge("ground_memories", END)
    return builder


graph = build().compile(name="emotional_rag")
