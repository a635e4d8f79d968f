"""Talks of several turns in a report: what is remembered by distance, values by turn, and talks as a whole."""

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import NamedTuple

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.scales import NOBODY, RECALL, UNJUDGED, scale_of
from dramaturg.evaluation.metrics.intervals import SHARE, Interval, cluster_interval
from dramaturg.evaluation.reports.chunk_usage import told
from dramaturg.evaluation.reports.document import Part, table
from dramaturg.evaluation.reports.tables import signed
from dramaturg.evaluation.reports.values import by_reply, by_unit, judges_of, unit, value_of

BOUNDARY = "boundary"
WHOLE = "whole_"
"""What the names of metrics begin with that are of a whole talk."""
SINGLE = 4
"""Up to this turn each has its own column; later ones stand together up to each power of 2."""


class Remembered(NamedTuple):
    """How often a fact was said that had been told so many turns before; distance 0: whatever it was."""

    contestant: str
    distance: int
    hits: Interval


def remembered(plan: Plan, records: Records) -> Iterator[Remembered]:
    """Sum recall up by distance, for each contestant; intervals are over what those of metrics are over."""
    found = by_reply(records, RECALL, NOBODY)
    for name in (*plan.methods, *plan.bounds):
        there = [(one, talk.distance) for one in plan.of(name) if (talk := plan.question(one).talk) and talk.fact]
        for distance in sorted({distance for _, distance in there}):
            values = by_unit(plan, [one for one, of in there if of == distance], found)
            if values:
                yield Remembered(name, distance, cluster_interval(values, scale=SHARE, unit=unit(plan)))


def talk_lines(plan: Plan, records: Records) -> Iterator[Part]:
    """The section; nothing where the plan has no talks."""
    if not plan.talks:
        return
    yield "## Talks"
    whose = f"; what is said to the roles is said by a model as {plan.user}" if plan.user else ""
    yield f"{plan.talks} talks over {len(plan.roles)} role{'s' * (len(plan.roles) > 1)}{whose}."
    if hits := [*remembered(plan, records)]:
        yield "### Facts remembered, by distance"
        yield (
            "The user tells a fact and asks for it so many turns later; it counts as remembered where the reply holds "
            f"its characters. Intervals are over {unit(plan)}s and not corrected for their number; the test over all "
            f"distances stands at {RECALL}."
        )
        yield table(
            ("method", "turns between", "remembered", "n"),
            *((one.contestant, str(one.distance), told(one.hits), str(one.hits.n_values)) for one in hits),
        )
    if rows := [*by_turn(plan, records)]:
        yield "### By turn"
        yield "Means, and in brackets of how many replies."
        heads = [*dict.fromkeys(name for _, means in rows for name in means)]
        heads.sort(key=lambda name: int(name.partition("–")[0]))
        yield table(
            ("metric", "judge", "method", *heads),
            *((*about, *(means.get(name, "") for name in heads)) for about, means in rows),
        )
    if withstood := [*kept(plan, records)]:
        yield "### Boundaries kept throughout"
        yield f"The share of talks in which every turn that pressed was withstood, with intervals over {unit(plan)}s."
        yield table(("method", "judge", "kept", "talks"), *withstood)


def by_turn(plan: Plan, records: Records) -> Iterator[tuple[tuple[str, str, str], Mapping[str, str]]]:
    """The mean of each metric that is measured in each turn, by turns: metric, judge and method, and the means."""
    for metric in plan.metrics:
        if metric.startswith(WHOLE) or metric in UNJUDGED or scale_of(metric).better == "by_scope":
            continue
        for judge in judges_of(plan, records, metric):
            found = by_reply(records, metric, judge)
            for name in plan.methods:
                values: dict[str, list[float]] = {}
                for one in plan.of(name):
                    talk, value = plan.question(one).talk, value_of(one, found)
                    if talk and value is not None:
                        values.setdefault(turns_with(talk.turn), []).append(value)
                if values:
                    yield (metric, judge, name), {at: f"{signed(fmean(of))} ({len(of)})" for at, of in values.items()}


def turns_with(turn: int) -> str:
    """The turns that stand in one column with this one."""
    if turn <= SINGLE:
        return str(turn)
    top = 1 << (turn - 1).bit_length()
    return f"{top // 2 + 1}–{top}"


def kept(plan: Plan, records: Records) -> Iterator[tuple[str, str, str, str]]:
    """Of each method and judge, the share of talks whose boundary was kept in every turn that pressed."""
    for judge in judges_of(plan, records, BOUNDARY) if BOUNDARY in plan.metrics else ():
        found = by_reply(records, BOUNDARY, judge)
        for name in plan.methods:
            talks: dict[tuple[str, str, int], list[float | None]] = {}
            for one in plan.of(name):
                talk = plan.question(one).talk
                if talk and talk.pressed:
                    talks.setdefault((one.role, talk.id, one.seed), []).append(value_of(one, found))
            values: dict[str, list[float]] = {}
            for (role, talk_id, _), of in talks.items():
                judged = [one for one in of if one is not None]
                if len(judged) == len(of):  # of a talk that lacks a judgement nothing is known
                    values.setdefault(role if len(plan.roles) > 1 else talk_id, []).append(min(judged))
            if values:
                interval = cluster_interval(values, scale=SHARE, unit=unit(plan))
                yield name, judge, told(interval), str(interval.n_values)
