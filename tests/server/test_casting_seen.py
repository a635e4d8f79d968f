"""A character is cast from a text on the page in Chromium: as it is seen, by keyboard, and without a barrier."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from chat_clients import missing
from page_house import House, page_house

from dramaturg.server.access import Access
from dramaturg.stores.library import Library
from dramaturg.stores.texts.draft import CastDraft, Statement

from fakes import ScriptedChatModel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
TEXTS = Path(__file__).parents[2] / "examples" / "texts"
SIZES = {"phone": (390, 760), "wide": (1280, 800)}


class Teller:
    """The model finds that the first sentence of each part tells who she is; while it is held, it does not answer."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.goes_on.set()

    def __call__(self, messages: list[Any]) -> str:
        self.goes_on.wait(60)
        rules = str(messages[0].content)
        kinds = ("told", "episodes", "triples", "quotes", "profile")
        kind = next((one for one in kinds if f'{{"{one}"' in rules), "")
        if kind == "told":
            return '{"told": [{"sentence": 1, "kind": "who"}], "episodes": [], "triples": []}'
        return json.dumps({kind: "She runs a ferry." if kind == "profile" else []})


async def barriers(house: House, state: str) -> list[str]:
    found = await house.barriers(state)
    if await house.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append(f"{state}: wider than the window")
    return found


async def casting(house: House) -> None:
    """Open the view from the first page."""
    await house.page.wait_for_selector(".roles li")
    await house.cast()
    await house.page.wait_for_selector("#casting .drop")


async def given(house: House, file: str) -> None:
    await house.page.set_input_files("#cast-files", TEXTS / file)
    await house.page.wait_for_selector("#cast-name")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
async def test_from_a_file_to_a_talk_without_a_terminal(tmp_path: Path, size: str, scheme: str) -> None:
    teller = Teller()
    model = ScriptedChatModel(reply=teller)
    async with page_house(tmp_path, *SIZES[size], settings={"chat_model": model}) as house:
        page, found = house.page, list[str]()
        await page.emulate_media(color_scheme=scheme)
        await casting(house)
        found += await barriers(house, "empty")
        await given(house, "the_ferry.md")
        assert "prose" in await page.inner_text("#casting")
        await page.get_by_role("radio", name="Mira", exact=False).first.check()
        assert (await page.input_value("#cast-name")).startswith("Mira")
        await page.fill("#cast-name", "Mira Castellan")
        await page.locator("summary", has_text="More").click()
        found += await barriers(house, "people")
        await page.get_by_role("button", name="See what it costs").click()
        card = page.locator("#casting .card")
        cost = await card.inner_text()
        assert "characters of the_ferry.md are sent to" in cost
        assert "mira-castellan" in cost
        found += await barriers(house, "cost")
        assert Library(tmp_path / "library").roles() == ["ada"]
        teller.goes_on.clear()
        await card.get_by_role("button", name="Cast").click()
        await page.wait_for_selector("#casting progress")
        found += await barriers(house, "under way")
        teller.goes_on.set()
        await page.wait_for_selector(".drafts [data-kind=persona]")
        assert "Drafted:" in await page.inner_text("#casting .fine")
        found += await barriers(house, "drafts")
        persona = page.locator("[data-kind=persona]")
        assert "the_ferry.md" in await persona.locator("cite").first.inner_text()
        await persona.get_by_role("button", name="Edit: Persona 1", exact=True).click()
        await page.get_by_label("Text", exact=True).fill("Mira runs the ferry at Harrow Point.")
        found += await barriers(house, "edited")
        await page.get_by_role("button", name="Save draft").click()
        await house.until("document.querySelector('[data-kind=persona]')?.textContent.includes('Mira runs')")
        await persona.get_by_role("button", name="Accept: Persona 1", exact=True).click()
        await house.until("document.querySelector('.drafts .fine')?.textContent.includes('Accepted of Persona: 1')")
        dialogues = page.locator("[data-kind=dialogues]")
        await dialogues.get_by_role("button", name="Accept all of this kind").click()
        await house.until("!document.querySelector('[data-kind=dialogues]')")
        card_kind = page.locator("[data-kind=card]")
        await card_kind.get_by_role("button", name="Refuse all of this kind").click()
        assert "does not come back" in await card_kind.inner_text()
        found += await barriers(house, "refusing")
        await card_kind.locator(".card button.main").click()
        await house.until("!document.querySelector('[data-kind=card]')")
        await page.get_by_role("button", name="Chat: Mira Castellan").click()
        await page.wait_for_selector("#say:visible")
        assert "Mira Castellan" in await page.inner_text(".greeting")
        assert "role=mira-castellan" in page.url
        assert found == []
    role = Library(tmp_path / "library").role("mira-castellan")
    assert "Mira runs the ferry at Harrow Point." in role.documents()[0].text
    assert role.dialogue_files.names()


