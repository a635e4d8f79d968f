"""Metrics: what oracles, constants and chance get; what is counted; what is refused."""

import random
import subprocess
import sys
from collections.abc import Callable
from math import log, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.evaluation.metrics.alignment import Alignment, alignment, ceiling, floors, split_batches
from dramaturg.evaluation.metrics.chunks import (
    ChunkUsage,
    Duplication,
    chunk_duplication,
    chunk_usage,
)
from dramaturg.evaluation.metrics.reliability import (
    Agreement,
    Consistency,
    cohen_kappa,
    cronbach_alpha,
    dim_consistency,
    intraclass_correlation,
    item_consistency,
    krippendorff_alpha,
    robustness,
    single_rater,
)
from dramaturg.evaluation.metrics.repetition import repeated, repetition
from dramaturg.evaluation.metrics.type_metrics import majority_type, type_accuracy, type_f1, type_hits

from property_settings import property_settings

PERCENT = {"low": 0.0, "high": 100.0}
FIVE = {"low": 1.0, "high": 5.0}
DIMENSIONS = ("E/I", "S/N", "T/F", "P/J")


def label(score: float, kind: str) -> dict[str, Any]:
    return {"score": score, "type": kind}


LABELS = {
    "ada": {"E": label(90, "H"), "N": label(20, "L"), "T": label(55, "X")},
    "bea": {"E": label(80, "H"), "N": label(70, "H"), "T": label(10, "L")},
    "cid": {"E": label(30, "L"), "N": label(10, "L"), "T": label(0, "L")},
}
"""Eight dimensions that count, of three roles."""


def said(*rows: tuple[float, float, float]) -> dict[str, dict[str, float]]:
    return {role: dict(zip("ENT", row, strict=True)) for role, row in zip(LABELS, rows, strict=True)}


RIGHT = {role: {name: one["score"] for name, one in of.items()} for role, of in LABELS.items()}


@st.composite
def cases(draw: Callable[..., Any]) -> tuple[Any, Any]:
    """Predictions and labels of some roles, at least one dimension of which counts."""
    predictions, labels = {}, {}
    for role in range(draw(st.integers(1, 6))):
        scores = st.floats(0, 100, allow_subnormal=False)
        predictions[f"r{role}"] = {name: draw(scores) for name in DIMENSIONS}
        labels[f"r{role}"] = {name: label(draw(scores), draw(st.sampled_from("HHLLX"))) for name in DIMENSIONS}
    labels["r0"]["E/I"]["type"] = "H"
    return predictions, labels


def test_an_oracle_is_right_in_everything() -> None:
    assert alignment(RIGHT, LABELS, **PERCENT) == Alignment(1.0, 1.0, 0.0, 0.0, 8, 8, 3, 3)


def test_hits_are_pooled_and_a_full_hit_is_a_role_without_a_miss() -> None:
    found = alignment(said((60, 40, 0), (60, 40, 40), (60, 60, 60)), LABELS, **PERCENT)
    assert (found.hits, found.n_dimensions, found.full_hits, found.n_roles) == (4, 8, 1, 3)
    assert (found.acc_dim, found.acc_full) == (4 / 8, 1 / 3)


def test_errors_are_shares_of_the_span() -> None:
    labels = {"ada": {"O": label(4, "H"), "C": label(2, "L")}, "bea": {"O": label(1, "L"), "C": label(3, "X")}}
    found = alignment({"ada": {"O": 5, "C": 4}, "bea": {"O": 1, "C": 5}}, labels, **FIVE)
    assert found.mse == pytest.approx((1 + 4 + 0) / 16 / 3)
    assert found.mae == pytest.approx((1 + 2 + 0) / 4 / 3)


@pytest.mark.parametrize(("tie", "hits"), [("low", 1), ("high", 2)])
def test_a_score_at_the_midpoint_is_what_tie_says(tie: Any, hits: int) -> None:
    labels = {"ada": {"O": label(4, "H"), "C": label(4, "H"), "A": label(2, "L")}}
    found = alignment({"ada": {"O": 3, "C": 3, "A": 3}}, labels, **FIVE, tie=tie)
    assert found.hits == hits
    above = alignment({"ada": {"O": 3.01, "C": 2.99, "A": 3.01}}, labels, **FIVE, tie=tie)
    assert above.hits == 1


