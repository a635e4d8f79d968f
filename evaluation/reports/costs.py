"""What the replies of an evaluation have cost."""

from typing import NamedTuple

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records


class Cost(NamedTuple):
    """What the replies of a contestant have cost."""

    contestant: str
    replies: int
    failed: int
    calls: int
    tokens: int
    seconds: float


def costs(plan: Plan, records: Records) -> list[Cost]:
    """The cost of each method, judges left out; seconds are by the clock on the wall. None where nobody is asked."""
    found = []
    for name in plan.methods if plan.entries else ():
        replies = [records.replies[one.key] for one in plan.of(name) if one.key in records.replies]
        found.append(
            Cost(
                name,
                len(replies),
                sum(bool(one.error) for one in replies),
                sum(one.calls for one in replies),
                sum(one.tokens for one in replies),
                round(sum(one.seconds for one in replies), 1),
            )
        )
    return found
