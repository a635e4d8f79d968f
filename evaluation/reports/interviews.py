"""Interviews in a report: types and scores of each role, their agreement with labels, and all that was said."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from itertools import product
from math import fsum
from statistics import pstdev
from typing import NamedTuple

from dramaturg.evaluation.comparison.interviews import FOLDER, Interview, Inventory, Poles, held
from dramaturg.evaluation.comparison.plan import Plan
from dramaturg.evaluation.interviews.scores import UNKNOWN
from dramaturg.evaluation.interviews.state import InterviewOutput, InterviewRecord
from dramaturg.evaluation.reports.document import Cell, Cells, Drawn, Fold, Note, Part, table
from dramaturg.evaluation.reports.labels import (
    TYPES,
    Apart,
    LabelAgreement,
    RoleScores,
    agreements_of,
    differences_of,
    truths_of,
)
from dramaturg.evaluation.reports.tables import MINUS, bounds, comparison_cells, signed, smallest_seen, together


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
    """Why interviews are incomplete."""


class InterviewTables(NamedTuple):
    """All numbers of the interviews of a run."""

    portraits: tuple[Portrait, ...]
    agreements: tuple[LabelAgreement, ...]
    differences: tuple[Apart, ...]
    valid: bool
    """Whether all interviews are; also where there are none."""


def interview_tables(plan: Plan) -> InterviewTables:
    """Make the tables of the interviews of a run, from its folder alone."""
    wanted: dict[tuple[str, str, str], list[Interview]] = {}
    for one in plan.interviews:
        wanted.setdefault((one.inventory, one.contestant, one.role), []).append(one)
    portraits = tuple(
        portrait(inventory, of, [held(plan.folder, one) for one in of])
        for inventory in plan.inventories
        for name, role in product(plan.methods, plan.roles)
        if (of := wanted[inventory.metric, name, role])
    )
    agreements: list[LabelAgreement] = []
    apart: list[Apart] = []
    for inventory in plan.inventories:
        scores: dict[str, RoleScores] = {
            name: {
                one.role: {dimension: of.score for dimension, of in one.scores.items() if of.score is not None}
                for one in portraits
                if (one.inventory, one.contestant) == (inventory.metric, name)
            }
            for name in plan.methods
        }
        for truth in truths_of(inventory, plan.labels.get(inventory.metric, {})):
            agreements += [one for name, found in scores.items() for one in agreements_of(truth, name, found)]
            apart += differences_of(truth, scores, plan.compared_with)
    return InterviewTables(portraits, tuple(agreements), tuple(together(apart)), all(one.valid for one in portraits))


def portrait(inventory: Inventory, wanted: Sequence[Interview], outputs: Sequence[InterviewOutput | None]) -> Portrait:
    """A role as one method plays it, from the interviews of all seeds; an output is None where it is not over."""
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


def letter(dimension: Poles, score: float | None, midpoint: float) -> str:
    """The letter of a score; at the midpoint the low one, as in InCharacter."""
    if score is None:
        return UNKNOWN
    return dimension.high if score > midpoint else dimension.low


def interview_parts(plan: Plan) -> Iterator[Part]:
    """The part of a report about interviews; empty without interviews."""
    if not plan.interviews:
        return
    found = interview_tables(plan)
    yield "## Interviews"
    yield from invalid_lines(plan, found)
    yield (
        f"Each item of an inventory is asked in a conversation of its own, and {plan.judges[0]}"
        f"{', the first judge,' if plan.judges[1:] else ''} rates the answers of a dimension in batches (InCharacter, "
        "expert rating). A score is the mean over batches, and over seeds where there are several. Behind ± stands the "
        "spread of the batches within an interview, in brackets that of the seeds (standard deviations). Nothing "
        "stands in for what is missing: a dimension without a score has the letter ?."
    )
    for inventory in plan.inventories:
        yield from inventory_parts(plan, inventory, found)
    yield from difference_parts(plan, found)
    said = [Drawn(partial(interview_section, plan, one)) for one in plan.interviews]
    yield Fold("What was said in interviews", said)


def invalid_lines(plan: Plan, found: InterviewTables) -> Iterator[Part]:
    """Whether the interviews count, and why not."""
    if not found.valid:
        waiting = sum(len(one.interviews) - len(one.seeds) for one in found.portraits)
        lacking = sum(len(one.reasons) for one in found.portraits)
        yield Note(
            f"**This run is incomplete**: of {len(plan.interviews)} interviews {lacking} lack too much, and {waiting} "
            "are not over. The same command goes on with the latter; what the former lack stays missing until their "
            f"files and checkpoints in {FOLDER}/ are removed.",
            warns=True,
        )
    for one in found.portraits:
        yield from (f"{one.contestant}, {one.role}, {name_of(plan, one.inventory)}: {why}" for why in one.reasons)


def inventory_parts(plan: Plan, inventory: Inventory, found: InterviewTables) -> Iterator[Part]:
    """An inventory: what it is, its table of roles, and how far they agree with labels."""
    poles = "; ".join(f"{one.name} ({one.high} above the middle, else {one.low})" for one in inventory.dimensions)
    yield (
        f"### {inventory.name}\n\nFrom {inventory.low:g} to {inventory.high:g}: {poles}. {inventory.items} items, "
        f"{inventory.judgements} batches. Source: {inventory.source} ({inventory.licence})."
    )
    of = [one for one in found.portraits if one.inventory == inventory.metric]
    names = [one.name for one in inventory.dimensions]
    heads = ("method", "role", "seeds", "type", *names, "missing", "flags", "calls", "complete")
    brief = [one for one in heads if one not in ("flags", "calls")]
    yield table(heads, *map(portrait_cells, of), brief=brief, title=inventory.name)
    yield from agreement_parts(plan, inventory, [one for one in found.agreements if one.inventory == inventory.metric])


def portrait_cells(one: Portrait) -> Cells:
    """A role in the table; its seeds lead to what was said."""
    seeds = [
        Cell(f"{of.seed}", leads=f"i-{of.key}", file=f"{FOLDER}/{of.file}")
        if of.seed in one.seeds
        else Cell(f"{of.seed}: not over")
        for of in one.interviews
    ]
    yield from (one.contestant, one.role, seeds, one.type)
    yield from map(score_text, one.scores.values())
    yield f"{one.missing} of {one.wanted}"
    yield ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in one.flags.items()) or "none"
    yield from (f"{one.calls:,}", "yes" if one.valid else "no")


def score_text(one: Spread) -> str:
    """A score with its spread, as far as there is one."""
    if one.score is None:
        return "none"
    batches = f" ± {one.batches:.2f}" if one.batches is not None else ""
    return f"{one.score:.2f}{batches}{f' (seeds {one.seeds:.2f})' if one.seeds is not None else ''}"


def agreement_parts(plan: Plan, inventory: Inventory, found: Sequence[LabelAgreement]) -> Iterator[Part]:
    """How far the roles agree with labels; nothing where there are none."""
    known = plan.labels.get(inventory.metric)
    if not known:
        return
    yield f"#### Agreement with labels, {inventory.name}"
    heads = ("labels", "method", "measure", "value", "95 % interval", "right", "floor", "ceiling", "left out")
    if found:
        yield table(heads, *map(agreement_cells, found), brief=heads[:-1], title=inventory.name)
    else:
        yield "Nothing can be compared yet."
    yield " ".join(label_notes(plan, inventory, found))


def agreement_cells(one: LabelAgreement) -> Iterator[str]:
    """An agreement in the table."""
    yield from (one.labels, one.contestant, one.measure, signed(one.value))
    yield bounds(one.interval) if one.interval else "none"
    yield f"{one.hits} of {one.n}" if one.hits is not None else f"n = {one.n}"
    yield ", ".join(f"{name} {signed(value)}" for name, value in one.floors.items())
    yield "" if one.ceiling is None else signed(one.ceiling)
    yield str(one.left_out)


def label_notes(plan: Plan, inventory: Inventory, found: Sequence[LabelAgreement]) -> Iterator[str]:
    """What has to be known of the agreement with labels."""
    known = plan.labels[inventory.metric]
    for truth in truths_of(inventory, known):
        if truth.name == TYPES:
            yield "Types are held against letters (AMADEUS, Tables 4 and 5); F1 is the mean of the positions' macro-F1."
        else:
            yield (
                f"Scores are held against those of {truth.name} (InCharacter); errors are shares of the scale"
                f"{'; the ceiling is how far a second group of annotators agrees' if truth.annotators else ''}."
            )
    yield (
        "The floor is what one gets without knowing the role, and the best of its kind on these very labels: the most "
        "frequent letters, the best constant, the middle of the scale; of one labelled role the first two are its own "
        "labels, and left out. An X in the labels does not count."
    )
    if any(one.left_out for one in found):
        yield (
            "Left out are labelled dimensions without a score: they count neither as hits nor as misses, and a role "
            "that has one stands in no number of whole types."
        )
    if unknown := [role for role in plan.roles if role not in known]:
        yield f"There are no labels for {', '.join(unknown)}."
    if reasons := sorted({one.interval.reason for one in found if one.interval and one.interval.reason}):
        yield f"Intervals: {'; '.join(reasons)}."


def difference_parts(plan: Plan, found: InterviewTables) -> Iterator[Part]:
    """Each method against the baseline, by hits."""
    if not found.differences:
        return
    names = ("inventory", "labels", "difference of hits", "mean", "95 % interval", "pairs", "p", "p (Holm)", "test")
    rows = (
        (
            name_of(plan, one.inventory),
            one.labels,
            f"{one.first} {MINUS} {one.second}",
            *comparison_cells(one.interval, one.p, one.corrected, one.test),
            smallest_seen(one.detectable),
        )
        for one in found.differences
    )
    yield "### Differences of hits"
    yield table((*names, "smallest difference to be seen"), *rows)
    yield (
        f"Holm's correction is over these {len(found.differences)} tests; a p (Holm) below 0.05 is marked by *. "
        "The dimensions of a role go together: the test is over roles, and of one role it says nothing of others."
    )


def name_of(plan: Plan, metric: str) -> str:
    """The name of an inventory: a path tells a reader less."""
    return next(one.name for one in plan.inventories if one.metric == metric)


def interview_section(plan: Plan, one: Interview) -> str:
    """An interview with its items, what was replied, and how that was judged."""
    output = held(plan.folder, one)
    found = output["type"] if output else "not over"
    title = f"{name_of(plan, one.inventory)}, {one.contestant}, {one.role}, seed {one.seed}: {found}"
    inner = "".join(said_in(output)) if output else "<p class=dim>Not over yet.</p>"
    return f'<details id="i-{one.key}"><summary>{escape(title)}</summary>{inner}</details>'


def said_in(output: InterviewOutput) -> Iterator[str]:
    """All that was said in an interview, dimension by dimension."""
    if output["invalid_because"]:
        yield f"<p class=warning>Incomplete: {escape(output['invalid_because'])}</p>"
    for name, score in output["scores"].items():
        value = "none" if score["score"] is None else f"{score['score']:.2f}"
        yield f"<h4>{escape(name)}: {value}, {escape(score['letter'])}</h4>"
        for one in output["judgements"]:
            if one["dimension"] == name:
                given = f"missing ({one['error']})" if one["result"] is None else str(one["result"])
                items = escape(", ".join(one["items"]))
                yield f"<p>Items {items}: {escape(given)}. {escape(one['analysis'])}</p>"
        yield from (record_part(one) for one in output["records"] if one["dimension"] == name)


def record_part(one: InterviewRecord) -> str:
    """An item, what was asked and replied, and what was wrong with it."""
    if one["error"]:
        reply = f"<p class=warning>No reply: {escape(one['error'])}</p>"
    else:
        reply = f"<blockquote>{escape(one['reply'])}</blockquote>"
    flags = ", ".join(flag.replace("_", " ") for flag in one["flags"])
    note = f"<p class=dim>Flagged: {escape(flags)}. Judged as: {escape(one['anonymous'])}</p>" if flags else ""
    return f"<p>{escape(one['item'])}: {escape(one['question'])}</p>{reply}{note}"
