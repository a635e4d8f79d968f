"""A draft of the reply of AMADEUS, to be verified before it is spoken."""

from typing import Any

from langgraph.runtime import Runtime

from dramaturg.nodes.reply import GroundedReplySettings, KnowledgeAndAttributesState, knowledge_and_attributes
from dramaturg.nodes.run import role_of, settings
from dramaturg.nodes.verification import DraftState, VerificationSettings, drafted


class VerifiedReplySettings(GroundedReplySettings, VerificationSettings):
    """A reply that rests on passages, and may be verified."""


class AttributedDraftState(KnowledgeAndAttributesState, DraftState):
    """What a draft reads and writes."""


async def draft_with_attributes(state: AttributedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the reply from knowledge and attributes; it must be consistent with these and with the role's profile.

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, VerifiedReplySettings)
    role = await role_of(context)
    data = await knowledge_and_attributes(state, context)
    grounds = "\n\n".join(filter(None, [role.card.profile.strip(), data["attributes"], data["knowledge"]]))
    return await drafted(context, state, "respond_with_attributes", data, grounds)
