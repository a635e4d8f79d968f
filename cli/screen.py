"""Where the command prints: results on standard output, progress and errors beside it.

Names, texts and settings come from people and models, so nothing is read as markup unless a call says so.
"""

import json
from typing import Any

from rich.console import Console

screen = Console(markup=False, emoji=False, highlight=False)
errors = Console(stderr=True, markup=False, emoji=False, highlight=False)


def print_json(value: Any) -> None:
    """Print a value for a program: one JSON document a line, in ASCII, whatever ends a line elsewhere."""
    print(json.dumps(value))  # noqa: T201


def printable(text: str) -> str:
    """Take out what would move the cursor or talk to the terminal."""
    return "".join(character for character in text if character.isprintable() or character in "\n\t")
