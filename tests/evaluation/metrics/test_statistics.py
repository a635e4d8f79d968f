"""Statistics: intervals that cover what they say, exact tests, corrections, and what a number of pairs can show."""

import random
from math import comb, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dramaturg.evaluation.metrics.intervals import Missing, cluster_interval, missing, paired_interval, wilson
from dramaturg.evaluation.metrics.paired_tests import (
    Corrected,
    Detectable,
    holm,
    mcnemar,
    sign_flip,
    smallest_difference,
    wilcoxon,
)

from property_settings import property_settings

BCA = "cluster bootstrap over roles, BCa, 10000 resamples"
FEW, NO_SPREAD = "a bootstrap of {} roles is too narrow: from 10 on", "nothing says how roles vary"


def by_role(rows: Any) -> dict[str, list[float]]:
    return {f"role {at}": list(row) if hasattr(row, "__iter__") else [row] for at, row in enumerate(rows)}


@pytest.mark.parametrize("runs", [100, pytest.param(1_000, marks=pytest.mark.crash)])
def test_the_interval_covers_the_true_mean_as_often_as_it_says(runs: int) -> None:
    dice, held, roles = np.random.default_rng(1), 0, 40
    for seed in range(runs):
        # Roles differ in how often they are right, and each answers 15 questions.
        right = dice.binomial(15, dice.beta(6, 2, roles))
        values = {str(role): [1.0] * hits + [0.0] * (15 - hits) for role, hits in enumerate(right.tolist())}
        found = cluster_interval(values, seed=seed, resamples=999)
        held += (found.low or 0) <= 0.75 <= (found.high or 0)
    assert 0.95 - 0.6 / sqrt(runs) <= held / runs <= 0.95 + 0.6 / sqrt(runs)


def test_the_interval_of_few_roles_covers_too() -> None:
    dice, held = np.random.default_rng(2), 0
    for seed in range(500):
        found = cluster_interval(by_role(dice.normal(5, 1, 4).tolist()), seed=seed)
        held += (found.low or 0) <= 5 <= (found.high or 0)
    assert 0.93 <= held / 500 <= 0.97


def test_the_interval_is_that_of_scipy_on_the_means_of_roles() -> None:
    rows = [[at % 3, at, 2 * at] for at in range(10)]
    found = cluster_interval(by_role(rows), seed=5)
    means = np.mean(rows, axis=1)
    there = stats.bootstrap((means,), np.mean, n_resamples=10_000, method="BCa", rng=np.random.default_rng(5))
    assert (found.low, found.high) == pytest.approx(tuple(there.confidence_interval))
    assert found.mean == pytest.approx(means.mean())
    assert (found.n, found.n_values, found.covered, found.seed) == (10, 30, 0.95, 5)
    assert (found.method, found.reason) == (BCA, "")


def test_a_seed_gives_the_same_interval_again_and_another_seed_another() -> None:
    values = by_role([at**2 for at in range(12)])
    assert cluster_interval(values, seed=1) == cluster_interval(values, seed=1)
    assert cluster_interval(values, seed=1).high != cluster_interval(values, seed=2).high


def test_more_coverage_is_wider_and_fewer_resamples_are_said() -> None:
    values = by_role([at**2 for at in range(12)])
    one, two = cluster_interval(values, seed=1, covered=0.8), cluster_interval(values, seed=1, covered=0.99)
    assert (two.low or 0) < (one.low or 0) < (one.high or 0) < (two.high or 0)
    assert (one.covered, two.covered) == (0.8, 0.99)
    assert cluster_interval(values, seed=1, resamples=500).method == BCA.replace("10000", "500")


def test_pooled_values_weigh_alike_and_roles_alike_otherwise() -> None:
    values = by_role([[1.0], [0.0, 0.0, 0.0], *[[0.0, 1.0]] * 8])
    roles, pooled = cluster_interval(values, seed=0), cluster_interval(values, seed=0, pooled=True)
    assert roles.mean == pytest.approx((1 + 0 + 8 * 0.5) / 10)
    assert pooled.mean == pytest.approx((1 + 0 + 8) / (1 + 3 + 16))
    assert (pooled.n, pooled.n_values) == (10, 20)
    sums, sizes = np.array([1.0, 0.0, *[1.0] * 8]), np.array([1.0, 3.0, *[2.0] * 8])
    there = stats.bootstrap(
        (sums, sizes),
        lambda x, y, axis=-1: x.sum(axis) / y.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(0),
    )
    assert (pooled.low, pooled.high) == pytest.approx(tuple(there.confidence_interval))


