"""An object that a chat model gives, read item by item: what is bad in it costs that item, and not the answer.

Too long a text is cut at a sentence or a word, too long a list keeps its first items, an item that means nothing is
left out, JSON may stand in prose, and a value in another writing (`dramaturg.models.loose`). What was left out is said
in `Extracted.dropped`. Only where what remains is not enough is the answer no answer.

A field with a default is one that its mechanism can do without: it is asked for like the others, and where it is not
there, or is a text that is none, the default stands for it.
"""

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import isclass
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import ErrorDetails

from dramaturg.models.loose import alone, as_text, is_nothing, option_of
from dramaturg.models.reading import (
    SENTENCE_END,
    InvalidAnswer,
    begun_loosely,
    cleaned,
    object_in,
)
from dramaturg.models.thoughts import split_thoughts

PASSES = 8  # an error that was mended may uncover another one
NOTES = 20  # of what was left out
ABBREVIATED = re.compile(
    r"\b(?:[A-Z]|Mrs?|Ms|Dr|St|Sr|Jr|Prof|Capt|Col|Gen|Lt|Rev|[Nn]o|[Oo]p|[Vv]ol|ca|cf|e\.g|i\.e)\.$"
)
LONGEST_ABBREVIATED = 12  # characters, and some before it
BEGIN = re.compile(r"\{|\[(?=\s*+[\"'“{\[])")
JSON_PIECE = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{},"]', re.DOTALL)
"""A whole text, a bracket, a comma, or the beginning of a text that does not end."""
BETWEEN_ITEMS = re.compile(r"\s*[,，、;；\n]\s*(?:[-*•]\s+)?")

Path = tuple[int | str, ...]
Form = Callable[[Any], Any]
"""Turns an answer in another form, such as the one that a paper prints, into that of the contract."""


class Extracted(BaseModel):
    """What a chat model is asked for, as an object; fields are what it writes, so bound their lists and strings."""

    model_config = ConfigDict(extra="forbid")

    dropped: SkipJsonSchema[tuple[str, ...]] = Field(
        default=(), description="What was left out or cut of the answer, in words."
    )


E = TypeVar("E", bound=BaseModel)


def read_extracted(kind: type[E], text: str, form: Form | None = None, *, cut: bool = False) -> E:
    """Read what is good in an answer.

    Args:
        kind: what was asked for.
        text: what the model wrote: JSON, perhaps fenced, or in prose.
        form: reads another form of answer.
        cut: the text ends at the token limit: the last item, which may be a part of one, is left out.

    Raises:
        InvalidAnswer: there is no object, or what is left of it is not enough: a value that stands for itself is
            missing or bad, or there were items and none is good. Where a whole list is missing, or the text was cut,
            `rest` has what there is, for whoever asks no further.
    """
    value = within(given_in(text, kind) if not cut else begun_in(text), kind)
    if isinstance(value, dict) and issubclass(kind, Extracted):
        value.pop("dropped", None)
    value = form(copy.deepcopy(value)) if form else value
    notes = ["the end: it was cut at the token limit"] if cut else []
    lists, absent = lists_of(kind), list[str]()
    if isinstance(value, dict):
        value, names = with_names(value, kind), fields_of(kind)
        if not names.keys() & value.keys():
            raise InvalidAnswer(f"it must have the keys {', '.join(names)}.", text)
        absent = sorted(name for name in lists.keys() - value.keys() if names[name].is_required())
    if absent:
        value = value | {name: [] for name in absent}
        notes.append(f"{', '.join(absent)}: not there")
    found = fitted(kind, value, notes, text)
    if notes and lists and not any(value for name, value in found if name != "dropped"):
        raise InvalidAnswer("; ".join(notes[:3]), text)
    if absent or cut:
        problem = "it was cut before its end. Be brief." if cut else notes[0]
        raise InvalidAnswer(problem, text, rest=found)
    return found


def given_in(text: str, kind: type[BaseModel]) -> Any:
    """The JSON of an answer, also where it is a text within JSON; the text itself where a number is wanted alone.

    Raises:
        InvalidAnswer: there is none.
    """
    try:
        value = object_in(text)
        return object_in(value) if isinstance(value, str) else value
    except InvalidAnswer:
        if number_alone(kind):
            return split_thoughts(text).said.strip()
        raise


