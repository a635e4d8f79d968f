"""The historical dialogues D of a role: read once, verified, with their meanings, and who speaks with whom there."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.folder import IndexKind, IndexStore, LeftOut, Manifest
from dramaturg.stores.index.records import Record, decode_records
from dramaturg.stores.index.vectors import query_row

if TYPE_CHECKING:
    import networkx as nx

    Graph: TypeAlias = nx.Graph[str]
else:
    Graph = Any  # networkx is imported where a graph is made: it takes as long as all of the stores


DIALOGUES_FILE = "dialogues.jsonl"
VECTORS_FILE = "vectors.faiss"
Pair: TypeAlias = tuple[str, str]


class SpokenLine(BaseModel):
    """An utterance U_i and its speaker E_i (DRMR 3.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    speaker: str = Field(min_length=1)
    text: str = Field(min_length=1)


class StoredDialogue(Record):
    """A scene, or a stretch of a long one."""

    scene: str
    source: str
    """Where it is written: the file, and the numbers of its first and its last line."""
    lines: tuple[SpokenLine, ...] = Field(min_length=1)

    @property
    def text(self) -> str:
        """The lines, each with its speaker."""
        return "\n".join(f"{line.speaker}: {line.text}" for line in self.lines)

    @property
    def embedding_text(self) -> str:
        """The text to embed."""
        return self.text

    @cached_property
    def speakers(self) -> list[str]:
        """Who speaks, in the order of their first lines."""
        return list(dict.fromkeys(line.speaker for line in self.lines))

    @cached_property
    def pairs(self) -> list[Pair]:
        """Who speaks with whom: a line of one comes right after a line of the other. Each pair once, its names sorted.

        Who is only present has not spoken with everybody: that would make a clique of every crowd.
        """
        found = ((a.speaker, b.speaker) for a, b in pairwise(self.lines) if a.speaker != b.speaker)
        return sorted({(min(pair), max(pair)) for pair in found})

    def exchanges(self, pair: Pair) -> int:
        """How often a line of one of two comes right after a line of the other."""
        return sum({a.speaker, b.speaker} == {*pair} for a, b in pairwise(self.lines))

    def text_from(self, pair: Pair) -> str:
        """The lines from the first on that a line of the other follows; all of them where the two have no word."""
        begin = next((at for at, (a, b) in enumerate(pairwise(self.lines)) if {a.speaker, b.speaker} == {*pair}), 0)
        return "\n".join(f"{line.speaker}: {line.text}" for line in self.lines[begin:])


class DialogueStore(IndexStore):
    """One version of a role's dialogues, and the graph of who speaks with whom."""

    FILES = (DIALOGUES_FILE, VECTORS_FILE)

    def __init__(self, manifest: Manifest, dialogues: Sequence[StoredDialogue], index: Any) -> None:
        super().__init__(manifest, index)
        self.dialogues: Sequence[StoredDialogue] = tuple(dialogues)
        self.graph = dialogue_graph(self.dialogues)
        self._by_id: Mapping[str, StoredDialogue] = {one.id: one for one in self.dialogues}
        self.later: frozenset[str] = frozenset()
        """The ids of the dialogues that it lacks, where it was cut to a time, or to what the role has been told."""

    @classmethod
    def decode(cls, manifest: Manifest, files: Sequence[bytes], index: Any) -> Self:
        """Return the version that these files hold; ValueError: they are not what was written."""
        (dialogues,) = files
        return cls(manifest, decode_records(dialogues, StoredDialogue), index)

    def cut(self, rows: Sequence[int], left_out: Mapping[str, LeftOut]) -> Self:
        """Return the same version with some of its dialogues; who speaks with whom there is its graph."""
        some = super().cut(rows, left_out)
        some.dialogues = tuple(self.dialogues[at] for at in rows)
        some.graph = dialogue_graph(some.dialogues)
        some._by_id = {one.id: one for one in some.dialogues}
        some.later = self.later | (self._by_id.keys() - some._by_id)
        return some

    def __contains__(self, dialogue: object) -> bool:
        """Whether this version has a dialogue of this id."""
        return dialogue in self._by_id

    def get(self, dialogue: str) -> StoredDialogue:
        """Return a dialogue by its id."""
        try:
            return self._by_id[dialogue]
        except KeyError:
            raise RoleError(f"Version {self.version} has no dialogue {dialogue!r}.") from None

    def ranked(self, vector: Sequence[float] | NDArray[np.floating[Any]]) -> list[tuple[StoredDialogue, float]]:
        """Return all dialogues with φ = cos(Emb(U), Emb(C)), the nearest first (DRMR, Equation 1); ties by their order.

        Args:
            vector: an embedded conversation or utterance, of shape (d,); its length does not matter.

        Raises:
            ValueError: the vector is zero, not finite or of another dimension than the index.
        """
        similarities = self.vectors() @ query_row(vector, self.manifest.embedding.dimension, 1)[0]
        order = np.argsort(-similarities, kind="stable")
        return [(self.dialogues[at], float(similarities[at])) for at in order]

    def embedded_texts(self) -> list[str]:
        """Return the texts that were embedded, in the order of the dialogues."""
        return [dialogue.embedding_text for dialogue in self.dialogues]


DIALOGUE_KIND = IndexKind("dialogues", StoredDialogue, DialogueStore, "dialogues", "drmr", ("dialogues",))
"""The dialogues of DRMR, and who speaks with whom in them."""


def dialogue_graph(dialogues: Sequence[StoredDialogue]) -> Graph:
    """Return who speaks with whom: an edge holds the ids of the dialogues in which the two do, as `dialogues`."""
    import networkx as nx

    graph: Graph = nx.Graph()
    for dialogue in dialogues:
        graph.add_nodes_from(dialogue.speakers)
        for one, other in dialogue.pairs:
            before = graph.edges[one, other]["dialogues"] if graph.has_edge(one, other) else ()
            graph.add_edge(one, other, dialogues=(*before, dialogue.id))
    return graph
