"""Which dialogues a conversation brings back, and when it is revised which more (DRMR 3.2 and 3.3, Equation 1)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.embeddings import Embedder
from dramaturg.models.reading import encodable
from dramaturg.nodes.dialogues.cast import Cast, UserRoleSettings, as_told, cast_of, one_sided, speakers_warning
from dramaturg.nodes.dialogues.index import DialogueSettings, DialoguesVersion
from dramaturg.nodes.edited import entries
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.reply import AskedState
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.self_contained import SelfContainedSettings, make_self_contained
from dramaturg.nodes.text.recalled import excerpt, passages_near, passages_of
from dramaturg.nodes.turn import StandaloneState, asked_as, clipped
from dramaturg.stores.index.dialogues import DialogueStore, StoredDialogue
from dramaturg.stores.index.vectors import unit_rows

DIGITS = 6  # of a similarity
SHOWN = 20_000  # bytes of a dialogue in the evidence
QUERY = 1000  # characters of the conversation, its last: embedding models read the beginning of a text only


class DialogueRecallSettings(UserRoleSettings, DialogueSettings):
    """How much is recalled, and whose dialogues."""

    recalled_dialogues: Open[int] = Field(
        default=3, ge=1, le=50, description="The number of dialogues that the conversation recalls (N in the paper)."
    )
    graph_dialogues: Open[int] = Field(
        default=24, ge=1, le=500, description="The largest number of dialogues in the relation graph of a conversation."
    )


class DialogueRevisionSettings(DialogueRecallSettings, SelfContainedSettings):
    """What is made of what is recalled, and how much more a revision recalls."""

    revision_dialogues: Open[int] = Field(
        default=2,
        ge=1,
        le=50,
        description="The number of additional dialogues that a revision recalls (K in the paper).",
    )
    role_memory: Open[bool] = Field(
        default=True,
        description="Whether a role memory is built from the relation graph; without it the dialogues stand in the "
        "prompt as they are.",
    )


class RecalledDialogue(TypedDict):
    """A dialogue that this turn brought back: how near it is, and by which revision it came (0: none)."""

    dialogue: str
    similarity: float
    revision: int


class KnownDialogue(TypedDict):
    """A dialogue in the relation graph of this conversation, and φ, how near it is to what is said now."""

    dialogue: str
    similarity: float


class MemoryLimit(TypedDict):
    """Whose role memory a turn adds to, and its most characters."""

    role: str
    user_role: str
    length: int


LimitOfMemory = Annotated[
    MemoryLimit | None, Field(description="Whose role memory is added to, and its length; null: there is none.")
]
KnownDialogues = Annotated[
    list[KnownDialogue],
    Field(description="The dialogues in the relation graph, the newest last; they live on from turn to turn."),
]


class DialogueRecallState(AskedState, StandaloneState):
    """What recall reads and writes."""

    dialogues_version: NotRequired[DialoguesVersion]
    dialogues: Annotated[list[RecalledDialogue], Field(description="The dialogues that this turn brought back.")]
    added: Annotated[int, Field(description="How many of the dialogues came last.")]
    relating: Annotated[bool, Field(description="Whether a role memory is made of the dialogues.")]
    memory_limit: LimitOfMemory
    known_dialogues: NotRequired[KnownDialogues]


RankedDialogues = Sequence[tuple[StoredDialogue, float]]


@needs(question="read_turn")
async def recall_dialogues(state: DialogueRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Bring back D^c, the N dialogues nearest to the conversation C in which the user's role or the model's speaks.

    Where the two ever speak with each other and none of these shows it, the nearest that does takes the last place:
    else they would be strangers in a conversation about something else.

    Raises:
        MissingIndex: the role has no index of dialogues.
        EmbeddingMismatch: the index was made with another embedding model.
    """
    run = await open_run(runtime, DialogueRecallSettings)
    return await recalled(run, state, runtime, await cast_of(run, state.get("dialogues_version")))


