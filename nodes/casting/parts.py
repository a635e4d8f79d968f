"""Which paragraphs of texts are about a character, and the parts that are asked about together.

Answers are kept by paragraph, and a part is made of those that have none: of a text that was changed only what is new
is asked about, wherever it stands.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from langchain_core.language_models import BaseChatModel

from dramaturg.models.clients import is_embedded
from dramaturg.models.servers.forms import about_tokens
from dramaturg.nodes.casting.characters import Character, names_pattern, scenes_with
from dramaturg.nodes.casting.quotes import Paragraph, paragraphs_in
from dramaturg.nodes.graph.facts import on_a_line
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.nodes.text.splitter import plain, sections, split_document
from dramaturg.stores.texts.form import SourceText

SMALL, LARGE = 600, 2_400
"""Tokens, about, of the paragraphs that are asked about in one question: of the embedded model, whose answers take long
and are the poorer the more it reads, and of others."""
LONGEST_PARAGRAPH = 4_000
"""Characters of one; what is longer is cut where a sentence ends."""
BEFORE, AFTER = 600, 1_200
"""Characters before and after a paragraph in which the character is there: what stands there may be about it, too."""
APART = 8
"""Characters between two paragraphs of which nothing is left out."""


class Block(NamedTuple):
    """A paragraph of a text, or a piece of a long one."""

    document: str
    headings: tuple[str, ...]
    begin: int
    text: str

    @property
    def end(self) -> int:
        """Where it ends in its text."""
        return self.begin + len(self.text)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where its sentences begin and end."""
        return [*sentences(self.text)]


class Part(NamedTuple):
    """Blocks of one text that are asked about together, in their order."""

    blocks: tuple[Block, ...]
    tokens: int
    """As many as it may have, about."""

    @property
    def sentences(self) -> list[tuple[Block, int, int]]:
        """The sentences of its blocks, as they are numbered, each by its span in its block."""
        return [(block, begin, end) for block in self.blocks for begin, end in block.spans]

    @property
    def shown(self) -> str:
        """The sentences, numbered, under their headings; an ellipsis stands where something is left out."""
        lines, number, last = list[str](), 0, None
        for block in self.blocks:
            if last is None or block.headings != last.headings:
                lines += [" > ".join(block.headings)] if block.headings else []
            elif block.begin > last.end + APART:
                lines.append("…")
            for begin, end in block.spans:
                number += 1
                lines.append(f"[{number}] {on_a_line(block.text[begin:end])}")
            last = block
        return "\n".join(lines)

    def halves(self) -> list["Part"]:
        """It as two parts; itself where it has a single block."""
        middle = len(self.blocks) // 2
        return [Part(some, self.tokens // 2) for some in (self.blocks[:middle], self.blocks[middle:]) if some]


def blocks_about(text: SourceText, who: Character, *, first_person: bool, spoken: Sequence[int] = ()) -> list[Block]:
    """Return the paragraphs of a text in which a character is named or speaks, and those beside them.

    Args:
        text: the text.
        who: the character.
        first_person: whether it tells the text; all paragraphs are about it then.
        spoken: where something stands that it says, or may say, sorted.
    """
    paragraphs = paragraphs_in(text.text)
    if first_person:
        about = [not one.heading for one in paragraphs]
    else:
        pattern = names_pattern(who, capitals=text.form == "script")
        there = [
            not one.heading and (_any_in(spoken, one) or bool(pattern.search(text.text, one.begin, one.end)))
            for one in paragraphs
        ]
        after = _near(paragraphs, there, AFTER)
        before = _near([*reversed(paragraphs)], [*reversed(there)], BEFORE)
        about = [one or other for one, other in zip(after, reversed(before), strict=True)]
    return [*_blocks(text, [one for one, wanted in zip(paragraphs, about, strict=True) if wanted])]


def _any_in(places: Sequence[int], paragraph: Paragraph) -> bool:
    at = bisect_left(places, paragraph.begin)
    return at < len(places) and places[at] < paragraph.end


def _near(paragraphs: Sequence[Paragraph], there: Sequence[bool], reach: int) -> list[bool]:
    """Which paragraphs are among some, or behind one of them within reach, under the same heading."""
    found, left = list[bool](), 0
    for paragraph, one in zip(paragraphs, there, strict=True):
        left = 0 if paragraph.heading else reach if one else left - (paragraph.end - paragraph.begin)
        found.append(one or left > 0)
    return found


def _blocks(text: SourceText, paragraphs: Iterable[Paragraph]) -> Iterator[Block]:
    cut = sections(plain(text.text))
    under = 0
    for begin, end, _ in paragraphs:
        while under + 1 < len(cut) and cut[under + 1].title <= begin:
            under += 1
        pieces = [(0, end - begin)]
        if end - begin > LONGEST_PARAGRAPH:
            parts = split_document(
                text.text[begin:end], method="fixed", fixed_length=LONGEST_PARAGRAPH, fixed_overlap=0
            )
            pieces = [(one.start, one.end) for one in parts]
        for first, last in pieces:
            yield Block(text.name, cut[under].headings, begin + first, text.text[begin + first : begin + last])


def said_at(text: SourceText, who: Character) -> list[int]:
    """Where something begins that a character says in prose, by its scenes."""
    starts = [0, *(one.end() for one in re.finditer("\n", text.text))]
    lines = (line for _, scene in scenes_with([text], who) for line in scene.lines if line.speaker == who.name)
    numbers = {int(line.at.removeprefix("line ")) for line in lines} if text.form == "prose" else set()
    return [starts[number - 1] for number in sorted(numbers) if number <= len(starts)]


def parts_of(blocks: Iterable[Block], model: str | BaseChatModel) -> list[Part]:
    """Put blocks together, one text's at a time, as many as a model is asked about in one question."""
    most = SMALL if is_embedded(model) else LARGE
    found, tokens = list[list[Block]](), 0
    for block in blocks:
        more = about_tokens(block.text)
        if not found or found[-1][0].document != block.document or tokens + more > most:
            found.append([])
            tokens = 0
        found[-1].append(block)
        tokens += more
    return [Part(tuple(one), most) for one in found]
