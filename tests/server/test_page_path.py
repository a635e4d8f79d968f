"""A person without a terminal, on the page in Chromium: from a card or a text to a chat, why, memory and a file."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from chat_clients import missing
from page_house import House, page_house
from PIL import Image
from wild_cards import v2

from dramaturg.server.access import Access
from dramaturg.stores.library import Library

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
TEXTS = Path(__file__).parents[2] / "examples" / "texts"
TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon."
SIZES = {"phone": (390, 780), "wide": (1400, 900)}
SMALL = {"settings": {"window": 4, "summary_tokens": 0, "redraws": 0}}


def card(name: str) -> bytes:
    given = v2(name=name, description=f"{name} mends nets on the quay.", first_mes="*looks up* Yes?")
    return json.dumps(given).encode()


async def chosen(house: House, row: int, item: str) -> None:
    """Choose something in the menu of a chat of the list."""
    if await house.page.locator("#open-side").is_visible() and not await house.page.locator("#side").is_visible():
        await house.page.click("#open-side")
    more = house.page.locator("#threads li").nth(row).locator(".icon")
    await more.hover()
    await more.click()
    await house.page.get_by_role("menuitem", name=item, exact=True).click()


async def saved(house: House, does: Any) -> tuple[str, bytes]:
    async with house.page.expect_download() as waited:
        await does
    file = await waited.value
    kept = await file.path()
    return file.suggested_filename, kept.read_bytes()


@pytest.mark.parametrize("size", SIZES)
async def test_from_a_card_to_a_chat_its_reasons_its_memory_and_a_file(tmp_path: Path, size: str) -> None:
    async with page_house(tmp_path, *SIZES[size], **SMALL) as house:
        page = house.page
        await page.click("#new-character")
        file = {"name": "mara.json", "mimeType": "application/json", "buffer": card("Mara Finch")}
        await page.set_input_files("#card-file", file)
        await page.get_by_role("button", name="Import").click()
        await page.wait_for_selector("#say:visible")  # the character is there, and the chat with it is open
        assert "Mara Finch" in await page.inner_text("#title")
        assert "mara-finch" in Library(tmp_path / "library").roles()
        await house.choose("profile", name="Tom")
        await house.say(TOLD)
        await house.say("Do you like rain?")
        await house.press(".reply", "Regenerate")
        await house.settled()
        assert await page.locator(".turn:last-child .reply .variants").inner_text() == "2 of 2"
        await house.press(".reply", "Branch from here", 1)  # the first is how she begins
        await house.say("Is the ferry late?")
        await house.menu("#open-branches")
        assert await page.locator("#tree .stretch").count() == 4  # the beginning, two replies, and the other question
        await page.keyboard.press("Escape")
        await house.why()
        assert await page.inner_text("#why-body .because")
        if size == "phone":
            await page.click("#close-why")
        await house.menu("#open-memory")
        await page.fill("#new-note", "Zebulon has both eyes.")  # what it has wrong is put right
        await page.press("#new-note", "Enter")
        await house.until("document.querySelector('#memory section li')?.textContent.includes('both eyes')")
        row = page.locator("#memory li", has_text="Wilhelmina")
        await row.get_by_role("button", name="Forget …").click()
        await page.click("#memory .card .main")
        await house.until("document.querySelector('#live').textContent.startsWith('Forgotten')")
        await page.click("#back")
        await house.until("!document.querySelector('#turns').textContent.includes('Wilhelmina')")
        await chosen(house, 0, "Rename")
        await page.fill("#asked-line", "On the quay")
        await page.press("#asked-line", "Enter")
        await house.until("document.querySelector('#threads .title')?.textContent === 'On the quay'")
        await chosen(house, 0, "Pin")
        await page.wait_for_selector("#threads .open-talk > .sign", state="attached")
        name, data = await saved(house, chosen(house, 0, "Export as a chat file"))
        assert name
        assert b"Is the ferry late?" in data
        assert b"Wilhelmina" not in data
        if size == "phone":
            await page.click("#close-side")
        _, picture = await saved(house, house.menu("#export-card"))
        (tmp_path / "card.png").write_bytes(picture)
        assert Image.open(tmp_path / "card.png").format == "PNG"
        await chosen(house, 0, "Delete")
        await page.click("#dialog .danger")
        await house.until("document.querySelector('#threads .none')")
        assert (await house.http.get("/v1/threads")).json()["data"] == []


async def test_a_character_speaks_first_by_one_of_its_greetings(tmp_path: Path) -> None:
    async with page_house(tmp_path, **SMALL) as house:
        page = house.page
        greetings = {"first_mes": "*looks up* Yes, {{user}}?", "alternate_greetings": ["Mind the nets."]}
        given = json.dumps(v2(name="Mara Finch", description="She mends nets.", **greetings)).encode()
        await page.click("#new-character")
        await page.set_input_files("#card-file", {"name": "m.json", "mimeType": "application/json", "buffer": given})
        await page.get_by_role("button", name="Import").click()
        await page.wait_for_selector(".greeting")
        await house.until("document.querySelector('#turns .reply')")
        assert await house.shown() == [("", "looks up Yes, stranger?")]
        await house.choose("profile", name="Tom")
        await house.press(".reply", "Next reply")
        assert await house.shown() == [("", "Mind the nets.")]
        await house.say("Good evening")
        await page.wait_for_selector("#turns .because")
        await house.until("document.querySelector('#threads .open-talk')?.textContent.includes('Mara Finch')")
        said = [("", "Mind the nets."), ("Good evening", "Reply 1 to Good evening")]
        assert await house.shown() == said
        (talk,) = (await house.http.get("/v1/threads?role=mara-finch")).json()["data"]
        kept = (await house.http.get(f"/v1/threads/{quote(talk['id'])}?role=mara-finch")).json()["turns"]
        assert [(one["question"], one["reply"]) for one in kept] == said
        await page.reload()
        await house.until("document.querySelectorAll('#turns > li').length === 2")
        assert await house.shown() == said
        assert await page.locator(".variants, .greeting").count() == 0
        await house.begin()
        await house.until("document.querySelector('#turns').textContent.includes('Yes, Tom?')")


@pytest.mark.parametrize("size", SIZES)
async def test_from_a_few_words_to_a_character(tmp_path: Path, size: str) -> None:
    async with page_house(tmp_path, *SIZES[size], **SMALL) as house:
        page = house.page
        await page.click("#new-character")
        await page.fill("#role-name", "Ines Vale")
        await page.fill("#role-profile", "Ines keeps the tide tables, and is never late.")
        await page.fill("#role-persona", "Ines was born on the ebb. She counts in sevens.")
        await page.get_by_role("button", name="Create", exact=True).click()
        await page.wait_for_selector("#say:visible")
        await house.say("Who are you?")
        assert [question for question, _ in await house.shown()] == ["Who are you?"]
        assert "sevens" in Library(tmp_path / "library").role("ines-vale").documents()[0].text


async def test_a_card_that_is_too_large_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    async with page_house(tmp_path, access=Access(a_minute=100_000, most_upload_bytes=1_000_000), **SMALL) as house:
        page, sent = house.page, list[str]()
        page.on("request", lambda one: sent.append(one.method))
        await page.click("#new-character")
        file = {"name": "mara.png", "mimeType": "image/png", "buffer": b"x" * 900_000}
        await page.set_input_files("#card-file", file)
        await page.wait_for_selector("#dialog .said .warning")
        assert "Too large: 0.9 MB. The limit is 0.7 MB" in await page.inner_text("#dialog .said")
        assert "POST" not in sent


async def test_a_model_is_connected_and_tested_in_the_settings(tmp_path: Path) -> None:
    known = {"address": None, "model": None, "kept": False, "key": False, "changes": True}
    known["embedded"] = {"there": True, "name": "small", "used": True}
    async with page_house(tmp_path, access=Access(a_minute=100_000, connects=True)) as house:
        page, sent = house.page, list[dict[str, str]]()

        async def answered(route: Any) -> None:
            if route.request.method == "POST":
                sent.append(route.request.post_data_json)
                if len(sent) == 1:
                    await route.fulfill(status=400, json={"error": {"message": "no such model"}})
                    return
            await route.fulfill(json=known | ({"kept": True, "key": True, "model": "large"} if sent else {}))

        findings = [
            {"what": "JSON", "ok": True, "found": "as asked"},
            {"what": "log-probabilities", "ok": False, "found": "none"},
        ]
        events = [{"object": "progress", "what": "check", "step": "questions", "done": 1, "total": 2}]
        events.append({"object": "done", "findings": findings})
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in events)
        await page.route("**/v1/connection", answered)
        await page.route(
            "**/v1/connection/check", lambda route: route.fulfill(content_type="text/event-stream", body=body)
        )
        await house.side("#open-settings")
        await page.fill("#address", "http://127.0.0.1:9/v1")
        await page.fill("#model", "large")
        await page.fill("#model-key", "secret")
        await page.get_by_role("button", name="Connect", exact=True).click()
        await page.wait_for_selector("#dialog .said .warning")
        assert "no such model" in await page.inner_text("#dialog .said")
        await page.get_by_role("button", name="Connect", exact=True).click()
        await page.wait_for_selector("#dialog .fine")
        assert sent[-1] == {"address": "http://127.0.0.1:9/v1", "model": "large", "key": "secret"}
        assert await page.input_value("#model-key") == ""  # it is kept at the server, and shown to nobody
        await page.click("#check-model")
        await page.wait_for_selector("#dialog .said li:nth-child(2)")
        assert "does not work log-probabilities" in await page.inner_text("#dialog .said")


async def test_from_a_text_to_a_character_without_a_model(tmp_path: Path) -> None:
    async with page_house(tmp_path, *SIZES["phone"], **SMALL) as house:
        page = house.page
        await house.cast()
        await page.set_input_files("#cast-files", TEXTS / "the_ferry.md")
        await page.wait_for_selector("#cast-name")
        await page.fill("#cast-name", "Mira Castellan")
        await page.locator("summary", has_text="More").click()
        await page.uncheck("#cast-asks")
        await page.get_by_role("button", name="See what it costs").click()
        await page.locator("#casting .card").get_by_role("button", name="Cast").click()
        await page.wait_for_selector(".drafts [data-kind=dialogues]")
        accept = page.locator("[data-kind=dialogues]").get_by_role("button", name="Accept all of this kind")
        await accept.click()
        await house.until("!document.querySelector('[data-kind=dialogues]')")
        await page.get_by_role("button", name="Chat: Mira Castellan").click()
        await page.wait_for_selector("#say:visible")
        await house.say("Where does the ferry go?")
        assert [question for question, _ in await house.shown()] == ["Where does the ferry go?"]
