"""The chunks D_1 … D_n that facts are extracted from (RoleRAG 3.1), and which knowledge graph is made of them."""

from typing import Literal

from pydantic import Field

from dramaturg.nodes.retrieval import PassageSettings
from dramaturg.stores.index.folder import IndexKind
from dramaturg.stores.index.graph import KnowledgeGraph
from dramaturg.stores.index.kinds import GRAPH_KIND, UNMERGED_GRAPH_KIND
from dramaturg.stores.index.passages import StoredPassage


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
