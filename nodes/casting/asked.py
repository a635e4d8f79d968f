"""Who says what rules leave open, asked of a chat model: numbered quotations in their text, and numbered people."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, cast

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model

from dramaturg.models.chat import ChatModel, tokens_in
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import NumberOf
from dramaturg.models.questions import extract
from dramaturg.nodes.asking import Announce, Answers, answer_all
from dramaturg.nodes.casting.people import Person
from dramaturg.nodes.casting.quotes import Paragraph, Quote, one_line, paragraphs_in
from dramaturg.prompts import load
from dramaturg.stores.documents.forms import Language
from dramaturg.stores.index.answers import answer_key

TOGETHER = 8
"""Quotations that are asked about in one question."""
APART = 4
"""Paragraphs between two of them, beyond which they are asked about apart."""
CONTEXT = 3
"""Paragraphs before the first of them that are shown."""
SHOWN = 500
"""Characters of a paragraph that are shown of its beginning and of its end."""
OFFERED = 12
"""People to choose from: those nearby, and who speaks most in the text."""
NEARBY = 20
"""Paragraphs on either side in which people are nearby."""
ANSWER_TOKENS = 14
"""Of the answer on a quotation."""


class Stretch(NamedTuple):
    """What one question is about."""

    quotes: tuple[int, ...]
    """The places of the quotations among all."""
    people: tuple[str, ...]
    passage: str
    """The text with a number before each of them, and the speaker before each of the others."""


class SaidBy(BaseModel):
    """Who says a quotation, by their numbers; 0: none of those who are offered."""

    model_config = ConfigDict(extra="forbid")

    quote: int
    speaker: int


class SaidByAll(Extracted):
    """Who says which quotation."""

    speakers: list[SaidBy]


class AskedSpeakers(NamedTuple):
    """All quotations, and what came of the questions."""

    quotes: list[Quote]
    asked: int
    """How many quotations the model was asked about."""
    found: int
    """Of how many it has told the speaker."""
    failed: list[str]
    """Why a question has no usable answer, one an entry: its quotations stay without a speaker."""


class SpeakersCost(NamedTuple):
    """What it would cost to ask."""

    questions: int
    quotes: int
    tokens: int
    """About how many, of questions and answers."""


def stretches_of(text: str, quotes: Sequence[Quote], people: Sequence[Person]) -> list[Stretch]:
    """What would be asked: stretches of text with quotations of nobody known, the first of each paragraph.

    Args:
        text: in which the quotations stand.
        quotes: as `attributed` gives them.
        people: who may speak, whoever speaks most first.
    """
    paragraphs, groups = paragraphs_in(text), list[list[int]]()
    for at, quote in enumerate(quotes):
        same = at > 0 and (quotes[at - 1].paragraph == quote.paragraph or quote.goes_on) and not quotes[at - 1].speaker
        if quote.speaker or same:
            continue
        near = bool(groups) and quote.paragraph - quotes[groups[-1][-1]].paragraph <= APART
        if near and len(groups[-1]) < TOGETHER:
            groups[-1].append(at)
        else:
            groups.append([at])
    return [
        Stretch(tuple(group), _offered(quotes, group, people), _passage(text, paragraphs, quotes, group))
        for group in groups
    ]


def cost_of(stretches: Sequence[Stretch], language: Language) -> SpeakersCost:
    """How many questions there are, and about how many tokens they and their answers have."""
    tokens = sum(tokens_in(_messages(one, language)) + ANSWER_TOKENS * len(one.quotes) for one in stretches)
    return SpeakersCost(len(stretches), sum(len(one.quotes) for one in stretches), tokens)


async def ask_speakers(
    chat: ChatModel,
    quotes: Sequence[Quote],
    stretches: Sequence[Stretch],
    *,
    language: Language,
    announce: Announce = lambda _: None,
    known: Mapping[str, JsonValue] = MappingProxyType({}),
    keep: Callable[[Answers], Awaitable[None]] | None = None,
) -> AskedSpeakers:
    """Ask who says what nobody is known to say, several stretches at a time.

    Whoever the model does not know, and every quotation of a question without a usable answer, stays unknown.

    Args:
        chat: the chat model.
        quotes: as `attributed` gives them.
        stretches: what is asked, as `stretches_of` gives it for these quotations.
        language: "en", "zh" or "ko".
        announce: is told how many questions are done.
        known: answers that were kept; what they answer is not asked again.
        keep: writes answers down; None: nobody does.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    told = dict[int, str]()
    failed = list[str]()
    keys = {one: answer_key("cast speakers", chat.name, language, [*one.people], one.passage) for one in stretches}

    def take(stretch: Stretch, said: JsonValue) -> None:
        for number, speaker in cast("list[list[int]]", said):
            told.setdefault(stretch.quotes[number - 1], stretch.people[speaker - 1])

    async def ask(stretch: Stretch) -> Answers:
        count = len(stretch.quotes)
        try:
            answer = await extract(chat, _messages(stretch, language), _among(count, len(stretch.people)))
        except UNANSWERED as error:
            failed.append(str(error))
            return {}
        said: JsonValue = [[one.quote, one.speaker] for one in answer.speakers if one.speaker]
        take(stretch, said)
        return {keys[stretch]: said}

    async def nowhere(_: Answers) -> None:
        """Keep nothing."""

    left = {key: one for one, key in keys.items() if key not in known}
    await answer_all(left, ask, keep=keep or nowhere, announce=announce)
    for one, key in keys.items():
        if key in known:
            take(one, known[key])
    found = list(_with(quotes, told))
    return AskedSpeakers(found, sum(len(one.quotes) for one in stretches), len(told), failed)


