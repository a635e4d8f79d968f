"""Riverbend, the election day of ID-RAG (section 5): agents decide, a game master resolves, two talk, all vote."""

from langgraph.graph import END, START

from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.nodes.world.game_master import poll, resolve, send_voters, vote
from dramaturg.nodes.world.world import WorldInput, WorldOutput, WorldState, begin_step, end_step, step_outcome
from dramaturg.workflows.riverbend_agents import RiverbendContext, decide, send_agents, send_talks
from dramaturg.workflows.talk import graph as talk


@changeable
def build() -> Workflow[WorldState, RiverbendContext, WorldInput, WorldOutput]:
    """Wire the graph: a step is an hour."""
    builder = Workflow(WorldState, RiverbendContext, input_schema=WorldInput, output_schema=WorldOutput)
    builder.former_channels = {"news": "agent_news", "lived": "agent_lived", "identity_changes": "agent_changes"}
    builder.add_node(begin_step)
    builder.add_node(decide)
    builder.add_node(resolve)
    builder.add_node("talk", talk)
    builder.add_node(poll)
    builder.add_node(vote)
    builder.add_node(end_step)
    builder.add_edge(START, "begin_step")
    builder.add_conditional_edges("begin_step", send_agents, ["decide"])
    builder.add_edge("decide", "resolve")
    builder.add_conditional_edges("resolve", send_talks, ["talk", "poll"])
    builder.add_edge("talk", "poll")
    builder.add_conditional_edges("poll", send_voters, ["vote", "end_step"])
    builder.add_edge("vote", "end_step")
    builder.add_conditional_edges("end_step", step_outcome, {"next": "begin_step", "over": END})
    return builder


STEPS = 1000  # of the graph, which are about seven an hour: more than the longest scenario has
graph = build().compile(name="riverbend").with_config(recursion_limit=STEPS)
