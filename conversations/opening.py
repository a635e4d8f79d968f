"""Where the conversations with a role are kept: files beside the library, or the database that it is in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.conversation import PATIENCE, Conversation, Elsewhere
from dramaturg.conversations.turn_lock import in_database
from dramaturg.nodes.run import RoleContext, library_of, run_of
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.role_stores import RoleStores
from dramaturg.stores.files import close_to_others, make_folder
from dramaturg.stores.library import find_card, library_at
from dramaturg.stores.library_folder import Library
from dramaturg.stores.macros import GREETED
from dramaturg.stores.role import Role
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows.methods import chat_graph
from dramaturg.workflows.server import graph_of, open_server

__all__ = ["open_conversation", "threads_of"]


async def greetings_of(context: RoleContext, user: str = "") -> list[str]:
    """What the role of a run may say before anybody has spoken, the usual first; none: it waits.

    Args:
        context: of the run; who plays a role is greeted by its name.
        user: the name of who is greeted in its place.
    """
    role = (await run_of(context)).role.card
    if not user and (played := getattr(context, "user_role", "")):
        card = await asyncio.to_thread(lambda: find_card(played, library_of(context).root))
        user = card.name if card else played
    all_of_them = range(len(role.greetings))
    return [said for at in all_of_them if (said := role.greeting(user or GREETED[role.language], at))]


async def begin_by_greeting(talk: Conversation) -> str:
    """Have the role speak first where nothing was said on the thread; return what it says, "" if nothing."""
    if await talk.thread.head() is not None and (await talk.history() or await talk.unfinished()):
        return ""
    greeting = next(iter(await greetings_of(talk.context)), "")
    if greeting:
        await talk.take_over([Exchange("", greeting)])
    return greeting


class Kept(NamedTuple):
    """Where the conversations with a role are kept."""

    saver: BaseCheckpointSaver[Any]
    store: BaseStore
    locks: Path | None
    """A folder; None: the saver's database has the locks."""
    prefix: str
    """What the names of this role's threads begin with there."""


@asynccontextmanager
async def open_conversation(
    method: str, context: RoleContext, thread: str = "", *, patience: float = PATIENCE, server: str = ""
) -> AsyncIterator[Conversation]:
    """Open a conversation of the library, or one that is forgotten afterwards where it has no name.

    Args:
        method: such as "amadeus"; see `dramaturg.workflows.methods`.
        context: how the turns are to be done, and with which role.
        thread: the name of the conversation; it goes on where it stopped.
        patience: seconds that a turn waits for one of another program.
        server: the address of a LangGraph server that takes the turns; what is said is kept here, too, under the name
            of the conversation with the server's. Empty: they are taken here.

    Raises:
        ValueError: there is no such method or role.
        ServerError: the server cannot be reached, or does not serve the method.
        DamagedConversations: the file of this role's conversations is not as it was written.
    """
    role = (await run_of(context)).role
    async with AsyncExitStack() as stack:
        graph = chat_graph(method)
        if server:
            there = await stack.enter_async_context(open_server(server, forget=not thread))
            graph = there.flow(method).builder
            await there.require(role.id, {graph_of(method): (graph, context)})
            thread = thread and f"{thread}@{urlsplit(server).netloc.rpartition('@')[2]}"
        if not thread:
            store = InMemoryStore()
            yield Conversation(graph, InMemorySaver(), context, "once", store=store, patience=patience)
            return
        saver, kept, locks, prefix = await stack.enter_async_context(kept_with(role))
        away = elsewhere(library_of(context))
        yield Conversation(
            graph, saver, context, prefix + thread, store=kept, locks=locks, patience=patience, elsewhere=away
        )


def elsewhere(library: Library) -> Elsewhere | None:
    """What opens the scenes of a library, and the talks with its roles, where they lie in several files."""
    if isinstance(library, SharedLibrary):
        return None

    @asynccontextmanager
    async def opened(role: str, *, scene: bool) -> AsyncIterator[tuple[BaseCheckpointSaver[Any], Path | None]]:
        async with scenes_kept(library) if scene else kept_with(library.open(role)) as kept:
            yield kept.saver, kept.locks

    return opened


