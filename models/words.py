"""Reading short answers: one word, alone or as `{"answer": …}`."""

from typing import Any

from dramaturg.models.probabilities import normal
from dramaturg.models.reading import Unread, parse_json


def short_schema(answer: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with one short answer."""
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False}


def short(text: str) -> Any:
    """The answer in an object, or the text itself where it is not JSON: small models forget the braces."""
    try:
        data = parse_json(text)
    except ValueError:
        return text
    if not isinstance(data, dict):
        return data
    if set(data) != {"answer"}:
        problem = "it must be an object with the one key `answer`."
        raise Unread(problem, text)
    return data["answer"]


def word(text: str) -> str:
    """A short answer as one normal word: "Yes.", "yes" and true are "yes", "yes" and "true"."""
    said = short(text)
    if isinstance(said, str | bool):
        return normal(str(said))
    problem = "the answer must be a word."
    raise Unread(problem, text)


def number(text: str) -> int:
    """A short answer as a whole number: 4, "4" and 4.0 are; "four" and 4.5 are not."""
    said = short(text)
    if isinstance(said, str) and normal(said).removeprefix("-").isdecimal() and len(said) < 10:
        said = int(normal(said))
    if isinstance(said, float) and said.is_integer():
        said = int(said)
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    problem = "the answer must be a whole number in digits."
    raise Unread(problem, text)