@needs(question="read_turn")
async def recall_own_dialogues(state: DialogueRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Bring back the N dialogues nearest to the conversation in which the model's role speaks (RoleGPT).

    Of the user no more is known than a name: what DRMR does for the two of them, this baseline goes without.

    Raises:
        MissingIndex: the role has no index of dialogues.
        EmbeddingMismatch: the index was made with another embedding model.
    """
    run = await open_run(runtime, DialogueRecallSettings)
    return await recalled(run, state, runtime, one_sided(await cast_of(run, state.get("dialogues_version"))))


async def recalled(
    run: Run[DialogueRecallSettings], state: DialogueRecallState, runtime: Runtime[Any], cast: Cast
) -> dict[str, Any]:
    """Recall for who speaks; what a node that begins a turn with dialogues writes."""
    asked = asked_as(state["messages"][-1], cast.user.known_as)
    said = conversation_text([*state["messages"][:-1], asked], cast)
    near = await ranked(cast, await run.embedder(), said)
    brought = as_recalled(nearest_of_both(near, cast, run.settings.recalled_dialogues), 0)
    shown = dialogue_evidence(brought, cast.store)
    runtime.stream_writer({"event": "dialogues", "dialogues": shown})
    warning = {"warning": cast.store.warning} if cast.store.warning else {}
    warning |= {"speakers_warning": said_of} if (said_of := speakers_warning(cast)) else {}
    return {
        "messages": [asked],
        "dialogues_version": cast.store.version,
        "dialogues": brought,
        "added": len(brought),
        "relating": getattr(run.settings, "role_memory", False),  # RoleGPT has none
        "memory_limit": None,
        "known_dialogues": known_now(known_in(state), brought, near, run.settings.graph_dialogues),
        "evidence": {"dialogues": shown, **run.kept_back(), **warning},
    }


@needs(question="read_turn", dialogues="recall_dialogues")
async def recall_more(state: DialogueRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Bring back D^r, the K dialogues nearest to the user's last utterance that the graph does not hold (3.3).

    One that it holds would add nothing, and the utterance is the same in every revision of a turn. One that refers
    to what was said before is said in full.
    """
    run = await open_run(runtime, DialogueRevisionSettings)
    context, model, cast = run.settings, await run.embedder(), await cast_of(run, state.get("dialogues_version"))
    before, known = state["dialogues"], known_in(state)
    held = {one["dialogue"] for one in (*before, *(known if context.role_memory else []))}
    understood = await make_self_contained(state, runtime)
    near = await ranked(cast, model, understood["standalone"])
    found = [one for one in near if concerns(one[0], cast) and one[0].id not in held][: context.revision_dialogues]
    written = {**understood, "relating": context.role_memory}
    if not found:
        return {**written, "added": 0}
    brought = [*before, *as_recalled(found, before[-1]["revision"] + 1 if before else 1)]
    near = await ranked(cast, model, conversation_text(state["messages"], cast))
    shown = dialogue_evidence(brought, cast.store)
    runtime.stream_writer({"event": "dialogues", "dialogues": shown})
    now = known_now(known, brought, near, context.graph_dialogues)
    evidence = {**understood.get("evidence", {}), "dialogues": shown}
    return {**written, "dialogues": brought, "added": len(found), "known_dialogues": now, "evidence": evidence}


@needs(relating="recall_dialogues")
def relating_outcome(state: DialogueRecallState) -> Literal["relate", "as they are"]:
    """Whether the dialogues make a role memory, or stand in the prompt as they are."""
    return "relate" if state["relating"] else "as they are"


@needs(added="recall_more", relating="recall_dialogues")
def more_outcome(state: DialogueRecallState) -> Literal["relate", "as they are", "read on", "nothing more"]:
    """The same for a revision; where it found nothing, a role memory may still be made of what was not read yet."""
    if state["added"]:
        return relating_outcome(state)
    return "read on" if state["relating"] else "nothing more"


def conversation_text(messages: Sequence[AnyMessage], cast: Cast) -> str:
    """C as it is embedded: the last of what was said, each line with its speaker, as dialogues are written.

    Lines of the user that came without a name, from a client or an earlier version, are those of who asks now.
    """

    def who(message: AnyMessage) -> str:
        if message.type == "human":
            return cast.user.known_as if message.name is None else message.name
        return cast.card.name if message.name in {None, "", cast.role.id} else str(message.name)

    told = [m for m in messages if m.type in {"human", "ai"}]
    said = [": ".join(filter(None, [who(m), " ".join(m.text.split())])) for m in told]
    text, *before = reversed(said)
    for line in before:
        if len(line) + len(text) > QUERY:
            break
        text = f"{line}\n{text}"
    return encodable(text)


async def ranked(cast: Cast, model: Embedder, text: str) -> RankedDialogues:
    """All dialogues by φ = cos(Emb(U), Emb(text)), the nearest first (Equation 1)."""
    vector = await model.query(text)
    cast.store.require(model.name, len(vector))
    return await asyncio.to_thread(cast.store.ranked, vector)


def nearest_of_both(near: RankedDialogues, cast: Cast, most: int) -> RankedDialogues:
    """The nearest that concern one of the two, one of them a dialogue of both if there is any."""

    def of_both(dialogue: StoredDialogue) -> bool:
        return any({cast.user.speaker, cast.card.name} == {*pair} for pair in dialogue.pairs)

    found = [one for one in near if concerns(one[0], cast)][:most]
    both = next((one for one in near if of_both(one[0])), None)
    if both is None or any(of_both(dialogue) for dialogue, _ in found):
        return found
    return [*found[: most - 1], both]


def concerns(dialogue: StoredDialogue, cast: Cast) -> bool:
    """Whether the user's role or the model's speaks in a dialogue."""
    return not {cast.user.speaker, cast.card.name}.isdisjoint(dialogue.speakers)


def as_recalled(found: RankedDialogues, revision: int) -> list[RecalledDialogue]:
    """Dialogues, as the state holds them."""
    return [
        {"dialogue": dialogue.id, "similarity": round(similarity, DIGITS), "revision": revision}
        for dialogue, similarity in found
    ]


def known_in(state: Mapping[str, Any]) -> list[KnownDialogue]:
    """The dialogues in the graph of a state."""
    return entries(state, "known_dialogues", KnownDialogue, similarity=0.0)


def known_now(
    before: Sequence[KnownDialogue], found: Sequence[RecalledDialogue], near: RankedDialogues, most: int
) -> list[KnownDialogue]:
    """The dialogues in the graph, the newest last, each as near as it is now; the oldest leave where there are many."""
    similarity = {dialogue.id: score for dialogue, score in near}
    new = dict.fromkeys(one["dialogue"] for one in found)
    ids = [*(one["dialogue"] for one in before if one["dialogue"] not in new), *new]
    kept = [one for one in ids if one in similarity][-max(most, len(new)) :]
    return [{"dialogue": one, "similarity": round(similarity[one], DIGITS)} for one in kept]


async def dialogue_texts(
    run: Run[DialogueSettings], cast: Cast, dialogues: Sequence[StoredDialogue], said: str
) -> list[str]:
    """Dialogues as a model reads them: of one that is longer than they may be, for a line of it is, the passages.

    Args:
        run: of settings that say how long they may be.
        cast: who is who in them.
        dialogues: in any order.
        said: what the passages that are shown are near to.

    Raises:
        ModelError, ValueError: passages cannot be embedded.
    """
    texts = [as_told(one, cast) for one in dialogues]
    long = [one for one in texts if len(one) > run.settings.dialogue_length and passages_of(one) != (one,)]
    if not long:
        return texts
    model = await run.embedder()
    near = await passages_near(model, unit_rows([await model.query(said)])[0], long)
    return [excerpt(one, near) if one in long else one for one in texts]


def dialogue_evidence(brought: Sequence[RecalledDialogue], store: DialogueStore) -> list[dict[str, Any]]:
    """Dialogues, as the evidence of a reply shows them: where each is written, who speaks, and what is said."""
    found = ((one, store.get(one["dialogue"])) for one in brought)
    return [
        {**one, "scene": of.scene, "source": of.source, "speakers": of.speakers, "text": clipped(of.text, SHOWN)}
        for one, of in found
    ]
