"""What importing a book of lore costs by the number of its entries: alone into a role, and in a card.

Given are processor time, calls of functions of Python, and files flushed to the disk: of the whole, and of an entry
more. The time of a command is that of a process in which everything is imported.

Run: python benchmarks/large_books.py [--entries 10 100 1000 5000]
"""

import argparse
import os
import sys
import tempfile
import time
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from dramaturg.cli.app import main as command
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.library import Library


class Cost(NamedTuple):
    """What an import has cost."""

    entries: int
    seconds: float
    calls: int
    flushed: int


def book(number: int) -> dict[str, Any]:
    """A book of so many entries, with what people write: emoji, and spaces at the end of a line."""
    entries = [
        {
            "keys": [f"berth {one}"],
            "content": f"Berth {one} \nis taken. \U0001f6a2",
            "name": f"b{one}",
            "enabled": True,
            "insertion_order": 1,
            "extensions": {},
        }
        for one in range(number)
    ]
    return {"entries": entries, "extensions": {}}


def imported(kind: str, number: int, *, counting: bool) -> Cost:
    """Import a book into a role, or a card that holds it, and count calls, which takes time of its own, or do not."""
    card = {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Ada", "character_book": book(number)}}
    calls, flushed = 0, list[int]()

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    with tempfile.TemporaryDirectory() as folder, patch.object(os, "fsync", flushed.append):
        file = Path(folder, f"{number}.json")
        file.write_bytes(dumped(card if kind == "card" else book(number)))
        if kind == "book":
            Library(Path(folder)).create("ada", RoleCard(name="Ada"))
            flushed.clear()
        sys.argv = ["dramaturg", "import", *(["ada"] if kind == "book" else []), str(file), "--library", folder]
        sys.setprofile(count if counting else None)
        began = time.process_time()
        try:
            with redirect_stdout(StringIO()):
                command()
        except SystemExit as ended:
            if ended.code:
                raise
        finally:
            sys.setprofile(None)
        return Cost(number, time.process_time() - began, calls, len(flushed))


def measured(kind: str, number: int) -> Cost:
    """Import twice: timed, and counted."""
    return imported(kind, number, counting=False)._replace(calls=imported(kind, number, counting=True).calls)


def main() -> None:
    """Print a row for each number, for either kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="+", default=[10, 100, 1000, 5000])
    numbers = parser.parse_args().entries
    table = Table("import of", "entries", "processor s", "calls", "flushed", "an entry more: ms", "calls", "flushed")
    for kind in ("card", "book"):
        measured(kind, 1)  # imports, and what is made once
        costs = [measured(kind, number) for number in numbers]
        for before, one in pairwise([Cost(0, 0, 0, 0), *costs]):
            more = [""] * 3
            if before.entries:
                entries = one.entries - before.entries
                more = [
                    f"{1000 * (one.seconds - before.seconds) / entries:.2f}",
                    f"{(one.calls - before.calls) / entries:.0f}",
                    f"{(one.flushed - before.flushed) / entries:.1f}",
                ]
            table.add_row(kind, f"{one.entries:,}", f"{one.seconds:.2f}", f"{one.calls:,}", f"{one.flushed:,}", *more)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
