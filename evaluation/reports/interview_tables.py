"""The numbers of interviews: the type and the scores of each role, as each method plays it, beside what is right."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from statistics import pstdev
from typing import NamedTuple

from dramaturg.evaluation.comparison.interviews import Dimension, Interview, Inventory, held
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.interviews.scores import UNKNOWN
from dramaturg.evaluation.interviews.state import InterviewOutput
from dramaturg.evaluation.reports.differences import together
from dramaturg.evaluation.reports.label_agreement import Agreement, Values, agreements_of, truths_of
from dramaturg.evaluation.reports.label_differences import Apart, differences_of


class Spread(NamedTuple):
    """A score with its spread: of the batches within an interview, and of seeds; None where there is none."""

    score: float | None
    batches: float | None
    seeds: float | None


class Portrait(NamedTuple):
    """A role as one method plays it, by one inventory: the mean over its seeds."""

    inventory: str
    """As it was asked for, here and in all tables."""
    contestant: str
    role: str
    interviews: tuple[Interview, ...]
    """All that were wanted."""
    seeds: tuple[int, ...]
    """Those whose interview is over."""
    type: str
    scores: Mapping[str, Spread]
    missing: int
    wanted: int
    """How many judgements of items there should be, in the interviews that are over."""
    flags: Mapping[str, int]
    calls: int
    valid: bool
    """Whether all interviews are over, and none lacks more than an interview may."""
    reasons: tuple[str, ...]
    """Why interviews are not valid."""


class InterviewTables(NamedTuple):
    """All numbers of the interviews of a run."""

    portraits: tuple[Portrait, ...]
    agreements: tuple[Agreement, ...]
    differences: tuple[Apart, ...]
    valid: bool
    """Whether all interviews are; also where there are none."""


def interview_tables(plan: Plan) -> InterviewTables:
    """Make the tables of the interviews of a run, from its folder alone.

    Raises:
        ValueError: the file of an interview is damaged.
    """
    portraits = tuple(portraits_of(plan))
    agreements: list[Agreement] = []
    apart: list[Apart] = []
    for inventory in plan.inventories:
        scores = {name: scores_of(portraits, inventory.metric, name) for name in plan.methods}
        for truth in truths_of(inventory, plan.labels.get(inventory.metric, {})):
            agreements += [one for name, found in scores.items() for one in agreements_of(truth, name, found)]
            apart += differences_of(truth, scores)
    return InterviewTables(portraits, tuple(agreements), tuple(together(apart)), all(one.valid for one in portraits))


def portraits_of(plan: Plan) -> Iterator[Portrait]:
    """Every role as every method plays it, inventory by inventory."""
    wanted: dict[tuple[str, str, str], list[Interview]] = {}
    for one in plan.interviews:
        wanted.setdefault((one.inventory, one.contestant, one.role), []).append(one)
    for inventory in plan.inventories:
        for name in plan.methods:
            for role in plan.roles:
                of = wanted[inventory.metric, name, role]
                yield portrait(inventory, of, [held(plan.folder, one) for one in of])


def portrait(inventory: Inventory, wanted: Sequence[Interview], outputs: Sequence[InterviewOutput | None]) -> Portrait:
    """A role as one method plays it.

    Args:
        inventory: by which.
        wanted: one interview a seed.
        outputs: of each, or none where it is not over.
    """
    over = [one for one in outputs if one]
    scores = {one.name: spread(one.name, over) for one in inventory.dimensions}
    flags = [flag for one in over for record in one["records"] for flag in record["flags"]]
    reasons = tuple(one["invalid_because"] for one in over if not one["valid"])
    return Portrait(
        inventory=inventory.metric,
        contestant=wanted[0].contestant,
        role=wanted[0].role,
        interviews=tuple(wanted),
        seeds=tuple(one.seed for one, output in zip(wanted, outputs, strict=True) if output),
        type="".join(letter(one, scores[one.name].score, inventory.midpoint) for one in inventory.dimensions),
        scores=scores,
        missing=sum(one["counts"]["missing"] for one in over),
        wanted=sum(one["counts"]["wanted"] for one in over),
        flags={flag: flags.count(flag) for flag in sorted({*flags})},
        calls=sum(used["calls"] for one in over for used in one["usage"].values()),
        valid=len(over) == len(wanted) and not reasons,
        reasons=reasons,
    )


def spread(dimension: str, over: Iterable[InterviewOutput]) -> Spread:
    """The score of a dimension over the seeds that have one."""
    found = [one["scores"][dimension] for one in over]
    scores = [one["score"] for one in found if one["score"] is not None]
    batches = [std for one in found for std in one["intra_std"] if std is not None]
    return Spread(mean(scores), mean(batches), pstdev(scores) if len(scores) > 1 else None)


def mean(values: Sequence[float]) -> float | None:
    """The mean; none of nothing."""
    return fsum(values) / len(values) if values else None


def letter(dimension: Dimension, score: float | None, midpoint: float) -> str:
    """The letter of a score; at the midpoint the low one, as in InCharacter."""
    if score is None:
        return UNKNOWN
    return dimension.high if score > midpoint else dimension.low


def scores_of(portraits: Iterable[Portrait], inventory: str, contestant: str) -> Values:
    """The scores of a method that are there, by role and dimension."""
    return {
        one.role: {name: of.score for name, of in one.scores.items() if of.score is not None}
        for one in portraits
        if (one.inventory, one.contestant) == (inventory, contestant)
    }
