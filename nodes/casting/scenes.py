"""Scenes of a prose text from its attributed quotations: who says what to whom, under which heading."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from dramaturg.nodes.casting.quotes import Paragraph, Quote, one_line, paragraphs_in
from dramaturg.stores.texts.form import Line, Scene

LONG = 1500
"""Characters of narration between two quotations after which it is another scene."""
LOST = 2
"""Turns in a row of nobody known, after more of which what follows is another scene."""


def scenes_of(text: str, quotes: Sequence[Quote]) -> list[Scene]:
    """Make scenes of attributed quotations.

    What one says in a paragraph, and in the next ones as long as it goes on, is a line. What nobody is known to say is
    left out; where more than two such turns follow each other the scene ends, so that no line seems to answer another
    one that stands far before it.

    Args:
        text: in which the quotations stand.
        quotes: as `attributed` gives them.

    Returns:
        Scenes with at least one line, each with its heading for a title; others under the same heading are numbered.
    """
    paragraphs, titles = paragraphs_in(text), Counter[str]()
    breaks = [one.start() for one in re.finditer("\n", text)]
    found = list[Scene]()
    for title, turns in _stretches(text, paragraphs, quotes):
        lines = [_line(turn, 1 + bisect_right(breaks, turn[0].begin)) for turn in turns if turn[0].speaker]
        if lines:
            titles[title] += 1
            number = f" ({titles[title]})" if titles[title] > 1 else ""
            found.append(Scene(f"{title}{number}".strip(), tuple(lines)))
    return found


def _stretches(
    text: str, paragraphs: Sequence[Paragraph], quotes: Sequence[Quote]
) -> Iterator[tuple[str, list[list[Quote]]]]:
    """The turns of each scene, with the heading above it."""
    headings = [
        (at, one_line(text[one.begin : one.end].lstrip("# "))) for at, one in enumerate(paragraphs) if one.heading
    ]
    places = [at for at, _ in headings]
    turns, under, lost, told = list[list[Quote]](), 0, 0, 0
    last: Quote | None = None
    for turn in _turns(quotes):
        here = bisect_right(places, turn[0].paragraph)
        told = turn[0].begin - last.end if last else 0
        if turns and (here != under or told > LONG or (lost > LOST and turn[0].speaker)):
            yield headings[under - 1][1] if under else "", turns
            turns = []
        lost = 0 if turn[0].speaker else lost + 1
        turns.append(turn)
        under, last = here, turn[-1]
    if turns:
        yield headings[under - 1][1] if under else "", turns


def _turns(quotes: Sequence[Quote]) -> Iterator[list[Quote]]:
    """Quotations that one says at a time: those of a paragraph, and what goes on with them."""
    turn = list[Quote]()
    for (_, _), said in groupby(quotes, key=lambda one: (one.paragraph, one.speaker)):
        own = list(said)
        if turn and not (own[0].goes_on and own[0].speaker == turn[-1].speaker):
            yield turn
            turn = []
        turn += own
    if turn:
        yield turn


def _line(turn: Sequence[Quote], number: int) -> Line:
    joined = one_line(" ".join(one.text for one in turn))
    return Line(turn[0].speaker, joined, f"line {number}", turn[0].to)
