"""A turn that failed on what it had already fetched: a failed result is no result, and finishing asks again."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.conversation import Conversation
from dramaturg.models.chat import Account
from dramaturg.models.errors import ModelError, ModelUnavailable, UnusableAnswer
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.methods import METHODS, flow

import identity_roles
import scope_roles
from fakes import ScriptedChatModel
from roles import WordEmbeddings, run_settings

pytestmark = pytest.mark.sample_of_file(2)

QUESTION = "Do storms make you afraid, and what does Tom say of it?"


class Troubled(WordEmbeddings):
    """Gives what `bad` makes of a vector, as long as there is one; it goes by the name of the usual model."""

    def __init__(self, bad: Callable[[list[float]], list[float]]) -> None:
        self.bad: Callable[[list[float]], list[float]] | None = bad

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        vector = super().embed_query(text)
        return self.bad(vector) if self.bad else vector


Troubled.__name__ = WordEmbeddings.__name__


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with Ada, who is indexed for every method."""
    library = tmp_path_factory.mktemp("indexed")
    whole_role(library)
    for method in METHODS:
        asyncio.run(talking(method, library, whole_cast()).take_turn(QUESTION))
    return library


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[ConversationSaver]:
    async with ConversationSaver.open(tmp_path / "talks.sqlite") as saver:
        yield saver


def talking(method: str, library: Path, model: ScriptedChatModel, saver: Any = None, **settings: Any) -> Conversation:
    found = flow(method)
    context = found.context(**run_settings(library, model, **settings))
    return Conversation(found.builder, saver or InMemorySaver(), context, "tea", store=InMemoryStore())


def failing(error: Callable[[str], Exception | None]) -> ScriptedChatModel:
    """Play all parts, but raise what `error` gives for the words of a prompt."""
    usual = whole_cast()

    def reply(messages: list[BaseMessage]) -> Any:
        return error("\n".join(message.text for message in messages)) or usual.reply(messages)

    return ScriptedChatModel(reply=reply)


async def gone_on(talk: Conversation, by: str) -> Any:
    """Go on with a turn that failed, by one of the ways there are."""
    match by:
        case "finish":
            return await talk.finish()
        case "the same id":
            unfinished = await talk.unfinished()
            assert unfinished
            return await talk.take_turn(await talk.thread.question(unfinished))
        case _:
            return await talk.thread.graph.ainvoke(None, talk.thread.address(), context=talk.context)


def part_of(messages: list[BaseMessage]) -> str:
    """Which part a prompt is for."""
    try:
        return identity_roles.asked(messages)[0]
    except AssertionError:
        return scope_roles.asked(messages)[0]


@pytest.mark.parametrize("by", ["finish", "the same id", "the graph itself"])
async def test_passages_that_could_not_be_judged_are_judged_when_the_turn_is_finished(indexed: Path, by: str) -> None:
    model = failing(lambda text: ModelUnavailable("503") if "<passage>" in text else None)
    talk = talking("amadeus", indexed, model)
    with pytest.raises(ModelUnavailable, match="None of 7 passages could be judged"):
        await talk.take_turn(QUESTION)
    assert await talk.unfinished()
    talk.change(chat_model=(healthy := whole_cast()))
    output = await gone_on(talk, by)
    assert output["messages"][-1].text == "I keep the light."
    assert {one["verdict"] for one in output["evidence"]["selection"]["verdicts"]} == {"yes"}
    assert healthy.calls


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "bad",
    [lambda v: v[:-1], lambda v: [0.0] * len(v), lambda v: [float("nan")] * len(v)],
    ids=["shorter", "zeros", "NaN"],
)
@pytest.mark.parametrize("method", ["emotional-rag", "amadeus", "drmr", "role-rag", "ensemble", "naive-rag"])
async def test_a_question_with_a_vector_that_cannot_be_used_is_embedded_again(
    indexed: Path, method: str, bad: Callable[[list[float]], list[float]]
) -> None:
    embeddings = Troubled(bad)
    talk = talking(method, indexed, whole_cast(), embedding_model=embeddings)
    with pytest.raises((ValueError, RuntimeError)):
        await talk.take_turn(QUESTION)
    embeddings.bad = None
    output = await gone_on(talk, "the graph itself")
    assert output["messages"][-1].text
    assert await talk.unfinished() is None


@pytest.mark.parametrize("answer", ["nothing", json.dumps({"entities": [], "relations": []})])
@pytest.mark.parametrize("by", ["finish", "the graph itself"])
async def test_chunks_none_of_which_has_facts_are_asked_about_again(tmp_path: Path, answer: str, by: str) -> None:
    whole_role(tmp_path)
    talk = talking("role-rag", tmp_path, whole_cast(facts=answer))
    with pytest.raises(UnusableAnswer):
        await talk.take_turn(QUESTION)
    talk.change(chat_model=whole_cast())
    output = await gone_on(talk, by)
    assert output["messages"][-1].text == "I keep the light."