@pytest.mark.parametrize("n", [2, 3, 9])
def test_few_roles_have_student_s_interval_and_the_reason(n: int) -> None:
    values = [at * at + 0.5 for at in range(n)]
    found = cluster_interval(by_role(values), seed=3)
    there = stats.t.interval(0.95, n - 1, np.mean(values), stats.sem(values))
    assert (found.low, found.high) == pytest.approx(there)
    assert (found.method, found.reason) == ("Student's t over roles", FEW.format(n))
    narrower = stats.t.interval(0.5, n - 1, np.mean(values), stats.sem(values))
    assert (half := cluster_interval(by_role(values), seed=3, covered=0.5)).low == pytest.approx(narrower[0])
    assert half.high == pytest.approx(narrower[1])


def test_few_roles_of_different_size_have_the_interval_of_a_ratio() -> None:
    found = cluster_interval(by_role([[1.0], [0.0, 0.0, 0.0], [1.0, 1.0]]), seed=0, pooled=True)
    # Sums 1, 0, 2 of 1, 3, 2 values: what is left over of each sum, by the mean size.
    left = np.array([1 - 0.5, 0 - 1.5, 2 - 1.0]) / 2
    half = stats.t.ppf(0.975, 2) * sqrt((left**2).sum() / 2 / 3)
    assert (found.mean, found.low, found.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))


@pytest.mark.parametrize("rows", [[[0.1, 0.3]] * 20, [[0.1 + 0.2], [0.3]] * 6, [[1e9 / 3]] * 11, [[0.0]] * 2])
def test_roles_that_are_all_the_same_have_no_interval(rows: Any) -> None:
    found = cluster_interval(by_role(rows), seed=0)
    assert (found.low, found.high, found.method) == (None, None, "none")
    assert found.reason == f"all {len(rows)} roles have the same mean: {NO_SPREAD}"


def test_one_role_has_no_interval() -> None:
    found = cluster_interval({"ada": [1, 2, 3]}, seed=0)
    assert found == (2.0, None, None, 1, 3, 0.95, 0, "none", f"there is one role: {NO_SPREAD}")


def test_small_differences_between_roles_are_seen() -> None:
    found = cluster_interval(by_role([1e-9 * at for at in range(12)]), seed=0)
    assert found.method == BCA
    assert 0 < (found.low or 0) < (found.high or 0) < 1.1e-8


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "one role or more"),
        ({"ada": []}, "one value or more"),
        ({"ada": [1, nan]}, "A value is no number"),
        ({"ada": [1, None]}, "A value is no number"),
    ],
)
def test_what_has_no_mean_is_refused(values: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        cluster_interval(values, seed=0)
    with pytest.raises(ValueError, match=why):
        sign_flip(values, values, seed=0)


@pytest.mark.parametrize("covered", [0, 1, 95, nan])
def test_what_is_to_be_covered_is_a_share(covered: float) -> None:
    with pytest.raises(ValueError, match=f"such as 0.95: {covered} is none"):
        cluster_interval({"ada": [1.0], "tom": [2.0]}, seed=0, covered=covered)
    with pytest.raises(ValueError, match=f"such as 0.95: {covered} is none"):
        wilson(1, 2, covered=covered)


def test_a_paired_interval_is_that_of_the_differences() -> None:
    first, second = by_role([[at, 1.0] for at in range(12)]), by_role([[1.0, at / 2] for at in range(12)])
    one = paired_interval(first, second, seed=4, resamples=2_000, covered=0.9)
    two = cluster_interval(by_role([[at - 1, 1 - at / 2] for at in range(12)]), seed=4, resamples=2_000, covered=0.9)
    assert one == two
    assert one.mean == pytest.approx(1.375)


def test_a_paired_interval_is_narrower_than_the_values_if_roles_go_together() -> None:
    first, second = by_role([10 * at + at % 2 for at in range(12)]), by_role([10 * at for at in range(12)])
    paired, alone = paired_interval(first, second, seed=0), cluster_interval(first, seed=0)
    assert (paired.high or 0) - (paired.low or 0) < ((alone.high or 0) - (alone.low or 0)) / 10
    weighed = by_role([[0.0]] + [[1.0, 1.0]] * 11), by_role([[0.0]] + [[0.0, 0.0]] * 11)
    assert paired_interval(*weighed, seed=0, pooled=True).mean == pytest.approx(22 / 23)
    assert paired_interval(*weighed, seed=0).mean == pytest.approx(11 / 12)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({"ada": [1]}, {"bea": [1]}, r"\['ada', 'bea'\] have one only"),
        ({"ada": [1], "bea": [1]}, {"ada": [1]}, r"\['bea'\] have one only"),
        ({"ada": [1], "bea": [1, 2]}, {"ada": [1], "bea": [1]}, "'bea' has more of one"),
    ],
)
def test_values_that_do_not_pair_up_are_refused(first: Any, second: Any, why: str) -> None:
    for test in (paired_interval, sign_flip):
        with pytest.raises(ValueError, match=why):
            test(first, second, seed=0)


