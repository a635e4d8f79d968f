"""What an index costs beside the models.

Passages: how long a large persona takes to split, embed (with a stub) and publish. A knowledge graph: processor time
and wall time of indexing through an endpoint on this machine, against a bare loop of LangChain's clients that sends the
same requests, as many at once, with nothing before or after; both are run in turns.

Run: python benchmarks/indexing.py [--only passages|graph] [--megabytes 1] [--documents 100] [--rounds 3] [--write]
"""

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import openai
import page
from langchain_core.embeddings import Embeddings
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from rich.console import Console
from rich.table import Table

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.learning import learn
from dramaturg.stores.library import Library
from dramaturg.workflows import role_rag_index
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph

from corpus import documents
from stub_server import Stub, running

AT_ONCE = 16
MODES: dict[str, dict[str, Any]] = {
    "as the paper": {},
    "skip_joined, 20 pairs at once": {"skip_joined": True, "pairs_at_once": 20},
}


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


class Cost(NamedTuple):
    """What a run took."""

    calls: int
    embedding_calls: int
    processor: float
    """Seconds of this process."""
    wall: float

    @property
    def a_call(self) -> float:
        """Milliseconds of processor a chat call."""
        return 1000 * self.processor / self.calls


async def costs(stub: Stub, work: Awaitable[Any]) -> Cost:
    """Count and time one run."""
    stub.reset()
    wall, processor = time.perf_counter(), time.process_time()
    await work
    wall, processor, counts = time.perf_counter() - wall, time.process_time() - processor, stub.counts()
    return Cost(int(counts["chat"]), int(counts["embedding"]), processor, wall)


async def bare(requests: Sequence[dict[str, Any]], url: str) -> None:
    """Send the same requests by LangChain's clients, as many at once: questions, then texts to embed."""
    pool, places = openai.DefaultAsyncHttpxClient(), asyncio.Semaphore(AT_ONCE)
    how: dict[str, Any] = {"model": "stub", "base_url": url, "api_key": "stub", "max_retries": 0}
    chat = ChatOpenAI(**how, http_async_client=pool)
    vectors = OpenAIEmbeddings(**how, http_async_client=pool, check_embedding_ctx_length=False)

    async def one(request: dict[str, Any]) -> None:
        async with places:
            if "input" in request:
                await vectors.aembed_documents(request["input"])
                return
            rest = {key: value for key, value in request.items() if key not in ("messages", "model")}
            if rest.pop("stream", False):
                [part async for part in chat.bind(**rest).astream(request["messages"])]
            else:
                await chat.bind(**rest).ainvoke(request["messages"])

    async with pool:  # left to the garbage collector, it takes the next round's connections from the event loop
        await asyncio.gather(*map(one, requests))


async def graphs(number: int, rounds: int, folder: Path, *, write: bool) -> None:
    """Index as many documents in both modes, each beside the bare loop."""
    texts = documents(number)
    table = Table(
        *("mode", "chat", "embedding", "wall s", "bare s", "times", "processor ms a call", "bare ms", "above it"),
        title=f"{number} documents, {sum(len(text) for _, text in texts):,} characters, {AT_ONCE} at once; "
        f"medians of {rounds} (least and most)",
    )
    with running() as stub:
        os.environ |= {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "stub", "DRAMATURG_CHAT_MODEL": "stub"}
        for at, (mode, how) in enumerate(MODES.items()):
            ours, loop = list[Cost](), list[Cost]()
            for turn in range(rounds):
                role = Library(folder).create(f"graph-{at}-{turn}", RoleCard(name="Stub", language="en"))
                for name, text in texts:
                    (role.root / "persona" / name).write_text(text, encoding="utf-8")
                context = role_rag_index.RoleRagIndexContext(
                    role=role.id, library=str(folder), concurrency=AT_ONCE, embedding_model="openai:stub", **how
                )
                ours.append(await costs(stub, role_rag_index.graph.ainvoke({}, context=context)))
                loop.append(await costs(stub, bare(stub.requests(), stub.url)))
            above = [one.a_call - other.a_call for one, other in zip(ours, loop, strict=True)]
            times = [one.wall / other.wall for one, other in zip(ours, loop, strict=True)]
            counts = str(ours[0].calls), str(ours[0].embedding_calls)
            walls = ([one.wall for one in ours], [one.wall for one in loop], times)
            processor = ([one.a_call for one in ours], [one.a_call for one in loop], above)
            table.add_row(mode, *counts, *map(spread, (*walls, *processor)))
    Console(width=160).print(table)
    if write:
        command = f"python benchmarks/indexing.py --only graph --documents {number} --rounds {rounds}"
        page.put("indexing", f"`{command}`: {page.machine('langchain-openai')}.\n\n{page.markdown(table)}")


def spread(values: Sequence[float]) -> str:
    """The median, and the least and the most."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["passages", "graph"])
    parser.add_argument("--megabytes", type=float, default=1)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--write", action="store_true", help="put the table of graphs into docs/research/performance.md"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.only != "graph":
            asyncio.run(main(given.megabytes, Path(folder)))
        if given.only != "passages":
            asyncio.run(graphs(given.documents, given.rounds, Path(folder), write=given.write))
