"""Vanilla, a baseline of RoleRAG (4.1): the role's name and the task, no knowledge."""

from dramaturg.nodes.reply import AskedState, ReplySettings, respond_by_name
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.wiring import wire_beginning, wire_end


class VanillaContext(ReplySettings, SummarySettings):
    """Everything that this baseline may be told."""


class VanillaState(TurnState, AskedState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[VanillaState, VanillaContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(VanillaState, VanillaContext, input_schema=TurnInput, output_schema=TurnOutput)
    wire_beginning(builder, "respond_by_name")
    builder.add_node(respond_by_name)
    wire_end(builder, "respond_by_name")
    return builder


graph = build().compile(name="vanilla")
