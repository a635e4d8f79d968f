"""Guided selection: passages from which a role's attributes regarding the question can be inferred (AMADEUS 3.2)."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from math import ceil
from typing import Annotated, Any, Literal, NotRequired

from langgraph.runtime import Runtime
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.chat import threshold
from dramaturg.models.errors import UNANSWERED, ModelUnavailable, RequestRejected
from dramaturg.models.local.cross_encoder import cross_encoder
from dramaturg.models.questions import decide
from dramaturg.nodes.asking import together
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.passages.retrieval import (
    Candidate,
    Candidates,
    PassagesVersion,
    RetrievalSettings,
    Selected,
    asked,
    in_context,
    passage_evidence,
    passages_of,
)
from dramaturg.nodes.run import Run, needs, open_run, settings
from dramaturg.nodes.turn import Question, StandaloneState
from dramaturg.stores.index.passages import PassageStore


class SelectionSettings(RetrievalSettings):
    """Algorithm 1's N and K, who judges, and how many passages are judged at once."""

    search_limit: Open[int] = Field(
        default=30, ge=1, le=500, description="The largest number of passages that are judged (N)."
    )
    slots: Open[int] = Field(default=2, ge=1, le=20, description="How many passages are selected (K).")
    fallback: Open[Literal["top-K+1", "top-K"]] = Field(
        default="top-K+1",
        description="When none is selected: the K + 1 most similar (Algorithm 1) or the K most similar (the text).",
    )
    selection_judge: Open[Literal["model", "cross-encoder"]] = Field(
        default="model", description="The chat model (the paper), or a small cross-encoder that is much faster."
    )
    accept_above: Open[float | None] = Field(
        default=None,
        ge=-20,
        le=20,
        description="P(yes), or the cross-encoder's logit, from which a passage is accepted; null: the value measured "
        "for the judge.",
    )
    judged_at_once: Open[int] = Field(
        default=8,
        ge=1,
        le=64,
        description="The largest number of passages judged at once; 1: one at a time, as in the paper.",
    )

    @property
    def depth(self) -> int:
        """How many passages are ranked."""
        return max(self.knowledge, self.search_limit, self.slots + 1)


class PassageVerdict(TypedDict):
    """One judgement; `certainty` is P(yes) or a logit where the judge gives one.

    `wasted`: one at a time, the loop would have ended before this passage, so the verdict does not count.
    """

    passage: str
    score: float
    verdict: Literal["yes", "no", "failed"]
    certainty: float | None
    error: str
    problem: NotRequired[str]
    """What the error says."""
    wasted: bool


class SelectionState(StandaloneState):
    """What the loop reads and writes."""

    question: Question
    passages_version: NotRequired[PassagesVersion]
    candidates: Candidates
    verdicts: Annotated[list[PassageVerdict], Field(description="What was said of the passages that were judged.")]
    selected: Selected
    search_limit: Annotated[int, Field(description="How many passages are judged at most, N.")]
    slots: Annotated[int, Field(description="How many passages are wanted, K.")]


Announce = Callable[[PassageVerdict], None]
Judge = Callable[
    [Run[SelectionSettings], Sequence[Candidate], str, PassageStore, Announce], Awaitable[list[PassageVerdict]]
]


