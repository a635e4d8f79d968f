"""Search is exact, in order, and refuses what has no answer."""

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dramaturg.cli.options import context_for
from dramaturg.stores.errors import EmbeddingMismatch, MissingIndex, RoleError
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.kinds import kind_named
from dramaturg.stores.index.passages import PassageStore, StoredPassage, passage_kind
from dramaturg.stores.index.records import decode_records, encode_records
from dramaturg.stores.index.vectors import nearest, pack, unit_rows, unpack
from dramaturg.workflows.methods import index_kinds

import passage_samples
from passage_samples import DIMENSION, EMBEDDING, build, embed, new_role, quick, store_of, texts_of
from property_settings import property_settings

rows = st.integers(1, 40).flatmap(
    lambda n: arrays.arrays(np.float32, (n, 5), elements=st.integers(-3, 3).map(float), fill=st.nothing()).filter(
        lambda matrix: bool(np.abs(matrix).sum(axis=1).all())
    )
)
row = arrays.arrays(np.float32, 5, elements=st.integers(-3, 3).map(float)).filter(lambda one: bool(one.any()))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@property_settings(150)
@given(vectors=rows, query=row, k=st.integers(1, 50))
def test_search_is_brute_force(vectors: np.ndarray, query: np.ndarray, k: int) -> None:
    found = store_of(vectors).search(query, k)
    exact = vectors.astype(float) @ query / np.linalg.norm(vectors.astype(float), axis=1) / np.linalg.norm(query)
    positions = [int(passage[1:]) for passage, _ in found]
    assert len(set(positions)) == len(found) == min(k, len(vectors))
    assert [score for _, score in found] == pytest.approx(exact[positions].tolist(), abs=1e-6)
    assert sorted(exact, reverse=True)[: len(found)] == pytest.approx(exact[positions].tolist(), abs=1e-6)
    assert all(a[1] > b[1] or (a[1] == b[1] and p < q) for a, b, p, q in _neighbours(found, positions))


def _neighbours(found: list[tuple[str, float]], positions: list[int]) -> list[tuple]:
    return list(zip(found, found[1:], positions, positions[1:], strict=False))


@property_settings(50)
@given(copies=st.lists(st.integers(0, 2), min_size=1, max_size=200), k=st.integers(1, 200))
def test_ties_come_in_passage_order(copies: list[int], k: int) -> None:
    directions = np.eye(3, 6) + 0.1
    query = directions[0]
    expected = sorted(range(len(copies)), key=lambda at: (copies[at] != 0, at))  # 1 and 2 are equally far
    found = nearest(unpack(pack(unit_rows(directions[copies]))), unit_rows(query[None]), k)
    assert [at for at, _ in found] == expected[:k]


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 40), st.integers(1, 45))
def test_the_nearest_of_some_rows_are_those_of_an_index_of_these_alone(
    count: int, one: int, other: int, k: int
) -> None:
    import faiss

    vectors = unit_rows(np.random.default_rng(count).integers(-2, 3, (count, 4)) + 0.5)  # some are equal
    packed, rows = pack(vectors), range(*sorted((min(one, count), min(other, count))))
    index = unpack(packed)
    assert packed == bytes(faiss.serialize_index(index))
    alone = faiss.IndexFlatIP(4)
    alone.add(vectors[rows.start : rows.stop])
    found = nearest(index, vectors[:1], k, rows)
    assert found == [(at + rows.start, score) for at, score in nearest(alone, vectors[:1], k)]


def test_scores_do_not_depend_on_length() -> None:
    vectors = embed(["a", "b", "c"])
    scaled = vectors * np.array([[1e-20], [1.0], [1e20]], dtype=np.float64)
    found, expected = store_of(scaled).search(vectors[1] * 1e-30, 3), store_of(vectors).search(vectors[1], 3)
    assert [passage for passage, _ in found] == [passage for passage, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected])
    assert store_of(vectors).search(vectors[1].tolist(), 1) == [("p1", pytest.approx(1.0))]


