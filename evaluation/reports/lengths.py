"""How long replies are, and what is left of a difference between methods at equal length.

Judges like long replies, and methods differ in length. A score is taken to change with the logarithm of a reply's
length, by as much as it does among the replies of one method to one role; a difference at equal length is what is left
when that change, for the pair's own lengths, is taken off. It says what length explains, not that length is a fault: a
reply that says more may deserve more.
"""

from collections.abc import Iterator
from math import log
from statistics import fmean

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.metrics.intervals import ANY, POSITIVE, Interval, cluster_interval
from dramaturg.evaluation.reports.differences import Difference
from dramaturg.evaluation.reports.values import by_reply, entries_of, unit, unit_of, value_of


def lengths(plan: Plan, records: Records) -> Iterator[tuple[str, Interval]]:
    """How many characters the replies of each method have, over roles."""
    for name in plan.methods:
        values: dict[str, list[float]] = {}
        for one in plan.of(name):
            if length := length_of(records, one.key):
                values.setdefault(unit_of(plan, one), []).append(float(length))
        if values:
            yield name, cluster_interval(values, scale=POSITIVE, unit=unit(plan))


def length_of(records: Records, key: str) -> int:
    """The characters of a reply; 0 where there is none."""
    reply = records.replies.get(key)
    return len(reply.text) if reply and not reply.error else 0


def slope(plan: Plan, records: Records, metric: str, scope: str, judge: str) -> float:
    """By how much a score changes with the logarithm of length, among the replies of one method to one role."""
    found = by_reply(records, metric, judge)
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for name in plan.methods:
        for one in entries_of(plan, name, scope):
            value, length = value_of(one, found), length_of(records, one.key)
            if value is not None and length:
                groups.setdefault((name, one.role), []).append((log(length), value))
    over = under = 0.0
    for of in groups.values():
        middle, mean = (fmean(side) for side in zip(*of, strict=True))
        over += sum((length - middle) * (value - mean) for length, value in of)
        under += sum((length - middle) ** 2 for length, _ in of)
    return over / under if under > 1e-9 else 0.0


def at_equal_length(plan: Plan, records: Records, one: Difference) -> Interval | None:
    """What is left of a difference at equal length, with Student's t over roles; None where nothing is left to say."""
    found, steep = by_reply(records, one.metric, one.judge), slope(plan, records, *one[:3])
    sides = [
        {(of.role, of.question, of.seed): of for of in entries_of(plan, name, one.scope)}
        for name in (one.first, one.second)
    ]
    values: dict[str, list[float]] = {}
    for at, ours in sides[0].items():
        pair = (ours, sides[1][at]) if at in sides[1] else ()
        told = [value_of(of, found) for of in pair]
        long = [length_of(records, of.key) for of in pair]
        if pair and None not in told and all(long):
            gap = (told[0] or 0.0) - (told[1] or 0.0)
            values.setdefault(unit_of(plan, ours), []).append(gap - steep * (log(long[0]) - log(long[1])))
    return cluster_interval(values, scale=ANY, unit=unit(plan)) if values else None
