"""Asking a question: within a deadline, in its turn, again if need be, and from disk if the answer is kept there.

An answer in a fixed format is had by log-probabilities, by a JSON schema that the server enforces, or by asking for it.
"""

import asyncio
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from itertools import groupby, pairwise
from string import Template
from typing import Any, Generic, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from pydantic import TypeAdapter, ValidationError

from dramaturg.models.answer_cache import cache_key
from dramaturg.models.chat import ChatModel, tokens_in
from dramaturg.models.clients import is_embedded
from dramaturg.models.clock import REPLY_SHARE, within
from dramaturg.models.errors import (
    ADVICE,
    Filtered,
    ModelError,
    ModelUnavailable,
    PromptRefused,
    RequestRejected,
    UnusableAnswer,
    WeightsError,
    client_errors,
    model_error,
)
from dramaturg.models.reading import (
    MAX_CHARACTERS,
    HeldBack,
    InvalidAnswer,
    NoProbabilities,
    Undecided,
    first_token,
    is_json,
    text_of,
    thoughts_of,
)
from dramaturg.models.servers.completions import BrokenOff, adapting, is_openai_client, sender_of
from dramaturg.models.servers.pace import Urgency, unhurried
from dramaturg.models.thoughts import split_thoughts

T = TypeVar("T")

