"""What a server takes of a model's requests: learned from what it refuses, and kept.

Servers that speak OpenAI's protocol differ in what they take of it: a temperature, the name of the token limit, a
message of the system, a stream. Which one takes what is not known by names, so each request is sent as it is, and what
a server refuses is left out of it, then and for a day: of all requests of this model at this address with this key, of
chats and embeddings. A refusal that names what it is about costs one request; after one that names nothing all that is
optional is left out at once, and tried again in the requests that follow, one thing in each. While it is not known
whether something is taken, one request has it, and others with it wait for what becomes of that.
"""

import asyncio
import hashlib
import json
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dramaturg.models.environment import environment
from dramaturg.models.errors import FILTERED, TOO_LONG, RequestRejected
from dramaturg.models.per_loop import PerLoop
from dramaturg.models.server_words import LOOKED_AT, texts_of, words_of

T = TypeVar("T")
Request = Mapping[str, Any]

logger = logging.getLogger(__name__)
HOUR = 3_600.0
DAY = 86_400.0  # seconds for which what was learned holds: servers are updated, and models change behind a name
TRIES = 5  # of one request
DEEPEST = 5  # brackets in the body of an answer
PATIENCE = 3.0  # seconds that a request waits for what becomes of another one
LEAST_WINDOW = 256  # tokens: less is another number in what a server says
ROOM = 90  # percent of the room beside a prompt that an answer may have: we count tokens roughly
LEAST_ROOM = 64  # tokens for an answer
FEW_LOGPROBS = 5  # what all servers take that give any
REFUSALS = (400, 422)  # the statuses of requests that may pass without something
REFUSALS_BY_NAME = (*REFUSALS, 404, 405, 415, 500, 501)  # the same where it is said without what
LIMITS = ("max_completion_tokens", "max_tokens")  # two names of one thing; a server takes one of them
FORMS = ("logprobs", "json_schema", "json_object")
"""What a question is put by: without it another question must be asked. The best way of a question is the first."""
PARAMETERS = (
    "stream_options",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "presence_penalty",
    "frequency_penalty",
    "top_k",
    "chat_template_kwargs",
)
"""What is optional, and is left out whole."""
REBUILT = ("system", "stream", "whole", "runs", "name", "top_logprobs", "base64")
"""What can be said otherwise: instructions by the user, a text in one piece, two messages of a speaker as one, …"""
SAID = (
    ("stream_options", r"stream_options|include_usage"),
    ("max_completion_tokens", r"max_completion_tokens"),
    ("max_tokens", r"max_tokens"),
    ("json_schema", r"response_format|json_schema|structured output|guided_json|grammar"),
    ("top_logprobs", r"top_logprobs"),
    ("logprobs", r"logprobs|log probabilities"),
    ("base64", r"encoding_format|base64"),
    ("system", r"system(?: role| message| prompt| instruction|['\"`])|developer (?:role|instruction)"),
    ("runs", r"alternat"),
    ("stream", r"\bstream(?:ing|ed)?\b"),
    ("whole", r"\bstream(?:ing)?\b"),
    *((name, rf"\b{name}\b") for name in PARAMETERS if name != "stream_options"),
    ("name", r"messages?\W+\d+\W+name\b|\bname\b[^.]{0,40}(?:not (?:supported|permitted|allowed)|extra)"),
)
"""How servers call it, for those that name nothing in a field."""


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

    def takes(self, features: Iterable[str]) -> None:
        """Note that a request with these passed."""
        with self._lock:
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


def features_of(request: Request) -> set[str]:
    """What is in a request that a server may not take."""
    found = {name for name in (*PARAMETERS, *LIMITS) if request.get(name) is not None}
    found |= {name for name in PARAMETERS if name in (request.get("extra_body") or {})}
    found |= {name for name in ("stream", "logprobs") if request.get(name)}
    form = request.get("response_format")
    if isinstance(form, Mapping) and form.get("type") in FORMS:
        found.add(form["type"])
    messages = request.get("messages") or ()
    if messages and not request.get("stream"):
        found.add("whole")
    if any(one.get("role") == "system" for one in messages):
        found.add("system")
    if any(one.get("name") for one in messages):
        found.add("name")
    if any(one.get("role") == other.get("role") == "user" for one, other in pairwise(messages)):
        found.add("runs")
    if "input" in request and not request.get("encoding_format"):  # OpenAI's client asks for it then
        found.add("base64")
    if (request.get("top_logprobs") or 0) > FEW_LOGPROBS:
        found.add("top_logprobs")
    return found


