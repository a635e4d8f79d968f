"""What indexing again costs: with nothing changed, with one document more or less, and on disk.

The documents are those of `corpus.py`. The chat model answers at once and every question is counted, so what is timed
is everything but the models. Memories and dialogues are made of the sentences of the same documents.

Run: python benchmarks/changes.py [--documents 100] [--removed 3] [--changed 10] [--growing 100 1000] [--write]
"""

import argparse
import asyncio
import json
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import page
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from pydantic import Field
from rich.console import Console
from rich.table import Table

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role
from dramaturg.workflows import amadeus_index, drmr_index, emotional_rag_index, role_rag_index

import corpus
import stub_server
from stub_model import StubModel

ROUNDS = 5
KINDS = {"text": "facts", "one": "pairs", "names": "names", "facts": "summaries"}
SENTENCE = re.compile(r"[^.\n#]+\.")


class Counting(StubModel):
    """Answers as the endpoint of `stub_server.py` does, and remembers what it was asked."""

    latency: float = 0
    asked: list[tuple[str, str]] = Field(default_factory=list)

    def answer(self, messages: list[BaseMessage]) -> str:
        """What it says."""
        tagged = [
            (tag, one.text) for one in messages for tag in KINDS if f"<{tag}>" in one.text and one.type == "human"
        ]
        tag, text = tagged[-1]
        explain = "They are the same because" in text
        kind = "reasons" if explain else KINDS[tag]
        self.asked.append((kind, text))
        request: dict[str, Any] = {"messages": [{"role": "user", "content": text}]}
        if kind == "facts":
            form = {"json_schema": {"schema": {"properties": {"entities": {}}}}}
            return stub_server.facts({**request, "response_format": form}) or ""
        if kind == "pairs":
            return stub_server.short({**request, "max_tokens": 1}) or ""
        if kind == "names":
            listed = "\n".join(one.text for one in messages)
            return max(re.findall(r"^(\d+)\. (.*)$", listed, re.MULTILINE), key=lambda one: (len(one[1]), one[1]))[0]
        return stub_server.summary(request)


