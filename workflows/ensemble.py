"""The five methods for one role: what each finds, side by side; one draft from all of it, the gate, the verifier."""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import BeforeValidator, Field

from dramaturg.nodes.dialogues.cast import UserRoleSettings
from dramaturg.nodes.dialogues.role_memory import (
    RoleMemoryState,
    condense_memory,
    memory_outcome,
    record_talk,
    talk_outcome,
)
from dramaturg.nodes.drafts import STEPS, Checkers, GroundedDraftSettings, draft_from_grounds, next_step, revise, speak
from dramaturg.nodes.identity.decision import DecisionState, decline
from dramaturg.nodes.identity.episodes import remember_episode
from dramaturg.nodes.identity.gate import validate
from dramaturg.nodes.identity.update import UpdateState, approve, reflect, update_identity, update_outcome
from dramaturg.nodes.memories.index import memories_in
from dramaturg.nodes.memories.remembering import RememberedState, remember
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.part import OwnSettings, part
from dramaturg.nodes.run import RoleContext, library_of, needs, open_run
from dramaturg.nodes.self_contained import SelfContainedState, make_self_contained
from dramaturg.nodes.talk.memory import keep_talk, recall_talk
from dramaturg.nodes.told import told_documents
from dramaturg.nodes.turn import (
    SummarySettings,
    TurnInput,
    TurnOutput,
    TurnState,
    asked_as,
    read_turn,
    summarize,
    window_outcome,
)
from dramaturg.nodes.verification import VerificationSettings, verify
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.stores.documents.memories import read_memory_files
from dramaturg.stores.documents.secrets import is_told, told_among
from dramaturg.stores.errors import RoleError
from dramaturg.stores.role import Role
from dramaturg.workflows import amadeus, drmr, emotional_rag, id_rag, role_rag

Part = Literal["passages", "scope", "memories", "relations", "identity"]
PARTS: tuple[Part, ...] = ("passages", "scope", "memories", "relations", "identity")
SPOKEN = (
    *("window", "summary_tokens", "talk_tokens", "known_as", "reply_tokens", "document_passages"),
    *("verify", "alpha", "revisions", "notes", "redraft", "recent"),
)
"""The settings of a method that are about its reply, or that the ensemble does for all: a part gives none."""


def _names(given: Any) -> Any:
    """Names with commas between them, as a command line has them, are a list."""
    return [one.strip() for one in given.split(",")] if isinstance(given, str) else given


class EnsembleContext(UserRoleSettings, GroundedDraftSettings, VerificationSettings, SummarySettings):
    """Everything that the ensemble may be told; role, library, language and models of its parts are its own."""

    parts: Open[Annotated[frozenset[Part], BeforeValidator(_names)]] = Field(
        default=frozenset(PARTS), description="The parts that may be used; each is used if the role has files for it."
    )
    verify: Open[bool] = Field(default=True, description="Whether a reply is verified, and revised if it does not fit.")
    passages: Open[Annotated[amadeus.AmadeusContext, OwnSettings(*SPOKEN)]] = Field(
        default_factory=amadeus.AmadeusContext, description="The settings of AMADEUS."
    )
    scope: Open[Annotated[role_rag.RoleRagContext, OwnSettings(*SPOKEN, "retrieval")]] = Field(
        default_factory=role_rag.RoleRagContext, description="The settings of RoleRAG."
    )
    memories: Open[Annotated[emotional_rag.EmotionalRagContext, OwnSettings(*SPOKEN)]] = Field(
        default_factory=emotional_rag.EmotionalRagContext, description="The settings of Emotional RAG."
    )
    relations: Open[Annotated[drmr.DrmrContext, OwnSettings(*SPOKEN, "user_role")]] = Field(
        default_factory=drmr.DrmrContext, description="The settings of DRMR."
    )
    identity: Open[Annotated[id_rag.IdRagContext, OwnSettings(*SPOKEN)]] = Field(
        default_factory=id_rag.IdRagContext, description="The settings of ID-RAG."
    )


class EnsembleState(
    TurnState,
    SelfContainedState,
    amadeus.PassagesOutput,
    role_rag.ScopeOutput,
    emotional_rag.MemoriesOutput,
    drmr.RelationsOutput,
    id_rag.IdentityOutput,
    RememberedState,
    RoleMemoryState,
    DecisionState,
    UpdateState,
):
    """A turn, and what lives on: the window, its summary, and what each part remembers as in its own method."""

    taking_part: Annotated[list[Part], Field(description="The parts that the role has files for, and that are wanted.")]
    checkers: Checkers


@needs(question="read_turn")
async def choose_parts(state: EnsembleState, runtime: Runtime[Any]) -> dict[str, Any]:
    """See for which parts the role has files, and begin without grounds.

    Raises:
        ValueError: there is none.
    """
    run = await open_run(runtime, EnsembleContext)
    chosen = await asyncio.to_thread(parts_of, run.settings, run.role)
    if not chosen:
        among = ", ".join(sorted(run.settings.parts))
        raise ValueError(
            f"{run.role.id!r} has files for none of the parts {among}, or nothing in them is told to it: see "
            "docs/concepts/ensemble.md."
        )
    gate = "identity" in chosen and run.settings.identity.gate
    checkers = [*(["gate"] if gate else []), *(["verifier"] if run.settings.verify else [])]
    evidence = {"parts": list(chosen)}
    return {
        "messages": [asked_as(one, run.settings.user_role) for one in state["messages"][-1:]],
        "taking_part": list(chosen),
        "checkers": checkers,
        "gathered": Overwrite({}),
        "drafts": [],
        "evidence": evidence,
    }


