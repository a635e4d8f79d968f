"""Roles of one story: its files are read as theirs, asked about once, and changed where they lie."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.nodes.known import as_of_in
from dramaturg.nodes.told import unknown_knowers
from dramaturg.server.rooms import Rooms
from dramaturg.stores.documents.memories import form_of
from dramaturg.stores.documents.merges import PLAN
from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.kinds import kind_named
from dramaturg.stores.library import library_at
from dramaturg.stores.role import Role
from dramaturg.stores.versions import versions
from dramaturg.testing import write_role
from dramaturg.testing.role import write_lines
from dramaturg.workflows.role_rag_index import graph

from commands import Command
from graph_roles import asked, graph_actor, served, settings

ROCK = "# The rock\n\nAda Quill keeps the lighthouse of Gull Rock. Tom Quill sails the Petrel.\n"
OWN = "# Dog\n\nKit sleeps beside the lamp of Ada Quill.\n"
TRIPLES = 'triples: [{subject: "Tom Quill", relation: "owns", object: "a boat", kind: experience}]\n'


async def index(role: Role, model: Any = None, **wishes: bool) -> None:
    context = settings(role, model or graph_actor()).model_copy(update={"role": role.id})
    await graph.ainvoke(wishes, context=context)


def of_story(library: Path, role: str, name: str, story: str = "gull") -> Role:
    folder = library / role
    (folder / "persona").mkdir(parents=True)
    (folder / "role.yaml").write_text(f"name: {name}\nstory: {story}\n", encoding="utf-8")
    return Role(folder)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Ada, who has a document of her own, and Tom, who has a card alone: both of the story of Gull Rock."""
    ada = of_story(tmp_path, "mira", "Ada Quill")
    (ada.root / "persona" / "dog.md").write_text(OWN, encoding="utf-8")
    write_lines(ada.root / "memories.jsonl", [{"text": "I fed Kit."}])
    of_story(tmp_path, "tom", "Tom Quill")
    gull = write_role(tmp_path, "gull", name="Gull Rock", persona=ROCK, chronicle=TRIPLES,
                      memories=[{"text": "The lamp went out."}, {"text": "I hid it.", "known_to": ["tom"]}],
                      dialogue=[{"scene": "quay", "speaker": "Tom Quill", "text": "Flour!"}])  # fmt: skip
    card = gull / "role.yaml"
    card.write_text(card.read_text("utf-8") + "timeline: [the storm, the calm]\n", encoding="utf-8")
    return tmp_path


def test_the_files_of_a_story_are_read_after_those_of_the_role(library: Path, run: Command) -> None:
    mira = library_at(library).role("mira")
    assert [one.name for one in mira.documents()] == ["dog.md", "gull/life.md"]
    assert [place for place, _ in mira.placed_memories()] == [
        "memories.jsonl:1", "gull/memories.jsonl:1", "gull/memories.jsonl:2",
    ]  # fmt: skip
    assert [one.text for one in mira.dialogues()] == ["Flour!"]
    assert [one.object for one in mira.chronicle().triples] == ["a boat"]
    assert mira.own_chronicle.triples == ()
    assert as_of_in("the storm", mira.card)
    shown = json.loads(run("show", "mira", "--json")[1])
    assert (shown["story"], len(shown["documents"]), shown["memories"]) == ("gull", 2, 3)
    listed = {one["role"]: one["methods"] for one in json.loads(run("roles", "--json")[1])}
    assert listed["tom"] == ["amadeus", "role-rag", "emotional-rag", "drmr", "id-rag"]
    rooms = Rooms(library_at(library), "amadeus", {}, {})
    (tom,) = [one for one in rooms.roles() if one["id"] == "tom"]
    assert {"amadeus", "role-rag", "id-rag", "drmr"} <= {*tom["methods"]}
    assert all(not one["lacks"] for one in rooms.methods_for("tom"))


def test_a_role_is_made_of_a_story_that_is_there(library: Path, run: Command) -> None:
    code, _, err = run("new", "kit", "--name", "Kit", "--story", "gul")
    assert (code, "There is no role 'gul'" in " ".join(err.split()), (library / "kit").exists()) == (2, True, False)
    assert run("new", "kit", "--name", "Kit", "--story", "gull")[0] == 0
    assert [one.name for one in library_at(library).role("kit").documents()] == ["gull/life.md"]


def test_what_was_asked_for_a_story_is_not_asked_again_for_its_roles(library: Path) -> None:
    model = graph_actor()
    asyncio.run(index(Role(library / "gull"), model))
    assert len(asked(model, "facts")) == 1
    again = graph_actor()
    asyncio.run(index(library_at(library).role("tom"), again))
    assert asked(again) == []
    assert served(Role(library / "tom")).find("Petrel")
    own = graph_actor()
    asyncio.run(index(library_at(library).role("mira"), own))
    (text,) = asked(own, "facts")
    assert "Kit" in text
    assert {one.source for entity in served(Role(library / "mira")).entities() for one in entity.statements} == {
        "dog.md", "gull/life.md",
    }  # fmt: skip


