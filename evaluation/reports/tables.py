"""The numbers of an evaluation: each with its n, its interval, and what is missing."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

from dramaturg.evaluation.comparison.bounds import BOUNDS, CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records, Reply
from dramaturg.evaluation.judging.measures import SIMILARITY, scale_of
from dramaturg.evaluation.judging.refusal_rates import refusal_rates
from dramaturg.evaluation.reports.differences import Difference, differences
from dramaturg.evaluation.reports.values import (
    SEED,
    by_reply,
    by_unit,
    entries_of,
    judges_in,
    unit,
    value_of,
)
from dramaturg.evaluation.statistics import Interval, Missing, cluster_interval, missing

REFUSAL = "refusal"
PARTS: Mapping[str, tuple[str, ...]] = {REFUSAL: ("out", "in")}
"""Metrics whose meaning hangs on the scope of the question have a row a scope."""
SCOPES = {"": "all", "in": "in scope", "out": "out of scope"}


class Row(NamedTuple):
    """One number: a metric of one contestant by one judge."""

    metric: str
    scope: str
    """`in` or `out` where the number is of such questions only."""
    judge: str
    contestant: str
    interval: Interval | None
    """None where nothing was measured."""
    missing: Missing | None
    not_applicable: int
    replies: tuple[str, ...]
    """The keys of the replies behind it."""
    note: str = ""
    """What has to be known of the contestant: that it is the floor or the ceiling, or what it went without."""

    @property
    def bound(self) -> bool:
        """Whether it is no method's number, but the floor or the ceiling."""
        return self.contestant in BOUNDS

    @property
    def named(self) -> str:
        """The contestant as tables and pictures have it."""
        return f"{self.contestant} ({self.note})" if self.note else self.contestant


class Tables(NamedTuple):
    """All numbers of a report."""

    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    units: str
    """Over what intervals are: roles, or where there is one, its questions."""
    valid: bool
    """Whether all was measured that was wanted, and no more is missing anywhere than a run may lack."""


def tables(plan: Plan, records: Records) -> Tables:
    """Make the tables of a report.

    The first method of the plan is compared with each of the others; p-values are corrected by Holm over all of them.
    With one role, intervals and tests are over its questions, and say nothing of other roles. Floor and ceiling have
    rows, and are in no test.
    """
    keys = [(metric, scope, judge) for metric in plan.metrics for scope, judge in parts(metric, records)]
    rows = [row(plan, records, *key, one) for key in keys for one in contestants_of(plan, key[1])]
    return Tables(
        tuple(rows),
        tuple(differences(plan, records, keys)),
        f"{unit(plan)}s",
        {*plan.metrics} <= {one.metric for one in rows}
        and all(one.missing.valid for one in rows if one.missing and not one.bound),
    )


def contestants_of(plan: Plan, scope: str) -> list[str]:
    """All methods, and those of floor and ceiling that have something to say to questions of a scope."""
    return [*plan.methods, *(one for one in plan.bounds if any(entries_of(plan, one, scope)))]


def parts(metric: str, records: Records) -> list[tuple[str, str]]:
    """The scopes and judges for which a metric has a row each."""
    return list(product(PARTS.get(metric, ("",)), judges_in(records, metric)))


def row(plan: Plan, records: Records, metric: str, scope: str, judge: str, contestant: str) -> Row:
    """One number with what it can bear."""
    strangers = roles_of_others(records, metric, judge)
    entries = [one for one in entries_of(plan, contestant, scope) if one.role not in strangers]
    found = by_reply(records, metric, judge)
    applicable = [one for one in entries if one.key not in found or found[one.key].applicable]
    values = by_unit(plan, applicable, found)
    scale = scale_of(metric)
    return Row(
        metric,
        scope,
        judge,
        contestant,
        cluster_interval(values, seed=SEED, unit=unit(plan)) if values else None,
        missing([value_of(one, found) for one in applicable], low=scale.low, high=scale.high) if applicable else None,
        len(entries) - len(applicable),
        tuple(one.key for one in applicable),
        note_on(contestant, (records.replies[one.key] for one in entries if one.key in records.replies)),
    )


NOTES = {FLOOR: "floor", CEILING: "ceiling"}


def note_on(contestant: str, replies: Iterable[Reply]) -> str:
    """What a table has to say of a contestant: CRAG without a tool is not the CRAG of the papers."""
    searched = {one.evidence["web_search"] for one in replies if "web_search" in one.evidence}
    return "without web search" if searched == {"off"} else NOTES.get(contestant, "")


def roles_of_others(records: Records, metric: str, judge: str) -> set[str]:
    """The roles that are another's to measure: each language has its embedding model. Judges judge all roles."""
    if metric != SIMILARITY:
        return set()
    known = [one for one in records.judged.values() if one.metric == metric and one.reply in records.replies]
    mine = {records.replies[one.reply].role for one in known if one.model == judge}
    return {records.replies[one.reply].role for one in known} - mine


def overall_refusals(plan: Plan, records: Records, contestant: str, judge: str) -> float | None:
    """RoleRAG's UQR: refusals out of scope and answers in scope, of all that were judged."""
    found = by_reply(records, REFUSAL, judge)
    scopes = ((plan.question(one).scope, value_of(one, found)) for one in plan.of(contestant))
    return refusal_rates((scope, value) for scope, value in scopes if scope).overall
