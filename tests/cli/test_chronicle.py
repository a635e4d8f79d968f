"""`dramaturg chronicle`: shown, drafted, and decided on by a person."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.documents.chronicle import DRAFT, write_draft
from dramaturg.stores.documents.forms import CHRONICLE, Triple

from commands import Command
from fakes import scripted
from stub_endpoint import Endpoint

KEEPS = "# Ada.\ntriples:\n- {subject: Ada, relation: keeps, object: the lamp, kind: goal, core: true, since: 1850}\n"
OBJECTS = ("storms", "a calm sea", "her brother Tom", "the log", "silence")
ANSWER = {
    "triples": [
        {"sentence": 6, "relation": "loves", "object": "storms", "kind": "preference", "core": True},
        {"sentence": 6, "relation": "fears", "object": "a calm sea", "kind": "trait", "core": False},
    ]
}


@pytest.fixture(autouse=True)
def model(stub: Endpoint) -> Iterator[None]:
    """The model of the endpoint drafts two triples of Ada."""
    old, stub.model = stub.model, scripted(json.dumps(ANSWER))
    yield
    stub.model = old


@pytest.fixture(autouse=True)
def unwritten(run: Command, tmp_path: Path) -> None:
    """Nobody has written a chronicle of Ada yet."""
    (tmp_path / "ada" / CHRONICLE).unlink(missing_ok=True)


@pytest.fixture
def draft(tmp_path: Path, run: Command) -> Path:
    """A draft of five triples that waits."""
    kinds = [Triple(subject="Ada", relation="loves", object=one, kind="preference") for one in OBJECTS]
    return write_draft(tmp_path / "ada", kinds)


def shown(run: Command) -> dict[str, list[dict[str, Any]]]:
    code, out, err = run("chronicle", "ada", "--json")
    assert (code, err) == (0, "")
    return dict(json.loads(out))


def objects(run: Command, part: str) -> list[str]:
    return [one["object"] for one in shown(run)[part]]


def answers(monkeypatch: pytest.MonkeyPatch, *given: str | type[BaseException]) -> None:
    """What a person says, in turn; at an exception the process is interrupted."""
    left = list(given)

    def said(_: str, **__: Any) -> str:
        one = left.pop(0)
        if isinstance(one, str):
            return one
        raise one

    monkeypatch.setattr("typer.prompt", said)


# Shown


def test_a_role_without_a_chronicle_says_what_to_do(run: Command) -> None:
    code, out, err = run("chronicle", "ada")
    assert (code, err) == (0, "")
    assert out == (
        "ada has no chronicle: write chronicle.yaml, or have one drafted from its documents: "
        "dramaturg chronicle ada --draft\n"
    )
    assert shown(run) == {"triples": [], "draft": []}


def test_a_chronicle_is_shown_in_sentences(run: Command, tmp_path: Path) -> None:
    own = "- {subject: Ada, relation: loves, object: storms, kind: preference, source: life.md}\n"
    words = "sentences:\n  keeps: $subject tends $object\n"
    (tmp_path / "ada" / CHRONICLE).write_text(KEEPS + own + words)
    code, out, _ = run("chronicle", "ada")
    assert code == 0
    assert all(
        part in out for part in ("Chronicle of ada: 2", "core", "Ada tends the lamp", "Ada loves storms.", "1850")
    )
    assert "Decide" not in out
    keeps, loves = shown(run)["triples"]
    assert keeps == {
        "number": 1,
        "sentence": "Ada tends the lamp",
        "subject": "Ada",
        "relation": "keeps",
        "object": "the lamp",
        "kind": "goal",
        "core": True,
        "text": "",
        "source": "",
        "since": "1850",
        "until": None,
        "known_to": None,
    }
    assert (loves["number"], loves["source"]) == (2, "life.md")


def test_a_draft_that_waits_is_shown_below(run: Command, draft: Path, tmp_path: Path) -> None:
    assert "no chronicle" not in run("chronicle", "ada")[1]
    (tmp_path / "ada" / CHRONICLE).write_text(KEEPS)
    out = run("chronicle", "ada")[1]
    assert out.index("Chronicle of ada: 1") < out.index("Draft for ada: 5") < out.index("chronicle ada --review")
    assert objects(run, "draft") == list(OBJECTS)


def test_nothing_in_a_chronicle_steers_the_terminal(run: Command, tmp_path: Path) -> None:
    write_draft(tmp_path / "ada", [Triple(subject="A", relation="r", object="\x1b[2J", kind="trait", source="\x1b]0;")])
    assert "\x1b" not in run("chronicle", "ada")[1]


def test_a_slip_in_a_chronicle_is_named_with_its_line(run: Command, tmp_path: Path) -> None:
    (tmp_path / "ada" / CHRONICLE).write_text(KEEPS + "- {subject: Ada}\n")
    code, _, err = run("chronicle", "ada")
    assert code == 2
    assert "ada/chronicle.yaml, line 4" in err


# Drafted


def test_a_draft_is_made_of_the_documents_and_waits_for_a_person(run: Command, tmp_path: Path) -> None:
    code, out, err = run("chronicle", "ada", "--draft")
    assert (code, err) == (0, "Drafting: 0 of 1 Drafting: 1 of 1")
    assert all(part in out for part in ("Draft for ada: 2", "core", "preference", "storms.", "life.md: ", "--review"))
    assert [(one["relation"], one["core"]) for one in shown(run)["draft"]] == [("loves", True), ("fears", False)]
    assert not (tmp_path / "ada" / CHRONICLE).exists()


def test_a_draft_is_made_of_nothing_that_others_alone_know(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    secret = "# The reef\n\nShe fears the Marlinspike.\n\n# The keel\n\nknown_to: [tom]\n\nIt is the Topgallant.\n"
    (tmp_path / "ada" / "persona" / "reef.md").write_text(secret, encoding="utf-8")
    stub.asked.clear()
    run("chronicle", "ada", "--draft")
    asked = json.dumps(stub.asked)
    assert ("Marlinspike" in asked, "Topgallant" in asked) == (True, False)


def test_a_draft_as_json_says_what_it_cost(run: Command) -> None:
    report = json.loads(run("chronicle", "ada", "--draft", "--json")[1])
    assert [one["object"] for one in report["draft"]] == ["storms", "a calm sea"]
    assert (report["failed"], report["usage"]["calls"]) == ([], 1)


def test_a_dry_run_asks_nobody_and_writes_nothing(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    stub.asked.clear()
    code, out, _ = run("chronicle", "ada", "--draft", "--dry-run")
    assert (code, out) == (0, "Documents: 1; chunks: 1; questions: 1.\n")
    cost = json.loads(run("chronicle", "ada", "--draft", "--dry-run", "--json")[1])
    assert cost == {"documents": 1, "chunks": 1, "questions": 1}
    assert stub.asked == []
    assert not (tmp_path / "ada" / DRAFT).exists()


def test_a_draft_that_waits_is_not_made_again_unless_told(run: Command, draft: Path, stub: Endpoint) -> None:
    stub.asked.clear()
    code, _, err = run("chronicle", "ada", "--draft")
    assert code == 2
    assert "'ada' has a draft already" in err
    assert stub.asked == []
    assert run("chronicle", "ada", "--draft", "--again")[0] == 0
    assert objects(run, "draft") == ["storms", "a calm sea"]


def test_a_chunk_without_a_usable_answer_is_listed(run: Command, stub: Endpoint, draft: Path) -> None:
    stub.model = scripted("I would rather not.")
    code, out, _ = run("chronicle", "ada", "--draft", "--again")
    assert code == 0
    assert "Nothing was drafted: of what the model answered, nothing could be used." in out
    assert all(part in out for part in ("Chunks without an answer", "life.md", "Ada Quill"))
    assert objects(run, "draft") == list(OBJECTS)
    failed = json.loads(run("chronicle", "ada", "--draft", "--again", "--json")[1])["failed"]
    assert [(one["document"], one["heading"]) for one in failed] == [("life.md", "Ada Quill")]


def test_what_the_chronicle_holds_is_not_drafted(run: Command, tmp_path: Path) -> None:
    known = KEEPS.replace("Ada,", "Ada Quill,").replace("keeps", "loves").replace("the lamp", "Storms")
    (tmp_path / "ada" / CHRONICLE).write_text(known)
    run("chronicle", "ada", "--draft")
    assert objects(run, "draft") == ["a calm sea"]


def test_that_all_is_held_already_is_said_of_what_is_held(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    stub.model = scripted(json.dumps({"triples": [{"relation": "Is Fond Of", "object": "storms"}]}))
    report = json.loads(run("chronicle", "ada", "--draft", "--json")[1])
    assert [(one["relation"], one["object"]) for one in report["draft"]] == [("is_fond_of", "storms")]
    run("chronicle", "ada", "--accept", "all")
    stub.model = scripted(json.dumps({"triples": [{"relation": "isFondOf", "object": "Storms"}]}))
    assert "Nothing was drafted that the chronicle does not hold already." in run("chronicle", "ada", "--draft")[1]


def test_of_documents_that_tell_nothing_that_is_said(run: Command, stub: Endpoint) -> None:
    stub.model = scripted('{"triples": []}')
    assert (
        "the model found nothing in the documents that says who Ada Quill is" in run("chronicle", "ada", "--draft")[1]
    )


def test_a_role_without_documents_cannot_have_one_drafted(run: Command, tmp_path: Path) -> None:
    (tmp_path / "ada" / "persona" / "life.md").unlink()
    code, _, err = run("chronicle", "ada", "--draft")
    assert code == 2
    assert "'ada' has no persona document with text" in err


def test_a_server_that_is_not_there_leaves_the_draft_as_it_was(
    run: Command, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    code, _, err = run("chronicle", "ada", "--draft", "--again")
    assert code == 3
    assert "cannot be reached" in err
    assert objects(run, "draft") == list(OBJECTS)


# Decided on


@pytest.mark.parametrize(
    ("numbers", "taken"),
    [("2", [1]), ("1,3-5", [0, 2, 3, 4]), (" 3-4 ,1", [0, 2, 3]), ("4,1,1-2", [0, 1, 3]), ("ALL", [0, 1, 2, 3, 4])],
)
def test_triples_are_taken_over_by_their_numbers(
    run: Command, draft: Path, tmp_path: Path, numbers: str, taken: list[int]
) -> None:
    (tmp_path / "ada" / CHRONICLE).write_text(KEEPS)
    code, out, _ = run("chronicle", "ada", "--accept", numbers)
    assert code == 0
    left = [one for number, one in enumerate(OBJECTS) if number not in taken]
    rest = f"{len(left)} left in the draft." if left else "nothing is left in the draft."
    assert out.startswith(f"Took {len(taken)} over into chronicle.yaml; {rest}\n")
    assert objects(run, "triples") == ["the lamp", *(OBJECTS[number] for number in taken)]
    assert objects(run, "draft") == left
    assert draft.exists() == bool(left)
    assert (tmp_path / "ada" / CHRONICLE).read_text().startswith(KEEPS)


def test_what_is_taken_over_again_is_said_to_be_there(run: Command, draft: Path, tmp_path: Path) -> None:
    run("chronicle", "ada", "--accept", "1")
    write_draft(tmp_path / "ada", [Triple(subject="Ada", relation="loves", object="Storms", kind="trait")], again=True)
    out = run("chronicle", "ada", "--accept", "all")[1]
    assert out == "Took 0 over into chronicle.yaml (1 it held already); nothing is left in the draft.\n"
    assert objects(run, "triples") == ["storms"]


def test_triples_are_taken_out_of_the_draft(run: Command, draft: Path, tmp_path: Path) -> None:
    assert run("chronicle", "ada", "--reject", "2")[1].startswith("Took 1 out of the draft; 4 left in the draft.\n")
    report = json.loads(run("chronicle", "ada", "--reject", "1-3", "--json")[1])
    assert [one["object"] for one in report["reject"]] == ["storms", "her brother Tom", "the log"]
    assert ([one["object"] for one in report["left"]], report["new"]) == (["silence"], 0)
    assert run("chronicle", "ada", "--reject", "all")[1] == ("Took 1 out of the draft; nothing is left in the draft.\n")
    assert not draft.exists()
    assert not (tmp_path / "ada" / CHRONICLE).exists()


def test_a_draft_is_gone_through_triple_by_triple(run: Command, draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "y", "perhaps", " N ", "y", "q")
    code, out, err = run("chronicle", "ada", "--review")
    assert code == 0
    assert "1 of 5: Ada loves storms." in out
    assert "4 of 5: Ada loves the log." in out
    assert "5 of 5" not in out
    assert out.endswith("2 in chronicle.yaml, 2 left in the draft.\n")
    assert "Answer y to accept it" in err
    assert objects(run, "triples") == ["storms", "her brother Tom"]
    assert objects(run, "draft") == ["the log", "silence"]


def test_a_review_that_is_interrupted_keeps_what_was_decided(
    run: Command, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, "y", "n", KeyboardInterrupt)
    assert run("chronicle", "ada", "--review")[0] == 130
    assert objects(run, "triples") == ["storms"]
    assert objects(run, "draft") == ["her brother Tom", "the log", "silence"]
    answers(monkeypatch, "y", "y", "y")
    assert run("chronicle", "ada", "--review")[1].endswith("4 in chronicle.yaml, 0 left in the draft.\n")


@pytest.mark.parametrize("option", [("--accept", "all"), ("--reject", "1"), ("--review",)])
def test_without_a_draft_there_is_nothing_to_decide(run: Command, option: tuple[str, ...]) -> None:
    code, _, err = run("chronicle", "ada", *option)
    assert code == 2
    assert "There is no chronicle.draft.yaml: make one with `dramaturg chronicle ada --draft`." in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--accept", "6"), "6 is not among them: they have the numbers 1 to 5."),
        (("--accept", "0"), "0 is not among them"),
        (("--reject", "4-2"), "4-2 is not among them"),
        (("--reject", "1,"), "'' is no number of a triple: give numbers as 1,3-5, or all."),
        (("--accept", "²"), "'²' is no number of a triple"),
        (("--accept", "storms"), "'storms' is no number of a triple"),
        (("--accept", "1", "--reject", "2"), "One thing at a time: --accept or --reject."),
        (("--draft", "--review"), "One thing at a time: --draft or --review."),
        (("--again",), "--again is about a draft that is made: add --draft."),
        (("--dry-run", "--accept", "1"), "--dry-run is about a draft that is made: add --draft."),
        (("--model", "embedded"), "--model is about a draft that is made: add --draft."),
        (("--review", "--json"), "--review asks you on the terminal"),
    ],
)
def test_a_wish_that_cannot_be_met_changes_nothing(
    run: Command, draft: Path, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    before = draft.read_bytes()
    code, _, err = run("chronicle", "ada", *arguments)
    assert code == 2
    assert problem in err
    assert draft.read_bytes() == before
    assert not (tmp_path / "ada" / CHRONICLE).exists()
