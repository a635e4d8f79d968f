"""How a knowledge graph is published: a draft of chunks, answers and vectors as they come, then all at once."""

from collections.abc import Mapping

from pydantic import JsonValue

from dramaturg.stores.asking_builder import AskingBuilder
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.graph import ENTITIES, GRAPH, Graph, encode_graph
from dramaturg.stores.index.kinds import GRAPH_KINDS
from dramaturg.stores.index.manifest import Manifest
from dramaturg.stores.index.passages import PASSAGES, StoredPassage
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.sources import Sources


class GraphBuilder(AskingBuilder[StoredPassage]):
    """Builds a knowledge graph of a role: `draft` of its chunks, then answers and vectors, then `publish`."""

    def __init__(self, folder: IndexFolder) -> None:
        super().__init__(folder, StoredPassage, GRAPH_KINDS)

    def publish(
        self,
        draft: str,
        graph: Graph,
        used: Mapping[str, JsonValue],
        counts: Mapping[str, int],
        sources: Sources | None = None,
    ) -> Manifest:
        """Make a graph the version that is served; the last four before it are kept.

        Args:
            draft: what it was made from.
            graph: the graph; each entity has a vector.
            used: the answers that it rests on; others are not kept longer than the drafts that hold them.
            counts: what is to be said of it, for people.
            sources: the documents that it was made from; they are compared, and kept with the version.

        Raises:
            MissingIndex: there is no such draft, or an entity has no vector yet.
            StaleDraft: the documents have changed since; the old version is still served.
            StorageError: the file system refuses; the old version is still served, or the new one already.
        """
        files = {PASSAGES: encode_records(self.records(draft)), GRAPH: encode_graph(graph)}
        texts = [data["entity"].embedding_text for _, data in graph.nodes(data=True)]
        return self._publish(draft, files, (ENTITIES, texts), used, counts, sources)
