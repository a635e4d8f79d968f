"""Sends a request as far as its server takes it: once, or again without what is refused.

A refusal that names what it is about costs one request; after one that names nothing all that is optional is left out
at once, and tried again in the requests that follow, one thing in each. While it is not known whether something is
taken, one request has it, and others with it wait for what becomes of that.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from dramaturg.models.errors import OF_WORDS, TOO_LONG, RequestRejected
from dramaturg.models.servers.endpoints import Endpoint
from dramaturg.models.servers.forms import FORMS, LIMITS, PARAMETERS, REBUILT, Request, features_of, tokens_of, without
from dramaturg.models.servers.refusals import (
    BATCH,
    REFUSALS,
    context_in,
    is_about_the_prompt,
    most_in,
    refusal_in,
)

T = TypeVar("T")

TRIES = 5  # of one request
LEAST_WINDOW = 256  # tokens: less is another number in what a server says
ROOM = 90  # percent of the room beside a prompt that an answer may have: we count tokens roughly
LEAST_ROOM = 64  # tokens for an answer


async def adapted(server: Endpoint, request: Request, send: Callable[[dict[str, Any]], Awaitable[T]]) -> T:
    """Send a request as far as the server takes it.

    Raises:
        Exception: the client's error for a request that is refused for what cannot be left out.
        RequestRejected: the server is known not to take how the question is put.
    """
    await server.read()
    came = time.monotonic()
    try:
        async with server.in_turn(features_of(request)):
            server.raise_known(came)
            negotiation = Negotiation(server, request)
            while True:
                asked = negotiation.request()
                try:
                    answer = await send(asked)
                except Exception as error:
                    if not negotiation.goes_on(error, asked):
                        raise
                else:
                    negotiation.passed(asked)
                    return answer
    finally:
        await server.keep()


def adapted_blocking(server: Endpoint, request: Request, send: Callable[[dict[str, Any]], T]) -> T:
    """The same for code that blocks; it waits for nobody."""
    server.read_blocking()
    negotiation = Negotiation(server, request)
    try:
        while True:
            asked = negotiation.request()
            try:
                answer = send(asked)
            except Exception as error:
                if not negotiation.goes_on(error, asked):
                    raise
            else:
                negotiation.passed(asked)
                return answer
    finally:
        server.keep_blocking()


def fitted(server: Endpoint, request: Request) -> dict[str, Any]:
    """A request that asks for no longer an answer than the server gives, or has room for after what was said."""
    name = next((name for name in LIMITS if request.get(name)), None)
    context, most = server.limit("context"), server.limit("answer")
    if name is None or not (context or most):
        return dict(request)
    percent = server.limit("room") or ROOM
    room = max(LEAST_ROOM, (context - tokens_of(request)) * percent // 100) if context else request[name]
    return {**request, name: min(request[name], room, most or request[name])}


class Negotiation:
    """What is left out of one request, try by try."""

    def __init__(self, server: Endpoint, request: Request) -> None:
        self._server, self._request = server, request
        features = features_of(request)
        if known := features.intersection(FORMS) & server.refused:
            raise RequestRejected(f"The server is known not to take {', '.join(sorted(known))}.")
        self._left_out = server.left_out(features)
        self._named = set[str]()
        self._bare = set[str]()
        self._tries, self._fitted = 0, False

    def request(self) -> dict[str, Any]:
        """The request as it is sent next."""
        return fitted(self._server, without(self._request, self._left_out))

    def goes_on(self, error: Exception, request: Request) -> bool:
        """Leave out what is refused, or ask for less; whether there is something to try."""
        refusal = refusal_in(error)
        if refusal is None:
            self._server.failed(error)
            return False
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
        if named.intersection(FORMS):
            self._server.doubt(named | ({"json_object"} if refusal.is_of_all_formats() else set()))
            return False
        if named:
            self._named |= named
        elif refusal.status in REFUSALS:
            named = self._without_a_word(error, asked)
        self._left_out |= named
        return bool(named)

    def _without_a_word(self, error: Exception, asked: set[str]) -> set[str]:
        """What to leave out where a refusal names nothing: all that the server was never seen to take, once."""
        unknown = self._server.unknown(asked)
        if not unknown:
            setattr(error, OF_WORDS, True)
        done = self._bare or self._server.refuses_all()
        left_out = set() if done else unknown.difference(FORMS, {"whole"})
        self._bare |= left_out
        self._server.refused_bare(error, all_left_out=not (left_out or asked.intersection(FORMS)))
        return left_out

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

    def passed(self, request: Request) -> None:
        """Learn from what passed in the end."""
        if self._named:
            self._server.doubt(self._named)
        if self._bare:
            self._server.suspect(sorted(self._bare, key=[*REBUILT, *PARAMETERS, *LIMITS].index))
        self._server.takes(features_of(request))