def test_low_is_the_rule_for_ties() -> None:
    labels = {"ada": {"O": label(4, "H")}}
    assert alignment({"ada": {"O": 3}}, labels, **FIVE).hits == 0


def test_a_role_of_which_nothing_counts_is_no_role() -> None:
    labels = {**LABELS, "dee": {"E": label(50, "X")}}
    found = alignment({**RIGHT, "dee": {"E": 0}}, labels, **PERCENT)
    assert found == Alignment(1.0, 1.0, 0.0, 0.0, 8, 8, 3, 3)


def test_a_mask_takes_dimensions_out_and_need_not_know_all() -> None:
    masks = [{"bea": {"E": label(50, "X"), "N": label(99, "H")}}, {"ada": {"N": label(50, "X")}}]
    found = alignment(said((0, 100, 0), (0, 100, 0), (0, 0, 0)), LABELS, **PERCENT, mask_by=masks)
    assert (found.hits, found.n_dimensions, found.full_hits) == (5, 6, 2)


def test_what_does_not_count_needs_no_prediction_and_labels_may_know_more_roles() -> None:
    found = alignment({"ada": {"E": 90, "N": 20}}, LABELS, **PERCENT)
    assert (found.hits, found.n_dimensions, found.n_roles) == (2, 2, 1)