ONE_TOKEN = {"max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 0, "stream": False}
MAX_TOKENS = 4096  # of an answer in a format; the deadline bounds it too
UNREADABLE = 3
"""Answers in a row without use, after which a step asks no more: who cannot do a task is not asked thirty times.

Measured by `benchmarks/giving_up.py`: of the embedded model's 162 questions in twenty turns none stayed without an
answer. Where one in twenty does, three in a row stop 0.3 % of steps of 30 questions in vain, and two would stop 6 %.
"""
UNDECIDED = 2
"""First tokens in a row that told no answer of a kind, and none before, after which it is asked by its text."""
SHORT = ("decide", "rate", "choose")  # kinds of questions whose answers are all about as long
CHARACTERS_REPEATED = 2000  # of its invalid answer that a model is shown again
LANGUAGES = ("en", "zh", "ko")
# What chat templates take for the end of a message and the like: Qwen, Llama, Gemma, Mistral, DeepSeek, GLM, gpt-oss,
# Command-R, EXAONE, MiniMax, Nemotron, Seed, Baichuan, and what models of code fill in by.
CONTROL = re.compile(
    r"<(?=[|｜][^|｜<>\n]{1,60}[|｜]>|</?SYS>>"
    r"|/?(?:s|bos|eos|pad|unk|mask|sep|cls|sop|eop|eoh|eoa|think|tools?|tool_calls?|tool_response|fim_[a-z]{1,20}"
    r"|(?:start|end)_of_[a-z]{1,20}|[a-z]{1,20}_token|[a-z]{1,20}_soft_token|unused\d{1,5}|(?:reserved|extra_id|special)_\d{1,5}"
    r"|seed:[a-z_:]{1,40})>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|CALL_ID|ARGS|IMG|IMG_BREAK|IMG_END"
    r"|AUDIO|BEGIN_AUDIO|MODEL_SETTINGS|THINK|PREFIX|MIDDLE|SUFFIX|gMASK|sMASK)\]|\|[^|\[\]\n]{1,60}\|\]|e~\[)"
    r"|\](?=~!?b[\[\]])",
    re.IGNORECASE,
)
JOINER = "\u2060"
"""WORD JOINER, which is not seen and takes no place."""


@cache
def quiet(kind: str) -> RunnableConfig:
    """How a question is asked whose answer is not part of what a user reads; who traces calls is told its kind."""
    return RunnableConfig(tags=[TAG_NOSTREAM], metadata={"question": kind})


@dataclass(frozen=True)
class ModelQuestion(Generic[T]):
    """What is asked: the kind, the messages, the type of the answer, and all else that the answer depends on."""

    kind: str
    messages: Sequence[BaseMessage]
    answer: type[T]
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AnswerFormat(Generic[T]):
    """A JSON schema, and how an answer is read.

    `weigh` is how it follows from the first token's probabilities, if it does; `read_cut` how one is read that ends at
    the token limit, if it can be: it raises `InvalidAnswer`, with what there is as its `rest`.
    """

    schema: Mapping[str, Any]
    read: Callable[[str], T]
    weigh: Callable[[Mapping[str, float]], T] | None = None
    read_cut: Callable[[str], T] | None = None


async def ask(chat: ChatModel, question: ModelQuestion[T], answer: Callable[[BaseChatModel], Awaitable[T]]) -> T:
    """Take the answer from disk, or have it from the model within the deadline and keep it.

    In a turn, whoever asks is not answered any more after `UNREADABLE` answers in a row that nothing could be read of.
    """
    unreadable, in_turn = chat.account.unreadable, chat.clock is not None and not math.isinf(chat.clock.seconds)
    try:
        if in_turn and unreadable[question.kind] >= UNREADABLE:
            many = f"The model {chat.name!r} gave no usable answer to {UNREADABLE} questions of the kind"
            raise UnusableAnswer(f"{many} {question.kind!r} in a row: it is asked no more of them in this step.")
        if chat.window and tokens_in(question.messages) // 2 > chat.window:  # by any count
            seen = f"its window has {chat.window} tokens"
            raise PromptRefused(ADVICE[PromptRefused].format(name=chat.name, seen=seen))
        answered = await _asked(chat, question, answer)
    except ModelError as error:
        unreadable[question.kind] += isinstance(error, UnusableAnswer | RequestRejected) and not isinstance(
            error, Filtered
        )
        chat.account.record_unanswered()
        raise
    unreadable[question.kind] = 0
    return answered


async def _asked(chat: ChatModel, question: ModelQuestion[T], answer: Callable[[BaseChatModel], Awaitable[T]]) -> T:
    if chat.cache is None:
        return await in_turn(chat, question.kind, answer)
    key = cache_key(chat.identity, question.kind, question.messages, question.parameters)
    adapter = TypeAdapter(question.answer)
    try:
        if (kept := await chat.cache.get(key)) is not None:
            value = adapter.validate_python(kept)
            chat.account.record_cached()
            return value
    except ValidationError:
        pass  # kept by another version, or not by us: ask again and replace it
    value = await in_turn(chat, question.kind, answer)
    await chat.cache.set(key, adapter.dump_python(value, mode="json", by_alias=True, exclude_defaults=True))
    return value


async def ask_formatted(
    chat: ChatModel,
    question: ModelQuestion[T],
    answer_format: AnswerFormat[T],
    *,
    temperature: float = 0,
    added: Sequence[BaseMessage] = (),
) -> T:
    """Ask for an answer in a format; messages that are `added` follow from the question's parameters."""
    messages = without_control([*question.messages, *added])
    return await ask(
        chat,
        question,
        lambda client: FormattedCall(client, chat, question.kind, messages, answer_format, temperature).answer(),
    )


def without_control(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages with an invisible character in what a chat template would take for a token of its own.

    Users, documents and models write the texts of messages: a text must not end its message, or begin another, and
    neither must texts of a message that follow each other.
    """

    def shown(content: Any) -> Any:
        if isinstance(content, str):
            return next(marked([content]))
        parts: list[Any] = []
        for is_text, following in groupby(content, lambda part: text_in(part) is not None):
            run = list(following)
            if is_text:
                texts = marked([str(text_in(part)) for part in run])
                run = [
                    one if isinstance(part, str) else {**part, "text": one}
                    for part, one in zip(run, texts, strict=True)
                ]
            parts += run
        return parts

    named = [one.model_copy(update={"name": next(marked([one.name]))}) if one.name else one for one in messages]
    return [one.model_copy(update={"content": shown(one.content)}) for one in named]


def text_in(part: Any) -> str | None:
    """The text of a part of a message; None: it has none."""
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else None


def marked(texts: Sequence[str]) -> Iterator[str]:
    """Each of some texts that are read as one, with an invisible character in what is a token there."""
    ends, begin = [match.end() for match in CONTROL.finditer("".join(texts))], 0
    for text in texts:
        inside = [end - begin for end in ends if begin < end <= begin + len(text)]
        yield JOINER.join(text[one:other] for one, other in pairwise([0, *inside, len(text)]))
        begin += len(text)


async def in_turn(chat: ChatModel, kind: str, answer: Callable[[BaseChatModel], Awaitable[T]]) -> T:
    """Wait for a place at the server, then have the answer within the deadline. Starting the client does not count.

    In the turn of a conversation, waiting counts too: see `dramaturg.models.clock`.
    """
    client = await client_of(chat)
    sender = sender_of(client)
    if sender:
        chat.shared.server = sender.server
        chat.shared.pace = chat.shared.pace if is_embedded(chat.model) else sender.pace
    await chat.shared.server.read()
    if is_embedded(chat.model):
        chat.shared.server.learn(unopened=0)
    kept = 0 if chat.replies else REPLY_SHARE
    bounded = partial(within, chat.clock, asked=chat.shared, name=chat.name, kept=kept)
    pace = chat.shared.pace
    of_turn = chat.clock is not None and not math.isinf(chat.clock.seconds) and not unhurried.get()
    urgency: Urgency = 2 if not of_turn else 0 if chat.replies else 1
    async with bounded(math.inf), chat.limit, pace.place(urgency, id(chat.clock)) as place, bounded(chat.deadline):
        begun = time.monotonic()
        try:
            value = await answer(client)
        except ModelError as error:
            if isinstance(error, ModelUnavailable) and not sender:  # else it has heeded each request
                place.heed(too_many=True)
            if chat.shared.server.is_silent:
                error.lasts = math.inf  # for the turn: its other questions would be answered alike
            raise
        if not sender:
            place.heed(too_many=False)
        if kind in SHORT:
            pace.note_short(time.monotonic() - begun)
    if chat.clock and chat.replies:
        chat.clock.replied = True
    return value


async def client_of(chat: ChatModel) -> BaseChatModel:
    """The client of a chat's model, which is started once, in a thread: that reads files, and may start a server."""
    if isinstance(chat.model, BaseChatModel):
        return adapting(chat.model)
    if not chat.shared.client:
        chat.shared.client = adapting(await typed_errors(asyncio.to_thread(lambda: chat.client), chat.name))
    return chat.shared.client


async def typed_errors(call: Awaitable[T], name: str) -> T:
    """Await a call of the client of model `name`, and raise what goes wrong as an error of the package."""
    try:
        return await call
    except (ModelError, WeightsError, InvalidAnswer):
        raise
    except client_errors() as error:
        failed = model_error(error, name)
    raise failed  # outside of the handler: the client's error repeats what the server said


async def counted(chat: ChatModel, call: Awaitable[AIMessage], read: Callable[[AIMessage], T]) -> T:
    """Make one call, read its answer, and put both on the account."""
    begun, usable, message = time.monotonic(), False, None
    try:
        message = await typed_errors(call, chat.name)
        learn_habits(chat, message)
        await chat.shared.server.keep()
        answer = read(message)
        usable = True
        return answer
    except HeldBack:
        raise Filtered(ADVICE[Filtered].format(name=chat.name, seen="content_filter")) from None
    finally:
        tokens, thoughts = (message.usage_metadata, thoughts_of(message)) if message else (None, "")
        chat.account.record(time.monotonic() - begun, usable=usable, tokens=tokens, thoughts=thoughts)


def learn_habits(chat: ChatModel, message: AIMessage) -> None:
    """Note whether a model thinks aloud, and whether it begins with that, from a text that came to its end."""
    text = str(message.text) if isinstance(message.content, str | list) else ""
    if message.response_metadata.get("finish_reason") != "length" and len(text) > 1:
        split = split_thoughts(text[:MAX_CHARACTERS])
        chat.shared.server.learn(unopened=int(split.unopened))
        if split.thoughts:
            chat.shared.server.learn(thinks=1)


def unusable(chat: ChatModel, kind: str) -> UnusableAnswer:
    """Say that a question has no answer, without a word of what the model said."""
    tries = f"{chat.attempts} attempt{'s' if chat.attempts > 1 else ''}"
    msg = f"The model {chat.name!r} gave no usable answer to a question of the kind {kind!r} in {tries}."
    return UnusableAnswer(msg)


@dataclass(frozen=True)
class FormattedCall(Generic[T]):
    """One question to one model, in each of the ways that an answer in a format can be had."""

    client: BaseChatModel
    chat: ChatModel
    kind: str
    messages: Sequence[BaseMessage]
    format: AnswerFormat[T]
    temperature: float
    """Of an answer that the server holds to a schema."""

    async def answer(self) -> T:
        """Ask in the best way that the server takes, and remember the ways that it refuses.

        A way counts as refused when the same question then passes in another way: a prompt that is too long rules
        out none.
        """
        refused, server = set[str](), self.chat.shared.server
        for way, attempt in self.ways().items():
            if way in server.refused:  # by now: others have asked
                continue
            try:
                answer = await attempt()
                break
            except RequestRejected:
                if server.refuses_all():
                    raise
                refused.add(way)
            except NoProbabilities:
                refused.add(way)
                if self.chat.shared.undecided[self.kind] >= 0:  # there never were any
                    server.learn([way])
            except Undecided:
                pass
        else:
            answer = await self.by_prompt()
        server.doubt(refused - server.refused)
        await server.keep()
        return answer

    def ways(self) -> dict[str, Callable[[], Awaitable[T]]]:
        """The ways that need a server's help, best first, as far as this one is not known to refuse them."""
        if not speaks_openai(self.client):
            return {}
        ways: dict[str, Callable[[], Awaitable[T]]] = {"json_schema": self.by_schema}
        if self.format.weigh and self.chat.shared.undecided[self.kind] < UNDECIDED:
            ways = {"logprobs": partial(self.by_probabilities, self.format.weigh), **ways}
        refused = self.chat.shared.server.refused
        if "json_schema" in refused:
            ways["json_object"] = self.by_object
        return {way: attempt for way, attempt in ways.items() if way not in refused}

    async def by_probabilities(self, weigh: Callable[[Mapping[str, float]], T]) -> T:
        """Look at the first token only. While it is not known that this tells answers of a kind, one is asked for."""
        undecided = self.chat.shared.undecided
        if undecided[self.kind] < 0:
            return await self._by_first_token(weigh)
        async with self.chat.shared.first.get():
            if undecided[self.kind] >= UNDECIDED or "logprobs" in self.chat.shared.server.refused:
                raise Undecided
            if undecided[self.kind] >= 0:
                try:
                    return await self._by_first_token(weigh)
                except Undecided:
                    undecided[self.kind] += 1
                    raise
        return await self._by_first_token(weigh)

    async def _by_first_token(self, weigh: Callable[[Mapping[str, float]], T]) -> T:
        call = self.client.bind(**ONE_TOKEN).ainvoke(list(self.messages), quiet(self.kind))
        try:
            answer = await counted(self.chat, call, lambda message: weigh(first_token(message)))
        except Filtered:
            raise
        except (UnusableAnswer, BrokenOff):
            raise Undecided from None
        self.chat.shared.undecided[self.kind] = -1  # from now on others are asked beside it
        return answer

    async def by_schema(self) -> T:
        """Have the server hold the model to the schema."""
        schema = {"name": "answer", "schema": self.format.schema, "strict": False}
        return await self.until_valid(
            self.messages,
            response_format={"type": "json_schema", "json_schema": schema},
            max_tokens=MAX_TOKENS,
            temperature=self.temperature,
            stream=False,
        )

    async def by_object(self) -> T:
        """Have the server hold the model to JSON, and put the schema into the prompt."""
        return await self.until_valid(
            [*self.messages, self.prompt("contract")],
            response_format={"type": "json_object"},
            max_tokens=MAX_TOKENS,
            temperature=self.temperature,
            stream=False,
        )

    async def by_prompt(self) -> T:
        """Put the schema into the prompt."""
        return await self.until_valid([*self.messages, self.prompt("contract")])

    async def until_valid(self, messages: Sequence[BaseMessage], **parameters: Any) -> T:
        """Ask until an answer can be read; each time the model is shown its answer and what is wrong with it.

        Where none is whole, the first one of which something could be read is the answer.
        """
        client = self.client.bind(**parameters) if parameters else self.client
        asked, rest, failed = list(messages), None, None
        for _ in range(self.chat.attempts):
            try:
                call = client.ainvoke(asked, quiet(self.kind))
                return await counted(self.chat, call, self.read)
            except InvalidAnswer as wrong:
                asked, rest = list(messages), rest if rest is not None else wrong.rest
                if wrong.answer:
                    again = self.prompt("reask", problem=str(wrong))
                    asked += without_control([AIMessage(wrong.answer[:CHARACTERS_REPEATED]), again])
            except Filtered:
                raise
            except UnusableAnswer as error:
                asked, failed = list(messages), error
        if rest is not None:
            return cast("T", rest)
        raise failed or unusable(self.chat, self.kind)

    def read(self, message: AIMessage) -> T:
        """Read an answer."""
        try:
            return self.format.read(text_of(message))
        except InvalidAnswer as wrong:
            if wrong.cut and wrong.answer.rstrip().endswith(("}", "]", "```")) and is_json(wrong.answer):
                return self.format.read(wrong.answer)  # the limit came behind its end
            if not (wrong.cut and self.format.read_cut):
                raise
            return self.format.read_cut(wrong.answer)

    def prompt(self, name: str, **values: str) -> BaseMessage:
        """A sentence that shows the schema."""
        schema = json.dumps(self.format.schema, ensure_ascii=False)
        return added_prompt(name, self.chat.language, schema=schema, **values)


def speaks_openai(client: BaseChatModel) -> bool:
    """Whether a model takes the parameters of OpenAI's chat completions, or says so of itself."""
    return bool(getattr(client, "speaks_openai", False)) or is_openai_client(client)


@cache
def template(name: str, language: str) -> Template:
    """Read `<name>.<language>.md` beside this file; a language that has none gets the English one."""
    known = language if language in LANGUAGES else "en"
    file = files("dramaturg.models") / f"{name}.{known}.md"
    return Template(file.read_text(encoding="utf-8").strip())


def added_prompt(name: str, language: str, **values: str) -> HumanMessage:
    """Fill in one of the few sentences that questions add to a prompt, as a message of the user."""
    return HumanMessage(template(name, language).substitute(values))