async def threads_of(context: RoleContext) -> list[str]:
    """Return the names of the conversations with a role, the one that was written last first."""
    async with kept_with((await run_of(context)).role) as kept:
        return await threads_in(kept)


async def threads_in(kept: Kept) -> list[str]:
    """The same of where they are kept."""
    if isinstance(kept.saver, ConversationSaver):
        return await kept.saver.athreads()
    saver: Any = kept.saver
    async with saver.conn.connection() as connection:
        rows = await connection.execute(
            "SELECT thread_id FROM checkpoints WHERE starts_with(thread_id, %s) "
            "GROUP BY thread_id ORDER BY max(checkpoint_id) DESC",
            [kept.prefix],
        )
        return [row["thread_id"].removeprefix(kept.prefix) for row in await rows.fetchall()]


def spoken_with(library: Library) -> list[str]:
    """Return the roles of a library with whom there may be conversations; it may block."""
    roles = library.roles()
    if isinstance(library, SharedLibrary):
        return roles
    return [role for role in roles if file_of(role, library.root).exists()]


def file_of(role: str, library: Path) -> Path:
    """The file of the conversations with a role; beside it lies what they have made it remember."""
    return library / ".conversations" / f"{role}.sqlite"


@asynccontextmanager
async def kept_with(role: Role) -> AsyncIterator[Kept]:
    """Open what keeps the conversations with a role, and what they have made it remember."""
    library = library_at(role.root.parent)
    if isinstance(library, SharedLibrary):
        async with kept_in(library.address) as (saver, store):
            yield Kept(saver, store, None, f"{role.id}/")
        return
    file = file_of(role.id, role.root.parent)
    make_folder(file.parent, within=role.root.parent)
    close_to_others(file.parent)
    async with ConversationSaver.open(file) as own:
        yield Kept(own, ItemStore(file.with_suffix(".memories.sqlite")), file.with_suffix(".locks"), "")


def scenes_begun(library: Library) -> bool:
    """Whether scenes of a library may have been played; it may block."""
    return isinstance(library, SharedLibrary) or (library.root / ".conversations" / f"{SCENES_FILE}.sqlite").exists()


@asynccontextmanager
async def scenes_kept(library: Library) -> AsyncIterator[Kept]:
    """Open what keeps the scenes of a library; what each role has heard in them lies with its other talks."""
    if isinstance(library, SharedLibrary):
        async with kept_in(library.address) as (saver, store):
            yield Kept(saver, store, None, "")
        return
    folder = library.root / ".conversations"
    make_folder(folder, within=library.root)
    close_to_others(folder)
    own = ItemStore(folder / f"{SCENES_FILE}.memories.sqlite")

    @cache
    def of(role: str) -> ItemStore:
        return ItemStore(file_of(role, library.root).with_suffix(".memories.sqlite"))

    async with ConversationSaver.open(folder / f"{SCENES_FILE}.sqlite") as saver:
        yield Kept(saver, RoleStores(own, of), folder / f"{SCENES_FILE}.locks", "")


SCENES_FILE = "scenes!"  # no role can be called so
CONNECTIONS = 16
"""The most connections to a database, of one process."""


@asynccontextmanager
async def kept_in(address: str) -> AsyncIterator[tuple[BaseCheckpointSaver[Any], BaseStore]]:
    """Open LangGraph's saver and store in a Postgres database; their tables are made where they are missing.

    They share a pool: turns that are taken at once do not wait for one connection, and one that was lost is made anew.
    """
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    from langgraph.store.postgres.aio import AsyncPostgresStore
    from psycopg import AsyncConnection
    from psycopg.rows import DictRow, dict_row
    from psycopg_pool import AsyncConnectionPool

    how = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    pool: AsyncConnectionPool[AsyncConnection[DictRow]] = AsyncConnectionPool(
        address,
        min_size=1,
        max_size=CONNECTIONS,
        timeout=10,
        kwargs=how,
        check=AsyncConnectionPool.check_connection,
        open=False,
    )
    async with pool:
        saver, store = AsyncPostgresSaver(pool), AsyncPostgresStore(pool)
        async with in_database(saver.conn, "\0tables", PATIENCE):  # two that make them at once would fail
            await saver.setup()
            await store.setup()
        yield saver, store
