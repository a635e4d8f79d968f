"""Evidence of corrective retrieval as tables: the verdicts, the action, and what the reply rests on."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dramaturg.cli.screen import excerpt, printable


def corrective_views(evidence: Mapping[str, Any]) -> Iterable[RenderableType]:
    """The tables of CRAG."""
    table = Table("confidence", "verdict", "passage", title=f"Retrieved: {evidence['action']}", title_justify="left")
    for one in evidence["retrieved"]:
        table.add_row(number(one["confidence"]), one["verdict"], Text(f"{place(one)}\n{excerpt(one['text'])}"))
    yield table
    yield Text(f"Web search: {searched(evidence)}", style="dim")
    table = Table("confidence", "strip", title="Knowledge: what was kept", title_justify="left")
    for one in evidence["knowledge"]:
        table.add_row(number(one["confidence"]), Text(f"{place(one)}\n{excerpt(one['text'])}"))
    yield table


def searched(evidence: Mapping[str, Any]) -> str:
    """How the web search went, and for what."""
    error = f" ({evidence['web_error']})" if "web_error" in evidence else ""
    query = f", for {printable(evidence['query'])}" if "query" in evidence else ""
    return f"{evidence['web_search']}{error}{query}"


def place(one: Mapping[str, Any]) -> str:
    """Where a text is from."""
    return " > ".join(one["headings"][1:]) or printable(one["source"])


def number(confidence: float | None) -> str:
    """A confidence, if there is one."""
    return "–" if confidence is None else f"{confidence:.3f}"
