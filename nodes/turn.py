"""A turn of a conversation: what every workflow takes and gives, and the summary of what has left the window."""

import operator
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired
from weakref import WeakKeyDictionary

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, RemoveMessage, trim_messages
from langgraph.config import get_config
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Overwrite
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import Usage, add_usage
from dramaturg.models.errors import ModelError, UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.models.reading import SENTENCE_END, encodable
from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.run import RoleContext, Run, by_rules, open_run, settings
from dramaturg.nodes.wish import WISH, as_wish
from dramaturg.prompts import one_line
from dramaturg.stores.conversations.role_stores import store_of
from dramaturg.stores.conversations.talk import TalkRecords
from dramaturg.stores.role import Role

__all__ = [
    "EvidenceState",
    "StandaloneState",
    "SummarySettings",
    "TurnInput",
    "TurnOutput",
    "TurnState",
    "WindowSettings",
    "read_turn",
    "summarize",
    "window_outcome",
]

# A channel that several slices of a state have is described once. `Field` stands before the reducer: a reducer that is
# not the last of an annotation is none.
Messages = Annotated[
    list[AnyMessage],
    Field(description="The conversation; a turn begins with the user's message as the last one."),
    add_messages,
]
Question = Annotated[str, Field(description="What the user asks: the text of the last message, u.")]
UsageByNode = Annotated[
    dict[str, Usage], Field(description="What each node asked the chat model: calls, tokens, seconds."), add_usage
]
WindowLength = Annotated[int, Field(description="How many messages stay in the state.")]


class TurnInput(TypedDict):
    """What a workflow takes."""

    messages: Messages


class EvidenceState(TypedDict):
    """What every node may add to."""

    evidence: Annotated[
        dict[str, Any], Field(description="Why the reply of this turn is as it is, by mechanism."), operator.or_
    ]
    usage: UsageByNode


class TurnOutput(TurnInput, EvidenceState):
    """What a workflow gives: the window of the conversation, evidence and usage of this turn."""


class TurnState(TurnOutput):
    """A turn under way."""

    question: Question
    window: WindowLength


Understood = Annotated[str, Field(description="What the question means on its own, as the graph around has it.")]


class StandaloneState(EvidenceState):
    """Where a workflow has the question worked out."""

    standalone: NotRequired[Annotated[str, Field(description="What the question means on its own.")]]
    understood: NotRequired[Understood]


class WindowSettings(RoleContext):
    """How much of a conversation stays in its state."""

    window: Open[int] = Field(
        default=20,
        ge=2,
        le=400,
        description="The number of messages that are kept in the state and shown to the model before the question.",
    )


LONGEST_MESSAGE = 100_000
"""Characters of a message: a longer question is refused, and of an earlier message no more is shown the model."""


# In bytes of UTF-8 a text has much the same length in every language: a token is about four of them.
A_TOKEN = 6  # a summary that keeps to its tokens is never cut


A_SENTENCE = 25  # tokens


A_MESSAGE = 1_600  # the most that is read of a message that leaves the window


A_CONVERSATION = 16_000  # the most that is read of all of them


ROUND = re.compile(
    r"(\w[^\n]{4,200}?)(?:[\s,.;:!?，。；：！？]{0,20}\1){2,}"
)  # what a small model says again and again
ROUNDS = 4  # times as much as is kept: in a longer text nobody looks for a circle
ECHO = re.compile(
    r"</?(?:summary|conversation|profile|other|events|records)>"
)  # small models like to answer between the tags of the prompt
LONGEST_NAME = 80  # characters of a name that came with a message


