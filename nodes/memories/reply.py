"""The reply of Emotional RAG (II.B.4, Fig. 3): who the role is, what it recalls, and the question."""

from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from dramaturg.nodes.memories.recall import MemoryEvidence, MemoryRecallSettings
from dramaturg.nodes.reply import AskedState, ReplySettings, spoken
from dramaturg.nodes.run import open_run
from dramaturg.stores.conversations.memories import memory_id


class MemoryReplySettings(ReplySettings, MemoryRecallSettings):
    """A reply that rests on memories."""


class MemoryReplyState(AskedState):
    """What the reply reads."""

    recalled: list[MemoryEvidence]


async def respond_from_memories(state: MemoryReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the recalled memories, in the voice that they are told in.

    What the conversation itself made the role remember is left out as long as the window still shows it. It stands
    apart, after the question, unless both are equal.
    """
    run = await open_run(runtime, MemoryReplySettings)
    shown = {memory_id(str(message.id)) for message in state["messages"]}
    new = [one for one in state["recalled"] if one["canon"] or one["memory"] not in shown]
    canon = [one for one in new if one["canon"] or run.settings.conversation == "equal"]
    said = [one for one in new if one not in canon]
    data, limits = {"memories": memories_text(canon)}, {"was_said": memories_text(said)}
    reply = await spoken(run, state, "respond_from_memories", data, limits)
    return {"messages": [reply], "recalled": [], "usage": {"respond_from_memories": run.usage}}


def memories_text(memories: Sequence[MemoryEvidence]) -> str:
    """Memories as the model reads them, each with the time that it is of."""
    return "\n\n".join(f"({one['when']}) {one['text']}" if one["when"] else one["text"] for one in memories)
