"""Floor and ceiling: what they say, where they are counted and where not, and what they show of a judge."""

import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison.contestants import BOUNDS, CEILING, DECLINED, FLOOR, NAMES, bound_reply, contestant
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import RECORD, RecordFile, Records
from dramaturg.evaluation.comparison.run import Evaluation
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.judging import measures
from dramaturg.evaluation.judging.judges import Grade
from dramaturg.evaluation.judging.scales import SIMILARITY
from dramaturg.evaluation.metrics.intervals import cluster_interval
from dramaturg.evaluation.reports.credit import BoundsCheck, bounds_checks
from dramaturg.evaluation.reports.judges import calibrations
from dramaturg.evaluation.reports.page import markdown, page, written_report
from dramaturg.evaluation.reports.tables import Row, costs, tables
from dramaturg.models.errors import UnusableAnswer
from dramaturg.stores.files import canonical

from evaluations import QUESTIONS, RIGHT, evaluation_of, judge, library_of, speaker, taken

pytestmark = pytest.mark.sample_of_file(8)

ROLES = ("ada", "bea", "cid")
PROBABLE = {FLOOR: 0.2, CEILING: 0.9}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return library_of(tmp_path / "library", *ROLES)


def compared(library: Path, model: Any = None, marker: Any = None, **wishes: Any) -> Evaluation:
    """An evaluation of three roles with two questions in scope and one out of scope each, floor and ceiling with it."""
    return evaluation_of(library, model, marker, **{"roles": ROLES, "bounds": True, **wishes})


def knowing(reply: str) -> bool:
    """Whether a reply is a right answer."""
    return "Tom" in reply or "light" in reply


def declining(reply: str) -> bool:
    """Whether a reply declines."""
    return "I do not know" in reply


async def checked(library: Path, good: Any, metric: str) -> BoundsCheck:
    """The check of a judge that says yes, or 9, of what is good."""
    evaluation = compared(library, None, (judge(good),), metrics=(metric,))
    (found,) = bounds_checks(evaluation.plan, await taken(evaluation))
    return found


def report_of(evaluation: Evaluation, records: Records) -> str:
    """The Markdown of records."""
    return markdown(evaluation.plan, records, tables(evaluation.plan, records))


def rows_of(evaluation: Evaluation, records: Records) -> dict[tuple[str, str], Row]:
    """The rows of a report by contestant and scope."""
    return {(one.contestant, one.scope): one for one in tables(evaluation.plan, records).rows}


# What they say


async def test_the_floor_says_one_thing_and_the_ceiling_what_is_right(library: Path) -> None:
    records = await taken(compared(library, metrics=(SIMILARITY,)))
    said = {(one.contestant, one.asked, one.text) for one in records.replies.values() if one.contestant in BOUNDS}
    assert said == {(FLOOR, one["question"], DECLINED["en"]) for one in QUESTIONS} | {
        (CEILING, one["question"], one["answer"]) for one in QUESTIONS if one["answer"]
    }


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_the_floor_speaks_the_role_s_language(tmp_path: Path, language: str) -> None:
    library = library_of(tmp_path / "library")
    card = library / "ada" / "role.yaml"
    card.write_text(card.read_text(encoding="utf-8").replace("language: en", f"language: {language}"), encoding="utf-8")
    wanted = [one for one in compared(library, roles=("ada",)).asked if one.contestant.name == FLOOR]
    assert {one.role.card.language for one in wanted} == {language}
    assert len({bound_reply(FLOOR, one.question, language) for one in wanted}) == 1
    assert len(set(DECLINED.values())) == len(DECLINED) == 3


def test_of_several_right_answers_the_ceiling_says_the_first() -> None:
    both = DatasetQuestion(id="q", text="?", answer="Tom.", more_answers=("My brother.",))
    assert bound_reply(CEILING, both, "en") == "Tom."
    assert bound_reply(CEILING, both.model_copy(update={"answer": ""}), "en") == "My brother."
    assert bound_reply(CEILING, DatasetQuestion(id="q", text="?"), "en") == ""


