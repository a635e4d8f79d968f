"""`dramaturg memories`, and `index`, `ask`, `versions` and `undo` with --method emotional-rag."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from mood_models import feelings, joined_feeler
from roles import MEMORIES, write_memories
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(7)

METHOD = ("--method", "emotional-rag")
PARCEL, CALM, STORM, DROWNED, MASTER = "parcel", "breath of wind", "great storm", "drowned", "harbour master"


@pytest.fixture(autouse=True)
def model(stub: Endpoint) -> Iterator[None]:
    """The model of the endpoint feels what a text says."""
    old, stub.model = stub.model, joined_feeler()
    yield
    stub.model = old


def listed(run: Command, *arguments: str) -> list[dict[str, Any]]:
    code, out, err = run("memories", "ada", *arguments, "--json")
    assert (code, err) == (0, "")
    return list(json.loads(out))


def id_of(run: Command, words: str, *arguments: str) -> str:
    """The id of the one memory that holds these words."""
    (found,) = listed(run, "--find", words, *arguments)
    return str(found["memory"])


def lines(tmp_path: Path, name: str = "memories.jsonl") -> list[Any]:
    text = (tmp_path / "ada" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


# Listing


def test_memories_are_listed_before_there_is_an_index(run: Command) -> None:
    code, out, err = run("memories", "ada")
    assert (code, err) == (0, "")
    assert "Memories of ada: 5" in out
    assert all(name in out for name in ("id", "when", "memory", "mood", "written in", "1841", "memories.jsonl:3"))
    found = listed(run)
    assert [one["places"] for one in found[:3]] == [
        ["dialogues/scenes.jsonl:2"],
        ["dialogues/scenes.jsonl:4"],
        ["memories.jsonl:1"],
    ]
    assert {one["emotions"] for one in found} == {None}
    assert len(listed(run, "--moodless")) == 5


def test_what_is_indexed_has_moods(run: Command) -> None:
    run("index", "ada", *METHOD)
    assert listed(run, "--moodless") == []
    assert run("memories", "ada", "--moodless")[1].strip() == "Memories of ada: 0 of 5."
    assert "disgust 8" in run("memories", "ada")[1]
    (storm,) = listed(run, "--find", STORM)
    assert (storm["emotions"]["joy"], storm["when"], storm["pinned"], storm["error"]) == (9, "1841", False, "")


@pytest.mark.parametrize(
    ("find", "number"), [("lamp", 3), ("LAMP", 3), ("Ada Quill: A parcel!", 1), ("whale", 0), ("!", 1), ("¿", 0)]
)
def test_memories_are_found_by_what_they_say(run: Command, find: str, number: int) -> None:
    assert len(listed(run, "--find", find)) == number


def test_memories_are_found_by_what_is_felt_in_them_the_strongest_first(run: Command) -> None:
    run("index", "ada", *METHOD)
    found = listed(run, "--emotion", "joy")
    assert [one["emotions"]["joy"] for one in found] == [9, 6]
    assert STORM in found[0]["text"]
    assert listed(run, "--emotion", "joy", "--find", "parcel") == found[1:]
    assert listed(run, "--emotion", "surprise") == []
    code, _, err = run("memories", "ada", "--emotion", "love")
    assert code == 2
    assert "anticipation" in err


def test_what_has_no_mood_says_why(run: Command, stub: Endpoint) -> None:
    stub.model = joined_feeler(mood=lambda text: "I'd rather not." if CALM in text else feelings(text))
    code, out, _ = run("index", "ada", *METHOD)
    assert code == 0
    assert "Memories without a mood or a vector; --retry asks them again" in out
    (calm,) = listed(run, "--moodless")
    assert CALM in calm["text"]
    assert calm["error"]
    assert calm["memory"] in out
    out = run("memories", "ada", "--moodless")[1]
    assert "Memories of ada: 1 of 5" in out
    assert calm["error"].split()[-1] in out


def test_a_role_without_memories_has_none(run: Command, tmp_path: Path) -> None:
    write_memories(tmp_path / "ada", [], [])
    assert run("memories", "ada")[1].strip() == "Memories of ada: 0."
    code, _, err = run("index", "ada", *METHOD)
    assert code == 2
    assert "write memories.jsonl" in err


def test_nothing_in_a_file_steers_the_terminal(run: Command, tmp_path: Path) -> None:
    write_memories(tmp_path / "ada", [{"text": "One.\x1b[2J", "when": "\x1b]0;title\x07"}], [])
    assert "\x1b" not in run("memories", "ada")[1]


def test_a_line_that_cannot_be_used_is_named(run: Command, tmp_path: Path) -> None:
    write_memories(tmp_path / "ada", [*MEMORIES, {"txt": "?"}])
    code, _, err = run("memories", "ada")
    assert code == 2
    assert "memories.jsonl, line 4" in err


# Changing one


def test_a_memory_is_pinned_and_unpinned_where_it_is_written(run: Command, tmp_path: Path) -> None:
    for find, name, line in ((STORM, "memories.jsonl", 0), (PARCEL, "dialogues/scenes.jsonl", 1)):
        memory, before = id_of(run, find), lines(tmp_path, name)
        code, out, _ = run("memories", "ada", "--pin", memory[:4])
        assert code == 0
        assert out.startswith(f"Pinned {memory} in {name}:{line + 1}.\nMemories: 5; ")
        assert lines(tmp_path, name)[line] == {**before[line], "pinned": True}
        assert [one["memory"] for one in listed(run, "--pinned")] == [memory]
        assert "pinned · " in run("memories", "ada", "--pinned")[1]
        evidence = json.loads(run("ask", "ada", "Who?", *METHOD, "--set", "recalled=1", "--json")[1])["evidence"]
        assert [one["memory"] for one in evidence["memories"]] == [memory]
        assert run("memories", "ada", "--unpin", memory)[0] == 0
        assert lines(tmp_path, name) == before
        assert listed(run, "--pinned") == []


def test_a_memory_is_edited_where_it_is_written_and_felt_anew(run: Command, tmp_path: Path) -> None:
    run("index", "ada", *METHOD)
    old = id_of(run, STORM)
    code, out, _ = run("memories", "ada", "--edit", old, "--text", "The lamp died in the night.")
    assert code == 0
    new = id_of(run, "The lamp died")
    assert out.startswith(f"Changed {old}, now {new}, in memories.jsonl:1.\n")
    assert "calls: 1;" in out
    assert lines(tmp_path)[0] == {"text": "The lamp died in the night.", "when": "1841"}
    assert {one["memory"] for one in listed(run, "--emotion", "sadness")} == {id_of(run, DROWNED), new}


def test_the_roles_words_in_a_dialogue_are_edited(run: Command, tmp_path: Path) -> None:
    memory = id_of(run, PARCEL)
    report = json.loads(run("memories", "ada", "--edit", memory, "--text", "No letters, please.", "--json")[1])
    assert lines(tmp_path, "dialogues/scenes.jsonl")[1]["text"] == "No letters, please."
    assert report["places"] == ["dialogues/scenes.jsonl:2"]
    assert (report["wish"], report["memory"], report["now"]) == ("edit", memory, id_of(run, "No letters"))
    assert report["index"]["memories"] == 5


def test_a_question_is_edited_with_its_answer(run: Command, tmp_path: Path) -> None:
    memory = id_of(run, MASTER)
    assert run("memories", "ada", "--edit", memory, "--text", "Nobody.", "--question", "Whom?")[0] == 0
    assert lines(tmp_path)[2] == {"question": "Whom?", "answer": "Nobody."}
    for find in (STORM, PARCEL):
        code, _, err = run("memories", "ada", "--edit", id_of(run, find), "--text", "No.", "--question", "Whom?")
        assert code == 2
        assert "has no question of its own" in err


def test_a_memory_is_removed_when_asked_twice(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def no(question: str, **_: Any) -> None:
        asked.append(question)
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.confirm", no)
    memory = id_of(run, DROWNED)
    assert run("memories", "ada", "--remove", memory)[0] == 130
    assert asked[0].startswith(f"Remove {memory} ('They drowned within sight")
    assert len(listed(run)) == 5
    assert run("memories", "ada", "--remove", memory, "--yes")[1].startswith(f"Removed {memory} in memories.jsonl:2.")
    assert lines(tmp_path) == [MEMORIES[0], MEMORIES[2]]
    assert len(listed(run)) == 4


@pytest.mark.crash
def test_the_memory_that_was_asked_about_is_removed_though_another_has_come(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The beginning of its id says two by then."""
    memory = id_of(run, DROWNED)
    short = next(memory[:n] for n in range(1, 17) if sum(m["memory"].startswith(memory[:n]) for m in listed(run)) == 1)

    def yes(_: str, **__: Any) -> None:
        texts = [{"text": f"Number {number}."} for number in range(200)]
        write_memories(tmp_path / "ada", [*MEMORIES, *texts])

    monkeypatch.setattr("typer.confirm", yes)
    code, out, _ = run("memories", "ada", "--remove", short)
    assert sum(one["memory"].startswith(short) for one in listed(run)) > 0
    assert (code, out.startswith(f"Removed {memory} in memories.jsonl:2.")) == (0, True)
    assert not any(DROWNED in one["text"] for one in listed(run))