@pytest.mark.sample(4)
@pytest.mark.parametrize("by", ["finish", "the graph itself"])
@pytest.mark.parametrize(
    ("method", "settings", "says"),
    [
        ("emotional-rag", {}, "vector"),
        *(("amadeus", {"embedding_batch": batch}, "gave no usable vector for") for batch in (1, 3, 64)),
    ],
    ids=["memories", "passages", "passages, three at once", "passages, all at once"],
)
async def test_what_has_no_vector_is_embedded_again(
    tmp_path: Path, method: str, settings: dict[str, Any], says: str, by: str
) -> None:
    whole_role(tmp_path)
    embeddings = Troubled(lambda vector: [0.0] * len(vector))
    talk = talking(method, tmp_path, whole_cast(), embedding_model=embeddings, **settings)
    with pytest.raises(ValueError, match=says):
        await talk.take_turn(QUESTION)
    embeddings.bad = None
    output = await gone_on(talk, by)
    assert output["messages"][-1].text == "I keep the light."
    assert "memories_without_vector" not in output["evidence"]


async def test_what_fell_back_in_a_part_that_then_failed_is_asked_again(indexed: Path, kept: ConversationSaver) -> None:
    model = whole_cast(hypothetical=UnusableAnswer("Nothing of use."), scope=ModelUnavailable("503"))
    talk = talking("ensemble", indexed, model, kept)
    with pytest.raises(ModelUnavailable):
        await talk.take_turn(QUESTION)
    talk.change(chat_model=whole_cast())
    output = await talk.finish()
    assert output["evidence"]["hypothetical"] == "The lamp was trimmed at dusk."


async def test_what_fell_back_beside_a_node_that_failed_is_asked_again(
    indexed: Path, kept: ConversationSaver, monkeypatch: pytest.MonkeyPatch
) -> None:
    embeddings = Troubled(lambda vector: vector[:-1])
    fallen_back, record = asyncio.Event(), Account.record_unanswered

    async def late(text: str) -> list[float]:
        await fallen_back.wait()
        for _ in range(100):  # the node of the mood has ended by then
            await asyncio.sleep(0)
        return embeddings.embed_query(text)

    monkeypatch.setattr(embeddings, "aembed_query", late)
    monkeypatch.setattr(Account, "record_unanswered", lambda account: (record(account), fallen_back.set()))
    model = whole_cast(mood=UnusableAnswer("Nothing of use."))
    talk = talking("emotional-rag", indexed, model, kept, embedding_model=embeddings)
    with pytest.raises(ValueError, match="1023 dimensions"):
        await talk.take_turn(QUESTION)
    embeddings.bad = None
    talk.change(chat_model=whole_cast())
    output = await talk.finish()
    assert output["evidence"]["mood"]["emotions"]


async def test_a_web_search_that_failed_before_the_turn_did_is_made_again(
    indexed: Path, kept: ConversationSaver
) -> None:
    def search(query: str) -> str:
        if finished:
            return "Keepers love storms."
        raise ConnectionError

    finished: list[bool] = []
    model = whole_cast(verdict='{"answer": "no"}', reply=ModelUnavailable("503"))
    talk = talking("crag", indexed, model, kept, web_search=search)
    with pytest.raises(ModelUnavailable):
        await talk.take_turn(QUESTION)
    finished.append(True)
    talk.change(chat_model=whole_cast(verdict='{"answer": "no"}'))
    assert (await talk.finish())["evidence"]["web_search"] == "found"


@pytest.mark.sample(4)
@pytest.mark.parametrize("method", METHODS)
async def test_what_fell_back_before_a_turn_failed_is_asked_again(
    indexed: Path, kept: ConversationSaver, method: str
) -> None:
    expected = await talking(method, indexed, whole_cast()).take_turn(QUESTION)

    def reply(messages: list[BaseMessage]) -> Exception:
        return ModelUnavailable("503") if part_of(messages) == "reply" else UnusableAnswer("Nothing of use.")

    talk = talking(method, indexed, ScriptedChatModel(reply=reply), kept)
    with pytest.raises(ModelError):
        await talk.take_turn(QUESTION)
    talk.change(chat_model=whole_cast())
    output = await talk.finish()
    assert output["messages"][-1].text == expected["messages"][-1].text
    assert output["evidence"] == expected["evidence"]
    assert [turn.question for turn in await talk.history()] == [QUESTION]
    assert await talk.unfinished() is None
