"""What a server takes of a model's requests: learned from what it refuses, and kept.

Servers that speak OpenAI's protocol differ in what they take of it: a temperature, the name of the token limit, a
message of the system, a stream. Which one takes what is not known by names, so each request is sent as it is, and what
a server refuses is left out of it, then and for a day: of all requests of this model at this address with this key, of
chats and embeddings. How that is found out is `dramaturg.models.servers.negotiation`.
"""

import asyncio
import hashlib
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import BaseModel, ValidationError

from dramaturg.models.environment import environment
from dramaturg.models.per_loop import PerLoop
from dramaturg.models.server_words import SaidInAnswer
from dramaturg.models.servers.forms import LIMITS

logger = logging.getLogger(__name__)
HOUR = 3_600.0
DAY = 86_400.0  # seconds for which what was learned holds: servers are updated, and models change behind a name
MINUTE = 60.0  # for which a server that refuses everything, and says nothing, is not asked in other ways
PATIENCE = 3.0  # seconds that a request waits for what becomes of another one
SILENT = 3  # empty answers and bare refusals of a server that never gave more, after which its next tells nothing more


class Kept(BaseModel):
    """What is written down of a server: by what was learned, when."""

    refused: dict[str, float] = {}
    limits: dict[str, tuple[int, float]] = {}


