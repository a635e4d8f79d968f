"""Reading what a model wrote: clean text, strict JSON, short answers, probabilities of the first token."""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage

MAX_CHARACTERS = 200_000  # of an answer that is looked at
FENCE = "```"
TRIES = 50  # places in a text at which an object may begin
FIELD = "<|>"  # between the fields of a record: the form of GraphRAG, which RoleRAG takes over (its Figure 7)
BETWEEN_RECORDS = re.compile(r"\)\s*+(?:##\s*+)?\(|##|\n")
MIN_MASS = 0.05  # of the named answers together: with less, the model is about to say something else
YES = ("yes", "true", "是", "是的", "对", "예", "네")
NO = ("no", "false", "否", "不", "不是", "不对", "아니요", "아니오")
SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]»]*+(?=\s|$)|[。！？]++[。！？…”’」』）》]*+")
PUNCTUATION = " \t\r\n\"'`*_.,:;!?()[]{}<>。，：、！？「」"


class InvalidAnswer(ValueError):
    """An answer in another form than was asked for.

    The message is for the model, `answer` is what it wrote, and `rest` what can be read of it where the model gives
    nothing better. `cut` is whether it ends at the token limit.
    """

    def __init__(self, problem: str, answer: str = "", *, rest: Any = None, cut: bool = False) -> None:
        super().__init__(problem)
        self.answer, self.rest, self.cut = answer, rest, cut


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
        raise InvalidAnswer("it was cut before its end. Be brief.", text, cut=True)
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


def object_in(text: str) -> Any:
    """The JSON of an answer; where it stands in prose, the longest object or list.

    Records such as `("entity"<|>Tom<|>…)` are a list of lists of strings.

    Raises:
        InvalidAnswer: there is none.
    """
    text = without_thoughts(text)
    try:
        return parse_json(text)
    except ValueError as error:
        problem = str(error)[:200]
    if records := records_in(text):
        return cleaned(records)
    decoder = json.JSONDecoder(object_pairs_hook=unambiguous, parse_constant=lambda _: None, parse_float=finite)
    found, longest, begin = None, 0, -1
    for _ in range(TRIES):
        places = [one for one in (text.find("{", begin + 1), text.find("[", begin + 1)) if one >= 0]
        if not places:
            break
        begin = min(places)
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        if end - begin > longest:
            found, longest = value, end - begin
        begin = end - 1
    if found is None:
        raise InvalidAnswer(problem, text)
    return cleaned(found)


def without_thoughts(text: str) -> str:
    """A text without what stands between `<think>` and `</think>`."""
    kept, at = [], 0
    while (begin := text.find("<think>", at)) >= 0 and (end := text.find("</think>", begin)) >= 0:
        kept.append(text[at:begin])
        at = end + len("</think>")
    return "".join([*kept, text[at:]])


def records_in(text: str) -> list[list[str]]:
    """The records of a text, each its fields without quotes; a record stands in brackets."""
    found = []
    for one in BETWEEN_RECORDS.split(text.replace("<|COMPLETE|>", "")):
        first, *others = one.split(FIELD)
        if others:
            fields = [first.rpartition("(")[2], *others]
            if fields[-1].count(")") > fields[-1].count("("):  # else it is a bracket within the text
                fields[-1] = fields[-1].rpartition(")")[0]
            found.append([field.strip().strip('"“”') for field in fields])
    return found


def unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A dict in which a key that was there twice has no value."""
    counted = Counter(key for key, _ in pairs)
    return {key: value if counted[key] == 1 else None for key, value in pairs}


def finite(digits: str) -> float | None:
    """A number; none where it is beyond floating point."""
    return value if math.isfinite(value := float(digits)) else None


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


def short_answer_schema(answer: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with one short answer."""
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False}


def short_answer(text: str) -> Any:
    """The answer in an object, or the text itself where there is none: small models forget the braces."""
    try:
        data = object_in(text)
    except InvalidAnswer:
        return text
    if not isinstance(data, dict):
        return data if not isinstance(data, list) else text
    if "answer" in data:
        return data["answer"]
    if len(data) == 1:
        return next(iter(data.values()))
    problem = "it must be an object with the one key `answer`."
    raise InvalidAnswer(problem, text)


def word_answer(text: str, words: Sequence[str]) -> str:
    """A short answer as one of some words, normalized; what follows it after a comma or a stop does not count.

    "Yes.", "yes" and true are "yes", "yes" and "true"; "Yes, because …" is "yes".
    """
    answer = short_answer(text)
    if isinstance(answer, str | bool):
        said, known = str(answer).strip(PUNCTUATION), {normalize_word(one) for one in words}
        first = normalize_word(re.split(r"[,.;:!?\n，。；：！？]", said, maxsplit=1)[0])
        return first if first in known else normalize_word(said)
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