@pytest.mark.parametrize(
    ("predictions", "given", "why"),
    [
        ({}, {}, "nothing to count"),
        ({"ada": {"T": 5}}, {}, "no prediction for 'E' of 'ada'"),
        ({"eve": {"E": 5}}, {}, "'eve' has no labels"),
        ({"ada": {**RIGHT["ada"], "Z": 5}}, {}, "labels of 'ada' lack 'Z'"),
        ({"ada": {**RIGHT["ada"], "E": nan}}, {}, "the prediction for 'E' of 'ada': nan"),
        ({"ada": {**RIGHT["ada"], "E": None}}, {}, "from 0.0 to 100.0 for the prediction for 'E' of 'ada': None"),
        ({"ada": {**RIGHT["ada"], "E": "x"}}, {}, "the prediction for 'E' of 'ada': 'x'"),
        ({"ada": {**RIGHT["ada"], "E": -0.1}}, {}, "the prediction"),
        ({"ada": {**RIGHT["ada"], "E": 100.1}}, {}, "the prediction"),
        (RIGHT, {"high": 75.0}, "prediction for 'E' of 'ada'"),
        (RIGHT, {"low": 100.0}, "a scale that goes up: from 100.0 to 100.0"),
        (RIGHT, {"low": 101.0}, "a scale that goes up"),
        (RIGHT, {"low": nan}, "a scale that goes up"),
        (RIGHT, {"high": float("inf")}, "a scale that goes up"),
        (RIGHT, {"tie": "even"}, "`tie` is 'even': choose one of low, high"),
        (RIGHT, {"mask_by": LABELS}, "as a list of label mappings"),
        (RIGHT, {"mask_by": [{"ada": {"E": label(1, "M")}}]}, "the label for 'E' of 'ada' the type H, L or X: 'M'"),
        (RIGHT, {"mask_by": [{r: {d: label(1, "X") for d in "ENT"} for r in LABELS}]}, "nothing to count"),
    ],
)
def test_what_cannot_be_counted_is_refused(predictions: Any, given: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        alignment(predictions, LABELS, **{**PERCENT, **given})


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (label(50, "h"), "type H, L or X: 'h' is none"),
        ({"score": 50}, "type H, L or X: 'None' is none"),
        ({"type": "H"}, "the label for 'E' of 'ada': None is none"),
        (label(101, "H"), "the label for 'E' of 'ada': 101 is none"),
    ],
)
def test_a_label_that_cannot_be_used_is_refused(one: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        alignment({"ada": {"E": 5}}, {"ada": {"E": one}}, **PERCENT)


@given(cases())
def test_the_counts_and_shares_hold_together(case: Any) -> None:
    predictions, labels = case
    found = alignment(predictions, labels, **PERCENT)
    counted = [one for of in labels.values() for one in of.values() if one["type"] != "X"]
    assert found.n_dimensions == len(counted)
    assert found.acc_dim * found.n_dimensions == pytest.approx(found.hits)
    assert found.acc_full * found.n_roles == pytest.approx(found.full_hits)
    assert 0 <= found.mae**2 <= found.mse + 1e-12 <= found.mae + 2e-12 <= 1 + 3e-12


@given(cases())
def test_no_more_roles_are_right_in_full_than_in_any_dimension_that_all_have(case: Any) -> None:
    predictions, labels = case
    for of in labels.values():
        for one in of.values():
            one["type"] = {"X": "H"}.get(one["type"], one["type"])
    each = []
    for name in DIMENSIONS:
        only = {role: {name: of[name]} for role, of in predictions.items()}
        each.append(alignment(only, {role: {name: of[name]} for role, of in labels.items()}, **PERCENT).acc_dim)
    assert alignment(predictions, labels, **PERCENT).acc_full <= min(each)


@property_settings(40)
@given(cases(), st.randoms(use_true_random=False))
def test_the_order_of_roles_and_dimensions_changes_nothing(case: Any, dice: random.Random) -> None:
    predictions, labels = case

    def shuffled(table: Any) -> Any:
        roles = [(role, dict(dice.sample(list(of.items()), len(of)))) for role, of in table.items()]
        return dict(dice.sample(roles, len(roles)))

    again = alignment(shuffled(predictions), shuffled(labels), **PERCENT)
    assert again == alignment(predictions, labels, **PERCENT)
    assert floors(shuffled(labels), **PERCENT) == floors(labels, **PERCENT)


@given(cases())
def test_turning_the_scale_round_turns_the_types_and_keeps_the_rest(case: Any) -> None:
    predictions, labels = case
    turned = {role: {name: 100 - score for name, score in of.items()} for role, of in predictions.items()}
    other = {
        role: {name: label(100 - one["score"], {"H": "L", "L": "H"}.get(one["type"], "X")) for name, one in of.items()}
        for role, of in labels.items()
    }
    one, two = alignment(predictions, labels, **PERCENT), alignment(turned, other, **PERCENT, tie="high")
    # What differs from the midpoint by less than the rounding of 100 - score may change sides.
    if all(score == 100 - (100 - score) for of in predictions.values() for score in of.values()):
        assert (one.hits, one.full_hits) == (two.hits, two.full_hits)
    assert two.mse == pytest.approx(one.mse)


def test_a_constant_role_gets_the_floor_and_a_random_one_stays_in_its_band() -> None:
    dice = np.random.default_rng(0)
    scores = dice.uniform(0, 100, (200, 4))
    labels = {
        str(role): {name: label(x, "H" if x > 40 else "L") for name, x in zip(DIMENSIONS, row, strict=True)}
        for role, row in enumerate(scores.tolist())
    }
    floor = floors(labels, **PERCENT)
    constant = alignment({role: dict.fromkeys(DIMENSIONS, 100.0) for role in labels}, labels, **PERCENT)
    assert (constant.acc_dim, constant.acc_full) == (floor.majority_acc_dim, floor.majority_acc_full)
    assert 0.55 < constant.acc_dim < 0.65
    middle = alignment({role: dict.fromkeys(DIMENSIONS, 50.0) for role in labels}, labels, **PERCENT)
    assert (middle.mse, middle.mae) == (floor.midpoint_mse, floor.midpoint_mae)
    best = alignment(
        {role: dict(zip(DIMENSIONS, scores.mean(axis=0).tolist(), strict=True)) for role in labels}, labels, **PERCENT
    )
    assert best.mse == pytest.approx(floor.constant_mse)
    for _ in range(20):
        guessed = {role: dict(zip(DIMENSIONS, dice.uniform(0, 100, 4).tolist(), strict=True)) for role in labels}
        found = alignment(guessed, labels, **PERCENT)
        # Half the dimensions, an eighth of a half of all roles; four standard errors of 800 and of 200 draws.
        assert abs(found.acc_dim - 0.5) < 4 * sqrt(0.25 / 800)
        assert abs(found.acc_full - 0.0625) < 4 * sqrt(0.0625 * 0.9375 / 200)
        assert found.mse > floor.constant_mse


def test_floors_are_the_best_without_knowing_the_role() -> None:
    found = floors(LABELS, **PERCENT)
    assert (found.majority_hits, found.n_dimensions, found.majority_full_hits, found.n_roles) == (6, 8, 1, 3)
    assert (found.majority_acc_dim, found.majority_acc_full) == (6 / 8, 1 / 3)
    assert found.midpoint_mae == pytest.approx((40 + 30 + 30 + 20 + 40 + 20 + 40 + 50) / 100 / 8)
    assert found.midpoint_mse == pytest.approx((16 + 9 + 9 + 4 + 16 + 4 + 16 + 25) / 100 / 8)
    means = ((70 / 3) ** 2 + (40 / 3) ** 2 + (110 / 3) ** 2) + ((40 / 3) ** 2 + (110 / 3) ** 2 + (70 / 3) ** 2) + 50
    assert found.constant_mse == pytest.approx(means / 100**2 / 8)
    assert found.constant_mae == pytest.approx((10 + 0 + 50 + 0 + 50 + 10 + 5 + 5) / 100 / 8)


def test_floors_of_types_that_are_as_frequent_are_low() -> None:
    high, low = label(90, "H"), label(9, "L")
    labels = {"ada": {"E": high, "N": high}, "bea": {"E": low, "N": low}, "cid": {"N": high}}
    found = floors(labels, **PERCENT)
    assert (found.majority_hits, found.majority_full_hits) == (3, 1)
    masked = floors(labels, **PERCENT, mask_by=[{"bea": {"E": label(50, "X")}}])
    assert (masked.majority_hits, masked.n_dimensions, masked.majority_full_hits, masked.n_roles) == (3, 4, 2, 3)


@pytest.mark.parametrize(
    ("undecided", "hits", "n", "full", "roles"), [("miss", 1, 3, 0, 2), ("score", 2, 3, 1, 2), ("exclude", 1, 2, 0, 1)]
)
def test_what_annotators_leave_undecided_is_a_choice(undecided: Any, hits: int, n: int, full: int, roles: int) -> None:
    labels = {
        "ada": {"E": label(90, "H"), "N": label(90, "H"), "T": label(50, "X")},
        "bea": {"E": label(70, "H")},
    }
    people = {
        "ada": {"E": label(80, "H"), "N": label(50, "L"), "T": label(90, "H")},
        "bea": {"E": label(60, "X")},
    }
    found = ceiling(labels, people, **PERCENT, undecided=undecided)
    assert (found.hits, found.n_dimensions, found.full_hits, found.n_roles) == (hits, n, full, roles)
    assert ceiling(labels, people, **PERCENT) == ceiling(labels, people, **PERCENT, undecided="miss")
    errors = {"miss": (10, 40, 10), "score": (10, 40, 10), "exclude": (10, 40)}[undecided]
    assert found.mae == pytest.approx(sum(errors) / 100 / len(errors))


def test_an_unknown_choice_for_the_undecided_is_refused() -> None:
    with pytest.raises(ValueError, match="`undecided` is 'skip': choose one of miss, score, exclude"):
        ceiling(LABELS, LABELS, **PERCENT, undecided="skip")  # type: ignore[arg-type]
    assert ceiling(LABELS, LABELS, **PERCENT).acc_dim == 1.0


SIZES = {1: [1], 5: [5], 6: [3, 3], 7: [4, 3], 8: [4, 4], 9: [3, 3, 3], 10: [3, 4, 3], 11: [4, 4, 3], 12: [4, 4, 4]}
SIZES |= {13: [3, 3, 4, 3], 15: [4, 4, 4, 3], 20: [4] * 5, 24: [4] * 6}


@pytest.mark.parametrize(("n", "sizes"), SIZES.items())
def test_batches_have_the_sizes_of_incharacter(n: int, sizes: list[int]) -> None:
    assert split_batches(n) == sizes


@given(st.integers(6, 500))
def test_batches_are_threes_and_fours_that_hold_all(n: int) -> None:
    sizes = split_batches(n)
    assert sum(sizes) == n
    assert set(sizes) <= {3, 4}
    assert sizes.count(3) == -n % 4


@pytest.mark.parametrize("n", [0, -1])
def test_nothing_is_not_split(n: int) -> None:
    with pytest.raises(ValueError, match="give 1 item or more"):
        split_batches(n)


def test_types_match_letter_by_letter() -> None:
    truth, predicted = ["ENFP", "INTJ", "ISTJ"], ["ENFJ", "INTJ", "ENFP"]
    assert type_hits(truth, predicted) == [3, 4, 0]
    assert type_accuracy(truth, predicted) == 7 / 12


def test_types_by_role_pair_up_by_name() -> None:
    truth, predicted = {"ada": "ENFP", "bea": "INTJ"}, {"bea": "INTJ", "ada": "ESTJ"}
    assert type_hits(truth, predicted) == [1, 4]
    assert type_f1(truth, predicted) == type_f1(["ENFP", "INTJ"], ["ESTJ", "INTJ"])


def test_f1_is_the_mean_over_positions_of_the_mean_over_letters() -> None:
    truth, predicted = ["EN", "EN", "IN", "IN"], ["EN", "IN", "IN", "IS"]
    first = (2 * 1 / (2 + 1) + 2 * 2 / (2 + 3)) / 2
    second = (2 * 3 / (4 + 3) + 0) / 2
    assert type_f1(truth, predicted) == pytest.approx((first + second) / 2)


def test_perfect_types_are_one_and_opposite_ones_zero() -> None:
    truth, opposite = ["ENFP", "ISTJ"], ["ISTJ", "ENFP"]
    assert (type_accuracy(truth, truth), type_f1(truth, truth)) == (1.0, 1.0)
    assert (type_accuracy(truth, opposite), type_f1(truth, opposite)) == (0.0, 0.0)


def test_the_majority_type_has_the_most_frequent_letters() -> None:
    assert majority_type(["ENFP", "INTP", "ESTJ"]) == "ENTP"
    assert majority_type({"ada": "SL", "bea": "RC"}) == majority_type(["RC", "SL"]) == "RC"


@pytest.mark.parametrize(
    ("truth", "predicted", "why"),
    [
        ([], [], "one at least: 0 and 0"),
        (["EN"], ["EN", "IN"], "1 and 2"),
        (["EN", "IN"], ["EN"], "2 and 1"),
        (["EN"], ["ENF"], "types of one length"),
        (["EN", "INF"], ["EN", "INF"], "types of one length"),
        ([""], [""], "types of one length"),
        ("EN", ["EN"], "as two lists"),
        (["EN"], "E", "as two lists"),
        ({"ada": "EN"}, ["EN"], "as two lists"),
        (["EN"], {"ada": "EN"}, "as two lists"),
        ({"ada": "EN"}, {"bea": "EN"}, r"\['ada', 'bea'\] have one only"),
    ],
)
def test_types_that_do_not_pair_up_are_refused(truth: Any, predicted: Any, why: str) -> None:
    for measure in (type_accuracy, type_hits, type_f1):
        with pytest.raises(ValueError, match=why):
            measure(truth, predicted)


@property_settings(40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["EN", "ES", "IN", "IS"]), st.sampled_from(["EN", "ES", "IN", "IS"])), min_size=1
    )
)
def test_type_metrics_are_shares_and_do_not_depend_on_the_order(rows: Any) -> None:
    truth, predicted = ([row[side] for row in rows] for side in (0, 1))
    assert type_accuracy(truth, predicted) == sum(type_hits(truth, predicted)) / (2 * len(rows))
    assert 0 <= type_f1(truth, predicted) <= 1
    assert type_f1(truth[::-1], predicted[::-1]) == pytest.approx(type_f1(truth, predicted))
    assert type_accuracy(truth, [majority_type(truth)] * len(truth)) >= 0.5


