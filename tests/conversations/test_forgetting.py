"""Forgetting for good: of what was said, and of what came of it, no byte is left, and the talk goes on."""

import asyncio
import copy
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from all_methods import whole_cast, whole_role
from databases import open_saver
from hypothesis import assume, given
from hypothesis import strategies as st
from kept_talks import ASKED, TOLD, Listener, branch_of, history_of, kept_talk, lines_in, records_of, small_talk
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations import conversation
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.forgetting import Forgetting, Words, going, is_of_run
from dramaturg.conversations.json_lines import exported, imported
from dramaturg.conversations.opening import open_conversation
from dramaturg.models.answer_cache import ANSWERS, open_answers
from dramaturg.models.environment import environment
from dramaturg.models.errors import ModelUnavailable
from dramaturg.nodes.talk import memory
from dramaturg.nodes.talk.memory import index_of
from dramaturg.nodes.wish import WISH
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.labels import Label
from dramaturg.stores.conversations.memories import ConversationMemories
from dramaturg.stores.conversations.talk import Fact, Line, Standing, TalkRecord, TalkRecords
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.steps import Step
from dramaturg.workflows.methods import chat_graph, context_type
from dramaturg.workflows.names import METHODS

from fakes import ScriptedChatModel
from property_settings import property_settings
from roles import WordEmbeddings, fenced, run_settings, said

CODE = "zebulon9417"
SECRET = f"The word that opens my safe is {CODE}, and nobody else may ever hear it."


