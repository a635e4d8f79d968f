"""Knowledge from the web, by a search tool that the caller brings (CRAG, Yan et al. 2024, 4.5)."""

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import write
from dramaturg.models.reading import encodable
from dramaturg.nodes.context import language_of, respondent_of, role_of, settings
from dramaturg.nodes.knowledge_strips import Strip, StripSettings, refined, strip_texts
from dramaturg.nodes.summary import clipped
from dramaturg.nodes.turn import Report
from dramaturg.prompts import load

QUERY_TOKENS = 60
LONGEST_QUERY = 300  # bytes
TEXTS = ("content", "snippet", "text")
ADDRESSES = ("url", "link")

Search = Callable[[str], Any]
"""From a query to what `pages_in` reads; a coroutine function too."""
WebSearch = Literal["off"] | SkipJsonSchema[InstanceOf[BaseTool]] | SkipJsonSchema[Search]


class WebSearchSettings(StripSettings):
    """Who searches the web, and how much of what is found is read."""

    web_search: WebSearch = Field(
        default="off",
        description="off: nothing is searched for, and evidence says so; else a live LangChain tool or a function of "
        "the query, which only the caller in Python can give.",
    )
    web_pages: int = Field(default=5, ge=1, le=50, description="The most pages that are read (paper: 5).")
    page_strips: int = Field(
        default=8, ge=1, le=200, description="The most strips judged of each page, from its beginning."
    )

    @property
    def web(self) -> bool:
        """Whether there is a search tool."""
        return self.web_search != "off"


class WebPage(NamedTuple):
    """What a search found."""

    title: str
    address: str
    text: str


class QueryState(Report):
    """What the query is made from."""

    question: str
    query: str


class WebSearchState(QueryState):
    """What the search reads and adds to."""

    strips: list[Strip]


W = TypeVar("W", bound=WebSearchSettings)


async def rewrite_query(state: QueryState, runtime: Runtime[W]) -> dict[str, Any]:
    """Have the model say the question in keywords (W in Algorithm 1); where it cannot, the question is searched for."""
    context = settings(runtime, WebSearchSettings)
    role = await role_of(context)
    chat = await respondent_of(context, role)
    messages = load("search_query", language_of(context, role)).messages(
        role=role.card.name, data={"question": state["question"]}
    )
    try:
        written = await write(chat, messages, temperature=0, max_tokens=QUERY_TOKENS, quiet=True)
        query, evidence = " ".join(written.split()), {}
    except UNANSWERED as error:
        query, evidence = f"{role.card.name} {state['question']}", {"query_error": str(error)}
    query = clipped(query, LONGEST_QUERY)
    usage = {"rewrite_query": chat.account.usage()}
    return {"query": query, "evidence": {"query": query, **evidence}, "usage": usage}


async def search_web(state: WebSearchState, runtime: Runtime[W]) -> dict[str, Any]:
    """Search, and keep the relevant strips of the pages beside those of the passages.

    A search that fails leaves the turn without pages; `web_search` of the evidence is "found", "nothing found" or
    "failed", the last with the kind of error.

    Raises:
        ModelError: the model cannot be reached or refuses every question.
    """
    context = settings(runtime, WebSearchSettings)
    role = await role_of(context)
    chat = await respondent_of(context, role)
    pages, evidence = await found(context, state["query"])
    strips = [one for page in pages for one in strips_of(page, context)]
    kept, counts = await refined(strips, state["question"], chat, context, role)
    evidence["web"] = {"pages": [page.address or page.title for page in pages], **counts}
    runtime.stream_writer({"event": "searched", "query": state["query"], **evidence})
    usage = {"search_web": chat.account.usage()}
    return {"strips": [*state["strips"], *kept], "evidence": evidence, "usage": usage}


async def found(context: WebSearchSettings, query: str) -> tuple[list[WebPage], dict[str, Any]]:
    """The pages of a search, and how it went."""
    try:
        async with asyncio.timeout(context.deadline):
            pages = pages_in(await answer_of(context.web_search, query))[: context.web_pages]
    except Exception as error:  # noqa: BLE001 (somebody else's tool may raise anything; its text may hold a key)
        return [], {"web_search": "failed", "web_error": type(error).__name__}
    return pages, {"web_search": "found" if pages else "nothing found"}


async def answer_of(tool: Any, query: str) -> Any:
    """What a tool or a function answers."""
    if isinstance(tool, BaseTool):
        return await tool.ainvoke(query)
    answer = await asyncio.to_thread(tool, query)
    return await answer if inspect.isawaitable(answer) else answer


def pages_in(answer: object) -> list[WebPage]:
    """Read what search tools give: a text, a mapping of a page or with `results`, or a list of such.

    Args:
        answer: of a mapping the text is `content`, `snippet` or `text`, the address `url` or `link`.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(answer, str):
        return [WebPage("", "", encodable(answer).strip())] if answer.strip() else []
    if isinstance(answer, Mapping):
        return pages_in(answer["results"]) if "results" in answer else page_in(answer)
    if isinstance(answer, Sequence):
        return [page for one in answer for page in pages_in(one)]
    msg = f"A web search gives texts or mappings with a text, and not {type(answer).__name__}."
    raise TypeError(msg)


def page_in(answer: Mapping[str, Any]) -> list[WebPage]:
    """The page of a mapping, unless there is no text in it."""
    text = next((str(answer[key]) for key in TEXTS if answer.get(key)), "")
    address = next((str(answer[key]) for key in ADDRESSES if answer.get(key)), "")
    page = WebPage(*(encodable(part).strip() for part in (str(answer.get("title") or ""), address, text)))
    return [page] if page.text else []


def strips_of(page: WebPage, context: WebSearchSettings) -> list[Strip]:
    """The first strips of a page."""
    return [
        Strip(passage="", source=page.address, headings=[page.title] * bool(page.title), text=text, confidence=None)
        for text in strip_texts(page.text, context.strip_sentences)[: context.page_strips]
    ]
