"""What a role remembers of who talks to it: the exchanges of a talk, and of that person's other talks with the role."""

import asyncio
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.conversations.conversation import SCENES
from dramaturg.conversations.forgetting import Forgotten
from dramaturg.nodes.talk.memory import OTHER_TALKS, scenes_under
from dramaturg.server.lookups import LONGEST_THREAD, Lookups, turn_of
from dramaturg.server.rooms import known_as, thread_name
from dramaturg.server.scenes import of_caller
from dramaturg.stores.conversations.talk import TalkRecord, TalkRecords, TalksOf

A_PAGE = 50  # exchanges that are shown at once
KEPT_WITHIN = 5.0  # seconds that a turn is waited for which is being taken
LONGEST_LINE = 1_200  # characters that are shown of what was said
LONGEST_SEARCH = 200
MOST_MEANT = 100


class Meant(BaseModel):
    """The body of a request about some of what was said on a thread."""

    model_config = ConfigDict(extra="forbid")

    ids: list[Annotated[str, Field(max_length=200)]] = Field(min_length=1, max_length=MOST_MEANT)
    """Of exchanges, as they are listed."""


class Pin(Meant):
    """The body of a request that what was said is to come back whatever is asked, or is not."""

    pinned: bool


class NewNote(BaseModel):
    """The body of a request to keep something in mind."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=10_000)


class Head(NamedTuple):
    """A thread of which something is remembered, and how far."""

    of: str
    """The role, or the scene, that it is a thread of."""
    thread: str
    """Its name, as the caller has it."""
    records: TalkRecords
    head: str


class Remembered:
    """What the routes do about what a role remembers of its caller.

    Args:
        lookups: find the threads.
    """

    def __init__(self, lookups: Lookups) -> None:
        self.lookups, self.rooms = lookups, lookups.rooms

    async def remembered(self, request: Request) -> Response:
        """What a role remembers of the caller: of a thread up to one of its turns, of the others, and of scenes.

        The latest comes first, `skip` of them are left out, and all words of `q` are in each. `user` is for whom the
        caller talks, as in a request for a turn.
        """
        caller, asked = request.scope["caller"], request.query_params
        model = await asyncio.to_thread(self.rooms.model, request.path_params["role"])
        context = self.rooms.context(model, {})
        kept = await self.rooms.kept(context)
        own = kept.prefix + thread_name(caller, "")
        thread, heads, notes = asked.get("thread", "")[:LONGEST_THREAD], list[Head](), list[dict[str, Any]]()
        if thread:
            if thread not in await self.rooms.threads_with(model.role, caller):
                raise HTTPException(404, "There is no such thread: /v1/threads?role=NAME lists yours.")
            talk = await self.rooms.conversation(model, context, thread_name(caller, thread))
            if going := self.lookups.going(talk):
                await asyncio.wait(going, timeout=KEPT_WITHIN)  # who hears a reply may ask before it is kept
            turn = await turn_of(talk, asked["turn"]) if asked.get("turn") else None
            if asked.get("turn") and turn is None:
                raise HTTPException(404, "This thread has no such turn: /v1/threads/ID lists them.")
            notes = [one.model_dump(mode="json") for one in await talk.notes()]
            now = str((await talk.values(turn)).get("talk_head") or "")
            heads.append(Head(model.role, thread, TalkRecords(kept.store, model.role, own + thread), now))
        if user := known_as(caller, asked.get("user", "").strip()):
            others = await TalksOf(kept.store, model.role, user).others(own + thread, OTHER_TALKS)
            others += await TalksOf(kept.store, model.role, scenes_under(user)).others("", OTHER_TALKS)
            for one in others:
                records = TalkRecords(kept.store, model.role, one.thread)
                scene = one.thread.partition("/")[0]
                begin, of = (f"{of_caller(scene, caller)}/", scene) if scene.startswith(SCENES) else (own, model.role)
                if one.thread.startswith(begin):
                    heads.append(Head(of, one.thread.removeprefix(begin), records, one.head))
        found, words = list[tuple[Head, TalkRecord]](), asked.get("q", "")[:LONGEST_SEARCH].casefold().split()
        for place in heads:
            found += [(place, one) for one in await place.records.branch(place.head) if holds(one, words)]
        found.sort(key=lambda one: (one[1].at, one[1].place), reverse=True)
        skip = int(asked["skip"]) if asked.get("skip", "").isdecimal() and len(asked["skip"]) < 9 else 0
        data = [
            {"thread": place.thread, "of": place.of, "here": place.of == model.role and place.thread == thread}
            | shown(one)
            for place, one in found[skip : skip + A_PAGE]
        ]
        keeps = bool(getattr(context, "talk_tokens", 0))
        about = {"role": model.role, "keeps": keeps, "others": bool(user), "total": len(found), "notes": notes}
        return JSONResponse({"object": "list", **about, "data": data})

    async def note(self, request: Request) -> Response:
        """Have the role keep something in mind, whatever is said on a thread."""
        body = NewNote.model_validate_json(await request.body())
        _, talk = await self.lookups.talk(request)
        return JSONResponse({"object": "note", **(await talk.note(body.text)).model_dump(mode="json")})

    async def to_forget(self, request: Request) -> Response:
        """What forgetting some of what was said on a thread would forget; nothing is forgotten by it."""
        body = Meant.model_validate_json(await request.body())
        _, talk = await self.lookups.talk(request)
        return JSONResponse({"object": "to_forget", **counted(await talk.to_forget(body.ids))})

    async def forget(self, request: Request) -> Response:
        """Forget for good some of what was said on a thread, on all its branches, with what came of it."""
        body = Meant.model_validate_json(await request.body())
        _, talk = await self.lookups.talk(request)
        return JSONResponse({"object": "forgotten", **counted(await talk.forget(body.ids))})

    async def pin(self, request: Request) -> Response:
        """Have some of what was said on a thread come back whatever is asked, or no more."""
        body = Pin.model_validate_json(await request.body())
        _, talk = await self.lookups.talk(request)
        return JSONResponse(
            {"object": "pinned", "pinned": body.pinned, "kept": await talk.pin(body.ids, pinned=body.pinned)}
        )


def counted(gone: Forgotten) -> dict[str, Any]:
    """What is forgotten, as it is shown."""
    return {
        "said": [shown(one) for one in gone.said[:A_PAGE]],
        "total": len(gone.said) + len(gone.notes),
        "summaries": gone.summaries,
    }


def holds(record: TalkRecord, words: list[str]) -> bool:
    """Whether something is left of an exchange, and all of these words are in it."""
    said = "\n".join(line.text for line in record.said).casefold()
    return not record.is_forgotten and all(word in said for word in words)


def shown(record: TalkRecord) -> dict[str, Any]:
    """When it was, and who said what; of what is long, the beginning."""
    lines = [
        {
            "who": line.who,
            "name": line.name,
            "text": line.text if len(line.text) <= LONGEST_LINE else f"{line.text[: LONGEST_LINE - 1]}…",
        }
        for line in record.said
    ]
    about = {"id": record.id, "turn": record.said[0].id, "at": record.at.isoformat(), "pinned": record.pinned}
    return {**about, "said": lines}
