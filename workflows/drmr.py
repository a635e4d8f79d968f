"""DRMR (anonymous 2024): relation graph, maximal clique, role memory, a draft that is verified and revised."""

from typing import Any, NotRequired

from langgraph.graph import END, START
from typing_extensions import TypedDict

from dramaturg.nodes.dialogues.index import (
    DialogueIndexSettings,
    DialoguesCheckState,
    DialoguesVersion,
    check_dialogues,
    dialogues_outcome,
)
from dramaturg.nodes.dialogues.recall import (
    KnownDialogues,
    LimitOfMemory,
    more_outcome,
    recall_dialogues,
    recall_more,
    relating_outcome,
)
from dramaturg.nodes.dialogues.relations import RelationGraph, find_clique, score_edges
from dramaturg.nodes.dialogues.reply import (
    RelatedReplySettings,
    draft_related,
    drafting_outcome,
    ground_relations,
    tell_why,
    telling_outcome,
)
from dramaturg.nodes.dialogues.role_memory import (
    MemoryRecords,
    RoleMemoryState,
    TalkRecordSettings,
    build_memory,
    condense_memory,
    memory_outcome,
    record_talk,
    talk_outcome,
)
from dramaturg.nodes.dialogues.standing import recall_standing
from dramaturg.nodes.drafts import speak
from dramaturg.nodes.reply import GroundsInput, GroundsOutput
from dramaturg.nodes.turn import SummaryState, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.drmr_index import graph as drmr_index
from dramaturg.workflows.wiring import wire_beginning, wire_drafts, wire_end, wire_index


class DrmrContext(DialogueIndexSettings, RelatedReplySettings, TalkRecordSettings):
    """Everything that DRMR may be told."""


class DrmrState(TurnState, DialoguesCheckState, RoleMemoryState, SummaryState):
    """A turn, and what lives on: the window and its summary, the relation graph G, and the role memory M."""


class RelationsMemory(TypedDict, total=False):
    """What DRMR remembers from turn to turn: the relation graph, and the role memory M."""

    known_dialogues: KnownDialogues
    relations: RelationGraph
    memory_records: MemoryRecords


class RelationsInput(GroundsInput, RelationsMemory):
    """What the part that gathers grounds takes."""


class RelationsOutput(GroundsOutput, RelationsMemory):
    """What it gives; the role memory is condensed by who has the reply."""

    dialogues_version: NotRequired[DialoguesVersion]
    memory_limit: LimitOfMemory


class RelationsState(DrmrState, GroundsOutput):
    """Grounds under way."""


def wire_relations(builder: Workflow[Any, Any, Any, Any]) -> None:
    """Wire what is recalled and related (Figure 2): from the dialogues to the clique."""
    wire_index(builder, check_dialogues, dialogues_outcome, drmr_index, "recall_dialogues")
    builder.add_node(recall_dialogues)
    builder.add_node(recall_standing)
    builder.add_node(score_edges)
    builder.add_node(find_clique)
    builder.add_node(build_memory)
    builder.add_edge("recall_standing", "score_edges")
    builder.add_edge("score_edges", "find_clique")
    builder.add_edge("find_clique", "build_memory")


@changeable
def build() -> Workflow[DrmrState, DrmrContext, TurnInput, TurnOutput]:
    """Wire the graph (Figure 2)."""
    builder = Workflow(DrmrState, DrmrContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "dialogues_version", "stale": "dialogues_stale", "note": ""}
    wire_beginning(builder, "check_dialogues")
    wire_relations(builder)
    wire_drafts(builder, draft_related, again="recall_more")
    builder.add_node(recall_more)
    builder.add_node(tell_why)
    builder.add_node(speak)
    builder.add_node(condense_memory)
    builder.add_conditional_edges(
        "recall_dialogues", relating_outcome, {"relate": "recall_standing", "as they are": "draft"}
    )
    builder.add_conditional_edges("build_memory", drafting_outcome, {"new": "draft", "nothing new": "tell_why"})
    builder.add_conditional_edges(
        "recall_more",
        more_outcome,
        {"relate": "score_edges", "as they are": "draft", "read on": "find_clique", "nothing more": "tell_why"},
    )
    builder.add_conditional_edges("tell_why", telling_outcome, {"told": "draft", "nothing new": "speak"})
    builder.add_node(record_talk)
    builder.add_conditional_edges(
        "speak", talk_outcome, {"room": END, "full": "record_talk", "long": "condense_memory"}
    )
    builder.add_conditional_edges("record_talk", memory_outcome, {"room": END, "long": "condense_memory"})
    builder.add_edge("condense_memory", END)
    wire_end(builder, "speak")
    return builder


@changeable
def build_grounds() -> Workflow[RelationsState, DrmrContext, RelationsInput, RelationsOutput]:
    """Wire what a reply rests on, without the reply: a part of other graphs."""
    builder = Workflow(RelationsState, DrmrContext, input_schema=RelationsInput, output_schema=RelationsOutput)
    wire_relations(builder)
    builder.add_node(ground_relations)
    builder.add_edge(START, "check_dialogues")
    builder.add_conditional_edges(
        "recall_dialogues", relating_outcome, {"relate": "recall_standing", "as they are": "ground_relations"}
    )
    builder.add_edge("build_memory", "ground_relations")
    builder.add_edge("ground_relations", END)
    return builder


graph = build().compile(name="drmr")
