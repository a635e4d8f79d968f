"""What the memory of talks finds: the two datasets' forms, the arithmetic, and runs of the command over tiny files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_datasets as tiny
from langchain_core.messages import BaseMessage

from dramaturg.stores.errors import RoleFileError
from studies.memory import Asked, findings, locomo_score, records_of, talks_in
from studies.short_answers import several_f1, token_f1

from commands import Command
from fakes import ScriptedChatModel
from roles import actor, fenced, said
from stub_endpoint import Endpoint


@pytest.fixture(autouse=True)
def fresh(stub: Endpoint) -> Iterator[None]:
    stub.asked.clear()
    yield
    stub.model = actor()


def embedded(stub: Endpoint) -> list[str]:
    return [text for one in stub.asked if "messages" not in one for text in one["input"]]


def test_locomo_has_its_sessions_in_their_order_and_its_evidence_by_line(tmp_path: Path) -> None:
    talks = talks_in(tiny.locomo(tmp_path))
    first = talks.talks[0]
    assert [(one.id, one.at.day) for one in first.sessions] == [("session_1", 8), ("session_2", 9), ("session_10", 10)]
    assert first.sessions[0].lines[2].text == "Look at her! [shares an image: a green sail above a quay]"
    assert [(one.category, one.answer, one.lines, one.sessions) for one in first.questions] == [
        ("single-hop", "the boat Gull", ("D1:1",), ("session_1",)),
        ("multi-hop", "both", ("D2:1", "D10:1"), ("session_2", "session_10")),
        ("temporal", "2023", ("D1:3",), ("session_1",)),
        ("adversarial", "", (), ()),
    ]
    assert talks.left_out == {"evidence that is no line of the talk": 2}


def test_longmemeval_has_a_talk_a_question_and_no_evidence_where_there_is_no_answer(tmp_path: Path) -> None:
    first, second = talks_in(tiny.longmemeval(tmp_path)).talks
    assert [one.id for one in first.sessions] == ["answer_1", "later"]
    assert [(one.lines, one.sessions, one.answerable) for one in (*first.questions, *second.questions)] == [
        (("1:0",), ("answer_1",), True),
        ((), (), False),
    ]


def test_an_exchange_is_a_question_with_its_reply_within_its_session(tmp_path: Path) -> None:
    said_at_once = [[line.id for line in one.said] for one in records_of(talks_in(tiny.locomo(tmp_path)).talks[0])]
    assert said_at_once == [["D1:1", "D1:2"], ["D1:3"], ["D2:1", "D2:2"], ["D10:1", "D10:2"]]


def shorter(talk: dict[str, Any]) -> None:
    talk["haystack_dates"].pop()


def other_time(talk: dict[str, Any]) -> None:
    talk["haystack_dates"][0] = "in May"


def without_time(talk: dict[str, Any]) -> None:
    del talk["conversation"]["session_2_date_time"]


def without_speaker(talk: dict[str, Any]) -> None:
    del talk["conversation"]["session_2"][1]["speaker"]


def twice(talk: dict[str, Any]) -> None:
    talk["conversation"]["session_2"][1]["dia_id"] = "D2:1"


def other_category(talk: dict[str, Any]) -> None:
    talk["qa"][0]["category"] = 9


def no_talk(talk: dict[str, Any]) -> None:
    talk.pop("qa", None)


@pytest.mark.parametrize(
    ("make", "change", "says"),
    [
        (tiny.longmemeval, shorter, r"entry 1: 2 sessions have 2 ids and 1 dates"),
        (tiny.longmemeval, other_time, r"entry 1: 'in May' is no time of the form"),
        (tiny.locomo, without_time, r"entry 1: session_2 must be a list of lines, with a session_2_date_time"),
        (tiny.locomo, without_speaker, r"entry 1, session_2, line 2: `speaker` is missing"),
        (tiny.locomo, twice, r"entry 1: two lines have the same dia_id"),
        (tiny.locomo, other_category, r"talk-1/1: the category 9 is none of 1, 2, 3, 4, 5"),
        (tiny.locomo, no_talk, r"tiny holds no talks with questions: give locomo10.json"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(
    tmp_path: Path, make: Callable[[Path], Path], change: Callable[[dict[str, Any]], None], says: str
) -> None:
    path = make(tmp_path)
    talks = json.loads(path.read_text(encoding="utf-8"))
    change(talks[0])
    path.write_text(json.dumps(talks), encoding="utf-8")
    with pytest.raises(RoleFileError, match=says):
        talks_in(path)


def looked_up(talk: str, number: int, *places: int | None) -> Asked:
    ranks = dict.fromkeys(("words", "meaning"), (None,) * len(places))
    return Asked(
        "tiny", "locomo", talk, f"{number}", "temporal", "words", {**ranks, "both": places}, {**ranks, "both": places}
    )


def test_share_any_and_all_are_of_the_evidence_among_the_first(tmp_path: Path) -> None:
    made = [looked_up("a", 1, 1, 7), looked_up("a", 2, 5, None), looked_up("b", 1, 12), looked_up("b", 2)]
    (table, apart, by_category, *_) = findings(made).tables
    means = {row[:2]: [round(cell.mean, 3) for cell in row[2:]] for row in table.rows if row[0] == "both"}
    assert means == {
        ("both", "share"): [0.333, 0.5],
        ("both", "any"): [0.667, 0.667],
        ("both", "all"): [0.0, 0.333],
    }
    assert [(row[0], round(row[2].mean, 3)) for row in apart.rows] == [("both − words", 0.5), ("both − meaning", 0.5)]
    assert by_category.rows[0][:2] == ("temporal", 3)
    assert (table.rows[0][2].n, table.rows[0][2].n_values, table.unit) == (2, 3, "conversation")


@pytest.mark.parametrize(
    ("reply", "answer", "score"),
    [
        ("She runs a market.", "running the markets", 0.8),
        ("7 May, 2023", "7 May 2023", 1.0),
        ("nothing", "the boat", 0.0),
        ("", "the boat", 0.0),
    ],
)
def test_a_short_answer_is_scored_by_the_stems_that_it_shares(reply: str, answer: str, score: float) -> None:
    assert token_f1(reply, answer) == pytest.approx(score)


def test_locomo_scores_an_answer_by_its_category(tmp_path: Path) -> None:
    _, several, temporal, unasked = talks_in(tiny.locomo(tmp_path)).talks[0].questions
    assert several_f1("a goat, a lamp", "lamp, ledger") == 0.5
    assert locomo_score(several._replace(answer="lamp, ledger"), "a goat, a lamp") == 0.5
    assert locomo_score(temporal._replace(category="open-domain", answer="oil; it burns"), "Oil.") == 1.0
    assert locomo_score(unasked, "No information available.") == 1.0
    assert locomo_score(unasked, "For its milk.") == 0.0


def cells(out: str, title: str) -> dict[tuple[Any, ...], list[Any]]:
    (study,) = json.loads(out)
    (table,) = (one for one in study["tables"] if one["title"] == title)
    rows = [[cell["value"] for cell in row] for row in table["rows"]]
    return {
        tuple(one for one in row if not isinstance(one, dict)): [one["mean"] for one in row if isinstance(one, dict)]
        for row in rows
    }


def test_the_study_finds_the_evidence_of_both_files_and_embeds_no_line_twice(
    run: Command, stub: Endpoint, tmp_path: Path
) -> None:
    words = ("studies", "memory", str(tiny.locomo(tmp_path)), str(tiny.longmemeval(tmp_path)), "--json")
    code, out, err = run(*words)
    assert code == 0, err
    lines = cells(out, "tiny: lines with the answer")
    assert lines["both", "all"] == [1.0, 1.0]  # four exchanges
    assert lines["words", "share"][1] >= 0.6  # a question says buy where the line says bought
    assert cells(out, "history: sessions with the answer")["words", "any"] == [1.0, 1.0]
    assert "My lamp broke in the storm." in " ".join(embedded(stub))
    stub.asked.clear()
    code, again, err = run(*words)
    assert code == 0, err
    assert json.loads(again)[0]["tables"] == json.loads(out)[0]["tables"]
    assert not any("lamp broke" in text for text in embedded(stub))


def test_what_the_study_would_embed_and_ask_is_said_before(run: Command, stub: Endpoint, tmp_path: Path) -> None:
    words = (
        "studies",
        "memory",
        str(tiny.locomo(tmp_path)),
        "--set",
        "answer=true",
        "--set",
        "questions=2",
        "--dry-run",
    )
    code, out, err = run(*words)
    assert code == 0, err
    told = " ".join(out.split())
    assert "2 talks of 14 lines in 8 exchanges" in told
    assert "4 questions to be embedded by" in told
    assert "would be asked 4 times" in told
    assert "CC BY-NC" in told
    _, out, _ = run(*words, "--json")
    (counts,) = json.loads(out)
    assert (counts["talks"], counts["exchanges"], counts["kept"], counts["calls"]) == (2, 8, 0, 4)
    assert stub.asked == []


def answers(messages: list[BaseMessage]) -> str:
    text = said(messages)
    if "<gold>" in text:
        return "yes" if fenced("reply", text) == fenced("gold", text) else "no"
    return "Pepper" if "Pepper" in fenced("said", text) else "No information available"


def test_answers_from_what_was_found_are_scored_as_the_dataset_does(
    run: Command, stub: Endpoint, tmp_path: Path
) -> None:
    stub.model = ScriptedChatModel(reply=answers)
    files = (str(tiny.locomo(tmp_path)), str(tiny.longmemeval(tmp_path)))
    code, out, err = run("studies", "memory", *files, "--set", "answer=true", "--model", "auto", "--json")
    assert code == 0, err
    assert cells(out, "tiny: answers") == {
        ("single-hop",): [0.0],
        ("multi-hop",): [0.0],
        ("temporal",): [0.0],
        ("adversarial",): [1.0],
        ("all",): [0.25],
    }
    assert cells(out, "history: answers")["all",] == [0.5]  # the model does not know that there is no cat


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("memory",), "needs a file or more: python -m studies memory FILE"),
        (("memory", "nowhere.json"), "There is no nowhere.json"),
        (("splitters", "nowhere.json"), "These studies read no files: name memory or quotations beside nowhere.json"),
        (("memory", "nowhere.json", "--set", "answers=true"), "memory has no setting 'answers'"),
    ],
)
def test_what_is_missing_is_said_before_any_work(
    arguments: tuple[str, ...], says: str, run: Command, stub: Endpoint
) -> None:
    code, _, err = run("studies", *arguments)
    assert (code, stub.asked) == (2, [])
    assert says in err