def test_a_line_of_a_dialogue_stays_when_it_is_no_memory_any_more(run: Command, tmp_path: Path) -> None:
    before = lines(tmp_path, "dialogues/scenes.jsonl")
    assert run("memories", "ada", "--remove", id_of(run, CALM), "--yes")[0] == 0
    assert lines(tmp_path, "dialogues/scenes.jsonl") == [*before[:3], {**before[3], "memory": False}]
    assert len(listed(run)) == 4


def test_copies_are_one_memory_and_changed_together(run: Command, tmp_path: Path) -> None:
    write_memories(tmp_path / "ada", [*MEMORIES, MEMORIES[0]])
    (storm,) = listed(run, "--find", STORM)
    assert storm["places"] == ["memories.jsonl:1", "memories.jsonl:4"]
    assert run("memories", "ada", "--remove", storm["memory"], "--yes")[0] == 0
    assert lines(tmp_path) == [MEMORIES[1], MEMORIES[2]]


def test_the_last_memory_can_be_removed(run: Command, tmp_path: Path) -> None:
    write_memories(tmp_path / "ada", [MEMORIES[0]], [])
    run("index", "ada", *METHOD)
    code, out, err = run("memories", "ada", "--remove", id_of(run, STORM), "--yes")
    assert (code, err) == (0, "")
    assert out.startswith("Removed")
    assert listed(run) == []


