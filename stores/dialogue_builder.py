"""How dialogues are published: a draft of them, vectors and edge scores as they come, then all at once."""

from collections.abc import Mapping

from pydantic import JsonValue

from dramaturg.stores.asking_builder import AskingBuilder
from dramaturg.stores.index.answers import drop_kept
from dramaturg.stores.index.dialogues import DIALOGUES, VECTORS, StoredDialogue
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.kinds import DIALOGUE_KINDS
from dramaturg.stores.index.manifest import Manifest
from dramaturg.stores.index.records import encode_records
from dramaturg.stores.sources import Sources


class DialogueBuilder(AskingBuilder[StoredDialogue]):
    """Builds the dialogues of a role: `draft`, then vectors and answers (edge scores), then `publish`."""

    def __init__(self, folder: IndexFolder) -> None:
        super().__init__(folder, StoredDialogue, DIALOGUE_KINDS)

    def publish(
        self,
        draft: str,
        used: Mapping[str, JsonValue],
        counts: Mapping[str, int],
        sources: Sources | None = None,
    ) -> Manifest:
        """Make dialogues the version that is served; the last four before it are kept.

        Args:
            draft: the dialogues; each has a vector.
            used: the scores of edges between their speakers, as far as there are any.
            counts: what is to be said of them, for people.
            sources: the files that they were read from; they are compared, and kept with the version.

        Raises:
            MissingIndex: there is no such draft, or a dialogue has no vector yet.
            StaleDraft: the files have changed since; the old version is still served.
            StorageError: the file system refuses; the old version is still served, or the new one already.
        """
        dialogues = self.records(draft)
        files, texts = {DIALOGUES: encode_records(dialogues)}, [one.embedding_text for one in dialogues]
        manifest = self._publish(draft, files, (VECTORS, texts), used, counts, sources)
        with self._folder.lock():
            drop_kept(self._folder, used)
        return manifest
