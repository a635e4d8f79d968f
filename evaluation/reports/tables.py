"""The numbers of an evaluation: each with its n, its interval, and what is missing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeVar

from dramaturg.evaluation.comparison.contestants import BOUNDS, CEILING, FLOOR
from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, Records, Reply
from dramaturg.evaluation.judging.measures import SIMILARITY, refusal_rates, scale_of
from dramaturg.evaluation.metrics.intervals import Interval, Missing, cluster_interval, missing, paired_interval
from dramaturg.evaluation.metrics.paired_tests import Corrected, holm, mcnemar, sign_flip, smallest_difference

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
    """The smallest difference of shares that so many pairs would have shown; None where the metric is no share, or
    where no difference would."""


def differences(plan: Plan, records: Records, keys: Sequence[tuple[str, str, str]]) -> list[Difference]:
    """The first method against each other one, all tests corrected together."""
    first, *others = plan.methods
    tests = (difference(plan, records, *key, first, other) for key in keys for other in others)
    return together([one for one in tests if one])


class Tables(NamedTuple):
    """All numbers of a report."""

    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    units: str
    """Over what intervals are: roles, or where there is one, its questions."""
    valid: bool
    """Whether all was measured that was wanted, and no more is missing anywhere than a run may lack."""


NOTES = {FLOOR: "floor", CEILING: "ceiling"}


SEED = 0
"""Of what is drawn for intervals and tests."""


Found = Mapping[str, Judged]
"""What one judge said by one metric, by the keys of the replies."""


D = TypeVar("D", bound=Any)


QuestionKey = tuple[str, str, int]
"""A role, a question and a seed: what both contestants were asked."""


class ReplyCosts(NamedTuple):
    """What the replies of a contestant have cost."""

    contestant: str
    replies: int
    failed: int
    calls: int
    tokens: int
    seconds: float


MINUS = "−"


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


def by_unit(plan: Plan, entries: Iterable[Entry], found: Found) -> dict[str, list[float]]:
    """The values by role, or of a single role by question."""
    values: dict[str, list[float]] = {}
    for one in entries:
        if (value := value_of(one, found)) is not None:
            values.setdefault(unit_of(plan, one), []).append(value)
    return values


def unit(plan: Plan) -> str:
    """What intervals and tests are over."""
    return "role" if len(plan.roles) > 1 else "question"


def unit_of(plan: Plan, entry: Entry) -> str:
    """What is drawn as a whole: what belongs to it goes together."""
    return entry.role if len(plan.roles) > 1 else entry.question


def difference(
    plan: Plan, records: Records, metric: str, scope: str, judge: str, first: str, second: str
) -> Difference | None:
    """Two contestants on the replies that both have a value for; nothing where there are none."""
    found = by_reply(records, metric, judge)
    ours, theirs = (values_by_question(plan, one, scope, found) for one in (first, second))
    both = [key for key in ours if key in theirs]
    if not both:
        return None
    sides = [grouped(plan, both, side) for side in (ours, theirs)]
    made = partial(Difference, metric, scope, judge, first, second, paired_interval(*sides, seed=SEED, unit=unit(plan)))
    shares = all(side[key] in (0, 1) for side in (ours, theirs) for key in both)
    if shares and scale_of(metric)[:2] == (0, 1) and len(plan.seeds) == 1:  # seeds of one question are no new pairs
        exact = mcnemar([bool(ours[key]) for key in both], [bool(theirs[key]) for key in both])
        apart = exact.only_first + exact.only_second
        smallest = smallest_difference(len(both), apart / len(both)).difference if apart else None
        return made(exact.p, exact.method, uncorrected(exact.p), smallest)
    flipped = sign_flip(*sides, seed=SEED, unit=unit(plan))
    return made(flipped.p, flipped.method, uncorrected(flipped.p), None)


def uncorrected(p: float) -> Corrected:
    """A p-value before it is known how many there are."""
    return Corrected(p, p, False, 1, None, "none")


def together(tests: Sequence[D]) -> list[D]:
    """The same tests, their p-values corrected by Holm among themselves."""
    if not tests:
        return []
    found = holm({str(at): one.p for at, one in enumerate(tests)})
    return [one._replace(corrected=found[str(at)]) for at, one in enumerate(tests)]


def values_by_question(plan: Plan, contestant: str, scope: str, found: Found) -> dict[QuestionKey, float]:
    """The values of a contestant by what it was asked."""
    return {
        (one.role, one.question, one.seed): value
        for one in entries_of(plan, contestant, scope)
        if (value := value_of(one, found)) is not None
    }


def grouped(plan: Plan, asked: Iterable[QuestionKey], values: Mapping[QuestionKey, float]) -> dict[str, list[float]]:
    """Values by role, or of a single role by question, in one order."""
    groups: dict[str, list[float]] = {}
    for key in asked:
        groups.setdefault(key[0] if len(plan.roles) > 1 else key[1], []).append(values[key])
    return groups


def costs(plan: Plan, records: Records) -> list[ReplyCosts]:
    """The cost of each method, judges left out; seconds are by the clock on the wall. None where nobody is asked."""
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


def table(heads: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    """A whole table under its heads."""
    return "\n".join([cells(*heads), cells(*["---"] * len(heads)), *(cells(*row) for row in rows)])
