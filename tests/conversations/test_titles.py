"""Titles of talks: the first words of what was said, as they stand in a list."""

import asyncio
from pathlib import Path

import pytest

from dramaturg.conversations.titles import LONGEST, first_words, talks_of
from dramaturg.stores.conversations.labels import LONGEST_TITLE, as_title

from turns_in_processes import context, prepared


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Who are you?", "Who are you?"),
        ("  *waves*\n\n**Hello**, `Ada`.  ", "waves Hello, Ada."),
        ("# News\n- one\n> two", "News one two"),
        ("a - b # c > d", "a - b # c > d"),
        ("word " * 40, "word " * 11 + "word…"),
        ("x" * 100, "x" * 59 + "…"),
        ("我妹妹在地窖里养了一只乌龟，" * 10, ("我妹妹在地窖里养了一只乌龟，" * 10)[:59] + "…"),
        (
            "So it is, and it is so, and so it goes on for a while, and then, it ends.",
            "So it is, and it is so, and so it goes on for a while, and…",
        ),
        ("", ""),
        (" \n*", ""),
        ("y" * 1_000_000, "y" * 59 + "…"),
    ],
)
def test_a_title_is_the_beginning_of_what_was_said_cut_at_a_word(said: str, title: str) -> None:
    assert first_words(said) == title
    assert len(first_words(said)) <= LONGEST


@pytest.mark.parametrize(
    ("given", "kept"),
    [(" Tea\twith\n\nAda ", "Tea with Ada"), ("a\0b\x1b[31m\ud800c", "ab[31mc"), ("👩\u200d👧", "👩\u200d👧")],
)
def test_a_title_that_a_person_gives_is_on_one_line(given: str, kept: str) -> None:
    assert as_title(given) == kept
    with pytest.raises(ValueError, match="201"):
        as_title("x" * (LONGEST_TITLE + 1))


async def test_talks_are_listed_with_their_turns(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    await asyncio.to_thread(prepared, folder, "vanilla", 3)
    (talk,) = await talks_of(context(folder, "vanilla"))
    assert (talk.thread, talk.title, talk.turns, talk.pinned) == ("tea", "Question m-1?", 3, False)
