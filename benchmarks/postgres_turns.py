"""What a turn costs with role and conversation in Postgres, beside the same turn with both in a folder.

Each method talks in one process, turn by turn with either, to one stub endpoint (50 ms an answer, 10 ms an embedding).
Given are medians of the processor of this process, of all its threads, of the wall, and, of the database, its
processor, statements and connections a turn.

Run: python benchmarks/postgres_turns.py [METHOD …] [--turns 35] [--rounds 1] [--json]
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import psycopg
from capacity import server
from rich.console import Console
from rich.table import Table
from turns import KINDS, LAZY, QUESTIONS, prepare, surroundings

from dramaturg.conversations.opening import open_conversation
from dramaturg.stores.library import Library, library_at
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows.methods import context_type

ROLE = "beethoven"
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the statements that this process sends, and the connections that it opens."""
    counts: Counter[str] = Counter()

    def counting(kind: str, real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            counts[kind] += 1
            return real(*given, **named)

        return call

    cursors, connections = (psycopg.Cursor, psycopg.AsyncCursor), (psycopg.Connection, psycopg.AsyncConnection)
    statements = [(one, name) for one in cursors for name in ("execute", "executemany")]
    patches = [patch.object(one, name, counting("statements", getattr(one, name))) for one, name in statements]
    patches += [patch.object(one, "connect", counting("connections", one.connect)) for one in connections]
    for one in patches:
        one.start()
    yield counts
    for one in patches:
        one.stop()


def processor_of_server(process: int) -> float:
    """Milliseconds of processor of a Postgres server: of those of its processes that run, and of those that ended."""
    main = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, main[11:15]))
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        try:
            ticks += sum(map(int, Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]))
        except OSError:
            continue  # it has ended, and the next look finds it in those of its parent
    return 1000 * ticks / TICKS


async def measured(method: str, folder: str, address: str, process: int, turns: int) -> dict[str, Any]:
    """Talk for so many turns with either."""
    for module in LAZY:
        import_module(module)
    kind = context_type(method)
    spent: dict[str, list[float]] = {"folder": [], "postgres": [], "folder wall": [], "postgres wall": []}
    server_spent, totals = 0.0, Counter[str]()
    library_at(address, Path(os.environ["DRAMATURG_CACHE"]))
    async with (
        open_conversation(method, kind(role=ROLE, library=folder), "long") as here,
        open_conversation(method, kind(role=ROLE, library=address), "long") as there,
    ):
        with counted() as counts:
            for number in range(turns + 1):
                for name, talk in (("folder", here), ("postgres", there)):
                    counts.clear()
                    of_server = processor_of_server(process)
                    began, wall = time.process_time(), time.perf_counter()
                    await talk.take_turn(f"{QUESTIONS[number % len(QUESTIONS)]} ({number})")
                    spent[name].append(1000 * (time.process_time() - began))
                    spent[f"{name} wall"].append(1000 * (time.perf_counter() - wall))
                    if number and name == "postgres":
                        server_spent += processor_of_server(process) - of_server
                        totals += counts
    library = library_at(address)
    assert isinstance(library, SharedLibrary)
    library.close()
    medians = {name: median(values[1:]) for name, values in spent.items()}
    a_turn = {name: totals[name] / turns for name in ("statements", "connections")}
    return {"method": method, **medians, "server": server_spent / turns, **a_turn}


def main() -> None:
    """Measure each method, round by round, and print the round with the least of the processor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=KINDS, metavar="METHOD")
    parser.add_argument("--turns", type=int, default=35)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        folder, address, process = given.worker
        print(json.dumps(asyncio.run(measured(given.methods[0], folder, address, int(process), given.turns))))
        return
    found: dict[str, list[dict[str, Any]]] = {method: [] for method in given.methods}
    with tempfile.TemporaryDirectory() as name, surroundings(Path(name, "roles")), server() as address:
        os.environ["DRAMATURG_CACHE"] = f"{name}/cache"
        roles = Path(name, "roles")
        prepare(roles, list(given.methods), 0, 0)
        shared = SharedLibrary(address, Path(name, "cache"))
        shared.replace({ROLE: Library(roles).contents(ROLE)})
        shared.close()
        with psycopg.connect(address) as session:
            (data,) = session.execute("SHOW data_directory").fetchone() or ("",)
        process = Path(data, "postmaster.pid").read_text().split()[0]
        for _ in range(given.rounds):
            for method in given.methods:
                worker = ["--worker", str(roles), address, process, "--turns", str(given.turns)]
                done = subprocess.run(
                    [sys.executable, __file__, method, *worker], check=True, stdout=subprocess.PIPE, text=True
                )
                found[method].append(json.loads(done.stdout.splitlines()[-1]))
    if given.json:
        print(json.dumps(found, indent=2))
        return
    columns = ("folder ms", "Postgres ms", "more ms", "times", "its own ms", "statements", "connections")
    table = Table("method", *columns, "wall, folder ms", "wall, Postgres ms")
    for rows in found.values():
        one = min(rows, key=lambda row: row["folder"] + row["postgres"])
        more, times = one["postgres"] - one["folder"], one["postgres"] / one["folder"]
        numbers = (one["folder"], one["postgres"], more)
        walls = (one["folder wall"], one["postgres wall"])
        table.add_row(
            one["method"],
            *(f"{number:.1f}" for number in numbers),
            f"{times:.2f}",
            f"{one['server']:.1f}",
            f"{one['statements']:.1f}",
            f"{one['connections']:.1f}",
            *(f"{wall:.0f}" for wall in walls),
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
