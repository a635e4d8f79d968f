"""LightRAG and Microsoft GraphRAG as methods that are compared: each in a process of its own, with this run's models.

Their index, retrieval and way of asking are the packages' own, reached by their public API (`external/`); what they ask
of a chat or embedding model comes back here and is answered by the models of the comparison, so that it is bounded and
counted like every other question. In the place of their prompt for answers stands that of naive RAG. The papers say
neither which versions they compared with nor what they told them; the versions are in the evidence.
"""

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.messages import convert_to_messages

from dramaturg.models.chat import Account, ChatModel, Usage
from dramaturg.models.embeddings import Embedder
from dramaturg.models.environment import environment
from dramaturg.models.errors import UNANSWERED, ModelError, UnusableAnswer
from dramaturg.models.questions import write
from dramaturg.nodes.run import RoleContext, language_of, run_of
from dramaturg.nodes.told import told_documents
from dramaturg.prompts import load
from dramaturg.stores.files import canonical, read_if_there, write_bytes
from dramaturg.stores.role import Role

TOKENS = 6000  # of an index that a model is shown; the packages' own 30,000 and 12,000 are too many for small ones
REPORT = "indexed.json"


class MethodReply(NamedTuple):
    """What a method said, what that rests on, and what it cost."""

    text: str
    evidence: dict[str, Any]
    usage: Usage
    in_prompts: tuple[str, ...] = ()
    """Of a role of a scene: which words of its question stood in a prompt."""


class ExternalMethod:
    """A method of another package, open for one role; `version` is the package's."""

    def __init__(self, worker: "Worker", texts: Mapping[str, str], folder: Path, version: str) -> None:
        self._worker = worker
        self._texts = texts
        self._folder = folder
        self.version = version

    async def prepare(self) -> Usage:
        """Index the role's documents, unless that was done; an index that was begun goes on."""
        report = self._folder / REPORT
        if await asyncio.to_thread(read_if_there, report, within=self._folder) is None:
            counts, usage = await self._worker.request("index", texts=self._texts)
            told: Any = {"version": self.version, **counts, "usage": usage}
            await asyncio.to_thread(write_bytes, report, canonical(told), within=self._folder)
            return usage
        return Account().usage()

    async def answer(self, question: str) -> MethodReply:
        """Answer one question, without a conversation before it."""
        found, usage = await self._worker.request("answer", question=question)
        if not (found["reply"] or "").strip():
            raise UnusableAnswer("The package gave no reply.")
        return MethodReply(found["reply"].strip(), {**found["evidence"], "version": self.version}, usage)


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
            return [(await self._model.query(text)).tolist() for text in message["texts"]]
        vectors: list[list[float]] = (await self._model.documents(message["texts"])).tolist()
        return vectors

    async def _say(self, message: Mapping[str, Any]) -> None:
        entry = self._process.stdin
        with suppress(BrokenPipeError, ConnectionResetError):  # it ended: `listen` says so
            if entry:
                entry.write(json.dumps(message).encode() + b"\n")
                await entry.drain()


@asynccontextmanager
async def external_method(
    name: External, context: RoleContext, folder: Path, *, tokens: int = TOKENS
) -> AsyncIterator[ExternalMethod]:
    """Open another package's method for a role, with the models of a context.

    Args:
        name: which package.
        context: the role, the models and their bounds.
        folder: where indexes are kept, each under a digest of what it depends on.
        tokens: the most of an index that the model is shown for a reply, as the package counts.
    """
    run = await run_of(context)
    role, chat, model = run.role, run.chat, await run.embedder()
    texts = {one.name: one.text for one in await asyncio.to_thread(told_documents, role)}
    language = language_of(context, role)
    rests_on: list[Any] = [name, texts, model.name, chat.name, language]
    place = folder / name / hashlib.sha256(canonical(rests_on)).hexdigest()[:16]
    await asyncio.to_thread(place.mkdir, parents=True, exist_ok=True)
    async with working(name, place, chat, model) as worker:
        version, _ = await worker.request(
            "open",
            folder=str(place.resolve()),
            dimension=len(await model.query(role.card.name)),
            embedding=model.name,
            language=language,
            instruction=instruction(role, language),
            tokens=tokens,
            concurrency=chat.at_once,
        )
        yield ExternalMethod(worker, texts, place, version)


def instruction(role: Role, language: str) -> str:
    """Who speaks, how, and at what length, as naive RAG says it."""
    system, asked = load("respond_from_knowledge", language).messages(
        role=role.card.name, data={"profile": role.card.profile, "knowledge": "", "question": ""}
    )
    return f"{system.text}\n{asked.text.splitlines()[-1]}"


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
    """Start the process, with nothing of this one's environment: no keys, and no settings meant for others."""
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