def test_what_is_changed_is_said_though_it_cannot_be_indexed(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = id_of(run, STORM)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    code, out, err = run("memories", "ada", "--edit", memory, "--text", "Well.", "--set", "attempts=1")
    assert code == 3
    assert out.startswith(f"Changed {memory}, now ")
    assert "cannot be reached" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--pin", "nowhere"), "There is no memory 'nowhere' of ada: without --pin they are listed."),
        (("--remove", "", "--yes"), "There is no memory '' of ada"),
        (("--pin", "3", "--unpin", "3"), "One change at a time: --pin or --unpin."),
        (("--edit", "3"), "--edit needs the new words: add --text."),
        (("--edit", "3", "--text", " "), "--edit needs the new words: add --text."),
        (("--text", "New."), "--text and --question are for --edit ID"),
        (("--question", "New?"), "--text and --question are for --edit ID"),
    ],
)
def test_a_wish_that_cannot_be_met_changes_nothing(
    run: Command, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    before = (lines(tmp_path), lines(tmp_path, "dialogues/scenes.jsonl"))
    code, _, err = run("memories", "ada", *arguments)
    assert code == 2
    assert problem in err
    assert (lines(tmp_path), lines(tmp_path, "dialogues/scenes.jsonl")) == before


def test_the_beginning_of_an_id_must_say_which(run: Command, tmp_path: Path) -> None:
    write_memories(tmp_path / "ada", [{"text": f"Number {number}."} for number in range(17)], [])
    first = [one["memory"][0] for one in listed(run)]
    often = max(first, key=first.count)
    code, _, err = run("memories", "ada", "--pin", often)
    assert code == 2
    assert f"There are {first.count(often)} memories of ada whose ids begin with {often!r}" in err
    assert listed(run, "--pinned") == []


# What a conversation made


def test_memories_of_a_conversation_are_listed_pinned_and_removed(run: Command) -> None:
    run("ask", "ada", "My dog has died.", "My wedding is on Sunday!", *METHOD, "--thread", "tea")
    tea = ("--thread", "tea")
    shown, all_of_it = run("memories", "ada", *tea)[1], run("memories", "ada", *tea, "--json")[1]
    assert "written in" not in shown
    assert all(one["memory"] not in shown and one["memory"][:12] in shown for one in json.loads(all_of_it))
    found = listed(run, *tea)
    assert [one["text"] for one in found] == [
        "My dog has died.\nAda Quill: I keep the light.",
        "My wedding is on Sunday!\nAda Quill: I keep the light.",
    ]
    assert all(one["places"][0].startswith("turn ") for one in found)
    assert [one["memory"] for one in listed(run, *tea, "--emotion", "joy")] == [found[1]["memory"]]
    assert "Memories of the conversation 'tea' with ada: 2" in run("memories", "ada", *tea)[1]
    dog = found[0]["memory"]
    code, out, _ = run("memories", "ada", *tea, "--pin", dog[:6])
    assert (code, out.startswith(f"Pinned {dog} in turn ")) == (0, True)
    assert [one["memory"] for one in listed(run, *tea, "--pinned")] == [dog]
    code, _, err = run("memories", "ada", *tea, "--edit", dog, "--text", "No.")
    assert code == 2
    assert "cannot be edited" in err
    assert run("memories", "ada", *tea, "--remove", dog, "--yes")[0] == 0
    assert [one["memory"] for one in listed(run, *tea)] == [found[1]["memory"]]
    run("ask", "ada", "Well?", *METHOD, *tea)
    evidence = json.loads(run("ask", "ada", "And?", *METHOD, *tea, "--set", "window=2", "--json")[1])["evidence"]
    assert [one["memory"] for one in evidence["memories"] if not one["canon"]] == [found[1]["memory"]]
    assert len(listed(run)) == 5


def test_another_conversation_has_none_of_them(run: Command) -> None:
    run("ask", "ada", "My dog has died.", *METHOD, "--thread", "tea")
    assert run("memories", "ada", "--thread", "coffee")[1].strip() == (
        "Memories of the conversation 'coffee' with ada: 0."
    )
    code, _, err = run("memories", "ada", "--thread", "coffee", "--pin", id_of(run, "dog", "--thread", "tea"))
    assert code == 2
    assert "of the conversation 'coffee' with ada" in err


# The index, a reply, and the past


def test_an_index_ends_with_what_it_holds_and_what_it_cost(run: Command) -> None:
    code, out, _ = run("index", "ada", *METHOD)
    assert code == 0
    assert "Index of ada" in out
    assert all(row in out for row in ("encoder", "memories", "copies", "failed", "calls", "tokens"))
    report = json.loads(run("index", "ada", *METHOD, "--json")[1])
    assert (report["memories"], report["encoder"], report["failed"], report["calls"]) == (5, "model", [], 0)
    assert json.loads(run("index", "ada", *METHOD, "--rebuild", "--json")[1])["calls"] == 5


def test_what_has_no_mood_is_asked_again_when_wanted(run: Command, stub: Endpoint) -> None:
    stub.model = joined_feeler(mood=lambda text: "I'd rather not." if CALM in text else feelings(text))
    assert len(json.loads(run("index", "ada", *METHOD, "--json")[1])["failed"]) == 1
    assert "failed: 1" in run("memories", "ada", "--pin", id_of(run, STORM))[1]
    stub.model = joined_feeler()
    assert json.loads(run("index", "ada", *METHOD, "--json")[1])["calls"] == 0
    report = json.loads(run("index", "ada", *METHOD, "--retry", "--json")[1])
    assert (report["calls"], report["failed"]) == (1, [])
    assert listed(run, "--moodless") == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("index", "ada", *METHOD, "--plan"), "The index of emotional-rag has no --plan: add --method role-rag"),
        (("index", "ada", "--retry"), "The index of amadeus has no --retry: add --method role-rag or emotional-rag"),
        (("ask", "ada", "Who?", *METHOD, "--strategy", "S-C"), "'C-A', 'C-M', 'S-S' or 'S-E'"),
        (("ask", "ada", "Who?", "--strategy", "S-E"), "amadeus has no --strategy: add --method emotional-rag"),
        (("ask", "ada", "Who?", *METHOD, "--set", "recalled=0"), "recalled: "),
        (("undo", "ada", *METHOD), "no version"),
    ],
)
def test_what_does_not_go_together_is_said(run: Command, arguments: tuple[str, ...], problem: str) -> None:
    code, _, err = run(*arguments)
    assert code == 2
    assert problem in err


