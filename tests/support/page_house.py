"""The page of a server of roles in Chromium: a model that plays every method, and a cable that can be cut."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from all_methods import whole_cast, whole_role
from chat_clients import CLIENTS, page_at
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from dev_server import free_port
from fakes import ScriptedChatModel
from roles import fenced
from served_roles import served


class Voice(ScriptedChatModel):
    """Streams its replies word by word; while it is held, it says one word of a reply and waits."""

    gate: Any = None

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        answer = self.reply(messages)
        if isinstance(answer, Exception):
            raise answer
        said = str(uuid4())
        for number, word in enumerate(re.findall(r"\S+\s*", str(answer))):
            if number == 1 and str(answer).startswith("Reply"):
                await self.gate.wait()
            yield ChatGenerationChunk(message=AIMessageChunk(word, id=said))


class Cable:
    """What lies between the browser and the server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.writers: set[asyncio.StreamWriter] = set()
        self.own = free_port()
        self.server: asyncio.Server | None = None

    async def plug_in(self) -> None:
        self.server = await asyncio.start_server(self._carry, "127.0.0.1", self.own)

    async def cut(self) -> None:
        """Take it out, in the middle of whatever is said."""
        assert self.server
        self.server.close()
        for one in list(self.writers):
            one.transport.abort()
        await asyncio.sleep(0.05)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.port)
        both = {writer, back}
        self.writers |= both
        try:
            await asyncio.gather(_copied(reader, back), _copied(there, writer))
        finally:
            self.writers -= both


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    with suppress(ConnectionError, RuntimeError):
        writer.close()


class House:
    """A server, its page, and what a person does there."""

    def __init__(self, http: Any, page: Any, cable: Cable, gate: asyncio.Event) -> None:
        self.http, self.page, self.cable, self.gate = http, page, cable, gate

    async def open(self, role: str = "Ada Quill", method: str = "amadeus") -> None:
        """Begin a talk with somebody of the gallery."""
        await self.page.wait_for_selector("#title:not(:empty)")  # then it is known what is shown
        if not await self.page.locator("#gallery").is_visible():
            await self.side("#open-gallery")
        await self.page.locator("#gallery").get_by_role("button", name=role, exact=True).click()
        await self.page.wait_for_selector("#say:visible")
        await self.choose(method)

    async def side(self, button: str) -> None:
        """Press a button of the list of talks, which a phone opens first."""
        if await self.page.locator("#open-side").is_visible() and not await self.page.locator("#side").is_visible():
            await self.page.click("#open-side")
        await self.page.click(button)

    async def choose(self, method: str = "", name: str | None = None, language: str = "") -> None:
        """Set a method, who one is, or a language."""
        await self.side("#open-settings")
        await self.page.wait_for_selector("#dialog[open]")
        if method:
            await self.page.check(f"#dialog input[value={method}]")
        if name is not None:
            await self.page.fill("#as", name)
        if language:
            await self.page.select_option("#language", language)
        else:
            await self.page.click("#dialog .head button")
        if await self.page.locator("#close-side").is_visible():
            await self.page.click("#close-side")

    async def begin(self) -> None:
        """Begin another talk with the same role."""
        await self.side("#new")
        await self.page.wait_for_selector(".greeting")

    async def menu(self, item: str) -> None:
        """Choose something in the menu of the role that is talked to, or go back from it."""
        if await self.page.locator("#back").is_visible():
            await self.page.click("#back")
        else:
            await self.page.click("#about-role")
            await self.page.click(item)

    async def cast(self) -> None:
        """Begin to cast a character, from the gallery."""
        await self.page.wait_for_selector("#new-character:visible, #cast-here:visible")
        if await self.page.locator("#new-character").is_visible():
            await self.page.click("#new-character")
        await self.page.click("#cast-here")

    async def why(self) -> None:
        """Open why, for the reply that was spoken last."""
        if not await self.page.locator("#why").is_visible():
            await self.page.click("#toggle-why")
        await self.page.wait_for_selector("#why-body .because")

    async def say(self, text: str) -> None:
        await self.page.fill("#say", text)
        await self.page.press("#say", "Enter")
        await self.settled()

    async def barriers(self, state: str) -> list[str]:
        """The rules that axe finds broken on the page, each with the first elements that break it."""
        axe = CLIENTS / "axe" / "node_modules" / "axe-core" / "axe.min.js"
        await self.page.evaluate(axe.read_text())
        result = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [f"{state}: {one['id']} {[n['html'][:90] for n in one['nodes']][:3]}" for one in result["violations"]]

    async def settled(self) -> None:
        await self.page.wait_for_selector("#send:visible")

    async def until(self, true: str) -> None:
        """Wait until an expression is true: Playwright's own waiting is refused by the page's policy."""
        ends = time.monotonic() + 90  # as Playwright's own here
        while not await self.page.evaluate(true):
            if time.monotonic() > ends:
                raise AssertionError(f"It never came to be true: {true}")
            await asyncio.sleep(0.02)

    async def shown(self) -> list[tuple[str, str]]:
        """The turns on the screen."""
        return [
            (await self._text(one, ".asked"), await self._text(one, ".reply"))
            for one in await self.page.query_selector_all("#turns > li")
        ]

    async def _text(self, one: Any, where: str) -> str:
        found = await one.query_selector(f"{where} .text")
        return (await found.text_content()).strip() if found else ""

    async def press(self, where: str, name: str, turn: int = -1) -> None:
        """Press a button at the question (.asked) or at the reply (.reply) of a turn."""
        turns = await self.page.query_selector_all("#turns > li")
        number = turn % len(turns) + 1
        await (
            self.page.locator(f"#turns > li:nth-child({number}) {where}")
            .get_by_role("button", name=name, exact=True)
            .click()
        )

    async def held(self) -> list[tuple[str, str]]:
        """The turns on the server, on the branch that was spoken on last."""
        names = (await self.http.get("/v1/threads?role=ada")).json()["data"]
        turns = (await self.http.get(f"/v1/threads/{quote(names[0]['id'], safe='')}?role=ada")).json()["turns"]
        return [(one["question"], one["reply"]) for one in turns]


@asynccontextmanager
async def page_house(folder: Path, width: int = 1280, height: int = 800, **how: Any) -> AsyncIterator[House]:
    """Serve Ada, and open the page."""
    gate, replies = asyncio.Event(), iter(range(1, 10_000))
    gate.set()
    parts = how.pop("parts", {})

    def reply(text: str) -> str:
        return f"Reply {next(replies)} to {fenced('question', text)}"

    if not (folder / "library" / "ada").exists():
        whole_role(folder / "library")
    model = Voice(reply=whole_cast(**{"reply": reply, **parts}).reply, gate=gate)
    async with served(folder, model, **how) as http:
        cable = Cable(http.base_url.port)
        await cable.plug_in()
        try:
            async with page_at(f"http://127.0.0.1:{cable.own}/", width, height) as page:
                yield House(http, page, cable, gate)
        finally:
            gate.set()
            await cable.cut()
