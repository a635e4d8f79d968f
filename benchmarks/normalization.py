"""Indexing a persona as a knowledge graph: model calls and time, next to Algorithm 1 of RoleRAG as it is written.

The model answers rightly after a fixed time. As it is written, everything is asked one after another, and every
mention of a name is an entity of its own; "equal names joined" is the same over names that differ. Both are written
out here; the other rows are what Dramaturg does. That all of them put the same names together is asserted.

Run: python benchmarks/normalization.py [--latency 0.01] [--chunks 40] [--names 12]
"""

import argparse
import asyncio
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from pydantic import Field
from rich.console import Console
from rich.table import Table

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.questions import choose, decide, extract, write
from dramaturg.nodes.graph.facts import facts_about, numbered
from dramaturg.nodes.graph.normalization import merge_groups
from dramaturg.nodes.passages.index import split_documents
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.prompts import load
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.graph import GRAPH_KIND, embedding_text
from dramaturg.stores.library import Library
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role
from dramaturg.workflows.role_rag_index import RoleRagIndexContext, graph

from stub_model import StubModel

PEOPLE = 60  # entities that the documents tell of
ALIASED = 4  # one in so many goes by four more names
DOCUMENTS = 10
KINDS = {"text": "facts", "one": "pairs", "pairs": "pairs", "names": "names", "facts": "summaries"}
TITLES = ("", "Sir ", "Old ", "Uncle ", "Captain ")
NAMED = re.compile(rf"\b(?:{'|'.join(TITLES)})Person\d+\b")
Groups = set[frozenset[str]]


class StubIndexer(StubModel):
    """Answers every question of indexing rightly after a fixed time, and counts by kind; one pair may be a part."""

    requests: Counter[str] = Field(default_factory=Counter)
    pairs: Counter[str] = Field(default_factory=Counter)

    def answer(self, messages: list[BaseMessage]) -> str:
        """What it says."""
        text = "\n".join(message.text for message in messages)
        tag = next(tag for tag in KINDS if f"<{tag}>" in text)
        self.requests[KINDS[tag]] += 1
        answer = {"text": facts, "one": same, "pairs": verdicts, "names": longest, "facts": summary}[tag](text)
        self.pairs["asked"] += answer.count('"same"') if tag == "pairs" else tag == "one"
        return answer


def facts(text: str) -> str:
    """Each name of a numbered sentence as an entity, the two names of one sentence as a relation."""
    found: dict[str, list[dict[str, Any]]] = {"entities": [], "relations": []}
    for number, sentence in re.findall(r"^\[(\d+)\] (.*)$", text, re.MULTILINE):
        here = {"sentence": int(number), "description": sentence}
        names = NAMED.findall(sentence)
        found["entities"] += [{"name": name, "type": "character", **here} for name in names]
        found["relations"] += [{"source": a, "target": b, "strength": 5, **here} for a, b in pairwise(names)]
    return json.dumps(found)


def same(text: str) -> str:
    """Whether two names are one person's."""
    one, other = (fenced(tag, text).split(":")[0] for tag in ("one", "other"))
    return "yes" if person(one) == person(other) else "no"


def verdicts(text: str) -> str:
    """The same for several pairs."""
    names = [line.split("] ")[1].split(":")[0] for line in fenced("pairs", text).split("\n") if line]
    found = enumerate(zip(names[::2], names[1::2], strict=True), start=1)
    return json.dumps({f"pair_{at}": {"reason": "-", "same": person(a) == person(b)} for at, (a, b) in found})


def longest(text: str) -> str:
    """The number of the longest name."""
    options = re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE)
    return str(max(options, key=lambda option: len(option[1]))[0])


def summary(text: str) -> str:
    """The first thing that is told."""
    return fenced("facts", text).split("\n")[0].removeprefix("- ")


def fenced(tag: str, text: str) -> str:
    """What stands between a prompt's tags, the last ones: examples come before."""
    return text.rpartition(f"\n<{tag}>\n")[2].partition(f"\n</{tag}>")[0]


def person(name: str) -> str:
    """Who is meant by a name."""
    return name.rsplit(maxsplit=1)[-1].casefold()


class StubEmbeddings(Embeddings):
    """Texts that begin with a name of one person are near each other, nearer if it is the same name."""

    model = "stub"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        name = text.split(":", maxsplit=1)[0]
        parts = ((1.0, person(name)), (0.4, normal_name(name)), (0.2, text))
        rows = (weight * np.random.default_rng([*seed.encode()]).normal(size=64) for weight, seed in parts)
        return np.asarray(sum(rows)).tolist()


