"""The numbers of an evaluation, each with its n, its interval and what is missing; and how tables write them."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeVar

from dramaturg.evaluation.comparison.contestants import BOUNDS, CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import OF_ALL, Entry, Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.judging.measures import is_measured, refusal_rates
from dramaturg.evaluation.judging.scales import UNJUDGED, scale_of
from dramaturg.evaluation.metrics.intervals import Interval, Missing, cluster_interval, missing
from dramaturg.evaluation.metrics.paired_tests import Corrected, holm
from dramaturg.evaluation.reports.credit import Credit, credits_of
from dramaturg.evaluation.reports.differences import Difference, compared, tested
from dramaturg.evaluation.reports.lengths import at_equal_length, slope
from dramaturg.evaluation.reports.values import (
    PARTS,
    REFUSAL,
    SCOPES,
    by_reply,
    by_unit,
    entries_of,
    judges_of,
    roles_of_others,
    unit,
    value_of,
)

NOTES = {FLOOR: "floor", CEILING: "ceiling"}
MINUS = "−"
WITHHELD = "†"
"""Behind numbers from which nothing is concluded; pages and terminals show them in grey."""
NAMED = 5
"""The most that are named of what is missing."""
D = TypeVar("D", bound=Any)


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
    withheld: str = ""
    """Why nothing is concluded from it; empty where it may be."""

    @property
    def bound(self) -> bool:
        """Whether it is no method's number, but the floor or the ceiling."""
        return self.contestant in BOUNDS

    @property
    def named(self) -> str:
        """The contestant as tables and pictures have it."""
        return f"{self.contestant} ({self.note})" if self.note else self.contestant

    @property
    def id(self) -> str:
        """The id of the list of replies behind it, on the page."""
        return "-".join(["n", self.metric, self.scope or "all", self.judge, self.contestant]).replace(" ", "_")


class Tables(NamedTuple):
    """All numbers of a report."""

    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    units: str
    """Over what intervals are: roles, or where there is one, its questions."""
    missing: tuple[str, ...]
    """What was planned and is missing, by name."""
    unasked: tuple[tuple[str, str], ...]
    """Metrics, with their scope, for which the plan has no question."""
    credits: tuple[Credit, ...]
    """What the numbers of each judge by each metric can bear."""

    @property
    def valid(self) -> bool:
        """Whether all was measured that was planned, and no more is missing anywhere than a run may lack."""
        return not self.missing

    @property
    def problems(self) -> list[str]:
        """What is missing, and by which metric and judge nothing is concluded."""
        withheld = (f"{one.metric} by {one.judge}: nothing is concluded, as {one.why}" for one in self.withheld)
        return [*self.missing, *withheld]

    def credit(self, metric: str, judge: str) -> Credit:
        """What the numbers of a judge by a metric can bear."""
        return next(one for one in self.credits if (one.metric, one.judge) == (metric, judge))

    @property
    def withheld(self) -> list[Credit]:
        """By which metric and judge nothing is concluded."""
        return [one for one in self.credits if not one.stands]

    @property
    def planned(self) -> list[Difference]:
        """The comparisons with the baseline."""
        return [one for one in self.differences if one.planned]

    @property
    def found(self) -> list[Difference]:
        """Those of them that count as found."""
        return [one for one in self.planned if one.found]


class ReplyCosts(NamedTuple):
    """What the replies of a contestant have cost, and what came before and after them."""

    contestant: str
    replies: int
    failed: int
    calls: int
    tokens: int
    seconds: float
    index_calls: int
    """To prepare the roles; 0 also where that was done before this run."""
    index_tokens: int
    judge_calls: int
    judge_tokens: int

    @property
    def all_tokens(self) -> int:
        """Of replies, index and judgements."""
        return self.tokens + self.index_tokens + self.judge_tokens


def tables(plan: Plan, records: Records) -> Tables:
    """Make the tables of a report: what is in them is decided by the plan, and not by the records that there are.

    Each method of the plan is compared with its baseline; how that is tested, `differences` says. The other pairs have
    an interval and no test. With one role, intervals and tests are over its questions, and say nothing of other roles.
    Floor and ceiling have rows where they have something to say, and are in no test. What a judge that fails its checks
    has said has its numbers, and no test.
    """
    judges = [(metric, judge) for metric in plan.metrics for judge in judges_of(plan, records, metric)]
    rows = [one for key in judges for one in rows_of(plan, records, *key)]
    whole, lacking = problems(plan, records, rows)
    credit = credits_of(plan, records, {key: [*whole, *lacking.get(key, ())] for key in judges} if whole else lacking)
    for one in credit[len(judges) :]:  # of several judges in the mean
        rows = [*rows_of(plan, records, one.metric, one.judge), *rows]
    why = {(one.metric, one.judge): one.why for one in credit}
    rows = [one._replace(withheld=why[one.metric, one.judge]) for one in rows]
    others = [name for name in plan.methods if name != plan.compared_with]
    pairs = [(name, plan.compared_with) for name in others] + [*combinations(others, 2)]
    apart = [
        one
        for key in dict.fromkeys((one.metric, one.scope, one.judge) for one in rows)
        for one in compared(plan, by_reply(records, key[0], key[2]), key, pairs, why[key[0], key[2]])
    ]
    steep = {key: slope(plan, records, *key) for key in dict.fromkeys(one.told[:3] for one in apart)}
    found = [
        one._replace(equal_length=at_equal_length(plan, records, one, steep[one[:3]])) if one.planned else one
        for one in tested(plan, apart, primary=(plan.primary_metric[0], primary_judges(plan, credit)))
    ]
    asked = {(one.metric, one.scope) for one in rows}
    wanted = ((metric, scope) for metric, _ in judges for scope in PARTS.get(metric, ("",)))
    return Tables(
        tuple(rows),
        tuple(found),
        f"{unit(plan)}s",
        (*whole, *(line for of in lacking.values() for line in of)),
        tuple(one for one in dict.fromkeys(wanted) if one not in asked),
        tuple(credit),
    )


