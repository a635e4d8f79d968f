"""The index of memories (Emotional RAG, II.B.2): read, embedded, their moods encoded, published."""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.nodes.asking import Answers, answer_all, asked_in_all, progress
from dramaturg.nodes.dialogues.cast import letters_of, spelling, unheard
from dramaturg.nodes.index_steps import (
    IndexBuild,
    IndexDraftState,
    IndexingCost,
    NoVector,
    PublishedVersion,
    Rebuild,
    Wishes,
    begin_draft,
    checked,
    cost_of_texts,
    done_with,
    made_again_if_stale,
    told,
    unchanged,
    unless_overtaken,
    whole_version,
    with_embedding,
)
from dramaturg.nodes.memories.bank import Strategy
from dramaturg.nodes.memories.emotions import (
    EMOTIONS,
    EmotionEncoder,
    EmotionSettings,
    encoder_kind,
    encoder_name,
    encoder_of,
)
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import Run, needs, open_run, run_of
from dramaturg.stores.documents.forms import DialogueLine, Memory, RoleCard
from dramaturg.stores.documents.memories import Lines, read_memory_files
from dramaturg.stores.documents.originals import uncast_sentence
from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.files import sha256
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.memories import MEMORY_KIND, MOODS_FILE, NOT_ASKED, MemoryStore, Mood, StoredMemory
from dramaturg.stores.index.records import encode_records

NO_NUMBER = re.compile(r"(?<![0-9])[.,:/]|[.,:/](?![0-9])|(?<=\w)-|-(?![0-9])")  # what stands in or before none
HAN = r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
AROUND_HAN = re.compile(f"(?<={HAN}) | (?={HAN})")
SAME = str.maketrans("\N{MINUS SIGN}", "-", "\ufe0e\ufe0f")  # what decides only how a symbol is drawn goes
DASHES = "~\u2500\u2501"  # symbols to Unicode, but written as dashes


def memory_unit(files: Mapping[str, Lines], card: RoleCard) -> list[StoredMemory]:
    """Return the memories in the order of the files, copies joined.

    Copies are texts with the same words, numbers and symbols: overlapping excerpts of a script repeat its lines, now
    and then with other punctuation. What differs in a word, a number or a symbol is another memory.

    Args:
        files: the lines of each file, by its name and their numbers.
        card: whose memories; lines of a dialogue are the role's under its name and its aliases.
    """
    found: dict[str, StoredMemory] = {}
    for name, lines in files.items():
        for memory in memories_in(name, lines, card):
            first = found.setdefault(memory.id, memory)
            if first is not memory:
                places, pinned = (*first.places, *memory.places), first.pinned or memory.pinned
                joined = {"places": places, "pinned": pinned, "when": first.when or memory.when}
                found[memory.id] = first.model_copy(update=joined)
    return list(found.values())


def memories_in(name: str, lines: Lines, card: RoleCard) -> Iterator[StoredMemory]:
    """The memories of one file: what is written down, or what the role says in a scene after the line before it there.

    A memory in which the role says nothing is none.
    """
    names = {spelling(one) for one in (card.name, *card.aliases)}
    before: dict[Any, DialogueLine] = {}  # the last line of each scene that the same roles know: they may take turns
    for number, line in lines.items():
        if isinstance(line, Memory):
            own, when = (line.text or line.answer or "").strip(), line.when
            text = own if line.question is None else f"{line.question.strip()}\n{card.name}: {own}"
        else:
            heard = line.scene, line.known_to
            said, before[heard] = before.get(heard), line
            if not line.memory or spelling(line.speaker) not in names:
                continue
            own, when = line.text.strip(), line.when or line.date
            text = (f"{said.speaker}: {said.text.strip()}\n" if said else "") + f"{card.name}: {own}"
        if letters_of(own):
            identity, place = sha256(words_of(text).encode())[:12], f"{name}:{number}"
            yield StoredMemory(id=identity, text=text, own=own, when=when, pinned=line.pinned, places=(place,))


def words_of(text: str) -> str:
    """The words, numbers and symbols of a text, whatever their case and width, one space between them; "1.5" is one.

    Around Chinese characters and kana there is none: only there, spaces and punctuation part no words.
    """
    kept = ""
    for letter in unicodedata.normalize("NFKC", text).casefold().translate(SAME):
        kind = unicodedata.category(letter)
        if letter in "%#" or (kind in ("Sc", "Sm", "So") and letter not in DASHES):  # "Sk", accents, are no symbols
            kept += f" {letter} "
        else:
            kept += letter if letter in ".,:/-" or kind[0] in "LMN" else " "
    return AROUND_HAN.sub("", " ".join(NO_NUMBER.sub(" ", kept).split()))