def documents(chunks: int, names: int) -> dict[str, str]:
    """A persona in which few people are named often and many seldom, some of them by five names."""
    drawn, texts = random.Random(0), [list[str]() for _ in range(DOCUMENTS)]
    for chunk in range(chunks):
        weights = [1 / (1 + at) for at in range(PEOPLE)]
        people = list(dict.fromkeys(drawn.choices(range(PEOPLE), weights, k=10 * names)))[:names]
        called = [drawn.choice(names_of(one)) for one in people]
        lines = [f"{a} met {b} in year {chunk} of the war." for a, b in zip(called[::2], called[1::2], strict=True)]
        texts[chunk * DOCUMENTS // chunks].append(f"# Part {chunk}\n\n{' '.join(lines)}")
    return {f"part-{at}.md": "\n\n".join(parts) + "\n" for at, parts in enumerate(texts)}


def names_of(one: int) -> list[str]:
    """The names that a person goes by."""
    return [f"{title}Person{one}" for title in (TITLES[:1] if one % ALIASED else TITLES)]


class Mention(NamedTuple):
    """An entity of 𝒩 in Algorithm 1, as it is written."""

    name: str
    description: str


class Found(NamedTuple):
    """What was extracted."""

    entities: list[Mention]
    relations: list[tuple[str, str, str]]


async def as_written(role: Role, context: RoleRagIndexContext, *, joined: bool) -> Groups:
    """Sections 3.1 to 3.3 one question after the other; `joined`: a name that is there already is no new entity."""
    model = chat_model(context.chat_model, concurrency=1)
    found = await extracted(role, context, model)
    entities = found.entities
    if joined:
        first = {normal_name(one.name): one for one in reversed(entities)}
        entities = list({normal_name(one.name): first[normal_name(one.name)] for one in entities}.values())
    vectors = np.array(StubEmbeddings().embed_documents([embedding_text(*one) for one in entities]))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    edges = []
    for at, row in enumerate(vectors):
        for other in np.argsort(-(vectors[:at] @ row), kind="stable")[: context.neighbours]:
            data = {"one": embedding_text(*entities[other]), "other": embedding_text(*entities[at])}
            decision = await decide(model, load("same_entity", "en").messages(data=data))
            edges += [(str(other), str(at))] if decision.answer else []
    components = merge_groups([str(at) for at in range(len(entities))], edges)
    names = [list(dict.fromkeys(entities[int(at)].name for at in one)) for one in components]
    chosen = [await canonical(one, model) if len(one) > 1 else one[0] for one in names]
    await summarized(found, {name: to for to, one in zip(chosen, names, strict=True) for name in one}, role, model)
    return {frozenset(one) for one in names}


async def extracted(role: Role, context: RoleRagIndexContext, model: ChatModel) -> Found:
    """Facts chunk by chunk (3.1)."""
    found = Found([], [])
    for chunk in split_documents(role.documents(), context)[0]:
        spans = list(sentences(chunk.text))
        data, most = {"text": numbered(chunk, spans)}, context.most(model)
        messages = load("extract_facts", "en").messages(role=role.card.name, most=most, data=data)
        told = (await extract(model, messages, facts_about(len(spans), most, quoted=False))).model_dump()
        found.entities.extend(Mention(one["name"], one["description"]) for one in told["entities"])
        found.relations.extend((one["source"], one["target"], one["description"]) for one in told["relations"])
    return found


async def canonical(names: Sequence[str], model: ChatModel) -> str:
    """One name for a component (line 24)."""
    return await choose(model, load("choose_name", "en").messages(data={"names": "\n".join(names)}), names)


async def summarized(found: Found, canonical_of: dict[str, str], role: Role, model: ChatModel) -> None:
    """One description for each entity and relation that is told of more than once (3.3)."""
    told: dict[str, dict[str, None]] = {}
    for name, description in found.entities:
        told.setdefault(canonical_of[name], {})[description] = None
    for source, target, description in found.relations:
        ends = sorted((canonical_of[source], canonical_of[target]))
        told.setdefault(" – ".join(ends), {})[description] = None
    for title, texts in told.items():
        if len(texts) > 1:
            data = {"name": title, "facts": "\n".join(f"- {one}" for one in texts)}
            messages = load("summarize_facts", "en").messages(role=role.card.name, data=data)
            await write(model, messages, temperature=0, quiet=True)


async def by_dramaturg(role: Role, context: RoleRagIndexContext) -> Groups:
    """The workflow; names are read from the graph that is served."""
    await graph.ainvoke({}, context=context)
    return {frozenset(entity.names) for entity in Role(role.root).index(GRAPH_KIND).open().entities()}


class Bench:
    """A table of runs."""

    def __init__(self, folder: Path, latency: float, texts: dict[str, str]) -> None:
        self.folder, self.latency, self.texts = folder, latency, texts
        self.first: tuple[int, float] | None = None
        columns = ("facts", "pairs", "pair requests", "names", "summaries", "all calls", "seconds", "calls", "time")
        self.table = Table(
            "run", *columns, title=f"a call takes {latency * 1000:g} ms; calls and time: of the first row"
        )

    def role(self, name: str) -> Role:
        """A role that was never indexed."""
        role = Library(self.folder).create(name, RoleCard(name="Stub", language="en"))
        for file, text in self.texts.items():
            (role.root / "persona" / file).write_text(text, encoding="utf-8")
        return role

    def context(self, role: Role, **settings: Any) -> RoleRagIndexContext:
        """A chunk for each part, and a model that has counted nothing yet."""
        usual = {"splitter": "acts", "unit": "characters", "neighbours": 3, "reasons": False, "descriptions": "written"}
        models = {"chat_model": StubIndexer(latency=self.latency), "embedding_model": StubEmbeddings()}
        return RoleRagIndexContext(role=role.id, library=str(self.folder), **models, **{**usual, **settings})

    async def run(self, name: str, role: Role, way: Any, **settings: Any) -> Groups:
        """Time one run and give its groups."""
        context = self.context(role, **settings)
        model, began = context.chat_model, time.perf_counter()
        groups: Groups = await way(role, context)
        seconds = time.perf_counter() - began
        assert isinstance(model, StubIndexer)
        calls = model.requests.total()
        self.first = self.first or (calls, seconds)
        kinds = (model.requests[kind] for kind in ("pairs", "names", "summaries"))
        counts = [model.requests["facts"], model.pairs["asked"], *kinds]
        ratios = f"{calls / self.first[0]:.1%}", f"{seconds / self.first[1]:.1%}"
        self.table.add_row(name, *(f"{count:,}" for count in counts), f"{calls:,}", f"{seconds:.1f}", *ratios)
        return groups


async def main(folder: Path, latency: float, chunks: int, names: int) -> None:
    """Print a row for each way."""
    bench = Bench(folder, latency, documents(chunks, names))
    written = [NAMED.findall(text) for text in bench.texts.values()]
    by_person: dict[str, set[str]] = {}
    for name in (name for found in written for name in found):
        by_person.setdefault(person(name), set()).add(name)
    right = {frozenset(found) for found in by_person.values()}
    print(f"{chunks} chunks, {sum(map(len, written))} mentions, {sum(map(len, right))} names of {len(right)} people")

    async def mentions(role: Role, context: RoleRagIndexContext) -> Groups:
        return await as_written(role, context, joined=False)

    async def distinct(role: Role, context: RoleRagIndexContext) -> Groups:
        return await as_written(role, context, joined=True)

    one = bench.role("one")
    found = [
        await bench.run("Algorithm 1 as it is written, every mention", bench.role("written"), mentions),
        await bench.run("equal names joined", bench.role("joined"), distinct),
        await bench.run("dramaturg, concurrency 1", one, by_dramaturg, concurrency=1),
        await bench.run("dramaturg, concurrency 8", bench.role("eight"), by_dramaturg, concurrency=8),
        await bench.run("… skip_joined", bench.role("skip"), by_dramaturg, concurrency=8, skip_joined=True),
        await bench.run("… pairs_at_once 5", bench.role("five"), by_dramaturg, concurrency=8, pairs_at_once=5),
    ]
    changed = one.root / "persona" / "part-4.md"
    changed.write_text(changed.read_text().replace("met", "saw"))
    found.append(await bench.run("again, one document changed", one, by_dramaturg, concurrency=8))
    found.append(await bench.run("again, nothing changed", one, by_dramaturg, concurrency=8))
    Console(width=140).print(bench.table)
    assert all(groups == right for groups in found), [len(groups) for groups in found]
    print("The groups are the same in all runs.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.01, help="seconds for one answer")
    parser.add_argument("--chunks", type=int, default=40)
    parser.add_argument("--names", type=int, default=12, help="names in a chunk, an even number")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder), given.latency, given.chunks, given.names))
