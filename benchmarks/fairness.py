"""How long ten talks wait for their replies beside an evaluation of ten thousand questions in the same process.

The talks take their turns alone, then beside tasks that ask one question after the other for which nobody waits, as
an evaluation and indexing do. The model answers after 300 ms, as many at once as are asked.

Run: python benchmarks/fairness.py [METHOD …] [--talks 10] [--turns 8] [--questions 10000] [--latency 0.3]
"""

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from uuid import uuid4

import page
from langchain_core.messages import HumanMessage
from rich.console import Console
from rich.table import Table
from serving import at_stub

from dramaturg.conversations.opening import open_conversation
from dramaturg.models.chat import chat_model
from dramaturg.models.questions import write
from dramaturg.models.servers.pace import unhurried
from dramaturg.stores.library import Library
from dramaturg.workflows.methods import flow

from stub_server import running

GOAL = 1.5  # of the 95th of a hundred turns beside the evaluation to one alone
TASKS = 200  # of the evaluation, at once
SETTLED = 3.0  # seconds after which the evaluation has all the places that it can get


async def talks(method: str, library: Path, given: argparse.Namespace) -> list[float]:
    """The seconds of all turns."""

    async def talk() -> list[float]:
        spent = []
        context = flow(method).context(role="beethoven", library=str(library))
        async with open_conversation(method, context, uuid4().hex) as conversation:
            for number in range(given.turns):
                begun = time.perf_counter()
                await conversation.take_turn(f"What did you think of Haydn as a teacher, in the year {1790 + number}?")
                spent.append(time.perf_counter() - begun)
        return spent

    return [one for spent in await asyncio.gather(*(talk() for _ in range(given.talks))) for one in spent]


async def beside(method: str, library: Path, given: argparse.Namespace) -> tuple[list[float], float]:
    """The same beside an evaluation, and how many of its questions are answered in a second meanwhile."""
    chat, left, answered = chat_model("stub"), iter(range(given.questions)), 0

    async def evaluate() -> None:
        nonlocal answered
        unhurried.set(True)
        for number in left:
            await write(chat, [HumanMessage(f"Question {number}: does that fit the role?")], quiet=True)
            answered += 1

    tasks = [asyncio.create_task(evaluate()) for _ in range(TASKS)]
    await asyncio.sleep(SETTLED)
    before, begun = answered, time.perf_counter()
    spent = await talks(method, library, given)
    pace = (answered - before) / (time.perf_counter() - begun)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return spent, pace


def p95(values: list[float]) -> float:
    """The 95th of a hundred."""
    return sorted(values)[int(0.95 * (len(values) - 1))]


async def measured(given: argparse.Namespace, library: Path, table: Table) -> None:
    """All methods."""
    for method in given.methods:
        await talks(method, library, given)  # what is opened once is opened
        alone = await talks(method, library, given)
        others, pace = await beside(method, library, given)
        ratio = p95(others) / p95(alone)
        seconds = (median(alone), p95(alone), median(others), p95(others))
        table.add_row(method, *(f"{value:.2f}" for value in seconds), f"{ratio:.2f}", f"{pace:.0f}")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=["vanilla", "amadeus"], metavar="METHOD")
    parser.add_argument("--talks", type=int, default=10)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--latency", type=float, default=0.3)
    given = parser.parse_args()
    waits = ("alone p50", "alone p95", "beside p50", "beside p95")
    table = Table("method", *waits, f"p95 beside ÷ alone (goal {GOAL:g})", "its questions/s meanwhile")
    script = str(Path(__file__).with_name("stub_turns.py"))
    with tempfile.TemporaryDirectory() as folder, running(given.latency, 0.01, script=script) as stub:
        os.environ.update(at_stub(stub.url, f"{folder}/cache"))
        library = Path(folder) / "library"
        Library(library).open("beethoven")
        asyncio.run(measured(given, library, table))
    print(page.machine("langgraph", "langchain-openai"))
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