def test_chunks_are_used_if_one_question_chose_them() -> None:
    assert chunk_usage([[1, 2], [2, 2], []], 4) == ChunkUsage(0.5, 2, 4, 3)
    assert chunk_usage([[]], 1) == ChunkUsage(0.0, 0, 1, 1)
    assert chunk_usage([["a"]], 1).rate == 1.0


def test_duplication_counts_each_question_once_and_the_chunks_that_none_chose() -> None:
    found = chunk_duplication([[1, 2], [2, 2], []], 4)
    assert found.histogram == {0: 2, 1: 1, 2: 1}
    assert list(found.histogram) == [0, 1, 2]
    # Half the absolute difference of all pairs by the mean: (0, 0, 1, 2).
    assert found.gini == pytest.approx((2 * (1 + 2 + 1 + 2 + 1)) / (2 * 4 * 4 * 0.75))
    assert found.entropy == pytest.approx((log(3) * 1 / 3 + log(1.5) * 2 / 3) / log(4))
    assert (found.n_chunks, found.n_questions) == (4, 3)


def test_even_use_has_no_gini_and_full_entropy_and_one_favourite_the_opposite() -> None:
    even, one = chunk_duplication([[1], [2], [3]], 3), chunk_duplication([[1]] * 3, 100)
    assert (even.gini, even.entropy) == (0, pytest.approx(1.0))
    assert (one.gini, one.entropy) == (pytest.approx(0.99), pytest.approx(0.0))
    assert chunk_duplication([[1], [2]], 2).entropy == pytest.approx(1.0)