NO_VECTOR = "vector: the embedding model gave numbers that are not finite, or all zeros."
WITHOUT_VECTOR = "without_vector"


class MemorySettings(EmotionSettings):
    """How memories are encoded, and what for: only meaning needs no moods."""

    strategy: Open[Strategy] = Field(
        default="C-A",
        description="C-A: sum of both distances; C-M: their product; S-S: by meaning, then re-ranked by mood; "
        "S-E: by mood, then re-ranked by meaning; semantic: meaning alone, for which no mood is asked.",
    )
    embedding_batch: Open[int] = Field(default=64, ge=1, le=2048, description="Memories embedded in one step.")


class MemoryReport(TypedDict):
    """What an index of memories holds, and what it cost now.

    `copies`: lines that are joined with another; `failed`: memories without a mood, and lines without a vector, which
    are no memories until they have one, and why; `warning`: that nobody in the dialogues speaks by the role's name.
    """

    version: str
    encoder: str
    memories: int
    copies: int
    failed: list[dict[str, str]]
    calls: int
    tokens: int
    warning: NotRequired[str]


class MemoryIndexInput(TypedDict, total=False):
    """What indexing may be told."""

    rebuild: Rebuild
    retry: Annotated[bool, Field(description="Ask again for moods that could not be had.")]


MemoriesVersion = Annotated[str, Field(description="The index of memories that the turn reads; none: the current one.")]


class MemoryIndexOutput(TypedDict):
    """What indexing gives."""

    index: Annotated[MemoryReport, Field(description="What the index of memories holds, and what it cost now.")]
    version: PublishedVersion
    memories_version: MemoriesVersion


class MemoryDraftState(MemoryIndexInput, MemoryIndexOutput, IndexDraftState):
    """Indexing under way."""

    encoder: Annotated[str, Field(description="What encodes moods.")]
    without_vector: Annotated[list[str], Field(description="The ids of memories that could not be embedded.")]


class MemoriesCheckState(TypedDict):
    """Whether there is something to read."""

    memories_stale: Annotated[bool, Field(description="Whether memories must be indexed before the role can be asked.")]
    memories_version: NotRequired[MemoriesVersion]


