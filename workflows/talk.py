"""A talk of two agents, a part of a simulation (ID-RAG 5.5): line after line within a budget."""

from langgraph.graph import END, START

from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.nodes.world.talk import TalkInput, TalkOutput, TalkSettings, TalkState, remember_talk, say, talk_outcome


@changeable
def build() -> Workflow[TalkState, TalkSettings, TalkInput, TalkOutput]:
    """Wire the graph."""
    builder = Workflow(TalkState, TalkSettings, input_schema=TalkInput, output_schema=TalkOutput)
    builder.add_node(say)
    builder.add_node(remember_talk)
    builder.add_edge(START, "say")
    builder.add_conditional_edges("say", talk_outcome, {"goes on": "say", "over": "remember_talk"})
    builder.add_edge("remember_talk", END)
    return builder


graph = build().compile(name="talk")