def test_evenness_of_nothing_is_not_defined() -> None:
    assert chunk_duplication([[]], 3) == Duplication({0: 3}, None, None, 3, 1)
    assert chunk_duplication([[1]], 1) == Duplication({1: 1}, 0.0, None, 1, 1)


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=8))
def test_usage_and_duplication_agree(chosen: list[list[int]]) -> None:
    usage, found = chunk_usage(chosen, 10), chunk_duplication(chosen, 10)
    sizes = sum(len(set(one)) for one in chosen)
    assert usage.rate <= min(1, sizes / 10)
    assert sum(found.histogram.values()) == 10
    assert sum(times * n for times, n in found.histogram.items()) == sizes
    assert usage.used == 10 - found.histogram.get(0, 0)
    assert found.gini is None or 0 <= found.gini < 1


@pytest.mark.parametrize(("chosen", "n"), [([[1, 2]], 1), ([[1]], 0), ([[]], 0)])
def test_fewer_chunks_than_were_chosen_are_refused(chosen: Any, n: int) -> None:
    for measure in (chunk_usage, chunk_duplication):
        with pytest.raises(ValueError, match=f"{len({*chosen[0]})} were chosen, so not {n}"):
            measure(chosen, n)


RATINGS = [[4, 5, 4], [2, 3, 1], [5, 5, 4], [3, 3, 3], [1, 2, 2], [4, 4, 5]]


