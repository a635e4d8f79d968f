"""Statistics: intervals that cover what they say, exact tests, corrections, and what a number of pairs can show."""

import random
from math import comb, nan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from dramaturg.evaluation.metrics.intervals import (
    POSITIVE,
    Missing,
    cluster_interval,
    missing,
    paired_interval,
    wilson,
)
from dramaturg.evaluation.metrics.paired_tests import (
    Corrected,
    Detectable,
    detectable_sds,
    flipped_p,
    holm,
    least_p,
    mcnemar,
    paired_test,
    smallest_difference,
    step_down,
    wilcoxon,
)

from property_settings import property_settings

pytestmark = pytest.mark.sample_of_file(23)

NO_SPREAD = "nothing says how roles vary"


def by_role(rows: Any) -> dict[str, list[float]]:
    return {f"role {at}": list(row) if hasattr(row, "__iter__") else [row] for at, row in enumerate(rows)}


def test_the_interval_of_a_share_is_that_of_the_effective_n() -> None:
    values = {"ada": [1, 1, 1, 0], "bea": [1, 0], "cid": [1, 1, 1, 1, 1], "dot": [1, 1, 0]}
    found = cluster_interval(values)
    means = np.array([0.75, 0.5, 1.0, 2 / 3])
    mean = means.mean()
    assert (found.mean, found.n, found.n_values, found.reason) == (pytest.approx(mean), 4, 14, "")
    effective = min(mean * (1 - mean) / stats.sem(means) ** 2, 14)
    excess = max(stats.kurtosis(means), 1.5 * stats.skew(means) ** 2, 0)
    freedom = 2 / (excess / 4 + 2 / 3)
    n = effective * (stats.t.ppf(0.975, effective - 1) / stats.t.ppf(0.975, freedom)) ** 2
    low, high = stats.beta.ppf(0.025, mean * n, n - mean * n + 1), stats.beta.ppf(0.975, mean * n + 1, n - mean * n)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.method == "effective n over roles (Korn and Graubard)"


def test_shares_that_hardly_vary_count_as_no_more_answers_than_there_are() -> None:
    # Scores may hardly vary, answers of yes or no cannot.
    alike = [[1.0, 0.0, 0.0]] * 5 + [[1.0, 0.0, 0.0, 0.0]]
    found, scores = cluster_interval(by_role(alike)), cluster_interval(by_role(alike), scale=(0, 1.0001))
    assert found.high - found.low > 0.3 > 0.2 > scores.high - scores.low


@pytest.mark.parametrize("scale", [(0.0, 1.0), (1.0, 10.0), (-1.0, 1.0)])
@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=2, max_size=9))
@property_settings(30)
def test_an_interval_stays_on_its_scale_and_holds_the_mean(scale: Any, rows: Any) -> None:
    values = by_role([[scale[0] + one * (scale[1] - scale[0]) for one in row] for row in rows])
    found = cluster_interval(values, scale=scale)
    assert scale[0] - 1e-9 <= found.low <= found.mean <= found.high <= scale[1] + 1e-9
    pooled = cluster_interval(values, scale=scale, pooled=True)
    assert scale[0] - 1e-9 <= pooled.low <= pooled.mean <= pooled.high <= scale[1] + 1e-9


def test_the_cases_of_the_audit_stay_on_the_scale() -> None:
    # Student's t gave [-1.10, 1.77], [-6.8, 16.1] and, of an AUC, [-.77, 2.10].
    assert 0 <= (share := cluster_interval({"a": [1.0], "b": [0.0], "c": [0.0]})).low < share.high <= 1
    assert 1 <= (score := cluster_interval({"a": [9.0], "b": [1.0], "c": [4.0]}, scale=(1, 10))).low < score.high <= 10
    assert 0 <= (auc := cluster_interval({"a": [1.0], "b": [0.0], "c": [1.0]})).low < auc.high <= 1


