"""ID-RAG over a long day: Riverbend with one part of the method changed at a time, runs paired by their seeds.

The paper compares three conditions over seven hours (section 5). It leaves open which part of the method makes the
difference, and whether it lasts when the day is longer and the chronicle larger.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator

from dramaturg.cli.simulation.run_log import Cost, measured_run, read_run
from dramaturg.evaluation.metrics.intervals import POSITIVE, Interval, cluster_interval, paired_interval
from dramaturg.evaluation.metrics.paired_tests import FEWEST_FLIPPED, LEVEL, MOST_EXACT, holm, least_p
from dramaturg.models.clients import name_of
from dramaturg.models.embeddings import embedder_name
from dramaturg.nodes.asking import after
from dramaturg.nodes.run import Name
from dramaturg.stores.documents.forms import CHRONICLE, Chronicle
from dramaturg.stores.files import canonical, write_bytes
from dramaturg.stores.library_folder import Library
from dramaturg.workflows.riverbend_agents import RiverbendContext, most_questions
from studies.filler import MOST_FILLER, grown
from studies.simulation.contrasts import Contrast, contrasts
from studies.simulation.curves import SCALES, Reading
from studies.simulation.measures import all_readings, known_scores, take_all, unknown
from studies.simulation.quiz import quiz_of
from studies.simulation.tasks import QUESTIONS, Measure, MeasureSettings, ScoreFile, planned
from studies.study import (
    DEADLINE,
    INDEX,
    Bench,
    Cell,
    Play,
    Study,
    StudyCost,
    StudyFindings,
    StudyTable,
    copy_roles,
)

AGENTS = ("alice", "bob", "charlie", "dorothy", "ellen")
COMPLETE = "complete"
"""With all parts; the others are compared with it."""
PARTS: Mapping[str, Any] = {
    "condition": "id-rag",
    "identity_retrieval": "strategy",
    "identity_rule": "paper",
    "identity_triples": 8,
    "hops": 2,
    "update": True,
    "planning": True,
}
CONDITIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    COMPLETE: ("all parts: query by the paper's rule, 8 triples, 2 hops, update, plan", {}),
    "hops-1": ("what is one hop away is added, and no more", {"hops": 1}),
    "hops-0": ("no neighbours are added", {"hops": 0}),
    "triples-4": ("4 triples are wanted", {"identity_triples": 4}),
    "released-rule": ("the search of the released code", {"identity_rule": "released"}),
    "by-similarity": ("no query: the triples most similar to what is perceived", {"identity_retrieval": "embedding"}),
    "no-retrieval": (
        "no chronicle: the identity is inferred from memories, so nothing is updated",
        {"condition": "baseline"},
    ),
    "no-update": ("deeds change no identity", {"update": False}),
    "no-plan": ("agents do not plan", {"planning": False}),
    "whole-chronicle": ("nothing is looked up: the whole chronicle is shown", {"condition": "full"}),
}
"""Each with what is different in it, and the settings that make it so."""
UNASKED = "whole-chronicle"
"""Made only where it is named: a chronicle of 2,000 triples has more than 100,000 characters, in each prompt."""
TESTED: tuple[Measure, ...] = ("recall", "recall_with_retrieval", "alignment")
"""Measures whose differences are tested. Costs differ by the making of a condition."""
COSTS = ("calls", "tokens", "seconds")
"""An hour; the seconds of all hours together are the paper's time to convergence."""
NAMES = {"recall_with_retrieval": "recall, looked up anew"}


def _listed(given: Any) -> Any:
    return tuple(part.strip() for part in given.split(",")) if isinstance(given, str) else given