def test_cronbach_is_that_of_the_definition_and_of_pingouin() -> None:
    import pandas as pd
    import pingouin

    found = cronbach_alpha(RATINGS)
    table = np.array(RATINGS, dtype=float)
    for ddof in (0, 1):
        share = table.var(axis=0, ddof=ddof).sum() / table.sum(axis=1).var(ddof=ddof)
        assert found.alpha == pytest.approx(3 / 2 * (1 - share))
    assert found.alpha == pytest.approx(pingouin.cronbach_alpha(pd.DataFrame(RATINGS))[0])
    assert (found.k, found.n, found.ddof, found.single) == (3, 6, 1, single_rater(found.alpha, 3))
    assert cronbach_alpha(table) == found


def test_two_samples_of_two_raters_are_enough_for_cronbach() -> None:
    assert cronbach_alpha([[1, 1], [2, 2]]).alpha == pytest.approx(1.0)


@pytest.mark.parametrize(("alpha", "single"), [(0.845, 0.33), (0.830, 0.31)])
def test_eleven_raters_of_the_paper_are_worth_little_one_by_one(alpha: float, single: float) -> None:
    assert round(single_rater(alpha, 11), 2) == single


def test_one_rater_is_as_reliable_as_itself() -> None:
    assert single_rater(0.7, 1) == pytest.approx(0.7)
    assert single_rater(1.0, 5) == 1.0
    for alpha, k in ((1.1, 3), (nan, 3), (0.5, 0)):
        with pytest.raises(ValueError, match="an alpha up to 1 of one rater or more"):
            single_rater(alpha, k)


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        ([[1, None], [2, 3]], "leave out the samples"),
        ([[1, nan], [2, 3]], "leave out the samples"),
        ([[1], [2]], "two raters or more"),
        ([[1, 2], [2]], "a rating of each rater"),
        ([], "a rating of each rater"),
        ([[1, 2]], "samples or more: there are 1"),
    ],
)
def test_ratings_with_gaps_have_no_cronbach_and_no_icc(ratings: Any, why: str) -> None:
    for measure in (cronbach_alpha, intraclass_correlation):
        with pytest.raises(ValueError, match=why):
            measure(ratings)


