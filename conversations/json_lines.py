"""A conversation as JSON lines: to be kept, read by other programs, and taken up again elsewhere."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Literal, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import BinaryOperatorAggregate
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.evidence import misfits
from dramaturg.conversations.thread import LATEST, last_node
from dramaturg.conversations.turns import Turn
from dramaturg.stores.conversations.labels import LONGEST_TITLE, Label, as_title

NOT_EXPORTED = frozenset({"remembered", "talk_head", "recalled_talk", "earlier_records"})
"""Channels that name what is kept outside of the thread, or come from there: an import makes its own."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Head(_Line):
    """The first line: what the file is."""

    format: Literal["dramaturg-conversation"] = "dramaturg-conversation"
    version: Literal[1] = 1
    role: str
    thread: str
    title: str = Field(default="", max_length=LONGEST_TITLE)
    """That a person has given it; it is not written where nobody has."""
    pinned: bool = False

    @property
    def line(self) -> str:
        """As it stands in a file: without what nobody has set, which versions of before do not know."""
        return self.model_dump_json(exclude={name for name in ("title", "pinned") if not getattr(self, name)})


class TurnLine(_Line):
    """A turn: what was said, and the state of the workflow after it, with which it can be gone on from."""

    turn: str = Field(min_length=1)
    """The id of the question's message, or of the reply where there is no question."""
    question: str
    """Empty: the role has spoken first."""
    user: str | None = None
    """Who asked, "" for a stranger; None: nobody has said it."""
    reply: str
    reply_id: str = Field(min_length=1)
    window: int = Field(ge=0, le=100_000)
    """How many messages were in the state."""
    state: dict[str, JsonValue]


async def exported(conversation: Conversation) -> AsyncIterator[str]:
    """Give the lines of the branch that is the head, without line ends.

    Raises:
        ValueError: a value of the state is not plain JSON.
    """
    label = await conversation.label()
    yield Head(role=conversation.context.role, thread=conversation.thread.name, **label.model_dump()).line
    for turn in await conversation.history():
        state = await conversation.values(turn)
        messages: list[AnyMessage] = state.pop("messages")
        name = next((one.name for one in messages if one.id == turn.id), None)
        line = TurnLine(
            turn=turn.id,
            question=turn.question,
            reply=turn.reply or "",
            reply_id=str(messages[-1].id),
            window=len(messages),
            state=exported_state(state),
            **({} if name is None else {"user": name}),
        )
        yield line.model_dump_json(exclude_unset=True)


async def imported(conversation: Conversation, lines: Iterable[str]) -> int:
    """Put a conversation that was exported on an empty thread; nothing is written unless every line can be used.

    An import that was killed is finished by the same lines.

    Returns:
        The number of turns.

    Raises:
        ValueError: a line is not as `exported` writes it, the role is another one, or the thread is not empty.
    """
    head, turns = parsed(lines)
    if head.role != conversation.context.role:
        msg = f"This conversation was with {head.role!r}, not with {conversation.context.role!r}: name that role."
        raise ValueError(msg)
    require_ids(turns)
    turns = [as_named_now(conversation.thread.graph, line) for line in turns]
    require_state(conversation.thread.graph, turns, conversation.saver.serde)
    async with conversation.turn():
        done = await conversation.history()
        begun = await conversation.saver.aget_tuple(conversation.thread.address()) is not None
        if begun and (await conversation.unfinished() or not is_begun_import(done, turns)):
            msg = (
                f"The conversation {conversation.thread.name!r} has begun already: give the imported one another name."
            )
            raise ValueError(msg)
        try:
            await conversation.keep_label(Label(title=as_title(head.title), pinned=head.pinned))
            await restored(conversation, turns, len(done))
        except BaseException:
            if not begun:
                await conversation.discard()
            raise
    return len(turns)


def is_begun_import(done: Sequence[Turn], turns: Sequence[TurnLine]) -> bool:
    """Whether what is on a thread is the first part of what is to be imported, and not all of it."""
    there = [(turn.id, turn.question, turn.reply) for turn in done]
    return len(done) < len(turns) and there == [(one.turn, one.question, one.reply) for one in turns[: len(done)]]


