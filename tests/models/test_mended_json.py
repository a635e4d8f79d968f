"""Answers that are nearly JSON are read, as far as there is one way to read them; a half is never taken for a whole."""

import json
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, Field

from dramaturg.models.chat import chat_model
from dramaturg.models.extracted import Extracted, read_extracted
from dramaturg.models.questions import decide, extract, rate
from dramaturg.models.reading import InvalidAnswer, decoded, object_in, short_answer, word_answer

from fakes import scripted

MESSAGES = [HumanMessage("Who is there?")]
BOUND = 5  # seconds, on a machine that does other things; without the bounds it is a minute and more


class Person(BaseModel):
    name: Annotated[str, Field(max_length=80)]
    alive: bool = True
    home: str | None = None


class People(Extracted):
    people: list[Person] = Field(max_length=5)


FORMS = {
    "single quotes": ("{'people': [{'name': 'Tom', 'alive': True, 'home': None}]}", ["Tom"]),
    "an apostrophe in them": ("{'people': [{'name': 'Tom's wife', 'alive': True}]}", ["Tom's wife"]),
    "an escaped one": (r"{'people': [{'name': 'Tom\'s wife'}]}", ["Tom's wife"]),
    "both kinds": ("""{"people": [{'name': "Tom's wife"}]}""", ["Tom's wife"]),
    "typographic quotes": ("{“people”: [{“name”: “Tom”}]}", ["Tom"]),
    "a comma too many": ('{"people": [{"name": "Tom",}, {"name": "Ada"},],}', ["Tom", "Ada"]),
    "comments": ('{"people": [ // all "of" them\n{"name": "Tom"}, # 1]\n/* {"name": "Eve"} */]}', ["Tom"]),
    "keys without quotes": ('{people: [{name: "Tom"}]}', ["Tom"]),
    "quotes in a text": ('{"people": [{"name": "the man called "Tom", a keeper", "alive": true}]}', None),
    "a line in a text": ('{"people": [{"name": "Tom\nthe keeper"}]}', ["Tom\nthe keeper"]),
    "escapes of Python": (
        r"""{'people': [{'name': 'It\'s "Tom"\nof \xe9 and \u00e9'}]}""",
        ['It\'s "Tom"\nof é and é'],
    ),
    "an escape that JSON lacks": (r'{"people": [{"name": "Tom\'s wife"}]}', ["Tom's wife"]),
    "in prose": ("Certainly, it's this: {'people': [{'name': 'Tom'}]} It's [all].", ["Tom"]),
    "in a fence": ("```python\n{'people': [{'name': 'Tom'}]}\n```", ["Tom"]),
    "behind thoughts": ("<think>{'people': []}</think>{'people': [{'name': 'Tom'}]}", ["Tom"]),
    "behind a set": ("It is {unclear}, but {'people': [{'name': 'Tom'}]}", ["Tom"]),
    "a list": ("[{'name': 'Tom'}, {'name': 'Ada'}]", ["Tom", "Ada"]),
    "brackets forgotten": ('{"people": [{"name": "Tom"}, {"name": "Ada"}', ["Tom", "Ada"]),
    "brackets forgotten in a fence": ("```json\n{'people': [{'name': 'Tom'}]\n```", ["Tom"]),
}


@pytest.mark.parametrize("form", FORMS)
async def test_what_is_nearly_json_is_read_at_once(form: str) -> None:
    text, names = FORMS[form]
    model = scripted(text)
    found = await extract(chat_model(model), MESSAGES, People)
    assert [one.name for one in found.people] == (names or ['the man called "Tom", a keeper'])
    assert (found.dropped, len(model.calls)) == ((), 1)


@pytest.mark.parametrize(
    "text",
    [
        "I would say yes",
        "It is {unclear}",
        "It is {unclear: see above}",
        "It is {unclear: 4}",
        "[the note]",
        "[Tom, Ada]",
        "{'Tom', 'Ada'}",
        "('Tom', 'Ada')",
        "{'name': Tom}",
        "{name: Tom}",
        "{'name': u'Tom'}",
        "{'name': }",
        "{'name': 'Tom'; 'alive': True}",
        "{'name': 'Tom' 'Eve', 'alive': True}",
        "{'name': 'Tom', 'name': 'Ada'}",
        "{'born': NaN}",
        "{'born': -Infinity}",
        "{'born': 1e999}",
        "{'born': 18:40}",
        "{'born': 1,5}",
        "{'born': " + "9" * 5000 + "}",
        "{'name': 'Tom']",
        '{"name": "Tom, "alive": true}',
        "'Tom'",
        "it's {",
    ],
)
def test_what_can_be_read_in_no_way_or_two_is_no_answer(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        object_in(text)
    assert short_answer(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "{'name': 'Tom', 'name': 'Ada', 'kin': {'name': 'Eve'}}",
        "{'kin': {'name': 'Eve'}, 'born': NaN}",
        "{'kin': [{'name': 'Eve'}, ..., {'name': 'Tom'}]}",
        "{'kin': [" + "{'name': 'Eve'}, " * 1500 + "]}",
    ],
)
def test_a_part_of_what_cannot_be_mended_is_not_the_answer(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        read_extracted(Person, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes, {since: no}", "yes"),
        ("Yes, it's [so]", "yes"),
        ("[yes]", "yes"),
        ("{yes}", "yes"),
        ("['yes']", "yes"),
        ("{'yes'}", "yes"),
        ("No. He's {away: 4}", "no"),
    ],
)
def test_a_word_is_what_it_was_in_a_plain_text(text: str, said: str) -> None:
    assert word_answer(text, ["yes", "no"]) == said


