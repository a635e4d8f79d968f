"""A conversation: turns on one thread of a workflow, one at a time, with its past open to change."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from copy import copy
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.store.base import BaseStore

from dramaturg.conversations.alignment import Exchange, Place, place_of
from dramaturg.conversations.forgetting import Forgetting, Forgotten, Words, as_record, going, is_meant
from dramaturg.conversations.thread import Show, Thread
from dramaturg.conversations.turn_lock import lock_file, turn_lock
from dramaturg.conversations.turns import (
    Turn,
    all_branches,
    all_steps,
    all_turns,
    as_message,
    first_question,
    id_of,
    said_until,
    talk_head_of,
    talk_heads_in,
    turn_tree,
    turns_until,
)
from dramaturg.models.answer_cache import ANSWERS, forget_answers
from dramaturg.models.environment import environment
from dramaturg.nodes.dialogues.relations import TURN
from dramaturg.nodes.run import RoleContext, library_of
from dramaturg.nodes.talk.memory import drop_indexes
from dramaturg.nodes.turn import question_in
from dramaturg.nodes.wish import as_wish, wish_in, wished
from dramaturg.stores.conversations.labels import Label, Labels, as_title
from dramaturg.stores.conversations.memories import ConversationMemories, ConversationMemory, of_turns
from dramaturg.stores.conversations.role_stores import store_of
from dramaturg.stores.conversations.talk import Line, Note, TalkRecord, TalkRecords
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.rewriting import rewrite_elsewhere

__all__ = ["Conversation"]

PATIENCE = 60.0
SCENES = "scene:"
"""What the names of threads of scenes begin with, among the talks of a role."""


class Elsewhere(Protocol):
    """Opens the saver, and the folder of locks, of a role's talks, or of the scenes of its library."""

    def __call__(
        self, role: str, *, scene: bool
    ) -> AbstractAsyncContextManager[tuple[BaseCheckpointSaver[Any], Path | None]]:
        """Open them.

        Args:
            role: whose talks are meant.
            scene: whether scenes are.
        """


class _Stored(NamedTuple):
    """What a role remembers of a conversation, in its store."""

    memories: ConversationMemories
    records: TalkRecords


