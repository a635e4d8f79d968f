"""Instruments: the inventory of our own, a user's file in either format, and what is said of a slip in it."""

import json
import os
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from dramaturg.evaluation.instruments.files import NAMES, SLOAN, instrument
from dramaturg.evaluation.instruments.instrument import Instrument, InstrumentError, Language, Scale
from dramaturg.stores.errors import RoleFileError

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
LANGUAGES: tuple[Language, ...] = ("en", "zh", "ko")
FOUR = {"E/I": 8, "S/N": 7, "T/F": 8, "P/J": 7}
"""The dimensions of our inventory, and how many of the fifteen items of each are keyed high."""
REVERSED_16P = {
    "E/I": "6 15 21 26 41 51",
    "S/N": "2 17 20 30 37 42 57",
    "T/F": "3 8 18 27 33 45 47 48 50 54 55 58",
    "P/J": "4 7 9 24 35 39 44 56",
}
REVERSED_BFI = "2 6 8 9 12 18 21 23 24 27 31 34 35 37 41 43"


def question(number: int, dimension: str, category: str) -> dict[str, str]:
    texts = {f"{kind}_{code}": f"{kind} {number} {code}" for kind in ("origin", "rewritten") for code in ("en", "zh")}
    return {**texts, "dimension": dimension, "category": category}


def questionnaire(*items: tuple[str, str]) -> dict[str, Any]:
    questions = {str(n): question(n, dimension, category) for n, (dimension, category) in enumerate(items, start=1)}
    described = {dimension: f"about {dimension}" for dimension, _ in items}
    return {
        "name": "Own",
        "range": [1, 7],
        "categories": [],
        "questions": questions,
        "prompts": {"dim_desc": described, "direct_ask": {"en": "?"}},
    }


