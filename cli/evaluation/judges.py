"""`dramaturg judges`: what a judge says of replies whose worth is known, and who it thinks is speaking."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Column, Table

from dramaturg.cli.evaluation.tables import estimate_table, plain
from dramaturg.cli.options import (
    DryRunOption,
    JsonOption,
    JudgesOption,
    LibraryOption,
    ModelOption,
    MostCallsOption,
    library_path,
    names_in,
    shelf_of,
)
from dramaturg.cli.output import NUMBERS, note, print_json, require_extra, screen, table_of
from dramaturg.cli.progress import bars, counting
from dramaturg.cli.stopping import stopping
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.comparison.run import Capped, EvaluationSettings, judges_of
from dramaturg.evaluation.judging.anchors import KINDS, WORTH, anchors, version
from dramaturg.evaluation.judging.holding import PAIR, Material, estimate, hold
from dramaturg.evaluation.judging.judges import DIGITS, JUDGES
from dramaturg.evaluation.judging.lines import MOST, SPEAKER, HiddenSpeaker, hidden_speakers, play
from dramaturg.evaluation.judging.people import Scored, scored
from dramaturg.evaluation.judging.persona_eval import LICENCE, persona_eval
from dramaturg.evaluation.judging.standing import ANCHORS, Held, Measured, held
from dramaturg.evaluation.judging.verdicts import SHARED, is_yes_no, keep_standings, standings_of, verdicts
from dramaturg.models.environment import environment
from dramaturg.stores.errors import near_or_all
from dramaturg.stores.files import sha256
from dramaturg.stores.library_folder import Library

DEADLINE = 600
"""Seconds for one question: a busy machine is slow, and nobody waits for a single answer."""
EXAMPLES = ("beethoven", "wukong", "silver")
"""The roles whose dialogues are asked about where none is named, and the play in Korean."""
NAMES = {PAIR: "which of two replies is better", SPEAKER: "who is speaking"}
RolesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ROLE …]",
        help="Check whether the judge knows who speaks lines of these roles' dialogues.",
        show_default=False,
    ),
]
USUAL = ("accuracy", "refusal")
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        help=f"By what to judge, separated by commas or each with its own option: {', '.join(WORTH)}. "
        f"Default: {','.join(USUAL)}.",
    ),
]


def judges(
    roles: RolesArgument = None,
    with_anchors: Annotated[
        bool, typer.Option("--anchors", help="Check the judge with the anchors: replies whose quality is known.")
    ] = False,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores", metavar="FILE", help="Check the judge with replies that people scored, from a CSV file."
        ),
    ] = None,
    persona_eval_file: Annotated[
        Path | None,
        typer.Option(
            "--persona-eval", metavar="FILE", help="Check whether the judge knows who is speaking in PersonaEval's CSV."
        ),
    ] = None,
    metrics: MetricsOption = None,
    judge: JudgesOption = None,
    model: ModelOption = "auto",
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="The most questions per language, and lines per role; 0 means all.")
    ] = 0,
    most_calls: MostCallsOption = 0,
    library: LibraryOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check judges with anchors, replies that people scored, and who is speaking. Default: all but people's scores.

    Answers are kept for all runs: stopped, killed or capped, the same command goes on, and more metrics or lines ask
    only for what is new. Reports name how each judge stands here.
    """
    every = not (roles or with_anchors or scores or persona_eval_file)
    wanted = metrics_in(metrics or USUAL, with_scores=bool(scores))
    if scores and with_anchors:
        raise ValueError("A judge is checked against one of the two at a time: leave out --anchors, or --scores.")
    given = scored(scores, wanted[0]) if scores else Scored([], [], ())
    speaking = persona_eval(persona_eval_file, limit) if persona_eval_file else []
    known = given.replies[: limit or None] if scores else anchors(limit) if with_anchors or every else []
    material = Material(
        source=scores.name if scores else ANCHORS,
        version=sha256(scores.read_bytes())[:DIGITS] if scores else version(),
        known=known,
        metrics=wanted,
        lines=speaking + lines_of(roles or (EXAMPLES if every else ()), shelf_of(library), limit, every=every),
    )
    if speaking:
        note(f"{LICENCE}.")
    settings = EvaluationSettings(
        library=str(library_path(library)),
        chat_model=model,
        judges=tuple(judge or ()),
        most_calls=most_calls,
        deadline=DEADLINE,
    )
    folder = environment().cache / SHARED
    if dry_run:
        found = asyncio.run(estimate(material, settings, folder))
        print_json([one._asdict() for one in found]) if as_json else screen.print(estimate_table(found))
        return
    require_extra("evaluate", *NUMBERS)
    done = asked(material, settings, folder, given)
    keep_standings(folder, standings_of(done))
    show(done, as_json=as_json)


def metrics_in(given: Sequence[str], *, with_scores: bool) -> tuple[str, ...]:
    """The metrics that are meant: one for a file of scores, else those that anchors say something of."""
    ours = {name: judge for name, judge in JUDGES.items() if not judge.printed}
    names, known = names_in("--metrics", given), ours if with_scores else WORTH
    for name in names:
        if name not in known:
            what = "judge" if with_scores else "anchor"
            raise ValueError(f"There is no {what} by {name!r}{near_or_all(name, known)}")
    if with_scores and len(names) > 1:
        raise ValueError("A file holds scores by one metric: name it, such as --metrics accuracy_level.")
    return names


