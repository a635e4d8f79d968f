"""The process of another package: requests go in as JSON lines, and what it asks of a model is answered here.

It runs `external/worker.py` in the Python of that package, with nothing of this process's environment.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.messages import convert_to_messages

from dramaturg.models.account import Account, Usage
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.models.environment import environment
from dramaturg.models.errors import UNANSWERED, ModelError
from dramaturg.models.questions import write

WORKER = Path(__file__).parents[1] / "external" / "worker.py"
LONGEST_LINE = 2**28  # bytes: the vectors of a whole index may come in one
PATIENCE = 10.0  # seconds for a process to end by itself

External = Literal["lightrag", "graphrag"]


class Package(NamedTuple):
    """How a package is called, by people, by pip, and by the setting that names its Python."""

    title: str
    project: str
    variable: str


PACKAGES: Mapping[External, Package] = {
    "lightrag": Package("LightRAG", "lightrag-hku", "DRAMATURG_LIGHTRAG_PYTHON"),
    "graphrag": Package("GraphRAG", "graphrag", "DRAMATURG_GRAPHRAG_PYTHON"),
}


class ExternalFailed(RuntimeError):
    """Another package's method is not installed, or could not do what was asked of it."""


class Worker:
    """A process that does one request after another, and asks for models in between."""

    def __init__(
        self, name: External, process: asyncio.subprocess.Process, chat: ChatModel, model: Embedder, log: Path
    ) -> None:
        self._package = PACKAGES[name]
        self._process = process
        self._chat_model = chat
        self._model = model
        self._log = log
        self._turn = asyncio.Lock()
        self._requests = 0
        self._waiting: asyncio.Future[Any] | None = None
        self._asked: set[asyncio.Task[None]] = set()
        self._trouble: ModelError | None = None
        self._ended = ""

    async def request(self, kind: str, **given: Any) -> tuple[Any, Usage]:
        """Have one thing done; what it gives, and what it cost.

        Raises:
            ExternalFailed: the package is not there, failed, or its process ended.
            ModelError: the model cannot be reached or refuses every question, whatever the package makes of that.
        """
        async with self._turn:
            self._requests += 1
            self._trouble, self._waiting = None, asyncio.get_running_loop().create_future()
            self._chat_model = replace(self._chat_model, account=Account())
            await self._say({"do": kind, "request": self._requests, **given})
            if self._ended:
                self._fail(self._ended)
            try:
                done = await self._waiting
            except ExternalFailed as error:
                raise self._trouble or error from None
            if self._trouble:
                raise self._trouble
            return done, self._chat_model.account.usage()

    async def listen(self) -> None:
        """Read lines until the process ends."""
        output = self._process.stdout
        while output and (line := await output.readline()):
            message = json.loads(line)
            if "ask" in message:
                task = asyncio.create_task(self._answer(message))
                self._asked.add(task)
                task.add_done_callback(self._asked.discard)
            elif message["request"] == self._requests:  # an older one was given up
                self._settle(message)
        self._ended = f"The process of {self._package.title} ended: {self._log} says why."
        self._fail(self._ended)

    def stop(self) -> None:
        """Answer nothing any more."""
        for task in self._asked:
            task.cancel()

    def _settle(self, message: Mapping[str, Any]) -> None:
        if message.get("missing"):
            self._fail(missing(self._package, message["failed"]))
        elif "failed" in message:
            self._fail(f"{self._package.title} failed ({message['failed']}): {self._log} says more.")
        elif self._waiting and not self._waiting.done():
            self._waiting.set_result(message["done"])

    def _fail(self, text: str) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_exception(ExternalFailed(text))

    async def _answer(self, message: Mapping[str, Any]) -> None:
        try:
            answer: Any = await (self._chat(message) if message["ask"] == "chat" else self._embed(message))
        except ModelError as error:
            if not isinstance(error, UNANSWERED):
                self._trouble = error
            await self._say({"number": message["number"], "error": str(error)})
        else:
            await self._say({"number": message["number"], "answer": answer})

    async def _chat(self, message: Mapping[str, Any]) -> str:
        messages = convert_to_messages(message["messages"])
        return await write(self._chat_model, messages, temperature=0, max_tokens=message["most"], quiet=True)

    async def _embed(self, message: Mapping[str, Any]) -> list[list[float]]:
        if message["query"]:
            return [await self._model.embeddings.aembed_query(text) for text in message["texts"]]
        return await self._model.embeddings.aembed_documents(message["texts"])

    async def _say(self, message: Mapping[str, Any]) -> None:
        entry = self._process.stdin
        with suppress(BrokenPipeError, ConnectionResetError):  # it ended: `listen` says so
            if entry:
                entry.write(json.dumps(message).encode() + b"\n")
                await entry.drain()


@asynccontextmanager
async def working(name: External, folder: Path, chat: ChatModel, model: Embedder) -> AsyncIterator[Worker]:
    """Start a worker, and end it at last."""
    log = folder / "log.txt"
    process = await started(name, folder, log)
    worker = Worker(name, process, chat, model, log)
    listening = asyncio.create_task(worker.listen())
    try:
        yield worker
    finally:
        worker.stop()
        await ended(process)
        listening.cancel()


async def started(name: External, folder: Path, log: Path) -> asyncio.subprocess.Process:
    """Start the process, with nothing of this one's environment: no keys, and no settings meant for others.

    Raises:
        ExternalFailed: there is no such Python.
    """
    python = getattr(environment(), f"{name}_python") or Path(sys.executable)
    surroundings = {"HOME": str(folder), "PATH": os.defpath, "PYTHONUTF8": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    try:
        with log.open("ab") as errors:
            return await asyncio.create_subprocess_exec(
                *(str(python), str(WORKER), name),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=surroundings,
                limit=LONGEST_LINE,
            )
    except OSError as error:
        raise ExternalFailed(missing(PACKAGES[name], f"{type(error).__name__}: {python}")) from error


async def ended(process: asyncio.subprocess.Process) -> None:
    """Let a process end, or end it."""
    if process.stdin:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()


def missing(package: Package, reason: str) -> str:
    """What to do where a package is not there."""
    return (
        f"{package.title} is not there ({reason}): make an environment of its own, run `pip install {package.project}` "
        f"in it, and set {package.variable} to its Python."
    )
