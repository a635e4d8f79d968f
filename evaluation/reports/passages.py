"""What methods did with a role's passages, from the evidence of their replies (AMADEUS Table 3 and Figure 1)."""

from collections.abc import Iterator
from itertools import groupby
from statistics import fmean
from typing import NamedTuple

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.metrics.intervals import Interval, cluster_interval
from dramaturg.evaluation.reports.chunk_usage import OVER_ROLES, recorded_sizes, uses
from dramaturg.evaluation.reports.tables import table, told


class PassageUse(NamedTuple):
    """How one method used passages, over roles."""

    contestant: str
    replies: int
    usage: Interval | None
    """The share of a role's passages that was given for a question or more; None where nobody counted them."""
    gini: float | None
    """The mean over roles of how unevenly they are given: 0 all as often, near 1 always the same."""
    fell_back: Interval | None
    """The share of questions for which guided selection chose nothing; None of methods that do not select."""


def passage_use(plan: Plan, records: Records) -> Iterator[PassageUse]:
    """Sum up the passages of each method whose replies rest on some, over roles."""
    by_role = [one for one in uses(plan, records, dict(recorded_sizes(records))) if one.role != OVER_ROLES and one.used]
    for name, of in groupby(by_role, key=lambda one: one.contestant):
        found = list(of)
        rates = {one.role: [one.usage] for one in found if one.usage is not None}
        ginis = [one.gini for one in found if one.gini is not None]
        failed = {
            one.role: [1.0] * (one.failed or 0) + [0.0] * (one.selected - (one.failed or 0))
            for one in found
            if one.selected
        }
        yield PassageUse(
            name,
            sum(one.replies for one in found),
            cluster_interval(rates) if rates else None,
            fmean(ginis) if ginis else None,
            cluster_interval(failed) if failed else None,
        )


def passage_lines(plan: Plan, records: Records) -> Iterator[str]:
    """The table in Markdown; nothing where no method looks passages up."""
    if found := list(passage_use(plan, records)):
        yield "## Passages"
        yield (
            "Of a role's passages, which share was given for a question or more (AMADEUS, Table 3: chunk usage), how "
            "unevenly (Gini), and for how many questions guided selection chose none and fell back. Over roles; more "
            "questions use more passages, so that numbers compare at the same questions alone."
        )
        rows = (
            (
                one.contestant,
                str(one.replies),
                told(one.usage),
                "" if one.gini is None else f"{one.gini:.3f}",
                told(one.fell_back),
            )
            for one in found
        )
        yield table(("method", "replies", "usage", "Gini", "nothing selected"), *rows)
