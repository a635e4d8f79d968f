"""`dramaturg import` and `export`: files of other programs become roles and conversations, and roles such files."""

import base64
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from wild_cards import WILD, lost, png_of, v2, v3

from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.cards import Card
from dramaturg.stores.formats.png import texts_in
from dramaturg.stores.formats.told import read_file
from dramaturg.stores.library import Library, library_at

from commands import Command
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(4)

ENTRIES = {
    "name": "Coast",
    "entries": {"3": {"uid": 3, "key": ["reef"], "content": "The reef took nine ships.", "order": 7}},
}
SWIPED = {"name": "Mira", "mes": "Mira.", "extra": {"x": 1}, "swipes": ["Mira.", "Nobody."], "swipe_id": 0}
LINES = (
    {"chat_metadata": {"integrity": "i"}, "user_name": "unused", "character_name": "unused"},
    {"name": "Jim", "is_user": True, "mes": "Who are you?", "extra": {}},
    SWIPED,
)
CHAT = "\n".join(map(json.dumps, LINES))


def say(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    said = iter([*lines, "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(said))


@pytest.fixture
def mira(tmp_path: Path, run: Command) -> Path:
    """The picture of a card; it is in the library."""
    file = tmp_path / "cards" / "mira.png"
    file.parent.mkdir()
    file.write_bytes(png_of(WILD["w++"]))
    assert run("import", str(file))[0] == 0
    return file


def test_a_card_becomes_a_role_that_speaks_first_and_goes_back_into_a_picture(
    mira: Path, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stub: Endpoint
) -> None:
    say(monkeypatch, "When did the archive burn?", "And then?", "/evidence")
    stub.asked.clear()
    code, out, _ = run("chat", "mira")
    assert code == 0
    assert "Mira: *Mira looks up.* You are late, stranger." in out
    assert "lore-archive.md" in out
    assert any("burned in 1902" in message["content"] for asked in stub.asked for message in asked.get("messages", []))
    say(monkeypatch)
    assert run("chat", "mira")[1].count("You are late") == 0  # it has gone on
    target = tmp_path / "back.png"
    assert run("export", "mira", str(target))[0] == 0
    assert {"chara", "ccv3"} <= {*texts_in(target.read_bytes())}
    before, after = read_file(mira), read_file(target)
    assert isinstance(before, Card)
    assert isinstance(after, Card)
    assert list(lost(dict(before.data), dict(after.data))) == []


def test_a_dry_run_says_what_would_become_of_a_file_and_writes_nothing(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "juno.json"
    file.write_bytes(dumped({**WILD["boostyle"]}))
    before = sorted(tmp_path.rglob("*"))
    code, out, _ = run("import", str(file), "--dry-run")
    assert code == 0
    assert "juno.json would become juno" in out
    for part in ("description", "entries of the book", "entries always active", "entries off or empty"):
        assert part in out
    code, out, _ = run("import", str(file), "--dry-run", "--json")
    (said,) = json.loads(out)
    assert (said["kind"], said["role"], said["language"]) == ("card", "juno", "en")
    assert {"part": "entries of the book", "where": "persona/lore-*.md", "size": "1"} in said["became"]
    assert sorted(tmp_path.rglob("*")) == before


def test_macros_that_stand_are_named(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(
        dumped(v2(name="Rae", description="It is {{time}}. {{CHAR}} and <BOT>. {{Roll:0}}", first_mes="{{getvar::a}}"))
    )
    code, _, err = run("import", str(file))
    assert (code, "stand as they are: {{getvar}}, {{time}}." in err) == (0, True)
    assert "It is {{time}}. Rae and Rae." in (tmp_path / "rae" / "persona" / "character.md").read_text()


def test_nothing_is_written_unless_every_file_can_be_read(run: Command, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    good.write_bytes(png_of(WILD["v1"]))
    bad.write_bytes(good.read_bytes()[:-15])
    code, _, err = run("import", str(good), str(bad))
    assert (code, err.startswith("Error: bad.png ")) == (2, True)
    assert Library(tmp_path).roles() == ["ada"]


def test_a_role_that_is_there_is_not_replaced_unasked(mira: Path, run: Command, tmp_path: Path) -> None:
    (tmp_path / "mira" / "persona" / "own.md").write_text("Mine.")
    code, _, err = run("import", str(mira))
    assert (code, "There is 'mira'" in err, "--replace" in err) == (2, True, True)
    assert run("import", str(mira), "--role", "mira2", "--language", "zh")[0] == 0
    assert Library(tmp_path).role("mira2").card.language == "zh"
    assert (tmp_path / "mira" / "persona" / "own.md").exists()
    assert run("import", str(mira), "--replace")[0] == 0
    assert not (tmp_path / "mira" / "persona" / "own.md").exists()
    code, _, err = run("import", str(mira), str(mira), "--role", "x")
    assert (code, "one character at a time" in err) == (2, True)
    assert "--language is one of en, zh, ko" in run("import", str(mira), "--language", "xx")[2]


def test_a_name_without_latin_letters_takes_the_id_of_its_file(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "qing v2.json"
    file.write_bytes(dumped(WILD["chinese"]))
    assert run("import", str(file))[0] == 0
    card = Library(tmp_path).role("qing-v2").card
    assert (card.name, card.aliases, card.language) == ("林清", ("阿清",), "zh")
    assert "阿清是灯塔的守夜人" in card.profile
    file.rename(tmp_path / "林.json")
    code, _, err = run("import", str(tmp_path / "林.json"))
    assert (code, "--role ID" in err) == (2, True)


def test_a_lorebook_is_learned_and_written_again(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    file.write_bytes(dumped(ENTRIES))
    code, _, err = run("import", str(file))
    assert (code, "say whose it is by --role" in err) == (2, True)
    yaml = tmp_path / "ada" / "role.yaml"
    yaml.write_text(f"# my own words\n{yaml.read_text()}")
    assert run("import", "ada", str(file))[0] == 0
    assert yaml.read_text().startswith("# my own words\n")
    assert "The reef took nine ships." in (tmp_path / "ada" / "persona" / "lore-reef.md").read_text()
    for name in ("world.json", "book.json"):
        assert run("export", "ada", str(tmp_path / "out" / name))[0] == 2
        (tmp_path / "out").mkdir(exist_ok=True)
        assert run("export", "ada", str(tmp_path / "out" / name))[0] == 0
        (tmp_path / "out" / name).rename(tmp_path / f"out-{name}")
        (tmp_path / "out").rmdir()
    world: Any = json.loads((tmp_path / "out-world.json").read_text())
    assert list(lost(ENTRIES["entries"], world["entries"])) == []
    assert len(world["entries"]) > 1  # what else the role knows
    book: Any = json.loads((tmp_path / "out-book.json").read_text())
    assert book["spec"] == "lorebook_v3"
    assert book["data"]["entries"][0]["keys"] == ["reef"]


def test_a_lorebook_is_made_of_the_knowledge_graph(run: Command, tmp_path: Path) -> None:
    code, _, err = run("export", "ada", str(tmp_path / "book.json"), "--from", "graph")
    assert (code, "--method role-rag" in err) == (2, True)
    assert "--from is documents or graph" in run("export", "ada", str(tmp_path / "book.json"), "--from", "x")[2]


def test_a_chat_becomes_a_conversation_and_goes_back(mira: Path, run: Command, tmp_path: Path) -> None:
    file = tmp_path / "old.jsonl"
    file.write_text(CHAT)
    code, out, _ = run("import", str(file), "--thread", "old", "--json")
    assert (code, json.loads(out)[0]["role"]) == (0, "mira")  # found by its name
    assert [one["thread"] for one in json.loads(run("conversations", "mira", "--json")[1])] == ["old"]
    target = tmp_path / "chat.jsonl"
    assert run("export", "mira", str(target), "--thread", "old")[0] == 0
    again = [json.loads(line) for line in target.read_text().split("\n")]
    assert list(lost([json.loads(line) for line in CHAT.split("\n")], again)) == []
    assert run("export", "mira", "--as", "chat", "--thread", "old")[1] == target.read_text()
    assert (
        run("import", "ada", str(file), "--thread", "other")[0] == 0
    )  # the only one who speaks is the role that was named
    file.write_text(CHAT.replace("Mira", "Nobody known"))
    code, _, err = run("import", str(file), "--thread", "third")
    assert (code, "import the card first" in err) == (2, True)


def test_a_bundle_answers_elsewhere_without_being_indexed(
    mira: Path, run: Command, stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = json.loads(run("ask", "mira", "When did the archive burn?", "--thread", "tea", "--json")[1])
    (tmp_path / "mira" / "LICENSE").write_text("Free.")
    (tmp_path / "mira" / "prompts").mkdir()
    file = tmp_path / "mira.role.zip"
    assert run("export", "mira", str(file), "--index", "--thread", "tea")[0] == 0
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setenv("DRAMATURG_LIBRARY", str(elsewhere))
    code, out, _ = run("import", str(file))
    assert (code, "ready" in out, "1 turns" in out) == (0, True, True)
    assert (elsewhere / "mira" / "LICENSE").read_text() == "Free."
    assert (elsewhere / "mira" / "role.yaml").read_bytes() == (tmp_path / "mira" / "role.yaml").read_bytes()
    assert [one["thread"] for one in json.loads(run("conversations", "mira", "--json")[1])] == ["tea"]
    stub.asked.clear()
    again = json.loads(run("ask", "mira", "When did the archive burn?", "--json")[1])
    embedded = [len(asked["input"]) for asked in stub.asked if asked.get("input")]
    assert embedded == [1]  # the question, and no passage
    assert again["evidence"]["knowledge"] == first["evidence"]["knowledge"]
    stub.asked.clear()
    assert run("index", "mira")[0] == 0
    assert stub.asked == []


def test_a_card_names_what_it_leaves_out_and_a_name_that_says_no_form_is_asked_for_one(
    run: Command, tmp_path: Path
) -> None:
    code, _, err = run("export", "alice", str(tmp_path / "alice.json"))
    assert code == 0
    assert "A card has no place for memories.jsonl, chronicle.yaml" in " ".join(err.split())
    code, _, err = run("export", "ada", str(tmp_path / "ada.txt"))
    assert (code, "ada.txt" in err, "--as" in err) == (2, True, True)
    assert not (tmp_path / "ada.txt").exists()


@pytest.mark.parametrize("name", ["elsewhere/x.png", "x.charx", "x.json"])
def test_a_role_is_written_by_the_name_of_its_file(name: str, run: Command, tmp_path: Path) -> None:
    code, _, err = run("export", "ada", str(tmp_path / name))
    if "/" in name:
        assert (code, "in a folder that is there" in err) == (2, True)
        return
    card = read_file(tmp_path / name)
    assert isinstance(card, Card)
    assert (code, card.said.name) == (0, "Ada Quill")
    assert card.book
    assert "The lamp" in [one["name"] for one in card.book.entries]


def test_other_greetings_begin_other_branches(
    mira: Path, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tom.json"
    file.write_bytes(dumped(WILD["plain list"]))
    assert run("import", str(file))[0] == 0
    say(monkeypatch, "/greeting", "/greeting 2", "/greeting 3", "/branches")
    code, out, _ = run("chat", "old-tom")
    assert code == 0
    assert "1. Mind the nets." in out
    assert "Old Tom: Back again?" in out
    assert "N is a number from 1 to 2" in out
    say(monkeypatch, "/greeting")
    assert "This role has no greeting" in run("chat", "ada")[1]


def test_help_lists_what_can_be_written(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["dramaturg"])
    assert "--as is one of card, book" in run("export", "ada", "x.png", "--as", "poem")[2]
    assert "A card is written to a file" in run("export", "ada", "--as", "card")[2]


PEOPLE = [
    {"name": "Ann", "identity": "Ann mends clocks.", "plan": "You want tea."},
    v2(name="Bo", description="Bo bakes."),
]


def test_a_file_with_several_people_becomes_all_of_them_or_those_that_are_chosen(run: Command, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_bytes(dumped(PEOPLE))
    code, out, _ = run("import", str(file), "--dry-run")
    assert (code, "would become ann" in out, "would become bo" in out) == (0, True, True)
    assert Library(tmp_path).roles() == ["ada"]
    code, _, err = run("import", str(file), "--only", "Cy")
    assert (code, "nobody called 'Cy' there: --only is one of Ann, Bo." in err) == (2, True)
    assert run("import", str(file), "--only", "bo", "--role", "baker")[0] == 0
    assert Library(tmp_path).roles() == ["ada", "baker"]
    assert [one["role"] for one in json.loads(run("import", str(file), "--json")[1])] == ["ann", "bo"]
    assert "You want tea." in (tmp_path / "ann" / "persona" / "character.md").read_text()
    (tmp_path / "ann" / "role.yaml").unlink()
    (tmp_path / "ann").rename(tmp_path / ".ann")
    code, _, err = run("import", str(file))
    assert (code, "There is 'bo'" in err) == (2, True)
    assert Library(tmp_path).roles() == ["ada", "baker", "bo"]  # all of them or none
    file.write_bytes(dumped({"characters": [PEOPLE[0], PEOPLE[0]]}))
    code, _, err = run("import", str(file))
    assert (code, "Two of these would be 'ann'" in err) == (2, True)
    file.write_bytes(dumped([*PEOPLE, {"a": 1}]))
    assert "an entry 3 that is no character" in run("import", str(file))[2]


def test_files_come_into_a_library_in_a_database_and_out_again(
    mira: Path, run: Command, postgres: str, tmp_path: Path, stub: Endpoint
) -> None:
    there = ("--library", postgres)
    world, chat, people = tmp_path / "world.json", tmp_path / "old.jsonl", tmp_path / "people.json"
    world.write_bytes(dumped(ENTRIES))
    chat.write_text(CHAT)
    people.write_bytes(dumped(PEOPLE))
    code, out, _ = run("import", str(mira), "--dry-run", *there)
    assert (code, run("roles", *there, "--json")[1].count('"mira"')) == (0, 0)
    code, out, _ = run("import", str(mira), str(people), *there)
    assert (code, "--library" in out) == (0, True)
    code, _, err = run("import", str(mira), *there)
    assert (code, "There is 'mira' in " in err, "--replace" in err, "secret" in err) == (2, True, True, False)
    assert run("import", str(mira), "--replace", *there)[0] == 0
    assert run("import", "mira", str(world), *there)[0] == 0
    assert run("import", str(chat), "--thread", "old", *there)[0] == 0
    assert run("index", "mira", *there)[0] == 0
    shared = library_at(postgres, tmp_path / "cache")
    assert shared.roles() == ["ann", "bo", "mira"]
    assert b"The reef took nine ships." in shared.contents("mira")["persona/lore-reef.md"]
    bundle = tmp_path / "mira.role.zip"
    assert run("export", "mira", str(bundle), "--index", "--thread", "old", *there)[0] == 0
    code, out, err = run("import", str(bundle), "--role", "again", *there)
    assert (code, "ready" in out, "2 turns" in out or "1 turns" in out) == (0, True, True)
    stub.asked.clear()
    first, again = (
        json.loads(run("ask", role, "When did the archive burn?", "--thread", "new", "--json", *there)[1])
        for role in ("mira", "again")
    )
    assert again["evidence"]["knowledge"] == first["evidence"]["knowledge"]
    assert {len(asked["input"]) for asked in stub.asked if asked.get("input")} == {1}  # questions, and no passage
    card = tmp_path / "back.png"
    assert run("export", "again", str(card), *there)[0] == 0
    before, after = read_file(mira), read_file(card)
    assert isinstance(before, Card)
    assert isinstance(after, Card)
    book = {"character_book": after.data["character_book"]}  # which the world was added to
    assert list(lost({**before.data, **book}, dict(after.data))) == []


def test_a_card_keeps_its_date_and_says_when_it_was_written(run: Command, tmp_path: Path) -> None:
    dated = v3(
        name="Ann", description="Ann mends clocks.", creation_date=1_700_000_000, modification_date=1_700_000_001
    )
    (tmp_path / "ann.json").write_bytes(dumped(dated))
    assert run("import", str(tmp_path / "ann.json"))[0] == 0
    for name in ("x.json", "x.png", "x.charx"):
        began = int(time.time())
        assert run("export", "ann", str(tmp_path / name))[0] == 0
        card = read_file(tmp_path / name)
        assert isinstance(card, Card)
        assert card.data["creation_date"] == 1_700_000_000
        assert began <= card.data["modification_date"] <= time.time()
    older = json.loads(base64.b64decode(texts_in((tmp_path / "x.png").read_bytes())["chara"]))
    assert not {"creation_date", "modification_date"} & older["data"].keys()


@pytest.mark.sample(2)
@pytest.mark.parametrize("style", WILD)
def test_a_card_of_the_wild_talks_of_its_book_and_goes_back(style: str, run: Command, tmp_path: Path) -> None:
    file = tmp_path / "cards" / "some.json"
    file.parent.mkdir()
    file.write_bytes(dumped(WILD[style]))
    assert run("import", str(file), "--role", "some")[0] == 0
    before = read_file(file)
    assert isinstance(before, Card)
    entries = before.book.read() if before.book else []
    said = [one for one in entries if one.enabled and not one.constant and one.said]
    for one in said[:2]:
        code, out, _ = run("ask", "some", f"What of {one.title}? {one.said}", "--thread", "tea", "--json")
        assert code == 0
        assert one.said.split("\n")[-1] in json.dumps(json.loads(out)["evidence"]["knowledge"], ensure_ascii=False)
    for number in range(2 - len(said[:2])):
        assert run("ask", "some", f"Who are you, {number}?", "--thread", "tea")[0] == 0
    assert run("export", "some", str(tmp_path / "back.png"))[0] == 0
    after = read_file(tmp_path / "back.png")
    assert isinstance(after, Card)
    found = lost(dict(before.data), dict(after.data))
    assert [one for one in found if "/keys:" not in one and "alternate_greetings" not in one] == []
