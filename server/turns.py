"""The turns that a server takes: counted by caller, joined by their threads from wherever one looks, and stopped."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.conversations.conversation import SCENES, Conversation
from dramaturg.server.chat_requests import ChatRequest
from dramaturg.server.openai_forms import EventStream, chunk, described, event, told, usage_of
from dramaturg.server.replies import Piece, Speech
from dramaturg.server.rooms import Rooms, thread_name
from dramaturg.server.scenes import of_caller

ALIVE_AFTER = 2.0  # seconds without a word after which a listener is told that the role still thinks
STOPS_WITHIN = 5.0  # seconds that a request waits for what is kept of a reply that its caller has stopped
ENDS_WITHIN = 25.0  # seconds that a server which ends waits for turns of which nobody hears any more
KEPT_WITHIN = 5.0  # seconds then in which what was said of the others is kept
LOOKS = 0.05  # seconds between two looks for a turn that is about to begin


class Place(NamedTuple):
    """Where a turn is taken."""

    of: str
    """The role, or the scene, `scene:NAME`."""
    thread: str
    """The caller's, by its whole name."""


class UnderWay(NamedTuple):
    """A turn that is being taken."""

    speech: Speech
    place: Place
    body: ChatRequest
    about: dict[str, Any]
    """What stands in each part of its stream."""


