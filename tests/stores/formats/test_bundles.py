"""A role in one file: its indexes are those that were served, and nothing in it is believed."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.files import sha256
from dramaturg.stores.formats.archives import unzipped, zipped
from dramaturg.stores.formats.books import book_of_graph
from dramaturg.stores.formats.bounds import Refused
from dramaturg.stores.formats.bundles import Bundle, bundle_in, bundled
from dramaturg.stores.formats.told import told
from dramaturg.stores.index.kinds import kind_named
from dramaturg.stores.index.vectors import packed_again, rows_in
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role

import graph_roles


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Role, bytes]:
    """A role with a knowledge graph, and its bundle."""
    folder = tmp_path_factory.mktemp("bundled")
    role = graph_roles.graph_role(folder)
    asyncio.run(graph_roles.index(role))
    (role.root / "LICENSE").write_text("Free.")
    return role, bundled(Library(folder), role, index=True, talks={})


def opened(data: bytes) -> Bundle:
    one = told(data)
    assert isinstance(one, Bundle)
    return one


def changed(data: bytes, **files: bytes | None) -> bytes:
    """A bundle with other files, under checksums that are right; `__` in a name stands for a slash."""
    there: dict[str, bytes] = unzipped(data)
    head = json.loads(there.pop("bundle.json"))
    for name, one in files.items():
        path = name.replace("__", "/")
        if one is None:
            del there[path]
        else:
            there[path] = one
    head["files"] = {path: sha256(one) for path, one in there.items()}
    return zipped({"bundle.json": json.dumps(head).encode(), **there})


def test_an_index_is_made_of_raw_vectors_again(whole: tuple[Role, bytes], tmp_path: Path) -> None:
    role, data = whole
    there = unzipped(data)
    vectors = there["index/graph/entities.faiss.f32"]
    store = role.index(kind_named("graph")).open()
    assert vectors == store.vectors().astype("<f4").tobytes()
    bundle = opened(data)
    assert bundle.indexed == ("graph",)
    Library(tmp_path).replace({"ada": {**bundle.files, **bundle.ready}})
    copy = Library(tmp_path).role("ada")
    again = copy.index(kind_named("graph")).open()
    assert again.version == store.version
    assert np.array_equal(again.vectors(), store.vectors())
    assert (copy.root / "LICENSE").read_text() == "Free."
    model = graph_roles.graph_actor()
    report = asyncio.run(graph_roles.index(copy, model))
    assert (model.calls, report["version"]) == ([], store.version)


def test_a_lorebook_of_a_graph_has_all_names_as_keys_and_sources_as_comment(whole: tuple[Role, bytes]) -> None:
    role, _ = whole
    book = book_of_graph(role.card, graph_roles.served(role))
    entries = {entry["name"]: entry for entry in book.entries}
    tom = entries["Her brother"]
    assert (tom["keys"], tom["comment"]) == (["Her brother", "Tom Quill", "Tom"], "Her brother (life.md)")
    assert "Tom sails the Petrel." in tom["content"]
    assert all(entry["keys"] and entry["enabled"] for entry in book.entries)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"index__graph__entities.faiss.f32": bytes(7)}, "are no vectors of"),
        ({"index__graph__entities.faiss.f32": b""}, "are no vectors of"),
        ({"index__graph__graph.json": b"{}"}, "no knowledge graph"),
        ({"index__graph__graph.json": b"[" * 100_000}, "cannot be read"),
        ({"index__graph__graph.json": None}, "not those that it names"),
        ({"index__graph__manifest.json": b"{}"}, "a part is not of its kind"),
        ({"index__graph__manifest.json": None}, "a part is not of its kind"),
        ({"index__other__manifest.json": b"{}"}, "a part is not of its kind"),
        ({"index__documents__manifest.json": b"{}"}, "is no kind of index"),
        ({"role__role.yaml": b"name: [a]"}, "must be text"),
        ({"role__role.yaml": None}, "holds no role.yaml"),
        ({"role__chronicle.yaml": b"triples: 1"}, "must be a list"),
        ({"role__memories.jsonl": b"{}"}, "a memory has either"),
        ({"role__index__current.json": b"{}"}, "none of a role"),
        ({"conversations__names.json": b"[1]"}, "conversations that are not in it"),
        ({"conversations__names.json": b'["a"]'}, "conversations that are not in it"),
    ],
)
def test_what_a_bundle_brings_is_looked_through(
    whole: tuple[Role, bytes], files: Mapping[str, bytes | None], says: str
) -> None:
    with pytest.raises(Refused, match=says) as refused:
        opened(changed(whole[1], **files))
    assert len(str(refused.value)) < 400


@given(st.data())
def test_a_damaged_index_is_refused_or_whole(whole: tuple[Role, bytes], data: st.DataObject) -> None:
    there = unzipped(whole[1])
    name = data.draw(st.sampled_from([path for path in there if path.startswith("index/") and "/" in path[6:]]))
    part = bytearray(there[name])
    for _ in range(data.draw(st.integers(1, 5))):
        part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    refusal = ""
    try:
        bundle_in(unzipped(changed(whole[1], **{name.replace("/", "__"): bytes(part)})))
    except Refused as error:
        refusal = str(error)
    assert len(refusal) < 400


def test_vectors_are_of_length_one() -> None:
    one = np.array([[0.6, 0.8]], dtype="<f4")
    assert rows_in(packed_again(one.tobytes(), 2)) == one.tobytes()
    for wrong in (np.array([[1.0, 1.0]]), np.array([[np.nan, 1.0]]), np.array([[np.inf, 0.0]])):
        with pytest.raises(ValueError, match="not of length 1"):
            packed_again(wrong.astype("<f4").tobytes(), 2)


@pytest.mark.parametrize("number", [b"\x00\x00\xa0\x7f", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\xff\xff\x7f\x7f"])
def test_vectors_of_what_is_no_number_are_refused(number: bytes) -> None:
    """A NaN that signals, one that does not, infinity, and the largest number."""
    with pytest.raises(ValueError, match="not of length 1"):
        packed_again(number * 4, 4)
