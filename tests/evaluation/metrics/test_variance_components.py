"""Components of variance: by hand, on simulated scores of which they are known, and where there are none."""

from math import nan
from typing import Any

import numpy as np
import pytest

from dramaturg.evaluation.metrics.variance_components import VarianceComponents, variance_components

NESTED = {"ada": {"a": [1.0, 3.0], "b": [5.0, 7.0]}, "tom": {"c": [12.0, 12.0], "d": [14.0, 18.0]}}
"""Means 2, 6, 12, 16 of questions and 4, 14 of roles. Squares: roles 200, questions 32, seeds 12."""


def simulated(seed: int, roles: float, questions: float, seeds: float, sizes: Any) -> Any:
    """Scores of 30 roles by standard deviations; `sizes` gives the seeds of each question of a role."""
    dice = np.random.default_rng(seed)
    values = {}
    for role in range(30):
        base, of = dice.normal(5, roles), {}
        for question, number in enumerate(sizes(role)):
            mean = base + dice.normal(0, questions)
            of[f"q{question}"] = [float(mean + dice.normal(0, seeds)) for _ in range(number)]
        values[f"r{role}"] = of
    return values


def test_components_are_those_of_the_sums_of_squares() -> None:
    found = variance_components(NESTED)
    # Mean squares 200, 16 and 3: of seeds 3, of questions (16 - 3) / 2, of roles (200 - 16) / 4.
    assert found[:4] == (pytest.approx(46), pytest.approx(6.5), pytest.approx(3), ())
    assert (found.n_roles, found.n_questions, found.n_values) == (2, 4, 8)
    assert found.shares == pytest.approx({"role": 46 / 55.5, "question": 6.5 / 55.5, "seed": 3 / 55.5})


def test_what_is_estimated_below_nothing_is_nothing_and_is_named() -> None:
    found = variance_components({role: {"a": [1.0, 3.0], "b": [5.0, 7.0]} for role in ("ada", "tom")})
    assert found[:4] == (0.0, pytest.approx(7), pytest.approx(2), ("role",))
    assert found.shares == pytest.approx({"role": 0, "question": 7 / 9, "seed": 2 / 9})
    found = variance_components({"ada": {"a": [0.0, 4.0], "b": [0.0, 4.0]}, "tom": {"c": [9.0, 5.0], "d": [9.0, 5.0]}})
    assert (found.question, found.seed, found.negative) == (0.0, pytest.approx(8), ("question",))


def test_exactly_nothing_is_not_below_it() -> None:
    found = variance_components({"ada": {"a": [0.0, 2.0], "b": [2.0, 2.0]}})
    assert (found.question, found.seed, found.negative) == (0.0, 1.0, ())


def test_one_role_says_nothing_of_roles() -> None:
    found = variance_components({"ada": NESTED["ada"]})
    assert found[:4] == (None, pytest.approx(7), pytest.approx(2), ())
    assert set(found.shares) == {"question", "seed"}


@pytest.mark.parametrize(
    "sizes", [lambda role: [3] * 10, lambda role: [1 + (role + at) % 4 for at in range(2 + role % 12)]]
)
def test_known_components_are_found_on_average_in_groups_of_any_size(sizes: Any) -> None:
    runs = [variance_components(simulated(seed, 1.0, 2.0, 1.5, sizes)) for seed in range(80)]
    means = np.mean([[one.role, one.question, one.seed] for one in runs], axis=0)
    assert means == pytest.approx([1.0, 4.0, 2.25], rel=0.12)


def test_components_are_those_of_the_formulas_for_groups_of_different_size() -> None:
    values = {"ada": {"a": [1.0, 2.0, 4.0], "b": [3.0]}, "tom": {"c": [8.0, 6.0], "d": [1.0, 2.0], "e": [5.0]}}
    rows = [(role, name, one) for role, of in values.items() for name, mine in of.items() for one in mine]
    every = np.array([one for _, _, one in rows])
    by_role = np.array([np.mean([y for r, _, y in rows if r == role]) for role, _, _ in rows])
    by_question = np.array([np.mean(values[role][name]) for role, name, _ in rows])
    squares = [
        ((by_role - every.mean()) ** 2).sum(),
        ((by_question - by_role) ** 2).sum(),
        ((every - by_question) ** 2).sum(),
    ]
    inner = (9 + 1) / 4 + (4 + 4 + 1) / 5
    expected = [
        [9 - (16 + 25) / 9, inner - (9 + 1 + 4 + 4 + 1) / 9, 1],
        [0, 9 - inner, 5 - 2],
        [0, 0, 9 - 5],
    ]
    assert variance_components(values)[:3] == pytest.approx(np.linalg.solve(expected, squares).clip(0))


def test_another_scale_has_the_components_by_the_square_and_the_same_shares() -> None:
    other = {role: {name: [0.1 * one - 7 for one in of] for name, of in mine.items()} for role, mine in NESTED.items()}
    one, two = variance_components(NESTED), variance_components(other)
    assert two[:3] == pytest.approx([0.01 * part for part in one[:3]])
    assert two.negative == one.negative == ()
    assert two.shares == pytest.approx(one.shares)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "one role or more"),
        ({"ada": {}}, "one role or more"),
        ({"ada": {"a": [1.0, 2.0], "b": []}}, "one role or more"),
        ({"ada": {"a": [1.0, nan], "b": [1.0]}}, "no number"),
        ({"ada": {"a": [1.0, None], "b": [1.0]}}, "no number"),
        ({"ada": {"a": [1.0], "b": [2.0]}}, "two seeds or more"),
        ({"ada": {"a": [1.0, 2.0]}, "tom": {"a": [1.0, 2.0]}}, "No role has two questions"),
        ({"ada": {"a": [1.0, 1.0], "b": [1.0]}}, "no spread"),
    ],
)
def test_what_has_no_components_is_refused(values: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        variance_components(values)


def test_the_method_is_said() -> None:
    assert isinstance(found := variance_components(NESTED), VarianceComponents)
    assert "method of moments" in found.method
