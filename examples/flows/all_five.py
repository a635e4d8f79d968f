"""One role with all five methods: each gathers what it finds, one draft rests on it, a gate and a verifier check it."""

from operator import attrgetter
from typing import Any

from langgraph.types import Overwrite
from pydantic import Field

from dramaturg.nodes.drafts import STEPS, GroundedDraftSettings, draft_from_grounds, next_step, revise, speak
from dramaturg.nodes.identity.decision import DecisionState, decline
from dramaturg.nodes.identity.episodes import remember_episode
from dramaturg.nodes.identity.gate import validate
from dramaturg.nodes.memories.remembering import RememberedState, remember
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.part import part
from dramaturg.nodes.turn import SummarySettings, TurnInput, TurnOutput, TurnState
from dramaturg.nodes.verification import VerificationSettings, verify
from dramaturg.nodes.workflow import Workflow
from dramaturg.workflows import amadeus, drmr, emotional_rag, id_rag, role_rag
from dramaturg.workflows.wiring import wire_beginning, wire_end

METHODS = {"passages": amadeus, "scope": role_rag, "memories": emotional_rag, "relations": drmr, "identity": id_rag}


class AllFiveContext(GroundedDraftSettings, VerificationSettings, SummarySettings):
    passages: Open[amadeus.AmadeusContext] = Field(default=amadeus.AmadeusContext(), description="AMADEUS.")
    scope: Open[role_rag.RoleRagContext] = Field(default=role_rag.RoleRagContext(), description="RoleRAG.")
    memories: Open[emotional_rag.EmotionalRagContext] = Field(
        default=emotional_rag.EmotionalRagContext(), description="Emotional RAG."
    )
    relations: Open[drmr.DrmrContext] = Field(default=drmr.DrmrContext(), description="DRMR.")
    identity: Open[id_rag.IdRagContext] = Field(default=id_rag.IdRagContext(), description="ID-RAG.")


class AllFiveState(
    TurnState,
    amadeus.PassagesOutput,
    role_rag.ScopeOutput,
    emotional_rag.MemoriesOutput,
    drmr.RelationsOutput,
    id_rag.IdentityOutput,
    RememberedState,
    DecisionState,
):
    checkers: list[str]


async def begin(state: AllFiveState) -> dict[str, Any]:
    return {"checkers": ["gate", "verifier"], "gathered": Overwrite({})}


def build() -> Workflow[AllFiveState, AllFiveContext, TurnInput, TurnOutput]:
    builder = Workflow(AllFiveState, AllFiveContext, input_schema=TurnInput, output_schema=TurnOutput)
    wire_beginning(builder, "begin")
    for node in (begin, verify, revise, decline, speak):
        builder.add_node(node)
    builder.add_node("draft", draft_from_grounds)
    builder.add_node("validate", part(validate, attrgetter("identity")))
    builder.add_node("remember", part(remember, attrgetter("memories")))
    builder.add_node("remember_episode", part(remember_episode, attrgetter("identity")))
    for name, method in METHODS.items():
        builder.add_node(name, part(method.build_grounds().compile(name=name), attrgetter(name)))
        builder.add_edge("begin", name)
        builder.add_edge(name, "draft")
    for checked in ("draft", "validate", "verify"):
        builder.add_conditional_edges(checked, next_step, dict(STEPS))
    builder.add_edge("revise", "draft")
    for said in ("speak", "decline"):
        builder.add_edge(said, "remember")
    builder.add_edge("remember", "remember_episode")
    wire_end(builder, "remember_episode")
    return builder


graph = build().compile(name="all_five")
