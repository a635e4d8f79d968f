"""The page in Chromium, at a real server: what a person does there, and what of it the server holds."""

import asyncio
from pathlib import Path

import pytest
from all_methods import whole_role
from chat_clients import missing
from page_house import House, page_house

from dramaturg.conversations.alignment import Exchange, as_heard
from dramaturg.conversations.opening import open_conversation
from dramaturg.server.access import Access
from dramaturg.workflows.amadeus import AmadeusContext

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("playwright")), reason=missing("playwright")),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


async def test_a_visit_begins_with_the_first_role_and_why_with_its_first_part(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.page.wait_for_selector(".roles li:nth-child(4)")
        assert await house.page.evaluate("document.querySelector('#gallery').scrollTop") == 0
        await house.open()
        await house.say("one")
        await house.why()
        await house.page.evaluate("document.querySelector('#why').scrollTop = 10_000")
        await house.say("two")
        await house.until(
            "document.querySelector('.turn:last-child.looked-at') && document.querySelector('#why-body table')"
        )
        assert await house.page.evaluate("document.querySelector('#why').scrollTop") == 0


async def test_a_story_is_told_apart_from_characters_and_opens_with_what_it_holds(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        last = house.page.locator("#gallery ul.roles").first.locator("li").last
        await last.wait_for()
        assert await last.locator(".badge").all_inner_texts() == ["English", "example", "story"]
        await last.get_by_role("button", name="The voyage of the Hispaniola").click()
        await house.page.wait_for_selector("#knowledge li:has-text('ben_gunn.md')")


async def test_a_talk_is_swiped_edited_gone_back_in_and_forked(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        await house.say("one")
        await house.say("two")
        assert await house.shown() == [("one", "Reply 1 to one"), ("two", "Reply 2 to two")]
        await house.press(".reply", "Regenerate")
        await house.settled()
        assert await house.shown() == [("one", "Reply 1 to one"), ("two", "Reply 3 to two")]
        assert await house.held() == await house.shown()
        await house.press(".reply", "Previous reply")
        assert (await house.shown())[-1] == ("two", "Reply 2 to two")
        await house.say("three")  # after the first of both
        assert await house.held() == await house.shown()
        assert [reply for _, reply in await house.held()] == ["Reply 1 to one", "Reply 2 to two", "Reply 4 to three"]
        await house.press(".asked", "Edit message", 0)
        await house.page.fill(".turn textarea", "another")
        await house.page.click(".turn textarea + .tools .main")
        await house.settled()
        assert await house.shown() == await house.held() == [("another", "Reply 5 to another")]
        await house.press(".asked", "Previous message")
        assert [question for question, _ in await house.shown()] == ["one", "two", "three"]
        await house.press(".reply", "Branch from here", 0)
        assert await house.shown() == [("one", "Reply 1 to one")]
        await house.say("four")
        assert await house.held() == await house.shown() == [("one", "Reply 1 to one"), ("four", "Reply 6 to four")]
        await house.menu("#open-branches")
        lines = await house.page.locator("#tree .stretch span").all_inner_texts()
        assert sorted(lines) == ["another", "four", "one", "two", "two"]
        await house.page.locator("#tree .stretch", has_text="Reply 2").click()
        assert [question for question, _ in await house.shown()] == ["one", "two", "three"]
        await house.page.reload()  # the address says which branch was on the screen
        await house.page.wait_for_selector("#turns > li:nth-child(3)")
        assert [question for question, _ in await house.shown()] == ["one", "two", "three"]


async def test_a_reply_that_is_written_anew_was_said_as_soon_as_the_talk_goes_on(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        await house.say("one")
        await house.press(".reply", "Edit reply")
        await house.page.fill(".turn textarea", "The lamp is mine.")
        await house.page.click(".turn textarea + .tools .main")
        assert await house.shown() == [("one", "The lamp is mine.")]
        await house.say("two")
        assert await house.held() == await house.shown() == [("one", "The lamp is mine."), ("two", "Reply 2 to two")]
        await house.say("three")
        assert len(await house.held()) == 3


async def test_a_turn_is_left_out_of_the_branch_and_the_branch_with_it_shown_again(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        await house.open()
        for text in ("one", "two", "three"):
            await house.say(text)
        whole = await house.shown()
        await house.press(".reply", "Delete from this branch", 1)
        await house.until("document.querySelector('#notice button:focus')?.textContent === 'Undo'")
        assert "stands under “Branches”" in await house.page.inner_text("#notice")
        assert await house.shown() == await house.held() == [whole[0], whole[2]]
        await house.page.reload()
        await house.page.wait_for_selector("#turns > li")
        assert await house.shown() == [whole[0], whole[2]]
        await house.press(".reply", "Delete from this branch", 0)
        await house.until("document.querySelectorAll('#turns > li').length === 1")
        await house.page.click("#notice button")
        assert await house.shown() == [whole[0], whole[2]]
        await house.say("four")
        assert await house.held() == await house.shown() == [whole[0], whole[2], ("four", "Reply 4 to four")]
        await house.press(".reply", "Edit reply")  # what the server does not have yet stays, too
        await house.page.fill(".turn textarea", "The lamp is mine.")
        await house.page.click(".turn textarea + .tools .main")
        await house.press(".reply", "Delete from this branch", 0)
        await house.until("document.querySelectorAll('#turns > li').length === 2")
        assert await house.shown() == [whole[2], ("four", "The lamp is mine.")]
        await house.say("five")
        assert await house.held() == await house.shown()
        for left in (2, 1, 0):
            await house.press(".reply", "Delete from this branch")
            await house.until(f"document.querySelectorAll('#turns > li').length === {left}")
        assert await house.page.locator(".greeting").is_visible()
        await house.menu("#open-branches")
        await house.page.locator("#tree .stretch", has_text="two").click()
        assert await house.shown() == whole


async def test_a_reply_forms_word_by_word_is_stopped_and_gone_on_with(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        await house.open()
        house.gate.clear()
        await house.page.fill("#say", "one")
        await house.page.press("#say", "Enter")
        await house.until("document.querySelector('.coming .reply .text')?.textContent.trim() === 'Reply'")
        assert await house.page.locator("#stop").is_visible()
        await house.page.press("#say", "Escape")
        await house.settled()
        assert await house.shown() == [("one", "Reply")]
        assert [(one, said.strip()) for one, said in await house.held()] == [("one", "Reply")]
        assert await house.page.locator(".ask-why").count() == 1  # what is on the screen is what the server has
        house.gate.set()
        await house.press(".reply", "Continue")
        await house.settled()
        ((question, reply),) = await house.shown()
        assert (question, as_heard(reply)) == ("one", as_heard("Reply 2 to one"))
        assert await house.held() == [(question, reply)]


async def test_the_server_goes_away_and_comes_back(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0}) as house:
        await house.open()
        await house.say("one")
        await house.cable.cut()
        await house.say("two")
        assert await house.page.input_value("#say") == "two"  # what was written is kept
        assert "does not answer" in await house.page.inner_text("#notice")
        await house.cable.plug_in()
        await house.until("document.querySelector('#notice').textContent.includes('server is back')")
        await house.page.click("#notice button")
        await house.page.wait_for_selector("#turns > li:nth-child(2)")
        await house.settled()
        assert await house.shown() == await house.held()
        assert [question for question, _ in await house.held()] == ["one", "two"]
        assert await house.page.input_value("#say") == ""
        house.gate.clear()  # now it goes in the middle of a reply
        await house.page.fill("#say", "three")
        await house.page.press("#say", "Enter")
        await house.until("document.querySelector('.coming .reply .text')?.textContent.length > 3")
        await house.cable.cut()
        await house.settled()
        assert "cut off" in await house.page.inner_text("#turns > li:last-child")
        await house.cable.plug_in()
        house.gate.set()
        await house.press(".reply", "Continue")
        await house.settled()
        assert [as_heard(said) for _, said in await house.held()] == [as_heard(said) for _, said in await house.shown()]
        assert len(await house.held()) == 3


async def test_a_reply_that_its_turn_cuts_off_says_so_and_is_gone_on_with(tmp_path: Path) -> None:
    async with page_house(tmp_path, settings={"redraws": 0, "turn_deadline": 20}) as house:
        await house.open()
        house.gate.clear()
        await house.page.fill("#say", "one")
        await house.page.press("#say", "Enter")
        await house.until("document.querySelector('.coming .reply .text')?.textContent.trim() === 'Reply'")
        assert await house.page.locator(".coming .seconds:visible").count() == 0  # they end with the first word
        await house.settled()
        cut = await house.page.inner_text("#turns > li:last-child .warning")
        assert "cut off" in cut
        assert "turn_deadline" in cut
        house.gate.set()
        await house.press(".reply", "Continue")
        await house.settled()
        assert await house.held() == await house.shown()


async def test_two_windows_on_one_thread_see_each_other_and_lose_nothing(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        await house.say("one")
        other = House(house.http, await house.page.context.browser.new_page(), house.cable, house.gate)
        await other.page.goto(house.page.url)
        await other.page.wait_for_selector("#turns > li")
        await other.say("two")
        await house.page.evaluate("dispatchEvent(new Event('focus'))")
        await house.page.wait_for_selector("#notice button")
        assert [question for question, _ in await house.shown()] == ["one"]
        await house.page.click("#notice button")
        assert await house.shown() == await other.shown()
        await asyncio.gather(house.say("three"), other.say("four"))  # at once: two branches
        ends = {(await one.shown())[-1][0] for one in (house, other)}
        assert ends == {"three", "four"}
        turns = (await house.http.get(f"/v1/threads/{await thread_of(house)}/tree?role=ada")).json()["turns"]
        assert sorted(one["question"] for one in turns) == ["four", "one", "three", "two"]


async def thread_of(house: House) -> str:
    return str((await house.http.get("/v1/threads?role=ada")).json()["data"][0]["id"])


WHY = {
    "amadeus": ("Passages", "judged", "What this shows of the character", "life.md"),
    "role-rag": ("What your message is about", "Tom", "specific"),
    "emotional-rag": ("The mood of your message", "joy 7", "Memories", "meaning"),
    "drmr": ("Relationships", "know each other", "Earlier scenes", "Drafts", "used"),
    "id-rag": ("Who the character is", "core", "Identity check", "allowed"),
    "ensemble": ("Passages", "Memories", "Who the character is"),
}


async def test_each_method_says_why_and_what_it_cost(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        await house.choose(name="Tom Quill")
        for method, words in WHY.items():
            await house.begin()
            await house.choose(method)
            await house.say("Do you trust Tom?")
            await house.why()
            shown = await house.page.inner_text("#why-body")
            for word in (*words, "Rests on", "How", "Details"):
                assert word in shown, (method, word, shown)
            assert "cannot be shown" not in shown
            if method in ("role-rag", "drmr"):
                assert await house.page.locator("#why .graph canvas").count() == 1
            if method == "emotional-rag":
                assert await house.page.locator("#why .wheel .asked").count() == 1


async def test_why_says_how_much_others_know_and_the_character_was_not_told(tmp_path: Path) -> None:
    whole_role(tmp_path / "library")
    (tmp_path / "library" / "ada" / "persona" / "cellar.md").write_text("known_to: Tom\n\nThe oil is in the cellar.\n")
    async with page_house(tmp_path) as house:
        await house.open()
        await house.say("Where is the oil?")
        await house.why()
        shown = await house.page.inner_text("#why-body")
        assert "Known to others, and not told to the character: 1" in shown
        assert "cellar" not in shown


async def test_what_a_model_thought_is_folded_away_in_why(tmp_path: Path) -> None:
    thinking = {"reply": lambda _: "<think>He lies, I fear.</think>Good evening."}
    async with page_house(tmp_path, parts=thinking, method="vanilla") as house:
        await house.open()
        await house.say("Who are you?")
        await house.why()
        assert (await house.shown())[-1] == ("Who are you?", "Good evening.")
        folded = house.page.locator("#why details", has_text="The model's thoughts")
        assert not await folded.get_by_text("He lies, I fear.").is_visible()
        await folded.locator("summary").click()
        assert await folded.get_by_text("He lies, I fear.").is_visible()


async def test_a_long_talk_begins_with_its_newest_turns(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        said = [Exchange(f"Question {n}", f"Reply {n}.") for n in range(130)]
        async with open_conversation(
            "amadeus", AmadeusContext(role="ada", library=str(tmp_path / "library")), "t"
        ) as talk:
            await talk.take_over(said)
        await house.page.goto(f"{house.page.url.split('#')[0]}#role=ada&thread=t")
        await house.page.reload()
        await house.page.wait_for_selector("#turns > li:nth-child(100)")
        assert await house.shown() == [tuple(one) for one in said[30:]]
        await house.page.click("#earlier button")
        assert await house.shown() == [tuple(one) for one in said]
        assert await house.page.locator("#earlier button").count() == 0
        await house.say("And now?")
        assert (await house.shown())[-1][0] == "And now?"


async def test_one_question_is_asked_of_two_methods_side_by_side(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        await house.open()
        await house.menu("#compare")
        await house.page.select_option(".columns section:nth-child(2) select", "id-rag")
        await house.page.fill("#both-say", "Do you trust Tom?")
        await house.page.press("#both-say", "Enter")
        await house.until("document.querySelectorAll('.why-here table').length === 2")
        left, right = await house.page.locator(".why-here").all_inner_texts()
        assert "Passages" in left
        assert "Identity check" in right
        assert len((await house.http.get("/v1/threads?role=ada")).json()["data"]) == 2


async def test_where_a_key_is_wanted_the_page_asks_for_it_and_keeps_it_for_this_window(tmp_path: Path) -> None:
    keys = {"alice": "a" * 20, "bob": "b" * 20}
    async with page_house(tmp_path, access=Access(keys, a_minute=10_000)) as house:
        page = house.page
        await page.wait_for_selector("#ask-key[open]")
        await page.fill("#key", "wrong")
        await page.press("#key", "Enter")
        await house.until("document.querySelector('#key-wrong').textContent !== ''")
        await page.fill("#key", keys["alice"])
        await page.press("#key", "Enter")
        await page.wait_for_selector(".roles li")
        await house.open()
        await house.say("one")
        assert keys["alice"] not in await page.evaluate("JSON.stringify(localStorage)")
        assert keys["alice"] in await page.evaluate("JSON.stringify(sessionStorage)")
        other = await page.context.browser.new_page()
        await other.goto(page.url)
        await other.wait_for_selector("#ask-key[open]")
        await other.fill("#key", keys["bob"])
        await other.press("#key", "Enter")
        await other.wait_for_selector("#threads li")
        assert await other.locator("#turns > li").count() == 0  # Alice's thread is not Bob's


SIZES = {"phone": (390, 760), "wide": (1400, 900)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_barrier_is_found(tmp_path: Path, size: str, scheme: str) -> None:
    async with page_house(tmp_path, *SIZES[size]) as house:
        page = house.page
        await page.emulate_media(color_scheme=scheme)
        found: list[str] = []

        async def look(state: str) -> None:
            found.extend(await house.barriers(state))

        await page.wait_for_selector(".roles li")
        await look("welcome")
        await house.open()
        await look("empty")
        await house.choose(name="Tom Quill")
        for method in ("amadeus", "emotional-rag", "drmr", "id-rag"):
            await house.choose(method)
            await house.say(f"Do you trust Tom? {method}")
            await house.page.locator(".ask-why").last.click()
            await house.page.wait_for_selector("#why-body .because")
            await look(method)
            if method == "amadeus":
                await page.locator("#why-body .source").first.click()
                await page.wait_for_selector("#dialog .document .part-of")
                await look("source")
                await page.keyboard.press("Escape")
            if size == "phone":
                await page.click("#close-why")
        await house.press(".reply", "Regenerate")
        await house.settled()
        await look("swiped")
        await house.press(".asked", "Edit message")
        await look("edited")
        await page.keyboard.press("Escape")
        if size == "phone":
            await page.click("#open-side")
            await look("side")
            await page.click("#close-side")
        await house.cable.cut()
        await house.say("away")
        await look("away")
        await house.cable.plug_in()
        await house.menu("#compare")
        await look("side by side")
        assert found == []


async def test_all_is_done_by_keyboard(tmp_path: Path) -> None:
    async with page_house(tmp_path) as house:
        page = house.page
        await page.wait_for_selector(".roles li")

        async def to(name: str) -> None:
            for _ in range(60):
                await page.keyboard.press("Tab")
                if name in await page.evaluate(
                    "(document.activeElement.getAttribute('aria-label') || document.activeElement.textContent)"
                ):
                    return
            raise AssertionError(f"{name} is not reached")

        await to("Ada Quill")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#say:focus")
        await page.keyboard.type("one")
        await page.keyboard.press("Enter")
        await house.settled()
        await house.until("document.querySelector('#live').textContent.includes('Reply 1 to one')")
        await page.evaluate("document.querySelector('.swipe').focus()")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".variants")
        await house.settled()
        assert (await house.shown())[-1] == ("one", "Reply 2 to one")


@pytest.mark.parametrize(("language", "send"), [("zh", "发送"), ("ko", "보내기")])
async def test_the_page_speaks_chinese_and_korean(tmp_path: Path, language: str, send: str) -> None:
    async with page_house(tmp_path) as house:
        await house.choose(language=language)
        await house.until(f"document.querySelector('#send').textContent === '{send}'")
        assert await house.page.get_attribute("html", "lang") == language
        await house.open()
        await house.say("她是谁？")
        assert await house.held() == [("她是谁？", "Reply 1 to 她是谁？")]


WRITTEN = (
    "*laughs softly* You ask that of **me**?\n\n- a lamp\n- an oar\n\n*他笑了。*你好 "
    "![a gull](https://elsewhere.example/gull.png) <b onclick=bad()>x</b> "
    "[map](https://elsewhere.example/) [no](javascript:bad())\n\n| lamp | oil |\n| - | - |\n| old | 2 |"
)


async def test_what_is_said_is_shown_as_people_write_it_and_nothing_of_it_is_fetched(tmp_path: Path) -> None:
    async with page_house(tmp_path, parts={"reply": lambda _: WRITTEN}, settings={"redraws": 0}) as house:
        asked = list[str]()
        house.page.on("request", lambda one: asked.append(one.url))
        await house.open()
        await house.say("*waves* Hello")
        said = house.page.locator(".turn:last-child .reply .text")
        assert await said.locator("em").all_inner_texts() == ["laughs softly", "他笑了。"]
        assert await said.locator("strong").inner_text() == "me"
        assert await said.locator("li").all_inner_texts() == ["a lamp", "an oar"]
        assert await said.locator("img, b").count() == 0
        sides = "all => all.map(one => getComputedStyle(one).textAlign)"
        assert await said.locator("th, td").evaluate_all(sides) == ["start"] * 4  # a number stands below its heading
        assert await said.locator("a").evaluate_all("all => all.map(one => [one.href, one.rel])") == [
            ["https://elsewhere.example/", "noopener noreferrer nofollow"]
        ]
        assert await house.page.locator(".asked .text em").inner_text() == "waves"
        assert {url.split("/")[2] for url in asked} == {house.page.url.split("/")[2]}


CODE = "print('**a**')\n\nprint(1)  # \\*\n"
PROGRAM = f"Run this:\n\n```python\n{CODE}```\n\nand this:\n\n| a | b | c |\n|:-|:-:|-:|\n| 1 | 2 | 3 |"


async def test_a_program_is_copied_and_columns_stand_as_they_were_written(tmp_path: Path) -> None:
    async with page_house(tmp_path, parts={"reply": lambda _: PROGRAM}, settings={"redraws": 0}) as house:
        page = house.page
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await house.open()
        await page.evaluate(
            """() => {
              window.seen = [];
              new MutationObserver(() => {
                const one = document.querySelector(".coming .code");
                if (one) seen.push([one, one.querySelector("code").textContent]);
              }).observe(document.querySelector("#turns"), { subtree: true, childList: true, characterData: true });
            }"""
        )
        await house.say("How?")
        grown = await page.evaluate("seen.map(([, text]) => text)")
        assert grown
        assert not [one for one in grown if not CODE.startswith(one.rstrip("\n"))]  # no mark was closed in it
        assert await page.evaluate("new Set(seen.map(([one]) => one)).size") == 1  # it stays, and so does its button
        assert await page.inner_text(".turn:last-child .code .head span") == "python"
        button = page.locator(".turn:last-child .code").get_by_role("button", name="Copy code")
        await button.focus()
        await page.keyboard.press("Enter")
        await house.until("document.querySelector('#live').textContent === 'Copied.'")
        assert await page.inner_text(".turn:last-child .code button") == "Copied."
        assert await page.evaluate("navigator.clipboard.readText()") == CODE
        await page.wait_for_selector(".turn:last-child .code button:has-text('Copy code'):focus")
        sides = "all => all.map(one => getComputedStyle(one).textAlign)"
        assert await page.locator(".turn:last-child td").evaluate_all(sides) == ["left", "center", "right"]
        await house.press(".reply", "Copy")
        await page.wait_for_selector(".turn:last-child [data-copied]")
        assert await page.evaluate("navigator.clipboard.readText()") == PROGRAM
        await page.evaluate("navigator.clipboard.writeText = undefined")  # as on a page from another machine
        await button.click()
        assert "Not copied" in await page.inner_text("#notice")


async def test_a_text_that_grows_shows_no_mark_that_is_still_open(tmp_path: Path) -> None:
    async with page_house(tmp_path, parts={"reply": "Reply *laughs softly* and **goes on** at length."}) as house:
        await house.open()
        await house.page.evaluate(
            """() => {
              window.seen = [];
              new MutationObserver(() => seen.push(document.querySelector(".coming .reply .text")?.textContent ?? ""))
                .observe(document.querySelector("#turns"), { subtree: true, childList: true, characterData: true });
            }"""
        )
        await house.say("one")
        seen = await house.page.evaluate("seen")
        assert seen
        assert not [one for one in seen if "*" in one]


async def test_nothing_is_wider_than_the_window_at_four_times_the_size(tmp_path: Path) -> None:
    async with page_house(tmp_path, 320, 256) as house:  # 1280 by 1024 at 400 %
        page, found = house.page, list[str]()

        async def look(state: str) -> None:
            if await page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(state)

        await page.wait_for_selector(".roles li")
        await look("gallery")
        await house.open()
        await house.say("Do you trust Tom?")
        await look("chat")
        await house.why()
        await look("why")
        await page.click("#close-why")
        await page.click("#open-side")
        await page.wait_for_selector("#threads .open-talk")
        assert (await page.locator("#threads").bounding_box())["height"] > 100  # a list of chats, and not of none
        await look("side")
        await house.side("#open-settings")
        await look("settings")
        assert found == []


async def test_who_wants_it_dark_has_it_dark_also_the_next_time(tmp_path: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    async with page_house(tmp_path) as house:
        await house.open()
        light = await house.page.evaluate(ground)
        await house.side("#open-settings")
        await house.page.select_option("#theme", "dark")
        dark = await house.page.evaluate(ground)
        assert dark != light
        await house.page.reload()
        await house.page.wait_for_selector("#say:visible")
        assert await house.page.evaluate(ground) == dark
        await house.page.emulate_media(color_scheme="dark")
        await house.side("#open-settings")
        await house.page.select_option("#theme", "light")
        assert await house.page.evaluate(ground) == light
        await house.page.select_option("#theme", "")
        assert await house.page.evaluate(ground) == dark
