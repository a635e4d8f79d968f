"""The command as a person and as a program use it, against a model on loopback."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest
from pydantic import SecretStr

from dramaturg.models.environment import environment
from dramaturg.models.errors import ModelUnavailable, WeightsError
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import DamagedIndex
from dramaturg.stores.library import Library

from commands import Command
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(12)


def test_a_question_is_answered_with_evidence_and_usage(run: Command) -> None:
    code, out, _ = run("ask", "ada", "Do storms frighten you?", "--evidence")
    assert code == 0
    assert "Ada Quill: I keep the light." in out
    for part in ("Knowledge", "Guided selection: ", "Attributes", "Usage", "extract_attributes"):
        assert part in out


def test_several_questions_are_turns_of_one_conversation(run: Command, stub: Endpoint) -> None:
    stub.asked.clear()
    assert run("ask", "ada", "Who are you?", "And your brother?")[0] == 0
    last = [message["content"] for message in stub.asked[-1]["messages"]]
    assert last[1:3] == ["Who are you?", "I keep the light."]


def test_a_program_gets_one_json_document_a_turn(run: Command) -> None:
    code, out, _ = run("ask", "ada", "Who are you?", "Why?", "--json")
    turns = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [turn["question"] for turn in turns] == ["Who are you?", "Why?"]
    assert all(turn["reply"] == "I keep the light." for turn in turns)
    assert set(turns[0]) == {"question", "reply", "evidence", "usage", "waiting", "seconds"}


def test_a_named_conversation_goes_on_after_a_restart(run: Command, stub: Endpoint) -> None:
    assert run("ask", "ada", "Who are you?", "--thread", "tea")[0] == 0
    stub.asked.clear()
    assert run("ask", "ada", "And then?", "--thread", "tea")[0] == 0
    assert "Who are you?" in [message["content"] for message in stub.asked[-1]["messages"]]


def test_chat_goes_on_where_it_stopped_and_knows_its_commands(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["Who are you?", "", "/evidence", "/usage", "/model stub-2", "/nonsense", "/quit", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert "Ada Quill: I keep the light." in out
    assert "Guided selection: " in out
    assert "From now on: stub-2" in out
    code, out, _ = run("chat", "ada")
    assert "You: Who are you?" in out
    assert code == 0


def test_a_model_named_in_a_chat_answers_from_then_on(
    run: Command, stub: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["Who are you?", "/model stub-2", "And now?", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
    stub.asked.clear()
    run("chat", "ada")
    models = [asked["model"] for asked in stub.asked if "messages" in asked]
    assert list(dict.fromkeys(models)) == ["stub", "stub-2"]


def test_a_model_that_fails_ends_the_turn_and_not_the_chat(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["/model nobody:at-all", "Who are you?", "/model stub", "And now?", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
    code, out, _ = run("chat", "ada")
    assert code == 0
    assert "'nobody:at-all' cannot be built" in out
    assert "Ada Quill: I keep the light." in out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelUnavailable("The model does not answer."), 3),
        (WeightsError("Run `dramaturg models pull`."), 4),
        (DamagedIndex("Run `dramaturg index ada`."), 5),
        (sqlite3.DatabaseError("file is not a database"), 5),
        (ValueError("This cannot be."), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes_mean_something(
    run: Command, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    async def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("dramaturg.conversations.conversation.Conversation.take_turn", fail)
    ended, out, err = run("ask", "ada", "Who?", "--json")
    assert ended == code
    assert str(error) in err
    assert "Traceback" not in out + err


def test_chat_ends_with_the_input(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(*_: object) -> str:
        raise EOFError

    monkeypatch.setattr("rich.console.Console.input", end)
    assert run("chat", "ada")[0] == 0


def test_settings_are_given_by_name(run: Command) -> None:
    code, out, _ = run("ask", "ada", "Who?", "--json", "--set", "slots=1", "--set", "judged-at-once=1")
    assert code == 0
    assert len(json.loads(out)["evidence"]["selection"]["selected"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("ask", "nobody", "Who?"), 2, "nobody"),
        (("ask", "../ada", "Who?"), 2, "role"),
        (("ask", "ada", " "), 2, "There is nothing to answer"),
        (("ask", "ada", "Who?", "--set", "slots=0"), 2, "slots: Input should be greater than or equal to 1"),
        (("ask", "ada", "Who?", "--set", "slotz=1"), 2, "slotz"),
        (("ask", "ada", "Who?", "--set", "slots"), 2, "--set takes NAME=VALUE, not 'slots'"),
        (("ask", "ada", "Who?", "--method", "amadeuz"), 2, "amadeus"),
        (("new", "ada", "--name", "Ada"), 2, "ada"),
        (("new", "con", "--name", "Con"), 2, "con"),
        (("models", "pull", "gpt-9"), 4, "gpt-9"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    run: Command, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    ended, out, err = run(*arguments)
    assert ended == code
    assert sentence in err
    assert "Traceback" not in err + out


def test_a_model_that_is_not_there_has_an_exit_code_of_its_own(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    run("index", "ada")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("DRAMATURG_EMBEDDING_MODEL", "minilm")
    code, _, err = run("ask", "ada", "Who?")
    assert code == 4
    assert "dramaturg models pull minilm" in err


def test_roles_are_listed_with_the_examples(run: Command) -> None:
    assert "wukong" in run("roles")[1]
    rows = {row["role"]: row for row in json.loads(run("roles", "--json")[1])}
    ada = {"role": "ada", "name": "Ada Quill", "where": "library", "methods": rows["ada"]["methods"], "story_of": []}
    assert rows["ada"] == ada
    assert "amadeus" in rows["ada"]["methods"]
    assert rows["beethoven"]["where"] == "example"
    assert rows["alice"]["methods"] == ["emotional-rag", "id-rag"]
    assert rows["mother"]["methods"] == []
    assert "drmr" in rows["jim"]["methods"]  # by the files of its story, which is nobody
    assert "jim" in rows["hispaniola"]["story_of"]
    assert "the story of dick," in run("roles")[1]


def test_a_new_role_is_a_folder_to_be_written_into(run: Command, tmp_path: Path) -> None:
    code, out, _ = run("new", "kit", "--name", "Kit Marlowe")
    assert code == 0
    assert "dramaturg chat kit" in " ".join(out.split())
    assert (tmp_path / "kit" / "persona").is_dir()
    code, _, err = run("ask", "kit", "Who?")
    assert code == 2
    assert "has no persona yet" in err
    assert "--method" not in err


def test_a_role_without_documents_is_told_what_it_has_files_for(run: Command) -> None:
    code, _, err = run("ask", "alice", "Who are you?")
    assert code == 2
    assert "or talk by what it has files for: `--method id-rag` or `--method emotional-rag`." in err


def test_a_role_is_shown_with_what_is_indexed(run: Command) -> None:
    assert json.loads(run("show", "ada", "--json")[1])["indexed"] == []
    report = json.loads(run("index", "ada", "--json")[1])
    assert report["passages"] == report["embedded"] == 7
    assert json.loads(run("index", "ada", "--json")[1])["embedded"] == 0
    assert json.loads(run("index", "ada", "--rebuild", "--json")[1])["embedded"] == 7
    code, out, _ = run("show", "ada")
    assert code == 0
    assert "acts: 7 passages, openai:words" in out


def test_times_are_shown_that_cannot_be_read(run: Command) -> None:
    folder = Path(json.loads(run("show", "ada", "--json")[1])["folder"])
    lines = [{"text": f"Memory {at}.", "when": when} for at, when in enumerate(["1841", "long ago", "as a girl"])]
    (folder / "memories.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    shown = json.loads(run("show", "ada", "--json")[1])["times that cannot be read"]
    assert shown == ["memories.jsonl:2: long ago", "memories.jsonl:3: as a girl"]
    (folder / "persona" / "diary.md").write_text("---\nwhen: in youth\n---\nA storm.\n", encoding="utf-8")
    assert "persona/diary.md: in youth" in run("show", "ada")[1]


def test_what_others_alone_know_is_counted_for_who_has_the_files(run: Command) -> None:
    shown = json.loads(run("show", "ada", "--json")[1])
    assert "known to others alone" not in shown
    lines = [{"text": "I saw it.", "known_to": ["tom"]}, {"text": "I heard it.", "known_to": ["Ada Quill"]}]
    folder = Path(shown["folder"])
    (folder / "memories.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "persona" / "diary.md").write_text("A storm.\n\n# Tom\n\nknown_to: tom\n\nA wreck.\n", encoding="utf-8")
    kept = json.loads(run("show", "ada", "--json")[1])["known to others alone"]
    assert kept == "1 documents (whole or in part), 1 memories"


def test_a_role_of_one_time_does_not_tell_of_another(run: Command) -> None:
    code, _, err = run("ask", "ada", "Who are you?", "--set", "as_of=some day")
    assert (code, err.partition(": write")[0]) == (2, "Error: 'some day' is no moment that can be read")
    folder = Path(json.loads(run("show", "ada", "--json")[1])["folder"])
    (folder / "persona" / "life.md").write_text("# Chapter 1\n\nA sail.\n\n# Chapter 2\n\nA wreck.\n", encoding="utf-8")
    _, out, _ = run("ask", "ada", "What came?", "--set", "as_of=chapter 1", "--evidence", "--method", "naive-rag")
    assert "Not known at chapter 1: passages (1) later than that." in " ".join(out.split())


def test_doctor_says_what_answers(run: Command) -> None:
    code, out, _ = run("doctor", "--json")
    found = {row["what"]: row for row in json.loads(out)}
    assert found["chat model"]["ok"] is True
    assert "stub says" in found["chat model"]["found"]
    assert found["embedding model (en)"]["ok"] is True
    assert code == 0


def test_doctor_says_that_nobody_speaks_as_the_role_and_who_may_be_meant(run: Command, tmp_path: Path) -> None:
    scene = tmp_path / "ada" / "dialogues" / "scenes.jsonl"
    lines = [{"scene": "quay", "speaker": one, "text": "It will blow."} for one in ("Mistress Quill", "Tom")]
    scene.write_text("\n".join(map(json.dumps, lines)))
    code, out, _ = run("doctor", "--json")
    (found,) = (row for row in json.loads(out) if row["what"] == "· ada")
    assert (code, found["ok"]) == (0, None)
    assert found["found"].startswith("Nobody in the dialogues speaks as Ada Quill; who speaks is Mistress Quill, Tom.")
    assert "write `aliases: [Mistress Quill]` into role.yaml" in found["found"]
    scene.write_text(scene.read_text().replace("Mistress Quill", "ada quill"))
    assert "· ada" not in run("doctor", "--json")[1]


@pytest.mark.parametrize("file", ["role.yaml", "dialogues/scenes.jsonl"])
def test_doctor_names_a_role_whose_files_cannot_be_read(run: Command, tmp_path: Path, file: str) -> None:
    (tmp_path / "ada" / file).write_text("{")
    code, out, _ = run("doctor", "--json")
    (found,) = (row for row in json.loads(out) if row["what"] == "· ada")
    assert (code, found["ok"]) == (1, False)
    assert file in found["found"]


def test_doctor_fails_when_nothing_answers(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    code, out, _ = run("doctor")
    assert code == 1
    assert "dramaturg models pull" in " ".join(out.split())


def served(run: Command, **variables: str) -> dict[str, tuple[bool | None, str]]:
    """What `doctor --server` finds, by what it looks at."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        _, out, _ = run("doctor", "--server", "--json")
    return {row["what"]: (row["ok"], row["found"]) for row in json.loads(out)}


