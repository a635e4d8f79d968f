"""Changes of who a role is, as a person at the command line approves them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from changing_roles import CORE, FREE, KEEPER, SAILOR, changing, finding
from commands import Command
from stub_endpoint import Endpoint

pytestmark = pytest.mark.sample_of_file(2)

CHAT = ("chat", "ada", "--method", "id-rag", "--set", "update=true")
ASK = ("ask", "ada", "--method", "id-rag", "--set", "update=true")
LATER = "It waits: /approve N"
END = "end of the input"


def say(monkeypatch: pytest.MonkeyPatch, *lines: str) -> list[str]:
    """What is typed in the next chat, whatever is asked; give a list of what was asked, filled as it is."""
    typed, prompts = iter([*lines, "/quit"]), []

    def answer(_: object, prompt: str) -> str:
        prompts.append(prompt)
        if (line := next(typed)) == END:
            raise EOFError
        return line

    monkeypatch.setattr("rich.console.Console.input", answer)
    return prompts


@pytest.fixture(autouse=True)
def becoming(stub: Endpoint) -> Iterator[None]:
    """Each turn tells that she has become a sailor, and likes brandy."""
    old = stub.model.reply
    stub.model.reply = changing(CORE, FREE)
    yield
    stub.model.reply = old


def became(run: Command) -> list[str]:
    """What she has become by the last turn of the conversation."""
    last = json.loads(run("export", "ada", "--method", "id-rag")[1].splitlines()[-1])
    return [change["triple"]["object"] for change in last["state"].get("identity_changes", [])]


@pytest.mark.parametrize(
    ("answer", "count", "objects"), [("y", 1, ["a sailor", "brandy"]), ("n", 0, ["brandy"]), ("YES ", 1, None)]
)
def test_a_change_is_shown_and_asked_about_after_the_reply(
    run: Command, monkeypatch: pytest.MonkeyPatch, answer: str, count: int, objects: list[str] | None
) -> None:
    prompts = say(monkeypatch, "Who are you?", "hm", "", answer)
    code, out, _ = run(*CHAT)
    assert code == 0
    parts = ("Ada Quill: I keep the light.", f"1. {SAILOR}", f"in place of: {KEEPER} (core)", "shown by: She says so.")
    places = [out.index(part) for part in (*parts, "salience 9 of 10, confidence 0.90", f"Approved: {count} of 1.")]
    assert places == sorted(places)
    assert prompts == ["You: ", *["Approve 1? y or n: "] * 3, "You: "]
    assert became(run) == (objects or ["a sailor", "brandy"])


def test_each_change_is_asked_about(run: Command, stub: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.model.reply = changing(CORE, FREE, finding("gin", relation="likes"))
    prompts = say(monkeypatch, "Who are you?", "n", "y", "y", "/evidence")
    _, out, _ = run(*CHAT, "--set", "approval=all")
    assert prompts[1:4] == ["Approve 1? y or n: ", "Approve 2? y or n: ", "Approve 3? y or n: "]
    assert "Approved: 2 of 3." in out
    assert became(run) == ["brandy", "gin"]
    assert "Not approved: 1 change." in out
    assert "The role has changed: Ada Quill likes gin." in out


def test_what_is_not_answered_is_shown_again_and_approved_later(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, "Who are you?", END, END)
    code, out, _ = run(*CHAT)
    assert (code, LATER in out) == (0, True)
    assert became(run) == []
    prompts = say(monkeypatch, "/approve", "/approve 2", "/approve x", "/retry", "/history", "/approve 1", "/approve 1")
    code, out, _ = run(*CHAT)
    assert code == 0
    assert out.index(SAILOR) < out.index(LATER) < out.index("Say which: /approve N …, or /approve none.")
    assert out.count("/approve N …: N is a number from 1 to 1.") == 2
    assert "The last turn waits and has not failed: /approve answers it." in out
    assert out.index("Approved: 1 of 1.") < out.index("Nothing waits to be approved here.")
    assert set(prompts) == {"You: "}
    assert became(run) == ["a sailor", "brandy"]
    say(monkeypatch)
    assert SAILOR not in run(*CHAT)[1]


def test_none_can_be_approved_later(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*ASK, "Who are you?", "--thread", "default")
    say(monkeypatch, "/approve none")
    assert "Approved: 0 of 1." in run(*CHAT)[1]
    assert became(run) == ["brandy"]


def test_the_next_message_approves_nothing_and_is_asked_about_itself(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = say(monkeypatch, "Who are you?", END, "And now?", "y")
    _, out, _ = run(*CHAT)
    assert out.count("Ada Quill: I keep the light.") == 2
    assert prompts == ["You: ", "Approve 1? y or n: ", "You: ", "Approve 1? y or n: ", "You: "]
    assert became(run) == ["brandy", "a sailor"]


def test_a_question_that_leaves_something_waiting_says_how_to_answer(run: Command) -> None:
    code, out, _ = run(*ASK, "Who are you?", "--thread", "my tea")
    assert code == 0
    assert "Waits to be approved, before the next question: 1 change of who the role is." in out
    assert "Answer with /approve in: dramaturg chat ada --thread 'my tea' --method id-rag" in out
    _, out, _ = run(*ASK, "Who are you?")
    assert "nobody can answer: 1 change of who the role is. Name the conversation with --thread." in out
    assert "approve" not in run("ask", "ada", "Who are you?", "--method", "id-rag")[1].lower()


def test_a_program_is_told_what_waits(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _, out, _ = run(*ASK, "Who are you?", "--thread", "default", "--json")
    (asked,) = json.loads(out)["waiting"]
    assert [change["sentence"] for change in asked["changes"]] == [SAILOR]
    _, out, _ = run("ask", "ada", "Who are you?", "--method", "id-rag", "--json")
    assert json.loads(out)["waiting"] == []
    say(monkeypatch, "/approve 1,1")
    assert "Approved: 1 of 1." in run(*CHAT)[1]


def test_evidence_shows_the_query_the_triples_and_the_verdict(run: Command) -> None:
    _, out, _ = run("ask", "ada", "Who are you?", "--method", "id-rag", "--evidence")
    parts = ("Query of the identity", "high priority: values", "Identity, found by the query", "The gate let it pass.")
    places = [out.index(part) for part in parts]
    assert places == sorted(places)
    assert "Ada Quill holds dear silence." in out


def test_what_was_approved_is_written_into_the_chronicle_when_a_person_says_so(
    run: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "ada" / "chronicle.yaml"
    before = file.read_text(encoding="utf-8")
    say(monkeypatch, "Who are you?", "y")
    _, out, _ = run(*CHAT, "--set", "as_of=1850-05-01")
    assert "to write it into the chronicle: dramaturg chronicle ada --thread default" in out
    took = ("chronicle", "ada", "--thread", "default")
    _, out, _ = run(*took, "--json")
    shown = json.loads(out)["left"]
    assert [(one["sentence"], one["core"], one["replaces"]) for one in shown] == [
        (SAILOR, True, [KEEPER]),
        ("Ada Quill likes brandy.", False, []),
    ]
    assert "Write into chronicle.yaml: dramaturg chronicle ada --thread default --accept 1,3-5, or all" in run(*took)[1]
    assert file.read_text(encoding="utf-8") == before
    assert "Wrote 1 into chronicle.yaml; 1 left." in run(*took, "--accept", "1")[1]
    written = file.read_text(encoding="utf-8")
    assert "kind: experience, core: true, until: '1850-04-30'}" in written
    assert "source: conversation default, turn" in written
    assert "brandy" not in written
    assert "Wrote 1 into chronicle.yaml; 0 left." in run(*took, "--accept", "all")[1]
    written = file.read_text(encoding="utf-8")
    assert "says all that ada has become in this conversation" in run(*took, "--accept", "all")[1]
    assert file.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--thread", "none"), "There is no conversation 'none' with ada"),
        (("--thread", "default", "--review"), "--review is about the draft"),
        (("--thread", "default", "--accept", "3"), "3 is not among them: they have the numbers 1 to 2."),
    ],
)
def test_what_cannot_be_written_from_a_conversation_is_said(
    run: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    say(monkeypatch, "Who are you?", "y")
    run(*CHAT)
    code, _, err = run("chronicle", "ada", *words)
    assert (code, says in " ".join(err.split())) == (2, True)
