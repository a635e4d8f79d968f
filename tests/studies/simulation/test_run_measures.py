"""Measures of runs: what was measured is kept, what is missing is no zero, means and bands are what they say."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.cli.simulation.run_log import Cost, LoggedRun, MeasuredRun, measured_run
from dramaturg.evaluation.metrics.intervals import COSINE
from dramaturg.models.errors import ModelRefused, ModelUnavailable
from dramaturg.stores.conversations.kept_run import Busy
from dramaturg.stores.errors import RoleFileError
from studies.simulation.contrasts import Contrast, contrasts
from studies.simulation.curves import Reading, curves
from studies.simulation.measures import (
    UNITS,
    all_curves,
    cost_readings,
    costs,
    readings,
    repetition_readings,
    take_all,
    total,
    unknown,
)
from studies.simulation.tasks import Measure, MeasureScore, ScoreFile, Task, planned

from measured_runs import CANDIDATES, SHORT, STEPS, events_of, examiner, log_of, measure_settings, short_quiz, written
from property_settings import property_settings
from roles import fenced

pytestmark = pytest.mark.sample_of_file(6)

ALL = STEPS * len(CANDIDATES) * SHORT
HEAD = {
    "step": 1,
    "time": "2024-10-01T09:00",
    "kind": "run",
    "scenario": "x",
    "condition": "full",
    "steps": 7,
    "seed": 0,
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return log_of("full", tmp_path_factory.mktemp("runs"))


@pytest.fixture
def played(log: Path, tmp_path: Path) -> MeasuredRun:
    short_quiz(tmp_path)
    return measured_run(written(tmp_path / "full.jsonl", events_of(log)))


def plan(run: MeasuredRun, model: Any, *measures: Measure, **given: Any) -> list[Task]:
    return asyncio.run(planned(run, measures, measure_settings(run.path.parent, model, **given)))


def take(run: MeasuredRun, model: Any, *measures: Measure, **given: Any) -> Any:
    """Take measures, and give the tasks and the scores."""
    tasks = plan(run, model, *measures, **given)
    return tasks, asyncio.run(take_all(tasks, measure_settings(run.path.parent, model, **given)))


def breaks_after(number: int, error: Exception) -> Any:
    """A model that answers so many questions and then fails."""
    left = [number]

    def answer(text: str) -> str | Exception:
        left[0] -= 1
        return "I am an urban planner." if left[0] >= 0 else error

    return examiner(answer_quiz=answer)


def test_what_is_measured_is_not_asked_for_again(played: MeasuredRun) -> None:
    first, again = examiner(), examiner(answer_quiz="I am someone else.")
    before = played.path.read_bytes()
    _, scores = take(played, first, "recall")
    assert take(played, again, "recall")[1] == scores
    assert (len(first.calls), len(again.calls)) == (ALL, 0)
    assert played.path.read_bytes() == before


@pytest.mark.parametrize("number", [0, 1, 7, ALL - 1])
def test_a_measuring_that_ended_early_goes_on_where_it_was(played: MeasuredRun, number: int) -> None:
    with pytest.raises(ModelUnavailable):
        take(played, breaks_after(number, ModelUnavailable("gone")), "recall", concurrency=1)
    assert len(ScoreFile(played.path).read()) == number
    model = examiner()
    tasks, scores = take(played, model, "recall")
    assert len(model.calls) == ALL - number
    assert unknown(tasks, scores) == []
    assert len(events_of(ScoreFile(played.path).path)) == ALL


def test_a_measuring_that_is_cancelled_keeps_its_scores(played: MeasuredRun) -> None:
    asked, running = list[str](), list[Any]()

    def answer(text: str) -> str:
        asked.append(text)
        if len(asked) == 9:
            loop, task = running
            loop.call_soon_threadsafe(task.cancel)
        return "I am an urban planner."

    async def until_cancelled() -> None:
        running.extend([asyncio.get_running_loop(), asyncio.current_task()])
        context = measure_settings(played.path.parent, examiner(answer_quiz=answer), concurrency=1)
        await take_all(await planned(played, ["recall"], context), context)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(until_cancelled())
    assert 8 <= len(ScoreFile(played.path).read()) < ALL


def test_a_measuring_that_was_killed_asks_for_no_score_that_is_in_the_file(
    played: MeasuredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Exception):
        pass

    class Dying(ScoreFile):
        def write(self, scores: Any) -> None:
            if self.path.exists():
                raise Killed
            super().write(scores)

    with monkeypatch.context() as dying:
        dying.setattr("studies.simulation.measures.ScoreFile", Dying)
        dying.setattr("dramaturg.nodes.asking.AT_ONCE", 5)
        with pytest.raises(Killed):
            take(played, examiner(), "recall")
    kept = len(ScoreFile(played.path).read())
    assert 0 < kept < ALL
    model = examiner()
    take(played, model, "recall")
    assert len(model.calls) == ALL - kept
    assert len(events_of(ScoreFile(played.path).path)) == ALL


def test_an_answer_that_does_not_come_is_missing_and_asked_for_again(played: MeasuredRun) -> None:
    model = examiner(answer_quiz=lambda text: "" if "as Alice," in text and "for a living" in text else "I plan.")
    tasks, scores = take(played, model, "recall")
    points = all_curves([played], tasks, scores)["recall"]["full"]
    assert [(one.step, one.n, one.missing) for one in points] == [(1, 1, 1), (2, 1, 1)]  # of one run
    alice = [one for one in tasks if (one.agent, one.step) == ("alice", 1)]
    known = [score for one in alice if (score := scores[played.path][one.key].score) is not None]
    (found,) = (one for one in readings(tasks, scores, "recall") if (one.agent, one.step) == ("alice", 1))
    assert (len(known), found.missing) == (SHORT - 1, 1)
    assert found.value == pytest.approx(sum(known) / (SHORT - 1))
    lost = [one for one in scores[played.path].values() if one.score is None]
    assert all("no usable answer" in one.error and not one.answer for one in lost)
    model = examiner()
    assert unknown(tasks, take(played, model, "recall")[1]) == []
    assert len(model.calls) == len(lost) == STEPS


def test_where_nothing_is_answered_there_is_no_mean(played: MeasuredRun) -> None:
    tasks, scores = take(played, examiner(rate_alignment="well"), "alignment")
    points = all_curves([played], tasks, scores)["alignment"]["full"]
    assert [one[1:] for one in points] == [(None, None, None, 0, 2)] * STEPS


def test_a_refusal_of_all_questions_is_an_error(played: MeasuredRun) -> None:
    with pytest.raises(ModelRefused):
        take(played, examiner(why_aligned=ModelRefused("no")), "alignment")


def test_another_model_or_another_context_has_scores_of_its_own(played: MeasuredRun) -> None:
    other = examiner()
    object.__setattr__(other, "model_name", "other")
    changed = played._replace(contexts=[one.model_copy(update={"self_image": "?"}) for one in played.contexts])
    plans = [plan(played, examiner(), "recall"), plan(played, other, "recall"), plan(changed, examiner(), "recall")]
    assert len({one.key for tasks in plans for one in tasks}) == 3 * ALL
    assert [one.key for one in plan(played, examiner(), "recall")] == [one.key for one in plans[0]]


def test_two_who_measure_one_run_do_not_meet(played: MeasuredRun) -> None:
    with ScoreFile(played.path).opened(), pytest.raises(Busy, match=r"full\.measures\.jsonl: wait for it"):
        take(played, examiner(), "recall")


def test_a_damaged_score_is_named(played: MeasuredRun) -> None:
    take(played, examiner(), "recall")
    path = ScoreFile(played.path).path
    path.write_text(path.read_text(encoding="utf-8") + '{"key": 1}\n', encoding="utf-8")
    with pytest.raises(RoleFileError, match=rf"full.measures.jsonl, line {ALL + 1}: "):
        take(played, examiner(), "recall")


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        ([], "is no log of a run"),
        ([{"key": "a", "measure": "recall", "score": 0.5}], "is no log of a run"),
        ([{"kind": "action", "step": 1, "time": "", "agent": "alice", "text": "x"}], "is no log of a run"),
        ([{**HEAD}], "line 1: .*`agents` is missing"),
        ([{**HEAD, "agents": ["a"], "condition": "half"}], "line 1: .*`condition`"),
        ([{**HEAD, "agents": ["a"]}, {"kind": "cost", "step": 0, "time": ""}], "line 2: .*`step`"),
        ([{**HEAD, "agents": ["a"]}, ["action"]], "line 2: "),
    ],
)
def test_what_is_no_log_of_a_run_is_refused(tmp_path: Path, lines: list[Any], error: str) -> None:
    with pytest.raises(RoleFileError, match=error):
        measured_run(written(tmp_path / "log.jsonl", lines))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match="cannot be read"):
        measured_run(tmp_path / "log.jsonl")


@pytest.mark.parametrize(
    ("measure", "error"), [("recall", "identity"), ("recall_with_retrieval", "identity"), ("alignment", "chronicle")]
)
def test_a_run_without_anything_to_measure_is_refused(played: MeasuredRun, measure: Measure, error: str) -> None:
    others = played._replace(
        contexts=[one for one in played.contexts if one.agent == "ellen"],
        actions=[one for one in played.actions if one.agent == "ellen"],
    )
    with pytest.raises(ValueError, match=f"full.jsonl has nothing to measure: no agent .*{error}"):
        plan(others, examiner(), measure)


def test_a_branch_is_measured_from_where_it_left(played: MeasuredRun) -> None:
    events = events_of(played.path)
    second = next(at for at, one in enumerate(events) if one["step"] == 2)
    branch = {**events[0], "kind": "branch", "condition": "baseline", "of": "full.jsonl", "after": 1}
    left = measured_run(written(played.path.with_name("branch.jsonl"), [*events[:second], branch, *events[second:]]))
    assert left.about.condition == "baseline"
    assert {one.step for one in (*left.contexts, *left.actions)} == {2}
    assert costs(left) == costs(played)[1:]


def test_the_costs_of_steps_are_what_the_log_says_in_the_end(played: MeasuredRun) -> None:
    last = [one for one in events_of(played.path) if one["kind"] == "cost"][-1]
    whole = total(costs(played))
    assert whole[:4] == (STEPS, last["calls"], last["tokens"], last["lines"])
    assert whole.seconds == pytest.approx(last["seconds"])
    assert all(one.calls > 20 and one.lines == 4 for one in costs(played))
    for unit in UNITS:
        assert sum(one.value or 0 for one in cost_readings(played, unit)) == pytest.approx(getattr(whole, unit))


def test_how_much_talks_repeat_is_measured_hour_by_hour_and_asks_nobody(played: MeasuredRun) -> None:
    again = [(one.step, one.value, one.missing) for one in repetition_readings(played)]
    assert again == [(1, 2 / 3, 0), (2, 2 / 3, 0)]  # "I am Alice." and "I am Dorothy.", twice each, but for the first
    (curve,) = all_curves([played], [], {})["repetition"].values()
    assert [(one.step, one.mean, one.n) for one in curve] == [(1, 2 / 3, 1), (2, 2 / 3, 1)]


def test_a_run_in_which_nobody_talks_has_no_repetition(played: MeasuredRun) -> None:
    assert "repetition" not in all_curves([played._replace(lines=[])], [], {})


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=9))
def test_costs_are_differences_of_what_was_spent(steps: list[int]) -> None:
    spent = np.cumsum(steps).tolist()
    lines = [
        {"kind": "cost", "step": at, "time": "", "calls": n, "tokens": 2 * n, "lines": n % 7, "seconds": n / 8}
        for at, n in enumerate(spent, start=1)
    ]
    about = LoggedRun(step=1, time="", kind="run", scenario="x", condition="full", steps=1, seed=0, agents=("a",))
    found = costs(MeasuredRun(Path("x"), about, [], [], [Cost.model_validate(one) for one in lines], []))
    assert [(one.step, one.calls, one.tokens) for one in found] == [(n, s, 2 * s) for n, s in enumerate(steps, 1)]
    assert total(found).calls == sum(steps)


def test_runs_are_the_unit_and_not_their_agents() -> None:
    def at(run: str, *values: float) -> list[Reading]:
        return [Reading("full", run, str(agent), 1, value) for agent, value in enumerate(values)]

    (both,) = curves([*at("a", 3.0, 5.0), *at("b", 6.0)], (1.0, 10.0))["full"]
    (alone,) = curves([*at("a", 4.0), *at("b", 6.0)], (1.0, 10.0))["full"]
    assert both == alone
    assert (both.mean, both.n) == (5.0, 2)
    (single,) = curves(at("a", 3.0, 5.0), (1.0, 10.0))["full"]
    assert single[1:5] == (4.0, None, None, 1)


@pytest.mark.parametrize("runs", [200, pytest.param(4_000, marks=pytest.mark.crash)])
def test_the_interval_of_four_runs_covers_though_their_agents_go_together(runs: int) -> None:
    # Two agents of a run have a correlation of .6; a bootstrap of the eight of them covers .76.
    dice, held = np.random.default_rng(3), 0
    for _ in range(runs):
        of_run, own = dice.normal(0, 0.6**0.5, 4), dice.normal(0, 0.4**0.5, (4, 2))
        values = 5.5 + of_run[:, None] + own
        found = [
            Reading("full", f"{run}", f"{agent}", 1, float(values[run, agent]))
            for run in range(4)
            for agent in range(2)
        ]
        (point,) = curves(found, (1.0, 10.0))["full"]
        held += (point.low or 0) <= 5.5 <= (point.high or 0)
    assert held / runs >= 0.93 - 0.02 * (runs < 1_000)


def compared(values: dict[str, list[float]]) -> list[Contrast]:
    """Conditions with a value a seed, at one step."""
    return contrasts(
        {
            "alignment": [
                Reading(condition, f"{condition}{seed}", "", 1, value, pair=f"seed {seed}")
                for condition, of in values.items()
                for seed, value in enumerate(of)
            ]
        }
    )


def test_conditions_are_compared_by_pairs_of_runs_with_one_seed() -> None:
    base = [2.0, 8.0, 4.0, 6.0, 3.0, 7.0]
    (found,) = compared({"baseline": base, "id-rag": [one + 1 for one in base]})
    assert (found.first, found.second, found.interval.mean, found.interval.n) == ("id-rag", "baseline", 1.0, 6)
    assert found.test.p == 2 / 2**6  # by the values of runs alone nothing would be seen
    assert found.alone == ()
    (few,) = compared({"baseline": base[:3], "full": [3.0, 8.5, 6.0, 9.0]})
    assert few.alone == ("seed 3",)
    assert few.test.method.startswith("Student's t over 3 pairs")


def test_all_conditions_are_corrected_together_and_one_has_no_partner() -> None:
    found = compared({"baseline": [1.0, 2.0], "full": [2.0, 3.0], "id-rag": [3.0, 5.0]})
    assert [(one.first, one.second, one.corrected.n) for one in found] == [
        ("id-rag", "baseline", 2),
        ("full", "baseline", 2),
    ]
    assert compared({"full": [1.0, 2.0]}) == []


def test_one_pair_of_runs_has_no_p_and_is_not_counted_among_the_tests() -> None:
    (found,) = compared({"baseline": [1.0], "full": [2.0]})
    assert (found.interval.mean, found.test.p, found.corrected) == (1.0, None, None)
    found, alone = compared({"baseline": [1.0, 2.0], "full": [3.0], "id-rag": [2.0, 4.0]})
    assert (alone.test.p, alone.corrected) == (None, None)
    assert found.corrected
    assert found.corrected.n == 1


def test_steps_that_one_run_lacks_are_not_compared() -> None:
    def at(condition: str, *values: float) -> list[Reading]:
        return [Reading(condition, condition, "", step, one, pair="seed 0") for step, one in enumerate(values, 1)]

    (found,) = contrasts({"calls": [*at("full", 10.0, 20.0, 90.0), *at("baseline", 8.0, 12.0)]})
    assert found.interval.mean == 5.0


readings_of = st.lists(
    st.builds(
        Reading,
        st.sampled_from(["full", "baseline"]),
        st.sampled_from("xy"),
        st.sampled_from(CANDIDATES),
        st.integers(1, 3),
        st.none() | st.floats(-1, 1),
        st.integers(0, 3),
    ),
    max_size=12,
)


@given(readings_of)
@property_settings(40)
def test_every_observation_counts_once_in_its_curve(found: list[Reading]) -> None:
    drawn = curves(found, COSINE)
    assert sum(one.missing for points in drawn.values() for one in points) == sum(one.missing for one in found)
    for condition, points in drawn.items():
        assert [one.step for one in points] == sorted({one.step for one in found if one.condition == condition})
        for point in points:
            same = [one for one in found if (one.condition, one.step) == (condition, point.step)]
            runs = [[one.value for one in same if one.value is not None and one.run == run] for run in "xy"]
            means = [sum(of) / len(of) for of in runs if of]
            assert point.n == len(means)
            assert (point.mean is None) == (not means)
            assert point.mean is None or point.mean == pytest.approx(sum(means) / len(means), abs=1e-12)
            assert (point.low is None) == (len(means) < 2)


def test_a_score_reads_back(played: MeasuredRun) -> None:
    _, scores = take(played, examiner(answer_quiz="Ich plane Städte.\u2028 “So.”"), "recall")
    assert ScoreFile(played.path).read() == scores[played.path]
    line = events_of(ScoreFile(played.path).path)[0]
    assert set(line) == set(MeasureScore.model_fields)
    assert line["answer"] == "Ich plane Städte. “So.”"
    assert json.dumps(line)


def test_the_question_of_a_score_is_that_of_the_quiz(played: MeasuredRun) -> None:
    model = examiner()
    tasks = plan(played, model, "recall")
    asyncio.run(take_all(tasks[:3], measure_settings(played.path.parent, model, concurrency=1)))
    assert [fenced("question", call.text) for call in model.calls] == [one.asked for one in tasks[:3]]
