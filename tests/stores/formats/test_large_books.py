"""Books of thousands of entries: they are read, and an entry is written as often as one of a small book."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from wild_cards import book, entry, v2

from dramaturg.stores.documents import forms
from dramaturg.stores.documents.forms import RoleCard, card_text, parse_card
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.told import told
from dramaturg.stores.library import Library

from commands import Command


def of(number: int) -> dict[str, Any]:
    """A book of so many entries, which has what people write: emoji, and spaces at the end of a line."""
    return book(
        *(entry(f"Berth {one} \nis taken. \U0001f6a2", f"berth {one}", name=f"b{one}") for one in range(number))
    )


@pytest.mark.parametrize(("kind", "flushes"), [("card", 1), ("book", 2)])
def test_an_entry_of_a_large_book_is_written_as_often_as_of_a_small_one(
    kind: str, flushes: int, run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = list[int]()
    monkeypatch.setattr(os, "fsync", flushed.append)
    costs = []
    for number in (10, 110, 210):
        file = tmp_path / f"{number}.json"
        value = v2(name=f"Ada {number}", character_book=of(number)) if kind == "card" else of(number)
        file.write_bytes(dumped(value))
        words = [str(file)] if kind == "card" else ["ada", str(file), "--library", str(tmp_path / str(number))]
        if kind == "book":
            Library(tmp_path / str(number)).create("ada", RoleCard(name="Ada"))
        flushed.clear()
        code, _, err = run("import", *words)
        assert code == 0, err
        costs.append(len(flushed))
    assert [more - fewer for fewer, more in pairwise(costs)] == [flushes * 100] * 2


def test_what_a_card_keeps_is_written_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        "\U0001f6a2\ue000 a",
        "a \nb \U0001f6a2\n",
        "\x85",
        "null",
        "1",
        "a: b # c",
        "'",
        "\u2028",
        "- x",
        "字" * 200,
    ]
    card = RoleCard(
        name="Ada \U0001f6a2", card={"data": {"a": texts, "b": {"": {}, "c": [None, 1, 1.5, True, [], {}]}}}
    )
    written = card_text(card)
    assert parse_card(written.encode(), Path("x")) == card
    assert "\U0001f6a2\ue000 a" in written
    readable = card.model_copy(update={"card": {"data": [one for one in texts if one != "\x85" and " \n" not in one]}})
    written = card_text(readable)
    monkeypatch.setattr(forms, "_CardDumper", forms._BlockDumper)
    assert card_text(readable) == written


def test_a_card_with_a_large_book_is_read() -> None:
    one = told(dumped(v2(name="Ada", character_book=of(5_000))))
    assert len(one.book.entries) == 5_000  # type: ignore[union-attr]