def test_sign_flips_are_counted_one_by_one() -> None:
    gaps = [3, 1, -1, 4, 2, 5]
    found = sign_flip(by_role(gaps), by_role([0] * 6), seed=0)
    ways = [sum(gap if way >> at & 1 else -gap for at, gap in enumerate(map(abs, gaps))) for way in range(64)]
    assert found.p == sum(abs(one) >= sum(gaps) for one in ways) / 64
    assert found == (14 / 6, found.p, 6, None, "sign flips over roles, exact, 64 ways")


def test_sign_flips_go_over_roles_and_not_over_questions() -> None:
    first, second = {"ada": [1.0] * 50, "bea": [1.0] * 50}, {"ada": [0.0] * 50, "bea": [0.0] * 50}
    assert sign_flip(first, second, seed=0).p == 0.5


@pytest.mark.parametrize(("n", "p"), [(1, 1.0), (2, 0.5), (5, 1 / 16), (6, 1 / 32), (16, 2 / 2**16)])
def test_the_smallest_p_of_sign_flips_is_two_by_all_ways(n: int, p: float) -> None:
    found = sign_flip(by_role([1.0] * n), by_role([0.0] * n), seed=0)
    assert (found.p, found.n, found.seed) == (p, n, None)
    assert found.method == f"sign flips over roles, exact, {2**n} ways"


def test_many_roles_are_flipped_at_random_and_the_seed_is_said() -> None:
    dice = np.random.default_rng(0)
    first, second = by_role(dice.normal(0.4, 1, 17).tolist()), by_role([0.0] * 17)
    found = sign_flip(first, second, seed=7)
    assert (found.n, found.seed, found.method) == (17, 7, "sign flips over roles, 100000 ways at random")
    assert found.p == sign_flip(first, second, seed=7).p != sign_flip(first, second, seed=8).p
    assert found.p == pytest.approx(stats.ttest_1samp([one for (one,) in first.values()], 0).pvalue, rel=0.2)
    assert sign_flip(second, second, seed=0).p == 1.0


@pytest.mark.parametrize(("gained", "lost"), [(6, 0), (5, 0), (0, 6), (10, 3), (4, 4)])
def test_mcnemar_is_the_binomial_test_of_the_pairs_that_differ(gained: int, lost: int) -> None:
    first = [True] * gained + [False] * lost + [True, False, False]
    second = [False] * gained + [True] * lost + [True, False, False]
    found = mcnemar(first, second)
    n, few = gained + lost, min(gained, lost)
    assert found.p == pytest.approx(min(1, 2 * sum(comb(n, k) for k in range(few + 1)) / 2**n))
    assert found == ((gained - lost) / (n + 3), found.p, n + 3, gained, lost, None, "McNemar, exact")
    assert (found.p < 0.05) == (max(gained, lost) == 6)


def test_nothing_that_differs_is_no_difference() -> None:
    assert mcnemar([True, False], [True, False])[:3] == (0.0, 1.0, 2)
    assert wilcoxon([1, 2], [1, 2])[:4] == (0.0, 1.0, 2, 0)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [([], [], "one at least: 0 and 0"), ([1], [1, 0], "1 and 2"), ([1, nan], [1, 1], "no number"),
     ([1, 1], [nan, 1], "no number")],
)  # fmt: skip
def test_pairs_that_are_none_are_refused(first: Any, second: Any, why: str) -> None:
    for test in (mcnemar, wilcoxon):
        with pytest.raises(ValueError, match=why):
            test(first, second)


