"""A conversation: turns on one thread of a workflow, one at a time, with its past open to change."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph

from dramaturg.conversations.thread import Show, Thread
from dramaturg.conversations.turn_lock import turn_lock
from dramaturg.conversations.turns import Turn, all_turns, turns_until
from dramaturg.nodes.context import RoleContext
from dramaturg.nodes.turn import question_in

PATIENCE = 60.0


class Conversation:
    """One thread of a chat workflow.

    Every turn is kept whole or not at all. Turns are addressed by the id of the user's message. Going back keeps the
    other branch: the state after every turn, role memory included, is a checkpoint of its own.

    Args:
        graph: the builder of a workflow that takes and gives messages, such as `amadeus.build()`.
        saver: any LangGraph saver. `ConversationSaver` is the one that also keeps its order when the clock is set
            back, erases what is deleted, and reads a long history in one query.
        context: how the turns are to be done.
        thread: the name of the conversation.
        locks: a folder of lock files, shared by all programs that use the saver; None: only this process does.
        patience: seconds that a turn waits for another one on the thread.
    """

    def __init__(
        self,
        graph: StateGraph[Any, Any, Any, Any],
        saver: BaseCheckpointSaver[Any],
        context: RoleContext,
        thread: str,
        *,
        locks: Path | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.saver = saver
        self.thread = Thread(graph.compile(saver), saver, thread)
        self.context = context
        self.locks = locks
        self.patience = patience

    async def take_turn(self, message: str | HumanMessage, show: Show = lambda _: None) -> dict[str, Any]:
        """Send a message and return the output: messages, evidence, usage.

        A message whose id was answered before gets that answer again, and nothing runs. If the last turn was not
        finished, the same message (by its id) finishes it, and another one withdraws it.

        Args:
            message: the text, or a message; give it an id if it may be delivered twice.
            show: is given every part of the stream that a person may see.

        Raises:
            ThreadBusy: another turn on this thread took longer than `patience`.
            ValueError: the message holds no text, its id is that of a reply, or the settings cannot be used.
            ModelError: the model gave no reply; the turn can be finished later.
        """
        asked = as_message(message)
        question_in([asked])
        async with self.turn():
            before = await self.thread.delivered(asked) if asked is message else None
            if before and before.reply is not None:
                return await self.thread.values(before.checkpoint)
            if unfinished := await self.thread.unfinished():
                if unfinished.id == asked.id:
                    return await self._resume(unfinished, show)
                await self.thread.take_back(unfinished)
            await self.thread.begin()
            return await self._run(asked, show)

    async def unfinished(self) -> Turn | None:
        """The last turn, if it was begun and has no end; `finish` or `withdraw` it, or send the next message."""
        return await self.thread.unfinished()

    async def finish(self, show: Show = lambda _: None) -> dict[str, Any]:
        """Go on with an unfinished turn where it stopped.

        Raises:
            ValueError: there is none.
        """
        async with self.turn():
            if unfinished := await self.thread.unfinished():
                return await self._resume(unfinished, show)
            msg = "There is no unfinished turn on this thread."
            raise ValueError(msg)

    async def withdraw(self) -> None:
        """Take an unfinished turn back, as if it had not been asked; nothing happens if there is none."""
        async with self.turn():
            await self._withdraw()

    async def history(self) -> list[Turn]:
        """The turns of this branch, oldest first."""
        return await self.thread.history()

    async def branches(self) -> list[list[Turn]]:
        """Every branch, the one that was last spoken on first. Reads all checkpoints of the thread."""
        turns = [turn for turn in (await all_turns(self.saver, self.thread.name)).values() if turn.reply is not None]
        inner = {turn.before for turn in turns}
        ends = [turn for turn in turns if turn.checkpoint not in inner]
        return [await turns_until(self.saver, self.thread.name, end.checkpoint) for end in ends]

    async def fork(self, turn: str) -> None:
        """Go on after an earlier turn, of this branch or another; what was said after it stays where it is.

        Raises:
            ValueError: this thread has no such turn.
        """
        async with self.turn():
            await self._withdraw()
            await self.thread.go_to((await self._turn(turn)).checkpoint)

    async def regenerate(self, turn: str | None = None, show: Show = lambda _: None) -> dict[str, Any]:
        """Ask the question of a turn, or of the last one, again: a new branch from before it.

        Raises:
            ValueError: this thread has no such turn.
        """
        return await self._again(turn, None, show)

    async def edit(self, turn: str, text: str, show: Show = lambda _: None) -> dict[str, Any]:
        """Ask something else in the place of a turn: a new branch from before it.

        Raises:
            ValueError: this thread has no such turn, or the text is empty.
        """
        return await self._again(turn, text, show)

    async def delete(self, turn: str) -> None:
        """Go back to before a turn. Our saver erases it and all that followed it; others keep what they have stored.

        Raises:
            ValueError: this thread has no such turn.
        """
        async with self.turn():
            await self.thread.take_back(await self._turn(turn))

    async def erase(self) -> None:
        """Delete the whole thread."""
        async with self.turn():
            await self.saver.adelete_thread(self.thread.name)

    async def values(self, turn: Turn | None = None) -> dict[str, Any]:
        """The state after a turn, or now."""
        return await self.thread.values(turn.checkpoint if turn else None)

    def change(self, **settings: Any) -> None:
        """Change settings from the next turn on.

        Raises:
            ValueError: a setting is unknown or out of its bounds.
        """
        given = {name: getattr(self.context, name) for name in self.context.model_fields_set}
        self.context = type(self.context).model_validate(given | settings)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Hold the thread, as every method that changes it does."""
        return turn_lock(self.saver, self.thread.name, self.locks, self.patience)

    async def _again(self, turn: str | None, text: str | None, show: Show) -> dict[str, Any]:
        """Run from before a turn; if that fails, the branch of before is the head again."""
        async with self.turn():
            await self._withdraw()
            history = await self.history()
            if not history:
                msg = "Nothing has been said on this thread yet."
                raise ValueError(msg)
            old = await self._turn(turn) if turn else history[-1]
            asked = await self.thread.question(old) if text is None else HumanMessage(text)
            question_in([asked])
            asked = asked.model_copy(update={"id": str(uuid4())})
            after = await self.thread.settled(old.before) or await self.thread.beginning(history[-1])
            try:
                return await self._run(asked, show, after)
            except BaseException:
                failed = await self.thread.unfinished()
                await self.thread.go_to(history[-1].checkpoint)
                if failed:
                    await self.thread.erased(failed)
                raise

    async def _run(self, message: HumanMessage | None, show: Show, after: str | None = None) -> dict[str, Any]:
        return await self.thread.run(message, show, context=self.context, after=after)

    async def _resume(self, unfinished: Turn, show: Show) -> dict[str, Any]:
        """Go on where a turn stopped; one that stopped in a node that this workflow lacks is asked again."""
        if await self.thread.due():
            return await self._run(None, show)
        asked = await self.thread.question(unfinished)
        await self.thread.take_back(unfinished)
        return await self._run(asked, show)

    async def _withdraw(self) -> None:
        if unfinished := await self.thread.unfinished():
            await self.thread.take_back(unfinished)

    async def _turn(self, turn: str) -> Turn:
        if found := await self.thread.find(turn):
            return found
        msg = f"This conversation has no turn {turn!r}: its turns are in the history."
        raise ValueError(msg)


def as_message(message: str | HumanMessage) -> HumanMessage:
    """A message with an id."""
    if isinstance(message, str):
        return HumanMessage(message, id=str(uuid4()))
    return message if message.id else message.model_copy(update={"id": str(uuid4())})
