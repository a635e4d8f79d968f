"""The nodes of casting: who it is, who says what, and drafts of the files of all five methods; see `workflows.cast`.

The texts lie in the role's `cast.draft/`, where every door to casting puts them, and drafts come to lie there too: a
state holds none of either. Answers are kept as they come, so a run that is killed goes on where it was, and a text that
was changed is asked about only where it is new.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, cast

from langgraph.runtime import Runtime
from langgraph.types import Overwrite, interrupt
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.models.chat import Usage, add_usage
from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.asking import Answers, answer_all, asked_in_all, progress
from dramaturg.nodes.casting.asked import Stretch, ask_speakers, stretches_of
from dramaturg.nodes.casting.attribution import attributed
from dramaturg.nodes.casting.characters import (
    Character,
    Somebody,
    everybody,
    headings_of,
    names_in,
    names_pattern,
    place_in,
    scenes_with,
    the_character,
    until,
)
from dramaturg.nodes.casting.drafting import (
    ANSWER_TOKENS,
    DRAWN,
    HEADINGS,
    LINES,
    STATEMENTS,
    Drawn,
    Told,
    block_key,
    drawn_from,
    introduced,
    question,
)
from dramaturg.nodes.casting.parts import Block, Part, blocks_about, parts_of, said_at
from dramaturg.nodes.casting.people import people_in
from dramaturg.nodes.casting.quotes import Quote
from dramaturg.nodes.casting.scenes import scenes_of
from dramaturg.nodes.dialogues.cast import spelling
from dramaturg.nodes.graph.facts import on_a_line
from dramaturg.nodes.identity.chronicle import templates
from dramaturg.nodes.identity.drafting import distinct
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import RoleContext, Run, needs, open_run
from dramaturg.nodes.text.boundaries import sentences
from dramaturg.nodes.text.splitter import plain, sections
from dramaturg.stores.documents.forms import LONGEST_NAME, LONGEST_TEXT, PICTURE, Language, Memory, Triple
from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.names import normal_name
from dramaturg.stores.texts.draft import (
    FOLDER,
    KINDS,
    CardField,
    CastDraft,
    DraftedLine,
    DraftedNames,
    DraftedScene,
    Item,
    Kind,
    Statement,
)
from dramaturg.stores.texts.form import Scene, SourceText

LISTED = 40
"""People that a state names."""
GREETING = 300
"""Letters of a line that may be a greeting."""
PARTNERS, EXCHANGES = 12, 3
"""Of how many the chronicle says that the character speaks with them, and how often they do at the least."""
PROFILE_SENTENCES = 3


class CastSettings(RoleContext):
    """Whom the texts are searched for, and what is drafted."""

    character: Open[str] = Field(
        default="", max_length=LONGEST_NAME, description="The name that the texts have for the role; empty: its own."
    )
    first_person: Open[bool] = Field(
        default=False, description="Whether the role tells the texts: a diary, a novel in the first person."
    )
    until: Open[str] = Field(
        default="",
        max_length=LONGEST_NAME,
        description="Words of a heading: what comes from there on is not read; empty: all is.",
    )
    drafts: Open[list[Kind]] = Field(
        default=list(KINDS), max_length=len(KINDS), description="The kinds of files that are drafted."
    )
    asks: Open[bool] = Field(
        default=True, description="Whether a chat model is asked; without, drafts hold what rules find."
    )
    review: Open[bool] = Field(
        default=False,
        description="Whether the run waits at its end for a person to take drafts over: resume it with "
        '{"accept": ["persona", …] or "all", "refuse": […]}.',
    )


class KnownPerson(TypedDict):
    """Somebody in the texts."""

    name: str
    aliases: list[str]
    lines: int
    mentions: int


class CastReport(TypedDict):
    """Drafts that are new and that wait, what has no answer, and what was asked.

    `new`, `waiting`: how many drafts of each kind; `unattributed`: quotes of which nobody knows who says them;
    `failed`: parts of the texts without a usable answer, each with its `kind`, `document`, `place` and `error`.
    """

    new: dict[str, int]
    waiting: dict[str, int]
    unattributed: int
    failed: list[dict[str, str]]
    calls: int
    tokens: int


class CastInput(TypedDict):
    """Nothing: who is cast and from what lies in the role and its settings."""

    again: NotRequired[Annotated[bool, Field(description="Whether answers that are known are asked for again.")]]


class CastOutput(TypedDict):
    """What a run gives."""

    cast: Annotated[CastReport, Field(description="What casting has come to.")]


def _both(one: Mapping[str, Any] | None, other: Mapping[str, Any]) -> dict[str, Any]:
    return {**(one or {}), **other}


def _more(one: list[dict[str, str]] | None, other: list[dict[str, str]]) -> list[dict[str, str]]:
    return [*(one or ()), *other]


class CastState(CastInput, CastOutput):
    """Casting under way."""

    character: Annotated[KnownPerson, Field(description="Who is cast.")]
    people: Annotated[list[KnownPerson], Field(description="Who is in the texts; the first of many.")]
    unattributed: Annotated[int, Field(description="Quotes of which nobody knows who says them.")]
    parts_read: Annotated[int, Field(description="Parts of the texts that a model was asked about.")]
    drafted: Annotated[dict[str, int], Field(description="New drafts by their kind."), _both]
    failed: Annotated[list[dict[str, str]], Field(description="Parts of texts without a usable answer."), _more]
    decides: Annotated[bool, Field(description="Whether a person decides on the drafts before the run ends.")]
    usage: Annotated[
        dict[str, Usage], Field(description="What each node asked the chat model: calls, tokens, seconds."), add_usage
    ]


class Casting(NamedTuple):
    """What the nodes of a run work with."""

    run: Run[CastSettings]
    draft: CastDraft
    texts: tuple[SourceText, ...]
    """As far as they are read."""

    @property
    def language(self) -> Language:
        """Of the texts, and of what is drafted."""
        return cast("Language", self.run.language)

    def wants(self, kind: Kind) -> bool:
        """Whether a kind is drafted."""
        return kind in self.run.settings.drafts

    async def keep(self, answers: Answers) -> None:
        """Keep answers of a model."""
        await asyncio.to_thread(self.draft.keep_answers, answers)

    async def put(self, kind: Kind, items: Sequence[Item], speaker: str = "") -> dict[str, int]:
        """Have drafts wait, scenes with something new of a speaker; return how many are new."""
        new = await asyncio.to_thread(self.draft.put, {kind: items}, speaker)
        return {kind: new.get(kind, 0)}


async def open_cast(runtime: Runtime[Any]) -> Casting:
    """What a node works with.

    Raises:
        RoleError: there are no texts, or no heading ends them as wanted.
    """
    run = await open_run(runtime, CastSettings)
    draft = CastDraft(run.role.root)
    texts = await asyncio.to_thread(draft.texts)
    if not texts:
        raise RoleError(
            f"{run.role.id!r} has no texts to be cast from: give some by `dramaturg cast FILE … --who NAME`."
        )
    heading = run.settings.until
    return Casting(run, draft, await asyncio.to_thread(lambda: tuple(until(texts, heading))))


async def find_character(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Find who is in the texts, and who of them is cast.

    Raises:
        RoleError: there are no texts, or nobody in them has the name.
    """
    casting = await open_cast(runtime)
    run, texts = casting.run, casting.texts
    name = run.settings.character or run.role.card.name
    people = await asyncio.to_thread(everybody, texts, casting.language)
    if run.settings.first_person:
        who = Character(name, tuple(one for one in run.role.card.aliases if one != name))
    else:
        who = the_character(name, run.role.card.aliases, people, texts)
    known = next((one for one in people if spelling(who.name) == spelling(one.name)), None)
    runtime.stream_writer({"event": "found", "people": len(people), "character": who.name})
    return {
        "character": person(Somebody(who.name, who.aliases, known.lines if known else 0, 0, 0)),
        "people": [person(one) for one in people[:LISTED]],
        "usage": Overwrite({}),
        "failed": Overwrite([]),
        "drafted": Overwrite({}),
    }


