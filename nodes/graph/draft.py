"""A knowledge graph that is being built: what its nodes share, and what is reported of it."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.models.account import Usage, add_usage
from dramaturg.nodes.passages.retrieval import PassageSettings
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.kinds import GRAPH_KIND, UNMERGED_GRAPH_KIND
from dramaturg.stores.index.passages import StoredPassage


class GraphReport(TypedDict):
    """What a knowledge graph holds, and what it cost now.

    `failed`: chunks without facts, and why; `undescribed`: what could not be summed up; `plan`: the file of a plan.
    """

    version: str
    documents: int
    chunks: int
    failed: list[dict[str, str]]
    entities: int
    relations: int
    merges: int
    undescribed: int
    calls: int
    tokens: int
    plan: str


class GraphIndexInput(TypedDict, total=False):
    """What indexing may be told.

    `rebuild`: ask and embed all anew, the old is served until then. `retry`: ask failed chunks again. `plan`: end with
    the merge plan and publish nothing. `apply`: merge by the plan that was read and edited.
    """

    rebuild: bool
    retry: bool
    plan: bool
    apply: bool


class GraphIndexOutput(TypedDict):
    """What indexing gives; nothing was published where the version is empty."""

    index: GraphReport
    version: str


class GraphDraftState(GraphIndexInput, GraphIndexOutput):
    """Indexing under way: the draft on disk, what it cost, how often the persona has changed meanwhile."""

    draft: str
    overtaken: int
    usage: Annotated[dict[str, Usage], add_usage]


class ChunkSettings(PassageSettings):
    """The paper's chunks, 600 tokens that overlap by 100 (RoleRAG 4.4), or those of the adaptive splitter."""

    splitter: Literal["acts", "ats", "fixed"] = Field(
        default="fixed", description="fixed: one length for every chunk; acts and ats: length by the longest paragraph."
    )
    unit: Literal["characters", "tokens"] = Field(default="tokens", description="What lengths are counted in.")
    fixed_length: int = Field(default=600, ge=50, le=100_000, description="Length of a chunk of the splitter fixed.")
    fixed_overlap: int = Field(default=100, ge=0, le=50_000, description="Overlap of chunks of the splitter fixed.")
    normalization: bool = Field(
        default=True,
        description="Whether names of one entity become one (RoleRAG 3.2); without it only equal names do.",
    )

    @property
    def index_kind(self) -> IndexKind[StoredPassage, KnowledgeGraph]:
        """The kind of index that is read."""
        return GRAPH_KIND if self.normalization else UNMERGED_GRAPH_KIND
