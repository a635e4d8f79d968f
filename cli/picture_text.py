"""Texts of people and models as they are written into a picture: on lines that fit, in letters that a font has."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from unicodedata import category

from rich.cells import cell_len

from dramaturg.cli.graph_fonts import Fonts
from dramaturg.cli.screen import printable

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


def one_line(text: str) -> str:
    """The text without line ends, and without what no picture shows."""
    return printable(" ".join(text.split()))


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
