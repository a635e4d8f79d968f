"""What indexing would ask a chat model, counted before it does; nothing is asked, and no index is changed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dramaturg.nodes.dialogues.edge_scores import edge_key, edges_of
from dramaturg.nodes.dialogues.index import DialogueIndexSettings, dialogues_of
from dramaturg.nodes.graph.facts import needs_facts
from dramaturg.nodes.graph.index import GraphIndexSettings, graph_to_split_by
from dramaturg.nodes.memories.index import MemorySettings, encoder_wanted, encoding_of
from dramaturg.nodes.memories.index import wanted as mood_wanted
from dramaturg.nodes.memories.units import memory_unit
from dramaturg.nodes.passages.index import split_documents
from dramaturg.nodes.run import embedder_of, role_of
from dramaturg.stores.dialogue_files import read_dialogue_files
from dramaturg.stores.memory_files import read_memory_files


class IndexingCost(NamedTuple):
    """What an index is made of, and what of it a chat model is asked about."""

    unit: str
    there: int
    questions: int
    """One for each that was not asked about before; an answer that cannot be used is asked for again."""
    characters: int
    """Of the texts that are asked about; prompts come on top."""
    later: str = ""
    """What more is asked, and how much is known only then."""


Wishes = Mapping[str, bool]
"""`rebuild`, `retry`, `scores`: what indexing is told."""


async def cost_of_dialogues(context: DialogueIndexSettings, wishes: Wishes) -> IndexingCost:
    """The edges without a score, if they are to be scored now."""
    role, anew = await role_of(context), wishes.get("rebuild", False)
    files = await asyncio.to_thread(read_dialogue_files, role.root)
    edges = edges_of(dialogues_of(files, role.card, context.dialogue_length))
    if not wishes.get("scores", False):
        return cost("edges", len(edges), [], "a turn asks for the scores that it needs")
    answers = {} if anew else await asyncio.to_thread(role.index(context.index_kind).builder.known)
    return cost("edges", len(edges), [one.dialogue.text for one in edges if edge_key(one, role.card) not in answers])


async def cost_of_graph(context: GraphIndexSettings, wishes: Wishes) -> IndexingCost:
    """The chunks without facts; names are compared when facts are there."""
    role, anew = await role_of(context), wishes.get("rebuild", False)
    before = None if anew else await asyncio.to_thread(graph_to_split_by, role, context)
    chunks, _ = await asyncio.to_thread(lambda: split_documents(role.documents(), context, before))
    answers = {} if anew else await asyncio.to_thread(role.index(context.index_kind).builder.known)
    left = [one.text for one in chunks if needs_facts(one, answers, retry=wishes.get("retry", False))]
    then = "then names that look alike are compared, and long descriptions summed up"
    return cost("chunks", len(chunks), left, then if context.normalization else "then long descriptions are summed up")


async def cost_of_memories(context: MemorySettings, wishes: Wishes) -> IndexingCost:
    """The memories without a mood, where the chat model reads moods."""
    role, anew = await role_of(context), wishes.get("rebuild", False)
    memories = await asyncio.to_thread(lambda: memory_unit(read_memory_files(role.root), role.card))
    name = await encoder_wanted(context, role, await embedder_of(context, role), rebuild=anew)
    if name != "model":
        return cost("memories", len(memories), [])
    encoding, _ = await encoding_of(context, name)
    answers = {} if anew else await asyncio.to_thread(role.index(context.index_kind).builder.known)
    retry = wishes.get("retry", False)
    return cost(
        "memories", len(memories), [one.text for one in memories if mood_wanted(one, encoding, answers, retry=retry)]
    )


COSTS: Mapping[str, Callable[[Any, Wishes], Awaitable[IndexingCost]]] = {
    "role_rag_index": cost_of_graph,
    "emotional_rag_index": cost_of_memories,
    "drmr_index": cost_of_dialogues,
}
"""By the graphs that ask a chat model; other ones embed only."""


def cost(unit: str, there: int, left: Sequence[str], later: str = "") -> IndexingCost:
    """A cost by the texts that are asked about."""
    return IndexingCost(unit, there, len(left), sum(map(len, left)), later)