def person(one: Somebody) -> KnownPerson:
    """Somebody as plain values."""
    return KnownPerson(name=one.name, aliases=[*one.aliases], lines=one.lines, mentions=one.mentions)


def stretches_with(text: SourceText, quotes: Sequence[Quote], language: Language, who: Character) -> list[Stretch]:
    """The stretches of a text with quotes of nobody known, of those in which the character may be the one."""
    found = stretches_of(text.text, quotes, people_in(text.text, language))
    names = {*map(spelling, (who.name, *who.aliases))}
    return [one for one in found if names & {*map(spelling, one.people)}]


def character_of(state: CastState) -> Character:
    """Who is cast."""
    return Character(state["character"]["name"], tuple(state["character"]["aliases"]))


@needs(character="find_character")
async def attribute_lines(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Find who says the quotes of prose: by rules, and a model is asked for what they leave open."""
    casting = await open_cast(runtime)
    run, who, open_quotes = casting.run, character_of(state), 0
    failed = list[dict[str, str]]()
    for text in casting.texts:
        if text.form != "prose":
            continue
        narrator = who.name if run.settings.first_person else ""
        quotes = await asyncio.to_thread(partial(attributed, text.text, casting.language, narrator=narrator))
        if run.settings.asks:
            stretches = await asyncio.to_thread(stretches_with, text, quotes, casting.language, who)
            told = await ask_speakers(
                run.chat,
                quotes,
                stretches,
                language=casting.language,
                announce=progress(runtime, "speakers", len(stretches)),
                known={} if state.get("again") else await asyncio.to_thread(casting.draft.answers),
                keep=casting.keep,
            )
            quotes = told.quotes
            failed += [{"kind": "dialogues", "document": text.name, "place": "", "error": one} for one in told.failed]
        open_quotes += sum(not one.speaker for one in quotes)
        scenes = await asyncio.to_thread(scenes_of, text.text, quotes)
        await asyncio.to_thread(casting.draft.add_scenes, text.name, scenes)
    return {"unattributed": open_quotes, "failed": failed, "usage": {"attribute_lines": run.usage}}


@needs(character="find_character", unattributed="attribute_lines")
async def draft_dialogues(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the historical dialogues D: the scenes in which the character speaks (DRMR 3.1)."""
    casting = await open_cast(runtime)
    if not casting.wants("dialogues"):
        return {}
    who = character_of(state)
    scenes = scenes_with(with_writer(casting.texts, who), who)
    drafts = [
        DraftedScene(
            document=text.name[:LONGEST_NAME],
            scene=scene_name(scene.title or text.name, number),
            place=scene.place,
            date=scene.when,
            lines=tuple(
                DraftedLine(
                    speaker=line.speaker[:LONGEST_NAME],
                    text=line.text[:LONGEST_TEXT],
                    to=line.to[:LONGEST_NAME],
                    at=line.at,
                )
                for line in scene.lines
                if line.speaker and line.text.strip()
            ),
        )
        for number, (text, scene) in numbered_scenes(scenes)
        if text.form != "diary"
    ]
    return {"drafted": await casting.put("dialogues", drafts, who.name)}


def scene_name(title: str, number: int) -> str:
    """The name of a scene; of one title, the second and those after it are numbered."""
    name = title[: LONGEST_NAME - 8]
    return name if number == 1 else f"{name} ({number})"


def numbered_scenes(
    scenes: Iterable[tuple[SourceText, Scene]],
) -> list[tuple[int, tuple[SourceText, Scene]]]:
    """Scenes, each with its number among those of its text that have its title."""
    counts = Counter[tuple[str, str]]()
    found = []
    for text, scene in scenes:
        counts[text.name, scene.title] += 1
        found.append((counts[text.name, scene.title], (text, scene)))
    return found


def with_writer(texts: Iterable[SourceText], who: Character) -> list[SourceText]:
    """Texts in which whoever writes without a name is the character."""
    return [
        text._replace(
            scenes=tuple(
                scene._replace(
                    lines=tuple(line if line.speaker else line._replace(speaker=who.name) for line in scene.lines)
                )
                for scene in text.scenes
            )
        )
        if text.form == "diary"
        else text
        for text in texts
    ]


@needs(character="find_character", unattributed="attribute_lines")
async def read_parts(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Ask what the texts tell of the character, what it lives through there, and its triples: a part at a time.

    A part without a usable answer is asked about in halves. Answers are kept by paragraph.
    """
    casting, who = await open_cast(runtime), character_of(state)
    run, failed = casting.run, list[dict[str, str]]()
    kinds = [kind for kind in DRAWN if casting.wants(kind)]
    if not (run.settings.asks and kinds):
        return {"parts_read": 0}
    known = {} if state.get("again") else await asyncio.to_thread(casting.draft.answers)
    questions = await asyncio.to_thread(questions_about, casting, who, kinds, known)
    chronicle = await asyncio.to_thread(run.role.chronicle)
    relations = {**templates(run.role.card.language), **chronicle.sentences}

    async def ask(one: Question, *, whole: bool = True) -> Answers:
        text, part, wanted = one
        halves = [one._replace(part=half) for half in part.halves()] if len(part.blocks) > 1 else []
        if halves and not run.chat.has_room(question(run, part, who, wanted, relations), ANSWER_TOKENS):
            return {key: value for half in halves for key, value in (await ask(half, whole=whole)).items()}
        try:
            return await drawn_from(run, part, who, wanted, relations)
        except UNANSWERED as error:
            if whole and halves:
                return {key: value for half in halves for key, value in (await ask(half, whole=False)).items()}
            place = place_in(text, part.blocks[0].begin)
            failed.append({"kind": "drafts", "document": text.name, "place": place, "error": str(error)})
            return {}

    announce = progress(runtime, "drafts", len(questions))
    await answer_all({str(at): one for at, one in enumerate(questions)}, ask, keep=casting.keep, announce=announce)
    return {"parts_read": len(questions), "failed": failed, "usage": {"read_parts": run.usage}}


class Question(NamedTuple):
    """What one question is about."""

    text: SourceText
    part: Part
    kinds: tuple[Drawn, ...]


def questions_about(
    casting: Casting, who: Character, kinds: Sequence[Drawn], known: Mapping[str, JsonValue]
) -> list[Question]:
    """What is yet to be asked: of each paragraph about the character the kinds that have no answer."""
    found = list[Question]()
    for text, blocks in blocks_of(casting, who):
        lacking = dict[tuple[Drawn, ...], list[Block]]()
        wanted = [kind for kind in kinds if kind != "memories" or text.form != "diary"]
        for block in blocks:
            without = tuple(kind for kind in wanted if block_key(casting.run, kind, who, block) not in known)
            lacking.setdefault(without, []).append(block)
        found += [
            Question(text, part, some)
            for some, left in lacking.items()
            if some
            for part in parts_of(left, casting.run.chat.model)
        ]
    return found


def blocks_of(casting: Casting, who: Character) -> Iterator[tuple[SourceText, list[Block]]]:
    """The paragraphs of each text that are about the character."""
    own = casting.run.settings.first_person
    for text in casting.texts:
        spoken = said_at(text, who)
        yield text, blocks_about(text, who, first_person=own or text.form == "diary", spoken=spoken)


async def drawn(casting: Casting, who: Character, kind: Drawn) -> list[tuple[SourceText, Block, Any]]:
    """What a model has drawn from the texts of a kind, in their order."""

    def found() -> list[tuple[SourceText, Block, Any]]:
        answers = casting.draft.answers()
        return [
            (text, block, item)
            for text, blocks in blocks_of(casting, who)
            for block in blocks
            for item in cast("list[Any]", answers.get(block_key(casting.run, kind, who, block), ()))
        ]

    return await asyncio.to_thread(found)


@needs(character="find_character", parts_read="read_parts")
async def draft_persona(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft persona documents: what the texts tell of the character, in their own words, under headings by kind.

    Without a model: the paragraphs that name it, and the scenes in which it speaks.
    """
    casting = await open_cast(runtime)
    if not casting.wants("persona"):
        return {}
    run, who = casting.run, character_of(state)
    if not run.settings.asks:
        statements = await asyncio.to_thread(told_by_rules, casting, who)
        return {"drafted": await casting.put("persona", statements)}
    statements = statements_in(await drawn(casting, who, "persona"), run.language)
    return {"drafted": await casting.put("persona", statements)}


def statements_in(told: Iterable[tuple[SourceText, Block, Any]], language: str) -> list[Statement]:
    """What a model says that texts tell, in the order of the headings; each sentence once."""
    headings, found, seen = HEADINGS[language], dict[Told, list[Statement]](), set[tuple[str, int]]()
    for text, block, (kind, begin, end) in told:
        if (text.name, block.begin + begin) in seen:
            continue
        seen.add((text.name, block.begin + begin))
        statement = Statement(
            document=text.name[:LONGEST_NAME],
            heading=headings[kind],
            text=on_a_line(block.text[begin:end]),
            source=place_in(text, block.begin + begin),
        )
        found.setdefault(kind, []).append(statement)
    return [one for kind in headings for one in found.get(kind, ())]


def told_by_rules(casting: Casting, who: Character) -> list[Statement]:
    """What texts tell of a character as far as names show it: paragraphs of prose, and scenes of other forms."""
    found = list[Statement]()
    for text in casting.texts:
        document = text.name[:LONGEST_NAME]
        if text.form != "prose":
            speaking = scenes_with(with_writer([text], who), who)
            found += [
                Statement(
                    document=document,
                    heading=scene.title[:LONGEST_NAME] or document,
                    text="\n\n".join(f"{line.speaker}: {line.text}" for line in scene.lines)[:LONGEST_TEXT],
                )
                for _, scene in speaking
            ]
            continue
        lines = plain(text.text)
        page = is_about(text, who)
        for section in sections(lines):
            at = section.body
            for paragraph in lines[section.body : section.end].split("\n\n"):
                if paragraph.strip() and (page or casting.run.settings.first_person or names_in(paragraph, who)):
                    heading = section.headings[-1][:LONGEST_NAME] if section.headings else document
                    place = place_in(text, at + len(paragraph) - len(paragraph.lstrip()))
                    found.append(
                        Statement(
                            document=document, heading=heading, text=paragraph.strip()[:LONGEST_TEXT], source=place
                        )
                    )
                at += len(paragraph) + 2
    return found


@needs(character="find_character", parts_read="read_parts")
async def draft_memories(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft memories: what the character has lived through, in the first person (Emotional RAG 3.1).

    The entries of a diary are memories as they are; in other texts a model is asked.
    """
    casting = await open_cast(runtime)
    if not casting.wants("memories"):
        return {}
    diaries = [
        memory_of(line.text, scene.when, text.name, scene.title)
        for text in casting.texts
        if text.form == "diary"
        for scene in text.scenes
        for line in scene.lines
        if line.text.strip()
    ]
    if not casting.run.settings.asks:
        return {"drafted": await casting.put("memories", diaries)}
    found = [
        memory_of(said, when, text.name, place_in(text, block.begin + begin), place)
        for text, block, (said, begin, when, place) in await drawn(casting, character_of(state), "memories")
        if text.form != "diary"
    ]
    return {"drafted": await casting.put("memories", [*diaries, *found])}


def memory_of(text: str, when: str, document: str, at: str, place: str = "") -> Memory:
    """A memory with its source."""
    more: dict[str, Any] = {"place": place} if place else {}
    more["source"] = f"{document}: {at}" if at else document
    return Memory(text=text.strip()[:LONGEST_TEXT], when=when or None, **more)


@needs(character="find_character", parts_read="read_parts")
async def draft_chronicle(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the chronicle: triples of identity (ID-RAG 3.2), and with whom the character speaks."""
    casting = await open_cast(runtime)
    if not casting.wants("chronicle"):
        return {}
    who = character_of(state)
    partners = partners_of(casting.texts, who)
    if not casting.run.settings.asks:
        return {"drafted": await casting.put("chronicle", partners)}
    triples = (Triple.model_validate(one) for _, _, one in await drawn(casting, who, "chronicle"))
    return {"drafted": await casting.put("chronicle", distinct([*triples, *partners]))}


@needs(character="find_character", parts_read="read_parts")
async def draft_names(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft which names of others are one person's, for the entity normalization of RoleRAG (3.2)."""
    casting = await open_cast(runtime)
    if not casting.wants("names"):
        return {}
    people, own = await asyncio.to_thread(everybody, casting.texts, casting.language), character_of(state)
    ours, source = {*map(spelling, (own.name, *own.aliases))}, ", ".join(one.name for one in casting.texts)
    names = [
        DraftedNames(name=one.name[:LONGEST_NAME], names=tuple(said), source=source)
        for one in people
        if not ours & {*map(spelling, (one.name, *one.aliases))}
        and len(said := [*{normal_name(name): name[:LONGEST_NAME] for name in (one.name, *one.aliases)}.values()]) > 1
    ]
    return {"drafted": await casting.put("names", names[:LISTED])}


def partners_of(texts: Sequence[SourceText], who: Character) -> list[Triple]:
    """With whom a character speaks, who does so most first, as triples."""
    counts, sources = Counter[str](), dict[str, str]()
    for text, scene in scenes_with(texts, who):
        for one, other in pairwise(line.speaker for line in scene.lines):
            if one != other and who.name in (one, other):
                partner = other if one == who.name else one
                counts[partner] += 1
                sources.setdefault(partner, text.name)
    often = [name for name, count in counts.most_common(PARTNERS) if count >= EXCHANGES and name]
    return [
        Triple(subject=who.name, relation="speaks_with", object=name, kind="experience", source=sources[name])
        for name in often
    ]


@needs(character="find_character", unattributed="attribute_lines")
async def draft_card(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the rest of `role.yaml`: aliases, a profile, and three greetings."""
    casting = await open_cast(runtime)
    if not casting.wants("card"):
        return {}
    run, who = casting.run, character_of(state)
    names = [CardField(field="aliases", text=one[:LONGEST_NAME]) for one in who.aliases]
    names += await asyncio.to_thread(cover_for, casting)
    lines = [
        line
        for _, scene in scenes_with(casting.texts, who)
        for line in scene.lines
        if line.speaker == who.name and line.text.strip()
    ]
    told = statements_in(await drawn(casting, who, "persona") if run.settings.asks else (), run.language)
    if not told:
        return {"drafted": await casting.put("card", [*names, *card_by_rules(casting, who)])}
    failed, fields = list[dict[str, str]](), list[CardField]()
    statements, said = [one.text for one in told], [line.text for line in lines]
    shown: list[JsonValue] = [who.name, *statements[:STATEMENTS], *said[:LINES]]
    key = answer_key("cast card", run.chat.name, shown)
    known = {} if state.get("again") else await asyncio.to_thread(casting.draft.answers)
    try:
        answer: Any = known.get(key)
        if answer is None:
            found = await introduced(run, run.chat, statements, said, who)
            answer = {"profile": found.profile, "greetings": found.greetings}
            await asyncio.to_thread(casting.draft.keep_answers, {key: answer})
    except UNANSWERED as error:
        failed = [{"kind": "card", "document": "", "place": "", "error": str(error)}]
        fields = card_by_rules(casting, who)
    else:
        drafted_by = f"drafted by {run.chat.name}"
        fields = [CardField(field="profile", text=answer["profile"], source=drafted_by)]
        fields += [CardField(field="greetings", text=one, source=drafted_by) for one in answer["greetings"]]
    new = await casting.put("card", [*names, *fields])
    return {"drafted": new, "failed": failed, "usage": {"draft_card": run.usage}}


def cover_for(casting: Casting) -> list[CardField]:
    """The cover of the first book that has one, where the role has no picture."""
    covers = (one.name for one in casting.texts if casting.draft.picture(one.name))
    name = None if (casting.run.role.root / PICTURE).exists() else next(covers, None)
    return [CardField(field="picture", text=name, source=name)] if name else []


def card_by_rules(casting: Casting, who: Character) -> list[CardField]:
    """A profile of the first sentences that begin with the character's name, and greetings with which scenes begin."""
    fields = list[CardField]()
    for text in casting.texts:
        if text.form == "prose" and (about := about_in(text, who)):
            said = " ".join(on_a_line(one) for _, one in about[:PROFILE_SENTENCES])
            place = f"{text.name}, {place_in(text, about[0][0])}"
            fields.append(CardField(field="profile", text=said.replace("**", ""), source=place))
            break
    openings = [
        (text.name, scene)
        for text, scene in scenes_with(casting.texts, who)
        if scene.lines[0].speaker == who.name and 1 < len(scene.lines[0].text) <= GREETING
    ]
    fields += [
        CardField(field="greetings", text=scene.lines[0].text, source=f"{name}, {scene.title}")
        for name, scene in openings[:3]
    ]
    return fields


def about_in(text: SourceText, who: Character) -> list[tuple[int, str]]:
    """The sentences that begin with a character's name, or all of a page that is about it, with where they begin."""
    pattern, page = names_pattern(who), is_about(text, who)
    found = [(begin, text.text[begin:end].strip()) for begin, end in sentences(text.text)]
    return [
        (begin, one)
        for begin, one in found
        if one and not one.startswith("#") and (page or pattern.match(one.lstrip("*_")))
    ]


def is_about(text: SourceText, who: Character) -> bool:
    """Whether a text is a page about a character: its first heading names it."""
    return any(names_in(heading, who) for _, heading in headings_of(text.text)[:1])


@needs(character="find_character", drafted="the nodes that draft")
async def report_cast(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say what waits, what failed, and what it cost."""
    casting = await open_cast(runtime)
    waiting = await asyncio.to_thread(casting.draft.counts)
    cost = asked_in_all(state["usage"].values())
    report = CastReport(
        new={kind: state["drafted"].get(kind, 0) for kind in KINDS if casting.wants(kind)},
        waiting={kind: waiting[kind] for kind in waiting},
        unattributed=state.get("unattributed", 0),
        failed=state.get("failed", []),
        calls=cost["calls"],
        tokens=cost["tokens"],
    )
    runtime.stream_writer({"event": "cast", **report})
    return {"cast": report, "decides": casting.run.settings.review}


@needs(cast="report_cast", decides="report_cast")
def review_outcome(state: CastState) -> Literal["review", "done"]:
    """Whether a person is waited for."""
    return "review" if state["decides"] and any(state["cast"]["waiting"].values()) else "done"


@needs(cast="report_cast")
async def review_drafts(state: CastState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Wait for a person, and take over or refuse the kinds that are named; the others go on waiting."""
    casting = await open_cast(runtime)
    answer = interrupt({"drafts": state["cast"]["waiting"], "folder": f"{casting.run.role.id}/{FOLDER}"})
    given = answer if isinstance(answer, Mapping) else {"accept": answer}
    accepted, refused = (kinds_named(given.get(wish)) for wish in ("accept", "refuse"))
    items = await asyncio.to_thread(lambda: {kind: casting.draft.items(kind) for kind in accepted})
    await asyncio.to_thread(casting.draft.accept, items)
    for kind in refused - accepted:
        drafts = await asyncio.to_thread(casting.draft.items, kind)
        await asyncio.to_thread(casting.draft.refuse, kind, drafts)
    waiting = await asyncio.to_thread(casting.draft.counts)
    return {"cast": {**state["cast"], "waiting": {kind: waiting[kind] for kind in waiting}}}


def kinds_named(said: Any) -> set[Kind]:
    """The kinds that an answer names: a list of them, one, or "all".

    Raises:
        ValueError: one is no kind.
    """
    names = [said] if isinstance(said, str) else [*(said or ())]
    if names == ["all"]:
        return {*KINDS}
    if strange := [one for one in names if one not in KINDS]:
        raise ValueError(f"{strange[0]!r} is no kind of draft: name some of {', '.join(KINDS)}, or all.")
    return {kind for kind in KINDS if kind in names}