class RiverbendStudySettings(BaseModel):
    """How long, how often and under which conditions Riverbend is played."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hours: int = Field(default=14, ge=1, le=100, description="Hours that are played, from 9 o'clock on.")
    triples: int = Field(
        default=0, ge=0, le=MOST_FILLER, description="Triples about other matters that chronicles are grown by."
    )
    seeds: int = Field(
        default=FEWEST_FLIPPED, ge=1, le=100, description="Runs of each condition, paired by their seeds."
    )
    conditions: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        default=tuple(name for name in CONDITIONS if name != UNASKED),
        description="Which, with commas between; complete is always among them.",
    )
    measures: Annotated[tuple[Measure, ...], BeforeValidator(_listed)] = Field(
        default=("recall", "alignment"),
        min_length=1,
        description="recall, recall_with_retrieval and alignment, with commas between; costs need no question.",
    )
    judge: Literal[""] | Name = Field(
        default="", description="The chat model that judges deeds; empty: that of --model."
    )
    gate: bool = Field(default=False, description="Whether all conditions hold deeds against the identity.")

    @field_validator("conditions")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [one for one in names if one not in CONDITIONS]:
            raise ValueError(f"there is no condition {unknown[0]!r}; there are {', '.join(CONDITIONS)}")
        return tuple(name for name in CONDITIONS if name in (COMPLETE, *names))


class StudyRun(NamedTuple):
    """One run: under which condition, with which seed, how it is played, and where its log is."""

    condition: str
    context: RiverbendContext
    log: Path


class Observed(NamedTuple):
    """A value of a run by a measure; `reading.condition` is that of the study."""

    measure: str
    reading: Reading
    triples: int
    """By how many triples chronicles were grown."""


async def records(bench: Bench) -> list[Observed]:
    """Play all runs and take all measures; what was played or scored before is not asked for again."""
    own = settings_of(bench)
    runs, plain = await asyncio.to_thread(prepared, bench)
    play, told = player(bench), bench.told("riverbend, hours", len(runs) * own.hours)
    for one in runs:
        told.reach(told.done + hours_of(one.log))
        await play(one.context, one.log, lambda event: told.step() if event["kind"] == "cost" else None)
    shared = {name: getattr(runs[0].context, name) for name in ("chat_model", "embedding_model", "deadline")}
    # A lookup goes through the grown chronicle; a judge is shown the role's own triples.
    looking = MeasureSettings(library=runs[0].context.library, judge=own.judge, **shared)
    judging = looking.model_copy(update={"library": str(plain.root)})
    played = [measured_run(one.log) for one in runs]
    tasks = []
    for run in played:
        tasks += await planned(run, [one for one in own.measures if one != "alignment"], looking)
        tasks += await planned(run, [one for one in own.measures if one == "alignment"], judging)
    wanted, left = len(unknown(tasks, {})), len(unknown(tasks, known_scores(tasks)))
    scoring = bench.told("riverbend, scores", wanted)
    scores = await take_all(tasks, looking, after(wanted - left, scoring.reach))
    return observed(runs, all_readings(played, tasks, scores), own.triples)


def observed(runs: Iterable[StudyRun], readings: Mapping[str, Sequence[Reading]], triples: int) -> list[Observed]:
    """What was observed, under the conditions of the study: a log knows the paper's."""
    known = {str(one.log): one.condition for one in runs}
    return [
        Observed(measure, one._replace(condition=known[one.run]), triples)
        for measure, of in readings.items()
        for one in of
    ]


def settings_of(bench: Bench) -> RiverbendStudySettings:
    """What the study was told."""
    return RiverbendStudySettings.model_validate(dict(bench.settings))


def check(bench: Bench) -> None:
    """Refuse settings that there are not, and a bench that plays no simulations."""
    settings_of(bench)
    player(bench)


def player(bench: Bench) -> Play:
    """What plays simulations.

    Raises:
        ValueError: nothing does.
    """
    if bench.play is None:
        raise ValueError("Nothing plays simulations here: give the bench a `play`, as `python -m studies` does.")
    return bench.play


def prepared(bench: Bench) -> tuple[list[StudyRun], Library]:
    """Grow the chronicles, and return all runs, seed by seed, and the library of the roles as they were.

    A run's log is named by a digest of all that it rests on: under other settings, models or texts it is another run.
    """
    own = settings_of(bench)
    library = grown_library(bench, own.triples) if own.triples else bench.library
    folder = bench.folder / "riverbend"
    folder.mkdir(parents=True, exist_ok=True)
    models: list[JsonValue] = [name_of(bench.chat_model), embedder_name(bench.embedding_model, "en")]
    texts = hashlib.sha256()
    for role in AGENTS:
        for path, data in sorted(library.contents(role).items()):
            if not path.startswith(f"{INDEX}/"):
                texts.update(canonical([role, path, hashlib.sha256(data).hexdigest()]))
    runs = []
    for seed in range(own.seeds):
        for name in own.conditions:
            # A server that honours seeds gives the runs of a pair the same chance.
            told = {**PARTS, **CONDITIONS[name][1], "gate": own.gate, "steps": own.hours, "seed": seed}
            digest = hashlib.sha256(canonical([told, models, texts.hexdigest()])).hexdigest()[:12]
            context = RiverbendContext(
                library=str(library.root),
                chat_model=bench.chat_model,
                embedding_model=bench.embedding_model,
                deadline=DEADLINE,
                model_seed=seed,
                **told,
            )
            runs.append(StudyRun(name, context, folder / f"{name}-{seed}-{digest}.jsonl"))
    return runs, bench.library