def test_more_coverage_is_wider() -> None:
    values = by_role([at**2 / 200 for at in range(12)])
    one, two = cluster_interval(values, covered=0.8), cluster_interval(values, covered=0.99)
    assert two.low < one.low < one.high < two.high
    assert (one.covered, two.covered) == (0.8, 0.99)


def test_pooled_values_weigh_alike_and_roles_alike_otherwise() -> None:
    values = by_role([[1.0], [0.0, 0.0, 0.0], *[[0.0, 1.0]] * 8])
    roles, pooled = cluster_interval(values), cluster_interval(values, pooled=True)
    assert roles.mean == pytest.approx((1 + 0 + 8 * 0.5) / 10)
    assert pooled.mean == pytest.approx((1 + 0 + 8) / (1 + 3 + 16))
    assert (pooled.n, pooled.n_values) == (10, 20)
    assert roles[1:3] != pooled[1:3]


def test_single_answers_of_yes_or_no_have_the_exact_interval() -> None:
    found = cluster_interval(by_role([1.0] * 8 + [0.0] * 2), unit="question")
    assert (found.low, found.high) == pytest.approx(tuple(stats.binomtest(8, 10).proportion_ci(method="exact")))
    assert found.method == "Clopper–Pearson over questions"


@pytest.mark.parametrize("rows", [[[0.1 + 0.2], [0.3]] * 6, [[0.0, 0.0]] * 2, [[1.0, 1.0]] * 3])
def test_roles_that_are_all_the_same_have_the_interval_of_as_many_answers(rows: Any) -> None:
    found, n = cluster_interval(by_role(rows)), len(rows)
    mean = float(np.mean(rows[0]))
    low, high = stats.beta.ppf(0.025, n * mean, n - n * mean + 1), stats.beta.ppf(0.975, n * mean + 1, n - n * mean)
    assert (found.low, found.high) == pytest.approx((0 if mean == 0 else low, 1 if mean == 1 else high), abs=1e-9)
    assert found.reason == f"all {n} roles have the same mean, so that each role counts as one yes-or-no answer"


def test_where_roles_do_not_vary_their_answers_do() -> None:
    apart = by_role([[-1.0] * 3 + [0.0] * 7] * 8)
    found = cluster_interval(apart, scale=(-1.0, 1.0))
    assert -0.5 < found.low < -0.3 < found.high < -0.1
    assert found.reason == "all 8 roles have the same mean, so that the interval is taken from their answers"


def test_one_role_has_no_interval() -> None:
    found = cluster_interval({"ada": [1, 0, 1]})
    assert found == (pytest.approx(2 / 3), None, None, 1, 3, 0.95, "none", f"there is one role: {NO_SPREAD}")


def test_what_is_counted_has_an_interval_above_nothing() -> None:
    values = [120.0, 300.0, 90.0]
    found = cluster_interval(by_role(values), scale=POSITIVE)
    times = np.exp(stats.t.ppf(0.975, 2) * stats.sem(values) / np.mean(values))
    assert (found.low, found.high) == pytest.approx((170 / times, 170 * times))
    assert found.method == "Student's t over roles, of the logarithm"


def test_what_has_no_ends_has_student_s_interval() -> None:
    first, second = by_role([12.0, 30.0, 9.0]), by_role([10.0, 33.0, 2.0])
    found = paired_interval(first, second, scale=POSITIVE)
    assert (found.low, found.high) == pytest.approx(stats.t.interval(0.95, 2, 2.0, stats.sem([2.0, -3.0, 7.0])))
    same = paired_interval(first, first, scale=POSITIVE)
    assert (same.low, same.reason) == (None, f"all 3 roles have the same mean: {NO_SPREAD}")


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
        cluster_interval(values)
    with pytest.raises(ValueError, match=why):
        paired_test(values, values, seed=0)


def test_a_value_may_round_past_the_end_of_its_scale() -> None:
    assert cluster_interval({"a": [1 + 1e-15], "b": [0.5]}).high == pytest.approx(1)
    assert cluster_interval({"a": [-1e-15], "b": [0.5]}).low == pytest.approx(0)


