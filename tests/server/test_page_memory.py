"""What comes back of what was said, and what a role remembers of a person, on the page in Chromium."""

from pathlib import Path
from urllib.parse import quote

import pytest
from chat_clients import missing
from page_house import House, page_house

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon in the cellar."
ASKED = "What does Wilhelmina keep?"
SMALL = {"settings": {"window": 4, "summary_tokens": 0, "redraws": 0}}


async def memory(house: House) -> None:
    await house.menu("#open-memory")
    await house.page.wait_for_selector("#memory .faint")


async def entries(house: House) -> list[str]:
    return [await one.inner_text() for one in await house.page.query_selector_all("#memory li")]


async def test_why_says_what_came_back_when_and_where(tmp_path: Path) -> None:
    async with page_house(tmp_path, **SMALL) as house:
        await house.open()
        await house.choose(name="Mira")
        await house.say(TOLD)
        await house.begin()
        for line in ("Do you like rain?", "Is the ferry late?", "Who mends your nets?", ASKED):
            await house.say(line)
        await house.why()
        await house.until("document.querySelector('#why-body').textContent.includes('Zebulon')")
        shown = await house.page.inner_text("#why-body")
        assert "From earlier in your chats" in shown
        assert "1 of them from “" in shown
        assert "in another talk" in shown
        assert "by keywords, rank 1" in shown
        await house.page.locator("#why-body li", has_text="Zebulon").get_by_role("button", name="Show where").click()
        await house.until("document.querySelector('#turns .revealed')?.textContent.includes('Zebulon')")
        assert [question for question, _ in await house.shown()] == [TOLD]


async def test_all_that_is_remembered_is_listed_searched_and_shown_where_it_was_said(tmp_path: Path) -> None:
    async with page_house(tmp_path, **SMALL) as house:
        await house.open()
        await memory(house)
        assert "does not know who you are" in await house.page.inner_text("#memory")
        assert await entries(house) == []
        await house.menu("#open-memory")
        await house.choose(name="Mira")
        await house.say(TOLD)
        await house.say("Do you like rain?")
        await house.press(".asked", "Edit message")
        await house.page.fill(".turn textarea", "Do you like snow?")
        await house.page.click(".turn textarea + .tools .main")
        await house.settled()
        await memory(house)
        await house.until("document.querySelectorAll('#memory li').length === 2")
        first, last = await entries(house)
        assert "Do you like snow?" in first  # the other branch is not what it remembers here
        assert "You:" in last
        assert TOLD in last
        await house.page.fill("#search-memory", "TORTOISE")
        await house.until("document.querySelectorAll('#memory li').length === 1")
        await house.menu("#open-memory")
        await house.begin()
        await memory(house)
        await house.until("document.querySelectorAll('#memory li').length === 2")
        await house.page.fill("#search-memory", "no such words")
        await house.until("document.querySelector('#memory [role=status]').textContent === 'No matches.'")
        await house.page.fill("#search-memory", "")
        await house.until("document.querySelectorAll('#memory li').length === 2")
        await house.page.locator("#memory li", has_text="snow").get_by_role("button", name="Show where").click()
        await house.until("document.querySelector('#turns .revealed')?.textContent.includes('snow')")


async def test_who_shows_where_something_was_said_far_back_sees_it(tmp_path: Path) -> None:
    async with page_house(tmp_path, method="vanilla", **SMALL) as house:
        said = [{"role": "user", "content": TOLD}, {"role": "assistant", "content": "I see."}]
        for at in range(120):
            said += [{"role": "user", "content": f"line {at}"}, {"role": "assistant", "content": f"So it is, {at}."}]
        body = {"model": "ada:vanilla", "messages": [*said, {"role": "user", "content": "And now?"}]}
        (await house.http.post("/v1/chat/completions", json=body, headers={"X-Role-Thread": "long"})).raise_for_status()
        await house.open()
        await house.page.click("#threads .open-talk")
        await house.page.wait_for_selector("#turns > li:nth-child(100)")
        await memory(house)
        await house.page.fill("#search-memory", "Zebulon")
        await house.until("document.querySelectorAll('#memory li').length === 1")
        await house.page.get_by_role("button", name="Show where").click()
        await house.until(
            "(([one, box]) => one && one.top >= box.top && one.bottom <= box.bottom)([document.querySelector"
            "('#turns .revealed'), document.querySelector('#scroll')].map((one) => one?.getBoundingClientRect()))"
        )


