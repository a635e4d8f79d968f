"""Scores of an interview, made of its records and judgements without a model, as often as one likes (InCharacter)."""

from collections.abc import Sequence
from math import fsum
from statistics import pstdev
from typing import Any

from dramaturg.evaluation.instruments.instrument import Instrument, RefusalRule, Tie, dimension_scores, type_letters
from dramaturg.evaluation.interviews.state import (
    Counts,
    DimensionResult,
    InterviewContext,
    InterviewRecord,
    InterviewResult,
    Judgement,
    Judging,
    instrument_of,
)

MOST_MISSING = 0.02
"""The part of the judgements that may be missing in an interview that is valid."""
UNKNOWN = "?"
DIGITS = 9


def scored(
    instrument: Instrument,
    records: Sequence[InterviewRecord],
    judgements: Sequence[Judgement],
    *,
    repeats: int = 1,
    judging: Judging = "expert_rating",
    tie: Tie = "low",
    refusals: RefusalRule = "leave_out",
) -> InterviewResult:
    """Score an interview.

    A dimension's score is the mean of its repeats, and a repeat's that of its batches, each counted the same whatever
    its size, as in InCharacter. Where items are scored by keys, a batch is an item. Nothing missing is given a value:
    more than 2 % missing makes the interview incomplete, and its scores are then for looking at only.

    Args:
        instrument: that was asked.
        records: all items that were asked.
        judgements: of their batches.
        repeats: how often each item was to be judged.
        judging: how.
        tie: the pole of a score exactly at the midpoint.
        refusals: with option_conversion, what becomes of a refusal to answer.

    Raises:
        ValueError: a judgement is of no item or dimension of the instrument, off its scale, or of a further repeat.
    """
    if (most := max((one["repeat"] + 1 for one in judgements), default=0)) > repeats:
        raise ValueError(f"There are judgements of {most} repeats: score them with repeats={most}.")
    found = {
        one.name: _score(instrument, one.name, judgements, repeats, judging, refusals) for one in instrument.dimensions
    }
    letters = type_letters(instrument, {name: one["score"] for name, one in found.items()}, tie=tie)
    scores: dict[str, DimensionResult] = {
        name: {**one, "letter": letters[name] or UNKNOWN} for name, one in found.items()
    }
    counts = counted(records, judgements, repeats)
    return InterviewResult(
        scores=scores,
        type="".join(one["letter"] for one in scores.values()),
        counts=counts,
        valid=not (reason := invalid_because(counts)),
        invalid_because=reason,
    )


async def result_of(
    context: InterviewContext, records: Sequence[InterviewRecord], judgements: Sequence[Judgement]
) -> InterviewResult:
    """Score an interview as its context says; see `scored`."""
    how: Any = {name: getattr(context, name) for name in ("repeats", "judging", "tie", "refusals")}
    return scored(await instrument_of(context), records, judgements, **how)


def counted(records: Sequence[InterviewRecord], judgements: Sequence[Judgement], repeats: int) -> Counts:
    """Count what was asked, and what is missing."""
    flags = [flag for one in records for flag in one["flags"]]
    wanted, there = len(records) * repeats, [one for one in judgements if one["result"] is not None]
    return Counts(
        items=len(records),
        repeats=repeats,
        wanted=wanted,
        missing=wanted - sum(len(one["items"]) for one in there),
        no_reply=flags.count("no_reply"),
        empty=flags.count("empty"),
        judgements=len(judgements),
        judgements_missing=len(judgements) - len(there),
        refused=sum(one["result"] == "x" for one in judgements),
        flags={flag: flags.count(flag) for flag in sorted(set(flags))},
    )


def invalid_because(counts: Counts) -> str:
    """Say why the scores of an interview must not be used; empty where they may be."""
    missing, wanted = counts["missing"], counts["wanted"]
    if missing <= MOST_MISSING * wanted and wanted:
        return ""
    return (
        f"{missing} of {wanted} judgements of items are missing, more than {MOST_MISSING:.0%}: "
        f"{counts['no_reply']} replies did not come, {counts['empty']} were empty, and the judge gave no usable answer "
        f"to {counts['judgements_missing']} of {counts['judgements']} questions."
    )


def value_of(
    instrument: Instrument, judgement: Judgement, judging: Judging, refusals: RefusalRule = "leave_out"
) -> float | None:
    """Return what a judgement contributes to the score of its dimension; None if it contributes nothing."""
    result = judgement["result"]
    if judging != "expert_rating":
        choice = dict.fromkeys(judgement["items"], result)
        return dimension_scores(instrument, choice, missing=refusals)[judgement["dimension"]].score
    if result == "x":
        raise ValueError("An expert rating is a number: these judgements were made by option_conversion.")
    return result


def _score(
    instrument: Instrument,
    dimension: str,
    judgements: Sequence[Judgement],
    repeats: int,
    judging: Judging,
    refusals: RefusalRule,
) -> DimensionResult:
    batches: list[list[float]] = [[] for _ in range(repeats)]
    for one in judgements:
        if one["dimension"] == dimension and (value := value_of(instrument, one, judging, refusals)) is not None:
            batches[one["repeat"]].append(value)
    means = [_mean(values) for values in batches]
    known = [mean for mean in means if mean is not None]
    return DimensionResult(
        score=_mean(known),
        letter=UNKNOWN,
        repeats=means,
        batches=batches,
        intra_std=[pstdev(values) if len(values) > 1 else None for values in batches],
        inter_std=pstdev(known) if len(known) > 1 else None,
    )


def _mean(values: Sequence[float]) -> float | None:
    """The mean without rounding errors: at the midpoint they would decide a letter, and not `tie`."""
    return round(fsum(values) / len(values), DIGITS) if values else None
