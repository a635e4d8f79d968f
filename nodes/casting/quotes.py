"""Quotations of a prose text: what stands between the marks of direct speech, in any of the usual styles."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import NamedTuple

PAIRS: Mapping[str, str] = {
    "“": "”",
    '"': '"',
    "„": "“”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "‘": "’",
    "'": "'",
}
"""What opens a quotation, and what may close it."""
SINGLE = "‘'"
"""Marks that are apostrophes, too: they open speech only in a text that has hardly any other marks."""
DASHES = "—–―"
DASHED = 3
"""Paragraphs that begin with a dash, from which on a dash is taken for a mark of speech."""
BROKEN = 0.8
"""Share of lines within blocks that end as sentences do, from which on each line is a paragraph."""
LAST = ",.!?…—–-;:，。！？；：~～、"
"""What speech ends with, before its closing mark."""
ENDS = ".!?…。！？”’」』»\"':：—"
LINE = re.compile(r"[^\n]+")
HEADING = re.compile(
    r"#|\s*(?:(?:chapter|part|book|act|scene)\s+(?:[ivxlcdm]+|\d+|one|two|three|the)\b.{0,60}$"
    r"|第[一二三四五六七八九十百千零〇\d]+[章回节幕卷部].{0,40}$|제?\s*\d+\s*[장막부화].{0,40}$)",
    re.IGNORECASE,
)
"""How a heading begins: as Markdown has it, or as a chapter of a plain text is called."""
NEAR = 20
"""Characters before a mark that are looked at."""
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
INSET = re.compile(rf"\s[{DASHES}]\s*")


class Paragraph(NamedTuple):
    """Where a paragraph stands."""

    begin: int
    end: int
    heading: bool


class Quote(NamedTuple):
    """A quotation, and who says it to whom, as far as somebody knows."""

    begin: int
    end: int
    """Where it stands with its marks."""
    text: str
    """What is said, on one line, without the marks."""
    paragraph: int
    """The number of its paragraph, from 0."""
    goes_on: bool = False
    """Whether it goes on with what the paragraph before has not closed."""
    speaker: str = ""
    """The name of a `Person`; empty: nobody knows."""
    to: str = ""
    """To whom, by the name of a `Person`; empty: nobody knows."""
    how: str = ""
    """What tells the speaker: `verb`, `beat`, `pronoun`, `turns`, `called`, `model`; empty where nothing does."""
    mention: str = ""
    """The words that stand for the speaker beside it, such as `the landlady` or `he`."""


def paragraphs_in(text: str) -> list[Paragraph]:
    """Paragraphs between blank lines, or one a line in a text that is not wrapped; a heading is one."""
    lines = [found.span() for found in LINE.finditer(text) if not found.group().isspace()]
    inner = [text[one[0] : one[1]].rstrip()[-1] for one, after in pairwise(lines) if after[0] == one[1] + 1]
    apart = bool(inner) and sum(last in ENDS for last in inner) >= BROKEN * len(inner)
    found = list[Paragraph]()
    for begin, end in lines:
        last, heading = found[-1] if found else None, bool(HEADING.match(text, begin, end))
        if last and begin == last.end + 1 and not (apart or heading or last.heading):
            found[-1] = last._replace(end=end)
        else:
            found.append(Paragraph(begin, end, heading))
    return found


def quotes_in(text: str, paragraphs: list[Paragraph] | None = None) -> list[Quote]:
    """Find the quotations of a prose text, in time that is linear in it; those within another one are a part of it.

    A mark that is not closed in its paragraph opens a quotation to the paragraph's end; where the next one begins with
    an opening mark, that goes on with it. Words between marks that nobody says, a title or a word in doubt, are none.

    Args:
        text: Markdown.
        paragraphs: of the text, if they are known.

    Returns:
        Quotations in their order, without speakers.
    """
    where = paragraphs_in(text) if paragraphs is None else paragraphs
    openers, dashed = _openers(text, where), _dashed(text, where)
    found, left_open = list[Quote](), ""
    for number, paragraph in enumerate(where):
        if paragraph.heading:
            left_open = ""
            continue
        first = _first(text, paragraph)
        quote = partial(_quote, text, number)
        if dashed and text[first] in DASHES:
            found += (quote(begin, end, 0, False) for begin, end in _after_dash(text, first, paragraph.end))
            left_open = ""
            continue
        goes_on, left_open = bool(left_open) and text[first] == left_open, ""
        for begin, end in _between_marks(text, paragraph, openers):
            closed = end > begin + 1 and text[end - 1] in PAIRS[text[begin]]
            if closed and not _said(text, begin, end, paragraph):
                continue
            found.append(quote(begin, end, 1 if closed else 2, goes_on and begin == first))
            left_open = "" if closed else text[begin]
    return [one for one in found if one.text]


def _first(text: str, paragraph: Paragraph) -> int:
    """Where the first sign of a paragraph stands that is no space and no emphasis."""
    at = paragraph.begin
    while at < paragraph.end - 1 and (text[at].isspace() or text[at] in "_*>"):
        at += 1
    return at


def _openers(text: str, paragraphs: list[Paragraph]) -> str:
    """The marks that open speech: single ones only where most paragraphs that begin with a mark begin with them."""
    first = [text[_first(text, one)] for one in paragraphs]
    single, double = sum(one in SINGLE for one in first), sum(one in PAIRS and one not in SINGLE for one in first)
    return "".join(PAIRS) if single > double else "".join(one for one in PAIRS if one not in SINGLE)


def _dashed(text: str, paragraphs: list[Paragraph]) -> bool:
    return sum(text[_first(text, one)] in DASHES for one in paragraphs) >= DASHED


def _between_marks(text: str, paragraph: Paragraph, openers: str) -> Iterator[tuple[int, int]]:
    """The outermost quotations of a paragraph; one without a closing mark ends with the paragraph."""
    marks = re.compile(f"[{re.escape(openers)}]")
    at, looked = paragraph.begin, set[str]()
    while found := marks.search(text, at, paragraph.end):
        begin = found.start()
        if not _opens(text, begin, paragraph):
            at = begin + 1
            continue
        at = _closing(text, begin, paragraph.end, looked)
        yield begin, at


def _opens(text: str, at: int, paragraph: Paragraph) -> bool:
    """Whether a mark opens a quotation: one that may close, too, does so only before a word and not behind one."""
    before = text[at - 1] if at > paragraph.begin else " "
    after = text[at + 1] if at + 1 < paragraph.end else " "
    if text[at] in "\"'»‘":
        return not after.isspace() and (not before.isalnum() or bool(CJK.match(before))) and before not in LAST[:4]
    return True


def _closing(text: str, begin: int, end: int, looked: set[str]) -> int:
    """The end of a quotation with its closing mark; the end of the paragraph where there is none."""
    opener, closers, deep = text[begin], PAIRS[text[begin]], 0
    if opener in SINGLE:
        return _closing_single(text, begin, end, looked)
    for found in re.compile(f"[{re.escape(opener + closers)}]").finditer(text, begin + 1, end):
        at, mark = found.start(), found.group()
        after = text[at + 1] if at + 1 < end else " "
        if opener == '"':
            # One that stands before a word and behind a space opens another quotation: the first was never closed.
            if not (text[at - 1].isspace() and after.isalnum()):
                return at + 1
        elif mark in closers:
            deep -= 1
            if deep < 0:
                return at + 1
        else:
            deep += 1
    return end


def _closing_single(text: str, begin: int, end: int, looked: set[str]) -> int:
    """The end of a quotation between single marks: the first mark behind what speech ends with, or that is likely one.

    `looked` has the marks for which it was looked to the paragraph's end in vain: not so far for each of them.
    """
    opener, closers, likely = text[begin], PAIRS[text[begin]], end
    for found in re.compile(f"[{re.escape(opener + closers)}]").finditer(text, begin + 1, end):
        at, mark = found.start(), found.group()
        if mark in closers and not (text[at + 1] if at + 1 < end else " ").isalnum():
            if text[at - 1] in LAST:
                return at + 1
            likely = min(likely, at + 1)
            if opener in looked:
                return likely
        elif mark == opener and likely < end:
            return likely
    looked.add(opener)
    return likely


def _said(text: str, begin: int, end: int, paragraph: Paragraph) -> bool:
    """Whether words between marks are speech, and no title or word in doubt: these stand in a sentence as its words."""
    before, after = text[max(paragraph.begin, begin - NEAR) : begin].rstrip(), text[end : end + 1]
    if not before or text[end - 2] in LAST or before[-1] in LAST + "”’」』»\"'":
        return True
    return not (before[-1].isalnum() or before[-1] in "(（") and not after.isalnum()


def _after_dash(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """What is said in a paragraph that begins with a dash: every other piece between dashes is of who tells it."""
    at = begin + 1
    for number, found in enumerate([*INSET.finditer(text, begin + 1, end), None]):
        if number % 2 == 0:
            yield at, found.start() if found else end
        at = found.end() if found else end


def _quote(text: str, paragraph: int, begin: int, end: int, marks: int, goes_on: bool) -> Quote:
    """A quotation; `marks`: 0 none, 1 both, 2 an opening one alone."""
    inner = text[begin + (marks > 0) : end - (marks == 1)]
    return Quote(begin, end, one_line(inner), paragraph, goes_on)


def one_line(text: str) -> str:
    """A text on one line; lines of Chinese or Japanese are joined without a space."""
    return re.sub(
        r"(?<=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef])",
        "",
        " ".join(text.split()),
    )
