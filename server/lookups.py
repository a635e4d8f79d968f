"""What is looked up: roles, threads with all their branches, and turns with their evidence."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dramaturg.conversations.conversation import SCENES, Conversation
from dramaturg.conversations.opening import greetings_of, spoken_with
from dramaturg.conversations.scenes import Played, Spoken, cast_of, lines_of, played_turns
from dramaturg.conversations.turns import Turn
from dramaturg.conversations.why import SAYS as LANGUAGES
from dramaturg.conversations.why import why
from dramaturg.server.access import Access
from dramaturg.server.rooms import SCENE, Model, Rooms, thread_name, turn_at
from dramaturg.server.scenes import Scenes
from dramaturg.server.turns import Turns, thread_in

KEPT_SOON = 0.05  # seconds after which a turn that is being taken is looked for again
LONGEST_THREAD = 200
LONGEST_NAME = 80
THREADS_AT = "/v1/threads/"
INTERRUPT = "__interrupt__"  # where LangGraph keeps what a node asks and waits for


class Lookups:
    """What the routes do that change nothing.

    Args:
        rooms: the conversations.
        scenes: those of several roles.
        access: what callers may change.
        turns: those that are being taken.
    """

    def __init__(self, rooms: Rooms, scenes: Scenes, access: Access, turns: Turns) -> None:
        self.rooms = rooms
        self.scenes = scenes
        self.access = access
        self.turns = turns

    async def roles(self, _: Request) -> Response:
        """The roles by their cards, whether the embedded model plays them, and what callers may change here."""
        roles = await asyncio.to_thread(self.rooms.roles)
        may = {"changes": self.access.changes_roles, "connection": self.access.connects}
        about = {"embedded": self.rooms.embedded, "method": self.rooms.method, **may}
        about["most_bytes"] = self.access.most_file_bytes
        return JSONResponse({"object": "list", "data": roles, **about})

    async def role(self, request: Request) -> Response:
        """A role: the methods that are listed, what each lacks of it, and what it may say first."""
        model = await asyncio.to_thread(self.rooms.model, request.path_params["role"])
        methods = await asyncio.to_thread(self.rooms.methods_for, model.role)
        user = request.query_params.get("user", "")[:LONGEST_NAME]
        greetings = await greetings_of(self.rooms.context(model, {}), user)
        return JSONResponse({"object": "role", "id": model.role, "methods": methods, "greetings": greetings})

    async def thread(self, request: Request) -> Response:
        """A thread: the turns of its head, and how many branches there are."""
        model, talk = await self.talk(request)
        branches = await talk.branches()
        turns = [
            {"turn": at, "id": one.id, "question": one.question, "reply": one.reply, **wish_of(one)}
            for at, one in enumerate(await talk.history(), start=1)
        ]
        return JSONResponse(
            {
                "object": "thread",
                "id": thread_in(request),
                "role": model.role,
                "turns": turns,
                "branches": [[one.id for one in branch] for branch in branches],
            }
        )

    async def tree(self, request: Request) -> Response:
        """A thread with all that was said on any branch: each turn, the oldest first, with the one that it follows."""
        model, talk = await self.talk(request)
        turns: list[dict[str, Any]] = [
            {"id": one.id, "after": after, "question": one.question, "reply": one.reply, **wish_of(one)}
            for one, after in await talk.tree()
        ]
        if model.role.startswith(SCENES):
            played = await played_turns(talk)
            turns = [{**one, **turn_shown(played[one["id"]])} for one in turns]
        head = next((one.id for one in reversed(await talk.history())), None)
        about = {"id": thread_in(request), "role": model.role, "head": head}
        return JSONResponse({"object": "tree", **about, "turns": turns})

    async def listed_scenes(self, _: Request) -> Response:
        """The scenes of the library and the examples, each with its cast."""
        return JSONResponse({"object": "list", "data": await self.scenes.shown()})

    async def heard(self, request: Request) -> Response:
        """Who heard what of a scene until the end of a turn: a row a line, and of each role whether and why."""
        model, talk = await self.talk(request)
        if not model.role.startswith(SCENES):
            raise ValueError("Only of a scene it is known who heard what: name one by ?role=scene:NAME.")
        wanted = request.query_params.get("turn", "")
        turn = await turn_of(talk, wanted) if wanted else None
        if wanted and turn is None:
            raise HTTPException(404, "This thread has no such turn: /v1/threads/ID lists them.")
        cast = [{"role": one.role, "name": one.name} for one in await cast_of(talk)]
        lines = [
            {**line_shown(line), "turn": line.turn, "cells": [line.why(one["role"]) for one in cast]}
            for line in await lines_of(talk, turn)
        ]
        about = {"id": thread_in(request), "role": model.role, "cast": cast}
        return JSONResponse({"object": "heard", **about, "lines": lines})

    async def turn(self, request: Request) -> Response:
        """A turn with all its evidence, by its number on the head's branch, or by its id on any."""
        model, talk = await self.talk(request)
        wanted = unquote(request.path_params["turn"])
        going = self.going(talk)
        while (found := await turn_of(talk, wanted)) is None and going:
            await asyncio.wait(going, timeout=KEPT_SOON)  # who hears a reply may ask before it is kept
            going = self.going(talk)
        if found is None:
            raise HTTPException(404, "This thread has no such turn: /v1/threads/ID lists them.")
        state, thread = await talk.values(found), thread_in(request)
        language = request.query_params.get("language", "")
        before = talk.thread.name.removesuffix(thread[:LONGEST_THREAD])
        return JSONResponse(
            {
                "object": "turn",
                "thread": thread,
                "role": model.role,
                "id": found.id,
                "question": found.question,
                "reply": found.reply,
                **wish_of(found),
                "evidence": with_own_names(state.get("evidence") or {}, before),
                "why": why(state.get("evidence"), next((one for one in LANGUAGES if one == language), "en")),
                "usage": state.get("usage") or {},
            }
        )

    async def talk(self, request: Request) -> tuple[Model, Conversation]:
        """The conversation that a path names, with the role or the scene of `?role=`, or the only role that has it."""
        caller, thread = request.scope["caller"], thread_in(request)[:LONGEST_THREAD]
        role = request.query_params.get("role", "")
        if role.startswith(SCENES):
            if (talk := await self.scenes.talk(role, caller, thread)) is None:
                raise HTTPException(404, f"This scene has no such thread: /v1/threads?role={role} lists yours.")
            return SCENE._replace(role=role), talk
        roles = await asyncio.to_thread(spoken_with, self.rooms.library)
        named = [(await asyncio.to_thread(self.rooms.model, role)).role] if role else roles
        found = [Model(one, self.rooms.method) for one in named if thread in await self.rooms.threads_with(one, caller)]
        if not found:
            raise HTTPException(404, "There is no such thread: /v1/threads?role=NAME lists yours.")
        if len(found) > 1:
            several = ", ".join(model.role for model in found)
            raise ValueError(f"Several roles are on this thread ({several}): say which with ?role=NAME.")
        return await self._own_method(found[0], thread_name(caller, thread))

    async def _own_method(self, model: Model, thread: str) -> tuple[Model, Conversation]:
        """A conversation by the method that its last turn waits in; by the server's, where nothing waits.

        What is kept of a thread can be read by any method. What waits is known to that which was stopped, alone.
        """
        talk = await self.rooms.conversation(model, self.rooms.context(model, {}), thread)
        head = await talk.thread.head()
        if head is None or not any(channel == INTERRUPT for _, channel, _ in head.pending_writes or ()):
            return model, talk
        for method in dict.fromkeys((model.method, *self.rooms.listed, *self.rooms.methods)):
            other = model._replace(method=method)
            found = await self.rooms.conversation(other, self.rooms.context(other, {}), thread)
            if await found.waiting():
                return other, found
        return model, talk

    def going(self, talk: Conversation) -> list["asyncio.Task[Any]"]:
        """The turns that this server takes on a thread now; what is left of one goes on behind its reply."""
        return self.turns.going(talk)