class Conversation:
    """One thread of a chat workflow.

    Every turn is kept whole or not at all. Turns are addressed by the id of the user's message; an id that the thread
    does not have is a ValueError. Going back keeps the other branch: the state after every turn, role memory included,
    is a checkpoint of its own. `ThreadBusy` is raised where another turn on the thread takes longer than `patience`.

    Args:
        graph: the builder of a workflow that takes and gives messages, such as `amadeus.build()`.
        saver: any LangGraph saver. `ConversationSaver` is the one that also keeps its order when the clock is set
            back, erases what is deleted, and reads a long history in one query. With `AsyncPostgresSaver` a thread
            is held across machines, by a lock of its database.
        context: how the turns are to be done.
        thread: the name of the conversation.
        store: where nodes keep what a conversation makes of its turns (`ConversationMemories`), and what was said in
            them (`TalkRecords`); it is forgotten with the turns.
        locks: a folder of lock files, shared by all programs that use the saver; None: only this process does, or
            the saver's database has the locks.
        patience: seconds that a turn waits for another one on the thread.
        names: of the role, which somebody else who keeps the history may write in front of its lines, or take away.
        elsewhere: where scenes are kept, for a talk, and talks, for a scene: what is forgotten in one may have come
            back in the other; None: in the same saver.
    """

    def __init__(
        self,
        graph: StateGraph[Any, Any, Any, Any],
        saver: BaseCheckpointSaver[Any],
        context: RoleContext,
        thread: str,
        *,
        store: BaseStore | None = None,
        locks: Path | None = None,
        patience: float = PATIENCE,
        names: Sequence[str] = (),
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.saver = saver
        self.store = store
        self.thread = Thread(graph.compile(saver, store=store), saver, thread)
        self.context = context
        self.locks = locks
        self.patience = patience
        self.names = names
        self.elsewhere = elsewhere

    def on(self, thread: str, context: RoleContext) -> "Conversation":
        """Another conversation by the same workflow and saver."""
        other = copy(self)
        other.thread, other.context = Thread(self.thread.graph, self.saver, thread), context
        return other

    async def take_turn(self, message: str | HumanMessage, show: Show = lambda _: None) -> dict[str, Any]:
        """Send a message and return the output: messages, evidence, usage.

        A message whose id was answered before gets that answer again, and nothing runs unless that turn is unfinished.
        An unfinished turn is finished by the same message (by its id). Another message withdraws it; but a turn that
        stopped after its reply is kept, and what is left of it is tried once more before the message is sent. One that
        waits for approval (`waiting`) is kept too, and nothing is approved.

        Args:
            message: the text, or a message; give it an id if it may be delivered twice.
            show: is given every part of the stream that a person may see.

        Raises:
            ValueError: the message holds no text, its id is that of a reply, or the settings cannot be used.
            ModelError: the model gave no reply; the turn can be finished later.
        """
        asked = as_message(message)
        question_in([asked])
        async with self.turn():
            before = await self.thread.delivered(asked) if asked is message else None
            head = await self.thread.head()
            unfinished = await self.thread.unfinished_at(head) if head else None
            if unfinished and unfinished.id == asked.id:  # also one that stopped after its reply
                return await self.thread.resume(unfinished, show, self.context)
            if before and before.reply is not None:
                return await self.thread.values(before.checkpoint)
            if unfinished or head is None:
                await self._settle(unfinished)
                await self.thread.begin()
            return await self.thread.run(asked, show, context=self.context, after=await self._whole_talk())

    async def take_turn_after(
        self, history: Sequence[Exchange], message: str | HumanMessage, show: Show = lambda _: None
    ) -> dict[str, Any]:
        """Send a message as the next one of a history that somebody else keeps, and return the output.

        The turn goes on after the last turn that the history shares with a branch of this thread: with its role memory,
        and with nothing of what was said on other branches. What no branch holds, such as an edited reply, is taken
        over as said (`take_over`). The message is a new one, whatever its id. If the turn fails without a reply, the
        branch of before is the head again.

        Args:
            history: the exchanges before the message, oldest first, or the newest of them.
            message: the text, or a message.
            show: is given every part of the stream that a person may see.

        Raises:
            ValueError: the message holds no text, or the settings cannot be used.
            ModelError: the model gave no reply.
        """
        asked = as_message(message).model_copy(update={"id": str(uuid4())})
        question_in([asked])
        async with self.turn():
            await self._settle(await self.thread.unfinished())
            before = await self.thread.history()
            return await self._run_from(await self._follow(history, before), asked, before[-1:], show)

    async def take_over(self, history: Sequence[Exchange]) -> None:
        """Make a history that somebody else keeps the head: what no branch holds is written down as it was said.

        No model is asked, and nothing is learned from it: the role has it in its window, as said. The exchanges that a
        window leaves out are those of the branch.
        """
        async with self.turn():
            await self._settle(await self.thread.unfinished())
            await self.thread.go_to(await self._follow(history, await self.thread.history()))

    async def place_of(self, history: Sequence[Exchange]) -> Place:
        """Where a history that somebody else keeps belongs on this thread."""
        return await self._place_of(history, await self.thread.history())

    async def unfinished(self) -> Turn | None:
        """The last turn, if it was begun and has no end; `finish` or `withdraw` it, or send the next message."""
        return await self.thread.unfinished()

    async def finish(self, show: Show = lambda _: None) -> dict[str, Any]:
        """Go on with an unfinished turn where it stopped; without one, a ValueError is raised."""
        async with self.turn():
            if unfinished := await self.thread.unfinished():
                return await self.thread.resume(unfinished, show, self.context)
            msg = "There is no unfinished turn on this thread."
            raise ValueError(msg)

    async def waiting(self) -> list[Any]:
        """What the last turn asks and waits for, as its nodes gave it to `interrupt`; empty where nothing waits.

        The reply is given by then. `answer` it; the next message, `fork`, `regenerate` and `edit` approve nothing.
        """
        return await self.thread.waiting()

    async def answer(self, value: Any, show: Show = lambda _: None) -> dict[str, Any]:
        """Answer what the last turn waits for, and return the output: the turn goes on where it stopped.

        An answer of another form leaves the turn waiting; where the node says what is wrong with it, `waiting` has it.

        Args:
            value: in the form that was asked for, such as {"approved": [1]}; anything but None.
            show: is given every part of the stream that a person may see.

        Raises:
            ValueError: nothing waits, or the answer is None.
        """
        async with self.turn():
            if value is None:
                raise ValueError("An answer is anything but None: answer in the form that was asked for.")
            if await self.thread.waiting():
                return await self.thread.answer(value, show, self.context)
            raise ValueError("Nothing waits for an answer on this thread.")

    async def withdraw(self) -> None:
        """Take an unfinished turn back, as if it had not been asked; nothing happens if there is none."""
        async with self.turn():
            if unfinished := await self.thread.unfinished():
                await self._take_back(unfinished)

    async def history(self) -> list[Turn]:
        """The turns of this branch, oldest first."""
        return await self.thread.history()

    async def first_question(self) -> str:
        """The question that this branch begins with; "": none has a reply yet. The rest of the history is not read."""
        return await first_question(self.saver, self.thread.name)

    async def branches(self) -> list[list[Turn]]:
        """Every branch, the one that was last spoken on first. Reads all checkpoints of the thread."""
        return await all_branches(self.saver, self.thread.name)

    async def tree(self) -> list[tuple[Turn, str | None]]:
        """Every turn that has a reply or leads to one, the oldest first, each with the id of the one before it."""
        found, wanted = await turn_tree(self.saver, self.thread.name), set[str]()
        for name in [name for name, (turn, _) in found.items() if turn.reply is not None]:
            at: str | None = name
            while at is not None and at not in wanted:
                wanted.add(at)
                at = found[at][1]
        return sorted((found[name] for name in wanted), key=lambda pair: pair[0].checkpoint)

    async def fork(self, turn: str) -> None:
        """Go on after an earlier turn, of this branch or another; what was said after it stays where it is."""
        async with self.turn():
            await self._settle(await self.thread.unfinished())
            await self.thread.go_to((await self._turn(turn)).checkpoint)

    async def regenerate(
        self, turn: str | None = None, show: Show = lambda _: None, *, wish: str = ""
    ) -> dict[str, Any]:
        """Ask the question of a turn, or of the last one, again: a new branch from before it.

        Args:
            turn: its id; None: the last one.
            show: is given every part of the stream that a person may see.
            wish: how the new reply is to be, such as "shorter"; it holds for this turn alone, and takes the place of
                one that the turn had.

        Raises:
            ValueError: the wish is too long, or nothing has been said yet.
            ModelError: the model gave no reply.
        """
        return await self._again(turn, None, show, as_wish(wish))

    async def edit(self, turn: str, text: str, show: Show = lambda _: None) -> dict[str, Any]:
        """Ask something else in the place of a turn: a new branch from before it."""
        return await self._again(turn, text, show)

    async def delete(self, turn: str) -> None:
        """Go back to before a turn. Our saver erases it and all that followed it; others keep what they have stored."""
        async with self.turn():
            await self._take_back(await self._turn(turn))

    async def leave_out(self, turn: str, until: str | None = None) -> None:
        """Make a branch without a turn the head: what followed it is written down again, as `take_over` does.

        The branch with it stays as it is. What nodes have made of it and of the turns that followed is not on the new
        one.

        Args:
            turn: the one that is left out.
            until: the last turn of its branch; None: the head is.

        Raises:
            ValueError: the branch has no such turn, or changes wait for an answer on this thread.
        """
        async with self.turn():
            if await self.thread.waiting():
                raise ValueError("Changes wait for an answer on this conversation: approve or refuse them first.")
            await self._settle(await self.thread.unfinished())
            end = (await self._turn(until)).checkpoint if until else None
            said = [one for one in await turns_until(self.saver, self.thread.name, end) if one.reply is not None]
            if (at := next((at for at, one in enumerate(said) if one.id == turn), None)) is None:
                raise ValueError(f"This branch has no turn {turn!r}: its turns are in the history.")
            after = await self.thread.settled(said[at - 1].checkpoint) if at else None
            after = after or await self.thread.go_to(None)
            later = [self._as_shown(one) for one in said[at + 1 :]]
            await self.thread.go_to(await self._written_down(later, await self._whole_talk(after) or after))

    def _as_shown(self, turn: Turn) -> Exchange:
        """A turn as a client shows it."""
        return Exchange(turn.question, turn.reply or "")

    async def erase(self) -> None:
        """Delete the whole thread for good: afterwards it is in no state, no memory and no file.

        In the user's other talks it is taken out where it came back, as by `forget`. Killed in between, the thread is
        still there, and erased by the same call.
        """
        async with self.turn():
            for stored in await self._stored():
                await stored.records.hide()  # from now on nothing of it comes back in another talk
                await self._take_out_elsewhere(stored)
            await self.discard()
            if self.locks:  # whoever waits for it sees that it is gone, and makes another; its name tells nothing
                with suppress(OSError):
                    await asyncio.to_thread(lock_file(self.thread.name, self.locks).unlink, missing_ok=True)

    async def discard(self) -> None:
        """Delete what is kept of the thread, for who holds it."""
        # Memories first: killed in between, the thread is still there to be erased; a turn can miss a memory.
        for stored in await self._stored():
            await stored.memories.drop_all()
            await stored.records.drop_all()
            drop_indexes(stored.records)
        await self.keep_label(Label())
        await self.saver.adelete_thread(self.thread.name)

    async def remembered_by(self, role: str) -> list[TalkRecord]:
        """What one role of a scene has heard, on all branches, the first said first."""
        kept = [] if self.store is None else await self._stored_by(role).records.all()
        return [one for one in kept if not one.is_forgotten]

    async def remembered(self) -> list[TalkRecord]:
        """What was said in this conversation, on all branches, the first said first: what is kept, and what is shown.

        Of a turn that nothing is kept of, the id is that of the turn. What several roles of a scene have heard, each of
        them remembers.
        """
        kept = [one for stored in await self._stored() for one in await stored.records.all()]
        known = {line.id for one in kept for line in one.said}
        turns = (await all_turns(self.saver, self.thread.name)).values()
        shown = [as_record(turn) for turn in turns if turn.id not in known and turn.reply is not None]
        return sorted([*(one for one in kept if not one.is_forgotten), *shown], key=lambda one: one.at)

    async def _rewritten(self, forgetting: Forgetting) -> int:
        if isinstance(self.saver, ConversationSaver):
            return await self.saver.arewrite(self.thread.name, forgetting)
        return await rewrite_elsewhere(self.saver, self.thread.name, forgetting)

    async def _rewritten_beside(self, stored: Sequence["_Stored"], forgetting: Forgetting, seen: dict[str, Any]) -> int:
        """Rewrite the user's other talks, but for those that still end as they did when they were rewritten last."""
        states = 0
        for one in stored:
            for other in sorted(await one.records.beside()):
                async with self._kept_elsewhere(one.records.role, other) as there, there.turn():
                    head = await there.thread.head()  # a turn that was being taken has ended now
                    end = head and (id_of(head.config), len(head.pending_writes or ()))
                    if other not in seen or seen[other] != end:
                        states += await there._rewritten(forgetting)
                    seen[other] = end
        return states

    @asynccontextmanager
    async def _kept_elsewhere(self, role: str, thread: str) -> AsyncIterator["Conversation"]:
        """Another talk of a role, as it is kept: a scene is kept apart from the talks of those who play in it."""
        other = self.on(thread, self.context)
        if self.elsewhere is None or thread.startswith(SCENES) == self.thread.name.startswith(SCENES):
            yield other
            return
        async with self.elsewhere(role, scene=thread.startswith(SCENES)) as (other.saver, other.locks):
            other.thread = Thread(self.thread.graph, other.saver, thread)
            yield other

    async def _take_out_elsewhere(self, stored: "_Stored") -> None:
        """Take this talk out of the user's other talks, where it came back, and out of the kept answers of models."""
        kept = await stored.records.all()
        said = [line for one in await self.remembered() for line in one.said]
        lines = said + [Line(id=one.id, who="ai", text=fact.text) for one in kept for fact in one.facts]
        lines += [Line(id=one.id, who="ai", text=made.text) for one in kept for made in one.standings]
        words, messages = Words(lines), {line.id for line in lines}
        memories = of_turns(messages, await stored.memories.ids())
        await asyncio.to_thread(forget_answers, environment().cache / ANSWERS, words.are_in)
        if await stored.records.beside():
            words.spare(await self._own_texts(stored.records.role))
            sources = {f"{TURN}{one}" for one in messages}
            came_back = Forgetting({}, messages, words, memories | sources, everywhere=True)
            await self._rewritten_beside([stored], came_back, {})

    async def _own_texts(self, of: str) -> list[str]:
        """What a role's own files say: that stands in other talks without this one; nothing, where it is gone."""

        def read() -> list[str]:
            library = library_of(self.context)
            if not library.holds(of):
                return []
            role = library.open(of)
            texts = [one.text for one in role.documents()] + [line.text for line in role.dialogues()]
            return [role.card.profile, *role.card.greetings, *texts]

        return await asyncio.to_thread(read)

    async def label(self) -> Label:
        """What a person has set about this talk: its title, and whether it is pinned."""
        return await self._labels.of(self.thread.name) if self._labels else Label()

    async def set_label(self, title: str | None = None, *, pinned: bool | None = None) -> Label:
        """Give this talk a title, or have it stand before the others in lists; what is None stays as it is.

        Args:
            title: "" takes the one away that was given.
            pinned: whether it is to stand before the others.

        Raises:
            ValueError: nothing was said on this thread, it is kept in no store, or the title is too long.
        """
        new = {} if title is None else {"title": as_title(title)}
        async with self.turn():
            if self.store is None or await self.thread.head() is None:
                raise ValueError("Only a conversation that has begun, and is kept in a store, can have a title.")
            changed = (await self.label()).model_copy(update=new | ({} if pinned is None else {"pinned": pinned}))
            await self.keep_label(changed)
            return changed

    async def keep_label(self, label: Label) -> None:
        """Keep what a person has set about this talk, for who holds it."""
        if self._labels:
            await self._labels.save(self.thread.name, label)

    async def memories(self) -> list[ConversationMemory]:
        """What Emotional RAG has made of turns of this conversation, on all branches, oldest first."""
        return [one for stored in await self._stored() for one in await stored.memories.all()]

    async def pin(self, ids: Iterable[str], *, pinned: bool = True) -> int:
        """Have what was said come back whatever is asked, or no more.

        Args:
            ids: of what is meant, of its messages, or of what Emotional RAG has made of it.
            pinned: whether it is to.

        Returns:
            How much is kept of that; nothing, where it cannot come back.
        """
        async with self.turn():
            meant, count = set(ids), 0
            for stored in await self._stored():
                said = [one for one in await stored.records.all() if not one.is_forgotten and is_meant(one, meant)]
                made = [one for one in await stored.memories.all() if {one.id, one.turn} & meant]
                await stored.records.pin((one.id for one in said), pinned=pinned)
                for one in made:
                    await stored.memories.save(one.model_copy(update={"pinned": pinned}))
                count += len(said) + len(made)
            return count

    async def notes(self) -> list[Note]:
        """The user's notes, which the role is shown whatever is said, the oldest first."""
        return [one for stored in await self._stored() for one in await stored.records.notes()]

    async def note(self, text: str) -> Note:
        """Have the role keep something in mind, on all branches.

        Raises:
            ValueError: nothing of this conversation comes back, or there can be no such note.
        """
        if (records := self.talk_records) is None:
            raise ValueError("Nothing of this conversation comes back: set talk_tokens, and keep it in a store.")
        async with self.turn():
            return await records.add_note(text)

    async def to_forget(self, ids: Iterable[str] = (), phrase: str = "") -> Forgotten:
        """What `forget` would forget."""
        meant, words = set(ids), Words([], [phrase])
        notes = [one for one in await self.notes() if one.id in meant or words.are_in(one.text)]
        made = [
            one
            for one in await self.memories()
            if {one.id, one.turn} & meant or words.are_in(one.question) or words.are_in(one.answer)
        ]
        meant |= {one.turn for one in made}
        said, steps = await self.remembered(), await all_steps(self.saver, self.thread.name)
        asked: list[Any] = [one for step in steps.values() for one in step.said if one.type == "human"]
        meant |= {str(one.id) for one in asked if words.are_in(wish_in(one))}
        messages = {line.id for one in going(said, meant, phrase) for line in one.said}
        messages = Forgetting(steps, messages, words).messages  # in a scene, what was answered is kept by itself
        return Forgotten([one for one in said if is_meant(one, messages)], notes, made)

    async def forget(self, ids: Iterable[str] = (), phrase: str = "") -> Forgotten:
        """Forget for good what was said: afterwards it is in no state, no memory and no file of this conversation.

        With it goes where the same was asked again, or is repeated in full, on every branch, and what came of it: what
        the turn has added to what the role remembers, what quotes it, and the summaries that may tell of it. The rest
        can be gone on with. In the user's other talks it is taken out where it came back; what was said there stays.
        An unfinished turn is ended or withdrawn first. A client that keeps the history itself brings it back by sending
        it again.

        Args:
            ids: of what is meant, as `remembered`, `memories` and `notes` give them, or of its messages.
            phrase: what holds it is meant, too, and nothing that came of it is left that does.

        Raises:
            ValueError: the saver has no way to it, or the turns are taken on a server, which keeps them.
        """
        if "server" in self.thread.graph.channels:
            raise ValueError(
                "The turns of this conversation are taken on a server, which keeps what was said: have it delete the "
                "thread, and erase the conversation here."
            )
        async with self.turn():
            await self._settle(await self.thread.unfinished())
            return await self._forget(ids, phrase)

    async def _forget(self, ids: Iterable[str], phrase: str) -> Forgotten:
        """Forget, for who holds the thread."""
        gone, stored = await self.to_forget(ids, phrase), await self._stored()
        if not (gone.said or gone.notes or gone.made):
            return gone
        lines = [line for one in gone.said for line in one.said]
        lines += [Line(id=one.id, who="human", text=one.text) for one in gone.notes]
        lines += [Line(id=one.id, who="ai", text=fact.text) for one in gone.said for fact in one.facts]
        messages, words = {line.id for line in lines}, Words(lines, [phrase])
        memories = {one.id for one in gone.made}
        for one in stored:
            for _, standing in await one.records.standings_of(record.id for record in gone.said):
                words.add(standing.text)
            memories |= of_turns(messages, await one.memories.ids())
        forgetting = Forgetting(
            await all_steps(self.saver, self.thread.name), messages, words, memories, everywhere=bool(gone.notes)
        )
        states = await self._rewritten(forgetting)
        sources = {f"{TURN}{one}" for one in messages}  # of what DRMR was told of this talk in another
        came_back = Forgetting({}, messages, words, memories | sources, everywhere=True)
        seen = dict[str, Any]()
        states += await self._rewritten_beside(stored, came_back, seen)
        await asyncio.to_thread(forget_answers, environment().cache / ANSWERS, words.are_in)
        for one in stored:
            await one.memories.drop(memories)
        if stored and words.are_in((label := await self.label()).title):
            await self.keep_label(label.model_copy(update={"title": ""}))
        for one in stored:  # last: killed before, it is known still what is to be forgotten
            await one.records.drop_notes(note.id for note in gone.notes)
            await one.records.forget_made(words.are_in)
            await one.records.forget(record.id for record in gone.said)
        states += await self._rewritten_beside(stored, came_back, seen)  # where it came back meanwhile
        return gone._replace(states=states, summaries=forgetting.summaries)

    async def values(self, turn: Turn | None = None) -> dict[str, Any]:
        """The state after a turn, or now."""
        return await self.thread.values(turn.checkpoint if turn else None)

    def change(self, **settings: Any) -> None:
        """Change settings from the next turn on."""
        given = {name: getattr(self.context, name) for name in self.context.model_fields_set}
        self.context = type(self.context).model_validate(given | settings)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Hold the thread, as every method that changes it does."""
        return turn_lock(self.saver, self.thread.name, self.locks, self.patience)

    async def _again(self, turn: str | None, text: str | None, show: Show, wish: str = "") -> dict[str, Any]:
        """Run from before a turn; if that fails without a reply, the branch of before is the head again."""
        async with self.turn():
            await self._settle(await self.thread.unfinished())
            history = await self.history()
            if not history:
                msg = "Nothing has been said on this thread yet."
                raise ValueError(msg)
            old = await self._turn(turn) if turn else history[-1]
            asked = await self.thread.question(old) if text is None else HumanMessage(text)
            question_in([asked])
            asked = wished(asked.model_copy(update={"id": str(uuid4())}), wish)
            after = await self.thread.settled(old.before) or await self.thread.beginning(history[-1])
            return await self._run_from(after, asked, history[-1:], show)

    async def _run_from(self, after: str, asked: HumanMessage, head: Sequence[Turn], show: Show) -> dict[str, Any]:
        """Run after a checkpoint; if that fails without a reply, what was the head is it again."""
        try:
            after = await self._whole_talk(after) or after
            return await self.thread.run(asked, show, context=self.context, after=after)
        except BaseException:
            failed = await self.thread.unfinished()
            if failed and failed.reply is not None:
                raise
            await self.thread.go_to(head[-1].checkpoint if head else None)
            if failed and await self.thread.erase_turn(failed):
                await self._forget_lost_turns()
            raise

    async def _place_of(self, history: Sequence[Exchange], head: Sequence[Turn]) -> Place:
        # All branches are read only where the history is not that of the head, or of an earlier turn of it. What looks
        # like the newest part of the head may be all of another branch, on which the beginning was left out.
        found = place_of(history, [head], self.names)
        known = found.known == len(history)
        if known and (found.begins or not history):
            return found
        among_all = place_of(history, [head, *await self.branches()], self.names)
        return found if known and not among_all.begins else among_all

    async def _follow(self, history: Sequence[Exchange], head: Sequence[Turn]) -> str:
        """The checkpoint after a history: what no branch holds of it is written down after what one does."""
        place = await self._place_of(history, head)
        after = await self.thread.settled(place.after.checkpoint) if place.after else None
        after = after or await self.thread.go_to(None)
        return await self._written_down(history[place.known :], await self._whole_talk(after) or after)

    async def _written_down(self, new: Sequence[Exchange], after: str) -> str:
        """Write down, after a checkpoint, what was said elsewhere; return the checkpoint after it."""
        window = getattr(self.context, "window", None)
        return await self.thread.write_down(new, self.context.role, after, window, self.talk_records)

    @property
    def talk_records(self) -> TalkRecords | None:
        """Where what is said is kept, so that it comes back; None: nothing of it is to."""
        wanted = getattr(self.context, "talk_tokens", 0) and self.thread.keeps_talk
        return self._stored_by(self.context.role).records if self.store is not None and wanted else None

    async def heads(self) -> Mapping[str, Sequence[str]]:
        """Of each role that remembers something of this conversation the last records that are named, by its id.

        The first is that of the talk as it is now; a turn under way may have kept what its checkpoint does not show.
        """
        head = await self.thread.head()
        return {self.context.role: talk_heads_in(head) if head else []}

    async def _stored(self) -> "list[_Stored]":
        """What each role remembers of this conversation; nothing, where there is no store."""
        return [] if self.store is None else [self._stored_by(role) for role in await self.heads()]

    def _stored_by(self, role: str) -> "_Stored":
        place = (store_of(self.store, role), role, self.thread.name)
        return _Stored(ConversationMemories(*place), TalkRecords(*place))

    @property
    def _labels(self) -> Labels | None:
        return None if self.store is None else Labels(self.store, self.context.role)

    async def _whole_talk(self, after: str | None = None) -> str | None:
        """Keep what was said up to a checkpoint, or the head, where that was never done, or was lost.

        Returns:
            A checkpoint in its place that names what is kept; None: it does so itself.
        """
        records = self.talk_records
        saved = await self.saver.aget_tuple(self.thread.address(after)) if records else None
        if records is None or saved is None:
            return None
        head, checkpoint = talk_head_of(saved), id_of(saved.config)
        if head and await records.is_whole(head):
            return None
        kept = await records.extended("", *await said_until(self.saver, self.thread.name, checkpoint))
        return await self.thread.name_talk(checkpoint, kept) if kept and kept != head else None

    async def _settle(self, unfinished: Turn | None) -> None:
        """End an unfinished turn, if somebody has its reply, or take it back.

        A line of a scene that waits for approval was said, and is still in the part of who said it.
        """
        if unfinished and (unfinished.reply is not None or await self.thread.waits_for_approval()):
            await self.thread.conclude(unfinished, self.context)
        elif unfinished:
            await self._take_back(unfinished)

    async def _take_back(self, turn: Turn) -> None:
        # The thread first: which memories are lost is known by the turns that are left. Killed in between, the next
        # deletion on this thread forgets them.
        await self.thread.take_back(turn)
        await self._forget_lost_turns()

    async def _forget_lost_turns(self) -> None:
        """Forget what is kept of turns that no branch holds: deleted now, or left by a turn that was killed.

        Reads all checkpoints of the thread, if anything is kept of it.
        """
        kept = [(stored, await stored.memories.ids(), await stored.records.all()) for stored in await self._stored()]
        if not any(made or said for _, made, said in kept):
            return
        steps = (await all_steps(self.saver, self.thread.name)).values()
        turns = {str(message.id) for step in steps for message in step.said}  # of a scene, what each role has said
        if unfinished := await self.thread.unfinished():
            turns.add(unfinished.id)
        heads = await self.heads()
        for stored, made, _ in kept:
            await stored.memories.drop(made - of_turns(turns, made))
            await stored.records.drop_lost(turns, heads[stored.records.role])

    async def _turn(self, turn: str) -> Turn:
        if found := await self.thread.find(turn):
            return found
        msg = f"This conversation has no turn {turn!r}: its turns are in the history."
        raise ValueError(msg)