async def test_short_answers_in_an_object_are_read_at_once() -> None:
    for text in ("{'answer': 'yes'}", "{answer: 'Yes.',}", "{answer: true}", "```\n{'answer': True}\n```"):
        assert (await decide(chat_model(scripted(text)), MESSAGES)).answer
    assert (await rate(chat_model(scripted("{answer: 4}")), MESSAGES, low=1, high=5)).value == 4


CUT = [
    "{'people': [{'name': 'Tom'}, {'name': 'Ada, the wi",
    "{'people': [{'name': 'Tom'}, {'name': 'Ada', 'home': 'the [old] mill}",
    "{'people': [{'name': 'Tom'}, {'name': 'Ada', 'alive'",
    "{'people': [{'name': 'Tom'}, {'name': 'Ada', ",
    "{'people': [{'name': 'Tom'}, {'name': 'Ada'",
    '{people: [{name: "Tom"}, {name: "Ada',
    "So it's {'people': [{'name': 'Tom'}, // Tom's first\n {'name': 'Ad",
    "```python\n{'people': [{'name': 'Tom'}, {'name':\n```",
    '{"people": [{"name": "Tom"}, {"name": "Ada',
]


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("text", CUT)
async def test_the_item_at_which_an_answer_ends_is_left_out(text: str, told: bool) -> None:
    said = AIMessage(text, response_metadata={"finish_reason": "length"} if told else {})
    model = scripted(said, said)
    found = await extract(chat_model(model), MESSAGES, People)
    assert [one.name for one in found.people] == ["Tom"]
    assert found.dropped
    assert len(model.calls) == 2
    assert "cut before its end" in model.calls[1].text


@pytest.mark.parametrize(
    "text", ["{'name': 'Tom, the kee", "{'name': 'Tom', 'home': 'the mill }", "{'name': 'Tom'", "{'a"]
)
def test_an_object_without_an_end_is_no_answer(text: str) -> None:
    with pytest.raises(InvalidAnswer):
        read_extracted(Person, text)


HOSTILE = [
    *(piece * 200_000 for piece in "[{(\"'#/\\"),
    *(
        (before + piece * 20_000)[: 19_000 if after else 200_000] + after
        for piece in ('["a" ', "][", "[[],]", "([", "{'a':", "{The lamp's lit, ", 'he said "yes" and ', "'a', ", "a:1,")
        for before, after in (("", ""), ("['", "']"), ('{"a": "', '"}'), ("['a', ", "]"), ("{a: ", "}"))
    ),
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_is_made_to_take_long_is_read_or_refused_in_time(text: str) -> None:
    begun = time.process_time()
    for cut in (False, True):
        with suppress(InvalidAnswer):
            read_extracted(People, text, cut=cut)
    assert time.process_time() - begun < BOUND


TEXT = st.text(st.sampled_from("ab \"'\\\n,:[]{}/#é“”"), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(VALUES, min_size=1, max_size=3) | st.dictionaries(TEXT, VALUES, min_size=1, max_size=3))
def test_a_python_literal_is_read_as_what_it_is(value: Any) -> None:
    with suppress(ValueError):
        assert decoded(json.JSONDecoder(), repr(value), 0) == (value, len(repr(value)))


WORDS = st.text(st.sampled_from("ab'é. "), min_size=1, max_size=9)
ITEMS = st.lists(st.dictionaries(st.sampled_from(["name", "home", "alive"]), WORDS, min_size=1), min_size=1, max_size=4)


@given(ITEMS, st.sampled_from([repr, json.dumps]), st.floats(0, 1))
def test_of_a_cut_answer_no_half_is_read(items: list[dict[str, str]], written: Any, share: float) -> None:
    text = written({"people": items})
    with suppress(InvalidAnswer):
        read = object_in(text[: int(len(text) * share)])
        assert set(texts_in(read)) <= set(texts_in(items))


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_in(one)
