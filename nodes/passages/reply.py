"""Replies that rest on passages: from knowledge alone (naive RAG), or from knowledge and attributes (AMADEUS)."""

from typing import Any, NotRequired

from langgraph.runtime import Runtime

from dramaturg.nodes.drafts import DraftState, drafted
from dramaturg.nodes.passages.attributes import (
    AttributeMemory,
    Attributes,
    AttributeSettings,
    remembered,
    reminders,
)
from dramaturg.nodes.passages.retrieval import (
    Candidates,
    PassagesVersion,
    RetrievalSettings,
    Selected,
    in_context,
    passages_of,
)
from dramaturg.nodes.reply import AskedState, Grounds, ReplySettings, grounds_of, spoken
from dramaturg.nodes.run import Run, needs, open_run
from dramaturg.nodes.turn import EvidenceState, StandaloneState
from dramaturg.nodes.verification import VerificationSettings

__all__ = ["draft_with_attributes", "ground_passages", "passage_grounds", "respond_from_knowledge"]

SHOWN = ("knowledge", "selection", "selection_error", "attributes", "attributes_error", "role_memory")
"""What the evidence of a turn shows of it."""


class GroundedReplySettings(ReplySettings, RetrievalSettings):
    """A reply that rests on passages."""


class PassageGroundsSettings(RetrievalSettings, AttributeSettings):
    """Grounds of passages and attributes."""


class VerifiedReplySettings(GroundedReplySettings, VerificationSettings, PassageGroundsSettings):
    """A reply that rests on passages and attributes, and may be verified."""


class KnowledgeState(AskedState, EvidenceState):
    """What a reply from knowledge alone reads."""

    passages_version: NotRequired[PassagesVersion]
    candidates: Candidates


class AttributedDraftState(KnowledgeState, DraftState, StandaloneState):
    """What a reply in AMADEUS reads: knowledge from retrieval, attributes from selection and extraction."""

    selected: Selected
    attributes: Attributes
    role_memory: NotRequired[AttributeMemory]


@needs(question="read_turn", candidates="retrieve")
async def respond_from_knowledge(state: KnowledgeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the retrieved passages alone (naive RAG, the baseline of AMADEUS Table 6)."""
    run = await open_run(runtime, GroundedReplySettings)
    grounds = await knowledge_grounds(run, state)
    reply, slips = await spoken(run, state, "respond_from_knowledge", grounds, data={"knowledge": ""})
    return {"messages": [reply], "evidence": slips, "usage": {"respond_from_knowledge": run.usage}}


@needs(question="read_turn", candidates="retrieve", selected="judge", attributes="extract_attributes")
async def draft_with_attributes(state: AttributedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the reply from passages as knowledge and from GS and AE as attributes (AMADEUS, Figure 2).

    A draft that is verified must be consistent with all of it and with the role's profile.
    """
    run = await open_run(runtime, VerifiedReplySettings)
    grounds, empty = await passage_grounds(run, state), {"attributes": "", "knowledge": ""}
    checkers = ["verifier"] if run.settings.verify else []
    written = await drafted(run, state, "respond_with_attributes", grounds, checkers=checkers, data=empty)
    memory = await remembered(run, state)
    return {**written, **memory, "evidence": {**written["evidence"], **memory.get("evidence", {})}}


@needs(candidates="retrieve", selected="judge", attributes="extract_attributes")
async def ground_passages(state: AttributedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `passage_grounds`."""
    run = await open_run(runtime, PassageGroundsSettings)
    return {"gathered": {"passages": await passage_grounds(run, state)}, **await remembered(run, state)}


async def knowledge_grounds(run: Run[RetrievalSettings], state: KnowledgeState) -> Grounds:
    """What a reply can rest on without attributes: "knowledge", the passages nearest to the question."""
    store = await passages_of(run, state.get("passages_version"))
    texts = [in_context(store.get(one["passage"])) for one in state["candidates"][: run.settings.knowledge]]
    return grounds_of(state, {"knowledge": texts}, shown=("knowledge",))


async def passage_grounds(run: Run[PassageGroundsSettings], state: AttributedDraftState) -> Grounds:
    """What a reply can rest on in AMADEUS: "knowledge", and as "attributes" what was found and what shows it.

    A passage that is knowledge and was selected too stands there once, as knowledge. What this turn found stands there
    before what the role memory has that is near to the question.
    """
    knowledge = await knowledge_grounds(run, state)
    store = await passages_of(run, state.get("passages_version"))
    known = state["candidates"][: run.settings.knowledge]
    selected = [in_context(store.get(one["passage"])) for one in state["selected"] if one not in known]
    attributes = [*state["attributes"], *await reminders(run, state)]
    listed = "\n".join(f"- {one['attribute']}" for one in attributes)
    texts = {"attributes": [listed, *selected], **knowledge["texts"]}
    return grounds_of(state, texts, shown=SHOWN)
