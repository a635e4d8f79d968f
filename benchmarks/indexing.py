"""How long a large persona takes to split, embed (with a stub) and publish.

Run: python benchmarks/indexing.py [--megabytes 1]
"""

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from rich.console import Console
from rich.table import Table

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.learning import learn
from dramaturg.stores.library import Library
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph


class StubEmbeddings(Embeddings):
    """Vectors out of a random generator, as fast as that goes."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        generator = random.Random(text)
        return [generator.gauss(0, 1) for _ in range(384)]


def document(megabytes: float) -> str:
    """A document with three levels of headings and paragraphs of different length."""
    generator, parts, size = random.Random(0), [], 0
    words = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(2, 9))) for _ in range(5000)]
    while size < megabytes * 1_000_000:
        level = generator.choice([1, 2, 3, 0, 0, 0, 0])
        text = " ".join(generator.choices(words, k=3 if level else generator.randint(30, 120)))
        parts.append(f"{'#' * level} {text}" if level else f"{text}.")
        size += len(parts[-1]) + 2
    return "\n\n".join(parts)


def edited(text: str, places: int) -> str:
    """Write one percent anew, in so many places, with words of other lengths; headings stay."""
    generator, size = random.Random(places), len(text) // 100 // places
    for at in sorted((generator.randrange(len(text) - size) for _ in range(places)), reverse=True):
        lines = text[at : at + size].split("\n")
        new = (one if "#" in one else " ".join("xy" * generator.randint(1, 4) for _ in one.split()) for one in lines)
        text = text[:at] + "\n".join(new) + text[at + size :]
    return text


async def main(megabytes: float, folder: Path) -> None:
    """Index from nothing, then after edits of the text that was first; the edit before each is taken back first."""
    text, columns = (
        document(megabytes),
        ("passages", "embedded", "% of all", "split s", "embed s", "publish s", "all s"),
    )
    table = Table("splitter", "run", *columns, title=f"{len(text):,} characters")
    longer = max(text.split("\n\n"), key=len)
    runs = {
        "from nothing": text,
        "one word": text[:-20] + " changed.",
        "1 % in one place": edited(text, 1),
        "1 % in ten places": edited(text, 10),
        "longest paragraph, +5 %": text.replace(longer, f"{longer} {longer[: len(longer) // 20]}"),
        "longest paragraph, +50 %": text.replace(longer, f"{longer} {longer[: len(longer) // 2]}"),
    }
    for splitter in ("acts", "fixed"):
        role = Library(folder).create(f"stub-{splitter}", RoleCard(name="Stub", language="en"))
        context = AmadeusIndexContext(
            role=role.id, library=str(folder), embedding_model=StubEmbeddings(), embedding_batch=256, splitter=splitter
        )
        for run, content in runs.items():
            learn(role, [("life.md", text.encode())])
            await graph.ainvoke({}, context=context) if run != "from nothing" else None
            learn(role, [("life.md", content.encode())])
            table.add_row(splitter, run, *(await timed(context)))
    Console().print(table)


async def timed(context: AmadeusIndexContext) -> list[str]:
    """Run the indexing graph and take the time at each node."""
    spent: dict[str, float] = {}
    began = last = time.perf_counter()
    report: Any = None
    async for update in graph.astream({"rebuild": False}, context=context, stream_mode="updates"):
        now = time.perf_counter()
        for node, written in update.items():
            spent[node] = spent.get(node, 0) + now - last
            report = (written or {}).get("index") or report
        last = now
    seconds = [spent["split_persona"], spent["embed_passages"], spent["publish_index"], last - began]
    share = 100 * report["embedded"] / report["passages"]
    return [str(report["passages"]), str(report["embedded"]), f"{share:.2f}", *(f"{s:.2f}" for s in seconds)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(parser.parse_args().megabytes, Path(folder)))
