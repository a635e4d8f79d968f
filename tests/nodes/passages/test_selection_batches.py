"""Batches of guided selection: exactly the set that one at a time keeps, whatever the batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.passages.selection import batch_size, needed

verdicts = st.lists(st.booleans(), max_size=60)


def algorithm_1(accepted: list[bool], limit: int, slots: int) -> tuple[list[int], int]:
    """Algorithm 1 as the paper writes it: the chosen positions, and the number of judgements."""
    chosen: list[int] = []
    t = 0
    for position, verdict in enumerate(accepted):
        if t >= limit or len(chosen) >= slots:
            break
        if verdict:
            chosen.append(position)
        t += 1
    return chosen, t


def batched(accepted: list[bool], limit: int, slots: int, largest: int) -> tuple[list[int], int, int]:
    """Several at once: the chosen positions, the judgements that count, and those that were made."""
    judged: list[bool] = []
    while sum(judged) < slots and len(judged) < min(limit, len(accepted)):
        size = batch_size(sum(judged), len(judged), slots=slots, largest=largest)
        judged += accepted[:limit][len(judged) : len(judged) + size]
    counted = needed(judged, slots)
    return [n for n, verdict in enumerate(judged[:counted]) if verdict], counted, len(judged)


@given(verdicts, st.integers(1, 40), st.integers(1, 5), st.integers(1, 16))
def test_several_at_once_keep_what_one_at_a_time_keeps(
    accepted: list[bool], limit: int, slots: int, largest: int
) -> None:
    chosen, judgements = algorithm_1(accepted, limit, slots)
    same, counted, made = batched(accepted, limit, slots, largest)
    assert (same, counted) == (chosen, judgements)
    assert counted <= made <= min(limit, counted + largest - 1)


@given(st.integers(0, 4), st.integers(0, 60), st.integers(1, 16))
def test_a_batch_is_never_empty_nor_larger_than_allowed(accepted: int, refused: int, largest: int) -> None:
    assert 1 <= batch_size(accepted, accepted + refused, slots=5, largest=largest) <= largest


@pytest.mark.parametrize(
    ("accepted", "judged", "size"),
    [(0, 0, 4), (0, 4, 12), (0, 28, 16), (1, 4, 3), (1, 1, 2)],
    ids=["first", "grows", "is capped", "shrinks as a slot fills", "shrinks as all are accepted"],
)
def test_a_batch_follows_the_acceptance_so_far(accepted: int, judged: int, size: int) -> None:
    assert batch_size(accepted, judged, slots=2, largest=16) == size


def test_one_at_a_time_wastes_nothing() -> None:
    accepted = [False, True, False, False, True, True]
    assert batched(accepted, 30, 2, 1) == ([1, 4], 5, 5)
