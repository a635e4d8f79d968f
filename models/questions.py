"""The kinds of questions that the methods ask a chat model: decide, rate, choose, extract, write.

Each raises a `ModelError` where there is no answer; see `dramaturg.models.errors` for the kinds.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeAlias, TypeVar, cast

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, Field
from pydantic.json_schema import GenerateJsonSchema

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
from dramaturg.models.curtain import Curtain, MayShow, Said, Voice
from dramaturg.models.errors import Filtered, UnusableAnswer
from dramaturg.models.extracted import Form, read_extracted, whole_sentences
from dramaturg.models.loose import NumberOf, Scale, option_of
from dramaturg.models.reading import (
    MAX_CHARACTERS,
    NO,
    YES,
    InvalidAnswer,
    begins_word,
    normalize_word,
    object_in,
    require_mass,
    short_answer,
    short_answer_schema,
    text_of,
    thoughts_of,
    word_answer,
)
from dramaturg.models.servers.completions import BrokenOff

__all__ = ["Decision", "Rating", "choose", "decide", "extract", "rate", "write", "write_sentences"]

M = TypeVar("M", bound=BaseModel)
Client: TypeAlias = Runnable[LanguageModelInput, AIMessage]

TAG = re.compile(r"<(?=\s*/?\s*[^\W\d])")
LEFT_OUT, THOUGHTS = "left_out", "thoughts"
ROOM_FOR_THOUGHTS = 4096  # tokens beside those of a text, of a model that thinks aloud
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
    """A text, what was thought before it, and the id of its tokens that were streamed.

    It may end at the token limit (`cut`), or before what its voice left out.

    One from the cache of answers was not streamed.
    """

    text: str
    cut: bool = False
    left_out: str = ""
    thoughts: str = ""
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

    def read(text: str) -> Decision:
        return Decision(read_decision(text, yes, no), None)

    return await ask_formatted(chat, question, AnswerFormat(schema, read, weigh, read_cut=read))


def probability_of_yes(tokens: Mapping[str, float], yes: Sequence[str], no: Sequence[str]) -> float:
    """Weigh the tokens that begin a yes against those that begin a no; one that begins both counts for neither."""
    for_yes = sum(p for token, p in tokens.items() if begins_word(token, yes) and not begins_word(token, no))
    for_no = sum(p for token, p in tokens.items() if begins_word(token, no) and not begins_word(token, yes))
    return for_yes / require_mass(for_yes + for_no)


def read_decision(text: str, yes: Sequence[str], no: Sequence[str]) -> bool:
    """Read a yes or a no that is written out."""
    answer = word_answer(text, [*yes, *no])
    answer = {"1": "true", "0": "false"}.get(answer, answer)
    if answer in map(normalize_word, yes):
        return True
    if answer in map(normalize_word, no):
        return False
    problem = f"the answer must be one of {', '.join([*yes, *no])}."
    raise InvalidAnswer(problem, text)


async def rate(chat: ChatModel, messages: Sequence[BaseMessage], *, low: int, high: int) -> Rating:
    """Ask for a whole number from `low` to `high`.

    With log-probabilities the value is the expected one, sum of k * P(k) over the scale; without them it is the
    number that the model says, which may lie between two steps. A scale with a number of two digits is always asked
    without: "10" is one token to some models and two to others, so its probability is not in the first token.

    Raises:
        ValueError: `low` is not below `high`.
    """
    if low >= high:
        msg = f"A scale must go up: {low} is not below {high}."
        raise ValueError(msg)
    scale = range(low, high + 1)
    schema = short_answer_schema({"type": "integer", "minimum": low, "maximum": high})
    weigh = (lambda tokens: expected(tokens, scale)) if low >= 0 and high <= 9 else None
    answer_format = AnswerFormat(schema, lambda text: Rating(read_rating(text, low, high), None), weigh)
    return await ask_formatted(chat, ModelQuestion("rate", messages, Rating, {"low": low, "high": high}), answer_format)


def expected(tokens: Mapping[str, float], scale: range) -> Rating:
    """The expected value over the steps of the scale."""
    mass = require_mass(sum(tokens.get(str(step), 0.0) for step in scale))
    distribution = {step: tokens.get(str(step), 0.0) / mass for step in scale}
    value = sum(step * probability for step, probability in distribution.items())
    return Rating(min(max(value, scale[0]), scale[-1]), distribution)


def read_rating(text: str, low: int, high: int) -> float:
    """Read a number that is written out, and refuse one beyond the scale, or of another one."""
    try:
        return float(Scale(low, high).read(short_answer(text)))
    except InvalidAnswer:
        raise
    except ValueError:
        problem = f"the answer must be a number from {low} to {high}."
        raise InvalidAnswer(problem, text) from None


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
    """Read an option that is named by its number, its text, or both."""
    answer = short_answer(text)
    if isinstance(answer, str) and (option := option_of(answer, options)):
        return option
    with suppress(ValueError):
        option = options[NumberOf(len(options)).read(answer) - 1]
        said = re.search(r"\d[.:)-]\s+(\S.*)", str(answer))
        if said is None or option_of(said[1], options) == option:
            return option
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
        schema: what is asked for, also fields with a default, which stands for what is not there; one that inherits
            `Extracted` says what was left out of the answer.
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
    return schema.model_json_schema(schema_generator=WholeSchema)


class WholeSchema(GenerateJsonSchema):
    """Asks for all of a contract, also for what an answer may lack."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Whether a field is asked for."""
        return True

    def default_schema(self, schema: Any) -> Any:
        """A field without what stands for it where an answer lacks it."""
        inner = schema["schema"]
        return self.generate_inner(inner["schema"] if inner["type"] == "nullable" else inner)


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
    voice: Callable[[], Voice] | None = None,
) -> AIMessage:
    """Ask for a text as `write` does, and return it as a message with the id of its tokens.

    A node that returns this message does not stream it a second time, and streams it as a whole if it was not shown.
    Where the tokens ended before the text did, `response_metadata` says so: {"finish_reason": "length"}. What was
    thought before is its `THOUGHTS`, for whoever wants to show it: a node takes that out of what a conversation keeps.

    Args:
        chat: whom to ask.
        messages: the question.
        temperature: of the text.
        max_tokens: the most of it.
        quiet: whether its tokens are kept from the listeners.
        may_show: decides of its beginning whether they are; until then they are held back.
        draw: how often the same was asked for before: it is then asked for with more chance, and another seed.
        stop: before which words it ends, where the server honours it.
        voice: makes what ends it where it goes on as somebody else; what was left out is `LEFT_OUT` of the metadata.
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
        voice=voice,
    )
    ended = {"finish_reason": "length"} if written.cut else {}
    beside = {LEFT_OUT: written.left_out, THOUGHTS: written.thoughts}
    more = {name: text for name, text in beside.items() if text}
    return AIMessage(written.text, id=written.streamed_as, response_metadata={**ended, **more})


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
    voice: Callable[[], Voice] | None = None,
) -> Written:
    parameters = writing_parameters(chat.model) | {"max_tokens": max_tokens} | ({"stop": list(stop)} if stop else {})
    if temperature is not None:
        # A model without chance would write the same again; servers differ in what they take above 1.
        parameters["temperature"] = max(temperature, min(1.0, temperature + MORE_CHANCE * draw))
    if chat.seed is not None:
        parameters["seed"] = chat.seed + draw

    async def answer(client: BaseChatModel) -> Written:
        return await Writing(chat, client, parameters, without_control(messages), quiet, may_show, voice).answer()

    kept_by = parameters | ({"draw": draw} if draw else {})
    if voice:  # what it leaves out is not kept
        kept_by["voice"] = [*voice.args] if isinstance(voice, partial) else repr(voice)
    return await ask(chat, ModelQuestion("write", messages, Written, kept_by), answer)


@dataclass(frozen=True)
class Writing:
    """One text that is asked for, and how it is shown."""

    chat: ChatModel
    client: BaseChatModel
    parameters: dict[str, Any]
    messages: Sequence[BaseMessage]
    quiet: bool
    may_show: MayShow | None
    voice: Callable[[], Voice] | None

    async def answer(self) -> Written:
        """Ask for the text, as a stream or as a whole; again only as long as nothing of it was shown.

        One that is thoughts alone is asked for again with more room, and then all others of this model are.
        """
        failed: Exception | None = None
        thinks, tries = bool(self.chat.shared.server.limit("thinks_long")), self.chat.attempts
        while tries > 0:
            tries -= 1
            curtain = Curtain(quietly("write") if self.quiet else None, self.shows(), self.said)
            try:
                with curtain:
                    written = await counted(self.chat, self.call(curtain, room=thinks), self.read)
            except Filtered:
                raise
            except (InvalidAnswer, UnusableAnswer) as error:
                failed = error
                if curtain.shown:
                    break
                if isinstance(error, InvalidAnswer) and error.thought and not thinks:
                    thinks, tries = True, max(tries, 1)
            else:
                if thinks:
                    self.chat.shared.server.learn(thinks_long=1)
                await curtain.heed(written.text, whole=True)
                return written
        if isinstance(failed, BrokenOff):
            raise UnusableAnswer(
                f"The answer of the model {self.chat.name!r} broke off before its end: ask for it again."
            )
        raise failed if isinstance(failed, UnusableAnswer) else unusable(self.chat, "write")

    def shows(self) -> MayShow | None:
        """Whether a text may be shown: also not before its end where that may tell that it began with thoughts."""
        if self.quiet or self.chat.shared.server.limit("unopened") is not None or not speaks_openai(self.client):
            return self.may_show
        return lambda text, whole: (self.may_show(text, True) if self.may_show else True) if whole else None

    def said(self) -> Said:
        """What makes what is said of what is written."""
        unopened = bool(self.chat.shared.server.limit("unopened"))
        return Said(unopened=unopened, voice=self.voice)

    async def call(self, curtain: Curtain, *, room: bool) -> AIMessage:
        """Make the call. In one piece where nobody reads along: a stream costs the processor a dozen times as much."""
        parameters = dict(self.parameters)
        if room:
            parameters["max_tokens"] += ROOM_FOR_THOUGHTS
        if room or self.chat.shared.server.limit("thinks"):
            parameters.pop("stop", None)  # it would end thoughts that speak of somebody
        whole = self.quiet and speaks_openai(self.client)
        client = with_parameters(self.client, parameters | {"stream": False} if whole else parameters)
        if whole:
            return await client.ainvoke(list(self.messages), curtain.config)
        return await streamed(client, self.messages, curtain, reply=self.chat.replies)

    def read(self, message: AIMessage) -> Written:
        """The text of a message, also if the tokens ended before it did."""
        cut = message.response_metadata.get("finish_reason") == "length"
        text, left_out = text_of(message, cut=True), ""
        if self.voice:
            voice = self.voice()
            text = voice.feed(text) + voice.end()
            left_out = voice.cut
            if not text.strip():
                raise InvalidAnswer("it speaks for somebody else.")
        return Written(
            text=text.strip(),
            cut=cut and not left_out,
            left_out=left_out,
            thoughts=thoughts_of(message)[:MAX_CHARACTERS],
            streamed_as=message.id,
        )


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