def _with(quotes: Sequence[Quote], told: Mapping[int, str]) -> Iterator[Quote]:
    """The quotations with the speakers that were told, which hold for what goes on with one of them, too."""
    last: Quote | None = None
    for at, quote in enumerate(quotes):
        speaker = told.get(at, "")
        if not (quote.speaker or speaker) and last and last.how == "model":
            speaker = last.speaker if quote.goes_on or quote.paragraph == last.paragraph else ""
        last = quote._replace(speaker=speaker, how="model") if speaker and not quote.speaker else quote
        yield last


def _offered(quotes: Sequence[Quote], group: Sequence[int], people: Sequence[Person]) -> tuple[str, ...]:
    first, last = quotes[group[0]].paragraph - NEARBY, quotes[group[-1]].paragraph + NEARBY
    begin, end = group[0], group[-1]
    while begin and quotes[begin - 1].paragraph >= first:
        begin -= 1
    while end + 1 < len(quotes) and quotes[end + 1].paragraph <= last:
        end += 1
    near = (name for one in quotes[begin : end + 1] for name in (one.speaker, one.to) if name)
    return tuple(dict.fromkeys([*near, *(one.name for one in people)]))[:OFFERED]


def _passage(text: str, paragraphs: Sequence[Paragraph], quotes: Sequence[Quote], group: Sequence[int]) -> str:
    """The paragraphs around quotations, with marks before what is said in them."""
    first, last = max(quotes[group[0]].paragraph - CONTEXT, 0), quotes[group[-1]].paragraph + 1
    begin = end = group[0]
    while begin and quotes[begin - 1].paragraph >= first:
        begin -= 1
    while end + 1 < len(quotes) and quotes[end + 1].paragraph <= last:
        end += 1
    number = {at: place for place, at in enumerate(group, start=1)}
    shown = list[str]()
    for place in range(first, min(last + 1, len(paragraphs))):
        paragraph, parts = paragraphs[place], list[str]()
        at = paragraph.begin
        for of in range(begin, end + 1):
            quote = quotes[of]
            if quote.paragraph != place:
                continue
            mark = f"[{number[of]}] " if of in number else f"[{quote.speaker}] " if quote.speaker else ""
            parts += [_cut(text[at : quote.begin]), mark, _cut(text[quote.begin : quote.end])]
            at = quote.end
        parts.append(_cut(text[at : paragraph.end]))
        shown.append(one_line("".join(parts)))
    return "\n".join(shown)


def _cut(text: str) -> str:
    return text if len(text) <= 2 * SHOWN else f"{text[:SHOWN]} … {text[-SHOWN:]}"


def _messages(stretch: Stretch, language: Language) -> list[BaseMessage]:
    people = "\n".join(f"{number}. {one_line(name)}" for number, name in enumerate(stretch.people, start=1))
    data = {"people": people, "passage": stretch.passage}
    return load("attribute_quotes", language).messages(count=str(len(stretch.quotes)), data=data)


@lru_cache(maxsize=128)
def _among(quotes: int, people: int) -> type[SaidByAll]:
    """The form of an answer on so many quotations and people."""
    quote: Any = (Annotated[int, NumberOf(quotes)], ...)
    speaker: Any = (Annotated[int, NumberOf(people, least=0)], ...)
    said = create_model("SaidBy", __base__=SaidBy, quote=quote, speaker=speaker)
    speakers: Any = (list[said], Field(max_length=quotes))  # type: ignore[valid-type]
    return create_model("SaidByAll", __base__=SaidByAll, speakers=speakers)
