"""An object that a model gives: what is good in it is kept, what is bad is left out and said."""

import json
from contextlib import suppress
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from dramaturg.models.chat import chat_model
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.extracted import Extracted, cut_text, read_extracted
from dramaturg.models.loose import NumberOf, Scale
from dramaturg.models.questions import extract
from dramaturg.models.reading import InvalidAnswer

from fakes import scripted

Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]


class Entity(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Short
    kind: Literal["person", "place"]
    sentence: Annotated[int, NumberOf(9)]


class Tie(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: Short
    target: Short
    strong: bool


class Facts(Extracted):
    entities: list[Entity] = Field(max_length=3)
    ties: list[Tie] = Field(max_length=3)


class Score(Extracted):
    reason: Short
    score: Annotated[int, Scale(1, 5)]


TOM: dict[str, Any] = {"name": "Tom", "kind": "person", "sentence": 1}
TIE: dict[str, Any] = {"source": "Tom", "target": "Ada", "strong": True}


def facts(*entities: Any, ties: Any = (TIE,)) -> str:
    return json.dumps({"entities": entities, "ties": ties})


def names(found: Facts) -> list[str]:
    return [one.name for one in found.entities]


def test_a_whole_answer_has_nothing_left_out() -> None:
    found = read_extracted(Facts, facts(TOM))
    assert (names(found), found.dropped) == (["Tom"], ())


@pytest.mark.parametrize(
    "bad",
    [
        {**TOM, "sentence": 99},
        {**TOM, "kind": "weather"},
        {**TOM, "name": " "},
        {"name": "Ada"},
        {**TOM, "sentence": True},
        {**TOM, "sentence": 1.5},
        "Ada",
        None,
        [1],
    ],
)
def test_an_item_that_means_nothing_costs_that_item(bad: Any) -> None:
    found = read_extracted(Facts, facts(bad, TOM, ties=[TIE, "x"]))
    assert (names(found), len(found.ties), len(found.dropped)) == (["Tom"], 1, 2)
    assert any(note.startswith("entities 1") for note in found.dropped)


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ({"sentence": "7"}, {"sentence": 7}),
        ({"sentence": 7.0}, {"sentence": 7}),
        ({"sentence": " 7. "}, {"sentence": 7}),
        ({"kind": "PERSON"}, {"kind": "person"}),
        ({"kind": "Place."}, {"kind": "place"}),
        ({"name": 1904}, {"name": "1904"}),
        ({"why": "He is named."}, {}),
    ],
)
def test_a_value_in_another_spelling_is_read(change: dict[str, Any], read: dict[str, Any]) -> None:
    found = read_extracted(Facts, facts({**TOM, **change}))
    assert found.entities == [Entity(**{**TOM, **read})]
    assert found.dropped == ()


def test_of_a_bad_item_the_first_fault_is_said() -> None:
    found = read_extracted(Facts, facts({"name": " ", "kind": "weather", "sentence": 99}, TOM))
    assert found.dropped == ("entities 1 name: String should have at least 1 character",)


def test_keys_in_another_spelling_are_read() -> None:
    found = read_extracted(
        Facts, json.dumps({"Entities": [{"Name": "Tom", "KIND": "person", "sentence": 1}], "ties": []})
    )
    assert names(found) == ["Tom"]


def test_too_many_keep_the_first() -> None:
    found = read_extracted(Facts, facts(*({**TOM, "name": f"Tom {number}"} for number in range(9))))
    assert names(found) == ["Tom 0", "Tom 1", "Tom 2"]
    assert found.dropped == ("entities: 6 beyond 3 left out",)


def test_a_text_that_is_too_long_is_cut_at_a_sentence_or_a_word() -> None:
    score = {"reason": "He keeps the light. And then he says much more of it.", "score": 4}
    found = read_extracted(Score, json.dumps(score))
    assert (found.reason, found.score) == ("He keeps the light.", 4)
    assert found.dropped == ("reason: cut to 40 characters",)
    assert cut_text("one two three four", 12) == "one two…"
    assert cut_text("守灯人说他不会离开。然后他走了很远很远的路。", 12) == "守灯人说他不会离开。"
    assert cut_text("守灯人说他不会离开这里", 6) == "守灯人说他…"


