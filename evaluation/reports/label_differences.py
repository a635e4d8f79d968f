"""Two methods' interviews held against the same labels: who is right more often, and could that be chance."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dramaturg.evaluation.paired_tests import Corrected, mcnemar, sign_flip, smallest_difference
from dramaturg.evaluation.reports.differences import uncorrected
from dramaturg.evaluation.reports.label_agreement import Truth, Values, clusters, counted, hits_of, unit
from dramaturg.evaluation.reports.values import SEED
from dramaturg.evaluation.statistics import Interval, paired_interval


class Apart(NamedTuple):
    """The hits of two methods on the same roles and dimensions, the first minus the second."""

    inventory: str
    labels: str
    first: str
    second: str
    interval: Interval
    p: float
    test: str
    p_roles: float | None
    """The p of sign flips over roles, which does not take the dimensions of a role for independent; None of one."""
    corrected: Corrected
    detectable: float | None
    """The smallest difference that so many pairs would have shown; None where none would be."""


def differences_of(truth: Truth, scores: Mapping[str, Values]) -> Iterator[Apart]:
    """The first method against each other one, by their hits; not corrected yet."""
    (first, ours), *others = ((name, hits_of(truth, counted(truth, of), of)) for name, of in scores.items())
    for second, theirs in others:
        both = {role: [name for name in of if name in theirs.get(role, {})] for role, of in ours.items()}
        sides = [
            {role: {name: side[role][name] for name in of} for role, of in both.items() if of}
            for side in (ours, theirs)
        ]
        if sides[0]:
            yield apart(truth, first, second, *sides)


def apart(truth: Truth, first: str, second: str, ours: Values, theirs: Values) -> Apart:
    """Two methods on the roles and dimensions that both have a score for."""
    sides, several = [clusters(ours), clusters(theirs)], len(ours) > 1
    exact = mcnemar(*([bool(value) for of in side.values() for value in of.values()] for side in (ours, theirs)))
    differ = exact.only_first + exact.only_second
    return Apart(
        truth.inventory.metric,
        truth.name,
        first,
        second,
        paired_interval(sides[0], sides[1], seed=SEED, pooled=True, unit=unit(ours)),
        exact.p,
        exact.method,
        sign_flip(sides[0], sides[1], seed=SEED).p if several else None,
        uncorrected(exact.p),
        smallest_difference(exact.n, differ / exact.n).difference if differ else None,
    )