def test_means_that_differ_by_rounding_alone_do_not_vary() -> None:
    found = cluster_interval({"a": [1e9 * (0.1 + 0.2)], "b": [1e9 * 0.3]}, scale=POSITIVE)
    assert (found.low, found.high) == (None, None)
    assert "all 2 roles have the same mean" in found.reason


def test_a_value_off_its_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="Give values on their scale"):
        cluster_interval({"ada": [1.0], "tom": [2.0]})


@pytest.mark.parametrize("covered", [0, 1, 95, nan])
def test_what_is_to_be_covered_is_a_share(covered: float) -> None:
    with pytest.raises(ValueError, match=f"such as 0.95: {covered} is none"):
        cluster_interval({"ada": [1.0], "tom": [0.0]}, covered=covered)
    with pytest.raises(ValueError, match=f"such as 0.95: {covered} is none"):
        wilson(1, 2, covered=covered)


def test_a_paired_interval_is_that_of_the_differences() -> None:
    first, second = by_role([[at / 12, 1.0] for at in range(12)]), by_role([[1.0, at / 24] for at in range(12)])
    one = paired_interval(first, second, covered=0.9)
    apart = by_role([[at / 12 - 1, 1 - at / 24] for at in range(12)])
    assert one == cluster_interval(apart, scale=(-1.0, 1.0), covered=0.9)


def test_a_paired_interval_is_narrower_than_the_values_if_roles_go_together() -> None:
    first, second = by_role([(10 * at + at % 2) / 120 for at in range(12)]), by_role([at / 12 for at in range(12)])
    paired, alone = paired_interval(first, second), cluster_interval(first)
    assert paired.high - paired.low < (alone.high - alone.low) / 10
    weighed = by_role([[0.0]] + [[1.0, 1.0]] * 11), by_role([[0.0]] + [[0.0, 0.0]] * 11)
    assert paired_interval(*weighed, pooled=True).mean == pytest.approx(22 / 23)
    assert paired_interval(*weighed).mean == pytest.approx(11 / 12)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({"ada": [1]}, {"bea": [1]}, r"\['ada', 'bea'\] have one only"),
        ({"ada": [1], "bea": [1]}, {"ada": [1]}, r"\['bea'\] have one only"),
        ({"ada": [1], "bea": [1, 2]}, {"ada": [1], "bea": [1]}, "'bea' has more of one"),
    ],
)
def test_values_that_do_not_pair_up_are_refused(first: Any, second: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        paired_interval(first, second)
    with pytest.raises(ValueError, match=why):
        paired_test(first, second, seed=0)


def test_sign_flips_are_counted_one_by_one() -> None:
    gaps = [3, 1, -1, 4, 2, 5]
    found = paired_test(by_role(gaps), by_role([0] * 6), seed=0)
    ways = [sum(gap if way >> at & 1 else -gap for at, gap in enumerate(map(abs, gaps))) for way in range(64)]
    assert found.p == sum(abs(one) >= sum(gaps) for one in ways) / 64
    assert found[:5] == (14 / 6, found.p, 2 / 64, 6, None)
    assert found.method == "sign flips over roles, exact, 64 ways"


def test_sign_flips_are_those_of_scipy() -> None:
    gaps = np.random.default_rng(0).normal(0.4, 1, (40, 9)).round(1)  # rounded, so that some are equal
    there = stats.permutation_test(
        (gaps,), np.mean, permutation_type="samples", vectorized=True, axis=-1, n_resamples=2**9
    )
    assert flipped_p(gaps, 0) == pytest.approx(there.pvalue)


def test_a_gain_in_two_of_eight_roles_is_no_finding_however_many_questions_they_have() -> None:
    first = {f"role {at}": [float(at < 2 and question < 11) for question in range(30)] for at in range(8)}
    second = {role: [0.0] * 30 for role in first}
    pooled = [[bool(one) for of in side.values() for one in of] for side in (first, second)]
    assert mcnemar(*pooled).p == pytest.approx(4.8e-7, rel=0.01)
    assert paired_test(first, second, seed=0).p == 0.5


@pytest.mark.parametrize(("n", "p"), [(2, 0.5), (4, 0.125), (6, 1 / 32), (16, 2 / 2**16), (17, 1e-5)])
def test_the_smallest_p_of_sign_flips_is_two_by_all_ways(n: int, p: float) -> None:
    found = paired_test(by_role([1.0] * n), by_role([0.0] * n), seed=0)
    assert found.p == pytest.approx(p, abs=3e-5)
    assert found.least == pytest.approx(p)
    assert least_p(n) == pytest.approx(p)


def test_one_role_is_not_tested() -> None:
    found = paired_test(by_role([[1.0, 0.0, 1.0]]), by_role([[0.0, 0.0, 1.0]]), seed=0)
    assert (found.p, found.method) == (None, "none: there is one role")
    assert found.difference == pytest.approx(1 / 3)
    assert found.least == least_p(1) == 1.0


def test_below_six_roles_stands_student_s_t_with_what_it_assumes() -> None:
    gaps = [0.5, 0.2, 0.4, 0.3]
    found = paired_test(by_role(gaps), by_role([0.0] * 4), seed=0)
    assert found.p == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue)
    assert found.least == 0.125
    assert found.method == "Student's t over 4 roles, taking their differences for normal; sign flips reach 0.125"
    equal = paired_test(by_role([0.5] * 4), by_role([0.0] * 4), seed=0)
    assert equal.p == 0.125  # where Student's t would have found anything
    assert paired_test(by_role([0.5] * 4), by_role([0.5] * 4), seed=0).p == 1.0


