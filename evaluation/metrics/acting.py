"""The score of given-circumstance acting (CoSER, 2025): points off for flaws, less what a longer scene may have."""

from collections.abc import Sequence

POINTS = 5.0
"""Points off for a severity of 1."""
ALLOWED = 0.3
"""Severity that each round may have without a penalty: longer scenes have more places for flaws."""


def acting_score(severities: Sequence[float], rounds: int) -> float:
    """Return 100 less 5 points for each severity beyond 0.3 a round, between 0 and 100.

    Args:
        severities: of the flaws that were found, each from 1 to 5.
        rounds: how many turns the actor had.

    Raises:
        ValueError: a severity is off its scale, or there was no round.
    """
    if any(not 1 <= one <= 5 for one in severities):
        raise ValueError(f"A severity goes from 1 to 5: {[*severities]} has another.")
    if rounds < 1:
        raise ValueError("An actor has one turn or more.")
    return max(0.0, min(100.0, 100.0 - POINTS * (sum(severities) - ALLOWED * rounds)))
