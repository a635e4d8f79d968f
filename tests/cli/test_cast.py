"""`dramaturg cast`: from a file to a role that answers, with drafts that a person decides on."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.library_folder import Library
from dramaturg.stores.texts.draft import CastDraft

from commands import Command
from fakes import ScriptedChatModel
from stub_endpoint import Endpoint

TEXTS = Path(__file__).parents[2] / "examples" / "texts"


@pytest.fixture
def told(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with texts, the current one."""
    folder = tmp_path_factory.mktemp("texts")
    for path in TEXTS.iterdir():
        shutil.copy(path, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(autouse=True)
def model(stub: Endpoint) -> Iterator[None]:
    """The model of the endpoint finds one sentence, and nothing else."""

    def reply(messages: list[Any]) -> str:
        rules = str(messages[0].content)
        kind = next((one for one in ("told", "episodes", "triples", "quotes", "profile") if f'{{"{one}"' in rules), "")
        if kind == "told":
            return '{"told": [{"sentence": 1, "kind": "who"}]}'
        return json.dumps({kind: "She runs a ferry." if kind == "profile" else []})

    old, stub.model = stub.model, ScriptedChatModel(reply=reply)
    stub.asked.clear()
    yield
    stub.model = old


def test_who_is_in_a_text_and_the_command_that_casts_one(told: Path, run: Command, stub: Endpoint) -> None:
    code, out, _ = run("cast", "the_ferry.md")
    assert code == 0
    for name in ("Mira", "Hale", "Pip", "Tobias"):
        assert name in out
    assert "dramaturg cast the_ferry.md --who" in out
    assert not stub.asked
    people = json.loads(run("cast", "the_ferry.md", "--json")[1])["people"]
    assert str(people[0]["name"]).startswith("Mira")


def test_a_dry_run_counts_the_questions_and_changes_nothing(
    told: Path, run: Command, stub: Endpoint, tmp_path: Path
) -> None:
    code, out, _ = run("cast", "the_ferry.md", "--who", "Mira Castellan", "--dry-run", "--json")
    assert code == 0
    questions = json.loads(out)["questions"]
    assert questions["persona"] == questions["memories"] == questions["chronicle"] > 0
    assert not stub.asked
    assert Library(tmp_path).roles() == ["ada"]
    run("cast", "the_ferry.md", "--who", "Mira Castellan", "--yes")
    sent = [body for body in stub.asked if "messages" in body]
    assert len(sent) <= sum(questions.values())


def test_before_the_first_question_it_says_what_is_sent_and_where(told: Path, run: Command, stub: Endpoint) -> None:
    _, _, err = run("cast", "the_ferry.md", "--who", "Mira Castellan")
    assert "characters of the_ferry.md are sent to" in err
    assert "127.0.0.1" in err
    stub.asked.clear()
    _, _, err = run("cast", "the_ferry.md", "--who", "Pip", "--without-model")
    assert "sent" not in err
    assert not stub.asked


def test_what_is_said_to_be_sent_has_the_texts_of_before_in_it(told: Path, run: Command, stub: Endpoint) -> None:
    run("cast", "the_ferry.md", "--who", "Mira Castellan", "--without-model")
    alone = run("cast", "mira_castellan.html", "--who", "Mira Castellan", "--role", "other", "--dry-run", "--json")[1]
    _, out, err = run("cast", "mira_castellan.html", "--who", "Mira Castellan", "--dry-run", "--json")
    assert json.loads(out)["characters"] > json.loads(alone)["characters"]
    _, _, err = run("cast", "mira_castellan.html", "--who", "Mira Castellan")
    assert "characters of mira_castellan.html, the_ferry.md are sent to" in err


def test_where_nobody_has_the_name_no_role_is_made(told: Path, run: Command, tmp_path: Path) -> None:
    assert run("cast", "the_ferry.md", "--who", "Zebulon", "--without-model")[0] == 2
    assert Library(tmp_path).roles() == ["ada"]


@pytest.mark.parametrize(
    ("file", "name", "kinds"),
    [
        ("the_ferry.md", "Mira Castellan", {"card", "persona", "dialogues"}),
        ("the_ferry.zh.md", "林秋禾", {"persona", "dialogues"}),
        ("the_ferry.ko.md", "한미래", {"persona", "dialogues"}),
        ("the_ferry.fountain", "Mira", {"persona", "dialogues"}),
        ("mira_and_hale.txt", "Mira", {"persona", "dialogues", "chronicle"}),
        ("mira_castellan.html", "Mira Castellan", {"card", "persona"}),
    ],
)
def test_each_form_without_a_model(told: Path, run: Command, file: str, name: str, kinds: set[str]) -> None:
    code, out, err = run("cast", file, "--who", name, "--role", "mira", "--without-model", "--json")
    assert code == 0, err
    assert kinds <= {*json.loads(out)["waiting"]}
    assert run("cast", "--role", "mira", "--accept", "all")[0] == 0
    assert run("show", "mira")[0] == 0


def test_a_diary_is_cast_as_its_writer(told: Path, run: Command, tmp_path: Path) -> None:
    code, _, err = run("cast", "mira_diary.md", "--as", "me", "--who", "Mira", "--without-model", "--accept", "all")
    assert code == 0, err
    memories = Library(tmp_path).role("mira").memories()
    assert [one.when for one in memories] == ["1924-05-03", "1924-05-04", "1924-05-11", "1924-06-02"]
    assert "The band came over with me" in str(memories[0].text)


def test_drafts_are_accepted_and_refused_by_kind_and_number(told: Path, run: Command, tmp_path: Path) -> None:
    run("cast", "the_ferry.md", "--who", "Mira Castellan", "--without-model")
    draft = CastDraft(Library(tmp_path).role("mira-castellan").root)
    before = draft.counts()
    assert run("cast", "--role", "mira-castellan", "--refuse", "persona:1-2")[0] == 0
    assert draft.counts()["persona"] == before["persona"] - 2
    code, out, _ = run("cast", "--accept", "persona:1,dialogues")
    assert code == 0
    assert "dramaturg chat mira-castellan" in out
    assert draft.counts()["persona"] == before["persona"] - 3
    assert "dialogues" not in draft.counts()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["the_ferry.md", "--who", "Zebulon"], "Nobody in the_ferry.md is called 'Zebulon'"),
        (["nowhere.md"], "nowhere.md cannot be read"),
        (["the_ferry.md", "--as", "you", "--who", "Pip"], "--as can be me"),
        (["the_ferry.md", "--who", "Pip", "--until", "Chapter 9"], "No heading of the_ferry.md"),
        (["the_ferry.md", "--who", "Pip", "--only", "songs"], "--only is some of"),
        (["the_ferry.md", "--who", "Ada", "--role", "ada", "--refuse", "all"], "--refuse is about drafts that wait"),
        (["--accept", "all"], "no drafts wait"),
        (["--role", "ada", "--accept", "songs"], "'songs' is no draft"),
        (["--role", "ada", "--accept", "all"], "No drafts of 'ada' wait"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(told: Path, run: Command, arguments: list[str], error: str) -> None:
    code, _, err = run("cast", *arguments)
    assert code == 2
    assert error in err


def test_a_chat_that_lies_among_the_dialogues_is_named(told: Path, run: Command, tmp_path: Path) -> None:
    shutil.copy("mira_and_hale.txt", tmp_path / "ada" / "dialogues" / "wa.txt")
    assert json.loads(run("show", "ada", "--json")[1])["not read"] == ["dialogues/wa.txt"]
    code, out, _ = run("index", "ada", "--method", "drmr")
    assert code == 0
    assert "dramaturg cast wa.txt --who NAME --role ada" in " ".join(out.split())


def test_import_names_the_command_that_reads_a_chat(told: Path, run: Command) -> None:
    (told / "wa.txt").write_text("[31.12.23, 21:41:05] Mira: The lamp is out.\n", encoding="utf-8")
    code, _, err = run("import", "wa.txt")
    assert code == 2
    assert "dramaturg cast FILE" in err