def written(folder: Path, value: object, name: str = "own.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def inventory() -> dict[str, Any]:
    return {
        "name": "own",
        "licence": "CC0-1.0",
        "source": "a test",
        "scale": {"low": 1, "high": 5},
        "scores": "scale",
        "dimensions": [{"name": "Courage", "high": "B", "low": "T", "description": {"en": "brave or timid"}}],
        "items": [
            {"id": "1", "dimension": "Courage", "key": "high", "statement": {"en": "I dare."}, "question": {"en": "?"}},
            {"id": "2", "dimension": "Courage", "key": "low", "statement": {"en": "I flee."}, "question": {"en": "?"}},
        ],
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_our_inventory_has_fifteen_items_a_dimension_keyed_both_ways(language: Language) -> None:
    ours = instrument("four-letters", language)
    assert [(one.name, one.high + "/" + one.low) for one in ours.dimensions] == [(name, name) for name in FOUR]
    keyed = Counter((item.dimension, item.key) for item in ours.items)
    assert keyed == {(name, key): n for name, high in FOUR.items() for key, n in (("high", high), ("low", 15 - high))}
    assert (ours.scale, ours.scores, ours.language) == (Scale(low=1, high=7), "percent", language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_keys_take_turns_so_that_no_batch_of_a_judge_has_one_kind_only(language: Language) -> None:
    ours = instrument("four-letters", language)
    for name in FOUR:
        keys = [item.key for item in ours.items_of(name)]
        assert all(one != other for one, other in pairwise(keys))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_question_is_open_and_no_text_is_there_twice(language: Language) -> None:
    ours = instrument("four-letters", language)
    questions, statements = [item.question for item in ours.items], [item.statement for item in ours.items]
    assert len({*questions, *statements}) == 120
    assert all(text.endswith(("?", "？")) for text in questions)
    assert not any(text.endswith(("?", "？")) for text in statements)


def test_a_question_speaks_to_the_role_and_a_statement_is_the_role_speaking() -> None:
    english, chinese = (instrument("four-letters", code) for code in ("en", "zh"))
    closed = ("do you ", "are you ", "is it ", "would you say")
    assert not any(item.question.lower().startswith(closed) for item in english.items)
    assert all({"you", "your"} & {*item.question.lower().replace(",", " ").split()} for item in english.items)
    assert all("你" in item.question for item in chinese.items)


def test_each_language_is_written_in_its_own_script() -> None:
    def letters(language: Language, first: str, last: str) -> set[bool]:
        ours = instrument("four-letters", language)
        texts = [*(one.description for one in ours.dimensions), *(item.statement for item in ours.items)]
        texts += [item.question for item in ours.items]
        return {any(first <= letter <= last for letter in text) for text in texts}

    assert letters("zh", "一", "鿿") == letters("ko", "가", "힣") == letters("en", "a", "z") == {True}
    assert letters("en", "가", "힣") == letters("en", "一", "鿿") == letters("ko", "一", "鿿") == {False}


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
@pytest.mark.parametrize("name", ["16Personalities", "BFI"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_our_items_are_not_those_of_others(name: str, language: Language) -> None:
    ours = instrument("four-letters", language).items
    theirs = instrument(Path(SHARED or "") / "incharacter" / "questionnaires" / f"{name}.json", language).items
    pairs = [
        SequenceMatcher(None, getattr(one, field), getattr(other, field))
        for one in ours
        for other in theirs
        for field in ("statement", "question")
    ]
    assert not [pair for pair in pairs if pair.quick_ratio() > 0.65 and pair.ratio() > 0.65]  # the quick one is a bound


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
def test_the_keys_of_16personalities_are_read_as_the_reference_has_them() -> None:
    read = instrument(Path(SHARED or "") / "incharacter/questionnaires/16Personalities.json", "zh")
    assert [one.high + one.low for one in read.dimensions] == ["EI", "SN", "TF", "PJ"]
    for name, numbers in REVERSED_16P.items():
        assert [item.id for item in read.items_of(name) if item.key == "low"] == numbers.split()
    assert (read.range, read.midpoint, read.scale) == ((0, 100), 50, Scale(low=1, high=7))
    assert (read.items[0].statement, read.items[0].question) == ("你经常交新朋友。", "你经常交新朋友吗？")


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
def test_the_keys_of_the_bfi_are_read_as_the_reference_has_them() -> None:
    read = instrument(Path(SHARED or "") / "incharacter/questionnaires/BFI.json", "en")
    assert [(one.name, (one.high, one.low)) for one in read.dimensions] == list(SLOAN.items())
    assert sorted((item.id for item in read.items if item.key == "low"), key=int) == REVERSED_BFI.split()
    assert (read.range, read.midpoint, len(read.items)) == ((1, 5), 3, 44)


def test_a_questionnaire_with_lettered_dimensions_scores_in_percent(tmp_path: Path) -> None:
    path = written(tmp_path, questionnaire(("E/I", "E"), ("E/I", "I"), ("P/J", "negative")))
    read = instrument(path, "zh")
    assert [(one.name, one.high, one.low) for one in read.dimensions] == [("E/I", "E", "I"), ("P/J", "P", "J")]
    assert [item.key for item in read.items] == ["high", "low", "low"]
    assert (read.scores, read.name, read.licence) == ("percent", "Own", "not stated in the file")
    assert (read.items[1].statement, read.items[1].question) == ("origin 2 zh", "rewritten 2 zh")
    assert read.dimensions[1].description == "about P/J"
    assert read.source.startswith("own.json, SHA-256 ")


def test_the_big_five_of_a_file_have_the_letters_and_the_order_of_sloan(tmp_path: Path) -> None:
    path = written(tmp_path, questionnaire(*((name, "positive") for name in sorted(SLOAN))))
    read = instrument(path, "en")
    assert "".join(one.high for one in read.dimensions) == "SLOAI"
    assert "".join(one.low for one in read.dimensions) == "RCUEN"
    assert read.scores == "scale"


def test_other_dimensions_have_the_letters_of_label_files_and_fillers_are_not_asked(tmp_path: Path) -> None:
    items = (("Optimistic", "positive"), ("None", "positive"), ("Nature/Outdoors", "negative"))
    read = instrument(written(tmp_path, questionnaire(*items)), "en")
    assert [(one.name, one.high, one.low) for one in read.dimensions] == [
        ("Optimistic", "H", "L"),
        ("Nature/Outdoors", "H", "L"),
    ]
    assert [item.id for item in read.items] == ["1", "3"]
    assert read.scores == "scale"


def _without(path: str) -> Callable[[dict[str, Any]], None]:
    def change(value: dict[str, Any]) -> None:
        *steps, last = path.split(".")
        for step in steps:
            value = value[step]
        del value[last]

    return change


def _with(path: str, new: object) -> Callable[[dict[str, Any]], None]:
    def change(value: dict[str, Any]) -> None:
        *steps, last = path.split(".")
        for step in steps:
            value = value[step]
        value[last] = new

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("questions.2.dimension"), r"own\.json: `questions\.2\.dimension` is missing: add it\."),
        (_without("questions.2.rewritten_en"), r"own\.json: item 2: `rewritten_en` has no text: add it"),
        (_with("questions.1.origin_en", " "), r"own\.json: item 1: `origin_en` has no text"),
        (_with("questions.1.category", "S"), r"item 1: `category` 'S' is none of positive, negative, E, I\."),
        (_with("questions.2.category", 1), r"`questions\.2\.category` must be text"),
        (_without("prompts.dim_desc.E/I"), r"`prompts\.dim_desc` has no text for the dimension 'E/I'"),
        (_without("range"), r"own\.json: `range` is missing: add it\."),
        (_with("range", [7, 1]), r"own\.json: `scale` must rise"),
        (_with("questions", {}), r"own\.json: `questions` "),
        (_with("questions", {"1": question(1, "None", "positive")}), r"own\.json: `dimensions` "),
    ],
)
def test_a_slip_in_a_questionnaire_is_named_with_item_and_field(
    change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    value = questionnaire(("E/I", "E"), ("E/I", "I"))
    change(value)
    with pytest.raises(RoleFileError, match=message):
        instrument(written(tmp_path, value), "en")


def test_a_language_that_a_questionnaire_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match=r"item 1: `origin_ko` has no text: add it, or use another language"):
        instrument(written(tmp_path, questionnaire(("E/I", "E"))), "ko")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "a",\n "range": }', r"own\.json, line 2: no JSON"),
        ('{"questions": {"1": {}, "1": {}}}', r"own\.json: the key '1' is there twice: remove one"),
        ("[]", r"own\.json: this must hold keys and values"),
        ("[" * 100_000, r"^own\.json: the brackets are too deep"),
        (
            b"\xff\xfe{\0}\0",
            r"/own\.json, line 1: this is not UTF-8 \(it looks like UTF-16\): save the file as UTF-8\.$",
        ),
    ],
)
def test_a_questionnaire_that_is_no_such_json_is_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(RoleFileError, match=message) as caught:
        instrument(path, "en")
    assert str(caught.value).count("own.json") == 1