async def check_memories(state: MemoriesCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether the memories were made from the files, the encoder and the embedding model of now.

    Which chat model encoded them does not matter: memories are not encoded again for another one. The encoder `auto`
    stays with the one there is.
    """
    run = await open_run(runtime, MemorySettings)
    return await checked(run, run.role.index(MEMORY_KIND), "memories", made_so(run.settings, run.role.card))


@needs(memories_stale="check_memories")
def encoding_outcomes(state: MemoriesCheckState) -> Sequence[Literal["stale", "meaning", "mood"]]:
    """Whether memories must be indexed first, or meaning and mood of the question can be had at once."""
    return ("stale",) if state["memories_stale"] else ("meaning", "mood")


async def recheck_memories(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether indexing would come to the memories that are read now, and to nothing else; see `unchanged`."""
    run = await open_run(runtime, MemorySettings)
    return await unchanged(run, run.role.index(MEMORY_KIND), state, "memories", told_of(run))


async def gather_memories(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Read the memory unit M = {m_1, …, m_n} and write it down as a draft.

    Raises:
        ValueError: the role has no memories.
        RoleFileError: a file of memories or a line in it cannot be used.
    """
    run = await open_run(runtime, MemorySettings)
    role, card = run.role, run.role.card
    sources = await asyncio.to_thread(role.memory_files.checksums)
    files = await asyncio.to_thread(read_memory_files, role.memory_files)
    memories = await asyncio.to_thread(memory_unit, files, card)
    lines = (line for of in files.values() for line in of.values())
    warned = unheard(card, (line.speaker for line in lines if isinstance(line, DialogueLine)))
    warning = f"{warned} {await asyncio.to_thread(uncast_sentence, role.root)}".strip()
    if not memories:
        msg = f"{role.id!r} has no memories: write memories.jsonl or dialogues/*.jsonl into its folder, then index it."
        raise ValueError(f"{msg} {warning}".strip())
    encoder = await encoder_wanted(run, rebuild=bool(state.get("rebuild")))
    begun = await begin_draft(run, role.index(MEMORY_KIND), state, memories, recipe(card, encoder), sources)
    counts = counted(memories)
    runtime.stream_writer({"event": "gathered", **counts})
    report = {"version": "", "encoder": encoder, **counts, "failed": [], "calls": 0, "tokens": 0}
    report |= {"warning": warning} if warning else {}
    return {**begun, "encoder": encoder, "index": report, "without_vector": []}


@needs(draft="gather_memories")
@unless_overtaken
async def embed_memories(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Embed every memory that has no vector yet: semantic_m^k = F(m_k) (Eq. 4).

    One that the model gives no direction is left out of the version, and costs no other.

    Raises:
        ValueError: no memory has a vector.
    """
    run = await open_run(runtime, MemorySettings)
    build = IndexBuild(run, runtime, run.role.index(MEMORY_KIND), state["draft"])
    try:
        await build.embed(size=run.settings.embedding_batch)
    except NoVector as error:
        memories = await build.records()
        lost = [one.id for one in memories if one.embedding_text in error.texts]
        if len(lost) == len(memories):  # not kept as a result: going on embeds them again
            raise no_vectors(run, (await run.embedder()).name) from None
        return {"without_vector": lost}
    return {}


@needs(draft="gather_memories", encoder="gather_memories")
@unless_overtaken
async def encode_moods(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the mood of every memory that has none yet: emotion_m^k = G(m_k) (Eq. 5), several memories at a time.

    A memory whose mood cannot be had is recorded with the reason, and asked again with `retry`. Where memories are
    recalled by meaning alone no mood is asked; a turn with another strategy finds that they lack and has them asked.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    run = await open_run(runtime, MemorySettings)
    if run.settings.strategy == "semantic":
        return {}
    build = IndexBuild(run, runtime, run.role.index(MEMORY_KIND), state["draft"])
    encoding, memories, answers = await encoding_of(run, state["encoder"]), await build.records(), await build.answers()
    left = [one for one in memories if wanted(one, encoding, answers, retry=bool(state.get("retry")))]
    at_once = encoding.encoder.at_once
    with suppress(MissingIndex):  # where somebody else was faster, what was asked has cost no less
        await answer_all(
            {str(start): left[start : start + at_once] for start in range(0, len(left), at_once)},
            encoding.moods,
            keep=build.keep,
            announce=progress(runtime, "moods", len(left), each=at_once, before=len(memories) - len(left)),
        )
    return {"usage": {"encode_moods": run.usage}}


@needs(draft="gather_memories", encoder="gather_memories", index="gather_memories")
@made_again_if_stale
async def publish_memories(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the memories the version that is read from now on, unless their files are no longer what they were.

    Raises:
        StaleDraft: the files, or the card, were changed each time that they were indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
        ValueError: no memory has a vector.
    """
    run = await open_run(runtime, MemorySettings)
    encoding = await encoding_of(run, state["encoder"])
    build = IndexBuild(run, runtime, run.role.index(MEMORY_KIND), state["draft"], read={})
    without = state.get("without_vector", [])
    lost = [one for one in await build.records() if one.id in without]
    if lost and len(lost) == state["index"]["memories"]:
        raise no_vectors(run, (await run.embedder()).name)
    if lost:
        build = replace(build, draft=await asyncio.to_thread(build.index.builder.without, build.draft, without))
    await build.require_settings(recipe(encoding.card, state["encoder"]))
    memories, answers = await build.records(), await build.answers()
    moods = [mood_in(answers, memory, encoding) for memory in memories]
    asked = run.settings.strategy != "semantic"
    found = [(one.id, mood.error) for one, mood in zip(memories, moods, strict=True) if mood.error]
    failed = [{"memory": one, "error": error} for one, error in found if asked or error != NOT_ASKED]
    failed += [{"memory": one.id, "error": f"{one.places[0]} has no {NO_VECTOR}"} for one in lost]
    had = counted(memories)
    counts = {**had, "failed": len(failed), **({WITHOUT_VECTOR: len(lost)} if lost else {})}
    report = {**state["index"], **had, "failed": failed, **asked_in_all(state["usage"].values())}
    whole = not (asked and any(error == NOT_ASKED for _, error in found))
    done = done_with(told_of(run), report) if whole and not lost else None
    files = {MOODS_FILE: encode_records(moods)}
    return await build.publish("memories", report, counts, "rebuild", "retry", done=done, files=files)


def told_of(run: Run[MemorySettings]) -> str:
    """The digest of what indexing comes to; of the strategy it is only whether moods are asked."""
    return told(run, EmotionSettings, run.settings.strategy == "semantic")


def counted(memories: Sequence[StoredMemory]) -> dict[str, int]:
    """How many memories there are, and how many lines are joined with another."""
    return {"memories": len(memories), "copies": sum(len(one.places) - 1 for one in memories)}


def no_vectors(run: Run[Any], model: str) -> ValueError:
    """That there is nothing to publish."""
    return ValueError(f"With {model} no memory of {run.role.id!r} has a {NO_VECTOR} Take another embedding model.")


async def encoder_wanted(run: Run[MemorySettings], *, rebuild: bool) -> str:
    """The name of the encoder that a new version is made with; `auto` stays with the one there is, if it can go on."""
    before = None if rebuild else await asyncio.to_thread(whole_version, run.role.index(MEMORY_KIND))
    model = await run.embedder()
    known = {"model", encoder_name("embedding", model)}
    if run.settings.emotion_encoder == "auto" and before is not None and before.encoder in known:
        return before.encoder
    return encoder_name(encoder_kind(run.settings, run.chat), model)


def made_so(context: MemorySettings, card: RoleCard) -> Callable[[MemoryStore], bool]:
    """Whether a version was made with these settings, of a role with this card, and has the moods that they need."""

    def same(store: MemoryStore) -> bool:
        wanted = context.emotion_encoder == "auto" or store.encoder.startswith(context.emotion_encoder)
        lacks = context.strategy != "semantic" and any(mood.error == NOT_ASKED for mood in store.moods)
        return wanted and not lacks and store.manifest.settings == recipe(card, store.encoder)

    return same


def recipe(card: RoleCard, encoder: str) -> dict[str, JsonValue]:
    """All that decides what memories there are, besides the files and the embedding model."""
    return {"encoder": encoder, "names": [card.name, *card.aliases], "language": card.language}


class Encoding(NamedTuple):
    """Who encodes the moods of a role's memories."""

    encoder: EmotionEncoder
    card: RoleCard
    """Whose moods they are: as it was when the encoder was made, also where the role's is another by now."""

    async def moods(self, memories: Sequence[StoredMemory]) -> Answers:
        """Have the moods of some memories; each, or why there is none, under the key that it is kept by."""
        found = await self.encoder.of_memories(memories)
        return dict(self.answer(memory, mood) for memory, mood in zip(memories, found, strict=True))

    def answer(self, memory: StoredMemory, mood: Mood) -> tuple[str, JsonValue]:
        """A mood as it is kept."""
        if mood.emotions is None:
            return self.failure_key(memory), mood.error
        return self.key(memory), mood.model_dump(mode="json")["emotions"]

    def key(self, memory: StoredMemory) -> str:
        """What a mood is kept by: the encoder, the role whose mood it is, and the text."""
        return answer_key("mood", *self.asked(memory))

    def failure_key(self, memory: StoredMemory) -> str:
        """What is kept in the place of a mood that could not be had."""
        return answer_key("no mood", *self.asked(memory))

    def asked(self, memory: StoredMemory) -> list[JsonValue]:
        """All that a mood depends on, but the chat model: memories are not encoded again for another one."""
        return [self.encoder.name, self.card.name, self.card.language, memory.text]


async def encoding_of(run: Run[MemorySettings], encoder: str) -> Encoding:
    """Who encodes the moods of a run."""
    card = run.role.card
    return Encoding(await encoder_of(run, encoder, card), card)


def wanted(memory: StoredMemory, encoding: Encoding, answers: Mapping[str, JsonValue], *, retry: bool) -> bool:
    """Whether a mood is to be asked for."""
    return encoding.key(memory) not in answers and (retry or encoding.failure_key(memory) not in answers)


def mood_in(answers: Mapping[str, JsonValue], memory: StoredMemory, encoding: Encoding) -> Mood:
    """The mood of a memory, its emotions in the paper's order, or why there is none."""
    if (emotions := answers.get(encoding.key(memory))) is not None:
        felt = Mood.model_validate({"emotions": emotions}).emotions or {}
        return Mood(emotions={name: felt[name] for name in EMOTIONS})
    return Mood(emotions=None, error=str(answers.get(encoding.failure_key(memory)) or NOT_ASKED))


async def cost_of_memories(context: MemorySettings, wishes: Wishes) -> IndexingCost:
    """The memories without a mood, where the chat model reads moods."""
    run, anew = await run_of(context), wishes.get("rebuild", False)
    memories = await asyncio.to_thread(lambda: memory_unit(read_memory_files(run.role.memory_files), run.role.card))
    name, left = await encoder_wanted(run, rebuild=anew), list[str]()
    builder = run.role.index(MEMORY_KIND).builder
    if name == "model" and context.strategy != "semantic":
        encoding = await encoding_of(run, name)
        answers = {} if anew else await asyncio.to_thread(builder.known)
        left = [one.text for one in memories if wanted(one, encoding, answers, retry=wishes.get("retry", False))]
    return await with_embedding(cost_of_texts("memories", len(memories), left), run, builder, memories, wishes)
