"""The index of dialogues (DRMR 3.1): read, embedded, their edges scored if that is wanted now, published."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.asking import Announce, Answers, answer_all, asked_in_all, progress
from dramaturg.nodes.dialogues.cast import Speakers, letters_of, unheard
from dramaturg.nodes.index_steps import (
    IndexBuild,
    IndexDraftState,
    IndexingCost,
    LookedAt,
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
    with_embedding,
)
from dramaturg.nodes.judgement import Appraisal, AppraisalSettings, Appraising
from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.run import RoleContext, Run, needs, open_run, run_of
from dramaturg.nodes.turn import clipped
from dramaturg.stores.documents.forms import DialogueLine, RoleCard
from dramaturg.stores.documents.memories import read_dialogue_files
from dramaturg.stores.documents.originals import uncast_sentence
from dramaturg.stores.documents.secrets import RoleNames
from dramaturg.stores.errors import MissingIndex
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.dialogues import DIALOGUE_KIND, Pair, SpokenLine, StoredDialogue, dialogue_graph


class DialogueSettings(RoleContext):
    """How scenes become dialogues."""

    dialogue_length: Closed[int] = Field(
        default=1000,
        ge=100,
        le=20_000,
        description="Characters of a dialogue; a longer scene becomes several. Embedding models read no more than so "
        "much of a text.",
    )
    embedding_batch: Open[int] = Field(default=64, ge=1, le=2048, description="Dialogues embedded in one step.")


class DialogueReport(TypedDict):
    """What an index of dialogues holds, and what it cost now.

    `relations`: pairs of roles who speak with each other, the edges; `scored`: how many of them have a score; `cut`:
    how many reasons were too long; `failed`: those that have none though it was asked for, and why; `warning`: that
    nobody speaks by the role's name, and who may be meant.
    """

    version: str
    dialogues: int
    speakers: int
    relations: int
    scored: int
    cut: int
    failed: list[dict[str, str]]
    calls: int
    tokens: int
    warning: NotRequired[str]


class DialogueIndexInput(TypedDict, total=False):
    """What indexing may be told."""

    rebuild: Rebuild
    scores: Annotated[bool, Field(description="Score every edge now, and not when a conversation first needs it.")]


DialoguesVersion = Annotated[
    str, Field(description="The index of dialogues that the turn reads; none: the current one.")
]


class DialogueIndexOutput(TypedDict):
    """What indexing gives."""

    index: Annotated[DialogueReport, Field(description="What the index of dialogues holds, and what it cost now.")]
    version: PublishedVersion
    dialogues_version: DialoguesVersion


class DialogueDraftState(DialogueIndexInput, DialogueIndexOutput, IndexDraftState):
    """Indexing under way."""

    failures: Annotated[list[dict[str, str]], Field(description="Edges that have no score, and why.")]


class DialogueIndexSettings(DialogueSettings, AppraisalSettings):
    """How dialogues are indexed."""


class DialoguesCheckState(TypedDict):
    """Whether there is something to read."""

    dialogues_stale: Annotated[
        bool, Field(description="Whether dialogues must be indexed before the role can be asked.")
    ]
    dialogues_version: NotRequired[DialoguesVersion]


async def check_dialogues(state: DialoguesCheckState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether the dialogues were made from the files, the settings and the embedding model of now."""
    run = await open_run(runtime, DialogueSettings)
    wanted, index = recipe(run.role.card, run.settings), run.role.index(DIALOGUE_KIND)
    return await checked(run, index, "dialogues", lambda store: store.manifest.settings == wanted)


@needs(dialogues_stale="check_dialogues")
def dialogues_outcome(state: DialoguesCheckState) -> Literal["current", "stale"]:
    """Whether the dialogues can be read as they are."""
    return "stale" if state["dialogues_stale"] else "current"


