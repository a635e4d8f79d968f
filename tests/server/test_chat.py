"""A role as a model: what a chat client shows is the branch that the role goes by, and its memory is of that alone."""

import asyncio
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from kept_talks import ASKED, TOLD, Listener, small_talk
from openai import AsyncOpenAI, NotFoundError
from wild_cards import WILD

from dramaturg.conversations.alignment import as_heard
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.server import replies
from dramaturg.server.rooms import Rooms
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.cards import Card
from dramaturg.stores.formats.characters import role_of
from dramaturg.stores.formats.told import told
from dramaturg.stores.library import Library
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.amadeus import AmadeusContext

from fakes import ScriptedChatModel
from roles import run_settings
from served_roles import Screen, Slow, read_events, served
from talks import Player

pytestmark = pytest.mark.sample_of_file(6)


async def remembered(folder: Path, thread: str) -> set[str]:
    """The questions that the role memory of a thread's head is from."""
    context = AmadeusContext(**run_settings(folder / "library", ScriptedChatModel(reply=Player())))
    async with open_conversation("amadeus", context, thread) as talk:
        known = (await talk.values()).get("role_memory", [])
        return {re.sub("She thought of ", "", attribute["attribute"]) for attribute in known}


async def test_a_talk_is_streamed_with_why_before_it(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        screen = Screen(http, "tea", said=[("user", "Who are you?")])
        answer = await screen.ask("normal", stream_options={"include_usage": True})
        assert answer.content == "Reply 1 to Who are you?"
        assert "Judged" in answer.reasoning
        assert "About me: She thought of Who are you?" in answer.reasoning
        assert answer.usage is not None
        assert answer.usage["total_tokens"] > 0
        screen.said += [("assistant", answer.content), ("user", "two")]
        why = (await screen.ask("normal")).reasoning
        assert "About me: She thought of two" in why
        assert "Who are you?" not in why
        assert not (await screen.ask("swipe", include_reasoning=False)).reasoning
        assert not (await screen.ask("swipe", reasoning_effort="none")).reasoning


@pytest.mark.parametrize("headers", [True, False])
async def test_swipes_edits_and_deletions_leave_no_memory(tmp_path: Path, headers: bool) -> None:
    async with served(tmp_path) as http:
        screen = Screen(http, "tea" if headers else "", greeting="*She waves.* Hello.", headers=headers)
        await screen.say("one")
        await screen.say("two")
        assert await screen.swipe() == "Reply 3 to two"
        await screen.say("three")
        assert "one" in screen.said[1][1]
        thread = "tea" if headers else await only_thread(http)
        assert await remembered(tmp_path, thread) == {"one", "two", "three"}
        await screen.edit(-2, "four")
        await screen.swipe()
        assert await remembered(tmp_path, thread) == {"one", "two", "four"}
        del screen.said[-4:]
        await screen.say("five")
        assert await remembered(tmp_path, thread) == {"one", "five"}
        turns = (await http.get(f"/v1/threads/{thread}")).json()["turns"]
        assert [(turn["question"], turn["reply"]) for turn in turns] == [
            ("", "*She waves.* Hello."),
            ("one", "Reply 1 to one"),
            ("five", screen.said[-1][1]),
        ]


async def only_thread(http: Any) -> str:
    (thread,) = (await http.get("/v1/threads?role=ada")).json()["data"]
    return str(thread["id"])


@pytest.mark.sample(3)
@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("shows", ["as it came", "ada", "**Ada Quill**", "without the name"])
async def test_whether_a_client_shows_the_name_of_the_role_is_no_edit(
    tmp_path: Path, headers: bool, shows: str
) -> None:
    player = Player()
    named = ScriptedChatModel(reply=lambda messages: before_replies("Ada Quill: ", player(messages)))
    async with served(tmp_path, named, settings={"redraws": 0}) as http:
        screen = Screen(http, "tea" if headers else "", headers=headers)
        for text in ("one", "two", "three"):
            reply = (await screen.say(text)).removeprefix("Ada Quill: ")
            if shows != "as it came":
                screen.said[-1] = ("assistant", f"{shows}: {reply}" if shows != "without the name" else reply)
        thread = "tea" if headers else await only_thread(http)
        assert await remembered(tmp_path, thread) == {"one", "two", "three"}
        assert len((await http.get(f"/v1/threads/{thread}")).json()["branches"]) == 1
        shown = [*screen.said]
        await screen.swipe()
        screen.said = shown  # back to the reply before
        await screen.say("four")
        assert await remembered(tmp_path, thread) == {"one", "two", "three", "four"}
        assert len((await http.get(f"/v1/threads/{thread}")).json()["branches"]) == 2


def before_replies(name: str, answer: str | Exception) -> str | Exception:
    return f"{name}{answer}" if isinstance(answer, str) and answer.startswith("Reply ") else answer


@pytest.mark.parametrize("headers", [True, False])
async def test_a_reply_is_continued_on_its_branch(tmp_path: Path, headers: bool) -> None:
    async with served(tmp_path) as http:
        screen = Screen(http, "tea" if headers else "", greeting="Hello.", headers=headers)
        await screen.say("one")
        assert await screen.go_on() == "Reply 2 to one"
        await screen.say("two")
        thread = "tea" if headers else await only_thread(http)
        turns = (await http.get(f"/v1/threads/{thread}")).json()["turns"]
        assert [turn["reply"] for turn in turns] == ["Hello.", "Reply 1 to one Reply 2 to one", "Reply 3 to two"]
        assert await remembered(tmp_path, thread) == {"one", "two"}


async def test_what_was_thought_is_not_what_was_said_when_a_client_sends_it_back(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        screen = Screen(http, "tea")
        reply = await screen.say("one")
        screen.said[-1] = ("assistant", f"<think>\nJudged 2 passages.\n</think>\n\n{reply}")
        assert await screen.go_on() == "Reply 2 to one"
        turns = (await http.get("/v1/threads/tea")).json()["turns"]
        assert [turn["reply"] for turn in turns] == ["Reply 1 to one Reply 2 to one"]
        screen.said[-1] = ("assistant", "<think>\nJudged 2 passages.")  # stopped before it said a word
        assert await screen.go_on() == "Reply 3 to one"


@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize(("turns", "window"), [(6, 5), pytest.param(200, 40, marks=pytest.mark.crash)])
async def test_a_window_of_the_chat_is_enough(tmp_path: Path, turns: int, window: int, headers: bool) -> None:
    async with served(tmp_path) as http:
        screen = Screen(http, "tea" if headers else "", headers=headers, window=window, greeting="Hello.")
        questions = [f"question {number}" for number in range(turns)]
        for question in questions:
            await screen.say(question)
        thread = "tea" if headers else await only_thread(http)

        async def is_on_the_screen(questions: list[str]) -> None:
            told = (await http.get(f"/v1/threads/{thread}")).json()["turns"]
            assert [turn["question"] for turn in told] == ["", *questions]
            shown = [text for role, text in screen.said if role == "assistant"]
            assert [as_heard(turn["reply"]) for turn in told] == [as_heard(text) for text in shown]
            most = AmadeusContext().remembered
            assert await remembered(tmp_path, thread) == set(questions[-most:])

        await is_on_the_screen(questions)
        await screen.swipe()
        await is_on_the_screen(questions)
        await screen.edit(-2, "instead")
        await screen.swipe()
        await is_on_the_screen([*questions[:-1], "instead"])
        await screen.go_on()
        await screen.say("the last")
        await is_on_the_screen([*questions[:-1], "instead", "the last"])


async def test_who_answers_at_once_is_on_the_same_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember = Rooms.remember

    async def late(*given: Any) -> None:
        await asyncio.sleep(0.05)
        await remember(*given)

    monkeypatch.setattr(Rooms, "remember", late)
    async with served(tmp_path) as http:
        screen = Screen(http, headers=False)
        for text in ("one", "two"):
            await screen.say(text)
        assert await remembered(tmp_path, await only_thread(http)) == {"one", "two"}


async def test_what_is_no_turn_is_answered_and_not_remembered(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        screen = Screen(http, "tea")
        await screen.say("one")
        for generation in ("quiet", "impersonate"):
            answer = await screen.ask(generation, ["Write a title for this chat"])
            assert answer.content
        bare = Screen(http, "", headers=False, said=[*screen.said])
        assert (await bare.ask("", ["Write a title for this chat"], stream=False)).content
        task = {"model": "ada", "messages": [{"role": "user", "content": "### Task:\nGenerate a title."}]}
        response = await http.post("/v1/chat/completions", json=task, headers={"X-OpenWebUI-Chat-Id": "tea"})
        assert response.json()["choices"][0]["message"]["content"]
        assert [turn["question"] for turn in (await http.get("/v1/threads/tea")).json()["turns"]] == ["one"]
        assert await remembered(tmp_path, "tea") == {"one"}


async def test_a_stopped_reply_is_what_was_sent_of_it_and_is_gone_on_with(tmp_path: Path) -> None:
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        screen = Screen(http, "tea", said=[("user", "one")])
        shown = (await screen.stopped()).strip()
        for _ in range(6_000):
            turns = (await http.get("/v1/threads?role=ada")).json()["data"]
            if turns and (turns := (await http.get("/v1/threads/tea")).json()["turns"]):
                break
            await asyncio.sleep(0.01)
        assert [turn["question"] for turn in turns] == ["one"]
        assert turns[0]["reply"].startswith(shown)
        assert "one" not in turns[0]["reply"]
        assert await remembered(tmp_path, "tea") == set()
        let.set()
        screen.said.append(("assistant", turns[0]["reply"]))
        assert await screen.go_on() == "Reply 2 to one"
        turns = (await http.get("/v1/threads/tea")).json()["turns"]
        assert [as_heard(turn["reply"]) for turn in turns] == [as_heard(screen.said[-1][1])]


async def test_a_server_that_is_stopped_says_so_and_keeps_what_was_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    slow, text = Slow(reply=Player(), let=asyncio.Event()), ""

    async def listen(base_url: httpx.URL) -> None:
        nonlocal text
        async with httpx.AsyncClient(base_url=base_url, timeout=60, trust_env=False) as http:
            screen = Screen(http, "tea", said=[("user", "one")])
            body, headers = screen.body(), screen.sent("normal")
            async with http.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
                async for line in response.aiter_lines():
                    text += f"{line}\n"

    async with served(tmp_path, slow, settings={"redraws": 0}, grace=0) as http:
        listening = asyncio.create_task(listen(http.base_url))
        while not read_events(text).content:  # noqa: ASYNC110 (a stream has no event)
            await asyncio.sleep(0.01)
    await listening
    assert read_events(text).errors[0]["code"] == "stopped"
    assert "could not be kept" not in caplog.text
    async with served(tmp_path) as http:
        (turn,) = (await http.get("/v1/threads/tea")).json()["turns"]
    assert turn["reply"].strip() == read_events(text).content.strip()


async def test_who_sends_only_what_is_new_goes_on_as_soon_as_the_reply_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = ConversationSaver.aput

    async def late(*given: Any) -> Any:
        await asyncio.sleep(0.05)
        return await keep(*given)

    monkeypatch.setattr(ConversationSaver, "aput", late)
    monkeypatch.setattr(replies, "KEPT_WITHIN", 0)  # as where more is left of a turn than is waited for
    async with served(tmp_path, ScriptedChatModel(reply=lambda _: "I see."), method="vanilla") as http:
        for at in range(3):
            body = {"model": "ada", "messages": [{"role": "user", "content": f"line {at}"}]}
            answer = await http.post("/v1/chat/completions", json=body | {"metadata": {"thread_id": "tea"}})
            assert answer.is_success
        turns = (await http.get("/v1/threads/tea?role=ada")).json()["turns"]
        assert [one["question"] for one in turns][:2] == ["line 0", "line 1"]


async def test_a_reply_ends_when_its_turn_is_kept_where_that_is_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = ConversationSaver.aput

    async def late(*given: Any) -> Any:
        await asyncio.sleep(0.05)
        return await keep(*given)

    monkeypatch.setattr(ConversationSaver, "aput", late)
    monkeypatch.setattr(replies, "KEPT_WITHIN", 60)
    async with served(tmp_path, ScriptedChatModel(reply=lambda _: "I see."), method="vanilla") as http:
        await Screen(http, "tea").say("one")
        turns = (await http.get("/v1/threads/tea?role=ada")).json()["turns"]
        assert [one["question"] for one in turns] == ["one"]


async def test_who_keeps_no_history_and_stops_finds_what_was_said(tmp_path: Path) -> None:
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        named = {"metadata": {"thread_id": "tea"}}
        let.set()
        await Screen(http, headers=False, said=[("user", "one")]).ask("", **named)
        let.clear()
        shown = await Screen(http, headers=False, said=[("user", "two")]).stopped(**named)
        let.set()
        for _ in range(6_000):
            if len(turns := (await http.get("/v1/threads/tea")).json()["turns"]) == 2:
                break
            await asyncio.sleep(0.01)
        assert [turn["question"] for turn in turns] == ["one", "two"]
        assert turns[1]["reply"].startswith(shown.strip())
        assert await remembered(tmp_path, "tea") == {"one"}


@pytest.mark.parametrize("headers", [True, False])
async def test_who_stops_and_asks_again_at_once_has_the_new_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: bool
) -> None:
    take_over, let = Conversation.take_over, asyncio.Event()

    async def late(*given: Any) -> None:
        await asyncio.sleep(0.1)
        await take_over(*given)

    monkeypatch.setattr(Conversation, "take_over", late)
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        let.set()
        screen = Screen(http, "tea" if headers else "", headers=headers)
        await screen.say("one")
        let.clear()
        screen.said.append(("user", "two"))
        screen.said.append(("assistant", await screen.stopped()))
        let.set()
        await screen.swipe()
        await asyncio.sleep(0.2)
        thread = "tea" if headers else await only_thread(http)
        turns = (await http.get(f"/v1/threads/{thread}")).json()["turns"]
        assert [turn["reply"] for turn in turns] == [text for role, text in screen.said if role == "assistant"]
        assert await remembered(tmp_path, thread) == {"one", "two"}


async def test_a_connection_is_kept_open_while_the_role_thinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.server.turns.ALIVE_AFTER", 0.01)
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let, words=0), settings={"redraws": 0}) as http:
        screen, text = Screen(http, "tea", said=[("user", "one")]), ""
        body = screen.body(include_reasoning=False)
        async with http.stream("POST", "/v1/chat/completions", json=body, headers=screen.sent("")) as response:
            async for line in response.aiter_lines():
                text += f"{line}\n"
                if text.count(": thinking") == 3:
                    let.set()
        assert read_events(text).content == "Reply 1 to one"


