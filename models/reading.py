"""Reading what a model wrote: clean text, strict JSON, short answers, probabilities of the first token."""

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import json_repair
from langchain_core.messages import AIMessage

from dramaturg.models.thoughts import split_thoughts

MAX_CHARACTERS = 200_000  # of an answer that is looked at
FENCE = "```"
TRIES = 50  # places in a text at which an object may begin
LONGEST_MENDED = 20_000  # characters: what mends JSON takes a time that grows with the square of some texts
DEEPEST_MENDED = 20  # brackets in each other
MARKS_MENDED = 100  # brackets and quotes within texts: behind each the library looks for an end
FIELD = "<|>"  # between the fields of a record: the form of GraphRAG, which RoleRAG takes over (its Figure 7)
BETWEEN_RECORDS = re.compile(r"\)\s*+(?:##\s*+)?\(|##|\n")
_NOTE = r"//|\#|/\*"
_WORD = r"(?i:true|false|null|none)\b"
_NAME = r"[^\W\d]\w*+(?=\s*+:)"
_CLOSED = rf"""\s*+(?:[\]}}:]|\Z|```|{_NOTE}|,\s*+(?:[\]}}\[{{"'“\d-]|\Z|```|{_NOTE}|{_WORD}|{_NAME}))"""
_TEXT = "|".join(rf"{begin}(?:[^{end}\\]++|\\.|{end}(?!{_CLOSED}))*+{end}" for begin, end in ('""', "''", "“”"))
LOOSE_PIECE = re.compile(
    rf"(?P<space>\s++|//[^\n]*+|\#[^\n]*+|/\*.*?\*/)|(?P<text>{_TEXT})|(?P<name>{_NAME})|(?P<mark>[\[\]{{}},:])"
    rf"|(?P<word>{_WORD})|(?P<number>-?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?(?![\w.]))|(?P<stop>[\"'“]|```)",
    re.DOTALL,
)
"""A piece of what is nearly JSON. A quote ends a text only where something may follow that follows a text."""
ALONE = re.compile(r"\s*+(?:```\w*+\s*+)?+")
MARK = re.compile(r'[\[\](){}"“”]')
ESCAPE = re.compile(r"\\(u[\da-fA-F]{4}|x[\da-fA-F]{2}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"} | {one: one for one in "\\/\"'“”"}
MIN_MASS = 0.05  # of the named answers together: with less, the model is about to say something else
YES = ("yes", "true", "是", "是的", "对", "예", "네")
NO = ("no", "false", "否", "不", "不是", "不对", "아니요", "아니오")
SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]»]*+(?=\s|$)|[。！？]++[。！？…”’」』）》]*+")
PUNCTUATION = " \t\r\n\"'`*_.,:;!?()[]{}<>。，：、！？「」"


class InvalidAnswer(ValueError):
    """An answer in another form than was asked for.

    The message is for the model, `answer` is what it wrote, and `rest` what can be read of it where the model gives
    nothing better. `cut` is whether it ends at the token limit, `thought` whether it ended before anything was said.
    """

    def __init__(
        self, problem: str, answer: str = "", *, rest: Any = None, cut: bool = False, thought: bool = False
    ) -> None:
        super().__init__(problem)
        self.answer, self.rest, self.cut, self.thought = answer, rest, cut, thought


class HeldBack(ValueError):
    """A filter of the server's has stopped the answer."""


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
    """What is said in an answer, without thoughts, storable. One that is given to a tool is what the tool is given.

    Args:
        message: the answer; servers may send a list of blocks.
        cut: whether a text that stops at the token limit counts as an answer.

    Raises:
        InvalidAnswer: it is empty, refused, too long, or cut.
        HeldBack: a filter has stopped it.
    """
    try:
        text = str(message.text)
    except (TypeError, LookupError, AttributeError):
        raise InvalidAnswer("it is not text.") from None
    if len(text) > MAX_CHARACTERS:
        raise InvalidAnswer("it is far too long.")
    ended = message.response_metadata.get("finish_reason")
    if ended == "content_filter":
        raise HeldBack
    if message.additional_kwargs.get("refusal"):
        raise InvalidAnswer("it was refused.")
    split = split_thoughts(clean(text))
    said = split.said
    if not said.strip() and message.tool_calls:
        said = clean(json.dumps(message.tool_calls[0]["args"], ensure_ascii=False))
    if not said.strip():
        raise InvalidAnswer("it is empty.", thought=ended == "length" or bool(split.thoughts))
    if ended == "length" and not cut:
        raise InvalidAnswer("it was cut before its end. Be brief.", said, cut=True)
    return said