def test_doctor_looks_at_what_a_server_needs(run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    good = served(run, LANGGRAPH_STRICT_MSGPACK="true", DRAMATURG_OPEN_SETTINGS="slots")
    assert good["strict msgpack"][0] is True
    assert good["open settings"] == (True, "callers may also set slots")
    assert good["key"] == (True, "from OPENAI_API_KEY")
    (tmp_path / "langgraph.json").write_text('{"env": {"OPENAI_API_KEY": "sk-1"}}')
    bad = served(
        run,
        LANGGRAPH_STRICT_MSGPACK="",
        DRAMATURG_OPEN_SETTINGS="all",
        DRAMATURG_LIBRARY="postgresql://me:secret@127.0.0.1:1/roles",
        DATABASE_URI="postgresql://127.0.0.1:1/graphs",
        REDIS_URI="somewhere",
    )
    wrong = ("strict msgpack", "open settings", "langgraph.json", "library", "DATABASE_URI", "REDIS_URI")
    assert [name for name in wrong if bad[name][0] is not False] == []
    assert "OPENAI_API_KEY stands in it" in bad["langgraph.json"][1]
    assert "sk-1" not in str(bad)
    assert "secret" not in str(bad)


def test_a_key_may_lie_in_a_file(run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "key"))
    code, _, err = run("ask", "ada", "Who are you?")
    assert (code, "The file of OPENAI_API_KEY_FILE" in err) == (2, True)
    (tmp_path / "key").write_text("sk-2\n")
    assert environment().api_key == SecretStr("sk-2")
    assert run("ask", "ada", "Who are you?")[0] == 0
    assert served(run)["key"] == (True, "from OPENAI_API_KEY_FILE")


