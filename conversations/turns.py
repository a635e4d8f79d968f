"""The turns of a conversation, read from the chain of its checkpoints."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from dramaturg.nodes.wish import wish_in
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.stores.saver.steps import Step

FIRST_STEPS = 4
"""The empty state, a greeting, and a turn that is kept as one step; of one kept node by node, more are read."""


@dataclass(frozen=True)
class Turn:
    """A question and its reply.

    `id` is that of the question's message; `checkpoint` is the state after the turn, `before` the one before it (None:
    the empty state). A turn without a reply was not finished. Where the role has spoken first, that is a turn without a
    question, and its id is that of the reply. Where several have spoken, the reply is all their lines, each with its
    speaker in front. `wish` is how the reply was to be; empty: nobody has wished anything.
    """

    id: str
    question: str
    reply: str | None
    checkpoint: str
    before: str | None
    speakers: tuple[str, ...] = ()
    wish: str = ""


def as_message(message: str | HumanMessage) -> HumanMessage:
    """A message with an id, which is that of its turn."""
    if isinstance(message, str):
        return HumanMessage(message, id=str(uuid4()))
    return message if message.id else message.model_copy(update={"id": str(uuid4())})


async def turns_until(
    saver: BaseCheckpointSaver[Any], thread: str, checkpoint: str | None = None, limit: int | None = None
) -> list[Turn]:
    """Return the turns that led to a checkpoint, or to the head, oldest first.

    Args:
        saver: where the thread is kept.
        thread: its name.
        checkpoint: the end of the branch; None: the head.
        limit: how many checkpoints to go back, where the saver can stop there; None: all.
    """
    if isinstance(saver, ConversationSaver):
        return in_turns(await saver.asteps(thread, checkpoint, limit))
    steps = await all_steps(saver, thread)
    return in_turns(list(lineage(steps, checkpoint or next(iter(steps), None)))[::-1])


async def said_until(
    saver: BaseCheckpointSaver[Any], thread: str, checkpoint: str
) -> tuple[list[AnyMessage], dict[str, datetime]]:
    """Return the messages that led to a checkpoint, oldest first, and when each was said, by its id."""
    if isinstance(saver, ConversationSaver):
        steps = await saver.asteps(thread, checkpoint)
    else:
        steps = list(lineage(await all_steps(saver, thread), checkpoint))[::-1]
    times = {str(one.id): when for step in steps if (when := time_of(step.checkpoint_id)) for one in step.said}
    said: list[Any] = [message for step in steps for message in step.said]
    return said, times


def time_of(checkpoint: str) -> datetime | None:
    """When a checkpoint was made, by its id, which LangGraph makes of the time; None: it is another id."""
    try:
        found = UUID(checkpoint)
        begun = datetime(1582, 10, 15, tzinfo=UTC)  # of the calendar by which such ids count
        ticks = ((found.int >> 80) << 12) | ((found.int >> 64) & 0xFFF)
        return begun + timedelta(microseconds=ticks // 10) if found.version == 6 else None
    except (ValueError, OverflowError):
        return None


async def first_question(saver: BaseCheckpointSaver[Any], thread: str) -> str:
    """Return the question that the head's branch begins with, once it has its reply; "": nothing was asked yet."""
    if not isinstance(saver, ConversationSaver):
        return _first_asked(await turns_until(saver, thread))
    return await _asked_at_the_beginning(saver, thread, replied=True)


async def ends_of(saver: BaseCheckpointSaver[Any], thread: str) -> tuple[str, str]:
    """Return the question that the head's branch begins with, replied to or not, and the head; "": there is none.

    What was said between them is not read where the saver can leave it out.
    """
    if not isinstance(saver, ConversationSaver):
        turns = await turns_until(saver, thread)
        return _first_asked(turns, replied=False), turns[-1].checkpoint if turns else ""
    last = await saver.asteps(thread, limit=1)
    return await _asked_at_the_beginning(saver, thread, replied=False), last[-1].checkpoint_id if last else ""


async def _asked_at_the_beginning(saver: ConversationSaver, thread: str, *, replied: bool) -> str:
    count, steps = FIRST_STEPS, await saver.abeginning(thread, FIRST_STEPS)
    while not (found := _first_asked(in_turns(steps), replied=replied)) and len(steps) == count:
        count *= 4
        steps = await saver.abeginning(thread, count)
    return found


def _first_asked(turns: Iterable[Turn], *, replied: bool = True) -> str:
    return next((turn.question for turn in turns if turn.question and not (replied and turn.reply is None)), "")


async def all_turns(saver: BaseCheckpointSaver[Any], thread: str) -> dict[str, Turn]:
    """Return the turns of all branches by id, those of the head first; reads every checkpoint."""
    return {name: turn for name, (turn, _) in (await turn_tree(saver, thread)).items()}


