"""The Adaptive Context-aware Text Splitter of AMADEUS (3.1), and the two splitters it is compared with (Table 1)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dramaturg.nodes.markdown_sections import Section, paragraphs, plain, sections
from dramaturg.nodes.sliding_window import Window, slide
from dramaturg.nodes.text_lengths import Ruler, Unit, ruler

Method = Literal["fixed", "ats", "acts"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk c_i and its hierarchical context H_i (AMADEUS, Equation 5).

    `text` is `document[start:end]` of the document as given; `headings` are the titles above it, outermost first.
    """

    text: str
    headings: tuple[str, ...]
    start: int
    end: int


def split_document(
    text: str,
    *,
    method: Method = "acts",
    unit: Unit = "characters",
    longest: int | None = None,
    fixed_length: int = 1000,
    fixed_overlap: int = 100,
) -> list[Passage]:
    """Split a persona document into passages (AMADEUS, Equations 2 to 5).

    Args:
        text: the document, in Markdown or without any markup.
        method: "acts": length l_max and overlap l_max / 2, within sections, with headings; "ats": the same over the
            whole document, without headings; "fixed": `fixed_length` and `fixed_overlap`, without headings.
        unit: what lengths are counted in.
        longest: the most that l_max may be, however long a paragraph is; None: no limit, as in the paper.
        fixed_length: the length of a passage of the method "fixed", in the unit.
        fixed_overlap: the overlap of passages of the method "fixed", in the unit.

    Returns:
        Passages in the order of the document. None is longer than the length, and no text is left out: each character
        that is no space is in a passage or, with "acts", in the heading of one.

    Raises:
        ValueError: there is no such method or unit, or the sizes leave no room for a passage.
    """
    _check(method, longest, fixed_length, fixed_overlap)
    measure, lines = ruler(text, unit), plain(text)
    if not lines.strip():
        return []
    cut = sections(lines)
    fixed = Window(fixed_length, fixed_overlap)
    window = fixed if method == "fixed" else _adaptive(text, lines, cut, measure, longest)
    parts = parts_of(lines, cut) if method == "acts" else [((), 0, len(text))]
    return [
        Passage(text[begin:stop], headings, begin, stop)
        for headings, start, end in parts
        for begin, stop in slide(text, start, end, window, measure)
    ]


def longest_paragraph(text: str, unit: Unit = "characters") -> int:
    """The length l_max of the longest paragraph (AMADEUS, Equation 3); 0 if the document has none.

    A paragraph is a run of lines that are neither blank nor a heading, without the line break after the last one.

    Raises:
        ValueError: there is no such unit.
    """
    lines = plain(text)
    return _longest(text, lines, sections(lines), ruler(text, unit))


def _longest(text: str, lines: str, cut: Sequence[Section], measure: Ruler) -> int:
    found = (span for section in cut for span in paragraphs(text, lines, section))
    return max((measure.length(start, end) for start, end in found), default=0)


def _adaptive(text: str, lines: str, cut: Sequence[Section], measure: Ruler, longest: int | None) -> Window:
    """l_max, and l_o as half of it; the longest heading stands in where a document has headings only."""
    l_max = _longest(text, lines, cut, measure) or max(
        measure.length(section.title, section.title_end) for section in cut
    )
    if longest is not None:
        l_max = min(l_max, longest)
    return Window(l_max, l_max // 2)


def parts_of(lines: str, cut: Sequence[Section]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """What windows slide over: the text of each section, or its heading if nothing stands under that."""
    levels = [section.level for section in cut[1:]] + [0]
    for section, next_level in zip(cut, levels, strict=True):
        if lines[section.body : section.end].strip():
            yield section.headings, section.body, section.end
        elif next_level <= section.level:
            yield section.headings, section.title, section.title_end


def _check(method: str, longest: int | None, fixed_length: int, fixed_overlap: int) -> None:
    if method not in ("fixed", "ats", "acts"):
        raise ValueError(f'There is no splitter {method!r}: use "acts", "ats" or "fixed".')
    if longest is not None and longest < 1:
        raise ValueError(f"A passage cannot have the length {longest}: set longest to 1 or more, or to None.")
    if fixed_length < 1:
        raise ValueError(f"A passage cannot have the length {fixed_length}: set fixed_length to 1 or more.")
    if not 0 <= fixed_overlap < fixed_length:
        raise ValueError(
            f"Passages of the length {fixed_length} cannot overlap by {fixed_overlap}: "
            f"set fixed_overlap to a number from 0 to {fixed_length - 1}."
        )
