"""How long the report of a run takes, how large its page is, and how both grow with the run.

The runs are made up: methods with floor and ceiling, roles, one similarity and a judge or two of the other metrics.

Run: python benchmarks/reports.py [--questions 5 50] [--methods 14] [--metrics 10] [--roles 20] [--keep FOLDER]
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dramaturg.evaluation.comparison.contestants import BOUNDS, NAMES
from dramaturg.evaluation.comparison.plan import Entry, Plan, keep_plan
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Reply
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.judging.scales import METRICS, OF_TALKS, SIMILARITY, scale_of
from dramaturg.evaluation.reports.page import PAGE, written_report

JUDGES = ("one", "two")
LINE = "A line of what a role has said. "


def planned(told: argparse.Namespace, questions: int) -> Plan:
    """A plan with so many questions a role, every third out of scope."""
    methods, roles = NAMES[: told.methods], [f"role-{number}" for number in range(told.roles)]
    asked = {
        role: tuple(
            DatasetQuestion(id=f"{at}", text=f"Question {at}?", answer="Yes.", scope="out" if at % 3 == 2 else "in")
            for at in range(questions)
        )
        for role in roles
    }
    entries = (
        Entry(key=f"{name}-{role}-{one.id}", contestant=name, role=role, seed=0, question=one.id)
        for role, of in asked.items()
        for one in of
        for name in (*methods, *BOUNDS)
    )
    return Plan(
        methods=tuple(methods),
        roles=tuple(roles),
        seeds=(0,),
        metrics=tuple(one for one in METRICS if one not in OF_TALKS)[: told.metrics],
        model="speaker",
        judges=JUDGES[: told.judges],
        dataset="made up",
        licence="",
        dramaturg="0",
        questions=asked,
        entries=tuple(entries),
        bounds=tuple(BOUNDS),
        embedders=dict.fromkeys(roles, "embedder"),
    )


def records(plan: Plan, chance: random.Random) -> Iterator[Reply | Judged]:
    """A reply to everything, and all that is said of it; methods and roles differ."""
    good = {name: chance.uniform(0.3, 0.9) for name in (*plan.methods, *plan.bounds)}
    easy = {role: chance.uniform(-0.1, 0.1) for role in plan.roles}
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
            calls=1,
            tokens=round(3000 * good[one.contestant] ** 2),
        )
        for metric in plan.metrics:
            scale = scale_of(metric)
            for by in ("embedder",) if metric == SIMILARITY else plan.judges:
                share = min(max(good[one.contestant] + easy[one.role] + chance.gauss(0, 0.1), 0.0), 1.0)
                value = scale.low + share * (scale.high - scale.low)
                if metric != SIMILARITY:
                    value = float(chance.random() < share) if scale.high == 1 else float(round(value))
                key = f"{one.key}-{metric}-{by}"
                yield Judged(key=key, reply=one.key, metric=metric, model=by, value=value, reason=LINE, tokens=400)


def timed(told: argparse.Namespace, questions: int) -> tuple[int, float, float]:
    """How many replies a run has, the seconds that its report takes, and the megabytes of its page."""
    plan = planned(told, questions)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(told.keep or place)
        folder.mkdir(exist_ok=True, parents=True)
        keep_plan(folder, plan)
        RecordFile(folder).add(records(plan, random.Random(0)))
        began = time.perf_counter()
        written_report(folder)
        return len(plan.entries), time.perf_counter() - began, (folder / PAGE).stat().st_size / 1e6


def main(told: argparse.Namespace) -> None:
    """Print a row a size, and how it compares with the first."""
    if not told.keep:
        timed(told, 1)  # what is imported counts for nobody
    table = Table("replies", "seconds", "megabytes", "times the replies", "times the seconds")
    first: tuple[int, float, float] | None = None
    for replies, seconds, size in (timed(told, one) for one in told.questions):
        first = first or (replies, seconds, size)
        grown = f"{replies / first[0]:.0f}", f"{seconds / first[1]:.1f}"
        table.add_row(f"{replies:,}", f"{seconds:.1f}", f"{size:.1f}", *grown)
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, nargs="+", default=[5, 50])
    parser.add_argument("--methods", type=int, default=5)
    parser.add_argument("--metrics", type=int, default=3)
    parser.add_argument("--roles", type=int, default=10)
    parser.add_argument("--judges", type=int, default=1)
    parser.add_argument("--keep", default="", help="keep the run and its report in this new folder; one size")
    main(parser.parse_args())