def test_a_reply_with_its_evidence(run: Command) -> None:
    how = (*METHOD, "--strategy", "S-E", "--set", "window=2", "--evidence")
    code, out, err = run("ask", "ada", "My wedding?", "Well?", "Then?", *how)
    assert (code, err.count("Searching the persona …"), "Reading moods: 5 of 5 …" in err) == (0, 3, True)
    assert "Ada Quill: I keep the light." in out
    first, second = out.split("You: Then?")
    assert "Mood of the question (model)" in first
    assert "Memories, recalled by S-E" in first
    assert all(name in first for name in ("meaning", "mood", "fused", "strongest", "memories.jsonl:1"))
    assert "From this conversation" not in first
    assert "From this conversation" in second
    assert all(node in second for node in ("encode_mood", "respond_from_memories", "remember"))


def test_the_past_of_memories_is_listed_and_brought_back(run: Command, tmp_path: Path) -> None:
    run("index", "ada", *METHOD)
    before = lines(tmp_path)
    run("memories", "ada", "--remove", id_of(run, STORM), "--yes")
    out = run("versions", "ada", *METHOD)[1]
    assert "Versions of ada (memories)" in out
    assert "5 memories" in out
    assert "memories.jsonl" in out
    code, out, _ = run("undo", "ada", *METHOD)
    assert code == 0
    assert "dialogues/scenes.jsonl, memories.jsonl" in out
    assert "`dramaturg versions ada --method emotional-rag` lists" in out
    assert lines(tmp_path) == before
    assert len(listed(run)) == 5


def test_what_is_in_no_version_is_not_lost_when_something_is_taken_back(run: Command, tmp_path: Path) -> None:
    run("index", "ada", *METHOD)
    run("memories", "ada", "--remove", id_of(run, STORM), "--yes")
    write_memories(tmp_path / "ada", [{"text": "New."}])
    code, _, err = run("undo", "ada", *METHOD)
    assert code == 2
    assert "memories.jsonl has changes that are in no version yet" in err
    assert "with the same --method" in err
    assert lines(tmp_path) == [{"text": "New."}]
