"""What is noted of a talk when asked for: found again by what it says, and given way to by what replaces it."""

import asyncio
import json
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.conversations.talk import TalkRecords
from dramaturg.workflows.methods import chat_graph, context_type

from fakes import ScriptedChatModel
from roles import WordEmbeddings, fenced, run_settings, said, small_role

TOLD = "She has moved into that place at last, the one with the green door."
NOTE = "The user's sister Wilhelmina lives in Leith."
CHANGED = "It did not last: she is back with us since Monday."
LATER = "The user's sister Wilhelmina lives with the user again."
FILLER = ["Is the ferry to Leith late?", "Do you like rain?", "What is for supper?", "Who mends your nets?"]


class Talk:
    """A talk of the plainest method, whose model notes what it is told to."""

    def __init__(self, library: Path, notes: dict[str, Any], **settings: Any) -> None:
        small_role(library)
        self.notes, self.known = notes, list[str]()
        self.model = ScriptedChatModel(reply=self.answer)
        given = {"window": 4, "summary_tokens": 0, "talk_facts": "on"} | settings
        self.context = context_type("vanilla")(**run_settings(library, self.model, **given))
        self.store = InMemoryStore()
        self.graph = chat_graph("vanilla").compile(InMemorySaver(), store=self.store)
        self.output: Any = None

    def answer(self, messages: list[BaseMessage]) -> str:
        text = said(messages)
        if "<exchange>" not in text:
            return "I see."
        self.known.append(fenced("known", text))
        given = next((one for line, one in self.notes.items() if line in fenced("exchange", text)), [])
        if isinstance(given, Exception):
            raise given
        return json.dumps({"notes": given})

    async def say(self, *lines: str) -> str:
        """Take turns; what comes back in the last."""
        for line in lines:
            config: Any = {"configurable": {"thread_id": "talk"}}
            self.output = await self.graph.ainvoke({"messages": [HumanMessage(line)]}, config, context=self.context)
        return "\n".join(one["text"] for one in self.output["evidence"].get("talk", []))


NOTES = {
    TOLD: [{"about": "user", "note": NOTE, "replaces": []}],
    CHANGED: [{"about": "user", "note": LATER, "replaces": [0, 1, 1, 7]}],
    "As I said": [{"about": "user", "note": NOTE.upper(), "replaces": []}],
}


async def test_what_was_noted_is_found_by_words_that_nobody_has_said(tmp_path: Path) -> None:
    talk = Talk(tmp_path / "with", NOTES, talk_tokens=30)
    assert TOLD in await talk.say(TOLD, *FILLER, "Where does Wilhelmina live? In Leith?")
    without = Talk(tmp_path / "without", NOTES, talk_tokens=30, talk_facts="off")
    assert TOLD not in await without.say(TOLD, *FILLER, "Where does Wilhelmina live? In Leith?")
    assert without.known == []


async def test_what_holds_no_more_comes_back_with_what_has_replaced_it(tmp_path: Path) -> None:
    talk = Talk(tmp_path, NOTES, talk_tokens=60)
    await talk.say(TOLD, CHANGED)
    assert talk.output["evidence"]["facts"] == [{"about": "user", "text": LATER, "replaces": [NOTE]}]
    assert talk.known[1] == f"1. {NOTE}"
    found = await talk.say(*FILLER, "Does Wilhelmina live in Leith?")
    assert TOLD in found
    assert found.index(TOLD) < found.index(CHANGED)
    await talk.say("Wilhelmina lives with the user again, as I said.")
    assert NOTE not in talk.known[-1]
    assert LATER in talk.known[-1]


class Down(WordEmbeddings):
    """Words alone find what was said."""

    def embed_query(self, text: str) -> list[float]:
        raise ModelUnavailable("The embedding model is down.")


async def test_what_has_replaced_it_comes_back_also_where_nothing_else_finds_it(tmp_path: Path) -> None:
    notes = NOTES | {CHANGED: [{"about": "user", "note": "The flat has three rooms now.", "replaces": [1]}]}
    talk = Talk(tmp_path, notes, embedding_model=Down())
    found = await talk.say(TOLD, *FILLER[1:], f"Wilhelmina: {CHANGED}", *FILLER[1:], *FILLER[1:], "Leith!")
    assert TOLD in found
    assert CHANGED in found


async def test_what_was_pinned_or_forgotten_while_a_note_was_asked_for_stays_so(tmp_path: Path) -> None:
    talk = Talk(tmp_path, {**NOTES, CHANGED: [{"about": "user", "note": LATER, "replaces": []}]})

    def changed(what: str) -> None:
        async def change() -> None:
            kept = TalkRecords(talk.store, "ada", "talk")
            last = [one.id for one in await kept.all()][-1:]
            await (kept.forget(last) if what == "forget" else kept.pin(last, pinned=True))

        asyncio.run(change())

    usual = talk.model.reply
    for line, what in ((TOLD, "pin"), (CHANGED, "forget")):

        def answer(messages: list[BaseMessage], what: str = what) -> Any:
            if "<exchange>" in said(messages):
                changed(what)
            return usual(messages)

        talk.model.reply = answer
        await talk.say(line)
    first, last = await TalkRecords(talk.store, "ada", "talk").all()
    assert (first.pinned, [one.text for one in first.facts]) == (True, [NOTE])
    assert (last.is_forgotten, last.facts) == (True, ())


async def test_a_note_that_cannot_be_had_is_said_and_the_turn_is_whole(tmp_path: Path) -> None:
    talk = Talk(tmp_path, {TOLD: ModelUnavailable("The model is down.")})
    await talk.say(TOLD)
    assert talk.output["messages"][-1].text == "I see."
    assert "down" in talk.output["evidence"]["facts_error"]
    records = await TalkRecords(talk.store, "ada", "talk").all()
    assert [one.facts for one in records] == [()]


async def test_of_a_talk_in_which_nothing_was_answered_nothing_is_noted(tmp_path: Path) -> None:
    talk = Talk(tmp_path, NOTES)
    config: Any = {"configurable": {"thread_id": "talk"}}
    await talk.graph.aupdate_state(config, {"messages": [HumanMessage("Hello?")]}, as_node="respond_by_name")
    await talk.graph.ainvoke(None, config, context=talk.context)
    assert talk.known == []


async def test_a_turn_that_runs_again_notes_the_same_once(tmp_path: Path) -> None:
    talk = Talk(tmp_path, NOTES)
    await talk.say(TOLD)
    config: Any = {"configurable": {"thread_id": "talk"}}
    states = [one async for one in talk.graph.aget_state_history(config)]
    before = next(one.config for one in states if one.next == ("keep_talk",))
    await talk.graph.ainvoke(None, before, context=talk.context)
    records = await TalkRecords(talk.store, "ada", "talk").all()
    assert [[fact.text for fact in one.facts] for one in records] == [[NOTE]]
    assert len(talk.known) == 1


async def test_what_is_known_is_not_noted_again(tmp_path: Path) -> None:
    talk = Talk(tmp_path, NOTES)
    await talk.say(TOLD, "As I said: my sister Wilhelmina lives in Leith.")
    records = await TalkRecords(talk.store, "ada", "talk").all()
    assert [[fact.text for fact in one.facts] for one in records] == [[NOTE], []]


async def test_what_was_noted_and_is_forgotten_is_not_known(tmp_path: Path) -> None:
    talk = Talk(tmp_path, NOTES)
    await talk.say(TOLD)
    await TalkRecords(talk.store, "ada", "talk").forget_made(lambda text: "Leith" in text)
    await talk.say(f"Again: {TOLD}")
    assert talk.known[-1] == ""
