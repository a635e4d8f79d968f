"""A conversation goes into JSON lines and comes out of them the same, and can be gone on with."""

import json
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.evidence import misfits
from dramaturg.conversations.json_lines import exported, imported
from dramaturg.workflows import emotional_rag
from dramaturg.workflows.emotional_rag_index import build as index
from dramaturg.workflows.methods import METHODS, chat_graph, context_type

from mood_models import feeler
from roles import run_settings, small_role
from talks import Player, conversation, memory, questions

pytestmark = pytest.mark.sample_of_file(3)


async def lines_of(talk: Conversation) -> list[str]:
    return [line async for line in exported(talk)]


@pytest.fixture
async def lines(tmp_path: Path) -> list[str]:
    talk = conversation(InMemorySaver(), tmp_path, Player())
    for text in ("one", "two\n\u2028three", "four"):
        await talk.take_turn(text)
    return await lines_of(talk)


@pytest.fixture
def empty(tmp_path: Path) -> Conversation:
    return conversation(InMemorySaver(), tmp_path, Player())


async def test_a_conversation_is_gone_on_with_elsewhere(lines: list[str], empty: Conversation) -> None:
    assert await imported(empty, lines) == 3
    assert await lines_of(empty) == lines
    assert await empty.unfinished() is None
    await empty.take_turn("five")
    assert await questions(empty) == ["one", "two\n\u2028three", "four", "five"]
    assert await memory(empty) == {"one", "two\n\u2028three", "four", "five"}


async def test_an_imported_conversation_can_be_forked(lines: list[str], empty: Conversation) -> None:
    await imported(empty, lines)
    await empty.fork((await empty.history())[0].id)
    await empty.take_turn("else")
    assert await questions(empty) == ["one", "else"]
    assert await memory(empty) == {"one", "else"}


async def test_each_line_is_json_with_what_was_said(lines: list[str]) -> None:
    head, first, *_ = map(json.loads, lines)
    assert head == {"format": "dramaturg-conversation", "version": 1, "role": "ada", "thread": "tea"}
    assert (first["question"], first["reply"]) == ("one", "Reply 1 to one")
    assert first["state"]["evidence"]["knowledge"]


async def test_a_window_is_restored(tmp_path: Path, empty: Conversation) -> None:
    talk = conversation(InMemorySaver(), tmp_path, Player())
    talk.change(window=2)
    for text in ("one", "two", "three", "four"):
        await talk.take_turn(text)
    await imported(empty, await lines_of(talk))
    assert len((await empty.values())["messages"]) == len((await talk.values())["messages"])


