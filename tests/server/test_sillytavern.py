"""The real SillyTavern: after all that one can click, the role knows what is on the screen, and nothing else."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from chat_clients import Stage, missing, page_at
from langchain_core.messages import HumanMessage, convert_to_messages
from sillytavern import BODY, GROUP_HEADERS, HEADERS, Screen, Tavern, tavern

from dramaturg.conversations.alignment import as_heard

from stub_endpoint import Handler, completion

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(missing("sillytavern")), reason=missing("sillytavern")),
]
LORE = {"uid": 0, "key": ["harbour"], "keysecondary": [], "content": "It snows in the harbour.", "selective": True}
LORE |= {"order": 100, "position": 0, "disable": False, "probability": 100, "useProbability": True, "depth": 4}
TWO_SENTENCES = (
    "four winds blow tonight. Which is, do you think, the worst?"  # a role's first sentence is shown when it has ended
)


@pytest.fixture(scope="module")
def house(roles: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tavern]:
    with tavern(tmp_path_factory.mktemp("tavern"), roles.base_url) as made:
        made.put("worldinfo/edit", {"name": "Harbour", "data": {"entries": {"0": LORE}}})
        made.role("Ada", "ada", world="Harbour")
        made.role("Bert", "bert")
        made.role("Cora", "cora")
        made.role("바다", "bada")
        made.put("groups/create", {"name": "Both", "members": ["ada.png", "bert.png"], "activation_strategy": 1})
        made.put(
            "groups/create", {"name": "Three", "members": ["ada.png", "bert.png", "cora.png"], "activation_strategy": 1}
        )
        yield made


async def as_shown(roles: Stage, screen: Screen, thread: str, memory: set[str] | None = None) -> None:
    """Assert that the thread holds the chat on the screen, and its memory these questions, or all on the screen."""
    turns = roles.turns("ada", thread)
    said = [as_heard(text) for turn in turns for text in turn if text]
    assert said == [as_heard(text) for _, text in await screen.shown()]
    assert await roles.remembered("ada", thread) == ({turn[0] for turn in turns} - {""} if memory is None else memory)


@pytest.mark.parametrize("headers", [True, False], ids=["headers", "bare"])
async def test_a_role_knows_what_is_on_the_screen(roles: Stage, house: Tavern, headers: bool) -> None:
    house.settings(custom_include_headers=HEADERS if headers else "", custom_model="ada")
    before = set(roles.threads())
    async with page_at(str(house.http.base_url)) as page:
        screen = Screen(page)
        await screen.open("Ada")
        asked = f"one with{'' if headers else 'out'} headers"
        await screen.say(asked)
        (thread,) = set(roles.threads()) - before
        if headers:
            assert thread == await screen.command("/getvar role_thread")
        await as_shown(roles, screen, thread)

        await screen.say("two")
        swiped = [await screen.swipe() for _ in range(3)]
        assert len(set(swiped)) == 3
        await as_shown(roles, screen, thread)
        await screen.swipe_back()
        await screen.say("three")
        assert swiped[1] in {text for _, text in await screen.shown()}
        await as_shown(roles, screen, thread)

        reply = await screen.last()
        assert (await screen.go_on()).startswith(f"{reply} Reply ")
        await as_shown(roles, screen, thread)
        assert await screen.regenerate() != reply
        await as_shown(roles, screen, thread)

        with held(roles):
            await screen.begin(TWO_SENTENCES, "do you think, the")
            begun = await screen.stop()
        assert "blow tonight." in begun
        assert "worst" not in begun
        await as_shown(roles, screen, thread, {asked, "two", "three"})
        assert re.fullmatch(rf"{re.escape(begun)} Reply \d+ to {re.escape(TWO_SENTENCES)}", await screen.go_on())
        await as_shown(roles, screen, thread)

        shown = await screen.shown()
        assert (await screen.impersonate()).startswith("Reply ")
        assert (await screen.command("/gen Write a title.")).startswith("Reply ")
        assert await screen.shown() == shown
        await as_shown(roles, screen, thread)
        assert set(roles.threads()) - before == {thread}
        assert (await screen.command("/genraw Write a title.")).startswith("Reply ")
        await as_shown(roles, screen, thread)
        if headers:  # without, one message alone is the first of a chat
            assert set(roles.threads()) - before == {thread}

        await screen.edit(3, "two, changed")
        await screen.say("five")
        await as_shown(roles, screen, thread, {asked, "five"})
        await screen.edit(2, "This I never said.")
        await screen.say("six")
        await as_shown(roles, screen, thread, {"six"})
        await screen.delete_from(5)
        await screen.say("seven")
        await as_shown(roles, screen, thread, {"seven"})


@contextmanager
def held(roles: Stage) -> Iterator[None]:
    """Have the model hold the end of its reply, as long as this lasts; what comes before it comes at once."""
    let = threading.Event()

    def write(handler: Handler) -> None:
        messages = convert_to_messages(handler.body["messages"])
        text = str(roles.player([HumanMessage("\n".join(one.text for one in messages))]))
        if not handler.body.get("stream"):
            return handler.send(completion({"content": text}))
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        for word in re.findall(r"\S+\s*", text):
            if text.startswith("Reply") and word == "worst?":
                let.wait(120)
            handler.wfile.write(f"data: {json.dumps(completion({'content': word}, 'delta'))}\n\n".encode())
            handler.wfile.flush()
        handler.wfile.write(b"data: [DONE]\n\n")
        return None

    roles.stub.faults["chat"] = write
    try:
        yield
    finally:
        let.set()
        del roles.stub.faults["chat"]


async def test_lore_reaches_the_role_and_why_is_its_thinking(roles: Stage, house: Tavern) -> None:
    house.settings(custom_include_headers=HEADERS, custom_model="ada:amadeus")
    async with page_at(str(house.http.base_url)) as page:
        screen = Screen(page)
        await screen.open("Ada")
        for text, told in (("What of the light?", False), ("What of the harbour?", True)):
            await screen.say(text)
            assert ("It snows in the harbour." in roles.player.shown[-1]) == told
            assert "Ada minds the house." in roles.player.shown[-1]  # which the files of the role do not say
            assert "Judged " in await screen.thought()
            assert f"She thought of {text}" in await screen.thought()


async def test_a_role_whose_name_is_not_latin_is_named_in_the_body(roles: Stage, house: Tavern) -> None:
    house.settings(custom_include_headers="", custom_include_body=BODY, custom_model="role:auto")
    try:
        async with page_at(str(house.http.base_url)) as page:
            screen = Screen(page)
            await screen.open("바다")
            await screen.say("안녕하세요?")
            assert "판단했다" in await screen.thought()
            reply = await screen.say("등불은?")
            assert await screen.swipe() != reply
            thread = await screen.command("/getvar role_thread")
            assert (await screen.command("/gen 제목을 써 줘.")).startswith("Reply ")
            said = [as_heard(text) for turn in roles.turns("bada", thread) for text in turn if text]
            assert said == [as_heard(text) for _, text in await screen.shown()]
            learned = await roles.remembered("bada", thread)  # the player says questions over again in Korean
            assert {one.rpartition(" to ")[2] for one in learned} == {"안녕하세요?", "등불은?"}
    finally:
        house.settings(custom_include_body="")


async def test_two_roles_of_a_group_each_remember_what_they_heard(roles: Stage, house: Tavern) -> None:
    house.settings(custom_include_headers=HEADERS, custom_model="role:auto")
    async with page_at(str(house.http.base_url)) as page:
        screen = Screen(page)
        await screen.open("Both")
        await screen.say("Good evening to you both.", replies=2)
        await screen.say("And now?", replies=2)
        shown = await screen.shown()
        assert [name for name, _ in shown] == ["Ada", "Bert", *("User", "Ada", "Bert") * 2]
        thread = await screen.command("/getvar role_thread")
        ada, bert = roles.turns("ada", thread), roles.turns("bert", thread)
        assert [as_heard(reply) for _, reply in ada if reply] == [as_heard(shown[at][1]) for at in (0, 3, 6)]
        assert [as_heard(reply) for _, reply in bert if reply] == [as_heard(shown[at][1]) for at in (1, 4, 7)]
        assert as_heard(ada[-1][0]) == as_heard(f"Bert: {shown[4][1]} User: And now?")
        assert as_heard(bert[-1][0]) == as_heard(f"User: And now? Ada: {shown[6][1]}")
        before = await roles.remembered("ada", thread)
        await screen.swipe()
        swiped = await screen.shown()
        assert swiped[-1] != shown[-1]
        assert as_heard(roles.turns("bert", thread)[-1][1]) == as_heard(swiped[-1][1])
        assert len(roles.turns("bert", thread)) == len(bert)
        assert await roles.remembered("ada", thread) == before


async def test_who_was_muted_while_a_secret_was_told_does_not_know_it(roles: Stage, house: Tavern) -> None:
    secret, began = "The chart of Zebulon lies under the third stair.", len(roles.player.shown)

    def shown_to(name: str) -> list[str]:
        return [one for one in roles.player.shown[began:] if re.match(rf"You are {name}\b", one)]

    house.settings(custom_include_headers=GROUP_HEADERS, custom_model="scene:auto")
    async with page_at(str(house.http.base_url)) as page:
        screen = Screen(page)
        await screen.open("Three")
        await screen.say("Good evening to all of you.", replies=3)
        await screen.command("/member-disable Cora")
        await screen.say(secret, replies=2)
        await screen.command("/member-enable Cora")
        await screen.say("And what do you say?", replies=3)
        await screen.swipe()
        assert [name for name, _ in await screen.shown()][-1] == "Cora"
        for name in ("Ada", "Bert"):
            assert secret in shown_to(name)[-1]
        house.settings(custom_include_headers=GROUP_HEADERS, custom_model="role:auto")
        await page.reload()
        await screen.open("Cora")
        await screen.say("Who said good evening to all of you, and where is the chart under the stair?")
        told = shown_to("Cora")
        assert len(told) >= 4
        assert "Good evening to all of you." in told[-1]
        assert not any("Zebulon" in one for one in told)