def test_what_was_embedded_for_a_story_is_not_embedded_again(library: Path, run: Command) -> None:
    assert run("index", "gull")[0] == 0
    (library / "new.md").write_text("# Net\n\nTom mends a net.\n", encoding="utf-8")
    taught = json.loads(run("learn", "tom", str(library / "new.md"), "--dry-run", "--json")[1])
    made = json.loads(run("index", "tom", "--json")[1])
    assert (taught["index"]["to_embed"], made["embedded"]) == (1, 0)


def test_a_file_of_a_story_is_read_by_its_place_in_it(library: Path) -> None:
    line = {"scene": "quay", "speaker": "Tom Quill", "text": "Salt!", "known_to": ["Pew"]}
    write_lines(library / "gull" / "dialogues" / "memories.jsonl", [line])
    (library / "gull" / "persona" / "life.md").write_text(f"known_to: Pew\n\n{ROCK}", encoding="utf-8")
    tom = library_at(library).role("tom")
    assert {name: form_of(name).__name__ for name in tom.memory_files.names()} == {
        "gull/dialogues/memories.jsonl": "DialogueLine",
        "gull/dialogues/scenes.jsonl": "DialogueLine",
        "gull/memories.jsonl": "Memory",
    }
    assert unknown_knowers(tom) == [
        "gull/persona/life.md: Pew is no role here", "gull/dialogues/memories.jsonl:1: Pew is no role here",
    ]  # fmt: skip


def test_what_a_role_says_itself_comes_before_what_its_story_says(library: Path) -> None:
    mira = library_at(library).role("mira")
    (mira.root / "role.yaml").write_text("name: Ada\nstory: gull\ntimeline: [the fire]\n", encoding="utf-8")
    for root, said in ((mira.root, "My $object."), (library / "gull", "A $object.")):
        (root / "chronicle.yaml").write_text(f"{TRIPLES}sentences: {{owns: {said}}}\n", encoding="utf-8")
    assert mira.card.timeline == ("the fire",)
    assert mira.chronicle().sentences == {"owns": "My $object."}


def test_files_of_a_role_are_indexed_whatever_their_names(library: Path, run: Command) -> None:
    mira = library / "mira"
    (mira / "persona" / "life.md").write_text("# Sea\n\nAda Quill was born at sea.\n", encoding="utf-8")
    assert run("index", "mira")[0] == 0
    assert run("index", "mira", "--method", "emotional-rag", "--set", "emotion_encoder=embedding")[0] == 0
    made_from = {one.documents for one in versions(library_at(library).role("mira"), kind_named("acts"))}
    assert made_from == {("dog.md", "gull/life.md", "life.md")}


def test_a_story_is_changed_where_it_lies(library: Path, run: Command) -> None:
    before = {path: path.read_bytes() for path in (library / "gull").rglob("*") if path.is_file()}
    code, _, err = run("forget", "mira", "--source", "gull/life.md", "--yes")
    assert code == 2
    assert "belongs to the story 'gull', which other roles read, too: change life.md in gull" in " ".join(err.split())
    code, _, err = run("edit", "mira", "gull/life.md")
    assert (code, "belongs to the story 'gull'" in err) == (2, True)
    shown = json.loads(run("memories", "mira", "--json")[1])
    theirs = next(one for one in shown if "lamp" in one["text"])
    code, _, err = run("memories", "mira", "--remove", theirs["memory"], "--yes")
    assert (code, "what a story says is changed in the story" in err) == (2, True)
    mira = library_at(library).role("mira")
    with pytest.raises(RoleError, match="belongs to the story 'gull'"):
        mira.persona.change({"gull/life.md": b"x"})
    assert {path: path.read_bytes() for path in before} == before


def test_undo_takes_back_files_of_the_role_alone(library: Path, run: Command) -> None:
    assert run("index", "mira")[0] == 0
    (library / "mira" / "persona" / "dog.md").write_text("# Dog\n\nKit is old.\n", encoding="utf-8")
    (library / "gull" / "persona" / "life.md").write_text("# The rock\n\nIt fell into the sea.\n", encoding="utf-8")
    assert run("index", "mira")[0] == 0
    code, out, _ = run("undo", "mira", "--yes")
    assert code == 0
    assert "are back: dog.md. It was made from other files of the story 'gull'" in " ".join(out.split())
    assert (library / "mira" / "persona" / "dog.md").read_text("utf-8") == OWN
    assert "fell into the sea" in (library / "gull" / "persona" / "life.md").read_text("utf-8")