def fitted(kind: type[E], value: Any, notes: list[str], text: str) -> E:
    """Mend a value until it fits; what is cut or left out is noted.

    Raises:
        InvalidAnswer: something that is in no list does not fit.
    """
    for _ in range(PASSES):
        value = with_names(value, kind)
        extra = len(notes) - NOTES
        dropped = (*notes[:NOTES], *([f"and {extra} more"] if extra > 0 else []))
        own = {"dropped": dropped} if issubclass(kind, Extracted) else {}
        try:
            return kind.model_validate({**value, **own} if isinstance(value, dict) else value)
        except ValidationError as error:
            wrong = error.errors(include_url=False)
        if not isinstance(value, dict):
            break
        unfit = [
            one
            for one in without_extra(value, wrong)
            if not mend(kind, value, one, notes) and not left_out(kind, value, one, notes)
        ]
        items = {item_of(one["loc"]) for one in unfit}
        if () in items:
            wrong = [one for one in unfit if not item_of(one["loc"])]
            break
        first = {item_of(one["loc"]): noted(one) for one in reversed(unfit)}
        notes += [first[item] for item in dict.fromkeys(item_of(one["loc"]) for one in unfit)]
        for item in sorted(items, key=lambda path: [str(part).zfill(9) for part in path], reverse=True):
            del at(value, item[:-1])[item[-1]]
    raise InvalidAnswer("; ".join(noted(one) for one in wrong[:3]), text)


def mend(kind: type[BaseModel], value: dict[str, Any], error: ErrorDetails, notes: list[str]) -> bool:
    """Put right what can be; False where the item must go."""
    path, given, context = error["loc"], error["input"], error.get("ctx", {})
    if not leads(value, path):  # through a union: which of its types was meant is not known
        return False
    match error["type"], given:
        case "string_too_long", str():
            better: Any = cut_text(given.strip(), context["max_length"])
            notes.append(f"{place(path)}: cut to {context['max_length']} characters")
        case "too_long", list():
            there = [one for one in given if not is_nothing(one)]
            better = there[: context["max_length"]]
            if len(there) > len(better):
                notes.append(f"{place(path)}: {len(there) - len(better)} beyond {len(better)} left out")
        case "string_type", _:
            better = as_text(given)
        case "list_type", dict() | str() | None:
            better = as_list(given, plain(get_args(annotation_at(kind, path))[0]))
        case "literal_error", _:
            better = option_of(given, get_args(annotation_at(kind, path)))
        case "model_type", _:
            better = as_object(given, annotation_at(kind, path))
        case _:
            return False
    if better is None:
        return False
    at(value, path[:-1])[path[-1]] = better
    return True


def as_list(given: Any, kind: Any) -> list[Any]:
    """A list that came as one item, as an object of items by their numbers or names, or as a text with commas."""
    if given is None:
        return []
    if isinstance(given, str) and (kind is str or get_origin(kind) is Literal) and not option_of(given, get_args(kind)):
        return [one for one in BETWEEN_ITEMS.split(given.strip().removeprefix("- ")) if one]
    if isinstance(given, dict) and given and all(isinstance(one, dict) for one in given.values()):
        name = next(iter(name for name, _ in needed(kind)), "") if is_model(kind) else ""
        return [
            one if name in one or not name or re.search(r"\d", key) else {name: key, **one}
            for key, one in given.items()
        ]
    return [given]


def as_object(given: Any, kind: type[BaseModel]) -> Any:
    """An object that came in a list, or as the one value that is needed of it."""
    if isinstance(given, list):
        return given[0] if len(given) == 1 and isinstance(given[0], dict) else None
    need = needed(kind)
    return {need[0][0]: given} if len(need) == 1 and given is not None else None


