"""One thread of a compiled workflow and its checkpoints: what a conversation is made of. Nothing here takes locks."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StreamPart

from dramaturg.conversations.turns import Turn, all_turns, id_of, turns_until
from dramaturg.stores.saver import ConversationSaver

Part = StreamPart[Any, Any]
Show = Callable[[Part], None]


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
        self, message: HumanMessage | None, show: Show, *, context: Any, after: str | None = None
    ) -> dict[str, Any]:
        """Run the workflow after a checkpoint, or after the head; without a message, go on where it stopped."""
        output: dict[str, Any] = {}
        async for part in self.graph.astream(
            None if message is None else {"messages": [message]},
            self.address(after),
            context=context,
            stream_mode=["custom", "messages", "values"],
            subgraphs=True,
            durability="exit",  # one checkpoint a turn: kept whole or not at all, however many steps it took
            version="v2",
        ):
            if part["type"] == "values" and not part["ns"]:
                output = part["data"]
            else:
                show(part)
        return output

    async def values(self, checkpoint: str | None = None) -> dict[str, Any]:
        """The state at a checkpoint, or at the head."""
        return (await self.graph.aget_state(self.address(checkpoint))).values

    async def history(self) -> list[Turn]:
        """The finished turns that led to the head."""
        return [turn for turn in await turns_until(self.saver, self.name) if turn.reply is not None]

    async def unfinished(self) -> Turn | None:
        """The last turn if it is to be resumed: a task is due or has written, or its input was stored and no more."""
        head = await self.saver.aget_tuple(self.address())
        if head is None:
            return None
        begun = head.pending_writes or head.metadata.get("source") == "input"
        if not begun and not (await self.graph.aget_state(self.address())).next:
            return None
        turns = await turns_until(self.saver, self.name)
        return turns[-1] if turns else None

    async def find(self, turn: str) -> Turn | None:
        """A turn of any branch."""
        if not isinstance(self.saver, ConversationSaver):
            return (await all_turns(self.saver, self.name)).get(turn)
        found = await self.saver.asaid(self.name, turn)
        return (await turns_until(self.saver, self.name, found[0], limit=1))[-1] if found else None

    async def go_to(self, checkpoint: str | None) -> str:
        """Make a copy of a checkpoint the head, or, for None, the empty state; return the id of the head."""
        if checkpoint is None:
            metadata: Any = {"source": "fork", "step": -1, "parents": {}}
            return id_of(await self.saver.aput(self.address(), empty_checkpoint(), metadata, {}))
        return id_of(await self.graph.aupdate_state(self.address(checkpoint), None, as_node="__copy__"))

    async def take_back(self, turn: Turn) -> None:
        """Go back to before a turn; our saver forgets it and all that followed."""
        if not await self.erased(turn):
            await self.go_to(turn.before)

    async def erased(self, turn: Turn) -> bool:
        """Erase a turn and all that followed, where the saver can; after forks it is in several checkpoints."""
        if not isinstance(self.saver, ConversationSaver):
            return False
        while checkpoints := await self.saver.asaid(self.name, turn.id):
            await self.saver.aerase(self.name, checkpoints[0])
        return True
