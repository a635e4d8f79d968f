"""What a model is asked of a text to cast a character from it: what it tells, what was lived through, who that is.

One question about a part of the text draws all that is wanted of it. Its answer gives sentences by their numbers: what
a text tells is kept in its own words.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias, get_args

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, create_model

from dramaturg.models.chat import ChatModel
from dramaturg.models.extracted import Extracted
from dramaturg.models.loose import NumberOf
from dramaturg.models.questions import extract
from dramaturg.nodes.casting.characters import Character
from dramaturg.nodes.casting.parts import SMALL, Block, Part
from dramaturg.nodes.graph.facts import on_a_line
from dramaturg.nodes.identity.drafting import DraftedTriple, as_triple, offered
from dramaturg.nodes.run import Run
from dramaturg.prompts import Prompt, one_line
from dramaturg.stores.index.answers import answer_key

Drawn: TypeAlias = Literal["persona", "memories", "chronicle"]
DRAWN: tuple[Drawn, ...] = get_args(Drawn)
"""The kinds of drafts that one question draws from a part."""
TASKS: Mapping[Drawn, str] = {"persona": "draft_persona", "memories": "draft_episodes", "chronicle": "draft_triples"}
"""By kind, the prompt that says what is wanted: its first section, and in its second how the answer has it."""
LISTS: Mapping[Drawn, str] = {"persona": "told", "memories": "episodes", "chronicle": "triples"}
"""By kind, the list of the answer."""
MOST: Mapping[Drawn, int] = {"persona": 16, "memories": 4, "chronicle": 12}
"""By kind, how many items a small part may give; a larger one as many more as it is larger."""
ANSWER_TOKENS = 2_400
"""That an answer may well have."""
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


class ToldSentence(BaseModel):
    """A sentence that tells of the character."""

    model_config = ConfigDict(extra="forbid")

    sentence: int
    kind: Told | None = None


class GivenEpisode(BaseModel):
    """A moment that the character has lived through."""

    model_config = ConfigDict(extra="forbid")

    sentence: int | None = None
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
    when: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)] = ""
    place: Annotated[str, StringConstraints(strip_whitespace=True, max_length=80)] = ""


class Introduction(Extracted):
    """Who the character is, and how it begins a talk."""

    profile: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1200)]
    greetings: Annotated[
        list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]],
        Field(max_length=3, default_factory=list),
    ]


async def drawn_from(
    run: Run[Any], part: Part, who: Character, kinds: Sequence[Drawn], relations: Mapping[str, str]
) -> dict[str, JsonValue]:
    """Ask what a part has of some kinds; the answer is one on each of its blocks, to be kept under `block_key`.

    What is told is `[kind, begin, end]`, a moment `[text, begin, when, place]`, with places in the block; a triple is
    its fields.

    Args:
        run: whose prompts and chat model.
        part: what is asked about.
        who: the character.
        kinds: what is wanted.
        relations: templates of the chronicle by relation; these are offered.

    Raises:
        ModelError: there is no usable answer.
    """
    spans = part.sentences
    most = tuple((kind, most_of(kind, part)) for kind in kinds)
    answer = await extract(run.chat, question(run, part, who, kinds, relations), answer_on(len(spans), most))
    found: dict[str, list[JsonValue]] = {block_key(run, kind, who, one): [] for kind in kinds for one in part.blocks}
    for kind in kinds:
        for one in getattr(answer, LISTS[kind]):
            block, begin, end = spans[(one.sentence or 1) - 1]
            found[block_key(run, kind, who, block)].append(_kept(one, block, begin, end, who, relations))
    return {**found}


def _kept(one: Any, block: Block, begin: int, end: int, who: Character, relations: Mapping[str, str]) -> JsonValue:
    """What is kept of an item, which begins with a sentence of a block."""
    match one:
        case ToldSentence():
            return [one.kind or "past", begin, end]
        case GivenEpisode():
            return [on_a_line(one.text), begin, one.when, one.place]
        case _:
            said = f": {on_a_line(block.text[begin:end])}" if one.sentence else ""
            triple = as_triple(one, who.name, relations, block.document + said)
            return triple.model_dump(mode="json", exclude_defaults=True)


def block_key(run: Run[Any], kind: Drawn, who: Character, block: Block) -> str:
    """What the answer on a block is kept under: whose, what text, in what words it is asked, and of which model."""
    asked = [text for name in ("draft_character", TASKS[kind]) for _, text in run.prompt(name).sections]
    whose = [who.name, *who.aliases]
    return answer_key(f"cast {kind}", *asked, run.chat.name, [*whose], [*block.headings], block.text)


def question(
    run: Run[Any], part: Part, who: Character, kinds: Iterable[Drawn], relations: Mapping[str, str]
) -> list[BaseMessage]:
    """The question about a part."""
    return asked_of(run.prompt, part, who, kinds, relations, run.language)


def asked_of(
    prompt: Callable[[str], Prompt],
    part: Part,
    who: Character,
    kinds: Iterable[Drawn],
    relations: Mapping[str, str],
    language: str,
) -> list[BaseMessage]:
    """The question about a part, in the words of some prompts."""
    tasks, examples = list[str](), list[str]()
    for kind in kinds:
        task = prompt(TASKS[kind]).messages(
            role=who.name, most=most_of(kind, part), relations=offered(relations, who.name, language)
        )
        for said in task:
            (examples if isinstance(said, AIMessage) else tasks).append(said.text)
    return prompt("draft_character").messages(
        role=who.name,
        aliases=", ".join(who.aliases[:12]) or "—",
        tasks="\n".join(tasks),
        example=f"{{{', '.join(examples)}}}",
        data={"text": part.shown},
    )


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


def most_of(kind: Drawn, part: Part) -> int:
    """How many items of a kind a part may give."""
    return MOST[kind] * max(part.tokens // SMALL, 1)


@lru_cache(maxsize=128)
def answer_on(sentences: int, most: tuple[tuple[Drawn, int], ...]) -> type[Extracted]:
    """The form of an answer on so many sentences, with so many items of each kind at most."""
    number: Any = (Annotated[int, NumberOf(sentences)], ...)
    perhaps: Any = (Annotated[int, NumberOf(sentences)] | None, None)
    forms: Mapping[Drawn, Any] = {
        "persona": create_model("ToldSentence", __base__=ToldSentence, sentence=number),
        "memories": create_model("GivenEpisode", __base__=GivenEpisode, sentence=perhaps),
        "chronicle": create_model("DraftedTriple", __base__=DraftedTriple, sentence=perhaps),
    }
    lists: Any = {LISTS[kind]: (list[forms[kind]], Field(max_length=count)) for kind, count in most}  # type: ignore[valid-type]
    return create_model("DrawnFromPart", __base__=Extracted, **lists)