def grown_library(bench: Bench, triples: int) -> Library:
    """Copy the agents once more, and strew other matters among the triples of those who have any."""
    wider = replace(bench, folder=bench.folder / "riverbend" / f"grown-{triples}", roles=AGENTS)
    copy_roles(wider, bench.library)
    for role in (wider.role(name) for name in AGENTS):
        chronicle = role.chronicle()
        if chronicle.triples:
            longer = Chronicle(triples=tuple(grown(chronicle.triples, triples)), sentences=chronicle.sentences)
            said = yaml.safe_dump(longer.model_dump(mode="json", exclude_defaults=True), allow_unicode=True)
            write_bytes(role.root / CHRONICLE, said.encode(), within=role.root)
    return wider.library


def hours_of(log: Path) -> int:
    """How many hours of a run were played to their end."""
    return max((one.step for one in read_run(log).of(Cost)), default=0) if log.exists() else 0


def cost(bench: Bench) -> StudyCost:
    """How many questions are left, and what so many runs can show at all."""
    own = settings_of(bench)
    runs, plain = prepared(bench)
    roles = [plain.role(one) for one in AGENTS]
    chronicled = sum(bool(one.chronicle().triples) for one in roles)
    quiz = sum(len(quiz_of(one)) for one in roles)
    played = {one.log: hours_of(one.log) for one in runs}
    asked = sum(sum(most_questions(one.context, after=played[one.log], chronicled=chronicled).values()) for one in runs)
    scores = {"alignment": chronicled, "recall": quiz, "recall_with_retrieval": quiz}
    measured = 0
    for one in runs:
        known = [score.measure for score in ScoreFile(one.log).read().values() if score.score is not None]
        # With nothing to look up, recall with retrieval is recall.
        same = one.context.condition != "id-rag"
        for measure in {"recall" if same and name == "recall_with_retrieval" else name for name in own.measures}:
            measured += max(scores[measure] * own.hours - known.count(measure), 0) * QUESTIONS[measure]
    tests = (len(own.conditions) - 1) * len(own.measures)
    least, needed = least_p(own.seeds), seeds_needed(tests)
    counts = {
        "runs": len(runs),
        "runs_over": sum(hours == own.hours for hours in played.values()),
        "questions_of_runs": asked,
        "questions_of_measures": measured,
        "questions": asked + measured,
        "tests": tests,
        "smallest_p": least if own.seeds >= FEWEST_FLIPPED else None,
        "smallest_p_corrected": min(1.0, least * tests) if own.seeds >= FEWEST_FLIPPED and tests else None,
        "seeds_needed": needed,
    }
    lines = [
        f"riverbend: {len(runs)} runs of {own.hours} hours, {counts['runs_over']} of them over. At most "
        f"{asked + measured:,} questions: {asked:,} in the runs, {measured:,} for measures; re-asks left out."
    ]
    if tests and own.seeds < FEWEST_FLIPPED:
        lines.append(f"With {own.seeds} pairs there is no test: take {FEWEST_FLIPPED} seeds or more for one.")
    elif tests:
        lines.append(
            f"With {own.seeds} pairs the smallest p is {least:.3g}, after Holm's correction over {tests} tests "
            f"{min(1.0, least * tests):.3g}."
        )
    if needed and own.seeds < needed:
        lines.append(f"No difference can come below {LEVEL} before {needed} seeds, however large it is.")
    return StudyCost(counts, tuple(lines))


def seeds_needed(tests: int) -> int | None:
    """With how many pairs the smallest p comes below 0.05 after Holm's correction; None: without tests, or never."""
    enough = (n for n in range(FEWEST_FLIPPED, MOST_EXACT + 2) if least_p(n) * tests <= LEVEL)
    return next(enough, None) if tests else None


