"""The five kinds of questions, asked of a scripted model: what is read, what is asked again, and how."""

import json
import math
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field

from dramaturg.models.asking import UNREADABLE
from dramaturg.models.chat import chat_model
from dramaturg.models.clock import TurnClock
from dramaturg.models.errors import ModelError, UnusableAnswer
from dramaturg.models.extracted import read_extracted
from dramaturg.models.questions import (
    NO,
    YES,
    Decision,
    choose,
    decide,
    expected,
    extract,
    probability_of_yes,
    rate,
    write,
)
from dramaturg.models.reading import (
    MAX_CHARACTERS,
    InvalidAnswer,
    NoProbabilities,
    Undecided,
    clean,
    first_token,
    parse_json,
)

from fakes import ScriptedChatModel, scripted, weighing, yes_with

MESSAGES = [SystemMessage("Judge."), HumanMessage("Is it so?")]
ANY_TEXT = st.text(st.characters(codec=None, categories=None))


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    verdict: Literal["guilty", "innocent"]
    reasons: tuple[str, ...] = Field(default=(), max_length=3)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        *((one, True) for one in ("yes", "Yes.", " YES!\n", '{"answer": "yes"}', '{"answer": true}', "是。", "예")),
        *((one, False) for one in ("no", "No.", '```json\n{"answer": "no"}\n```', "false", "不是", "아니요")),
    ],
)
async def test_yes_and_no(text: str, answer: bool) -> None:
    assert await decide(chat_model(scripted(text)), MESSAGES) == Decision(answer, None)


async def test_words_of_ones_own() -> None:
    asked = chat_model(scripted("out of scope"))
    assert not (await decide(asked, MESSAGES, yes=["in scope"], no=["out of scope"])).answer


@pytest.mark.parametrize("text", ["4", " 4.", '{"answer": 4}', '{"answer": "4"}', "4.0", "４", "4/10", "four"])
async def test_a_number_in_digits(text: str) -> None:
    assert (await rate(chat_model(scripted(text)), MESSAGES, low=1, high=10)).value == 4


@pytest.mark.parametrize("text", ["many", "0", "11", "true", "-4", "4/5", "9" * 5000, ""])
async def test_what_is_not_a_number_on_the_scale(text: str) -> None:
    with pytest.raises(UnusableAnswer):
        await rate(chat_model(scripted(text)), MESSAGES, low=1, high=10)


async def test_a_scale_goes_up() -> None:
    with pytest.raises(ValueError, match="go up"):
        await rate(chat_model(scripted("4")), MESSAGES, low=5, high=5)


@pytest.mark.parametrize("text", ["2", "green", "Green.", '{"answer": 2}', '{"answer": "green"}'])
async def test_a_choice_by_number_or_text(text: str) -> None:
    model = scripted(text)
    assert await choose(chat_model(model), MESSAGES, ["red", "green", "blue"]) == "green"
    assert "2. green" in model.calls[0].text


async def test_options_that_are_numbers() -> None:
    assert await choose(chat_model(scripted("1")), MESSAGES, ["3", "2", "1"]) == "3"  # the label


@pytest.mark.parametrize("options", [[], ["red", "Red"]])
async def test_options_must_differ(options: list[str]) -> None:
    with pytest.raises(ValueError, match="differ"):
        await choose(chat_model(scripted("1")), MESSAGES, options)


async def test_an_object() -> None:
    text = '{"verdict": "guilty", "reasons": ["a\\u0000b"]}'
    assert await extract(chat_model(scripted(text)), MESSAGES, Verdict) == Verdict(verdict="guilty", reasons=("ab",))


async def test_a_text() -> None:
    model = scripted(" Good evening, my friend.\n")
    assert await write(chat_model(model), MESSAGES, temperature=0.3, max_tokens=10) == "Good evening, my friend."


async def test_settings_are_given_to_models_that_have_them() -> None:
    model = ScriptedChatModel(reply=lambda _: "Hm.", temperature=1)
    await write(chat_model(model), MESSAGES, temperature=0.3)
    await write(chat_model(model), MESSAGES)
    assert [call.parameters["temperature"] for call in model.calls] == [0.3, 1]