def primary_judges(plan: Plan, credit: Sequence[Credit]) -> list[str]:
    """By whom the primary comparison is: the judge that the plan names, or if it fails the next one that stands."""
    metric, judge = plan.primary_metric
    of = [one for one in credit if one.metric == metric]
    if metric in UNJUDGED:
        return [one.judge for one in of]
    if judge == OF_ALL:
        return [one.judge for one in of[-1:]]
    named = sorted(of, key=lambda one: (not one.stands, one.judge != judge))
    return [one.judge for one in named[:1]]


def rows_of(plan: Plan, records: Records, metric: str, judge: str) -> list[Row]:
    """The numbers of one judge by one metric, of each scope that was asked."""
    return [
        row(plan, records, metric, scope, judge, name)
        for scope in PARTS.get(metric, ("",))
        if any(is_asked(plan, records, metric, scope, judge))
        for name in (*plan.methods, *bounds_of(plan, metric, scope))
    ]


def bounds_of(plan: Plan, metric: str, scope: str) -> Iterator[str]:
    """Floor and ceiling, where they have something to say."""
    return (one for one in plan.bounds if is_measured(metric, one) and any(entries_of(plan, one, scope)))


def is_asked(plan: Plan, records: Records, metric: str, scope: str, judge: str) -> Iterator[bool]:
    """Whether the metric is defined for each reply of the methods; until it is judged it may be."""
    found = by_reply(records, metric, judge)
    for name in plan.methods:
        yield from (one.key not in found or found[one.key].applicable for one in entries_of(plan, name, scope))


def row(plan: Plan, records: Records, metric: str, scope: str, judge: str, contestant: str) -> Row:
    """One number with what it can bear."""
    strangers = roles_of_others(plan, records, metric, judge)
    entries = [one for one in entries_of(plan, contestant, scope) if one.role not in strangers]
    found, scale = by_reply(records, metric, judge), scale_of(metric)
    applicable = [one for one in entries if one.key not in found or found[one.key].applicable]
    values = by_unit(plan, applicable, found)
    replies = (records.replies[one.key] for one in entries if one.key in records.replies)
    searched = {str(one.evidence["web_search"]) for one in replies if "web_search" in one.evidence}
    return Row(
        metric,
        scope,
        judge,
        contestant,
        cluster_interval(values, scale=scale[:2], unit=unit(plan)) if values else None,
        missing([value_of(one, found) for one in applicable], low=scale.low, high=scale.high) if applicable else None,
        len(entries) - len(applicable),
        tuple(one.key for one in applicable),
        # CRAG without a tool is not the CRAG of the papers.
        "without web search" if searched == {"off"} else NOTES.get(contestant, ""),
    )


def together(tests: Sequence[D]) -> list[D]:
    """The same comparisons, the p-values of those that have one corrected by Holm among themselves."""
    known = {str(at): one.p for at, one in enumerate(tests) if one.p is not None}
    if not known:
        return [*tests]
    found = holm(known)
    return [one._replace(corrected=found.get(str(at))) for at, one in enumerate(tests)]


def problems(plan: Plan, records: Records, rows: Sequence[Row]) -> tuple[list[str], dict[tuple[str, str], list[str]]]:
    """Name what was planned and is missing: of the whole run, and of one judge by one metric.

    That is a method, role, seed or question without replies, or without judgements; a metric that nobody measured; and
    more than 2 % of a number.
    """
    wanted = [one for name in plan.methods for one in plan.of(name)]
    there = {one.key for one in wanted if one.key in records.replies and not records.replies[one.key].error}
    whole = [*gaps(plan, "replies", wanted, [one for one in wanted if one.key not in there])]
    replied = [one for one in wanted if one.key in there]
    measures = [(metric, judge) for metric in plan.metrics for judge in judges_of(plan, records, metric)]
    lacking: dict[tuple[str, str], list[str]] = {}
    for metric, judge in measures:
        said, strangers = by_reply(records, metric, judge), roles_of_others(plan, records, metric, judge)
        asked = (one for one in replied if one.role not in strangers)
        mine = [one for one in asked if one.key not in said or said[one.key].applicable]
        if found := [*gaps(plan, f"{metric} by {judge}", mine, [one for one in mine if value_of(one, said) is None])]:
            lacking[metric, judge] = found
    whole += [f"{one}: nobody has measured it" for one in plan.metrics if replied and one not in dict(measures)]
    named = {*lacking}
    for one in rows:
        key = (one.metric, one.judge)
        if one.missing and not one.missing.valid and not one.bound and not whole and key not in named:
            scope = f", {SCOPES[one.scope]}" if one.scope else ""
            share = f"{one.missing.missing} of {one.missing.n} are missing"
            lacking.setdefault(key, []).append(f"{one.metric}{scope} by {one.judge}, {one.contestant}: {share}")
    return whole, lacking