def left_out(kind: type[BaseModel], value: dict[str, Any], error: ErrorDetails, notes: list[str]) -> bool:
    """Take out what a mechanism can do without; what was something is noted.

    What is there and means something, such as a number beyond its scale, is not taken for what is not there. An object
    that a mechanism can do without goes where something in it is bad, as an item of a list does.
    """
    if not error["loc"]:
        return False
    *where, name = error["loc"]
    if isinstance(name, int) or not leads(value, where):
        return False
    parent = annotation_at(kind, where)
    field = fields_of(parent).get(name) if is_model(parent) else None
    if field is None or field.is_required():
        return left_out(kind, value, {**error, "loc": tuple(where), "input": at(value, where)}, notes)
    if not leads(value, error["loc"]):
        return False
    if not is_nothing(at(value, error["loc"])):
        if plain(field.annotation) in (int, float, bool) or field.default not in ("", None, []):
            return False
        notes.append(noted(error))
    del at(value, where)[name]
    return True


def without_extra(value: dict[str, Any], errors: Iterable[ErrorDetails]) -> list[ErrorDetails]:
    """Take away keys that nobody asked for; return the other errors."""
    left = []
    for one in errors:
        if one["type"] == "extra_forbidden":
            *where, key = one["loc"]
            del at(value, where)[key]
        else:
            left.append(one)
    return left


def with_names(value: Any, kind: Any) -> Any:
    """The objects of an answer with the names of their fields as they were asked for."""
    if isinstance(value, list):
        item = plain(get_args(kind)[0]) if get_origin(kind) is list else kind
        return [with_names(one, item) for one in value]
    if not isinstance(value, dict) or not is_model(kind):
        return value
    fields = fields_of(kind)
    names = {key_name(name): name for name in fields if name not in value}
    named = {names.get(key_name(key), key): one for key, one in value.items()}
    return {
        name: with_names(one, plain(fields[name].annotation)) if name in fields else one for name, one in named.items()
    }