def thoughts_of(message: AIMessage) -> str:
    """What was thought before an answer, storable: in its text, in blocks of it, or in a field beside it."""
    blocks = message.content if isinstance(message.content, list) else []
    parts = [text for block in blocks if isinstance(block, Mapping) for text in thoughts_in(block)]
    found: list[Any] = ["".join(one for one in parts if isinstance(one, str))]
    found.append(message.additional_kwargs.get("reasoning_content"))  # as LangChain's other clients have it
    with suppress(TypeError, LookupError, AttributeError):
        found.append(split_thoughts(str(message.text)[:MAX_CHARACTERS]).thoughts)
    return clean("\n".join(one.strip() for one in found if isinstance(one, str) and one.strip()))


def thoughts_in(block: Mapping[str, Any]) -> list[Any]:
    """The thoughts in a block of an answer, if it is one of thoughts."""
    match block:
        case {"type": "thinking", "thinking": list(parts)}:  # Mistral's
            return [one.get("text") for one in parts if isinstance(one, Mapping)]
        case {"type": "reasoning", "summary": list(parts)}:  # of OpenAI's responses
            return [one.get("text") for one in parts if isinstance(one, Mapping)]
        case {"type": "reasoning" | "thinking" as kind}:
            return [block.get(kind)]
    return []


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


def is_json(text: str) -> bool:
    """Whether a text is JSON from its beginning to its end."""
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


def object_in(text: str) -> Any:
    """The JSON of an answer; where it stands in prose, the longest object or list.

    What is nearly JSON is mended, see `mended`. Records such as `("entity"<|>Tom<|>…)` are a list of lists of strings.

    Raises:
        InvalidAnswer: there is none, or it has no end: what is whole within it is not the answer.
    """
    text = split_thoughts(text).said
    try:
        return parse_json(text)
    except ValueError as error:
        problem = str(error)[:200]
    if records := records_in(text):
        return cleaned(records)
    decoder = json.JSONDecoder(object_pairs_hook=unambiguous, parse_constant=lambda _: None, parse_float=finite)
    found, longest, begin, mends, cut = None, 0, -1, 0, False
    for _ in range(TRIES):
        places = [one for one in (text.find("{", begin + 1), text.find("[", begin + 1)) if one >= 0]
        if not places:
            break
        begin = min(places)
        try:
            value, end = decoded(decoder, text, begin) if begin >= mends else decoder.raw_decode(text, begin)
        except CutOff as error:
            begin, cut, problem = error.at, True, "it was cut before its end. Be brief."
            continue
        except Unmended as error:
            mends = error.at
            continue
        except (ValueError, RecursionError):
            continue
        if end - begin > longest:
            found, longest = value, end - begin
        begin = end - 1
    if found is None:
        raise InvalidAnswer(problem, text, cut=cut)
    return cleaned(found)


class Unmended(ValueError):
    """What is nearly JSON cannot be read: what else is nearly JSON before `at` is a part of it, and no answer."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class CutOff(Unmended):
    """It has no end: not even what is whole in it is an answer."""


class LooseJson(NamedTuple):
    """What is nearly JSON, up to its end or that of the text."""

    end: int
    pieces: list[str]
    """Without comments."""
    said: list[Any]
    """Names, texts, numbers and words, in their order."""
    open: list[str]
    """What closes the brackets that are open."""
    sound: list[int]
    """Of each, how many pieces there are up to the end of what is whole in it."""
    cut: bool
    """Whether a text in it has no end."""


def decoded(decoder: json.JSONDecoder, text: str, begin: int) -> tuple[Any, int]:
    """The JSON that begins at a bracket, mended if need be, and where it ends.

    Brackets that are open behind an item that is whole are closed. In prose, what has no quotes is prose: `{note: 1}`.

    Raises:
        CutOff: it has no end.
        Unmended: there is none.
    """
    with suppress(ValueError, RecursionError):
        return decoder.raw_decode(text, begin)
    if ALONE.fullmatch(text, 0, begin):
        try:
            return decoded_loosely(text, begin)
        except Unmended as error:
            error.at = len(text)
            raise
    return decoded_loosely(text, begin, quoted=True)


def decoded_loosely(text: str, begin: int, *, quoted: bool = False) -> tuple[Any, int]:
    """What is nearly JSON and begins at a bracket, mended, and where it ends; it may have to have quotes."""
    loose = loose_json(text, begin)
    if loose.cut or (loose.open and loose.pieces[-1] not in ("]", "}")):
        raise CutOff(loose.end)
    if quoted and not any(piece[0] in "\"'“" for piece in loose.pieces):
        raise Unmended(begin)
    try:
        return mended(loose, len(loose.pieces), loose.open), loose.end
    except ValueError:
        raise Unmended(loose.end) from None


def begun_loosely(text: str, begin: int) -> Any:
    """What is nearly JSON and was cut, without the item of a list at which it was.

    Raises:
        ValueError: there is none.
    """
    loose = loose_json(text, begin)
    last = max((at for at, one in enumerate(loose.open) if one == "]"), default=-1)
    return mended(loose, loose.sound[last] if loose.open else len(loose.pieces), loose.open[: last + 1 or None])


def mended(loose: LooseJson, pieces: int, closers: Sequence[str]) -> Any:
    """The value of so many pieces of what is nearly JSON.

    Quotes may be single, or stand in a text without a backslash; a comma may be one too many. The library that mends
    also guesses, so its value counts only where it says the same as the pieces do, in their order: it is not asked
    what a word without quotes means, nor which of two values a key has.

    Raises:
        ValueError: it says something else.
    """
    texts = [(piece[0], piece[1:-1]) for piece in loose.pieces]
    if sum(len(MARK.findall(one)) + (quote == "'") * one.count("'") for quote, one in texts) > MARKS_MENDED:
        raise ValueError("it has too many quotes to mend.")
    text = "".join([*loose.pieces[:pieces], *reversed(closers)])
    said = loose.said if pieces == len(loose.pieces) else loose_json(text, 0).said
    try:
        value = json_repair.loads(text, skip_json_loads=True, strict=True)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError("it cannot be mended.") from None
    if list(said_in(value)) != said:
        raise ValueError("it can be read in two ways.")
    return value


def said_in(value: Any) -> Iterator[Any]:
    """The names, texts, numbers and words of a value, in their order."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from said_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from said_in(one)
    else:
        yield value


