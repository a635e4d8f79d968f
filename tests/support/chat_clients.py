"""Real chat clients in Chromium, and the servers that they talk to; `make clients` installs them."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from dramaturg.conversations.opening import open_conversation
from dramaturg.testing import write_role
from dramaturg.workflows.amadeus import AmadeusContext

from dev_server import free_port
from fakes import ScriptedChatModel
from roles import run_settings, small_role
from stub_endpoint import Endpoint, endpoint
from talks import Player

CLIENTS = Path(__file__).parents[2] / "build" / "clients"
CHROMIUM = shutil.which("chromium") or ""


def missing(client: str) -> str:
    """What is not installed; empty: nothing."""
    if not (CLIENTS / f".{client}").exists():
        return f"build/clients/{client} is not there: make clients"
    return "" if CHROMIUM else "There is no browser: apt-get install chromium"


@contextmanager
def running(command: list[str], log: Path, url: str, where: Path | None = None, **env: str) -> Iterator[httpx.Client]:
    """Run a server until it is left, and give a client of it; it is up when `url` answers."""
    base, _, path = url.rpartition("/")
    with log.open("wb") as written, httpx.Client(base_url=base, timeout=60, trust_env=False) as http:
        process = subprocess.Popen(command, cwd=where, stdout=written, stderr=written, env={**os.environ, **env})
        try:
            ends = time.monotonic() + 600
            while True:
                try:
                    if http.get(f"/{path}").is_success:
                        break
                except httpx.TransportError:
                    pass
                if process.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError(log.read_text()[-3_000:])
                time.sleep(0.2)
            yield http
        finally:
            process.terminate()
            process.wait(60)


@asynccontextmanager
async def page_at(url: str, width: int = 1000, height: int = 720) -> AsyncIterator[Any]:
    """A page in Chromium that reaches this machine and nothing else; a picture of it is left where something fails."""
    library = next(CLIENTS.glob("playwright/lib/python3*/site-packages"))
    if str(library) not in sys.path:
        sys.path.append(str(library))  # it is for these tests alone
    from playwright.async_api import async_playwright

    async with async_playwright() as started:
        rules = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        browser = await started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rules])
        try:
            context = await browser.new_context(viewport={"width": width, "height": height})
            page = await context.new_page()
            page.set_default_timeout(90_000)
            await page.goto(url)
            try:
                yield page
            except BaseException:
                await page.screenshot(path=CLIENTS / "failed.png")
                raise
        finally:
            await browser.close()


TASKS = {"title": "A talk by the sea", "tags": ["sea"], "follow_ups": ["And then?"]}


class OnOneLine(Player):
    """Replies on one line, since clients cut off what looks like a line of the user's; and does Open WebUI's tasks."""

    def __call__(self, messages: list[Any]) -> str | Exception:
        if "### Task:" in messages[-1].text:
            return json.dumps(TASKS)
        answer = super().__call__(messages)
        return answer.replace("\n\n", " / ") if isinstance(answer, str) else answer


@dataclass
class Stage:
    """`dramaturg serve`, its roles, and the model behind it."""

    folder: Path
    http: httpx.Client
    stub: Endpoint
    player: Player

    @property
    def base_url(self) -> str:
        """As a client is told it."""
        return f"{str(self.http.base_url).rstrip('/')}/v1"

    def threads(self, role: str = "ada") -> list[str]:
        return [one["id"] for one in self.http.get("/v1/threads", params={"role": role}).json()["data"]]

    def turns(self, role: str, thread: str) -> list[tuple[str, str]]:
        said = self.http.get(f"/v1/threads/{thread}", params={"role": role}).json()["turns"]
        return [(turn["question"], turn["reply"]) for turn in said]

    async def remembered(self, role: str, thread: str) -> set[str]:
        """The questions that the role memory of a thread's head is from."""
        settings = run_settings(self.folder / "library", ScriptedChatModel(reply=Player()), role=role)
        async with open_conversation("amadeus", AmadeusContext(**settings), thread) as talk:
            known = (await talk.values()).get("role_memory", [])
            return {one["attribute"].removeprefix("She thought of ") for one in known}


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """Serve Ada, Bert, Cora, and Bada, who is Korean, in a process of its own."""
    small_role(folder / "library")
    write_role(folder / "library", "bert", name="Bert Hale")
    write_role(folder / "library", "cora", name="Cora Lind")
    korean = write_role(folder / "library", "bada", name="바다") / "role.yaml"
    korean.write_text(korean.read_text().replace("language: en", "language: ko"))
    player, url = OnOneLine(), f"http://127.0.0.1:{free_port()}"
    command = [str(Path(sys.executable).parent / "dramaturg"), "serve", "--port", url.rpartition(":")[2]]
    with endpoint() as stub:
        stub.model = ScriptedChatModel(reply=player)
        own: Mapping[str, str] = {"DRAMATURG_LIBRARY": str(folder / "library"), "DRAMATURG_CACHE": str(folder / "c")}
        with running(command, folder / "serve.log", f"{url}/health", **stub.variables(), **own) as http:
            yield Stage(folder, http, stub, player)


@contextmanager
def open_webui(folder: Path, base_url: str, *, headers: bool = True) -> Iterator[httpx.Client]:
    """Run the real Open WebUI, with the server of roles as its only models."""
    folder.mkdir()
    port = str(free_port())
    settings = {
        "OPENAI_API_BASE_URL": base_url,
        "OPENAI_API_KEY": "none",
        "ENABLE_FORWARD_USER_INFO_HEADERS": str(headers),
        "WEBUI_AUTH": "False",
        "WEBUI_SECRET_KEY": "of a test",
        "DATA_DIR": str(folder),
        "ENABLE_OLLAMA_API": "False",
        "OFFLINE_MODE": "True",
        "HF_HUB_OFFLINE": "1",
        "BYPASS_EMBEDDING_AND_RETRIEVAL": "True",
        "RAG_EMBEDDING_ENGINE": "openai",
    }
    command = [str(CLIENTS / "open-webui" / "bin" / "open-webui"), "serve", "--host", "127.0.0.1", "--port", port]
    with running(command, folder / "webui.log", f"http://127.0.0.1:{port}/health", folder, **settings) as http:
        yield http