async def begin_selection(state: SelectionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Begin with an empty slot (Algorithm 1, lines 1 and 3)."""
    own = settings(runtime, SelectionSettings)
    return {"verdicts": [], "selected": [], "search_limit": own.search_limit, "slots": own.slots}


@needs(question="read_turn", candidates="retrieve", verdicts="begin_selection", selected="begin_selection")
async def judge(state: SelectionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Judge the next passages at once and select what one at a time would select (Algorithm 1, lines 4–13).

    A passage whose verdict cannot be had counts as judged and not selected.

    Raises:
        ModelRefused: the model refuses every question: its key or its name is wrong.
        ModelUnavailable: not one passage could be judged, because the model cannot be reached.
    """
    run = await open_run(runtime, SelectionSettings)
    by_encoder = run.settings.selection_judge == "cross-encoder"
    return await select(run, state, runtime, judged_by_cross_encoder if by_encoder else judged_by_model)


def judge_by(accepts: Callable[[str, str], bool]) -> Callable[..., Awaitable[dict[str, Any]]]:
    """Make a node that stands in the place of `judge`, and asks no model.

    Args:
        accepts: whether a passage under its headings is selected, by the question and its text.
    """

    async def judged(
        run: Run[SelectionSettings], batch: Sequence[Candidate], question: str, store: PassageStore, announce: Announce
    ) -> list[PassageVerdict]:
        verdicts = [
            passage_verdict(one, "yes" if accepts(question, in_context(store.get(one["passage"]))) else "no")
            for one in batch
        ]
        for verdict in verdicts:
            announce(verdict)
        return verdicts

    @needs(question="read_turn", candidates="retrieve", verdicts="begin_selection")
    async def judge(state: SelectionState, runtime: Runtime[Any]) -> dict[str, Any]:
        return await select(await open_run(runtime, SelectionSettings), state, runtime, judged)

    return judge


async def select(
    run: Run[SelectionSettings], state: SelectionState, runtime: Runtime[Any], judged: Judge
) -> dict[str, Any]:
    """Have the next passages judged, and select what one at a time would select.

    As long as the model could be reached for none of them, the next ones follow here: no state is written of which a
    turn that goes on later would believe that there is nothing left to judge.
    """
    store = await passages_of(run, state.get("passages_version"))
    verdicts, slots = list(state["verdicts"]), run.settings.slots
    largest = min(run.settings.judged_at_once, run.chat.at_once)
    ranked = state["candidates"][: run.settings.search_limit]

    def announce(verdict: PassageVerdict) -> None:
        known = {key: value for key, value in verdict.items() if key != "wasted"}  # known when the batch is done
        runtime.stream_writer({"event": "judged", **known})

    nobody_there = True
    while nobody_there and len(verdicts) < len(ranked):
        size = batch_size(len(state["selected"]), len(verdicts), slots=slots, largest=largest)
        batch = ranked[len(verdicts) : len(verdicts) + size]
        verdicts += await judged(run, batch, asked(state), store, announce)
        nobody_there = all(one["error"] == ModelUnavailable.__name__ for one in verdicts)
    if nobody_there and verdicts:
        reason = verdicts[-1].get("problem") or "The chat model cannot be reached: ask again later."
        raise ModelUnavailable(f"{reason} None of {len(verdicts)} passages could be judged.")
    counted = needed([one["verdict"] == "yes" for one in verdicts], slots)
    verdicts = [{**one, "wasted": at >= counted} for at, one in enumerate(verdicts)]
    accepted = [one for one in verdicts[:counted] if one["verdict"] == "yes"]
    selected = [Candidate(passage=one["passage"], score=one["score"]) for one in accepted]
    return {
        "verdicts": verdicts,
        "selected": selected,
        "search_limit": run.settings.search_limit,
        "slots": slots,
        "evidence": {"selection": selection_evidence(store, verdicts, selected)},
        "usage": {"judge": run.usage},
    }


def batch_size(accepted: int, judged: int, *, slots: int, largest: int) -> int:
    """How many passages to judge next, so that the open slots are likely to be filled and little is wasted.

    The share that is accepted is estimated as (accepted + 1) / (judged + 2), Laplace's rule of succession: the batch
    grows while passages are refused and shrinks as the slots fill.
    """
    share = (accepted + 1) / (judged + 2)
    return max(1, min(largest, ceil((slots - accepted) / share)))


async def judged_by_model(
    run: Run[SelectionSettings], batch: Sequence[Candidate], question: str, store: PassageStore, announce: Announce
) -> list[PassageVerdict]:
    """Ask the chat model of each passage whether attributes regarding u can be inferred from it (line 8)."""
    prompt = run.prompt("judge")
    above = threshold(run.chat.name, "judge", run.settings.accept_above)

    async def judged(candidate: Candidate) -> PassageVerdict:
        data = {"question": question, "passage": in_context(store.get(candidate["passage"]))}
        try:
            decision = await decide(run.chat, prompt.messages(role=run.role.card.name, data=data), threshold=above)
            verdict = passage_verdict(candidate, "yes" if decision.answer else "no", decision.probability)
        except (*UNANSWERED, ModelUnavailable, RequestRejected) as error:
            verdict = passage_verdict(candidate, "failed", error=type(error).__name__)
            verdict["problem"] = str(error)
        announce(verdict)
        return verdict

    return await together(*map(judged, batch))


async def judged_by_cross_encoder(
    run: Run[SelectionSettings], batch: Sequence[Candidate], question: str, store: PassageStore, announce: Announce
) -> list[PassageVerdict]:
    """Score question and passage together; the logit is comparable within one question more than between two."""
    above = threshold("cross-encoder", "judge", run.settings.accept_above)
    texts = [in_context(store.get(candidate["passage"])) for candidate in batch]
    model = await asyncio.to_thread(cross_encoder)
    logits = await asyncio.to_thread(model.scores, question, texts)
    pairs = zip(batch, logits, strict=True)
    verdicts = [passage_verdict(candidate, "yes" if logit >= above else "no", logit) for candidate, logit in pairs]
    for verdict in verdicts:
        announce(verdict)
    return verdicts


def passage_verdict(
    candidate: Candidate, verdict: Literal["yes", "no", "failed"], certainty: float | None = None, error: str = ""
) -> PassageVerdict:
    """A judgement that counts, until the batch is done."""
    return {
        "passage": candidate["passage"],
        "score": candidate["score"],
        "verdict": verdict,
        "certainty": certainty,
        "error": error,
        "wasted": False,
    }


def needed(accepted: Sequence[bool], slots: int) -> int:
    """How many of these judgements Algorithm 1 makes: up to and with the one that fills the last of K `slots`."""
    filled = 0
    for position, verdict in enumerate(accepted, start=1):
        filled += verdict
        if filled == slots:
            return position
    return len(accepted)


def selection_evidence(
    store: PassageStore,
    verdicts: Sequence[PassageVerdict],
    selected: Sequence[Candidate],
    fallback: str | None = None,
) -> dict[str, Any]:
    """What was judged and selected, and how often in vain."""
    return {
        "selected": passage_evidence(store, selected),
        "verdicts": list(verdicts),
        "judged": len(verdicts),
        "wasted": sum(one["wasted"] for one in verdicts),
        "failed": sum(one["verdict"] == "failed" and not one["wasted"] for one in verdicts),
        "fallback": fallback,
    }


@needs(candidates="retrieve", verdicts="judge", selected="judge", search_limit="judge", slots="judge")
def selection_outcome(state: SelectionState) -> Literal["enough", "more", "none"]:
    """Whether the slot is full or the search at its end, passages are left to judge, or none was selected."""
    left = min(state["search_limit"], len(state["candidates"])) - len(state["verdicts"])
    if len(state["selected"]) < state["slots"] and left > 0:
        return "more"
    return "enough" if state["selected"] else "none"


@needs(candidates="retrieve", verdicts="begin_selection")
async def fall_back(state: SelectionState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take the most similar passages, because none was selected (Algorithm 1, lines 14–16).

    Where there were passages without a verdict, the evidence says so: that none was selected says less then.
    """
    verdicts = state["verdicts"]
    failed = Counter(one["error"] for one in verdicts if one["verdict"] == "failed")
    run = await open_run(runtime, SelectionSettings)
    selected = state["candidates"][: run.settings.slots + (run.settings.fallback == "top-K+1")]
    store = await passages_of(run, state.get("passages_version"))
    evidence: dict[str, Any] = {"selection": selection_evidence(store, verdicts, selected, run.settings.fallback)}
    if failed:
        kinds = ", ".join(f"{kind}: {number}" for kind, number in failed.items())
        evidence["selection_error"] = f"{failed.total()} of {len(verdicts)} passages have no verdict ({kinds})."
    return {"selected": selected, "evidence": evidence}
