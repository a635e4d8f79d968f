"""How a role's passages are used in an evaluation, and how often selection found none (AMADEUS, Table 3, Figure 1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.comparison.records import Records, Reply
from dramaturg.evaluation.metrics.chunks import chunk_duplication, chunk_usage
from dramaturg.evaluation.metrics.intervals import Interval, cluster_interval
from dramaturg.evaluation.reports.document import Cells, Part, table
from dramaturg.evaluation.reports.tables import bounds, signed

OVER_ROLES = "over roles"
Sizes = Mapping[tuple[str, str], int]
"""How many passages a role has, by contestant and role."""


class Use(NamedTuple):
    """The passages of one role by one method, or the mean over roles; what is not known is None."""

    contestant: str
    role: str
    replies: int
    used: int | None
    """Passages that one reply or more was shown."""
    passages: int | None
    usage: float | None
    """The share of all passages that are used."""
    by_chance: float | None
    """The same if each reply drew as many at random."""
    gini: float | None
    entropy: float | None
    selected: int | None
    """Replies whose passages were judged one by one; None where the method does not do so."""
    failed: int | None
    """Of these, those for which nothing was selected, so that the nearest passages took the place."""
    failure: float | None
    unjudged: int | None
    """Of these, those in which a passage had no verdict: that nothing was selected says less then."""


def uses(plan: Plan, records: Records, sizes: Sizes) -> list[Use]:
    """Return the use of passages by each method that shows any, role by role, and then over roles.

    Args:
        plan: of the run.
        records: of the run.
        sizes: how many passages there are; where that is not known, or less than were seen, there is no share.
    """
    found: list[Use] = []
    for contestant in plan.methods:
        of_method = []
        for role in plan.roles:
            keys = (one.key for one in plan.of(contestant) if one.role == role)
            replies = [records.replies[key] for key in dict.fromkeys(keys) if key in records.replies]
            shown = [(one, chunks) for one in replies if (chunks := shown_to(one)) is not None]
            if shown:
                of_method.append(use_of(contestant, role, shown, sizes.get((contestant, role))))
        found += [*of_method, over_roles(of_method)] if len(of_method) > 1 else of_method
    return found


def shown_to(reply: Reply) -> list[str] | None:
    """The passages that a reply was made from; None where its method shows no such evidence, or it did not come."""
    evidence: Mapping[str, Any] = reply.evidence
    selection = evidence.get("selection")
    selected = selection.get("selected") if isinstance(selection, Mapping) else None
    for chunks in (selected, evidence.get("retrieved"), evidence.get("knowledge")):
        if isinstance(chunks, list) and all(isinstance(one, Mapping) and "passage" in one for one in chunks):
            return [str(one["passage"]) for one in chunks]
    return None


def use_of(contestant: str, role: str, shown: Sequence[tuple[Reply, list[str]]], passages: int | None) -> Use:
    """The use of one role's passages by one method."""
    sets = [chunks for _, chunks in shown]
    used = len({chunk for one in sets for chunk in one})
    whole = passages if passages and passages >= used else None
    even = chunk_duplication(sets, whole) if whole else None
    judged = [one for one, _ in shown if isinstance(one.evidence.get("selection"), Mapping)]
    failed = sum(one.evidence["selection"].get("fallback") is not None for one in judged)
    return Use(
        contestant=contestant,
        role=role,
        replies=len(shown),
        used=used,
        passages=whole,
        usage=chunk_usage(sets, whole).rate if whole else None,
        by_chance=by_chance(map(len, sets), whole) if whole else None,
        gini=even.gini if even else None,
        entropy=even.entropy if even else None,
        selected=len(judged) if judged else None,
        failed=failed if judged else None,
        failure=failed / len(judged) if judged else None,
        unjudged=sum("selection_error" in one.evidence for one in judged) if judged else None,
    )


def by_chance(sizes: Iterable[int], passages: int) -> float:
    """The share of passages that would be used if each question drew as many at random."""
    unused = 1.0
    for size in sizes:
        unused *= 1 - min(size, passages) / passages
    return 1 - unused


def over_roles(found: Sequence[Use]) -> Use:
    """The mean of roles' shares, each counted alike as in AMADEUS; failures are counted over all replies."""

    def mean(name: str) -> float | None:
        values = [value for one in found if (value := getattr(one, name)) is not None]
        return fmean(values) if len(values) == len(found) else None

    def count(name: str) -> int | None:
        values = [value for one in found if (value := getattr(one, name)) is not None]
        return sum(values) if values else None

    selected, failed = count("selected"), count("failed")
    return Use(
        contestant=found[0].contestant,
        role=OVER_ROLES,
        replies=sum(one.replies for one in found),
        used=None,
        passages=None,
        **{name: mean(name) for name in ("usage", "by_chance", "gini", "entropy")},
        selected=selected,
        failed=failed,
        failure=failed / selected if selected and failed is not None else None,
        unjudged=count("unjudged"),
    )


def recorded_sizes(records: Records) -> Iterator[tuple[tuple[str, str], int]]:
    """How many passages the run found when it indexed; runs of earlier versions do not say."""
    for one in records.indexed.values():
        if one.passages is not None:
            yield (one.contestant, one.role), one.passages


def passage_lines(plan: Plan, records: Records) -> Iterator[Part]:
    """The section; nothing where no method looks passages up."""
    by_role = [one for one in uses(plan, records, dict(recorded_sizes(records))) if one.role != OVER_ROLES and one.used]
    if by_role:
        yield "## Passages"
        yield (
            "Of a role's passages, which share was given for a question or more (AMADEUS, Table 3: chunk usage), how "
            "unevenly (Gini), and for how many questions guided selection chose none and fell back. Over roles; more "
            "questions use more passages, so that numbers compare at the same questions alone."
        )
        rows = (passage_cells([*of]) for _, of in groupby(by_role, key=lambda one: one.contestant))
        yield table(("method", "replies", "usage", "Gini", "nothing selected"), *rows)


def passage_cells(found: Sequence[Use]) -> Cells:
    """How one method used passages, over roles; empty where nobody counted them, or it does not select."""
    rates = {one.role: [one.usage] for one in found if one.usage is not None}
    ginis = [one.gini for one in found if one.gini is not None]
    chosen = [(one.role, one.selected, one.failed or 0) for one in found if one.selected]
    failed = {role: [1.0] * gone + [0.0] * (number - gone) for role, number, gone in chosen}
    yield from (found[0].contestant, str(sum(one.replies for one in found)))
    yield told(cluster_interval(rates) if rates else None)
    yield f"{fmean(ginis):.3f}" if ginis else ""
    yield told(cluster_interval(failed) if failed else None)


def told(interval: Interval | None) -> str:
    """A share with its interval."""
    return "" if interval is None else f"{signed(interval.mean)} {bounds(interval)}"
