"""What a person decides of who a role is: the changes that a thread waits for, and which go into its chronicle."""

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.conversations.chronicle_changes import replacements_in
from dramaturg.conversations.conversation import Conversation
from dramaturg.nodes.identity.chronicle import triple_sentence
from dramaturg.server.lookups import Lookups
from dramaturg.server.rooms import Model
from dramaturg.server.turns import thread_in
from dramaturg.server.work import Works
from dramaturg.stores.documents.chronicle_changes import Replacement, unwritten, write_replacements
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.role import Role

MOST_NUMBERS = 1_000
FOUND_WITHIN = 10.0  # seconds


class Answer(BaseModel):
    """The body of an answer to what a turn waits for."""

    model_config = ConfigDict(extra="forbid")

    turn: str
    """Which one: another window may have answered it, and another turn wait."""
    approved: list[int] = Field(max_length=MOST_NUMBERS)
    """The numbers of the changes that shall be; the others shall not."""


class Writing(BaseModel):
    """The body of a request to write what a role has become on a thread into its chronicle."""

    model_config = ConfigDict(extra="forbid")

    became: str
    """The SHA-256 of what was listed: it may have been written since, or the talk have gone on."""
    accepted: list[int] = Field(max_length=MOST_NUMBERS)
    """The numbers of the changes that are to hold in all talks."""


class Approvals:
    """What the routes do about changes of who a role is.

    Args:
        lookups: find the threads.
        works: say whether roles may be changed.
    """

    def __init__(self, lookups: Lookups, works: Works) -> None:
        self.lookups, self.works = lookups, works

    async def waiting(self, request: Request) -> Response:
        """What the last turn of a thread waits for: changes with their numbers.

        A role that has just replied may still find what it has become: that is waited for, for a while.
        """
        model, talk = await self.lookups.talk(request)
        if going := self.lookups.going(talk):
            await asyncio.wait(going, timeout=FOUND_WITHIN)
            model, talk = await self.lookups.talk(request)  # by now another method may wait
        changes, others = await _asked(talk)
        turn = await talk.unfinished() if changes or others else None
        about = {"thread": thread_in(request), "role": model.role, "turn": turn.id if turn else None}
        return JSONResponse(
            {
                "object": "waiting",
                **about,
                "changes": changes,
                "others": others,
                "going": bool(self.lookups.going(talk)),
            }
        )

    async def answer(self, request: Request) -> Response:
        """Approve some of the changes and refuse the others: the turn ends by that."""
        body = Answer.model_validate_json(await request.body())
        _, talk = await self.lookups.talk(request)
        changes, _ = await _asked(talk)
        turn = await talk.unfinished()
        if not changes or turn is None or turn.id != body.turn:
            raise HTTPException(
                409, "This is no longer pending: it was answered elsewhere, or the conversation went on."
            )
        known = {change["number"] for change in changes}
        if strange := set(body.approved) - known:
            raise ValueError(f"There is no change {min(strange)}: `approved` has numbers from 1 to {len(known)}.")
        await talk.answer({"approved": sorted(set(body.approved))})
        declined = len(known - set(body.approved))
        return JSONResponse(
            {"object": "answer", "turn": turn.id, "approved": len(known) - declined, "declined": declined}
        )

    async def became(self, request: Request) -> Response:
        """What a role has become on a thread and its chronicle does not say, with numbers, and whether callers may."""
        model, talk = await self.lookups.talk(request)
        role, left = await self._unwritten(request, model, talk)
        data = await asyncio.to_thread(_shown, role, left)
        about = {"thread": thread_in(request), "role": role.id, "became": _digest(left)}
        return JSONResponse({"object": "became", **about, "changes": self.works.access.changes_roles, "data": data})

    async def write(self, request: Request) -> Response:
        """Write some of what a role has become on a thread into its chronicle: it holds in all talks then."""
        body = Writing.model_validate_json(await request.body())
        model, talk = await self.lookups.talk(request)
        role, left = await self._unwritten(request, model, talk)
        self.works.require_free(role.id)
        if body.became != _digest(left):
            raise HTTPException(409, "The changes are others now: read them again.")
        chosen = sorted(set(body.accepted))
        if strange := set(chosen) - set(range(1, len(left) + 1)):
            raise ValueError(f"There is no change {min(strange)}: `accepted` has numbers from 1 to {len(left)}.")
        await asyncio.to_thread(write_replacements, role.root, [left[number - 1] for number in chosen])
        _, now = await self._unwritten(request, model, talk)
        return JSONResponse({"object": "written", "role": role.id, "written": len(chosen), "left": len(now)})

    async def _unwritten(self, request: Request, model: Model, talk: Conversation) -> tuple[Role, list[Replacement]]:
        """The role of a thread, and what the thread has made of it and its chronicle does not say."""
        found = await replacements_in(talk, thread_in(request))

        def compared() -> tuple[Role, list[Replacement]]:
            role = self.lookups.rooms.library.open(model.role)
            return role, unwritten(role.chronicle().triples, found) if found else []

        return await asyncio.to_thread(compared)


def _shown(role: Role, changes: Sequence[Replacement]) -> list[dict[str, Any]]:
    """Changes as they are listed, with what each takes the place of."""
    if not changes:
        return []
    language, own = role.card.language, role.chronicle().sentences
    return [
        {
            "number": number,
            "sentence": triple_sentence(one.new, language, own),
            "core": one.new.core,
            "since": one.since,
            "replaces": [{"sentence": triple_sentence(old, language, own), "core": old.core} for old in one.old],
        }
        for number, one in enumerate(changes, start=1)
    ]


def _digest(changes: Sequence[Replacement]) -> str:
    """By which it is seen whether a list of changes is the same."""
    return sha256(canonical([[one.model_dump(mode="json") for one in (of.new, *of.old)] for of in changes]))


async def _asked(talk: Conversation) -> tuple[list[dict[str, Any]], int]:
    """The changes that a turn waits for, and how many things of another form, which only its own flow can answer."""
    waiting = await talk.waiting()
    changes = [dict(one) for asked in waiting if isinstance(asked, dict) for one in asked.get("changes") or []]
    return changes, 0 if changes else len(waiting)