@pytest.mark.parametrize(
    ("query", "k", "says"),
    [
        (np.zeros(DIMENSION), 1, "zero"),
        (np.full(DIMENSION, np.nan), 1, "not finite"),
        (np.full(DIMENSION, np.inf), 1, "not finite"),
        (np.ones(DIMENSION + 1), 1, "shape"),
        (np.ones(DIMENSION - 1), 1, "shape"),
        (np.ones((1, DIMENSION)), 1, "shape"),
        (np.float64(1), 1, "shape"),
        ([], 1, "shape"),
        (np.ones(DIMENSION), 0, "k must be"),
        (np.ones(DIMENSION), -1, "k must be"),
    ],
)
def test_questions_without_an_answer_are_refused(query: np.ndarray, k: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        store_of(embed(["a", "b"])).search(query, k)


@pytest.mark.crash
def test_refusals_do_not_rest_on_assertions() -> None:
    program = """
import numpy as np
from dramaturg.stores.index.vectors import pack, unit_rows, unpack
from passage_samples import DIMENSION, embed, store_of
store, refused = store_of(embed(["a", "b", "c"])), 0
for query in (np.ones(DIMENSION + 1), np.full(DIMENSION, np.nan), np.zeros(DIMENSION)):
    try:
        store.search(query, 2)
    except ValueError:
        refused += 1
try:
    unpack(pack(unit_rows(embed(["a"])))[:-5])
except ValueError:
    refused += 1
print(refused, __debug__)
"""
    command = [sys.executable, "-O", "-c", program]
    here = Path(passage_samples.__file__).parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=here, check=False)
    assert done.stdout.split() == ["4", "False"], done.stderr


def test_a_passage_by_its_id() -> None:
    store = store_of(embed(["a", "b"]))
    assert store.get("p1").text == "1"
    with pytest.raises(RoleError, match="no passage 'p2'"):
        store.get("p2")


def test_another_embedding_model_is_refused() -> None:
    store = store_of(embed(["a"]))
    store.require(EMBEDDING)
    store.require(EMBEDDING, DIMENSION)
    for name, dimension in (("other", None), ("other", DIMENSION), (EMBEDDING, DIMENSION + 1)):
        with pytest.raises(EmbeddingMismatch, match="set that model, or index the role again"):
            store.require(name, dimension)


@given(
    st.lists(
        st.builds(
            StoredPassage,
            id=st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
            text=st.text(st.characters(exclude_categories=["Cs"])),
            headings=st.lists(st.text(st.characters(exclude_categories=["Cs"]))).map(tuple),
            source=st.just("life.md"),
            start=st.integers(0, 10),
            end=st.integers(0, 10),
            embedded=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
        )
    )
)
def test_passages_survive_their_file(passages: list[StoredPassage]) -> None:
    assert decode_records(encode_records(passages), StoredPassage) == tuple(passages)


def test_readers_keep_the_version_they_opened(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    first, _ = build(role, ["a", "b"])
    early = role.index(passage_kind("acts")).open()
    for texts in (["c"], ["d"], ["e"], ["e2"], ["e3"], ["f"]):
        build(role, texts)
    assert [early.get(name).text for name, _ in early.search(embed(["b"])[0], 2)] == ["b", "a"]
    assert early.version == first.version
    assert texts_of(role) == ["f"]
    with pytest.raises(MissingIndex, match="no version"):
        role.index(passage_kind("acts")).open(first.version)  # the last four before the current one are kept


def test_readers_while_others_publish(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, ["a0", "b0"])
    done, seen = threading.Event(), list[set[str]]()

    def read() -> None:
        while not done.is_set():
            store = role.index(passage_kind("acts")).open()
            found = {store.get(name).text[1:] for name, _ in store.search(embed(["x"])[0], 2)}
            seen.append(found)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(1, 9):
        build(role, [f"a{turn}", f"b{turn}"])
    done.set()
    for reader in readers:
        reader.join()
    assert seen
    assert all(len(turn) == 1 for turn in seen)  # never half of one version and half of another
    assert texts_of(role) == ["a8", "b8"]


def test_one_store_for_all_threads(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    build(role, ["a", "b"])
    stores, acts = list[PassageStore](), role.index(passage_kind("acts"))
    threads = [threading.Thread(target=lambda: stores.append(acts.open())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores) == 8
    assert len({id(store) for store in stores}) == 1


def test_not_indexed(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    assert role.index(passage_kind("acts")).manifest() is None
    with pytest.raises(MissingIndex, match="run `dramaturg index ada`"):
        role.index(passage_kind("acts")).open()
    with pytest.raises(RoleError, match="no kind of index"):
        role.index(passage_kind("../acts")).open()


@pytest.mark.parametrize(
    ("kind", "method"),
    [
        ("acts", ""),
        ("fixed", " --method naive-rag"),
        ("graph", " --method role-rag"),
        ("graph-unmerged", " --method graph-rag-local"),
        ("memories", " --method emotional-rag"),
    ],
)
def test_the_command_that_is_named_makes_this_kind_of_index(tmp_path: Path, kind: str, method: str) -> None:
    folder = IndexFolder(new_role(tmp_path).root, kind_named(kind))
    command = f"run `dramaturg index ada{method}"
    assert str(folder.missing()).endswith(f"{command}`.")
    assert str(folder.damaged("x")).endswith(f"{command}`, which makes it again.")
    chosen = method.removeprefix(" --method ") or "amadeus"
    assert index_kinds(chosen, context_for(chosen, "ada", tmp_path, None)) == [kind_named(kind)]
