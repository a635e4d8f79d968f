"""Tables of benchmarks in a page of `docs/research`, each between marks that name what wrote it."""

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
PAGE, MEMORY = (ROOT / "docs" / "research" / name for name in ("performance.md", "memory.md"))
sys.path.append(str(ROOT))  # where `studies` is, which is not installed


def put(name: str, text: str, into: Path = PAGE) -> None:
    """Put a text in the place of what a benchmark wrote before.

    Raises:
        ValueError: the page has no marks for it.
    """
    begin, end = f"<!-- {name}: written by benchmarks/{name}.py -->", f"<!-- {name}: end -->"
    page = into.read_text(encoding="utf-8")
    if begin not in page or end not in page:
        raise ValueError(f"{into.name} has no place for {name}: write {begin} and {end} where its tables shall be.")
    before, _, rest = page.partition(begin)
    into.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def markdown(table: Table) -> str:
    """A table that was printed, for a page."""
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    head, *rows = zip(*columns, strict=True)
    lines = [head, ("---",) * len(head), *rows]
    shown = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
    return f"{table.title}:\n\n{shown}" if table.title else shown


def machine(*packages: str) -> str:
    """The processors, Python, and packages with their versions."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor() or platform.machine()
    return ", ".join(
        [
            f"{os.cpu_count()} × {name}, Python {platform.python_version()}",
            *(f"{one} {version(one)}" for one in packages),
        ]
    )