def findings(records: Sequence[Observed]) -> StudyFindings:
    """The means of each condition, its differences from the complete one, and how the day goes on."""
    by: dict[str, list[Reading]] = {}
    for one in records:
        by.setdefault(one.measure, []).append(one.reading)
    tested = [one for one in TESTED if one in by]
    found = {name: by[name] for name in (*tested, *COSTS)}
    there = {one.condition for one in by[COSTS[0]]}
    conditions = [name for name in CONDITIONS if name in there]
    compared = contrasts(found, [*(one for one in conditions if one != COMPLETE), COMPLETE])
    hours = max(one.step for one in by[COSTS[0]])
    missing = sum(one.missing for name in tested for one in by[name])
    tables = [
        StudyTable(
            "Means over runs; costs an hour",
            ("condition", *map(title, found)),
            tuple((name, *(over_runs(of, name, measure) for measure, of in found.items())) for name in conditions),
            "run",
        ),
        StudyTable(
            f"Each condition minus {COMPLETE}, paired by seed",
            ("measure", "condition", "difference", "p", "p (Holm)"),
            tuple(difference_rows(compared, tested)),
            "pair",
        ),
        StudyTable(
            "The second half of the day minus the first",
            ("condition", *map(title, tested)),
            tuple((name, *(later(by[measure], name, measure, hours) for measure in tested)) for name in conditions),
            "run",
        ),
    ]
    return StudyFindings(
        tuple(tables[: 3 if hours > 1 and tested else 2]),
        how=(
            f"Riverbend over {hours} hours; chronicles are grown by {records[0].triples} triples about other matters. "
            + "; ".join(f"{name}: {CONDITIONS[name][0]}" for name in conditions)
            + ".",
            "A run is one value: the mean of its agents and hours. Runs of one seed are a pair, whose seed the model "
            f"has, too, where its server honours one. From {FEWEST_FLIPPED} pairs on p is by sign flips, with Holm's "
            "correction over all tests of the table; with fewer there is none, and costs are not tested.",
            f"{missing} answers did not come: they are missing, and no zeros.",
        ),
        limits=(
            "Seeds decide in which order deeds come about; where the server honours no seed, runs of a pair share "
            "nothing else, and pairing gains little.",
            "Recall is the cosine with a right answer, a coarse judge; alignment is what one judge says, who sees the "
            "role's own triples, without those that a grown chronicle has and without what the day has changed.",
            "What a chronicle is grown by is made by a rule: real chronicles hold things that are nearer to each "
            "other, so that more is missed in them.",
            "Seconds are those of the clock on the wall: they depend on the machine and on what else it does.",
        ),
    )


def title(measure: str) -> str:
    """What a measure is called in a table."""
    return NAMES.get(measure, measure)


def values_of(readings: Iterable[Reading], condition: str, measure: str) -> dict[str, list[tuple[int, float]]]:
    """The values of each run of a condition, with their hours; a cosine may round past 1."""
    low, high = SCALES.get(measure, POSITIVE)
    found: dict[str, list[tuple[int, float]]] = {}
    for one in readings:
        if one.condition == condition and one.value is not None:
            found.setdefault(one.run, []).append((one.step, min(max(one.value, low), high)))
    return found


def over_runs(readings: Iterable[Reading], condition: str, measure: str) -> Interval | None:
    """The mean over runs, with its interval; None where all is missing."""
    values = {run: [value for _, value in of] for run, of in values_of(readings, condition, measure).items()}
    return cluster_interval(values, scale=SCALES.get(measure, POSITIVE), unit="run") if values else None


def difference_rows(compared: Sequence[Contrast], tested: Sequence[str]) -> list[tuple[Cell, ...]]:
    """The rows of the differences; a p where there are six pairs or more."""
    p_values = {
        f"{at}": one.test.p
        for at, one in enumerate(compared)
        if one.measure in tested and one.test.p is not None and one.test.n >= FEWEST_FLIPPED
    }
    fixed = holm(p_values) if p_values else {}
    return [
        (
            title(one.measure),
            one.first,
            one.interval,
            p_values.get(f"{at}"),
            fixed[f"{at}"].corrected if f"{at}" in fixed else None,
        )
        for at, one in enumerate(compared)
    ]


def later(readings: Iterable[Reading], condition: str, measure: str, hours: int) -> Interval | None:
    """How much more a run has in the second half of its day than in the first; the hour between belongs to neither."""
    halves: tuple[dict[str, list[float]], dict[str, list[float]]] = ({}, {})
    for run, of in values_of(readings, condition, measure).items():
        first = [value for step, value in of if step <= hours // 2]
        second = [value for step, value in of if step > hours - hours // 2]
        if first and second:
            halves[0][run], halves[1][run] = [fmean(first)], [fmean(second)]
    scale = SCALES.get(measure, POSITIVE)
    return paired_interval(halves[1], halves[0], scale=scale, unit="run") if halves[0] else None


STUDY = Study(
    "riverbend",
    "Riverbend, one part of ID-RAG changed at a time",
    records,
    findings,
    check,
    roles=AGENTS,
    settings=RiverbendStudySettings,
    cost=cost,
)
