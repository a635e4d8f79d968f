"""A knowledge graph that is being built: its state, which chunks it is made of, and what each step works with."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from langgraph.runtime import Runtime
from pydantic import Field, JsonValue
from typing_extensions import TypedDict

from dramaturg.models.errors import UNANSWERED
from dramaturg.nodes.asking import Answers, answer_all, progress
from dramaturg.nodes.index_steps import IndexBuild, IndexDraftState, PublishedVersion, Rebuild
from dramaturg.nodes.open_settings import Closed
from dramaturg.nodes.passages.retrieval import PassageSettings
from dramaturg.nodes.run import open_run
from dramaturg.nodes.text.splitter import Method
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import GRAPH_KIND, UNMERGED_GRAPH_KIND, KnowledgeGraph
from dramaturg.stores.index.passages import StoredPassage


class GraphReport(TypedDict):
    """What a knowledge graph holds, and what it cost now.

    `failed`: chunks without facts, and why; `dropped`: what was left out of the answers on chunks; `noes`: no's
    within chains of matches; `cut`: matches that were left out for them; `undescribed`: what could not be summarized;
    `plan`: its file.
    """

    version: str
    documents: int
    chunks: int
    failed: list[dict[str, str]]
    dropped: list[dict[str, str]]
    entities: int
    relations: int
    merges: int
    cut: int
    noes: int
    undescribed: int
    calls: int
    tokens: int
    plan: str


class GraphIndexInput(TypedDict, total=False):
    """What indexing may be told."""

    rebuild: Rebuild
    retry: Annotated[bool, Field(description="Ask again for the facts of chunks that have none.")]
    plan: Annotated[bool, Field(description="End with the merge plan and publish nothing.")]
    apply: Annotated[bool, Field(description="Merge by the plan that was read and edited.")]


GraphVersion = Annotated[str, Field(description="The knowledge graph that the turn reads; none: the current one.")]


class GraphIndexOutput(TypedDict):
    """What indexing gives."""

    index: Annotated[GraphReport, Field(description="What the knowledge graph holds, and what it cost now.")]
    version: PublishedVersion
    graph_version: GraphVersion


class GraphDraftState(GraphIndexInput, GraphIndexOutput, IndexDraftState):
    """Indexing under way."""

    normalized: Annotated[bool, Field(description="Whether names of one thing are made one.")]


class ChunkSettings(PassageSettings):
    """The paper's chunks, 600 tokens that overlap by 100 (RoleRAG 4.4), or those of the adaptive splitter."""

    splitter: Closed[Method] = Field(
        default="fixed", description="fixed: one length for every chunk; acts and ats: length by the longest paragraph."
    )
    unit: Closed[Literal["characters", "tokens"]] = Field(default="tokens", description="The unit of lengths.")
    fixed_length: Closed[int] = Field(
        default=600, ge=50, le=100_000, description="Length of a chunk of the splitter fixed."
    )
    fixed_overlap: Closed[int] = Field(
        default=100, ge=0, le=50_000, description="Overlap of chunks of the splitter fixed."
    )
    normalization: Closed[bool] = Field(
        default=True,
        description="Whether different names of one entity are merged (RoleRAG 3.2); otherwise only equal names are.",
    )


def graph_kind(context: ChunkSettings) -> IndexKind[StoredPassage, KnowledgeGraph]:
    """The kind of index that is read."""
    return GRAPH_KIND if context.normalization else UNMERGED_GRAPH_KIND


S = TypeVar("S", bound=ChunkSettings)
Q = TypeVar("Q")
GraphBuild: TypeAlias = IndexBuild[S, StoredPassage]


async def open_build(
    state: GraphDraftState, runtime: Runtime[Any], kind: type[S], read: dict[str, JsonValue] | None = None
) -> GraphBuild[S]:
    """What a step of the build works with; see `open_run` and `IndexBuild`."""
    run = await open_run(runtime, kind)
    return IndexBuild(run, runtime, run.role.index(graph_kind(run.settings)), state["draft"], read)


async def ask_all(
    build: GraphBuild[Any],
    what: str,
    questions: Mapping[str, Q],
    ask: Callable[[Q], Awaitable[Answers]],
    *,
    total: int | None = None,
    each: int = 1,
    before: int = 0,
) -> None:
    """Ask all questions and keep the answers; one that has no usable answer is asked again by the next index.

    Args:
        build: in whose draft they are kept.
        what: the kind of work, in the progress that is streamed.
        questions: each under a key of its own.
        ask: has the answers to a question, by the keys that they are kept under.
        total: how much work there is, where that is not the number of questions.
        each: how much of it one question does.
        before: how much was done by an earlier run.

    Raises:
        ModelError: the model cannot be reached or refuses every question; what came before is kept.
    """

    async def answers_to(question: Q) -> Answers:
        try:
            return await ask(question)
        except UNANSWERED:
            return {}

    announce = progress(build.runtime, what, len(questions) if total is None else total, each, before)
    await answer_all(questions, answers_to, keep=build.keep, announce=announce)
