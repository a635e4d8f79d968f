"""The numbers of an evaluation, each with its n, its interval and what is missing; and how tables write them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple, TypeVar

from dramaturg.evaluation.comparison.contestants import BOUNDS, CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, Records
from dramaturg.evaluation.judging.measures import is_measured, refusal_rates
from dramaturg.evaluation.judging.scales import NOBODY, RECALL, SIMILARITY, UNJUDGED, scale_of
from dramaturg.evaluation.metrics.intervals import Interval, Missing, cluster_interval, missing, paired_interval
from dramaturg.evaluation.metrics.paired_tests import (
    LEVEL,
    Corrected,
    holm,
    least_p,
    mcnemar,
    paired_test,
    smallest_difference,
)

SEED = 0
"""Of what is drawn for intervals and tests."""
REFUSAL = "refusal"
PARTS: Mapping[str, tuple[str, ...]] = {REFUSAL: ("out", "in")}
"""Metrics whose meaning hangs on the scope of the question have a row for each scope."""
SCOPES = {"": "all", "in": "in scope", "out": "out of scope"}
NOTES = {FLOOR: "floor", CEILING: "ceiling"}
MINUS = "−"
NAMED = 5
"""The most that are named of what is missing."""
Found = Mapping[str, Judged]
"""What one judge said by one metric, by the keys of the replies."""
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

    @property
    def bound(self) -> bool:
        """Whether it is no method's number, but the floor or the ceiling."""
        return self.contestant in BOUNDS

    @property
    def named(self) -> str:
        """The contestant as tables and pictures have it."""
        return f"{self.contestant} ({self.note})" if self.note else self.contestant


class Difference(NamedTuple):
    """Two contestants on the same questions, the first minus the second."""

    metric: str
    scope: str
    judge: str
    first: str
    second: str
    interval: Interval
    planned: bool
    """Whether the second is the plan's baseline; the others were looked at because they could be, and have no test."""
    p: float | None
    least: float | None
    """The smallest p that sign flips of so many roles can have."""
    test: str
    corrected: Corrected | None
    detectable: float | None
    """The smallest difference that would be found 80 times of 100, at the level that Holm's correction begins with."""


class Tables(NamedTuple):
    """All numbers of a report."""

    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    units: str
    """Over what intervals are: roles, or where there is one, its questions."""
    problems: tuple[str, ...]
    """What was planned and is missing, by name."""
    unasked: tuple[tuple[str, str], ...]
    """Metrics, with their scope, for which the plan has no question."""

    @property
    def valid(self) -> bool:
        """Whether all was measured that was planned, and no more is missing anywhere than a run may lack."""
        return not self.problems

    @property
    def planned(self) -> list[Difference]:
        """The comparisons with the baseline."""
        return [one for one in self.differences if one.planned]


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

    Each method of the plan is compared with its baseline; p-values are corrected by Holm over all these tests. The
    other pairs have an interval and no test. With one role, intervals and tests are over its questions, and say
    nothing of other roles. Floor and ceiling have rows where they have something to say, and are in no test.
    """
    keys = [
        (metric, scope, judge)
        for metric in plan.metrics
        for scope, judge in product(PARTS.get(metric, ("",)), judges_of(plan, records, metric))
    ]
    asked = [key for key in keys if any(is_asked(plan, records, *key))]
    rows = [row(plan, records, *key, name) for key in asked for name in (*plan.methods, *bounds_of(plan, *key[:2]))]
    others = [name for name in plan.methods if name != plan.compared_with]
    pairs = [(name, plan.compared_with) for name in others] + [*combinations(others, 2)]
    level = LEVEL / max(1, len(asked) * len(others))
    apart = [
        one
        for metric, scope, judge in asked
        for one in differences(plan, by_reply(records, metric, judge), (metric, scope, judge), pairs, level)
    ]
    unasked = dict.fromkeys((metric, scope) for metric, scope, _ in keys)
    for metric, scope, _ in asked:
        unasked.pop((metric, scope), None)
    found = together(apart)
    return Tables(tuple(rows), tuple(found), f"{unit(plan)}s", tuple(problems(plan, records, rows)), tuple(unasked))


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


def roles_of_others(plan: Plan, records: Records, metric: str, judge: str) -> set[str]:
    """The roles that are another's to measure: each language has its embedding model. Judges judge all roles."""
    if metric != SIMILARITY:
        return set()
    if plan.embedders:
        return {role for role, name in plan.embedders.items() if name != judge}
    known = [one for one in records.judged.values() if one.metric == metric and one.reply in records.replies]
    mine = {records.replies[one.reply].role for one in known if one.model == judge}
    return {records.replies[one.reply].role for one in known} - mine


