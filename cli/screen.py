"""Where the command prints: results on standard output, progress and errors beside it.

Names, texts and settings come from people and models, so nothing is read as markup unless a call says so.
"""

import json
from typing import Any

from rich.console import Console

EXCERPT = 160  # letters of a text that a table shows
screen = Console(markup=False, emoji=False, highlight=False)
errors = Console(stderr=True, markup=False, emoji=False, highlight=False)


def print_json(value: Any) -> None:
    """Print a value for a program: one JSON document a line, in ASCII, whatever ends a line elsewhere."""
    print(json.dumps(value))  # noqa: T201


def read(prompt: str) -> str | None:
    """A line from the user; None at the end of the input."""
    try:
        return screen.input(prompt).strip()
    except (EOFError, RuntimeError):  # the input has ended, or was closed before it began
        return None


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT].rstrip()} …"


def printable(text: str) -> str:
    """Take out what would move the cursor or talk to the terminal."""
    return "".join(character for character in text if character.isprintable() or character in "\n\t")