class WholeNames:
    """Leaves the paths of threads percent-encoded, so that a slash in a name does not end it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http" and scope["path"].startswith(THREADS_AT) and scope.get("raw_path"):
            scope = {**scope, "path": scope["raw_path"].partition(b"?")[0].decode("latin-1")}
        await self.app(scope, receive, send)


def wish_of(turn: Turn) -> dict[str, str]:
    """How the reply of a turn was to be, where somebody has wished something."""
    return {"wish": turn.wish} if turn.wish else {}


def with_own_names(evidence: Any, before: str) -> Any:
    """Evidence in which the caller's other threads, of which something came back, are named as they are listed.

    Args:
        evidence: of a turn; it may have been imported, and hold anything.
        before: what stands before the name of each of the caller's threads where they are kept.
    """
    if not isinstance(evidence, Mapping):
        return evidence
    found = {
        name: [{**one, "talk": str(one.get("talk") or "").removeprefix(before)} for one in told]
        for name in ("talk", "earlier_records")
        if isinstance(told := evidence.get(name), list) and all(isinstance(one, Mapping) for one in told)
    }
    return {**evidence, **found}


def line_shown(line: Spoken) -> dict[str, Any]:
    """A line of a scene; what others hear of it, where that is not all of it."""
    about = {"id": line.id, "kind": line.kind, "by": line.role, "name": line.name, "text": line.text}
    heard = {} if line.audible == line.text else {"audible": line.audible}
    return {**about, **heard, "to": [*line.to], "there": [*line.there], "hidden": [*line.hidden]}


def turn_shown(played: Played) -> dict[str, Any]:
    """The lines of a turn of a scene, and who is there after it."""
    stage = played.stage
    now = {"there": stage["present"], "hidden": stage["hidden"], "user": stage["user"]}
    return {"lines": [line_shown(one) for one in played.lines], "stage": now}


async def turn_of(talk: Conversation, wanted: str) -> Turn | None:
    """A turn by its number on the head's branch, or by its id on any."""
    found = await talk.thread.find(wanted)
    if found is not None:
        return found if found.reply is not None else None
    return turn_at(await talk.history(), wanted) if wanted.isdecimal() else None
