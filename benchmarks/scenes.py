"""How a scene grows: eight roles, line after line, each a turn of its own as the library keeps it, in one run.

A line is some words that nobody has said, by a role in its turn, and all who are there hear it; each eighth is
whispered. The model answers at once, so what is timed is everything but the model: seconds of the processor for a line,
and bytes on the disk. Beside it stands a talk of two, by the same method, with as many turns.

Run: python benchmarks/scenes.py [--lines 1000] [--roles 8] [--write]
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import page
from langchain_core.embeddings import DeterministicFakeEmbedding
from rich.console import Console
from rich.table import Table

from dramaturg.conversations.opening import open_conversation
from dramaturg.conversations.scenes import open_scene
from dramaturg.stores.library import library_at
from dramaturg.testing import ScriptedChatModel, write_role
from dramaturg.workflows.methods import context_type
from dramaturg.workflows.scene import SceneContext

WINDOW = 50  # lines at a mark
NAMES = ("Ada", "Ben", "Cora", "Dick", "Ella", "Fred", "Gwen", "Hugh")
Turn = Callable[[int], Awaitable[Any]]


def words(number: int, count: int = 30) -> str:
    """A line that nobody has said before."""
    chosen = random.Random(number)
    return f"Line {number}: " + " ".join(f"{chosen.choice('bcdfgl')}{chosen.randrange(4000)}" for _ in range(count))


def settings(library: Path) -> dict[str, Any]:
    """What both have."""
    numbers = iter(range(10**6, 10**7))
    model = ScriptedChatModel(write=lambda _: words(next(numbers)))
    return {"chat_model": model, "embedding_model": DeterministicFakeEmbedding(size=384), "summary_tokens": 0}


@asynccontextmanager
async def scene(library: Path, roles: int) -> AsyncIterator[Turn]:
    """A scene in which each role says a line when it is called; each eighth is an answer to a whisper."""
    cast = [{"role": name.lower(), "method": "vanilla"} for name in NAMES[:roles]]
    context = SceneContext(library=library_at(library), cast=cast, scenes="everybody", **settings(library))
    async with open_scene(context, "scene:bench") as talk:

        async def turn(number: int) -> None:
            name = NAMES[number % roles]
            await talk.take_turn(f"/whisper {name}: {words(number)}" if number % 8 == 7 else f"/next {name}")

        yield turn


@asynccontextmanager
async def talk_of_two(library: Path) -> AsyncIterator[Turn]:
    """A talk with one role."""
    context = context_type("vanilla")(library=str(library), role="ada", **settings(library))
    async with open_conversation("vanilla", context, "bench") as talk:
        yield lambda number: talk.take_turn(words(number))


async def measured(opened: Any, library: Path, lines: int) -> list[tuple[int, float, float]]:
    """At each mark: the turns so far, and of a turn milliseconds of the processor and kilobytes on the disk."""
    found, marks, before = list[tuple[int, float, float]](), {lines // 10, lines // 4, lines // 2, lines}, 0
    async with opened as turn:
        taken = list[float]()
        for number in range(lines):
            began = time.process_time()
            await turn(number)
            taken.append(time.process_time() - began)
            if number + 1 in marks:
                size = sum(one.stat().st_size for one in (library / ".conversations").rglob("*") if one.is_file())
                done = found[-1][0] if found else 0
                found.append((number + 1, 1e3 * median(taken[-WINDOW:]), (size - before) / 1e3 / (number + 1 - done)))
                before = size
    return found


def main() -> None:
    """Measure both, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--roles", type=int, default=8)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    title = f"A scene of {given.roles} roles beside a talk of two"
    table = Table(
        "", "turns", "ms of the processor a turn", "beside the first mark", "kB on the disk a turn", title=title
    )
    for name in (f"scene of {given.roles}", "talk of two"):
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder)
            for one in NAMES:
                write_role(library, one.lower(), name=one)
            opened = scene(library, given.roles) if name.startswith("scene") else talk_of_two(library)
            rows = asyncio.run(measured(opened, library, given.lines))
        for turns, ms, kilobytes in rows:
            table.add_row(name, f"{turns:,}", f"{ms:.1f}", f"{ms / rows[0][1]:.2f}", f"{kilobytes:.1f}")
    Console().print(table)
    if given.write:
        page.put("scenes", f"{page.markdown(table)}\n\n{page.machine('langgraph')}")


if __name__ == "__main__":
    main()
