"""DRMR (2025), the part that prepares a role: its dialogues, embedded, with who speaks with whom in them."""

from langgraph.graph import END, START

from dramaturg.nodes.dialogues.index import (
    DialogueDraftState,
    DialogueIndexInput,
    DialogueIndexOutput,
    DialogueIndexSettings,
    embed_dialogues,
    gather_dialogues,
    publish_dialogues,
    recheck_dialogues,
    score_all_edges,
)
from dramaturg.nodes.index_steps import publishing_outcome, recheck_outcome
from dramaturg.nodes.workflow import Workflow, changeable


class DrmrIndexContext(DialogueIndexSettings):
    """Everything that indexing may be told."""


@changeable
def build() -> Workflow[DialogueDraftState, DrmrIndexContext, DialogueIndexInput, DialogueIndexOutput]:
    """Wire the graph (Figure 2, the historical dialogues)."""
    builder = Workflow(
        DialogueDraftState, DrmrIndexContext, input_schema=DialogueIndexInput, output_schema=DialogueIndexOutput
    )
    builder.prepares = True
    builder.add_node(recheck_dialogues)
    builder.add_node(gather_dialogues)
    builder.add_node(embed_dialogues)
    builder.add_node(score_all_edges)
    builder.add_node(publish_dialogues)
    builder.add_edge(START, "recheck_dialogues")
    builder.add_conditional_edges("recheck_dialogues", recheck_outcome, {"unchanged": END, "index": "gather_dialogues"})
    builder.add_edge("gather_dialogues", "embed_dialogues")
    builder.add_edge("gather_dialogues", "score_all_edges")
    builder.add_edge("embed_dialogues", "publish_dialogues")
    builder.add_edge("score_all_edges", "publish_dialogues")
    builder.add_conditional_edges("publish_dialogues", publishing_outcome, {"done": END, "stale": "gather_dialogues"})
    return builder


graph = build().compile(name="drmr_index")
