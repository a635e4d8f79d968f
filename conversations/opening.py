"""How a conversation of the library is opened: by method, context and name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.conversations.conversation import PATIENCE, Conversation
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.stores.conversations.item_store import ItemStore
from dramaturg.stores.conversations.memories import ConversationMemories
from dramaturg.stores.files import close_to_others, make_folder
from dramaturg.stores.role import Role
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows.methods import chat_graph


@asynccontextmanager
async def open_conversation(
    method: str, context: RoleContext, thread: str = "", *, patience: float = PATIENCE
) -> AsyncIterator[Conversation]:
    """Open a conversation of the library, or one that is forgotten afterwards where it has no name.

    Args:
        method: such as "amadeus"; see `dramaturg.workflows.methods`.
        context: how the turns are to be done, and with which role.
        thread: the name of the conversation; it goes on where it stopped.
        patience: seconds that a turn waits for one of another program.

    Raises:
        ValueError: there is no such method or role.
        DamagedConversations: the file of this role's conversations is not as it was written.
    """
    role = (await run_of(context)).role
    if not thread:
        store = InMemoryStore()
        yield Conversation(chat_graph(method), InMemorySaver(), context, "once", store=store, patience=patience)
        return
    file = conversations_of(role)
    async with ConversationSaver.open(file) as saver:
        yield Conversation(
            chat_graph(method),
            saver,
            context,
            thread,
            store=memory_store(role),
            locks=file.with_suffix(".locks"),
            patience=patience,
        )


async def threads_of(context: RoleContext) -> list[str]:
    """Return the names of the conversations with a role."""
    async with ConversationSaver.open(conversations_of((await run_of(context)).role)) as saver:
        return await saver.athreads()


def memory_store(role: Role) -> ItemStore:
    """What the conversations with a role have made it remember; the file is there once something is."""
    return ItemStore(conversations_of(role).with_suffix(".memories.sqlite"))


def conversations_of(role: Role) -> Path:
    """The file of the conversations with a role."""
    folder = role.root.parent / ".conversations"
    make_folder(folder, within=role.root.parent)
    close_to_others(folder)
    return folder / f"{role.id}.sqlite"


async def memories_of_thread(context: RoleContext, thread: str) -> ConversationMemories:
    """Return the memories that a conversation of the library made of its turns."""
    role = (await run_of(context)).role
    return ConversationMemories(memory_store(role), role.id, thread)
