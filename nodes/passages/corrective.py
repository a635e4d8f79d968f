"""Corrective retrieval (CRAG, Yan et al. 2024, Algorithm 1): passages are judged, refined, or searched beyond."""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from dramaturg.models.clock import TurnClock
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import write
from dramaturg.models.reading import encodable
from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.passages.relevance import RelevanceSettings, Strip, refined, relevances, strips_of
from dramaturg.nodes.passages.retrieval import (
    Candidates,
    GroundedReplySettings,
    PassageEvidence,
    PassagesVersion,
    RetrievalSettings,
    passage_evidence,
    passages_of,
    under_headings,
)
from dramaturg.nodes.reply import AskedState, Grounds, grounds_of, spoken
from dramaturg.nodes.run import needs, open_run
from dramaturg.nodes.turn import EvidenceState, Question, clipped

QUERY_TOKENS = 60
LONGEST_QUERY = 300  # bytes
TEXTS = ("content", "snippet", "text")
ADDRESSES = ("url", "link")

Action = Literal["correct", "ambiguous", "incorrect"]
Search = Callable[[str], Any]
"""From a query to what `pages_in` reads; a coroutine function too."""
WebSearch = Literal["off"] | SkipJsonSchema[InstanceOf[BaseTool]] | SkipJsonSchema[Search]


class WebSearchSettings(RelevanceSettings):
    """Who searches the web, and how much of what is found is read."""

    web_search: Closed[WebSearch] = Field(
        default="off",
        description="off: nothing is searched for, and evidence says so; else a live LangChain tool or a function of "
        "the query, which only the caller in Python can give.",
    )
    web_pages: Open[int] = Field(
        default=5, ge=1, le=50, description="The largest number of pages that are read (paper: 5)."
    )
    page_strips: Open[int] = Field(
        default=8, ge=1, le=200, description="The largest number of strips judged per page, from its beginning."
    )

    @property
    def web(self) -> bool:
        """Whether there is a search tool."""
        return self.web_search != "off"


class CorrectiveSettings(RetrievalSettings, WebSearchSettings):
    """Which passages are judged, and what may correct them."""


class CorrectiveReplySettings(GroundedReplySettings, CorrectiveSettings):
    """A reply from corrected knowledge."""


class JudgedPassage(PassageEvidence):
    """A retrieved passage and what the evaluator says of it."""

    confidence: float | None
    verdict: Literal["correct", "ambiguous", "incorrect", "failed"]
    error: str


Strips = Annotated[list[Strip], Field(description="The sentences of passages and pages that the reply rests on.")]


class CorrectiveState(EvidenceState):
    """What correction reads and writes."""

    question: Question
    passages_version: NotRequired[PassagesVersion]
    candidates: Candidates
    action: Annotated[Action, Field(description="What is done about the passages, by how they were judged.")]
    searchable: Annotated[bool, Field(description="Whether there is a web to search.")]
    strips: Strips


class WebSearchState(EvidenceState):
    """What the search reads, and the strips that it adds to."""

    question: Question
    query: Annotated[str, Field(description="What the web is searched for.")]
    strips: Strips


class CorrectedState(AskedState, EvidenceState):
    """What a reply from corrected knowledge reads."""

    strips: Strips


class WebPage(NamedTuple):
    """What a search found."""

    title: str
    address: str
    text: str


