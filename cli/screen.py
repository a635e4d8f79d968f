"""Where the command prints: results on standard output, progress and errors beside it."""

import json
from typing import Any

from rich.console import Console

screen = Console()
errors = Console(stderr=True)


def print_json(value: Any) -> None:
    """Print a value for a program: one JSON document a line."""
    print(json.dumps(value, ensure_ascii=False))  # noqa: T201
