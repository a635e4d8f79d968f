"""How a conversation of the library is opened: by method, context and name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.conversations.conversation import PATIENCE, Conversation
from dramaturg.nodes.context import RoleContext, role_of
from dramaturg.stores.files import make_folder
from dramaturg.stores.role import Role
from dramaturg.stores.saver import ConversationSaver
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
    role = await role_of(context)
    if not thread:
        yield Conversation(chat_graph(method), InMemorySaver(), context, "once", patience=patience)
        return
    file = conversations_of(role)
    async with ConversationSaver.open(file) as saver:
        locks = file.with_suffix(".locks")
        yield Conversation(chat_graph(method), saver, context, thread, locks=locks, patience=patience)


async def threads_of(context: RoleContext) -> list[str]:
    """Return the names of the conversations with a role."""
    async with ConversationSaver.open(conversations_of(await role_of(context))) as saver:
        return await saver.athreads()


def conversations_of(role: Role) -> Path:
    """The file of the conversations with a role."""
    folder = role.root.parent / ".conversations"
    make_folder(folder, within=role.root.parent)
    return folder / f"{role.id}.sqlite"
