"""How many passages are judged at once, and which of the judgements one at a time would have made."""

from collections.abc import Sequence
from math import ceil


def batch_size(accepted: int, judged: int, *, slots: int, largest: int) -> int:
    """How many passages to judge next, so that the open slots are likely to be filled and little is wasted.

    The share that is accepted is estimated as (accepted + 1) / (judged + 2), Laplace's rule of succession: the batch
    grows while passages are refused and shrinks as the slots fill.
    """
    share = (accepted + 1) / (judged + 2)
    return max(1, min(largest, ceil((slots - accepted) / share)))


def needed(accepted: Sequence[bool], slots: int) -> int:
    """How many of these judgements Algorithm 1 makes: up to and with the one that fills the last of K `slots`."""
    filled = 0
    for position, verdict in enumerate(accepted, start=1):
        filled += verdict
        if filled == slots:
            return position
    return len(accepted)
