"""The time of a turn, and of each question that is asked in it."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from dramaturg.models.errors import ModelError, ModelTimeout, ModelUnavailable

REPLY_SHARE = 1 / 3
"""Of a turn, kept for the reply until there is one."""
EMBEDDING_SHARE = 1 / 6
"""The same from embeddings, for which nothing can stand in: slow questions before them leave them time."""
UNHEARD = 8
"""Questions in a row without an answer in time, after which indexing ends: each alone would have its deadline."""

question_ends: ContextVar[float | None] = ContextVar("question_ends", default=None)
"""When the question that is being asked is given up, by the monotonic clock: nobody waits for a server beyond that."""


_question: ContextVar[asyncio.Timeout | None] = ContextVar("_question", default=None)
"""What ends the question that is being asked in a turn; None: no turn would end it later."""


def is_heard() -> None:
    """Let the reply that is being asked for have all that is left of its turn: somebody hears it as it is written.

    Its deadline is over by then for what it is there for, a model that says nothing. A reply that comes slowly, as on a
    machine with other work, would be cut off in the middle, and could not be asked for again: it was heard.
    """
    question = _question.get()
    if question and not question.expired():
        question.reschedule(None)  # what bounds the turn stands around it


class TurnClock:
    """The time of one turn, shared by all that ask in it, and how models have failed in it.

    A live object of a run: a turn that is gone on with begins another.

    Args:
        seconds: of the turn; infinite: of indexing, which ends when a model is silent.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.replied = False
        self.failures: dict[int, tuple[ModelError, float]] = {}
        """By a model: how it failed, and until when it will."""
        self.unheard = 0
        self._end = time.monotonic() + seconds
        self._stopped_by, self._stopped_at = 0, 0.0

    def rest(self, kept: float = REPLY_SHARE) -> float:
        """Seconds that are left for a question, where a share of the turn is kept for the reply."""
        if math.isinf(self.seconds):
            return math.inf
        now = self._stopped_at if self._stopped_by else time.monotonic()
        return self._end - now - (0 if self.replied else kept * self.seconds)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let time stand still, for indexing."""
        if not self._stopped_by:
            self._stopped_at = time.monotonic()
        self._stopped_by += 1
        try:
            yield
        finally:
            self._stopped_by -= 1
            if not self._stopped_by:
                self._end += time.monotonic() - self._stopped_at

    def too_late(self, asked: object, name: str, deadline: float, rest: float) -> ModelError:
        """What became of a question that was not answered in time."""
        self.unheard += 1
        if rest < deadline:
            msg = f"The turn's {self.seconds:g} s leave no time for an answer of the model {name!r}"
            longer = f"turn_deadline (with `dramaturg`: --set turn_deadline={max(2 * self.seconds, 1):g})"
            return ModelTimeout(f"{msg}: set a longer {longer}, or choose a faster model.")
        if math.isinf(self.seconds) and self.unheard >= UNHEARD:
            msg = f"The model {name!r} left {UNHEARD} questions in a row without an answer for {deadline:g} s each"
            error = ModelUnavailable(f"{msg}: see that its server runs, or set a longer deadline, and go on.")
            self.failures[id(asked)] = error, math.inf
            return error
        return ModelTimeout(
            f"The model {name!r} did not answer in the {deadline:g} s of the setting deadline: "
            f"set a longer one (with `dramaturg`: --set deadline={2 * deadline:g})."
        )


@asynccontextmanager
async def within(
    clock: TurnClock | None, deadline: float, asked: object, name: str, kept: float = REPLY_SHARE
) -> AsyncIterator[None]:
    """Ask a model within a deadline, while its turn has time and the model has not failed for good in it.

    Args:
        clock: of the turn; None: nothing but the deadline bounds the question.
        deadline: seconds.
        asked: the model, by which its failures are known.
        name: of the model.
        kept: the share of the turn that is left for the reply; of the reply itself 0.

    Raises:
        ModelError: as it failed before in this turn, and would again.
        ModelTimeout: the time is over.
    """
    clock = clock or TurnClock(math.inf)
    rest, now = clock.rest(kept), time.monotonic()
    bound = min(deadline, rest)
    failed, until = clock.failures.get(id(asked), (None, 0.0))
    if failed and until > now + bound:
        raise type(failed)(str(failed))
    ends = question_ends.set(now + bound)
    try:
        if bound <= 0:
            raise TimeoutError
        async with asyncio.timeout(None if math.isinf(bound) else bound) as timeout:
            if until > now:
                await asyncio.sleep(until - now)
            question = _question.set(None if math.isinf(rest) else timeout)
            try:
                yield
            finally:
                _question.reset(question)
        clock.unheard = 0
        return
    except TimeoutError:
        pass
    except ModelError as error:
        if error.lasts:
            clock.failures[id(asked)] = error, time.monotonic() + error.lasts
        raise
    finally:
        question_ends.reset(ends)
    raise clock.too_late(asked, name, deadline, rest)
