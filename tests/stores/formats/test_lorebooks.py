"""Lorebooks are read as clients write them, and one form is written as the other."""

from pathlib import Path

import pytest
from wild_cards import book, entry

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.formats.books import books_of, with_book
from dramaturg.stores.formats.lorebooks import Book, Entry, read_book, written_as_world
from dramaturg.stores.library import Library


def test_an_entry_is_read_without_its_decorators() -> None:
    read = Entry.model_validate({"content": "@@depth 4\r\n@@@role system\r\nThe lamp burns.\n@@not one"})
    assert (read.said, read.decorators) == ("The lamp burns.\n@@not one", "@@depth 4\n@@@role system\n")


def test_keys_that_are_regular_expressions_name_nothing() -> None:
    keys = ["/la.p/i", "lamp", "the  lamp", "lamp"]
    assert Entry(keys=keys).names == ["lamp", "the lamp"]  # type: ignore[arg-type]
    assert Entry(keys=["l.*p", "light"], use_regex=True).names == ["light"]  # type: ignore[arg-type]


def test_a_cards_entry_is_world_info_as_sillytavern_has_it() -> None:
    raw = entry("Lamp.", "lamp", secondary_keys=["old"], comment="L", constant=True, enabled=False, selective=True)
    raw |= {"extensions": {"position": 4, "depth": 2, "probability": 50, "role": 1, "foreign": 7}, "priority": 3}
    ((world,),) = [Book("book", {}, (raw,)).in_form("world").entries]
    assert {name: world[name] for name in ("uid", "key", "keysecondary", "comment", "order", "position", "depth")} == {
        "uid": 0, "key": ["lamp"], "keysecondary": ["old"], "comment": "L", "order": 1, "position": 4, "depth": 2,
    }  # fmt: skip
    assert (world["disable"], world["constant"], world["probability"], world["role"]) == (True, True, 50, 1)
    assert world["extensions"]["foreign"] == 7
    ((again,),) = [Book("world", {}, (world,)).in_form("book").entries]
    assert again["priority"] == 3
    assert again["extensions"]["foreign"] == 7


def test_books_that_share_numbers_are_one_world() -> None:
    one = Book("book", {"name": "A"}, (entry("1", "a"), entry("2", "b")))
    world = written_as_world([one, one])
    assert [(uid, raw["uid"], raw["content"]) for uid, raw in world["entries"].items()] == [
        ("0", 0, "1"), ("1", 1, "2"), ("2", 2, "1"), ("3", 3, "2"),
    ]  # fmt: skip


def test_a_list_of_world_info_is_a_book() -> None:
    assert read_book(book(entry("x", "y"))).form == "book"
    assert read_book({"entries": {"7": {"key": ["y"], "content": "x"}}}).entries[0]["uid"] == "7"


@pytest.mark.parametrize("plain", [True, False], ids=["as the command writes it", "as somebody wrote it"])
def test_what_is_always_active_comes_to_the_profile_where_nobody_wrote_it(plain: bool, tmp_path: Path) -> None:
    role = Library(tmp_path).create("ada", RoleCard(name="Ada", profile="A keeper."))
    yaml = role.root / "role.yaml"
    if not plain:
        yaml.write_text("# mine\n" + yaml.read_text())
    lore = read_book(book(entry("Ada outranks {{user}}.", constant=True), entry("Off.", "x", enabled=False)))
    documents, beside, kept = with_book(role, lore)
    role.persona.change(documents, beside=beside)
    assert role.card.profile == ("A keeper.\n\nAda outranks the visitor." if plain else "A keeper.")
    assert list(documents) == ([] if plain else ["lore-1.md"])
    assert yaml.read_text().startswith("# mine\n") is not plain
    assert [number for _, _, number in kept.counted()] == ([0, 1, 1] if plain else [1, 0, 1])
    again, _, _ = with_book(role, lore)
    assert not {*again} & {*documents}
    assert [dict(raw) for raw in books_of(role)[0].entries] == [dict(raw) for raw in lore.entries]
