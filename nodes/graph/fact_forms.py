"""Answers on a chunk in other forms than were asked for: words for types, the paper's records, misnumbered facts."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from dramaturg.models.extracted import WholeNumber, key_name
from dramaturg.models.reading import normalize_word
from dramaturg.stores.index.graph import TYPES
from dramaturg.stores.names import normal_name

WHOLE: TypeAdapter[int] = TypeAdapter(WholeNumber)
TYPE_WORDS = {
    "character": "person people human man woman being creature animal figure role 人物 角色 人 인물 사람 등장인물",
    "location": "place city town village country region building geo geography 地点 地方 场所 城市 장소 지역",
    "organization": "organisation group house family institution company society team 组织 团体 家族 门派 단체 조직",
    "event": "incident battle war happening 事件 사건",
    "time": "date year day period era century 时间 日期 时期 시간 날짜 시기",
    "object": "thing item artifact work book instrument product 物品 事物 作品 物件 사물 물건 작품",
    "concept": "idea interest belief conviction value emotion skill hobby 概念 兴趣 信念 개념 관심사 신념",
}
"""Other words that models have for a type."""
TYPE_OF = {one: one for one in TYPES} | {word: kind for kind, words in TYPE_WORDS.items() for word in words.split()}


def type_in(given: object) -> str:
    """The type that a word means, also in the plural, or with another word after it; "other" where it means none."""
    first = re.match(r"\w+", normalize_word(str(given)))
    word = first[0] if first else ""
    return TYPE_OF.get(word) or TYPE_OF.get(word.removesuffix("s"), "other")


def with_sentences(answer: Any, told: Sequence[str]) -> Any:
    """Read facts in the form of the paper, which has no sentences: each goes to the sentence that names most of it.

    So does a fact whose sentence is not there. One that no sentence names is left as it is, and has no place.

    Args:
        answer: the object; its lists may hold records (Figure 7; {source, target, description, strength} of 3.1).
        told: the sentences, in the order of their numbers.
    """
    if not isinstance(answer, dict):
        return answer
    facts: dict[str, Any] = {key_name(key): [] if isinstance(one, list) else one for key, one in answer.items()}
    items = [(key_name(key), item) for key, found in answer.items() if isinstance(found, list) for item in found]
    for kind, item in items:
        fact = fact_of(item)
        facts.setdefault("relations" if isinstance(item, list) and "source" in fact else kind, []).append(fact)
        if isinstance(fact, dict) and not is_sentence(fact.get("sentence"), len(told)):
            names = [str(fact[key]) for key in ("name", "source", "target") if key in fact]
            if number := sentence_of(names, told):
                fact["sentence"] = number
    return facts


def fact_of(item: Any) -> Any:
    """An item of an answer by the names of its fields; a record of an entity may begin with its type or its name."""
    if isinstance(item, dict):
        return {key_name(key): value for key, value in item.items()}
    if not isinstance(item, list):
        return item
    said = bool(item) and item[0] in ("entity", "relationship")
    fields = item[said:]
    if len(fields) > 3:
        return dict(zip(("source", "target", "description", "strength"), [*fields[:3], fields[-1]], strict=True))
    type_first = not said and bool(fields) and type_in(fields[0]) != "other"
    names = ("type", "name", "description") if type_first else ("name", "type", "description")
    return dict(zip(names, fields, strict=False))


def is_sentence(number: object, count: int) -> bool:
    """Whether this is the number of one of so many sentences."""
    try:
        return number is not None and 1 <= WHOLE.validate_python(number) <= count
    except ValidationError:
        return False


def sentence_of(names: Iterable[str], told: Sequence[str]) -> int:
    """The number of the sentence that has most of the names, or else of their words; 0 where none has any."""
    keys = [normal_name(name) for name in names]
    words = [word for key in keys for word in key.split() if len(word) > 2]
    lower = [text.casefold() for text in told]
    fits = [(sum(key in text for key in keys), sum(word in text for word in words)) for text in lower]
    return fits.index(max(fits)) + 1 if fits and any(max(fits)) else 0
