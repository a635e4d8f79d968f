"""Many questions at once, each answer kept as it comes: a run that is killed asks only what is left."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import JsonValue

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