class Vectors(Embeddings):
    """The vectors of `stub_server.py`; how many texts were embedded is counted."""

    model = "stub"

    def __init__(self) -> None:
        self.texts = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += len(texts)
        return [stub_server.vector(text).tolist() for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Ran(NamedTuple):
    """An index run."""

    report: dict[str, Any]
    asked: list[tuple[str, str]]
    embedded: int
    wall: float
    processor: float


Indexer = tuple[Any, type[Any], dict[str, Any]]
GRAPH: Indexer = (role_rag_index.graph, role_rag_index.RoleRagIndexContext, {})
INDEXERS: dict[str, Indexer] = {
    "passages": (amadeus_index.graph, amadeus_index.AmadeusIndexContext, {}),
    "graph": GRAPH,
    "memories": (
        emotional_rag_index.graph,
        emotional_rag_index.EmotionalRagIndexContext,
        {"emotion_encoder": "embedding"},
    ),
    "dialogues": (drmr_index.graph, drmr_index.DrmrIndexContext, {}),
}


def new_role(library: Path, texts: list[tuple[str, str]], role: str = "mara") -> Role:
    """A role with these documents, and memories and dialogues of their sentences."""
    made = Library(library).create(role, RoleCard(name="Mara Thorne"))
    for name, text in texts:
        (made.root / "persona" / name).write_text(text, encoding="utf-8")
    said = [" ".join(one.split()) for _, text in texts for one in SENTENCE.findall(text)[:10]]
    write_lines(made.root / "memories.jsonl", [{"text": one} for one in said])
    (made.root / "dialogues").mkdir()
    lines = [
        {"scene": f"s{at // 10}", "speaker": "Mara Thorne" if at % 2 else f"P{at % 7}", "text": one}
        for at, one in enumerate(said)
    ]
    write_lines(made.root / "dialogues" / "all.jsonl", lines)
    return made


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")


def index(role: Path, indexer: Indexer = GRAPH) -> Ran:
    """Index a role as a process that has just begun would."""
    graph, context, settings = indexer
    Role.forget_opened(Library(role.parent).role(role.name))
    model, vectors = Counting(), Vectors()
    own = {"role": role.name, "library": str(role.parent), "chat_model": model, "embedding_model": vectors}
    given = context(**own, concurrency=16, **settings)
    wall, processor = time.perf_counter(), time.process_time()
    output = asyncio.run(graph.ainvoke({}, context=given))
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return Ran(output["index"], model.asked, vectors.texts, wall, processor)


def again(role: Path) -> Table:
    """Index each kind, then again with nothing changed."""
    table = Table("", "questions", "texts embedded", "ms, wall", "ms, processor", "index, MB", title="Nothing changed")
    for name, indexer in INDEXERS.items():
        index(role, indexer)
        runs = [index(role, indexer) for _ in range(ROUNDS)]
        size = sum(map(size_of, (role / "index").glob(f"{runs[0].report.get('splitter', name)}")))
        table.add_row(
            name,
            str(max(len(one.asked) for one in runs)),
            str(max(one.embedded for one in runs)),
            *(
                f"{1000 * median(times):.0f}"
                for times in zip(*((one.wall, one.processor) for one in runs), strict=True)
            ),
            f"{size / 1e6:.1f}",
        )
    return table


def one_more_or_less(role: Path, documents: list[tuple[str, str]], removed: int) -> Table:
    """Add a document, and remove some, each of a copy; what a fresh run on what is left asks stands beside it."""
    table = Table(
        "",
        "asked",
        "facts",
        "pairs",
        "reasons",
        "names",
        "summaries",
        "fresh − answered",
        "embedded",
        title="One document",
    )
    run = index_anew(role, documents, "fresh")
    before, whole, extra = run.asked, role.parent / "fresh", corpus.documents(len(documents) + 1)[-1]
    table.add_row("all", *counted(before), "", str(run.embedded))
    with copied(whole) as copy:
        (copy / "persona" / extra[0]).write_text(extra[1], encoding="utf-8")
        run = index(copy)
        table.add_row("added", *counted(run.asked), "", str(run.embedded))
    for at in range(0, len(documents), max(1, len(documents) // removed))[:removed] if removed else ():
        with copied(whole) as copy:
            (copy / "persona" / documents[at][0]).unlink()
            run = index(copy)
        left = [one for one in documents if one != documents[at]]
        fresh = index_anew(role, left, "less")
        shutil.rmtree(role.parent / "less")
        expected = questions(fresh.asked) - questions(before)
        same = "same graph" if run.report["version"] == fresh.report["version"] else "another graph"
        table.add_row(f"{documents[at][0]} removed", *counted(run.asked), f"{len(expected)}, {same}", str(run.embedded))
    return table


def questions(asked: Iterable[tuple[str, str]]) -> set[tuple[str, ...]]:
    """Each question once: two entries are one in either order, and so are the names of a group, whatever is told."""
    names = re.compile(r"^([^:\n]+)(?::.*)?$", re.MULTILINE)
    return {
        (kind, *sorted(names.findall(text.split("<names>")[1]) if kind == "names" else text.split("\n")))
        for kind, text in asked
    }


def counted(asked: list[tuple[str, str]]) -> list[str]:
    """Questions in all and by kind."""
    kinds = Counter(kind for kind, _ in asked)
    return [str(len(asked)), *(str(kinds[kind]) for kind in ("facts", "pairs", "reasons", "names", "summaries"))]


def index_anew(role: Path, documents: list[tuple[str, str]], name: str) -> Ran:
    """Index other documents as a role of another name, with the same card."""
    return index(new_role(role.parent, documents, name).root)


class copied:  # noqa: N801 (used as a function)
    """A copy of a role, under a name of its own, while it is looked at."""

    made = 0

    def __init__(self, role: Path) -> None:
        copied.made += 1
        self.path = role.with_name(f"{role.name}-{copied.made}")
        shutil.copytree(role, self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path)


def on_disk(role: Path, documents: list[tuple[str, str]], changed: int) -> Table:
    """Change one document after the other, and see what the index of the graph takes."""
    table = Table("changes", "MB", "added, MB", "of so many copies", title="On disk")
    sizes = [size_of(role / "index" / "graph")]
    for at in range(changed):
        name, text = documents[at * 7 % len(documents)]
        edited = text.replace(".", f". In {1700 + at} the ledger was found by Mara Thorne.", 1)
        (role / "persona" / name).write_text(edited, encoding="utf-8")
        index(role)
        sizes.append(size_of(role / "index" / "graph"))
        share = (sizes[-1] - sizes[0]) / (sizes[0] * (at + 1))
        table.add_row(str(at + 1), f"{sizes[-1] / 1e6:.2f}", f"{(sizes[-1] - sizes[0]) / 1e6:.2f}", f"{share:.3f}")
    return table


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def larger(folder: Path, sizes: list[int]) -> Table:
    """Index so many documents, then again with nothing changed; how much memory the first run took at its highest."""
    columns = ("MB, index", "again: ms, wall", "ms, processor", "ms of it a document", "peak memory, MB")
    table = Table("documents", *columns, title="The graph by documents")
    for size in sizes:
        role = new_role(folder / str(size), corpus.documents(size)).root
        with get_context("spawn").Pool(1) as process:
            peak = process.apply(peak_of, (role,))
        runs = [index(role) for _ in range(ROUNDS)]
        wall, processor = (1000 * median(one[at] for one in runs) for at in (3, 4))
        stored = size_of(role / "index" / "graph") / 1e6
        table.add_row(
            f"{size:,}", f"{stored:.1f}", f"{wall:.0f}", f"{processor:.0f}", f"{processor / size:.2f}", f"{peak:.0f}"
        )
    return table


def peak_of(role: Path) -> float:
    """Index in a process of its own: the most memory that it held, in MB."""
    index(role)
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest / (1e6 if sys.platform == "darwin" else 1e3)


def main(documents: int, removed: int, changed: int, growing: list[int], *, write: bool) -> None:
    """Measure and print."""
    console, texts = Console(width=140), corpus.documents(documents)
    parts: list[Callable[[Path], Table]] = [
        again,
        lambda role: on_disk(role, texts, changed),
        lambda role: one_more_or_less(role, texts, removed),
    ]
    with tempfile.TemporaryDirectory() as folder:
        role = new_role(Path(folder).resolve(), texts).root
        tables = []
        for part in [*parts, lambda role: larger(role.parent, growing)]:
            tables.append(part(role))
            console.print(tables[-1])
    if write:
        command = f"python benchmarks/changes.py --documents {documents} --removed {removed} --changed {changed}"
        text = f"`{command} --growing {' '.join(map(str, growing))}`: {page.machine()}."
        page.put("changes", "\n\n".join([text, *map(page.markdown, tables)]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--removed", type=int, default=3, help="documents that are removed, each by itself")
    parser.add_argument("--changed", type=int, default=10, help="documents that are changed, one after the other")
    parser.add_argument("--growing", type=int, nargs="*", default=[100, 1000], help="documents of graphs")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/research/performance.md")
    given = parser.parse_args()
    main(given.documents, given.removed, given.changed, given.growing, write=given.write)