def test_ratings_that_do_not_vary_are_refused() -> None:
    with pytest.raises(ValueError, match="sums are the same"):
        cronbach_alpha([[1, 2], [2, 1]])
    with pytest.raises(ValueError, match="All ratings are the same"):
        intraclass_correlation([[3, 3]] * 5)
    for level in ("nominal", "ordinal", "interval"):
        with pytest.raises(ValueError, match="not all the same"):
            krippendorff_alpha([[3, 3], [3, 3], [1, None]], level=level)  # type: ignore[arg-type]


# The example of Krippendorff's "Computing Krippendorff's Alpha-Reliability", with its answers.
UNITS = [
    (1, 1, None, 1), (2, 2, 3, 2), (3, 3, 3, 3), (3, 3, 3, 3), (2, 2, 2, 2), (1, 2, 3, 4),
    (4, 4, 4, 4), (1, 1, 2, 1), (2, 2, 2, 2), (None, 5, 5, 5), (None, None, 1, 1), (None, None, 3, None),
]  # fmt: skip


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_has_the_values_of_its_example(level: Any, alpha: float) -> None:
    found = krippendorff_alpha(UNITS, level=level)
    assert found == Agreement(found.alpha, level, 11, 4, 7)
    assert round(found.alpha, 3) == alpha


def test_krippendorff_of_two_who_agree_and_of_two_who_never_do() -> None:
    assert krippendorff_alpha([[1, 1], [2, 2], [5, 5]], level="ordinal").alpha == pytest.approx(1.0)
    assert krippendorff_alpha([[1, 2], [2, 1]], level="nominal").alpha < 0
    with pytest.raises(ValueError, match="nominal, ordinal or interval, not 'ratio'"):
        krippendorff_alpha(UNITS, level="ratio")  # type: ignore[arg-type]


