"""Chats of SillyTavern as conversations, with their swipes as branches, and conversations as such chats."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import ValidationError

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.json_lines import overwriting
from dramaturg.conversations.thread import LATEST, last_node
from dramaturg.conversations.turns import Turn
from dramaturg.stores.conversations.labels import Label
from dramaturg.stores.formats.chats import OWN, Chat, Message, new_message, swipes_of, with_swipes
from dramaturg.stores.macros import Names
from dramaturg.stores.names import normal_name

LINES = "chat_lines"
"""The key among a message's `additional_kwargs` of the lines of a chat that it was made of."""
HEADER = "chat_header"
"""The same of the line that heads the chat, in its first message, with the name of the user there."""
WINDOW = 40
"""Messages of a chat that the state of a turn holds; those before are in the turns before."""


class Spoken(NamedTuple):
    """What a role heard, what it said, what it might have said instead, and the lines of both."""

    heard: str
    heard_lines: list[Mapping[str, Any]]
    said: str
    swipes: list[str]
    said_lines: list[Mapping[str, Any]]


async def taken_in(conversation: Conversation, chat: Chat, role: Sequence[str]) -> int:
    """Put a chat on an empty thread: a turn for each line of the role, a branch for each swipe. No model is asked.

    What others of a group say is heard, with the name of each in front. Everything that a client keeps in its lines is
    kept with the messages, and goes back into a chat that is written.

    Args:
        conversation: on a thread that has not begun.
        chat: of SillyTavern.
        role: the names of the role; if nobody in the chat has one of them and only one speaks, that is the role.

    Returns:
        The number of turns.

    Raises:
        ValueError: the role says nothing in it, or the thread is not empty.
    """
    spoken = spoken_in(chat, role)
    async with conversation.turn():
        thread = conversation.thread
        if await conversation.saver.aget_tuple(thread.address()) is not None:
            raise ValueError(f"The conversation {thread.name!r} has begun already: name another one by --thread.")
        try:
            await conversation.keep_label(_label_in(chat))
            await _written(conversation, chat, spoken)
        except BaseException:
            await conversation.discard()
            raise
    return len(spoken)


async def _written(conversation: Conversation, chat: Chat, spoken: Sequence[Spoken]) -> None:
    thread, graph = conversation.thread, conversation.thread.graph
    node, after, window = last_node(graph), await conversation.thread.go_to(None), list[AnyMessage]()
    records, head, told = conversation.talk_records, "", ""
    header: dict[str, Any] = {HEADER: {"line": dict(chat.header), "user": _user_in(chat)}}
    for one in spoken:
        asked = {LINES: [dict(line) for line in one.heard_lines], **header}
        said = {LINES: [dict(line) for line in one.said_lines], **({} if one.heard else header)}
        header = {}
        window += [HumanMessage(one.heard, id=str(uuid4()), additional_kwargs=asked)] if one.heard else []
        branches = [*one.swipes, one.said]  # the one that is shown comes last: it is the head
        for text in branches:
            kept = said if text is one.said else {}
            reply = AIMessage(text, id=str(uuid4()), name=conversation.context.role, additional_kwargs=kept)
            question = window[-1:] if one.heard else []
            if text is not one.said and question:  # a branch is a turn of its own, and each turn has its own id
                question = [question[0].model_copy(update={"id": str(uuid4())})]
            before = window[: len(window) - len(question)]
            values = overwriting(graph, {"messages": [*before, *question, reply][-WINDOW:]})
            values |= overwriting(graph, {name: {} for name in ("evidence", "usage") if name in graph.channels})
            if records is not None:
                told = values["talk_head"] = await records.extended(head, [*before, *question, reply][-LATEST:])
            saved = await graph.aupdate_state(thread.address(after), values, as_node=node)
        window, head = [*window, reply][-WINDOW:], told
        after = str(saved["configurable"]["checkpoint_id"])


def spoken_in(chat: Chat, role: Sequence[str]) -> list[Spoken]:
    """A chat as the role has had it."""
    speakers, names = chat.speakers(), {*map(normal_name, role)}
    if not names & {*map(normal_name, speakers)} and len(speakers) == 1:
        names.add(normal_name(speakers[0]))
    called = next((one for one in speakers if normal_name(one) in names), "")
    if not called:
        raise ValueError(
            f"{role[0]} says nothing in this chat: name one of {', '.join(speakers) or 'nobody'} by --role."
        )
    group = len(speakers) > 1
    found: list[Spoken] = []
    heard: list[tuple[str, str]] = []
    lines: list[Mapping[str, Any]] = []
    user = _user_in(chat)
    for raw in chat.messages:
        one = Message.model_validate(raw)
        lines.append(raw)
        if one.is_system or not one.mes.strip():
            continue
        if one.is_user or normal_name(one.name) not in names:
            heard.append((one.name, one.mes))
            continue
        text = "\n\n".join(f"{name}: {said}" if group else said for name, said in heard)
        if not heard and found:  # a line of its own after the last: one reply to what was heard before both
            last = found[-1]
            found[-1] = last._replace(
                said=f"{last.said}\n\n{one.mes}", swipes=[], said_lines=[*last.said_lines, *lines]
            )
        else:
            own = [line for line in lines if line is not raw] if text else []
            swipes = swipes_of(raw, Names(called, user))
            found.append(Spoken(text, own, one.mes, swipes, [raw] if text else [*lines]))
        heard, lines = [], []
    if found and lines:  # what comes after the role's last line
        found[-1] = found[-1]._replace(said_lines=[*found[-1].said_lines, *lines])
    return found


