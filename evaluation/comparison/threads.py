"""The threads of talks: one for each method, role, seed and talk, kept in the folder of the run, a checkpoint a turn.

A turn is on its thread whole or not at all. What a run that was killed had answered and not yet written down is read
from the thread, and a turn that was not over is asked anew from the state before it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from dramaturg.evaluation.comparison.contestants import ToAsk, digest
from dramaturg.evaluation.comparison.external import MethodReply
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.interviews.asking import alone, joined
from dramaturg.models.chat import total
from dramaturg.nodes.run import RunContext
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.role import Role
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.methods import Flow

UNATTENDED = {"approval": "nobody"}
"""Nobody is there who could approve of what a method would change."""
FILE, MEMORIES = "talks.sqlite", "talks.memories.sqlite"


class TalkThreads:
    """The threads of one run, and what methods remember of them."""

    def __init__(self, saver: ConversationSaver, store: ItemStore) -> None:
        self.saver = saver
        self.store = store

    @classmethod
    @asynccontextmanager
    async def opened(cls, folder: Path) -> AsyncIterator["TalkThreads"]:
        """Open those of a run, or make the files for them."""
        async with ConversationSaver.open(folder / FILE) as saver:
            yield cls(saver, ItemStore(folder / MEMORIES))

    async def turn(self, asked: ToAsk, shared: RunContext, method: Flow) -> MethodReply:
        """Take a turn of a talk, or read it where it was taken before.

        Args:
            asked: a question that is a turn of a talk; the turns before it are on the thread.
            shared: the models and bounds that all contestants have.
            method: whose workflow it is.

        Raises:
            ValueError: the thread lacks the turns before.
        """
        graph = method.builder.compile(self.saver, store=self.store)
        where = place_of(asked)
        before: RunnableConfig | None = None
        head = await graph.aget_state(where)
        if holds(head, asked.key):
            if not head.next:
                return said_in(head.values)
            before = await self.before(graph, where, asked.key)
            if before is None:
                await self.saver.adelete_thread(where["configurable"]["thread_id"])
        turn = talk_of(asked)
        if turn.turn > 1 and not (before or head.values.get("messages")):
            raise ValueError(f"{FILE} lacks the turns before turn {turn.turn} of {turn.id}: take another --out.")
        contestant = asked.contestant
        contestant = contestant._replace(settings=joined(alone(contestant.kind, UNATTENDED), contestant.settings))
        context = contestant.context(shared, asked.role.id, asked.seed, user_role=asked.question.user_role)
        messages = await asyncio.to_thread(messages_of, asked.question, asked.role, asked.key, alone=turn.turn > 1)
        config: RunnableConfig = before or where
        await graph.ainvoke({"messages": messages}, config, context=context, durability="exit")
        return said_in((await graph.aget_state(where)).values)

    async def before(self, graph: Any, where: RunnableConfig, key: str) -> RunnableConfig | None:
        """The newest state that has nothing of a turn; None: it is the first."""
        async for one in graph.aget_state_history(where):
            if one.values.get("messages") and not holds(one, key):
                return one.config  # type: ignore[no-any-return]  # as LangGraph says
        return None

    async def begun(self, asked: ToAsk) -> str:
        """What the user has said in a turn that was begun before; empty: it was not."""
        head = await self.saver.aget_tuple(place_of(asked))
        messages = head.checkpoint["channel_values"].get("messages", []) if head else []
        return next((one.text for one in messages if one.id == asked.key), "")


def place_of(asked: ToAsk) -> Any:
    """The thread of a talk."""
    thread = digest([asked.contestant.name, asked.role.id, asked.seed, asked.thread])
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


def talk_of(asked: ToAsk) -> Any:
    """The talk that a question is a turn of."""
    if asked.question.talk is None:
        raise ValueError(f"{asked.question.id} is no turn of a talk: ask it in a conversation of its own.")
    return asked.question.talk


def holds(state: StateSnapshot, key: str) -> bool:
    """Whether a state has the message of a turn."""
    return any(one.id == key for one in state.values.get("messages", []))


def said_in(output: dict[str, Any]) -> MethodReply:
    """What a turn has come to; the calls of all its nodes are one account."""
    first, *others = output["usage"].values()
    for one in others:
        first = total(first, one)
    return MethodReply(output["messages"][-1].text, output["evidence"], first)


def messages_of(
    question: DatasetQuestion, role: Role, key: str = "question", *, alone: bool = False
) -> list[BaseMessage]:
    """The conversation as the role finds it: what was said before, and the question with where it is asked.

    Args:
        question: what is asked, and what was said before.
        role: who is asked.
        key: the id of the message.
        alone: leave out what was said before, which is on the thread.
    """
    names = {name.casefold() for name in (role.id, role.card.name, *role.card.aliases)}
    before: list[BaseMessage] = [
        AIMessage(turn.text, id=f"{number}")
        if turn.speaker.casefold() in names
        else HumanMessage(turn.text, id=f"{number}", name=turn.speaker)
        for number, turn in enumerate(() if alone else question.turns)
    ]
    return [*before, HumanMessage(scened(question), id=key)]


def scened(question: DatasetQuestion) -> str:
    """A question with where it is asked, if the dataset says so."""
    return f"({question.context})\n{question.text}" if question.context else question.text
