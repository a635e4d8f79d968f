"""Roles as tools, at the client of the protocol's own package: over pipes to the command, and within this process."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from page_house import Voice

from dramaturg.conversations.opening import threads_of
from dramaturg.nodes.run import RoleContext
from dramaturg.server.mcp import tool_server
from dramaturg.server.rooms import Rooms
from dramaturg.server.tools import TOOLS
from dramaturg.stores.library import library_at

from fakes import ScriptedChatModel
from roles import WordEmbeddings, fenced, small_role
from scope_roles import remembered
from stub_endpoint import endpoint

mcp = pytest.importorskip("mcp")
COMMAND = "from dramaturg.cli.app import main; main()"


def counted() -> Any:
    """Play every method, and say the how manieth reply it is and to what."""
    replies = iter(range(1, 100))
    record = remembered("He brings me what I need.")
    return whole_cast(record=record, reply=lambda text: f"Reply {next(replies)} to {fenced('question', text)}")


@asynccontextmanager
async def at_tools(library: Path, model: Any = None, **how: Any) -> AsyncIterator[Any]:
    """A client of the tools over a library with Ada, in this process."""
    if not (library / "ada").exists():
        whole_role(library)
    given = {"chat_model": model or counted(), "embedding_model": WordEmbeddings()}
    rooms = Rooms(library_at(library), how.get("method", "amadeus"), {}, given)
    try:
        async with mcp.Client(tool_server(rooms)) as one:
            yield one
    finally:
        await rooms.close()


async def called(one: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives: the same as an object and as text."""
    result = await one.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


async def refused(one: Any, tool: str, **arguments: Any) -> str:
    """The sentence with which a tool refuses."""
    result = await one.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return str(result.content[0].text)


@pytest.mark.crash
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_a_client_starts_the_command_and_a_thread_outlives_it(tmp_path: Path) -> None:
    small_role(tmp_path)
    with endpoint() as stub:
        env = {**os.environ, **stub.variables(), "DRAMATURG_LIBRARY": str(tmp_path)}
        start = mcp.StdioServerParameters(command=sys.executable, args=["-c", COMMAND, "mcp"], env=env)
        async with mcp.Client(start) as one:
            assert [tool.name for tool in (await one.list_tools()).tools] == list(TOOLS)
            said = await called(one, "ask_role", role="Ada Quill", message="Who are you?", thread="log")
            assert (said["role"], said["thread"], said["reply"]) == ("ada", "log", "I keep the light.")
            assert await refused(one, "ask_role", role="nobody", message="x")
    model = counted()
    async with at_tools(tmp_path, model) as one:
        await called(one, "ask_role", role="ada", message="Who was here?", thread="log")
    assert any("I keep the light." in message.text for message in model.calls[-1].messages)


def test_without_the_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dramaturg.cli.app import main

    monkeypatch.setattr(sys, "argv", ["dramaturg", "mcp"])
    monkeypatch.delitem(sys.modules, "dramaturg.server.mcp")
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.out == ""
    assert "mcp is not installed: pip install 'dramaturg[mcp]'." in " ".join(said.err.split())


async def test_each_tool_and_each_argument_says_what_it_means(tmp_path: Path) -> None:
    async with at_tools(tmp_path) as one:
        for tool in (await one.list_tools()).tools:
            assert len(tool.description) > 40
            assert tool.input_schema["additionalProperties"] is False
            assert all(field.get("description") for field in tool.input_schema["properties"].values()), tool.name


async def test_roles_are_listed_with_the_methods(tmp_path: Path) -> None:
    async with at_tools(tmp_path) as one:
        found = await called(one, "list_roles")
    ada = next(role for role in found["roles"] if role["id"] == "ada")
    assert not {"hispaniola"} & {role["id"] for role in found["roles"]}  # a story, which cannot be asked
    assert (ada["name"], ada["example"]) == ("Ada Quill", False)
    assert {"amadeus", "drmr"} <= {*found["methods"]}
    assert found["method"] == "amadeus"


