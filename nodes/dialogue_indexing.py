"""Indexing of dialogues (DRMR 3.1): read, embedded, their edges scored if that is wanted now, published. Resumable."""

import asyncio
from contextlib import suppress
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import JsonValue

from dramaturg.nodes.appraisal import AppraisalSettings
from dramaturg.nodes.asked_answers import LookedAt, progress
from dramaturg.nodes.context import embedder_of, respondent_of, role_of, settings
from dramaturg.nodes.current_dialogues import recipe_settings
from dramaturg.nodes.dialogue_draft import DialogueDraftState, DialogueReport
from dramaturg.nodes.dialogue_settings import DialogueSettings
from dramaturg.nodes.dialogue_splitting import dialogues_of
from dramaturg.nodes.draft_work import cost, made_again_if_stale, unless_overtaken
from dramaturg.nodes.edge_scores import EdgeScoring, ask_scores, edge_key, edges_of, score_in
from dramaturg.nodes.record_embedding import embed_records
from dramaturg.stores.dialogue_files import read_dialogue_files
from dramaturg.stores.dialogues import StoredDialogue, dialogue_graph
from dramaturg.stores.errors import MissingIndex, StaleDraft


class DialogueIndexSettings(DialogueSettings, AppraisalSettings):
    """How dialogues are indexed."""


S = TypeVar("S", bound=DialogueIndexSettings)


async def gather_dialogues(state: DialogueDraftState, runtime: Runtime[S]) -> dict[str, Any]:
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
        role.dialogue_builder(context.index_kind).draft,
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
async def embed_dialogues(state: DialogueDraftState, runtime: Runtime[S]) -> dict[str, Any]:
    """Embed every dialogue that has no vector yet: Emb(U), U in D (Equation 1)."""
    context = settings(runtime, DialogueIndexSettings)
    role = await role_of(context)
    model, builder = await embedder_of(context, role), role.dialogue_builder(context.index_kind)
    await embed_records(builder, state["draft"], model, context.embedding_batch, runtime)
    return {}


@unless_overtaken
async def score_all_edges(state: DialogueDraftState, runtime: Runtime[S]) -> dict[str, Any]:
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
    builder, draft, errors = role.dialogue_builder(context.index_kind), state["draft"], dict[str, str]()
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
async def publish_dialogues(state: DialogueDraftState, runtime: Runtime[S]) -> dict[str, Any]:
    """Make the dialogues the version that is read from now on, unless their files are no longer what they were.

    Raises:
        StaleDraft: the files, or the card, were changed each time that they were indexed.
        MissingIndex: the draft, or a vector of it, was taken away each time.
    """
    context = settings(runtime, DialogueIndexSettings)
    role = await role_of(context)
    builder, draft, card = role.dialogue_builder(context.index_kind), state["draft"], role.card
    dialogues = await asyncio.to_thread(builder.records, draft)
    if await asyncio.to_thread(builder.settings, draft) != recipe_settings(card, context):
        raise StaleDraft(f"role.yaml of {role.id!r} was changed while its dialogues were indexed: index it again.")
    used: dict[str, JsonValue] = {}
    anew = bool(state.get("rebuild") and state.get("scores"))
    answers = LookedAt(await asyncio.to_thread(lambda: builder.answers(draft) if anew else builder.known()), used)
    scored = sum(score_in(answers, edge_key(edge, card)) is not None for edge in edges_of(dialogues))
    counts = {name: state["index"][name] for name in ("dialogues", "speakers", "relations", "edges")}
    manifest = await asyncio.to_thread(builder.publish, draft, used, {**counts, "scored": scored}, role.dialogue_files)
    report = {**state["index"], "scored": scored, "failed": state["failures"], **cost(state["usage"])}
    runtime.stream_writer({"event": "published", **report, "version": manifest.version})
    done = {"rebuild": False, "scores": False, "overtaken": 0}
    return {"index": {**report, "version": manifest.version}, "version": manifest.version, **done}
