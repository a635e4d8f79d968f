"""Guided selection: passages from which a role's attributes regarding the question can be inferred (AMADEUS 3.2)."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.chat import ChatModel
from dramaturg.models.errors import ModelUnavailable
from dramaturg.models.thresholds import threshold
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.passage_evidence import Candidate, as_evidence
from dramaturg.nodes.retrieval import RetrievalSettings, passages_of
from dramaturg.nodes.selection_batches import batch_size, needed
from dramaturg.nodes.selection_judges import Verdict, judged_by_cross_encoder, judged_by_model
from dramaturg.nodes.turn import Report
from dramaturg.stores.passages import PassageStore
from dramaturg.stores.role import Role


class SelectionSettings(RetrievalSettings):
    """Algorithm 1's N and K, who judges, and how many passages are judged at once."""

    search_limit: int = Field(default=30, ge=1, le=500, description="The most passages that are judged (N).")
    slots: int = Field(default=2, ge=1, le=20, description="How many passages are selected (K).")
    fallback: Literal["top-K+1", "top-K"] = Field(
        default="top-K+1",
        description="When none is selected: the K + 1 most similar (Algorithm 1) or the K most similar (the text).",
    )
    selection_judge: Literal["model", "cross-encoder"] = Field(
        default="model", description="The chat model (the paper), or a small cross-encoder that is much faster."
    )
    accept_above: float | None = Field(
        default=None,
        ge=-20,
        le=20,
        description="P(yes), or the cross-encoder's logit, from which a passage is accepted; null: the value measured "
        "for the judge.",
    )
    judged_at_once: int = Field(
        default=8, ge=1, le=64, description="The most passages judged at once; 1: one at a time, as in the paper."
    )

    @property
    def depth(self) -> int:
        """How many passages are ranked."""
        return max(self.knowledge, self.search_limit, self.slots + 1)


class SelectionState(Report):
    """What the loop reads and writes: the ranking, the verdicts so far, and the slot S."""

    question: str
    version: str
    candidates: list[Candidate]
    verdicts: list[Verdict]
    selected: list[Candidate]


S = TypeVar("S", bound=SelectionSettings)


async def begin_selection(state: SelectionState) -> dict[str, Any]:
    """Begin with an empty slot (Algorithm 1, lines 1 and 3)."""
    return {"verdicts": [], "selected": []}


async def judge(state: SelectionState, runtime: Runtime[S]) -> dict[str, Any]:
    """Judge the next passages at once and select what one at a time would select (Algorithm 1, lines 4–13).

    A passage whose verdict cannot be had counts as judged and not selected.

    Raises:
        ModelRefused: the model refuses every question: its key or its name is wrong.
    """
    context = settings(runtime, SelectionSettings)
    role = await role_of(context)
    store = await passages_of(context, state["version"])
    chat = await respondent_of(context, role)
    batch = next_batch(state, context, chat)
    new = await verdicts_on(batch, state["question"], store, role, chat, runtime)
    verdicts = without_wasted([*state["verdicts"], *new], context.slots)
    selected = [taken(v) for v in verdicts if v["verdict"] == "yes" and not v["wasted"]]
    return {
        "verdicts": verdicts,
        "selected": selected,
        "evidence": {"selection": selection_evidence(store, verdicts, selected)},
        "usage": {"judge": chat.account.usage()},
    }


def selection_outcome(state: SelectionState, runtime: Runtime[S]) -> Literal["enough", "more", "none"]:
    """Whether the slot is full or the search at its end, passages are left to judge, or none was selected."""
    context = settings(runtime, SelectionSettings)
    left = min(context.search_limit, len(state["candidates"])) - len(state["verdicts"])
    if len(state["selected"]) < context.slots and left > 0:
        return "more"
    return "enough" if state["selected"] else "none"


async def fall_back(state: SelectionState, runtime: Runtime[S]) -> dict[str, Any]:
    """Take the most similar passages, because none was selected (Algorithm 1, lines 14–16).

    Raises:
        ModelUnavailable: not one passage could be judged, because the model cannot be reached.
    """
    refuse_if_unreachable(state["verdicts"])
    context = settings(runtime, SelectionSettings)
    store = await passages_of(context, state["version"])
    selected = state["candidates"][: context.slots + (context.fallback == "top-K+1")]
    evidence = selection_evidence(store, state["verdicts"], selected) | {"fallback": context.fallback}
    return {"selected": selected, "evidence": {"selection": evidence}}


def next_batch(state: SelectionState, context: SelectionSettings, chat: ChatModel) -> list[Candidate]:
    """The passages to judge next: never more than N, nor more at once than the model answers at once."""
    judged, accepted = len(state["verdicts"]), len(state["selected"])
    largest = min(context.judged_at_once, chat.concurrency)
    size = batch_size(accepted, judged, slots=context.slots, largest=largest)
    return state["candidates"][: context.search_limit][judged : judged + size]


async def verdicts_on(
    batch: Sequence[Candidate],
    question: str,
    store: PassageStore,
    role: Role,
    chat: ChatModel,
    runtime: Runtime[S],
) -> list[Verdict]:
    """Have a batch judged by whom the context says, each verdict streamed as it comes."""
    context = settings(runtime, SelectionSettings)

    def announce(verdict: Verdict) -> None:
        known = {key: value for key, value in verdict.items() if key != "wasted"}  # known when the batch is done
        runtime.stream_writer({"event": "judged", **known})

    above = accepted_from(context, chat)
    if context.selection_judge == "cross-encoder":
        return await judged_by_cross_encoder(batch, question, store, above=above, announce=announce)
    return await judged_by_model(
        batch,
        question,
        store,
        chat,
        role=role.card.name,
        language=language_of(context, role),
        above=above,
        announce=announce,
    )


def accepted_from(context: SelectionSettings, chat: ChatModel) -> float:
    """The threshold of a run: the setting, or what was measured for the judge."""
    judge = "cross-encoder" if context.selection_judge == "cross-encoder" else chat.name
    return threshold(judge, "judge", context.accept_above)


def refuse_if_unreachable(verdicts: Sequence[Verdict]) -> None:
    """A model that nobody can reach is no reason to fall back."""
    if verdicts and all(v["error"] == ModelUnavailable.__name__ for v in verdicts):
        msg = f"The chat model cannot be reached, so none of {len(verdicts)} passages could be judged; try again later."
        raise ModelUnavailable(msg)


def without_wasted(verdicts: list[Verdict], slots: int) -> list[Verdict]:
    """Mark the judgements that one at a time would not have made."""
    counted = needed([v["verdict"] == "yes" for v in verdicts], slots)
    return [{**v, "wasted": position >= counted} for position, v in enumerate(verdicts)]


def taken(verdict: Verdict) -> Candidate:
    """The passage of a verdict, as it stands in the ranking."""
    return {"passage": verdict["passage"], "score": verdict["score"]}


def selection_evidence(
    store: PassageStore, verdicts: Sequence[Verdict], selected: Sequence[Candidate]
) -> dict[str, Any]:
    """What was judged and selected, and how often in vain."""
    return {
        "selected": as_evidence(store, selected),
        "verdicts": list(verdicts),
        "judged": len(verdicts),
        "wasted": sum(v["wasted"] for v in verdicts),
        "failed": sum(v["verdict"] == "failed" and not v["wasted"] for v in verdicts),
        "fallback": None,
    }
