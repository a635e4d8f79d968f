"""What a turn of ID-RAG costs beside its model, by the size of the chronicle.

The chat model answers at once, so what is timed, in seconds of the processor, is everything but the model. The first
turn of a process reads the chronicle; the others, of which the median is shown, find it read. Three relations are found
by the query, which takes three in fifty of all triples: those of high priority are never cut. With changes, the
conversation has replaced a hundred triples.

Run: python benchmarks/chronicles.py [--sizes 100 1000 10000] [--turns 5]
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from rich.console import Console
from rich.table import Table

from dramaturg.stores.documents.forms import RoleCard, Triple
from dramaturg.stores.library import Library
from dramaturg.testing import Rule, ScriptedChatModel, WordEmbeddings
from dramaturg.workflows.id_rag import IdRagContext, build

RELATIONS = 50
CORE = 7
CHANGES = 100
THREAD: Any = {"configurable": {"thread_id": "benchmark"}}
KINDS: dict[str, dict[str, Any]] = {
    "by a query": {},
    "by a query, hops=1": {"hops": 1},
    "by similarity": {"identity_retrieval": "embedding"},
}
"""How the identity is looked up."""


def chronicle(size: int) -> list[Triple]:
    """Statements on one role, every tenth on a thing that another one is on, too."""
    generator = random.Random(size)
    things = [" ".join(generator.choices(("light", "sea", "storm", "lamp", "watch", "quay"), k=4)) for _ in range(size)]
    return [
        Triple(
            subject="Ada" if number % 10 else f"Thing {number}",
            relation=f"relation_{number % RELATIONS}",
            object=f"{thing} {number}",
            kind="belief",
            core=number < CORE,
        )
        for number, thing in enumerate(things)
    ]


def changes(triples: Sequence[Triple]) -> list[Any]:
    """A hundred triples, each replaced in a turn."""
    return [
        {
            "role": "ada",
            "turn": str(number),
            "triple": old.model_copy(update={"object": f"new {number}"}).model_dump(exclude_defaults=True),
            "replaces": old.model_dump(exclude_defaults=True),
            "evidence": "so",
            "salience": 9,
            "confidence": 0.9,
            "asks": False,
            "approved": None,
        }
        for number, old in enumerate(triples[-CHANGES:])
    ]


async def taken(size: int, turns: int, changed: bool, settings: dict[str, Any], folder: Path) -> list[float]:
    """The seconds of the processor of each turn on one thread."""
    role = Library(folder).create("ada", RoleCard(name="Ada"))
    triples = chronicle(size)
    plain = {"triples": [one.model_dump(exclude_defaults=True) for one in triples]}
    (role.root / "chronicle.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")
    strategy = {"high_priority": [f"relation_{at}" for at in (7, 8, 9)], "medium_priority": [], "keywords": []}
    model = ScriptedChatModel(rules=[Rule("", json.dumps(strategy), schema="SearchStrategy")])
    context = IdRagContext(
        role="ada", library=str(folder), chat_model=model, embedding_model=WordEmbeddings(), **settings
    )
    graph, spent = build().compile(InMemorySaver()), []
    if changed:
        await graph.aupdate_state(THREAD, {"identity_changes": changes(triples)}, as_node="update_identity")
    for number in range(1 + turns):
        began = time.process_time()
        await graph.ainvoke({"messages": [HumanMessage(f"What of the storm, {number}?")]}, THREAD, context=context)
        spent.append(time.process_time() - began)
    return spent


async def main(sizes: list[int], turns: int) -> None:
    """Print the time of a turn, and how it grows from one size to the next."""
    table = Table("identity", "triples", "first turn, s", "a turn, ms", "growth", title="Beside the model")
    for name, settings in KINDS.items():
        for changed in (False, True):
            before = None
            for size in sizes:
                with tempfile.TemporaryDirectory() as folder:
                    first, *later = await taken(size, turns, changed, settings, Path(folder))
                middle = median(later)
                growth = (
                    f"{size / before[0]:.0f} times the triples, {middle / before[1]:.1f} the time" if before else ""
                )
                after = f"{name}, {CHANGES} changes" if changed else name
                table.add_row(after, f"{size:,}", f"{first:.2f}", f"{1000 * middle:.0f}", growth)
                before = (size, middle)
    Console(width=120).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    asyncio.run(main(options.sizes, options.turns))
