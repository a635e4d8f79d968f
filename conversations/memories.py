"""What becomes of the memories of a conversation when its turns are gone for good."""

from langgraph.store.base import BaseStore

from dramaturg.conversations.thread import Thread
from dramaturg.conversations.turns import all_turns
from dramaturg.stores.conversation_memories import ConversationMemories, memory_id


async def forget_lost_turns(store: BaseStore | None, role: str, thread: Thread) -> None:
    """Forget the memories of turns that no branch holds, be they deleted now or left by a turn that was killed.

    Reads all checkpoints of the thread, if it has any memory.
    """
    if store is None:
        return
    memories = ConversationMemories(store, role, thread.name)
    if kept := await memories.ids():
        turns = {turn.id for turn in (await all_turns(thread.saver, thread.name)).values()}
        unfinished = await thread.unfinished()
        held = {memory_id(turn) for turn in turns | ({unfinished.id} if unfinished else set())}
        await memories.drop(kept - held)


async def forget_thread(store: BaseStore | None, role: str, thread: Thread) -> None:
    """Forget all memories of a thread."""
    if store is not None:
        await ConversationMemories(store, role, thread.name).drop_all()