async def test_they_ask_no_model_and_are_asked_once_whatever_the_seeds(library: Path) -> None:
    records = await taken(compared(library, model := speaker(), seeds=(4, 5), metrics=(SIMILARITY,)))
    beside = [one for one in records.replies.values() if one.contestant in BOUNDS]
    assert len(beside) == 3 * (3 + 2)
    assert {(one.seed, one.calls, one.tokens, one.model, one.error) for one in beside} == {(4, 0, 0, "", "")}
    assert len(model.calls) == 2 * 2 * 9


async def test_another_speaker_or_seed_has_them_judged_no_second_time(library: Path) -> None:
    await taken(compared(library))
    (library / "ada" / "persona" / "more.md").write_text("# More\n\nShe sold the boat.\n", encoding="utf-8")
    again = (judge(lambda reply: True),)
    later = compared(library, speaker(lambda text: "Who knows?"), again, folder="later", seeds=(7,))
    await taken(later, after="run")
    replies = {call.text.count(DECLINED["en"]) for call in again[0].calls}
    assert replies == {0}
    assert again[0].calls


async def test_without_them_all_is_as_before(library: Path) -> None:
    evaluation = compared(library, bounds=False)
    records = await taken(evaluation)
    assert evaluation.plan.bounds == ()
    assert {one.contestant for one in records.replies.values()} == {"vanilla", "profile"}
    assert "Floor and ceiling were left out" in report_of(evaluation, records)
    assert FLOOR not in report_of(evaluation, records)


def test_they_are_no_methods() -> None:
    assert not {*BOUNDS} & {*NAMES}
    with pytest.raises(ValueError, match="There is no method"):
        contestant(FLOOR)


async def test_plans_and_records_from_before_them_are_read(library: Path) -> None:
    evaluation = compared(library, bounds=False)
    records = await taken(evaluation)
    plan = json.loads(evaluation.plan.model_dump_json())
    assert plan.pop("bounds") == []
    assert Plan.model_validate_json(canonical(plan)).bounds == ()
    old = json.loads(next(iter(records.judged.values())).model_dump_json())
    assert old.pop("probability") is None
    assert RECORD.validate_json(canonical(old)) == next(iter(records.judged.values()))


# Where they are counted


async def test_they_have_rows_of_their_own_and_are_in_no_test_and_no_cost(library: Path) -> None:
    evaluation = compared(library, None, (judge(knowing),), metrics=("accuracy",))
    records = await taken(evaluation)
    found, rows = tables(evaluation.plan, records), rows_of(evaluation, records)
    floor, top = rows[FLOOR, ""], rows[CEILING, ""]
    means = {one.named: (one.interval.mean, one.interval.n_values) for one in (floor, top) if one.interval}
    assert means == {f"{FLOOR} (floor)": (0.0, 6), f"{CEILING} (ceiling)": (1.0, 6)}
    assert [one.contestant for one in found.rows] == ["vanilla", "profile", FLOOR, CEILING]
    assert [(one.first, one.second, one.corrected.n) for one in found.differences] == [("profile", "vanilla", 1)]
    assert [one.contestant for one in costs(evaluation.plan, records)] == ["vanilla", "profile"]


async def test_the_ceiling_has_no_row_where_nothing_is_right(library: Path) -> None:
    evaluation = compared(library, None, (judge(declining),), metrics=("refusal",))
    rows = rows_of(evaluation, records := await taken(evaluation))
    means = {key: one.interval.mean for key, one in rows.items() if key[0] in BOUNDS and one.interval}
    assert means == {(FLOOR, "out"): 1.0, (FLOOR, "in"): 1.0, (CEILING, "in"): 0.0}
    assert (CEILING, "out") not in rows
    assert f"{FLOOR} by judge: 0.333" in report_of(evaluation, records)


@pytest.mark.parametrize(("silent", "valid"), [(DECLINED["en"], True), (RIGHT, False)])
async def test_what_is_missing_of_them_is_shown_and_makes_no_run_invalid(
    library: Path, silent: str, valid: bool
) -> None:
    marker = judge(lambda reply: UnusableAnswer("Hm.") if silent in reply else True)
    evaluation = compared(library, None, (marker,))
    records = await taken(evaluation)
    assert tables(evaluation.plan, records).valid is valid
    gone = rows_of(evaluation, records)[FLOOR if valid else "vanilla", ""].missing
    assert gone
    assert (gone.missing, gone.n) == (6, 6)


