"""The application: OpenAI's chat completions, models and embeddings over conversations with roles."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dramaturg.conversations.alignment import Exchange, as_heard
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import spoken_with
from dramaturg.models.embeddings import embedder
from dramaturg.models.questions import write_message
from dramaturg.nodes.run import RoleContext, run_of
from dramaturg.server.access import Access, Door, TooLarge, refusal, too_large
from dramaturg.server.chat_requests import ChatRequest, Heard, heard_in, without_known
from dramaturg.server.openai_forms import (
    EventStream,
    chunk,
    completion,
    described,
    event,
    failed,
    packed,
    refused,
    said_at_once,
    shown_model,
    told,
    unreadable,
    usage_of,
)
from dramaturg.server.replies import Piece, Speech
from dramaturg.server.rooms import LOOKED_UP, Model, Rooms, thread_name, turn_at

log = logging.getLogger(__name__)
ALIVE_AFTER = 2.0  # seconds without a word after which a listener is told that the role still thinks
STOPS_WITHIN = 5.0  # seconds that a request waits for what is kept of a reply that its caller has stopped
LONGEST_THREAD = 200
MOST_TEXTS = 2_048  # in one request for embeddings


class EmbeddingRequest(BaseModel):
    """The body of a request for embeddings."""

    model_config = ConfigDict(extra="ignore")

    input: str | list[str] = Field(max_length=10_000_000)
    model: str = ""
    encoding_format: str = "float"


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
        self._turns: dict[str, int] = {}
        self._behind: set[asyncio.Task[Any]] = set()
        self._stops: dict[asyncio.Task[Any], str] = {}
        """What is still to be kept of replies that were stopped, by caller."""

    def app(self) -> Starlette:
        """The application."""
        handlers: dict[Any, Any] = {
            HTTPException: refused,
            ValidationError: unreadable,
            TooLarge: lambda _, __: too_large(self.access),
            ClientDisconnect: lambda _, __: Response(status_code=499),
            **dict.fromkeys((ValueError, RuntimeError, Exception), failed),
        }
        return Starlette(
            routes=[
                Route("/health", self.health),
                Route("/v1/models", self.models),
                Route("/v1/models/{name:path}", self.one_model),
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/embeddings", self.embeddings, methods=["POST"]),
                Route("/v1/threads", self.threads),
                Route("/v1/threads/{thread}", self.thread),
                Route("/v1/threads/{thread}/turns/{turn}", self.turn),
            ],
            middleware=[Middleware(Door, access=self.access)],
            exception_handlers=handlers,
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            if left := self._behind | self._stops.keys():
                await asyncio.wait(left, timeout=30)
            await self.rooms.close()

    async def health(self, _: Request) -> Response:
        """Whether the server is up."""
        return JSONResponse({"status": "ok"})

    async def models(self, _: Request) -> Response:
        """The roles and methods, as models."""
        names = await asyncio.to_thread(self.rooms.names)
        return JSONResponse({"object": "list", "data": [shown_model(name) for name in names]})

    async def one_model(self, request: Request) -> Response:
        """One of them."""
        name = request.path_params["name"]
        await asyncio.to_thread(self.rooms.model, name)
        return JSONResponse(shown_model(name))

    async def chat(self, request: Request) -> Response:
        """A turn, the rest of a reply, or what is no turn."""
        body = ChatRequest.model_validate_json(await request.body())
        heard = heard_in(body, request.headers)
        caller: str = request.scope["caller"]
        if self._turns.get(caller, 0) >= self.access.at_once:
            return refusal(429, f"{self.access.at_once} turns at once are the most: wait for one.", "too_many_turns")
        self._turns[caller] = self._turns.get(caller, 0) + 1
        handed = False
        try:
            model = await asyncio.to_thread(partial(self.rooms.model, body.model, heard.speaker, group=heard.group))
            context = await self._context(model, body, heard, request.headers)
            about = {"id": f"chatcmpl-{uuid4().hex}", "created": int(time.time()), "model": body.model}
            if heard.kind == "quiet":
                return await self._aside(context, body, about)
            if stops := [task for task, of in self._stops.items() if of == caller]:
                await asyncio.wait(stops, timeout=STOPS_WITHIN)  # else what is kept of them would come after this turn
            thread = await self._thread(request, body, model, context, heard, caller)
            talk = await self.rooms.conversation(model, context, thread)
            alone = not heard.whole and not heard.history and named_thread(request, body)
            history = await self._all_or_nothing(talk, heard) if alone else heard.history
            about["thread"] = thread.removeprefix(f"{caller}/") if caller else thread
            keep = partial(self._remember, caller, thread)
            speech = Speech(talk, history, heard.question, heard.begun, keep)
            speech.task.add_done_callback(partial(self._done, caller=caller))
            self._behind.add(speech.task)
            handed = True
            if body.stream:
                return EventStream(streamed(speech, body, about), told(about), partial(self._left, caller, speech))
            return await self._whole(request, speech, about)
        finally:
            if not handed:
                self._turns[caller] -= 1

    def _done(self, task: "asyncio.Task[None]", *, caller: str) -> None:
        self._turns[caller] -= 1
        self._behind.discard(task)

    def _left(self, caller: str, speech: Speech) -> None:
        """Nobody listens to a turn any more."""
        task = asyncio.create_task(speech.stop())
        self._stops[task] = caller
        task.add_done_callback(self._stops.pop)

    async def _remember(self, caller: str, thread: str, speech: Speech) -> None:
        """Keep how the thread of a turn is found again, by what the client has on its screen."""
        try:
            kept = await self.rooms.kept(speech.talk.context)
            await self.rooms.remember(kept, caller, thread, [*(speech.history or [])[-LOOKED_UP:], speech.exchange])
        except (ValueError, RuntimeError):
            log.exception("It could not be kept which thread a conversation is on.")

    async def _context(self, model: Model, body: ChatRequest, heard: Heard, headers: Mapping[str, str]) -> RoleContext:
        given: dict[str, Any] = {}
        if body.temperature is not None:
            given["temperature"] = body.temperature
        if tokens := body.max_completion_tokens or body.max_tokens:
            given["reply_tokens"] = min(max(tokens, 16), 8192)
        context = self.rooms.context(model, given)
        role = (await run_of(context)).role
        scene = heard.scene
        merges = headers.get("x-role-persona", "merge" if self.merges else "own").strip().lower() == "merge"
        if scene and not merges:
            known = await self.rooms.known_of(role)
            scene = without_known(scene, lambda part: as_heard(part) in known)
        given |= {"scene": scene} if scene else {}
        if heard.asker:
            known_user = await asyncio.to_thread(self.rooms.role_knows, context, role, heard.asker)
            given |= {"user_role": heard.asker} if known_user else {}
        return self.rooms.context(model, given) if given else context

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

    async def _all_or_nothing(self, talk: Conversation, heard: Heard) -> list[Exchange] | None:
        """What one message alone on a named thread follows.

        A client that keeps no history sends only what is new: it follows the head. The first message of the thread,
        again, is asked again.
        """
        turns = await talk.history()
        first = next((turn for turn in turns if turn.question), None)
        return [] if first is None or as_heard(first.question) == as_heard(heard.question) else None

    async def _whole(self, request: Request, speech: Speech, about: dict[str, Any]) -> Response:
        """The reply in one piece; who has gone meanwhile has heard nothing of it."""
        reply = asyncio.ensure_future(speech.reply())
        gone = asyncio.ensure_future(until_gone(request))
        try:
            await asyncio.wait({reply, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not reply.done():
                await speech.stop(heard=False)
                raise ClientDisconnect
            return JSONResponse(completion(about, await reply, speech.output), headers=told(about))
        finally:
            for task in (reply, gone):
                task.cancel()

    async def _aside(self, context: RoleContext, body: ChatRequest, about: dict[str, Any]) -> Response:
        """Have the model answer what is no turn, from what the client sends and nothing else."""
        run = await run_of(context)
        kinds: Mapping[str, type[BaseMessage]] = {"user": HumanMessage, "assistant": AIMessage}
        messages = [kinds.get(one.role, SystemMessage)(one.text) for one in body.messages if one.text.strip()]
        tokens = min(body.max_completion_tokens or body.max_tokens or 1024, 8192)
        message = await write_message(run.chat, messages, temperature=body.temperature, max_tokens=tokens, quiet=True)
        if body.stream:
            return EventStream(said_at_once(message.text, about), {})
        return JSONResponse(completion(about, message.text, {}))

    async def embeddings(self, request: Request) -> Response:
        """The vectors of some texts, by the embedding model of the roles."""
        body = EmbeddingRequest.model_validate_json(await request.body())
        texts = [body.input] if isinstance(body.input, str) else body.input
        if not texts or len(texts) > MOST_TEXTS or not all(text.strip() for text in texts):
            raise ValueError(f"Send 1 to {MOST_TEXTS:,} texts, none of them empty.")
        name = self.rooms.settings.get("embedding_model", "auto")
        model = await asyncio.to_thread(embedder, name, "en")
        vectors = (await model.documents(texts)).tolist()
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

    async def threads(self, request: Request) -> Response:
        """The caller's threads with a role."""
        role = request.query_params.get("role", "")
        if not role:
            raise ValueError("Say which role: /v1/threads?role=NAME.")
        model = await asyncio.to_thread(self.rooms.model, role)
        names = await self.rooms.threads_with(model.role, request.scope["caller"])
        return JSONResponse({"object": "list", "data": [{"id": name, "role": model.role} for name in names]})

    async def thread(self, request: Request) -> Response:
        """A thread: the turns of its head, and how many branches there are."""
        model, talk = await self._talk(request)
        branches = await talk.branches()
        turns = [
            {"turn": at, "id": one.id, "question": one.question, "reply": one.reply}
            for at, one in enumerate(await talk.history(), start=1)
        ]
        return JSONResponse(
            {
                "object": "thread",
                "id": request.path_params["thread"],
                "role": model.role,
                "turns": turns,
                "branches": [[one.id for one in branch] for branch in branches],
            }
        )

    async def turn(self, request: Request) -> Response:
        """A turn with all its evidence, by its number on the head's branch, or by its id on any."""
        model, talk = await self._talk(request)
        wanted = request.path_params["turn"]
        found = turn_at(await talk.history(), wanted) or next(
            (one for branch in await talk.branches() for one in branch if one.id == wanted), None
        )
        if found is None:
            raise HTTPException(404, "This thread has no such turn: /v1/threads/ID lists them.")
        state = await talk.values(found)
        return JSONResponse(
            {
                "object": "turn",
                "thread": request.path_params["thread"],
                "role": model.role,
                "id": found.id,
                "question": found.question,
                "reply": found.reply,
                "evidence": state.get("evidence") or {},
                "usage": state.get("usage") or {},
            }
        )

    async def _talk(self, request: Request) -> tuple[Model, Conversation]:
        """The conversation that a path names, with the role of `?role=`, or the only one that has it."""
        caller, thread = request.scope["caller"], request.path_params["thread"][:LONGEST_THREAD]
        role = request.query_params.get("role", "")
        roles = await asyncio.to_thread(spoken_with, self.rooms.library)
        named = [(await asyncio.to_thread(self.rooms.model, role)).role] if role else roles
        found = [Model(one, self.rooms.method) for one in named if thread in await self.rooms.threads_with(one, caller)]
        if not found:
            raise HTTPException(404, "There is no such thread: /v1/threads?role=NAME lists yours.")
        if len(found) > 1:
            several = ", ".join(model.role for model in found)
            raise ValueError(f"Several roles are on this thread ({several}): say which with ?role=NAME.")
        context = self.rooms.context(found[0], {})
        return found[0], await self.rooms.conversation(found[0], context, thread_name(caller, thread))