def without(request: Request, left_out: Iterable[str]) -> dict[str, Any]:
    """A request without some of its features, said otherwise where it can be."""
    left_out = set(left_out)
    gone = left_out.intersection(PARAMETERS)
    changed = {name: value for name, value in request.items() if name not in gone}
    if gone and (extra := changed.get("extra_body")):
        changed["extra_body"] = {name: value for name, value in extra.items() if name not in gone}
    for name, other in (LIMITS, LIMITS[::-1]):
        if name in left_out and name in changed:
            limit = changed.pop(name)
            changed |= {} if other in left_out else {other: limit}
    if "stream" in left_out and changed.pop("stream", False):
        changed.pop("stream_options", None)
    if "whole" in left_out and "stream" not in left_out:
        changed["stream"] = True
    if "base64" in left_out:
        changed["encoding_format"] = "float"
    if "top_logprobs" in left_out and changed.get("top_logprobs"):
        changed["top_logprobs"] = min(FEW_LOGPROBS, changed["top_logprobs"])
    messages = changed.get("messages")
    if messages and "name" in left_out:
        messages = [{key: part for key, part in one.items() if key != "name"} for one in messages]
    if messages and left_out & {"system", "runs"}:
        messages = in_turns(messages, system="system" not in left_out)
    return changed | ({"messages": messages} if messages else {})


def in_turns(messages: Iterable[Mapping[str, Any]], *, system: bool) -> list[dict[str, Any]]:
    """The messages with those of a speaker who goes on as one; without a system its texts stand before the user's."""
    others = [dict(one) for one in messages if system or one.get("role") != "system"]
    instructions = [] if system else [{**one, "role": "user"} for one in messages if one.get("role") == "system"]
    turns = list[dict[str, Any]]()
    for one in [*instructions, *others]:
        if (
            turns
            and turns[-1].get("role") == one.get("role") in ("user", "assistant")
            and not (one.get("tool_calls") or turns[-1].get("tool_calls"))
        ):
            turns[-1] = {**turns[-1], "content": joined(turns[-1].get("content"), one.get("content"))}
        else:
            turns.append(one)
    return turns


def joined(one: Any, other: Any) -> Any:
    """Two contents as one."""
    if isinstance(one, str) and isinstance(other, str):
        return "\n\n".join(filter(None, (one, other)))
    parts = [[{"type": "text", "text": part}] if isinstance(part, str) else part or [] for part in (one, other)]
    return [*parts[0], *parts[1]]


class Refusal(BaseModel):
    """What a server says of a request that it does not take."""

    status: int
    text: str
    fields: frozenset[str]
    """What it names in fields of its answer."""

    def about(self, features: Iterable[str]) -> set[str]:
        """Which features it names; empty: none, or so many that it repeats the request."""
        features = set(features)
        if self.status >= 500:  # a failure, unless it is that of a template
            return {name for name, said in SAID if name in features & {"system", "runs"} and re.search(said, self.text)}
        if in_fields := {name for name in features if self.fields & {name, *FIELDS.get(name, ())}}:
            return in_fields
        named = {name for name, said in SAID if name in features and re.search(said, self.text, re.IGNORECASE)}
        for name, more in MORE:
            if name in named:
                named.discard(more)
        return named if len(named) <= 2 else set()


MORE = (("stream_options", "stream"), ("max_completion_tokens", "max_tokens"), ("top_logprobs", "logprobs"))
"""Names that hold another's, or are to take its place."""
FIELDS = {
    "json_schema": ("response_format",),
    "json_object": ("response_format",),
    "system": ("role",),
    "base64": ("encoding_format",),
    "whole": ("stream",),
}
"""How features are called where a server names fields of the request."""


def refusal_in(error: Exception) -> Refusal | None:
    """What a client's error says of a request that is refused as it is put together; None: it is another error."""
    status, places = getattr(error, "status_code", None), str(places_in(getattr(error, "body", None)))
    if status not in REFUSALS_BY_NAME:
        return None
    fields = frozenset(re.findall(r"[^\W\d]\w*", places)) - {"body", "messages"}
    return Refusal(status=status, text=words_of(error)[:LOOKED_AT], fields=fields)