@pytest.mark.parametrize(
    ("language", "words"), [("en", "Answer again"), ("zh", "请重新回答"), ("ko", "다시 답하고"), ("de", "Answer again")]
)
async def test_the_model_is_told_what_was_wrong(language: str, words: str) -> None:
    model = scripted('{"verdict": "dead"}', '{"verdict": "guilty"}')
    await extract(chat_model(model, language=language), MESSAGES, Verdict)
    *asked, said, told = model.calls[1].messages
    assert asked == model.calls[0].messages
    assert said == AIMessage('{"verdict": "dead"}')
    assert words in told.text
    assert "verdict: Input should be 'guilty' or 'innocent'" in told.text
    assert '"enum": ["guilty", "innocent"]' in told.text
    assert '"required": ["verdict", "reasons"]' in told.text


async def test_a_long_answer_is_shown_shortened() -> None:
    model = scripted("x" * 100_000, '{"verdict": "guilty"}')
    await extract(chat_model(model), MESSAGES, Verdict)
    assert len(model.calls[1].messages[-2].text) == 2000


@pytest.mark.parametrize("nothing", ["", "x" * (MAX_CHARACTERS + 1)])
async def test_an_answer_that_cannot_be_shown_is_asked_for_again(nothing: str) -> None:
    model = scripted(nothing, "yes")
    assert (await decide(chat_model(model), MESSAGES)).answer
    assert model.calls[1].messages == model.calls[0].messages


@pytest.mark.parametrize(("threshold", "answer"), [(0.49, True), (0.5, True), (0.51, False)])
async def test_a_yes_is_at_least_as_probable_as_the_threshold(threshold: float, answer: bool) -> None:
    model = weighing(ScriptedChatModel(reply=lambda _: yes_with(0.5)))
    assert await decide(chat_model(model), MESSAGES, threshold=threshold) == Decision(answer, 0.5)


@pytest.mark.parametrize("attempts", [1, 2, 4])
async def test_attempts_bound_the_calls(attempts: int) -> None:
    model = scripted("perhaps")
    with pytest.raises(UnusableAnswer, match=rf"'scripted'.*'decide' in {attempts} attempt"):
        await decide(chat_model(model, attempts=attempts), MESSAGES)
    assert len(model.calls) == attempts


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), RuntimeError("secret"), OSError("secret")])
async def test_errors_of_a_model_are_typed(error: Exception) -> None:
    for question in (decide, write):
        with pytest.raises(ModelError) as caught:
            await question(chat_model(scripted(error)), MESSAGES)
        assert "secret" not in str(caught.value)


async def test_errors_of_a_test_are_not_hidden() -> None:
    def wrong(_: object) -> str:
        raise AssertionError

    with pytest.raises(AssertionError):
        await decide(chat_model(ScriptedChatModel(reply=wrong)), MESSAGES)


async def test_a_refusal_is_no_text() -> None:
    model = scripted(AIMessage("", additional_kwargs={"refusal": "I cannot."}))
    with pytest.raises(UnusableAnswer):
        await write(chat_model(model), MESSAGES)


@given(ANY_TEXT)
def test_cleaned_text_can_be_stored(text: str) -> None:
    stored = clean(text)
    assert "\0" not in stored
    assert stored.encode().decode() == stored
    assert clean(stored) == stored


@given(st.text())
def test_text_that_can_be_stored_stays(text: str) -> None:
    assert clean(text) == text.replace("\0", "")


NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.booleans())
def test_json_is_parsed(data: Any, fenced: bool) -> None:
    text = json.dumps(data)
    assert parse_json(f"```json\n{text}\n```" if fenced else text) == json.loads(text.replace("\\u0000", ""))


@given(ANY_TEXT | st.lists(st.sampled_from('{}[]",:0eE+-NaInfity\\u "'), max_size=60).map("".join))
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(InvalidAnswer):
        assert isinstance(read_extracted(Verdict, text), Verdict)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 95_000 + "]" * 95_000])
