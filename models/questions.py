"""The kinds of questions that the methods ask a chat model: decide, rate, choose, extract, write.

Each raises a `ModelError` where there is no answer; see `dramaturg.models.errors` for the kinds.
"""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Self, TypeAlias, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManager, BaseCallbackHandler
from langchain_core.callbacks.manager import ahandle_event
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
from langchain_core.runnables.config import var_child_runnable_config
from pydantic import BaseModel, Field

from dramaturg.models.asking import (
    AnswerFormat,
    ModelQuestion,
    added_prompt,
    ask,
    ask_formatted,
    counted,
    speaks_openai,
    unusable,
    without_control,
)
from dramaturg.models.asking import quiet as quietly
from dramaturg.models.chat import ChatModel
from dramaturg.models.clients import writing_parameters
from dramaturg.models.clock import is_heard
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.extracted import Form, read_extracted, whole_sentences
from dramaturg.models.reading import (
    MAX_CHARACTERS,
    NO,
    YES,
    InvalidAnswer,
    begins_word,
    normalize_word,
    number_answer,
    object_in,
    require_mass,
    short_answer,
    short_answer_schema,
    text_of,
    word_answer,
)
from dramaturg.models.stream_ends import BrokenOff

__all__ = ["Decision", "Rating", "choose", "decide", "extract", "rate", "write", "write_sentences"]

MayShow: TypeAlias = Callable[[str, bool], bool | None]
"""Whether a text may be shown, by its beginning and by whether that is all of it; None: more of it must be known."""


class Curtain:
    """Stands between a call of a model and those who show its tokens: up, down, or down until it is known which.

    Whoever counts or traces calls is told of each as it happens: what is held back changes no account. Those who show
    tokens are told of a call, in the order in which it happened, when the curtain rises, and else nothing. The call is
    made within it, and with its `config`.
    """

    def __init__(self, may_show: MayShow | None, *, quiet: bool) -> None:
        self.shown = False
        """Whether somebody was shown a word."""
        self.config = quietly("write") if quiet else None
        self._is_up = not (quiet or may_show)
        self._may_show = None if quiet else may_show
        self._begun = ""  # as much as was written while it is not known whether it may be shown
        self._held: list[_Held] = []
        self._around: RunnableConfig | None = None
        if self._may_show:
            around = ensure_config()
            manager = AsyncCallbackManager.configure(around.get("callbacks"))
            # The mark of those who show tokens is not public; this method is what LangChain asks of them.
            held = {id(one): _Held(one) for one in manager.handlers if hasattr(one, "tap_output_aiter")}
            manager.handlers = [held.get(id(one), one) for one in manager.handlers]
            manager.inheritable_handlers = [held.get(id(one), one) for one in manager.inheritable_handlers]
            self._held = list(held.values())
            self._around = {**around, "callbacks": manager}

    def __enter__(self) -> Self:
        # Not as a call's own config: a model that is bound or wrapped would add the one around it, with who shows.
        self._before = var_child_runnable_config.set(self._around) if self._around else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            var_child_runnable_config.reset(self._before)

    async def heed_part(self, part: str) -> None:
        """Heed what was written so far, of which this is the next part; spaces that it begins with tell nothing."""
        if self._may_show:
            self._begun = (self._begun + part).lstrip()
            await self.heed(self._begun)
        self.shown = self.shown or (self._is_up and bool(part))

    async def heed(self, text: str, *, whole: bool = False) -> None:
        """Rise if what was written so far may be shown, or stay down for good if it may not."""
        verdict = self._may_show(text, whole) if self._may_show else None
        if verdict is not None:
            self._is_up, self._may_show = verdict, None
            for one in self._held if verdict else ():
                await one.pass_on()
        self.shown = self._is_up and bool(text)


