"""The door of a LangGraph server: what a caller sends as settings is refused before it is stored, unless it is open.

`langgraph.json` names `auth`, which asks nobody who they are, and `app`; a server with an `Auth` of its own calls
`guard` on it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from httpx import HTTPStatusError
from langgraph_sdk import Auth, get_client
from langgraph_sdk.errors import NotFoundError
from starlette.applications import Starlette
from starlette.authentication import BaseUser
from starlette.requests import Request
from starlette.responses import Response

from dramaturg.models.environment import check_environment
from dramaturg.nodes.open_settings import SettingRefused, require_open, require_opened
from dramaturg.nodes.run import RunContext

FROM_THE_SERVER = frozenset(
    {
        *("thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "cron_id"),
        *("langgraph_auth_user", "langgraph_auth_user_id", "langgraph_auth_permissions", "langgraph_request_id"),
        "__event_streaming_v2",
    }
)
"""What the server itself puts beside the settings of a run or a cron; it never reaches a graph's context."""


def guard(auth: Auth) -> Auth:
    """Let a server refuse settings that are not open, wherever it takes some.

    That is at all its doors: whoever asks for a run by threads, without one, in a batch, by MCP, A2A or a stream of
    events comes by `create_run`.
    """

    @auth.on.threads.create_run
    async def _run(ctx: Any, value: Any) -> None:
        sent = {"context": value["kwargs"].get("context")}  # also what was sent as `configurable`
        await require_open_of(value["assistant_id"], sent, FROM_THE_SERVER)

    async def _assistant(ctx: Any, value: Any) -> None:
        await require_open_of(value.get("graph_id") or value.get("assistant_id"), value)

    async def _cron(ctx: Any, value: Any) -> None:
        payload = value.get("payload") or {}
        if any(given_in(payload)):
            assistant = payload.get("assistant_id") or await assistant_of_cron(str(value["cron_id"]))
            await require_open_of(assistant, payload, FROM_THE_SERVER)

    auth.on.assistants.create(_assistant)
    auth.on.assistants.update(_assistant)
    auth.on.crons.create(_cron)
    auth.on.crons.update(_cron)
    return auth


async def require_open_of(assistant: Any, sent: Mapping[str, Any], known: frozenset[str] = frozenset()) -> None:
    """Refuse what may not be set.

    Args:
        assistant: its id, or the name of its graph.
        sent: what was sent, with a `context` or the `configurable` of a `config`.
        known: keys beside the settings.

    Raises:
        Auth.exceptions.HTTPException: 422, with a sentence about what may not be set.
    """
    for given in given_in(sent):
        if kind := await context_of(str(assistant)):
            try:
                require_open(kind, {name: one for name, one in given.items() if name not in known})
            except SettingRefused as refused:
                raise Auth.exceptions.HTTPException(status_code=422, detail=str(refused)) from None


def given_in(sent: Mapping[str, Any]) -> Iterator[Any]:
    """The settings that were sent, under either of their names."""
    for given in (sent.get("context"), (sent.get("config") or {}).get("configurable")):
        if given:
            yield given


async def context_of(assistant: str) -> type[RunContext] | None:
    """The class of an assistant's settings; none, if its graph is not of this package or there is no such assistant."""
    from langgraph_api.graph import GRAPHS, get_assistant_id

    graph = next((name for name in GRAPHS if assistant in (name, str(get_assistant_id(name)))), "")
    if not graph:
        try:
            graph = (await get_client().assistants.get(assistant))["graph_id"]
        except NotFoundError:  # as the server will say itself
            return None
    kind = getattr(GRAPHS.get(graph), "context_schema", None)
    return kind if isinstance(kind, type) and issubclass(kind, RunContext) else None


async def assistant_of_cron(cron: str) -> str:
    """Of which assistant the runs of a cron are."""
    found: Any = await get_client().http.get(f"/runs/crons/{cron}")
    return str(found["assistant_id"])


class Caller(dict[str, Any], BaseUser):
    """Who calls: a server that keeps its runs in a database writes it beside them as JSON."""

    @property
    def identity(self) -> str:
        """The name that the server goes by."""
        return str(self["identity"])

    @property
    def display_name(self) -> str:
        """The name that people see."""
        return self.identity

    @property
    def is_authenticated(self) -> bool:
        """Whether somebody has asked who it is: nobody has, and everybody may call."""
        return True


auth = guard(Auth())


@auth.authenticate
async def anybody() -> Caller:
    """Let everybody in: what they may set is another question."""
    return Caller(identity="anybody")


async def _say_again(_: Request, error: Any) -> Response:
    """Answer as the server has answered itself: MCP asks for its runs by the API, and would say nothing but 500."""
    return Response(error.response.content, error.response.status_code, media_type="application/json")


@asynccontextmanager
async def _checked(_: Starlette) -> AsyncIterator[None]:
    """Let a server start whose settings can be used; the graphs that it has are loaded by then."""
    from langgraph_api.graph import GRAPHS

    await asyncio.to_thread(check_environment)
    kinds: list[Any] = [getattr(graph, "context_schema", None) for graph in GRAPHS.values()]
    if all(kinds):  # of a graph that is made for each run nobody knows the settings yet
        require_opened(kind for kind in kinds if issubclass(kind, RunContext))
    yield


app = Starlette(exception_handlers={HTTPStatusError: _say_again}, lifespan=_checked)
