"""A role's knowledge graph: over HTTP, on its page of knowledge, and the part of it that a reply touched."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from all_methods import whole_role
from chat_clients import missing
from page_house import House, page_house

from dramaturg.server.access import Access

from roles import LIFE
from scope_roles import MOON, judged, publish, scoped
from served_roles import served

KEYS = {"alice": "a" * 20}
ALICE = {"Authorization": f"Bearer {KEYS['alice']}"}
SECRET = LIFE.replace("## People\n", "## People\n\nknown_to: silver\n")
OF = "Her brother Tom sails the mail boat and brings flour and letters on Fridays."
SIZES = {"phone": (390, 780), "wide": (1280, 800)}


def known(library: Path, text: str = LIFE) -> None:
    """Ada, with files for every method and a graph that is made."""
    whole_role(library)
    (library / "ada" / "persona" / "life.md").write_text(text)
    publish(library)


async def graph(http: httpx.AsyncClient, **how: Any) -> dict[str, Any]:
    answer = await http.get("/v1/roles/ada/graph", **how)
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_an_author_is_given_all_of_a_graph_with_the_sentences(tmp_path: Path) -> None:
    known(tmp_path / "library", SECRET)
    async with served(tmp_path) as http:
        assert (await http.get("/v1/roles/ada/knowledge")).json()["graph"] is True
        told = await graph(http, params={"method": "amadeus"})  # which has none: RoleRAG's
        names = [one["name"] for one in told["nodes"]]
        assert (told["whole"], names[told["role"]], len(names)) == (True, "Ada Quill", 7)
        first = told["edges"][0]
        assert {names[first["a"]], names[first["b"]], first["strength"]} == {"Ada Quill", "the lamp", 10}
        said = told["nodes"][names.index("Leith")]["statements"][0]
        assert (said["source"], said["quote"]) == ("life.md", OF)  # it is known to Silver alone
        assert (await graph(http))["nodes"] == told["nodes"]


async def test_who_may_not_change_roles_is_given_a_map_of_what_the_role_was_told(tmp_path: Path) -> None:
    known(tmp_path / "library", SECRET)
    async with served(tmp_path, access=Access(KEYS, changes_roles=False)) as http:
        told = await graph(http, headers=ALICE)
        assert {one["name"] for one in told["nodes"]} == {"the lamp"}  # of whom a section says something that Ada knows
        assert (told["whole"], told["edges"]) == (False, [])
        assert {(one["description"], *one["statements"]) for one in told["nodes"]} == {("",)}
        assert (await http.get("/v1/roles/ada/graph")).status_code == 401


async def test_where_no_graph_is_a_sentence_says_what_makes_one(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        assert (await http.get("/v1/roles/ada/knowledge")).json()["graph"] is False
        answer = await http.get("/v1/roles/ada/graph")
        assert (answer.status_code, "dramaturg index ada --method role-rag" in answer.text) == (400, True)
        assert (await http.get("/v1/roles/nobody/graph")).status_code == 404


# In a browser

browsed = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def seen(test: Any) -> Any:
    """A test that needs Chromium."""
    for mark in browsed:
        test = mark(test)
    return test


INK = """(one) => {
    const { data } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
    return data.reduce((sum, value, at) => sum + (at % 4 === 3 && value > 0 ? 1 : 0), 0);
}"""
"""How many dots of a picture are drawn."""
WHERE = """(one, colour) => {
    const { data, width } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
    const found = [];
    for (let at = 0; at < data.length; at += 4) {
        if (colour.some((value, n) => data[at + n] !== value)) continue;
        found.push([(at / 4) % width, Math.floor(at / 4 / width)]);
    }
    return found[Math.floor(found.length / 2)];
}"""
"""A dot of a picture that has a colour."""
PLACE = [0, 158, 115]  # of what is a location


async def drawn(house: House, where: str = ".explorer canvas") -> Any:
    """Wait until there is a picture."""
    canvas = house.page.locator(where)
    await canvas.wait_for()
    while await canvas.evaluate(INK) < 100:
        await house.page.wait_for_timeout(50)
    return canvas


async def shown(house: House) -> Any:
    """Show the graph of the role that is talked to."""
    await house.open()
    await house.menu("#open-knowledge")
    await house.page.locator("section", has_text="Knowledge graph").get_by_role("button", name="Show it").click()
    return await drawn(house)


@seen
@pytest.mark.parametrize("size", SIZES)
async def test_the_graph_is_looked_through_and_a_statement_opens_its_document(tmp_path: Path, size: str) -> None:
    known(tmp_path / "library")
    async with page_house(tmp_path, *SIZES[size]) as house:
        page, canvas = house.page, await shown(house)
        assert await page.locator(".hits button").all_inner_texts() == [
            *("Ada Quill", "Tom Quill", "the harbour master", "the lamp", "the log", "Gull Rock", "Leith")
        ]
        await page.fill(".panel input[type=search]", "her BROTHER")
        assert await page.locator(".hits button").all_inner_texts() == ["Tom Quill"]
        await page.press(".panel input[type=search]", "Enter")
        detail = page.locator(".detail")
        told = await detail.inner_text()
        for words in ("Tom Quill", "also: Tom, her brother", "He sails the mail boat.", "strength 9", "strength 4", OF):
            assert words in told
        assert told.index("strength 9") < told.index("strength 4")
        await detail.get_by_role("button", name="Leith").first.click()
        assert await page.evaluate("document.activeElement.textContent") == "Leith"
        await detail.locator(".source").last.click()
        await page.wait_for_selector("#dialog mark")
        assert await page.inner_text("#dialog mark") == OF
        await page.keyboard.press("Escape")
        await page.uncheck(".panel label:has-text('location') input")
        await page.wait_for_timeout(300)
        assert await canvas.evaluate(WHERE, PLACE) is None


@seen
async def test_the_picture_is_dragged_zoomed_and_chosen_from(tmp_path: Path) -> None:
    known(tmp_path / "library")
    async with page_house(tmp_path) as house:
        page, canvas = house.page, await shown(house)
        box = await canvas.bounding_box()

        async def place() -> Any:
            await page.wait_for_timeout(200)
            return await canvas.evaluate(WHERE, PLACE)

        before = await place()
        await page.mouse.move(box["x"] + 20, box["y"] + 20)
        await page.mouse.down()
        await page.mouse.move(box["x"] + 60, box["y"] + 50, steps=4)
        await page.mouse.up()
        x, y = await place()
        assert abs(x - before[0] - 40) < 12
        assert abs(y - before[1] - 30) < 12
        await canvas.focus()
        await page.keyboard.press("ArrowRight")
        assert abs((await place())[0] - (x - 60)) < 3
        await page.keyboard.press("0")
        assert await place() == before
        ink = await canvas.evaluate(INK)
        for zoomed in (
            page.mouse.wheel(0, -400),
            page.keyboard.press("+"),
            page.get_by_role("button", name="Closer").click(),
            canvas.evaluate(PINCH),
        ):
            await zoomed
            await page.wait_for_timeout(200)
            assert await canvas.evaluate(INK) != ink
            await page.get_by_role("button", name="Show all").click()
            await canvas.focus()
            assert await place() == before
        x, y = before
        await page.mouse.click(box["x"] + x, box["y"] + y)
        assert await page.locator(".detail h4").inner_text() in ("Gull Rock", "Leith")
        await page.emulate_media(color_scheme="dark")
        await page.wait_for_timeout(300)
        assert await canvas.evaluate(WHERE, [0xB6, 0x9C, 0xF0])  # what is chosen, in the colour of the dark


PINCH = """(one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    one.setPointerCapture = () => {};
    const point = (type, pointerId, by) => one.dispatchEvent(new PointerEvent(type, {
        pointerId, clientX: left + width / 2 + by, clientY: top + height / 2, bubbles: true }));
    point("pointerdown", 1, -20);
    point("pointerdown", 2, 20);
    for (let by = 30; by < 90; by += 10) point("pointermove", 2, by);
    point("pointerup", 1, -20);
    point("pointerup", 2, 90);
}"""
"""Two fingers that go apart."""


@seen
async def test_who_may_not_change_roles_is_told_why_no_text_is_shown(tmp_path: Path) -> None:
    known(tmp_path / "library")
    async with page_house(tmp_path, access=Access(changes_roles=False, a_minute=10_000)) as house:
        await shown(house)
        assert "Names and relationships only" in await house.page.inner_text("#knowledge")
        await house.page.locator(".hits button").first.click()
        assert "She keeps" not in await house.page.inner_text(".detail")
        assert "strength 10" in await house.page.inner_text(".detail")


GOOD, BAD = [28, 107, 60], [160, 39, 39]


@seen
async def test_why_draws_what_the_reply_touched_and_nothing_of_one_alone(tmp_path: Path) -> None:
    known(tmp_path / "library")
    asked = {
        "scope": lambda text: judged(scoped("Tom"), MOON) if "moon" in text else judged(scoped("Leith", "location"))
    }
    async with page_house(tmp_path, parts=asked) as house:
        page = house.page
        await house.open(method="role-rag")
        await house.say("Did Tom fly to the moon?")
        await house.why()
        canvas = await drawn(house, "#why canvas")
        assert await canvas.evaluate(WHERE, GOOD)
        assert await canvas.evaluate(WHERE, BAD)
        marks = page.locator("#why-body figure + .marks")
        assert (await marks.inner_text()).split("\n") == ["in scope", "out of scope", "Recalled from the graph"]
        badge = await page.locator("#why-body .found .badge").first.bounding_box()
        assert badge["width"] < 150  # each stands beside its entity, not across the pane
        scrolled = await page.evaluate("document.querySelector('#why').scrollTop")
        await canvas.hover()
        await page.mouse.wheel(0, 200)  # which is the pane's, until the picture has the focus
        await house.until(f"document.querySelector('#why').scrollTop > {scrolled}")
        await house.say("What of Leith?")
        await house.until("document.querySelector('#why-body').textContent.includes('Leith')")
        assert await page.locator("#why canvas").count() == 0


@seen
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_barrier_is_found(tmp_path: Path, size: str, scheme: str) -> None:
    known(tmp_path / "library")
    async with page_house(tmp_path, *SIZES[size]) as house:
        page, found = house.page, list[str]()
        await page.emulate_media(color_scheme=scheme)

        async def look(state: str) -> None:
            found.extend(await house.barriers(state))

        await shown(house)
        await look("graph")
        await page.locator(".hits button").first.click()
        await look("chosen")
        wide = "document.documentElement.scrollWidth > innerWidth"
        assert not await page.evaluate(wide)
        await house.menu("")
        await house.choose("role-rag")
        await house.say("Do you trust Tom?")
        await house.why()
        await drawn(house, "#why canvas")
        await look("why")
        assert found == []


@seen
async def test_by_keyboard_the_list_says_what_the_picture_shows(tmp_path: Path) -> None:
    known(tmp_path / "library")
    async with page_house(tmp_path) as house:
        page, _ = house.page, await shown(house)
        assert await page.evaluate("document.activeElement.matches('.panel input')")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        assert await page.locator(".detail h4").inner_text() == "Ada Quill"
        assert await page.get_attribute(".detail", "aria-live") == "polite"
        await page.keyboard.press("Shift+Tab")
        label = await page.get_attribute(".explorer canvas", "aria-label")
        assert "Arrow keys move it" in label


@seen
@pytest.mark.parametrize(("language", "title"), [("zh", "知识图谱"), ("ko", "지식 그래프")])
async def test_it_is_said_in_chinese_and_korean(tmp_path: Path, language: str, title: str) -> None:
    known(tmp_path / "library")
    async with page_house(tmp_path) as house:
        await house.open()
        await house.choose(language=language)
        await house.menu("#open-knowledge")
        await house.page.locator(".knowledge > section", has_text=title).get_by_role("button").click()
        await drawn(house)