async def recheck_dialogues(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Look whether indexing would come to the dialogues that are read now, and to nothing else; see `unchanged`."""
    run = await open_run(runtime, DialogueIndexSettings)
    settings = told(run, DialogueIndexSettings)
    return await unchanged(run, run.role.index(DIALOGUE_KIND), state, "dialogues", settings)


async def gather_dialogues(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Read the historical dialogues D = {(E_1, U_1), …, (E_L, U_L)} and write them down as a draft.

    Raises:
        ValueError: the role has no dialogues.
        RoleFileError: a file of dialogues or a line in it cannot be used.
    """
    run = await open_run(runtime, DialogueIndexSettings)
    role, card, index = run.role, run.role.card, run.role.index(DIALOGUE_KIND)
    sources = await asyncio.to_thread(role.dialogue_files.checksums)
    files = await asyncio.to_thread(read_dialogue_files, role.dialogue_files)
    dialogues = dialogues_of(files, card, run.settings.dialogue_length)
    unread = await asyncio.to_thread(uncast_sentence, role.root)
    if not dialogues:
        msg = f"{role.id!r} has no dialogues: write dialogues/*.jsonl into its folder, then index it."
        raise ValueError(f"{msg} {unread}".strip())
    begun = await begin_draft(run, index, state, dialogues, recipe(card, run.settings), sources)
    runtime.stream_writer({"event": "gathered", "dialogues": len(dialogues)})
    graph = dialogue_graph(dialogues)
    report = {
        "version": "",
        "dialogues": len(dialogues),
        "speakers": len(graph),
        "relations": graph.number_of_edges(),
        "scored": 0,
        "cut": 0,
        "failed": [],
        "calls": 0,
        "tokens": 0,
    }
    warned = unheard(card, (line.speaker for one in dialogues for line in one.lines))
    if warning := f"{warned} {unread}".strip():
        report["warning"] = warning
    return {**begun, "index": report, "failures": []}


@needs(draft="gather_dialogues")
@unless_overtaken
async def embed_dialogues(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Embed every dialogue that has no vector yet: Emb(U), U in D (Equation 1)."""
    run = await open_run(runtime, DialogueIndexSettings)
    build = IndexBuild(run, runtime, run.role.index(DIALOGUE_KIND), state["draft"])
    await build.embed(size=run.settings.embedding_batch)
    return {}


@needs(draft="gather_dialogues")
@unless_overtaken
async def score_all_edges(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Score every edge that has no score yet, or every one in a rebuild, if that is wanted now (Equation 2).

    An edge whose score cannot be had is listed with the reason, and asked about again the next time.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    if not state.get("scores"):
        return {}
    run = await open_run(runtime, DialogueIndexSettings)
    build = IndexBuild(run, runtime, run.role.index(DIALOGUE_KIND), state["draft"])
    scoring, errors = EdgeScoring(run, run.role.card), dict[str, str]()
    answers, edges = await build.answers(), edges_of(await build.records())
    left = {edge_key(edge, scoring.card): edge for edge in edges if score_of(answers, edge, scoring.card) is None}
    with suppress(MissingIndex):  # where somebody else was faster, what was asked has cost no less
        errors = await ask_scores(
            scoring,
            left,
            build.keep,
            progress(runtime, "edges", len(left), before=len(edges) - len(left)),
        )
    failures = [
        {"edge": " – ".join(left[key].pair), "dialogue": left[key].source, "error": error}
        for key, error in errors.items()
    ]
    return {"failures": failures, "usage": {"score_all_edges": run.usage}}


@needs(draft="gather_dialogues", index="gather_dialogues", failures="gather_dialogues")
@made_again_if_stale
async def publish_dialogues(state: DialogueDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Make the dialogues the version that is read from now on, unless their files are no longer what they were.

    Raises:
        StaleDraft: the files, or the card, were changed each time that they were indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
    """
    run = await open_run(runtime, DialogueIndexSettings)
    card, read = run.role.card, dict[str, JsonValue]()
    build = IndexBuild(run, runtime, run.role.index(DIALOGUE_KIND), state["draft"], read)
    await build.require_settings(recipe(card, run.settings))
    anew = state.get("rebuild") and state.get("scores")
    answers = await build.answers() if anew else LookedAt(await asyncio.to_thread(build.index.builder.known), read)
    scores = [one for edge in edges_of(await build.records()) if (one := score_of(answers, edge, card))]
    scored, cut = len(scores), sum(bool(one.dropped) for one in scores)
    counts = {name: state["index"][name] for name in ("dialogues", "speakers", "relations")}
    report = {**state["index"], "scored": scored, "cut": cut, **asked_in_all(state["usage"].values())}
    done = done_with(told(run, DialogueIndexSettings), {**report, "failed": []})
    report["failed"], counts["scored"] = state["failures"], scored
    return await build.publish("dialogues", report, counts, "rebuild", "scores", done=done)


def recipe(card: RoleCard, context: DialogueSettings) -> dict[str, JsonValue]:
    """All that decides what dialogues there are, besides the files and the embedding model."""
    return {"length": context.dialogue_length, "names": [card.name, *card.aliases]}


class Placed(NamedTuple):
    """A line, and its number in its file."""

    number: int
    line: SpokenLine


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
        for (scene, _), placed in scenes_of(lines, speakers).items():
            for part in stretches(placed, longest):
                dialogue = stored(scene, name, part)
                found.setdefault(dialogue.id, dialogue)
    return list(found.values())


def scenes_of(
    lines: Mapping[int, DialogueLine], speakers: Speakers
) -> dict[tuple[str, RoleNames | None], list[Placed]]:
    """The lines of each scene of a file that the same roles know: scenes may take turns in it."""
    scenes: dict[tuple[str, RoleNames | None], list[Placed]] = {}
    for number, line in lines.items():
        text = " ".join(line.text.split())
        if line.memory and letters_of(text) and line.speaker.strip():
            spoken = SpokenLine(speaker=speakers.name(line.speaker), text=text)
            scenes.setdefault((line.scene, line.known_to), []).append(Placed(number, spoken))
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


async def cost_of_dialogues(context: DialogueIndexSettings, wishes: Wishes) -> IndexingCost:
    """The edges without a score, if they are to be scored now."""
    run, anew = await run_of(context), wishes.get("rebuild", False)
    builder, card = run.role.index(DIALOGUE_KIND).builder, run.role.card
    files = await asyncio.to_thread(read_dialogue_files, run.role.dialogue_files)
    dialogues = dialogues_of(files, card, context.dialogue_length)
    edges, scores = edges_of(dialogues), wishes.get("scores", False)
    answers = {} if anew and scores else await asyncio.to_thread(builder.known)
    left, later = [one.text for one in edges if score_of(answers, one, card) is None], ""
    if not scores:
        later = f"missing scores: {len(left):,}; a turn asks for those it needs, --scores for all now" if left else ""
        left = []
    return await with_embedding(cost_of_texts("edges", len(edges), left, later), run, builder, dialogues, wishes)


TOGETHER = 4000
"""Bytes of the dialogues that are read for the score of two roles: about a thousand tokens."""


@dataclass(frozen=True)
class DialogueEdge:
    """An edge e_ij: two roles who speak with each other, and the dialogues in which they do."""

    pair: Pair
    dialogues: tuple[StoredDialogue, ...]

    @cached_property
    def text(self) -> str:
        """The dialogues together, as a model reads them: those in which the two say most to each other, in their order.

        Of one that is longer than all may be, what follows the first word between the two.
        """
        first, *rest = sorted(self.dialogues, key=lambda one: -one.exchanges(self.pair))
        is_long = len(first.text.encode()) > TOGETHER
        texts = {first.id: clipped(first.text_from(self.pair), TOGETHER) if is_long else first.text}
        left = TOGETHER - len(texts[first.id].encode())
        for one in rest:
            if (size := len(one.text.encode())) <= left:
                texts[one.id], left = one.text, left - size
        return "\n\n".join(texts[one.id] for one in self.dialogues if one.id in texts)

    @property
    def source(self) -> str:
        """Where its dialogues are written: the first, and how many more there are."""
        more = len(self.dialogues) - 1
        return self.dialogues[0].source + (f" and {more} more" if more else "")


class EdgeScoring(NamedTuple):
    """Who scores the edges of a role's dialogues."""

    run: Run[AppraisalSettings]
    card: RoleCard
    """As it was when the edges were looked for."""


async def ask_scores(
    scoring: EdgeScoring,
    left: Mapping[str, DialogueEdge],
    keep: Callable[[Answers], Awaitable[None]],
    announce: Announce,
) -> dict[str, str]:
    """Have the scores s_ij of edges, 1 … 5 with a reason, by their keys.

    Returns:
        Why there is none, by the keys of the edges that have none.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """
    (run, card), chat = scoring, scoring.run.chat
    errors: dict[str, str] = {}

    async def asked(edge: DialogueEdge) -> Answers:
        key = edge_key(edge, card)
        question = Appraising(
            together="score_edge",
            score="rate_edge",
            reason="why_edge",
            values={},
            data={"dialogue": edge.text, "pair": "\n".join(edge.pair)},
            prompt=partial(run.prompt, language=card.language),
        )
        try:
            found = await (question.rated_by if run.settings.scores_apart(chat) else question.together_by)(chat)
        except UNANSWERED as error:
            errors[key] = str(error)
            return {}
        cut: dict[str, JsonValue] = {"dropped": list(found.dropped)} if found.dropped else {}
        return {key: {"score": found.score, "reason": found.reason, **cut}}

    await answer_all(left, asked, keep=keep, announce=announce)
    return errors


def edge_key(edge: DialogueEdge, card: RoleCard) -> str:
    """What the score of an edge is kept by: the two roles and the text; not the model that gave it."""
    return answer_key("edge", list(edge.pair), edge.text, card.language)


def edges_of(dialogues: Iterable[StoredDialogue]) -> list[DialogueEdge]:
    """All edges that dialogues give, one for two roles, in the order in which they first speak with each other."""
    found: dict[Pair, list[StoredDialogue]] = {}
    for dialogue in dialogues:
        for pair in dialogue.pairs:
            found.setdefault(pair, []).append(dialogue)
    return [DialogueEdge(pair, tuple(together)) for pair, together in found.items()]


def score_of(answers: Mapping[str, JsonValue], edge: DialogueEdge, card: RoleCard) -> Appraisal | None:
    """The score of an edge that is kept; where an earlier version has scored each of its dialogues, the highest."""
    if found := score_in(answers, edge_key(edge, card)):
        return found
    each = [score_in(answers, edge_key(DialogueEdge(edge.pair, (one,)), card)) for one in edge.dialogues]
    scores = [one for one in each if one]
    return max(scores, key=lambda one: one.score) if len(scores) == len(each) else None


def score_in(answers: Mapping[str, JsonValue], key: str) -> Appraisal | None:
    """A score that is kept."""
    match answers.get(key):
        case {"score": int() | float() as score, "reason": str(reason), **more}:
            dropped = more.get("dropped")
            return Appraisal(float(score), reason, tuple(map(str, dropped)) if isinstance(dropped, list) else ())
    return None
