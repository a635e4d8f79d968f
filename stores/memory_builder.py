"""How memories are published: a draft of them, vectors and moods as they come, then all at once."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from dramaturg.stores.asking_builder import AskingBuilder
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.kinds import MEMORY_KINDS
from dramaturg.stores.index.manifest import Manifest
from dramaturg.stores.index.memories import MEMORIES, MOODS, VECTORS, Mood, StoredMemory, encode_moods
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.sources import Sources


class MemoryBuilder(AskingBuilder[StoredMemory]):
    """Builds the memories of a role: `draft`, then answers (their moods) and vectors, then `publish`."""

    def __init__(self, folder: IndexFolder) -> None:
        super().__init__(folder, StoredMemory, MEMORY_KINDS)

    def publish(
        self,
        draft: str,
        moods: Sequence[Mood],
        used: Mapping[str, JsonValue],
        counts: Mapping[str, int],
        sources: Sources | None = None,
    ) -> Manifest:
        """Make memories the version that is served; the last four before it are kept.

        Args:
            draft: the memories; each has a vector.
            moods: of each, in their order.
            used: the answers that the moods rest on; others are not kept longer than the drafts that hold them.
            counts: what is to be said of them, for people.
            sources: the files that they were read from; they are compared, and kept with the version.

        Raises:
            ValueError: there is not one mood for each memory.
            MissingIndex: there is no such draft, or a memory has no vector yet.
            StaleDraft: the files have changed since; the old version is still served.
            StorageError: the file system refuses; the old version is still served, or the new one already.
        """
        memories = self.records(draft)
        if len(moods) != len(memories):
            raise ValueError(f"There are {len(memories)} memories but {len(moods)} moods.")
        files = {MEMORIES: encode_records(memories), MOODS: encode_moods(moods)}
        texts = [memory.embedding_text for memory in memories]
        return self._publish(draft, files, (VECTORS, texts), used, counts, sources)