async def test_without_a_thread_nothing_is_kept_and_why_is_told_when_asked(tmp_path: Path) -> None:
    async with at_tools(tmp_path) as one:
        said = await called(one, "ask_role", role="ada", message="Who?", evidence=True)
    assert "selection" in said["evidence"]
    assert said["thread"] is None
    assert await threads_of(RoleContext(role="ada", library=str(tmp_path))) == []


@pytest.mark.parametrize(
    ("method", "kind", "words"),
    [
        ("amadeus", "knowledge", "mail boat"),
        ("role-rag", "knowledge", "Tom is her brother."),
        ("emotional-rag", "memories", "harbour master"),
        ("id-rag", "identity", "a light that never fails"),
    ],
)
async def test_what_a_role_recalls_is_found_without_a_reply(tmp_path: Path, method: str, kind: str, words: str) -> None:
    async with at_tools(tmp_path) as one:
        found = await called(one, "recall", role="ada", question="Do you trust Tom?", method=method)
    assert any(words in text for text in found["found"][kind]), found["found"]
    assert found["evidence"]
    assert await threads_of(RoleContext(role="ada", library=str(tmp_path))) == []


async def test_how_a_role_stands_to_somebody_and_what_it_remembers_of_them(tmp_path: Path) -> None:
    async with at_tools(tmp_path) as one:
        about = await called(one, "relations", role="ada", person="Tom Quill")
        assert {"Ada Quill", "Tom Quill"} <= {*about["clique"]}
        assert {edge["score"] for edge in about["relations"]} == {None}  # nobody was asked
        assert about["role_memory"] == []
        scored = await called(one, "relations", role="ada", person="Tom Quill", score=True)
        assert None not in {edge["score"] for edge in scored["relations"]}
        await called(one, "ask_role", role="ada", message="Hello.", method="drmr", user="Tom Quill", thread="t")
        before = (await called(one, "relations", role="ada", person="Tom Quill", thread="t"))["role_memory"]
        assert before == ["He brings me what I need."]
        assert (await called(one, "relations", role="ada", person="Nell", thread="t"))["role_memory"] == []
        known = await called(one, "recall", role="ada", question="x", method="drmr", user="Tom Quill", thread="t")
        assert known["evidence"]["relations"]["user_role"] == "Tom Quill"
        assert (await called(one, "relations", role="ada", person="Tom Quill", thread="t"))["role_memory"] == before
        assert not (await called(one, "relations", role="ada", person="A stranger"))["speaks_in_the_dialogues"]


async def test_what_is_to_be_remembered_is_written_indexed_and_recalled(tmp_path: Path) -> None:
    whole_role(tmp_path)
    file = tmp_path / "ada" / "memories.jsonl"
    file.write_bytes(file.read_bytes().rstrip())  # an editor that leaves the last line without an end
    lines = file.read_text().splitlines()
    async with at_tools(tmp_path) as one:
        kept = await called(one, "remember", role="ada", kind="memory", text="I saw a narwhal.", when="1850")
        assert kept["kept_in"] == f"memories.jsonl:{len(lines) + 1}"
        assert file.read_text().splitlines() == [*lines, '{"text": "I saw a narwhal.", "when": "1850"}']
        found = await called(one, "recall", role="ada", question="narwhal", method="emotional-rag")
        assert any("narwhal" in text for text in found["found"]["memories"])
        kept = await called(one, "remember", role="ada", kind="document", title="Whales", text="A walrus came by.")
        assert kept["kept_in"] == "Whales.md"
        assert kept["index"]["amadeus_index"]["documents"] == 2
        assert (tmp_path / "ada" / "persona" / "Whales.md").read_text() == "A walrus came by."
        assert "already" in await refused(one, "remember", role="ada", kind="document", title="Whales", text="x")


