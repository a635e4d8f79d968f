"""Vanilla, a baseline of RoleRAG (4.1): the role's name and the task, no knowledge."""

from langgraph.graph import END, START

from dramaturg.nodes.reply import AskedState, ReplySettings, respond_by_name
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState, read_turn, summarize, window_outcome
from dramaturg.nodes.workflow import Workflow, changeable


class VanillaContext(ReplySettings, SummarySettings):
    """Everything that this baseline may be told."""


class VanillaState(TurnState, AskedState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[VanillaState, VanillaContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(VanillaState, VanillaContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.add_node(read_turn)
    builder.add_node(respond_by_name)
    builder.add_node(summarize)
    builder.add_edge(START, "read_turn")
    builder.add_edge("read_turn", "respond_by_name")
    builder.add_conditional_edges("respond_by_name", window_outcome, {"room": END, "full": "summarize"})
    builder.add_edge("summarize", END)
    return builder


graph = build().compile(name="vanilla")
