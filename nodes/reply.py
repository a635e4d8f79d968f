"""The reply: the role speaks, from a prompt that shows the conversation and what the reply rests on."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, merge_message_runs
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.questions import write_message
from dramaturg.models.reading import encodable
from dramaturg.nodes.grounds import NO_GROUNDS, Grounds
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.turn import Question, SummaryState, WindowSettings, earlier_summary, stranger_name
from dramaturg.prompts import fence
from dramaturg.stores.names import normal_name


class ReplySettings(WindowSettings):
    """How freely and how long a role speaks."""

    temperature: float = Field(default=0.3, ge=0, le=2, description="Sampling temperature of the reply.")
    reply_tokens: int = Field(default=250, ge=16, le=8192, description="The most tokens of a reply.")


class AskedState(SummaryState):
    """What every reply reads: the conversation, the summary of what has left its window, and its question."""

    question: Question


S = TypeVar("S", bound=ReplySettings)


@needs(question="read_turn")
async def respond_by_name(state: AskedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer with nothing but the role's name and the task (Vanilla, a baseline of RoleRAG 4.1)."""
    run = await open_run(runtime, ReplySettings)
    runtime.stream_writer({"event": "responding", "knowledge": "none"})
    reply = await spoken(run, state, "respond_by_name", NO_GROUNDS)
    return {"messages": [reply], "usage": {"respond_by_name": run.usage}}


@needs(question="read_turn")
async def respond_from_profile(state: AskedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the short profile of the role's card (Character profile, a baseline of RoleRAG 4.1)."""
    run = await open_run(runtime, ReplySettings)
    runtime.stream_writer({"event": "responding", "knowledge": "profile"})
    reply = await spoken(run, state, "respond_from_profile", NO_GROUNDS)
    return {"messages": [reply], "usage": {"respond_from_profile": run.usage}}


async def spoken(
    run: Run[S],
    state: AskedState,
    name: str,
    grounds: Grounds,
    *,
    data: Mapping[str, str] | None = None,
    quiet: bool = False,
    **values: str,
) -> AIMessage:
    """Have the role speak: the conversation so far, then the prompt's last section with what the reply rests on.

    The summary stands in that section and not in a message of its own: there are servers that refuse two messages of
    the user in a row. Limits stand where the prompt says `$limits`, after the question, or a small model forgets them.

    Args:
        run: of the node that speaks.
        state: the turn.
        name: of the prompt.
        grounds: what the reply rests on; the prompt shows each kind of text under its name, or all as `$grounds`.
        data: more that the prompt shows, fenced; a kind of text that may be missing stands here as "".
        quiet: whether the reply is not streamed.
        values: other values of the prompt.

    Raises:
        ModelError: the model gave no reply.
    """
    role = run.role.card
    texts = {kind: "\n\n".join(all_of) for kind, all_of in grounds["texts"].items()}
    values.setdefault("grounds", "\n\n".join(fence(kind, text) for kind, text in texts.items() if text))
    *system, last = run.prompt(name).messages(
        role=role.name,
        limits="".join(section(run, part, text) for part, text in grounds["limits"].items() if text),
        data={"profile": role.profile, "question": state["question"], **(data or {}), **texts},
        **values,
    )
    last = HumanMessage(earlier_summary(run, state.get("summary", "")) + last.text)
    said_before = earlier(state["messages"], run.role.id, stranger_name(run))
    reply = await write_message(
        run.chat,
        [*system, *merge_message_runs([*said_before, last], chunk_separator="\n\n")],
        temperature=run.settings.temperature,
        max_tokens=run.settings.reply_tokens,
        quiet=quiet,
    )
    return reply.model_copy(update={"name": run.role.id})


def section(run: Run[Any], name: str, text: str) -> str:
    """A text under what its prompt says of it, to stand in front of something."""
    (only,) = run.prompt(name).messages(role=run.role.card.name, data={name: text})
    return f"{only.text}\n\n"


def earlier(messages: Sequence[AnyMessage], role: str = "", stranger: str = "") -> list[BaseMessage]:
    """The conversation before the question, as plain text: clients send all kinds of content blocks.

    A line of somebody else than the role and who asks now has its speaker in front.

    Args:
        messages: the conversation; the last is the question.
        role: the id of the role that answers; empty: every reply is its own.
        stranger: what a user is called of whom nothing is known.
    """
    asks, lines = messages[-1].name, list[BaseMessage]()
    for message in messages[:-1]:
        if message.type not in {"human", "ai"} or not message.text.strip():
            continue
        text, name = encodable(message.text), message.name
        if message.type == "ai":
            another = bool(role and name) and name != role
            lines.append(HumanMessage(f"{name}: {text}") if another else AIMessage(text))
        else:
            another = asks is not None and name is not None and normal_name(name) != normal_name(asks)
            lines.append(HumanMessage(f"{name or stranger}: {text}" if another else text))
    return lines
