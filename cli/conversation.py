"""A thread of a workflow as the command line holds it: with a saver, a context and a name."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

from filelock import AsyncFileLock, Timeout
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StreamPart

from dramaturg.nodes.context import RoleContext, role_of
from dramaturg.workflows.methods import chat_graph

Part = StreamPart[Any, Any]
Show = Callable[[Part], None]
Turn = AbstractAsyncContextManager[Any]
PATIENCE = 60.0  # seconds that a turn waits for one in another window


class Conversation:
    """Turns on one thread, one at a time."""

    def __init__(
        self,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        context: RoleContext,
        thread: str,
        turn: Callable[[], Turn] = nullcontext,
    ) -> None:
        self.graph = graph
        self.context = context
        self.turn = turn
        self.config: Any = {"configurable": {"thread_id": thread}}

    async def take_turn(self, text: str, show: Show = lambda _: None) -> dict[str, Any]:
        """Send a message and return the output; `show` is given every part of the stream that a person may see.

        Raises:
            RuntimeError: another window is talking on this thread for longer than a minute.
        """
        try:
            async with self.turn():
                return await self._streamed(text, show)
        except Timeout as error:
            msg = "Another window is talking to this role: wait for its answer, or name another --thread."
            raise RuntimeError(msg) from error

    async def _streamed(self, text: str, show: Show) -> dict[str, Any]:
        output: dict[str, Any] = {}
        async for part in self.graph.astream(
            {"messages": [HumanMessage(text)]},
            self.config,
            context=self.context,
            stream_mode=["custom", "messages", "values"],
            subgraphs=True,
            durability="exit",  # one checkpoint a turn: a file that does not grow with the steps of a search
            version="v2",
        ):
            if part["type"] == "values" and not part["ns"]:
                output = part["data"]
            else:
                show(part)
        return output

    async def values(self) -> dict[str, Any]:
        """The state of the thread."""
        return (await self.graph.aget_state(self.config)).values

    async def speaker(self) -> str:
        """The name of the role."""
        return (await role_of(self.context)).card.name

    def change(self, **settings: Any) -> None:
        """Change settings from the next turn on.

        Raises:
            ValueError: a setting is unknown or out of its bounds.
        """
        given = {name: getattr(self.context, name) for name in self.context.model_fields_set}
        self.context = type(self.context).model_validate(given | settings)


@asynccontextmanager
async def conversation(method: str, context: RoleContext, thread: str) -> AsyncIterator[Conversation]:
    """Open a conversation of the library, or one that is forgotten where it has no name."""
    role = await role_of(context)
    if not thread:
        yield Conversation(chat_graph(method).compile(InMemorySaver()), context, "once")
        return
    folder = role.root.parent / ".conversations"
    folder.mkdir(parents=True, exist_ok=True)
    async with AsyncSqliteSaver.from_conn_string(str(folder / f"{role.id}.sqlite")) as saver:
        graph = chat_graph(method).compile(saver)
        lock = folder / f"{role.id}.lock"
        yield Conversation(graph, context, thread, lambda: AsyncFileLock(lock, timeout=PATIENCE))
