"""How much of a talk was said in it before: n-grams that come again (seq-rep-n, Welleck et al. 2020)."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

N = 4
"""Words of a sequence, as in seq-rep-4."""
WORD = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
"""A word; a Chinese character is one by itself."""


def repeated(lines: Sequence[str], n: int = N) -> list[tuple[int, int]]:
    """Of each line, how many of its n-grams stand in an earlier line of the talk, and how many it has.

    Case, width and punctuation do not count. A line of fewer words is one n-gram: "Yes." comes again with "Yes.".
    seq-rep-n counts what comes again within one text; here an n-gram that is twice in one line is new both times.

    Args:
        lines: of one talk, in their order.
        n: words of an n-gram.

    Raises:
        ValueError: `n` is below 1.
    """
    if n < 1:
        raise ValueError(f"An n-gram has one word or more, not {n}.")
    said, found = set[tuple[str, ...]](), list[tuple[int, int]]()
    for line in lines:
        words = WORD.findall(unicodedata.normalize("NFKC", line).casefold())
        grams = [tuple(words[at : at + n]) for at in range(max(len(words) - n + 1, 1))] if words else []
        found.append((sum(one in said for one in grams), len(grams)))
        said.update(grams)
    return found


def repetition(talks: Iterable[Sequence[str]], n: int = N) -> float | None:
    """Return the share of all n-grams of talks that an earlier line of the same talk holds, 0 to 1.

    The first line of a talk has none before it, and does not count.

    Args:
        talks: the lines of each, in their order.
        n: words of an n-gram.

    Returns:
        None where no talk has a second line with a word in it.
    """
    counts = [one for lines in talks for one in repeated(lines, n)[1:]]
    of = sum(number for _, number in counts)
    return sum(again for again, _ in counts) / of if of else None