async def test_who_waits_for_a_model_is_told_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dramaturg.server.turns.ALIVE_AFTER", 0.01)
    monkeypatch.setattr("dramaturg.models.servers.pace.BEGIN", 1)
    monkeypatch.setattr("dramaturg.models.servers.pace.EACH", 1_000)
    let, told = asyncio.Event(), {thread: set[str]() for thread in ("tea", "walk", "dinner")}

    async def talk(http: httpx.AsyncClient, thread: str) -> None:
        screen = Screen(http, thread, said=[("user", thread)])
        body = screen.body(include_reasoning=False)
        async with http.stream("POST", "/v1/chat/completions", json=body, headers=screen.sent("")) as response:
            async for line in response.aiter_lines():
                told[thread] |= {line} if line.startswith(":") else set()
                if any(": waiting, number 2" in one for one in told.values()):
                    let.set()

    async with (
        served(tmp_path, Slow(reply=Player(), let=let, words=0), settings={"redraws": 0}) as http,
        asyncio.timeout(30),
    ):
        await asyncio.gather(*(talk(http, thread) for thread in told))
    assert set[str]().union(*told.values()) == {": thinking", ": waiting, number 1", ": waiting, number 2"}


async def test_who_draws_now_and_then_has_a_part_to_draw_what_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramaturg.server.turns.ALIVE_AFTER", 0.01)
    let = asyncio.Event()
    async with served(tmp_path, Slow(reply=Player(), let=let), settings={"redraws": 0}) as http:
        screen, after = Screen(http, "tea", said=[("user", "one")]), list[str]()
        async with http.stream("POST", "/v1/chat/completions", json=screen.body(), headers=screen.sent("")) as response:
            async for line in response.aiter_lines():
                if '"content": " 1"' in line or after:
                    after += [line] if line else []
                if len(after) == 4:
                    let.set()
        assert len(after) > 4
        assert all('"delta": {}' in line and '"finish_reason": null' in line for line in after[1:4])


