"""How the processor time of a turn of Emotional RAG grows with what the conversation has made remembered.

Meanings and replies are made up and cost nothing, so what is timed is the rest of a turn: the first after the process
has begun, and the later ones. A ratio, because it says the same on any machine.

Run: python benchmarks/kept_memories.py [--turns 5]
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table

from dramaturg.nodes.memories.emotions import EMOTIONS
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.memories import ConversationMemories, ConversationMemory
from dramaturg.stores.library import open_role
from dramaturg.workflows import emotional_rag
from dramaturg.workflows.emotional_rag import EmotionalRagContext

NUMBERS = (1, 200, 2000)
DIMENSION = 384


def replies() -> Iterator[AIMessage]:
    """Always the same."""
    while True:
        yield AIMessage("I know no more of it than you do.")


def kept(number: int) -> list[ConversationMemory]:
    """Exchanges with a direction and a mood each."""
    rows = np.random.default_rng(7).normal(size=(number, DIMENSION))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    told: dict[str, Any] = {"encoder": f"embedding:{type(EMBEDDINGS).__name__}", "embedding": type(EMBEDDINGS).__name__}
    felt = {name: {"score": 3, "reason": "similarity 0.31"} for name in EMOTIONS}
    return [
        ConversationMemory(
            thread="tea",
            turn=f"m-{at}",
            question=f"What did you do on the day {at} of that year, and who was with you?",
            answer="I sat at the window and wrote, and nobody was with me but the rain. " * 3,
            emotions=felt,
            vector=row.tolist(),
            created=datetime.now(UTC),
            **told,
        )
        for at, row in enumerate(rows)
    ]


EMBEDDINGS = DeterministicFakeEmbedding(size=DIMENSION)


async def measured(folder: Path, number: int, turns: int) -> tuple[float, float]:
    """Milliseconds of processor time: of the first turn, and of the median later one."""
    open_role("beethoven", folder)
    context = EmotionalRagContext(
        role="beethoven",
        library=str(folder),
        chat_model=GenericFakeChatModel(messages=replies()),
        embedding_model=EMBEDDINGS,
        emotion_encoder="embedding",
        conversation_memories=5000,
        summary_tokens=0,
    )
    store = ItemStore(folder / f"{number}.sqlite")
    memories, made = ConversationMemories(store, "beethoven", "tea"), kept(number)
    await asyncio.gather(*(memories.save(one) for one in made))
    graph = emotional_rag.build().compile(InMemorySaver(), store=store)
    thread: Any = {"configurable": {"thread_id": "tea"}}
    await graph.ainvoke({"messages": [("user", "Hello?")]}, {"configurable": {"thread_id": "warm"}}, context=context)
    await graph.aupdate_state(thread, {"remembered": [one.id for one in made]}, as_node="remember")
    times = []
    for at in range(turns + 1):
        began = time.process_time()
        await graph.ainvoke({"messages": [("user", f"What of the day {at}?")]}, thread, context=context)
        times.append(1000 * (time.process_time() - began))
    return times[0], median(times[1:])


def main() -> None:
    """Print one row a number of memories."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5, help="later turns that are timed")
    turns = parser.parse_args().turns
    table = Table("kept memories", "first turn, ms", "later turns, ms", "later turns, times that of one memory")
    least = 0.0
    for number in NUMBERS:
        with tempfile.TemporaryDirectory() as folder:
            first, later = asyncio.run(measured(Path(folder), number, turns))
        least = least or later
        table.add_row(str(number), f"{first:.0f}", f"{later:.0f}", f"{later / least:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
