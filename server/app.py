"""The application: OpenAI's chat completions, models and embeddings over conversations with roles."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Literal
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dramaturg.conversations.alignment import Exchange, as_heard
from dramaturg.conversations.conversation import SCENES, Conversation
from dramaturg.conversations.opening import begin_by_greeting
from dramaturg.conversations.scene_histories import SceneTalk
from dramaturg.models.embeddings import embedder
from dramaturg.models.questions import write_json, write_message
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.server.access import Access, Door, TooLarge, refusal, too_large
from dramaturg.server.casting import Casting
from dramaturg.server.characters import Characters
from dramaturg.server.chat_requests import ChatRequest, Heard, Unfit, heard_in, spelled, unless, without_known
from dramaturg.server.connection import Connection
from dramaturg.server.decisions import Approvals
from dramaturg.server.knowledge import Knowledge
from dramaturg.server.lookups import KEPT_SOON, LONGEST_THREAD, Lookups, WholeNames
from dramaturg.server.openai_forms import (
    EventStream,
    completion,
    failed,
    finish_of,
    packed,
    refused,
    said_at_once,
    shown_model,
    told,
    unreadable,
)
from dramaturg.server.packing import Packing
from dramaturg.server.pages import page_routes
from dramaturg.server.remembered import Remembered
from dramaturg.server.replies import Speech
from dramaturg.server.rooms import LOOKED_UP, SCENE, Model, Rooms, known_as, thread_name
from dramaturg.server.scenes import Scenes, SceneSpeech
from dramaturg.server.sources import SourceTexts
from dramaturg.server.staging import Staging
from dramaturg.server.talks import Talks
from dramaturg.server.turns import Place, Turns, UnderWay, streamed
from dramaturg.server.work import Works

log = logging.getLogger(__name__)
ENDS_WITHIN = 30.0  # seconds that a server which ends waits for changes of roles
MOST_TEXTS = 2_048  # in one request for embeddings


class EmbeddingRequest(BaseModel):
    """The body of a request for embeddings."""

    model_config = ConfigDict(extra="ignore")

    input: str | list[str] = Field(max_length=10_000_000)
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None

    @field_validator("input", mode="before")
    @classmethod
    def _no_tokens(cls, given: Any) -> Any:
        unless(isinstance(given, list) and not all(isinstance(one, str) for one in given), "send texts, not tokens")
        return given


class RoleServer:
    """What the routes do.

    Args:
        rooms: the conversations.
        access: who may call.
        merges: whether the client's card of a character counts as part of the scene, or only what the role's own files
            do not say.
    """

    def __init__(self, rooms: Rooms, access: Access, *, merges: bool = False) -> None:
        self.rooms = rooms
        self.access = access
        self.merges = merges
        self.turns = Turns(rooms)
        self.scenes = Scenes(rooms)
        self.lookups = Lookups(rooms, self.scenes, access, self.turns)
        self.talks = Talks(self.lookups)
        self.memory = Remembered(self.lookups)
        self.works = Works(access)
        self.knowledge = Knowledge(rooms, self.works)
        self.sources = SourceTexts(rooms, self.works)
        self.casting = Casting(rooms, self.works)
        self.characters = Characters(rooms, self.works)
        self.staging = Staging(self.scenes, self.works)
        self.connection = Connection(rooms, access)
        self.approvals = Approvals(self.lookups, self.works)

    def app(self) -> Starlette:
        """The application."""
        handlers: dict[Any, Any] = {
            HTTPException: refused,
            ValidationError: unreadable,
            TooLarge: lambda _, error: too_large(error.most),
            ClientDisconnect: lambda _, __: Response(status_code=499),
            **dict.fromkeys((ValueError, RuntimeError, Exception), failed),
        }
        door = Middleware(Door, access=self.access)
        pages = Middleware(
            CORSMiddleware,
            allow_origins=self.access.origins,
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=["X-Role-Thread"],
            allow_private_network=True,
        )
        return Starlette(
            routes=[
                Route("/health", self.health),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.one_model),
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/embeddings", self.embeddings, methods=["POST"]),
                Route("/v1/roles", self.lookups.roles),
                Route("/v1/roles", self.characters.new, methods=["POST"]),
                Route("/v1/roles/import", self.characters.take_in, methods=["POST"]),
                Route("/v1/roles/{role}", self.lookups.role),
                Route("/v1/roles/{role}/export", self.characters.export),
                Route("/v1/roles/{role}/picture", self.characters.picture),
                Route("/v1/roles/{role}/source", self.sources.source),
                Route("/v1/roles/{role}/remembered", self.memory.remembered),
                Route("/v1/scenes", self.lookups.listed_scenes),
                Route("/v1/scenes", self.staging.new, methods=["POST"]),
                Route("/v1/scenes/{name}", self.staging.seen),
                Route("/v1/scenes/{name}", self.staging.change, methods=["PATCH"]),
                Route("/v1/scenes/{name}", self.staging.delete, methods=["DELETE"]),
                Route("/v1/threads", self.talks.listed),
                Route("/v1/threads/{thread}", self.lookups.thread),
                Route("/v1/threads/{thread}", self.talks.change, methods=["PATCH"]),
                Route("/v1/threads/{thread}", self.talks.delete, methods=["DELETE"]),
                Route("/v1/threads/{thread}/leave-out", self.talks.leave_out, methods=["POST"]),
                Route("/v1/threads/{thread}/export", self.talks.export),
                Route("/v1/threads/{thread}/tree", self.lookups.tree),
                Route("/v1/threads/{thread}/heard", self.lookups.heard),
                Route("/v1/threads/{thread}/coming", self.turns.join),
                Route("/v1/threads/{thread}/stop", self.turns.stop, methods=["POST"]),
                Route("/v1/threads/{thread}/turns/{turn}", self.lookups.turn),
                Route("/v1/threads/{thread}/notes", self.memory.note, methods=["POST"]),
                Route("/v1/threads/{thread}/forget", self.memory.forget, methods=["POST"]),
                Route("/v1/threads/{thread}/forget/preview", self.memory.to_forget, methods=["POST"]),
                Route("/v1/threads/{thread}/pin", self.memory.pin, methods=["POST"]),
                Route("/v1/threads/{thread}/waiting", self.approvals.waiting),
                Route("/v1/threads/{thread}/answer", self.approvals.answer, methods=["POST"]),
                Route("/v1/threads/{thread}/became", self.approvals.became),
                Route("/v1/threads/{thread}/became", self.approvals.write, methods=["POST"]),
                Route("/v1/roles/{role}/knowledge", self.knowledge.known),
                Route("/v1/roles/{role}/knowledge", self.knowledge.learn, methods=["POST"]),
                Route("/v1/roles/{role}/knowledge/preview", self.knowledge.preview, methods=["POST"]),
                Route("/v1/roles/{role}/knowledge/undo", self.knowledge.undo, methods=["POST"]),
                Route("/v1/roles/{role}/graph", self.knowledge.graph),
                Route("/v1/roles/{role}/merges", self.knowledge.merges),
                Route("/v1/roles/{role}/merges", self.knowledge.merge, methods=["POST"]),
                Route("/v1/casting", self.casting.open),
                Route("/v1/casting", self.casting.cast, methods=["POST"]),
                Route("/v1/casting/people", self.casting.people, methods=["POST"]),
                Route("/v1/casting/preview", self.casting.preview, methods=["POST"]),
                Route("/v1/roles/{role}/drafts", self.casting.drafts),
                Route("/v1/roles/{role}/drafts", self.casting.decide, methods=["POST"]),
                Route("/v1/roles/{role}/drafts/{kind}/{number:int}", self.casting.draft),
                Route("/v1/roles/{role}/drafts/{kind}/{number:int}", self.casting.edit, methods=["POST"]),
                Route("/v1/connection", self.connection.seen),
                Route("/v1/connection", self.connection.connect, methods=["POST"]),
                Route("/v1/connection", self.connection.forget, methods=["DELETE"]),
                Route("/v1/connection/check", self.connection.check, methods=["POST"]),
                Route("/v1/methods", self.connection.methods),
                *page_routes(),
            ],
            middleware=[pages, door, Middleware(Packing), Middleware(WholeNames)],
            exception_handlers=handlers,
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self.turns.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(ENDS_WITHIN):
                    await self.works.close()
            await self.rooms.close()

    async def health(self, _: Request) -> Response:
        """Whether the server is up."""
        return JSONResponse({"status": "ok"})

    async def models(self, _: Request) -> Response:
        """The roles and methods, and the scenes, as models."""
        names = await asyncio.to_thread(lambda: [*self.rooms.names(), *self.scenes.models()])
        return JSONResponse({"object": "list", "data": [shown_model(name) for name in names]})

    async def one_model(self, request: Request) -> Response:
        """One of them."""
        name = request.path_params["name"]
        await asyncio.to_thread(self.scenes.require if name.startswith(SCENES) else self.rooms.model, name)
        return JSONResponse(shown_model(name))

    async def chat(self, request: Request) -> Response:
        """A turn, the rest of a reply, or a request that is not a turn."""
        body = ChatRequest.model_validate_json(await request.body())
        heard = heard_in(body, request.headers)
        caller: str = request.scope["caller"]
        if self.turns.at_once[caller] >= self.access.at_once:
            return refusal(
                429, f"{self.access.at_once} turns at once are the limit: wait for one to end.", "too_many_turns"
            )
        self.turns.at_once[caller] += 1
        handed = False
        try:
            named = "" if heard.kind == "quiet" else named_thread(request, body)
            with self.turns.beginning(thread_name(caller, named)):
                turn = await self._turn(request, body, heard, caller)
                if isinstance(turn, Response):
                    return turn
                self.turns.begun(turn, caller)
            handed = True
            if not body.stream:
                return await self._whole(request, turn, caller)
            return EventStream(streamed(turn), told(turn.about), partial(self.turns.left, turn, caller))
        finally:
            if not handed:
                self.turns.at_once[caller] -= 1

    async def _turn(self, request: Request, body: ChatRequest, heard: Heard, caller: str) -> UnderWay | Response:
        """The turn that a request asks for, under way; or the answer, where it is none."""
        given = given_in(body, heard, caller)
        staged = await self.scenes.staged(body.model, heard, given, caller) if plays(body) else None
        context: RoleContext
        if staged:
            model, context, heard, of = SCENE, staged.context, staged.heard, staged.of
        else:
            model = await asyncio.to_thread(
                partial(self.rooms.model, body.model, heard.speaker, group=bool(heard.others))
            )
            context, of = await self._context(model, given, heard, request.headers), caller
        about = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": body.model}
        if heard.kind == "quiet":
            return await self._aside(context, body, about)
        if body.schema_wanted:
            raise Unfit("response_format", "structured output is not supported: ask for text.")
        await self.turns.stopped_before(caller)
        thread = await self._thread(request, body, model, context, heard, of)
        talk = await self.rooms.conversation(model, context, thread)
        about["thread"] = thread.removeprefix(f"{of}/") if of else thread
        if heard.kind == "opening":
            return await self._opening(talk, body, about)
        alone = not heard.whole and not heard.history and named_thread(request, body)
        history = await self._all_or_nothing(talk, heard, caller) if alone else heard.history
        keep, language = partial(self._remember, of, thread), (await run_of(context)).language
        if staged and isinstance(talk, SceneTalk):
            speech: Speech = SceneSpeech(talk, staged, history, keep, language)
        else:
            speech = Speech(talk, history, heard.question, heard.begun, heard.wish, keep, language)
        return UnderWay(speech, Place(body.model if staged else model.role, thread), body, about)

    async def _remember(self, caller: str, thread: str, speech: Speech) -> None:
        """Keep how the thread of a turn is found again, by what the client has on its screen."""
        try:
            said, context = [*(speech.history or [])[-LOOKED_UP:], speech.exchange], speech.talk.context
            await self.rooms.remember(context, caller, thread, said)
            if await speech.talk.thread.head() is None:  # somebody has deleted it meanwhile
                await self.rooms.find_no_more(context, caller, thread)
        except (ValueError, RuntimeError):
            log.exception("It could not be kept which thread a conversation is on.")

    async def _context(
        self, model: Model, given: dict[str, Any], heard: Heard, headers: Mapping[str, str]
    ) -> RoleContext:
        context = self.rooms.context(model, given)
        if not heard.scene and not heard.asker:
            return context
        role = (await run_of(context)).role
        scene = heard.scene
        merges = headers.get("x-role-persona", "merge" if self.merges else "own").strip().lower() == "merge"
        if scene and not merges:
            known = await self.rooms.known_of(role, heard.asker)
            scene = without_known(scene, lambda part: as_heard(part) in known)
        more = {"scene": scene} if scene else {}
        if heard.asker:
            known_user = await asyncio.to_thread(self.rooms.role_knows, context, role, heard.asker)
            more |= {"user_role": heard.asker} if known_user else {}
        return self.rooms.context(model, given | more, context) if more else context

    async def _thread(
        self, request: Request, body: ChatRequest, model: Model, context: RoleContext, heard: Heard, caller: str
    ) -> str:
        """Which thread a request is of: the one it names, else the caller's that holds most of its history."""
        if named := named_thread(request, body):
            return thread_name(caller, named)
        shown = [*heard.history, *([Exchange(heard.question, heard.begun)] if heard.begun else [])]
        tells = any(one.heard for one in shown)  # a greeting is that of every chat
        found = await self.rooms.thread_of(model, context, caller, shown) if tells else None
        return found or thread_name(caller, uuid4().hex)

    async def _all_or_nothing(self, talk: Conversation, heard: Heard, caller: str) -> list[Exchange] | None:
        """What one message alone on a named thread follows.

        A client that keeps no history sends only what is new: it follows the head. The first message of the thread,
        again, is asked again.
        """
        first = ""
        while not first:  # who hears a reply may go on before it is kept, and another turn be stopped
            going = [*self.lookups.going(talk), *self.turns.stops(caller)]
            first = await talk.first_question()
            if not going:
                break
            if not first:
                await asyncio.wait(going, timeout=KEPT_SOON)
        return [] if not first or as_heard(first) == as_heard(heard.question) else None

    async def _opening(self, talk: Conversation, body: ChatRequest, about: dict[str, Any]) -> Response:
        """Have the role speak first, by its greeting, where nobody has said anything."""
        greeting = await begin_by_greeting(talk)
        if not greeting:
            raise Unfit("messages", "there is nothing to answer: send one of the user.")
        if body.stream:
            return EventStream(said_at_once(greeting, about, "stop"), told(about))
        return JSONResponse(completion(about, greeting, {}, "stop"), headers=told(about))

    async def _whole(self, request: Request, turn: UnderWay, caller: str) -> Response:
        """The reply in one piece; who has gone meanwhile has heard nothing of it."""
        speech, about = turn.speech, turn.about
        reply = asyncio.ensure_future(speech.reply())
        gone = asyncio.ensure_future(until_gone(request))
        try:
            await asyncio.wait({reply, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not reply.done():
                raise ClientDisconnect
            text = await reply
            told_of = about | {"turn": speech.turn}
            return JSONResponse(completion(told_of, text, speech.output, speech.finish), headers=told(about))
        finally:
            if not reply.done():  # also where the server ends, and waits no longer
                self.turns.left(turn, caller, heard=False)
            for task in (reply, gone):
                task.cancel()

    async def _aside(self, context: RoleContext, body: ChatRequest, about: dict[str, Any]) -> Response:
        """Have the model answer a request that is not a turn, from what the client sends and nothing else."""
        run = await run_of(context)
        kinds: Mapping[str, type[BaseMessage]] = {"user": HumanMessage, "assistant": AIMessage}
        messages = [kinds.get(one.role, SystemMessage)(one.text) for one in body.messages if one.text.strip()]
        if schema := body.schema_wanted:
            message = AIMessage(await write_json(run.chat, messages, schema))
        else:
            tokens = min(body.max_completion_tokens or body.max_tokens or 1024, 8192)
            asked = partial(write_message, temperature=body.temperature, max_tokens=tokens, stop=body.stops_at())
            message = await asked(run.chat, messages, quiet=True)
        if body.stream:
            return EventStream(said_at_once(message.text, about, finish_of(message)), {})
        return JSONResponse(completion(about, message.text, {}, finish_of(message)))

    async def embeddings(self, request: Request) -> Response:
        """The vectors of some texts, by the embedding model of the roles."""
        body = EmbeddingRequest.model_validate_json(await request.body())
        texts = [body.input] if isinstance(body.input, str) else body.input
        if not texts or len(texts) > MOST_TEXTS or not all(text.strip() for text in texts):
            raise ValueError(f"Send 1 to {MOST_TEXTS:,} texts, none of them empty.")
        name = self.rooms.settings.get("embedding_model", "auto")
        model = await asyncio.to_thread(embedder, name, "en")
        vectors = (await model.documents(texts)).tolist()
        if body.dimensions not in (None, len(vectors[0])):
            raise Unfit("dimensions", f"the vectors of this model have {len(vectors[0])}, and no other number.")
        data = [
            {
                "object": "embedding",
                "index": at,
                "embedding": packed(vector) if body.encoding_format == "base64" else vector,
            }
            for at, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return JSONResponse({"object": "list", "data": data, "model": body.model or model.name, "usage": usage})


def plays(body: ChatRequest) -> bool:
    """Whether a request is to a scene."""
    return body.model.startswith(SCENES)


def given_in(body: ChatRequest, heard: Heard, caller: str) -> dict[str, Any]:
    """The settings that come with a request; what was said in scenes of the same user comes back, and no others."""
    user = known_as(caller, heard.asker)
    given: dict[str, Any] = {"known_as": user, "scenes": user}
    if body.temperature is not None:
        given["temperature"] = body.temperature
    if tokens := body.max_completion_tokens or body.max_tokens:
        given["reply_tokens"] = min(max(tokens, 16), 8192)
    if body.seed is not None:
        given["model_seed"] = body.seed % 2**31
    if stop := body.stops_at(heard.asker, *heard.others):
        given["stop"] = stop
    return given


async def until_gone(request: Request) -> None:
    """Wait until who has asked has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def named_thread(request: Request, body: ChatRequest) -> str:
    """The thread that a request names; empty: none.

    Raises:
        ValueError: the name is too long, or nothing that can be printed.
    """
    named = request.headers.get("x-role-thread") or request.headers.get("x-openwebui-chat-id")
    given: Any = spelled(named) if named else (body.metadata or {}).get("thread_id") or ""
    if not isinstance(given, str) or len(given) > LONGEST_THREAD or not given.isprintable():
        raise ValueError(f"The name of a thread has at most {LONGEST_THREAD} characters that can be printed.")
    if given.strip() in (".", ".."):  # no path can hold them
        raise ValueError(f"A thread cannot be called {given.strip()!r}: take letters or digits.")
    return given.strip()
