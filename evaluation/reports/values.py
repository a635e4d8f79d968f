"""The values that numbers are made of: what one judge said by one metric, by reply, role and question."""

from collections.abc import Iterable, Iterator, Mapping

from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, Records

SEED = 0
"""Of what is drawn for intervals and tests."""
Found = Mapping[str, Judged]
"""What one judge said by one metric, by the keys of the replies."""


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