class _Held(AsyncCallbackHandler):
    """Keeps what a handler is to be told of a call until it may be."""

    run_inline = True  # else tokens would overtake each other

    def __init__(self, handler: BaseCallbackHandler) -> None:
        self._handler = handler
        self._kept: list[Callable[[], Awaitable[None]]] | None = []

    async def pass_on(self) -> None:
        """Tell it all that was kept, and from now on at once."""
        kept, self._kept = self._kept or [], None
        for tell in kept:
            await tell()

    async def _tell(self, *event: Any, **named: Any) -> None:
        tell = partial(ahandle_event, [self._handler], *event, **named)
        if self._kept is None:
            await tell()
        else:
            self._kept.append(tell)

    async def on_chat_model_start(self, *args: Any, **named: Any) -> None:
        """A call begins."""
        await self._tell("on_chat_model_start", "ignore_chat_model", *args, **named)

    async def on_llm_new_token(self, *args: Any, **named: Any) -> None:
        """A part of the text."""
        await self._tell("on_llm_new_token", "ignore_llm", *args, **named)

    async def on_llm_end(self, *args: Any, **named: Any) -> None:
        """The text is whole."""
        await self._tell("on_llm_end", "ignore_llm", *args, **named)

    async def on_llm_error(self, *args: Any, **named: Any) -> None:
        """The call failed."""
        await self._tell("on_llm_error", "ignore_llm", *args, **named)


M = TypeVar("M", bound=BaseModel)
Client: TypeAlias = Runnable[LanguageModelInput, AIMessage]

TAG = re.compile(r"<(?=\s*/?\s*[^\W\d])")
MORE_CHANCE = 0.4  # of temperature, each time that the same text is drawn again


@dataclass(frozen=True)
class Decision:
    """An answer, and P(yes) where the server gives log-probabilities."""

    answer: bool
    probability: float | None


@dataclass(frozen=True)
class Rating:
    """A rating, and the probability of each step of the scale where the server gives log-probabilities."""

    value: float
    distribution: dict[int, float] | None


class Written(BaseModel):
    """A text, whether it ends at the token limit, and the id under which its tokens were streamed.

    One from the cache of answers was not streamed.
    """

    text: str
    cut: bool = False
    streamed_as: str | None = Field(default=None, exclude=True)


async def decide(
    chat: ChatModel,
    messages: Sequence[BaseMessage],
    *,
    threshold: float = 0.5,
    yes: Sequence[str] = YES,
    no: Sequence[str] = NO,
) -> Decision:
    """Ask for yes or no.

    With log-probabilities the answer is yes if P(yes) / (P(yes) + P(no)) of the first token is at least `threshold`;
    without them it is what the model says, and `threshold` has no part in it.
    """

    def weigh(tokens: Mapping[str, float]) -> Decision:
        probability = probability_of_yes(tokens, yes, no)
        return Decision(probability >= threshold, probability)

    schema = short_answer_schema({"type": "string", "enum": [*yes, *no]})
    question = ModelQuestion("decide", messages, Decision, {"threshold": threshold, "yes": list(yes), "no": list(no)})
    answer_format = AnswerFormat(schema, lambda text: Decision(read_decision(text, yes, no), None), weigh)
    return await ask_formatted(chat, question, answer_format)


def probability_of_yes(tokens: Mapping[str, float], yes: Sequence[str], no: Sequence[str]) -> float:
    """Weigh the tokens that begin a yes against those that begin a no; one that begins both counts for neither."""
    for_yes = sum(p for token, p in tokens.items() if begins_word(token, yes) and not begins_word(token, no))
    for_no = sum(p for token, p in tokens.items() if begins_word(token, no) and not begins_word(token, yes))
    return for_yes / require_mass(for_yes + for_no)


def read_decision(text: str, yes: Sequence[str], no: Sequence[str]) -> bool:
    """Read a yes or a no that is written out."""
    answer = word_answer(text, [*yes, *no])
    if answer in map(normalize_word, yes):
        return True
    if answer in map(normalize_word, no):
        return False
    problem = f"the answer must be one of {', '.join([*yes, *no])}."
    raise InvalidAnswer(problem, text)


