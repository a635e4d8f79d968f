"""A knowledge graph in memory and as a file: what it refuses, how it is asked, and that nothing changes on the way."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.text.boundaries import sentences
from dramaturg.stores.errors import DamagedIndex, RoleError
from dramaturg.stores.files import canonical
from dramaturg.stores.index.graph import (
    GRAPH_KIND,
    TYPES,
    Entity,
    KnowledgeGraph,
    Relation,
    Statement,
    decode_graph,
    encode_graph,
    graph_of,
    name_table,
)
from dramaturg.stores.index.vectors import pack, unit_rows, unpack

from graph_roles import WORK, graph_role, index, put, served
from graph_samples import knowledge, statement
from property_settings import property_settings

quickly = property_settings(60)


def entity(name: str, *others: str) -> Entity:
    return Entity(name=name, type="character", description="", names=(name, *others))


def relation(source: str, target: str, strength: int = 5, told: int = 1) -> Relation:
    statements = tuple(statement(f"Told {at}.") for at in range(told))
    return Relation(source=source, target=target, description="", strength=strength, statements=statements)


# The graph


@pytest.mark.parametrize(
    ("entities", "relations", "says"),
    [
        ("aa", [], "The entity 'a' is there twice"),
        ("ab", [("a", "a")], "The relation of 'a' and 'a'"),
        ("ab", [("a", "b"), ("a", "b")], "The relation of 'a' and 'b'"),
        ("ab", [("a", "b"), ("b", "a")], "The relation of 'b' and 'a'"),
        ("ab", [("a", "x")], "The relation of 'a' and 'x'"),
        ("ab", [("x", "b")], "The relation of 'x' and 'b'"),
    ],
)
def test_what_is_no_knowledge_graph(entities: str, relations: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(RoleError, match=says):
        graph_of(map(entity, entities), (relation(*ends) for ends in relations))


statements = st.builds(
    Statement, text=st.text(), passage=st.text(), source=st.text(), start=st.integers(0), end=st.integers(0)
)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Entity], list[Relation]]:
    names = draw(st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=6))
    ends = [(a, b) for at, a in enumerate(names) for b in names[:at]]
    many = st.lists(statements, max_size=2).map(tuple)
    entities = [
        Entity(
            name=name,
            type=draw(st.sampled_from(TYPES)),  # type: ignore[arg-type]
            description=draw(st.text(max_size=9)),
            names=(name, *draw(st.lists(st.text(max_size=5), max_size=2))),
            statements=draw(many),
        )
        for name in names
    ]
    pairs = draw(st.lists(st.sampled_from(ends), unique=True)) if ends else []
    relations = [
        Relation(
            source=source,
            target=target,
            description=draw(st.text(max_size=9)),
            strength=draw(st.integers(1, 10)),
            statements=(draw(statements), *draw(many)),
        )
        for source, target in (pair[:: draw(st.sampled_from([1, -1]))] for pair in pairs)
    ]
    return entities, relations


@quickly
@given(graphs())
def test_a_graph_is_the_same_after_a_file(made: tuple[list[Entity], list[Relation]]) -> None:
    entities, relations = made
    data = encode_graph(graph_of(entities, relations))
    graph = decode_graph(data)
    assert [found["entity"] for _, found in graph.nodes(data=True)] == entities
    found = [edge["relation"] for _, _, edge in graph.edges(data=True)]
    assert {(one.source, one.target): one for one in found} == {(one.source, one.target): one for one in relations}
    assert encode_graph(graph) == data == canonical(json.loads(data)) + b"\n"
    assert len(json.loads(data)["nodes"]) == len(entities)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"nodes": [{"id": "a"}], "edges": []}', b'{"nodes": 1}', b"\xff"]
)
def test_what_is_no_file_of_a_graph(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (of whatever library)
        decode_graph(data)


def test_a_name_is_found_by_alias_and_in_any_spelling() -> None:
    graph = knowledge([entity("Tom Quill", "Tom", "Her brother"), entity("Ada")])
    assert graph.find("TOM  quill.") == graph.find("“tom”") == graph.find("nobody", "her brother") == "Tom Quill"
    assert graph.find("Ada", "Tom") == "Ada"
    assert graph.find("Tomas") is graph.find() is graph.find("") is None
    with pytest.raises(RoleError, match="has no entity 'Tom'"):
        graph.entity("Tom")  # only canonical names are


def test_a_canonical_name_outranks_an_alias_and_the_first_alias_a_later_one() -> None:
    table = name_table([entity("Tom Quill", "Tom", "Boy"), entity("tom"), entity("Jim", "Boy", "TOM QUILL")])
    assert table == {"tom quill": "Tom Quill", "tom": "tom", "boy": "Tom Quill", "jim": "Jim"}


def test_neighbours_are_in_order_of_strength_then_of_how_much_is_told_then_of_name() -> None:
    relations = [relation("d", "m", 5), relation("m", "c", 5, told=2), relation("b", "m", 9), relation("m", "a", 5)]
    graph = knowledge([entity(name) for name in "mdcbax"], relations)
    assert [(one.name, two.other("m"), two.strength) for one, two in graph.neighbours("m")] == [
        ("b", "b", 9),
        ("c", "c", 5),
        ("a", "a", 5),
        ("d", "d", 5),
    ]
    assert graph.neighbours("x") == []
    with pytest.raises(RoleError, match="has no entity 'y'"):
        graph.neighbours("y")


def test_a_relation_is_found_from_either_end() -> None:
    graph = knowledge([entity("a"), entity("b"), entity("c")], [relation("a", "b")])
    assert graph.relation("b", "a") == graph.relation("a", "b") == relation("a", "b")
    assert graph.relation("a", "c") is graph.relation("a", "x") is graph.relation("a", "a") is None


def test_the_nearest_entities() -> None:
    graph = knowledge([entity(name) for name in "abcd"])
    rows = unit_rows([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]])
    graph = KnowledgeGraph(graph.manifest, graph.graph, graph.passages, unpack(pack(rows)))
    assert [name for name, _ in graph.search([9, 8, 0, 0], 9)] == ["b", "d", "a", "c"]  # ties in order
    assert graph.search([3, 0, 0, 0], 1) == [("a", pytest.approx(1))]
    assert np.array_equal(graph.vectors(), rows)
    for vector, k in (([0, 0, 0, 0], 1), ([1, 0], 1), ([np.nan, 0, 0, 0], 1), ([1, 0, 0, 0], 0)):
        with pytest.raises(ValueError, match=r"k must be|vector|shape"):
            graph.search(vector, k)


# A version on the disk


@pytest.mark.sample(2)
@pytest.mark.parametrize("file", ["graph.json", "entities.faiss", "passages.jsonl"])
@pytest.mark.parametrize("damage", [b"", b"\0"], ids=["empty", "changed"])
async def test_a_damaged_version_is_not_read(tmp_path: Path, file: str, damage: bytes) -> None:
    role = graph_role(tmp_path)
    first = (await index(role))["version"]
    put(role, "work", WORK)
    damaged = (await index(role))["version"]
    path = next(one for one in role.root.glob(f"index/graph/versions/*/{file}") if damaged in manifest(one))
    path.write_bytes(damage and damage + path.read_bytes()[1:])
    with pytest.raises(DamagedIndex, match=file):
        type(role)(role.root).index(GRAPH_KIND).open(damaged)
    graph = served(role)  # the one before stands in
    assert (graph.version, "is damaged" in graph.warning) == (first, True)
    assert (await index(role))["version"] == damaged  # and it is made again
    assert served(role).warning == ""


def manifest(path: Path) -> str:
    return (path.parent / "manifest.json").read_text(encoding="utf-8")


# Sentences, which statements point at


@quickly
@given(st.text(alphabet=st.sampled_from("aB1 .。！?”」\n\t-#*\u3000\u2028é"), max_size=60))
def test_sentences_hold_all_of_a_text_but_the_space_between_them(text: str) -> None:
    spans = list(sentences(text))
    ends = [0, *(end for _, end in spans)]
    begins = [*(begin for begin, _ in spans), len(text)]
    assert all(not text[end:begin].strip() for end, begin in zip(ends, begins, strict=True))
    assert all(text[begin:end] and text[begin:end] == text[begin:end].strip() for begin, end in spans)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n ", []),
        ("One", ["One"]),
        (" One. Two!  Three?\n", ["One.", "Two!", "Three?"]),
        ("He said “Go.” She went.", ["He said “Go.”", "She went."]),
        ("Sonata no. 5 of op. 24 is his. It is in F.", ["Sonata no. 5 of op. 24 is his.", "It is in F."]),
        ("# Life\n\nAda was born\nin 1850. Tom later.", ["# Life", "Ada was born\nin 1850.", "Tom later."]),
        ("她住在海边。他走了！“真的？”她问。", ["她住在海边。", "他走了！", "“真的？”", "她问。"]),
        ("Wait… what", ["Wait…", "what"]),
    ],
)
def test_sentences(text: str, found: list[str]) -> None:
    assert [text[begin:end] for begin, end in sentences(text)] == found
