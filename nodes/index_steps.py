"""What every index has in common: questions and vectors batch by batch, a draft that is overtaken, what it cost."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from langgraph.runtime import Runtime
from pydantic import JsonValue
from typing_extensions import TypedDict

from dramaturg.models.account import Usage
from dramaturg.models.embeddings import Embedder
from dramaturg.stores.errors import MissingIndex, StaleDraft
from dramaturg.stores.index.builder import IndexBuilder
from dramaturg.stores.index.records import R

PATIENCE = 50  # times that an index is made again because its sources were changed meanwhile


P = ParamSpec("P")


Node: TypeAlias = Callable[P, Coroutine[Any, Any, dict[str, Any]]]


class PublishingState(TypedDict):
    """What publishing leaves: the version that is read now; empty where it must be made again."""

    version: str


T = TypeVar("T")


AT_ONCE = 32  # answers that are written together


SECONDS = 2.0  # in which an answer is written at the latest


Answers = Mapping[str, JsonValue]


Announce = Callable[[int], None]


class LookedAt(Mapping[str, JsonValue]):
    """Answers that note which of them are looked at: those that a version rests on."""

    def __init__(self, answers: Mapping[str, JsonValue], seen: dict[str, JsonValue]) -> None:
        self._answers = answers
        self._seen = seen

    def __getitem__(self, key: str) -> JsonValue:
        """Look an answer up."""
        self._seen[key] = self._answers[key]
        return self._seen[key]

    def __iter__(self) -> Iterator[str]:
        """Go through the keys."""
        return iter(self._answers)

    def __len__(self) -> int:
        """Count them."""
        return len(self._answers)


def unless_overtaken(node: Node[P]) -> Node[P]:
    """Leave a node where its draft is gone: somebody else was faster with the same one, and publishing finds out."""

    @wraps(node)
    async def overtaken(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return await node(*args, **kwargs)
        except MissingIndex:
            return {}

    return overtaken


def made_again_if_stale(publish: Node[P]) -> Node[P]:
    """Have a draft made again whose sources were changed meanwhile, or that was taken away.

    After `PATIENCE` times the error is let through.
    """

    @wraps(publish)
    async def attempt(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return await publish(*args, **kwargs)
        except (StaleDraft, MissingIndex):
            overtaken = cast("Mapping[str, int]", args[0]).get("overtaken", 0) + 1
            if overtaken == PATIENCE:
                raise
            return {"version": "", "overtaken": overtaken}

    return attempt


def publishing_outcome(state: PublishingState) -> Literal["done", "stale"]:
    """Whether the draft is what is read now, or must be made again from what its sources became meanwhile."""
    return "done" if state["version"] else "stale"


def cost(usage: Mapping[str, Usage]) -> dict[str, int]:
    """What all nodes together have asked."""
    return {
        "calls": sum(used["calls"] for used in usage.values()),
        "tokens": sum(used["prompt_tokens"] + used["completion_tokens"] for used in usage.values()),
    }


def progress(runtime: Runtime[Any], what: str, total: int, each: int = 1) -> Announce:
    """Stream how much is done of a kind of work; a question answers `each` of it."""
    return lambda done: runtime.stream_writer(
        {"event": "asked", "what": what, "done": min(done * each, total), "total": total}
    )


async def answer_all(
    questions: Mapping[str, T],
    ask: Callable[[T], Awaitable[Answers]],
    *,
    keep: Callable[[Answers], Awaitable[None]],
    announce: Announce,
) -> None:
    """Ask all questions; how many are with the model at once is the chat model's affair.

    Args:
        questions: what is asked, each under a key of its own.
        ask: has the answers to a question, by the keys that they are kept under; none if there is no answer.
        keep: writes answers down.
        announce: is told how many questions are done.

    Raises:
        Exception: whatever `ask` raises; the answers that came before it are kept.
    """
    had: dict[str, JsonValue] = {}

    async def answered(question: T) -> None:
        found = await ask(question)
        had.update(found)  # had of now, which may be another than when it was asked

    tasks = [asyncio.create_task(answered(question)) for question in questions.values()]
    written = time.monotonic()
    try:
        for done, task in enumerate(asyncio.as_completed(tasks), start=1):
            await task
            announce(done)
            if len(had) >= AT_ONCE or time.monotonic() - written > SECONDS:
                now, had, written = had, {}, time.monotonic()
                await keep(now)
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await keep(had)


async def embed_records(
    builder: IndexBuilder[R], draft: str, model: Embedder, at_once: int, runtime: Runtime[Any]
) -> None:
    """Embed every record of a draft that has no vector yet.

    Raises:
        MissingIndex: the draft is gone.
        ModelError: the embedding model cannot be reached; what came before is kept.
    """
    left = await asyncio.to_thread(builder.unembedded, draft)
    announce = progress(runtime, "vectors", len(left), each=at_once)
    for number, start in enumerate(range(0, len(left), at_once), start=1):
        batch = left[start : start + at_once]
        vectors = np.array(await model.embeddings.aembed_documents(batch), np.float32)
        await asyncio.to_thread(builder.add_vectors, draft, batch, vectors)
        announce(number)
