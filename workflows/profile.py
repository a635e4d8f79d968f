"""Character profile, a baseline of RoleRAG (4.1): the short profile of the role's card, no retrieval."""

from langgraph.graph import END, START

from dramaturg.nodes.reply import AskedState, ReplySettings, respond_from_profile
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState, read_turn, summarize, window_outcome
from dramaturg.nodes.workflow import Workflow, changeable


class ProfileContext(ReplySettings, SummarySettings):
    """Everything that this baseline may be told."""


class ProfileState(TurnState, AskedState):
    """A turn, and what lives on: the window and its summary."""


@changeable
def build() -> Workflow[ProfileState, ProfileContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(ProfileState, ProfileContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.add_node(read_turn)
    builder.add_node(respond_from_profile)
    builder.add_node(summarize)
    builder.add_edge(START, "read_turn")
    builder.add_edge("read_turn", "respond_from_profile")
    builder.add_conditional_edges("respond_from_profile", window_outcome, {"room": END, "full": "summarize"})
    builder.add_edge("summarize", END)
    return builder


graph = build().compile(name="profile")
