"""RoleGPT (Wang et al. 2023), the baseline of DRMR: dialogues like the conversation stand in the prompt."""

from dramaturg.nodes.dialogues.index import (
    DialogueIndexSettings,
    DialoguesCheckState,
    check_dialogues,
    dialogues_outcome,
)
from dramaturg.nodes.dialogues.recall import DialogueRecallState, recall_own_dialogues
from dramaturg.nodes.dialogues.reply import DialogueReplySettings, respond_from_dialogues
from dramaturg.nodes.turn import SummarySettings, SummaryState, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.drmr_index import graph as drmr_index
from dramaturg.workflows.wiring import wire_beginning, wire_end, wire_index


class RoleGptContext(DialogueIndexSettings, DialogueReplySettings, SummarySettings):
    """Everything that RoleGPT may be told."""


class RoleGptState(TurnState, DialoguesCheckState, DialogueRecallState, SummaryState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[RoleGptState, RoleGptContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(RoleGptState, RoleGptContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "dialogues_version", "stale": "dialogues_stale"}
    wire_beginning(builder, "check_dialogues")
    wire_index(builder, check_dialogues, dialogues_outcome, drmr_index, "recall_dialogues")
    builder.add_node("recall_dialogues", recall_own_dialogues)
    builder.add_node(respond_from_dialogues)
    builder.add_edge("recall_dialogues", "respond_from_dialogues")
    wire_end(builder, "respond_from_dialogues")
    return builder


graph = build().compile(name="role_gpt")
