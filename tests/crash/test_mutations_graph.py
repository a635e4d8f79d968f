"""Every file of a knowledge graph is changed in every way: refused, stood in for, or as it was, never a wrong graph."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from dramaturg.nodes.graph.merging import ORDER
from dramaturg.stores.documents.merges import DECISIONS, PLAN, Merge, MergePlan, accept_plan, read_plan, write_plan
from dramaturg.stores.errors import DamagedIndex, MissingIndex, RoleError, RoleFileError
from dramaturg.stores.index.answers import ANSWERS
from dramaturg.stores.index.draft import COMPARED
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.graph import (
    ENTITIES_FILE,
    GRAPH_FILE,
    GRAPH_KIND,
    KnowledgeGraph,
    decode_graph,
    encode_graph,
)
from dramaturg.stores.role import Role

from crash_points import few_or_many, mutations
from graph_roles import DOG, graph_actor, graph_role, index, put
from passage_samples import new_role, quick, stand_apart

COUNTS = few_or_many(15, 300)
SERVED = ("manifest.json", GRAPH_FILE, ENTITIES_FILE, "passages.jsonl")  # what a graph is read from
WORK = "# Work\n\nThe keeper trims the lamp. Her brother fears Jory Penrose.\n"
KEEPER = "The keeper: Note: The keeper trims the lamp."
SETTINGS = {"neighbours": 3, "reasons": True}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
async def root(tmp_path: Path) -> Path:
    """A role with a graph of one document and, served now, of two; and a draft with answers and vectors."""
    role = graph_role(tmp_path)
    await index(role, **SETTINGS)
    put(role, "dog", DOG)
    await index(role, **SETTINGS)
    stand_apart(IndexFolder(role.root, GRAPH_KIND))
    put(role, "work", WORK)
    await index(role, wishes={"plan": True}, **SETTINGS)
    return role.root


def artefact(path: Path) -> bool:
    return not path.name.endswith(".lock")


def content(graph: KnowledgeGraph) -> tuple[bytes, bytes, list[str]]:
    """All that is asked of a graph: nodes and edges, vectors, and the passages behind them."""
    return encode_graph(graph.graph), graph.vectors().tobytes(), [one.text for one in graph.passages]


def whole(root: Path) -> list[tuple[bytes, bytes, list[str]]]:
    """The versions as they were written, the one that is served first."""
    current = IndexFolder(root, GRAPH_KIND).pointer()
    assert current
    return [content(Role(root).index(GRAPH_KIND).open(one.version)) for one in current.versions]


@pytest.mark.crash
@COUNTS
def test_nothing_changed_is_read(root: Path, count: int) -> None:
    now, before = whole(root)
    found = Counter[str]()
    for path, how in mutations(root / "index", seed=1, count=count, only=artefact):
        graph = Role(root).index(GRAPH_KIND).open()
        assert content(graph) == (before if graph.warning else now), (path, how)
        found[path.name if graph.warning else "as it was"] += 1
    assert {*SERVED, "as it was"} == set(found)
    assert all(found[name] == count for name in SERVED)


@COUNTS
def test_nothing_changed_is_read_where_there_is_no_other_version(root: Path, count: int) -> None:
    folder, now = IndexFolder(root, GRAPH_KIND), whole(root)[0]
    current = folder.pointer()
    assert current
    for path in folder.versions.iterdir():
        if path != folder.folder_of(current.versions[0]):
            shutil.rmtree(path)
    (folder.path / "current.copy.json").unlink()
    for path, how in mutations(
        root / "index" / "graph", seed=2, count=count, only=lambda one: "drafts" not in one.parts
    ):
        if path.name in (ANSWERS, COMPARED):  # no graph is read from it; what it holds is asked again
            assert content(Role(root).index(GRAPH_KIND).open()) == now, how
            continue
        with pytest.raises((DamagedIndex, MissingIndex), match="dramaturg index ada"):
            Role(root).index(GRAPH_KIND).open()


@COUNTS
def test_no_changed_answer_is_believed(root: Path, count: int) -> None:
    known = Role(root).index(GRAPH_KIND).builder.known()
    lost = 0
    for path, how in mutations(root / "index" / "graph", seed=3, count=count, only=lambda one: one.suffix == ".jsonl"):
        found = Role(root).index(GRAPH_KIND).builder.known()
        assert all(answer == known[key] for key, answer in found.items() if key != ORDER), (path, how)
        assert set(found[ORDER]) <= set(known[ORDER]), (path, how)  # that of an earlier version may count again
        lost += len(found) < len(known)
    assert lost


@COUNTS
def test_no_changed_vector_or_chunk_goes_into_a_graph(root: Path, count: int) -> None:
    folder = IndexFolder(root, GRAPH_KIND)
    draft = next(folder.drafts.iterdir()).name
    chunks = Role(root).index(GRAPH_KIND).builder.records(draft)
    assert Role(root).index(GRAPH_KIND).builder.unembedded(draft, [KEEPER]) == []
    for path, how in mutations(folder.drafts, seed=4, count=count):
        builder = Role(root).index(GRAPH_KIND).builder
        try:
            assert builder.records(draft) == chunks, (path, how)
        except MissingIndex:
            assert path.name in ("passages.jsonl", "draft.json")
        else:
            assert path.parent.name in ("vectors", "answers"), (path, how)
            assert builder.unembedded(draft, [KEEPER]) == [KEEPER] * (path.suffix == ".npz"), (path, how)


async def test_a_damaged_graph_is_made_again_without_a_question(root: Path) -> None:
    folder = IndexFolder(root, GRAPH_KIND)
    current = folder.pointer()
    assert current
    for one in current.versions:
        (folder.folder_of(one) / GRAPH_FILE).write_bytes(b"{}")
    with pytest.raises(DamagedIndex, match=r"graph\.json"):
        Role(root).index(GRAPH_KIND).open()
    (root / "persona" / "work.md").unlink()
    model = graph_actor()
    await index(Role(root), model, **SETTINGS)
    assert model.calls == []
    assert {"dog.md", "life.md"} == {one.source for one in Role(root).index(GRAPH_KIND).open().passages}


@COUNTS
def test_json_that_is_no_graph_is_refused(root: Path, count: int, tmp_path: Path) -> None:
    data = encode_graph(Role(root).index(GRAPH_KIND).open().graph)
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / GRAPH_FILE).write_bytes(data)
    for path, _ in mutations(alone, seed=5, count=count):
        try:
            read = decode_graph(path.read_bytes())
        except (ValueError, RoleError):
            continue
        assert decode_graph(encode_graph(read)).nodes == read.nodes
    for broken in ([], {"nodes": []}, {"nodes": [1], "edges": []}, {"nodes": [{}], "edges": [{}]}):
        with pytest.raises(ValueError, match=r"\w"):
            decode_graph(json.dumps(broken).encode())


GOOD = MergePlan(merges=(Merge(name="Tom Quill", names=("Tom Quill", "Tom")),), alone=("Petrel",))


@pytest.mark.parametrize("name", [PLAN, DECISIONS])
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("merges:\n- name: Tom\n  names: [Tom, Tom Quill\nalone: []\n", 4, "check colons, quotes and indentation"),
        ("merges:\n- name: Tom\n  names: Tom\n", 3, "must be a list"),
        ("merges:\n- name: Tom\n  names:\n  - Tom\n  - {Tom: Quill}\n", 5, "must be text"),
        ("merges:\n- names: [Tom]\n", 2, "`merges.1.name` is missing"),
        ("merges:\n- name: ''\n  names: [Tom]\n", 2, "must not be empty"),
        ("alone: []\nmerge: []\n", 2, "did you mean 'merges'"),
        ("alone: []\nalone: []\n", 2, "is there twice"),
        ("merges: []\nalone:\n- Tom\n- 1880\n", 4, "must be text"),
        ("merges:\n- name: Tom\n  names: [Tom]\n  why:\n  - names: [Tom]\n", 5, "names"),
        ("- Tom\n", 1, "must hold keys and values"),
        ("# read me\n\nmerges:\n- name: A\n  names: [A, Tom]\n- name: B\n  names: [B, tom]\n", 3, "is in two merges"),
        ("merges: \u0000", 1, "zero character"),
    ],
)
def test_a_slip_in_a_file_of_merges_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, line: int, what: str
) -> None:
    role = new_role(tmp_path)
    (role.root / name).write_text(text, encoding="utf-8")
    with pytest.raises(RoleFileError) as caught:
        read_plan(role.root, name)
    assert str(caught.value).startswith(f"ada/{name}, line {line}: ")
    assert what in str(caught.value)


@pytest.mark.parametrize("name", [PLAN, DECISIONS])
@COUNTS
def test_a_mutated_file_of_merges_is_read_or_refused_with_its_line(tmp_path: Path, count: int, name: str) -> None:
    role = new_role(tmp_path)
    write_plan(role.root, GOOD, name)
    for path, how in mutations(role.root, seed=6, count=count, only=lambda one: one.name == name):
        plan, refused = None, f"ada/{name}, line "
        try:
            plan = read_plan(role.root, name)
        except RoleFileError as error:
            refused = str(error)
        assert plan is None or isinstance(plan, MergePlan)
        assert refused.startswith(f"ada/{name}, line "), (path, how)
    assert read_plan(role.root, name) == GOOD


async def test_a_slip_in_the_decisions_stops_indexing_and_changes_nothing(root: Path) -> None:
    (root / DECISIONS).write_text("merges:\n- name: Tom\n", encoding="utf-8")
    model, before = graph_actor(), whole(root)
    with pytest.raises(RoleFileError, match=r"ada/merges\.yaml, line 2: `merges\.1\.names` is missing"):
        await index(Role(root), model, **SETTINGS)
    assert (model.calls, whole(root)) == ([], before)


async def test_a_plan_with_a_slip_stays_as_it_was_edited(root: Path) -> None:
    text = (root / PLAN).read_text(encoding="utf-8").replace("- Petrel", "- Petrol")
    slip = text.replace("merges:", "merges:\n- name: x\n  names: [Petrol, Kit]", 1)
    (root / PLAN).write_text(slip, encoding="utf-8")
    before = whole(root)
    with pytest.raises(RoleFileError):
        await index(Role(root), wishes={"apply": True}, **SETTINGS)
    assert (root / PLAN).read_text(encoding="utf-8") == slip
    assert not (root / DECISIONS).exists()
    assert whole(root) == before


def test_a_name_that_is_not_there_is_refused_with_the_nearest(tmp_path: Path) -> None:
    role = new_role(tmp_path)
    write_plan(role.root, MergePlan(merges=(Merge(name="x", names=("Petrol",)),)), PLAN)
    with pytest.raises(RoleFileError, match="did you mean 'Petrel'"):
        accept_plan(role.root, ["Petrel", "Kit"], [])
    assert read_plan(role.root, PLAN)
