"""The drafts of one kind of index that this process works on."""

from collections.abc import Mapping, Sequence
from typing import Generic

from pydantic import JsonValue

from dramaturg.stores.errors import EmbeddingMismatch, MissingIndex, RoleError
from dramaturg.stores.index.draft import Draft, Recipe
from dramaturg.stores.index.folder import IndexFolder
from dramaturg.stores.index.records import R
from dramaturg.stores.known_vectors import KnownVectors, Vector


class Drafts(Generic[R]):
    """Begun and opened under the role's lock, remembered until they are published."""

    def __init__(self, folder: IndexFolder, kind: type[R]) -> None:
        self._folder = folder
        self._kind = kind
        self._known = KnownVectors(folder)
        self._own: dict[str, KnownVectors] = {}
        self._drafts: dict[str, Draft[R]] = {}

    def begin(
        self,
        records: Sequence[R],
        *,
        embedding: str,
        settings: Mapping[str, JsonValue],
        sources: Mapping[str, str],
        fresh: bool,
        after: str,
    ) -> Draft[R]:
        """Begin a draft, or find it again; see `PassageBuilder.draft`.

        Raises:
            RoleError: there are no records, or two have one id.
            StorageError: the file system refuses.
        """
        if not records:
            raise RoleError(
                f"{self._folder.role.name!r} has nothing to index ({self._folder.kind}): write something into the "
                f"files that it is made from, then run `{self._folder.command}`."
            )
        if len({record.id for record in records}) < len(records):
            raise RoleError("Two records have the same id: give each its own.")
        recipe = Recipe(kind=self._folder.kind, embedding=embedding, settings=dict(settings), sources=dict(sources))
        draft = Draft.of(self._folder, recipe, records)
        with self._folder.lock():
            draft.mark(self._folder, fresh=fresh, after=after)
            draft.write(self._folder)
        self._drafts[draft.version] = draft
        return draft

    def open(self, version: str) -> Draft[R]:
        """Return a draft.

        Raises:
            MissingIndex: there is no such draft.
        """
        draft = self._drafts.get(version) or Draft.read(self._folder, version, self._kind)
        if draft is None or not draft.folder.is_dir():
            raise MissingIndex(f"There is no draft {version!r}: run `{self._folder.command}` from the start.")
        self._drafts[version] = draft
        return draft

    def vectors(self, draft: Draft[R]) -> Mapping[str, Vector]:
        """Return the vectors that count for a draft, by the hash of their text."""
        known = self._known
        if draft.fresh:
            known = self._own.setdefault(draft.version, KnownVectors(self._folder, draft.version))
        return known.of(draft.recipe.embedding)

    def require_dimension(self, draft: Draft[R], dimension: int) -> None:
        """Refuse vectors of another length than those that are there.

        Raises:
            EmbeddingMismatch: the model gave another dimension before.
        """
        embedding = draft.recipe.embedding
        for vector in self.vectors(draft).values():
            if len(vector) != dimension:
                raise EmbeddingMismatch(
                    f"{embedding} gave {len(vector)} dimensions before and {dimension} now: give it back the model it "
                    f"was, or run `{self._folder.command} --rebuild`."
                )
            return

    def forget(self, version: str = "") -> None:
        """Let go of a draft, or of all, and of the vectors."""
        for one in [version] if version else list(self._drafts):
            self._drafts.pop(one, None)
            self._own.pop(one, None)
        self._known.forget()
