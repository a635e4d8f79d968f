"""What a study gives: tables of numbers with their n and intervals, and what cannot be concluded from them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dramaturg.evaluation.statistics import Interval, Share, cluster_interval, paired_interval
from dramaturg.evaluation.studies.bench import Bench
from dramaturg.evaluation.studies.rankings import Separation

T = TypeVar("T")
SEED = 0
"""Of all draws in the studies."""

Cell = str | int | float | Interval | Share | Separation | None


class StudyTable(NamedTuple):
    """Numbers, each with what it rests on."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Findings(NamedTuple):
    """What came of a study."""

    tables: tuple[StudyTable, ...]
    how: tuple[str, ...]
    """How it was measured."""
    limits: tuple[str, ...]
    """What cannot be concluded."""
    calibration: tuple[tuple[float, Share], ...] = ()
    """Mean P(known) and the share that is known, bin by bin: what the plot shows."""


class Study(NamedTuple):
    """A study: what makes its records with the models, and what makes numbers of the records without any."""

    name: str
    title: str
    records: Callable[[Bench], Awaitable[Sequence[Any]]]
    findings: Callable[[Sequence[Any]], Findings]
    check: Callable[[Bench], object] = lambda bench: None
    """Refuses roles that it cannot be made of, before any study of the run has begun."""


def spaced(items: Sequence[T], most: int) -> list[T]:
    """At most so many, evenly spaced."""
    if not items:
        return []
    return [items[at] for at in np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)).tolist()]


def few(roles: int) -> str:
    """What as many roles can say."""
    return f"Numbers of {roles} roles say little about others: an interval over them is wide, and no test is worth it."


def over_roles(values: Mapping[str, Sequence[float]]) -> Interval:
    """The mean over roles, with its interval."""
    return cluster_interval({role: of for role, of in values.items() if len(of)}, seed=SEED)


def difference(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> Interval:
    """The first minus the second, paired by roles and questions."""
    return paired_interval(first, second, seed=SEED)
