"""Texts of people and models in a picture: in letters that an installed font has, on lines that fit.

matplotlib's own font has no Chinese, Japanese or Korean.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from unicodedata import category

from rich.cells import cell_len

from dramaturg.cli.output import one_line

OWN = "DejaVu Sans"
"""The font that comes with matplotlib."""
NO_LETTERS = ("emoji", "last resort", "lastresort")
"""Fonts of pictures, and of a sign in place of each letter."""


class Fonts:
    """The fonts that a picture is labelled in: matplotlib's own, and the one that has most of the other letters."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.families = [OWN]
        from matplotlib.font_manager import findfont

        self._letters = letters_of(str(findfont(OWN)))
        wanted = {letter for text in texts for letter in text} - self._letters
        family, letters = best_font(wanted) if wanted else (OWN, set())
        if letters & wanted:
            self.families.append(family)
            self._letters |= letters

    def can_draw(self, text: str) -> bool:
        """Whether there is something to draw, and a letter for all of it."""
        return bool(text) and set(text) <= self._letters


MISSING = "□"
"""Stands for a letter that no installed font has."""
LONGEST = 2000
"""How much of a text is looked at: more than has room anywhere."""


class PictureText:
    """The fonts of a picture, and the lines that its texts take in them."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._fonts = Fonts(one_line(text)[:LONGEST] for text in texts)
        self.families = self._fonts.families

    def drawable(self, text: str) -> str:
        """The text on one line, with a box in place of each letter that cannot be drawn."""
        line = one_line(text)[:LONGEST]
        return "".join(letter if self._fonts.can_draw(letter) else MISSING for letter in line)

    def lines(self, text: str, *, size: float, width: float, most: int) -> list[str]:
        """At most `most` lines of a text in letters of `size` points, each not wider than `width` inches."""
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        font = FontProperties(family=self.families, size=size)

        def fits(line: str) -> bool:
            points: float = text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]
            return points <= width * 72

        return wrapped(self.drawable(text), fits, most)


def best_font(wanted: set[str]) -> tuple[str, set[str]]:
    """The family with most of these letters, and all its letters; among equals the first by name."""
    from matplotlib.font_manager import fontManager

    regular = {  # of a file with several fonts the first, whose letters are read; matplotlib before 3.11 knows no other
        font.name: font.fname
        for font in sorted(fontManager.ttflist, key=lambda font: font.fname, reverse=True)
        if font.style == "normal"
        and getattr(font, "index", 0) == 0
        and not any(word in font.name.casefold() for word in NO_LETTERS)
    }
    best: tuple[str, set[str]] = (OWN, set())
    for family in sorted(regular):
        letters = letters_of(regular[family])
        if len(letters & wanted) > len(best[1] & wanted):
            best = family, letters
    return best


def letters_of(path: str) -> set[str]:
    """The letters of a font file; none where it cannot be scaled or read."""
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(path)
    except (OSError, RuntimeError):
        return set()
    return {chr(code) for code in font.get_charmap()} if font.scalable else set()


def wrapped(text: str, fits: Callable[[str], bool], most: int) -> list[str]:
    """Break a text into lines that fit, of at least one letter each; an ellipsis stands for what has no room."""
    lines: list[str] = []
    while text and len(lines) < most - 1:
        end = room(text, fits)
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    if text and not fits(text):
        text = text[: room(text, lambda start: fits(start.rstrip() + "…"))].rstrip() + "…"
    return [*lines, text] if text else lines


def room(text: str, fits: Callable[[str], bool]) -> int:
    """How many letters the next line takes: up to the last place to break at that fits, or as many as fit."""
    end = fitting(text, fits)
    if end == len(text):
        return end
    return next((at for at in range(end, 0, -1) if breakable(text, at)), end)


def fitting(text: str, fits: Callable[[str], bool]) -> int:
    """How many letters of a text fit; one at least."""
    return max(1, bisect_left(range(1, len(text) + 1), True, key=lambda end: not fits(text[:end])))


def breakable(text: str, at: int) -> bool:
    """Whether a line may end before this letter: at a space, or beside a wide letter that is no closing mark."""
    beside_wide = cell_len(text[at - 1]) == 2 or cell_len(text[at]) == 2
    return text[at] == " " or (beside_wide and category(text[at]) not in {"Pe", "Pf", "Po"})