class Endpoint:
    """What a server takes of requests for one model with one key."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._kept = Kept()
        self._read, self._changed = file is None, False
        self._taken, self._doubted = set[str](), dict[str, float]()
        self._suspects = dict[str, None]()
        self._refused_bare = -MINUTE
        self._empty = self._wordless = 0
        self._last: tuple[float, Exception] = (0.0, RuntimeError())
        self._alone = PerLoop(asyncio.Lock)
        self._lock = threading.Lock()

    async def read(self) -> None:
        """Read what is kept, once; in a thread: an event loop is not to wait for a disk."""
        if not self._read:
            await asyncio.to_thread(self.read_blocking)

    def read_blocking(self) -> None:
        """The same for code that blocks."""
        with self._lock:
            if not self._read:
                self._kept, self._read = self._merged(), True

    def _merged(self) -> Kept:
        try:
            there = Kept.model_validate_json(self._file.read_bytes()) if self._file else Kept()
        except FileNotFoundError:
            return self._kept
        except (OSError, ValidationError) as error:
            logger.warning("What %s says of a server cannot be read (%s).", self._file, type(error).__name__)
            return self._kept
        return Kept(refused=there.refused | self._kept.refused, limits=there.limits | self._kept.limits)

    async def keep(self) -> None:
        """Write down what was learned, in a thread."""
        if self._changed:
            await asyncio.to_thread(self.keep_blocking)

    def keep_blocking(self) -> None:
        """The same for code that blocks. What cannot be written is a warning: it is known to this process."""
        with self._lock:
            if not (self._changed and self._file):
                return
            self._changed, self._kept = False, self._merged()
            try:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with NamedTemporaryFile("w", dir=self._file.parent, delete=False, encoding="utf-8") as new:
                    new.write(self._kept.model_dump_json())
                Path(new.name).replace(self._file)
                for other in self._file.parent.iterdir():  # of endpoints that are no more
                    with suppress(FileNotFoundError):
                        if other.stat().st_mtime < time.time() - DAY:
                            other.unlink()
            except OSError as error:
                logger.warning("What a server takes cannot be kept at %s (%s).", self._file, type(error).__name__)

    @property
    def refused(self) -> set[str]:
        """What the server does not take."""
        now = time.time()
        return {what for what, learned in self._kept.refused.items() if now < learned + DAY}

    def limit(self, what: str) -> int | None:
        """A number that was learned; None: it is not known."""
        number, learned = self._kept.limits.get(what, (0, 0.0))
        return number if time.time() < learned + DAY else None

    def learn(self, refused: Iterable[str] = (), **limits: int) -> None:
        """Note what the server does not take, and numbers: a limit of it, or whether the model has a habit."""
        refused, now = set(refused), time.time()
        limits = {what: number for what, number in limits.items() if self.limit(what) != number}
        with self._lock:
            self._taken.difference_update(refused)
            if not refused.isdisjoint(self._suspects):  # it was this, and the others need not have been
                self._suspects.clear()
            self._kept = Kept(  # anew: other threads are reading
                refused=self._kept.refused | dict.fromkeys(refused, now),
                limits=self._kept.limits | {what: (number, now) for what, number in limits.items()},
            )
            self._changed = self._changed or bool(refused or limits)

    def doubt(self, refused: Iterable[str]) -> None:
        """Note what was refused. What the server has taken before is refused when it is so again, within the hour."""
        now = time.time()
        with self._lock:
            sure = {one for one in refused if one not in self._taken or now < self._doubted.get(one, -HOUR) + HOUR}
            self._doubted |= dict.fromkeys(refused, now)
        if sure:
            self.learn(sure)

    def refuses_all(self) -> bool:
        """Whether a request with nothing that can be left out was refused just now, without a word of why."""
        return time.monotonic() < self._refused_bare + MINUTE

    def refused_bare(self, error: Exception, *, all_left_out: bool) -> None:
        """Note a refusal without a word; they count once a request with nothing that can be left out was refused so."""
        now, self._wordless = time.monotonic(), self._wordless + 1
        if all_left_out and not self.refuses_all():
            self._refused_bare = now
        if self.refuses_all():
            self._empty, self._wordless, self._last = self._empty + self._wordless, 0, (now, error)

    def failed(self, error: Exception) -> None:
        """Note an answer in which there is none; another error tells nothing of how the next request fares."""
        if isinstance(error, SaidInAnswer) and error.kind == "nothing":
            self._empty, self._last = self._empty + 1, (time.monotonic(), error)

    @property
    def is_silent(self) -> bool:
        """Whether it never gave an answer, and refused or left empty, without a word, all that it was asked last."""
        return self._empty >= SILENT and not self._taken

    def raise_known(self, since: float) -> None:
        """Raise what came of others, where a request waited for that, and the server turned out to be silent.

        Args:
            since: when the request came, by the monotonic clock.

        Raises:
            Exception: the error of the last request.
        """
        when, error = self._last
        if self.is_silent and when >= since:
            raise error.with_traceback(None)

    def takes(self, features: Iterable[str]) -> None:
        """Note that a request with these passed."""
        with self._lock:
            self._refused_bare, self._empty, self._wordless = -MINUTE, 0, 0
            self._taken.update(features)
            for what in features:
                self._suspects.pop(what, None)

    def unknown(self, features: Iterable[str]) -> set[str]:
        """What of this the server was never seen to take."""
        return set(features) - self._taken

    def suspect(self, features: Iterable[str]) -> None:
        """Note that a request passed without these, and not with all of them."""
        if len(features := dict.fromkeys(features)) == 1:
            self.doubt(features)
        else:
            with self._lock:
                self._suspects |= features

    def left_out(self, features: Iterable[str]) -> set[str]:
        """What to leave out of a request: what is refused, and of what may be, all but one thing.

        That one thing is in it only where nothing else is that may be refused.
        """
        here, refused = set(features), self.refused
        here |= set(LIMITS) if here.intersection(LIMITS) else set()  # the one stands in for the other
        with self._lock:
            doubtful = [what for what in self._suspects if what in here]
            more = set(features) - self._taken - refused - set(doubtful)
        return here & (refused | set(doubtful[0 if more else 1 :]))

    @asynccontextmanager
    async def in_turn(self, features: Iterable[str]) -> AsyncIterator[None]:
        """Go alone with what the server was never seen to take; beside somebody whom it answers slowly."""
        alone = self._alone.get()
        if not self.unknown(features) - self.refused:
            yield
            return
        try:
            async with asyncio.timeout(PATIENCE):
                await alone.acquire()
        except TimeoutError:
            yield
            return
        if not self.unknown(features) - self.refused:
            alone.release()
            yield
            return
        try:
            yield
        finally:
            alone.release()


_endpoints: dict[Path, Endpoint] = {}
_lock = threading.Lock()


def endpoint(address: str, model: str, key: str) -> Endpoint:
    """What is known of a model at an address, for a key; kept in the cache, under a digest of all three."""
    digest = hashlib.sha256(json.dumps([address, model, key]).encode()).hexdigest()
    file = environment().cache / "endpoints" / f"{digest}.json"
    with _lock:
        if file not in _endpoints:
            _endpoints[file] = Endpoint(file)
        return _endpoints[file]
