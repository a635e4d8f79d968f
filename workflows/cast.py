"""A character cast from the texts that people have: who says what, and drafts of the files that the methods read."""

from langgraph.graph import END, START

from dramaturg.nodes.casting.cast import (
    CastInput,
    CastOutput,
    CastSettings,
    CastState,
    attribute_lines,
    draft_card,
    draft_chronicle,
    draft_dialogues,
    draft_memories,
    draft_names,
    draft_persona,
    find_character,
    read_parts,
    report_cast,
    review_drafts,
    review_outcome,
)
from dramaturg.nodes.workflow import Workflow, changeable


class CastContext(CastSettings):
    """Everything that casting may be told."""


@changeable
def build() -> Workflow[CastState, CastContext, CastInput, CastOutput]:
    """Wire the graph."""
    builder = Workflow(CastState, CastContext, input_schema=CastInput, output_schema=CastOutput)
    builder.prepares = True
    builder.add_node(find_character)
    builder.add_node(attribute_lines)
    builder.add_node(read_parts)
    builder.add_node(draft_dialogues)
    builder.add_node(draft_persona)
    builder.add_node(draft_memories)
    builder.add_node(draft_chronicle)
    builder.add_node(draft_names)
    builder.add_node(draft_card)
    builder.add_node(report_cast)
    builder.add_node(review_drafts)
    builder.add_edge(START, "find_character")
    builder.add_edge("find_character", "attribute_lines")
    builder.add_edge("attribute_lines", "read_parts")
    drafts = ["draft_dialogues", "draft_persona", "draft_memories", "draft_chronicle", "draft_names"]
    for draft in drafts:
        builder.add_edge("read_parts", draft)
    builder.add_edge(drafts, "draft_card")
    builder.add_edge("draft_card", "report_cast")
    builder.add_conditional_edges("report_cast", review_outcome, {"review": "review_drafts", "done": END})
    builder.add_edge("review_drafts", END)
    return builder


graph = build().compile(name="cast")
