"""What a report says, before it has a form: sections of texts and tables, which become Markdown and a page.

A screen shows the notes, and of the tables that have something for it the columns that they name
(`dramaturg.cli.evaluation.tables`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from markdown_it import MarkdownIt

MARKDOWN = MarkdownIt("commonmark", {"html": False})
NUMBER = re.compile(r"[\d−<—\[]")
"""What a number in a table begins with."""


class Cell(NamedTuple):
    """What stands in a table: a text, and what it leads to."""

    text: str
    grey: bool = False
    """Whether it is a number from which nothing is concluded."""
    leads: str = ""
    """The id of what is behind it, on the page."""
    file: str = ""
    """Where that lies beside the Markdown."""


Content = str | Cell | list[Cell]
"""Of a cell; what stands in a list is parted by commas."""
Cells = Iterable[Content]
"""A line of a table."""


class Note(NamedTuple):
    """A paragraph in Markdown that a screen shows, too."""

    text: str
    warns: bool = False
    """Whether it is no result, but what has to be known of the results."""


class Table(NamedTuple):
    """A table."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Content]]
    brief: Sequence[str] = ()
    """The heads of the columns that a screen shows."""
    title: str = ""
    """Over it on a screen."""


class Drawn(NamedTuple):
    """What is in the page alone: pictures, and all that was said."""

    html: Callable[[], str]


class Fold(NamedTuple):
    """Parts that a page shows when they are unfolded."""

    title: str
    parts: Sequence["Part"]
    id: str = ""
    level: int = 0
    """Of the heading that its title is; 0: it is none, and in the page alone."""


Part = str | Note | Table | Drawn | Fold
"""A text is a heading, a paragraph or a list, in Markdown."""
Sections = Mapping[str, Sequence[Part]]
"""The parts of a report by the names that its page lists them by."""


def table(heads: Sequence[str], *rows: Cells, brief: Sequence[str] = (), title: str = "") -> Table:
    """A whole table under its heads."""
    return Table(heads, [[*row] for row in rows], brief, title)


def as_markdown(parts: Iterable[Part]) -> Iterator[str]:
    """Write parts of a report as Markdown."""
    for one in parts:
        match one:
            case str():
                yield one
            case Note():
                yield one.text
            case Table():
                yield in_pipes(one.heads, *one.rows)
            case Fold() if one.level:
                yield from as_markdown([f"{'#' * one.level} {one.title}", *one.parts])


def in_pipes(heads: Sequence[str], *rows: Cells) -> str:
    """A table in Markdown."""
    return "\n".join(piped(row) for row in (heads, ["---"] * len(heads), *rows))


def piped(row: Cells) -> str:
    """A line of a table; what would end a cell does not."""
    texts = (", ".join(f"[{of.text}]({of.file})" if of.file else of.text for of in several(one)) for one in row)
    return "| " + " | ".join(" ".join(text.replace("|", "\\|").split()) for text in texts) + " |"


def several(one: Content) -> list[Cell]:
    """All that stands in a cell."""
    return one if isinstance(one, list) else [one if isinstance(one, Cell) else Cell(one)]


def text_of(one: Content) -> str:
    """The text of a cell alone."""
    return ", ".join(of.text for of in several(one))


def as_html(parts: Iterable[Part]) -> Iterator[str]:
    """Write parts of a report for its page; tags in them are text."""
    for one in parts:
        match one:
            case str() | Note():
                yield MARKDOWN.render(one if isinstance(one, str) else one.text)
            case Table():
                yield table_in_html(one)
            case Drawn():
                yield one.html()
            case Fold():
                named = f' id="{escape(one.id)}"' if one.id else ""
                title = escape(one.title)
                title = f"<h{one.level}>{title}</h{one.level}>" if one.level else title
                yield f"<details{named}><summary>{title}</summary>{''.join(as_html(one.parts))}</details>"


def table_in_html(one: Table) -> str:
    """A table; the first of a line names it."""
    heads = "".join(f"<th scope=col>{escape(head)}</th>" for head in one.heads)
    lines = []
    for first, *others in one.rows:
        cells = "".join(map(cell_in_html, others))
        lines.append(f"<tr><th scope=row>{escape(text_of(first))}</th>{cells}</tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def cell_in_html(one: Content) -> str:
    """A cell; the interval behind a mean is smaller."""
    there = several(one)
    kinds = ["number"] * any(NUMBER.match(of.text) for of in there) + ["withheld"] * any(of.grey for of in there)
    kind = f" class='{' '.join(kinds)}'" if kinds else ""
    return f"<td{kind}>{', '.join(map(linked, there))}</td>"


def linked(one: Cell) -> str:
    """A text, which leads to what is behind it."""
    text, _, interval = one.text.partition(" [")
    text = f'<a href="#{escape(one.leads)}">{escape(text)}</a>' if one.leads else escape(text)
    return f"{text} <small>[{escape(interval)}</small>" if interval else text
