"""Which dialogues a role has, and what made their vectors."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage
from dramaturg.nodes.dialogues.cast import Speakers, letters_of
from dramaturg.nodes.dialogues.edge_scores import EdgeScoring, ask_scores, edge_key, edges_of, score_in
from dramaturg.nodes.index_steps import LookedAt, cost, embed_records, made_again_if_stale, progress, unless_overtaken
from dramaturg.nodes.judgement import AppraisalSettings
from dramaturg.nodes.passages.index import IndexCheckState, as_checked
from dramaturg.nodes.run import RoleContext, embedder_of, respondent_of, role_of, settings
from dramaturg.stores.dialogue_files import read_dialogue_files
from dramaturg.stores.errors import MissingIndex, StaleDraft
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.index.dialogues import DialogueStore, SpokenLine, StoredDialogue, dialogue_graph
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.kinds import DIALOGUE_KIND
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import DialogueLine, RoleCard


class DialogueSettings(RoleContext):
    """How scenes become dialogues."""

    dialogue_length: int = Field(
        default=1000,
        ge=100,
        le=20_000,
        description="Characters of a dialogue; a longer scene becomes several. Embedding models read no more than so "
        "much of a text.",
    )
    embedding_batch: int = Field(default=64, ge=1, le=2048, description="Dialogues embedded in one step.")

    @property
    def index_kind(self) -> IndexKind[StoredDialogue, DialogueStore]:
        """The kind of index that is read."""
        return DIALOGUE_KIND


class DialogueReport(TypedDict):
    """What an index of dialogues holds, and what it cost now.

    `relations`: pairs of roles who speak with each other; `edges`: the same in each dialogue by itself, which is what
    gets a score; `scored`: how many of those have one; `failed`: those that have none though it was asked for, and why.
    """

    version: str
    dialogues: int
    speakers: int
    relations: int
    edges: int
    scored: int
    failed: list[dict[str, str]]
    calls: int
    tokens: int


class DialogueIndexInput(TypedDict, total=False):
    """What indexing may be told.

    `rebuild`: embed all anew, the old is served until then. `scores`: score every edge now, and not when a conversation
    first needs it.
    """

    rebuild: bool
    scores: bool


class DialogueIndexOutput(TypedDict):
    """What indexing gives."""

    index: DialogueReport
    version: str


class DialogueDraftState(DialogueIndexInput, DialogueIndexOutput):
    """Indexing under way: the draft on disk, what it cost, how often the files have changed meanwhile."""

    draft: str
    failures: list[dict[str, str]]
    overtaken: int
    usage: Annotated[dict[str, Usage], add_usage]


class DialogueIndexSettings(DialogueSettings, AppraisalSettings):
    """How dialogues are indexed."""


class Placed(NamedTuple):
    """A line, and its number in its file."""

    number: int
    line: SpokenLine


async def gather_dialogues(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Read the historical dialogues D = {(E_1, U_1), …, (E_L, U_L)} and write them down as a draft.

    Raises:
        ValueError: the role has no dialogues.
        RoleFileError: a file of dialogues or a line in it cannot be used.
    """
    context = settings(runtime, DialogueIndexSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    sources, card = await asyncio.to_thread(role.dialogue_files.checksums), role.card
    files = await asyncio.to_thread(read_dialogue_files, role.root)
    dialogues = dialogues_of(files, card, context.dialogue_length)
    if not dialogues:
        msg = f"{role.id!r} has no dialogues: write dialogues/*.jsonl into its folder, then index it."
        raise ValueError(msg)
    again = state.get("overtaken", 0)
    draft = await asyncio.to_thread(
        role.index(context.index_kind).builder.draft,
        dialogues,
        embedding=model.name,
        settings=recipe_settings(card, context),
        sources=sources,
        fresh=bool(state.get("rebuild")),
        after=state["draft"] if again else "",
    )
    report = begun(dialogues)
    runtime.stream_writer({"event": "gathered", "dialogues": report["dialogues"]})
    cleared = {} if again else {"usage": Overwrite({})}
    return {"draft": draft, "index": report, "version": "", "failures": [], **cleared}


def begun(dialogues: list[StoredDialogue]) -> DialogueReport:
    """What is known before anything was asked."""
    graph = dialogue_graph(dialogues)
    return {
        "version": "",
        "dialogues": len(dialogues),
        "speakers": len(graph),
        "relations": graph.number_of_edges(),
        "edges": len(edges_of(dialogues)),
        "scored": 0,
        "failed": [],
        "calls": 0,
        "tokens": 0,
    }


@unless_overtaken
async def embed_dialogues(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Embed every dialogue that has no vector yet: Emb(U), U in D (Equation 1)."""
    context = settings(runtime, DialogueIndexSettings)
    role = await role_of(context)
    model, builder = await embedder_of(context, role), role.index(context.index_kind).builder
    await embed_records(builder, state["draft"], model, context.embedding_batch, runtime)
    return {}


@unless_overtaken
async def score_all_edges(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Score every edge that has no score yet, or every one in a rebuild, if that is wanted now (Equation 2).

    An edge whose score cannot be had is listed with the reason, and asked about again the next time.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    if not state.get("scores"):
        return {}
    context = settings(runtime, DialogueIndexSettings)
    role = await role_of(context)
    scoring = EdgeScoring(await respondent_of(context, role), role.card, context)
    builder, draft, errors = role.index(context.index_kind).builder, state["draft"], dict[str, str]()
    answers = await asyncio.to_thread(builder.answers, draft)
    edges = edges_of(await asyncio.to_thread(builder.records, draft))
    left = {key: edge for edge in edges if (key := edge_key(edge, scoring.card)) not in answers}
    with suppress(MissingIndex):  # where somebody else was faster, what was asked has cost no less
        errors = await ask_scores(
            scoring,
            left,
            lambda had: asyncio.to_thread(builder.add_answers, draft, had),
            progress(runtime, "edges", len(left)),
        )
    failures = [
        {"edge": " – ".join(left[key].pair), "dialogue": left[key].dialogue.source, "error": error}
        for key, error in errors.items()
    ]
    return {"failures": failures, "usage": {"score_all_edges": scoring.chat.account.usage()}}


@made_again_if_stale
async def publish_dialogues(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the dialogues the version that is read from now on, unless their files are no longer what they were.

    Raises:
        StaleDraft: the files, or the card, were changed each time that they were indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
    """
    context = settings(runtime, DialogueIndexSettings)
    role = await role_of(context)
    builder, draft, card = role.index(context.index_kind).builder, state["draft"], role.card
    dialogues = await asyncio.to_thread(builder.records, draft)
    if await asyncio.to_thread(builder.settings, draft) != recipe_settings(card, context):
        raise StaleDraft(f"role.yaml of {role.id!r} was changed while its dialogues were indexed: index it again.")
    used: dict[str, JsonValue] = {}
    anew = bool(state.get("rebuild") and state.get("scores"))
    answers = LookedAt(await asyncio.to_thread(lambda: builder.answers(draft) if anew else builder.known()), used)
    scored = sum(score_in(answers, edge_key(edge, card)) is not None for edge in edges_of(dialogues))
    counts = {name: state["index"][name] for name in ("dialogues", "speakers", "relations", "edges")}
    counts["scored"] = scored
    manifest = await asyncio.to_thread(builder.publish, draft, counts, used=used, sources=role.dialogue_files)
    report = {**state["index"], "scored": scored, "failed": state["failures"], **cost(state["usage"])}
    runtime.stream_writer({"event": "published", **report, "version": manifest.version})
    done = {"rebuild": False, "scores": False, "overtaken": 0}
    return {"index": {**report, "version": manifest.version}, "version": manifest.version, **done}


def dialogues_of(files: Mapping[str, Mapping[int, DialogueLine]], card: RoleCard, longest: int) -> list[StoredDialogue]:
    """Return the dialogues in the order of the files; one that is there twice is one.

    A scene is one dialogue, or several of much the same length where it is longer than `longest` characters. Lines
    without a word, and lines that the role does not remember, are left out.

    Args:
        files: the lines of each file, by its name and their numbers.
        card: whose dialogues; under its aliases the role is the same speaker.
        longest: characters of a dialogue.
    """
    speakers, found = Speakers((card.name, *card.aliases)), dict[str, StoredDialogue]()
    for name, lines in files.items():
        for scene, placed in scenes_of(lines, speakers).items():
            for part in stretches(placed, longest):
                dialogue = stored(scene, name, part)
                found.setdefault(dialogue.id, dialogue)
    return list(found.values())


def scenes_of(lines: Mapping[int, DialogueLine], speakers: Speakers) -> dict[str, list[Placed]]:
    """The lines of each scene of a file: scenes may take turns in it."""
    scenes: dict[str, list[Placed]] = {}
    for number, line in lines.items():
        text = " ".join(line.text.split())
        if line.memory and letters_of(text) and line.speaker.strip():
            spoken = SpokenLine(speaker=speakers.name(line.speaker), text=text)
            scenes.setdefault(line.scene, []).append(Placed(number, spoken))
    return scenes


def stretches(placed: Sequence[Placed], longest: int) -> Iterator[list[Placed]]:
    """A scene in parts of much the same length, none longer than it may be unless a single line is."""
    left = sum(map(length, placed))
    share = left / -(-left // longest)
    part, done = list[Placed](), 0
    for one in placed:
        if part and (done + length(one) > longest or done + length(one) / 2 > share):
            yield part
            left -= done
            share, part, done = left / -(-left // longest), [], 0
        part.append(one)
        done += length(one)
    yield part


def length(placed: Placed) -> int:
    """Characters of a line with its speaker."""
    return len(placed.line.speaker) + len(placed.line.text) + len(": \n")


def stored(scene: str, file: str, part: Sequence[Placed]) -> StoredDialogue:
    """A dialogue; its id is the hash of what is said in it and where, so that a new version knows it again."""
    lines = [one.line for one in part]
    identity = sha256(canonical([scene, [[line.speaker, line.text] for line in lines]]))[:12]
    first, last = part[0].number, part[-1].number
    source = f"{file}:{first}" + (f"–{last}" if last > first else "")
    return StoredDialogue(id=identity, scene=scene, source=source, lines=tuple(lines))


async def check_dialogues(state: IndexCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether the dialogues were made from the files, the settings and the embedding model of now."""
    context = settings(runtime, DialogueSettings)
    role = await role_of(context)
    model = await embedder_of(context, role)
    return as_checked(await asyncio.to_thread(current_dialogues, role, context, model.name))


def current_dialogues(role: Role, context: DialogueSettings, embedding: str) -> DialogueStore | None:
    """The dialogues that are served, if they were made from the sources and settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    try:
        store = role.index(context.index_kind).open()
    except MissingIndex:
        return None
    same = recipe_settings(role.card, context) == store.manifest.settings
    return store if same and store.made_from(embedding, role.dialogue_files.checksums()) else None


def recipe_settings(card: RoleCard, context: DialogueSettings) -> dict[str, JsonValue]:
    """All that decides what dialogues there are, besides the files and the embedding model."""
    return {"length": context.dialogue_length, "names": [card.name, *card.aliases]}


async def dialogues_of_turn(context: DialogueSettings, version: str) -> DialogueStore:
    """The dialogues that this turn reads, also when a newer version was published meanwhile."""
    role = await role_of(context)
    return await asyncio.to_thread(role.index(context.index_kind).open, version or None)