async def test_the_page_has_them_with_the_replies_behind_them(library: Path) -> None:
    evaluation = compared(library, None, (judge(knowing),))
    records = await taken(evaluation)
    shown = page(evaluation.plan, records, tables(evaluation.plan, records))
    beside = [one for one in evaluation.plan.entries if one.contestant in BOUNDS]
    for at, one in enumerate(evaluation.plan.entries):
        if one in beside:  # of those out of scope nobody says whether they are right
            assert (f"href=#r{at}>" in shown) is (evaluation.plan.question(one).scope == "in")
            assert f"id=r{at}>" in shown
    assert f"{FLOOR} (floor)" in shown


# What they show of a judge


@pytest.mark.parametrize(("metric", "good"), [("accuracy", knowing), ("refusal", declining)])
async def test_a_judge_that_is_right_is_right_in_everything(library: Path, metric: str, good: Any) -> None:
    found = await checked(library, good, metric)
    assert (found.kind, found.value, found.n, found.missing, found.blind) == ("share right", 1.0, 6, 0, False)
    assert 0.5 < (found.low or 0) < found.value == found.high
    assert abs(found.right.mean - found.declining.mean) == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("metric", ["accuracy", "refusal"])
@pytest.mark.parametrize("always", [True, False])
async def test_a_judge_that_always_says_the_same_is_right_in_a_half(library: Path, metric: str, always: bool) -> None:
    found = await checked(library, lambda reply: always, metric)
    assert (found.value, found.blind) == (0.5, True)
    assert 0 < (found.low or 0) < 0.5 < (found.high or 0) < 1


async def test_a_judge_that_is_always_wrong_is_seen(library: Path) -> None:
    found = await checked(library, lambda reply: not knowing(reply), "accuracy")
    assert (found.value, found.low, found.blind) == (0.0, pytest.approx(0), True)


async def test_a_score_is_checked_by_whether_it_puts_right_answers_above(library: Path) -> None:
    assert (found := await checked(library, knowing, "accuracy_level")).kind == "AUC"
    assert (found.value, found.right.mean, found.declining.mean, found.blind) == (1.0, 9.0, 2.0, False)
    again = library_of(library.parent / "elsewhere" / "library", *ROLES)
    found = await checked(again, lambda reply: "Tom" in reply, "accuracy_level")
    # Of each role one right answer is seen, and the other scored as what declines: (1 + 1/2) / 2.
    assert found.value == 0.75
    assert found.blind  # six questions do not tell that from a half


async def test_likeness_is_no_judge_as_the_ceiling_is_what_it_measures_by(library: Path) -> None:
    evaluation = compared(library, metrics=(SIMILARITY,))
    records = await taken(evaluation)
    assert list(bounds_checks(evaluation.plan, records)) == []
    assert "It has no check above" in report_of(evaluation, records)
    assert max(one.value for one in records.judged.values() if one.value is not None) <= 1


@pytest.mark.parametrize(
    ("kind", "value", "low", "blind"),
    [
        ("share right", 0.6, 0.55, False),
        ("share right", 0.8, 0.5, True),
        ("share right", 0.5, 0.2, True),
        ("AUC", 0.61, 0.55, False),
        ("AUC", 0.6, 0.55, True),
        ("AUC", 0.9, 0.4, True),
    ],
)
def test_a_judge_is_seen_to_tell_replies_apart_above_a_half_alone(
    kind: str, value: float, low: float | None, blind: bool
) -> None:
    whole = cluster_interval({"a": [0.0], "b": [1.0]})
    assert BoundsCheck("m", "judge", kind, value, low, 1.0, whole, whole, 20, 0).blind is blind


async def test_what_nobody_knows_is_not_checked(library: Path) -> None:
    evaluation = compared(library, metrics=("invention", "hallucination"))
    assert list(bounds_checks(evaluation.plan, await taken(evaluation))) == []
    for role in ROLES:
        lines = json.dumps({"question": "Which telephone?", "answer": "None.", "scope": "out"}) + "\n"
        (library / role / "questions.jsonl").write_text(lines, encoding="utf-8")
    evaluation = compared(library, folder="known", metrics=("accuracy",))
    assert list(bounds_checks(evaluation.plan, await taken(evaluation))) == []