def places_in(body: Any, depth: int = 0) -> list[Any]:
    """The places of a request that an answer names in fields of its own, wherever a gateway has put them."""
    if depth > DEEPEST or not isinstance(body, Mapping | list):
        return []
    values = body.values() if isinstance(body, Mapping) else body
    named = [body[key] for key in ("param", "loc") if body.get(key)] if isinstance(body, Mapping) else []
    return [*named, *(one for value in values for one in places_in(value, depth + 1))]


def about_tokens(text: str) -> int:
    """About how many tokens a text has: four letters of ASCII are one, and each other letter is."""
    ascii_letters = len(text.encode("ascii", "ignore"))
    return ascii_letters // 4 + len(text) - ascii_letters


def tokens_of(request: Request) -> int:
    """About how many tokens a request says."""
    texts = (text for one in request.get("messages") or () for text in texts_of(one.get("content")))
    return sum(map(about_tokens, texts))


def fitted(server: Endpoint, request: Request) -> dict[str, Any]:
    """A request that asks for no longer an answer than the server gives, or has room for after what was said."""
    name = next((name for name in LIMITS if request.get(name)), None)
    context, most = server.limit("context"), server.limit("answer")
    if name is None or not (context or most):
        return dict(request)
    percent = server.limit("room") or ROOM
    room = max(LEAST_ROOM, (context - tokens_of(request)) * percent // 100) if context else request[name]
    return {**request, name: min(request[name], room, most or request[name])}


MOST = (
    r"at most (\d+)",
    r"range of max\w{0,30}tokens[^.\d]{0,40}\[\d+, ?(\d+)\]",
    r"max\w{0,30}tokens[^.\d]{0,60}(?:<=|less than or equal to|no (?:more|larger|greater) than|up to) ?(\d+)",
    r"max\w{0,30}tokens[^.\d]{0,60}between \d+ and (\d+)",
    r"> ?(\d+), which is the maximum",
)
"""How servers say what the longest answer is that they give."""


def most_in(refusal: Refusal, asked: int) -> int | None:
    """The longest answer that a server gives, of a refusal that says so; None: it speaks of something else.

    Where it says no number, half of what was asked for is tried.
    """
    if not re.search(r"max\w{0,30}tokens", refusal.text) or re.search(r"inputs?\b.{0,40}\+", refusal.text):
        return None
    found = (one for pattern in MOST if (one := re.search(pattern, refusal.text, re.IGNORECASE)))
    numbers = [int(one.group(1)) for one in found if int(one.group(1)) < asked]
    if numbers:
        return numbers[0]
    return asked // 2 if re.search(r"max\w{0,30}tokens\W.{0,40}too (?:large|big|high)", refusal.text) else None


BATCH = re.compile(
    r"batch|too many (?:inputs|texts)|(?:input|array|list)[^.]{0,40}(?:length|size|items|larger|exceed)", re.I
)
"""How servers say that they are to embed too many texts at once."""
NUMBER = r"(\d{1,3}(?:[,.]\d{3})+|\d{3,8}|\d{1,4}k)\b"
WINDOW = tuple(
    before + NUMBER + after
    for before, after in (
        (r"context (?:length|window|size)(?: of| is|:)?(?: only| up to| limited to)? ?", ""),
        (r"(?:maximum|max) context (?:length|window|size)\D{0,20}?", ""),
        (r"n_ctx\D{0,5}", ""),
        (r"available context size \(", ""),
        (r"\d+ tokens? > ", " maximum"),
        (r"maximum number of (?:input )?tokens allowed \(", ""),
        (r"model supports (?:only |up to )?", ""),
    )
)


def context_in(text: str) -> int | None:
    """The tokens that a model's window has, as its server says where a prompt is too long; None: it does not."""
    found = next((found for one in WINDOW if (found := re.search(one, text, re.IGNORECASE))), None)
    if found is None:
        return None
    digits = re.sub("[,.]", "", found.group(1))
    return int(digits[:-1]) * 1000 if digits[-1] in "kK" else int(digits)


async def adapted(server: Endpoint, request: Request, send: Callable[[dict[str, Any]], Awaitable[T]]) -> T:
    """Send a request as far as the server takes it.

    Raises:
        Exception: the client's error for a request that is refused for what cannot be left out.
    """
    await server.read()
    try:
        return await _adapted(server, request, send)
    finally:
        await server.keep()


async def _adapted(server: Endpoint, request: Request, send: Callable[[dict[str, Any]], Awaitable[T]]) -> T:
    features = features_of(request)
    async with server.in_turn(features):
        negotiation = Negotiation(server, features)
        if known := features.intersection(FORMS) & server.refused:
            raise RequestRejected(f"The server is known not to take {', '.join(sorted(known))}.")
        while True:
            asked = fitted(server, without(request, negotiation.left_out))
            try:
                answer = await send(asked)
            except Exception as error:
                refusal = refusal_in(error)
                if refusal is None or not negotiation.goes_on(refusal, asked):
                    raise
            else:
                negotiation.passed(features_of(asked))
                return answer


def adapted_blocking(server: Endpoint, request: Request, send: Callable[[dict[str, Any]], T]) -> T:
    """The same for code that blocks; it waits for nobody."""
    server.read_blocking()
    negotiation = Negotiation(server, features_of(request))
    while True:
        asked = without(request, negotiation.left_out)
        try:
            answer = send(asked)
        except Exception as error:
            refusal = refusal_in(error)
            if refusal is None or not negotiation.goes_on(refusal, asked):
                raise
        else:
            negotiation.passed(features_of(asked))
            server.keep_blocking()
            return answer


class Negotiation:
    """What is left out of one request, try by try."""

    def __init__(self, server: Endpoint, features: set[str]) -> None:
        self._server, self._features = server, features
        self.left_out = server.left_out(features)
        self._named = set[str]()
        self._bare = set[str]()
        self._tries, self._fitted = 0, False

    def goes_on(self, refusal: Refusal, request: Request) -> bool:
        """Leave out what is refused, or ask for less; whether there is something to try."""
        self._tries += 1
        if self._tries >= TRIES:
            return False
        limit = next((request[name] for name in LIMITS if request.get(name)), 0)
        if TOO_LONG.search(refusal.text):
            return self._has_room(refusal.text, request, limit)
        if is_about_the_prompt(refusal) or ("input" in request and BATCH.search(refusal.text)):
            return False
        if limit and (most := most_in(refusal, limit)):
            self._server.learn(answer=most)
            return True
        asked = features_of(request)
        named = refusal.about(asked)
        if forms := named.intersection(FORMS):
            whole = "json_schema" in forms and re.search("response_format(?!.{0,20}type)", refusal.text, re.DOTALL)
            self._server.doubt(named | ({"json_object"} if whole else set()))
            return False
        if not named and not self._bare and refusal.status in REFUSALS:
            named = self._bare = self._server.unknown(asked.difference(FORMS, {"whole"}))
        elif named:
            self._named |= named
        self.left_out |= named
        return bool(named)

    def _has_room(self, said: str, request: Request, limit: int) -> bool:
        """Whether a shorter answer may pass: where the window is told, and what is said is not all of it."""
        prompt, window = tokens_of(request), context_in(said)
        if window and LEAST_WINDOW <= window < 2 * prompt + limit:  # else it is another number
            self._server.learn(context=window)
        known = self._server.limit("context")
        if not known or prompt + LEAST_ROOM > known or limit <= LEAST_ROOM:
            return False
        if self._fitted:  # our count of what is said was too low
            room = self._server.limit("room") or ROOM
            self._server.learn(room=room // 2)
            return room // 2 > ROOM // 10
        self._fitted = True
        return True

    def passed(self, asked: set[str]) -> None:
        """Learn from what passed in the end."""
        if self._named:
            self._server.doubt(self._named)
        if self._bare:
            self._server.suspect(sorted(self._bare, key=[*REBUILT, *PARAMETERS, *LIMITS].index))
        self._server.takes(asked)


def is_about_the_prompt(refusal: Refusal) -> bool:
    """Whether a refusal is about what is said, and not about how it is asked."""
    return bool(TOO_LONG.search(refusal.text) or FILTERED.search(refusal.text))