def test_many_roles_are_flipped_at_random_and_the_seed_is_said() -> None:
    dice = np.random.default_rng(0)
    first, second = by_role(dice.normal(0.4, 1, 17).tolist()), by_role([0.0] * 17)
    found = paired_test(first, second, seed=7)
    assert (found.n, found.seed, found.method) == (17, 7, "sign flips over roles, 99999 ways at random")
    assert found.p == paired_test(first, second, seed=7).p != paired_test(first, second, seed=8).p
    assert found.p == pytest.approx(stats.ttest_1samp([one for (one,) in first.values()], 0).pvalue, rel=0.2)
    assert paired_test(second, second, seed=0).p == 1.0
    ahead = by_role([1.0] * 30), by_role([0.0] * 30)
    assert paired_test(*ahead, seed=0).p == 1 / 100_000  # none that was drawn is as large, and it is not 0


def differing(table: Any) -> dict[str, dict[str, float]]:
    """Differences as `step_down` takes them: a row a difference, a column a role."""
    return {f"{at}": {f"role-{role}": float(one) for role, one in enumerate(of)} for at, of in enumerate(table)}


def test_one_difference_alone_has_the_p_of_sign_flips() -> None:
    gaps = np.random.default_rng(2).standard_normal((1, 9)) + 0.6
    (found,) = step_down(differing(gaps), seed=0).values()
    assert found.p == found.corrected == pytest.approx(float(flipped_p(gaps[0], 0)))


def test_max_t_is_what_all_flips_counted_one_by_one_give() -> None:
    """Westfall and Young's algorithm 2.8, written out: the maximum over what is no larger than each."""
    gaps = np.random.default_rng(5).standard_normal((4, 7)) + np.array([[1.2], [0.9], [0.1], [0.0]])
    flips = [[1 - 2 * (number >> role & 1) for role in range(7)] for number in range(2**7)]
    size = [sqrt(sum(x * x for x in of)) for of in gaps]
    seen = [abs(sum(of)) / long for of, long in zip(gaps, size, strict=True)]
    order, wanted, before = sorted(range(4), key=lambda at: -seen[at]), {}, 0.0
    for place, at in enumerate(order):
        count = 0
        for flip in flips:
            left = [abs(sum(s * x for s, x in zip(flip, gaps[of], strict=True))) / size[of] for of in order[place:]]
            count += max(left) >= seen[at] - 1e-9
        before = wanted[f"{at}"] = max(before, count / len(flips))
    found = step_down(differing(gaps), seed=0)
    assert {name: one.corrected for name, one in found.items()} == pytest.approx(wanted)


