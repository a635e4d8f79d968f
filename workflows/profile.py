"""Character profile, a baseline of RoleRAG (4.1): the short profile of the role's card, no retrieval."""

from dramaturg.nodes.reply import AskedState, ReplySettings, respond_from_profile
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.workflows.wiring import wire_beginning, wire_end


class ProfileContext(ReplySettings, SummarySettings):
    """Everything that this baseline may be told."""


class ProfileState(TurnState, AskedState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[ProfileState, ProfileContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(ProfileState, ProfileContext, input_schema=TurnInput, output_schema=TurnOutput)
    wire_beginning(builder, "respond_from_profile")
    builder.add_node(respond_from_profile)
    wire_end(builder, "respond_from_profile")
    return builder


graph = build().compile(name="profile")
