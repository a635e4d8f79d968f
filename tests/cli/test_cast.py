"""`dramaturg cast`: from a file to a role that answers, with drafts that a person decides on."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

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
            return '{"told": [{"sentence": 1, "kind": "who"}], "episodes": [], "triples": []}'
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
    assert questions["drafts"] == questions["card"] == 1
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


def test_on_a_terminal_nothing_is_sent_before_somebody_says_yes(
    told: Path, run: Command, stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def no(text: str, **_: Any) -> None:
        asked.append(text)
        raise SystemExit(1)

    monkeypatch.setattr("typer.confirm", no)
    monkeypatch.setattr("dramaturg.cli.library.cast.errors", Console(stderr=True, force_terminal=True))
    assert run("cast", "the_ferry.md", "--who", "Mira Castellan")[0] == 1
    assert (asked, stub.asked, Library(tmp_path).roles()) == (["Go on?"], [], ["ada"])
    for unasked in ("--yes", "--without-model"):
        assert run("cast", "the_ferry.md", "--who", "Mira Castellan", unasked)[0] == 0
    assert len(asked) == 1


def test_what_is_said_to_be_sent_has_the_texts_of_before_in_it(told: Path, run: Command, stub: Endpoint) -> None:
    run("cast", "the_ferry.md", "--who", "Mira Castellan", "--without-model")
    alone = run("cast", "mira_castellan.html", "--who", "Mira Castellan", "--role", "other", "--dry-run", "--json")[1]
    more = ("cast", "mira_castellan.html", "--who", "Mira Castellan", "--role", "mira-castellan")
    _, out, err = run(*more, "--dry-run", "--json")
    assert json.loads(out)["characters"] > json.loads(alone)["characters"]
    _, _, err = run(*more)
    assert "characters of mira_castellan.html, the_ferry.md are sent to" in err


def test_a_name_without_latin_letters_has_the_id_that_a_server_gives_it(
    told: Path, run: Command, tmp_path: Path
) -> None:
    assert run("cast", "the_ferry.zh.md", "--who", "林秋禾", "--without-model")[0] == 0
    (role,) = {*Library(tmp_path).roles()} - {"ada"}
    assert (role[:5], Library(tmp_path).role(role).card.name) == ("role-", "林秋禾")


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


def chat(*lines: str) -> str:
    return "".join(f"0{day}/03/24, 19:0{day} - {line}\n" for day, line in enumerate(lines, start=1))


def test_two_exports_of_one_name_are_two_texts_and_one_that_has_grown_is_one(
    told: Path, run: Command, tmp_path: Path
) -> None:
    for folder, lines in (("a", ("Mia: I am on the boat.", "Tom: Good.")), ("b", ("Mia: I lost my hat.", "Ann: Oh."))):
        (told / folder).mkdir()
        (told / folder / "_chat.txt").write_text(chat(*lines), encoding="utf-8")
    run("cast", "a/_chat.txt", "b/_chat.txt", "--who", "Mia", "--without-model")
    draft = CastDraft(Library(tmp_path).role("mia").root)
    said = {line.text for scene in draft.items("dialogues") for line in scene.lines}
    assert {"I am on the boat.", "I lost my hat."} <= said
    (told / "c").mkdir()
    (told / "c" / "_chat.txt").write_text(chat("Mia: I am home.", "Tom: At last."), encoding="utf-8")
    run("cast", "c/_chat.txt", "--who", "Mia", "--role", "mia", "--without-model")
    assert draft.names() == ["_chat (2).txt", "_chat (3).txt", "_chat.txt"]
    grown = chat("Mia: I lost my hat.", "Ann: Oh.", "Mia: It was found.")
    (told / "b" / "_chat.txt").write_text(grown, encoding="utf-8")
    run("cast", "a/_chat.txt", "b/_chat.txt", "--who", "Mia", "--without-model")
    assert draft.names() == ["_chat (2).txt", "_chat (3).txt", "_chat.txt"]
    assert [line.text for scene in draft.items("dialogues") for line in scene.lines].count("I lost my hat.") == 1


def test_somebody_else_of_the_name_is_not_added_to_unasked(told: Path, run: Command) -> None:
    run("cast", "mira_diary.md", "--as", "me", "--without-model")
    (told / "other.md").write_text("## 3 May 1924\n\nI sold my horse.\n\n## 4 May 1924\n\nI bought it back.\n", "utf-8")
    code, _, err = run("cast", "other.md", "--as", "me", "--without-model")
    assert code == 2
    assert "was cast before, from mira_diary.md" in err
    assert run("cast", "other.md", "--as", "me", "--without-model", "--role", "me")[0] == 0


def test_whoever_comes_only_later_is_not_there_and_no_role_is_left_behind(
    told: Path, run: Command, tmp_path: Path
) -> None:
    code, _, err = run("cast", "the_ferry.md", "--who", "Tobias", "--until", "II. Pip", "--without-model")
    assert code == 2
    assert "Nobody in the_ferry.md is called 'Tobias'" in err
    assert Library(tmp_path).roles() == ["ada"]


def test_what_comes_after_the_heading_stays_unread_also_where_a_text_is_added_later(
    told: Path, run: Command, tmp_path: Path
) -> None:
    run(
        "cast",
        "the_ferry.md",
        "mira_castellan.html",
        "--who",
        "Mira Castellan",
        "--until",
        "II. Pip",
        "--without-model",
    )
    (told / "note.md").write_text("# Note\n\nMira Castellan likes soup.\n", encoding="utf-8")
    run("cast", "note.md", "--who", "Mira Castellan", "--role", "mira-castellan", "--without-model")
    texts = [one.text for one in CastDraft(Library(tmp_path).role("mira-castellan").root).items("persona")]
    assert any("soup" in one for one in texts)
    assert not any("net loft" in one for one in texts)


def test_a_draft_that_is_named_twice_is_accepted_once(told: Path, run: Command, tmp_path: Path) -> None:
    run("cast", "the_ferry.md", "--who", "Mira Castellan", "--without-model")
    run("cast", "--accept", "persona:1,persona:1-2")
    (document,) = Library(tmp_path).role("mira-castellan").documents()
    assert document.text.count("(I. The Last Crossing, line") == 2


def test_a_profile_of_ones_own_and_remarks_stay_unless_the_draft_is_named(
    told: Path, run: Command, tmp_path: Path
) -> None:
    run("cast", "the_ferry.md", "--who", "Mira Castellan", "--without-model")
    path = tmp_path / "mira-castellan" / "role.yaml"
    path.write_text(path.read_text("utf-8").replace("profile: ''", "# my remark\nprofile: My own words."), "utf-8")
    _, _, err = run("cast", "--accept", "all")
    role = Library(tmp_path).role("mira-castellan")
    assert role.card.profile == "My own words."
    assert "# my remark" in path.read_text("utf-8")
    assert "Mira" in role.card.aliases
    assert "--accept card:2 takes the drafted one over" in err
    run("cast", "--role", "mira-castellan", "--accept", "card:1")  # it waits alone now
    assert role.card.profile.startswith("Mira Castellan was a broad")


def test_accept_is_checked_before_anything_is_asked(told: Path, run: Command, stub: Endpoint, tmp_path: Path) -> None:
    code, _, err = run("cast", "the_ferry.md", "--who", "Mira Castellan", "--accept", "songs")
    assert code == 2
    assert "'songs' is no draft" in err
    assert not stub.asked
    assert Library(tmp_path).roles() == ["ada"]