async def test_what_is_written_and_cannot_be_indexed_yet_is_kept(tmp_path: Path) -> None:
    down = ScriptedChatModel(reply=lambda _: ConnectionError("down"))
    async with at_tools(tmp_path, down) as one:
        kept = await called(one, "remember", role="ada", kind="memory", text="I saw a narwhal.")
    assert "narwhal" in (tmp_path / "ada" / "memories.jsonl").read_text()
    assert kept.get("index", {}).get("emotional_rag_index", {}).get("failed") or "tries it again" in kept["not_indexed"]


REFUSALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such tool": ("nix", {}, "There is no tool 'nix'"),
    "no such role": ("ask_role", {"role": "nobody", "message": "x"}, "list_roles lists"),
    "a path as a role": ("ask_role", {"role": "../ada", "message": "x"}, "There is no role '../ada'"),
    "a path as a title": ("remember", {"role": "ada", "kind": "document", "text": "x", "title": "../../x"}, "document"),
    "a file as a method": ("ask_role", {"role": "ada", "message": "x", "method": "own.py:graph"}, "There is no method"),
    "a library": ("ask_role", {"role": "ada", "message": "x", "library": "/etc"}, "library: Extra inputs"),
    "no message": ("ask_role", {"role": "ada"}, "message: Field required"),
    "an empty message": ("ask_role", {"role": "ada", "message": " "}, "message: "),
    "a thread of two lines": ("ask_role", {"role": "ada", "message": "x", "thread": "a\nb"}, "thread: "),
    "a method that does not look up": ("recall", {"role": "ada", "question": "x", "method": "vanilla"}, "take amadeus"),
    "itself": ("relations", {"role": "ada", "person": "Ada Quill"}, "cannot play Ada Quill"),
    "whom it is all one": ("ask_role", {"role": "ada", "message": "x", "user": "Tom"}, "leave `user` out"),
    "a document without a title": ("remember", {"role": "ada", "kind": "document", "text": "x"}, "needs a title"),
    "a memory with a title": ("remember", {"role": "ada", "kind": "memory", "text": "x", "title": "y"}, "no title"),
}


async def test_what_cannot_be_done_is_said_in_a_sentence(tmp_path: Path) -> None:
    async with at_tools(tmp_path) as one:
        for case, (tool, arguments, words) in REFUSALS.items():
            sentence = await refused(one, tool, **arguments)
            assert words in sentence, (case, sentence)
            assert "\n" not in sentence
            assert str(tmp_path) not in sentence


async def test_two_calls_at_once_on_one_thread_are_answered_one_after_the_other(tmp_path: Path) -> None:
    async with at_tools(tmp_path) as one:
        calls = (called(one, "ask_role", role="ada", message=text, thread="t") for text in ("one", "two"))
        said = [call["reply"] for call in await asyncio.gather(*calls)]
        assert sorted(reply.split(" to ")[1] for reply in said) == ["one", "two"]
        assert sorted(reply.split(" to ")[0] for reply in said) == ["Reply 1", "Reply 2"]
        rooms = Rooms(library_at(tmp_path), "amadeus", {}, {})
        model = rooms.model("ada")
        talk = await rooms.conversation(model, rooms.context(model, {}), "t")
        assert sorted(turn.question for turn in await talk.history()) == ["one", "two"]
        await rooms.close()


async def test_a_call_that_is_cancelled_is_taken_back_and_the_next_is_answered(tmp_path: Path) -> None:
    gate, begun = asyncio.Event(), asyncio.Event()

    def reply(text: str) -> str:
        begun.set()
        return f"Reply to {fenced('question', text)}"

    model = Voice(reply=whole_cast(reply=reply).reply, gate=gate)
    async with at_tools(tmp_path, model) as one:
        call = asyncio.create_task(called(one, "ask_role", role="ada", message="one", thread="t"))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        gate.set()
        said = await called(one, "ask_role", role="ada", message="two", thread="t")
        assert said["reply"].endswith("to two")
        rooms = Rooms(library_at(tmp_path), "amadeus", {}, {})
        ada = rooms.model("ada")
        talk = await rooms.conversation(ada, rooms.context(ada, {}), "t")
        assert [turn.question for turn in await talk.history()] == ["two"]
        assert len(await talk.branches()) == 1
        await rooms.close()