async def test_a_pair_without_a_score_is_missing_in_the_check(library: Path) -> None:
    def unsure(reply: str) -> bool | Exception:
        return UnusableAnswer("Hm.") if "light" in reply else knowing(reply)

    found = await checked(library, unsure, "accuracy")
    assert (found.n, found.missing, found.value) == (3, 3, 1.0)
    assert found.blind  # of three alone nobody can say it


async def test_the_report_names_judges_that_see_nothing(library: Path) -> None:
    markers = (judge(knowing), judge(lambda reply: False, "numb"))
    evaluation = compared(library, None, markers)
    text = report_of(evaluation, await taken(evaluation))
    assert "## How far the judges can be believed" in text
    assert "| accuracy | judge | share right | 1.000 | [0.541, 1.000] | 1.000 [0.541, 1.000] | " in text
    assert "**Nothing is concluded from accuracy by numb** (†): it does not tell right answers from" in text
    assert "from accuracy by judge**" not in text


async def test_two_questions_show_nothing_of_a_judge_that_is_right(library: Path) -> None:
    evaluation = compared(library, None, (judge(knowing),), roles=("ada",))
    text = report_of(evaluation, await taken(evaluation))
    assert "that it tells right answers from a sentence that declines is not shown (share right 1.000" in text


async def test_a_judgement_keeps_its_probability(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def found(*asked: Any) -> Grade:
        about: dict[str, Any] = {"judge": "accuracy", "prompt_version": "1", "model": "judge"}
        return Grade(**about, state="judged", value=1.0, probability=0.8)

    monkeypatch.setattr(measures, "judged", found)
    records = await taken(compared(library))
    assert {one.probability for one in records.judged.values()} == {0.8}
    assert {one.probability for one in RecordFile(library.parent / "run").read().judged.values()} == {0.8}


def with_probabilities(records: Records) -> Records:
    """The same, and every judge said how probable a yes is."""
    judged = {
        key: one.model_copy(update={"probability": PROBABLE.get(records.replies[one.reply].contestant, 0.5)})
        for key, one in records.judged.items()
        if one.applicable
    }
    return records._replace(judged=judged)


@pytest.mark.parametrize(("metric", "floor", "n"), [("accuracy", 0, 12), ("refusal", 9, 15)])
async def test_calibration_is_of_replies_that_are_known(library: Path, metric: str, floor: int, n: int) -> None:
    evaluation = compared(library, metrics=(metric,))
    records = with_probabilities(await taken(evaluation))
    (found,) = calibrations(evaluation.plan, records)
    # To accuracy the ceiling's 6 are yes; to refusal the floor's 9, those out of scope too.
    yes, no = (0.2, 0.9) if floor else (0.9, 0.2)
    share = (floor or 6) / n
    assert (found.brier.n, found.brier.share) == (n, pytest.approx(share))
    assert found.brier.score == pytest.approx(share * (1 - yes) ** 2 + (1 - share) * no**2)
    assert sum(one.n for _, one in found.bins) == n


@pytest.mark.parametrize(("metric", "n"), [("accuracy", 0), ("refusal", 3)])
async def test_an_answer_out_of_scope_is_not_known_to_be_right(library: Path, metric: str, n: int) -> None:
    for role in ROLES:
        lines = json.dumps({"question": "Which telephone?", "answer": "None.", "scope": "out"}) + "\n"
        (library / role / "questions.jsonl").write_text(lines, encoding="utf-8")
    evaluation = compared(library, metrics=(metric,))
    found = list(calibrations(evaluation.plan, with_probabilities(await taken(evaluation))))
    # That the floor declines is known all the same, and that is a yes.
    assert [(one.brier.n, one.brier.share) for one in found] == [(n, 1.0)] * bool(n)


async def test_a_judgement_without_a_probability_is_in_no_bin(library: Path) -> None:
    evaluation = compared(library)
    records = with_probabilities(await taken(evaluation))
    bare = next(key for key, one in records.judged.items() if records.replies[one.reply].contestant == FLOOR)
    records.judged[bare] = records.judged[bare].model_copy(update={"probability": None})
    (found,) = calibrations(evaluation.plan, records)
    assert found.brier.n == 11


@pytest.mark.crash
async def test_the_page_has_a_picture_of_calibration_where_there_are_probabilities(library: Path) -> None:
    evaluation = compared(library)
    bare = await taken(evaluation)
    known = with_probabilities(bare)
    plain, drawn = (page(evaluation.plan, one, tables(evaluation.plan, one)) for one in (bare, known))
    assert "Brier score" not in plain
    assert "judge gives no probabilities by accuracy" in plain
    assert drawn.count("<figure>") == plain.count("<figure>") + 1
    assert "Brier score 0.025" in report_of(evaluation, known)
    assert "gives no probabilities" not in drawn


# Spread, and what else a table says


async def test_with_two_seeds_the_report_parts_the_spread(library: Path) -> None:
    evaluation = compared(library, metrics=(SIMILARITY,), seeds=(0, 1))
    text = report_of(evaluation, records := await taken(evaluation))
    assert "## Where the spread is from" in text
    assert "| 0 (< 0) | 1.000 | 0.000 |" in text
    assert "| 3, 6, 12 |" in text
    assert f"{FLOOR} (floor) | all | WordEmbeddings:words | " not in text.partition("## Where the spread")[2]
    alone = compared(library, metrics=(SIMILARITY,))
    assert "Where the spread is from" not in report_of(alone, records)


async def test_spread_that_cannot_be_parted_says_why(library: Path) -> None:
    evaluation = compared(library, None, (judge(lambda reply: True),), seeds=(0, 1))
    assert "All values are the same" in report_of(evaluation, await taken(evaluation))
    evaluation = compared(library, folder="alone", roles=("ada",), metrics=(SIMILARITY,), seeds=(0, 1))
    assert "not known of one role" in report_of(evaluation, await taken(evaluation))


@pytest.mark.parametrize(("searched", "note"), [("off", " (without web search)"), ("not needed", "")])
async def test_crag_without_a_search_tool_says_so_in_the_table(library: Path, searched: str, note: str) -> None:
    evaluation = compared(library, metrics=(SIMILARITY,))
    records = await taken(evaluation)
    replies = {
        key: one.model_copy(update={"evidence": {"web_search": searched}}) if one.contestant == "profile" else one
        for key, one in records.replies.items()
    }
    text = report_of(evaluation, records._replace(replies=replies))
    assert f"| profile{note} |" in text
    assert "| vanilla |" in text


async def test_moods_that_the_chat_model_did_not_score_are_told_beside_the_rules(library: Path) -> None:
    evaluation = compared(library, metrics=(SIMILARITY,))
    records = await taken(evaluation)

    def with_moods(encoder: str) -> str:
        replies = {
            key: one.model_copy(update={"evidence": {"mood": {"encoder": encoder}}})
            if one.contestant == "profile"
            else one
            for key, one in records.replies.items()
        }
        return report_of(evaluation, records._replace(replies=replies))

    assert "Emotions in profile were scored by embedding:minilm and not" in with_moods("embedding:minilm")
    assert "Emotions in" not in with_moods("model")


async def test_each_embedding_model_measures_the_roles_of_its_language(library: Path) -> None:
    evaluation = compared(library, metrics=(SIMILARITY,))
    records = await taken(evaluation)
    judged = {
        key: one.model_copy(update={"model": "zh"}) if records.replies[one.reply].role == "cid" else one
        for key, one in records.judged.items()
    }
    plan = evaluation.plan.model_copy(update={"embedders": {**evaluation.plan.embedders, "cid": "zh"}})
    found = tables(plan, mixed := records._replace(judged=judged))
    counts = {(one.judge, one.contestant): one.missing.n for one in found.rows if one.missing}
    assert counts["zh", "vanilla"] == 2
    assert counts["WordEmbeddings:words", "vanilla"] == 4
    assert found.valid
    assert "agree" not in markdown(plan, mixed, found)


async def test_the_report_of_a_run_is_written_with_all_of_it(library: Path) -> None:
    evaluation = compared(library, metrics=("accuracy", "refusal", SIMILARITY), seeds=(0, 1))
    await taken(evaluation)
    text, shown = (path.read_text(encoding="utf-8") for path in written_report(evaluation.folder))
    for heading in ("How far the judges can be believed", "Where the spread is from"):
        assert f"## {heading}" in text
        assert f"<h2>{heading}</h2>" in shown