def key_name(key: int | str) -> str:
    """A key without what spellings of it differ in: "Belief and Value" and "beliefAndValue" are belief_and_value."""
    return re.sub(r"\W+", "_", re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", "_", str(key).strip())).casefold()


def item_of(path: Path) -> Path:
    """The innermost item of a list that a path leads through; empty where there is none."""
    return path[: max((number for number, part in enumerate(path, start=1) if isinstance(part, int)), default=0)]


def leads(value: Any, path: Iterable[int | str]) -> bool:
    """Whether there is a place."""
    try:
        at(value, path)
    except (LookupError, TypeError):
        return False
    return True


def at(value: Any, path: Iterable[int | str]) -> Any:
    """What a path leads to."""
    for part in path:
        value = value[part]
    return value


def annotation_at(kind: Any, path: Iterable[int | str]) -> Any:
    """The annotation of a place in a contract."""
    for part in path:
        kind = plain(get_args(kind)[0] if isinstance(part, int) else fields_of(kind)[str(part)].annotation)
    return kind


def fields_of(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a contract, by the names that an answer has for them."""
    return {field.alias or name: field for name, field in kind.model_fields.items() if name != "dropped"}


def needed(kind: type[BaseModel]) -> list[tuple[str, FieldInfo]]:
    """The fields of a contract without which it is none."""
    return [(name, field) for name, field in fields_of(kind).items() if field.is_required()]


def number_alone(kind: type[BaseModel]) -> str:
    """The field of a contract that needs no more than a number, or a yes or no; empty: it needs something else."""
    need = needed(kind)
    return need[0][0] if len(need) == 1 and plain(need[0][1].annotation) in (int, float, bool) else ""


def is_model(kind: Any) -> bool:
    """Whether this is a contract, and no other annotation."""
    return isclass(kind) and issubclass(kind, BaseModel)


def plain(annotation: Any) -> Any:
    """An annotation without `Annotated` and `| None`."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) not in (list, Literal) and NoneType in get_args(annotation):
        (annotation,) = (one for one in get_args(annotation) if one is not NoneType)
        return plain(annotation)
    return annotation


def place(path: Iterable[int | str]) -> str:
    """A place in words; items are counted from 1."""
    return " ".join(str(part + 1) if isinstance(part, int) else part for part in path) or "the answer"


def noted(error: ErrorDetails) -> str:
    """What is wrong and where, without a word of what the model wrote."""
    return f"{place(error['loc'])}: {error['msg']}"[:200]


def cut_text(text: str, most: int) -> str:
    """The beginning of a text: up to a sentence, else up to a word, of at most so many characters."""
    if len(text) <= most:
        return text
    whole = whole_sentences(text[: most + 1], most)
    if len(whole) >= most // 3:
        return whole
    words = text[:most].rpartition(" ")[0].rstrip(" ,;:，；：、—-")
    return (words if len(words) >= most // 2 else text[: most - 1]) + "…"


def whole_sentences(text: str, most: int | None = None) -> str:
    """The sentences of a text that end in it, or within so many characters; empty where none does."""
    ends = [found.end() for found in SENTENCE_END.finditer(text) if most is None or found.end() <= most]
    whole = (end for end in reversed(ends) if not ABBREVIATED.search(text[max(end - LONGEST_ABBREVIATED, 0) : end]))
    return text[: next(whole, 0)]


def begun_in(text: str) -> Any:
    """The JSON of an answer that was cut, without the item of a list at which it was.

    Raises:
        InvalidAnswer: it holds no list.
    """
    said = split_thoughts(text).said
    begin = BEGIN.search(said)
    opened = list[str]()  # what closes the brackets that are open
    sound = list[int]()  # of each, where what is in it ends that is whole
    end = len(said)
    for found in JSON_PIECE.finditer(said, begin.start() if begin else end):
        match found.group():
            case "{" | "[" as bracket:
                opened.append("}" if bracket == "{" else "]")
                sound.append(found.end())
            case "}" | "]":
                opened.pop()
                sound.pop()
            case ",":
                sound[-1] = found.start()
            case '"':  # a text without an end
                break
        if not opened:
            end = found.end()
            break
    if opened:
        last = max((at for at, one in enumerate(opened) if one == "]"), default=len(opened) - 1)
        end, opened = sound[last], opened[: last + 1]
    at = begin.start() if begin else end
    ways: tuple[Callable[[], Any], ...] = (
        lambda: json.loads(said[at:end] + "".join(reversed(opened))),
        lambda: begun_loosely(said, at),
    )
    for read in ways:
        with suppress(ValueError, RecursionError):
            if holds_list(value := read()):
                return cleaned(value)
    raise InvalidAnswer("it was cut before its end. Be brief.", text)


def holds_list(value: Any) -> bool:
    """Whether there is a list in a value."""
    return isinstance(value, list) or (isinstance(value, dict) and any(map(holds_list, value.values())))


def within(value: Any, kind: type[BaseModel]) -> Any:
    """An answer as the object that was asked for: out of what is around it, and from a bare list, item or number.

    An item of a bare list belongs to the list whose items have most keys in common with it.
    """
    names, lists = {key_name(name) for name in fields_of(kind)}, lists_of(kind)

    def has_names(one: Any) -> bool:
        return isinstance(one, Mapping) and not names.isdisjoint(map(key_name, one))

    if isinstance(value, Mapping) and not has_names(value):
        if any(_in_common(value, item) > 0 for item in lists.values()):
            return within([value], kind)
        inner = [one for one in value.values() if isinstance(one, dict | list)]
        value = inner[0] if len(inner) == 1 else alone(value)
    if isinstance(value, list) and len(value) == 1 and has_names(value[0]):
        return value[0]
    if isinstance(value, list) and lists:
        sorted_items: dict[str, list[Any]] = {name: [] for name in lists}
        for item in value:
            fits = {name: _in_common(item, one) for name, one in lists.items()}
            sorted_items[max(fits, key=fits.__getitem__)].append(item)
        return sorted_items
    name = number_alone(kind)
    return {name: value} if name and not isinstance(value, dict | list) else value


def lists_of(kind: type[BaseModel]) -> dict[str, Any]:
    """The lists of a contract, with what their items are."""
    annotations = {name: plain(field.annotation) for name, field in fields_of(kind).items()}
    return {name: plain(get_args(one)[0]) for name, one in annotations.items() if get_origin(one) is list}


def _in_common(item: Any, kind: Any) -> float:
    """How well an item fits: keys in common, less those that are missing."""
    if not isinstance(item, Mapping) or not is_model(kind):
        return 0
    wanted, given = {key_name(name) for name in fields_of(kind)}, {key_name(name) for name in item}
    return len(wanted & given) - len(wanted - given) / 2
