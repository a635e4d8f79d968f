"""One thread of a compiled workflow and its checkpoints: what a conversation is made of. Nothing here takes locks."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, convert_to_messages
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.constants import END, START
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Overwrite, StateSnapshot, StreamPart

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.turns import Turn, all_steps, all_turns, id_of, parent_of, turns_until
from dramaturg.nodes.turn import leaving, removals
from dramaturg.stores.conversations.talk import TalkRecords
from dramaturg.stores.saver.conversation_saver import ConversationSaver

Part = StreamPart[Any, Any]
Show = Callable[[Part], None]
MOST_ASKED = 20  # times that one turn asks for approval
LATEST = 40  # messages among which what was said at once is looked for


class Thread:
    """The checkpoints of a thread; the head is the newest."""

    def __init__(
        self, graph: CompiledStateGraph[Any, Any, Any, Any], saver: BaseCheckpointSaver[Any], name: str
    ) -> None:
        self.graph = graph
        self.saver = saver
        self.name = name

    def address(self, checkpoint: str | None = None) -> Any:
        """The config of the thread, or of one of its checkpoints."""
        where = {"thread_id": self.name, "checkpoint_ns": ""}
        return {"configurable": where | ({"checkpoint_id": checkpoint} if checkpoint else {})}

    async def run(
        self, message: HumanMessage | Command[Any] | None, show: Show, *, context: Any, after: str | None = None
    ) -> dict[str, Any]:
        """Run the workflow after a checkpoint, or after the head; without a message, go on where it stopped."""
        output: dict[str, Any] = {}
        parts: Any = self.graph.astream(
            {"messages": [message]} if isinstance(message, HumanMessage) else message,
            self.address(after),
            context=context,
            stream_mode=["custom", "messages", "values"],
            subgraphs=True,
            durability="exit",  # one checkpoint a turn: kept whole or not at all, however many steps it took
            version="v2",
        )
        async with aclosing(parts):  # stopped by `show`, it keeps the turn before the thread is let go
            async for part in parts:
                if part["type"] == "values" and not part["ns"]:
                    output = part["data"]
                show(part)
        return output

    async def values(self, checkpoint: str | None = None) -> dict[str, Any]:
        """The state at a checkpoint, or at the head."""
        return (await self.graph.aget_state(self.address(checkpoint))).values

    async def history(self) -> list[Turn]:
        """The finished turns that led to the head."""
        return [turn for turn in await turns_until(self.saver, self.name) if turn.reply is not None]

    async def head(self) -> CheckpointTuple | None:
        """The newest checkpoint; None: nothing is there yet."""
        return await self.saver.aget_tuple(self.address())

    async def unfinished(self) -> Turn | None:
        """The last turn if it is to be resumed: a task is due or has written, or its input was stored and no more."""
        head = await self.head()
        return await self.unfinished_at(head) if head else None

    async def unfinished_at(self, head: CheckpointTuple) -> Turn | None:
        """The same, for who has read the head."""
        if head.metadata.get("source") == "input":
            return turn_of_input(head)
        if not await self.stopped(head):
            return None
        turns = await turns_until(self.saver, self.name)
        return turns[-1] if turns else None

    async def stopped(self, saved: CheckpointTuple) -> bool:
        """Whether a run ended there before its end."""
        return bool(saved.pending_writes) or await self.due(id_of(saved.config))

    async def due(self, checkpoint: str | None = None) -> bool:
        """Whether a node of this workflow is to run next at a checkpoint, or at the head."""
        return bool((await self.graph.aget_state(self.address(checkpoint))).next)

    async def unanswered(self) -> bool:
        """Whether the model left a question of the last turn without an answer, in a node that went on without it."""
        return left_unanswered(await self.graph.aget_state(self.address(), subgraphs=True))

    async def waiting(self) -> list[Any]:
        """What nodes at the head have asked, and wait to be answered."""
        return [asked.value for asked in (await self.graph.aget_state(self.address())).interrupts]

    async def waits_for_approval(self) -> bool:
        """Whether the last turn waits for changes to be approved."""
        match await self.waiting():
            case [{"changes": _}]:
                return True
        return False

    async def find(self, turn: str) -> Turn | None:
        """A turn of any branch."""
        if isinstance(self.saver, ConversationSaver):
            checkpoints = await self.saver.asaid(self.name, turn)
            if not checkpoints:
                return None
            found = (await turns_until(self.saver, self.name, checkpoints[0], limit=1))[-1:]
            saved = await self.saver.aget_tuple(self.address(checkpoints[0]))
            whole = saved is not None and not await self.stopped(saved)
            if whole and found and found[0].id == turn and found[0].reply is not None:
                return found[0]
        # One query tells no more of a turn that was kept step by step, or stopped: its end is in a later checkpoint.
        return (await all_turns(self.saver, self.name)).get(turn)

    async def holds(self, message: str) -> bool:
        """Whether a message with this id was said on any branch."""
        if isinstance(self.saver, ConversationSaver):
            return bool(await self.saver.asaid(self.name, message))
        steps = await all_steps(self.saver, self.name)
        return any(said.id == message for step in steps.values() for said in step.said)

    async def delivered(self, message: HumanMessage) -> Turn | None:
        """The turn of a message that was delivered before.

        Raises:
            ValueError: its id is that of a reply.
        """
        if not message.id or not await self.holds(message.id):
            return None
        if found := await self.find(message.id):
            return found
        msg = f"The message has the id of a reply, {message.id!r}: give it an id of its own."
        raise ValueError(msg)

    async def resume(self, unfinished: Turn, show: Show, context: Any) -> dict[str, Any]:
        """Go on where a turn stopped, and return the output.

        A turn that stopped in a node that this workflow lacks is asked again, and so is one without a reply of which
        questions are unanswered: nobody has heard yet what took the place of the answers. One that has its reply is
        over.
        """
        anew = unfinished.reply is None and not await self.waiting() and await self.unanswered()
        if not anew and await self.due():
            return await self.run(None, show, context=context)
        if unfinished.reply is not None:
            await self.end()
            return await self.values()
        asked = await self.question(unfinished)
        await self.take_back(unfinished)
        return await self.run(asked, show, context=context)

    async def answer(self, value: Any, show: Show, context: Any) -> dict[str, Any]:
        """Go on with a turn that waits, by an answer to what it has asked; return the output.

        A node that refuses its answer asks again: LangGraph would give it the same one forever.
        """
        try:
            return await self.run(Command(resume=value), show, context=context)
        except BaseException:
            if await self.waiting():
                await self.step_back()
                with suppress(Exception):
                    await self.run(None, lambda _: None, context=context)
            raise

    async def conclude(self, unfinished: Turn, context: Any) -> None:
        """End a turn that stopped after its reply, which somebody has read: what is left of it is tried once more.

        If that fails again, the turn ends without it: a node that always fails is no reason to lose what was said.
        Where it waits for approval, nothing is approved.
        """
        with suppress(Exception):
            if not await self.waits_for_approval():
                await self.resume(unfinished, lambda _: None, context)
            for _ in range(MOST_ASKED):  # in a scene, line after line may
                if await self.waits_for_approval():
                    await self.run(Command(resume=NONE_APPROVED), lambda _: None, context=context)
        if await self.unfinished():
            await self.end()

    async def question(self, turn: Turn) -> HumanMessage:
        """The message that a turn answers, with all that it holds beside its text."""
        messages = (await self.values(turn.checkpoint)).get("messages", [])
        return next((m for m in messages if m.id == turn.id), HumanMessage(turn.question, id=turn.id))

    async def begin(self) -> None:
        """Begin a thread with the empty state: its first turn can then be changed like any other."""
        if await self.head() is None:
            await self.go_to(None)

    async def beginning(self, last: Turn) -> str:
        """An empty state to ask a first turn from again, on a thread that was not begun with one."""
        root = await self.go_to(None)
        await self.go_to(last.checkpoint)
        return root

    async def go_to(self, checkpoint: str | None) -> str:
        """Make a copy of a checkpoint the head, or, for None, the empty state; return the id of the head."""
        settled = await self.settled(checkpoint)
        if settled is None:
            metadata: Any = {"source": "fork", "step": -1, "parents": {}}
            return id_of(await self.saver.aput(self.address(), empty_checkpoint(), metadata, {}))
        return id_of(await self.graph.aupdate_state(self.address(settled), None, as_node="__copy__"))

    @property
    def keeps_talk(self) -> bool:
        """Whether the workflow names in its state what is kept of the talk."""
        return "talk_head" in self.graph.channels

    async def name_talk(self, after: str, head: str) -> str:
        """Name the last record of the talk in a state that does not; return the checkpoint."""
        node = last_node(self.graph)
        return id_of(await self.graph.aupdate_state(self.address(after), {"talk_head": head}, as_node=node))

    async def write_down(
        self, exchanges: Sequence[Exchange], role: str, after: str, window: int | None, records: TalkRecords | None
    ) -> str:
        """Write down, after a checkpoint, what was said elsewhere: turns of which no step was run.

        Args:
            exchanges: what was heard and said, oldest first.
            role: who has said it.
            after: the checkpoint.
            window: how many messages stay in the state, as after a turn that was run; None: all.
            records: where what was said is kept, so that it comes back; None: it is not.

        Returns:
            The checkpoint after the last of them.
        """
        values: dict[str, Any] = {name: Overwrite({}) for name in ("evidence", "usage") if name in self.graph.channels}
        state = await self.values(after) if exchanges else {}
        node, known, head = last_node(self.graph), list(state.get("messages", [])), state.get("talk_head", "")
        for one in exchanges:
            said: list[AnyMessage] = [HumanMessage(one.heard, id=str(uuid4()))] if one.heard else []
            said += [AIMessage(one.said, id=str(uuid4()), name=role)] if one.said else []
            known += said
            if records is not None:
                head = values["talk_head"] = await records.extended(head, known[-LATEST:])
            left = leaving(known, window) if window else []
            del known[: len(left)]
            # What leaves the window at once is written all the same: it is said in this turn.
            gone = removals([message for message in left if message not in said])
            written = values | {"messages": [*gone, *said]}
            after = id_of(await self.graph.aupdate_state(self.address(after), written, as_node=node))
        return after

    async def step_back(self) -> None:
        """Have the nodes that are due at the head begin anew, as if they had not run."""
        saved = await self.head()
        await self.go_to(id_of(saved.config) if saved else None)

    async def end(self) -> None:
        """Have nothing due at the head: what ran is kept, and what did not run is left out."""
        await self.graph.aupdate_state(self.address(), None, as_node=END)

    async def settled(self, checkpoint: str | None) -> str | None:
        """A checkpoint, or the last before it that is no input of the turn that follows, as kept step by step."""
        while checkpoint and (saved := await self.saver.aget_tuple(self.address(checkpoint))):
            if saved.metadata.get("source") != "input":
                break
            checkpoint = parent_of(saved)
        return checkpoint

    async def take_back(self, turn: Turn) -> None:
        """Go back to before a turn, if the head comes after it; our saver forgets it and all that followed."""
        if await self.erase_turn(turn):
            return
        led = {one.id for one in await turns_until(self.saver, self.name)}
        begun = await self.unfinished()
        if turn.id in led or (begun and begun.id == turn.id):
            await self.go_to(turn.before)

    async def erase_turn(self, turn: Turn) -> bool:
        """Erase a turn and all that followed, where the saver can; after forks it is in several checkpoints."""
        if not isinstance(self.saver, ConversationSaver):
            return False
        if not await self.saver.asaid(self.name, turn.id):
            await self.saver.aerase(self.name, turn.checkpoint)
        while checkpoints := await self.saver.asaid(self.name, turn.id):
            await self.saver.aerase(self.name, await self.first_of(checkpoints[0]))
        return True

    async def first_of(self, checkpoint: str) -> str:
        """Where a turn begins: the checkpoint that said its question, or the one before that stored its input."""
        saved = await self.saver.aget_tuple(self.address(checkpoint))
        before = parent_of(saved) if saved else None
        return before if before and await self.settled(before) != before else checkpoint


def left_unanswered(state: Any) -> bool:
    """Whether the usage in a state, of its graphs within, or of what has run beside a node that failed, says so."""
    if not isinstance(state, StateSnapshot):
        return False
    written = [state.values, *(task.result for task in state.tasks)]
    used = [one["usage"] for one in written if isinstance(one, Mapping) and isinstance(one.get("usage"), Mapping)]
    here = any(isinstance(one, Mapping) and one.get("unanswered") for nodes in used for one in nodes.values())
    return here or any(left_unanswered(task.state) for task in state.tasks)


def last_node(graph: CompiledStateGraph[Any, Any, Any, Any]) -> str:
    """A node after which a turn is over.

    Raises:
        ValueError: no node leads to the end.
    """
    for node, after in graph.builder.edges:
        if after == END:
            return node
    msg = "No node of this workflow has an edge to its end: add one, so that a turn can be written down."
    raise ValueError(msg)


NONE_APPROVED: Mapping[str, list[int]] = {"approved": []}
"""How a node that asks {"changes": […]} is told that none of them is approved; another's questions are not known."""


def turn_of_input(saved: CheckpointTuple) -> Turn | None:
    """The turn that an input begins of which no step was run."""
    given = saved.checkpoint["channel_values"].get(START) or {}
    messages = convert_to_messages(given.get("messages", []))
    if not messages:
        return None
    return Turn(str(messages[-1].id), messages[-1].text, None, id_of(saved.config), parent_of(saved))