async def rate(chat: ChatModel, messages: Sequence[BaseMessage], *, low: int, high: int) -> Rating:
    """Ask for a whole number from `low` to `high`.

    With log-probabilities the value is the expected one, sum of k * P(k) over the scale; without them it is the
    number that the model says. A scale with a number of two digits is always asked without: "10" is one token to
    some models and two to others, so its probability is not in the first token.

    Raises:
        ValueError: `low` is not below `high`.
    """
    if low >= high:
        msg = f"A scale must go up: {low} is not below {high}."
        raise ValueError(msg)
    scale = range(low, high + 1)
    schema = short_answer_schema({"type": "integer", "minimum": low, "maximum": high})
    weigh = (lambda tokens: expected(tokens, scale)) if low >= 0 and high <= 9 else None
    answer_format = AnswerFormat(schema, lambda text: Rating(float(read_rating(text, scale)), None), weigh)
    return await ask_formatted(chat, ModelQuestion("rate", messages, Rating, {"low": low, "high": high}), answer_format)


def expected(tokens: Mapping[str, float], scale: range) -> Rating:
    """The expected value over the steps of the scale."""
    mass = require_mass(sum(tokens.get(str(step), 0.0) for step in scale))
    distribution = {step: tokens.get(str(step), 0.0) / mass for step in scale}
    value = sum(step * probability for step, probability in distribution.items())
    return Rating(min(max(value, scale[0]), scale[-1]), distribution)


def read_rating(text: str, scale: range) -> int:
    """Read a number that is written out, and refuse one beyond the scale."""
    answer = number_answer(text)
    if answer in scale:
        return answer
    problem = f"the answer must be from {scale[0]} to {scale[-1]}."
    raise InvalidAnswer(problem, text)


async def choose(chat: ChatModel, messages: Sequence[BaseMessage], options: Sequence[str]) -> str:
    """Ask for one of `options`, which are listed with numbers after the messages.

    With log-probabilities and up to nine options it is the one whose number is most probable; otherwise the one that
    the model names, by its number or its text.

    Raises:
        ValueError: there are no options, or two are the same.
    """
    if not options or len({normalize_word(option) for option in options}) < len(options):
        msg = "A choice needs options that differ."
        raise ValueError(msg)
    lines = (TAG.sub("‹", " ".join(option.split())) for option in options)  # they may stand in a document
    listed = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    schema = short_answer_schema({"type": "integer", "minimum": 1, "maximum": len(options)})
    weigh = (lambda tokens: most_probable(tokens, options)) if len(options) <= 9 else None
    return await ask_formatted(
        chat,
        ModelQuestion("choose", messages, str, {"options": list(options)}),
        AnswerFormat(schema, lambda text: read_choice(text, options), weigh),
        added=[added_prompt("options", chat.language, options=listed)],
    )


def most_probable(tokens: Mapping[str, float], options: Sequence[str]) -> str:
    """The option whose number is the most probable first token."""
    weights = [tokens.get(str(number), 0.0) for number in range(1, len(options) + 1)]
    require_mass(sum(weights))
    return options[weights.index(max(weights))]


def read_choice(text: str, options: Sequence[str]) -> str:
    """Read an option that is named by its number or its text."""
    answer = normalize_word(str(short_answer(text)))
    by_text = {normalize_word(option): option for option in options}
    by_number = {str(number): option for number, option in enumerate(options, 1)}
    if answer in by_text | by_number:
        return (by_text | by_number)[answer]
    problem = f"the answer must be a number from 1 to {len(options)}."
    raise InvalidAnswer(problem, text)


