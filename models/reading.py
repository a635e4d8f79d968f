"""Reading what a model wrote: clean text, strict JSON, short answers, probabilities of the first token."""

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

MAX_CHARACTERS = 200_000  # of an answer that is looked at
FENCE = "```"
ERRORS_SHOWN = 3  # validation errors of one answer that the model is told of
MIN_MASS = 0.05  # of the named answers together: with less, the model is about to say something else
PUNCTUATION = " \t\r\n\"'`*_.,:;!?()[]{}<>。，：、！？「」"

M = TypeVar("M", bound=BaseModel)


class InvalidAnswer(ValueError):
    """An answer in another form than was asked for: the message is for the model, `answer` is what it wrote."""

    def __init__(self, problem: str, answer: str = "") -> None:
        super().__init__(problem)
        self.answer = answer


class Undecided(ValueError):
    """The first token does not tell the answer."""


class NoProbabilities(Undecided):
    """The server leaves the probabilities out."""


def clean(text: str) -> str:
    """Make a text storable: checkpoints and databases take neither NUL nor half a surrogate pair (now U+FFFD)."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encodable(text: str) -> str:
    """Make a text encodable: no tokenizer takes half a surrogate pair, and NUL ends a text in C.

    A client that cuts a message in the middle of an emoji sends such a half.
    """
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def text_of(message: AIMessage, *, cut: bool = False) -> str:
    """The text of an answer, storable.

    Args:
        message: the answer; servers may send a list of blocks.
        cut: whether a text that stops at the token limit counts as an answer.

    Raises:
        InvalidAnswer: it is empty, refused, filtered, too long, or cut.
    """
    try:
        text = str(message.text)
    except (TypeError, LookupError, AttributeError):
        raise InvalidAnswer("it is not text.") from None
    if len(text) > MAX_CHARACTERS:
        raise InvalidAnswer("it is far too long.")
    text, ended = clean(text), message.response_metadata.get("finish_reason")
    if message.additional_kwargs.get("refusal") or ended == "content_filter":
        raise InvalidAnswer("it was refused or filtered.")
    if not text.strip():
        raise InvalidAnswer("it is empty.")
    if ended == "length" and not cut:
        raise InvalidAnswer("it was cut before its end. Be brief.", text)
    return text


def parse_json(text: str) -> Any:
    """Parse strict JSON, fenced (```json) or not: no NaN, no infinity, no duplicate key; strings are made storable.

    Raises:
        ValueError: the text is something else.
    """
    text = text.strip()
    if len(text) > len(FENCE) * 2 and text.startswith(FENCE) and text.endswith(FENCE):
        text = text.removeprefix(FENCE).removesuffix(FENCE).removeprefix("json")
    try:
        return cleaned(
            json.loads(text, object_pairs_hook=unique_keys, parse_constant=reject_number, parse_float=finite_float)
        )
    except RecursionError:
        msg = "The brackets are too deep."
        raise ValueError(msg) from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict, and refuse a duplicate key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "A key is there twice."
        raise ValueError(msg)
    return found


def reject_number(name: str) -> Any:
    """Refuse NaN, Infinity, and numbers beyond floating point."""
    msg = f"{name} is not a number in JSON."
    raise ValueError(msg)


def finite_float(digits: str) -> float:
    """Read a number, and refuse one that is beyond floating point."""
    value = float(digits)
    return value if math.isfinite(value) else reject_number(digits[:20])


def cleaned(data: Any) -> Any:
    """Make all strings in a JSON value storable."""
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, list):
        return [cleaned(item) for item in data]
    return {clean(key): cleaned(value) for key, value in data.items()} if isinstance(data, dict) else data


def read_as(schema: type[M], text: str) -> M:
    """Read an object of the schema.

    Raises:
        InvalidAnswer: the text is not JSON, or does not fit; the message does not repeat the text.
    """
    try:
        return schema.model_validate_json(json.dumps(parse_json(text)))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)[:ERRORS_SHOWN]
        problem = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}"[:200] for one in wrong)
    except ValueError as error:
        problem = str(error)[:200]
    raise InvalidAnswer(problem, text)


def short_answer_schema(answer: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with one short answer."""
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False}


def short_answer(text: str) -> Any:
    """The answer in an object, or the text itself where it is not JSON: small models forget the braces."""
    try:
        data = parse_json(text)
    except ValueError:
        return text
    if not isinstance(data, dict):
        return data
    if set(data) != {"answer"}:
        problem = "it must be an object with the one key `answer`."
        raise InvalidAnswer(problem, text)
    return data["answer"]


def word_answer(text: str) -> str:
    """A short answer as one normalized word: "Yes.", "yes" and true are "yes", "yes" and "true"."""
    answer = short_answer(text)
    if isinstance(answer, str | bool):
        return normalize_word(str(answer))
    problem = "the answer must be a word."
    raise InvalidAnswer(problem, text)


def number_answer(text: str) -> int:
    """A short answer as a whole number: 4, "4" and 4.0 are; "four" and 4.5 are not."""
    answer = short_answer(text)
    if isinstance(answer, str) and normalize_word(answer).removeprefix("-").isdecimal() and len(answer) < 10:
        answer = int(normalize_word(answer))
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)
    if isinstance(answer, int) and not isinstance(answer, bool):
        return answer
    problem = "the answer must be a whole number in digits."
    raise InvalidAnswer(problem, text)


def first_token(message: AIMessage) -> dict[str, float]:
    """Probabilities of the first token, summed over spellings: " Yes", "YES" and "yes." are one.

    `NoProbabilities` is raised where the server gave none, or none of alternatives.
    """
    found: dict[str, float] = {}
    for token, logprob in top_logprobs(message.response_metadata):
        if word := normalize_word(token):
            found[word] = found.get(word, 0.0) + math.exp(min(logprob, 0.0))
    if not found:
        raise NoProbabilities
    return found


def top_logprobs(metadata: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Tokens with their log-probabilities, from what a server sent, which may be anything."""
    match metadata.get("logprobs"):
        case {"content": [{"top_logprobs": [_, _, *_] as top}, *_]}:
            for one in top:
                match one:
                    case {"token": str(token), "logprob": float() | int() as logprob} if not math.isnan(logprob):
                        yield token, float(logprob)


def normalize_word(token: str) -> str:
    """One spelling for a word: compatibility forms, case, spaces and punctuation do not count."""
    return unicodedata.normalize("NFKC", token).strip(PUNCTUATION).casefold()


def begins_word(token: str, words: Sequence[str]) -> bool:
    """Whether a token is one of the words, or the beginning of one."""
    return any(normalize_word(word).startswith(token) for word in words)


def require_mass(mass: float) -> float:
    """Return the probability mass of the named answers; `Undecided` is raised if it is below `MIN_MASS`."""
    if not mass >= MIN_MASS:
        raise Undecided
    return mass
