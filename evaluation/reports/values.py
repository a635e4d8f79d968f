"""What judges said, as the tables of a report read it: by reply, by role, and by the scope of questions."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, Records
from dramaturg.evaluation.judging.scales import COUNTED, NOBODY, SIMILARITY, UNJUDGED, scale_of

REFUSAL = "refusal"
PARTS: Mapping[str, tuple[str, ...]] = {REFUSAL: ("out", "in")}
"""Metrics whose meaning hangs on the scope of the question have a row for each scope."""
SCOPES = {"": "all", "in": "in scope", "out": "out of scope"}
MEAN = "mean of "
"""What the name of several judges together begins with."""
Found = Mapping[str, Judged]
"""What one judge said by one metric, by the keys of the replies."""


def mean_of(judges: Sequence[str]) -> str:
    """The name of several judges together."""
    return f"{MEAN}{', '.join(judges)}"


def by_reply(records: Records, metric: str, judge: str) -> Found:
    """What one judge said by one metric, or several in the mean; of a reply that was said anew, what holds now."""
    if judge.startswith(MEAN):
        each = [by_reply(records, metric, one) for one in judge.removeprefix(MEAN).split(", ")]
        return {key: in_the_mean([of[key] for of in each]) for key in each[0] if all(key in of for of in each)}
    return {one.reply: one for one in records.judged.values() if (one.metric, one.model) == (metric, judge)}


def in_the_mean(said: Sequence[Judged]) -> Judged:
    """What several judges said of one reply, as one; missing where one of them is."""
    values = [one.value for one in said if one.value is not None]
    mean = fmean(values) if len(values) == len(said) else None
    return said[0].model_copy(update={"value": mean, "probability": None, "reason": ""})


def better(metric: str, scope: str) -> str:
    """Which values of a metric are better, where it is asked about questions of a scope."""
    way = scale_of(metric).better
    if way == "by_scope":
        return "higher" if scope == "out" else "lower"
    return way


def entries_of(plan: Plan, contestant: str, scope: str) -> Iterator[Entry]:
    """What a contestant is asked of a scope; all, where the scope is empty."""
    return (one for one in plan.of(contestant) if scope in ("", plan.question(one).scope))


def has_judges(plan: Plan) -> bool:
    """Whether a model judges anything; the numbers that are counted or embedded have no judge."""
    return bool(plan.inventories) or any(one not in UNJUDGED for one in plan.metrics)


def judges_of(plan: Plan, records: Records, metric: str) -> list[str]:
    """Who is to judge, or to embed, by a metric; a plan of an earlier version does not say who embeds."""
    if metric in COUNTED:
        return [NOBODY]
    if metric != SIMILARITY:
        return list(dict.fromkeys(plan.judges))
    keys = {one.key for one in plan.entries}
    here = (one.model for one in records.judged.values() if one.metric == metric and one.reply in keys)
    return sorted({*plan.embedders.values()} or {*here})


def roles_of_others(plan: Plan, records: Records, metric: str, judge: str) -> set[str]:
    """The roles that are another's to measure: each language has its embedding model. Judges judge all roles."""
    if metric != SIMILARITY:
        return set()
    if plan.embedders:
        return {role for role, name in plan.embedders.items() if name != judge}
    known = [one for one in records.judged.values() if one.metric == metric and one.reply in records.replies]
    mine = {records.replies[one.reply].role for one in known if one.model == judge}
    return {records.replies[one.reply].role for one in known} - mine


def value_of(entry: Entry, found: Found) -> float | None:
    """The value of a reply; none where it is missing."""
    return found[entry.key].value if entry.key in found else None


def by_unit(plan: Plan, entries: Sequence[Entry], found: Found) -> dict[str, list[float]]:
    """The values by role, or of a single role by question or talk: what is drawn as a whole."""
    values: dict[str, list[float]] = {}
    for one in entries:
        if (value := value_of(one, found)) is not None:
            values.setdefault(unit_of(plan, one), []).append(value)
    return values


def unit_of(plan: Plan, entry: Entry) -> str:
    """What a reply counts to in intervals and tests."""
    return entry.role if len(plan.roles) > 1 else plan.together(entry)


def unit(plan: Plan) -> str:
    """What intervals and tests are over."""
    return "role" if len(plan.roles) > 1 else "talk" if plan.talks else "question"
