"""Which model is asked, and where: seen, chosen, and tried by who runs the server, on this machine alone."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.models.chat import chat_model
from dramaturg.models.clients import address_of, name_of
from dramaturg.models.connecting import failure, whole_address
from dramaturg.models.environment import (
    KEPT,
    KEY_FILE,
    environment,
    keep_endpoint,
    read_endpoint,
    settings_file,
    use_endpoint,
)
from dramaturg.models.local.weights import status
from dramaturg.server.access import Access
from dramaturg.server.openai_forms import EventStream
from dramaturg.server.rooms import Rooms
from dramaturg.server.work import Work
from dramaturg.stores.documents.forms import Language
from dramaturg.workflows.about import ABOUT, line_of
from dramaturg.workflows.methods import Show
from dramaturg.workflows.model_check import check_model

DEADLINE = 120.0  # seconds for a question that tries a model
EMBEDDED = "qwen2.5-coder-1.5b"
"""The weights of the embedded model, by their name in the catalogue."""
EMBEDDING = "DRAMATURG_EMBEDDING_MODEL"
NOT_HERE = "The connection is chosen by who runs the server: on this machine, without keys or other hosts."


class Wanted(BaseModel):
    """The body of a request to connect to an endpoint."""

    model_config = ConfigDict(extra="forbid")

    address: str = Field(min_length=1, max_length=2_000)
    model: str = Field(min_length=1, max_length=200, pattern=r"^\S(.*\S)?$")
    key: str | None = Field(None, max_length=4_096, pattern=r"^[!-~]*$")
    """None: the one that is kept for this address; empty: it needs none."""


class Connection:
    """What the routes do about the connection to a model, and about the methods.

    Args:
        rooms: the settings that hold for every turn.
        access: whether callers may see the connection.
    """

    def __init__(self, rooms: Rooms, access: Access) -> None:
        self.rooms = rooms
        self.access = access
        self._changing = asyncio.Lock()
        self._check: Work | None = None

    @property
    def _model(self) -> Any:
        return self.rooms.settings.get("chat_model", "auto")

    async def seen(self, _: Request) -> Response:
        """Which model is asked, and where, whether that is kept, and whether there is a key; never the key."""
        self._require()
        return JSONResponse(await asyncio.to_thread(self._told))

    async def connect(self, request: Request) -> Response:
        """Try a model at an address, and keep it where it answers: from the next turn on it is asked."""
        self._require()
        body = Wanted.model_validate_json(await request.body())
        self._require_free()
        address = whole_address(body.address)
        async with self._changing:
            before = await asyncio.to_thread(read_endpoint, settings_file())
            same = before.get("OPENAI_BASE_URL") == address  # a key goes to no other address than it was given for
            key = before.get("OPENAI_API_KEY", "") if body.key is None and same else body.key or ""
            embedding = before.get(EMBEDDING, "")
            if embedding.startswith("openai:") and not same:  # it is at the address of before
                embedding = ""
            values = dict(zip(KEPT, (address, key, body.model, embedding), strict=True))
            if error := await failure(values):
                raise ValueError(error)
            await asyncio.to_thread(keep_endpoint, values, settings_file())
            use_endpoint(values | self._beside(before))
        return JSONResponse(await asyncio.to_thread(self._told))

    async def forget(self, _: Request) -> Response:
        """Keep no endpoint any more: from the next turn on the embedded model is asked."""
        self._require()
        self._require_free()
        async with self._changing:
            before = await asyncio.to_thread(read_endpoint, settings_file())
            await asyncio.to_thread(settings_file().unlink, missing_ok=True)
            use_endpoint(self._beside(before))
        return JSONResponse(await asyncio.to_thread(self._told))

    async def check(self, _: Request) -> Response:
        """Ask the model ten small questions, and tell what it can do, for each kind of question and each method."""
        self._require()
        if self._check and not self._check.task.done():
            raise HTTPException(409, "The model is being tried already: wait until that is done.")
        model = await asyncio.to_thread(lambda: chat_model(self._model, deadline=DEADLINE))

        async def doing(show: Show) -> dict[str, Any]:
            found = await check_model(model, lambda done, total: show("questions", done, total))
            return {"findings": [one._asdict() for one in found]}

        work = self._check = Work("check", doing)
        return EventStream(work.news(), {}, lambda: cancelled(work))

    async def methods(self, request: Request) -> Response:
        """The methods that are listed, in plain words, with how many questions a turn asks, and what each needs."""
        asked = request.query_params.get("language", "en")
        language: Language = next((one for one in get_args(Language) if one == asked), "en")
        needs = await asyncio.to_thread(lambda: {one: sorted(self.rooms.reads(one)) for one in self.rooms.listed})
        return JSONResponse({"object": "list", "data": [described(one, needs[one], language) for one in needs]})

    def _require(self) -> None:
        if not self.access.connects:
            raise HTTPException(403, NOT_HERE)

    def _require_free(self) -> None:
        """Refuse where something that was said when the server was started goes before what is kept."""
        if self._model != "auto":
            raise HTTPException(409, "The server was started with a --model of its own: start it without.")
        if named := self._surroundings():
            raise HTTPException(409, f"{named} is set where the server was started: start it without.")

    def _beside(self, kept: Mapping[str, str]) -> dict[str, str]:
        """The embedding model that was named where the server was started, and not by what is kept."""
        named = os.environ.get(EMBEDDING, "")
        return {EMBEDDING: named} if named and named != kept.get(EMBEDDING) else {}

    def _surroundings(self) -> str:
        """The variable that names an endpoint which is not the one that is kept; empty: there is none."""
        kept = read_endpoint(settings_file())
        if os.environ.get(KEY_FILE):
            return KEY_FILE
        return next((name for name in KEPT[:3] if os.environ.get(name, "") not in ("", kept.get(name))), "")

    def _told(self) -> dict[str, Any]:
        weights = {one.name: one.state == "present" for one in status(*environment().weights_in)}
        return {
            "object": "connection",
            "address": address_of(self._model),
            "model": name_of(self._model),
            "kept": bool(read_endpoint(settings_file())) and not self._surroundings(),
            "key": environment().api_key is not None,
            "embedded": {"there": weights[EMBEDDED], "name": EMBEDDED, "used": self.rooms.embedded},
            "changes": self._model == "auto" and not self._surroundings(),
        }


def cancelled(work: Work) -> None:
    """Ask no more questions of a check that nobody hears of any more."""
    work.task.cancel()


def described(method: str, needs: list[str], language: Language) -> Mapping[str, Any]:
    """A method as it is listed; of a flow of one's own no more than its name is known."""
    about = ABOUT.get(method)
    return {
        "id": method,
        "title": about.title if about else method,
        "line": line_of(method, language),
        "questions": list(about.questions) if about else None,
        "needs": needs,
    }