class SummarySettings(WindowSettings):
    """What is shown of a conversation before its window: a summary, and what comes back of it."""

    summary_tokens: Open[int] = Field(
        default=160,
        ge=0,
        le=2000,
        description="The largest number of tokens of the summary of older messages; 0: no summary.",
    )
    talk_tokens: Open[int] = by_rules(
        paper=0,
        ours=600,
        ge=0,
        le=20_000,
        description="The largest number of tokens of what was said before the window and comes back since the question "
        "speaks of it; 0: nothing is kept for that. The papers' talks have one turn.",
    )
    talk_facts: Open[Literal["off", "on"]] = Field(
        default="off",
        description="on: after a reply, one question asks what of the exchange is to be noted, and which earlier notes "
        "that makes untrue; what has changed comes back with what it was.",
    )
    known_as: Closed[str] = Field(
        default="",
        max_length=200,
        description="Under which name or key the user is known in other talks with the role: what was said there comes "
        "back, too. Empty: who a LangGraph server has let in, else each talk is for itself.",
    )

    scenes: Closed[str] = Field(
        default="",
        max_length=200,
        description="Under which name or key scenes are kept in which the role has played: what it has heard there "
        "comes back, too. Empty: none do.",
    )


class RecalledTalk(TypedDict):
    """What was said at once, before the window, and comes back."""

    when: str
    """How long ago, in words; empty: just now."""
    text: str
    """Who said what, a line each."""
    turn: str
    """The id of its first message."""
    place: int
    """How many exchanges of the talk were before it."""
    talk: str
    """The name of the other talk in which it was said; empty: this one."""


Recalled = Annotated[
    list[RecalledTalk],
    Field(description="What was said before the window and comes back; it leaves the state with the reply."),
]


TalkHead = Annotated[str, Field(description="The id of the last exchange that was kept of this talk; it lives on.")]


class SummaryState(TurnInput):
    """The window, and what has left it."""

    summary: Annotated[str, Field(description="What has left the window, in short; it lives on from turn to turn.")]
    window: WindowLength
    recalled_talk: NotRequired[Recalled]
    talk_head: NotRequired[TalkHead]


class TalkState(SummaryState, EvidenceState):
    """What is kept of a talk, and comes back."""

    question: Question


