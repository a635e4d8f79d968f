"""A window that slides over a text: its length and its overlap are limits, its ends fall between sentences."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from dramaturg.nodes.text_boundaries import cluster_end, cluster_start, first_begin, last_end
from dramaturg.nodes.text_lengths import Ruler

_VISIBLE = re.compile(r"\S")


class Window(NamedTuple):
    """How long a passage is and how much of it the next one repeats, both at most, in the ruler's unit."""

    length: int
    overlap: int

    def give_at_end(self, word: int) -> int:
        """How much a passage may be shorter, to end well; the next one still begins well after it."""
        return min(max(self.length // 4, word), (self.length - self.overlap) * 3 // 4)

    def give_at_begin(self, word: int) -> int:
        """How much the overlap may be shorter, so that the next passage begins well."""
        return max(self.overlap // 4, min(word, self.overlap // 2))


def slide(text: str, start: int, end: int, window: Window, ruler: Ruler) -> Iterator[tuple[int, int]]:
    """Passages of a text from start to end: together they hold each visible character, none begins or ends in space.

    langchain's recursive splitter is not used here: between paragraphs that fill a chunk its overlap is nothing
    (it repeats whole pieces only), it drops spaces between pieces, and it finds offsets by searching for the text.
    """
    begin = unseen = _visible(text, start, end)
    while unseen < end:
        stop = _stop(text, begin, unseen, end, window, ruler)
        yield begin, stop
        unseen = _visible(text, stop, end)
        if unseen < end:
            begin = _next_begin(text, begin, stop, unseen, window, ruler)


def _stop(text: str, begin: int, unseen: int, end: int, window: Window, ruler: Ruler) -> int:
    high = min(ruler.reach(begin, window.length), end)
    if _visible(text, high, end) < end:
        # Each passage shows something new, or the window would not move on in a long run of spaces.
        low = max(ruler.reach(begin, window.length - window.give_at_end(ruler.word)), unseen + 1)
        found = last_end(text, low, high)
        high = cluster_start(text, high, low) if found is None else found
    return begin + len(text[begin:high].rstrip())


def _next_begin(text: str, begin: int, stop: int, unseen: int, window: Window, ruler: Ruler) -> int:
    low = max(ruler.back(stop, window.overlap), ruler.reach(begin, 1))
    high = min(ruler.reach(low, window.give_at_begin(ruler.word)), stop)
    found = first_begin(text, low, high)
    onward = _visible(text, cluster_end(text, low, stop) if found is None else found, unseen)
    return onward if ruler.reach(onward, window.length) > unseen else unseen


def _visible(text: str, start: int, end: int) -> int:
    """Where the first character that is no space stands; end if there is none."""
    match = _VISIBLE.search(text, start, end)
    return match.start() if match else end
