"""AMADEUS, the part that prepares a role: its persona split adaptively (ACTS), embedded and published."""

from langgraph.graph import END, START

from dramaturg.nodes.index_steps import publishing_outcome, recheck_outcome
from dramaturg.nodes.passages.index import (
    IndexingSettings,
    IndexingState,
    IndexInput,
    IndexOutput,
    embed_passages,
    embedding_outcome,
    publish_index,
    recheck_index,
    split_persona,
)
from dramaturg.nodes.workflow import Workflow, changeable


class AmadeusIndexContext(IndexingSettings):
    """Everything that indexing may be told."""


@changeable
def build() -> Workflow[IndexingState, AmadeusIndexContext, IndexInput, IndexOutput]:
    """Wire the graph."""
    builder = Workflow(IndexingState, AmadeusIndexContext, input_schema=IndexInput, output_schema=IndexOutput)
    builder.prepares = True
    builder.former_channels = {"left": "unembedded"}
    builder.add_node(recheck_index)
    builder.add_node(split_persona)
    builder.add_node(embed_passages)
    builder.add_node(publish_index)
    builder.add_edge(START, "recheck_index")
    builder.add_conditional_edges("recheck_index", recheck_outcome, {"unchanged": END, "index": "split_persona"})
    builder.add_edge("split_persona", "embed_passages")
    builder.add_conditional_edges(
        "embed_passages", embedding_outcome, {"more": "embed_passages", "done": "publish_index"}
    )
    builder.add_conditional_edges("publish_index", publishing_outcome, {"done": END, "stale": "split_persona"})
    return builder


graph = build().compile(name="amadeus_index")
