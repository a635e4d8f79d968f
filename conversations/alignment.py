"""Where a history that somebody else keeps belongs among the branches of a conversation.

A chat client keeps what was said itself, and sends it with every message: all of it, or a window of the newest part.
It lets people swipe, edit and delete; what they see is then another branch, and must be the one that the role goes by.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from dramaturg.conversations.turns import Turn

# What clients change when they show and send again what was said: white space, quotes and marks of Markdown.
UNSEEN = re.compile(r"[\s\u200b-\u200f\u2060\ufeff*_~`\"'“”„‘’«»「」『』]+")


class Exchange(NamedTuple):
    """What a role heard, and what it said to that; "": it spoke first, or what it heard is not in the window."""

    heard: str
    said: str


class Place(NamedTuple):
    """Where a history belongs."""

    after: Turn | None
    """The last turn of the conversation that the history has too, with all before it; None: there is none."""
    known: int
    """How many exchanges of the history lead there. Those that follow are not known: they are to be taken over."""
    agreed: int
    """How many exchanges of the history are known at all; 0: it may be that of another conversation."""
    begins: bool = False
    """Whether the history begins where the branch does."""


def as_heard(text: str, names: Sequence[str] = ()) -> str:
    """What two spellings of one text have in common after a client has shown and sent it.

    Args:
        text: a line.
        names: of who says it: clients write them in front of a line, or take them away, in the middle of a text too.
    """
    text = unicodedata.normalize("NFC", text)
    return UNSEEN.sub("", named_lines(tuple(names)).sub("", text) if names else text) or text.strip()


@lru_cache(maxsize=256)
def named_lines(names: tuple[str, ...]) -> re.Pattern[str]:
    """What stands in front of a line that begins with one of these names."""
    either = "|".join(re.escape(unicodedata.normalize("NFC", name)) for name in names if name.strip())
    return re.compile(rf"^[ \t*_]*(?:{either})[*_]*[ \t]*[:：][*_]*[ \t]*" if either else r"\A(?!)", re.MULTILINE)


def place_of(history: Sequence[Exchange], branches: Sequence[Sequence[Turn]], names: Sequence[str] = ()) -> Place:
    """Return the place of a history among branches.

    The history may begin in the middle of a branch (a window), differ from it in some exchanges (an edit), lack some
    (deleted ones), and go on where no branch does.

    Args:
        history: all exchanges before the message that is to be answered, oldest first.
        branches: the turns of each; of equal ones, the first counts.
        names: of the role; whether one of them, or of those who speak in the turns, stands in front of a line makes no
            difference.
    """
    names = [*names, *sorted({one for branch in branches for turn in branch for one in turn.speakers})]
    wanted = [(as_heard(one.heard), as_heard(one.said, names)) for one in history]
    best, best_rank = Place(None, 0, 0), (False, False, 0, 0, 0)
    for branch in branches:
        turns = [(as_heard(turn.question), as_heard(turn.reply or "", names)) for turn in branch]
        at_places = defaultdict[tuple[str, str], list[int]](list)
        for at, turn in enumerate(turns):
            at_places[turn].append(at)
            at_places["", turn[1]].append(at)  # a window may have lost what was heard
        # By how much the first exchange of the history is further on in the branch.
        offsets = Counter(at - number for number, one in enumerate(wanted) for at in at_places.get(one, []))
        for offset, agreed in offsets.items():
            first = max(0, -offset)  # what the client knows from before the branch began is left aside
            known = first
            while known < len(wanted) and 0 <= known + offset < len(turns) and same(wanted, known, turns, offset):
                known += 1
            rank = (known == len(wanted), offset == 0 and known > 0, agreed, known - first, offset)
            if rank > best_rank:
                last = known + offset - 1
                best, best_rank = Place(branch[last] if last >= 0 else None, known, agreed, offset == 0), rank
    return best


def same(wanted: Sequence[tuple[str, str]], number: int, turns: Sequence[tuple[str, str]], offset: int) -> bool:
    """Whether an exchange of a history is a turn of a branch."""
    heard, said = wanted[number]
    return turns[number + offset] == (heard, said) or (number == 0 and not heard and turns[offset][1] == said)