def parts_of(context: EnsembleContext, role: Role) -> list[Part]:
    """The parts that take part: those that are wanted, and that the role has been told something for; blocks."""
    documents, own = any(one.text.strip() for one in told_documents(role)), role.own_names
    files = {
        name: {at: one for at, one in lines.items() if is_told(one.known_to, own)}
        for name, lines in read_memory_files(role.memory_files).items()
    }
    memories = chain.from_iterable(memories_in(name, lines, role.card) for name, lines in files.items())
    there: dict[Part, bool] = {
        "passages": documents,
        "scope": documents,
        "memories": any(True for _ in memories),
        "relations": bool(told_among(role.dialogues(), own)),
        "identity": bool(told_among(role.chronicle().triples, own)) or context.identity.identity == "baseline",
    }
    return [name for name in PARTS if there[name] and name in context.parts]


def settings_of(name: Part) -> Callable[[EnsembleContext], RoleContext]:
    """What gives the settings of a part from those of the ensemble: who the user is, and what is known of the talk."""

    def own(context: EnsembleContext) -> RoleContext:
        given: RoleContext = getattr(context, name)
        fields = type(given).model_fields
        known = ("user_role", "recent", "window", "summary_tokens", "talk_tokens", "known_as")
        return given.model_copy(update={field: getattr(context, field) for field in known if field in fields})

    return own


def prepared_parts(context: EnsembleContext) -> Sequence[Part]:
    """The parts that are to be prepared: all of them for a role that is not there."""
    try:
        return parts_of(context, library_of(context).open(context.role))
    except RoleError:
        return PARTS


async def understand(state: EnsembleState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Say the question in full, once for all parts; see `make_self_contained`."""
    before: SelfContainedState = {**state, "understood": ""}  # type: ignore[typeddict-unknown-key]
    said = await make_self_contained(before, runtime)
    return {**said, "understood": said["standalone"]}


@needs(taking_part="choose_parts")
def part_outcomes(state: EnsembleState) -> list[Part]:
    """The parts that take part."""
    return state["taking_part"]


@needs(taking_part="choose_parts")
def keeping_outcomes(state: EnsembleState) -> Sequence[str]:
    """What is kept of a turn, each part in its own way."""
    parts, kept = state["taking_part"], ["keep talk"]
    if "memories" in parts:
        kept.append("remember")
    if "relations" in parts and (record := talk_outcome(state)) != "room":
        kept.append("record talk" if record == "full" else "condense")
    if "identity" in parts:
        kept.append("remember episode")
    if window_outcome(state) == "full":
        kept.append("summarize")
    return kept


@changeable
def build() -> Workflow[EnsembleState, EnsembleContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(EnsembleState, EnsembleContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.prepared_parts = prepared_parts
    builder.add_node(read_turn)
    builder.add_node(recall_talk)
    builder.add_node(choose_parts)
    builder.add_node(understand)
    methods = zip(PARTS, (amadeus, role_rag, emotional_rag, drmr, id_rag), strict=True)
    for name, method in methods:
        builder.add_node(name, part(method.build_grounds().compile(name=name), settings_of(name)))
    builder.add_node("draft", draft_from_grounds)
    builder.add_node("validate", part(validate, settings_of("identity")))
    builder.add_node(verify)
    builder.add_node(revise)
    builder.add_node(decline)
    builder.add_node(speak)
    builder.add_node("remember", part(remember, settings_of("memories")))
    builder.add_node("record_talk", part(record_talk, settings_of("relations")))
    builder.add_node("condense_memory", part(condense_memory, settings_of("relations")))
    builder.add_node("remember_episode", part(remember_episode, settings_of("identity")))
    builder.add_node("reflect", part(reflect, settings_of("identity")))
    builder.add_node("approve", part(approve, settings_of("identity")))
    builder.add_node("update_identity", part(update_identity, settings_of("identity")))
    builder.add_node(keep_talk)
    builder.add_node(summarize)
    builder.add_edge(START, "read_turn")
    builder.add_edge("read_turn", "recall_talk")
    builder.add_edge("recall_talk", "choose_parts")
    builder.add_edge("choose_parts", "understand")
    builder.add_conditional_edges("understand", part_outcomes, list(PARTS))
    for name in PARTS:  # each is one step, whatever its length: the draft comes once, after the last of them
        builder.add_edge(name, "draft")
    for checked in ("draft", "validate", "verify"):
        builder.add_conditional_edges(checked, next_step, dict(STEPS))
    builder.add_edge("revise", "draft")
    kept: dict[Hashable, str] = {
        "keep talk": "keep_talk",
        "remember": "remember",
        "record talk": "record_talk",
        "condense": "condense_memory",
        "remember episode": "remember_episode",
    }
    for said in ("speak", "decline"):
        builder.add_conditional_edges(said, keeping_outcomes, {**kept, "summarize": "summarize"})
    builder.add_conditional_edges("record_talk", memory_outcome, {"room": END, "long": "condense_memory"})
    builder.add_conditional_edges("remember_episode", update_outcome, {"reflect": "reflect", "stay": END})
    builder.add_edge("reflect", "approve")
    builder.add_edge("approve", "update_identity")
    for last in ("keep_talk", "remember", "condense_memory", "update_identity", "summarize"):
        builder.add_edge(last, END)
    return builder


graph = build().compile(name="ensemble")
