"""Which installed fonts have the letters of some names: matplotlib's own has no Chinese, Japanese or Korean."""

from collections.abc import Iterable
from typing import Any

OWN = "DejaVu Sans"
"""The font that comes with matplotlib."""
NO_LETTERS = ("emoji", "last resort", "lastresort")
"""Fonts of pictures, and of a sign in place of each letter."""


class Fonts:
    """The fonts that a picture is labelled in: matplotlib's own, and the one that has most of the other letters."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.families = [OWN]
        self._letters = letters_of(own_path())
        wanted = {letter for text in texts for letter in text} - self._letters
        family, letters = best_font(wanted) if wanted else (OWN, set())
        if letters & wanted:
            self.families.append(family)
            self._letters |= letters

    def can_draw(self, text: str) -> bool:
        """Whether there is something to draw, and a letter for all of it."""
        return bool(text) and set(text) <= self._letters


def own_path() -> str:
    """Where matplotlib's own font is."""
    from matplotlib.font_manager import findfont

    return str(findfont(OWN))


def best_font(wanted: set[str]) -> tuple[str, set[str]]:
    """The family with most of these letters, and all its letters; among equals the first by name."""
    from matplotlib.font_manager import fontManager

    regular = {
        font.name: font.fname
        for font in sorted(fontManager.ttflist, key=lambda font: font.fname, reverse=True)
        if font.style == "normal" and first_face(font) and not any(word in font.name.casefold() for word in NO_LETTERS)
    }
    best: tuple[str, set[str]] = (OWN, set())
    for family in sorted(regular):
        letters = letters_of(regular[family])
        if len(letters & wanted) > len(best[1] & wanted):
            best = family, letters
    return best


def first_face(font: Any) -> bool:
    """Whether it is the first font of its file, whose letters are read; matplotlib before 3.11 knows no other."""
    return getattr(font, "index", 0) == 0


def letters_of(path: str) -> set[str]:
    """The letters of a font file; none where it cannot be scaled or read."""
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(path)
    except (OSError, RuntimeError):
        return set()
    return {chr(code) for code in font.get_charmap()} if font.scalable else set()