async def test_what_waits_is_seen_where_the_role_is_taught(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        page = house.page
        role = Library(tmp_path / "library").role("ada")
        hostile = "<img src=x onerror=alert(1)>"
        told = [Statement(document="a.md", heading="Past", text=f"{hostile} {n}") for n in range(25)]
        CastDraft(role.root).put({"persona": told})
        await house.open()
        await house.menu("#open-knowledge")
        await page.wait_for_selector("[data-kind=persona]")
        assert await page.locator("[data-kind=persona] li").count() == 20
        await page.get_by_role("button", name="and 5 more").click()
        await house.until("document.querySelectorAll('[data-kind=persona] li').length === 25")
        assert hostile in await page.inner_text("[data-kind=persona]")
        assert await page.locator("#knowledge img").count() == 0
        other = [*CastDraft(role.root).items("persona")[:1]]
        CastDraft(role.root).refuse("persona", other)  # meanwhile, in a terminal
        await page.get_by_role("button", name="Accept: Persona 3", exact=True).click()
        await house.until("document.querySelector('.drafts .warning')?.textContent.includes('meanwhile')")
        assert await page.locator("[data-kind=persona] li").count() == 24
        await page.get_by_role("button", name="Accept: Persona 24", exact=True).press("Enter")
        await house.until("document.querySelectorAll('[data-kind=persona] li').length === 23")
        focused = await page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert focused == "Accept: Persona 23"  # who decides by keyboard goes on


async def test_all_of_it_is_done_by_keyboard(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        page = house.page
        await casting(house)
        await given(house, "mira_diary.md")
        assert await page.is_checked("#cast-first")
        assert await page.get_attribute("#cast-name", "placeholder") == "Me"

        async def to(name: str) -> None:
            for _ in range(60):
                if name in await page.evaluate(
                    "(document.activeElement.getAttribute('aria-label') || document.activeElement.id || "
                    "document.activeElement.textContent)"
                ):
                    return
                await page.keyboard.press("Tab")
            raise AssertionError(f"{name} is not reached")

        await to("cast-name")
        await page.keyboard.type("Mira")
        await to("More")
        await page.keyboard.press("Enter")
        await to("cast-asks")
        await page.keyboard.press("Space")
        await to("See what it costs")
        await page.keyboard.press("Enter")
        await house.until("document.querySelector('#casting .card')?.textContent.includes('No model is asked')")
        await to("Cast")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("[data-kind=memories]")
        await to("Accept all of this kind: Memories")
        await page.keyboard.press("Enter")
        await house.until("document.querySelector('#live').textContent.includes('Accepted of Memories: 4')")
        await to("Chat: Mira")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#say:focus")


async def test_what_cannot_be_is_said_and_can_be_tried_again(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        page = house.page
        await casting(house)
        await given(house, "the_ferry.md")
        await page.fill("#cast-name", "Zebulon")
        await page.get_by_role("button", name="See what it costs").click()
        await house.until("document.querySelector('#casting .warning')?.textContent.includes('Zebulon')")
        assert await page.input_value("#cast-name") == "Zebulon"
        await page.fill("#cast-name", "Pip")
        await house.cable.cut()
        await page.get_by_role("button", name="See what it costs").click()
        await house.until("document.querySelector('#casting .warning')?.textContent.includes('does not answer')")
        await house.cable.plug_in()
        await page.locator("#casting .said").get_by_role("button", name="Try again").click()
        await page.wait_for_selector("#casting .card")


async def test_who_may_change_no_role_reads_so(tmp_path: Path) -> None:
    async with page_house(tmp_path, access=Access(a_minute=10_000, changes_roles=False)) as house:
        await house.page.wait_for_selector(".roles li")
        await house.cast()
        await house.until("document.querySelector('#casting .warning')?.textContent.includes('--change-roles')")
        assert await house.page.locator("#cast-files").count() == 0
