"""Headings and paragraphs of a Markdown document, by their offsets."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Possessive quantifiers: a run of a million spaces is read once, not once from every space in it.
PARAGRAPH = re.compile(r"^[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+", re.MULTILINE)

MAYBE_HEADING = re.compile(r"^ {0,3}(?:#|=|-++[ \t]*+$)", re.MULTILINE)


class Section(NamedTuple):
    """The text under one heading, up to the next heading of any level; the first section may have no heading.

    `title` to `title_end` is the heading's line, `body` to `end` the text under it, as offsets into the document.
    """

    headings: tuple[str, ...]
    level: int
    title: int
    title_end: int
    body: int
    end: int


class _Heading(NamedTuple):
    title: str
    level: int
    first_line: int
    next_line: int


def plain(text: str) -> str:
    r"""The document with "\n" as its only line end, and not one character longer or shorter.

    CRLF, CR and form feed end a line; a byte order mark is a space, so that a heading may follow it.
    """
    lines = text.replace("\r\n", " \n").replace("\r", "\n").replace("\f", "\n")
    return " " + lines[1:] if lines.startswith("\ufeff") else lines


def sections(lines: str) -> list[Section]:
    """Cut a document, as `plain` gives it, at its headings; what stands before the first one has no headings."""
    starts = [0, *(match.end() for match in re.finditer("\n", lines)), len(lines)]
    found = _headings(lines)
    bounds = [starts[heading.first_line] for heading in found] + [len(lines)]
    cut = [Section((), 0, 0, 0, 0, bounds[0])]
    path: list[_Heading] = []
    for heading, start, end in zip(found, bounds, bounds[1:], strict=False):
        path = [*(above for above in path if above.level < heading.level), heading]
        titles = tuple(above.title for above in path)
        line = lines[start : starts[heading.first_line + 1]]
        title, title_end = start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        cut.append(Section(titles, heading.level, title, title_end, starts[heading.next_line], end))
    return cut


def paragraphs(text: str, lines: str, section: Section) -> Iterator[tuple[int, int]]:
    """Paragraphs of a section: runs of non-blank lines, without the line break after the last one."""
    for match in PARAGRAPH.finditer(lines, section.body, section.end):
        start, end = match.span()
        yield start, end - text.startswith("\r\n", end - 1)


@cache
def _parser() -> MarkdownIt:
    # Only blocks are asked for: what stands inside a line is not parsed. Link definitions stay text.
    parser = MarkdownIt("commonmark").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _headings(lines: str) -> list[_Heading]:
    if not MAYBE_HEADING.search(lines):
        return []  # a long dialogue without headings need not wait for the parser
    tokens = _parser().parse(lines)
    # Each opening token is followed by the token that holds the title.
    return [_heading(opening, title) for opening, title in pairwise(tokens) if _is_heading(opening, title)]


def _is_heading(opening: Token, title: Token) -> bool:
    """Headings of the document itself, not of a quotation or a list; with a title; underlined ones of one line.

    CommonMark makes a heading of a whole paragraph above a line of dashes. In prose that line is meant as a rule.
    """
    if opening.type != "heading_open" or opening.level or opening.map is None or not title.content.strip():
        return False
    return opening.markup not in ("=", "-") or opening.map[1] - opening.map[0] == 2


def _heading(opening: Token, title: Token) -> _Heading:
    first_line, next_line = opening.map or (0, 0)
    return _Heading(title.content.strip(), int(opening.tag[1]), first_line, next_line)
