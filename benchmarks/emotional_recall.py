"""How long recall out of 1,000 to 100,000 memories takes, beside one flat FAISS scan of the same vectors.

Unit vectors of 384 dimensions in single precision, emotions of whole numbers from 1 to 10, ten memories recalled. What
is compared takes turns, so that both see the same machine. FAISS has one thread, and so has recall.

Run: python benchmarks/emotional_recall.py [--repeats 15] [--sizes 1000 10000 100000]
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any, get_args

import faiss
import numpy as np
from rich.console import Console
from rich.table import Table

from dramaturg.nodes.memories.bank import MemoryBank, Strategy, rank_memories

DIMENSION = 384
SCAN = "FAISS IndexFlatL2, k = 10"
Calls = dict[str, Callable[[], Any]]


def calls(count: int) -> Calls:
    """What is timed, by its name."""
    chance = np.random.default_rng(count)
    vectors = chance.standard_normal((count + 1, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query, memories = vectors[0], vectors[1:].copy()
    mood, *moods = chance.integers(1, 11, (count + 1, 8))
    emotions = np.array(moods)
    index = faiss.IndexFlatL2(DIMENSION)
    index.add(memories)
    bank = MemoryBank(memories, emotions)
    gaps = MemoryBank(memories, emotions, chance.random(count) > 0.01)

    def recall(strategy: Strategy, bank: MemoryBank = bank, **options: Any) -> Callable[[], Any]:
        return lambda: bank.rank(query, mood, strategy=strategy, **options)

    return {
        SCAN: lambda: index.search(query[None], 10),
        **{strategy: recall(strategy) for strategy in get_args(Strategy)},
        "C-A, cosine": recall("C-A", semantic_distance="cosine"),
        "C-A, minmax": recall("C-A", normalize="minmax"),
        "C-A, rank": recall("C-A", normalize="rank"),
        "C-A, 1 % of the emotions unknown": recall("C-A", gaps),
        "making the bank": lambda: MemoryBank(memories, emotions),
        "rank_memories (bank and C-A)": lambda: rank_memories(query, memories, mood, emotions, strategy="C-A"),
    }


def milliseconds(timed: Calls, repeats: int, loops: int) -> dict[str, float]:
    """Return the median time of each, in milliseconds; all take turns."""
    found: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(repeats + 1):
        for name, call in timed.items():
            began = time.perf_counter()
            for _ in range(loops):
                call()
            found[name].append((time.perf_counter() - began) * 1000 / loops)
    return {name: median(times[1:]) for name, times in found.items()}


def main(sizes: list[int], repeats: int) -> None:
    """Print a row for each way to recall, two columns for each size."""
    faiss.omp_set_num_threads(1)
    columns = [milliseconds(calls(size), repeats, max(1, 20_000 // size)) for size in sizes]
    table = Table("recall of 10", title="milliseconds, and times the flat scan of the same size")
    for size in sizes:
        table.add_column(f"{size:,}", justify="right")
        table.add_column("ratio", justify="right")
    for name in columns[0]:
        pairs = ((f"{times[name]:.3g}", f"{times[name] / times[SCAN]:.1f}") for times in columns)
        table.add_row(name, *(cell for pair in pairs for cell in pair))
    Console(width=110).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    given = parser.parse_args()
    main(given.sizes, given.repeats)