def differences(
    plan: Plan, found: Found, key: tuple[str, str, str], pairs: Sequence[tuple[str, str]], level: float
) -> Iterator[Difference]:
    """Two contestants at a time, on the replies that both have a value for; nothing where there are none.

    Args:
        plan: the plan.
        found: what one judge said by one metric.
        key: the metric, the scope of questions, and the judge.
        pairs: the names of those that are compared.
        level: at which the comparisons with the baseline are to count as found, for the smallest difference.
    """
    metric, scope, _ = key
    scale = scale_of(metric)
    sides = {
        name: {
            (one.role, one.question, one.seed): (one, value)
            for one in entries_of(plan, name, scope)
            if (value := value_of(one, found)) is not None
        }
        for name in plan.methods
    }
    for first, second in pairs:
        ours, theirs = sides[first], sides[second]
        if not (both := [one for one in ours if one in theirs]):
            continue
        one, other = (by_unit(plan, [side[at][0] for at in both], found) for side in (ours, theirs))
        made = partial(Difference, *key, first, second, paired_interval(one, other, scale=scale[:2], unit=unit(plan)))
        if second != plan.compared_with:
            yield made(False, None, None, "", None, None)
            continue
        shares = scale[:2] == (0, 1) and all(side[at][1] in (0, 1) for side in (ours, theirs) for at in both)
        # Seeds of one question are no new pairs, and neither are the turns of one talk.
        if len(plan.roles) == 1 and len(plan.seeds) == 1 and not plan.talks and shares:
            yield made(True, *exact_test(*([bool(side[at][1]) for at in both] for side in (ours, theirs)), level=level))
        else:
            least, most = scale[:2]
            told = paired_test(one, other, seed=SEED, level=level, unit=unit(plan), largest=most - least)
            yield made(True, told.p, told.least, told.method, uncorrected(told.p), told.detectable)


def exact_test(
    first: Sequence[bool], second: Sequence[bool], *, level: float
) -> tuple[float, float, str, Corrected | None, float | None]:
    """McNemar's test of one role's hits: p, the smallest it can be, its name, p uncorrected, the smallest difference.

    The questions of one role count as independent: nothing is said of another.
    """
    exact = mcnemar(first, second)
    apart = exact.only_first + exact.only_second
    smallest = smallest_difference(exact.n, apart / exact.n, level=level).difference if apart else None
    return exact.p, least_p(exact.n), exact.method, uncorrected(exact.p), smallest


def uncorrected(p: float | None) -> Corrected | None:
    """A p-value before it is known how many there are; None where nothing was tested."""
    return None if p is None else Corrected(p, p, False, 1, None, "none")


def together(tests: Sequence[D]) -> list[D]:
    """The same comparisons, the p-values of those that have one corrected by Holm among themselves."""
    known = {str(at): one.p for at, one in enumerate(tests) if one.p is not None}
    if not known:
        return [*tests]
    found = holm(known)
    return [one._replace(corrected=found.get(str(at))) for at, one in enumerate(tests)]