@given(st.text(max_size=200), st.integers(2, 60))
def test_a_cut_text_is_a_beginning_within_the_limit(text: str, most: int) -> None:
    cut = cut_text(text, most)
    assert len(cut) <= most
    assert text.startswith(cut.removesuffix("…"))


@pytest.mark.parametrize(
    "around",
    ["{}", "Certainly! Here it is:\n```json\n{}\n```\nAsk me for more [anything].", "<think>[1, 2]</think>\n{}"],
)
def test_prose_around_an_object_is_looked_through(around: str) -> None:
    assert names(read_extracted(Facts, around.replace("{}", facts(TOM)))) == ["Tom"]


def test_of_several_objects_in_prose_the_longest_is_read() -> None:
    said = f'First {{"entities": [], "ties": []}}, and now {facts(TOM)}. Or {{"ties": []}}?'
    assert names(read_extracted(Facts, said)) == ["Tom"]


def test_a_bare_list_is_sorted_into_the_lists_that_were_asked_for() -> None:
    found = read_extracted(Facts, json.dumps([TOM, TIE]))
    assert (names(found), len(found.ties)) == (["Tom"], 1)


def test_a_wrapper_is_taken_off() -> None:
    assert names(read_extracted(Facts, json.dumps({"answer": {"entities": [TOM], "ties": None}}))) == ["Tom"]


@pytest.mark.parametrize(
    "text",
    [
        "I would rather not.",
        facts({**TOM, "sentence": 99}, ties=[]),
        '{"reason": "Well.", "score": 9}',
        '{"score": 4}',
        '{"reason": "Well.", "score": NaN}',
    ],
)
def test_where_nothing_good_is_left_there_is_no_answer(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        read_extracted(Score if "score" in text else Facts, text)


def test_nothing_found_is_an_answer() -> None:
    assert read_extracted(Facts, facts(ties=[])) == Facts(entities=[], ties=[])


async def test_what_could_be_read_is_the_answer_where_none_is_whole() -> None:
    half = json.dumps({"entities": [TOM]})
    model = scripted(half, half, half)
    found = await extract(chat_model(model), [HumanMessage("Who?")], Facts)
    assert (names(found), found.dropped) == (["Tom"], ("ties: not there",))
    assert "ties: not there" in model.calls[1].text


async def test_a_whole_answer_comes_before_a_part_of_one() -> None:
    model = scripted(json.dumps({"entities": [TOM]}), facts({**TOM, "name": "Ada"}))
    assert names(await extract(chat_model(model), [HumanMessage("Who?")], Facts)) == ["Ada"]


async def test_of_an_answer_that_was_cut_the_whole_items_are_kept() -> None:
    text = facts(TOM, {**TOM, "name": "Ada"}, ties=[])
    cut = AIMessage(text[: text.index("Ada") + 2], response_metadata={"finish_reason": "length"})
    model = scripted(cut, cut, cut)
    found = await extract(chat_model(model), [HumanMessage("Who?")], Facts)
    assert names(found) == ["Tom"]
    assert "the end: it was cut at the token limit" in found.dropped


def test_the_item_at_which_an_answer_was_cut_is_left_out_though_it_looks_whole() -> None:
    text = json.dumps({"ties": [], "entities": [TOM, {"kind": "person", "sentence": 2, "name": "Ada"}]})
    text = text[: text.index("Ada") + 2]
    with pytest.raises(InvalidAnswer) as error:
        read_extracted(Facts, text, cut=True)
    assert names(error.value.rest) == ["Tom"]


async def test_a_form_reads_what_else_a_model_writes() -> None:
    def form(value: Any) -> Any:
        return {"reason": value["because"], "score": value["mark"]}

    model = scripted('{"because": "He stays.", "mark": "4"}')
    found = await extract(chat_model(model), [HumanMessage("How well?")], Score, form=form)
    assert (found.reason, found.score) == ("He stays.", 4)


async def test_bad_answers_without_anything_good_are_no_answer() -> None:
    model = scripted("no", "no", "no")
    with pytest.raises(UnusableAnswer):
        await extract(chat_model(model), [HumanMessage("Who?")], Facts)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from([TOM, TIE]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["entities", "ties", "name", "kind", "sentence", "dropped", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_value_breaks_the_reader(value: Any) -> None:
    with suppress(InvalidAnswer):
        assert isinstance(read_extracted(Facts, json.dumps(value)), Facts)
