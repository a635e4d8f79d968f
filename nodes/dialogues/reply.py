"""The reply of DRMR from the role memory, or from dialogues as they are (3.3, Equation 5; the baseline RoleGPT)."""

from typing import Any, Literal

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.nodes.dialogues.cast import Cast, cast_of
from dramaturg.nodes.dialogues.recall import (
    DialogueRecallSettings,
    DialogueRecallState,
    DialogueRevisionSettings,
    conversation_text,
    dialogue_texts,
)
from dramaturg.nodes.dialogues.relations import earlier_in, is_talked
from dramaturg.nodes.dialogues.role_memory import RoleMemorySettings, RoleMemoryState, of_user, records_in
from dramaturg.nodes.drafts import drafted, drafts_of, revision_note
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.documents import DocumentSettings, document_grounds
from dramaturg.nodes.reply import Grounds, ReplySettings, grounds_of, joined, spoken
from dramaturg.nodes.run import Run, by_rules, needs, open_run, settings
from dramaturg.nodes.verification import VerificationSettings

__all__ = ["draft_related", "ground_relations", "relation_grounds", "respond_from_dialogues"]


class RelatedReplySettings(RoleMemorySettings, VerificationSettings, DocumentSettings):
    """A reply that knows whom it answers, and is verified."""

    verify: Open[bool] = Field(default=True, description="Whether a reply is verified, and revised if it does not fit.")
    notes: Open[bool] = Field(
        default=False,
        description="Whether a revision is told why the previous draft did not pass; in the paper it is not.",
    )
    redraft: Open[bool] = by_rules(
        paper=False,
        ours=True,
        description="Whether, where a revision has nothing new to rest on, the reply is drafted once more and told why "
        "the draft before it did not pass: a draft and its verification more. The paper does not say what happens "
        "then, and its drafts are never told: the best one is spoken.",
    )


class DialogueReplySettings(DialogueRecallSettings, ReplySettings):
    """A reply that rests on dialogues."""


@needs(question="read_turn", dialogues="recall_dialogues")
async def draft_related(state: RoleMemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Draft the reply, c = GenResp(M, C) (Equation 5): to a user whose role and standing the role memory tells.

    Without the role memory the dialogues that were brought back take its place. What the role's documents say of the
    question is shown next to either.
    """
    run = await open_run(runtime, RelatedReplySettings)
    user, documents = (await cast_of(run, state.get("dialogues_version"))).user, await document_grounds(run, state)
    grounds = joined([await relation_grounds(run, state), documents])
    checkers = ["verifier"] if run.settings.verify else []
    prompt, data = "respond_from_dialogues", {"other": "", "dialogues": ""}
    if run.settings.role_memory:
        prompt, data = "respond_from_memory", {"other": "", "memory": "\n\n".join(grounds["texts"].get("records", []))}
    written = await drafted(run, state, prompt, grounds, checkers=checkers, data=data, user=user.name)
    asker = user.name if user.of_card else grounds["asker"]
    return {**written, "asker": asker, "evidence": {**documents["evidence"], **written["evidence"]}}


@needs(dialogues="recall_dialogues")
async def ground_relations(state: RoleMemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Gather what a reply can rest on, for who makes it; see `relation_grounds`."""
    run = await open_run(runtime, DialogueRevisionSettings)
    return {"gathered": {"relations": await relation_grounds(run, state)}}


async def relation_grounds(run: Run[DialogueRevisionSettings], state: RoleMemoryState) -> Grounds:
    """What a reply can rest on here: "other", who the user is, and "records" of the role memory, or "dialogues"."""
    cast = await cast_of(run, state.get("dialogues_version"))
    if run.settings.role_memory:
        own = of_user(records_in(state), cast)
        since = next((at for at, one in enumerate(own) if is_talked(one)), len(own))  # what came later holds
        found = {"records": [one["text"] for one in (*own[:since], *earlier_in(state), *own[since:])]}
    else:
        found = {"dialogues": await recalled_texts(run, state, cast)}
    shown = ("dialogues", "relations", "earlier_records", "records")
    return grounds_of(state, {"other": [cast.user.profile], **found}, asker=cast.user.known_as, shown=shown)


@needs(recorded="build_memory")
def drafting_outcome(state: RoleMemoryState) -> Literal["new", "nothing new"]:
    """Whether there is something to draft from; not in a revision that found nothing to write down.

    From the same memory the next draft would be a second throw, and no revision, unless it is told why.
    """
    drafts = drafts_of(state)
    return "new" if not drafts or state["recorded"] or revision_note(drafts) else "nothing new"


@needs(drafts="a node that drafts")
async def tell_why(state: RoleMemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the next draft told why the last one did not pass, once in a turn: there is nothing new to rest on."""
    drafts = drafts_of(state)
    told_before = any(revision_note(drafts[: at + 1]) for at in range(len(drafts)))
    if told_before or not settings(runtime, RelatedReplySettings).redraft:
        return {}
    last = drafts[-1]
    noted = {name: {**one, "note": one["reason"]} for name, one in last["verdicts"].items()}
    return {"drafts": [*drafts[:-1], {**last, "verdicts": noted}]}


@needs(drafts="a node that drafts")
def telling_outcome(state: RoleMemoryState) -> Literal["told", "nothing new"]:
    """Whether the next draft is told something."""
    return "told" if revision_note(drafts_of(state)) else "nothing new"


@needs(question="read_turn", dialogues="recall_dialogues")
async def respond_from_dialogues(state: DialogueRecallState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from the dialogues that were brought back, without a graph and without a second look (RoleGPT).

    The user's role has a name and no profile.
    """
    run = await open_run(runtime, DialogueReplySettings)
    cast = await cast_of(run, state.get("dialogues_version"))
    texts = {"dialogues": await recalled_texts(run, state, cast)}
    grounds, empty = grounds_of(state, texts, asker=cast.user.known_as), {"other": "", "dialogues": ""}
    reply, slips = await spoken(run, state, "respond_from_dialogues", grounds, data=empty, user=cast.user.name)
    return {"messages": [reply], "evidence": slips, "usage": {"respond_from_dialogues": run.usage}}


async def recalled_texts(run: Run[DialogueRecallSettings], state: DialogueRecallState, cast: Cast) -> list[str]:
    """The dialogues of a turn as a model reads them."""
    found = [cast.store.get(one["dialogue"]) for one in state["dialogues"]]
    return await dialogue_texts(run, cast, found, conversation_text(state["messages"], cast))
