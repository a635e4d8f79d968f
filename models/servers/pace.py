"""How many questions a server has at once, found out by its answers, and whose turn it is to ask.

One pace for each address and key of a process, whatever the number of graphs, event loops and threads that ask there.
It begins with a few at once and lets in one more with each answer. A server that says that there are too many is asked
half as many, then as many as it took, and after some hundred answers whether it takes one more. Where short answers
take several times as long as the fastest ones did, more at once do nothing but wait inside the server.

Who waits is let in by how urgent it is, and then in turns: the talk that has the fewest questions with the model, or
was let in the longest ago, is next. What nobody waits for has all places while nobody else asks, and beside others a
few: the server, and the process that reads its answers, are to have room for who comes next.
"""

import asyncio
import itertools
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from statistics import median
from typing import Literal

Urgency = Literal[0, 1, 2]
"""A reply that somebody waits for, what it rests on, and what nobody waits for: indexing, evaluations."""

BEGIN = 8  # questions at once
LEAST_WHEN_SLOW = 4  # questions at once, however slow their answers are: how long a prompt is tells too
SLOW = 4.0  # times the fastest short answer, by which their median shows that questions wait inside the server
WINDOW = 16  # short answers, of which the median is taken
ASIDE, SHARE = 8, 2  # questions that nobody waits for, beside others: at most so many, and of so many places one
AROUND = 5.0  # seconds for which somebody who has asked is still there: a reader takes longer, a program does not
EACH = 1  # answers after which one more is let in, as long as there never were too many
HOLD, LONGEST_HOLD = 100, 6_400  # answers after which one more is tried; twice as many after each that was too many

unhurried: ContextVar[bool] = ContextVar("unhurried", default=False)
"""Whether nobody waits for what is asked here."""
held: ContextVar["Place | None"] = ContextVar("held", default=None)
"""The place of the question that is being asked."""


class Line:
    """Where the questions of one reply stand in the queues of servers, for whoever waits for it."""

    def __init__(self) -> None:
        self.places = set["Place"]()

    def number(self) -> int:
        """Which of the talks that wait is this: 1 is next; 0: a question of it is with a model, or none is asked."""
        return min((one.pace.number(one) for one in list(self.places)), default=0)


stands_in: ContextVar[Line | None] = ContextVar("stands_in", default=None)
"""Where it is told of the questions that are asked here."""


class Place:
    """A place at a server, of who waits for it and then holds it.

    Args:
        pace: of the server.
        urgency: of the question.
        talk: whose question it is.
    """

    def __init__(self, pace: "Pace", urgency: Urgency, talk: Hashable) -> None:
        self.pace, self.urgency, self.talk = pace, urgency, talk
        self.arrived, self.given = 0, 0
        self.is_held = False
        self.loop = asyncio.get_running_loop()
        self._admitted: asyncio.Future[None] = self.loop.create_future()

    async def come(self) -> None:
        """Wait until it is given, and until the server wants to be asked."""
        self._admitted = self.loop.create_future()
        self.pace.queue(self)
        try:
            await self._admitted
            await self.pace.pause()
        except BaseException:
            self.pace.leave(self)
            raise

    async def again(self) -> None:
        """Give it back, and wait for it: whoever is more urgent goes ahead."""
        self.pace.leave(self)
        await self.come()

    def heed(self, *, too_many: bool, pause: float = 0) -> None:
        """Go by an answer to what was asked from here.

        Args:
            too_many: whether it was refused since there are too many, or too soon.
            pause: seconds for which the server wants no more.
        """
        self.pace.heed(self, too_many=too_many, pause=pause)

    def admit(self) -> None:
        """Tell who waits, if anybody still does."""
        if not self._admitted.done():
            self._admitted.set_result(None)


