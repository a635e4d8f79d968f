"""The page in Chromium: a talk that is left in the middle, for another, by a reload, or by the browser's buttons."""

import asyncio
from pathlib import Path

import pytest
from chat_clients import missing
from page_house import House, page_house

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.opening import open_conversation
from dramaturg.workflows.amadeus import AmadeusContext

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
BEGUN = "document.querySelector('.coming .reply .text')?.textContent.trim() === 'Reply'"


async def begun(house: House, text: str) -> None:
    """Say something, and have one word of the reply."""
    house.gate.clear()
    await house.page.fill("#say", text)
    await house.page.press("#say", "Enter")
    await house.until(BEGUN)


async def typed(house: House) -> str:
    return str(await house.page.input_value("#say"))


async def listed(house: House, title: str) -> None:
    """Open a talk of the list."""
    await house.page.locator(".open-talk", has_text=title).click()


async def test_a_reply_goes_on_while_the_page_is_opened_anew(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        page = house.page
        await house.open()
        await begun(house, "one")  # the first of its talk
        await page.reload()
        await house.until(BEGUN)
        assert await typed(house) == ""
        assert await page.locator("#stop").is_visible()
        house.gate.set()
        await house.settled()
        assert await house.shown() == await house.held() == [("one", "Reply 1 to one")]
        await page.wait_for_selector("#turns .because")
        await begun(house, "two")
        await page.close()
        house.gate.set()
        while len(await house.held()) < 2:  # noqa: ASYNC110 (nobody is told)
            await asyncio.sleep(0.05)
        assert [question for question, _ in await house.held()] == ["one", "two"]


async def test_a_reply_that_is_found_again_can_be_stopped_and_one_that_never_came_is_typed_again(
    tmp_path: Path,
) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        page = house.page
        await house.open()
        await begun(house, "one")
        await page.reload()
        await house.until(BEGUN)
        await page.press("#say", "Escape")
        await house.settled()
        assert [(one, said.strip()) for one, said in await house.held()] == [("one", "Reply")]
        assert await house.shown() == [("one", "Reply")]
        hold = asyncio.Event()
        await page.route("**/chat/completions", lambda _: hold.wait())
        await page.fill("#say", "two")
        await page.press("#say", "Enter")  # and goes before the server has heard of it
        await page.wait_for_selector("#stop:visible")
        await page.reload()
        await house.until("document.querySelector('#say').value === 'two'")
        await house.until("document.querySelector('#turns .reply')")  # what is typed is there before the turns are
        assert [question for question, _ in await house.shown()] == ["one"]
        await page.press("#say", "Enter")  # or stops it
        await page.wait_for_selector("#stop:visible")
        await page.press("#say", "Escape")
        await house.settled()
        assert await typed(house) == "two"
        await page.unroute("**/chat/completions")
        hold.set()
        house.gate.set()
        await page.press("#say", "Enter")
        await house.settled()
        assert [question for question, _ in await house.held()] == ["one", "two"]
        assert await typed(house) == ""


async def test_a_reply_is_found_again_when_the_server_was_away(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        await house.open()
        await begun(house, "one")
        await house.cable.cut()
        await house.settled()
        assert "cut off" in await house.page.inner_text("#turns > li:last-child")
        await house.cable.plug_in()
        await house.until(BEGUN)
        assert await house.page.locator("#turns > li").count() == 1
        house.gate.set()
        await house.settled()
        assert await house.shown() == await house.held() == [("one", "Reply 1 to one")]


async def test_two_windows_of_a_browser_show_a_reply_as_it_comes(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        await house.open()
        await house.say("one")
        other = House(house.http, await house.page.context.new_page(), house.cable, house.gate)
        await other.page.goto(house.page.url)
        await other.page.wait_for_selector("#turns > li")
        await house.page.fill("#say", "half a thought")
        await begun(other, "two")
        await house.until(BEGUN)
        await house.page.press("#say", "Escape")  # whoever wants to may stop it
        await house.settled()
        await other.settled()
        house.gate.set()
        await other.press(".reply", "Regenerate")
        await other.settled()
        await house.until("document.querySelector('#turns .variants')")
        assert [question for question, _ in await house.held()] == ["one", "two"]
        assert await typed(house) == "half a thought"


async def test_a_reply_goes_on_while_another_talk_is_on_the_screen(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        await house.open()
        await house.say("first talk")
        await house.begin()
        await begun(house, "one")
        await listed(house, "first talk")
        await house.until("document.querySelector('#turns').textContent.includes('first talk')")
        await house.settled()
        assert [question for question, _ in await house.shown()] == ["first talk"]
        await house.page.go_back()  # it still comes
        await house.until(BEGUN)
        await listed(house, "first talk")
        await house.settled()
        house.gate.set()
        await house.page.wait_for_selector(".open-talk:has-text('one')")
        await listed(house, "one")
        await house.until("document.querySelector('#turns').textContent.includes('Reply 2 to one')")
        assert await house.shown() == await house.held() == [("one", "Reply 2 to one")]


async def test_what_is_typed_for_a_talk_stays_there(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        await house.say("one")
        await house.page.fill("#say", "half a thought")
        await house.begin()
        assert await typed(house) == ""
        await house.page.fill("#say", "a beginning")
        await listed(house, "one")
        await house.until("document.querySelector('#say').value === 'half a thought'")
        await house.page.reload()
        await house.until("document.querySelector('#say').value === 'half a thought'")
        await house.begin()
        assert await typed(house) == "a beginning"


async def test_the_browser_goes_back_to_the_talk_before_and_to_the_characters(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        page = house.page
        await house.open()
        await house.say("one")
        await house.begin()
        await house.say("two")
        await page.go_back()
        await house.until("document.querySelector('#turns').textContent.includes('Reply 1 to one')")
        await page.go_forward()
        await house.until("document.querySelector('#turns').textContent.includes('Reply 2 to two')")
        await page.go_back()
        await page.go_back()
        await page.wait_for_selector("#gallery:visible")


async def test_a_talk_that_is_searched_for_opens_where_it_was_said(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        page = house.page
        said = [Exchange(f"Question {n}", f"Reply {n}.\n\n" * 9) for n in range(130)]
        context = AmadeusContext(role="ada", library=str(tmp_path / "library"))
        async with open_conversation("amadeus", context, "t") as talk:
            await talk.take_over(said)
        await house.open()
        await page.fill("#search-talks", "question [ 12")  # no pattern, and nowhere
        await page.wait_for_selector("#threads .none")
        await page.fill("#search-talks", "question 12")
        await page.wait_for_selector("#threads mark")
        assert await page.locator("#threads mark").all_inner_texts() == ["Question", "12"]
        await listed(house, "Question 0")
        await page.wait_for_selector(".turn.revealed")
        assert (await page.inner_text(".turn.revealed .asked .text")).startswith("Question 12")


async def test_the_keys_of_a_screen_begin_a_line_with_enter(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        phone = await house.page.context.browser.new_page(
            has_touch=True, is_mobile=True, viewport={"width": 390, "height": 760}
        )
        await phone.goto(house.page.url)
        other = House(house.http, phone, house.cable, house.gate)
        await phone.wait_for_selector("#say:visible")
        assert await phone.locator("#say:focus").count() == 0  # it would bring the keys up
        await phone.fill("#say", "one")
        await phone.press("#say", "Enter")
        await phone.keyboard.type("two")
        assert await typed(other) == "one\ntwo"
        await phone.click("#send")
        await other.settled()
        assert [question for question, _ in await other.held()] == ["one\ntwo"]


async def test_what_comes_when_it_is_opened_comes_when_the_server_is_back(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        page = house.page
        await house.open()
        await house.say("one")
        await house.cable.cut()
        await page.click("#about-role")
        await page.click("#open-memory")
        await house.until("document.querySelector('#notice').textContent.includes('does not answer')")
        await house.cable.plug_in()
        await house.until("document.querySelector('#notice').textContent.includes('server is back')")
        await page.click("#back")
        await page.click("#about-role")
        await page.click("#open-memory")
        await house.until("document.querySelector('#memory').textContent.includes('Reply 1 to one')")
