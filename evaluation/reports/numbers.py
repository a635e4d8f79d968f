"""The numbers of each metric: their table and pictures, and the replies behind each of them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from html import escape
from statistics import fmean

from dramaturg.evaluation.comparison.contestants import FLOOR
from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.scales import ASKS, scale_of
from dramaturg.evaluation.metrics.figures import image, interval_figure
from dramaturg.evaluation.metrics.intervals import Interval
from dramaturg.evaluation.reports.document import Cell, Cells, Drawn, Fold, Part, table
from dramaturg.evaluation.reports.summary import withheld_lines
from dramaturg.evaluation.reports.tables import WITHHELD, Row, Tables, bounds, overall_refusals, signed, whole
from dramaturg.evaluation.reports.values import REFUSAL, SCOPES, by_reply, judges_of, value_of

HEADS = ("method", "questions", "judge", "mean", "95 % interval", "n", "missing", "worst case", "not asked")
BRIEF = HEADS[:7]
BETTER = {"higher": "higher is better", "lower": "lower is better", "by_scope": "higher out of scope, lower in scope"}


def metric_parts(plan: Plan, records: Records, found: Tables, metric: str) -> Iterator[Part]:
    """All of one metric: what it asks, its table, what its intervals are, its pictures, and what is behind."""
    known = [one for one in found.rows if one.metric == metric]
    yield from withheld_lines(found, metric)
    yield from metric_lines(metric, found)
    if not known:
        return
    yield table(HEADS, *map(row_cells, known), brief=BRIEF, title=metric)
    if any(one.missing and one.missing.missing for one in known):
        yield "Worst case: the means between which the whole would lie, whatever the missing values were."
    yield from interval_lines(known)
    for judge in dict.fromkeys(one.judge for one in known):
        yield Drawn(partial(picture, [one for one in known if one.judge == judge]))
        yield from attribute_table(plan, records, metric, judge)
    if metric == REFUSAL:
        yield from refusal_lines(plan, records)
    behind_each = [Drawn(partial(behind, plan, records, one)) for one in known]
    yield Fold("The replies behind each number", behind_each)


def metric_lines(metric: str, found: Tables) -> Iterator[str]:
    """The scale of a metric, and of which questions it was not asked."""
    scale, rows = scale_of(metric), [one for one in found.rows if one.metric == metric]
    yield f"{ASKS[metric]} From {whole(scale.low)} to {whole(scale.high)}; {BETTER[scale.better]}."
    for scope in (scope for name, scope in found.unasked if name == metric):
        yield f"{SCOPES[scope].capitalize() if scope else 'It was'} not asked: the plan has no such question."
    if rows and not any(one.interval for one in rows):
        yield "Nothing was measured yet."


def interval_lines(rows: Sequence[Row]) -> Iterator[str]:
    """What the intervals of a table are, and where there is none or one that rests on little."""
    known = [one.interval for one in rows if one.interval]
    if methods := sorted({one.method for one in known if one.low is not None}):
        yield f"Intervals: {'; '.join(methods)}."
    yield from sorted(
        {
            f"{'There is no interval' if one.low is None else 'An interval rests on little'} where {one.reason}."
            for one in known
            if one.reason
        }
    )


def row_cells(row: Row) -> Cells:
    """The cells of a number; `worst case` says between which means the whole lies, whatever the missing were."""
    yield from (row.named, SCOPES[row.scope], row.judge)
    gone = row.missing
    if row.interval is None or gone is None:
        yield from ("none" if gone else "not asked", "", "0", str(gone.missing) if gone else "0", "")
        yield str(row.not_applicable)
        return
    yield Cell(f"{signed(row.interval.mean)}{WITHHELD * bool(row.withheld)}", bool(row.withheld), row.id)
    yield from (bounds(row.interval), str(row.interval.n_values))
    yield f"{gone.missing} of {gone.n}"
    yield f"{signed(gone.lowest)} to {signed(gone.highest)}" if gone.missing else ""
    yield str(row.not_applicable)


def refusal_lines(plan: Plan, records: Records) -> Iterator[str]:
    """How often a role kept to what it can know, in and out of scope together; after RoleRAG's UQR."""
    names = [*plan.methods, *(one for one in plan.bounds if one == FLOOR)]
    judges = judges_of(plan, records, REFUSAL)
    rates = [(name, judge, overall_refusals(plan, records, name, judge)) for name in names for judge in judges]
    known = [f"{name} by {judge}: {rate:.3f}" for name, judge, rate in rates if rate is not None]
    if known:
        yield (
            "Kept to what the role can know, as a whole (refusals out of scope and answers in scope, of all; a role "
            f"that always refuses has the share of questions out of scope): {'; '.join(known)}."
        )


def picture(of: Sequence[Row]) -> str:
    """The numbers of one judge by a metric, with their intervals."""
    metric, judge = of[0].metric, of[0].judge
    named = [
        (f"{one.named} (out of scope)" if one.scope == "out" else one.named, one.interval, one.bound) for one in of
    ]
    low, high = scale_ends(metric, [one.interval for one in of if one.interval])
    title = f"{metric}, by {judge}"
    return image(interval_figure(title, named, low, high), f"{title}: the means and intervals of the table")


def scale_ends(metric: str, intervals: Iterable[Interval]) -> tuple[float, float]:
    """The ends of a metric's scale; of one that goes below 0, 0 and what lies below it."""
    scale = scale_of(metric)
    ends = [end for one in intervals for end in (one.mean, one.low) if end is not None]
    return (min([0.0, *ends]) if scale.low < 0 else scale.low), scale.high


def attribute_table(plan: Plan, records: Records, metric: str, judge: str) -> Iterator[Part]:
    """The mean of each method by the attribute of questions, with how many there are; nothing without attributes."""
    found, values = by_reply(records, metric, judge), dict[tuple[str, str], list[float]]()
    for name in plan.methods:
        for one in plan.of(name):
            attribute, value = plan.question(one).attribute, value_of(one, found)
            if attribute and value is not None:
                values.setdefault((name, attribute), []).append(value)
    attributes = sorted({attribute for _, attribute in values})
    if len(attributes) > 1:
        yield f"By attribute, {judge}; means of n replies, which say little where n is small."
        rows = (
            (name, *(f"{fmean(of):.3f} ({len(of)})" if (of := values.get((name, one))) else "" for one in attributes))
            for name in plan.methods
        )
        yield table(("method", *(one.replace("_", " ") for one in attributes)), *rows)


def behind(plan: Plan, records: Records, row: Row) -> str:
    """The replies behind a number: their values, role by role, each leading to its reply."""
    found, place = by_reply(records, row.metric, row.judge), places(plan)
    by_role: dict[str, list[str]] = {}
    for key in row.replies:
        at, one = place[key]
        value = value_of(one, found)
        shown = "missing" if value is None else whole(round(value, 3))
        by_role.setdefault(one.role, []).append(f"<a href=#r{at}>{shown}</a>")
    lines = "".join(f"<li>{escape(role)}: {' '.join(of)}</li>" for role, of in by_role.items())
    scope = f", {SCOPES[row.scope]}" if row.scope else ""
    title = escape(f"{row.metric}{scope}, {row.contestant}, by {row.judge}: {len(row.replies)} replies")
    return f'<details id="{escape(row.id)}"><summary>{title}</summary><ul>{lines}</ul></details>'


def places(plan: Plan) -> dict[str, tuple[int, Entry]]:
    """Where each reply stands on the page."""
    return {one.key: (at, one) for at, one in enumerate(plan.entries)}
