"""Keyed scoring: reverse keys, refusals, percentages, letters and ties."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.evaluation.instruments.instrument import (
    Choice,
    Dimension,
    Instrument,
    Item,
    Key,
    Scale,
    dimension_scores,
    percent,
    type_letters,
    type_string,
)

KEYS: Mapping[str, tuple[str, Key]] = {
    "e1": ("E/I", "high"),
    "e2": ("E/I", "low"),
    "e3": ("E/I", "low"),
    "s1": ("S/N", "high"),
    "s2": ("S/N", "low"),
}
DIMENSIONS = (
    Dimension(name="E/I", high="E", low="I", description="outward or inward"),
    Dimension(name="S/N", high="S", low="N", description="facts or meanings"),
)


def made(scale: Scale, scores: str) -> Instrument:
    items = [Item(id=name, dimension=one, key=key, statement=name, question=name) for name, (one, key) in KEYS.items()]
    fields = {"name": "tiny", "language": "en", "licence": "Apache-2.0", "source": "a test"}
    return Instrument.model_validate(
        {**fields, "scale": scale, "scores": scores, "dimensions": DIMENSIONS, "items": items}
    )


ON_SCALE = made(Scale(low=1, high=5), "scale")
IN_PERCENT = made(Scale(low=1, high=7), "percent")
FROM_ZERO = made(Scale(low=0, high=4), "scale")


def test_low_keys_are_reversed_and_the_score_is_the_mean() -> None:
    scores = dimension_scores(ON_SCALE, {"e1": 5, "e2": 1, "e3": 2, "s1": 2, "s2": 5})
    assert scores["E/I"] == (pytest.approx((5 + 5 + 4) / 3), 3, 0, 0)
    assert scores["S/N"] == (1.5, 2, 0, 0)


def test_a_scale_from_zero_is_reversed_about_its_own_middle() -> None:
    assert dimension_scores(FROM_ZERO, {"s1": 0, "s2": 4})["S/N"].score == 0
    assert dimension_scores(FROM_ZERO, {"s1": 4, "s2": 0})["S/N"].score == 4
    assert (FROM_ZERO.midpoint, FROM_ZERO.range) == (2, (0, 4))


def test_a_choice_that_is_on_the_dimension_already_is_not_reversed() -> None:
    choices: dict[str, Choice] = {"e1": 5, "e2": 5, "e3": 4, "s1": 1, "s2": 1}
    scores = dimension_scores(ON_SCALE, choices, meaning="dimension")
    assert (scores["E/I"].score, scores["S/N"].score) == (pytest.approx(14 / 3), 1)


def test_four_letter_scores_are_percentages_of_the_high_pole() -> None:
    scores = dimension_scores(IN_PERCENT, {"e1": 7, "e2": 1, "e3": 1, "s1": 3, "s2": 5})
    assert (scores["E/I"].score, scores["S/N"].score) == (100, pytest.approx(100 / 3))
    assert (IN_PERCENT.midpoint, IN_PERCENT.range) == (50, (0, 100))
    assert [percent(Scale(low=1, high=7), choice) for choice in (1, 4, 7)] == [0, 50, 100]


def test_a_refusal_is_left_out_or_taken_for_the_midpoint_and_counted_both_times() -> None:
    choices: dict[str, Choice] = {"e1": 5, "e2": "x", "e3": 1, "s1": "x", "s2": "x"}
    assert dimension_scores(ON_SCALE, choices) == {"E/I": (5, 2, 1, 0), "S/N": (None, 0, 2, 0)}
    filled = dimension_scores(ON_SCALE, choices, missing="midpoint")
    assert filled == {"E/I": (pytest.approx(13 / 3), 3, 1, 0), "S/N": (3, 2, 2, 0)}


@pytest.mark.parametrize("missing", ["leave_out", "midpoint"])
def test_a_failed_judgement_is_never_given_a_value(missing: str) -> None:
    scores = dimension_scores(ON_SCALE, {"e1": 5, "e2": None, "s1": None}, missing=missing)  # type: ignore[arg-type]
    assert scores == {"E/I": (5, 1, 0, 2), "S/N": (None, 0, 0, 2)}


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        *(({"e1": 3, "e2": one}, "of item e2 is not from 1 to 5") for one in (0, 6, 5.5, math.nan, True, "X", "3")),
        ({"e9": 3}, "no item 'e9' in tiny"),
    ],
    ids=str,
)
def test_a_choice_off_the_scale_or_for_an_unknown_item_is_refused(choices: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        dimension_scores(ON_SCALE, choices)


@given(st.fixed_dictionaries({name: st.integers(1, 7) for name in KEYS}))
def test_to_disagree_as_much_mirrors_every_score(choices: dict[str, int]) -> None:
    scores = dimension_scores(IN_PERCENT, choices)
    mirrored = dimension_scores(IN_PERCENT, {name: 8 - choice for name, choice in choices.items()})
    for name, one in scores.items():
        assert 0 <= (one.score or 0) <= 100
        assert (one.score or 0) + (mirrored[name].score or 0) == pytest.approx(100)


@given(st.integers(1, 7))
def test_to_say_the_same_to_all_gives_the_midpoint_where_keys_are_balanced(choice: int) -> None:
    assert dimension_scores(IN_PERCENT, dict.fromkeys(KEYS, choice))["S/N"].score == pytest.approx(50)


def test_letters_are_by_the_side_of_the_midpoint() -> None:
    assert type_letters(IN_PERCENT, {"E/I": 50.1, "S/N": 49.9}) == {"E/I": "E", "S/N": "N"}
    assert type_letters(ON_SCALE, {"E/I": 2.9, "S/N": 3.1}) == {"E/I": "I", "S/N": "S"}


def test_a_tie_is_of_the_low_type_unless_the_high_one_is_asked_for() -> None:
    tied = {"E/I": 50.0, "S/N": 50.0}
    assert type_string(IN_PERCENT, tied) == "IN"
    assert type_string(IN_PERCENT, tied, tie="high") == "ES"
    assert type_string(ON_SCALE, {"E/I": 3, "S/N": 2.99}, tie="high") == "EN"


def test_there_is_no_type_where_a_score_is_missing() -> None:
    assert type_letters(IN_PERCENT, {"E/I": 70}) == {"E/I": "E", "S/N": None}
    assert type_string(IN_PERCENT, {"E/I": 70, "S/N": None}) is None


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"E/I": 0.7, "T/F": 50.0}, "no dimension 'T/F' in tiny; there are: E/I, S/N"),
        ({"E/I": 101.0}, "score 101.0 of E/I is not from 0 to 100"),
        ({"E/I": math.nan}, "score nan of E/I"),
    ],
)
def test_a_score_that_cannot_be_one_is_refused(scores: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        type_letters(IN_PERCENT, scores)
