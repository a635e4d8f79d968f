"""The times of the parts of documents, and versions of an index that are cut to a moment when they are read."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dramaturg.nodes.known import AsOf, cut_to, when_of_line
from dramaturg.nodes.passages.index import split_documents
from dramaturg.nodes.passages.retrieval import PassageSettings
from dramaturg.nodes.text.timed import spans_of
from dramaturg.stores.documents.forms import DialogueLine, Document, document
from dramaturg.stores.index.folder import EmbeddingRecord, Manifest
from dramaturg.stores.index.graph import Entity, KnowledgeGraph, Relation, Statement, graph_of, graph_texts
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.index.passages import PassageStore, passage_kind
from dramaturg.stores.index.vectors import pack, unit_rows, unpack
from dramaturg.stores.library import open_role
from dramaturg.stores.role import Role
from dramaturg.testing import write_role
from dramaturg.workflows import amadeus_index, emotional_rag_index

from roles import actor, run_settings


def told(text: str, when: str = "") -> Document:
    return Document(name="life.md", text=text, sha256="", when=when)


def known(text: str, as_of: str, when: str = "", timeline: tuple[str, ...] = ()) -> list[str]:
    """What is known of a document at a moment: the words of its sections."""
    moment = AsOf(as_of, timeline)
    one = told(text, when)
    spans = spans_of(one, timeline)
    kept = [span for span in spans if moment.knows([span.said] if span.said else [])]
    texts = (one.text[span.start : span.end] for span in kept)
    return [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("text", "as_of", "wanted"),
    [
        ("# Act 2\n\na\n\n## Scene 1\n\nb\n\n## Scene 2\n\nc\n\n# Act 3\n\nd", "act 2, scene 1", ["b"]),
        ("# Act 2\n\n# Scene 1\n\nb\n\n# Scene 2\n\nc\n\n# Act 3\n\n# Scene 1\n\nd", "act 2, scene 2", ["b", "c"]),
        (
            "# Preface\n\na\n\n# Chapter 1\n\nb\n\n# Interlude\n\nc\n\n# Chapter 2\n\nd\n\n# Epilogue\n\ne",
            "chapter 1",
            ["a", "b", "c"],
        ),
        (
            "# Manner\n\na\n\n# Bonn (1770–1792)\n\nb\n\n## Home\n\nc\n\n# Vienna, 1802\n\nd\n\n# Tastes\n\ne",
            "1800",
            ["a", "b", "c", "e"],
        ),
        (
            "# Part 1\n\n## Chapter 1\n\na\n\n# Part 2\n\n## Chapter 2\n\nb\n\n## Chapter 3\n\nc",
            "chapter 2",
            ["a", "b"],
        ),
        ("# Part 1\n\n## Chapter 1\n\na\n\n# Part 2\n\n## Chapter 1\n\nb", "chapter 1", []),
        ("# Part 1\n\n## Chapter 1\n\na\n\n# Part 2\n\n## Chapter 1\n\nb", "part 1", ["a"]),
        ("# The voyage\n\na\n\n# The island\n\nb\n\n# Fear of the island\n\nc", "the voyage", ["a", "c"]),
        ("# 第一章\n\n甲\n\n# 第二章\n\n乙", "第一章", ["甲"]),
        ("# I.\n\na\n\n# II.\n\nb\n\n# III.\n\nc", "chapter 2", ["a", "b"]),
        ("No heading at all.", "chapter 1", ["No heading at all."]),
    ],
)
def test_what_of_a_document_is_known(text: str, as_of: str, wanted: list[str]) -> None:
    assert known(text, as_of, timeline=("the voyage", "the island")) == wanted


def test_what_stands_above_a_document_is_of_all_of_it() -> None:
    text = "# Scene 1\n\na\n\n# Scene 2\n\nb"
    assert known(text, "act 2, scene 1", "Act 2") == ["a"]
    assert known("# Home\n\na\n\n# 1820\n\nb", "1810", "1805") == ["a"]
    assert known("# Home\n\na\n\n# 1820\n\nb", "1830", "long ago") == ["b"]


def test_front_matter_is_no_text_and_moves_none(tmp_path: Path) -> None:
    data = b"---\nwhen: 1824\ntags: [a, b]\n---\n# Life\n\nAda.\n"
    one = document(data, tmp_path / "ada" / "persona" / "life.md", tmp_path / "ada")
    assert (one.when, one.text.strip(), one.text.index("# Life")) == ("1824", "# Life\n\nAda.", data.index(b"# Life"))
    assert [part.text for part in split_documents([one], PassageSettings())[0]] == ["Ada."]
    rule = document(b"---\nAda: keeps\nit lit\n---\n", tmp_path / "ada" / "persona" / "x.md", tmp_path / "ada")
    assert (rule.when, rule.text[:7]) == ("", "---\nAda")


async def indexed(library: Path, graph: Any, **settings: Any) -> Role:
    await graph.graph.ainvoke({}, context=run_settings(library, actor(), **settings))
    return open_role("ada", library)


async def test_documents_that_were_changed_since_are_read_as_they_were(tmp_path: Path) -> None:
    root = write_role(tmp_path, persona="# Chapter 1\n\nA sail.\n\n# Chapter 2\n\nA wreck.\n")
    role = await indexed(tmp_path, amadeus_index)
    (root / "persona" / "life.md").write_text("# Now\n\nA sail. A wreck.\n", encoding="utf-8")
    index = role.index(passage_kind("acts"))
    cut = cut_to(index, index.open(), AsOf("chapter 1", ()), role.card)
    assert [one.text for one in cut.passages] == ["A sail."]
    assert cut.left_out == {"passages": (1, 0)}
    assert cut_to(index, index.open(), AsOf("chapter 1", ()), role.card) is cut
    for kept in (root / "index" / "documents").iterdir():
        kept.unlink()
    again = open_role("ada", tmp_path).index(passage_kind("acts"))
    lost: PassageStore = cut_to(again, again.open(), AsOf("chapter 2", ()), role.card)
    assert (lost.passages, lost.left_out) == ((), {"passages": (0, 2)})  # nobody knows any more what it said


async def test_a_memory_that_is_told_twice_is_known_with_the_first(tmp_path: Path) -> None:
    lines = [{"text": "I saw a sail.", "when": when} for when in ("chapter 3", "chapter 1", "long ago")]
    write_role(tmp_path, memories=[*lines, {"text": "I saw a wreck.", "when": "long ago"}], dialogue=())
    role = await indexed(tmp_path, emotional_rag_index, strategy="semantic")
    index = role.index(MEMORY_KIND)
    cut = cut_to(index, index.open(), AsOf("chapter 2", ()), role.card)
    assert [one.text for one in cut.memories] == ["I saw a sail."]
    assert cut.left_out == {"memories": (0, 1)}


def statement(text: str, start: int) -> Statement:
    return Statement(text=text, passage="p", source="life.md", start=start, end=start + 1)


def test_a_graph_tells_what_known_statements_tell() -> None:
    def entity(name: str, *said: Statement, names: tuple[str, ...] = ()) -> Entity:
        return Entity(name=name, type="character", description="All.", names=names or (name,), statements=said)

    early, late = (lambda text: statement(text, 0)), (lambda text: statement(text, 9))
    entities = [
        entity("Ada", early("She keeps a light."), late("She leaves it.")),
        entity("Lord Penrose", early("He sells lamps."), late("He is a lord."), names=("Lord Penrose", "Jory")),
        entity("the wreck", late("It sank.")),
        entity("the boat"),
    ]
    relations = [
        Relation(source="Ada", target="Lord Penrose", description="All.", strength=9,
                 statements=(early("She knows him."), late("She weds him."))),
        Relation(source="Ada", target="the wreck", description="All.", strength=9, statements=(late("She saw it."),)),
        Relation(source="Ada", target="the boat", description="All.", strength=3, statements=(early("She rows it."),)),
    ]  # fmt: skip
    graph = graph_of(entities, relations, [early("Ada and Jory."), late("The wreck.")])
    vectors = pack(list(unit_rows(np.eye(len(graph_texts(graph)), 8))))
    made_by = EmbeddingRecord(name="words", dimension=8)
    manifest = Manifest(
        kind="graph",
        version="0" * 24,
        created=datetime(2026, 1, 1, tzinfo=UTC),
        embedding=made_by,
        settings={},
        sources={},
        counts={},
        files={},
    )
    store = KnowledgeGraph(manifest, graph, (), unpack(vectors))
    cut = store.cut_to(lambda _, start, end: start < 5, "Ada knows Jory, who sells lamps.", ["Ada"])
    assert [(one.name, one.names, one.description) for one in cut.entities()] == [
        ("Ada", ("Ada",), "She keeps a light."),
        ("Jory", ("Jory",), "He sells lamps."),
        ("the boat", ("the boat",), "All."),
    ]
    assert [(one.source, one.target, one.description) for one in cut.relations()] == [
        ("Ada", "Jory", "She knows him."),
        ("Ada", "the boat", "All."),
    ]
    assert [one.text for one in cut.sentences] == ["Ada and Jory."]
    assert [cut.is_later(name) for name in ("The wreck", "Lord Penrose", "Jory", "Apollo")] == [
        True,
        True,
        False,
        False,
    ]
    assert cut.left_out == {"entities": (1, 0), "sentences": (1, 0)}
    assert [name for name, _ in cut.search(np.ones(8), 9)] == ["Ada", "Jory", "the boat"]


def test_a_line_is_of_the_time_that_it_says_or_its_scene_or_place() -> None:
    def when(**line: str) -> str:
        return when_of_line(
            DialogueLine.model_validate({"scene": "pier", "speaker": "Ada", "text": "Ahoy.", **line}), ()
        )

    assert when() == when(place="Gull Rock 1881") == ""
    assert when(scene="Chapter 2: the pier", place="Act 9") == "Chapter 2: the pier"
    assert when(place="Act one, Scene 2") == "Act one, Scene 2"
    assert when(scene="Chapter 2", date="1881") == "1881"
    assert when(scene="Chapter 2", date="1881", when="chapter 1") == "chapter 1"