async def streamed(speech: Speech, body: ChatRequest, about: dict[str, Any]) -> AsyncIterator[str]:
    """A turn as events: why, the reply word by word, and the end; comments while the role thinks."""
    try:
        yield chunk(about, {"role": "assistant", "content": ""})
        pieces = speech.pieces()
        coming: asyncio.Future[Piece] = asyncio.ensure_future(anext(pieces))
        try:
            while True:
                await asyncio.wait({coming}, timeout=ALIVE_AFTER)
                if not coming.done():
                    yield ": thinking\n\n"
                    continue
                piece = coming.result()
                if not piece.thought:
                    yield chunk(about, {"content": piece.text})
                elif body.reasons:
                    yield chunk(about, {"reasoning_content": piece.text})
                coming = asyncio.ensure_future(anext(pieces))
        except StopAsyncIteration:
            pass
        finally:
            coming.cancel()
        yield chunk(about, {}, finish="stop")
        if (body.stream_options or {}).get("include_usage"):
            yield event({**about, "object": "chat.completion.chunk", "choices": [], "usage": usage_of(speech.output)})
        yield "data: [DONE]\n\n"
    except (ValueError, RuntimeError) as error:
        status, message, code = described(error)
        kind = "server_error" if status >= 500 else "invalid_request_error"
        yield event({"error": {"message": message, "type": kind, "param": None, "code": code}})
        yield "data: [DONE]\n\n"


async def until_gone(request: Request) -> None:
    """Wait until who has asked has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def named_thread(request: Request, body: ChatRequest) -> str:
    """The thread that a request names; empty: none.

    Raises:
        ValueError: the name is too long, or nothing that can be printed.
    """
    given: Any = request.headers.get("x-role-thread") or request.headers.get("x-openwebui-chat-id")
    given = given or (body.metadata or {}).get("thread_id") or ""
    if not isinstance(given, str) or len(given) > LONGEST_THREAD or not given.isprintable():
        raise ValueError(f"The name of a thread has at most {LONGEST_THREAD} characters that can be printed.")
    return given.strip()