async def turn_tree(saver: BaseCheckpointSaver[Any], thread: str) -> dict[str, tuple[Turn, str | None]]:
    """Return the turns of all branches by id, each with that of the turn before it, as `all_turns` does."""
    return _tree_in(await all_steps(saver, thread))


def _tree_in(steps: Mapping[str, Step]) -> dict[str, tuple[Turn, str | None]]:
    found: dict[str, tuple[Turn, str | None]] = {}
    covered: set[str] = set()
    for checkpoint in steps:
        if checkpoint not in covered:
            new = list[Step]()
            for step in lineage(steps, checkpoint):
                new.append(step)
                if step.checkpoint_id in covered and step.said and step.said[0].type == "human":
                    break  # where a turn begins that is found already: from there on, all is known
            covered.update(step.checkpoint_id for step in new)
            for before, turn in pairwise((None, *in_turns(reversed(new)))):
                if turn is not None:
                    found.setdefault(turn.id, (turn, before.id if before else None))
    return found


async def all_branches(saver: BaseCheckpointSaver[Any], thread: str) -> list[list[Turn]]:
    """Return the turns of each branch, the one that was last spoken on first; reads every checkpoint, each once."""
    steps = await all_steps(saver, thread)
    turns = [turn for turn, _ in _tree_in(steps).values() if turn.reply is not None]
    inner = {turn.before for turn in turns}
    ends = [turn.checkpoint for turn in turns if turn.checkpoint not in inner]
    return [in_turns([*lineage(steps, end)][::-1]) for end in ends]


async def all_steps(saver: BaseCheckpointSaver[Any], thread: str) -> dict[str, Step]:
    """Return every step of a thread by its checkpoint, the newest first; works with every saver."""
    if isinstance(saver, ConversationSaver):
        return {step.checkpoint_id: step for step in await saver.aall_steps(thread)}
    saved = [one async for one in saver.alist({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})]
    windows = {id_of(one.config): messages_of(one) for one in saved}
    return {
        id_of(one.config): Step(
            id_of(one.config),
            parent := parent_of(one),
            tuple(new_messages(windows.get(parent or "", []), windows[id_of(one.config)])),
        )
        for one in saved
    }


def lineage(steps: Mapping[str, Step], checkpoint: str | None) -> Iterator[Step]:
    """A step, then its ancestors."""
    while checkpoint and (step := steps.get(checkpoint)):
        yield step
        checkpoint = step.parent_id


def id_of(config: RunnableConfig) -> str:
    """The id of the checkpoint that a config names."""
    return str(config["configurable"]["checkpoint_id"])


def parent_of(saved: CheckpointTuple) -> str | None:
    """The id of the checkpoint before."""
    return id_of(saved.parent_config) if saved.parent_config else None


def messages_of(saved: CheckpointTuple) -> list[BaseMessage]:
    """The window of a conversation in a checkpoint."""
    return list(saved.checkpoint["channel_values"].get("messages", []))


def talk_head_of(saved: CheckpointTuple) -> str:
    """The id of the last record of the talk that a checkpoint names; empty: it names none."""
    return str(saved.checkpoint["channel_values"].get("talk_head") or "")


def talk_heads_in(saved: CheckpointTuple) -> list[str]:
    """The same, with those that the nodes of a turn under way have written."""
    written = (str(value) for _, channel, value in saved.pending_writes or () if channel == "talk_head")
    return [talk_head_of(saved), *written]


def new_messages(before: Iterable[BaseMessage], window: Iterable[BaseMessage]) -> list[BaseMessage]:
    """The messages of a window that an earlier window did not hold."""
    known = {message.id for message in before}
    return [message for message in window if message.id not in known]


def in_turns(steps: Iterable[Step]) -> list[Turn]:
    """Group what was said into turns: each begins with a user's message, or the first with the role's."""
    turns: list[Turn] = []
    lines: list[BaseMessage] = []  # of the last turn
    for step in steps:
        for message in step.said:
            if message.type == "human":
                asked = Turn(str(message.id), message.text, None, step.checkpoint_id, step.parent_id)
                turns.append(replace(asked, wish=wish_in(message)))  # type: ignore[arg-type]
                lines = []
            elif message.type == "ai":
                lines.append(message)
                if not turns:
                    turns.append(Turn(str(message.id), "", None, step.checkpoint_id, step.parent_id))
                speakers = tuple(dict.fromkeys(one.name for one in lines if one.name))
                turns[-1] = replace(turns[-1], reply=joined_lines(lines), speakers=speakers)
        if turns:
            turns[-1] = replace(turns[-1], checkpoint=step.checkpoint_id)
    return turns


def joined_lines(lines: Sequence[BaseMessage]) -> str:
    """What was said at once, as one text; of several lines, each with who says it."""
    if len(lines) == 1:
        return lines[0].text
    return "\n\n".join(f"{one.name}: {one.text}" if one.name else one.text for one in lines)
