"""What a turn of each method goes through beside the model, in counts, which are the same on every machine.

Counted are, in the last turn of a conversation whose window is full: files of this package that it enters, what is
given to threads, reads and writes of the conversation's file, the role's files that are read, graphs that are compiled
and types that are looked at; and the SQL statements of the second turn and of the last. The database of a shared
library is counted by postgres_turns.py.

Run: python benchmarks/turn_counts.py [METHOD …] [--turns 24] [--files]
"""

import argparse
import asyncio
import sys
import tempfile
import threading
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from langgraph.graph import StateGraph
from rich.console import Console
from rich.table import Table
from turns import KINDS, QUESTIONS, prepare, surroundings

from dramaturg.conversations.opening import open_conversation
from dramaturg.stores import role as role_files
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.file import ConversationFile
from dramaturg.workflows.methods import context_type

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("conversations", "models", "nodes", "prompts", "stores", "workflows")
COUNTED: dict[str, list[tuple[Any, str]]] = {
    "given to threads": [(asyncio, "to_thread")],
    "by anybody": [],
    "reads": [(ConversationFile, "read")],
    "writes": [(ConversationFile, "write")],
    "files of the role": [(role_files, "read_bytes")],
    "compiled, types": [(StateGraph, "compile"), (typing, "get_type_hints")],
}
"""Columns of the table, and the functions whose calls they count; libraries give the loop's threads something, too."""


@contextmanager
def counted(counts: Counter[str]) -> Iterator[None]:
    """Count calls."""

    def counting(column: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            counts[column] += 1
            return real(*given, **named)

        return call

    with ExitStack() as patches:
        for column, functions in COUNTED.items():
            for owner, name in functions:
                patches.enter_context(patch.object(owner, name, counting(column, getattr(owner, name))))
        yield


class Counting(ThreadPoolExecutor):
    """Threads of an event loop, and how often they were given something."""

    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self.counts = counts

    def submit(self, *given: Any, **named: Any) -> Any:
        """Count, and do it."""
        self.counts["by anybody"] += 1
        return super().submit(*given, **named)


@contextmanager
def noted(files: set[str]) -> Iterator[None]:
    """Note the files of this package that are entered, in this thread and in those that begin from now on."""

    def profile(frame: FrameType, event: str, _: Any) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in FOLDERS:
            files.add(str(file.relative_to(ROOT)))

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


async def measured(method: str, turns: int) -> tuple[set[str], Counter[str], list[int]]:
    """Talk for so many turns: the files and calls of the last one, and the statements of each."""
    files, counts, statements, said = set[str](), Counter[str](), list[int](), list[str]()
    async with open_conversation(method, context_type(method)(role="beethoven"), "counted") as talk:
        assert isinstance(talk.saver, ConversationSaver)
        connection = talk.saver._file._connection
        assert connection is not None
        connection.set_trace_callback(said.append)
        for number in range(turns):
            said.clear()
            question = f"{QUESTIONS[number % len(QUESTIONS)]} ({number})"
            if number < turns - 1:
                await talk.take_turn(question)
            else:
                asyncio.get_running_loop().set_default_executor(Counting(counts))
                with counted(counts), noted(files):
                    await talk.take_turn(question)
            statements.append(len(said))
    return files, counts, statements


def main() -> None:
    """Print a row for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=KINDS, metavar="METHOD")
    parser.add_argument("--turns", type=int, choices=range(2, 1000), metavar="N", default=24)
    parser.add_argument("--files", action="store_true", help="name the files that are entered")
    given = parser.parse_args()
    table = Table("method", "files", *COUNTED, "statements, turn 2", "at the last")
    with tempfile.TemporaryDirectory() as folder, surroundings(Path(folder)):
        prepare(Path(folder), list(given.methods), 0, 0)
        for method in given.methods:
            files, counts, statements = asyncio.run(measured(method, given.turns))
            calls = (counts[column] for column in COUNTED)
            table.add_row(method, *map(str, (len(files), *calls, statements[1], statements[-1])))
            if given.files:
                print(method, *sorted(files), sep="\n  ")
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
