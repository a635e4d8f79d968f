"""LightRAG and Microsoft GraphRAG as methods that are compared: each in a process of its own, with this run's models.

Their index, retrieval and way of asking are the packages' own, reached by their public API (`external/`); what they ask
of a chat or embedding model comes back here and is answered by the models of the comparison, so that it is bounded and
counted like every other question. In the place of their prompt for answers stands that of naive RAG. The papers say
neither which versions they compared with nor what they told them; the versions are in the evidence.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.external_process import External, Worker, working
from dramaturg.models.account import Account, Usage
from dramaturg.models.errors import UnusableAnswer
from dramaturg.nodes.context import RoleContext, embedder_of, language_of, respondent_of, role_of
from dramaturg.prompts import load
from dramaturg.stores.files import canonical, read_if_there, write_bytes
from dramaturg.stores.role import Role

TOKENS = 6000  # of an index that a model is shown; the packages' own 30,000 and 12,000 are too many for small ones
REPORT = "indexed.json"


class ExternalAnswer(NamedTuple):
    """A reply, what it rests on, and what it cost."""

    reply: str
    evidence: dict[str, Any]
    usage: Usage


class ExternalMethod:
    """A method of another package, open for one role; `version` is the package's."""

    def __init__(self, worker: "Worker", texts: Mapping[str, str], folder: Path, version: str) -> None:
        self._worker = worker
        self._texts = texts
        self._folder = folder
        self.version = version

    async def prepare(self) -> Usage:
        """Index the role's documents, unless that was done; what was begun goes on.

        Raises:
            ExternalFailed: the package could not index them.
            ModelError: the model cannot be reached or refuses every question.
        """
        report = self._folder / REPORT
        if await asyncio.to_thread(read_if_there, report, within=self._folder) is None:
            counts, usage = await self._worker.request("index", texts=self._texts)
            told: Any = {"version": self.version, **counts, "usage": usage}
            await asyncio.to_thread(write_bytes, report, canonical(told), within=self._folder)
            return usage
        return Account().usage()

    async def answer(self, question: str) -> ExternalAnswer:
        """Answer one question, without a conversation before it.

        Raises:
            UnusableAnswer: there is no reply.
            ExternalFailed: the package failed.
            ModelError: the model cannot be reached or refuses every question.
        """
        found, usage = await self._worker.request("answer", question=question)
        if not (found["reply"] or "").strip():
            raise UnusableAnswer("The package gave no reply.")
        return ExternalAnswer(found["reply"].strip(), {**found["evidence"], "version": self.version}, usage)


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

    Raises:
        ExternalFailed: the package is not installed; the message says what to do.
        RoleError: the library has no such role, or its files cannot be read.
    """
    role = await role_of(context)
    chat, model = await respondent_of(context, role), await embedder_of(context, role)
    texts = {one.name: one.text for one in await asyncio.to_thread(role.documents)}
    language = language_of(context, role)
    place = folder / name / digest(name, texts, model.name, chat.name, language)
    await asyncio.to_thread(place.mkdir, parents=True, exist_ok=True)
    async with working(name, place, chat, model) as worker:
        version, _ = await worker.request(
            "open",
            folder=str(place.resolve()),
            dimension=len(await model.embeddings.aembed_query(role.card.name)),
            embedding=model.name,
            language=language,
            instruction=instruction(role, language),
            tokens=tokens,
            concurrency=chat.concurrency,
        )
        yield ExternalMethod(worker, texts, place, version)


def digest(*parts: Any) -> str:
    """What an index depends on, short enough for the name of a folder."""
    return hashlib.sha256(canonical(list(parts))).hexdigest()[:16]


def instruction(role: Role, language: str) -> str:
    """Who speaks and how, as naive RAG says it."""
    system, *_ = load("respond_from_knowledge", language).messages(
        role=role.card.name, data={"profile": role.card.profile, "knowledge": "", "question": ""}
    )
    return system.text
