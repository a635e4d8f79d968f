"""Another reply by a wish, on the page in Chromium: by its menu and in one's own words, and which wish made which."""

from pathlib import Path

import pytest
from chat_clients import missing
from page_house import House, page_house

from roles import fenced

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
UNEXPECTED = "Take the talk in an unexpected direction"
SIZES = {"phone": (360, 780), "wide": (1400, 900)}


async def reply_of(house: House) -> tuple[str, str]:
    """The last reply, and the wish that stands below it or in what it rests on."""
    words = house.page.locator("#turns > li:last-child .words")
    below = [*await words.locator("> p.faint").all_inner_texts(), *await words.locator(".because").all_inner_texts()]
    return (await house.shown())[-1][1], " ".join(one for one in below if "ish" in one)


@pytest.mark.parametrize("size", SIZES)
async def test_a_reply_is_asked_for_again_as_it_is_wished(tmp_path: Path, size: str) -> None:
    def reply(text: str) -> str:
        return f"It is {fenced('wish', text) or 'plain'}."

    async with page_house(tmp_path, *SIZES[size], parts={"reply": reply}) as house:
        page = house.page
        await house.open(method="profile")
        await house.say("one")
        assert await reply_of(house) == ("It is plain.", "")
        await page.evaluate("document.querySelector('.turn.last .wish').focus()")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#menu:popover-open")
        assert await page.locator("#menu > *").all_inner_texts() == [
            *("Shorter", "Longer", "Another direction", "Your own wish …")
        ]
        assert await house.barriers("the menu of wishes") == []
        for _ in range(2):
            await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await house.until(f"document.querySelector('.turn:last-child .because')?.textContent.includes('{UNEXPECTED}')")
        assert (await reply_of(house))[0] == f"It is {UNEXPECTED}."
        await house.press(".reply", "Regenerate with a wish")
        await page.get_by_role("menuitem", name="Your own wish …").click()
        await page.fill("#asked-line", "  <b>angry</b>, and in rhyme ")
        await page.press("#asked-line", "Enter")
        await house.until("document.querySelector('.turn:last-child .because')?.textContent.includes('in rhyme')")
        assert (await reply_of(house))[0] == "It is ‹b>angry‹/b>, and in rhyme."
        await house.press(".reply", "Previous reply")
        await house.press(".reply", "Previous reply")
        assert (await reply_of(house))[0] == "It is plain."
        await house.press(".reply", "Regenerate")
        await house.settled()
        assert await reply_of(house) == ("It is plain.", "")  # a wish holds for its reply alone
        await page.reload()
        await page.wait_for_selector("#turns > li:last-child .because")
        await house.press(".reply", "Previous reply")
        assert await reply_of(house) == ("It is ‹b>angry‹/b>, and in rhyme.", "Wish: <b>angry</b>, and in rhyme")
        await house.press(".reply", "Previous reply")
        assert (await reply_of(house))[1] == f"Wish: {UNEXPECTED}"
        await house.press(".reply", "Why")
        await page.wait_for_selector("#why-body .because")
        assert f"the wish was “{UNEXPECTED}”" in await page.inner_text("#why-body .because")
        wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
