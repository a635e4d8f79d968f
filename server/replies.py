"""A turn that a client has asked for: run, streamed, stopped, and what of it is kept."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage as Reply
from langchain_core.messages import AnyMessage, HumanMessage

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.thread import Part
from dramaturg.conversations.turns import in_turns
from dramaturg.models.servers.pace import Line, stands_in
from dramaturg.nodes.reply import BEGUN, continued
from dramaturg.nodes.wish import wished
from dramaturg.server.openai_forms import finish_of
from dramaturg.server.reasoning import why
from dramaturg.stores.saver.steps import Step

log = logging.getLogger(__name__)


class Piece(NamedTuple):
    """Something to be sent: a part of the reply, or of why it is as it is."""

    text: str
    thought: bool
    by: str = ""
    """Of a scene, the id of the role that begins to speak; there is no text then."""


KEPT_WITHIN = 0.5  # seconds after a reply in which its turn mostly is kept


class Speech:
    """One turn, run in a task of its own, which ends with the turn and not with who listens.

    Any number may listen, also from the middle on: each hears all of it.

    Args:
        talk: the conversation.
        history: what was said before, as the client has it; None: the turn follows the head.
        question: what the role hears.
        begun: the reply that is to be gone on with.
        wish: how the reply is to be.
        keep: is told when there is a reply, before whoever listens knows that it has ended, and also where nobody does.
        language: in which it is said why.
    """

    def __init__(
        self,
        talk: Conversation,
        history: Sequence[Exchange] | None,
        question: str,
        begun: str,
        wish: str,
        keep: Callable[["Speech"], Awaitable[None]],
        language: str,
    ) -> None:
        self.talk = talk
        self.history = history
        self.question = question
        self.begun = begun
        self.wish = wish
        self.keep = keep
        self.language = language
        self.spoken = ""
        """What was given to be sent of the reply."""
        self.output: Mapping[str, Any] = {}
        """The state of the turn, as far as it has come."""
        self.finish = "stop"
        """Why the reply has ended, as OpenAI has it."""
        self.line = Line()
        """Where its questions stand in the queue for the model."""
        self.stopped = False
        """Whether somebody has stopped it before it was whole."""
        self._known: set[str] | None = None
        self._told: set[str] = set()
        self._line = ""
        self._pieces: list[Piece] = []
        self._more = asyncio.Event()
        self._begun = asyncio.Event()
        self._replied = asyncio.Event()
        self._over = asyncio.Event()  # what is kept of a turn that was stopped is kept
        self._kept = ""
        self._after = ""
        self._listeners: int | None = None  # nobody has listened yet
        self.task = asyncio.create_task(self._run())
        self.ended = asyncio.create_task(self._end_behind())
        """Keeps where it is, as soon as there is a reply."""

    async def _run(self) -> None:
        stands_in.set(self.line)
        try:
            if self.history is None:
                output = await self.talk.take_turn(self.asked, self._show)
            else:
                output = await self.talk.take_turn_after(self.history, self.asked, self._show)
            self.output = output
            self._end(replies_in(output["messages"]))
        except Exception:
            if self._listeners == 0:
                log.exception("A turn has failed, and who has asked for it hears nothing of that any more.")
            raise
        finally:
            self._begun.set()
            self._replied.set()
            self._more.set()

    async def _end_behind(self) -> None:
        """When the reply is there: what is left of the turn is mostly little, and waited for; then it is kept where."""
        await self._replied.wait()
        await asyncio.wait([self.task], timeout=KEPT_WITHIN)
        if not self.task.done() or not (self.task.cancelled() or self.task.exception()):
            await self.keep(self)

    def _put(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self._more.set()

    @property
    def asked(self) -> HumanMessage:
        """The message that the turn answers."""
        asked = HumanMessage(self.question, additional_kwargs={BEGUN: self.begun} if self.begun else {})
        return wished(asked, self.wish)

    def _show(self, part: Part) -> None:
        if part["type"] == "messages":
            chunk, about = part["data"]
            if chunk.type in ("ai", "AIMessageChunk") and chunk.text:
                inside = str(about.get("langgraph_checkpoint_ns", "")).partition("|")[2]
                self._speak(chunk.text, str(chunk.id), str(chunk.name or "") if inside else "")
        elif part["type"] == "values" and not part["ns"]:
            self.output = part["data"]
            said: list[AnyMessage] = part["data"].get("messages") or []
            if self._known is None:  # the first is the state before the turn, with the evidence of the last one
                self._known = {str(message.id) for message in said}
                self._begins(said)
                return
            self._think(part["data"].get("evidence") or {})
            if said and said[-1].type == "ai" and str(said[-1].id) not in self._known:
                self._end(replies_in(said))

    def _begins(self, said: Sequence[AnyMessage]) -> None:
        """The conversation is there as it was before the turn."""
        before = [turn.id for turn in in_turns([Step("", None, tuple(said))]) if turn.reply is not None]
        self._after = before[-1] if before else ""
        self._begun.set()

    def _think(self, evidence: Mapping[str, Any]) -> None:
        if self._replied.is_set():
            return
        if self.spoken:  # what its model thought is known when the reply is there
            evidence = {name: part for name, part in evidence.items() if name == "thoughts"}
        for line in why(evidence, self._told, self.language):
            self._put(Piece(line + "\n", thought=True))

    def _speak(self, text: str, line: str, who: str) -> None:
        if self._replied.is_set():
            return
        if self._line and line != self._line and self.spoken:
            text = f"\n\n{who + ': ' if who else ''}{text}"
        elif not self.spoken:
            text = text.removeprefix(self.begun).lstrip() if self.begun else text  # the client has the beginning
        self._line = line
        self.spoken += text
        if text:
            self._put(Piece(text, thought=False))

    def _end(self, said: Sequence[AnyMessage]) -> None:
        """The reply is there: send what of it was not streamed, and let the listeners go."""
        if self._replied.is_set() or not said:
            return
        self.finish = finish_of(said[-1])
        if not self.spoken:
            names = len(said) > 1
            whole = "\n\n".join(f"{one.name}: {one.text}" if names and one.name else one.text for one in said)
            self._speak(whole, "whole", "")
        self._replied.set()
        self._more.set()

    async def pieces(self) -> AsyncIterator[Piece]:
        """What is to be sent, from the beginning until the reply is there; then the error of a failed turn is raised.

        What is left of the turn, such as to remember it, goes on behind it. Mostly that is little, and waited for: who
        then asks for the turn finds it. Of a turn that was stopped, what is kept is waited for.
        """
        at = 0
        self._listeners = (self._listeners or 0) + 1
        try:
            while at < len(self._pieces) or not self._replied.is_set():
                if at == len(self._pieces):
                    self._more.clear()
                    await self._more.wait()
                    continue
                yield self._pieces[at]
                at += 1
        finally:
            self._listeners -= 1
        if self.stopped:
            await self._over.wait()
        if self.stopped:
            return
        if self.task.done():
            self.task.result()
        await asyncio.shield(self.ended)

    @property
    def on(self) -> tuple[object, str]:
        """On which thread it is, and where that is kept: two roles may have threads of one name."""
        return self.talk.saver, self.talk.thread.name

    @property
    def coming(self) -> bool:
        """Whether its reply is not whole yet."""
        return not self._replied.is_set()

    async def after(self) -> str:
        """The id of the turn that it follows; empty: it is the first, or has failed before it began."""
        await self._begun.wait()
        return self._after

    @property
    def turn(self) -> str:
        """The id of the turn; empty as long as no step of it was run, and where nothing is kept of it."""
        if self.stopped:
            return self._kept
        said: list[AnyMessage] = self.output.get("messages") or []
        return next((str(one.id) for one in reversed(said) if one.type == "human"), "")

    @property
    def exchange(self) -> Exchange:
        """The turn as the client shows it."""
        return Exchange(self.question, continued(self.begun, self.spoken))

    async def reply(self) -> str:
        """The reply, or the rest of it, as a whole."""
        return "".join([piece.text async for piece in self.pieces() if not piece.thought]).strip()

    async def stop(self, *, heard: bool = True) -> None:
        """End a turn before it is whole: without a reply it is taken back, and what was sent of its reply is kept.

        That is then the reply of this branch, which can be gone on with; nothing else of the turn is kept.

        Args:
            heard: whether anything was sent as it came.
        """
        if self.stopped:
            await self._over.wait()
        if self._replied.is_set():
            return
        self.stopped = True
        self.task.cancel()
        try:
            with suppress(asyncio.CancelledError, Exception):
                await self.task
            self.stopped = self.task.cancelled()  # it may have come to its end just then
            if self.stopped and heard and self.exchange.said.strip():
                await self._keep_beginning()
        except (ValueError, RuntimeError):
            log.exception("What was said before a stop could not be kept.")
        finally:
            self._over.set()

    async def _keep_beginning(self) -> None:
        if (history := self.history) is None:
            history = [Exchange(turn.question, turn.reply or "") for turn in await self.talk.history()]
        await self.talk.take_over([*history, self.exchange])
        self._kept = (await self.talk.history())[-1].id
        await self.keep(self)


def replies_in(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The lines at the end of a conversation that are replies."""
    said: list[AnyMessage] = []
    for message in reversed(messages):
        if not isinstance(message, Reply):
            break
        said.insert(0, message)
    return said
