"""The reply of DRMR from the role memory, or from dialogues as they are (3.3, Equation 5; the baseline RoleGPT)."""

from collections.abc import Sequence
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.nodes.context import role_of, settings
from dramaturg.nodes.current_dialogues import dialogues_of_turn
from dramaturg.nodes.dialogue_recall import DialogueRecallSettings, DialogueRecallState, RecalledDialogue
from dramaturg.nodes.respond import ReplySettings, spoken
from dramaturg.nodes.role_memory import RoleMemorySettings, RoleMemoryState, of_user, records_text
from dramaturg.nodes.user_role import user_role_of
from dramaturg.nodes.verification import DraftState, VerificationSettings, drafted
from dramaturg.stores.dialogues import DialogueStore


class RelatedReplySettings(RoleMemorySettings, VerificationSettings):
    """A reply that knows whom it answers, and is verified."""

    verify: bool = Field(default=True, description="Whether a reply is verified, and revised if it does not fit.")
    notes: bool = Field(
        default=False,
        description="Whether a revision is shown why the draft before it did not pass; the paper's is not.",
    )


class RelatedDraftState(RoleMemoryState, DraftState):
    """What a draft reads and writes."""


class DialogueReplySettings(ReplySettings, DialogueRecallSettings):
    """A reply that rests on dialogues."""


R = TypeVar("R", bound=RelatedReplySettings)
D = TypeVar("D", bound=DialogueReplySettings)


async def draft_related(state: RelatedDraftState, runtime: Runtime[R]) -> dict[str, Any]:
    """Draft the reply, c = GenResp(M, C) (Equation 5): to a user whose role and standing the role memory tells.

    Without the role memory the dialogues that were brought back take its place.

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, RelatedReplySettings)
    role = await role_of(context)
    store = await dialogues_of_turn(context, state["version"])
    user = await user_role_of(context, role, store)
    rests_on = (
        {"memory": records_text(of_user(state.get("memory_records", []), role, user))}
        if context.role_memory
        else {"dialogues": dialogues_text(state["dialogues"], store)}
    )
    name = "respond_from_memory" if context.role_memory else "respond_from_dialogues"
    grounds = "\n\n".join(filter(None, [role.card.profile.strip(), user.profile, *rests_on.values()]))
    return await drafted(context, state, name, {"other": user.profile, **rests_on}, grounds, asker=user.name)


async def respond_from_dialogues(state: DialogueRecallState, runtime: Runtime[D]) -> dict[str, Any]:
    """Answer from the dialogues that were brought back, without a graph and without a second look (RoleGPT).

    Raises:
        ModelError: the model gave no reply.
    """
    context = settings(runtime, DialogueReplySettings)
    role = await role_of(context)
    store = await dialogues_of_turn(context, state["version"])
    user = await user_role_of(context, role, store)
    data = {"other": user.profile, "dialogues": dialogues_text(state["dialogues"], store)}
    reply, usage = await spoken(context, state, "respond_from_dialogues", data, user=user.name)
    return {"messages": [reply], "usage": {"respond_from_dialogues": usage}}


def dialogues_text(dialogues: Sequence[RecalledDialogue], store: DialogueStore) -> str:
    """Dialogues as a model reads them."""
    return "\n\n".join(store.get(one["dialogue"]).text for one in dialogues)
