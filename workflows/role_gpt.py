"""RoleGPT (Wang et al. 2023), the baseline of DRMR: dialogues like the conversation stand in the prompt."""

from langgraph.graph import END, START

from dramaturg.nodes.dialogues.index import (
    DialogueIndexSettings,
    DialoguesCheckState,
    check_dialogues,
    dialogues_outcome,
)
from dramaturg.nodes.dialogues.recall import DialogueRecallState, recall_own_dialogues
from dramaturg.nodes.dialogues.reply import DialogueReplySettings, respond_from_dialogues
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
from dramaturg.workflows.drmr_index import graph as drmr_index


class RoleGptContext(DialogueIndexSettings, DialogueReplySettings, SummarySettings):
    """Everything that RoleGPT may be told."""


class RoleGptState(TurnState, DialoguesCheckState, DialogueRecallState, SummaryState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[RoleGptState, RoleGptContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(RoleGptState, RoleGptContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.former_channels = {"version": "dialogues_version", "stale": "dialogues_stale"}
    builder.add_node(read_turn)
    builder.add_node(check_dialogues)
    builder.add_node("drmr_index", drmr_index)
    builder.add_node("recall_dialogues", recall_own_dialogues)
    builder.add_node(respond_from_dialogues)
    builder.add_node(summarize)
    builder.add_edge(START, "read_turn")
    builder.add_edge("read_turn", "check_dialogues")
    builder.add_conditional_edges(
        "check_dialogues", dialogues_outcome, {"current": "recall_dialogues", "stale": "drmr_index"}
    )
    builder.add_edge("drmr_index", "recall_dialogues")
    builder.add_edge("recall_dialogues", "respond_from_dialogues")
    builder.add_conditional_edges("respond_from_dialogues", window_outcome, {"room": END, "full": "summarize"})
    builder.add_edge("summarize", END)
    return builder


graph = build().compile(name="role_gpt")
