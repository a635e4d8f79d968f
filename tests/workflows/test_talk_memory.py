"""What was said before the window comes back, in every method, to who said it and to nobody else."""

from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.workflows.methods import chat_graph, context_type
from dramaturg.workflows.names import METHODS

from roles import fenced, run_settings, said

TOLD = "My sister Wilhelmina keeps a one-eyed tortoise called Zebulon in the cellar."
ASKED = "What do you know of Wilhelmina and her tortoise?"
OWN = ("emotional-rag", "id-rag", "ensemble")  # have memories of their own, which come first
FILLER = ["Do you like rain?", "What is for supper?", "Is the ferry late?", "Who mends your nets?", "Are you tired?"]


class Talk:
    """A talk of a method with a scripted model, and the prompts of its last turn."""

    def __init__(self, method: str, library: Path, *, store: bool = True, **settings: Any) -> None:
        whole_role(library)
        self.model = whole_cast()
        given = {"window": 4, "summary_tokens": 0} | settings
        self.context = context_type(method)(**run_settings(library, self.model, **given))
        self.graph = chat_graph(method).compile(InMemorySaver(), store=InMemoryStore() if store else None)
        self.output: Any = None

    async def say(self, text: str, thread: str = "talk") -> list[str]:
        """Take a turn; all prompts of it, whole."""
        self.model.calls.clear()
        self.output = await self.graph.ainvoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}}, context=self.context
        )
        return [said(call.messages) for call in self.model.calls]


@pytest.mark.parametrize("method", METHODS)
async def test_what_was_said_before_the_window_comes_back_in_every_method(tmp_path: Path, method: str) -> None:
    talk = Talk(method, tmp_path)
    await talk.say(TOLD)
    for line in FILLER:
        await talk.say(line)
    prompts = [one for one in await talk.say(ASKED) if TOLD in one]
    assert prompts
    replies = [one for one in prompts if "<recalled>" in one]
    assert all(one.count(TOLD) == 1 for one in replies)
    if method not in OWN:
        assert replies
        assert all(f"user: {TOLD}" in fenced("recalled", one).replace("this stranger", "user") for one in replies)
    (found,) = [one for one in talk.output["evidence"]["talk"] if TOLD in one["text"]]
    assert found["by_words"]
    assert found["by_meaning"]
