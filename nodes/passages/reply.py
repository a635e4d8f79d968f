"""Replies that rest on passages: from knowledge alone (naive RAG), or from knowledge and attributes (AMADEUS)."""

from typing import Any

from langgraph.runtime import Runtime

from dramaturg.nodes.passages.attributes import Attribute, updated_memory
from dramaturg.nodes.passages.retrieval import Candidate, RetrievalSettings, in_context, passages_of
from dramaturg.nodes.reply import AskedState, ReplySettings, spoken
from dramaturg.nodes.run import open_run
from dramaturg.nodes.verification import DraftState, VerificationSettings, drafted


class GroundedReplySettings(ReplySettings, RetrievalSettings):
    """A reply that rests on passages."""


class VerifiedReplySettings(GroundedReplySettings, VerificationSettings):
    """A reply that rests on passages, and may be verified."""


class KnowledgeState(AskedState):
    """What a reply from knowledge alone reads."""

    version: str
    candidates: list[Candidate]


class AttributedDraftState(KnowledgeState, DraftState):
    """What a reply in AMADEUS reads: knowledge from retrieval, attributes from selection and extraction."""

    selected: list[Candidate]
    attributes: list[Attribute]
    role_memory: list[Attribute]


async def respond_from_knowledge(state: KnowledgeState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the retrieved passages alone (naive RAG, the baseline of AMADEUS Table 6)."""
    run = await open_run(runtime, GroundedReplySettings)
    store = await passages_of(run, state["version"])
    knowledge = state["candidates"][: run.settings.knowledge]
    texts = "\n\n".join(in_context(store.get(candidate["passage"])) for candidate in knowledge)
    reply = await spoken(run, state, "respond_from_knowledge", {"knowledge": texts})
    return {"messages": [reply], "usage": {"respond_from_knowledge": run.usage}}


async def draft_with_attributes(state: AttributedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the reply from passages as knowledge and from GS and AE as attributes (AMADEUS, Figure 2).

    A passage that is knowledge and was selected too stands there once, as knowledge. What this turn found stands there
    also where a role remembers less than that. A draft that is verified must be consistent with all of it and with the
    role's profile.
    """
    run = await open_run(runtime, VerifiedReplySettings)
    store = await passages_of(run, state["version"])

    def texts(candidates: list[Candidate]) -> str:
        return "\n\n".join(in_context(store.get(candidate["passage"])) for candidate in candidates)

    knowledge = state["candidates"][: run.settings.knowledge]
    selected = [candidate for candidate in state["selected"] if candidate not in knowledge]
    most = len(state["role_memory"]) + len(state["attributes"])
    known = "\n".join(
        f"- {one['attribute']}" for one in updated_memory(state["role_memory"], state["attributes"], most)
    )
    data = {"knowledge": texts(knowledge), "attributes": f"{known}\n\n{texts(selected)}".strip()}
    grounds = "\n\n".join(filter(None, [run.role.card.profile.strip(), data["attributes"], data["knowledge"]]))
    return await drafted(run, state, "respond_with_attributes", data, grounds)
