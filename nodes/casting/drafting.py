"""What a model is asked of a text to cast a character from it: what it tells, what was lived through, who that is.

Each question is about one chunk, and gives sentences by their numbers: what a text tells is kept in its own words.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import NumberOf
from dramaturg.models.questions import extract
from dramaturg.nodes.graph.facts import numbered, on_a_line, sentences_of
from dramaturg.nodes.run import Run
from dramaturg.prompts import one_line
from dramaturg.stores.index.passages import StoredPassage

MOST_TOLD = 16  # sentences of a chunk
MOST_EPISODES = 4  # of a chunk
STATEMENTS = 80  # that a profile is written from
LINES = 12  # that show how a character speaks
Told: TypeAlias = Literal["who", "looks", "character", "past", "ties", "beliefs", "speech", "skills"]
TOLD: tuple[Told, ...] = get_args(Told)
HEADINGS = {
    "en": dict(
        zip(
            TOLD,
            ("Who", "Looks", "Character", "Past", "Relations", "Beliefs and wishes", "Manner of speech", "Skills"),
            strict=True,
        )
    ),
    "zh": dict(zip(TOLD, ("身份", "外貌", "性情", "经历", "关系", "信念与愿望", "说话方式", "本领"), strict=True)),
    "ko": dict(zip(TOLD, ("신원", "생김새", "성격", "지난 일", "관계", "믿음과 바람", "말투", "솜씨"), strict=True)),
}
"""By language, the headings of a persona document, in their order."""


class Character(NamedTuple):
    """Who is cast."""

    name: str
    aliases: tuple[str, ...]
    """Other names that texts have for it."""


class ToldSentence(BaseModel):
    """A sentence that tells of the character."""

    model_config = ConfigDict(extra="forbid")

    sentence: int
    kind: Told | None = None


class ToldSentences(Extracted):
    """What a chunk tells of the character."""

    told: list[ToldSentence]


class GivenEpisode(BaseModel):
    """A moment that the character has lived through."""

    model_config = ConfigDict(extra="forbid")

    sentence: int | None = None
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
    when: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)] = ""
    place: Annotated[str, StringConstraints(strip_whitespace=True, max_length=80)] = ""


class GivenEpisodes(Extracted):
    """What a chunk has the character live through."""

    episodes: list[GivenEpisode]


class Introduction(Extracted):
    """Who the character is, and how it begins a talk."""

    profile: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1200)]
    greetings: Annotated[
        list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]],
        Field(max_length=3, default_factory=list),
    ]


class FoundSentence(NamedTuple):
    """A sentence of a chunk, by its span there."""

    kind: Told
    begin: int
    end: int


class FoundEpisode(NamedTuple):
    """A moment, and where in its chunk it begins."""

    text: str
    begin: int
    when: str
    place: str


async def told_of(run: Run[Any], chat: ChatModel, chunk: StoredPassage, who: Character) -> list[FoundSentence]:
    """Ask which sentences of a chunk tell who a character is.

    Raises:
        ModelError: there is no usable answer.
    """
    spans = sentences_of(chunk)
    messages = run.prompt("draft_persona").messages(
        role=who.name, aliases=also(who), most=MOST_TOLD, data={"text": numbered(chunk, spans)}
    )
    answer = await extract(chat, messages, told_among(len(spans)))
    kinds = {one.sentence: one.kind for one in reversed(answer.told)}
    return [FoundSentence(kind or "past", *spans[number - 1]) for number, kind in sorted(kinds.items())]


async def lived_in(run: Run[Any], chat: ChatModel, chunk: StoredPassage, who: Character) -> list[FoundEpisode]:
    """Ask what a character has lived through in a chunk, as it would tell it.

    Raises:
        ModelError: there is no usable answer.
    """
    spans = sentences_of(chunk)
    messages = run.prompt("draft_episodes").messages(
        role=who.name, aliases=also(who), most=MOST_EPISODES, data={"text": numbered(chunk, spans)}
    )
    answer = await extract(chat, messages, episodes_among(len(spans)))
    return [
        FoundEpisode(on_a_line(one.text), spans[(one.sentence or 1) - 1][0], one.when, one.place)
        for one in answer.episodes
    ]


async def introduced(
    run: Run[Any], chat: ChatModel, statements: Sequence[str], lines: Iterable[str], who: Character
) -> Introduction:
    """Ask for a profile and greetings, from what texts tell of a character and how it speaks there.

    Args:
        run: whose prompts.
        chat: the chat model.
        statements: of more than 80, the first.
        lines: that it says; of more than 12, the first.
        who: the character.

    Raises:
        ModelError: there is no usable answer.
    """
    shown = "\n".join(f"[{number}] {one_line(one, 400)}" for number, one in enumerate(statements[:STATEMENTS], 1))
    said = "\n".join(one_line(one, 400) for one in [*lines][:LINES])
    messages = run.prompt("draft_card").messages(role=who.name, data={"statements": shown, "line": said})
    return await extract(chat, messages, Introduction)


def also(who: Character) -> str:
    """The other names of a character, for a prompt."""
    return ", ".join(who.aliases[:12]) or "—"


@lru_cache(maxsize=128)
def told_among(sentences: int) -> type[ToldSentences]:
    """The form of an answer on so many sentences."""
    number: Any = (Annotated[int, NumberOf(sentences)], ...)
    one = create_model("ToldSentence", __base__=ToldSentence, sentence=number)
    found: Any = (list[one], Field(max_length=MOST_TOLD))  # type: ignore[valid-type]
    return create_model("ToldSentences", __base__=ToldSentences, told=found)


@lru_cache(maxsize=128)
def episodes_among(sentences: int) -> type[GivenEpisodes]:
    """The form of an answer on so many sentences."""
    number: Any = (Annotated[int, NumberOf(sentences)] | None, None)
    one = create_model("GivenEpisode", __base__=GivenEpisode, sentence=number)
    found: Any = (list[one], Field(max_length=MOST_EPISODES))  # type: ignore[valid-type]
    return create_model("GivenEpisodes", __base__=GivenEpisodes, episodes=found)
