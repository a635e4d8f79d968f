"""Turns that a server takes: kept here with its thread and checkpoint, stopped, found again, refused."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.evaluation.comparison.contestants import contestant
from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.open_settings import SettingRefused
from dramaturg.nodes.run import RunContext
from dramaturg.stores.library_folder import UnknownRole
from dramaturg.workflows import server
from dramaturg.workflows.amadeus import AmadeusContext
from dramaturg.workflows.id_rag import IdRagContext
from dramaturg.workflows.methods import METHODS, preparations
from dramaturg.workflows.server import open_server
from dramaturg.workflows.server_forms import ServerError, sent

from changing_roles import CORE, changing
from fakes import ScriptedChatModel
from roles import small_role
from served_here import URL, ServedHere, reached, served_here
from talks import Player, memory, questions

pytestmark = pytest.mark.sample_of_file(4)


@pytest.fixture
def player() -> Player:
    return Player()


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, player: Player) -> Iterator[ServedHere]:
    """A server with a library of its own."""
    small_role(tmp_path / "there")
    small_role(tmp_path / "here")
    with served_here(monkeypatch, tmp_path / "there", ScriptedChatModel(reply=player)) as served:
        yield served


def context(folder: Path, **settings: Any) -> AmadeusContext:
    return AmadeusContext(role="ada", library=str(folder / "here"), **settings)


@pytest.fixture
async def talk(there: ServedHere, tmp_path: Path) -> AsyncIterator[Conversation]:
    async with open_conversation("amadeus", context(tmp_path), "tea", server=URL) as talk:
        yield talk


async def test_a_turn_is_as_at_home_and_its_words_are_events(talk: Conversation, tmp_path: Path) -> None:
    shown: list[Any] = []
    output = await talk.take_turn("one", shown.append)
    assert [(one.type, one.text) for one in output["messages"]] == [("human", "one"), ("ai", "Reply 1 to one")]
    events = [part["data"] for part in shown if part["type"] == "custom"]
    assert "".join(one["text"] for one in events if one["event"] == "words") == "Reply 1 to one"
    assert {"retrieved", "judged", "extracted"} <= {one["event"] for one in events}
    assert not [part for part in shown if part["type"] == "messages"]  # else it would be said twice
    assert not (tmp_path / "here" / "ada" / "index").exists()
    assert (tmp_path / "there" / "ada" / "index").exists()


async def test_the_past_can_be_changed_as_at_home(talk: Conversation, there: ServedHere) -> None:
    for text in ("one", "two", "three"):
        await talk.take_turn(text)
    first, second, _ = await talk.history()
    await talk.fork(first.id)
    await talk.take_turn("four")
    assert await questions(talk) == ["one", "four"]
    (thread,) = there.all
    remembered = (await there.get_state(thread))["values"]["role_memory"]
    assert {one["attribute"] for one in remembered} == {"She thought of one", "She thought of four"}
    await talk.regenerate()
    assert [turn.reply for turn in await talk.history()] == ["Reply 1 to one", "Reply 5 to four"]
    await talk.fork(second.id)
    await talk.edit(second.id, "five")
    assert await questions(talk) == ["one", "five"]
    assert {tuple(turn.question for turn in branch) for branch in await talk.branches()} == {
        *(("one", "two", "three"), ("one", "two"), ("one", "four"), ("one", "five"))
    }


async def test_a_window_is_that_of_the_server(there: ServedHere, tmp_path: Path) -> None:
    async with open_conversation("amadeus", context(tmp_path, window=2), "tea", server=URL) as talk:
        for text in ("one", "two", "three"):
            output = await talk.take_turn(text)
    assert [one.text.rpartition(" ")[2] for one in output["messages"]][-2:] == ["three", "three"]
    (thread,) = there.all
    assert len(output["messages"]) == len((await there.get_state(thread))["values"]["messages"])


async def test_who_stops_stops_the_run_which_is_gone_on_with(
    talk: Conversation, there: ServedHere, player: Player
) -> None:
    def stop(part: Any) -> None:
        if part["type"] == "custom" and part["data"]["event"] == "extracted":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await talk.take_turn("one", stop)
    (thread,) = there.all
    assert [one.status for one in there.all[thread]] == ["interrupted"]
    unfinished = await talk.unfinished()
    assert unfinished is not None
    assert (unfinished.question, unfinished.reply) == ("one", None)
    asked = there.own["chat_model"].calls.copy()
    assert (await talk.finish())["messages"][-1].text.endswith(" to one")
    more = [call.text for call in there.own["chat_model"].calls[len(asked) :]]
    assert not any("<passage>" in text for text in more)  # what was judged is judged
    assert await questions(talk) == ["one"]


async def test_a_connection_that_is_lost_leaves_a_run_that_is_found_again(
    talk: Conversation, there: ServedHere, player: Player
) -> None:
    there.lost = lambda part: part.event == "custom" and part.data["event"] == "judged"
    with pytest.raises(ServerError, match=r"was lost .ReadError.: its run goes on there"):
        await talk.take_turn("one")
    there.lost = lambda part: False
    assert (await talk.finish())["messages"][-1].text == "Reply 1 to one"
    (thread,) = there.all
    assert [one.status for one in there.all[thread]] == ["success"]
    assert player.replies == 1
    assert await questions(talk) == ["one"]


async def test_an_error_of_the_run_is_that_of_home(talk: Conversation, there: ServedHere, player: Player) -> None:
    player.down = True
    with pytest.raises(ModelUnavailable, match="The model is not there"):
        await talk.take_turn("one")
    player.down = False
    assert (await talk.finish())["messages"][-1].text == "Reply 1 to one"
    assert await memory(talk) == set()  # it is the server's
    assert await questions(talk) == ["one"]


async def test_changes_wait_here_to_be_approved_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: ServedHere
) -> None:
    there.own["chat_model"] = ScriptedChatModel(reply=changing(CORE))
    own = IdRagContext(role="ada", library=str(tmp_path / "here"), update=True)
    async with open_conversation("id-rag", own, "tea", server=URL) as talk:
        await talk.take_turn("Do storms make you afraid?")
        (asked,) = await talk.waiting()
        assert len(asked["changes"]) == 1
        await talk.answer({"approved": [1]})
        assert await talk.waiting() == []
    (thread,) = there.all
    kept = (await there.get_state(thread))["values"]["identity_changes"]
    assert [change["triple"]["object"] for change in kept] == ["a sailor"]


async def test_a_conversation_without_a_name_is_forgotten_there_too(there: ServedHere, tmp_path: Path) -> None:
    async with open_conversation("amadeus", context(tmp_path), server=URL) as talk:
        await talk.take_turn("one")
        assert len(there.all) == 1
    assert there.all == {}


async def test_what_is_not_open_is_refused_before_anything_is_asked(there: ServedHere, tmp_path: Path) -> None:
    with pytest.raises(SettingRefused, match=r"refuses: The setting 'chat_model' is not open .* DRAMATURG_OPEN_SET"):
        async with open_conversation("amadeus", context(tmp_path, chat_model="mine"), "tea", server=URL):
            pass
    there.opened = ("splitter",)
    async with open_conversation("amadeus", context(tmp_path, splitter="fixed"), "tea", server=URL) as talk:
        await talk.take_turn("one")


async def test_a_role_that_the_server_lacks_is_named_before_anything_is_asked(
    there: ServedHere, tmp_path: Path
) -> None:
    small_role(tmp_path / "here", role="eda")
    own = AmadeusContext(role="eda", library=str(tmp_path / "here"))
    with pytest.raises(UnknownRole, match=r"has no role 'eda' in its library: name the database .* library push"):
        async with open_conversation("amadeus", own, "tea", server=URL):
            pass
    assert there.own["chat_model"].calls == []


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (None, "cannot be reached .ConnectError.: see that it runs"),
        (401, "asks who you are .401.: set DRAMATURG_SERVER_KEY"),
        (404, "serves no graph 'amadeus' .404.: its langgraph.json must name it"),
        (409, "refuses the request .409."),
        (503, "fails .503.: try again later"),
    ],
)
async def test_what_a_server_answers_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int | None, says: str
) -> None:
    small_role(tmp_path / "here")

    def answer(request: httpx.Request) -> httpx.Response:
        if status is None:
            raise httpx.ConnectError("no", request=request)
        return httpx.Response(status, json={"detail": "no"}, request=request)

    def client(url: str, api_key: str | None) -> Any:
        made = get_client(url=url, api_key=api_key)
        made.http.client._transport = httpx.MockTransport(answer)
        return made

    monkeypatch.setattr(server, "get_client", client)
    monkeypatch.setattr(server, "reach", reached)
    with pytest.raises(ServerError, match=says):
        async with open_conversation("amadeus", context(tmp_path), "tea", server=URL):
            pass


async def test_only_the_key_that_is_meant_for_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGSMITH_API_KEY", "of-another")
    monkeypatch.setattr(server, "reach", reached)
    for key, header in (("", None), ("sesame", "sesame")):
        monkeypatch.setenv("DRAMATURG_SERVER_KEY", key)
        async with open_server(URL) as opened:
            assert opened.client.http.client.headers.get("x-api-key") == header


async def test_an_address_is_one_of_a_server() -> None:
    with pytest.raises(ValueError, match="no address of a server: write http://host:port"):
        async with open_server("localhost:8000"):
            pass


def test_a_server_is_told_what_differs_there_and_nothing_of_this_side(tmp_path: Path) -> None:
    kind = AmadeusContext
    assert sent(context(tmp_path), kind) == {"role": "ada", "rules": "ours"}
    assert sent(context(tmp_path, rules="paper", slots=1), kind) == {"role": "ada", "rules": "paper", "slots": 1}
    with pytest.raises(ValueError, match=r"prompts is a folder of this side.* own prompts/"):
        sent(context(tmp_path, prompts=tmp_path), kind)
    with pytest.raises(ValueError, match="chat_model is an object of this side"):
        sent(context(tmp_path, chat_model=ScriptedChatModel(reply=Player())), kind)


@pytest.mark.parametrize("method", METHODS)
def test_a_contestant_sets_nothing_that_only_an_operator_may(method: str) -> None:
    from dramaturg.nodes.open_settings import require_open

    own = contestant(method).context(RunContext(), "ada", seed=1)
    require_open(type(own), sent(own, type(own)), opened=())
    assert type(own)(**sent(own, type(own))).model_dump(exclude={"library"}) == own.model_dump(exclude={"library"})


async def test_an_index_that_somebody_makes_is_waited_for(there: ServedHere, tmp_path: Path) -> None:
    (part,) = preparations("amadeus", context(tmp_path)).values()
    there.lost = lambda found: found.event == "custom"
    async with open_server(URL) as opened:
        away = part._replace(builder=opened.stand_in(part.builder, part.name, "index")).graph
        with pytest.raises(ServerError, match="its run goes on there"):
            await away.ainvoke({}, context=part.context)
        there.lost = lambda found: False
        report = (await away.ainvoke({}, context=part.context))["index"]
        (runs,) = there.all.values()
        assert (len(runs), report["embedded"]) == (1, report["passages"])
        again = (await away.ainvoke({}, context=part.context))["index"]  # what has ended is looked at anew
        (runs,) = there.all.values()
        assert (len(runs), again["embedded"]) == (1, 0)


async def test_a_method_of_ones_own_is_refused(there: ServedHere) -> None:
    async with open_server(URL) as opened:
        with pytest.raises(ValueError, match="mine:graph is a flow of your own"):
            opened.flow("mine:graph")


async def test_two_at_once_have_threads_of_their_own(there: ServedHere, tmp_path: Path) -> None:
    async def one(name: str) -> list[str]:
        async with open_conversation("amadeus", context(tmp_path), name, server=URL) as talk:
            await talk.take_turn(name)
            return await questions(talk)

    assert await asyncio.gather(one("tea"), one("milk")) == [["tea"], ["milk"]]
    assert len(there.all) == 2
