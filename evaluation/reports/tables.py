"""The numbers of an evaluation, each with its n, its interval and what is missing; and how tables write them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeVar

from dramaturg.evaluation.comparison.contestants import BOUNDS, CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, Records
from dramaturg.evaluation.judging.measures import SIMILARITY, refusal_rates, scale_of
from dramaturg.evaluation.metrics.intervals import Interval, Missing, cluster_interval, missing, paired_interval
from dramaturg.evaluation.metrics.paired_tests import Corrected, holm, mcnemar, sign_flip, smallest_difference

SEED = 0
"""Of what is drawn for intervals and tests."""
REFUSAL = "refusal"
PARTS: Mapping[str, tuple[str, ...]] = {REFUSAL: ("out", "in")}
"""Metrics whose meaning hangs on the scope of the question have a row for each scope."""
SCOPES = {"": "all", "in": "in scope", "out": "out of scope"}
NOTES = {FLOOR: "floor", CEILING: "ceiling"}
MINUS = "−"
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
    p: float
    test: str
    corrected: Corrected
    detectable: float | None
    """The smallest difference of shares that this number of pairs could have shown; None where none could, or where
    the metric is no share."""


class Tables(NamedTuple):
    """All numbers of a report."""

    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    units: str
    """Over what intervals are: roles, or where there is one, its questions."""
    valid: bool
    """Whether all was measured that was wanted, and no more is missing anywhere than a run may lack."""


class ReplyCosts(NamedTuple):
    """What the replies of a contestant have cost."""

    contestant: str
    replies: int
    failed: int
    calls: int
    tokens: int
    seconds: float


def tables(plan: Plan, records: Records) -> Tables:
    """Make the tables of a report.

    The first method of the plan is compared with each of the others; p-values are corrected by Holm over all of them.
    With one role, intervals and tests are over its questions, and say nothing of other roles. Floor and ceiling have
    rows where they have something to say, and are in no test.
    """
    keys = [
        (metric, scope, judge)
        for metric in plan.metrics
        for scope, judge in product(PARTS.get(metric, ("",)), judges_in(records, metric))
    ]
    rows = [
        row(plan, records, *key, name)
        for key in keys
        for name in (*plan.methods, *(one for one in plan.bounds if any(entries_of(plan, one, key[1]))))
    ]
    first, *others = plan.methods
    apart = (difference(plan, records, *key, first, other) for key in keys for other in others)
    valid = all(one.missing.valid for one in rows if one.missing and not one.bound)
    measured = {*plan.metrics} <= {one.metric for one in rows}
    return Tables(tuple(rows), tuple(together([one for one in apart if one])), f"{unit(plan)}s", measured and valid)


def row(plan: Plan, records: Records, metric: str, scope: str, judge: str, contestant: str) -> Row:
    """One number with what it can bear."""
    strangers = roles_of_others(records, metric, judge)
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
        cluster_interval(values, seed=SEED, unit=unit(plan)) if values else None,
        missing([value_of(one, found) for one in applicable], low=scale.low, high=scale.high) if applicable else None,
        len(entries) - len(applicable),
        tuple(one.key for one in applicable),
        # CRAG without a tool is not the CRAG of the papers.
        "without web search" if searched == {"off"} else NOTES.get(contestant, ""),
    )


def roles_of_others(records: Records, metric: str, judge: str) -> set[str]:
    """The roles that are another's to measure: each language has its embedding model. Judges judge all roles."""
    if metric != SIMILARITY:
        return set()
    known = [one for one in records.judged.values() if one.metric == metric and one.reply in records.replies]
    mine = {records.replies[one.reply].role for one in known if one.model == judge}
    return {records.replies[one.reply].role for one in known} - mine


def difference(
    plan: Plan, records: Records, metric: str, scope: str, judge: str, first: str, second: str
) -> Difference | None:
    """Two contestants on the replies that both have a value for; nothing where there are none."""
    found = by_reply(records, metric, judge)
    ours, theirs = (
        {
            (one.role, one.question, one.seed): (one, value)
            for one in entries_of(plan, name, scope)
            if (value := value_of(one, found)) is not None
        }
        for name in (first, second)
    )
    both = [key for key in ours if key in theirs]
    if not both:
        return None
    sides = [by_unit(plan, [side[key][0] for key in both], found) for side in (ours, theirs)]
    made = partial(Difference, metric, scope, judge, first, second, paired_interval(*sides, seed=SEED, unit=unit(plan)))
    shares = all(side[key][1] in (0, 1) for side in (ours, theirs) for key in both)
    if shares and scale_of(metric)[:2] == (0, 1) and len(plan.seeds) == 1:  # seeds of one question are no new pairs
        return made(*exact_test(*([bool(side[key][1]) for key in both] for side in (ours, theirs))))
    flipped = sign_flip(*sides, seed=SEED, unit=unit(plan))
    return made(flipped.p, flipped.method, uncorrected(flipped.p), None)


