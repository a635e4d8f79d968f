"""What a command prints and writes: results on standard output, notes and errors beside it, files whole or not at all.

Names, texts and settings come from people and models, so nothing is read as markup unless a call says so.
"""

import json
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from dramaturg.stores.files import write_bytes

EXCERPT = 160  # letters of a text that a table shows
KINDS = ("bool", "float", "int", "str")  # which of several a value could not be
PICTURES = ("png", "svg", "pdf")
NUMBERS = ("krippendorff", "pandas", "pingouin", "scipy", "sklearn", "statsmodels")
"""What the numbers of evaluations are made with: the extra `evaluate`."""


class CleanConsole(Console):
    """The one door to the terminal: what would move the cursor or talk to it is taken out of all text.

    Only what rich itself does to the terminal, such as to colour a text, passes.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render as rich does, and clean each text."""
        for one in super().render(renderable, options):
            yield one if one.control else Segment(printable(one.text), one.style)


screen = CleanConsole(markup=False, emoji=False, highlight=False)
errors = CleanConsole(stderr=True, markup=False, emoji=False, highlight=False)


def print_json(value: Any) -> None:
    """Print a value for a program: one JSON document a line, in ASCII, so that no other character ends a line."""
    print(json.dumps(value))  # noqa: T201


def note(text: str, style: str = "") -> None:
    """Print what is no result, on standard error."""
    errors.print(text, style=style, soft_wrap=True)


class Notes(logging.Handler):
    """Prints warnings as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one."""
        note(record.getMessage(), "yellow")


def read(prompt: str) -> str | None:
    """A line from the user; None at the end of the input."""
    try:
        return screen.input(prompt).strip()
    except (EOFError, RuntimeError):  # the input has ended, or was closed before it began
        return None


def printable(text: str) -> str:
    """Take out what would move the cursor or talk to the terminal."""
    return "".join(character for character in text if character.isprintable() or character in "\n\t")


def one_line(text: object) -> str:
    """A printable text on one line; None is an empty one."""
    return printable(" ".join(str("" if text is None else text).split()))


def excerpt(text: object, most: int = EXCERPT) -> str:
    """The beginning of a text, on one line."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[:most].rstrip()} …"


def decimal(value: float | None, digits: int = 3) -> str:
    """A number in a table; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def table_of(title: str, *columns: Column | str) -> Table:
    """A table under a title that is no markup."""
    return Table(*columns, title=Text(title, style="table.title"), title_justify="left")


def sentence(error: Exception) -> str:
    """What went wrong, for a person."""
    if isinstance(error, ValidationError):
        problems = {f"{setting_name(e['loc'])}: {e['msg']}" for e in error.errors(include_url=False)}
        return "These settings cannot be used: " + "; ".join(sorted(problems)) + "."
    if isinstance(error, sqlite3.Error):
        return f"The conversations of this role are in use or damaged ({error}): see the folder .conversations."
    return str(error) or type(error).__name__


def setting_name(place: Sequence[int | str]) -> str:
    """The setting that a problem is about; after that of a part comes the part's."""
    names = takewhile(lambda one: isinstance(one, str) and one.isidentifier() and one not in KINDS, place)
    return ".".join(map(str, names)) or "all"


def require_place(file: Path) -> None:
    """Refuse a file that is a folder or would lie in one that is not there, before any work is done for it."""
    if file.is_dir() or not file.parent.is_dir():
        raise ValueError(f"{file} cannot be written: name a file in a folder that is there.")


def require_extra(extra: str, *packages: str) -> None:
    """Refuse what needs an extra, before any work is done for it.

    Raises:
        ValueError: one of its packages is not installed.
    """
    if missing := [name for name in packages if not find_spec(name)]:
        raise ValueError(f"{missing[0]} is not installed, which this needs: run pip install 'dramaturg[{extra}]'.")


def write_whole(file: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file whole or not at all, in place of what was there; a private one is its owner's alone."""
    require_place(file)
    write_bytes(file, data, within=file.parent, private=private)


def picture_format(file: Path, refusal: str) -> str:
    """The format of a picture by the suffix of its file; another one is refused in the given words, and a bad place."""
    form = file.suffix[1:].lower()
    if form not in PICTURES:
        raise ValueError(f"{refusal} as {file.name}: use .png, .svg or .pdf.")
    require_place(file)
    return form