async def test_a_note_that_is_saved_leaves_open_what_stands_open(tmp_path: Path) -> None:
    async with page_house(tmp_path, **SMALL) as house:
        page = house.page
        await house.open()
        await house.say("Good morning.")
        await memory(house)
        await page.wait_for_selector("#memory .found > li")
        await page.get_by_role("button", name="Forget …").first.click()
        await page.wait_for_selector("#memory .card .main")
        await page.fill("#new-note", "I am called Tom.")
        await page.press("#new-note", "Enter")
        await house.until("document.querySelector('#memory section li')?.textContent.includes('called Tom')")
        assert await page.locator("#memory .card .main").is_visible()
        await page.click("#memory .card .main")
        await house.until("document.querySelector('#live').textContent.includes('Forgotten: 1')")


async def test_a_note_is_kept_in_mind_and_forgotten(tmp_path: Path) -> None:
    async with page_house(tmp_path, **SMALL) as house:
        page = house.page
        await house.open()
        await house.say("Good morning.")
        await memory(house)
        await page.fill("#new-note", "I am called Tom.")
        await page.press("#new-note", "Enter")
        await house.until("document.querySelector('#memory section li')?.textContent.includes('called Tom')")
        assert await page.input_value("#new-note") == ""
        await house.menu("#open-memory")
        await house.say("Who am I?")
        await house.why()
        await house.until("document.querySelector('#why-body').textContent.includes('I am called Tom.')")
        assert "your note" in await page.inner_text("#why-body")
        await memory(house)
        await page.get_by_role("button", name="Forget … I am called Tom.").click()
        await page.click("#memory .card .main")
        await house.until("document.querySelector('#live').textContent === 'Forgotten: 1.'")
        assert await page.locator("#memory section li").count() == 0


async def test_what_was_said_is_pinned_and_forgotten_for_good(tmp_path: Path) -> None:
    async with page_house(tmp_path, **SMALL) as house:
        await house.open()
        for line in (TOLD, "Do you like rain?", TOLD, "Is the ferry late?"):
            await house.say(line)
        page = house.page
        await memory(house)
        await house.until("document.querySelectorAll('#memory li').length === 4")
        row = page.locator("#memory li", has_text="Zebulon").last
        await row.get_by_role("button", name="Pin", exact=True).click()
        await row.get_by_role("button", name="Unpin").wait_for()
        assert "pinned" in await row.inner_text()
        await row.get_by_role("button", name="Forget …").click()
        await page.wait_for_selector("#memory .card .main")
        shown = await page.inner_text("#memory .card")
        assert shown.index("cannot be undone") < shown.index("Forget for good")
        assert "Also removed, because it says the same: 1" in shown
        await page.get_by_role("button", name="Cancel").click()
        assert len(await house.held()) == 4
        await row.get_by_role("button", name="Forget …").click()
        await page.wait_for_selector("#memory .card .main")
        await house.cable.cut()
        await page.click("#memory .card .main")
        await house.until(
            "document.querySelector('#memory .card [role=alert]')?.textContent.includes('does not answer')"
        )
        assert len(await house.held()) == 4
        await house.cable.plug_in()
        await page.get_by_role("button", name="Try again").click()
        await house.until("document.querySelectorAll('#memory li').length === 2")
        assert "Forgotten: 2" in await page.inner_text("#live")
        await page.click("#back")
        left = ["Do you like rain?", "Is the ferry late?"]
        assert [question for question, _ in await house.shown()] == left
        assert "Zebulon" not in await page.inner_text("body")
        await house.say("And now?")
        assert [question for question, _ in await house.held()] == [*left, "And now?"]


@pytest.mark.parametrize("size", [(390, 760), (1400, 900)], ids=["phone", "wide"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_barrier_is_found(tmp_path: Path, size: tuple[int, int], scheme: str) -> None:
    async with page_house(tmp_path, *size, **SMALL) as house:
        page, found = house.page, list[str]()
        await page.emulate_media(color_scheme=scheme)

        async def look(state: str) -> None:
            found.extend(await house.barriers(state))

        await house.open()
        await house.choose(name="Mira")
        for line in (TOLD, "Do you like rain?", "Is the ferry late?", ASKED):
            await house.say(line)
        thread = (await house.http.get("/v1/threads?role=ada")).json()["data"][0]["id"]
        note = f"/v1/threads/{quote(thread, safe='')}/notes?role=ada"
        (await house.http.post(note, json={"text": "I am called Tom."})).raise_for_status()
        await page.locator(".ask-why").last.click()
        await house.until("document.querySelector('#why-body').textContent.includes('Zebulon')")
        await look("why")
        if size[0] < 500:
            await page.click("#close-why")
        await memory(house)
        await page.wait_for_selector("#memory li")
        await look("memory")
        await page.get_by_role("button", name="Forget …").last.click()
        await page.wait_for_selector("#memory .card .main")
        await look("to be forgotten")
        await page.get_by_role("button", name="Show where").last.click()
        await page.wait_for_selector("#turns .revealed")
        await look("revealed")
        assert found == []