def test_kappa_of_yes_and_no_is_agreement_beyond_the_habits_of_both() -> None:
    one, other = [1] * 25 + [0] * 25, [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    found = cohen_kappa([*one, 1, None], [*other, None, nan], weights="none")
    # 35 of 50 agree; by habit (25 and 30 say yes) half would.
    assert found == (pytest.approx((0.7 - 0.5) / (1 - 0.5)), "none", 50, 2)


def test_quadratic_kappa_goes_by_the_distance_on_the_scale_and_not_by_the_steps_that_were_used() -> None:
    one, other = [1, 2, 9, 10, 10], [2, 1, 10, 9, 2]
    apart = np.subtract.outer(one, other) ** 2
    by_hand = 1 - np.diag(apart).mean() / apart.mean()
    assert cohen_kappa(one, other, weights="quadratic").kappa == pytest.approx(by_hand)
    assert cohen_kappa(one, other, weights="none").kappa < by_hand


def test_kappa_takes_what_lies_between_two_steps_as_the_nearest() -> None:
    near = cohen_kappa([1.2, 4.4, 9.6], [2.0, 4.0, 8.9], weights="quadratic")
    assert near == cohen_kappa([1, 4, 10], [2, 4, 9], weights="quadratic")


def test_who_rates_higher_throughout_agrees_less_by_alpha_than_by_kappa() -> None:
    one = [1, 2, 3, 4, 5, 6, 7, 8] * 3
    kappa = cohen_kappa(one, [at + 2 for at in one], weights="quadratic")
    assert kappa.kappa > krippendorff_alpha([[at, at + 2] for at in one], level="interval").alpha
    assert cohen_kappa(one, one, weights="quadratic").kappa == 1


@pytest.mark.parametrize(
    ("one", "other", "weights", "why"),
    [
        ([1, 0], [1], "none", "2 and 1 do not pair up"),
        ([1, None], [None, 0], "none", "not all the same"),
        ([], [], "none", "not all the same"),
        ([3, 3], [3, 3], "quadratic", "not all the same"),
        ([3, 4], [3, 3], "linear", "none or quadratic, not 'linear'"),
    ],
)
def test_what_has_no_kappa_is_refused(one: Any, other: Any, weights: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        cohen_kappa(one, other, weights=weights)


@pytest.mark.parametrize(
    ("second", "icc"), [((1, 2, 3, 4, 5), 1.0), ((2, 3, 4, 5, 6), 2.5 / 3), ((1, 1, 1, 1, 1), 0.0)]
)
def test_the_intraclass_correlation_asks_for_absolute_agreement(second: tuple[int, ...], icc: float) -> None:
    first = (1, 2, 3, 4, 5) if icc else (2, 2, 2, 2, 2)
    found = intraclass_correlation(list(zip(first, second, strict=True)))
    assert found.icc == pytest.approx(icc)
    assert (found.low, found.high) == (None, None)


def test_the_intraclass_correlation_is_that_of_shrout_and_fleiss() -> None:
    # The six targets and four judges of Shrout and Fleiss 1979: ICC(2,1) = .29.
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = intraclass_correlation(table)
    assert round(found.icc, 2) == 0.29
    assert (found.low, found.high) == (pytest.approx(0.02, abs=0.01), pytest.approx(0.76, abs=0.01))
    assert (found.n, found.k, found.method) == (6, 4, "ICC(2,1), 95 % interval")
    assert intraclass_correlation(table[:5]).n == 5
    with pytest.raises(ValueError, match="Give 5 samples or more: there are 4"):
        intraclass_correlation(table[:4])


@pytest.mark.parametrize("measure", [item_consistency, dim_consistency, robustness])
def test_consistency_is_a_mean_population_deviation_by_the_span(measure: Any) -> None:
    assert measure([[1, 3], [2, 2, 5]], **FIVE) == Consistency(pytest.approx((1 + sqrt(2)) / 2 / 4), 2)
    assert measure(np.array([[2.0, 2.0]]), **FIVE) == Consistency(0.0, 1)
    assert measure([[1, 5]], **FIVE).value == 0.5
    for groups in ([], [[1, 2], [3]]):
        with pytest.raises(ValueError, match="two scores or more"):
            measure(groups, **FIVE)
    for groups, scale in (
        ([[1, nan]], FIVE),
        ([[0.9, 2]], FIVE),
        ([[5.1, 2]], FIVE),
        ([[1, 1]], {"low": 1, "high": 1}),
    ):
        with pytest.raises(ValueError, match="a scale that goes up"):
            measure(groups, **scale)


def test_nothing_heavy_is_imported_for_the_metrics() -> None:
    code = (
        "import importlib, pkgutil, sys, dramaturg.evaluation.metrics as m;"
        "[importlib.import_module(f'{m.__name__}.{one.name}') for one in pkgutil.iter_modules(m.__path__)];"
        "heavy = {'scipy', 'sklearn', 'statsmodels', 'pingouin', 'krippendorff', 'pandas', 'matplotlib'};"
        "print(*heavy & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ""


# Repetition in talks


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        ([], []),
        (["We must save the mill.", "We must save the mill!"], [(0, 2), (2, 2)]),
        (["We must save the mill.", "They must save the mill."], [(0, 2), (1, 2)]),
        (["Yes.", "No.", "YES"], [(0, 1), (0, 1), (1, 1)]),
        (["Yes, we must save it.", "Yes."], [(0, 2), (0, 1)]),
        (["…", "…"], [(0, 0), (0, 0)]),
        (["我们要保住磨坊。", "我们要保住磨坊！"], [(0, 4), (4, 4)]),
        (["방앗간을 꼭 지켜야 해요.", "방앗간을 꼭 지켜야 해요."], [(0, 1), (1, 1)]),
        (["to be or not to be or not to be", "Go."], [(0, 7), (0, 1)]),
    ],
)
def test_of_a_line_what_an_earlier_line_holds_is_repeated(lines: list[str], counts: list[tuple[int, int]]) -> None:
    assert repeated(lines) == counts


def test_repetition_is_a_share_of_all_that_is_said_after_the_first_line() -> None:
    talk = ["We must save the mill.", "We must save the mill.", "The mill is old and it will fall."]
    assert repetition([talk, ["Good day.", "Good day."]]) == pytest.approx((2 + 0 + 1) / (2 + 5 + 1))
    assert repetition([["Alone."], []]) is None


@given(st.lists(st.text("ab ", max_size=12), max_size=5))
def test_repetition_lies_between_none_and_all_and_is_all_of_what_is_said_again(lines: list[str]) -> None:
    share = repetition([lines])
    assert share is None or 0 <= share <= 1
    assert all(again == of for again, of in repeated([*lines, *lines])[len(lines) :])


def test_an_n_gram_has_a_word() -> None:
    with pytest.raises(ValueError, match="An n-gram has one word or more, not 0"):
        repeated(["Yes."], 0)