def _label_in(chat: Chat) -> Label:
    """What a person has set about the talk that the chat was written from."""
    metadata = chat.header.get("chat_metadata")
    own = metadata.get(OWN) if isinstance(metadata, dict) else None
    try:
        return (
            Label.model_validate({name: own[name] for name in ("title", "pinned") if name in own}) if own else Label()
        )
    except (ValidationError, TypeError, KeyError):
        return Label()


def _user_in(chat: Chat) -> str:
    """The name of the user in a chat; empty: the user says nothing."""
    return next((one.name for one in map(Message.model_validate, chat.messages) if one.is_user), "")


async def written_out(conversation: Conversation) -> Chat:
    """Write the branch that is the head as a chat: other replies as swipes, evidence in `extra.dramaturg`.

    Raises:
        ValueError: nothing has been said.
    """
    history, branches = await conversation.history(), await conversation.branches()
    if not history:
        raise ValueError(f"There is no conversation {conversation.thread.name!r}: see `dramaturg conversations`.")
    name = conversation.context.role
    role = (await _role_name(conversation)) or name
    header: dict[str, Any] = {}
    user = "User"
    lines: list[Mapping[str, Any]] = []
    beside, past = _said_beside(branches), 0
    for turn in history:
        state = await conversation.values(turn)
        by_id = {one.id: one for one in state.get("messages", [])}
        asked, reply = by_id.get(turn.id), _reply_in(state, turn)
        for message in (asked, reply):
            kept = message.additional_kwargs.get(HEADER) if message else None
            if not header and isinstance(kept, dict) and isinstance(kept.get("line"), dict):
                header, user = kept["line"], str(kept.get("user") or user)
        others = [one for one in beside.get(hash((past, turn.question)), []) if one and one != turn.reply]
        past = hash((past, turn.question, turn.reply))
        if turn.question:
            lines += _lines_of(asked) or [new_message((asked and asked.name) or user, turn.question, user=True)]
        lines += _reply_lines(reply, turn, Names(role, user), others, state.get("evidence") or {})
    given = header.get("chat_metadata")
    metadata = given if isinstance(given, dict) else {}
    own = {"thread_id": conversation.thread.name, "role": name}
    own |= (await conversation.label()).model_dump(exclude_defaults=True)
    header = {"user_name": "unused", "character_name": "unused", **header, "chat_metadata": {**metadata, OWN: own}}
    return Chat(header, lines)


def _said_beside(branches: Sequence[Sequence[Turn]]) -> Mapping[int, list[str]]:
    """What the role has said to each question after the same past, by a hash of both."""
    found: dict[int, dict[str, None]] = {}
    for branch in branches:
        past = 0
        for turn in branch:
            found.setdefault(hash((past, turn.question)), {})[turn.reply or ""] = None
            past = hash((past, turn.question, turn.reply))
    return {place: list(replies) for place, replies in found.items()}


def _reply_in(state: Mapping[str, Any], turn: Turn) -> AnyMessage | None:
    """The message of a turn's reply."""
    return next(
        (one for one in reversed(state.get("messages", [])) if one.type == "ai" and one.text == turn.reply), None
    )


def _lines_of(message: AnyMessage | None) -> list[Mapping[str, Any]]:
    """The lines of a chat that a message was made of; none, where it was said here."""
    lines = message.additional_kwargs.get(LINES) if message else None
    return [line for line in lines if isinstance(line, dict)] if isinstance(lines, list) else []


def _reply_lines(
    reply: AnyMessage | None, turn: Turn, names: Names, others: Sequence[str], evidence: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """The lines of a reply, with what else the role has said there, and why it said this."""
    shown, lines = turn.reply or "", _lines_of(reply)
    at = next((at for at, line in enumerate(lines) if line.get("mes") == shown), None)
    if lines and at is None:  # several lines of a chat that are one reply here
        return lines
    if at is None:
        lines, at = [new_message(names.char, shown, user=False, swipes=others)], 0
    else:
        known = swipes_of(lines[at], names._replace(char=str(lines[at].get("name", names.char))))
        if new := [one for one in others if one not in known]:
            lines = [*lines[:at], with_swipes(lines[at], shown, new), *lines[at + 1 :]]
    if evidence:
        extra = lines[at].get("extra")
        more = {**(extra if isinstance(extra, dict) else {}), OWN: {"turn": turn.id, "evidence": evidence}}
        lines = [*lines[:at], {**lines[at], "extra": more}, *lines[at + 1 :]]
    return lines


async def _role_name(conversation: Conversation) -> str:
    from dramaturg.nodes.run import run_of

    return (await run_of(conversation.context)).role.card.name