async def test_a_model_that_fails_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    player = Player()
    async with served(tmp_path, ScriptedChatModel(reply=player)) as http:
        screen = Screen(http, "tea")
        await screen.say("one")
        player.down = True
        screen.said.append(("user", "two"))
        answer = await screen.ask("normal")
        assert answer.errors[0]["code"] == "model_unavailable"
        assert "The model is not there" in answer.errors[0]["message"]
        response = await http.post(
            "/v1/chat/completions", json=screen.body(stream=False), headers=screen.sent("normal")
        )
        assert response.status_code == 503
        assert response.json()["error"]["type"] == "server_error"
        assert [turn["question"] for turn in (await http.get("/v1/threads/tea")).json()["turns"]] == ["one"]


async def test_a_turn_says_why_whole(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        await Screen(http, "tea").say("one")
        turn = (await http.get("/v1/threads/tea/turns/1")).json()
        assert turn["evidence"]["selection"]["judged"] > 0
        assert turn["reply"] == "Reply 1 to one"
        assert (await http.get(f"/v1/threads/tea/turns/{turn['id']}")).json() == turn
        assert (await http.get("/v1/threads/tea/turns/7")).status_code == 404
        assert (await http.get("/v1/threads/coffee")).status_code == 404


async def test_lore_reaches_the_role_and_what_its_files_say_does_not_again(tmp_path: Path) -> None:
    player = Player()
    async with served(tmp_path, ScriptedChatModel(reply=player)) as http:
        persona = next((tmp_path / "library" / "ada" / "persona").glob("*.md")).read_text().split("\n\n")[1]
        screen = Screen(http, "tea", said=[("user", "one")])
        lore = [persona, "It snows in the harbour."]
        for persona_mode, copied in (("own", False), ("merge", True)):
            body = screen.body()
            body["messages"][1:1] = [{"role": "system", "content": text} for text in lore]
            headers = {**screen.sent("swipe"), "X-Role-Persona": persona_mode}
            await http.post("/v1/chat/completions", json=body, headers=headers)
            shown = player.shown[-1]
            assert "It snows in the harbour." in shown
            assert "fictional chat" not in shown
            scene = re.search(r"<scene>(.*)</scene>", shown, re.DOTALL)
            assert scene is not None
            assert (persona.split()[-1] in scene.group(1)) == copied


async def test_models_are_roles_and_methods(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        names = {one["id"] for one in (await http.get("/v1/models")).json()["data"]}
        assert {"ada", "ada:drmr", "ada:ensemble", "role:auto", "beethoven"} <= names
        assert (await http.get("/v1/models/ada:drmr")).json()["id"] == "ada:drmr"
        response = await http.get("/v1/models/nobody")
        assert response.status_code == 404
        assert response.json()["error"]["code"] == "model_not_found"
        screen = Screen(http, "tea", model="role:auto")
        assert await screen.say("one")
        screen = Screen(http, "tea", model="ada:vanilla", said=[*screen.said])
        assert await screen.say("two")
        assert (
            await http.post(
                "/v1/chat/completions", json={"model": "ada:dmrr", "messages": [{"role": "user", "content": "x"}]}
            )
        ).json()["error"]["message"] == "There is no method 'dmrr'; did you mean 'drmr'?"


async def test_embeddings_are_those_of_the_roles(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        one = (await http.post("/v1/embeddings", json={"input": "a light", "model": "x"})).json()["data"]
        packed = await http.post("/v1/embeddings", json={"input": ["a light", "sea"], "encoding_format": "base64"})
        assert len(one[0]["embedding"]) > 2
        assert isinstance(packed.json()["data"][1]["embedding"], str)
        assert (await http.post("/v1/embeddings", json={"input": []})).status_code == 400


UNREADABLE = (
    *(b"", b"{", b"[]", b"\xff\xfe", b'{"model": "ada"}', b'{"model": "ada", "messages": []}'),
    *(b'{"model": "ada", "messages": "hi"}', b'{"model": "", "messages": [{"role": "user"}]}'),
    b'{"model": "ada", "messages": [{"role": "user", "content": ""}]}',
)


@pytest.mark.parametrize("body", UNREADABLE)
async def test_a_request_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, body: bytes) -> None:
    async with served(tmp_path) as http:
        response = await http.post("/v1/chat/completions", content=body, headers={"Content-Type": "application/json"})
        assert response.status_code == 400
        assert response.json()["error"]["message"].endswith(".")


async def test_openais_own_client_talks_streamed_and_whole(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        client = AsyncOpenAI(base_url=f"{http.base_url}/v1", api_key="none", http_client=http, max_retries=0)
        assert "ada:id-rag" in [model.id async for model in client.models.list()]
        said: Any = [{"role": "user", "content": "one"}]
        whole = await client.chat.completions.create(model="ada", messages=said)
        assert whole.choices[0].message.content == "Reply 1 to one"
        assert whole.usage is not None
        said += [{"role": "assistant", "content": "Reply 1 to one"}, {"role": "user", "content": "two"}]
        stream = await client.chat.completions.create(
            model="ada", messages=said, stream=True, stream_options={"include_usage": True}, metadata={"k": "v"}
        )
        parts = [part async for part in stream]
        assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == "Reply 2 to two"
        assert parts[-1].usage is not None
        assert await remembered(tmp_path, await only_thread(http)) == {"one", "two"}
        vector = (await client.embeddings.create(model="x", input="a light")).data[0].embedding
        assert any(vector)
        with pytest.raises(NotFoundError, match="The role 'nobody' is not there"):
            await client.chat.completions.create(model="nobody", messages=said)


async def test_a_role_with_a_greeting_speaks_first_and_remembers_it(tmp_path: Path) -> None:
    async with served(tmp_path) as http:
        yaml = tmp_path / "library" / "ada" / "role.yaml"
        body = {"model": "ada", "messages": [{"role": "user", "content": ""}]}
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 400
        yaml.write_text(yaml.read_text() + "greetings: ['*{{char}} waves.* Hello, {{user}}.', 'Ahoy.']\n")
        for stream in (False, True):
            thread = f"tea-{stream}"
            sent = {**body, "stream": stream}
            answer = await http.post("/v1/chat/completions", json=sent, headers={"X-Role-Thread": thread})
            said = read_events(answer.text).content if stream else answer.json()["choices"][0]["message"]["content"]
            assert said == "*Ada Quill waves.* Hello, stranger."
            assert answer.headers["X-Role-Thread"] == thread
            turns = (await http.get(f"/v1/threads/{thread}", params={"role": "ada"})).json()["turns"]
            assert [(turn["question"], turn["reply"]) for turn in turns] == [("", said)]
            again = await http.post("/v1/chat/completions", json=body, headers={"X-Role-Thread": thread})
            assert again.status_code == 400
        about = (await http.get("/v1/roles/ada", params={"user": "Tom"})).json()
        assert about["greetings"] == ["*Ada Quill waves.* Hello, Tom.", "Ahoy."]


async def test_of_the_same_card_in_the_client_nothing_is_said_twice(tmp_path: Path) -> None:
    card = told(dumped(WILD["json in a field"]))
    assert isinstance(card, Card)
    library = Library(tmp_path / "library")
    library.replace({"unit": role_of(card, "unit.json").files})
    player = Player()
    async with served(tmp_path, ScriptedChatModel(reply=player)) as http:
        parts = ["Unit 7 speaks in numbers.", "Write as Unit 7.", "The core was lit in 2190.", "It rains on Jim."]
        sent = [{"role": "system", "content": text} for text in parts] + [{"role": "user", "content": "Who are you?"}]
        body = {"model": "unit", "messages": sent, "user": "Jim"}
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200
    scene = player.shown[-1].rpartition("<scene>\n")[2].partition("\n</scene>")[0]
    assert scene == "It rains on Jim."


async def test_what_a_client_keeps_comes_back_after_the_window_and_an_edit_is_another_branch(tmp_path: Path) -> None:
    listener = Listener()
    settings = {"window": 4, "summary_tokens": 0}
    async with served(tmp_path, ScriptedChatModel(reply=listener), method="vanilla", settings=settings) as http:
        screen = Screen(http, "tea")
        for text in [TOLD, *small_talk(39)]:
            screen.said += [("user", text), ("assistant", f"So: {text}")]
        await screen.say(ASKED)
        assert TOLD in listener.recalled
        await screen.edit(0, "My sister keeps bees.")
        await screen.swipe()
        assert "bees" in listener.recalled
        assert "Zebulon" not in listener.recalled.replace(f"So: {TOLD}", "")
        await screen.edit(0, TOLD)
        await screen.swipe()
        assert "bees" not in listener.recalled
