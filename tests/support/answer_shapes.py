"""The shapes in which models write one and the same answer: around it, in its names, and in each of its fields."""

import copy
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.questions import extract

from fakes import scripted

Path = tuple[int | str, ...]
AGAIN = "asked again"
"""What comes of an answer that lacks what its mechanism needs."""


class Absent:
    """In place of a value: the key is not there."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


class Shape(NamedTuple):
    """A way to write an answer, and what is to be had of it at the first asking."""

    name: str
    text: str
    wanted: Any


class Form(NamedTuple):
    """A question with a good answer, and what its mechanism takes of it."""

    name: str
    ask: Callable[[ChatModel], Awaitable[Any]]
    good: Any
    taken: Any
    shapes: Sequence[Shape]


async def first_answer(form: Form, text: str) -> Any:
    """What a mechanism takes of a text, unless it asks once more."""
    model = scripted(text)
    try:
        value = await form.ask(chat_model(model))
    except UnusableAnswer:
        return AGAIN
    return value if len(model.calls) == 1 else AGAIN


def reading(
    kind: type[BaseModel], take: Callable[[Any], Any], form: Callable[[Any], Any] | None = None
) -> Callable[[ChatModel], Awaitable[Any]]:
    """Asks for a form."""

    async def ask(chat: ChatModel) -> Any:
        return take(await extract(chat, [HumanMessage("What is it?")], kind, form=form))

    return ask


def changed(good: Any, path: Path, value: Any) -> str:
    """The answer with another value at a place, or with none."""
    answer = copy.deepcopy(good)
    *way, last = path
    place = answer
    for part in way:
        place = place[part]
    if value is ABSENT:
        del place[last]
    else:
        place[last] = value
    return json.dumps(answer, ensure_ascii=False)


def renamed(value: Any, name: Callable[[str], str]) -> Any:
    """The answer with its keys in another writing."""
    if isinstance(value, dict):
        return {name(key): renamed(one, name) for key, one in value.items()}
    return [renamed(one, name) for one in value] if isinstance(value, list) else value


def camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(map(str.title, others))


def around(good: Any, taken: Any) -> Iterator[Shape]:
    """What models write around an answer, and how they write its names."""
    plain = json.dumps(good, ensure_ascii=False)
    texts = {
        "as asked": plain,
        "on many lines": json.dumps(good, ensure_ascii=False, indent=2),
        "fenced": f"```json\n{plain}\n```",
        "Python": repr(good),
        "Python, fenced": f"```python\nanswer = {good!r}\n```",
        "in prose": f"Certainly! Here it is:\n\n{plain}\n\nLet me know if you need more.",
        "after thoughts": f"<think>Let me see.</think>\n{plain}",
        "a comma too many": plain[:-1] + ",}",
        "with a comment": plain[:-1] + "} // that is all",
        "in a key": json.dumps({"answer": good}),
        "in a key beside another": json.dumps({"thoughts": "Let me see.", "output": good}),
        "in a list": json.dumps([good]),
        "as a text": json.dumps(plain),
        "Keys Titled": json.dumps(renamed(good, str.title)),
        "KEYS IN CAPITALS": json.dumps(renamed(good, str.upper)),
        "keys with spaces": json.dumps(renamed(good, lambda key: key.replace("_", " "))),
        "keys with hyphens": json.dumps(renamed(good, lambda key: key.replace("_", "-"))),
        "keysInCamel": json.dumps(renamed(good, camel)),
        "with another key": json.dumps({**good, "note": "That is all."}),
    }
    for name, text in texts.items():
        yield Shape(name, text, taken)


def unused(good: Any, taken: Any, *paths: Path, long: int = 5000) -> Iterator[Shape]:
    """Texts that no mechanism needs, in whatever state they are."""
    states = {
        "absent": ABSENT,
        "null": None,
        "empty": "",
        "blank": "  ",
        "a number": 7,
        "a list": ["One.", "Two."],
        "an object": {"why": "Because."},
        "true": True,
        "far too long": "He stays. " * (long // 10),
    }
    for path in paths:
        for name, value in states.items():
            yield Shape(f"{place(path)} {name}", changed(good, path, value), taken)


def place(path: Path) -> str:
    return ".".join(str(part) for part in path)


WORDS = {3: ("three", "三", "셋"), 4: ("four", "四", "넷"), 8: ("eight", "八", "여덟"), 2: ("two", "二", "둘")}


def numbers(good: Any, taken: Any, path: Path, low: int, high: int, *, halves: Any = AGAIN) -> Iterator[Shape]:
    """A number on a scale in its usual writings, and what is no number on it.

    Args:
        good: the answer, which has it.
        taken: what is taken of that.
        path: where it stands.
        low: of the scale.
        high: of the scale.
        halves: what is taken of one half more.
    """
    value = good
    for part in path:
        value = value[part]
    english, chinese, korean = WORDS[value]
    full = chr(ord("０") + value)
    same: dict[str, Any] = {
        "a text": str(value),
        "with a stop": f" {value}. ",
        "with a zero": f"{value}.0",
        "a float": float(value),
        f"/{high}": f"{value}/{high}",
        f"spaced /{high}": f"{value} / {high}",
        f"out of {high}": f"{value} out of {high}",
        "full width": full,
        "分": f"{value}分",
        "满分": f"满分{high}分，得{value}分",
        "점": f"{value}점",
        "만점": f"{high}점 만점에 {value}점",
        "Arabic": chr(0x660 + value),
        "in words": english,
        "in words, Titled": english.title(),
        "汉字": chinese,
        "한글": korean,
        "with words": f"{value} (clearly so)",
        "with a dash": f"{value} - clearly so",
        "with a label": f"Score: {value}",
        "points": f"{value} points",
        "bold": f"**{value}**",
        "in a list": [value],
        "in an object": {"value": value},
    }
    bad: dict[str, Any] = {
        "above": high + 1,
        "below": low - 1,
        "above, a text": f"{high + 1}",
        "of another scale": f"{value}/{high * 2}",
        "either": f"{value} or {value - 1}",
        "a range": f"{value - 1}-{value}",
        "a word": "high",
        "a negation": f"not {value}",
        "null": None,
        "true": True,
        "empty": "",
        "absent": ABSENT,
        "infinite": "inf",
        "nan": "nan",
    }
    for name, one in same.items():
        yield Shape(f"{place(path)} {name}", changed(good, path, one), taken)
    for name, one in bad.items():
        yield Shape(f"{place(path)} {name}", changed(good, path, one), AGAIN)
    for name, one in {"and a half": value + 0.5, "and a half, a text": f"{value}.5", "comma": f"{value},5"}.items():
        yield Shape(f"{place(path)} {name}", changed(good, path, one), halves)


def counted(good: Any, taken: Any, path: Path, most: int, noun: str = "statement") -> Iterator[Shape]:
    """The number of one of several things, and what names none of them."""
    value = good
    for part in path:
        value = value[part]
    same: dict[str, Any] = {
        "a text": str(value),
        "with a stop": f"{value}.",
        "a float": float(value),
        "a noun": f"{noun} {value}",
        "Noun #": f"{noun.title()} #{value}",
        "#": f"#{value}",
        "No.": f"No. {value}",
        "brackets": f"[{value}]",
        "full width": chr(ord("０") + value),
        "第句": f"第{value}句",
        "번": f"{value}번",
        "in words": WORDS[value][0],
        "in a list": [value],
    }
    bad: dict[str, Any] = {
        "beyond": most + 1,
        "negative": -1,
        "and a half": value + 0.5,
        "true": True,
        "two of them": f"{value} and {value - 1}",
        "words": "the one about the sea",
    }
    for name, one in same.items():
        yield Shape(f"{place(path)} {name}", changed(good, path, one), taken)
    for name, one in bad.items():
        yield Shape(f"{place(path)} {name}", changed(good, path, one), AGAIN)


def flags(good: Any, path: Path, takes: Callable[[bool], Any], neither: Any = AGAIN) -> Iterator[Shape]:
    """A yes and a no in their usual writings, and what is neither."""
    said: dict[bool, Sequence[Any]] = {
        True: ("yes", "Yes.", "YES", "true", "True", "是", "是的", "예", "네", "y", 1, "Yes, he does.", ["yes"]),
        False: (
            "no",
            "No.",
            "NO",
            "false",
            "False",
            "否",
            "不是",
            "아니요",
            "아니오",
            "n",
            0,
            "No: he does not.",
            ["no"],
        ),
    }
    for value, words in said.items():
        for word in words:
            yield Shape(f"{place(path)} {word!r}", changed(good, path, word), takes(value))
    for word in ("maybe", 7, "yes and no"):
        yield Shape(f"{place(path)} {word!r}", changed(good, path, word), neither)


def spelled(good: Any, taken: Any, path: Path, *extra: str) -> Iterator[Shape]:
    """One of some words, in other writings."""
    word = good
    for part in path:
        word = word[part]
    ways = (word.upper(), word.title(), f" {word}. ", f"“{word}”", word.replace("_", " "), word.replace("_", "-"))
    for way in dict.fromkeys([*ways, camel(word), *extra]):
        yield Shape(f"{place(path)} {way!r}", changed(good, path, way), taken)


def listed(good: Any, taken: Any, key: str, *, bare: bool = True) -> Iterator[Shape]:
    """A list of one object in other forms."""
    (item,) = good[key]
    ways = {
        "one object": item,
        "by number": {"1": item},
        "by a name": {f"{key}_1": item},
        "with null": [item, None],
        "with an empty one": [item, {}],
        "with a text": [item, "…"],
        "with another key": [{**item, "note": "Well."}],
        "Keys Titled": [renamed(item, str.title)],
    }
    for name, value in ways.items():
        yield Shape(f"{key} {name}", json.dumps({**good, key: value}), taken)
    if bare:
        yield Shape(f"{key} alone", json.dumps(good[key]), taken)
        yield Shape("one object alone", json.dumps(item), taken)


def words(good: Any, taken: Any, key: str) -> Iterator[Shape]:
    """A list of two texts in other forms."""
    one, other = good[key]
    ways: Mapping[str, Any] = {
        "with commas": f"{one}, {other}",
        "、": f"{one}、{other}",
        "on lines": f"- {one}\n- {other}",
        "in objects": [{"name": one}, {"name": other}],
        "IN CAPITALS": [one.upper(), other.upper()],
        "with null": [one, None, other],
        "with an empty one": [one, "", other],
    }
    for name, value in ways.items():
        yield Shape(f"{key} {name}", json.dumps({**good, key: value}, ensure_ascii=False), taken)


def form(
    name: str, ask: Callable[[ChatModel], Awaitable[Any]], good: Any, taken: Any, *shapes: Iterable[Shape]
) -> Form:
    """A form with all its shapes; what stands around every answer is among them."""
    return Form(name, ask, good, taken, [*around(good, taken), *(one for some in shapes for one in some)])
