"""A server of roles in this event loop, and a chat client as people have them: a screen, and what it sends of it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from dramaturg.conversations.opening import open_conversation
from dramaturg.server.access import Access
from dramaturg.server.app import RoleServer
from dramaturg.server.rooms import Rooms
from dramaturg.stores.library import Library, library_at
from dramaturg.workflows.methods import context_type

from fakes import ScriptedChatModel
from roles import run_settings, small_role
from talks import Player

PROMPT = "You are Ada. Write Ada's next reply in a fictional chat between Ada and User."
GO_ON = "[Continue your last message without repeating its original content.]"


@asynccontextmanager
async def served(
    folder: Path, model: Any = None, access: Access | None = None, **how: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """Serve the small role of a folder, or another library; AMADEUS is played unless there is another model."""
    shelf: Library | None = how.pop("library", None)
    grace = how.pop("grace", 5)
    library = folder / "library"
    if shelf is None and not (library / "ada").exists():
        small_role(library)
    settings = run_settings(library, model or ScriptedChatModel(reply=Player()))
    given = {name: settings[name] for name in ("chat_model", "embedding_model")} | how.pop("settings", {})
    rooms = Rooms(shelf or library_at(library), how.pop("method", "amadeus"), how.pop("flows", {}), given)
    app = RoleServer(rooms, access or Access(a_minute=100_000), **how).app()
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=grace))
    task = asyncio.create_task(server.serve())
    try:
        while not server.started:  # noqa: ASYNC110 (it has no event)
            await asyncio.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        await task


class Slow(ScriptedChatModel):
    """Streams a word of its reply, and the others when it is let."""

    words: int = 2
    let: Any = None

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        text = str(self.reply(messages))
        for number, word in enumerate(re.findall(r"\S+\s*", text)):
            if text.startswith("Reply") and number == self.words:
                await self.let.wait()
            yield ChatGenerationChunk(message=AIMessageChunk(word, id=f"of {text}"))


@dataclass
class Said:
    """What came of a stream."""

    content: str = ""
    reasoning: str = ""
    errors: list[dict[str, Any]] = field(default_factory=list)
    done: bool = False
    usage: dict[str, int] | None = None


def read_events(text: str) -> Said:
    """Read a stream that has ended."""
    said = Said()
    for line in text.splitlines():
        if not line.startswith("data: "):
            continue
        if line == "data: [DONE]":
            said.done = True
            continue
        event = json.loads(line.removeprefix("data: "))
        if "error" in event:
            said.errors.append(event["error"])
        for choice in event.get("choices", []):
            said.content += choice["delta"].get("content", "")
            said.reasoning += choice["delta"].get("reasoning_content", "")
        said.usage = event.get("usage") or said.usage
    return said


@dataclass
class Screen:
    """A chat client as SillyTavern is one: it keeps the chat, and sends a window of it with its own prompts around."""

    http: httpx.AsyncClient
    thread: str = ""
    greeting: str = ""
    window: int = 1_000
    headers: bool = True
    """Whether it sends the headers that it can be told to send."""
    key: str = ""
    model: str = "ada"
    said: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.greeting:
            self.said.append(("assistant", self.greeting))

    async def say(self, text: str) -> str:
        self.said.append(("user", text))
        return await self._reply("normal")

    async def swipe(self) -> str:
        self.said.pop()
        return await self._reply("swipe")

    async def edit(self, at: int, text: str) -> None:
        self.said[at] = (self.said[at][0], text)

    async def go_on(self) -> str:
        """Have the last reply gone on with."""
        rest = (await self.ask("continue", [GO_ON])).content
        self.said[-1] = ("assistant", f"{self.said[-1][1]} {rest}")
        return rest

    async def stopped(self, **more: Any) -> str:
        """Have a turn taken, go when its first words are there, and return those."""
        text = ""
        async with self.http.stream(
            "POST", "/v1/chat/completions", json=self.body(**more), headers=self.sent("normal")
        ) as response:
            async for line in response.aiter_lines():
                text += f"{line}\n"
                if read_events(text).content:
                    break
        return read_events(text).content

    async def _reply(self, generation: str) -> str:
        answer = await self.ask(generation)
        assert not answer.errors, answer.errors
        assert answer.done
        self.said.append(("assistant", answer.content))
        return answer.content

    def body(self, after: list[str] | None = None, **more: Any) -> dict[str, Any]:
        shown = [{"role": role, "content": text} for role, text in self.said[-self.window :]]
        before = [{"role": "system", "content": PROMPT}, {"role": "system", "content": "[Start a new Chat]"}]
        asides = [{"role": "system", "content": text} for text in after or ()]
        return {"model": self.model, "messages": [*before, *shown, *asides], "stream": True, **more}

    def sent(self, generation: str) -> Mapping[str, str]:
        own = {"X-Role-Thread": self.thread, "X-Gen-Type": generation, "X-Role-Char": "Ada"}
        who = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return who | ({name: value for name, value in own.items() if value} if self.headers else {})

    async def ask(self, generation: str, after: list[str] | None = None, **more: Any) -> Said:
        response = await self.http.post(
            "/v1/chat/completions", json=self.body(after, **more), headers=self.sent(generation)
        )
        if not more.get("stream", True):
            return Said(response.json()["choices"][0]["message"]["content"], done=True)
        assert response.status_code == 200, response.text
        return read_events(response.text)


async def only_finished(folder: Path, method: str, thread: str) -> None:
    """Require that nothing of a thread is unfinished, and that nobody holds it."""
    given = run_settings(folder / "library", ScriptedChatModel(reply=Player()))
    async with open_conversation(method, context_type(method)(**given), thread, patience=120) as talk:
        async with talk.turn():
            pass
        assert await talk.unfinished() is None
        assert all(turn.reply for branch in await talk.branches() for turn in branch)
