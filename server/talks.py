"""Talks as a whole: their list, their titles and pins, and deleting one for good."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.conversations.chats import written_out
from dramaturg.conversations.conversation import PATIENCE, SCENES
from dramaturg.conversations.json_lines import exported
from dramaturg.conversations.opening import spoken_with
from dramaturg.conversations.scenes import script_of
from dramaturg.conversations.titles import ListedTalk, first
from dramaturg.conversations.turn_lock import busy
from dramaturg.server.characters import sent
from dramaturg.server.lookups import Lookups
from dramaturg.server.rooms import thread_name
from dramaturg.server.scenes import of_caller
from dramaturg.server.turns import thread_in
from dramaturg.stores.formats.chats import written_chat

A_LIST, MOST_LISTED = 200, 1_000  # threads
LONGEST_SEARCH = 200  # characters
LONG_AGO = datetime(1582, 10, 15, tzinfo=UTC)


class Change(BaseModel):
    """The body of a request to change what stands over a thread; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(None, max_length=2_000)
    """Empty: that by its first words."""
    pinned: bool | None = None


class LeftOut(BaseModel):
    """The body of a request to leave a turn out of a branch."""

    model_config = ConfigDict(extra="forbid")

    turn: str = Field(max_length=200)
    until: str | None = Field(None, max_length=200)
    """The last turn of the branch; None: that which was spoken on last."""


class Talks:
    """What the routes do about whole threads.

    Args:
        lookups: find the threads.
    """

    def __init__(self, lookups: Lookups) -> None:
        self.lookups, self.rooms, self.turns = lookups, lookups.rooms, lookups.turns
        self._deleting = asyncio.Lock()  # two that are deleted at once would wait for each other

    async def listed(self, request: Request) -> Response:
        """The caller's threads, of all roles and scenes or of one: the pinned ones first, then the last spoken on.

        All words of `search` are in the title of each, or in what was said on it, of which `found` is the place. `skip`
        of them are left out, and `limit` are given; `more` says whether there are others.
        """
        asked, caller = request.query_params, request.scope["caller"]
        role = asked.get("role", "")
        if role.startswith(SCENES):
            roles = [role]
        elif role:
            roles = [(await asyncio.to_thread(self.rooms.model, role)).role]
        else:
            roles = await asyncio.to_thread(spoken_with, self.rooms.library)
            roles += await self.lookups.scenes.played(caller)
        skip, limit = number_in(asked, "skip", 0), min(max(number_in(asked, "limit", A_LIST), 1), MOST_LISTED)
        words, found = asked.get("search", "")[:LONGEST_SEARCH], list[tuple[str, ListedTalk]]()
        for one in roles:
            listed = self.lookups.scenes.talks if one.startswith(SCENES) else self.rooms.talks_with
            of_role = listed(one, caller, words)
            found += [(one, talk) for talk in await first(of_role, skip + limit + 1)]
        if len(roles) > 1:
            found.sort(key=lambda pair: (pair[1].pinned, pair[1].last or LONG_AGO), reverse=True)
        data = [shown(talk, one) for one, talk in found[skip : skip + limit]]
        return JSONResponse({"object": "list", "data": data, "more": len(found) > skip + limit})

    async def change(self, request: Request) -> Response:
        """Give a thread a title, or pin it."""
        body = Change.model_validate_json(await request.body())
        model, talk = await self.lookups.talk(request)
        label = await talk.set_label(body.title, pinned=body.pinned)
        about = {"id": thread_in(request), "role": model.role}
        return JSONResponse({"object": "thread.changed", **about, **label.model_dump()})

    async def leave_out(self, request: Request) -> Response:
        """Make a branch of a thread without one of its turns, which is then the one that was spoken on last."""
        body = LeftOut.model_validate_json(await request.body())
        model, talk = await self.lookups.talk(request)
        if model.role.startswith(SCENES):
            raise ValueError("Of a scene, no turn can be left out: edit its lines, or branch before it.")
        await talk.leave_out(body.turn, body.until)
        head = next((one.id for one in reversed(await talk.history())), None)
        about = {"id": thread_in(request), "role": model.role}
        return JSONResponse({"object": "thread.changed", **about, "head": head})

    async def export(self, request: Request) -> Response:
        """A thread as a file: a chat of SillyTavern (`form=chat`), or what `dramaturg import` continues (`jsonl`).

        A scene is exported as a script.
        """
        model, talk = await self.lookups.talk(request)
        scene = model.role.startswith(SCENES)
        forms = ("script",) if scene else ("chat", "jsonl")
        if (form := request.query_params.get("form", forms[0])) not in forms:
            what = "A scene" if scene else "A thread"
            raise ValueError(f"{what} is exported as {' or '.join(forms)}, and not as {form[:80]!r}.")
        if scene:
            data = "\n".join([*await script_of(talk), ""]).encode()
            name = f"{model.role.removeprefix(SCENES)} {thread_in(request)}.fountain"
            return sent(data, "text/plain", name)
        if form == "chat":
            data = written_chat(await written_out(talk))
        else:
            data = "".join([f"{line}\n" async for line in exported(talk)]).encode()
        kind = "chat" if form == "chat" else "conversation"
        return sent(data, "application/jsonl", f"{kind} {model.role} {thread_in(request)}.jsonl")

    async def delete(self, request: Request) -> Response:
        """Delete a thread with all its branches for good, and what came of it in the caller's other threads.

        A reply that is coming there is stopped.
        """
        caller = request.scope["caller"]
        model, talk = await self.lookups.talk(request)
        name = thread_in(request)
        of = of_caller(model.role, caller) if model.role.startswith(SCENES) else caller
        await self.turns.end(model.role, thread_name(of, name), caller)
        until = time.monotonic() + PATIENCE
        while under_way := [*self.lookups.going(talk), *self.turns.stops(caller)]:
            # What is kept of a reply after it would begin the thread anew.
            if not (await asyncio.wait(under_way, timeout=until - time.monotonic()))[0]:
                raise busy(name)
        async with self._deleting:
            thread = thread_name(of, name)
            await self.rooms.find_no_more(talk.context, of, thread)  # it may be found as long as it is there
            await talk.erase()
            await self.rooms.find_no_more(talk.context, of, thread)  # a turn that has just ended may have kept it
        return JSONResponse({"object": "thread.deleted", "id": name, "role": model.role, "deleted": True})


def shown(talk: ListedTalk, role: str) -> dict[str, Any]:
    """A thread as it is listed."""
    last = talk.last.isoformat() if talk.last else None
    about = {"title": talk.title, "pinned": talk.pinned, "last": last}
    return {"id": talk.thread, "role": role, **about, **({"found": talk.found} if talk.found else {})}


def number_in(asked: Mapping[str, str], name: str, otherwise: int) -> int:
    """A number that a request asks for."""
    said = asked.get(name, "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 9 else otherwise
