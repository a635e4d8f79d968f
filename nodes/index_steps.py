"""What the indexes of all kinds of knowledge have in common: check → draft → embed, ask → publish; resumable.

A kind has a file of its own with what differs: what its records are, what a chat model is asked, what a version holds.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from importlib.metadata import version
from typing import Annotated, Any, Generic, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.models.chat import Usage, add_usage
from dramaturg.models.embeddings import EndpointEmbeddings
from dramaturg.models.telemetry import note
from dramaturg.nodes.asking import Answers, progress
from dramaturg.nodes.run import RoleContext, Run, needs
from dramaturg.nodes.turn import clipped
from dramaturg.stores.errors import DamagedIndex, MissingIndex, StaleDraft
from dramaturg.stores.index.answers import answer_key
from dramaturg.stores.index.builder import IndexBuilder
from dramaturg.stores.index.folder import Done, S
from dramaturg.stores.index.opened import Index
from dramaturg.stores.index.records import R
from dramaturg.stores.index.vectors import Vectors, with_direction

PATIENCE = 50  # times that an index is made again because its sources were changed meanwhile
BATCH = 64  # texts that are embedded in one call
TRIED = 16  # texts that are embedded to see how long it takes
WISHES = ("rebuild", "retry", "plan", "apply", "scores")

Knowledge = Literal["passages", "graph", "memories", "dialogues"]
"""The kinds of knowledge that are indexed. In a turn each has channels of its own."""

C_co = TypeVar("C_co", bound=RoleContext, covariant=True)
P = ParamSpec("P")
Node: TypeAlias = Callable[P, Coroutine[Any, Any, dict[str, Any]]]


Rebuild = Annotated[bool, Field(description="Rebuild everything; the old index is used until the new one is ready.")]
PublishedVersion = Annotated[
    str, Field(description="The version that was published; empty where none was, or the draft must be made again.")
]


class IndexDraftState(TypedDict):
    """Indexing under way."""

    draft: Annotated[str, Field(description="Where the draft is on disk.")]
    version: PublishedVersion
    overtaken: Annotated[int, Field(description="How often the sources have changed meanwhile.")]
    usage: Annotated[
        dict[str, Usage], Field(description="What each node asked the chat model: calls, tokens, seconds."), add_usage
    ]


class PublishingState(TypedDict):
    """What publishing leaves."""

    version: PublishedVersion


async def checked(run: Run[Any], index: Index[R, S], knowledge: Knowledge, same: Callable[[S], bool]) -> dict[str, Any]:
    """What a check node writes: the version that was made from the sources and the embedding model of now, or none.

    A warning of a version that stands in for a damaged one is given here: later nodes ask for it by its name.

    Args:
        run: whose role and embedding model.
        index: the index of a kind of knowledge.
        knowledge: the kind, whose channels are written: `passages_stale` and `passages_version`, and so on.
        same: whether a version was made with the settings of now.

    Raises:
        DamagedIndex: no version is what was written.
    """
    store = await asyncio.to_thread(current, index, (await run.embedder()).name, same)
    if store is None:
        return {f"{knowledge}_stale": True, f"{knowledge}_version": ""}
    warned = {"evidence": {"warning": store.warning}} if store.warning else {}
    return {f"{knowledge}_stale": False, f"{knowledge}_version": store.version, **warned}


def current(index: Index[R, S], embedding: str, same: Callable[[S], bool]) -> S | None:
    """The version that is read now, if it was made from the sources, settings and embedding model of now."""
    try:
        store = index.open()
    except MissingIndex:
        return None
    return store if same(store) and store.made_from(embedding, index.sources.checksums()) else None


def whole_version(index: Index[R, S]) -> S | None:
    """The version that is read now, for those who make a new one: a damaged index counts as missing.

    It is not kept open beside the new one.
    """
    try:
        return index.open(hold=False)
    except (DamagedIndex, MissingIndex):
        return None


async def unchanged(
    run: Run[Any], index: Index[R, Any], state: Mapping[str, Any], knowledge: Knowledge, settings: str
) -> dict[str, Any]:
    """What a recheck node writes: the report of the version that is read now, if indexing would come to it again.

    A wish is always gone into. What an earlier run has asked is no more counted, in any case.

    Args:
        run: whose embedding model, which is not loaded for it.
        index: the index of a kind of knowledge.
        state: with the wishes.
        knowledge: the kind, whose version is written.
        settings: `told` of now.
    """
    nothing = {"version": "", "usage": Overwrite({})}
    if any(state.get(wish) for wish in WISHES):
        return nothing
    manifest = await asyncio.to_thread(index.unchanged, run.embedding_name, settings)
    if manifest is None or manifest.done is None:
        return nothing
    report = {**manifest.done.report, "version": manifest.version}
    return {**nothing, "index": report, "version": manifest.version, f"{knowledge}_version": manifest.version}


@needs(version="a node that rechecks")
def recheck_outcome(state: PublishingState) -> Literal["unchanged", "index"]:
    """Whether there is nothing to do."""
    return "unchanged" if state["version"] else "index"


def told(run: Run[Any], kind: type[RoleContext], *more: JsonValue) -> str:
    """The digest of all that decides what indexing comes to, beside the sources and the embedding model.

    Args:
        run: whose role and settings; those of the run itself, such as its models, have no part in it.
        kind: the settings that indexing reads.
        more: what else decides it.
    """
    card = run.role.card
    own = run.settings.model_dump(mode="json", include={*kind.model_fields} - {*RoleContext.model_fields})
    return answer_key("told", version("dramaturg"), own, [card.name, *card.aliases], card.language, *more)


async def begin_draft(
    run: Run[Any],
    index: Index[R, Any],
    state: Mapping[str, Any],
    records: Sequence[R],
    settings: Mapping[str, JsonValue],
    sources: Mapping[str, str],
) -> dict[str, Any]:
    """Write records down as a draft, or find it again; return its id, no version and no usage of an earlier run.

    Args:
        run: whose embedding model.
        index: the index.
        state: `rebuild` begins it without anything known; after an overtaken draft, that one's vectors are taken over.
        records: all of the version.
        settings: how they were made.
        sources: the checksum of each file, from before it was read.
    """
    again = bool(state.get("overtaken"))
    draft = await asyncio.to_thread(
        index.builder.draft,
        records,
        embedding=(await run.embedder()).name,
        settings=settings,
        sources=sources,
        fresh=bool(state.get("rebuild")),
        after=state["draft"] if again else "",
    )
    return {"draft": draft, "version": "", **({} if again else {"usage": Overwrite({})})}


class NoVector(ValueError):
    """The embedding model gave some texts no direction: numbers that are not finite, or all zeros."""

    def __init__(self, model: str, texts: Sequence[str]) -> None:
        more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
        super().__init__(
            f"The embedding model {model} gave no usable vector for “{clipped(' '.join(texts[0].split()), 80)}”{more}: "
            "change that text, or take another embedding model."
        )
        self.texts = texts


async def embed_batches(
    run: Run[Any], builder: IndexBuilder[Any], draft: str, size: int, texts: Sequence[str] | None = None
) -> AsyncIterator[tuple[int, int]]:
    """Embed what has no vector yet, `size` texts in a call; a run that is killed embeds only what is left.

    An endpoint is sent as many calls at once as it is asked questions; a model in the process one after another.

    Args:
        run: whose embedding model.
        builder: of the index.
        draft: its id.
        size: texts in one call.
        texts: what is embedded; None: the records of the draft.

    Yields:
        How many are done, and how many there were to do.

    Raises:
        MissingIndex: the draft is gone.
        ModelError: the embedding model cannot be reached; what came before is kept.
        NoVector: it gave some texts no direction; all others are kept.
    """
    left, model = await asyncio.to_thread(builder.unembedded, draft, texts), await run.embedder()
    at_once = run.chat.at_once if isinstance(model.embeddings, EndpointEmbeddings) else 1
    without, dimension, done = list[str](), cast("int | None", None), 0
    while done < len(left):
        most = size if dimension is None else size * at_once  # the first call tells the dimension of all
        batches = [left[at : min(at + size, done + most)] for at in range(done, min(done + most, len(left)), size)]
        calls = (model.documents(batch, dimension=dimension, faulty=True) for batch in batches)
        given = await asyncio.gather(*calls, return_exceptions=True)
        had = [(batch, rows) for batch, rows in zip(batches, given, strict=True) if not isinstance(rows, BaseException)]
        if had:
            together = [text for batch, _ in had for text in batch]
            vectors = np.concatenate([rows for _, rows in had]).astype(np.float32)
            usable = with_direction(vectors)
            kept = [text for text, good in zip(together, usable, strict=True) if good]
            without += [text for text, good in zip(together, usable, strict=True) if not good]
            await asyncio.to_thread(builder.add_vectors, draft, kept, vectors[usable])
            dimension = vectors.shape[1]
        for failed in given:
            if isinstance(failed, BaseException):
                raise failed
        done += sum(map(len, batches))
        yield done, len(left)
    if without:
        raise NoVector(model.name, without)


class LookedAt(Mapping[str, JsonValue]):
    """Answers that note which of them are looked at: those that a version rests on."""

    def __init__(self, answers: Mapping[str, JsonValue], seen: dict[str, JsonValue]) -> None:
        self._answers = answers
        self._seen = seen

    def __getitem__(self, key: str) -> JsonValue:
        """Look an answer up."""
        self._seen[key] = self._answers[key]
        return self._seen[key]

    def __iter__(self) -> Iterator[str]:
        """Go through the keys."""
        return iter(self._answers)

    def __len__(self) -> int:
        """Count them."""
        return len(self._answers)


@dataclass(frozen=True)
class IndexBuild(Generic[C_co, R]):
    """What a step of a build works with: the run, and the draft in which records, answers and vectors are kept."""

    run: Run[C_co]
    runtime: Runtime[Any]
    index: Index[R, Any]
    draft: str
    read: dict[str, JsonValue] | None = None
    """Where answers are noted that are read, for a version that keeps what it rests on."""

    async def records(self) -> Sequence[R]:
        """All records of the draft."""
        return await asyncio.to_thread(self.index.builder.records, self.draft)

    async def answers(self) -> Mapping[str, JsonValue]:
        """All answers so far, by the keys that they are kept under."""
        answers = await asyncio.to_thread(self.index.builder.answers, self.draft)
        return answers if self.read is None else LookedAt(answers, self.read)

    async def keep(self, answers: Answers) -> None:
        """Write answers to the draft."""
        await asyncio.to_thread(self.index.builder.add_answers, self.draft, answers)

    async def embed(self, texts: Sequence[str] | None = None, *, size: int | None = None) -> None:
        """Embed all that has no vector yet, and stream how much is done; see `embed_batches`."""
        whole = [one.embedding_text for one in await self.records()] if texts is None else texts
        left = len(await asyncio.to_thread(self.index.builder.unembedded, self.draft, texts))
        announce = progress(self.runtime, "vectors", left, before=len(set(whole)) - left)
        if left:
            announce(0)
        async for done, _ in embed_batches(self.run, self.index.builder, self.draft, size or BATCH, texts):
            announce(done)

    async def embedded(self, texts: Sequence[str]) -> Vectors:
        """The vectors of texts, shape (n, d); those are embedded now that the draft has no vector of."""
        await self.embed(texts)
        return await asyncio.to_thread(self.index.builder.vectors, self.draft, texts)

    async def require_settings(self, wanted: Mapping[str, JsonValue]) -> None:
        """Refuse to publish a draft that was begun when `role.yaml` said something else.

        Raises:
            StaleDraft: it was changed meanwhile.
        """
        if await asyncio.to_thread(self.index.builder.settings, self.draft) != wanted:
            raise StaleDraft(f"role.yaml of {self.run.role.id!r} was changed while it was indexed: index it again.")

    async def publish(
        self, knowledge: Knowledge, report: Mapping[str, Any], counts: Mapping[str, int], *wishes: str, **more: Any
    ) -> dict[str, Any]:
        """Make the draft the version that is read from now on, unless its sources are no longer what they were.

        Args:
            knowledge: the kind, whose version is written.
            report: what the index holds and what it cost; its `version` comes here.
            counts: what it holds, as it stands with the version.
            wishes: what is done with it.
            more: `done`, and what else `IndexBuilder.publish` takes.

        Returns:
            What a publishing node writes.
        """
        publish = partial(self.index.builder.publish, used=self.read, sources=self.index.sources, **more)
        version = (await asyncio.to_thread(publish, self.draft, counts)).version
        report = {**report, "version": version}
        self.runtime.stream_writer({"event": "published", **report})
        note(version=version, knowledge=knowledge)
        versions = {"version": version, f"{knowledge}_version": version}
        return {"index": report, **versions, "overtaken": 0, **dict.fromkeys(wishes, False)}


def unless_overtaken(node: Node[P]) -> Node[P]:
    """Leave a node whose draft is gone: somebody else was faster with the same one, and publishing finds out."""

    @wraps(node)
    async def overtaken(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return await node(*args, **kwargs)
        except MissingIndex:
            return {}

    return overtaken


def made_again_if_stale(publish: Node[P]) -> Node[P]:
    """Have a draft made again whose sources were changed meanwhile, or that was taken away, `PATIENCE` times."""

    @wraps(publish)
    async def attempt(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        try:
            return await publish(*args, **kwargs)
        except (StaleDraft, MissingIndex):
            overtaken = cast("Mapping[str, int]", args[0]).get("overtaken", 0) + 1
            if overtaken == PATIENCE:
                raise
            return {"version": "", "overtaken": overtaken}

    return attempt


def done_with(settings: str, report: Mapping[str, Any]) -> Done:
    """What a version says of itself, once nothing is left to do: the report that indexing would give again."""
    free = {name: 0 for name in ("embedded", "calls", "tokens") if name in report}
    return Done(settings=settings, report={name: one for name, one in {**report, **free}.items() if name != "version"})


@needs(version="a node that publishes")
def publishing_outcome(state: PublishingState) -> Literal["done", "stale"]:
    """Whether the draft is what is read now, or must be made again from what its sources became meanwhile."""
    return "done" if state["version"] else "stale"


class IndexingCost(NamedTuple):
    """What an index is made of, and what of it a chat model would be asked about; counted before it is."""

    unit: str
    there: int
    questions: int
    """One for each that was not asked about before; an answer that cannot be used is asked for again."""
    characters: int
    """Of the texts that are asked about; prompts come on top."""
    later: str = ""
    """What more is asked, and how much is known only then."""
    to_embed: int = 0
    """Texts without a vector."""
    embedding_seconds: float | None = None
    """How long embedding them takes, by a few of them; None: at an endpoint, which is not asked for this."""


Wishes = Mapping[str, bool]
"""`rebuild`, `retry`, `scores`: what indexing is told."""


def cost_of_texts(unit: str, there: int, left: Sequence[str], later: str = "") -> IndexingCost:
    """A cost by the texts that are asked about."""
    return IndexingCost(unit, there, len(left), sum(map(len, left)), later)


async def with_embedding(
    cost: IndexingCost, run: Run[Any], builder: IndexBuilder[R], records: Sequence[R], wishes: Wishes
) -> IndexingCost:
    """A cost with what of the records is embedded, and how long that takes."""
    model, texts = await run.embedder(), [one.embedding_text for one in records]
    left = list(dict.fromkeys(texts))
    if not wishes.get("rebuild"):
        left = await asyncio.to_thread(builder.to_embed, texts, model.name)
    few, seconds = left[:: max(1, len(left) // TRIED)], 0.0
    if isinstance(model.embeddings, EndpointEmbeddings):
        return cost._replace(to_embed=len(left))
    if left:
        await asyncio.to_thread(model.embeddings.embed_documents, few[:1])  # the first one also warms up
        begun = time.monotonic()
        await asyncio.to_thread(model.embeddings.embed_documents, few)
        seconds = (time.monotonic() - begun) * sum(map(len, left)) / max(1, sum(map(len, few)))
    return cost._replace(to_embed=len(left), embedding_seconds=round(seconds, 3))