async def restored(conversation: Conversation, turns: Iterable[TurnLine], done: int) -> None:
    """Write a checkpoint a turn, after those that are there already, and keep what was said as if it were said here."""
    said: list[AnyMessage] = []
    node, records, head = last_node(conversation.thread.graph), conversation.talk_records, ""
    await conversation.thread.begin()
    for number, line in enumerate(turns):
        said += [HumanMessage(line.question, id=line.turn, name=line.user)] if line.question else []
        said += [AIMessage(line.reply, id=line.reply_id, name=conversation.context.role)]
        named = dict[str, Any]()
        if records is not None:
            head = named["talk_head"] = await records.extended(head, said[-LATEST:])
        if number >= done:
            window = said[-line.window :] if line.window else []
            state = {**exported_state(line.state), **named, "messages": window}
            values = overwriting(conversation.thread.graph, state)
            await conversation.thread.graph.aupdate_state(conversation.thread.address(), values, as_node=node)


def parsed(lines: Iterable[str]) -> tuple[Head, list[TurnLine]]:
    """Read every line.

    Raises:
        ValueError: a line cannot be used; the message says which.
    """
    head: Head | None = None
    turns: list[TurnLine] = []
    for number, line in enumerate(lines, start=1):
        try:
            if head is None:
                head = Head.model_validate_json(line)
            elif line.strip():
                turns.append(TurnLine.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            msg = f"Line {number} is not of a conversation that was exported: {where}: {first['msg']}."
            raise ValueError(msg) from None
    if head is None:
        msg = "The file is empty: export a conversation into it first."
        raise ValueError(msg)
    return head, turns


def require_ids(turns: Iterable[TurnLine]) -> None:
    """Refuse messages that would take each other's place.

    Raises:
        ValueError: two messages have the same id.
    """
    known: set[str] = set()
    for number, line in enumerate(turns, start=2):
        if (line.turn == line.reply_id) == bool(line.question) or known & {line.turn, line.reply_id}:
            msg = f"Line {number}: the id {line.turn!r} or {line.reply_id!r} is used already: each message has its own."
            raise ValueError(msg)
        known |= {line.turn, line.reply_id}


def as_named_now(graph: CompiledStateGraph[Any, Any, Any, Any], line: TurnLine) -> TurnLine:
    """A turn whose state has the channels of the workflow as it is, where an earlier version called them otherwise."""
    former: Mapping[str, str] = getattr(graph.builder, "renamed_channels", {})
    state = {former.get(name, name): value for name, value in line.state.items() if former.get(name, name)}
    return line.model_copy(update={"state": state})


def require_state(
    graph: CompiledStateGraph[Any, Any, Any, Any], turns: Iterable[TurnLine], serializer: SerializerProtocol
) -> None:
    """Refuse a state that is not the workflow's.

    Raises:
        ValueError: a value has no place in it, is of another kind, or cannot be kept.
    """
    kinds = {name: TypeAdapter(hint) for name, hint in get_type_hints(graph.builder.state_schema).items()}
    for number, line in enumerate(turns, start=2):
        for name, value in line.state.items():
            try:
                kinds[name].validate_json(json.dumps(value), strict=True)
                serializer.dumps_typed(value)
            except (KeyError, ValidationError) as error:
                msg = f"Line {number}: {name!r} does not fit this workflow: import with the method of the export."
                raise ValueError(msg) from error
            except (TypeError, ValueError, OverflowError) as error:
                msg = f"Line {number}: {name!r} cannot be kept ({error}): take it out of the file."
                raise ValueError(msg) from error
            if name == "evidence" and (wrong := misfits(value)):  # type: ignore[arg-type]  # a mapping by its kind
                msg = f"Line {number}: evidence.{next(iter(wrong.values()))}. Take it out of the file."
                raise ValueError(msg)


def exported_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The channels of a state that mean something on another thread."""
    return {name: value for name, value in state.items() if name not in NOT_EXPORTED}


def overwriting(graph: CompiledStateGraph[Any, Any, Any, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Values that take the place of what is there, also in channels that would add them to it."""
    return {
        name: Overwrite(value) if isinstance(graph.channels.get(name), BinaryOperatorAggregate) else value
        for name, value in values.items()
    }
