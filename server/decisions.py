"""What waits for a person: changes of who a role is, on a thread; and which names of a role are one."""

import asyncio
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.conversations.conversation import Conversation
from dramaturg.server.lookups import Lookups

MOST_NUMBERS = 1_000
FOUND_WITHIN = 10.0  # seconds


class Answer(BaseModel):
    """The body of an answer to what a turn waits for."""

    model_config = ConfigDict(extra="forbid")

    turn: str
    """Which one: another window may have answered it, and another turn wait."""
    approved: list[int] = Field(max_length=MOST_NUMBERS)
    """The numbers of the changes that shall be; the others shall not."""


class Approvals:
    """What the routes do about changes of who a role is, which wait for a person.

    Args:
        lookups: find the threads.
    """

    def __init__(self, lookups: Lookups) -> None:
        self.lookups = lookups

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
        about = {"thread": self.lookups.thread_in(request), "role": model.role, "turn": turn.id if turn else None}
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
            raise HTTPException(409, "That waits no longer: it was answered elsewhere, or the talk went on.")
        known = {change["number"] for change in changes}
        if strange := set(body.approved) - known:
            raise ValueError(f"There is no change {min(strange)}: `approved` has numbers from 1 to {len(known)}.")
        await talk.answer({"approved": sorted(set(body.approved))})
        declined = len(known - set(body.approved))
        return JSONResponse(
            {"object": "answer", "turn": turn.id, "approved": len(known) - declined, "declined": declined}
        )


async def _asked(talk: Conversation) -> tuple[list[dict[str, Any]], int]:
    """The changes that a turn waits for, and how many things of another form, which only its own flow can answer."""
    waiting = await talk.waiting()
    changes = [dict(one) for asked in waiting if isinstance(asked, dict) for one in asked.get("changes") or []]
    return changes, 0 if changes else len(waiting)
