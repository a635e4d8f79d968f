"""An interview by an inventory (InCharacter): open questions, answers without names, a judge, a type."""

from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from dramaturg.evaluation.interviews.asking import anonymize, ask, begin, clean, send_items
from dramaturg.evaluation.interviews.judging import judge, send_batches
from dramaturg.evaluation.interviews.scores import result_of
from dramaturg.evaluation.interviews.state import InterviewContext, InterviewInput, InterviewOutput, InterviewState
from dramaturg.nodes.run import settings


async def score(state: InterviewState, runtime: Runtime[InterviewContext]) -> dict[str, Any]:
    """Make scores and a type of the judgements, and say whether they can be used."""
    context = settings(runtime, InterviewContext)
    return {**await result_of(context, state["records"], state.get("judgements") or [])}


def build() -> StateGraph[InterviewState, InterviewContext, InterviewInput, InterviewOutput]:
    """Wire the graph."""
    builder = StateGraph(InterviewState, InterviewContext, input_schema=InterviewInput, output_schema=InterviewOutput)
    builder.add_node(begin)
    builder.add_node(ask)
    builder.add_node(clean)
    builder.add_node(anonymize)
    builder.add_node(judge)
    builder.add_node(score)
    builder.add_edge(START, "begin")
    builder.add_conditional_edges("begin", send_items, ["ask"])
    builder.add_edge("ask", "clean")
    builder.add_edge("clean", "anonymize")
    builder.add_conditional_edges("anonymize", send_batches, ["judge", "score"])
    builder.add_edge("judge", "score")
    builder.add_edge("score", END)
    return builder


graph = build().compile(name="interview")
