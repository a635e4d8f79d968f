"""Servers that refuse some questions, or all, and what a kill costs: what is recorded, counted and asked again."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison.estimates import estimated
from dramaturg.evaluation.comparison.plan import Wanted, planned
from dramaturg.evaluation.comparison.records import RecordFile, Records
from dramaturg.evaluation.comparison.run import FIRST_REFUSALS, Evaluation, EvaluationSettings, judges_of
from dramaturg.evaluation.judging.scales import SIMILARITY
from dramaturg.evaluation.reports.tables import costs
from dramaturg.models.errors import Filtered, ModelRefused, RequestRejected
from dramaturg.stores.library import open_role

from evaluations import RIGHT, evaluation_of, judge, library_of, speaker, taken
from roles import actor
from stub_endpoint import Endpoint, Handler, endpoint

AZURE = {
    "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "code": "content_filter",
}
ASKED, FILTERED = 20, ("number 5:", "number 15:")
"""Questions to a role, and those of them that a filter keeps back: one in ten."""


@pytest.fixture
def server() -> Iterator[Endpoint]:
    with endpoint() as running:
        running.model = actor(reply=RIGHT)
        yield running


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = library_of(tmp_path / "library")
    questions = ({"question": f"Question number {at}: who brings the flour?", "answer": "Tom."} for at in range(ASKED))
    (folder / "ada" / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    return folder


def filtering(server: Endpoint, error: Mapping[str, Any], *marks: str) -> None:
    """Refuse, with this error, whatever has one of these marks in it."""

    def fault(handler: Handler) -> None:
        if not any(mark in json.dumps(handler.body["messages"]) for mark in marks):
            return handler.answer(handler.body)
        data = json.dumps({"error": error}).encode()
        handler.send_response(400)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
        return None

    server.faults["chat"] = fault


def over_endpoint(library: Path, server: Endpoint, monkeypatch: pytest.MonkeyPatch, *metrics: str) -> Evaluation:
    for name, value in {**server.variables(), "DRAMATURG_CACHE": str(library.parent / "cache")}.items():
        monkeypatch.setenv(name, value)
    settings = EvaluationSettings(library=str(library))
    methods = ("vanilla", "naive-rag")
    wanted = Wanted(methods=methods, roles=("ada",), metrics=metrics or (SIMILARITY,), bounds=False)
    plan, asked = planned(wanted, [open_role("ada", library)], settings, [*judges_of(settings)])
    return Evaluation(plan, asked, settings, library.parent / "run")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AZURE, "holds back what its filter does not let through"),
        ({"message": "Content Exists Risk", "code": "invalid_request_error"}, "holds back"),
        ({"message": "Input data may contain inappropriate content.", "code": "data_inspection_failed"}, "holds back"),
        ({"message": "Bad request"}, "refuses"),
    ],
    ids=["azure", "deepseek", "dashscope", "no words"],
)
async def test_a_filter_that_keeps_back_one_in_ten_costs_these_replies_alone(
    library: Path, server: Endpoint, monkeypatch: pytest.MonkeyPatch, error: Mapping[str, Any], told: str
) -> None:
    filtering(server, error, *FILTERED)
    evaluation = over_endpoint(library, server, monkeypatch)
    found = (await taken(evaluation)).replies.values()
    gone = [one for one in found if one.error]
    assert len(found) == 2 * ASKED
    assert sorted(one.asked.split(":")[0] + ":" for one in gone) == sorted(f"Question {one}" for one in FILTERED * 2)
    assert all(one.refused and told in one.error for one in gone)
    assert sum(one.calls for one in found if not one.error) == 2 * ASKED - len(gone)
    server.asked.clear()
    server.faults.clear()
    again = await taken(evaluation)  # the same command asks for what is missing
    assert len([body for body in server.asked if "messages" in body]) == len(gone)
    assert not any(one.error for one in again.replies.values())


async def test_a_server_that_refuses_everything_ends_the_run_at_its_first_questions(
    library: Path, server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    filtering(server, AZURE, "number")
    evaluation = over_endpoint(library, server, monkeypatch)
    with pytest.raises(ModelRefused, match=r"refused the first 5 questions and answered none.*holds back"):
        await taken(evaluation)
    known = RecordFile(evaluation.folder).read().replies.values()
    assert FIRST_REFUSALS <= len(known) < ASKED
    first = {one.about for one in known}
    server.asked.clear()
    with pytest.raises(ModelRefused):  # and the next time begins with what was not asked yet
        await taken(evaluation)
    assert {one.about for one in RecordFile(evaluation.folder).read().replies.values()} > first


@pytest.mark.parametrize("error", [Filtered("Held back."), RequestRejected("Refused.")])
async def test_refusals_of_one_question_by_many_methods_are_one_refusal(library: Path, error: Exception) -> None:
    model = speaker(lambda text: error if "number 0:" in text else RIGHT)
    methods = tuple(f"profile[reply_tokens={of}]" for of in range(100, 106))
    found = await taken(evaluation_of(library, model, methods=methods, metrics=(SIMILARITY,), concurrency=1))
    assert sum(bool(one.error) for one in found.replies.values()) == len(methods)
    assert len(found.replies) == len(methods) * ASKED


async def test_a_judge_that_refuses_everything_ends_the_run_and_loses_no_reply(library: Path) -> None:
    with pytest.raises(ModelRefused, match="'judge' has refused the first 5 questions"):
        await taken(evaluation_of(library, None, (judge(lambda reply: RequestRejected("No such field.")),)))
    found = RecordFile(library.parent / "run").read()
    assert len(found.replies) == 2 * ASKED
    assert all(one.refused and "No such field" in one.error for one in found.judged.values())
    assert len((await taken(evaluation_of(library))).judged) == 2 * ASKED


# On the disk, and counted


@pytest.mark.parametrize("method", ["amadeus", "drmr"])
async def test_what_was_asked_for_a_reply_that_did_not_come_is_counted(library: Path, method: str) -> None:
    model = actor(reply=Filtered("Held back."))
    found = await taken(evaluation_of(library, model, methods=(method,), limit=2, metrics=(SIMILARITY,)))
    indexed = sum(one.calls for one in found.indexed.values())
    assert all(one.refused for one in found.replies.values())
    assert sum(one.calls for one in found.replies.values()) == len(model.calls) - indexed > 2


@pytest.mark.parametrize("at_once", [1, 4])
async def test_an_answer_is_on_the_disk_before_its_place_is_given_to_the_next_question(
    library: Path, at_once: int
) -> None:
    lacking = []

    def reply(text: str) -> str:
        lacking.append(len(lacking) - len(RecordFile(library.parent / "run").read().replies))
        return RIGHT

    await taken(evaluation_of(library, speaker(reply), metrics=(SIMILARITY,), concurrency=at_once))
    assert len(lacking) == 2 * ASKED
    assert max(lacking) < at_once


async def test_what_begins_with_another_run_counts_the_judges_of_its_own_plan(library: Path) -> None:
    await taken(evaluation_of(library, None, (judge(), judge(name="other"))))
    again = evaluation_of(library, None, (judge(), judge(name="third")), folder="again")
    before = RecordFile(library.parent / "run").read()
    told = {one.what: one for one in estimated(again, before)}
    assert (told["accuracy"].left, told["accuracy"].done) == (2 * ASKED, 2 * ASKED)
    assert (told["replies of vanilla"].left, told["replies of vanilla"].done) == (0, ASKED)
    assert {one.done for one in estimated(evaluation_of(library), Records({}, {}, {}))} == {0}
    records = await taken(again, after="run")
    by_plan = [one for one in records.judged.values() if one.model != "other"]
    spent = costs(again.plan, records)
    assert sum(one.judge_calls for one in spent) == sum(one.calls for one in by_plan) == 2 * 2 * ASKED * 2
