"""The reply of Emotional RAG (II.B.4, Fig. 3): who the role is, what it recalls, and the question."""

from typing import Any

from langgraph.runtime import Runtime

from dramaturg.nodes.memories.recall import MemoryEvidence, MemoryRecallSettings, RecalledMemories
from dramaturg.nodes.reply import AskedState, Grounds, ReplySettings, grounds_of, spoken
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.turn import EvidenceState

__all__ = ["ground_memories", "memory_grounds", "respond_from_memories"]


class MemoryReplySettings(ReplySettings, MemoryRecallSettings):
    """A reply that rests on memories."""


class MemoryReplyState(AskedState, EvidenceState):
    """What the reply reads."""

    recalled_memories: RecalledMemories


@needs(question="read_turn", recalled_memories="recall_memories")
async def respond_from_memories(state: MemoryReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the recalled memories, in the voice that they are told in."""
    run = await open_run(runtime, MemoryReplySettings)
    grounds = memory_grounds(run, state)
    reply, slips = await spoken(run, state, "respond_from_memories", grounds, data={"memories": ""})
    usage = {"respond_from_memories": run.usage}
    return {"messages": [reply], "recalled_memories": [], "evidence": slips, "usage": usage}


@needs(recalled_memories="recall_memories")
async def ground_memories(state: MemoryReplyState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `memory_grounds`."""
    run = await open_run(runtime, MemoryRecallSettings)
    return {"gathered": {"memories": memory_grounds(run, state)}, "recalled_memories": []}


def memory_grounds(run: Run[MemoryRecallSettings], state: MemoryReplyState) -> Grounds:
    """What a reply can rest on here: "memories", each with the time that it is of.

    What the conversation itself made the role remember stands apart, as the limit "was_said", unless both are equal.
    """
    recalled = state["recalled_memories"]
    canon = [one for one in recalled if one["canon"] or run.settings.conversation == "equal"]
    said = [memory_text(one) for one in recalled if one not in canon]
    texts, limits = {"memories": list(map(memory_text, canon))}, {"was_said": "\n\n".join(said)}
    return grounds_of(state, texts, limits=limits, shown=("mood", "strategy", "memories"))


def memory_text(memory: MemoryEvidence) -> str:
    """A memory as the model reads it."""
    return f"({memory['when']}) {memory['text']}" if memory["when"] else memory["text"]
