"""What graphs of a turn wire alike: its beginning, an index that must be there, a draft that is verified, its end."""

from collections.abc import Callable
from typing import Any, Literal

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from dramaturg.nodes.drafts import next_step, revise
from dramaturg.nodes.talk.memory import keep_talk, recall_talk
from dramaturg.nodes.turn import read_turn, summarize, window_outcome
from dramaturg.nodes.verification import verify
from dramaturg.nodes.workflow import Node, Workflow

Builder = Workflow[Any, Any, Any, Any]


def wire_beginning(builder: Builder, then: str) -> None:
    """Begin a turn: what the user says is read, what was said of it before comes back, then comes the node `then`."""
    builder.add_node(read_turn)
    builder.add_node(recall_talk)
    builder.add_edge(START, "read_turn")
    builder.add_edge("read_turn", "recall_talk")
    builder.add_edge("recall_talk", then)


def wire_index(
    builder: Builder,
    check: Callable[..., Any],
    outcome: Callable[[Any], Literal["current", "stale"]],
    index: CompiledStateGraph[Any, Any, Any, Any],
    then: str,
) -> None:
    """Let nothing be looked up in an index that is not there: the graph `index` makes it, and then comes `then`.

    Args:
        builder: of the graph.
        check: the node that looks whether the index fits the role's files and the settings.
        outcome: what it found.
        index: the graph that makes the index; its node has its name.
        then: the node that needs the index.
    """
    builder.add_node(check)
    builder.add_node(index.name, index)
    builder.add_conditional_edges(check.__name__, outcome, {"current": then, "stale": index.name})
    builder.add_edge(index.name, then)


def wire_drafts(builder: Builder, draft: Node, *, again: str = "draft") -> None:
    """Draft, verify and revise (DRMR, Figure 2); a draft that is settled leads to the node `speak`.

    Args:
        builder: of the graph.
        draft: the node that drafts.
        again: what a revision begins with.
    """
    builder.add_node("draft", draft)
    builder.add_node(verify)
    builder.add_node(revise)
    builder.add_conditional_edges("draft", next_step, {"verifier": "verify", "settled": "speak"})
    builder.add_conditional_edges("verify", next_step, {"settled": "speak", "revise": "revise"})
    builder.add_edge("revise", again)


def wire_end(builder: Builder, *spoken: str) -> None:
    """End a turn after the nodes that have spoken: it is kept, and what the window has no room for is summarized."""
    builder.add_node(keep_talk)
    builder.add_node(summarize)
    for node in spoken:
        builder.add_edge(node, "keep_talk")
    builder.add_conditional_edges("keep_talk", window_outcome, {"room": END, "full": "summarize"})
    builder.add_edge("summarize", END)