def gaps(plan: Plan, what: str, wanted: Sequence[Entry], gone: Sequence[Entry]) -> Iterator[str]:
    """Name what is missing as a whole: all of it, else each method, role, seed and question that has nothing."""
    if not gone:
        return
    if len(gone) == len(wanted):
        yield f"{what}: {'the only one is' if len(wanted) == 1 else f'all {len(wanted)} are'} missing"
        return
    missing_of = f"{len(gone)} of {len(wanted)} are missing"
    axes: Mapping[str, Callable[[Entry], str]] = {
        "method": lambda one: one.contestant,
        "role": lambda one: one.role,
        "seed": lambda one: str(one.seed),
        "question": lambda one: f"“{plan.question(one).text or one.question}” of {one.role}",
    }
    for axis, name_of in axes.items():
        whole, lacking = Counter(map(name_of, wanted)), Counter(map(name_of, gone))
        empty = [name for name, number in lacking.items() if number == whole[name]]
        if empty and len(whole) > 1:
            named = f"{', '.join(empty[:NAMED])}{more(len(empty) - NAMED)}"
            yield f"{what}: {missing_of}, and there is nothing for {axis} {named}"
            gone = [one for one in gone if name_of(one) not in empty]


def more(number: int) -> str:
    """How many are not named."""
    return f" and {number} more" if number > 0 else ""


def overall_refusals(plan: Plan, records: Records, contestant: str, judge: str) -> float | None:
    """After RoleRAG's UQR: refusals out of scope and answers in scope, of all that were judged."""
    found = by_reply(records, REFUSAL, judge)
    scopes = ((plan.question(one).scope, value_of(one, found)) for one in plan.of(contestant))
    return refusal_rates((scope, value) for scope, value in scopes if scope).overall


def costs(plan: Plan, records: Records) -> list[ReplyCosts]:
    """Return what each method has cost by the plan, whose judges alone count; seconds are summed over replies."""
    found = []
    keys = {one.key: one.contestant for one in plan.entries}
    wanted = (one for one in records.judged.values() if one.model in plan.judges and one.metric in plan.metrics)
    judged = [(keys[one.reply], one) for one in wanted if one.reply in keys]
    for name in plan.methods if plan.entries else ():
        replies = [records.replies[one.key] for one in plan.of(name) if one.key in records.replies]
        indexed = [one for one in records.indexed.values() if one.contestant == name and one.role in plan.roles]
        judgements = [one for contestant, one in judged if contestant == name]
        found.append(
            ReplyCosts(
                name,
                len(replies),
                sum(bool(one.error) for one in replies),
                sum(one.calls for one in replies),
                sum(one.tokens for one in replies),
                round(sum(one.seconds for one in replies), 1),
                sum(one.calls for one in indexed),
                sum(one.tokens for one in indexed),
                sum(one.calls for one in judgements),
                sum(one.tokens for one in judgements),
            )
        )
    return found


def signed(value: float) -> str:
    """A number with three digits, and a minus that is one."""
    return f"{value:.3f}".replace("-", MINUS)


def whole(value: float) -> str:
    """A number as short as it can be, with the same minus."""
    return f"{value:g}".replace("-", MINUS)


def bounds(interval: Interval) -> str:
    """An interval in brackets; none where nothing says how values vary."""
    return between(interval.low, interval.high)


def between(low: float | None, high: float | None) -> str:
    """Two ends in brackets; none where there are none."""
    return "none" if low is None or high is None else f"[{signed(low)}, {signed(high)}]"


def comparison_cells(
    interval: Interval, p: float | None, corrected: Corrected | None, test: str, *, starred: bool | None = None
) -> Iterator[str]:
    """The cells that all tables of differences share: mean, interval, pairs, p, corrected p and test.

    A star is at the corrected p: where it is below 0.05, unless `starred` says another thing.
    """
    yield from (signed(interval.mean), bounds(interval), str(interval.n_values))
    yield "" if p is None else p_text(p)
    star = corrected is not None and (corrected.significant if starred is None else starred)
    yield "" if corrected is None else f"{p_text(corrected.corrected)}{'*' * star}"
    yield test


def p_text(p: float) -> str:
    """A p-value with three digits, or that it is smaller."""
    return "< .001" if p < 0.001 else f"{p:.3f}"


def smallest_seen(detectable: float | None) -> str:
    """The smallest difference that would have been seen, or a dash where none would."""
    return "—" if detectable is None else f"{detectable:.3f}"
