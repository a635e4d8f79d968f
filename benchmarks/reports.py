"""How long the report of a run takes, and how that grows with the run: ten times the replies, about ten times the time.

The runs are made up: five methods with floor and ceiling, ten roles, one similarity and two judges of two metrics.

Run: python benchmarks/reports.py [--questions 5 50]
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dramaturg.evaluation.comparison.contestants import BOUNDS
from dramaturg.evaluation.comparison.plan import Entry, Plan, write_plan
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Reply
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.reports.page import written_report

METHODS = ("amadeus", "role-rag", "naive-rag", "profile", "vanilla")
ROLES = tuple(f"role-{number}" for number in range(10))
MEASURES = (("similarity", "embedder"), *((metric, by) for metric in ("accuracy", "refusal") for by in ("one", "two")))
LINE = "A line of what a role has said. "


def planned(questions: int) -> Plan:
    """A plan with so many questions a role, every third out of scope."""
    asked = {
        role: tuple(
            DatasetQuestion(id=f"{at}", text=f"Question {at}?", answer="Yes.", scope="in" if at % 3 else "out")
            for at in range(questions)
        )
        for role in ROLES
    }
    entries = (
        Entry(key=f"{name}-{role}-{one.id}", contestant=name, role=role, seed=0, question=one.id)
        for role, of in asked.items()
        for one in of
        for name in (*METHODS, *BOUNDS)
    )
    return Plan(
        methods=METHODS,
        roles=ROLES,
        seeds=(0,),
        metrics=("similarity", "accuracy", "refusal"),
        model="speaker",
        judges=("one", "two"),
        dataset="made up",
        licence="",
        dramaturg="0",
        questions=asked,
        entries=tuple(entries),
        bounds=tuple(BOUNDS),
    )


def records(plan: Plan, chance: random.Random) -> Iterator[Reply | Judged]:
    """A reply to everything, and all that is said of it."""
    for one in plan.entries:
        yield Reply(
            key=one.key,
            contestant=one.contestant,
            role=one.role,
            seed=one.seed,
            question=one.question,
            asked="Question?",
            text=LINE * 4,
            evidence={"knowledge": [{"text": LINE * 12}]},
        )
        for metric, by in MEASURES:
            value = chance.random() if metric == "similarity" else float(chance.random() < 0.5)
            yield Judged(key=f"{one.key}-{metric}-{by}", reply=one.key, metric=metric, model=by, value=value)


def timed(questions: int) -> tuple[int, float]:
    """How many replies a run has, and the seconds that its report takes."""
    plan = planned(questions)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_plan(folder, plan)
        RecordFile(folder).add(records(plan, random.Random(0)))
        began = time.perf_counter()
        written_report(folder)
        return len(plan.entries), time.perf_counter() - began


def main(sizes: Sequence[int]) -> None:
    """Print a row a size, and how it compares with the first."""
    timed(1)  # what is imported counts for nobody
    table = Table("replies", "seconds", "times the replies", "times the seconds")
    first: tuple[int, float] | None = None
    for replies, seconds in map(timed, sizes):
        first = first or (replies, seconds)
        table.add_row(f"{replies:,}", f"{seconds:.1f}", f"{replies / first[0]:.0f}", f"{seconds / first[1]:.1f}")
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, nargs="+", default=[5, 50])
    main(parser.parse_args().questions)
