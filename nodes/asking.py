"""Many questions, asked together: answers are kept as they come, and it is told how many are done."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from langgraph.runtime import Runtime
from pydantic import JsonValue

from dramaturg.models.chat import Usage

AT_ONCE = 32  # answers that are written together
IN_WORK = 128  # questions that are put into words; more than are ever with a model at once
SECONDS = 2.0  # in which an answer is written at the latest

T = TypeVar("T")
Answers = Mapping[str, JsonValue]
Announce = Callable[[int], None]


async def together(*asked: Coroutine[Any, Any, T]) -> list[T]:
    """Ask at once, and wait for all answers; where one fails, nobody asks for the others any more.

    Raises:
        Exception: the first that is raised; the others are cancelled by then.
    """
    tasks = [asyncio.create_task(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def answer_all(
    questions: Mapping[str, T],
    ask: Callable[[T], Awaitable[Answers]],
    *,
    keep: Callable[[Answers], Awaitable[None]],
    announce: Announce,
) -> None:
    """Ask all questions in their order; how many are with the model at once is the chat model's affair.

    No more than `IN_WORK` are begun at a time, so that what waits takes no memory.

    Args:
        questions: what is asked, each under a key of its own.
        ask: has the answers to a question, by the keys that they are kept under; none if there is no answer.
        keep: writes answers down.
        announce: is told how many questions are done, 0 where they begin.

    Raises:
        Exception: whatever `ask` raises; the answers that came before it are kept.
    """
    left, done, written, keeping = iter(questions.values()), 0, time.monotonic(), False
    had: dict[str, JsonValue] = {}

    async def work() -> None:
        nonlocal had, done, written, keeping
        for question in left:
            found = await ask(question)
            had.update(found)  # had of now, which may be another than when it was asked
            done += 1
            announce(done)
            if not keeping and (len(had) >= AT_ONCE or time.monotonic() - written > SECONDS):
                now, had, written, keeping = had, {}, time.monotonic(), True
                try:
                    await keep(now)
                except BaseException:
                    had = now | had
                    raise
                finally:
                    keeping = False

    tasks = [asyncio.create_task(work()) for _ in range(min(IN_WORK, len(questions)))]
    if tasks:
        announce(0)
    try:
        await asyncio.gather(*tasks)
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if had:
            await keep(had)


def progress(runtime: Runtime[Any], what: str, left: int, each: int = 1, before: int = 0) -> Announce:
    """Stream how much is done of a kind of work.

    Args:
        runtime: of the node.
        what: the kind of work.
        left: how much there is to do.
        each: how much of it one question does.
        before: how much was done by an earlier run.
    """

    def announce(done: int) -> None:
        now = before + min(done * each, left)
        runtime.stream_writer({"event": "asked", "what": what, "done": now, "total": before + left})

    return announce


def after(before: int, announce: Announce) -> Announce:
    """Announce what is done now together with what was done by an earlier run."""
    return lambda done: announce(before + done)


def asked_in_all(usage: Iterable[Usage]) -> dict[str, Any]:
    """What all nodes, or one, have asked together: `calls`, and the `tokens` of questions and answers."""
    used = list(usage)
    tokens = sum(one["prompt_tokens"] + one["completion_tokens"] for one in used)
    return {"calls": sum(one["calls"] for one in used), "tokens": tokens}