def exact_test(first: Sequence[bool], second: Sequence[bool]) -> tuple[float, str, Corrected, float | None]:
    """McNemar's exact test of paired hits: p, its name, p as it is before correction, and the smallest difference."""
    exact = mcnemar(first, second)
    apart = exact.only_first + exact.only_second
    smallest = smallest_difference(exact.n, apart / exact.n).difference if apart else None
    return exact.p, exact.method, uncorrected(exact.p), smallest


def uncorrected(p: float) -> Corrected:
    """A p-value before it is known how many there are."""
    return Corrected(p, p, False, 1, None, "none")


def together(tests: Sequence[D]) -> list[D]:
    """The same tests, their p-values corrected by Holm among themselves."""
    if not tests:
        return []
    found = holm({str(at): one.p for at, one in enumerate(tests)})
    return [one._replace(corrected=found[str(at)]) for at, one in enumerate(tests)]


def overall_refusals(plan: Plan, records: Records, contestant: str, judge: str) -> float | None:
    """RoleRAG's UQR: refusals out of scope and answers in scope, of all that were judged."""
    found = by_reply(records, REFUSAL, judge)
    scopes = ((plan.question(one).scope, value_of(one, found)) for one in plan.of(contestant))
    return refusal_rates((scope, value) for scope, value in scopes if scope).overall


def entries_of(plan: Plan, contestant: str, scope: str) -> Iterator[Entry]:
    """What a contestant is asked of a scope; all, where the scope is empty."""
    return (one for one in plan.of(contestant) if scope in ("", plan.question(one).scope))


def judges_in(records: Records, metric: str) -> list[str]:
    """Who judged, or embedded, by a metric."""
    return sorted({one.model for one in records.judged.values() if one.metric == metric})


def by_reply(records: Records, metric: str, judge: str) -> Found:
    """What one judge said by one metric; of a reply that was said anew, what holds now."""
    return {one.reply: one for one in records.judged.values() if (one.metric, one.model) == (metric, judge)}


def value_of(entry: Entry, found: Found) -> float | None:
    """The value of a reply; none where it is missing."""
    return found[entry.key].value if entry.key in found else None


def by_unit(plan: Plan, entries: Sequence[Entry], found: Found) -> dict[str, list[float]]:
    """The values by role, or of a single role by question: what is drawn as a whole."""
    values: dict[str, list[float]] = {}
    for one in entries:
        if (value := value_of(one, found)) is not None:
            values.setdefault(one.role if len(plan.roles) > 1 else one.question, []).append(value)
    return values


def unit(plan: Plan) -> str:
    """What intervals and tests are over."""
    return "role" if len(plan.roles) > 1 else "question"


def costs(plan: Plan, records: Records) -> list[ReplyCosts]:
    """Return the cost of each method's replies, without judges; seconds are wall-clock time, summed over replies."""
    found = []
    for name in plan.methods if plan.entries else ():
        replies = [records.replies[one.key] for one in plan.of(name) if one.key in records.replies]
        found.append(
            ReplyCosts(
                name,
                len(replies),
                sum(bool(one.error) for one in replies),
                sum(one.calls for one in replies),
                sum(one.tokens for one in replies),
                round(sum(one.seconds for one in replies), 1),
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


def comparison_cells(interval: Interval, p: float, corrected: Corrected, test: str) -> Iterator[str]:
    """The cells that all tables of differences share: mean, interval, pairs, p, corrected p and test."""
    yield from (signed(interval.mean), bounds(interval), str(interval.n_values))
    yield from (f"{p:.3f}", f"{corrected.corrected:.3f}{'*' * corrected.significant}", test)


def smallest_seen(detectable: float | None) -> str:
    """The smallest difference that would have been seen, or a dash where none would."""
    return "—" if detectable is None else f"{detectable:.3f}"