def test_deep_brackets(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        read_extracted(Verdict, text)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', "[-Infinity]", "1e999", '{"a": 1} {}', "9" * 5000])
def test_json_is_strict(text: str) -> None:
    with pytest.raises(ValueError, match=r"twice|not a number in JSON|Extra data|integer string"):
        parse_json(text)


PROBABILITIES = st.dictionaries(
    st.sampled_from(["yes", "y", "no", "n", "是", "不", "1", "2", "5", "9", "10", "the"]), st.floats(0, 1)
)


@given(PROBABILITIES)
def test_a_probability_is_one(tokens: dict[str, float]) -> None:
    try:
        assert 0 <= probability_of_yes(tokens, YES, NO) <= 1
    except Undecided:
        assert sum(tokens.get(word, 0) for word in ("yes", "y", "no", "n", "是", "不")) < 0.05


@given(PROBABILITIES)
def test_an_expected_value_is_on_the_scale(tokens: dict[str, float]) -> None:
    try:
        rating = expected(tokens, range(1, 6))
    except Undecided:
        return
    assert 1 <= rating.value <= 5
    assert rating.distribution
    assert math.isclose(sum(rating.distribution.values()), 1)


def test_a_token_that_begins_both_answers_counts_for_neither() -> None:
    assert probability_of_yes({"in": 0.6, "inside": 0.1, "outside": 0.3}, ["inside"], ["outside"]) == pytest.approx(0.7)
    assert probability_of_yes({"i": 0.6, "in": 0.1, "it": 0.3}, ["in"], ["it"]) == pytest.approx(0.25)
    assert probability_of_yes({"not": 0.5, "no": 0.1, "yes": 0.1}, YES, NO) == pytest.approx(0.5)


def test_spellings_of_a_token_are_one() -> None:
    top = [{"token": token, "logprob": math.log(0.2)} for token in ("Yes", " yes", "YES", "**", "\n")]
    message = AIMessage("", response_metadata={"logprobs": {"content": [{"top_logprobs": top}]}})
    assert first_token(message) == pytest.approx({"yes": 0.6})


@given(JSON)
def test_no_log_probabilities_break_the_reader(data: Any) -> None:
    for logprobs in (data, {"content": data}, {"content": [{"top_logprobs": data}]}):
        try:
            tokens = first_token(AIMessage("", response_metadata={"logprobs": logprobs}))
        except NoProbabilities:
            continue
        assert all(p >= 0 for p in tokens.values())


async def test_a_model_that_cannot_answer_is_not_asked_thirty_times_in_a_step() -> None:
    in_turn = replace(chat_model(scripted("Who knows?")), clock=TurnClock(60))
    errors = [await error_of(decide(in_turn, MESSAGES)) for _ in range(10)]
    assert in_turn.account.usage()["calls"] == UNREADABLE * in_turn.attempts
    assert in_turn.account.usage().get("unanswered") == 10
    assert "is asked no more of them in this step" in str(errors[-1])
    assert "in this step" not in str(errors[UNREADABLE - 1])


async def test_answers_without_use_are_counted_by_kind_and_in_a_row_and_an_index_asks_all() -> None:
    alternating = scripted(*(["Who knows?", "Who knows?", "yes"] * 5))
    in_turn = replace(chat_model(alternating, attempts=1), clock=TurnClock(60))
    for _ in range(15):
        with suppress(UnusableAnswer):
            await decide(in_turn, MESSAGES)
    assert in_turn.account.usage()["calls"] == 15
    model = chat_model(ScriptedChatModel(reply=lambda asked: "4" if "rate" in asked[0].text else "?"))
    cannot_decide = replace(model, clock=TurnClock(60))
    for _ in range(UNREADABLE):
        await error_of(decide(cannot_decide, MESSAGES))
    assert (await rate(cannot_decide, [HumanMessage("rate it")], low=1, high=5)).value == 4
    indexing = replace(chat_model(scripted("Who knows?"), attempts=1), clock=TurnClock(math.inf))
    for _ in range(10):
        with pytest.raises(UnusableAnswer):
            await decide(indexing, MESSAGES)
    assert indexing.account.usage()["calls"] == 10


async def error_of(question: Awaitable[Any]) -> UnusableAnswer:
    with pytest.raises(UnusableAnswer) as caught:
        await question
    return caught.value