@pytest.fixture(params=["memory", "ours", "postgres"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with open_saver(request.param, tmp_path, request) as saver:
        yield saver


async def everything(talk: Conversation) -> str:
    """All that a talk has kept, read."""
    where = {"configurable": {"thread_id": talk.thread.name}}
    states = [repr((one.checkpoint, one.metadata, one.pending_writes)) async for one in talk.saver.alist(where)]
    assert talk.store is not None
    items = [repr(item.value) for item in await talk.store.asearch((), limit=10_000)]
    return "\n".join([*states, *items]).casefold()


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes().lower() for path in folder.rglob("*") if path.is_file())


def telling(*, later: bool) -> ScriptedChatModel:
    """Whoever hears the word, says it: the turn in which it is told, or also what is made of the talk later."""

    def heard(text: str, otherwise: str) -> str:
        told = CODE in (text if later else fenced("question", text))
        return f"It is about {CODE} in the end." if told else otherwise

    findings = [{"attribute": "Ada keeps a light.", "passage": 1}]

    def found(text: str) -> str:
        one = [{"attribute": heard(text, "Ada is cheerful."), "passage": 1}]
        return json.dumps({"belief_and_value": findings, "psychological_traits": one})

    return whole_cast(
        reply=lambda text: f"So {CODE} it is." if CODE in fenced("question", text) else "I keep the light.",
        summary=lambda text: f"They spoke of {CODE}." if CODE in text else "They spoke.",
        record=lambda text: json.dumps({"record": heard(text, "I have known them for long.")}),
        merged=lambda text: json.dumps({"record": heard(text, "All in all I know them.")}),
        findings=found,
        hypothetical=lambda text: heard(text, "The lamp was trimmed."),
        felt=lambda text: heard(text, "She is content."),
        inferred=lambda text: heard(text, "She keeps a light."),
        plan=lambda text: heard(text, "She means to trim the lamp."),
        why=lambda text: heard(text, "It is of a later time."),
    )


@pytest.mark.parametrize("by", ["id", "phrase"])
async def test_a_wish_is_forgotten_with_the_turn_that_it_was_for(tmp_path: Path, by: str) -> None:
    whole_role(tmp_path)
    context = context_type("vanilla")(**run_settings(tmp_path, whole_cast()))
    async with open_conversation("vanilla", context, "tea") as talk:
        await talk.take_turn("Who are you?")
        await talk.take_turn(HumanMessage("Do you like rain?", additional_kwargs={WISH: f"Say {CODE} at the end."}))
        await talk.take_turn("Is the ferry late?")
        assert CODE in await everything(talk)
        await (talk.forget([(await talk.history())[1].id]) if by == "id" else talk.forget(phrase=CODE))
        assert CODE not in await everything(talk)
        assert [turn.question for turn in await talk.history()] == ["Who are you?", "Is the ferry late?"]


@pytest.mark.parametrize("by", ["id", "phrase"])
@pytest.mark.parametrize("method", METHODS)
async def test_no_byte_is_left_of_it_in_any_method(tmp_path: Path, method: str, by: str) -> None:
    whole_role(tmp_path)
    settings = {"window": 4, "summary_tokens": 60}
    context = context_type(method)(**run_settings(tmp_path, telling(later=by == "phrase"), **settings))
    async with open_conversation(method, context, "tea") as talk:
        for text in ["Who are you?", SECRET, *small_talk(6)]:
            await talk.take_turn(text)
        assert CODE in await everything(talk)
        (meant,) = [one for one in await talk.remembered() if CODE in one.said[0].text]
        gone = await (talk.forget([meant.id]) if by == "id" else talk.forget(phrase=CODE))
        assert [one.id for one in gone.said] == [meant.id]
        assert CODE not in await everything(talk)
        assert SECRET not in [turn.question for turn in await talk.history()]
        assert len(await talk.history()) == 7
        await talk.take_turn("What did I tell you of my safe?")
        assert CODE not in await everything(talk)
        assert len(await talk.history()) == 8
    assert CODE.encode() not in all_bytes(tmp_path)


@pytest.mark.parametrize("at", [0, 3, 6])
@pytest.mark.parametrize("method", ["ensemble", "emotional-rag", "vanilla"])
async def test_a_talk_goes_on_without_it_wherever_it_is_kept(saver: Any, tmp_path: Path, method: str, at: int) -> None:
    """The first that was said, the last, and one that the window shows no more."""
    whole_role(tmp_path / "library")
    given = run_settings(tmp_path / "library", telling(later=False), window=4, summary_tokens=0)
    built = kept_talk(tmp_path, saver, InMemoryStore(), method=method)
    built.context = context_type(method)(**given)
    texts = small_talk(6)
    texts.insert(at, SECRET)
    for text in texts:
        await built.take_turn(text)
    gone = await built.forget(phrase=CODE)
    assert [one.said[0].text for one in gone.said] == [SECRET]
    assert CODE not in await everything(built)
    texts.remove(SECRET)
    assert [turn.question for turn in await built.history()] == texts
    for turn in await built.history():
        assert CODE not in repr(await built.values(turn))
    await built.take_turn("And now?")
    assert [text for text in lines_in(await branch_of(built)) if text] == [*texts, "And now?"]
    await built.fork((await built.history())[2].id)
    await built.take_turn("Or else?")
    assert [turn.question for turn in await built.history()] == [*texts[:3], "Or else?"]


async def test_the_state_after_what_is_forgotten_is_the_one_before(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    for text in ("one", "two", SECRET):
        await talk.take_turn(text)
    before = await talk.values((await talk.history())[1])
    await talk.forget(phrase=CODE)
    assert await talk.values() == before


async def test_where_it_was_asked_again_or_is_repeated_in_full_it_is_forgotten_too(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    await talk.take_turn("one")
    await talk.take_turn(SECRET)
    first = (await talk.history())[1]
    await talk.regenerate()
    await talk.take_turn(f"As I said: {SECRET} Keep it.")
    await talk.fork(first.id)
    await talk.take_turn("And what of supper, then?")
    gone = await talk.forget([next(one.id for one in await talk.remembered() if one.said[0].text == SECRET)])
    assert len(gone.said) == 3
    assert CODE not in await everything(talk)
    assert [[turn.question for turn in one] for one in await talk.branches()] == [
        ["one", "And what of supper, then?"],
    ]


async def test_what_is_forgotten_comes_back_no_more_and_the_rest_does(saver: Any, tmp_path: Path) -> None:
    listener = Listener()
    talk = kept_talk(tmp_path, saver, InMemoryStore(), listener=listener)
    for text in [SECRET, TOLD, *small_talk(6)]:
        await talk.take_turn(text)
    await talk.take_turn("What is the word that opens my safe?")
    assert CODE in listener.recalled
    await talk.forget(phrase=CODE)
    await talk.take_turn("What is the word that opens my safe?")
    assert CODE not in listener.recalled
    await talk.take_turn(ASKED)
    assert TOLD in listener.recalled


async def test_a_summary_that_may_tell_of_it_is_emptied_and_no_other(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), summary_tokens=60)

    def answer(messages: Any) -> str:
        text = messages[-1].text
        return f"Summary with a word of {text.count('?')} questions." if "<conversation>" in text else "Well."

    talk.context = type(talk.context)(**run_settings(tmp_path / "library", ScriptedChatModel(reply=answer), window=4))
    for text in [*small_talk(4), SECRET, *small_talk(6)[4:]]:
        await talk.take_turn(text)
    before = [(await talk.values(turn)).get("summary", "") for turn in await talk.history()]
    gone = await talk.forget(phrase=CODE)
    after = [(await talk.values(turn)).get("summary", "") for turn in await talk.history()]
    assert all(before[2:])
    assert after[:4] == before[:4]
    assert gone.summaries == len([one for one in after if not one]) - len([one for one in before if not one])
    assert after[-1] == ""


async def test_what_a_paper_s_method_said_is_forgotten_without_a_record(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), rules="paper")
    for text in ("one", SECRET, "three"):
        await talk.take_turn(text)
    assert [one.said[0].text for one in await talk.remembered()] == ["one", SECRET, "three"]
    await talk.forget(phrase=CODE)
    assert CODE not in await everything(talk)
    assert [turn.question for turn in await talk.history()] == ["one", "three"]


async def test_an_unfinished_turn_is_withdrawn_first(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        listener = Listener()
        talk = kept_talk(tmp_path, saver, ItemStore(tmp_path / "items.sqlite"), listener=listener)
        for text in ("one", "two"):
            await talk.take_turn(text)
        listener.down = True
        with pytest.raises(ModelUnavailable):
            await talk.take_turn(SECRET)
        await talk.forget([(await talk.remembered())[0].id])
        assert CODE not in await everything(talk)
        assert [turn.question for turn in await talk.history()] == ["two"]
    assert CODE.encode() not in all_bytes(tmp_path)


async def test_what_was_forgotten_is_not_exported(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    for text in ("one", SECRET, "three"):
        await talk.take_turn(text)
    await talk.forget(phrase=CODE)
    lines = [line async for line in exported(talk)]
    assert CODE not in "".join(lines)
    elsewhere = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), "copy")
    assert await imported(elsewhere, lines) == 2
    assert lines_in(await branch_of(elsewhere)) == ["one", "three"]


async def test_nothing_that_is_meant_leaves_all_as_it_was(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    await talk.take_turn("one")
    before = await everything(talk)
    assert await talk.forget(["no such id"]) == ([], [], [], 0, 0)
    assert await talk.forget(phrase="never said") == ([], [], [], 0, 0)
    assert await everything(talk) == before


async def test_a_saver_that_cannot_says_what_can_be_done(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    async with open_saver("stock", tmp_path, request) as saver:
        talk = kept_talk(tmp_path, saver, InMemoryStore())
        await talk.take_turn(SECRET)
        with pytest.raises(ValueError, match="erase the whole conversation, or keep conversations with Conv"):
            await talk.forget(phrase=CODE)
        assert lines_in(await records_of(talk).all()) == [SECRET]


async def test_kept_answers_of_the_model_that_hold_it_are_forgotten(tmp_path: Path) -> None:
    path = environment().cache / ANSWERS
    cache = open_answers(path)
    await cache.set("told", {"text": f"In full: {SECRET}"})
    await cache.set("other", {"text": "The lamp."})
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    await talk.take_turn(SECRET)
    await talk.forget(phrase=CODE)
    assert await cache.get("told") is None
    assert await cache.get("other") == {"text": "The lamp."}
    assert CODE.encode() not in all_bytes(path.parent)


async def test_the_file_is_whole_after_something_was_forgotten(tmp_path: Path) -> None:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        talk = kept_talk(tmp_path, saver, InMemoryStore())
        other = kept_talk(tmp_path, saver, talk.store, "dinner")
        for text in ("one", SECRET, *small_talk(4)):
            await talk.take_turn(text)
            await other.take_turn(text)
        await talk.fork((await talk.history())[3].id)
        await talk.take_turn("another branch")
        await talk.forget(phrase=CODE)
        assert lines_in(await records_of(other).all())[1] == SECRET
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:  # checked as it is opened
        talk = kept_talk(tmp_path, saver, talk.store)
        assert len(await talk.branches()) == 2
        await talk.delete((await talk.history())[1].id)
    with sqlite3.connect(tmp_path / "talks.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


async def test_a_memory_with_a_mood_goes_with_its_turn(tmp_path: Path) -> None:
    whole_role(tmp_path / "library")
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore(), method="emotional-rag")
    talk.context = context_type("emotional-rag")(**run_settings(tmp_path / "library", telling(later=False)))
    for text in ("one", SECRET, "three"):
        await talk.take_turn(text)
    await talk.forget(phrase=CODE)
    assert talk.store is not None
    memories = ConversationMemories(talk.store, "ada", "tea")
    assert [one.question for one in await memories.all()] == ["one", "three"]
    assert set((await talk.values())["remembered"]) == await memories.ids()


async def test_what_a_client_keeps_is_forgotten_here(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    await talk.take_turn_after(history_of(*small_talk(3), SECRET, *small_talk(9)[3:]), "And now?")
    gone = await talk.forget(phrase=CODE)
    assert len(gone.said) == 1
    assert CODE not in await everything(talk)
    assert [turn.question for turn in await talk.history()] == [*small_talk(9), "And now?"]


async def test_a_note_is_forgotten_wherever_it_was_shown(saver: Any, tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    note, other = await talk.note(f"The code is {CODE}."), await talk.note("I am called Tom.")
    for text in ("one", "two"):
        await talk.take_turn(text)
    assert CODE in await everything(talk)
    gone = await talk.forget([note.id])
    assert (gone.said, gone.notes) == ([], [note])
    assert CODE not in await everything(talk)
    assert await talk.notes() == [other]
    assert [turn.question for turn in await talk.history()] == ["one", "two"]
    assert (await talk.forget(phrase="called tom")).notes == [other]


async def test_what_was_noted_of_it_is_forgotten_also_where_it_was_noted_later(saver: Any, tmp_path: Path) -> None:
    """Of a later exchange, which says nothing of it itself, it was noted: what holds the words goes."""

    def answer(messages: list[BaseMessage]) -> str:
        text = said(messages)
        if "<exchange>" not in text:
            return "I see."
        noted = f"The word of the user's safe is {CODE}." if CODE in text else "The user likes rain."
        return json.dumps({"notes": [{"about": "user", "note": noted, "replaces": []}]})

    talk = kept_talk(tmp_path, saver, InMemoryStore())
    given = run_settings(tmp_path / "library", ScriptedChatModel(reply=answer), talk_facts="on")
    talk.context = type(talk.context)(**given)
    for text in ("Do you like rain?", SECRET, "Keep it well."):
        await talk.take_turn(text)
    assert CODE in repr((await branch_of(talk))[1].facts)
    later = (await branch_of(talk))[2]
    noted = (Fact(about="user", text=f"{CODE} is to be kept."), Fact(about="user", text="It is a secret."))
    await records_of(talk).save([later.model_copy(update={"facts": noted})])
    gone = await talk.forget(phrase=CODE)
    assert [one.said[0].text for one in gone.said] == [SECRET, "Keep it well."]
    assert CODE not in await everything(talk)
    await talk.take_turn("one")
    assert lines_in(await branch_of(talk)) == ["Do you like rain?", "one"]


async def test_what_was_noted_of_it_later_is_forgotten_and_what_was_said_then_stays(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    for text in (SECRET, "Keep it well."):
        await talk.take_turn(text)
    told, later = await branch_of(talk)
    await records_of(talk).save([later.model_copy(update={"facts": (Fact(about="user", text=SECRET),)})])
    assert [one.id for one in (await talk.forget([told.id])).said] == [told.id]
    assert await talk.pin([told.id, later.id]) == 1
    assert CODE not in await everything(talk)
    assert lines_in(await branch_of(talk)) == ["", "Keep it well."]


async def test_of_what_is_remembered_only_what_was_noted_is_forgotten() -> None:
    kept = TalkRecords(InMemoryStore(), "ada", "tea")
    head = await kept.extended("", [HumanMessage("one", id="h"), AIMessage("two", id="a")])
    noted = (Fact(about="user", text=f"{CODE} is kept."), Fact(about="user", text="It rains."))
    (one,) = await kept.get([head])
    await kept.save([one.model_copy(update={"facts": noted}).embedded("words", np.ones((4, 2)))])
    assert (await index_of(kept, head)).records[0].facts == noted
    await kept.forget_made(Words([], [CODE]).are_in)
    (one,) = await kept.all()
    assert [fact.text for fact in one.facts] == ["", "It rains."]
    assert (one.embedding, one.vectors) == ("", "")  # of which one was that of the fact
    assert lines_in([one]) == ["one"]
    assert (await index_of(kept, head)).records == [one]


async def test_how_the_role_stands_is_forgotten_with_each_of_what_it_is_made_of() -> None:
    kept = TalkRecords(InMemoryStore(), "ada", "tea")
    head = await kept.extended(
        "",
        [
            one
            for text in ("one", "two", "three")
            for one in (HumanMessage(text, id=text), AIMessage(text, id=f"{text}/reply"))
        ],
    )
    first, second, third = await kept.branch(head)
    friends = Standing(user_role="Tom", text="He is my friend.", exchanges=2)
    rose, late = friends.model_copy(update={"user_role": "Rose"}), friends.model_copy(update={"exchanges": 1})
    for made_of, made in (([second, third], friends), ([third], rose), ([first], late)):
        await kept.save_standing(made_of, made.model_copy(update={"exchanges": len(made_of)}))
    assert [len(one.standings) for one in await kept.branch(head)] == [1, 0, 2]
    await kept.forget([second.id])
    left = await kept.branch(head)
    assert [[one.user_role for one in record.standings] for record in left] == [["Tom"], [], ["Rose"]]
    await kept.save_standing([second, third], friends)  # a model was asked before
    assert await kept.branch(head) == left


async def test_it_is_taken_out_where_it_came_back_in_another_talk_of_the_same_user(saver: Any, tmp_path: Path) -> None:
    store = InMemoryStore()
    talk = kept_talk(tmp_path, saver, store, known_as="tom")
    other = kept_talk(tmp_path, saver, store, "dinner", known_as="tom")
    await talk.take_turn(SECRET)
    await other.take_turn("What is the word that opens my safe?")
    assert CODE in await everything(other)
    await talk.forget(phrase=CODE)
    assert CODE not in await everything(other)
    assert [turn.question for turn in await other.history()] == ["What is the word that opens my safe?"]
    await other.take_turn("And what is the word now?")
    assert CODE not in await everything(other)


async def test_a_talk_that_is_erased_is_taken_out_of_the_others_of_the_same_user(saver: Any, tmp_path: Path) -> None:
    store = InMemoryStore()
    talk = kept_talk(tmp_path, saver, store, known_as="tom")
    other = kept_talk(tmp_path, saver, store, "dinner", known_as="tom")
    await talk.take_turn(SECRET)
    await talk.set_label(f"Of {CODE}", pinned=True)
    await other.take_turn("What is the word that opens my safe?")
    assert CODE in await everything(other)
    await talk.erase()
    assert CODE not in await everything(other) + await everything(talk)
    assert [turn.question for turn in await other.history()] == ["What is the word that opens my safe?"]
    assert await talk.label() == Label()
    assert CODE not in repr([one.index.records for one in memory._indexes[store].values()])


async def test_nothing_of_a_talk_that_is_being_erased_comes_back_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the other talk was looked through, and before what was said is gone."""
    saver, store = InMemorySaver(), InMemoryStore()
    talk = kept_talk(tmp_path, saver, store, known_as="tom")
    other = kept_talk(tmp_path, saver, store, "dinner", known_as="tom")
    await talk.take_turn(SECRET)
    await other.take_turn("one")
    drop_all = ConversationMemories.drop_all

    async def meanwhile(self: ConversationMemories) -> None:
        await other.take_turn("What is the word that opens my safe?")
        await drop_all(self)

    monkeypatch.setattr(ConversationMemories, "drop_all", meanwhile)
    await talk.erase()
    assert len(await other.history()) == 2
    assert CODE not in await everything(other)


async def test_what_the_role_has_from_its_own_files_stays_in_the_other_talks(tmp_path: Path) -> None:
    """It quoted a document in the talk that is erased; another talk rests on the same document."""
    whole_role(tmp_path / "library")
    quoted = "Ada Quill keeps the light of the island, and she has kept it for as long as anybody can remember."
    (tmp_path / "library" / "ada" / "persona" / "quoted.md").write_text(f"# Light\n\n{quoted}\n")
    saver, store, given = InMemorySaver(), InMemoryStore(), {"talk_tokens": 400, "known_as": "tom"}
    model = whole_cast(reply=lambda _: quoted)
    context = context_type("naive-rag")(**run_settings(tmp_path / "library", model, **given))
    talk = Conversation(chat_graph("naive-rag"), saver, context, "tea", store=store)
    other = talk.on("dinner", context)
    for one in (talk, other):
        await one.take_turn("Who keeps the light of the island?")
    assert quoted in repr((await other.values())["evidence"]["knowledge"])
    await talk.erase()
    assert quoted in repr((await other.values())["evidence"]["knowledge"])


async def test_a_title_that_tells_what_is_forgotten_goes_with_it(tmp_path: Path) -> None:
    talk = kept_talk(tmp_path, InMemorySaver(), InMemoryStore())
    await talk.take_turn("one")
    await talk.take_turn(SECRET)
    await talk.set_label("On tortoises", pinned=True)
    await talk.forget(phrase="nobody speaks of it")
    assert (await talk.label()).title == "On tortoises"
    await talk.set_label(f"Of {CODE}")
    await talk.forget(phrase=CODE)
    assert await talk.label() == Label(pinned=True)


async def test_only_what_has_begun_and_is_kept_has_a_title(tmp_path: Path) -> None:
    for talk in (kept_talk(tmp_path, InMemorySaver(), InMemoryStore()), kept_talk(tmp_path, InMemorySaver(), None)):
        with pytest.raises(ValueError, match="has begun, and is kept"):
            await talk.set_label("Tea")
        assert await talk.label() == Label()


class Meanwhile(WordEmbeddings):
    """Has something done while it is asked for the meanings of what was said, once."""

    def __init__(self, does: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self.does = does
        self.done: asyncio.Task[Any] | None = None

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.done is None:
            self.done = asyncio.create_task(self.does())
            await asyncio.wait([self.done], timeout=0.3)  # it may have to wait for the turn
        return self.embed_documents(texts)


@pytest.mark.parametrize("how", ["forget", "erase"])
async def test_what_is_forgotten_while_another_talk_looks_it_up_is_not_kept_again(tmp_path: Path, how: str) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    talk = kept_talk(tmp_path, saver, store, known_as="tom")
    await talk.take_turn(SECRET)
    gone = Meanwhile(talk.erase if how == "erase" else partial(talk.forget, phrase=CODE))
    other = kept_talk(tmp_path, saver, store, "dinner", known_as="tom", embedding_model=gone)
    await other.take_turn("What is the word that opens my safe?")
    assert gone.done is not None
    await gone.done
    assert CODE not in "".join(repr(item.value) for item in await store.asearch((), limit=100)).casefold()
    assert CODE not in await everything(other)


async def test_what_is_pinned_while_another_talk_looks_it_up_stays_pinned(tmp_path: Path) -> None:
    saver, store = InMemorySaver(), InMemoryStore()
    talk = kept_talk(tmp_path, saver, store, known_as="tom")
    await talk.take_turn(TOLD)
    pins = Meanwhile(partial(talk.pin, [(await talk.remembered())[0].id]))
    other = kept_talk(tmp_path, saver, store, "dinner", known_as="tom", embedding_model=pins)
    await other.take_turn(ASKED)
    (kept,) = await records_of(talk).all()
    assert kept.pinned
    assert kept.vectors


@pytest.mark.parametrize("begun", [True, False])
async def test_it_is_taken_out_of_a_turn_that_another_talk_takes_meanwhile(
    saver: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    """After the other talk was looked through, and before it is forgotten in this one."""
    store, loop = InMemoryStore(), asyncio.get_running_loop()
    talk = kept_talk(tmp_path, saver, store, known_as="tom")
    other = kept_talk(tmp_path, saver, store, "dinner", known_as="tom")
    await talk.take_turn(SECRET)
    if begun:
        await other.take_turn("one")

    def forget_answers(*_: Any) -> None:
        asyncio.run_coroutine_threadsafe(other.take_turn("What is the word that opens my safe?"), loop).result(20)

    monkeypatch.setattr(conversation, "forget_answers", forget_answers)
    await talk.forget(phrase=CODE)
    assert len(await other.history()) == 1 + begun
    assert CODE not in await everything(other)


async def test_of_two_roles_with_one_store_each_has_its_own_talks(tmp_path: Path) -> None:
    """Threads of the same name, in savers of their own, with the same user."""
    store, savers, listener = InMemoryStore(), [InMemorySaver(), InMemorySaver()], Listener()
    talk = kept_talk(tmp_path, savers[0], store, known_as="tom")
    copytree(tmp_path / "library" / "ada", tmp_path / "library" / "bob")
    of_bob = partial(kept_talk, tmp_path, savers[1], store, known_as="tom", role="bob", listener=listener)
    other = of_bob()
    await other.take_turn(TOLD)
    await talk.take_turn("one")
    await of_bob("dinner").take_turn(ASKED)
    assert TOLD in listener.recalled
    assert await records_of(talk).beside() == set()
    assert await records_of(other).beside() == {"dinner"}
    await talk.erase()
    await of_bob("supper").take_turn(ASKED)
    assert TOLD in listener.recalled


async def test_a_talk_that_another_program_kept_step_by_step_is_rewritten_too(saver: Any, tmp_path: Path) -> None:
    """Each step, and the input before it, holds what was said."""
    talk = kept_talk(tmp_path, saver, InMemoryStore())
    for text in ("one", SECRET, f"{SECRET} Did you hear?", "three"):
        where, asked = talk.thread.address(), {"messages": [HumanMessage(text)]}
        await talk.thread.graph.ainvoke(asked, where, context=talk.context, durability="sync")
    assert len((await everything(talk)).splitlines()) > 15
    await talk.forget(phrase=CODE)
    assert CODE not in await everything(talk)
    assert [turn.question for turn in await talk.history()] == ["one", "three"]
    await talk.take_turn("four")
    assert [turn.question for turn in await talk.history()] == ["one", "three", "four"]


# Words, and states of any form


@pytest.mark.parametrize(
    ("said", "text", "found"),
    [
        ("My safe opens at the word Zebulon today.", "user: my safe opens at the word — Zebulon today!", True),
        ("My safe opens at the word Zebulon today.", "… opens at the word Zebulon today, he said", True),
        ("My safe opens at the word Zebulon today.", "My safe opens at night.", False),
        ("Yes, it is.", "Yes, it is. So it goes.", True),
        ("Yes.", "Yes.", True),
        ("Yes.", "yes: he came", False),
        ("我妹妹在地窖里养了一只乌龟", "用户：我妹妹在地窖里养了一只……", True),
        ("我妹妹在地窖里养了一只乌龟", "地窖里有酒", False),
    ],
)
def test_what_was_said_is_found_in_what_repeats_it(said: str, text: str, found: bool) -> None:
    assert Words([Line(id="h", who="human", text=said)]).are_in(text) == found


def test_a_message_that_has_no_id_yet_is_known_by_its_words() -> None:
    """As in the input of a graph that another program runs: versions of Python differ in when it is given one."""
    forgetting = Forgetting({}, {"h"}, Words([Line(id="h", who="human", text=SECRET)]))
    others = [HumanMessage("Good morning, and how is the sea today?"), HumanMessage(SECRET, id="another")]
    assert forgetting.without([HumanMessage(SECRET), *others]) == others


def test_of_what_a_role_has_said_a_longer_part_must_be_there() -> None:
    reply = "I keep the light of the island, as my mother has done before me, every night."
    words = Words([Line(id="a", who="ai", text=reply)])
    assert words.are_in(f"She says: {reply}")
    assert not words.are_in("I keep the light of the island.")


def record(at: int, question: str, parent: str = "") -> TalkRecord:
    said = (Line(id=f"h{at}", who="human", text=question), Line(id=f"a{at}", who="ai", text="Well."))
    return TalkRecord(id=str(at), parent=parent, place=0, said=said, at="2026-01-01T00:00:00Z")  # type: ignore[arg-type]


def test_short_lines_that_are_said_often_are_forgotten_one_by_one() -> None:
    said = [record(0, "Yes."), record(1, "Yes.", "0"), record(2, "Yes.", "0"), record(3, "Go on.", "2")]
    assert [one.id for one in going(said, ["1"], "")] == ["1", "2"]
    assert [one.id for one in going(said, [], "go ON")] == ["3"]
    assert going(said, [], "!") == []
    said = [
        record(0, "Hm."),
        record(1, "Yes.", "0"),
        record(2, "Go on.", "1"),
        record(3, "Yes.", "2"),
        record(4, "Yes."),
    ]
    placed = [one.model_copy(update={"place": place}) for one, place in zip(said, (0, 1, 2, 3, 0), strict=True)]
    assert [one.id for one in going(placed, ["1"], "")] == ["1", "4"]  # as on a branch without what was before it


KEYS = st.sampled_from(["id", "text", "of"])
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a light", SECRET, f"so {CODE}", "h1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
STATES = st.lists(st.dictionaries(st.sampled_from("abcd"), PLAIN, max_size=4), min_size=4, max_size=4)


@property_settings(200)
@given(STATES, st.integers(0, 3))
def test_whatever_is_in_the_states_the_words_are_not_and_the_rest_keeps_its_form(
    states: list[dict[str, Any]], which: int
) -> None:
    """A chain of four turns, of which one tells it."""
    window, steps, saved = list[Any](), dict[str, Step](), list[Any]()
    for at, values in enumerate(states):
        said = (HumanMessage(SECRET if at == which else "q", id=f"h{at}"), AIMessage("r", id=f"a{at}"))
        window = [*window, *said][-4:]
        parent = str(at - 1) if at else None
        steps[str(at)] = Step(str(at), parent, said)
        saved.append({**copy.deepcopy(values), "messages": window, "branch:to:x": None})
    assume(CODE not in repr(states[:which]))
    gone, words = {f"h{which}", f"a{which}"}, Words([Line(id="h", who="human", text=SECRET)], [CODE])
    forgetting = Forgetting(dict(reversed(steps.items())), gone, words)
    for at, values in enumerate(saved):
        before = copy.deepcopy(values)
        new = forgetting.values(checkpoint(str(at), values))
        assert values == before
        now = values if new is None else new
        if at < which:
            assert new is None
            continue
        assert CODE not in repr(now)
        assert {name for name in now if is_of_run(name)} == {"branch:to:x"}
        base = saved[which - 1] if which else {}
        if at == which:
            assert {name: now[name] for name in now.keys() - {"branch:to:x"}} == {
                name: base[name] for name in base.keys() - {"branch:to:x"}
            }
            continue
        assert [one.id for one in now["messages"]] == [one.id for one in values["messages"] if one.id not in gone]
        for name in values.keys() - {"messages"}:
            before_it = (base.get(name), name in base)
            assert type(now.get(name)) is type(values[name]) or (now.get(name), name in now) == before_it


def test_what_else_was_said_in_a_turn_goes_with_it_and_what_stays_quotes_it_no_more() -> None:
    """A tool's answer, lines of a chat that came with a message, and a document."""
    kept = HumanMessage("q", id="h0", additional_kwargs={"chat_lines": [{"mes": "q"}, {"mes": SECRET}]})
    gone = [HumanMessage(SECRET, id="h1"), ToolMessage("Found.", id="t1", tool_call_id="1"), AIMessage("r", id="a1")]
    after = [HumanMessage("q", id="h2"), AIMessage("r", id="a2")]
    steps = {
        "2": Step("2", "1", tuple(after)),
        "1": Step("1", "0", tuple(gone)),
        "0": Step("0", None, (kept,)),
    }
    forgetting = Forgetting(steps, {"h1", "a1"}, Words([Line(id="h1", who="human", text=SECRET)]))
    documents = [Document(f"It says: {SECRET}"), Document("It says nothing.")]
    states = [{"messages": [kept]}, {"messages": [kept, *gone]}]
    states.append({"messages": [kept, *gone, *after], "found": documents})
    _, second, third = [forgetting.values(checkpoint(str(at), values)) for at, values in enumerate(states)]
    assert second is not None
    assert second["messages"] == [kept]
    assert third is not None
    assert [one.id for one in third["messages"]] == ["h0", "h2", "a2"]
    assert third["messages"][0].additional_kwargs == {"chat_lines": [{"mes": "q"}]}
    assert third["found"] == documents[1:]


def checkpoint(name: str, values: dict[str, Any]) -> Any:
    from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint

    where: Any = {"configurable": {"thread_id": "tea", "checkpoint_ns": "", "checkpoint_id": name}}
    return CheckpointTuple(where, {**empty_checkpoint(), "id": name, "channel_values": values}, {}, None, [])
