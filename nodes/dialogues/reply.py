"""The reply of DRMR from the role memory, or from dialogues as they are (3.3, Equation 5; the baseline RoleGPT)."""

from collections.abc import Sequence
from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.nodes.dialogues.cast import cast_of
from dramaturg.nodes.dialogues.recall import DialogueRecallSettings, DialogueRecallState, RecalledDialogue
from dramaturg.nodes.dialogues.role_memory import RoleMemorySettings, RoleMemoryState, of_user, records_text
from dramaturg.nodes.reply import ReplySettings, spoken
from dramaturg.nodes.run import open_run, settings
from dramaturg.nodes.verification import DraftState, VerificationSettings, drafted
from dramaturg.stores.index.dialogues import DialogueStore


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


async def draft_related(state: RelatedDraftState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the reply, c = GenResp(M, C) (Equation 5): to a user whose role and standing the role memory tells.

    Without the role memory the dialogues that were brought back take its place.
    """
    run = await open_run(runtime, RelatedReplySettings)
    cast = await cast_of(run, state["version"])
    user = cast.user
    if run.settings.role_memory:
        name, rests_on = "respond_from_memory", records_text(of_user(state.get("memory_records", []), cast))
    else:
        name, rests_on = "respond_from_dialogues", dialogues_text(state["dialogues"], cast.store)
    data = {"other": user.profile, "memory" if run.settings.role_memory else "dialogues": rests_on}
    grounds = "\n\n".join(filter(None, [cast.card.profile.strip(), user.profile, rests_on]))
    return await drafted(run, state, name, data, grounds, asker=user.name)


def drafting_outcome(state: RelatedDraftState, runtime: Runtime[Any]) -> Literal["new", "nothing new"]:
    """Whether there is something to draft from; not in a revision that found nothing to write down.

    From the same memory the next draft would be a second throw, and no revision.
    """
    revision = any(one["revision"] for one in state["dialogues"])
    changed = state["recorded"] or settings(runtime, RelatedReplySettings).notes
    return "new" if changed or not revision else "nothing new"


async def respond_from_dialogues(state: DialogueRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the dialogues that were brought back, without a graph and without a second look (RoleGPT)."""
    run = await open_run(runtime, DialogueReplySettings)
    cast = await cast_of(run, state["version"])
    data = {"other": cast.user.profile, "dialogues": dialogues_text(state["dialogues"], cast.store)}
    reply = await spoken(run, state, "respond_from_dialogues", data, user=cast.user.name)
    return {"messages": [reply], "usage": {"respond_from_dialogues": run.usage}}


def dialogues_text(dialogues: Sequence[RecalledDialogue], store: DialogueStore) -> str:
    """Dialogues as a model reads them."""
    return "\n\n".join(store.get(one["dialogue"]).text for one in dialogues)