class Pace:
    """The places at one server.

    Args:
        fixed: how many there are, where that is known.
    """

    def __init__(self, fixed: int | None = None) -> None:
        self._is_fixed = fixed is not None
        self.most = fixed or BEGIN
        """How many questions it has at once."""
        self._inside, self._aside = 0, 0  # of them: what nobody waits for
        self._from, self._last_awaited = 0.0, -AROUND
        self._asking = Counter[Hashable]()  # by talk: questions inside
        self._last: dict[Hashable, int] = {}  # by talk: when one was let in
        self._waiting = list[Place]()
        self._count = itertools.count()
        self._lock = threading.Lock()
        self._known: int | None = None  # as many were taken, and one more was too many
        self._hold, self._answers, self._cut = HOLD, 0, -1
        self._fastest: float | None = None
        self._short = deque[float](maxlen=WINDOW)

    @asynccontextmanager
    async def place(self, urgency: Urgency, talk: Hashable) -> AsyncIterator[Place]:
        """Wait for a place, and hold it."""
        mine, line = Place(self, urgency, talk), stands_in.get() or Line()
        line.places.add(mine)
        try:
            await mine.come()
            token = held.set(mine)
            try:
                yield mine
            finally:
                held.reset(token)
                self.leave(mine)
        finally:
            line.places.discard(mine)

    def queue(self, mine: Place) -> None:
        """Have somebody wait."""
        with self._lock:
            mine.arrived = next(self._count)
            self._waiting.append(mine)
            self._let_in()

    def leave(self, mine: Place) -> None:
        """Take a place back, or somebody out of the queue."""
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
            elif mine.is_held:
                self._free(mine)
                self._let_in()

    def number(self, mine: Place) -> int:
        """Which of the talks that wait is that of a place: 1 is next; 0: it is held."""
        with self._lock:
            if mine.is_held:
                return 0
            before = self._turn_of(mine)
            return len({one.talk for one in self._waiting if self._turn_of(one) < before} | {mine.talk})

    def _turn_of(self, one: Place) -> tuple[int, int, int, int]:
        """Whose turn it is: the least comes first."""
        return one.urgency, self._asking[one.talk], self._last.get(one.talk, -1), one.arrived

    def _let_in(self) -> None:
        """Give places to those whose turn it is."""
        while self._waiting and self._inside < self.most:
            mine = min(self._waiting, key=self._turn_of)
            if mine.urgency < 2:
                self._last_awaited = time.monotonic()
            elif self._aside >= self._most_aside():
                return
            self._waiting.remove(mine)
            self._inside += 1
            self._aside += mine.urgency == 2
            self._asking[mine.talk] += 1
            self._last[mine.talk] = mine.given = next(self._count)
            mine.is_held = True
            try:
                mine.loop.call_soon_threadsafe(mine.admit)
            except RuntimeError:  # its loop is closed: nobody is there
                self._free(mine)

    def _most_aside(self) -> int:
        """How many questions there may be that nobody waits for."""
        if self._inside == self._aside and time.monotonic() >= self._last_awaited + AROUND:
            return self.most
        return max(1, min(ASIDE, self.most // SHARE))

    def _free(self, mine: Place) -> None:
        mine.is_held = False
        self._inside -= 1
        self._aside -= mine.urgency == 2
        self._asking[mine.talk] -= 1
        if not self._asking[mine.talk]:
            del self._asking[mine.talk]
            if not any(one.talk == mine.talk for one in self._waiting):
                self._last.pop(mine.talk, None)

    async def pause(self) -> None:
        """Wait until the server wants to be asked again."""
        await asyncio.sleep(self._from - time.monotonic())

    def heed(self, mine: Place, *, too_many: bool, pause: float) -> None:
        """See `Place.heed`: those who were let in before one was refused tell of the same once more."""
        with self._lock:
            if too_many:
                self._from = max(self._from, time.monotonic() + pause)
                if mine.given > self._cut and not self._is_fixed:
                    self._cut = next(self._count)
                    self._refused()
            elif self._inside >= self.most and not self._is_fixed:  # else it tells nothing of more at once
                self._passed()
                self._let_in()

    def _refused(self) -> None:
        """Ask half as many; or as many as are known to be taken, where one more was tried."""
        tried = self._known is not None and self.most == self._known + 1
        self._hold = min(LONGEST_HOLD, 2 * self._hold) if tried else HOLD
        self._known = max(1, min(self.most, self._inside) - 1)
        self.most = self._known if tried else max(1, min(self.most, self._inside) // 2)
        self._answers = 0

    def _passed(self) -> None:
        """Let in one more: soon up to what is known, and beyond that after many answers."""
        self._answers += 1
        if self._known is None:
            wanted = EACH
        elif self.most < self._known:
            wanted = 1
        else:
            wanted = self._hold if self.most == self._known else self.most
        if self._answers >= wanted:
            self._answers = 0
            if self._known is not None and self.most > self._known:  # it takes more by now
                self._known, self._hold = self.most, self.most
            self.most += 1

    def note_short(self, seconds: float) -> None:
        """Note how long a short answer took: such differ by their prompts, and by how long they waited."""
        with self._lock:
            self._fastest = min(self._fastest or seconds, seconds)
            self._short.append(seconds)
            full = len(self._short) == WINDOW and self.most > LEAST_WHEN_SLOW and not self._is_fixed
            if full and median(self._short) > SLOW * self._fastest:
                self.most = max(LEAST_WHEN_SLOW, self.most // 2)
                self._known, self._answers = self.most, 0
                self._short.clear()


_paces: dict[Hashable, Pace] = {}
_lock = threading.Lock()


def pace_of(server: Hashable) -> Pace:
    """The pace of a server, by its address and who asks."""
    with _lock:
        return _paces.setdefault(server, Pace())
