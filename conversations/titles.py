"""The talks with a role by their titles: those that are pinned first, then the one that was last spoken on."""

import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import NamedTuple

from dramaturg.conversations.opening import Kept, kept_with, threads_in
from dramaturg.conversations.turns import all_turns, ends_of, time_of, turns_until
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.stores.conversations.labels import Label, Labels
from dramaturg.stores.conversations.talk import key_of
from dramaturg.stores.saver.conversation_saver import ConversationSaver

LONGEST = 60  # characters of a title that nobody has given
FOUND, BEFORE = 100, 30  # characters of what a search has found, and of those that stand before its words
READ = 2_000  # characters of what was said in which its first words are looked for
MARKS = re.compile(r"[*`]|^\s*(?:#+|>|-)\s+", re.MULTILINE)  # of Markdown, and of actions


class ListedTalk(NamedTuple):
    """What a list says of a talk."""

    thread: str
    title: str
    """That a person has given, or else the first words that were said to the role; empty: nothing was."""
    pinned: bool
    last: datetime | None
    """When the head was written; None: by its id nobody can tell."""
    turns: int | None = None
    """Of the branch that is the head, those that have a reply; None: they were not counted."""
    found: str = ""
    """Where a search has found its words in what was said, that place; empty: they are in the title."""


async def talks_of(context: RoleContext, most: int | None = None) -> list[ListedTalk]:
    """The talks with a role, or so many of them."""
    role = (await run_of(context)).role
    async with kept_with(role) as kept:
        found = await first(talks_in(kept, role.id), most)
        turns = [await turns_until(kept.saver, kept.prefix + one.thread) for one in found]
        counts = [sum(turn.reply is not None for turn in of_one) for of_one in turns]
        return [one._replace(turns=count) for one, count in zip(found, counts, strict=True)]


async def first(talks: AsyncIterator[ListedTalk], most: int | None) -> list[ListedTalk]:
    """So many of what is read one by one, or all; the others are not read."""
    found = list[ListedTalk]()
    async for one in talks:
        found.append(one)
        if len(found) == most:
            break
    return found


async def talks_in(kept: Kept, role: str, begin: str = "", search: str = "") -> AsyncIterator[ListedTalk]:
    """The same of where they are kept: each is read when it is asked for.

    Args:
        kept: where the talks with the role are kept.
        role: its id.
        begin: what the names of those that are wanted begin with.
        search: words that are all in the title of each, or in what was said on any branch of it; empty: all are given.
    """
    labels, words = await Labels(kept.store, role).all(), search.casefold().split()
    named = [(one, labels.get(key_of(kept.prefix + one), Label())) for one in await threads_in(kept)]
    wanted = [(one, label) for one, label in named if one.startswith(begin)]
    for thread, label in sorted(wanted, key=lambda pair: not pair[1].pinned):  # the others stay in their order
        asked, head = await ends_of(kept.saver, kept.prefix + thread)
        if not asked and not await all_turns(kept.saver, kept.prefix + thread):
            continue  # a turn was begun, and stopped before a word of its reply
        title = label.title or first_words(asked)
        in_title = _holds(title, words)
        said = "" if in_title else await _said(kept, thread, words)
        if in_title or said:
            yield ListedTalk(thread, title, label.pinned, time_of(head), found=said)


def first_words(text: str) -> str:
    """The beginning of what was said, as a title: on one line, without marks of Markdown, cut at a word."""
    plain = " ".join(MARKS.sub("", text[:READ]).split())
    if len(plain) <= LONGEST:
        return plain
    cut = plain[: LONGEST - 1]
    words = cut if plain[LONGEST - 1] == " " else cut.rpartition(" ")[0]
    return f"{(words if len(words) > LONGEST // 3 else cut).rstrip(' ,;:-–—')}…"


async def _said(kept: Kept, thread: str, words: list[str]) -> str:
    """Where all words are in what was said, the place that has most of them; most talks have none, which is seen soon.

    Those are not decoded.
    """
    name = kept.prefix + thread
    if isinstance(kept.saver, ConversationSaver) and not await kept.saver.amay_hold(name, words):
        return ""
    turns = (await all_turns(kept.saver, name)).values()
    said = [text for one in turns for text in (one.reply or "", one.question)]
    if not _holds("\n".join(said), words):
        return ""
    return _around(max(said, key=lambda text: sum(_holds(text, [word]) for word in words)), words)


def _around(text: str, words: list[str]) -> str:
    """What stands around the first of some words, on one line."""
    plain = " ".join(MARKS.sub("", text).split())
    places = [found.start() for word in words if (found := re.search(re.escape(word), plain, re.IGNORECASE))]
    begin = max(min(places, default=0) - BEFORE, 0)
    begin = plain.find(" ", begin, begin + BEFORE) + 1 or begin if begin else 0
    cut = plain[begin : begin + FOUND].strip()
    return f"{'…' if begin else ''}{cut}{'…' if begin + FOUND < len(plain) else ''}"


def _holds(text: str, words: list[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