def test_differences_that_agree_cost_little_where_holm_takes_all() -> None:
    """Eight of eight roles gain in twelve differences: the smallest p is 0.0078, which Holm's rule makes 0.094."""
    common = 0.26 + 0.05 * np.random.default_rng(3).standard_normal(8)
    gaps = common + 0.02 * np.random.default_rng(4).standard_normal((12, 8))
    found = step_down(differing(gaps), seed=0)
    assert all(one.significant for one in found.values())
    assert not any(one.significant for one in holm({name: one.p for name, one in found.items()}).values())


def test_max_t_finds_what_is_not_there_in_five_of_a_hundred_families() -> None:
    dice, false = np.random.default_rng(6), 0
    for _ in range(400):
        gaps = (dice.standard_normal((12, 8)) + dice.standard_normal(8)) / 2**0.5
        false += any(one.significant for one in step_down(differing(gaps), seed=0).values())
    assert false / 400 <= 0.08


def test_a_difference_that_lacks_a_role_rests_on_the_others_and_none_is_of_nothing() -> None:
    gaps = differing(np.full((2, 8), 0.5) + 0.1 * np.arange(8))
    del gaps["1"]["role-3"]
    gaps["2"] = dict.fromkeys(gaps["0"], 0.0)
    found = step_down(gaps, seed=0)
    assert [found[name].p for name in "012"] == [2 / 2**8, 2 / 2**7, 1.0]
    with pytest.raises(ValueError, match="one difference or more"):
        step_down({}, seed=0)


@pytest.mark.parametrize(("n", "tests"), [(6, 1), (8, 1), (8, 6), (13, 1)])
def test_the_smallest_difference_of_sign_flips_is_found_by_them_80_times_of_100(n: int, tests: int) -> None:
    """By six roles Student's t would find it at 1.43 standard deviations; sign flips find that 64 times."""
    dice, sds = np.random.default_rng(1), detectable_sds(n, tests=tests)
    assert sds is not None
    runs, found = 400, 0
    for _ in range(runs):
        own = dice.standard_normal((tests, n)) + (dice.standard_normal(n) if tests > 1 else 0)
        own /= 2**0.5 if tests > 1 else 1
        own[0] += sds
        gaps = {str(at): dict(zip(map(str, range(n)), of, strict=True)) for at, of in enumerate(own.tolist())}
        found += step_down(gaps, seed=0)["0"].significant
    assert 0.74 <= found / runs <= (0.86 if tests == 1 else 0.9)


@pytest.mark.parametrize("n", [2, 4, 200])
def test_the_smallest_difference_in_deviations_is_that_of_the_power_of_student_s_t(n: int) -> None:
    assert detectable_sds(n) == pytest.approx(TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8), rel=2e-3)
    found = paired_test(by_role(np.arange(n) / n), by_role([0.0] * n), seed=0)
    assert found.detectable == pytest.approx(detectable_sds(n) * np.std(np.arange(n) / n, ddof=1))


def test_no_smallest_difference_is_named_that_the_scale_does_not_allow() -> None:
    apart = by_role([1.0, 0.0, 1.0, 0.0]), by_role([0.0, 1.0, 0.0, 0.0])
    assert paired_test(*apart, seed=0).detectable > 1
    assert paired_test(*apart, seed=0, largest=1).detectable is None


def test_where_no_p_is_small_enough_no_difference_is_found() -> None:
    assert detectable_sds(8, 0.05 / 10) is None  # 2 / 2**8 is more than that
    assert detectable_sds(1) is None
    assert detectable_sds(12, 0.05 / 10) > detectable_sds(12)


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