def problems(plan: Plan, records: Records, rows: Sequence[Row]) -> Iterator[str]:
    """Name what was planned and is missing: judges, methods, roles, seeds, questions, and more than 2 % of a number."""
    wanted = [one for name in plan.methods for one in plan.of(name)]
    there = {one.key for one in wanted if one.key in records.replies and not records.replies[one.key].error}
    found = [*gaps(plan, "replies", wanted, [one for one in wanted if one.key not in there])]
    yield from found
    replied = [one for one in wanted if one.key in there]
    measures = [(metric, judge) for metric in plan.metrics for judge in judges_of(plan, records, metric)]
    named = {*measures} if found else set()
    for metric, judge in measures:
        said, strangers = by_reply(records, metric, judge), roles_of_others(plan, records, metric, judge)
        asked = (one for one in replied if one.role not in strangers)
        mine = [one for one in asked if one.key not in said or said[one.key].applicable]
        if found := [*gaps(plan, f"{metric} by {judge}", mine, [one for one in mine if value_of(one, said) is None])]:
            named.add((metric, judge))
            yield from found
    for metric in plan.metrics:
        if replied and metric not in dict(measures):
            yield f"{metric}: nobody has measured it"
    for one in rows:
        if one.missing and not one.missing.valid and not one.bound and (one.metric, one.judge) not in named:
            scope = f", {SCOPES[one.scope]}" if one.scope else ""
            share = f"{one.missing.missing} of {one.missing.n} are missing"
            yield f"{one.metric}{scope} by {one.judge}, {one.contestant}: {share}"


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


def entries_of(plan: Plan, contestant: str, scope: str) -> Iterator[Entry]:
    """What a contestant is asked of a scope; all, where the scope is empty."""
    return (one for one in plan.of(contestant) if scope in ("", plan.question(one).scope))


def has_judges(plan: Plan) -> bool:
    """Whether a model judges anything; the numbers that are counted or embedded have no judge."""
    return bool(plan.inventories) or any(one not in UNJUDGED for one in plan.metrics)


def judges_of(plan: Plan, records: Records, metric: str) -> list[str]:
    """Who is to judge, or to embed, by a metric; a plan of an earlier version does not say who embeds."""
    if metric == RECALL:
        return [NOBODY]
    if metric != SIMILARITY:
        return list(dict.fromkeys(plan.judges))
    keys = {one.key for one in plan.entries}
    here = (one.model for one in records.judged.values() if one.metric == metric and one.reply in keys)
    return sorted({*plan.embedders.values()} or {*here})


def by_reply(records: Records, metric: str, judge: str) -> Found:
    """What one judge said by one metric; of a reply that was said anew, what holds now."""
    return {one.reply: one for one in records.judged.values() if (one.metric, one.model) == (metric, judge)}


def value_of(entry: Entry, found: Found) -> float | None:
    """The value of a reply; none where it is missing."""
    return found[entry.key].value if entry.key in found else None


def by_unit(plan: Plan, entries: Sequence[Entry], found: Found) -> dict[str, list[float]]:
    """The values by role, or of a single role by question or talk: what is drawn as a whole."""
    values: dict[str, list[float]] = {}
    for one in entries:
        if (value := value_of(one, found)) is not None:
            values.setdefault(one.role if len(plan.roles) > 1 else plan.together(one), []).append(value)
    return values


def unit(plan: Plan) -> str:
    """What intervals and tests are over."""
    return "role" if len(plan.roles) > 1 else "talk" if plan.talks else "question"


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


def cells(*texts: str) -> str:
    """A line of a table; what would end a cell does not."""
    return "| " + " | ".join(" ".join(text.replace("|", "\\|").split()) for text in texts) + " |"


def table(heads: Sequence[str], *rows: Iterable[str]) -> str:
    """A whole table under its heads."""
    return "\n".join([cells(*heads), cells(*["---"] * len(heads)), *(cells(*row) for row in rows)])


def comparison_cells(interval: Interval, p: float | None, corrected: Corrected | None, test: str) -> Iterator[str]:
    """The cells that all tables of differences share: mean, interval, pairs, p, corrected p and test."""
    yield from (signed(interval.mean), bounds(interval), str(interval.n_values))
    yield "" if p is None else p_text(p)
    yield "" if corrected is None else f"{p_text(corrected.corrected)}{'*' * corrected.significant}"
    yield test


def p_text(p: float) -> str:
    """A p-value with three digits, or that it is smaller."""
    return "< .001" if p < 0.001 else f"{p:.3f}"


def smallest_seen(detectable: float | None) -> str:
    """The smallest difference that would have been seen, or a dash where none would."""
    return "—" if detectable is None else f"{detectable:.3f}"
