"""What is taken in and written again is as it was, field by field; what people have changed since is what counts."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from wild_cards import WILD, lost, png_of

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.formats.books import books_of, with_book
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.cards import Card, as_charx, as_json, as_png
from dramaturg.stores.formats.characters import card_of, role_of
from dramaturg.stores.formats.chats import Chat, written_chat
from dramaturg.stores.formats.lorebooks import Book, written_alone, written_as_world
from dramaturg.stores.formats.told import read_file, told
from dramaturg.stores.library import Library

SHARED = os.environ.get("DRAMATURG_SHARED_DATA", "")
shared = pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
FORMS: Mapping[str, Callable[[Card], bytes]] = {
    "png": as_png,
    "json": lambda card: dumped(as_json(card)),
    "charx": as_charx,
}
FILES = {
    "own": (
        *("both.png", "k.charx", "v1.json", "v2.json", "v2.png", "v3.json", "v3only.png"),
        *("chat.jsonl", "lorebook_v3.json", "st_world.json"),
    ),
    "written_by_sillytavern": (
        "card_saved_by_client_from_v2.png",
        "card_saved_by_client_from_v3only.png",
        "exported_card.json",
        "world_info_from_embedded_book.json",
        "chat_group.jsonl",
        "chat_solo_swipes_continue_edit.jsonl",
    ),
    "companion_app": ("Alex.txt", "Evelyn.txt", "Lucky.txt", "Rosie.txt", "Sebastian.txt"),
}


def as_card(data: bytes) -> Card:
    card = told(data)
    assert isinstance(card, Card)
    return card


def brought(library: Library, card: Card) -> Card:
    """A card that was taken into a library, made of the role anew."""
    library.replace({"one": role_of(card, "one.png").files})
    return card_of(library.role("one"))


def losses(library: Library, one: Card | Book) -> list[str]:
    """What is lost of a card or a book on its way in and out, in each form."""
    found: list[str] = []
    if isinstance(one, Card):
        made = brought(library, one)
        for form, write in FORMS.items():
            again = as_card(write(made))
            found += [f"{form}{at}" for at in lost(dict(one.data), dict(again.data))]
            found += [f"{form} beside{at}" for at in lost(dict(one.beside), dict(again.beside))]
            found += [
                f"{form} {path}"
                for path in one.assets
                if form == "charx" and again.assets.get(path) != one.assets[path]
            ]
        return found
    role = library.create("one", RoleCard(name="Ada"))
    documents, beside, _ = with_book(role, one)
    role.persona.change(documents, beside=beside)
    write: Any = written_as_world if one.form == "world" else lambda books: written_alone(books[0])
    again = told(dumped(write(books_of(role))))
    assert isinstance(again, Book)
    found += lost(dict(one.about), dict(again.about))
    found += lost(list(one.entries), list(again.entries))
    other = one.in_form("book" if one.form == "world" else "world").in_form(one.form)
    return found + [f"as the other form {at}" for at in lost(list(one.entries), list(other.entries))]


@shared
@pytest.mark.parametrize(("folder", "name"), [(folder, name) for folder, names in FILES.items() for name in names])
def test_nothing_of_a_real_file_is_lost(folder: str, name: str, tmp_path: Path) -> None:
    file = Path(SHARED) / "cards" / folder / name
    one = read_file(file)
    if isinstance(one, Chat):
        again = told(written_chat(one))
        assert isinstance(again, Chat)
        assert list(lost([one.header, *one.messages], [again.header, *again.messages])) == []
        return
    assert isinstance(one, Card | Book)
    assert losses(Library(tmp_path), one) == []


@shared
@pytest.mark.parametrize("name", ["SOURCE.md", "client_requests/open_webui_0.12.4.jsonl", "ai_town/LICENSE"])
def test_what_is_nothing_that_can_be_taken_in_is_said_to_be(name: str) -> None:
    with pytest.raises(RoleFileError, match=f"^{Path(name).name} .* none of what can be imported"):
        read_file(Path(SHARED) / "cards" / name)


@pytest.mark.parametrize("style", WILD)
def test_nothing_of_a_card_of_the_wild_is_lost(style: str, tmp_path: Path) -> None:
    value = WILD[style]
    card = as_card(dumped(value))
    found = losses(Library(tmp_path), card)
    # A specification asks for another kind of value there: a list of keys, and no greeting that says nothing.
    assert [one for one in found if "/keys:" not in one and "alternate_greetings" not in one] == []
    assert list(lost(dict(card.data), dict(as_card(png_of(value)).data))) == []


def test_what_people_have_changed_is_what_a_card_says(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.replace({"one": role_of(as_card(dumped(WILD["w++"])), "w.json").files})
    persona = tmp_path / "one" / "persona"
    text = (persona / "character.md").read_text()
    (persona / "character.md").write_text(f"{text}\n## Habits\n\nShe hums.\n")
    (persona / "lore-archive.md").write_text("# archive\n\nThe archive was saved.\n")
    (persona / "boat.md").write_text("# The boat\n\nIt is called Heron.\n")
    yaml = tmp_path / "one" / "role.yaml"
    yaml.write_text(yaml.read_text().replace("You are late, {{user}}.", "Welcome, {{user}}."))
    said = card_of(library.role("one"))
    assert "the visitor's keeper" in said.data["description"]
    assert said.data["description"].endswith("## Habits\n\nShe hums.")
    assert said.data["first_mes"] == "*Mira looks up.* Welcome, {{user}}."
    assert said.data["mes_example"] == WILD["w++"]["data"]["mes_example"]
    entries = {entry["content"]: entry for entry in said.data["character_book"]["entries"]}
    assert entries["The archive was saved."]["keys"] == ["archive"]
    assert entries["It is called Heron."]["keys"] == ["The boat"]
    assert entries["It is called Heron."]["comment"] == "boat.md: The boat"


def test_a_document_that_is_forgotten_is_no_entry_any_more(tmp_path: Path) -> None:
    library = Library(tmp_path)
    library.replace({"one": role_of(as_card(dumped(WILD["boostyle"])), "b.json").files})
    (tmp_path / "one" / "persona" / "lore-Kestrel.md").unlink()
    kept = [entry["keys"] for entry in card_of(library.role("one")).data["character_book"]["entries"]]
    assert kept == [["Titan"], ["crew"], []]


def test_a_role_that_was_no_card_becomes_one(tmp_path: Path) -> None:
    role = Library(tmp_path).create("kim", RoleCard(name="김", profile="등대를 지킨다.", language="ko"))
    (role.root / "persona" / "life.md").write_text("# 삶\n\n## 등대\n\n1871년에 세워졌다.\n\n## 배\n\n배는 헤론이다.\n")
    card = as_card(as_png(card_of(role)))
    assert (card.version, card.said.name, card.said.description) == (3, "김", "등대를 지킨다.")
    assert card.book
    first = card.book.entries[0]
    assert (first["keys"], first["extensions"]) == (["등대"], {"match_whole_words": False})
    assert (first["content"], first["comment"]) == ("1871년에 세워졌다.", "life.md: 등대")
