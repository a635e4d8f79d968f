"""The real SillyTavern takes what `dramaturg export` writes: names, greetings, books that fire, and chats."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_clients import Stage, missing, page_at
from sillytavern import HEADERS, Screen, Tavern, tavern
from wild_cards import WILD, lost

from dramaturg.stores.formats.books import books_of
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.cards import Card, as_charx, as_json, as_png
from dramaturg.stores.formats.characters import card_of, role_of
from dramaturg.stores.formats.chats import Chat, new_message, written_chat
from dramaturg.stores.formats.lorebooks import written_as_world
from dramaturg.stores.formats.told import told
from dramaturg.stores.library import Library

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing("sillytavern")), reason=missing("sillytavern")),
]


@pytest.fixture(scope="module")
def house(roles: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tavern]:
    with tavern(tmp_path_factory.mktemp("tavern"), roles.base_url) as made:
        yield made


def sent(house: Tavern, where: str, name: str, data: bytes, **fields: str) -> Any:
    answer = house.http.post(f"/api/{where}", files={"avatar": (name, data)}, data=fields)
    answer.raise_for_status()
    return answer.json()


def known(house: Tavern, file: str) -> dict[str, Any]:
    answer = house.http.post("/api/characters/get", json={"avatar_url": f"{file}.png"})
    answer.raise_for_status()
    return dict(answer.json()["data"])


@pytest.mark.parametrize("form", ["png", "json", "charx"])
@pytest.mark.parametrize("style", WILD)
def test_it_takes_a_card_in_each_form(house: Tavern, tmp_path: Path, style: str, form: str) -> None:
    library = Library(tmp_path)
    card = told(dumped(WILD[style]))
    assert isinstance(card, Card)
    library.replace({"one": role_of(card, "one.json").files})
    made = card_of(library.role("one"))
    data = {"png": as_png, "json": lambda one: dumped(as_json(one)), "charx": as_charx}[form](made)
    name = sent(house, "characters/import", f"one.{form}", data, file_type=form)["file_name"]
    there = known(house, name)
    for field in ("name", "description", "first_mes", "mes_example", "system_prompt"):
        assert there[field].replace("\r", "") == getattr(card.said, field).replace("\r", ""), field
    assert there["alternate_greetings"] == list(card.said.alternate_greetings)
    if card.book:
        entries = there["character_book"]["entries"]
        assert [one["keys"] for one in entries] == [list(one.keys) for one in card.book.read()]
        assert [one["content"].strip() for one in entries][-1].endswith(card.book.read()[-1].said)


async def test_it_shows_a_card_and_its_book_fires(roles: Stage, house: Tavern, tmp_path: Path) -> None:
    library = Library(tmp_path)
    card = told(dumped(WILD["a hundred entries"]))
    assert isinstance(card, Card)
    library.replace({"one": role_of(card, "one.json").files})
    role = library.role("one")
    made = card_of(role)
    sent(house, "worldinfo/import", "Berths.json", dumped(written_as_world(books_of(role))))
    extensions = {**made.data["extensions"], "world": "Berths"}
    data = {**made.data, "name": "Mistress", "first_mes": "Name your berth, {{user}}.", "extensions": extensions}
    del data["character_book"]
    sent(house, "characters/import", "mistress.png", as_png(made._replace(data=data)), file_type="png")
    house.settings(custom_include_headers=HEADERS, custom_model="ada")
    async with page_at(str(house.http.base_url)) as page:
        screen = Screen(page)
        await screen.open("Mistress")
        assert (await screen.shown())[0][1].startswith("Name your berth, ")
        await screen.say("Who lies at berth 42?")
        assert "At berth 42 lies the Swift-42" in roles.player.shown[-1]
        assert "Swift-43" not in roles.player.shown[-1]


def test_it_takes_a_chat(house: Tavern) -> None:
    card = told(dumped(WILD["v1"]))
    assert isinstance(card, Card)
    file = sent(house, "characters/import", "bo.png", as_png(card), file_type="png")["file_name"]
    house.put(
        "chats/save", {"avatar_url": f"{file}.png", "file_name": "begun", "ch_name": "Bo", "chat": [{"user_name": "a"}]}
    )
    header = {"user_name": "unused", "character_name": "unused", "chat_metadata": {"dramaturg": {"thread_id": "tea"}}}
    lines = [new_message("User", "Bread?", user=True), new_message("Bo", "Fresh.", user=False, swipes=["Stale."])]
    lines[1]["extra"] = {"dramaturg": {"evidence": {"knowledge": [{"text": "Bo bakes."}]}}}
    body = {"avatar_url": f"{file}.png", "file_type": "jsonl", "character_name": "Bo", "user_name": "User"}
    answer = sent(house, "chats/import", "chat.jsonl", written_chat(Chat(header, lines)), **body)
    (name,) = [one.removesuffix(".jsonl") for one in answer["fileNames"]]
    asked = {"avatar_url": f"{file}.png", "file_name": name, "ch_name": "Bo"}
    there = house.http.post("/api/chats/get", json=asked).json()
    assert list(lost([header, *lines], there)) == []
