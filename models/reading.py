"""Reading what a model wrote: its text made storable, and strict JSON out of it."""

import json
import math
from typing import Any, TypeVar

from langchain_core.messages import AIMessage
from pydantic import BaseModel, ValidationError

LONGEST = 200_000  # characters of an answer that is looked at
FENCE = "```"
SHOWN = 3  # errors of one answer that the model is told of

M = TypeVar("M", bound=BaseModel)


class Unread(ValueError):
    """An answer that is not in the form that was asked for; the text is for the model, `answer` is what it wrote."""

    def __init__(self, problem: str, answer: str = "") -> None:
        super().__init__(problem)
        self.answer = answer


def clean(text: str) -> str:
    """Take out what checkpoints and databases do not take: NUL; half a surrogate pair becomes U+FFFD."""
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def text_of(message: AIMessage, *, cut: bool = False) -> str:
    """The text of an answer.

    Args:
        message: the answer.
        cut: whether a text is welcome that ends where the tokens ended.

    Raises:
        Unread: it is empty, refused, filtered, too long, or cut.
    """
    text, ended = whole_text(message), message.response_metadata.get("finish_reason")
    if message.additional_kwargs.get("refusal") or ended == "content_filter":
        raise Unread("it was refused or filtered.")
    if not text.strip():
        raise Unread("it is empty.")
    if ended == "length" and not cut:
        raise Unread("it was cut before its end. Be brief.", text)
    return text


def whole_text(message: AIMessage) -> str:
    """All text of a message, storable; servers may send a list of blocks."""
    try:
        text = str(message.text)
    except (TypeError, LookupError, AttributeError):
        raise Unread("it is not text.") from None
    if len(text) > LONGEST:
        raise Unread("it is far too long.")
    return clean(text)


def parse_json(text: str) -> Any:
    """Parse strict JSON, fenced or not: no NaN, no infinity, no key twice; its strings are storable.

    Raises:
        ValueError: it is not that.
    """
    try:
        return cleaned(json.loads(unfenced(text), object_pairs_hook=unique, parse_constant=refuse, parse_float=finite))
    except RecursionError:
        msg = "The brackets are too deep."
        raise ValueError(msg) from None


def unfenced(text: str) -> str:
    """Take off the fence (```json) that chat models like to put around JSON."""
    text = text.strip()
    if len(text) > len(FENCE) * 2 and text.startswith(FENCE) and text.endswith(FENCE):
        return text.removeprefix(FENCE).removesuffix(FENCE).removeprefix("json")
    return text


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict, and refuse a key that is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "A key is there twice."
        raise ValueError(msg)
    return found


def refuse(name: str) -> Any:
    """Refuse NaN and Infinity."""
    msg = f"{name} is not a number in JSON."
    raise ValueError(msg)


def finite(digits: str) -> float:
    """Read a number, and refuse one that is beyond floating point."""
    number = float(digits)
    return number if math.isfinite(number) else refuse(digits[:20])


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
        Unread: the text is not JSON, or does not fit; with what is wrong in words that do not repeat the text.
    """
    try:
        return schema.model_validate_json(json.dumps(parse_json(text)))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)[:SHOWN]
        problem = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}"[:200] for one in wrong)
    except ValueError as error:
        problem = str(error)[:200]
    raise Unread(problem, text)
