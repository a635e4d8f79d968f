"""How similar retrieved chunks are: by role, at one k, and what cannot be compared."""

from math import nan
from typing import Any

import pytest

from studies.similarities import similarity, similarity_table


def test_similarities_are_averaged_by_role_and_k_is_stated() -> None:
    found = similarity({"ada": [[0.2, 0.4], [0.6, 0.8]], "bea": [[0.1, 0.3]]})
    assert (found.k, found.n_roles, found.n_questions, found.ddof) == (2, 2, 3, 1)
    assert found.means == {"ada": pytest.approx(0.5), "bea": pytest.approx(0.2)}
    assert found.mean == pytest.approx(0.35)
    assert found.sum_of_means == pytest.approx(0.7)
    assert found.sum_of_variances == pytest.approx(0.2 / 3 + 0.02)
    assert found.variance == pytest.approx((0.2 / 3 + 0.02) / 2)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"ada": [[0.1, 0.2], [0.3]]}, r"not \[1, 2\]"),
        ({"ada": [[0.1, 0.2]], "bea": [[0.1]]}, r"not \[1, 2\]"),
        ({}, r"not \[\]"),
        ({"ada": [[0.1]]}, "two similarities or more"),
        ({"ada": [[0.1, 0.2]], "bea": []}, "two similarities or more"),
        ({"ada": [[0.1, nan]]}, "two similarities or more"),
    ],
)
def test_similarities_that_cannot_be_compared_are_refused(given: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        similarity(given)


def test_splitters_are_compared_at_the_same_k_roles_and_questions() -> None:
    rows = {"ada": [[0.1, 0.2]], "bea": [[0.3, 0.5]]}
    table = similarity_table({"fixed": rows, "acts": {"bea": [[0.4, 0.6]], "ada": [[0.2, 0.3]]}})
    assert [round(one.mean, 3) for one in table.values()] == [0.275, 0.375]
    for other in ({"ada": [[0.1, 0.2]]}, {"ada": [[1, 2, 3]], "bea": [[1, 2, 3]]}, {**rows, "ada": [[1, 2], [1, 2]]}):
        with pytest.raises(ValueError, match="the same k"):
            similarity_table({"fixed": rows, "acts": other})
