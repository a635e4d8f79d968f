"""A document more or less: what is asked then, counted beside a run on the same documents with nothing known."""

import re
from pathlib import Path
from typing import Any

import pytest

from dramaturg.nodes.graph.merging import ORDER
from dramaturg.stores.index.graph import GRAPH_KIND
from dramaturg.stores.role import Role

from fakes import ScriptedChatModel
from graph_roles import DOG, LIFE, WORK, asked, graph_actor, graph_role, index, put, served
from passage_samples import quick
from roles import fenced

pytestmark = pytest.mark.sample_of_file(2)

DOCUMENTS = {
    "boat": "# Boat\n\nTom sails the Petrel to Gull Rock. The keeper waves to Tom. Kit barks at the Petrel.\n",
    "dog": DOG,
    "feud": "# Feud\n\nJory Penrose curses Gull Rock. Tom Quill hides the old lamp from Jory Penrose.\n",
    "life": LIFE,
    "market": "# Market\n\nThe keeper buys oil of Jory Penrose. Her brother sells Kit a bone.\n",
    "work": WORK,
}
SETTINGS: dict[str, Any] = {"neighbours": 2, "reasons": True}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


def role_of(library: Path, *names: str) -> Role:
    """Ada with some of the documents."""
    role = graph_role(library)
    (role.root / "persona" / "life.md").unlink()
    for name in names:
        put(role, name, DOCUMENTS[name])
    return role


def questions(model: ScriptedChatModel) -> list[tuple[str, ...]]:
    """What was asked: two entries are one question in either order, and so are the names of a group."""
    options = {text: re.findall(r"^\d+\. (.*)$", text, re.MULTILINE) for text in asked(model, "name")}
    return [tuple(sorted(options.get(text) or text.split("\n"))) for text in asked(model)]


def without(name: str) -> list[str]:
    return [one for one in DOCUMENTS if one != name]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_document_removed_asks_what_a_run_on_what_is_left_asks_and_nobody_has_answered(
    tmp_path: Path, name: str
) -> None:
    models = before, after, fresh = [graph_actor() for _ in range(3)]
    role, alone = role_of(tmp_path / "all", *DOCUMENTS), role_of(tmp_path / "left", *without(name))
    await index(role, before, **SETTINGS)
    (role.root / "persona" / f"{name}.md").unlink()
    left = await index(role, after, **SETTINGS)
    report = await index(alone, fresh, **SETTINGS)
    known, new, wanted = map(questions, models)
    assert sorted(new) == sorted({*wanted} - {*known})
    assert asked(after, "facts") == []
    assert left["version"] == report["version"]  # the same graph, from the same answers


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_document_added_asks_of_its_chunks_its_names_and_what_it_tells_of(tmp_path: Path, name: str) -> None:
    role = role_of(tmp_path, *without(name))
    await index(role, **SETTINGS)
    before = told(role)
    put(role, name, DOCUMENTS[name])
    await index(role, model := graph_actor(), **SETTINGS)
    (chunk,) = asked(model, "facts")
    assert DOCUMENTS[name].startswith(fenced("text", chunk).split("\n")[0])
    after = told(role)
    new = {one for entity in served(role).entities() for one in entity.names} - before.keys()
    assert len(asked(model, "same")) <= SETTINGS["neighbours"] * len(new)
    changed = {title for title, said in after.items() if before.get(title) != said}
    assert {fenced("name", text) for text in asked(model, "summary")} <= changed


def told(role: Role) -> dict[str, set[str]]:
    """What is told of each name, and of each two."""
    graph = served(role)
    found = [(name, one) for one in graph.entities() for name in one.names]
    return {title: {said.text for said in one.statements} for title, one in found} | {
        f"{one.source} – {one.target}": {said.text for said in one.statements} for one in graph.relations()
    }


async def test_documents_are_compared_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    role = role_of(tmp_path, "work")
    for name in ("boat", "life", "dog"):  # "boat" comes before "work" by its name
        put(role, name, DOCUMENTS[name])
        await index(role, **SETTINGS)
    (role.root / "persona" / "life.md").unlink()
    put(role, "boat", DOCUMENTS["boat"] + "\nKit swims.\n")
    await index(role, **SETTINGS)
    found: Any = role.index(GRAPH_KIND).builder.known()[ORDER]
    assert found["documents"] == ["boat.md", "work.md", "dog.md"]  # the first two came together


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_changed_document_gives_the_graph_of_a_run_that_knows_nothing_else(tmp_path: Path, name: str) -> None:
    edited = DOCUMENTS[name].replace(".", " on Sunday.", 1) + "\nTom Quill mends the Petrel with Kit.\n"
    role, alone = role_of(tmp_path / "changed", *DOCUMENTS), role_of(tmp_path / "fresh", *without(name))
    models = before, after, fresh = [graph_actor() for _ in range(3)]
    await index(role, before, **SETTINGS)
    for one in (role, alone):
        put(one, name, edited)
    changed, report = await index(role, after, **SETTINGS), await index(alone, fresh, **SETTINGS)
    known, new, wanted = map(questions, models)
    assert sorted(new) == sorted({*wanted} - {*known})
    assert changed["version"] == report["version"]


async def test_what_was_ever_answered_is_not_asked_again(tmp_path: Path) -> None:
    role = role_of(tmp_path, *DOCUMENTS)
    await index(role, **SETTINGS)
    (role.root / "persona" / "dog.md").unlink()
    await index(role, **SETTINGS)
    put(role, "dog", DOG)
    await index(role, again := graph_actor(), **SETTINGS)
    assert asked(again, "facts") == []
    (role.root / "persona" / "dog.md").unlink()
    await index(role, again := graph_actor(), **SETTINGS)
    assert asked(again) == []