def test_what_is_erased_from_a_story_is_erased_from_its_roles(library: Path, run: Command) -> None:
    (library / "gull" / "persona" / "secret.md").write_text("# Gold\n\nThe Marigold lies below.\n", encoding="utf-8")
    for role in ("mira", "tom"):
        assert run("index", role)[0] == 0
    code, _, err = run("forget", "gull", "--source", "secret.md", "--for-good", "--yes")
    assert code == 0, err
    assert "mira, tom have read gull as their story" in " ".join(err.split())
    left = [path for path in library.rglob("*") if path.is_file() and b"Marigold" in path.read_bytes()]
    assert left == []
    assert run("index", "mira")[0] == 0


def test_it_is_erased_from_the_indexes_of_those_who_have_left_the_story_too(library: Path, run: Command) -> None:
    (library / "gull" / "persona" / "secret.md").write_text("# Gold\n\nThe Marigold lies below.\n", encoding="utf-8")
    for role in ("mira", "tom"):
        assert run("index", role)[0] == 0
    (library / "mira" / "role.yaml").write_text("name: [\nstory: gull\n", encoding="utf-8")
    (library / "tom" / "role.yaml").write_text("name: Tom Quill\n", encoding="utf-8")
    (library / "gull" / "persona" / "secret.md").unlink()  # as by a call that was stopped before it came to them
    code, _, err = run("forget", "gull", "--source", "secret.md", "--for-good", "--yes")
    assert code == 0, err
    assert "mira, tom have read gull as their story" in err
    assert [path for path in library.rglob("*") if path.is_file() and b"Marigold" in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("story", "why"),
    [
        ("nowhere", "names the story 'nowhere'. There is no role 'nowhere'"),
        ("GULL", "There is no role 'GULL' in"),
        ("GULL", "; did you mean 'gull'? There are:"),
        ("tom", "which cannot be one: name a role that is of no story itself"),
        ("mira", "which cannot be one"),
        ("dialogues", "which cannot be one"),
        ("../x", "names the story '../x'. '../x' can't be the id of a role"),
    ],
)
def test_a_story_that_cannot_be_one_is_said_and_others_are_listed(
    library: Path, run: Command, story: str, why: str
) -> None:
    write_role(library, "dialogues", persona=ROCK)
    (library / "mira" / "role.yaml").write_text(f"name: Mira\nstory: {story}\n", encoding="utf-8")
    code, _, err = run("ask", "mira", "Who are you?")
    assert code == 2
    assert why in " ".join(err.split())
    code, out, err = run("roles")
    assert code == 0
    assert "tom" in out
    assert why.partition(".")[0] in " ".join(err.split())
    found = {one["id"]: one for one in Rooms(library_at(library), "amadeus", {}, {}).roles()}
    assert why.partition(".")[0] in found["mira"]["error"]
    assert found["tom"]["methods"]


def test_an_export_says_that_the_story_is_not_in_it(
    library: Path, run: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("out") / "mira.json"
    code, _, err = run("export", "mira", str(file))
    assert code == 0
    assert "mira reads the files of the story 'gull', which are not in it" in " ".join(err.split())
    assert "Left out" not in err
    assert "Gull Rock" not in file.read_text("utf-8")


def test_a_bundle_whose_story_is_not_there_says_so_and_what_comes_next(
    library: Path, run: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("out")
    for role in ("tom", "gull"):
        assert run("export", role, str(out / f"{role}.role.zip"))[0] == 0
    there = ("--library", str(out / "other"))
    code, said, err = run("import", str(out / "tom.role.zip"), *there)
    assert code == 0
    assert "tom reads the files of the story 'gull', which is not in this library" in " ".join(err.split())
    assert f"Then: dramaturg import gull.role.zip --library {out / 'other'}" in " ".join(said.split())
    assert "import it, too" in said
    assert "which is not" not in run("import", str(out / "gull.role.zip"), *there)[2]
    code, said, err = run("import", str(out / "tom.role.zip"), "--replace", *there)
    assert ("Then: dramaturg chat tom" in said, "which is not" in err) == (True, False)


def test_who_speaks_in_a_story_is_no_slip_of_a_role_that_does_not(library: Path, run: Command) -> None:
    assert "speakers" not in json.loads(run("show", "mira", "--json")[1])
    line = {"scene": "quay", "speaker": "Ada", "text": "Salt!"}
    write_lines(library / "gull" / "dialogues" / "more.jsonl", [line])
    assert "aliases: [Ada]" in json.loads(run("show", "mira", "--json")[1])["speakers"]


def test_names_in_a_story_may_be_split_in_the_plan_of_a_role(library: Path) -> None:
    role = library_at(library).role("tom")
    asyncio.run(index(role))
    split = "splits: [{name: Tom Quill, called: Tom of the Petrel, where: [gull/life.md]}]\n"
    (role.root / PLAN).write_text(split, encoding="utf-8")
    asyncio.run(index(role, apply=True))
    assert served(role).find("Tom of the Petrel")
