"""The running summary: a few sentences of what has left the window of a conversation (Wang et al. 2023)."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.errors import ModelError, UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.models.reading import encodable
from dramaturg.nodes.run import open_run, settings
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


def window_outcome(state: TurnInput, runtime: Runtime[Any]) -> Literal["room", "full"]:
    """Whether more messages are in the state than the window holds."""
    return "full" if len(state["messages"]) > settings(runtime, SummarySettings).window else "room"


async def summarize(state: SummaryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Fold the oldest messages into the summary and take them out of the window: M_i = LLM(S_i, M_{i-1}).

    It comes after the reply, so that no word of that waits for it, and is not streamed. The messages leave also where
    the model gives no summary: then the old one stays, and the evidence says so.
    """
    run = await open_run(runtime, SummarySettings)
    tokens = run.settings.summary_tokens
    # Half of the window leaves, so that the model is not asked in every turn; only what is over where it is not asked.
    # A window of 2 or 3 keeps the last question and its reply.
    most = max(2, run.settings.window // 2) if tokens else run.settings.window
    folded = leaving(state["messages"], most)
    written: dict[str, Any] = {"messages": removals(folded)}
    if not tokens:
        return {**written, "summary": ""}
    conversation = transcript(folded, run.role)
    if not conversation:
        return written
    messages = load("summarize", run.language).messages(
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
