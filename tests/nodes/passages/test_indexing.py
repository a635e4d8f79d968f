"""Indexing: in batches, made anew when what it rests on has changed, one version for a whole turn."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.runtime import Runtime

from dramaturg.nodes.passages.retrieval import retrieve
from dramaturg.stores.errors import EmbeddingMismatch
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.library import open_role
from dramaturg.workflows import amadeus, amadeus_index
from dramaturg.workflows.methods import index_kinds

from roles import LIFE, WordEmbeddings, actor, run_settings, small_role

QUESTION: Any = {"messages": [("user", "Do storms make you afraid?")]}
THREAD: Any = {"configurable": {"thread_id": "t"}}


class OtherEmbeddings(WordEmbeddings):
    """Vectors of the same length that another model made."""

    model = "other words"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    small_role(tmp_path)
    return tmp_path


def context(library: Path, **settings: Any) -> amadeus.AmadeusContext:
    return amadeus.AmadeusContext(**{**run_settings(library, actor()), **settings})


async def indexed(library: Path, **settings: Any) -> dict[str, Any]:
    """Index the role and say what the index holds."""
    return (await amadeus_index.graph.ainvoke({}, context=context(library, **settings)))["index"]


async def nodes_of_a_turn(library: Path, **settings: Any) -> set[str]:
    """The nodes that one turn runs through."""
    stream = amadeus.graph.astream(QUESTION, context=context(library, **settings), stream_mode="updates")
    return {node async for part in stream for node in part}


async def test_passages_are_embedded_in_batches(library: Path) -> None:
    steps, events = 0, []
    stream = amadeus_index.graph.astream(
        {}, context=context(library, embedding_batch=2), stream_mode=["updates", "custom"]
    )
    async for mode, part in stream:
        if mode == "updates":
            steps += "embed_passages" in part
        elif part["event"] == "embedded":
            events.append((part["done"], part["total"]))
    assert steps == 4
    assert events == [(2, 7), (4, 7), (6, 7), (7, 7)]
    current = open_role("ada", library).index(passage_kind("acts")).manifest()
    assert current is not None
    assert current.counts["passages"] == 7


async def test_a_current_index_is_not_made_again(library: Path) -> None:
    assert "amadeus_index" in await nodes_of_a_turn(library)
    assert "amadeus_index" not in await nodes_of_a_turn(library)


@pytest.mark.parametrize(
    "changed",
    [
        {"longest": 50},
        {"unit": "tokens"},
        {"splitter": "ats"},
        {"embedding_model": OtherEmbeddings()},
    ],
    ids=lambda changed: next(iter(changed)),
)
async def test_a_changed_setting_makes_an_index_stale(library: Path, changed: dict[str, Any]) -> None:
    await indexed(library)
    assert "amadeus_index" in await nodes_of_a_turn(library, **changed)
    assert "amadeus_index" not in await nodes_of_a_turn(library, **changed)


@pytest.mark.parametrize("current", [True, False], ids=["current", "stale"])
async def test_a_turn_reads_the_version_that_it_checked(library: Path, current: bool) -> None:
    if current:
        await indexed(library)
    graph = amadeus.build().compile(InMemorySaver(), interrupt_before=["retrieve"])
    await graph.ainvoke(QUESTION, THREAD, context=context(library))
    before = open_role("ada", library).index(passage_kind("acts")).manifest()
    assert before is not None
    (library / "ada" / "persona" / "life.md").write_text(LIFE + "\nStorms: she is afraid of storms, do not tell.\n")
    assert (await indexed(library))["version"] != before.version
    output = await graph.ainvoke(None, THREAD, context=context(library))
    assert (await graph.aget_state(THREAD)).values["passages_version"] == before.version
    assert output["evidence"]["knowledge"]
    assert not any("do not tell" in passage["text"] for passage in output["evidence"]["knowledge"])


async def test_vectors_of_different_models_are_not_compared(library: Path) -> None:
    version = (await indexed(library))["version"]
    state: Any = {"question": "Storms?", "version": version}
    assert (await retrieve(state, Runtime(context=context(library))))["candidates"]
    with pytest.raises(EmbeddingMismatch, match="OtherEmbeddings:other words"):
        await retrieve(state, Runtime(context=context(library, embedding_model=OtherEmbeddings())))


async def test_a_rebuild_embeds_everything_again_and_is_not_remembered(library: Path) -> None:
    graph = amadeus_index.build().compile(InMemorySaver())
    embedded = []
    for given in ({}, {}, {"rebuild": True}, {}):
        output = await graph.ainvoke(given, THREAD, context=context(library))
        embedded.append(output["index"]["embedded"])
    assert embedded == [7, 0, 7, 0]


async def test_what_is_embedded_after_a_run_that_was_overtaken_is_counted_by_itself(library: Path) -> None:
    life = library / "ada" / "persona" / "life.md"

    class Overtaken(WordEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            life.write_text(f"{LIFE}\nStorms: she is afraid of storms, do not tell.\n")
            return super().embed_documents(texts)

    graph = amadeus_index.build().compile(InMemorySaver())
    settings = context(library, embedding_model=Overtaken())
    await graph.ainvoke({}, THREAD, context=settings)
    life.with_name("boat.md").write_text("# The boat\n\nIt brings flour on Fridays.\n")
    assert (await graph.ainvoke({}, THREAD, context=settings))["index"]["embedded"] == 1


def passages_by(library: Path, **settings: Any) -> list[Any]:
    """The passages of the index that a method reads under these settings."""
    (kind,) = index_kinds("amadeus", context(library, **settings))
    return list(open_role("ada", library).index(kind).open().passages)


async def test_by_the_paper_passages_of_neighbouring_sections_overlap_and_each_has_its_headings(library: Path) -> None:
    await indexed(library, rules="paper")
    passages = passages_by(library, rules="paper")
    assert all(after.start < before.end for before, after in pairwise(passages))
    assert {one.headings[-1] for one in passages} >= {"The lamp", "The log", "People", "Nature"}
    assert passages[-1].headings == ("Ada Quill", "Nature")


async def test_passages_by_both_rules_stand_side_by_side(library: Path) -> None:
    for rules in ("ours", "paper"):
        await indexed(library, rules=rules)
    assert "amadeus_index" not in await nodes_of_a_turn(library, rules="paper")
    assert "amadeus_index" not in await nodes_of_a_turn(library, rules="ours")
    assert passages_by(library, rules="paper") != passages_by(library, rules="ours")
