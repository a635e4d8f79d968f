"""Which memories matter now: relevance, recency and importance, against a plain loop."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.identity.episodes import rank_episodes

NAN = math.nan
COSINES = st.integers(-8, 8).map(lambda n: n / 8)
MEMORY = st.tuples(COSINES, st.integers(0, 400).map(float), st.sampled_from([NAN, 1.0, 2.0, 5.0, 10.0]))
WEIGHTS = st.tuples(*[st.integers(0, 4).map(float)] * 3).filter(any)


def scaled(values: list[float]) -> list[float]:
    """Each value between the least and the largest that are known."""
    known = [one for one in values if not math.isnan(one)]
    low, high = min(known, default=NAN), max(known, default=NAN)
    return [one if math.isnan(one) else (one - low) / (high - low) if high > low else 0.0 for one in values]


def plain(memories: list[tuple[float, float, float]], k: int, decay: float, weights: Any) -> list[tuple[int, float]]:
    """The ranking, memory by memory."""
    near, age, weight = ([one[at] for one in memories] for at in range(3))
    terms = [scaled(near), scaled([decay**hours for hours in age]), scaled(weight)]
    found = []
    for at in range(len(memories)):
        known = [(w, term[at]) for w, term in zip(weights, terms, strict=True) if not math.isnan(term[at])]
        mass = sum(w for w, _ in known)
        found.append((at, sum(w * value for w, value in known) / mass if mass else 0.0))
    return sorted(found, key=lambda one: -round(one[1], 9))[:k]


@given(st.lists(MEMORY, max_size=12), st.integers(1, 14), st.sampled_from([1.0, 0.995, 0.5]), WEIGHTS)
def test_the_most_salient_come_first_as_a_plain_loop_finds_them(
    memories: list[tuple[float, float, float]], k: int, decay: float, weights: tuple[float, float, float]
) -> None:
    near, age, weight = ([one[at] for one in memories] for at in range(3))
    ranked = rank_episodes(near, age, weight, k=k, decay=decay, weights=weights)
    expected = plain(memories, k, decay, weights)
    assert [score for _, score in ranked] == pytest.approx([score for _, score in expected], abs=1e-9)
    assert len({at for at, _ in ranked}) == len(ranked) == min(k, len(memories))
    by_memory = dict(plain(memories, len(memories), decay, weights))
    assert all(score == pytest.approx(by_memory[at], abs=1e-9) for at, score in ranked)
    assert all(0 <= score <= 1 for _, score in ranked)


def test_ties_are_in_the_order_of_memories() -> None:
    assert rank_episodes([0.3] * 4, [2.0] * 4, [5.0] * 4, k=3) == [(0, 0.0), (1, 0.0), (2, 0.0)]
    assert [at for at, _ in rank_episodes([0, 1, 0, 1], [0] * 4, [NAN] * 4)] == [1, 3, 0, 2]


def test_the_three_terms_weigh_the_same() -> None:
    ranked = rank_episodes([1.0, 0.0, 0.0], [9.0, 0.0, 9.0], [1.0, 1.0, 10.0])
    assert ranked == [(0, pytest.approx(1 / 3)), (1, pytest.approx(1 / 3)), (2, pytest.approx(1 / 3))]


def test_importance_that_nobody_has_said_counts_neither_for_nor_against() -> None:
    ranked = dict(rank_episodes([1.0, 1.0, 0.0], [0.0, 0.0, 9.0], [NAN, 1.0, 10.0]))
    assert ranked == {0: 1.0, 1: pytest.approx(2 / 3), 2: pytest.approx(1 / 3)}
    assert dict(rank_episodes([1, 0], [0, 0], [NAN, NAN], weights=(0, 0, 1))) == {0: 0.0, 1: 0.0}


def test_without_memories_nothing_comes_back() -> None:
    assert rank_episodes([], [], []) == []


SHAPE, FINITE, IMPORTANCE = "one shape", "Relevance and age must be finite", "Importance must be finite"
K, THREE = "k must be 1 or more and decay above 0", "three weights"


@pytest.mark.parametrize(
    ("terms", "settings", "problem"),
    [
        (([1.0], [1.0, 2.0], [1.0]), {}, SHAPE),
        (([[1.0]], [[1.0]], [[1.0]]), {}, SHAPE),
        ((1.0, 1.0, 1.0), {}, SHAPE),
        (([NAN], [1.0], [1.0]), {}, FINITE),
        (([math.inf], [1.0], [1.0]), {}, FINITE),
        (([1.0], [NAN], [1.0]), {}, FINITE),
        (([1.0], [math.inf], [1.0]), {}, FINITE),
        (([1.0], [-1.0], [1.0]), {}, FINITE),
        (([1.0], [1.0], [-math.inf]), {}, IMPORTANCE),
        (([1.0], [1.0], [1.0]), {"k": 0}, K),
        (([1.0], [1.0], [1.0]), {"decay": 0.0}, K),
        (([1.0], [1.0], [1.0]), {"decay": 1.1}, K),
        (([1.0], [1.0], [1.0]), {"decay": NAN}, K),
        (([1.0], [1.0], [1.0]), {"weights": (1.0, 1.0)}, THREE),
        (([1.0], [1.0], [1.0]), {"weights": (1.0, -1.0, 1.0)}, THREE),
        (([1.0], [1.0], [1.0]), {"weights": (0.0, 0.0, 0.0)}, THREE),
        (([1.0], [1.0], [1.0]), {"weights": (1.0, NAN, 1.0)}, THREE),
        (([1.0], [1.0], [1.0]), {"weights": (1.0, math.inf, 1.0)}, THREE),
    ],
)
def test_what_cannot_be_ranked_is_refused(terms: Any, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        rank_episodes(*terms, **settings)
