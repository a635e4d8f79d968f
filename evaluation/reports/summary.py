"""The top of a report: one table of methods and metrics, ranks, and what can be concluded, in a few sentences."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from dramaturg.evaluation.comparison.plan import OF_ALL, Plan
from dramaturg.evaluation.judging.scales import SIMILARITY, UNJUDGED, scale_of
from dramaturg.evaluation.metrics.figures import cost_figure, image
from dramaturg.evaluation.metrics.paired_tests import FEWEST_FLIPPED, least_p
from dramaturg.evaluation.reports.credit import UNCHECKED
from dramaturg.evaluation.reports.differences import Difference
from dramaturg.evaluation.reports.document import Cell, Cells, Drawn, Part, table
from dramaturg.evaluation.reports.tables import (
    WITHHELD,
    ReplyCosts,
    Row,
    Tables,
    bounds,
    p_text,
    primary_judges,
    signed,
)
from dramaturg.evaluation.reports.values import SCOPES, better

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
    """The columns of the table: each metric by one judge, likeness by each embedding model.

    The judge is that of the primary comparison, of other metrics the first of the plan; one that fails its checks gives
    way to the next one that stands.
    """
    stands = {(one.metric, one.judge): one.stands for one in found.credits}
    chosen: dict[str, str] = {}
    for metric in plan.metrics:
        of = [one.judge for one in found.credits if one.metric == metric]
        if metric == plan.primary_metric[0]:
            of = [*primary_judges(plan, found.credits), *of]
        chosen[metric] = next((one for one in of if stands[metric, one]), of[0] if of else "")
    known = dict.fromkeys((one.metric, one.scope, one.judge) for one in found.rows)
    return [one for one in known if one[0] in UNJUDGED or one[2] == chosen[one[0]]]


def method_summaries(plan: Plan, found: Tables, spent: Sequence[ReplyCosts]) -> list[MethodSummary]:
    """Each method with its numbers, the best first; floor and ceiling have no rank and come last."""
    chosen = columns(plan, found)
    rows = {((one.metric, one.scope, one.judge), one.contestant): one for one in found.rows}
    ranks: dict[str, list[float]] = {name: [] for name in plan.methods}
    for column in [one for one in chosen if not withheld_from(found, one)]:
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


def withheld_from(found: Tables, column: Column) -> str:
    """Why nothing is concluded from a column; empty where it may be."""
    return found.credit(column[0], column[2]).why


def heads(chosen: Sequence[Column]) -> list[str]:
    """The heads of the columns: which metric, of which questions, and which way is better."""
    embedders = [one for one in chosen if one[0] == SIMILARITY]
    found = []
    for metric, scope, judge in chosen:
        of = f", {SCOPES[scope]}" if scope else ""
        by = f" ({judge})" if metric == SIMILARITY and len(embedders) > 1 else ""
        found.append(f"{metric}{of}{by} {ARROWS[better(metric, scope)]}")
    return found


def summary_cells(plan: Plan, found: Tables, one: MethodSummary) -> Cells:
    """A method in the table."""
    marked = {(*of[:3], of.first) for of in found.found}
    yield next((row.named for row in one.rows.values()), one.contestant)
    yield "" if one.rank is None else f"{one.rank:.1f}"
    for column in columns(plan, found):
        yield cell(one.rows.get(column), (*column, one.contestant) in marked)
    yield "" if one.tokens is None else f"{one.tokens:,.0f}"


def summary_table(plan: Plan, found: Tables, spent: Sequence[ReplyCosts]) -> Iterator[Part]:
    """All methods by all metrics, and beside that what the first metric costs."""
    if not found.rows:
        return
    methods, chosen = method_summaries(plan, found, spent), columns(plan, found)
    names = ("method", "rank", *heads(chosen), "tokens a reply")
    yield table(names, *(summary_cells(plan, found, one) for one in methods))
    yield Drawn(lambda: "".join(cost_picture(methods, one) for one in chosen[:1]))
    yield table_note(plan, found)


def cost_picture(summaries: Sequence[MethodSummary], column: Column) -> str:
    """What a metric has for its tokens; nothing where none were counted."""
    points = [
        (one.contestant, one.tokens, row.interval)
        for one in summaries
        if one.tokens and (row := one.rows.get(column)) and row.interval
    ]
    if not points:
        return ""
    (title,), scale = heads([column]), scale_of(column[0])
    low = min([0.0, *(of.low or 0.0 for *_, of in points)]) if scale.low < 0 else scale.low
    text = f"{title} by the tokens of a reply, index and judgements included: " + "; ".join(
        f"{name} {signed(of.mean)} for {tokens:,.0f}" for name, tokens, of in points
    )
    caption = f"{title} by tokens a reply, index and judgements included"
    return image(cost_figure(title, points, low, scale.high), text, caption)


def table_note(plan: Plan, found: Tables) -> str:
    """What has to be known of the table."""
    chosen = columns(plan, found)
    judges = dict.fromkeys(judge for metric, _, judge in chosen if metric not in UNJUDGED)
    by = f" Judged by {'; '.join(judges)}." if judges and len(plan.judges) > 1 else ""
    failed = [one for one in chosen if withheld_from(found, one)]
    mark = f" {WITHHELD} nothing is concluded from this number." if failed else ""
    counts = " that count" if failed else ""
    return (
        f"Means with 95 % intervals; * differs from {plan.compared_with}.{mark} Rank: the mean of the ranks by the "
        f"metrics{counts}, 1 is best.{by} Tokens are those of the reply, and its part of index and judgements."
    )


def cell(row: Row | None, marked: bool) -> str | Cell:
    """A number of the table."""
    if row is None or row.interval is None:
        return "not asked" if row and not row.missing else "none"
    mark = WITHHELD if row.withheld else "*" * marked
    return Cell(f"{signed(row.interval.mean)}{mark} {bounds(row.interval)}", bool(row.withheld), row.id)


def conclusion(plan: Plan, found: Tables) -> str:
    """What can be concluded: by the primary comparison, by the others, and what has to be known of it."""
    return " ".join([findings(plan, found), *caveats(plan, found)])


def findings(plan: Plan, found: Tables) -> str:
    """What can be concluded, by the primary comparison and by the others."""
    planned = [one for one in found.planned if not one.withheld]
    if found.withheld and not planned:
        return "Nothing is concluded: no judge's numbers can bear it, for the reasons below."
    if not planned:
        return "Nothing is compared: there is one method, or nothing that two have. Its numbers stand below."
    if all(one.p is None for one in planned):
        return f"Nothing is tested, and nothing can be concluded: {planned[0].test.removeprefix('none: ')}."
    others = [one for one in planned if not one.primary]
    said = [primary_in_words(plan, found, [one for one in planned if one.primary])]
    said += [others_in_words(others)] if others else []
    return f"{'. '.join(said)}."


def caveats(plan: Plan, found: Tables) -> Iterator[str]:
    """What has to be known of what is concluded, in sentences; nothing where nothing is."""
    planned, roles = [one for one in found.planned if not one.withheld], len(plan.roles)
    if all(one.p is None for one in planned):
        return
    if roles == 1:
        yield f"This is about more {found.units} of this kind to this role: nothing is concluded beyond it."
    if 1 < roles < FEWEST_FLIPPED:
        yield (
            f"With fewer than {FEWEST_FLIPPED} roles this rests on Student's t, which takes the differences of roles "
            f"for normal: sign flips, which do not, reach no p below {least_p(roles):.3g} here."
        )
    if any(not one.found for one in planned):
        yield "Where no difference is shown, that is no proof that there is none."
    if short := [one for one in planned if one.found and not at_equal_length(one)]:
        which = ", ".join(dict.fromkeys(f"{one.first} by {one.metric}" for one in short[:NAMED]))
        yield f"At equal length of replies it is not shown that a difference is left: {which}."
    unchecked = {
        one.judge for one in planned for of in found.credit(one.metric, one.judge).checks if of.kind == UNCHECKED
    }
    if unchecked:
        yield f"Nothing shows whether {' or '.join(sorted(unchecked))} can tell right from wrong."
    if found.withheld:
        of_these = ", ".join(f"{one.metric} by {one.judge}" for one in found.withheld)
        yield f"Nothing is concluded from {of_these} ({WITHHELD})."


def at_equal_length(one: Difference) -> bool:
    """Whether a difference goes the same way at equal length of replies, with its whole interval."""
    left = one.equal_length
    if left is None or left.low is None or left.high is None:
        return True
    return left.low > 0 if one.interval.mean > 0 else left.high < 0


def withheld_lines(found: Tables, *metrics: str) -> Iterator[str]:
    """By which metric and judge nothing is concluded, and why; those of one reason together."""
    by: dict[str, list[str]] = {}
    for one in found.withheld:
        if not metrics or one.metric in metrics:
            by.setdefault(one.why, []).append(f"{one.metric} by {one.judge}")
    for why, of in by.items():
        yield f"**Nothing is concluded from {', '.join(of)}** ({WITHHELD}): {why}."


def primary_in_words(plan: Plan, found: Tables, first: Sequence[Difference]) -> str:
    """What the primary comparison shows, and whose it is where it is not that of the judge that the plan names."""
    metric, judge = plan.primary_metric
    if not first:
        return f"The primary comparison, by {metric}, says nothing: no judge's numbers bear it"
    by, number = [*dict.fromkeys(one.judge for one in first)], len(plan.roles)
    over = f"{number} roles" if number > 1 else f"the {found.units} of one role, {plan.roles[0]}"
    whose = "" if metric in UNJUDGED else f"judged by {by[0]}, "
    if whose and judge not in (OF_ALL, *by):
        whose = f"judged by {by[0]}, as {judge} fails its checks, "
    what = f"Primary comparison with {plan.compared_with} by {metric} ({whose}over {over})"
    if differ := [one for one in first if one.found]:
        if len({one.first for one in differ}) > NAMED:
            sizes = ", ".join(f"{one.first} ({signed(one.interval.mean)})" for one in differ[:NAMED])
            return f"{what}: {len(differ)} differences are shown, such as {sizes}; * in the table marks them"
        sizes = "; ".join(size_in_words(one) for one in differ[:NAMED])
        return f"{what}: {found_in_words(differ)} ({sizes})"
    if any(one.corrected and one.corrected.significant for one in first):
        return f"{what}: a difference is there, and would not be if what is missing were the worst for it"
    if len(first) > 1:
        return f"{what}: no method is shown to differ"
    p = "no test" if first[0].p is None else f"p = {p_text(first[0].p)}"
    return f"{what}: {first[0].first} is not shown to differ ({signed(first[0].interval.mean)}, {p})"


def others_in_words(others: Sequence[Difference]) -> str:
    """What the comparisons beside the primary one show."""
    number, differ = len(others), [one for one in others if one.found]
    if number == 1:
        said = "The one other comparison"
        return f"{said} differs: {found_in_words(differ, named=True)}" if differ else f"{said} shows no difference"
    said = f"Of {number} other comparisons, corrected together, "
    if not differ:
        return f"{said}none differs"
    all_of = "all differ" if len(differ) == number else f"{len(differ)} differ{'s' * (len(differ) == 1)}"
    return f"{said}{all_of}: {found_in_words(differ, named=True)}"


def size_in_words(one: Difference) -> str:
    """How large a difference is."""
    of = f" {SCOPES[one.scope]}" if one.scope else ""
    return f"{one.first} − {one.second}{of} {signed(one.interval.mean)}, 95 % {bounds(one.interval)}"


def found_in_words(differ: Sequence[Difference], *, named: bool = False) -> str:
    """Who is better or worse, and where named by which metric and judge; of many methods, how often, the most first."""
    by: dict[str, dict[str, list[str]]] = {}
    for one in differ:
        ahead = (one.interval.mean > 0) == (better(one.metric, one.scope) == "higher")
        metric = f"{one.metric} ({one.judge})" if one.metric not in UNJUDGED else one.metric
        metric = " ".join(part for part in (metric if named else "", SCOPES[one.scope] if one.scope else "") if part)
        by.setdefault(one.first, {}).setdefault("better" if ahead else "worse", []).append(metric)
    if len(by) <= NAMED:
        return "; ".join(
            f"{name} is {' and '.join(way_in_words(how, of) for how, of in ways.items())}" for name, ways in by.items()
        )
    most = sorted(by, key=lambda name: -sum(map(len, by[name].values())))
    told = (
        f"{name} {' and '.join(f'{how} {counted(len(of))}' for how, of in by[name].items())}" for name in most[:NAMED]
    )
    left = len(most) - NAMED
    return f"{', '.join(told)}, and {left} other method{'s' * (left > 1)}, as * in the table shows"


def counted(times: int) -> str:
    """How often."""
    return "once" if times == 1 else f"{times} times"


def way_in_words(how: str, metrics: Sequence[str]) -> str:
    """By what a method is better, or worse."""
    told = ", ".join(dict.fromkeys(filter(None, metrics)))
    return f"{how} by {told}" if told else how
