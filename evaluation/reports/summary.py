"""The top of a report: one table of methods and metrics, ranks, and what can be concluded in two sentences."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.judging.scales import SIMILARITY, UNJUDGED, scale_of
from dramaturg.evaluation.metrics.paired_tests import FEWEST_FLIPPED, LEVEL, least_p
from dramaturg.evaluation.reports.tables import (
    SCOPES,
    Difference,
    ReplyCosts,
    Row,
    Tables,
    bounds,
    signed,
    table,
)

Column = tuple[str, str, str]
"""A metric, the scope of its questions, and the judge."""
ARROWS = {"higher": "↑", "lower": "↓"}
NAMED = 3
"""Of how many methods a conclusion says by which metrics they differ."""


class MethodSummary(NamedTuple):
    """A method in the table: its numbers, their mean rank (1 is best), and what a reply has cost."""

    contestant: str
    rows: Mapping[Column, Row]
    rank: float | None
    tokens: float | None
    """Of a reply, with the index and the judgements that belong to it; None where nothing was counted."""


def columns(plan: Plan, found: Tables) -> list[Column]:
    """The columns of the table: each metric by the first judge of the plan, likeness by each embedding model."""
    known = dict.fromkeys((one.metric, one.scope, one.judge) for one in found.rows)
    return [one for one in known if one[0] in UNJUDGED or one[2] == plan.judges[0]]


def better(metric: str, scope: str) -> str:
    """Which values of a metric are better, where it is asked about questions of a scope."""
    way = scale_of(metric).better
    if way == "by_scope":
        return "higher" if scope == "out" else "lower"
    return way


def method_summaries(plan: Plan, found: Tables, spent: Sequence[ReplyCosts]) -> list[MethodSummary]:
    """Each method with its numbers, the best first; floor and ceiling have no rank and come last."""
    chosen = columns(plan, found)
    rows = {((one.metric, one.scope, one.judge), one.contestant): one for one in found.rows}
    ranks: dict[str, list[float]] = {name: [] for name in plan.methods}
    for column in chosen:
        sign = -1 if better(*column[:2]) == "higher" else 1
        means = {
            name: sign * one.interval.mean
            for name in plan.methods
            if (one := rows.get((column, name))) and one.interval
        }
        for name, mean in means.items():
            ahead = sum(other < mean for other in means.values())
            level = sum(other == mean for other in means.values())
            ranks[name].append(ahead + (level + 1) / 2)
    paid = {one.contestant: one.all_tokens / one.replies for one in spent if one.replies and one.all_tokens}
    names = (*plan.methods, *plan.bounds)
    all_of = [
        MethodSummary(
            name,
            {column: one for column in chosen if (one := rows.get((column, name)))},
            fmean(ranks[name]) if ranks.get(name) else None,
            paid.get(name),
        )
        for name in names
    ]
    return sorted(all_of, key=lambda one: (one.contestant in plan.bounds, one.rank is None, one.rank or 0.0))


def heads(chosen: Sequence[Column]) -> list[str]:
    """The heads of the columns: which metric, of which questions, and which way is better."""
    embedders = [one for one in chosen if one[0] == SIMILARITY]
    found = []
    for metric, scope, judge in chosen:
        of = f", {SCOPES[scope]}" if scope else ""
        by = f" ({judge})" if metric == SIMILARITY and len(embedders) > 1 else ""
        found.append(f"{metric}{of}{by} {ARROWS[better(metric, scope)]}")
    return found


def summary_table(plan: Plan, found: Tables, spent: Sequence[ReplyCosts]) -> Iterator[str]:
    """The table in Markdown, under what can be concluded."""
    if not found.rows:
        return
    chosen, marked = columns(plan, found), {(*one[:3], one.first) for one in found.planned if is_found(one)}
    rows = (
        (
            one.rows[next(iter(one.rows))].named if one.rows else one.contestant,
            "" if one.rank is None else f"{one.rank:.1f}",
            *(cell(one.rows.get(column), (*column, one.contestant) in marked) for column in chosen),
            "" if one.tokens is None else f"{one.tokens:,.0f}",
        )
        for one in method_summaries(plan, found, spent)
    )
    yield table(("method", "rank", *heads(chosen), "tokens a reply"), *rows)
    yield table_note(plan)


def table_note(plan: Plan) -> str:
    """What has to be known of the table."""
    judge = f" Judged metrics are by {plan.judges[0]}, the first judge." if len(plan.judges) > 1 else ""
    return (
        f"Means with 95 % intervals; * differs from {plan.compared_with} after Holm's correction. Rank: the mean of "
        f"the ranks by metric, 1 is best.{judge} Tokens are those of the reply, and its part of index and judgements."
    )


def cell(row: Row | None, marked: bool) -> str:
    """A number of the table."""
    if row is None or row.interval is None:
        return "not asked" if row and not row.missing else "none"
    return f"{signed(row.interval.mean)}{'*' * marked} {bounds(row.interval)}"


def is_found(one: Difference) -> bool:
    """Whether a comparison with the baseline differs after correction."""
    return bool(one.corrected and one.corrected.significant)


def conclusion(plan: Plan, found: Tables) -> str:
    """What can be concluded, in two sentences."""
    planned, n = found.planned, len(plan.roles)
    if found.problems:
        return (
            "Nothing is concluded: the run is invalid, because results that were planned are missing. They are named "
            "below; the numbers are of what is there."
        )
    if not planned:
        return "Nothing is compared: there is one method, or nothing that two have. Its numbers stand below."
    differ = [one for one in planned if is_found(one)]
    if all(one.p is None for one in planned):
        return f"Nothing is tested, and nothing can be concluded: {planned[0].test.removeprefix('none: ')}."
    over = f"{n} roles" if n > 1 else f"the {found.units} of one role, {plan.roles[0]}"
    first = (
        f"Of {len(planned)} planned comparison{'s' * (len(planned) > 1)} with {plan.compared_with} over {over}, "
        f"{len(differ) or 'none'} differ{'s' * (len(differ) == 1)} after Holm's correction"
    )
    if differ:
        first += f": {found_in_words(differ)}"
    if n == 1:
        return f"{first}. This is about more {found.units} of this kind to this role: nothing is concluded beyond it."
    return f"{first}. {reach(planned, n)}"


def found_in_words(differ: Sequence[Difference]) -> str:
    """Who is better or worse, and by what; of many methods, by how many metrics, the most first."""
    by: dict[str, dict[str, list[str]]] = {}
    for one in differ:
        ahead = (one.interval.mean > 0) == (better(one.metric, one.scope) == "higher")
        metric = f"{one.metric} {SCOPES[one.scope]}" if one.scope else one.metric
        by.setdefault(one.first, {}).setdefault("better" if ahead else "worse", []).append(metric)
    if len(by) <= NAMED:
        return "; ".join(
            f"{name} is {' and '.join(way_in_words(how, of) for how, of in ways.items())}" for name, ways in by.items()
        )
    most = sorted(by, key=lambda name: -sum(map(len, by[name].values())))
    told = (f"{name} {' and '.join(f'{how} {len(of)} times' for how, of in by[name].items())}" for name in most[:NAMED])
    return f"{', '.join(told)}, and {len(most) - NAMED} other methods, as * in the table shows"


def way_in_words(how: str, metrics: Sequence[str]) -> str:
    """By what a method is better, or worse."""
    return f"{how} by {', '.join(dict.fromkeys(metrics))}"


def reach(planned: Sequence[Difference], roles: int) -> str:
    """What the comparisons could not have shown."""
    if roles < FEWEST_FLIPPED:
        return (
            f"With fewer than {FEWEST_FLIPPED} roles this rests on Student's t, which takes the differences of roles "
            f"for normal: sign flips, which do not, reach no p below {least_p(roles):.3g} here."
        )
    if least_p(roles) * len(planned) > LEVEL:
        return (
            f"No difference could have been found: sign flips of {roles} roles reach p = {least_p(roles):.2g}, and "
            f"{len(planned)} comparisons ask for {LEVEL / len(planned):.2g}."
        )
    return "No difference is shown for the others, which is no proof that there is none."
