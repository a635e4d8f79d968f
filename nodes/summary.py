"""The running summary: a few sentences of what has left the window of a conversation (Wang et al. 2023)."""

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.errors import ModelError, UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.models.reading import encodable
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.turn import TurnInput, WindowSettings, leaving, removals
from dramaturg.prompts import load
from dramaturg.stores.role import Role

# In bytes of UTF-8 a text has much the same length in every language: a token is about four of them.
A_TOKEN = 6  # a summary that keeps to its tokens is never cut
A_SENTENCE = 25  # tokens
A_MESSAGE = 1_600  # the most that is read of a message that leaves the window
A_CONVERSATION = 16_000  # the most that is read of all of them
ECHO = re.compile(
    r"</?(?:summary|conversation|profile|other|events|records)>"
)  # small models like to answer between the tags of the prompt
ENDS = re.compile(r"[.!?…][\"'”’)»]*(?=\s|$)|[。！？][。！？…”’」』）》]*")


class SummarySettings(WindowSettings):
    """How long the summary of a conversation is."""

    summary_tokens: int = Field(
        default=160, ge=0, le=2000, description="The most tokens of the summary of what left the window; 0: none."
    )


class SummaryState(TurnInput):
    """The window, and the summary of what has left it; both live on from turn to turn."""

    summary: str


S = TypeVar("S", bound=SummarySettings)


def window_outcome(state: TurnInput, runtime: Runtime[S]) -> Literal["room", "full"]:
    """Whether more messages are in the state than the window holds."""
    return "full" if len(state["messages"]) > settings(runtime, SummarySettings).window else "room"


async def summarize(state: SummaryState, runtime: Runtime[S]) -> dict[str, Any]:
    """Fold the oldest messages into the summary and take them out of the window: M_i = LLM(S_i, M_{i-1}).

    It comes after the reply, so that no word of that waits for it, and is not streamed. The messages leave also where
    the model gives no summary: then the old one stays, and the evidence says so.
    """
    context = settings(runtime, SummarySettings)
    folded = leaving(state["messages"], most_left(context))
    written = {"messages": removals(folded)}
    if not context.summary_tokens:
        return {**written, "summary": ""}
    return written | await folded_in(context, state.get("summary", ""), folded)


def most_left(context: SummarySettings) -> int:
    """Half of the window, so that the model is not asked in every turn; all of it where it is not asked at all.

    A window of 2 or 3 keeps the last question and its reply.
    """
    return max(2, context.window // 2) if context.summary_tokens else context.window


async def folded_in(context: SummarySettings, summary: str, folded: Sequence[AnyMessage]) -> dict[str, Any]:
    """Have the summary written anew, with what these messages say in it; nothing changes if they say nothing."""
    role = await role_of(context)
    conversation = transcript(folded, role)
    if not conversation:
        return {}
    chat = await respondent_of(context, role)
    messages = prompt(context, role, {"summary": summary, "conversation": conversation})
    try:
        text = await write(chat, messages, temperature=0, max_tokens=context.summary_tokens, quiet=True)
        new = notes_in(text, context.summary_tokens * A_TOKEN)
        written: dict[str, Any] = {"summary": new, "evidence": {"summary": new}}
    except ModelError as error:
        written = {"evidence": {"summary_error": str(error)}}
    return {**written, "usage": {"summarize": chat.account.usage()}}


def prompt(context: SummarySettings, role: Role, data: dict[str, str]) -> list[BaseMessage]:
    """Show the old summary and what was said since, and ask for as many sentences as the tokens are enough for."""
    sentences = max(1, context.summary_tokens // A_SENTENCE)
    language = language_of(context, role)
    return load("summarize", language).messages(role=role.card.name, sentences=sentences, data=data)


def transcript(messages: Sequence[AnyMessage], role: Role) -> str:
    """What was said and by whom, one message a line, so that no message can put words into another's mouth.

    Of long messages only the beginning is shown: `A_MESSAGE` bytes, or fewer where there are many messages.
    """
    told = [message for message in messages if message.type in {"human", "ai"} and message.text.strip()]
    most = min(A_MESSAGE, A_CONVERSATION // max(1, len(told)))
    return "\n".join(clipped(" ".join(f"{speaker(m, role)}: {m.text}".split()), most) for m in told)


def speaker(message: AnyMessage, role: Role) -> str:
    """The name of who said it: another role's where two roles answer on one thread."""
    if message.type == "human":
        return message.name or "user"
    return role.card.name if message.name in {None, "", role.id} else str(message.name)


def clipped(text: str, most: int) -> str:
    """The beginning of a text, at most so many bytes of UTF-8, with an ellipsis where it was cut."""
    data = encodable(text).encode()
    return data.decode() if len(data) <= most else data[: most - len("…".encode())].decode(errors="ignore") + "…"


def notes_in(text: str, most: int) -> str:
    """The notes in an answer, at most so many bytes, whatever the model made of the contract.

    Raises:
        UnusableAnswer: there is nothing between the tags.
    """
    notes = ECHO.sub("", text).strip()
    if not notes:
        msg = "The answer to a question for notes held tags and no text."
        raise UnusableAnswer(msg)
    return whole_sentences(notes, most)


def whole_sentences(text: str, most: int) -> str:
    """The sentences that end within so many bytes of UTF-8; the text up to there if none does."""
    begun = text.encode()[:most].decode(errors="ignore")
    ends = [match.end() for match in ENDS.finditer(begun)]
    return begun[: ends[-1]] if ends else begun


def recalled(summary: str, role: str, language: str) -> str:
    """What the prompt of a reply says of the conversation before the window; nothing if nothing has left it."""
    if not summary:
        return ""
    (section,) = load("earlier", language).messages(role=role, data={"summary": summary})
    return f"{section.text}\n\n"