@pytest.mark.parametrize(("first", "second"), [([1, 2], [1, 0]), ([1, 0], [1, 0.5])])
def test_mcnemar_wants_yes_or_no(first: Any, second: Any) -> None:
    with pytest.raises(ValueError, match="yes or no"):
        mcnemar(first, second)


def test_wilcoxon_leaves_equal_pairs_out_and_cliff_s_delta_does_not() -> None:
    first, second = [5, 6, 7, 8, 9, 3, 3], [1, 1, 1, 1, 2, 3, 3]
    found = wilcoxon(first, second)
    assert found.p == pytest.approx(2 / 2**5)
    more = sum((a > b) - (a < b) for a in first for b in second)
    assert found.delta == pytest.approx(more / 49)
    assert (found.n, found.n_different, found.seed) == (7, 5, None)
    assert found.method == "Wilcoxon signed-rank over the pairs that differ; Cliff's delta over all"
    assert wilcoxon(second, first).delta == pytest.approx(-found.delta)
    assert wilcoxon([1], [0])[:2] == (1.0, 1.0)


@property_settings(30)
@given(st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), min_size=1, max_size=7))
def test_ordinal_and_binary_tests_do_not_depend_on_the_order_of_methods(rows: Any) -> None:
    first, second = ([row[side] for row in rows] for side in (0, 1))
    one, two = wilcoxon(first, second), wilcoxon(second, first)
    assert -1 <= one.delta <= 1
    assert (one.p, one.delta) == pytest.approx((two.p, -two.delta))
    yes, no = [one > 5 for one in first], [one > 5 for one in second]
    assert mcnemar(yes, no).p == mcnemar(no, yes).p
    assert mcnemar(yes, no).difference == -mcnemar(no, yes).difference


def test_wilson_is_its_formula() -> None:
    found, z = wilson(8, 10), 1.959963984540054
    middle, half = (0.8 + z * z / 20) / (1 + z * z / 10), z * sqrt(0.16 / 10 + z * z / 400) / (1 + z * z / 10)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half))
    assert (found.share, found.hits, found.n, found.covered, found.method) == (0.8, 8, 10, 0.95, "Wilson")
    assert wilson(8, 10, covered=0.5).low > found.low
    assert wilson(8, 10, covered=0.5).covered == 0.5
    assert (wilson(0, 3).low, wilson(3, 3).high) == pytest.approx((0, 1), abs=1e-12)
    assert wilson(0, 1).share == 0.0


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (1, 0), (-1, 3), (4, 3), (0, -1)])
def test_hits_that_are_no_share_are_refused(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{hits} of {n} is no share"):
        wilson(hits, n)


def test_holm_multiplies_by_what_is_left_and_never_goes_down() -> None:
    found = holm({"c": 0.04, "a": 0.01, "b": 0.03, "d": 0.9})
    assert list(found) == ["c", "a", "b", "d"]
    assert [one.corrected for one in found.values()] == pytest.approx([0.09, 0.04, 0.09, 0.9])
    assert [one.significant for one in found.values()] == [False, True, False, False]
    assert found["a"] == Corrected(0.01, pytest.approx(0.04), True, 4, None, "Holm")
    assert holm({"c": 0.04, "b": 0.03}, level=0.1)["c"].significant
    assert holm({"a": 0.05})["a"].significant
    assert not holm({"a": 0.051})["a"].significant
    assert [one.corrected for one in holm({"a": 0.0, "b": 1.0}).values()] == [0.0, 1.0]


@pytest.mark.parametrize("values", [{}, {"a": -0.1}, {"a": 1.1}, {"a": 0.5, "b": nan}])
def test_what_is_no_table_of_p_values_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="each from 0 to 1"):
        holm(values)


# At 10, 20 and 30 % of pairs that differ, in points; simulated in steps of half a point, so a little above.
SMALLEST = {
    32: (None, None, 27),
    140: (8, 11.5, 13.5),
    357: (5, 7, 8.5),
    450: (4.5, 6.5, 7.5),
    859: (3.5, 4.5, 5.5),
    1785: (2.5, 3, 4),
    4564: (1.5, 2, 2.5),
}


