"""What waits for a person and what a role is taught, on the page in Chromium: as it is seen, and what of it holds."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from chat_clients import missing
from page_house import House, page_house

from dramaturg.server.access import Access
from dramaturg.stores.documents.merges import DECISIONS, PLAN, Merge, MergePlan, Why, read_plan, write_plan

from changing_roles import CORE, SAILOR, finding

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
HARBOUR = "# The harbour\n\nThe harbour master is called Imelda.\n"
CHANGES: Any = {
    "parts": {"reflected": json.dumps({"findings": [CORE, finding("a drinker", 1, "habit")]})},
    "settings": {"update": True, "redraws": 0},
}
SEEN = "!document.querySelector('#waiting').hidden && document.querySelector('#waiting input')"
GONE = "document.querySelector('#waiting').hidden"


async def became(house: House) -> list[str]:
    thread = (await house.http.get("/v1/threads?role=ada")).json()["data"][0]["id"]
    head = (await house.http.get(f"/v1/threads/{quote(thread, safe='')}/tree?role=ada")).json()["head"]
    turn = (await house.http.get(f"/v1/threads/{quote(thread, safe='')}/turns/{head}?role=ada")).json()
    return [one["triple"]["object"] for one in turn["evidence"].get("identity_changes", [])]


async def test_a_change_of_somebody_in_a_scene_is_approved_and_her_line_stays(tmp_path: Path) -> None:
    scenes = tmp_path / "library" / "scenes"
    scenes.mkdir(parents=True)
    cast = "- {role: ada, method: id-rag, settings: {update: true}}\n"
    (scenes / "tea.yaml").write_text(f"place: A kitchen.\nuser_role: Visitor\ncast:\n{cast}", encoding="utf-8")
    async with page_house(tmp_path, **CHANGES) as house:
        page = house.page
        await page.wait_for_selector("#title:not(:empty)")
        await page.get_by_role("button", name="Tea", exact=True).click()
        await page.wait_for_selector("#say:visible")
        for told, becomes in (("Who are you?", [True, False]), ("And now?", [])):
            await house.say(told)
            await house.until(SEEN)
            assert "Pending changes to Ada Quill" in await page.inner_text("#waiting")
            assert "Reply" in await page.inner_text("#turns > li:last-child .reply")  # what waits was said
            if becomes:
                await page.locator("#waiting input").first.check()
                await page.locator("#waiting button.main").click()
                await house.until(GONE)
        await house.say("Good night.")  # a message refuses what waits
        await house.until(SEEN)
        assert await page.locator("#turns > li").count() == 3
        await page.reload()
        await house.until(SEEN)
        await page.locator("#waiting button", has_text="Reject").click()
        await house.until(GONE)
        await house.until("document.querySelectorAll('#turns > li').length === 3")


async def test_a_change_of_who_she_is_is_approved_one_by_one(tmp_path: Path) -> None:
    async with page_house(tmp_path, **CHANGES) as house:
        page = house.page
        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        shown = await page.inner_text("#waiting")
        assert SAILOR in shown
        assert "keeper of the light" in shown  # in whose place
        assert shown.index("from the next message") < shown.index("Reject all")  # what comes of it, before the buttons
        approve = page.locator("#waiting button.main")
        assert await approve.is_disabled()
        await page.locator("#waiting input").first.check()
        await approve.click()
        await house.until(GONE)
        assert await became(house) == ["a sailor"]
        await house.until("document.querySelector('#live').textContent.includes('1 approved, 1 refused')")
        await house.why()
        await house.until("document.querySelector('#why-body').textContent.includes('Changes to the character')")
        await page.reload()
        await page.wait_for_selector("#turns > li")
        assert await page.locator("#waiting").is_hidden()


LAST = """() => {
    const shown = document.querySelector('#scroll').getBoundingClientRect();
    const last = document.querySelector('#turns > li:last-child .reply .text').getBoundingClientRect();
    return last.top >= shown.top && last.bottom <= shown.bottom;
}"""


@pytest.mark.parametrize("size", [(390, 760), (1280, 800)], ids=["phone", "wide"])
async def test_the_reply_that_a_change_is_asked_for_stays_in_view(tmp_path: Path, size: tuple[int, int]) -> None:
    async with page_house(tmp_path, *size, **CHANGES) as house:
        await house.open()
        for n in range(6):
            await house.say(f"Who are you, {n}?")
            await house.until(LAST)
        await house.choose("id-rag")
        await house.say("And now?")
        await house.until(SEEN)
        await house.until(LAST)
        await house.page.evaluate("document.querySelector('#scroll').scrollTop = 0")
        await house.page.set_viewport_size({"width": size[0], "height": size[1] - 100})
        await asyncio.sleep(0.3)
        assert await house.page.evaluate("document.querySelector('#scroll').scrollTop") == 0  # who has scrolled back


async def test_all_is_refused_and_it_waits_through_a_reload_until_then(tmp_path: Path) -> None:
    async with page_house(tmp_path, **CHANGES) as house:
        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        await house.page.reload()
        await house.until(SEEN)
        await house.page.get_by_role("button", name="Reject all").click()
        await house.until(GONE)
        assert await became(house) == []


async def test_two_windows_wait_for_one_approval_and_the_second_answer_is_said_to_be_late(tmp_path: Path) -> None:
    async with page_house(tmp_path, **CHANGES) as house:
        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        other = House(house.http, await house.page.context.browser.new_page(), house.cable, house.gate)
        await other.page.goto(house.page.url)
        await other.until(SEEN)
        await other.page.locator("#waiting input").first.check()
        await house.page.locator("#waiting input").first.check()
        await other.page.locator("#waiting button.main").click()
        await other.until(GONE)
        await house.page.get_by_role("button", name="Reject all").click()
        await house.until("document.querySelector('#notice').textContent.includes('in another window')")
        await house.until(GONE)
        assert await became(house) == ["a sailor"]
        await other.choose("id-rag")
        await other.say("And now?")  # waits again, in the other window; this one sees it when it is looked at
        await other.until(SEEN)
        await house.page.evaluate("dispatchEvent(new Event('focus'))")
        await house.until(SEEN)
        await other.page.locator("#waiting input").first.check()
        await other.page.fill("#say", "Never mind.")
        await other.page.press("#say", "Enter")  # which refuses it
        await other.settled()
        await house.page.locator("#waiting input").first.check()
        await house.page.locator("#waiting button.main").click()
        await house.until("document.querySelector('#notice').textContent.includes('in another window')")


async def test_what_was_approved_is_saved_to_the_chronicle_one_by_one(tmp_path: Path) -> None:
    async with page_house(tmp_path, **CHANGES) as house:
        page = house.page
        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        await page.locator("#waiting input").first.check()
        await page.locator("#waiting button.main").click()
        await house.until("document.querySelector('#became details')")
        await page.locator("#became summary").click()
        shown = await page.inner_text("#became")
        assert SAILOR in shown
        assert "keeper of the light" in shown  # in whose place
        assert shown.index("in all chats") < shown.index("Save to the chronicle")  # what comes of it, before the button
        save = page.locator("#became button.main")
        assert await save.is_disabled()
        await page.locator("#became input").first.check()
        await save.click()
        await house.until("document.querySelector('#became').hidden")
        await house.until("document.querySelector('#live').textContent.includes('chronicle: 1')")
    assert "a sailor" in (tmp_path / "library/ada/chronicle.yaml").read_text("utf-8")


async def test_an_answer_that_does_not_arrive_can_be_given_again(tmp_path: Path) -> None:
    async with page_house(tmp_path, **CHANGES) as house:
        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        await house.cable.cut()
        await house.page.get_by_role("button", name="Reject all").click()
        await house.until("document.querySelector('#notice').textContent.includes('does not answer')")
        await house.cable.plug_in()
        await house.until("document.querySelector('#notice').textContent.includes('server is back')")
        await house.until(SEEN)
        await house.page.locator("#waiting input").first.check()
        await house.page.locator("#waiting button.main").click()
        await house.until(GONE)
        assert await became(house) == ["a sailor"]


async def fine(house: House, says: str) -> None:
    """Wait until what was begun is done, or has failed."""
    await house.until("document.querySelector('.fine, .said .warning')")
    assert says in await house.page.inner_text(".said")


async def knowledge(house: House, method: str = "amadeus") -> None:
    await house.open(method=method)
    await house.menu("#open-knowledge")
    await house.page.wait_for_selector(".knowledge section")


def file(name: str, text: str | bytes) -> Any:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode() if isinstance(text, str) else text}


async def test_a_file_is_weighed_learned_and_taken_back(tmp_path: Path) -> None:
    async with page_house(tmp_path, parts={"facts": json.dumps({"entities": [], "relations": []})}) as house:
        page, persona = house.page, tmp_path / "library" / "ada" / "persona"
        await knowledge(house)
        before = sorted(one.name for one in persona.iterdir())
        await page.set_input_files("#files", file("harbour.txt", HARBOUR))
        await page.wait_for_selector(".card")
        shown = await page.inner_text(".card")
        assert "harbour.md" in shown
        assert "No model calls." in shown
        assert shown.index("everybody who chats with") < shown.index("Add\n")
        assert sorted(one.name for one in persona.iterdir()) == before  # nothing is learned yet
        await page.click(".card .main")
        await fine(house, "Added: harbour.md")
        assert (persona / "harbour.md").read_text() == HARBOUR
        await page.get_by_role("button", name="the version of").click()
        await house.until("document.querySelector('.fine')?.textContent.includes('Restored')")
        assert sorted(one.name for one in persona.iterdir()) == before
        await house.menu("#open-knowledge")
        assert await page.locator("#say").is_visible()


async def test_role_rag_counts_its_questions_and_a_method_that_reads_none_says_so(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"document_passages": 0}) as house:
        await knowledge(house, "role-rag")
        await house.page.set_input_files("#files", file("harbour.md", HARBOUR))
        await house.page.wait_for_selector(".card")
        assert "model calls" in await house.page.inner_text(".card")
        await house.choose("drmr")
        await house.until("document.querySelector('.knowledge').textContent.includes('DRMR reads no documents')")
        assert await house.page.locator("#files").count() == 0


async def test_a_dropped_file_is_weighed_wherever_it_falls(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        await house.page.evaluate(
            """text => {
                const data = new DataTransfer();
                data.items.add(new File([text], "harbour.md"));
                const how = {dataTransfer: data, bubbles: true, cancelable: true};
                document.body.dispatchEvent(new DragEvent("drop", how));
            }""",
            HARBOUR,
        )
        await house.page.wait_for_selector(".card")
        assert "harbour.md" in await house.page.inner_text(".card")


async def test_a_file_that_cannot_be_learned_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async with page_house(tmp_path, access=Access(a_minute=100_000, most_upload_bytes=100_000)) as house:
        await knowledge(house)
        for given, says in (
            (file("evil.exe", "x"), "this file type is not supported"),
            (file("<img src=x onerror=bad()>.md", HARBOUR), "can't be the name of a document"),
            (file("con.md", HARBOUR), "can't be the name of a document"),
            (file("empty.md", " "), "holds no text"),
            (file("binary.md", b"\xff\xfe\x00"), "binary.md"),
            (file("large.md", "x" * 90_000), "The limit is"),
        ):
            await house.page.set_input_files("#files", given)
            await house.until(f"document.querySelector('.said').textContent.includes({json.dumps(says)})")
            assert await house.page.locator(".card").count() == 0
        assert await house.page.locator("main img").count() == 0


async def test_a_server_that_may_not_change_roles_shows_what_is_known_and_says_so(tmp_path: Path) -> None:
    async with page_house(tmp_path, access=Access(a_minute=100_000, changes_roles=False)) as house:
        await knowledge(house)
        assert "does not allow changes" in await house.page.inner_text(".knowledge")
        assert "life.md" in await house.page.inner_text(".knowledge")
        assert await house.page.locator("#files").count() == 0


async def planned(house: House, library: Path) -> None:
    """Have the facts of the role extracted, and write a plan of its names."""
    files = [{"name": "harbour.md", "data": base64.b64encode(HARBOUR.encode()).decode()}]
    await house.http.post("/v1/roles/ada/knowledge", json={"method": "role-rag", "files": files})
    yes = Why(names=("the lamp", "the old lamp"), certainty=0.9, similarity=0.8, reason="Both are the lamp she trims.")
    no = Why(names=("Tom", "the harbour master"), same=False, certainty=0.1, reason="One is her brother.")
    maybe = Why(names=("the lighthouse", "Gull Rock"), certainty=0.6, reason="The one stands on the other.")
    merges = (
        Merge(name="the lamp", names=yes.names, why=(yes,)),
        Merge(name="the lighthouse", names=maybe.names, why=(maybe,)),
    )
    write_plan(
        library / "ada", MergePlan(merges=merges, alone=("Ada Quill", "Tom", "the harbour master"), apart=(no,)), PLAN
    )


NAMES = ("Ada Quill", "Tom", "the harbour master", "the lamp", "the old lamp", "the lighthouse", "Gull Rock")
FACTS = json.dumps(
    {
        "entities": [
            {"name": name, "type": "character", "sentence": 1, "description": f"{name} is there."} for name in NAMES
        ],
        "relations": [],
    }
)


async def test_a_merge_plan_is_read_and_decided(tmp_path: Path) -> None:
    async with page_house(tmp_path, parts={"facts": FACTS}) as house:
        page, role = house.page, tmp_path / "library" / "ada"
        await planned(house, tmp_path / "library")
        await knowledge(house)
        shown = await page.inner_text(".merges")
        assert shown.index("one person or thing for RoleRAG") < shown.index("Merge none")
        await page.click(".merges li details summary >> nth=0")
        assert "the lamp she trims" in await page.inner_text(".merges")
        await page.locator(".merges > details summary").click()
        assert "One is her brother." in await page.inner_text(".merges")
        await page.locator(".merges input").first.check()
        await page.click(".merges button.main")
        await fine(house, "Merges: 1.")
        decided = read_plan(role, DECISIONS)
        assert decided is not None
        assert [one.name for one in decided.merges] == ["the lamp"]
        assert {"the lighthouse", "Gull Rock"} <= set(decided.alone)
        assert "No merges are proposed" in await page.inner_text(".knowledge")


async def test_a_damaged_plan_and_a_server_that_is_away_are_said(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        (tmp_path / "library" / "ada" / PLAN).write_text("merges: [")
        await knowledge(house)
        assert "cannot be read" in await house.page.inner_text(".knowledge")
        assert await house.page.locator("#files").count() == 1  # documents can be learned all the same
        await house.cable.cut()
        await house.page.set_input_files("#files", file("harbour.md", HARBOUR))
        await house.until("document.querySelector('.said').textContent.includes('does not answer')")
        await house.cable.plug_in()
        await house.page.click(".said button")
        await house.page.wait_for_selector(".card")


async def test_what_another_window_has_begun_is_shown_until_it_is_over(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        release = asyncio.Event()
        await knowledge(house)
        known = (await house.http.get("/v1/roles/ada/knowledge")).json()
        busy = known | {"work": {"what": "learn", "step": "facts", "done": 3, "total": 9}}

        async def held(route: Any) -> None:
            await route.fulfill(json=known if release.is_set() else busy)

        await house.page.route("**/v1/roles/ada/knowledge?**", held)
        await house.menu("#open-knowledge")
        await house.menu("#open-knowledge")
        await house.until("document.querySelector('.said')?.textContent.includes('Extracting facts: 3 of 9')")
        assert await house.page.locator("#files + .drop").is_hidden()
        release.set()
        await house.until("document.querySelector('#files + .drop')?.checkVisibility()")


@pytest.mark.parametrize("name", ["a/b", "a/tree", "100% tea?#&", "茶/酒"])
async def test_a_thread_is_opened_by_any_name(tmp_path: Path, name: str) -> None:
    async with page_house(tmp_path) as house:
        body = {"model": "ada", "messages": [{"role": "user", "content": "one"}], "metadata": {"thread_id": name}}
        assert (await house.http.post("/v1/chat/completions", json=body)).status_code == 200
        await house.open()
        await house.page.locator("#threads .open-talk").click()
        await house.page.wait_for_selector("#turns > li")
        assert [question for question, _ in await house.shown()] == ["one"]
        await house.say("two")
        assert [question for question, _ in await house.held()] == ["one", "two"]
        await house.page.locator(".ask-why").last.click()
        await house.page.wait_for_selector("#why-body .because")
        await house.page.reload()
        await house.page.wait_for_selector("#turns > li:nth-child(2)")


@pytest.mark.parametrize("size", [(390, 760), (1400, 900)], ids=["phone", "wide"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_barrier_is_found(tmp_path: Path, size: tuple[int, int], scheme: str) -> None:
    planned_for = CHANGES | {"parts": CHANGES["parts"] | {"facts": FACTS}}
    async with page_house(tmp_path, *size, **planned_for) as house:
        page, found = house.page, list[str]()
        await page.emulate_media(color_scheme=scheme)

        async def look(state: str) -> None:
            found.extend(await house.barriers(state))

        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        await look("waiting")
        await page.locator("#waiting input").first.check()
        await look("ticked")
        await planned(house, tmp_path / "library")
        await house.choose("amadeus")
        await house.menu("#open-knowledge")
        await page.wait_for_selector(".merges")
        for one in await page.query_selector_all(".merges summary"):
            await one.click()
        await look("knowledge")
        await page.set_input_files("#files", file("evil.exe", "x"))
        await look("refused")
        await page.set_input_files("#files", file("harbour.md", HARBOUR))
        await page.wait_for_selector(".card")
        await look("weighed")
        await page.click(".card .main")
        await fine(house, "Added")
        await look("learned")
        assert found == []


async def test_it_is_done_by_keyboard_and_heard(tmp_path: Path) -> None:
    async with page_house(tmp_path, **CHANGES) as house:
        page = house.page
        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        await house.until("document.querySelector('#live').textContent.includes('Pending changes')")

        async def to(css: str) -> None:
            for _ in range(80):
                await page.keyboard.press("Shift+Tab")
                if await page.evaluate("css => document.activeElement.matches(css)", css):
                    return
            raise AssertionError(f"{css} is not reached")

        await to("#waiting input")
        await page.keyboard.press("Space")
        await page.keyboard.press("Tab")
        await page.evaluate("document.querySelector('#waiting button.main').focus()")
        await page.keyboard.press("Enter")
        await house.until(GONE)
        assert len(await became(house)) == 1
        assert await page.evaluate("document.activeElement.id") == "say"
        await to("#about-role")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#open-knowledge:focus")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".knowledge section")
        await page.set_input_files("#files", file("harbour.md", HARBOUR))
        await page.wait_for_selector(".card .main:focus")
        await page.keyboard.press("Enter")
        await fine(house, "Added")


@pytest.mark.parametrize(
    ("language", "refuse", "teach"), [("zh", "全部拒绝", "添加文档"), ("ko", "모두 거절", "문서 추가")]
)
async def test_it_is_said_in_chinese_and_korean(tmp_path: Path, language: str, refuse: str, teach: str) -> None:
    async with page_house(tmp_path, **CHANGES) as house:
        await house.open(method="id-rag")
        await house.say("Who are you?")
        await house.until(SEEN)
        await house.choose(language=language)
        await house.until(f"document.querySelector('#waiting').textContent.includes('{refuse}')")
        await house.menu("#open-knowledge")
        await house.until(f"document.querySelector('#knowledge').textContent.includes('{teach}')")