async def extract(
    chat: ChatModel,
    messages: Sequence[BaseMessage],
    schema: type[M],
    *,
    form: Form | None = None,
    temperature: float = 0,
) -> M:
    """Ask for an object of `schema`; strings in it are free of NUL and of halves of surrogate pairs.

    Bound the lists and strings of a schema: a small model may not find the end of one. What is good in an answer is
    kept; see `dramaturg.models.extracted`.

    Args:
        chat: whom to ask.
        messages: the question.
        schema: what is asked for; one that inherits `Extracted` says what was left out of the answer.
        form: turns an answer in another form, such as the one that a paper prints, into that of the schema.
        temperature: of the answer.
    """
    described = _json_schema(schema)
    parameters = {"schema": described} | ({"temperature": temperature} if temperature else {})
    question = ModelQuestion("extract", messages, schema, parameters)
    answer_format = AnswerFormat(
        described,
        lambda text: read_extracted(schema, text, form),
        read_cut=lambda text: read_extracted(schema, text, form, cut=True),
    )
    return await ask_formatted(chat, question, answer_format, temperature=temperature)


@lru_cache(maxsize=256)
def _json_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """That of a contract, which would take longer to make than to send."""
    return schema.model_json_schema()


async def write_json(chat: ChatModel, messages: Sequence[BaseMessage], schema: dict[str, Any]) -> str:
    """Ask for an object of a schema that somebody else has made and reads, as JSON."""

    def read(text: str) -> str:
        return json.dumps(object_in(text), ensure_ascii=False)

    return await ask_formatted(
        chat, ModelQuestion("write", messages, str, {"schema": schema}), AnswerFormat(schema, read)
    )


async def write(
    chat: ChatModel,
    messages: Sequence[BaseMessage],
    *,
    temperature: float | None = None,
    max_tokens: int = 1024,
    quiet: bool = False,
) -> str:
    """Ask for a text; its tokens stream as in LangGraph's mode `messages`, unless it is `quiet`.

    A text that ends at the token limit is an answer: it was shown. A text that was begun is not asked for again,
    unless nobody saw it.
    """
    message = await write_message(chat, messages, temperature=temperature, max_tokens=max_tokens, quiet=quiet)
    return message.text


async def write_sentences(chat: ChatModel, messages: Sequence[BaseMessage], *, max_tokens: int) -> str:
    """Ask for a text that is to be kept, quietly and without chance: it ends where a sentence does.

    One that ends at the token limit goes back to its last whole sentence. Where less than a third of it is left, it is
    asked for once more, with twice the limit, and the longer one counts.

    Raises:
        ModelError: there is no answer, or none has a whole sentence.
    """
    longest = ""
    for limit in (max_tokens, 2 * max_tokens):
        written = await _written(chat, messages, temperature=0, max_tokens=limit, quiet=True)
        if not written.cut:
            return written.text
        longest = max(longest, whole_sentences(written.text), key=len)
        if len(longest) >= len(written.text) / 3:
            return longest
    if not longest:
        raise unusable(chat, "write")
    return longest


async def write_message(
    chat: ChatModel,
    messages: Sequence[BaseMessage],
    *,
    temperature: float | None = None,
    max_tokens: int = 1024,
    quiet: bool = False,
    may_show: MayShow | None = None,
    draw: int = 0,
    stop: Sequence[str] = (),
) -> AIMessage:
    """Ask for a text as `write` does, and return it as a message with the id of its tokens.

    A node that returns this message does not stream it a second time, and streams it as a whole if it was not shown.
    Where the tokens ended before the text did, `response_metadata` says so: {"finish_reason": "length"}.

    Args:
        chat: whom to ask.
        messages: the question.
        temperature: of the text.
        max_tokens: the most of it.
        quiet: whether its tokens are kept from the listeners.
        may_show: decides of its beginning whether they are; until then they are held back.
        draw: how often the same was asked for before: it is then asked for with more chance, and another seed.
        stop: before which words it ends, where the server honours it.
    """
    written = await _written(
        chat,
        messages,
        temperature=temperature,
        max_tokens=max_tokens,
        quiet=quiet,
        may_show=may_show,
        draw=draw,
        stop=stop,
    )
    ended = {"finish_reason": "length"} if written.cut else {}
    return AIMessage(written.text, id=written.streamed_as, response_metadata=ended)