def changed(line: str, **values: Any) -> str:
    return json.dumps({name: value for name, value in {**json.loads(line), **values}.items() if value is not None})


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("number", "values", "says"),
    [
        (0, {"format": "other"}, "Line 1 is not of a conversation that was exported: format"),
        (0, {"version": 2}, "Line 1 .* version"),
        (0, {"role": "ida"}, "was with 'ida', not with 'ada'"),
        (1, {"question": None}, "Line 2 .* question: Field required"),
        (2, {"reply": 7}, "Line 3 .* reply"),
        (3, {"else": 7}, "Line 4 .* else"),
        (3, {"state": {"role_memory": "none"}}, "Line 4: 'role_memory' does not fit"),
        (1, {"state": {"mood": {}}}, "Line 2: 'mood' does not fit"),
        (1, {"state": {"slots": "3"}}, "Line 2: 'slots' does not fit"),
        (1, {"state": {"searchable": 1}}, "Line 2: 'searchable' does not fit"),
        (1, {"state": {"evidence": 3}}, "Line 2: 'evidence' does not fit"),
        (1, {"state": {"evidence": {"selection": 3}}}, "Line 2: evidence.selection: Input should be a valid dict"),
        (2, {"state": {"evidence": {"knowledge": [{"text": 3}]}}}, "Line 3: evidence.knowledge.0.text: Input"),
        (1, {"state": {"evidence": {"own": 10**30}}}, "Line 2: 'evidence' cannot be kept"),
        (1, {"state": {"usage": {"respond": 3}}}, "Line 2: 'usage' does not fit"),
        (1, {"state": {"usage": {"respond": {"calls": 1}}}}, "Line 2: 'usage' does not fit"),
        (1, {"state": {"summary": ["a"]}}, "Line 2: 'summary' does not fit"),
        (1, {"window": 10**30}, "Line 2 .* window"),
    ],
)
async def test_a_line_that_cannot_be_used_is_named(
    lines: list[str], empty: Conversation, number: int, values: dict[str, Any], says: str
) -> None:
    lines[number] = changed(lines[number], **values)
    with pytest.raises(ValueError, match=says):
        await imported(empty, lines)
    assert await empty.history() == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format"', "[" * 100_000, "9" * 10_000])
async def test_what_is_no_conversation_is_refused(empty: Conversation, text: str) -> None:
    with pytest.raises(ValueError, match="Line 1 is not of a conversation"):
        await imported(empty, [text])
    with pytest.raises(ValueError, match="file is empty"):
        await imported(empty, [])


@pytest.mark.sample(4)
@pytest.mark.parametrize("method", METHODS)
async def test_what_a_method_writes_can_be_taken_up_again(method: str, tmp_path: Path) -> None:
    whole_role(tmp_path)
    context = context_type(method)(**run_settings(tmp_path, whole_cast()))
    talk = Conversation(chat_graph(method), InMemorySaver(), context, "tea", store=InMemoryStore())
    for text in ("Do storms scare Tom?", "And Ida?"):
        output = await talk.take_turn(text)
        assert misfits(output["evidence"]) == {}
    written = await lines_of(talk)
    copy = Conversation(chat_graph(method), InMemorySaver(), context, "tea", store=InMemoryStore())
    assert await imported(copy, written) == 2
    assert await lines_of(copy) == written


async def test_parts_of_a_flow_have_the_evidence_of_their_mechanisms(lines: list[str], empty: Conversation) -> None:
    for evidence, fits in (({"mine": {"selection": 3}}, False), ({"mine": 3, "other": {"any": [None]}}, True)):
        given = [lines[0], changed(lines[1], state={"evidence": evidence})]
        if fits:
            assert await imported(empty, given) == 1
            assert (await empty.values())["evidence"] == evidence
        else:
            with pytest.raises(ValueError, match=r"Line 2: evidence\.mine\.selection"):
                await imported(empty, given)


async def test_a_thread_that_has_begun_is_not_written_over(lines: list[str], empty: Conversation) -> None:
    await empty.take_turn("mine")
    with pytest.raises(ValueError, match="'tea' has begun already"):
        await imported(empty, lines)
    assert await questions(empty) == ["mine"]


async def test_an_import_that_fails_leaves_nothing(
    lines: list[str], empty: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph: Any = empty.thread.graph
    put = graph.checkpointer.aput
    calls = 0

    async def failing(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(28, "No space left on device")
        return await put(*arguments)

    monkeypatch.setattr(graph.checkpointer, "aput", failing)
    with pytest.raises(OSError, match="No space"):
        await imported(empty, lines)
    assert await empty.history() == []


async def test_an_import_that_was_killed_is_finished_by_the_same_lines(lines: list[str], empty: Conversation) -> None:
    await imported(empty, lines[:2])
    assert await imported(empty, lines) == 3
    assert await lines_of(empty) == lines


async def test_an_id_is_used_once(lines: list[str], empty: Conversation) -> None:
    with pytest.raises(ValueError, match="Line 5: the id"):
        await imported(empty, [*lines, lines[1]])
    assert await empty.history() == []


@pytest.mark.parametrize("old", [False, True])
async def test_memories_that_are_not_brought_along_are_not_missed(tmp_path: Path, old: bool) -> None:
    """Neither from a file that names them still."""
    small_role(tmp_path)
    context = emotional_rag.EmotionalRagContext(**run_settings(tmp_path, feeler()))
    await index().compile().ainvoke({}, context=context)
    store = InMemoryStore()
    talk = Conversation(emotional_rag.build(), InMemorySaver(), context, "tea", store=store)
    for text in ("My dog has died.", "My wedding is on Sunday!"):
        await talk.take_turn(text)
    ids = (await talk.values())["remembered"]
    assert len(ids) == 2
    lines = await lines_of(talk)
    assert all("remembered" not in json.loads(line)["state"] for line in lines[1:])
    if old:
        lines[1:] = [changed(line, state={**json.loads(line)["state"], "remembered": ids}) for line in lines[1:]]
    copy = Conversation(emotional_rag.build(), InMemorySaver(), context, "copy", store=store)
    assert await imported(copy, lines) == 2
    evidence = (await copy.take_turn("And now?"))["evidence"]
    assert "lost_memories" not in evidence
    assert len((await copy.values())["remembered"]) == 1
