"""Trying a model: ten small questions of all kinds, and what they and a server's list of models tell of it.

The questions are easy: a model that gets several wrong is too small to judge, whatever it writes. What the server does
not take is learned on the way, as it would be in a talk.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from dramaturg.models.asking import UNDECIDED
from dramaturg.models.chat import Account, ChatModel
from dramaturg.models.errors import UNANSWERED, ModelError
from dramaturg.models.questions import choose, decide, extract, rate, write_message
from dramaturg.models.servers.completions import adapting, is_openai_client, sender_of

WAYS = {"logprobs": "log-probabilities", "json_schema": "a JSON schema", "json_object": "JSON mode", "": "the prompt"}
"""How a question is put so that its answer can be read, best first."""
FEATURES: Mapping[str, str] = {
    "system": "messages of the system",
    "temperature": "a temperature",
    "stop": "words to stop at",
    "stream": "streams",
    "stream_options": "usage in streams",
    "max_completion_tokens": "max_completion_tokens",
    "logprobs": "log-probabilities",
    "json_schema": "JSON schemas",
}
"""What a server may not take, in words."""


class Person(BaseModel):
    """What the sentence tells of somebody."""

    name: str = Field(max_length=100)
    born: int = Field(ge=1000, le=2100)


@dataclass(frozen=True)
class Tried:
    """A question, what came of it, and whether that is right; `right` is None where nothing came."""

    kind: str
    question: str
    answer: str
    right: bool | None
    seconds: float
    account: Account


class Question(NamedTuple):
    """What is asked, how, and whether an answer is right."""

    kind: str
    text: str
    ask: Callable[[ChatModel], Awaitable[Any]]
    is_right: Callable[[Any], bool]


def asking(text: str) -> list[BaseMessage]:
    """A question after an instruction."""
    return [SystemMessage("Answer briefly and exactly."), HumanMessage(text)]


def deciding(fact: str, *, true: bool) -> Question:
    """Whether something is so."""
    text = f"{fact}\n\nIs that so? yes or no:"
    return Question("decide", text, lambda chat: decide(chat, asking(text)), lambda one: one.answer is true)


def rating(word: str, fits: range) -> Question:
    """How well a word fits a line."""
    line = "“What wonderful news! I could dance!”"
    text = f"{line}\n\nFrom 1 to 5, how well does the word “{word}” describe who says that? A number:"
    return Question(
        "rate", text, lambda chat: rate(chat, asking(text), low=1, high=5), lambda one: round(one.value) in fits
    )


def choosing(land: str, city: str) -> Question:
    """One of four."""
    text, cities = f"Which of these is the capital of {land}?", ["Rome", "Paris", "Tokyo", "Lima"]
    return Question("choose", text, lambda chat: choose(chat, asking(text), cities), lambda one: one == city)


def extracting(name: str, born: int) -> Question:
    """An object out of a sentence."""
    text = f"{name} was born in {born}.\n\nThe name and the year, as JSON:"
    return Question(
        "extract",
        text,
        lambda chat: extract(chat, asking(text), Person),
        lambda one: (one.name, one.born) == (name, born),
    )


def writing(word: str, *, quiet: bool) -> Question:
    """A text with a word in it."""
    text = f"Write one short sentence in which the word “{word}” occurs."
    return Question(
        "write",
        text,
        lambda chat: write_message(chat, asking(text), temperature=0.3, stop=["\nUser:"], quiet=quiet),
        lambda one: word in one.text.casefold(),
    )


QUESTIONS = (
    writing("evening", quiet=False),
    deciding("A day has 24 hours.", true=True),
    deciding("Whales are a kind of bird.", true=False),
    rating("furious", range(1, 3)),
    rating("delighted", range(4, 6)),
    choosing("France", "Paris"),
    choosing("Japan", "Tokyo"),
    extracting("Clara Schumann", 1819),
    extracting("Ada Lovelace", 1815),
    writing("lighthouse", quiet=True),
)


class Listed(NamedTuple):
    """What a list of models says of one: its window in tokens, and dollars for a million tokens read, and written."""

    window: int | None = None
    price: tuple[float, float] | None = None


async def learn_listed(chat: ChatModel) -> Listed:
    """Look a model up in its server's list, and note its window; a server that has no list says nothing."""
    from openai import OpenAIError

    if not is_openai_client(client := chat.client):
        return Listed()
    try:
        models = await client.root_async_client.with_options(timeout=10, max_retries=0).models.list()
        about: Mapping[str, Any] = next((one.model_dump() for one in models.data if one.id == client.model_name), {})
    except (OpenAIError, ValueError, TypeError, AttributeError):
        return Listed()
    found = listed(about)
    if found.window:
        sender = sender_of(adapting(client))
        server = sender.server if sender else chat.shared.server
        await server.read()
        server.learn(context=found.window)
        await server.keep()
    return found


WINDOWS = ("max_model_len", "context_window", "context_length", "max_context_length", "n_ctx")
"""How vLLM, Groq, OpenRouter and Together, Mistral, and llama.cpp (in `meta`) call it."""


def listed(about: Mapping[str, Any]) -> Listed:
    """What an entry of a list of models says."""
    places = [about, *(part for name in ("meta", "top_provider") if isinstance(part := about.get(name), Mapping))]
    windows = [place[name] for place in places for name in WINDOWS if isinstance(place.get(name), int)]
    window = min((one for one in windows if one > 0), default=None)  # a provider's may be smaller than the model's
    match about.get("pricing"):
        case {"prompt": str(read), "completion": str(written)}:  # OpenRouter's: dollars a token
            with suppress(ValueError):
                return Listed(window, (float(read) * 1e6, float(written) * 1e6))
        case {"input": int() | float() as read, "output": int() | float() as written}:  # Together's: a million tokens
            return Listed(window, (read, written))
    return Listed(window)


async def try_model(chat: ChatModel, show: Callable[[int, int], None] = lambda *_: None) -> list[Tried]:
    """Ask the questions, one after the other.

    Args:
        chat: the model.
        show: is told how many are answered, and of how many.

    Raises:
        ModelError: none of them can be answered, since the server cannot be reached, or refuses them all.
    """
    tried = list[Tried]()
    for kind, text, ask, is_right in QUESTIONS:
        account, begun = Account(), time.monotonic()
        try:
            answer = await ask(replace(chat, account=account))
            said, right = str(getattr(answer, "text", answer)), is_right(answer)
        except UNANSWERED as error:
            said, right = str(error), None
        tried.append(Tried(kind, text, said, right, time.monotonic() - begun, account))
        show(len(tried), len(QUESTIONS))
    if all(one.right is None for one in tried):
        raise ModelError(tried[0].answer)
    return tried


def way_of(chat: ChatModel, kind: str) -> str:
    """How questions of a kind are put to a model, as far as its server is known."""
    refused = chat.shared.server.refused
    by_token = kind in ("decide", "rate", "choose") and chat.shared.undecided[kind] < UNDECIDED
    return next(words for way, words in WAYS.items() if way not in refused and (way != "logprobs" or by_token))


def speed_of(tried: Sequence[Tried]) -> float | None:
    """Tokens a second of the answers, as the server counts them; None: it does not."""
    tokens = sum(one.account.completion_tokens for one in tried)
    seconds = sum(one.account.seconds for one in tried)
    return tokens / seconds if tokens and seconds else None
