"""Which memories a role has, and what made their vectors and moods."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, NamedTuple

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.index_steps import (
    Answers,
    LookedAt,
    answer_all,
    cost,
    embed_records,
    made_again_if_stale,
    progress,
    unless_overtaken,
)
from dramaturg.nodes.memories.emotions import (
    EMOTIONS,
    EmotionEncoder,
    EmotionSettings,
    emotion_encoder,
    encoder_kind,
    encoder_name,
)
from dramaturg.nodes.memories.units import memory_unit
from dramaturg.nodes.passages.index import IndexCheckState, as_checked
from dramaturg.nodes.run import embedder_of, respondent_of, role_of, settings
from dramaturg.stores.errors import DamagedIndex, MissingIndex, StaleDraft
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.kinds import MEMORY_KIND
from dramaturg.stores.index.memories import MOODS_FILE, MemoryStore, Mood, StoredMemory
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.memory_files import read_memory_files
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import RoleCard


class MemorySettings(EmotionSettings):
    """How memories are encoded."""

    embedding_batch: int = Field(default=64, ge=1, le=2048, description="Memories embedded in one step.")

    @property
    def index_kind(self) -> IndexKind[StoredMemory, MemoryStore]:
        """The kind of index that is read."""
        return MEMORY_KIND


class MemoryReport(TypedDict):
    """What an index of memories holds, and what it cost now.

    `copies`: lines that are joined with another; `failed`: memories without a mood, and why.
    """

    version: str
    encoder: str
    memories: int
    copies: int
    failed: list[dict[str, str]]
    calls: int
    tokens: int


class MemoryIndexInput(TypedDict, total=False):
    """What indexing may be told.

    `rebuild`: embed and encode all anew, the old is served until then. `retry`: ask again for moods that could not
    be had.
    """

    rebuild: bool
    retry: bool


class MemoryIndexOutput(TypedDict):
    """What indexing gives."""

    index: MemoryReport
    version: str


class MemoryDraftState(MemoryIndexInput, MemoryIndexOutput):
    """Indexing under way: the draft on disk, its encoder, what it cost, how often the files have changed meanwhile."""

    draft: str
    encoder: str
    overtaken: int
    usage: Annotated[dict[str, Usage], add_usage]


class Encoding(NamedTuple):
    """Who encodes the moods of a role's memories."""

    encoder: EmotionEncoder
    role: Role
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