@needs(question="read_turn", candidates="retrieve")
async def evaluate_passages(state: CorrectiveState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have each retrieved passage judged, and decide on the action (Algorithm 1, lines 1–2; 4.2, 4.3).

    Raises:
        ModelError: the model cannot be reached or refuses every question.
        ValueError: the thresholds contradict each other.
    """
    run = await open_run(runtime, CorrectiveSettings)
    limits = run.settings.limits(run.chat)
    store = await passages_of(run, state.get("passages_version"))
    passages = passage_evidence(store, state["candidates"][: run.settings.knowledge])
    found = await relevances(run, passages, state["question"])
    retrieved: list[JudgedPassage] = [
        {**passage, "confidence": confidence, "verdict": limits.verdict(confidence), "error": error}
        for passage, (confidence, error) in zip(passages, found, strict=True)
    ]
    action = action_on(one["verdict"] for one in retrieved)
    runtime.stream_writer({"event": "evaluated", "action": action, "retrieved": retrieved})
    evidence = {
        "retrieved": retrieved,
        "action": action,
        "thresholds": limits._asdict(),
        "web_search": "not needed" if run.settings.web else "off",
    }
    written: dict[str, Any] = {"action": action, "searchable": run.settings.web, "strips": []}
    return {**written, "evidence": evidence, "usage": {"evaluate_passages": run.usage}}


def action_on(verdicts: Iterable[str]) -> Action:
    """Correct if one passage is, incorrect if all are, else ambiguous: one that could not be judged may be either."""
    found = set(verdicts)
    if "correct" in found:
        return "correct"
    return "incorrect" if found <= {"incorrect"} else "ambiguous"


@needs(action="evaluate_passages")
def evaluation_outcome(state: CorrectiveState) -> Literal["some", "elsewhere", "none"]:
    """Whether the passages are of use, knowledge is to be had elsewhere, or neither: there is no web search."""
    if state["action"] != "incorrect":
        return "some"
    return "elsewhere" if state.get("searchable") else "none"


@needs(question="read_turn", candidates="retrieve")
async def refine_knowledge(state: CorrectiveState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take the passages apart, the most similar first, and keep the relevant strips (4.4).

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    run = await open_run(runtime, CorrectiveSettings)
    store = await passages_of(run, state.get("passages_version"))
    passages = [store.get(candidate["passage"]) for candidate in state["candidates"][: run.settings.knowledge]]
    most = run.settings.strip_sentences
    strips = [
        strip
        for one in passages
        for strip in strips_of(one.text, most, source=one.source, headings=one.headings, passage=one.id)
    ]
    kept, counts = await refined(run, strips, state["question"])
    runtime.stream_writer({"event": "refined", **counts})
    return {"strips": kept, "evidence": {"refinement": counts}, "usage": {"refine_knowledge": run.usage}}


@needs(action="evaluate_passages")
def refinement_outcome(state: CorrectiveState) -> Literal["enough", "elsewhere"]:
    """Whether the passages suffice, or are to be complemented and can be."""
    more = state["action"] == "ambiguous" and state.get("searchable")
    return "elsewhere" if more else "enough"


@needs(question="read_turn")
async def rewrite_query(state: WebSearchState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have the model say the question in keywords (W in Algorithm 1); where it cannot, the question is searched for."""
    run = await open_run(runtime, WebSearchSettings)
    name, question = run.role.card.name, state["question"]
    messages = run.prompt("search_query").messages(role=name, data={"question": question})
    failed = {}
    try:
        query = " ".join((await write(run.chat, messages, temperature=0, max_tokens=QUERY_TOKENS, quiet=True)).split())
    except UNANSWERED as error:
        query, failed = f"{name} {question}", {"query_error": str(error)}
    query = clipped(query, LONGEST_QUERY)
    return {"query": query, "evidence": {"query": query, **failed}, "usage": {"rewrite_query": run.usage}}


@needs(question="read_turn", query="rewrite_query", strips="evaluate_passages")
async def search_web(state: WebSearchState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Search, and keep the relevant strips of the pages beside those of the passages.

    A search that fails leaves the turn without pages; `web_search` of the evidence is "found", "nothing found" or
    "failed", the last with the kind of error.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    run = await open_run(runtime, WebSearchSettings)
    pages, evidence = await search_pages(run.settings, state["query"], run.chat.clock)
    if evidence["web_search"] == "failed":
        run.chat.account.record_unanswered()  # a turn that fails now is not finished without the pages
    strips: list[Strip] = []
    for page in pages:
        headings = [page.title] if page.title else []
        found = strips_of(page.text, run.settings.strip_sentences, source=page.address, headings=headings)
        strips += found[: run.settings.page_strips]
    kept, counts = await refined(run, strips, state["question"])
    evidence["web"] = {"pages": [page.address or page.title for page in pages], **counts}
    runtime.stream_writer({"event": "searched", "query": state["query"], **evidence})
    return {"strips": [*state["strips"], *kept], "evidence": evidence, "usage": {"search_web": run.usage}}


async def search_pages(
    context: WebSearchSettings, query: str, clock: TurnClock | None = None
) -> tuple[list[WebPage], dict[str, Any]]:
    """The pages that the caller's tool or function finds, and how it went."""
    tool: Any = context.web_search
    try:
        async with asyncio.timeout(min(context.deadline, clock.rest()) if clock else context.deadline):
            if isinstance(tool, BaseTool):
                answer = await tool.ainvoke(query)
            else:
                answer = await asyncio.to_thread(tool, query)
                answer = await answer if inspect.isawaitable(answer) else answer
        pages = pages_in(answer)[: context.web_pages]
    except Exception as error:  # noqa: BLE001 (somebody else's tool may raise anything; its text may hold a key)
        return [], {"web_search": "failed", "web_error": type(error).__name__}
    return pages, {"web_search": "found" if pages else "nothing found"}


def pages_in(answer: object) -> list[WebPage]:
    """Read what search tools give: a text, a mapping of a page or with `results`, or a list of such.

    Args:
        answer: of a mapping the text is `content`, `snippet` or `text`, the address `url` or `link`.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(answer, str):
        answer = {"text": answer}
    if isinstance(answer, Mapping):
        if "results" in answer:
            return pages_in(answer["results"])
        parts = (next((answer[key] for key in keys if answer.get(key)), "") for keys in (("title",), ADDRESSES, TEXTS))
        page = WebPage(*(encodable(str(part)).strip() for part in parts))
        return [page] if page.text else []
    if isinstance(answer, Sequence):
        return [page for one in answer for page in pages_in(one)]
    msg = f"A web search gives texts or mappings with a text, and not {type(answer).__name__}."
    raise TypeError(msg)


@needs(question="read_turn", strips="evaluate_passages")
async def respond_from_strips(state: CorrectedState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Answer from what correction left, with the prompt of naive RAG; from the profile alone if nothing is left.

    Raises:
        ModelError: the model gave no reply.
    """
    run = await open_run(runtime, CorrectiveReplySettings)
    reply, slips = await spoken(run, state, "respond_from_knowledge", strip_grounds(state), data={"knowledge": ""})
    evidence = {**slips, "knowledge": state["strips"]}  # in the place of the passages that were retrieved
    return {"messages": [reply], "evidence": evidence, "usage": {"respond_from_strips": run.usage}}


def strip_grounds(state: CorrectedState) -> Grounds:
    """What a reply can rest on after correction: "knowledge", the strips that were kept."""
    texts = [under_headings(one["headings"], one["text"]) for one in state["strips"]]
    return grounds_of(state, {"knowledge": texts}, shown=("retrieved", "action", "refinement", "web"))
