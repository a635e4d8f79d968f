"""`dramaturg memories ROLE --draft`: what formed a role, drafted from who it is, and decided on by a person."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dramaturg.stores.documents.memory_drafts import MEMORY_DRAFT

from commands import Command
from fakes import scripted
from roles import fenced
from stub_endpoint import Endpoint

MOTHER = {"sentence": 1, "text": "My mother  put the\nshears into my hand.", "when": "1850", "importance": 8}
STORM = {"sentence": 3, "text": "I sang into the storm until my voice was gone.", "when": "", "importance": 6}


@pytest.fixture(autouse=True)
def model(stub: Endpoint) -> Iterator[None]:
    """The model of the endpoint drafts two memories of Ada."""
    old, stub.model = stub.model, scripted(json.dumps({"memories": [MOTHER, STORM]}))
    stub.asked.clear()
    yield
    stub.model = old


def drafted(tmp_path: Path) -> list[dict[str, Any]]:
    text = (tmp_path / "ada" / MEMORY_DRAFT).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def memories(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "ada" / "memories.jsonl").read_text(encoding="utf-8").splitlines()]


def refused(run: Command, *arguments: str) -> str:
    code, _, error = run("memories", "ada", *arguments)
    assert code == 2
    return error


def test_memories_are_drafted_from_profile_and_chronicle_and_say_from_what(
    run: Command, tmp_path: Path, stub: Endpoint
) -> None:
    before = memories(tmp_path)
    code, out, _ = run("memories", "ada", "--draft")
    assert code == 0
    assert "Draft for ada: 2" in out
    assert "dramaturg memories ada --accept 1,3-5" in out
    (question,) = [body for body in stub.asked if "messages" in body]
    shown = fenced("statements", question["messages"][-1]["content"]).splitlines()
    assert shown[:3] == [
        "[1] A keeper of few words.",
        "[2] Ada Quill is by profession keeper of the light.",
        "[3] Ada Quill holds dear a light that never fails.",
    ]
    mother, storm = drafted(tmp_path)
    by = mother["source"].partition(" from ")[0]
    assert by.startswith("drafted by ")
    assert mother == {
        "text": "My mother put the shears into my hand.",
        "when": "1850",
        "importance": 8,
        "source": f"{by} from role.yaml: A keeper of few words.",
    }
    assert "when" not in storm
    assert storm["source"] == f"{by} from chronicle.yaml: Ada Quill holds dear a light that never fails."
    assert memories(tmp_path) == before  # nothing counts before a person has accepted it
    assert "Draft for ada: 2" in run("memories", "ada")[1]


def test_a_person_takes_some_over_and_throws_others_away(run: Command, tmp_path: Path) -> None:
    before = memories(tmp_path)
    run("memories", "ada", "--draft")
    mother, storm = drafted(tmp_path)
    code, out, _ = run("memories", "ada", "--accept", "2")
    assert (code, "Took 1 over into memories.jsonl; 1 left in the draft." in out) == (0, True)
    assert memories(tmp_path) == [*before, storm]
    assert drafted(tmp_path) == [mother]
    left = json.loads(run("memories", "ada", "--reject", "all", "--json")[1])
    assert left == {"reject": [{"number": 1, **mother}], "new": 0, "left": []}
    assert not (tmp_path / "ada" / MEMORY_DRAFT).exists()
    found = json.loads(run("memories", "ada", "--json")[1])
    assert storm["text"] in [one["text"] for one in found]


def test_what_is_accepted_twice_is_there_once(run: Command, tmp_path: Path) -> None:
    run("memories", "ada", "--draft")
    waiting = (tmp_path / "ada" / MEMORY_DRAFT).read_bytes()
    run("memories", "ada", "--accept", "all")
    after = memories(tmp_path)
    (tmp_path / "ada" / MEMORY_DRAFT).write_bytes(waiting)  # as if killed before the draft was shortened
    assert "Took 0 over" in run("memories", "ada", "--accept", "all")[1]
    assert memories(tmp_path) == after


def test_what_is_remembered_already_is_not_drafted(run: Command, tmp_path: Path) -> None:
    run("memories", "ada", "--draft")
    run("memories", "ada", "--accept", "all")
    code, out, _ = run("memories", "ada", "--draft")
    assert (code, out.strip()) == (0, "Nothing was drafted that the role does not remember already.")
    assert not (tmp_path / "ada" / MEMORY_DRAFT).exists()


def test_of_an_answer_what_is_good_is_drafted(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    odd = [{"text": "I was nine."}, {"sentence": 99, **STORM, "importance": 40}, {"when": "1850"}]
    stub.model = scripted(json.dumps({"memories": odd}))
    told = json.loads(run("memories", "ada", "--draft", "--json")[1])
    assert [one["text"] for one in told["draft"]] == ["I was nine."]
    assert len(told["dropped"]) == 2
    assert drafted(tmp_path)[0]["source"].endswith(" from role.yaml")


def test_a_waiting_draft_is_replaced_only_where_that_is_wished(run: Command, tmp_path: Path) -> None:
    run("memories", "ada", "--draft")
    before = drafted(tmp_path)
    assert "'ada' has drafted memories already" in refused(run, "--draft")
    assert drafted(tmp_path) == before
    assert run("memories", "ada", "--draft", "--again")[0] == 0


def test_nothing_that_others_alone_know_is_in_a_draft(run: Command, tmp_path: Path, stub: Endpoint) -> None:
    file = tmp_path / "ada" / "chronicle.yaml"
    of_all = yaml.safe_load(file.read_text("utf-8"))
    of_all["triples"][0]["known_to"] = ["tom"]
    file.write_text(json.dumps(of_all), encoding="utf-8")
    run("memories", "ada", "--draft")
    (question,) = [body for body in stub.asked if "messages" in body]
    shown = fenced("statements", question["messages"][-1]["content"])
    assert "keeper of the light" not in shown
    assert "a light that never fails" in shown


def test_who_has_neither_profile_nor_chronicle_is_told_what_is_missing(run: Command, tmp_path: Path) -> None:
    (tmp_path / "ada" / "chronicle.yaml").unlink()
    card = tmp_path / "ada" / "role.yaml"
    card.write_text(card.read_text().replace("A keeper of few words.", "''"))
    assert "Nothing told to 'ada' says who it is: write a `profile` into role.yaml" in refused(run, "--draft")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--accept", "1"), "There is no memories.draft.jsonl: make one with `dramaturg memories ada --draft`."),
        (("--draft", "--accept", "1"), "One thing at a time: --draft or --accept."),
        (("--draft", "--remove", "x"), "One thing at a time: --draft or --remove."),
        (("--again",), "--again is about a draft that is made: add --draft."),
        (("--draft", "--thread", "tea"), "--draft is about the role's own memories: leave --thread out."),
    ],
)
def test_what_does_not_go_together_is_refused(run: Command, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(run, *arguments)


def test_a_number_that_is_none_of_the_draft_is_refused(run: Command) -> None:
    run("memories", "ada", "--draft")
    assert "they have the numbers 1 to 2" in refused(run, "--accept", "3")
    assert "'x' is no number of a memory" in refused(run, "--accept", "x")
