"""What a run costs until its last step: calls, tokens and lines of talk (in place of ID-RAG 6.3's wall clock)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dramaturg.evaluation.bands import Reading
from dramaturg.evaluation.simulation.events import Cost as CostSoFar
from dramaturg.evaluation.simulation.logs import Run

UNITS = ("calls", "tokens", "lines", "seconds")
"""`lines` are those of talks; `seconds` are those of the clock on the wall, which depend on the machine."""


class Cost(NamedTuple):
    """What a step has cost, or a run."""

    step: int
    calls: int
    tokens: int
    lines: int
    seconds: float


def costs(run: Run) -> list[Cost]:
    """What each step of a run has cost; of a branch, each step of its own."""
    return each_step(run.costs)[bool(run.about.after) :]


def each_step(spent: Sequence[CostSoFar]) -> list[Cost]:
    """What each step has cost: the log says what was spent until then, from the beginning."""
    so_far = [Cost(one.step, one.calls, one.tokens, one.lines, one.seconds) for one in spent]
    return [between(before, after) for before, after in pairwise([Cost(0, 0, 0, 0, 0.0), *so_far])]


def between(before: Cost, after: Cost) -> Cost:
    """What was spent since then."""
    return Cost(
        after.step,
        calls=after.calls - before.calls,
        tokens=after.tokens - before.tokens,
        lines=after.lines - before.lines,
        seconds=round(after.seconds - before.seconds, 3),
    )


def total(steps: Sequence[Cost]) -> Cost:
    """What steps have cost together, under the number of the last one."""
    return Cost(
        max((one.step for one in steps), default=0),
        calls=sum(one.calls for one in steps),
        tokens=sum(one.tokens for one in steps),
        lines=sum(one.lines for one in steps),
        seconds=round(sum(one.seconds for one in steps), 3),
    )


def cost_readings(run: Run, unit: str) -> list[Reading]:
    """The cost of each step in one of the units."""
    about, name = run.about, str(run.path)
    return [Reading(about.condition, name, "", one.step, float(getattr(one, unit))) for one in costs(run)]
