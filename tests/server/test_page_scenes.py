"""A scene on the page in Chromium: begun from the gallery, led by the menu and by commands, and who knew what when."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from chat_clients import missing
from page_house import House, page_house

from dramaturg.server.access import Access

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SIZES = {"phone": (390, 780), "wide": (1400, 900)}
DICK, SILVER = "Dick Johnson", "Long John Silver"
SECRET = "The boy is in the barrel."


def players() -> dict[str, Any]:
    """Whoever plays says a line that nobody else says."""
    numbers = count(1)
    return {
        "parts": {"reply": lambda _: f"[I wonder.] Aye, that is line {next(numbers)}."},
        "settings": {"redraws": 0, "summary_tokens": 0},
    }


async def cue(house: House, *items: str) -> None:
    """Choose something in the menu beside the message."""
    await house.page.click("#cues")
    for one in items:
        await house.page.get_by_role("menuitem", name=one, exact=True).click()


async def lines(house: House) -> list[str]:
    """What stands in the scene, each with who says it."""
    found: list[str] = await house.page.evaluate(
        """[...document.querySelectorAll('#turns .reply .words, #turns .asked, #turns div.narrated')]
           .filter(one => !one.matches('.asked div'))
           .map(one => [...one.querySelectorAll(':scope > .who, :scope > .badge, :scope > .text')]
             .map(part => part.textContent.trim()).join(' | '))"""
    )
    return found


async def cells(house: House) -> dict[str, list[str]]:
    """The table of who knew what: of each line the words of its cells."""
    rows = await house.page.evaluate(
        """[...document.querySelectorAll('#heard tbody tr')].map(row => [
             row.querySelector('th').textContent.replace(/^\\d+ /, ''),
             [...row.querySelectorAll('td')].map(one => one.textContent)])"""
    )
    return dict(rows)


async def played(house: House) -> None:
    """Silver is whispered to, Dick goes while something is said, and comes back."""
    page = house.page
    await page.locator("#gallery .scenes").get_by_role("button", name="Apple barrel").click()
    await page.wait_for_selector(".greeting .cast")
    await cue(house, "Speaks next …", "Dick Johnson")
    await house.settled()
    await cue(house, "Whisper to …", "Long John Silver")
    assert await page.input_value("#say") == "/whisper Long John Silver: "
    await page.type("#say", SECRET)
    await page.press("#say", "Enter")
    await house.settled()
    await cue(house, "Leaves …", "Dick Johnson")
    await house.settled()
    await house.say("/narrate A gull cries.")
    await cue(house, "Enters …", "Dick Johnson")
    await house.settled()


@pytest.mark.parametrize("size", SIZES)
async def test_a_scene_is_played_and_the_picture_says_who_knew_what(tmp_path: Path, size: str) -> None:
    async with page_house(tmp_path, *SIZES[size], **players()) as house:
        page = house.page
        await played(house)
        assert await lines(house) == [
            "/next Dick Johnson",
            "Dick Johnson | [I wonder.] Aye, that is line 1.",
            f"whispers to Long John Silver | {SECRET}",
            "Long John Silver whispers | [I wonder.] Aye, that is line 2.",
            "Dick Johnson leaves.",
            "Long John Silver | [I wonder.] Aye, that is line 3.",
            "A gull cries.",
            "Long John Silver | [I wonder.] Aye, that is line 4.",
            "Dick Johnson comes in.",
            *(f"{name} | [I wonder.] Aye, that is line {at}." for at, name in enumerate((DICK, SILVER, DICK), 5)),
        ]
        await house.menu("#open-heard")
        await page.wait_for_selector("#heard td")
        table = await cells(house)
        assert [one[:2] for one in table.values()][:3] == [
            ["heard"] * 2,
            ["there, not heard"] * 2,
            ["heard", "said it"],
        ]
        assert [(one[0], one[1], one[4]) for one in table.values()][3:8] == [
            ("whispered to it", "there, not heard", "there, not heard"),
            ("said it", "there, not heard", "there, not heard"),
            ("saw it", "saw it", "saw it"),
            ("said it", "not there", "heard"),
            ("heard", "not there", "heard"),
        ]
        await page.locator("#heard tbody tr").nth(3).locator("td").nth(1).click()
        assert "Dick Johnson was there, but this was for others alone." in await page.inner_text(".heard-why")
        for key in ("ArrowDown", "ArrowDown", "ArrowDown"):  # by the keyboard alone
            await page.keyboard.press(key)
        assert "Dick Johnson was not there." in await page.inner_text(".heard-why")
        await page.select_option("#heard-by", label="what Dick Johnson knows")
        known = "\n".join(await cells(house))
        assert SECRET not in known
        assert "gull" not in known
        assert "Dick Johnson: [I wonder.] Aye, that is line 1." in known
        assert "Long John Silver: Aye, that is line 6." in known  # his thoughts are his own
        await page.locator("#heard tbody tr", has_text="line 6").locator("td").first.click()
        await page.get_by_role("button", name="Show where").click()
        await page.wait_for_selector("#turns .revealed")
        await page.reload()
        await page.wait_for_selector("#turns > li:nth-child(5)")
        assert len(await lines(house)) == 12


async def test_a_scene_is_regenerated_edited_exported_and_deleted(tmp_path: Path) -> None:
    async with page_house(tmp_path, **players()) as house:
        page = house.page
        await played(house)
        await house.press(".replies", "Regenerate")
        await house.settled()
        assert (await lines(house))[-1].endswith("line 10.")
        await house.press(".replies", "Previous reply")
        assert (await lines(house))[-1].endswith("line 7.")
        await house.press(".replies", "Edit reply", 0)
        assert await page.input_value(".turn textarea") == "Dick Johnson: [I wonder.] Aye, that is line 1."
        await page.fill(".turn textarea", "Dick Johnson: I saw nothing.")
        await page.click(".turn textarea + .tools .main")
        assert (await lines(house))[-1] == "Dick Johnson | I saw nothing."
        await house.say("/next Long John Silver")
        assert await lines(house) == [
            "/next Dick Johnson",
            "Dick Johnson | I saw nothing.",
            "/next Long John Silver",
            "Long John Silver | [I wonder.] Aye, that is line 11.",
        ]
        await house.press(".replies", "Continue")
        await house.settled()
        assert len(await lines(house)) > 4
        await house.say("/whisper Nobody: Hush.")
        assert "needs the name of somebody of the cast" in await page.inner_text("#notice")
        await page.locator("#notice").get_by_role("button", name="Close").click()
        assert await page.inner_text("#notice") == ""
        more = page.locator("#threads li").first.locator(".icon")
        await more.hover()
        await more.click()
        async with page.expect_download() as waited:
            await page.get_by_role("menuitem", name="Export as a script").click()
        file = await waited.value
        assert file.suggested_filename.endswith(".fountain")
        assert "@Dick Johnson\nI saw nothing." in (await file.path()).read_text()
        await more.click()
        await page.get_by_role("menuitem", name="Delete").click()
        await page.locator("#dialog button.danger").click()
        await page.wait_for_selector(".greeting")
        assert not (await house.http.get("/v1/threads")).json()["data"]


async def test_what_somebody_has_heard_is_in_its_memory_and_forgotten_by_all(tmp_path: Path) -> None:
    async with page_house(tmp_path, **players()) as house:
        page = house.page
        await house.choose(name="Mira")
        await played(house)
        await house.side("#open-gallery")
        await page.locator("#gallery").get_by_role("button", name=SILVER, exact=True).click()
        await page.wait_for_selector(".greeting")
        await house.menu("#open-memory")
        row = page.locator("#memory .found > li", has_text=SECRET)
        assert "in the scene apple barrel" in await row.inner_text()
        await row.get_by_role("button", name="Forget …").click()
        await page.wait_for_selector("#memory .card .main")
        assert "everybody who heard it forgets it" in await page.inner_text("#memory .card")
        await page.click("#memory .card .main")
        await house.until("document.querySelector('#live').textContent.includes('Forgotten')")
        assert await row.count() == 0
        await (
            page.locator("#memory .found > li", has_text="A gull cries.")
            .get_by_role("button", name="Show where")
            .click()
        )
        await page.wait_for_selector("#turns .revealed")
        assert "A gull cries." in await page.inner_text("#turns .revealed")
        assert SECRET not in await page.inner_text("#turns")


async def test_a_group_chat_of_another_client_is_read_and_goes_on_there(tmp_path: Path) -> None:
    async with page_house(tmp_path, **players()) as house:
        page = house.page
        members = {"X-Role-Char": SILVER, "X-Role-Group": f"{SILVER}, {DICK}", "X-Role-Thread": "deck"}
        body = {"model": "scene:auto", "messages": [{"role": "user", "content": "Who goes there?"}]}
        (await house.http.post("/v1/chat/completions", json=body, headers=members)).raise_for_status()
        await page.reload()
        await page.locator("#threads .open-talk", has_text="Group chat").click()
        await page.wait_for_selector("#turns .reply")
        assert (await lines(house))[-1] == f"{SILVER} | [I wonder.] Aye, that is line 1."
        assert await page.locator("#say").is_disabled()
        assert "go on there" in await page.get_attribute("#say", "placeholder")
        names = await page.locator("#turns .tools button").evaluate_all("all => all.map(one => one.ariaLabel)")
        assert names == ["Copy"]
        await house.menu("#open-heard")
        await page.wait_for_selector("#heard td")
        assert [one[0] for one in (await cells(house)).values()] == ["heard", "heard"]
        await page.reload()
        await page.wait_for_selector("#turns .reply")
        await page.click("#new")
        await page.wait_for_selector("#gallery .scenes")
        await page.locator("#gallery").get_by_role("button", name=SILVER, exact=True).click()
        await page.wait_for_selector("#say:enabled")


async def test_it_is_said_whose_line_comes(tmp_path: Path) -> None:
    how = players()
    how["parts"] = {"reply": lambda _: "Reply of mine."}  # the gate holds it after its first word
    async with page_house(tmp_path, **how) as house:
        page = house.page
        await page.locator("#gallery .scenes").get_by_role("button", name="Apple barrel").click()
        await page.wait_for_selector(".greeting .cast")
        house.gate.clear()
        await page.fill("#say", "/next Jim Hawkins")
        await page.press("#say", "Enter")
        await page.wait_for_selector(".coming .reply .text")
        assert "Jim Hawkins" in await page.inner_text(".coming .reply")
        await page.press("#say", "Escape")  # what was said before a stop stands
        await house.settled()
        assert (await lines(house))[-1] == "Jim Hawkins | Reply"
        assert await page.locator(".ask-why").count() == 1  # what is on the screen is what the server has
        house.gate.set()
        await house.press(".replies", "Regenerate")
        await house.settled()
        assert (await lines(house))[-1] == "Jim Hawkins | Reply of mine."


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_barrier_is_found(tmp_path: Path, size: str, scheme: str) -> None:
    async with page_house(tmp_path, *SIZES[size], **players()) as house:
        page, found = house.page, list[str]()
        await page.emulate_media(color_scheme=scheme)

        async def look(state: str) -> None:
            found.extend(await house.barriers(state))

        await page.wait_for_selector("#gallery .scenes")
        await look("gallery")
        await page.click("#new-scene")
        await page.locator(".players").get_by_role("checkbox", name=SILVER).check()
        await page.locator(".players summary").click()
        await look("new scene")
        await page.keyboard.press("Escape")
        await page.click("#to-scenes")
        await page.locator("#gallery .scenes").get_by_role("button", name="Apple barrel").click()
        await page.wait_for_selector(".greeting .cast")
        await look("greeting")
        await house.side("#open-gallery")
        await played(house)
        await look("scene")
        await page.click("#cues")
        await look("menu")
        await page.keyboard.press("Escape")
        await house.why()
        await look("why")
        if size == "phone":
            await page.click("#close-why")
        await house.menu("#open-heard")
        await page.wait_for_selector("#heard td")
        await page.locator("#heard td").first.click()
        await look("who knew what")
        assert found == []


async def fits(house: House) -> bool:
    """Whether the dialog is no wider than the window, and can be scrolled down to its end."""
    return bool(
        await house.page.evaluate(
            """(() => { const one = document.querySelector('#dialog');
                return one.scrollWidth <= one.clientWidth && one.getBoundingClientRect().right <= innerWidth; })()"""
        )
    )


@pytest.mark.parametrize("size", [*SIZES, "zoomed"])
async def test_a_scene_is_put_together_changed_and_deleted_on_the_page(tmp_path: Path, size: str) -> None:
    async with page_house(tmp_path, *(SIZES | {"zoomed": (320, 256)})[size], **players()) as house:
        page, found = house.page, list[str]()
        dialog = page.locator("#dialog")
        await house.choose(name="Mira")
        await page.focus("#to-scenes")
        await page.keyboard.press("Enter")  # by the keyboard alone
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.id") == "new-scene"
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#dialog[open] .players")
        for text in ("Below: Deck", "The hold.", "A rat runs by.", ""):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.ariaLabel") == "Close":
                await page.keyboard.press("Tab")
            await page.keyboard.type(text)
        assert await page.get_by_label("Whom you play").input_value() == "Mira"
        await page.keyboard.press("Tab")
        await page.keyboard.type("quill")
        assert await dialog.locator(".players li:visible").count() == 1
        await page.keyboard.press("Enter")  # as in every search: nothing is made
        await page.keyboard.press("Tab")
        await page.keyboard.press("Space")
        await dialog.get_by_label("Search characters").fill("john")
        await dialog.get_by_role("checkbox", name=DICK).check()
        assert await dialog.locator(".players li:visible").count() > 1  # who is chosen stays
        dick = dialog.locator("details", has_text=DICK)
        await dick.locator("summary").click()
        await dick.get_by_label("comes later").check()
        assert await fits(house)
        await dialog.get_by_role("button", name="Create").click()
        await page.wait_for_selector(".greeting .cast")
        assert await page.locator(".greeting .cast li").all_inner_texts() == ["Ada Quill", f"{DICK}comes later"]
        assert "A rat runs by." in await page.inner_text(".greeting")
        await page.fill("#say", "Who is there?")
        await page.press("#say", "Enter")
        await house.settled()
        assert await lines(house) == ["Mira | Who is there?", "Ada Quill | [I wonder.] Aye, that is line 1."]

        await house.menu("#edit-scene")
        await page.wait_for_selector("#dialog[open] .players")
        await page.get_by_label("Name", exact=True).fill("Apple barrel")
        await dialog.get_by_role("button", name="Save").click()
        await page.wait_for_selector("#dialog .warning")
        assert "There is a scene 'Apple barrel' already" in await dialog.inner_text()
        await page.get_by_label("Name", exact=True).fill("The hold")
        await dick.locator("summary").click()
        await dick.get_by_label("comes later").uncheck()
        await dialog.get_by_role("button", name="Save").click()
        await page.wait_for_selector("#dialog:not([open])", state="attached")
        assert "The hold" in await page.inner_text("#title")
        assert len(await lines(house)) == 2  # the same chat
        scene = (await house.http.get("/v1/scenes/below-deck")).json()
        assert (scene["name"], [one["absent"] for one in scene["cast"]]) == ("The hold", [False, False])

        await page.click("#about-role")
        await page.get_by_role("menuitem", name="Delete scene").click()
        assert "“The hold” is deleted. Its chats stay" in await dialog.inner_text()
        found += await house.barriers("delete")
        await dialog.locator("button.danger").click()
        await page.wait_for_selector("#gallery .scenes")
        await house.side(".open-talk")
        await page.wait_for_selector("#say:disabled")
        await page.wait_for_selector("#turns .reply")
        assert len(await lines(house)) == 2
        assert "not there any more" in await page.get_attribute("#say", "placeholder")
        await page.reload()
        await page.wait_for_selector("#turns .reply")
        assert "below deck" in await page.inner_text("#title")
        await page.click("#about-role")
        assert await page.locator("#menu [role=menuitem]").all_inner_texts() == ["Who knew what when", "Branches"]
        assert found == []


async def test_an_example_is_changed_as_a_copy_and_a_closed_server_offers_nothing(tmp_path: Path) -> None:
    async with page_house(tmp_path, **players()) as house:
        page = house.page
        await page.locator("#gallery .scenes").get_by_role("button", name="Apple barrel").click()
        await page.wait_for_selector(".greeting .cast")
        await page.click("#about-role")
        assert "Delete scene" not in await page.inner_text("#menu")
        await page.click("#edit-scene")
        await page.wait_for_selector("#dialog[open] .players")
        assert await page.get_by_label("Name", exact=True).input_value() == "Apple barrel 2"
        await page.locator("#dialog").get_by_role("button", name="Create").click()
        await page.wait_for_selector("#dialog:not([open])", state="attached")
        assert "Apple barrel 2" in await page.inner_text("#title")
        file = tmp_path / "library" / "scenes" / "apple-barrel-2.yaml"
        assert "told: You have climbed into the apple barrel" in file.read_text()
    async with page_house(tmp_path, access=Access(a_minute=10_000, changes_roles=False), **players()) as house:
        page = house.page
        await page.wait_for_selector("#gallery .scenes")
        assert await page.locator("#new-scene").count() == 0
        await page.locator("#gallery .scenes").get_by_role("button", name="Apple barrel 2").click()
        await page.click("#about-role")
        assert await page.locator("#menu [role=menuitem]").count() == 2
