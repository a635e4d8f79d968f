"""Guided selection: who judges how many passages at once, what counts, and what happens when nobody can."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.models.errors import ModelRefused, ModelUnavailable, PromptRefused, RequestRejected
from dramaturg.testing import Answer
from dramaturg.workflows.amadeus import AmadeusContext, build

from fakes import ScriptedChatModel, weighing, yes_with
from roles import actor, fenced, run_settings, said, small_role

QUESTION = "Do storms make you afraid?"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    small_role(tmp_path)
    return tmp_path


async def turn(library: Path, model: ScriptedChatModel, mode: Any = "values", **settings: Any) -> list[Any]:
    """What one turn streams in a mode."""
    context = AmadeusContext(**run_settings(library, model, **settings))
    stream = build().compile().astream({"messages": [("user", QUESTION)]}, context=context, stream_mode=mode)
    return [part async for part in stream]


async def selection(library: Path, model: ScriptedChatModel, **settings: Any) -> dict[str, Any]:
    """The evidence of guided selection after one turn."""
    return (await turn(library, model, **settings))[-1]["evidence"]["selection"]


async def ranking(library: Path) -> list[str]:
    """The texts of all passages, the most similar first."""
    values = await turn(library, actor(), knowledge=7)
    return [passage["text"] for passage in values[-1]["evidence"]["knowledge"]]


def judge(judged: Callable[[str], Answer | None]) -> ScriptedChatModel:
    """Say of a passage what `judged` says of it, where that is something, else yes."""
    usual = actor()

    def reply(messages: list[BaseMessage]) -> Any:
        passage = fenced("passage", said(messages))
        return (passage and judged(passage)) or usual.reply(messages)

    return ScriptedChatModel(reply=reply)


def verdicts(evidence: dict[str, Any]) -> list[str]:
    return [verdict["verdict"] for verdict in evidence["verdicts"]]


@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize("text", ["Storms make her cheerful", "mail boat"], ids=["first", "later"])
async def test_one_passage_that_the_model_cannot_be_reached_for_is_failed(
    library: Path, at_once: int, text: str
) -> None:
    model = judge(lambda passage: ModelUnavailable("busy") if text in passage else None)
    evidence = await selection(library, model, slots=7, judged_at_once=at_once)
    assert sorted(verdicts(evidence)) == ["failed", *["yes"] * 6]
    assert [v["error"] for v in evidence["verdicts"] if v["error"]] == ["ModelUnavailable"]
    assert evidence["failed"] == 1
    assert evidence["fallback"] is None


async def test_a_batch_that_fails_after_others_were_judged_is_failed(library: Path) -> None:
    texts = await ranking(library)
    model = judge(lambda passage: '{"answer": "no"}' if texts[0] in passage else ModelUnavailable("busy"))
    evidence = await selection(library, model, slots=1, judged_at_once=2)
    assert verdicts(evidence) == ["no", *["failed"] * 6]
    assert evidence["fallback"] == "top-K+1"


@pytest.mark.parametrize("at_once", [1, 8])
async def test_a_model_that_can_be_reached_for_no_passage_is_an_error(library: Path, at_once: int) -> None:
    with pytest.raises(ModelUnavailable, match="could be judged"):
        await selection(library, judge(lambda _: ModelUnavailable("nobody there")), judged_at_once=at_once)


async def test_a_server_that_refuses_the_key_is_an_error_at_once(library: Path) -> None:
    model = judge(lambda _: ModelRefused("the key is refused"))
    with pytest.raises(ModelRefused, match="the key is refused"):
        await selection(library, model, judged_at_once=1)
    assert len({fenced("passage", call.text) for call in model.calls}) == 1


async def test_one_refusal_of_the_key_among_verdicts_is_an_error(library: Path) -> None:
    model = judge(lambda passage: ModelRefused("the key has expired") if "mail boat" in passage else None)
    with pytest.raises(ModelRefused):
        await selection(library, model, slots=7)


@pytest.mark.parametrize("error", [RequestRejected("no such parameter"), PromptRefused("too long")])
async def test_a_passage_whose_request_is_rejected_is_failed(library: Path, error: Exception) -> None:
    model = judge(lambda passage: error if "mail boat" in passage else None)
    evidence = await selection(library, model, slots=7)
    assert sorted(verdicts(evidence)) == ["failed", *["yes"] * 6]


@pytest.mark.parametrize(
    ("bounds", "first"),
    [
        ({"concurrency": 2, "judged_at_once": 8}, 2),
        ({"concurrency": 8, "judged_at_once": 3}, 3),
        ({"concurrency": 8, "judged_at_once": 8}, 4),
        ({"concurrency": 8, "judged_at_once": 8, "search_limit": 1}, 1),
    ],
)
async def test_no_batch_is_larger_than_what_the_model_answers_at_once(
    library: Path, bounds: dict[str, int], first: int
) -> None:
    updates = await turn(library, actor(), "updates", **bounds)
    batches = [part["judge"]["verdicts"] for part in updates if "judge" in part]
    assert len(batches[0]) == first


@pytest.mark.parametrize(
    ("probability", "accept_above", "verdict"),
    [
        (0.51, None, "yes"),
        (0.49, None, "no"),
        (0.6, 0.0, "yes"),
        (0.6, 0.59, "yes"),
        (0.6, 0.61, "no"),
        (0.6, 1.0, "no"),
    ],
)
async def test_the_threshold_of_the_context_says_from_which_probability_a_passage_is_accepted(
    library: Path, probability: float, accept_above: float | None, verdict: str
) -> None:
    model = weighing(judge(lambda _: yes_with(probability)))
    evidence = await selection(library, model, accept_above=accept_above)
    assert {*verdicts(evidence)} == {verdict}
    assert all(one["certainty"] == pytest.approx(probability) for one in evidence["verdicts"])


async def test_what_one_at_a_time_would_not_have_judged_is_wasted(library: Path) -> None:
    evidence = await selection(library, actor(), slots=2, judged_at_once=4)
    assert verdicts(evidence) == ["yes"] * 4
    assert [verdict["wasted"] for verdict in evidence["verdicts"]] == [False, False, True, True]
    assert (evidence["judged"], evidence["wasted"], len(evidence["selected"])) == (4, 2, 2)


async def test_a_wasted_judgement_that_failed_is_no_failure(library: Path) -> None:
    texts = await ranking(library)
    model = judge(lambda passage: "perhaps" if texts[1] in passage or texts[3] in passage else None)
    evidence = await selection(library, model, slots=2, judged_at_once=4)
    assert verdicts(evidence) == ["yes", "failed", "yes", "failed"]
    assert (evidence["failed"], evidence["wasted"]) == (1, 1)


async def test_a_streamed_verdict_does_not_claim_to_count(library: Path) -> None:
    events = [event for event in await turn(library, actor(), "custom") if event["event"] == "judged"]
    assert len(events) == 4
    for event in events:
        assert set(event) == {"event", "passage", "score", "verdict", "certainty", "error"}


@pytest.mark.parametrize(("fallback", "passages"), [("top-K+1", 4), ("top-K", 3)])
async def test_the_fallback_is_not_cut_short_by_the_search_limit(library: Path, fallback: str, passages: int) -> None:
    model = actor(lambda _: False)
    evidence = await selection(library, model, search_limit=1, slots=3, knowledge=1, fallback=fallback)
    assert evidence["judged"] == 1
    assert evidence["fallback"] == fallback
    assert [passage["text"] for passage in evidence["selected"]] == (await ranking(library))[:passages]


class FixedLogits:
    """A cross-encoder that finds people relevant, and the harbour master most."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        self.questions.append(question)
        return [1.0 if "harbour" in p else -1.0 if "brother" in p else -9.0 for p in passages]


@pytest.mark.parametrize(
    ("accept_above", "selected"), [(None, {1.0, -1.0}), (-1.0, {1.0, -1.0}), (0.0, {1.0}), (-20, {1.0, -1.0, -9.0})]
)
async def test_the_cross_encoder_judges_by_its_logits_and_the_model_is_not_asked(
    library: Path, monkeypatch: pytest.MonkeyPatch, accept_above: float | None, selected: set[float]
) -> None:
    encoder, model = FixedLogits(), actor()
    monkeypatch.setattr("dramaturg.nodes.passages.selection.cross_encoder", lambda: encoder)
    evidence = await selection(library, model, selection_judge="cross-encoder", accept_above=accept_above, slots=7)
    chosen = {passage["passage"] for passage in evidence["selected"]}
    assert {v["certainty"] for v in evidence["verdicts"] if v["passage"] in chosen} == selected
    assert evidence["judged"] == 7
    assert set(encoder.questions) == {QUESTION}
    assert not any("<passage>" in call.text for call in model.calls)