async def read_turn(state: SummaryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take the question from the last message, and begin new evidence and usage.

    More than the window and the question comes from elsewhere: a client that sends a whole conversation, a window that
    was made smaller, turns that had no reply. What is too old then is dropped without a summary; it can come back.

    Raises:
        ValueError: the last message is not a user's, is empty or too long, or is not valid Unicode.
        StorageError: what is dropped cannot be kept.
    """
    own = settings(runtime, WindowSettings)
    messages, question = state["messages"], question_in(state["messages"])
    dropped, kept = leaving(messages, own.window + 1), talk_records(runtime, own)
    head = {"talk_head": await kept.extended(state.get("talk_head", ""), messages)} if dropped and kept else {}
    return {
        "question": question,
        "window": own.window,
        "messages": removals(dropped),
        "evidence": Overwrite({}),
        "usage": Overwrite({}),
        **head,
    }


def talk_records(runtime: Runtime[Any], own: RoleContext) -> TalkRecords | None:
    """Where what is said in this talk is kept; None: nothing of it is to come back.

    A graph that was compiled with a checkpointer and no store has it in the process, as long as that checkpointer is
    there; one that was compiled without either, as long as the call.
    """
    if not getattr(own, "talk_tokens", 0):
        return None
    thread = runtime.execution_info.thread_id if runtime.execution_info else None
    if thread is not None and runtime.store is not None:
        return TalkRecords(store_of(runtime.store, own.role), own.role, thread)
    saver = get_config().get("configurable", {}).get("__pregel_checkpointer")
    if thread is not None and saver:
        return TalkRecords(_without_store.setdefault(saver, InMemoryStore()), own.role, thread)
    if own._opened is None:
        return None
    return TalkRecords(own._opened.at_hand.setdefault("talk", InMemoryStore()), own.role, "")


_without_store: WeakKeyDictionary[Any, InMemoryStore] = WeakKeyDictionary()


def question_in(messages: list[AnyMessage]) -> str:
    """The text of the last message, which must be the user's.

    Raises:
        ValueError: it is not, has no text or more than `LONGEST_MESSAGE` characters, is not valid Unicode, or its wish
            for the reply cannot be used.
    """
    last = messages[-1] if messages else None
    text = last.text.replace("\0", "").strip() if isinstance(last, HumanMessage) else ""
    if not text:
        msg = "There is nothing to answer: the last message must be the user's and hold some text."
        raise ValueError(msg)
    if len(text) > LONGEST_MESSAGE:
        msg = (
            f"The message has {len(text):,} characters, and {LONGEST_MESSAGE:,} are the most: send a part of it, or "
            "let the role learn the text as a document."
        )
        raise ValueError(msg)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = "The message is not valid Unicode (it holds half of a surrogate pair): send it again as UTF-8."
        raise ValueError(msg) from error
    as_wish(messages[-1].additional_kwargs.get(WISH, ""))
    return text


def leaving(messages: list[AnyMessage], most: int) -> list[AnyMessage]:
    """The oldest messages, so that at most `most` are left; where some leave, the first that stays is a user's.

    A conversation that the role has begun keeps the line with which it did, as long as there is room for all.
    """
    if len(messages) <= most:
        return []
    kept = trim_messages(messages, max_tokens=most, token_counter=len, strategy="last", start_on="human")
    return messages[: len(messages) - len(kept)]


def leaving_window(messages: list[AnyMessage], own: SummarySettings) -> list[AnyMessage]:
    """The messages that leave after a turn for which the window has no room.

    Half of the window leaves, so that the model is not asked in every turn; only what is over where it is not asked. A
    window of 2 or 3 keeps the last question and its reply.
    """
    return leaving(messages, max(2, own.window // 2) if own.summary_tokens else own.window)


def removals(messages: list[AnyMessage]) -> list[BaseMessage]:
    """What a node returns to take messages out of the state."""
    return [RemoveMessage(id=str(message.id)) for message in messages]


def stranger_name(run: Run[Any]) -> str:
    """What prompts call a user of whom nothing is known."""
    (only,) = run.prompt("stranger").messages()
    return only.text


def window_outcome(state: SummaryState) -> Literal["room", "full"]:
    """Whether more messages are in the state than the window holds; where nobody said how many, it has room."""
    return "full" if len(state["messages"]) > state.get("window", len(state["messages"])) else "room"


async def summarize(state: SummaryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Fold the oldest messages into the summary and take them out of the window: M_i = LLM(S_i, M_{i-1}).

    It comes after the reply, so that no word of that waits for it, and is not streamed. The messages leave also where
    the model gives no summary: then the old one stays, and the evidence says so.
    """
    run = await open_run(runtime, SummarySettings)
    tokens = run.settings.summary_tokens
    folded = leaving_window(state["messages"], run.settings)
    written: dict[str, Any] = {"messages": removals(folded)}
    if not tokens:
        return {**written, "summary": ""}
    conversation = transcript(folded, run.role, stranger_name(run))
    if not conversation:
        return written
    messages = run.prompt("summarize").messages(
        role=run.role.card.name,
        sentences=max(1, tokens // A_SENTENCE),
        data={"summary": state.get("summary", ""), "conversation": conversation},
    )
    try:
        text = await write(run.chat, messages, temperature=0, max_tokens=tokens, quiet=True)
        new = notes_in(text, tokens * A_TOKEN)
        written |= {"summary": new, "evidence": {"summary": new}}
    except ModelError as error:
        written |= {"evidence": {"summary_error": str(error)}}
    return {**written, "usage": {"summarize": run.usage}}


def asked_as(question: AnyMessage, name: str) -> AnyMessage:
    """The user's message with who speaks, "" for a stranger: in the next turn it may be another user.

    Whose a message is that came with a name, and where no other is set, is known.
    """
    return question.model_copy(update={"name": name or question.name or ""})


def transcript(messages: Sequence[AnyMessage], role: Role, stranger: str = "user") -> str:
    """What was said and by whom, one message a line, so that no message can put words into another's mouth.

    Of long messages only the beginning is shown: `A_MESSAGE` bytes, or fewer where there are many messages.

    Args:
        messages: the conversation.
        role: who answers.
        stranger: what a user is called of whom it is known that nobody knows who that is.
    """
    told = [message for message in messages if message.type in {"human", "ai"} and message.text.strip()]
    most = min(A_MESSAGE, A_CONVERSATION // max(1, len(told)))
    # Characters are cut first: no more of them than bytes are shown.
    lines = (f"{speaker(m, role, stranger)}: {m.text.lstrip()[:LONGEST_MESSAGE]}" for m in told)
    return "\n".join(clipped(" ".join(line.split()), most) for line in lines)


def speaker(message: AnyMessage, role: Role, stranger: str = "user") -> str:
    """The name of who said it: another role's where two roles answer on one thread."""
    return speaker_named(message.type, message.name, role, stranger)


def speaker_named(who: str, name: str | None, role: Role, stranger: str) -> str:
    """The same of the type of a message and the name that came with it."""
    if who == "human":
        return "user" if name is None else shown_name(name) or stranger
    return role.card.name if name in {None, "", role.id} else shown_name(str(name))


def shown_name(name: str) -> str:
    """The name that came with a message, in front of what was said: with a line in it, another would have said that."""
    return one_line(name.replace(":", " ").replace("：", " "), LONGEST_NAME)


def clipped(text: str, most: int) -> str:
    """The beginning of a text, at most so many bytes of UTF-8, with an ellipsis where it was cut."""
    data = encodable(text).encode()
    return data.decode() if len(data) <= most else data[: most - len("…".encode())].decode(errors="ignore") + "…"


def notes_in(text: str, most: int) -> str:
    """The notes in an answer, at most so many bytes, whatever the model made of the contract; of a circle, one round.

    Raises:
        UnusableAnswer: there is nothing between the tags.
    """
    notes = ROUND.sub(r"\1", ECHO.sub("", text)[: most * ROUNDS]).strip()
    if not notes:
        msg = "The answer to a question for notes held tags and no text."
        raise UnusableAnswer(msg)
    return sentences_within(notes, most)


def sentences_within(text: str, most: int) -> str:
    """The sentences that end within so many bytes of UTF-8; the text up to there if none does."""
    begun = text.encode()[:most].decode(errors="ignore")
    ends = [match.end() for match in SENTENCE_END.finditer(begun)]
    return begun[: ends[-1]] if ends else begun


def earlier_summary(run: Run[Any], summary: str) -> str:
    """What the prompt of a reply says of the conversation before the window; nothing if nothing has left it."""
    if not summary:
        return ""
    (section,) = run.prompt("earlier").messages(role=run.role.card.name, data={"summary": summary})
    return f"{section.text}\n\n"


def recalled_talk(run: Run[Any], recalled: Sequence[RecalledTalk]) -> str:
    """What the prompt of a reply says of what comes back of the talk; nothing if nothing does."""
    if not recalled:
        return ""
    (section,) = run.prompt("recalled_talk").messages(
        role=run.role.card.name, data={"recalled": recalled_text(recalled)}
    )
    return f"{section.text}\n\n"


def recalled_text(recalled: Sequence[RecalledTalk]) -> str:
    """What comes back of a talk, in its order, with the time before what was said together."""
    parts, last, talk = list[str](), -2, ""
    for one in recalled:
        goes_on = one["place"] == last + 1 and parts and one["talk"] == talk
        parts.append(one["text"] if goes_on or not one["when"] else f"[{one['when']}]\n{one['text']}")
        if parts[:-1] and not goes_on:
            parts[-1] = f"\n{parts[-1]}"
        last, talk = one["place"], one["talk"]
    return "\n".join(parts)