async def gather_memories(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Read the memory unit M = {m_1, …, m_n} and write it down as a draft.

    Raises:
        ValueError: the role has no memories.
        RoleFileError: a file of memories or a line in it cannot be used.
    """
    context = settings(runtime, MemorySettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    sources = await asyncio.to_thread(role.memory_files.checksums)
    card = role.card
    memories = await asyncio.to_thread(lambda: memory_unit(read_memory_files(role.root), card))
    if not memories:
        msg = f"{role.id!r} has no memories: write memories.jsonl or dialogues/*.jsonl into its folder, then index it."
        raise ValueError(msg)
    rebuild, again = bool(state.get("rebuild")), state.get("overtaken", 0)
    encoder = await encoder_wanted(context, role, model, rebuild=rebuild)
    draft = await asyncio.to_thread(
        role.index(context.index_kind).builder.draft,
        memories,
        embedding=model.name,
        settings=recipe_settings(card, encoder),
        sources=sources,
        fresh=rebuild,
        after=state["draft"] if again else "",
    )
    copies = sum(len(memory.places) - 1 for memory in memories)
    report = begun(encoder, len(memories), copies)
    runtime.stream_writer({"event": "gathered", "memories": len(memories), "copies": copies})
    cleared = {} if again else {"usage": Overwrite({})}
    return {"draft": draft, "encoder": encoder, "index": report, "version": "", **cleared}


def begun(encoder: str, memories: int, copies: int) -> MemoryReport:
    """What is known before a memory was encoded."""
    return {
        "version": "",
        "encoder": encoder,
        "memories": memories,
        "copies": copies,
        "failed": [],
        "calls": 0,
        "tokens": 0,
    }


@unless_overtaken
async def embed_memories(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Embed every memory that has no vector yet: semantic_m^k = F(m_k) (Eq. 4)."""
    context = settings(runtime, MemorySettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    builder = role.index(context.index_kind).builder
    await embed_records(builder, state["draft"], model, context.embedding_batch, runtime)
    return {}


@unless_overtaken
async def encode_moods(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the mood of every memory that has none yet: emotion_m^k = G(m_k) (Eq. 5), several memories at a time.

    A memory whose mood cannot be had is recorded with the reason, and asked again with `retry`.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    context = settings(runtime, MemorySettings)
    encoding, chat = await encoding_of(context, state["encoder"])
    builder, draft = encoding.role.index(context.index_kind).builder, state["draft"]
    memories = await asyncio.to_thread(builder.records, draft)
    answers = await asyncio.to_thread(builder.answers, draft)
    left = [one for one in memories if wanted(one, encoding, answers, retry=bool(state.get("retry")))]
    at_once = encoding.encoder.at_once
    with suppress(MissingIndex):  # where somebody else was faster, what was asked has cost no less
        await answer_all(
            {str(start): left[start : start + at_once] for start in range(0, len(left), at_once)},
            encoding.moods,
            keep=lambda had: asyncio.to_thread(builder.add_answers, draft, had),
            announce=progress(runtime, "moods", len(left), each=at_once),
        )
    return {"usage": {"encode_moods": chat.account.usage()}}


async def encoding_of(context: MemorySettings, encoder: str) -> tuple[Encoding, ChatModel]:
    """Who encodes the moods of a run, and the chat model that is asked if that is the chat model."""
    role = await role_of(context)
    chat = await respondent_of(context, role)
    model, card = await embedder_of(context, role), role.card
    made = emotion_encoder(encoder, chat=chat, embedder=model, card=card)
    return Encoding(made, role, card), chat


@made_again_if_stale
async def publish_memories(state: MemoryDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the memories the version that is read from now on, unless their files are no longer what they were.

    Raises:
        StaleDraft: the files, or the card, were changed each time that they were indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
    """
    context = settings(runtime, MemorySettings)
    encoding, _ = await encoding_of(context, state["encoder"])
    builder, draft = encoding.role.index(context.index_kind).builder, state["draft"]
    memories = await asyncio.to_thread(builder.records, draft)
    if await asyncio.to_thread(builder.settings, draft) != recipe_settings(encoding.card, state["encoder"]):
        raise StaleDraft(
            f"role.yaml of {encoding.role.id!r} was changed while its memories were indexed: index it again."
        )
    used: dict[str, JsonValue] = {}
    answers = LookedAt(await asyncio.to_thread(builder.answers, draft), used)
    moods = [mood_in(answers, memory, encoding) for memory in memories]
    failed = [{"memory": m.id, "error": mood.error} for m, mood in zip(memories, moods, strict=True) if mood.error]
    counts = {"memories": len(memories), "copies": state["index"]["copies"], "failed": len(failed)}
    files, sources = {MOODS_FILE: encode_records(moods)}, encoding.role.memory_files
    manifest = await asyncio.to_thread(builder.publish, draft, counts, files=files, used=used, sources=sources)
    report = {**state["index"], "failed": failed, **cost(state["usage"]), "version": manifest.version}
    runtime.stream_writer({"event": "published", **report})
    return {"index": report, "version": manifest.version, "rebuild": False, "retry": False, "overtaken": 0}


def wanted(memory: StoredMemory, encoding: Encoding, answers: Mapping[str, JsonValue], *, retry: bool) -> bool:
    """Whether a mood is to be asked for."""
    return encoding.key(memory) not in answers and (retry or encoding.failure_key(memory) not in answers)


def mood_in(answers: Mapping[str, JsonValue], memory: StoredMemory, encoding: Encoding) -> Mood:
    """The mood of a memory, its emotions in the paper's order, or why there is none."""
    if (emotions := answers.get(encoding.key(memory))) is not None:
        felt = Mood.model_validate({"emotions": emotions}).emotions or {}
        return Mood(emotions={name: felt[name] for name in EMOTIONS})
    return Mood(emotions=None, error=str(answers.get(encoding.failure_key(memory)) or "It was not asked for."))


async def check_memories(state: IndexCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether the memories were made from the files, the encoder and the embedding model of now.

    Which chat model encoded them does not matter: memories are not encoded again for another one.
    """
    context = settings(runtime, MemorySettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    return as_checked(await asyncio.to_thread(current_memories, role, context, model.name))


def encoding_outcomes(state: IndexCheckState) -> Sequence[Literal["stale", "meaning", "mood"]]:
    """Whether memories must be indexed first, or meaning and mood of the question can be had at once."""
    return ("stale",) if state["stale"] else ("meaning", "mood")


def current_memories(role: Role, context: MemorySettings, embedding: str) -> MemoryStore | None:
    """The memories that are served, if they were made from the sources and settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    try:
        store = role.index(context.index_kind).open()
    except MissingIndex:
        return None
    current = (
        recipe_settings(role.card, store.encoder) == store.manifest.settings
        and serves(store, context)
        and store.made_from(embedding, role.memory_files.checksums())
    )
    return store if current else None


def served_or_none(role: Role, context: MemorySettings) -> MemoryStore | None:
    """The memories that are read now, for those who make a new version: what is damaged counts as not there."""
    try:
        return role.index(context.index_kind).open()
    except (DamagedIndex, MissingIndex):
        return None


async def encoder_wanted(context: MemorySettings, role: Role, model: Embedder, *, rebuild: bool) -> str:
    """The name of the encoder that a new version is made with; `auto` stays with the one there is."""
    before = None if rebuild else await asyncio.to_thread(served_or_none, role, context)
    if context.emotion_encoder == "auto" and before is not None and usable(before.encoder, model):
        return before.encoder
    return encoder_name(encoder_kind(context, await respondent_of(context, role)), model)


def usable(encoder: str, model: Embedder) -> bool:
    """Whether an encoder can go on: the chat model, or similarity by the embedding model of now."""
    return encoder in {"model", encoder_name("embedding", model)}


def serves(store: MemoryStore, context: MemorySettings) -> bool:
    """Whether the moods are from the encoder that is asked for; `auto` stays with the one there is."""
    return context.emotion_encoder == "auto" or store.encoder.startswith(context.emotion_encoder)


def recipe_settings(card: RoleCard, encoder: str) -> dict[str, JsonValue]:
    """All that decides what memories there are, besides the files and the embedding model."""
    return {"encoder": encoder, "names": [card.name, *card.aliases], "language": card.language}


async def memories_of(context: MemorySettings, version: str) -> MemoryStore:
    """The memories that this turn reads, also when a newer version was published meanwhile."""
    role = await role_of(context)
    return await asyncio.to_thread(role.index(context.index_kind).open, version or None)