def test_weights_are_listed(run: Command) -> None:
    rows = {row["name"]: row for row in json.loads(run("models", "list", "--json")[1])}
    assert rows["minilm"]["state"] == "absent"
    assert "Apache-2.0" in run("models", "list")[1]
    assert run("models", "check")[0] == 1


def test_help_and_version(run: Command) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for name in ("roles", "new", "index", "ask", "chat", "show", "doctor", "models"):
        assert name in out
    assert run("--version")[1].strip()


def test_a_library_can_be_named(run: Command, tmp_path: Path) -> None:
    other = tmp_path / "other"
    Library(other).create("bob", RoleCard(name="Bob", language="en"))
    rows = [row["role"] for row in json.loads(run("roles", "--library", str(other), "--json")[1])]
    assert "bob" in rows
    assert "ada" not in rows


@pytest.mark.parametrize("silent", ["chat", "embeddings"])
def test_a_command_is_over_within_the_deadline_of_a_turn(run: Command, stub: Endpoint, silent: str) -> None:
    run("index", "ada")
    ended = threading.Event()
    stub.faults = {silent: lambda handler: ended.wait()}  # type: ignore[dict-item]
    deadlines = [part for one in ("deadline=3600", "turn_deadline=0.5") for part in ("--set", one)]
    try:
        code, _, err = run("ask", "ada", "Do storms frighten you?", *deadlines)
    finally:
        ended.set()
        stub.faults = {}
    assert code == 3
    assert "turn_deadline" in err
