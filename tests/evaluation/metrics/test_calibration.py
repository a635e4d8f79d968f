"""Calibration: bins of equal number, and the Brier score beside that of knowing the share alone."""

from typing import Any

import numpy as np
import pytest

from dramaturg.evaluation.metrics.calibration import brier, equal_bins


def test_bins_hold_as_many_each_in_the_order_of_what_was_said() -> None:
    said = [at / 20 for at in range(20)]
    found = equal_bins(said, [one >= 0.5 for one in said])
    assert [share.n for _, share in found] == [5, 5, 5, 5]
    assert [mean for mean, _ in found] == pytest.approx([0.1, 0.35, 0.6, 0.85])
    assert [share.share for _, share in found] == [0, 0, 1, 1]


@pytest.mark.parametrize(("n", "sizes"), [(1, [1]), (9, [9]), (10, [5, 5]), (13, [7, 6]), (100, [20] * 5)])
def test_few_probabilities_have_few_bins(n: int, sizes: list[int]) -> None:
    assert [share.n for _, share in equal_bins([0.5] * n, [True] * n)] == sizes


def test_equal_probabilities_are_not_sorted_by_what_came_true() -> None:
    found = equal_bins([0.5] * 40, [True, False] * 20)
    assert {share.share for _, share in found} == {0.5}


def test_probabilities_that_keep_their_word_lie_on_the_diagonal() -> None:
    dice = np.random.default_rng(0)
    said = dice.uniform(size=4_000)
    found = equal_bins(said.tolist(), (dice.uniform(size=4_000) < said).tolist())
    assert all(abs(mean - share.share) < 0.05 for mean, share in found)


def test_the_brier_score_is_a_squared_error_beside_that_of_the_share() -> None:
    found = brier([1.0, 0.5, 0.0, 0.2], [True, True, False, True])
    assert found == (pytest.approx((0.25 + 0.64) / 4), pytest.approx(0.75 * 0.25), 0.75, 4)
    assert brier([0.75] * 4, [True, True, False, True])[:2] == pytest.approx((0.1875, 0.1875))


@pytest.mark.parametrize("measure", [brier, equal_bins])
@pytest.mark.parametrize(
    ("said", "true", "why"),
    [
        ([], [], "one at least"),
        ([0.5], [True, True], "1 and 2"),
        ([1.1], [True], "from 0 to 1"),
        ([None], [True], "from 0 to 1"),
    ],
)
def test_what_is_no_probability_is_refused(measure: Any, said: Any, true: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        measure(said, true)