@pytest.mark.parametrize(("n", "points"), SMALLEST.items())
def test_the_smallest_difference_agrees_with_the_simulated_one(n: int, points: Any) -> None:
    for discordance, expected in zip((0.1, 0.2, 0.3), points, strict=True):
        found = smallest_difference(n, discordance).difference
        assert (found is None) == (expected is None)
        if found is not None:
            assert -0.05 < expected - 100 * found < 0.6


def test_the_test_has_the_power_that_was_asked_for_at_the_smallest_difference() -> None:
    found = smallest_difference(60, 0.4, power=0.6, level=0.1)
    dice = np.random.default_rng(0)
    differ = dice.binomial(60, 0.4, 200_000)
    ahead = dice.binomial(differ, (0.4 + (found.difference or 0)) / 0.8)
    table = {n: {k: stats.binomtest(k, n).pvalue < 0.1 for k in range(n + 1)} for n in range(1, differ.max() + 1)}
    hit = np.mean([n > 0 and table[n][k] for n, k in zip(differ.tolist(), ahead.tolist(), strict=True)])
    assert hit == pytest.approx(0.6, abs=0.005)
    assert found == Detectable(found.difference, 60, 0.4, 0.6, 0.1, None, "McNemar, exact; its power, computed")


def test_six_pairs_that_all_differ_find_what_all_of_them_show() -> None:
    assert smallest_difference(6, 1.0).difference == pytest.approx(2 * 0.8 ** (1 / 6) - 1, abs=1e-3)
    assert smallest_difference(5, 1.0).difference is None
    assert smallest_difference(1, 0.5).difference is None


@pytest.mark.parametrize(
    ("n", "given"),
    [(0, {}), (9, {"discordance": 0.0}), (9, {"discordance": 1.1}), (9, {"power": 1.0}), (9, {"power": 0.05}),
     (9, {"level": 0.0}), (9, {"level": 0.9})],
)  # fmt: skip
def test_a_design_that_is_none_is_refused(n: int, given: Any) -> None:
    with pytest.raises(ValueError, match="a power above the level"):
        smallest_difference(n, **{"discordance": 0.2, **given})


def test_what_is_missing_is_counted_and_bounds_the_mean() -> None:
    found = missing([1, None, 5, None], low=1, high=5)
    assert found == Missing(3.0, 2.0, 4.0, 0.5, 2, 4, False, None, "worst-case bounds")
    assert missing([None], low=1, high=10) == Missing(None, 1.0, 10.0, 1.0, 1, 1, False, None, "worst-case bounds")
    assert missing([2, 3], low=0, high=4)[:3] == (2.5, 2.5, 2.5)
    assert missing(np.array([1.0, 3.0]), low=0, high=4).valid  # type: ignore[arg-type]


@pytest.mark.parametrize(("gone", "valid"), [(0, True), (1, True), (2, True), (3, False)])
def test_two_percent_may_be_missing_and_no_more(gone: int, valid: bool) -> None:
    assert missing([1.0] * (100 - gone) + [None] * gone, low=0, high=1).valid is valid


@pytest.mark.parametrize(
    ("values", "low", "high", "why"),
    [([], 0, 1, "one value or more"), ([1], 1, 1, "a scale that goes up"), ([1.1], 0, 1, "scores from 0 to 1"),
     ([-0.1, None], 0, 1, "scores from 0 to 1"), ([nan], 0, 1, "None where one is missing")],
)  # fmt: skip
def test_scores_off_the_scale_are_not_missing_but_refused(values: Any, low: float, high: float, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        missing(values, low=low, high=high)


@given(st.lists(st.floats(0, 1) | st.none(), min_size=1), st.randoms(use_true_random=False))
def test_the_mean_of_any_completion_lies_in_the_bounds(values: Any, dice: random.Random) -> None:
    found = missing(values, low=0, high=1)
    filled = [dice.random() if one is None else one for one in values]
    assert found.lowest - 1e-12 <= sum(filled) / len(filled) <= found.highest + 1e-12
    assert found.highest - found.lowest == pytest.approx(found.share)