class Turns:
    """The turns that are being taken, and the routes that join and stop one.

    Args:
        rooms: say which role a name means.
    """

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self.at_once = Counter[str]()
        """How many a caller has."""
        self._behind: dict[asyncio.Task[Any], UnderWay] = {}
        self._stops: dict[asyncio.Task[Any], str] = {}
        """What is still to be kept of replies that were stopped, by caller."""
        self._beginning = Counter[str]()
        """Threads on which a turn is about to be taken."""
        self._kept = set[asyncio.Task[None]]()
        """What keeps where turns are, which may come after them."""

    @contextmanager
    def beginning(self, thread: str) -> Iterator[None]:
        """A request names a thread, and a turn is about to be taken on it; who joins or stops that waits for it."""
        self._beginning[thread] += 1
        try:
            yield
        finally:
            self._beginning[thread] -= 1
            if not self._beginning[thread]:
                del self._beginning[thread]

    def begun(self, turn: UnderWay, caller: str) -> None:
        """A turn is being taken: it counts as one of its caller's until it has ended."""

        def done(task: "asyncio.Task[Any]") -> None:
            self.at_once[caller] -= 1
            self._behind.pop(task)

        self._behind[turn.speech.task] = turn
        turn.speech.task.add_done_callback(done)
        self._kept.add(turn.speech.ended)
        turn.speech.ended.add_done_callback(self._kept.discard)

    def left(self, turn: UnderWay, caller: str, *, heard: bool = True) -> None:
        """Somebody listens no more to a turn: it ends, unless it was asked to go on without.

        Args:
            turn: the one that is meant.
            caller: whose it is.
            heard: whether anything of it was sent as it came.
        """
        if not turn.body.background:
            self._stopped(turn.speech, caller, heard=heard)

    def going(self, talk: Conversation) -> list["asyncio.Task[Any]"]:
        """The turns that are taken on a thread now; what is left of one goes on behind its reply."""
        where = (talk.saver, talk.thread.name)
        return [task for task, turn in self._behind.items() if turn.speech.on == where]

    def stops(self, caller: str) -> list["asyncio.Task[Any]"]:
        """What is still to be kept of replies that a caller has stopped."""
        return [task for task, of in self._stops.items() if of == caller]

    async def stopped_before(self, caller: str) -> None:
        """Wait for what is kept of a caller's stopped replies: else it would come after what the caller asks now."""
        if stops := self.stops(caller):
            await asyncio.wait(stops, timeout=STOPS_WITHIN)

    async def join(self, request: Request) -> Response:
        """The turn that is being taken on a thread, as it comes, from its beginning; 204: none is.

        The first event says what it answers: `question`, the reply that it goes on with (`begun`), the turn that it
        comes after (`after`), and the `wish` for the reply where there is one.
        """
        turn = self._coming(await self._place(request))
        if turn is None:
            return Response(status_code=204)
        return EventStream(joined(turn), told(turn.about))

    async def stop(self, request: Request) -> Response:
        """Stop the turn that is being taken on a thread; the answer comes when what was said of it is kept."""
        place = await self._place(request)
        turn = self._coming(place)
        if turn is not None:
            await self._stopped(turn.speech, request.scope["caller"])
        about = {"id": thread_in(request), "role": place.of}
        kept = turn.speech.turn if turn else ""
        return JSONResponse({"object": "thread.stopped", **about, "stopped": turn is not None, "turn": kept or None})

    async def end(self, of: str, thread: str, caller: str) -> None:
        """Stop whatever is being taken on a thread that is to go."""
        for turn in [one for one in self._behind.values() if one.place == Place(of, thread)]:
            await self._stopped(turn.speech, caller)

    async def close(self) -> None:
        """Wait for what is under way, for a while; then what was said of it is kept."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN):
                while left := self._behind.keys() | self._stops.keys() | self._kept:
                    await asyncio.wait(left)
        last = [self._stopped(turn.speech, "") for turn in self._behind.values()]
        if last:
            await asyncio.wait(last, timeout=KEPT_WITHIN)

    def _stopped(self, speech: Speech, caller: str, *, heard: bool = True) -> "asyncio.Task[None]":
        task = asyncio.create_task(speech.stop(heard=heard))
        self._stops[task] = caller
        task.add_done_callback(self._stops.pop)
        return task

    def _coming(self, place: Place) -> UnderWay | None:
        """The turn whose reply still comes."""
        return next((one for one in self._behind.values() if one.place == place and one.speech.coming), None)

    async def _place(self, request: Request) -> Place:
        """Which thread a request is about; where its first turn is about to be taken, when it is.

        One that comes after another may wait for that, which is then the one that is meant.
        """
        caller, name, of = request.scope["caller"], thread_in(request), request.query_params.get("role", "")
        if of.startswith(SCENES):
            place = Place(of, thread_name(of_caller(of, caller), name))
        else:
            role = (await asyncio.to_thread(self.rooms.model, of)).role
            place = Place(role, thread_name(caller, name))
        begins = thread_name(caller, name)
        while begins in self._beginning and not self._coming(place):  # noqa: ASYNC110 (mostly it is not)
            await asyncio.sleep(LOOKS)
        return place


def thread_in(request: Request) -> str:
    """The name of the thread in a path, in which `%2F` is a slash of the name (see `lookups.WholeNames`)."""
    return unquote(request.path_params["thread"])


async def joined(turn: UnderWay) -> AsyncIterator[str]:
    """A turn as events, for who has not asked for it."""
    speech = turn.speech
    after = asyncio.ensure_future(speech.after())
    while not (await asyncio.wait({after}, timeout=ALIVE_AFTER))[0]:  # another turn of the thread may have to end
        yield ": waiting\n\n"
    asked = {"question": speech.question, "begun": speech.begun, "after": after.result() or None}
    asked |= {"wish": speech.wish} if speech.wish else {}
    yield event({**turn.about, "object": "turn.joined", **asked, "seconds": int(time.time()) - turn.about["created"]})
    async for one in streamed(turn):
        yield one


async def streamed(turn: UnderWay) -> AsyncIterator[str]:
    """A turn as events: why, the reply word by word, the end; comments while the role thinks, or waits for a model."""
    speech, body, about = turn.speech, turn.body, turn.about
    try:
        yield chunk(about, {"role": "assistant", "content": ""})
        pieces = speech.pieces()
        coming: asyncio.Future[Piece] = asyncio.ensure_future(anext(pieces))
        begun = False
        try:
            while True:
                await asyncio.wait({coming}, timeout=ALIVE_AFTER)
                if not coming.done():
                    # Clients draw so many times a second, and what comes in between with the next part: here is one.
                    number = speech.line.number()
                    does = f": waiting, number {number}\n\n" if number else ": thinking\n\n"
                    yield chunk(about, {}) if begun else does
                    continue
                piece = coming.result()
                if piece.by:
                    yield chunk(about | {"speaker": piece.by}, {})
                elif body.reasons or not piece.thought:
                    begun = True
                    yield chunk(about, {"reasoning_content" if piece.thought else "content": piece.text})
                coming = asyncio.ensure_future(anext(pieces))
        except StopAsyncIteration:
            pass
        finally:
            coming.cancel()
        stopped = {"stopped": True} if speech.stopped else {}
        yield chunk(about | {"turn": speech.turn, **stopped}, {}, finish=speech.finish)
        if (body.stream_options or {}).get("include_usage"):
            yield event({**about, "object": "chat.completion.chunk", "choices": [], "usage": usage_of(speech.output)})
        yield "data: [DONE]\n\n"
    except (ValueError, RuntimeError) as error:
        status, message, code = described(error)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        yield event({"error": {"message": message, "type": kind, "param": None, "code": code}})
        yield "data: [DONE]\n\n"
