"""Action alignment: a judge that sees the whole chronicle says why, and then how well."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dramaturg.cli.simulation.run_log import MeasuredRun, measured_run
from dramaturg.models.chat import chat_model
from dramaturg.models.errors import UnusableAnswer
from dramaturg.nodes.identity.chronicle import Identity
from studies.simulation.measures import readings, take_all
from studies.simulation.quiz import judged_deed
from studies.simulation.tasks import agent_settings, known_of, planned

from measured_runs import CANDIDATES, STEPS, examiner, log_of, measure_settings
from roles import fenced
from townspeople import BY_ALICE


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> MeasuredRun:
    return measured_run(log_of("id-rag", tmp_path_factory.mktemp("runs")))


@pytest.fixture
def played(run_once: MeasuredRun, tmp_path: Path) -> MeasuredRun:
    return run_once._replace(path=tmp_path / "run.jsonl")


@pytest.fixture
def alice(played: MeasuredRun, tmp_path: Path) -> Identity:
    context = agent_settings(measure_settings(tmp_path, examiner()), "alice")
    return asyncio.run(known_of(context, played.actions[0]))


def judged(model: Any, identity: Identity) -> Any:
    return asyncio.run(judged_deed(chat_model(model), identity, "Alice tears the old bridge down."))


def test_a_judge_sees_all_of_the_identity_and_the_deed_and_then_its_own_reason(alice: Identity) -> None:
    model = examiner(why_aligned="It goes against\n what she holds dear.", rate_alignment='{"answer": 1}')
    assert judged(model, alice) == ("It goes against what she holds dear.", 1.0)
    first, second = (call.text for call in model.calls)
    for text in (first, second):
        lines = fenced("identity", text).splitlines()
        assert lines == [alice.sentence(one) for one in alice.triples]
        assert len(lines) >= 15
        assert fenced("deed", text) == "Alice tears the old bridge down."
    assert "<reason>" not in first.split("# user")[-1].split("<identity>\n")[-1]
    assert fenced("reason", second) == "It goes against what she holds dear."


@pytest.mark.parametrize("score", [1, 5, 10])
def test_the_whole_scale_can_be_said(alice: Identity, score: int) -> None:
    assert judged(examiner(rate_alignment=f'{{"answer": {score}}}'), alice).score == score


@pytest.mark.parametrize("said", ['{"answer": 0}', '{"answer": 11}', "well", ""])
def test_what_is_beyond_the_scale_is_no_score(alice: Identity, said: str) -> None:
    with pytest.raises(UnusableAnswer):
        judged(examiner(rate_alignment=said), alice)


def test_only_deeds_of_those_with_a_chronicle_are_judged_and_by_the_judge(tmp_path: Path, played: MeasuredRun) -> None:
    agent, judge = examiner(), examiner(rate_alignment=lambda text: "9" if BY_ALICE in text else "4")
    context = measure_settings(tmp_path, agent, judge=judge)
    tasks = asyncio.run(planned(played, ["alignment"], context))
    assert [one.agent for one in tasks] == [*CANDIDATES] * STEPS
    scores = asyncio.run(take_all(tasks, context))
    assert (len(agent.calls), len(judge.calls)) == (0, 2 * len(tasks))
    found = {(one.agent, one.step): one.value for one in readings(tasks, scores, "alignment")}
    assert found == {("alice", 1): 9, ("bob", 1): 4, ("alice", 2): 9, ("bob", 2): 4}
    kept = scores[played.path][tasks[0].key]
    assert (kept.asked, kept.answer, kept.time, kept.score) == (BY_ALICE, "It fits.", played.actions[0].time, 9)


def test_who_answers_judges_where_nobody_else_is_named(tmp_path: Path, played: MeasuredRun) -> None:
    model = examiner()
    context = measure_settings(tmp_path, model)
    asyncio.run(take_all(asyncio.run(planned(played, ["alignment"], context)), context))
    assert len(model.calls) == 2 * STEPS * len(CANDIDATES)
