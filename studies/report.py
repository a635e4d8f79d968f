"""Retrieval studies run one after the other, and what came of them as Markdown, JSON and a plot."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dramaturg.evaluation.metrics.figures import calibration_figure, svg
from dramaturg.evaluation.metrics.intervals import Interval, Share
from dramaturg.evaluation.reports.document import in_pipes
from dramaturg.evaluation.reports.tables import bounds, signed
from dramaturg.stores.errors import did_you_mean
from studies import (
    chunk_usage,
    clique_relevance,
    drmr_tokens,
    entity_merges,
    follow_ups,
    memory,
    mood_congruence,
    quotations,
    riverbend,
    scope_detection,
    splitters,
)
from studies.separation import Separation
from studies.study import Bench, Cell, Study, StudyFindings

STUDIES: Mapping[str, Study] = {
    one.STUDY.name: one.STUDY
    for one in (
        splitters,
        follow_ups,
        chunk_usage,
        entity_merges,
        scope_detection,
        mood_congruence,
        clique_relevance,
        drmr_tokens,
        riverbend,
        memory,
        quotations,
    )
}
BEGIN, END = "<!-- studies: begin -->", "<!-- studies: end -->"
"""Between these lines of a page, a run writes what it found."""


class Finished(NamedTuple):
    """A study that was run."""

    study: Study
    findings: StudyFindings
    seconds: float


def studies_of(names: Iterable[str]) -> list[Study]:
    """The studies of these names; if there are none, all but those that are dear."""
    wanted = tuple(dict.fromkeys(names)) or tuple(name for name, one in STUDIES.items() if not one.cost)
    for name in wanted:
        if name not in STUDIES:
            near = did_you_mean(name, STUDIES, f"; there are {', '.join(STUDIES)}")
            raise ValueError(f"There is no study {name!r}{near}")
    return [STUDIES[name] for name in wanted]


async def run(studies: Sequence[Study], bench: Bench) -> list[Finished]:
    """Run studies one after the other; what was indexed or answered before in the bench's folder is not made again."""
    for study in studies:
        study.check(bench)
    done = []
    for study in studies:
        began = time.perf_counter()
        found = study.findings(await study.records(bench))
        done.append(Finished(study, found, time.perf_counter() - began))
    return done


def markdown(done: Sequence[Finished], roles: Sequence[str], picture: str = "", *, new: bool = True) -> str:
    """What a run found, as Markdown.

    Args:
        done: the studies.
        roles: of which roles; none, where no study is made of any.
        picture: the name of the calibration plot's file, if there is one.
        new: whether all was indexed and asked in this run, which says what its minutes mean.
    """
    minutes = sum(one.seconds for one in done) / 60
    made = "with nothing from earlier runs" if new else "with indexes and answers from earlier runs"
    of = f"Roles: {', '.join(roles)}. " if roles else ""
    head = (
        f"{of}The run took {minutes:.1f} minutes, {made}. An interval in brackets is at 95 %: over roles or "
        "conversations by the effective n (docs/concepts/statistics.md), Wilson's of hits, DeLong's of an AUC."
    )
    return "\n\n".join([head, *(section(one, picture) for one in done)])


def section(one: Finished, picture: str) -> str:
    """One study."""
    parts = [f"## {one.study.title}", f"`python -m studies {one.study.name}`, {one.seconds:.0f} seconds."]
    parts += one.findings.how
    for found in one.findings.tables:
        rows = ([shown(cell, found.unit) for cell in row] for row in found.rows)
        parts.append(f"**{found.title}**\n\n{in_pipes(found.columns, *rows)}")
    if one.findings.calibration and picture:
        parts.append(f"![Calibration of P(known)]({picture})")
    parts += ["What cannot be concluded:", "\n".join(f"- {line}" for line in one.findings.limits)]
    return "\n\n".join(parts)


def shown(cell: Cell, unit: str = "role") -> str:
    """A number with what it rests on; `unit` says in a word what intervals are over."""
    match cell:
        case Interval():
            return f"{signed(cell.mean)} {bounds(cell)} ({cell.n} {unit}s, n = {cell.n_values})"
        case Share():
            return f"{cell.share:.3f} [{cell.low:.3f}, {cell.high:.3f}] ({cell.hits} of {cell.n})"
        case Separation():
            between = "no interval" if cell.low is None or cell.high is None else f"[{cell.low:.3f}, {cell.high:.3f}]"
            return f"{cell.auc:.3f} {between}"
        case float():
            return signed(cell)
        case None:
            return ""
    return str(cell)


def as_record(one: Finished) -> dict[str, Any]:
    """A study for a program: numbers in full."""
    tables = [
        {"title": table.title, "rows": [list(row_record(table.columns, row)) for row in table.rows]}
        for table in one.findings.tables
    ]
    about = {"study": one.study.name, "title": one.study.title, "seconds": one.seconds}
    return {**about, "tables": tables, "how": one.findings.how, "limits": one.findings.limits}


def row_record(columns: Sequence[str], row: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """The cells of a row, each under its column."""
    for column, cell in zip(columns, row, strict=True):
        yield {"column": column, "value": cell._asdict() if isinstance(cell, Interval | Share | Separation) else cell}


def within(page: str, found: str) -> str:
    """A page with what was found between its lines, in place of what was there; a new page for an empty one."""
    if not page.strip():
        return f"# Retrieval studies\n\n{BEGIN}\n\n{found}\n\n{END}\n"
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page lacks the lines {BEGIN} and {END}: add them, or name a file that is not there yet.")
    return f"{before}{BEGIN}\n\n{found}\n\n{END}{after}"


def calibration_plot(bins: Sequence[tuple[float, Share]]) -> bytes:
    """The share in scope over the mean P(known) of each bin, with its interval, as an SVG file."""
    return svg(calibration_figure(bins, "P(known)", "share in scope"))


def picture_beside(page: Path) -> Path:
    """Where the calibration plot of a page lies."""
    return page.with_name(f"{page.stem}_calibration.svg")
