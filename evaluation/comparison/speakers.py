"""Who speaks in an evaluation: this package's workflows, other packages' methods in processes, floor and ceiling."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from dramaturg.evaluation.comparison.contestants import (
    BOUNDS,
    ToAsk,
    bound_reply,
    digest,
    language_in,
    server_of,
    speaking_model,
)
from dramaturg.evaluation.comparison.external import PACKAGES, ExternalMethod, MethodReply, external_method
from dramaturg.evaluation.comparison.records import Indexed, Reply
from dramaturg.evaluation.comparison.scenes import asked_after
from dramaturg.evaluation.comparison.threads import TalkThreads, messages_of, said_in, scened
from dramaturg.evaluation.comparison.users import NOTHING, UserLine, user_line
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.models.chat import Account, spending
from dramaturg.models.environment import environment
from dramaturg.models.errors import REFUSED, UNANSWERED
from dramaturg.nodes.asking import asked_in_all
from dramaturg.nodes.run import RunContext
from dramaturg.stores.files import read_if_there, write_bytes
from dramaturg.workflows.methods import Flow, chat_graph, flow, preparations
from dramaturg.workflows.server import RUNS, Server, graph_of, open_server

SEED = "server.txt"


class MethodSpeakers:
    """Whoever speaks; processes of other packages are started when first needed, and end with it."""

    def __init__(self, shared: RunContext, folder: Path) -> None:
        self.shared = shared
        self.folder = folder
        """Of the evaluation."""
        self.server: Server | None = None
        self.turns: asyncio.Semaphore | None = None
        """Of a server, which works at what it can and has the rest wait."""
        self._seed = ""
        self._open = AsyncExitStack()
        self._external: dict[tuple[str, str, int], ExternalMethod] = {}
        self._lock = asyncio.Lock()
        self._threads: TalkThreads | None = None

    async def __aenter__(self) -> Self:
        """Begin; on a server, if the settings name one."""
        if address := server_of(self.shared):
            self.server = await self._open.enter_async_context(open_server(address))
            self.turns, self._seed = asyncio.Semaphore(RUNS), await asyncio.to_thread(seed_in, self.folder)
        return self

    async def __aexit__(self, *error: object) -> None:
        """End the processes of other packages."""
        await self._open.aclose()

    async def prepare(self, asked: ToAsk) -> Indexed | None:
        """Index a role for a method, which is work that no question should be charged with; say what it has cost.

        None where nothing is indexed, or where a server does so, which does not say.
        """
        method, began = asked.contestant.method, time.perf_counter()
        calls = tokens = 0
        passages: int | None = None
        if method in BOUNDS:
            return None
        if method in PACKAGES:
            calls, tokens = asked_in_all([await (await self.external(asked)).prepare()]).values()
        else:
            context = asked.contestant.context(self.shared, asked.role.id, seed=0)
            if self.server:
                await self.server.prepare(method, context)
                return None
            if not (graphs := preparations(method, context)):
                return None
            for one in graphs.values():
                report = (await one.graph.ainvoke({}, context=one.context))["index"]
                calls, tokens = calls + report.get("calls", 0), tokens + report.get("tokens", 0)
                passages = report.get("passages", passages)
        return Indexed(
            key=digest(["index", asked.contestant.name, asked.role.id]),
            contestant=asked.contestant.name,
            role=asked.role.id,
            calls=calls,
            tokens=tokens,
            seconds=round(time.perf_counter() - began, 3),
            passages=passages,
        )

    async def require(self, asked: ToAsk) -> None:
        """Where the roles speak on a server, refuse what it would refuse, before anything is asked."""
        method = asked.contestant.method
        if not self.server or method in BOUNDS:
            return
        if method in PACKAGES:
            raise ValueError(f"{asked.contestant.name} runs in a process of this machine: leave it or --server out.")
        context = asked.contestant.context(self.shared, asked.role.id, asked.seed, asked.question.user_role)
        await self.server.require(asked.role.id, {graph_of(method): (chat_graph(method), context)})

    async def reply(self, asked: ToAsk) -> Reply:
        """Have a question answered in a conversation of its own; what does not come is missing, and says why."""
        began = time.perf_counter()
        user, spent = NOTHING, Account()
        about: dict[str, Any] = {
            "key": asked.key,
            "contestant": asked.contestant.name,
            "role": asked.role.id,
            "seed": asked.seed,
            "question": asked.question.id,
            "asked": asked.question.text,
            "made": asked.made,
            "model": "" if asked.contestant.method in BOUNDS else speaking_model(self.shared),
        }
        try:
            if asked.question.talk and asked.question.talk.kind == "user":
                user = await self.spoken_to(asked)
                asked = asked._replace(question=asked.question.model_copy(update={"text": user.text}))
                about |= {"asked": user.text, "user_calls": user.calls, "user_tokens": user.tokens}
                began = time.perf_counter()
            spending.set(spent)
            said = await self.say(asked)
        except (*UNANSWERED, *REFUSED) as error:
            about |= {"error": str(error), "refused": isinstance(error, REFUSED), **asked_in_all([spent.usage()])}
            return Reply(**about, text="", seconds=round(time.perf_counter() - began, 3))
        finally:
            spending.set(None)
        return Reply(
            **about,
            text=said.text,
            evidence=said.evidence,
            in_prompts=said.in_prompts,
            **asked_in_all([said.usage]),
            seconds=round(time.perf_counter() - began, 3),
        )

    async def say(self, asked: ToAsk) -> MethodReply:
        """Have it answered by the method that is meant."""
        if asked.contestant.method in BOUNDS:
            language = language_in(self.shared, asked.role)
            return MethodReply(bound_reply(asked.contestant.name, asked.question, language), {}, Account().usage())
        if asked.contestant.method in PACKAGES:
            return await (await self.external(asked)).answer(as_text(asked.question))
        method = asked.contestant.method
        if asked.question.played:
            return await asked_after(asked.question.played, asked, self.shared)
        if asked.question.talk:
            return await (await self.threads()).turn(asked, self.shared, flow(method))
        there = self.server.flow(method, "answer", self._seed) if self.server else flow(method)
        return await conversed(asked, self.shared, there)

    async def spoken_to(self, asked: ToAsk) -> UserLine:
        """What the simulated user says; where the turn was begun before, what it said then."""
        if asked.contestant.method not in PACKAGES and (text := await (await self.threads()).begun(asked)):
            return NOTHING._replace(text=text)
        return await user_line(asked, self.shared)

    async def threads(self) -> TalkThreads:
        """The threads of the talks, which are opened once."""
        async with self._lock:
            if self._threads is None:
                self._threads = await self._open.enter_async_context(TalkThreads.opened(self.folder))
            return self._threads

    async def external(self, asked: ToAsk) -> ExternalMethod:
        """Open another package's method for a role and seed, in its process; once is enough."""
        key = (asked.contestant.method, asked.role.id, asked.seed)
        async with self._lock:
            if key not in self._external:
                context = asked.contestant.context(self.shared, asked.role.id, asked.seed)
                opening = external_method(asked.contestant.method, context, environment().cache / "external")  # type: ignore[arg-type]  # one of PACKAGES
                self._external[key] = await self._open.enter_async_context(opening)
            return self._external[key]


def seed_in(folder: Path) -> str:
    """What the server's threads of a run are named by; kept in its folder, so that they are found again."""
    if (found := read_if_there(folder / SEED, within=folder)) is None:
        found = str(uuid4()).encode()
        write_bytes(folder / SEED, found, within=folder)
    return found.decode()


async def conversed(asked: ToAsk, shared: RunContext, method: Flow) -> MethodReply:
    """Run one turn of a method's graph from an empty state."""
    graph = method.builder.compile(InMemorySaver(), store=InMemoryStore())
    context = asked.contestant.context(shared, asked.role.id, asked.seed, user_role=asked.question.user_role)
    messages = await asyncio.to_thread(messages_of, asked.question, asked.role)
    config: Any = {"configurable": {"thread_id": asked.key}}
    output: dict[str, Any] = await graph.ainvoke({"messages": messages}, config, context=context, durability="exit")
    return said_in(output)


def as_text(question: DatasetQuestion) -> str:
    """The same as one text, for a method that takes no more."""
    return "\n".join([*(f"{turn.speaker}: {turn.text}" for turn in question.turns), scened(question)])
