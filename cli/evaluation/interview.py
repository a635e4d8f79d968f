"""`dramaturg interview`: a role answers the open questions of an inventory, a judge makes scores and a type of it."""

import asyncio
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from dramaturg.cli.options import (
    AMADEUS,
    CountOption,
    JsonOption,
    LibraryOption,
    MethodOption,
    ModelOption,
    PromptsOption,
    RoleArgument,
    ServerOption,
    SettingsOption,
    carry_to,
    library_path,
)
from dramaturg.cli.output import print_json, screen, table_of
from dramaturg.cli.progress import bars
from dramaturg.cli.stopping import stopping
from dramaturg.evaluation.interviews.asking import respondent_context
from dramaturg.evaluation.interviews.run import STAGES, interviewed, questions, so_far
from dramaturg.evaluation.interviews.state import InterviewContext, InterviewOutput
from dramaturg.nodes.asking import asked_in_all
from dramaturg.nodes.run import RoleContext
from dramaturg.workflows.methods import file_name, flow
from dramaturg.workflows.settings import require_known, settings_of

Pole = StrEnum("Pole", {"low": "low", "high": "high"})
Judging = StrEnum(
    "Judging",
    {"expert_rating": "expert_rating", "option_conversion": "option_conversion", "self_report": "self_report"},
)
Refusals = StrEnum("Refusals", {"leave_out": "leave_out", "midpoint": "midpoint"})


def interview(
    role: RoleArgument,
    method: MethodOption = AMADEUS,
    instrument: Annotated[
        str, typer.Option("--instrument", metavar="NAME|PATH", help="big-five, four-letters, or a file of your own.")
    ] = "four-letters",
    judge: Annotated[
        str,
        typer.Option(
            "--judge", help="The model that judges; should not be the one that answers. Default: that of --model."
        ),
    ] = "",
    judging: Annotated[
        Judging, typer.Option("--judging", help="How answers are turned into scores.")
    ] = Judging.expert_rating,
    repeats: Annotated[int, typer.Option("--repeats", help="How often the answers are judged.")] = 1,
    experimenter: Annotated[str, typer.Option("--experimenter", metavar="NAME", help="Who asks the questions.")] = "",
    tie: Annotated[Pole, typer.Option("--tie", help="The pole of a score exactly at the midpoint.")] = Pole.low,
    refusals: Annotated[
        Refusals, typer.Option("--refusals", help="With option_conversion: how a refusal is scored.")
    ] = Refusals.leave_out,
    limit: Annotated[
        int, typer.Option("--limit", help="The number of items, taken from each dimension in turn; 0 means all.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The file for answers and scores; run the same command again to continue."),
    ] = None,
    model: ModelOption = "auto",
    prompts: PromptsOption = None,
    library: LibraryOption = None,
    server: ServerOption = "",
    settings: SettingsOption = None,
    dry_run: CountOption = False,
    as_json: JsonOption = False,
) -> None:
    """Interview a role with an inventory, each item in its own conversation. Run it again to continue after a stop."""
    asked = {"role": role, "method": flow(method), "instrument": instrument, "limit": limit}
    judged = {"judge": judge, "judging": judging.value, "repeats": repeats, "experimenter": experimenter}
    scored = {"tie": tie.value, "refusals": refusals.value}
    around = {"chat_model": model, "prompts": prompts, "server": server}
    context = context_of(library, settings, **around, **asked, **judged, **scored)
    carry_to("" if dry_run else server, library, role)
    wanted = asyncio.run(questions(context))
    if dry_run:
        tell(wanted, as_json=as_json)
        return
    file = out or Path(f"{role}-{file_name(method)}-{Path(instrument).stem}.json")
    output = held(context, file, wanted)
    if as_json:
        print_json(output)
        return
    show(output)
    for line in notes(output, file, judge):
        screen.print(line, soft_wrap=True)


def context_of(library: str | None, given: list[str] | None, **named: Any) -> InterviewContext:
    """Put the context together: a setting that every run has is the interview's, any other one the method's."""
    more = settings_of(given)
    require_known(named["method"].context, more, named["method"].name)
    shared = {name: more.pop(name) for name in [*more] if name in RoleContext.model_fields}
    named = {"library": str(library_path(library)), **named, **shared, "method_settings": more}
    context = InterviewContext.model_validate(named)
    respondent_context(context)  # a setting that is wrong is noticed before the work
    return context


def held(context: InterviewContext, file: Path, wanted: dict[str, int]) -> InterviewOutput:
    """Hold the interview under a progress bar."""
    stopping.promise(f"Answers so far are kept, and the same command goes on with them: --out {file}")
    with bars() as show:
        done = so_far(file.expanduser().absolute())
        for node, name in STAGES.items():
            show(name.capitalize(), done[node], wanted[name])

        def announce(node: str, _: int) -> None:
            done[node] += 1
            show(STAGES[node].capitalize(), done[node], wanted[STAGES[node]])

        return asyncio.run(interviewed(context, file, announce))


def tell(wanted: dict[str, int], *, as_json: bool) -> None:
    """Print what a dry run found."""
    if as_json:
        print_json(wanted)
        return
    turns, judgements = f"{wanted['replies']:,} turns of the role", f"{wanted['judgements']:,} questions to the judge"
    screen.print(f"{wanted['items']:,} items: {turns}, and {judgements}.", soft_wrap=True)


def show(output: InterviewOutput) -> None:
    """Print a line a dimension."""
    about = output["about"]
    title = f"{about['role']} by {about['method']}, {about['instrument']}: {output['type']}"
    table = table_of(title, "dimension", "score", "batches", "spread of batches", "spread of repeats", "letter")
    table.min_width = len(title)
    for name, one in output["scores"].items():
        spreads = [spread for spread in one["intra_std"] if spread is not None]
        spread = number(sum(spreads) / len(spreads) if spreads else None)
        cells = (number(one["score"]), str(sum(map(len, one["batches"]))), spread, number(one["inter_std"]))
        table.add_row(name, *cells, one["letter"])
    screen.print(table)


def number(value: float | None) -> str:
    """A number in a table."""
    return "none" if value is None else f"{value:.2f}"


def notes(output: InterviewOutput, file: Path, judge: str) -> Iterator[str]:
    """What a reader of the table has to know."""
    counts, used = output["counts"], asked_in_all(output["usage"].values())
    if not output["valid"]:
        yield f"Incomplete: {output['invalid_because']}"
    flags = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in counts["flags"].items()) or "none"
    refused = f" {counts['refused']} answers were taken for refusals." if counts["refused"] else ""
    judged = f"{counts['items']} items, judged {counts['repeats']} time{'s' if counts['repeats'] > 1 else ''}"
    missing = f"{counts['missing']} of {counts['wanted']} judgements of items are missing"
    yield f"{judged}: {missing}.{refused} Flagged replies: {flags}."
    yield f"{used['calls']:,} calls, {used['tokens']:,} tokens. All that was said is in {file!s}."
    if output["about"]["limit"]:
        yield "Only a part of the inventory was asked: this is a trial and no measurement."
    if not judge and output["about"]["judging"] != "self_report":
        yield "The judge is the model of --model: a model should not judge itself, name another one by --judge."
