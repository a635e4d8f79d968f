"""Identity recall: each step's context is quizzed, and a score is a cosine that nobody has touched up."""

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings

from dramaturg.cli.simulation.run_log import Context, LoggedRun, MeasuredRun, measured_run
from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import ModelUnavailable
from dramaturg.prompts import load
from dramaturg.stores.library import open_role
from studies.simulation.measures import take_all
from studies.simulation.quiz import correctness, looked_up, quiz_messages, quiz_of
from studies.simulation.tasks import Measure, agent_settings, known_of, planned

from measured_runs import CANDIDATES, SHORT, STEPS, examiner, log_of, measure_settings, short_quiz
from property_settings import property_settings
from roles import WordEmbeddings

pytestmark = pytest.mark.sample_of_file(2)

PROFESSION = "Alice is by profession an urban planner."
VALUES = "Alice holds dear a culture that goes on unbroken and old buildings that stay, more than new technology."


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MeasuredRun]:
    folder = tmp_path_factory.mktemp("runs")
    return {condition: measured_run(log_of(condition, folder)) for condition in ("id-rag", "full", "baseline")}


def context_of(agent: str, run: MeasuredRun) -> Context:
    return next(one for one in run.contexts if one.agent == agent)


def plan(run: MeasuredRun, tmp_path: Path, measure: Measure, model: Any = None) -> Any:
    return asyncio.run(planned(run, [measure], measure_settings(tmp_path, model or examiner())))


@pytest.mark.parametrize(("role", "number"), [("alice", 20), ("bob", 20), ("charlie", 0), ("silver", 0)])
def test_a_quiz_is_of_the_questions_on_identity_alone(tmp_path: Path, role: str, number: int) -> None:
    assert len(quiz_of(open_role(role, tmp_path))) == number


def test_a_question_stands_behind_what_its_step_had_before_its_eyes(
    tmp_path: Path, runs: dict[str, MeasuredRun]
) -> None:
    at = context_of("alice", runs["id-rag"])
    identity = asyncio.run(known_of(agent_settings(measure_settings(tmp_path, examiner()), "alice"), at))
    system, user = quiz_messages(identity, at, "Who are you?", "She plans.")
    (acting, _) = load("take_action", "en").messages(
        role="Alice", situation="", self_image="", limits="", data={"question": ""}
    )
    assert system == acting
    parts = [
        at.situation,
        at.self_image,
        "<identity>\nShe plans.\n</identity>",
        "<question>\nWho are you?\n</question>",
    ]
    assert user.text.startswith("\n\n".join(parts))
    assert "<identity>\nShe" not in quiz_messages(identity, at, "Who are you?")[1].text


def test_each_step_is_quizzed_with_its_own_context(tmp_path: Path, runs: dict[str, MeasuredRun]) -> None:
    short_quiz(tmp_path)
    model = examiner()
    run = runs["baseline"]._replace(path=tmp_path / "run.jsonl")
    tasks = plan(run, tmp_path, "recall", model)
    assert len(tasks) == STEPS * len(CANDIDATES) * SHORT
    asyncio.run(take_all(tasks, measure_settings(tmp_path, model)))
    for at in runs["baseline"].contexts:
        asked = [call for call in model.calls if at.situation in call.text and at.self_image in call.text]
        assert len(asked) == (SHORT if at.agent in CANDIDATES else 0)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("condition", "calls"), [("id-rag", 2), ("full", 1), ("baseline", 1)])
def test_only_what_is_looked_up_in_the_run_is_looked_up_anew(
    tmp_path: Path, runs: dict[str, MeasuredRun], condition: str, calls: int
) -> None:
    short_quiz(tmp_path)
    model = examiner()
    run = runs[condition]._replace(path=tmp_path / "run.jsonl")
    anew, plain = (plan(run, tmp_path, measure, model) for measure in ("recall_with_retrieval", "recall"))
    assert ([one.key for one in anew] == [one.key for one in plain]) == (calls == 1)
    asyncio.run(take_all(anew, measure_settings(tmp_path, model)))
    assert len(model.calls) == calls * len(anew) == calls * STEPS * len(CANDIDATES) * SHORT


def test_what_is_looked_up_stands_beside_the_self_image_and_nothing_twice(
    tmp_path: Path, runs: dict[str, MeasuredRun]
) -> None:
    at = context_of("alice", runs["id-rag"])
    assert {PROFESSION, VALUES} <= {*at.self_image.splitlines()}
    query = '{"high_priority": ["values", "years_experience"], "medium_priority": [], "keywords": []}'
    model = examiner(query_identity=query)
    context = agent_settings(measure_settings(tmp_path, model), "alice")
    found = asyncio.run(looked_up(context, at, "For how many years?"))
    assert VALUES not in found
    assert "20" in found
    assert "<question>\nFor how many years?\n</question>" in model.calls[0].text
    assert at.situation in model.calls[0].text


def test_a_lookup_that_fails_looks_by_similarity(tmp_path: Path, runs: dict[str, MeasuredRun]) -> None:
    at = context_of("alice", runs["id-rag"])
    context = agent_settings(measure_settings(tmp_path, examiner(query_identity="no idea")), "alice")
    assert asyncio.run(looked_up(context, at, "For how many years have you done this work?"))


def test_an_identity_is_looked_up_for_the_quiz_as_in_the_run(tmp_path: Path, runs: dict[str, MeasuredRun]) -> None:
    short_quiz(tmp_path)
    told = {**runs["id-rag"].about.model_dump(), "identity_retrieval": "embedding"}
    run = runs["id-rag"]._replace(path=tmp_path / "run.jsonl", about=LoggedRun.model_validate(told))
    tasks = plan(run, tmp_path, "recall_with_retrieval", model := examiner())
    asyncio.run(take_all(tasks, measure_settings(tmp_path, model)))
    assert len(model.calls) == len(tasks)  # by similarity: no question names what is to be looked for


def test_a_model_that_cannot_be_reached_is_no_missing_answer(tmp_path: Path, runs: dict[str, MeasuredRun]) -> None:
    model = examiner(answer_quiz=ModelUnavailable("nobody there"))
    run = runs["full"]._replace(path=tmp_path / "run.jsonl")
    with pytest.raises(ModelUnavailable):
        asyncio.run(take_all(plan(run, tmp_path, "recall", model), measure_settings(tmp_path, model)))


def test_a_cosine_below_zero_stays_below_zero() -> None:
    class Opposites(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            return [1.0 if text == "yes" else -0.5, 0.0 if text == "yes" else 0.1]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    found = asyncio.run(correctness(Embedder("opposites", Opposites()), "yes", "no"))
    assert found == pytest.approx(-0.5 / math.hypot(0.5, 0.1))


texts = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8).map(" ".join)


@given(texts, texts)
@property_settings(60)
def test_a_score_is_the_cosine_whichever_of_the_two_is_right(answer: str, right: str) -> None:
    model = Embedder("words", WordEmbeddings())
    found = asyncio.run(correctness(model, answer, right))
    one, other = (WordEmbeddings().embed_query(text) for text in (answer, right))
    direct = math.fsum(a * b for a, b in zip(one, other, strict=True))
    direct /= math.sqrt(math.fsum(a * a for a in one) * math.fsum(b * b for b in other))
    assert found == pytest.approx(direct, abs=1e-5)
    assert found == asyncio.run(correctness(model, right, answer))
    assert asyncio.run(correctness(model, answer, answer)) == pytest.approx(1, abs=1e-5)