async def _written(
    chat: ChatModel,
    messages: Sequence[BaseMessage],
    *,
    temperature: float | None,
    max_tokens: int,
    quiet: bool,
    may_show: MayShow | None = None,
    draw: int = 0,
    stop: Sequence[str] = (),
) -> Written:
    parameters = writing_parameters(chat.model) | {"max_tokens": max_tokens} | ({"stop": list(stop)} if stop else {})
    if temperature is not None:
        # A model without chance would write the same again; servers differ in what they take above 1.
        parameters["temperature"] = max(temperature, min(1.0, temperature + MORE_CHANCE * draw))
    if chat.seed is not None:
        parameters["seed"] = chat.seed + draw

    async def answer(client: BaseChatModel) -> Written:
        # In one piece where nobody reads along: a stream costs the processor a dozen times as much.
        whole = quiet and speaks_openai(client)
        own = with_parameters(client, parameters | {"stream": False} if whole else parameters)
        return await write_until_usable(
            chat, own, without_control(messages), quiet=quiet, may_show=may_show, whole=whole
        )

    kept_by = parameters | ({"draw": draw} if draw else {})
    return await ask(chat, ModelQuestion("write", messages, Written, kept_by), answer)


async def write_until_usable(
    chat: ChatModel,
    client: Client,
    messages: Sequence[BaseMessage],
    *,
    quiet: bool,
    may_show: MayShow | None = None,
    whole: bool = False,
) -> Written:
    """Ask for the text, as a stream or as a whole; again only as long as nothing of it was shown."""
    broke_off = False
    for _ in range(chat.attempts):
        curtain = Curtain(may_show, quiet=quiet)
        try:
            with curtain:
                call = (
                    client.ainvoke(list(messages), curtain.config)
                    if whole
                    else streamed(client, messages, curtain, reply=chat.replies)
                )
                written = await counted(chat, call, read_text)
        except (InvalidAnswer, UnusableAnswer) as failed:
            broke_off = isinstance(failed, BrokenOff)
            if curtain.shown:
                break
        else:
            await curtain.heed(written.text, whole=True)
            return written
    if broke_off:
        raise UnusableAnswer(f"The answer of the model {chat.name!r} broke off before its end: ask for it again.")
    raise unusable(chat, "write")


def read_text(message: AIMessage) -> Written:
    """The text of a message, also if the tokens ended before it did."""
    cut = message.response_metadata.get("finish_reason") == "length"
    return Written(text=text_of(message, cut=True).strip(), cut=cut, streamed_as=message.id)


async def streamed(client: Client, messages: Sequence[BaseMessage], curtain: Curtain, *, reply: bool) -> AIMessage:
    """Put a streamed message together; it is shown as the curtain has it. A reply may then take its whole turn."""
    message, parts, length = AIMessageChunk(content=""), list[AIMessageChunk](), 0
    stream = cast("AsyncGenerator[AIMessage]", client.astream(list(messages), curtain.config))
    async with aclosing(stream):
        async for part in stream:
            # A model that does not stream gives its whole message, which is no chunk.
            chunk = part if isinstance(part, AIMessageChunk) else AIMessageChunk(**part.model_dump(exclude={"type"}))
            parts.append(chunk)
            length += len(text := chunk.text)
            await curtain.heed_part(text)
            if reply and curtain.shown:
                is_heard()
            if length > MAX_CHARACTERS:
                break
    return message + parts  # once: joined part by part, a long text is copied as often as it has parts


def with_parameters(client: BaseChatModel, parameters: dict[str, Any]) -> Client:
    """Set the temperature and the like: OpenAI's clients take them with a call, others as fields if they have them."""
    if speaks_openai(client):
        return client.bind(**parameters)
    fields = type(client).model_fields
    return client.model_copy(update={name: value for name, value in parameters.items() if name in fields})