def lines_of(roles: tuple[str, ...] | list[str], shelf: Library, limit: int, *, every: bool) -> list[HiddenSpeaker]:
    """Lines of roles' dialogues, and with them the play in Korean where nothing was chosen."""
    found = []
    for name in dict.fromkeys(roles):
        role = shelf.open(name)
        of = hidden_speakers(role.dialogues(), role.id, role.card.language, limit or MOST)
        if not of and not limit:
            raise ValueError(
                f"{name} has no dialogues of four who speak in two scenes or more: leave it out, or write some."
            )
        found += of
    return found + (hidden_speakers(play(), "the play in Korean", "ko", limit or MOST) if every else [])


def asked(material: Material, settings: EvaluationSettings, folder: Path, given: Scored) -> list[Held]:
    """Ask under a progress bar. Out of calls, the numbers are of what is there."""
    if not (material.known or material.lines):
        raise ValueError("There is nothing to ask with so small a --limit: a group of lines is four.")
    stopping.promise("Answers so far are kept, and the same command goes on with them.")
    try:
        with bars() as bar:
            records = asyncio.run(hold(material, settings, folder, partial(counting, bar)))
    except Capped as error:
        note(str(error), "yellow")
        records = RecordFile(folder).read()
    ratings = given.ratings[: len(material.known)]
    return [one for name in judges_of(settings) for one in held(material, records, name, ratings)]


def show(done: list[Held], *, as_json: bool) -> None:
    """Show what came of it."""
    if as_json:
        print_json([{**plain(one), "verdicts": [*verdicts([one])]} for one in done])
        return
    for name in dict.fromkeys(one.judge for one in done):
        screen.print(told_table(name, [one for one in done if one.judge == name]))
    for one in (one for one in done if one.cells and one.source == ANCHORS):
        screen.print(kind_table(one))
    for one in (one for one in done if one.brier):
        screen.print("; ".join(calibration(one)), soft_wrap=True)
    for one in (one for one in done if one.agreed is not None):
        among = "" if one.among is None else f"; that of people among each other {one.among:.3f}"
        alpha = "" if one.agreed is None else f"{one.agreed.value:.3f}"
        screen.print(f"{one.metric}: Krippendorff's alpha of {one.judge} and people {alpha}{among}.")
    for line in verdicts(done):
        note(line, "yellow")


def told_table(judge: str, done: list[Held]) -> Table:
    """How well a judge tells apart, in all and by language, with what moves it besides."""
    heads = ("right", "95 % interval", "chance", "n", "longer", "place", "missing")
    table = table_of(f"{judge}, checked against what is known", Column("", overflow="fold"), *heads)
    for one in done:
        missing = f"{one.missing} of {one.asked}"
        if not one.told:
            table.add_row(named(one), "none", *[""] * 5, missing)
            continue
        table.add_row(named(one), *numbers(one.told), bias(one.length), bias(one.place), missing)
        for language, of in one.by_language.items() if len(one.by_language) > 1 else ():
            table.add_row(f"  {language}", *numbers(of.told), bias(of.length), "", "")
    table.caption = (
        "Right: how often the reply that is worth more is scored higher, the better one chosen, the speaker named. n: "
        "questions, or groups of four lines. Longer: how much higher the same reply is scored at length. Place: "
        "how often the first reply is chosen, or the name at the favourite place. *: a bias."
    )
    table.caption_justify = "left"
    return table


def named(one: Held) -> str:
    """What a judge was asked."""
    return f"{NAMES.get(one.metric, one.metric)}{f' ({one.source})' if one.source not in ('', ANCHORS) else ''}"


def numbers(one: Measured) -> Iterator[str]:
    """A number with its interval."""
    ends = "none" if one.low is None or one.high is None else f"{one.low:.3f} to {one.high:.3f}"
    yield from (f"{one.value:.3f}", ends, f"{one.chance:g}", str(one.n))


def bias(one: Measured | None) -> str:
    """A bias; a star where it is one."""
    return "" if one is None else f"{one.value:.2f}{'*' if one.apart else ''}"


def kind_table(one: Held) -> Table:
    """What a judge says of each kind of anchor in each language."""
    languages = list(dict.fromkeys(cell.language for cell in one.cells))
    says = "share of yes" if is_yes_no(one.metric) else "mean score"
    table = table_of(f"{one.metric}, by {one.judge}: {says} of each kind of reply", "kind", "to be", *languages, "n")
    for kind in dict.fromkeys(cell.kind for cell in one.cells):
        of = {cell.language: cell for cell in one.cells if cell.kind == kind}
        first = next(iter(of.values()))
        high, low = ("yes", "no") if is_yes_no(one.metric) else ("higher", "lower")
        means = (f"{of[name].mean:.2f}" if name in of else "" for name in languages)
        number = str(sum(cell.n for cell in of.values()))
        table.add_row(KINDS[kind], high if first.worth else low, *means, number)
    return table


def calibration(one: Held) -> Iterator[str]:
    """How far P(yes) can be taken as it stands."""
    if one.brier:
        yield (
            f"P(yes) of {one.judge} by {one.metric}: Brier score {one.brier.score:.3f}, where always saying the share "
            f"that is yes has {one.brier.reference:.3f} (n = {one.brier.n})"
        )
        yield "mean P(yes) and how many are yes: " + ", ".join(
            f"{mean:.2f}: {share.hits} of {share.n}" for mean, share in one.bins
        )
