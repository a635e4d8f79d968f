"""The reply: knowledge and attributes kept apart in the prompt, spoken by the role in its language."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.account import Usage
from dramaturg.models.chat import ChatModel
from dramaturg.models.questions import write_message
from dramaturg.models.reading import encodable
from dramaturg.nodes.passages.attributes import Attribute, updated_memory
from dramaturg.nodes.passages.retrieval import Candidate, RetrievalSettings, in_context, passages_of
from dramaturg.nodes.run import language_of, respondent_of, role_of, run_of, settings
from dramaturg.nodes.summary import SummaryState, recalled
from dramaturg.nodes.turn import WindowSettings
from dramaturg.prompts import load
from dramaturg.stores.index.passages import PassageStore


class ReplySettings(WindowSettings):
    """How freely and how long a role speaks."""

    temperature: float = Field(default=0.3, ge=0, le=2, description="Sampling temperature of the reply.")
    reply_tokens: int = Field(default=250, ge=16, le=8192, description="The most tokens of a reply.")


class GroundedReplySettings(ReplySettings, RetrievalSettings):
    """A reply that rests on passages."""


class AskedState(SummaryState):
    """What every reply reads: the conversation, the summary of what has left its window, and its question u."""

    question: str


class KnowledgeState(AskedState):
    """What a reply from knowledge alone reads."""

    version: str
    candidates: list[Candidate]


class KnowledgeAndAttributesState(KnowledgeState):
    """What a reply in AMADEUS reads: knowledge from retrieval, attributes from selection and extraction."""

    selected: list[Candidate]
    attributes: list[Attribute]
    role_memory: list[Attribute]


Data = Mapping[str, str]


async def respond(state: KnowledgeAndAttributesState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the retrieved passages as knowledge and from GS and AE as attributes (AMADEUS, Figure 2).

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, GroundedReplySettings)
    data = await knowledge_and_attributes(state, context)
    reply, usage = await spoken(context, state, "respond_with_attributes", data)
    return {"messages": [reply], "usage": {"respond": usage}}


async def respond_from_knowledge(state: KnowledgeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the retrieved passages alone (naive RAG, the baseline of AMADEUS Table 6).

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, GroundedReplySettings)
    store = await passages_of(await run_of(context), state["version"])
    data = {"knowledge": passages_text(store, state["candidates"][: context.knowledge])}
    reply, usage = await spoken(context, state, "respond_from_knowledge", data)
    return {"messages": [reply], "usage": {"respond_from_knowledge": usage}}


async def spoken(
    context: ReplySettings,
    state: AskedState,
    name: str,
    data: Data,
    limits: Data | None = None,
    *,
    chat: ChatModel | None = None,
    quiet: bool = False,
    **values: str,
) -> tuple[AIMessage, Usage]:
    """Have the role speak: the conversation so far, then the prompt's last section with what the reply rests on.

    The summary stands in that section and not in a message of its own: there are servers that refuse two messages of
    the user in a row. What limits the reply (texts by the name of their prompt, left out where empty) stands where
    the prompt says `$limits`: after the question, or a small model forgets it. A `quiet` reply is not streamed.
    """
    role = await role_of(context)
    chat = chat or await respondent_of(context, role)
    language = language_of(context, role)
    *system, last = load(name, language).messages(
        role=role.card.name,
        limits="".join(section(part, text, role.card.name, language) for part, text in (limits or {}).items() if text),
        data={"profile": role.card.profile, "question": state["question"], **data},
        **values,
    )
    last = HumanMessage(recalled(state.get("summary", ""), role.card.name, language) + last.text)
    messages = [*system, *earlier(state["messages"]), last]
    reply = await write_message(
        chat, messages, temperature=context.temperature, max_tokens=context.reply_tokens, quiet=quiet
    )
    return reply.model_copy(update={"name": role.id}), chat.account.usage()


def section(name: str, text: str, role: str, language: str) -> str:
    """A text under what its prompt says of it, to stand in front of something."""
    (only,) = load(name, language).messages(role=role, data={name: text})
    return f"{only.text}\n\n"


def earlier(messages: Sequence[AnyMessage]) -> list[BaseMessage]:
    """The conversation before the question, as plain text: clients send all kinds of content blocks."""
    said = [message for message in messages[:-1] if message.type in {"human", "ai"}]
    return [type(message)(content=encodable(message.text)) for message in said if message.text.strip()]


async def knowledge_and_attributes(state: KnowledgeAndAttributesState, context: GroundedReplySettings) -> Data:
    """What the reply of AMADEUS rests on. What is knowledge and was selected too stands there once, as knowledge."""
    store = await passages_of(await run_of(context), state["version"])
    knowledge = state["candidates"][: context.knowledge]
    more = [candidate for candidate in state["selected"] if candidate not in knowledge]
    return {
        "knowledge": passages_text(store, knowledge),
        "attributes": attributes_text(store, more, known_of_self(state)),
    }


def known_of_self(state: KnowledgeAndAttributesState) -> list[Attribute]:
    """The role memory, and what this turn found also where a role remembers less than that."""
    return updated_memory(
        state["role_memory"], state["attributes"], len(state["role_memory"]) + len(state["attributes"])
    )


def passages_text(store: PassageStore, candidates: Sequence[Candidate]) -> str:
    """Passages under their headings."""
    return "\n\n".join(in_context(store.get(candidate["passage"])) for candidate in candidates)


def attributes_text(store: PassageStore, selected: Sequence[Candidate], memory: Sequence[Attribute]) -> str:
    """The attributes that are known of the role, and the passages of guided selection."""
    return "\n\n".join(["\n".join(f"- {a['attribute']}" for a in memory), passages_text(store, selected)]).strip()


async def respond_by_name(state: AskedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer with nothing but the role's name and the task (Vanilla).

    Raises:
        ModelError: the model gave no reply.
    """
    reply, usage = await spoken(settings(runtime, ReplySettings), state, "respond_by_name", {})
    return {"messages": [reply], "usage": {"respond_by_name": usage}}


async def respond_from_profile(state: AskedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the short profile of the role's card (Character profile).

    Raises:
        ModelError: the model gave no reply.
    """
    reply, usage = await spoken(settings(runtime, ReplySettings), state, "respond_from_profile", {})
    return {"messages": [reply], "usage": {"respond_from_profile": usage}}
