"""How long users of a server wait, alone and with others, for models that answer soon or late.

`dramaturg serve` runs in a process of its own before one stub endpoint. Each user holds a talk of some turns, one after
the other; all begin at once. `--serve` names the commands of servers to compare, such as those of two checkouts: their
rounds take turns in one run.

Run: python benchmarks/crowds.py [METHOD …] [--users 1,20,100] [--latency 0.05,0.3,2] [--turns 3] [--serve PATH …]
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple
from uuid import uuid4

import httpx
import page
from rich.console import Console
from rich.table import Table
from serving import at_stub, processor_of, serving

from dramaturg.stores.library import Library

from stub_server import running


class Turn(NamedTuple):
    """Seconds until the first word, and until the last, of a turn with its number in the talk; or that it failed."""

    number: int
    first: float
    whole: float
    failed: bool


async def turn(http: httpx.AsyncClient, model: str, thread: str, number: int) -> Turn:
    """Take a turn, and read its stream to the end."""
    messages = [{"role": "user", "content": f"What did you think of Haydn as a teacher, in the year {1790 + number}?"}]
    body = {"model": model, "messages": messages, "stream": True, "metadata": {"thread_id": thread}}
    body["include_reasoning"] = False
    begun, first, text = time.perf_counter(), 0.0, ""
    try:
        async with http.stream("POST", "/v1/chat/completions", json=body) as response:
            async for part in response.aiter_text():
                text += part
                if not first and '"content": "' in text.replace('"content": ""', ""):
                    first = time.perf_counter() - begun
    except httpx.TransportError:
        text = ""
    whole = time.perf_counter() - begun
    return Turn(number, first or whole, whole, "[DONE]" not in text or '"error"' in text)


async def crowd(http: httpx.AsyncClient, model: str, users: int, turns: int) -> list[Turn]:
    """All turns of so many users."""

    async def talk() -> list[Turn]:
        thread = uuid4().hex
        return [await turn(http, model, thread, number) for number in range(turns)]

    return [one for talks in await asyncio.gather(*(talk() for _ in range(users))) for one in talks]


async def measured(given: argparse.Namespace, latency: float, table: Table) -> None:
    """All servers, methods and crowds before a model that answers after so many seconds."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(latency, 0.01, script=str(Path(__file__).with_name("stub_turns.py"))) as stub,
    ):
        for at, command in enumerate(given.serve):
            library = Path(folder) / f"library {at}"
            Library(library).open("beethoven")
            with serving(library, at_stub(stub.url, f"{folder}/cache {at}"), command) as (http, process):
                for method in given.methods:
                    model = f"beethoven:{method}"
                    await crowd(http, model, 4, 2)  # what is opened once is opened
                    for users in given.users:
                        processor, begun = processor_of(process), time.perf_counter()
                        had = await crowd(http, model, users, given.turns)
                        wall, spent = time.perf_counter() - begun, processor_of(process) - processor
                        good = [one for one in had if not one.failed] or had
                        last = [one.whole for one in good if one.number == given.turns - 1]
                        initial = [one.whole for one in good if one.number == 0]
                        table.add_row(
                            Path(command).parents[2].name,
                            method,
                            f"{latency:g}",
                            str(users),
                            f"{len(had) / wall:.1f}",
                            *(f"{value:.2f}" for value in spread([one.first for one in good])),
                            *(f"{value:.2f}" for value in spread([one.whole for one in good])),
                            f"{median(last) / median(initial):.2f}" if last and initial else "",
                            f"{1000 * spent / len(had):.0f}",
                            str(sum(one.failed for one in had)),
                        )


def spread(values: list[float]) -> tuple[float, float]:
    """The median, and the 95th of a hundred."""
    return median(values), sorted(values)[int(0.95 * (len(values) - 1))]


def numbers(text: str) -> list[float]:
    """Numbers between commas."""
    return [float(one) for one in text.split(",")]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=["vanilla", "amadeus"], metavar="METHOD")
    parser.add_argument("--users", type=lambda text: [int(one) for one in numbers(text)], default=[1, 20, 100])
    parser.add_argument("--latency", type=numbers, default=[0.3])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--serve", nargs="*", default=[str(Path(sys.executable).with_name("dramaturg"))])
    given = parser.parse_args()
    waits = ("first p50", "first p95", "whole p50", "whole p95")
    table = Table(
        *("server", "method", "model, s", "users", "turns/s", *waits, "last/first turn", "processor ms", "failed")
    )
    for latency in given.latency:
        asyncio.run(measured(given, latency, table))
    print(page.machine("langgraph", "langchain-openai"))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