def loose_json(text: str, begin: int) -> LooseJson:
    """What is nearly JSON and begins at a bracket.

    Raises:
        Unmended: something else is there, or it is too long or too deep.
    """
    loose = LooseJson(begin, [], [], [], [], cut=False)
    at, most, stop = begin, min(begin + LONGEST_MENDED, len(text)), ""
    while piece := LOOSE_PIECE.match(text, at, most):
        kind, said = str(piece.lastgroup), piece.group()
        if kind == "stop":
            stop = said
            break
        try:
            add_piece(loose, kind, said)
        except ValueError:
            raise Unmended(at) from None
        at = piece.end()
        if not loose.open:
            return loose._replace(end=at)
    if most < len(text) or (at < most and not stop):  # too long, else no JSON
        raise Unmended(at if at < most else len(text))
    return loose._replace(end=at, cut=stop not in ("", FENCE))


def add_piece(loose: LooseJson, kind: str, piece: str) -> None:
    """Take a piece to those before it.

    Raises:
        ValueError: it cannot stand there.
    """
    if kind == "space":
        return
    if kind == "mark":
        add_mark(loose, piece)
    else:
        loose.said.append(scalar(kind, piece))
    loose.pieces.append(piece)


def add_mark(loose: LooseJson, mark: str) -> None:
    """Take note of a bracket, a comma or a colon.

    Raises:
        ValueError: it is not the bracket that is open, or there are too many.
    """
    if mark in "{[":
        loose.open.append("}" if mark == "{" else "]")
        loose.sound.append(len(loose.pieces) + 1)
    elif mark in "}]":
        loose.sound.pop()
        if loose.open.pop() != mark:
            raise ValueError("a bracket is missing.")
    elif mark == ",":
        loose.sound[-1] = len(loose.pieces)
    if len(loose.open) > DEEPEST_MENDED:
        raise ValueError("the brackets are too deep.")


def scalar(kind: str, piece: str) -> Any:
    """What a name, a text, a number or a word says.

    Raises:
        ValueError: it is no number, or a text has the first of two quotes only.
    """
    match kind:
        case "text":
            if piece[0] == '"' and piece.replace('\\"', "").count('"') % 2:
                raise ValueError("a quote is missing.")
            return ESCAPE.sub(unescaped, piece[1:-1])
        case "number":
            return json.loads(piece, parse_float=finite_float)
        case "word":
            return {"true": True, "false": False}.get(piece.lower())
    return piece


def unescaped(found: re.Match[str]) -> str:
    """The character that stands behind a backslash; both where nothing is known of it."""
    one = found[1]
    return chr(int(one[1:], 16)) if len(one) > 1 else ESCAPES.get(one, found[0])


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
        return data if not isinstance(data, list) else data[0] if len(data) == 1 else text
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
    if isinstance(answer, str | bool | int):
        said, known = str(answer).strip(PUNCTUATION), {normalize_word(one) for one in words}
        first = normalize_word(re.split(r"[,.;:!?\n，。；：！？]", said, maxsplit=1)[0])
        return first if first in known else normalize_word(said)
    problem = "the answer must be a word."
    raise InvalidAnswer(problem, text)


def first_token(message: AIMessage) -> dict[str, float]:
    """Probabilities of the first token, summed over spellings: " Yes", "YES" and "yes." are one.

    `NoProbabilities` is raised where the server gave none, or none of alternatives, and `HeldBack` where its filter has
    stopped the answer: that tells nothing of what else it gives.
    """
    if message.response_metadata.get("finish_reason") == "content_filter":
        raise HeldBack
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