def test_half_a_letter_in_a_questionnaire_does_no_harm(tmp_path: Path) -> None:
    path, value = tmp_path / "own.json", questionnaire(("E/I", "E"))
    value["questions"]["1"]["rewritten_en"] = "Who\ud83d?"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert instrument(path, "en").items[0].question == "Who\ufffd?"


def test_an_inventory_in_yaml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(inventory()), encoding="utf-8")
    read = instrument(str(path), "en")
    assert [(item.id, item.key, item.statement) for item in read.items] == [
        ("1", "high", "I dare."),
        ("2", "low", "I flee."),
    ]
    assert (read.name, read.range, read.dimensions[0].description) == ("own", (1, 5), "brave or timid")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own["items"][1].pop("question"), r"line \d+: `items\.2\.question` is missing: add it"),
        (lambda own: own["items"][1].update(key="+"), r"line \d+: `items\.2\.key` "),
        (lambda own: own["items"][1].update(keyed="low"), r"line \d+: there is no key `items\.2\.keyed`"),
        (lambda own: own["items"][1].update(dimension="Wit"), r"item 2: there is no `dimension` 'Wit'; there are C"),
        (lambda own: own["items"][1].update(id="1"), r"there are two items '1': give each a name of its own"),
        (
            lambda own: own["items"][1].update(statement={"zh": "我逃。"}),
            r"the `statement` of item 2 is not there in 'en'",
        ),
        (lambda own: own["dimensions"][0].update(low="B"), r"dimension 'Courage' has one letter for both poles"),
        (lambda own: own["dimensions"].append({**own["dimensions"][0]}), r"there are two dimensions 'Courage'"),
        (lambda own: own["dimensions"].append({**own["dimensions"][0], "name": "Wit"}), r"'Wit' has no items"),
        (lambda own: own.update(scale={"low": 5, "high": 5}), r"must rise"),
    ],
)
def test_a_slip_in_an_inventory_is_named(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    own, path = inventory(), tmp_path / "own.yaml"
    change(own)
    path.write_text(yaml.safe_dump(own, allow_unicode=True), encoding="utf-8")
    with pytest.raises(RoleFileError, match=message):
        instrument(path, "en")


def test_an_instrument_stays_as_it_is() -> None:
    ours = instrument("four-letters", "en")
    with pytest.raises(ValidationError, match="frozen"):
        ours.items[0].key = "low"  # type: ignore[misc]
    assert Instrument.model_validate_json(ours.model_dump_json()) == ours


@pytest.mark.parametrize(
    ("name", "language", "says"),
    [
        ("four-leters", "en", f"{' and '.join(NAMES)}.*did you mean 'four-letters'"),
        ("nothing", "en", f"{' and '.join(NAMES)}.*yaml.$"),
        ("four-letters", "fr", "no instruments in 'fr': use en, zh, ko"),
    ],
)
def test_an_unknown_name_or_language_is_refused_with_those_that_there_are(name: str, language: Any, says: str) -> None:
    with pytest.raises(InstrumentError, match=says):
        instrument(name, language)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match=r"own\.json cannot be read"):
        instrument(tmp_path / "own.json", "en")
