"""What a version of an index says of itself: its manifest, and the pointer to the one that is served."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from dramaturg.stores.errors import EmbeddingMismatch
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.index.parts import Digest, FileRecord

VersionId = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Done(_Record):
    """What indexing would come to again, with nothing left to do."""

    settings: Digest
    """Of all that decides it, beside the sources and the embedding model."""
    report: dict[str, JsonValue]
    """What indexing reports then."""


class EmbeddingRecord(_Record):
    """What made the vectors."""

    name: str = Field(min_length=1)
    dimension: int = Field(ge=1)
    normalized: bool = True
    """Whether the vectors are of length 1, so that an inner product is a cosine; others are not searched."""

    def require(self, embedding: str, dimension: int | None = None) -> None:
        """Refuse to compare what different embedding models made.

        Raises:
            EmbeddingMismatch: the vectors were made by another model, with another dimension, or are not normalized.
        """
        if not self.normalized:
            raise EmbeddingMismatch(
                "The role is indexed with vectors that are not of length 1, which cannot be compared: index it again."
            )
        if embedding != self.name or dimension not in (None, self.dimension):
            asked = embedding if dimension is None else f"{embedding} ({dimension} dimensions)"
            raise EmbeddingMismatch(
                f"The role is indexed with the embedding model {self.name} ({self.dimension} dimensions), the "
                f"question comes with {asked}: set that model, or index the role again with this one."
            )


class Manifest(_Record):
    """`manifest.json`: what a version was made from, how, and the checksums of its files."""

    format: Literal[1, 2] = 2
    """1: each version has all of its files, and no `done`."""
    kind: str
    version: VersionId
    created: datetime = Field(strict=False)
    embedding: EmbeddingRecord
    settings: dict[str, JsonValue]
    sources: dict[str, Digest]
    """The checksum of each document, by its name."""
    counts: dict[str, int]
    files: dict[str, FileRecord]
    done: Done | None = None
    """None: something is left to ask, or nobody has said."""

    def made_from(self, embedding: str, sources: Mapping[str, str]) -> bool:
        """Whether this embedding model made it from files with these checksums."""
        return self.embedding.normalized and (self.embedding.name, self.sources) == (embedding, sources)

    def encoded(self) -> bytes:
        """Return the bytes that are stored."""
        return (self.model_dump_json(indent=2) + "\n").encode()


def decisions_in(settings: Mapping[str, JsonValue]) -> str | None:
    """Return the checksum of the `merges.yaml` that a version with these settings was made by.

    It is empty if there was none, and None if that has no part in the version.
    """
    digest = settings.get("merges")
    return None if digest is None else str(digest)


class Published(_Record):
    """A version, and the checksum of its manifest."""

    version: VersionId
    manifest: Digest


class Pointer(_Record):
    """`current.json`: the versions there are, the one that is served first."""

    format: Literal[1] = 1
    kind: str
    versions: tuple[Published, ...] = Field(min_length=1)

    def seal(self) -> bytes:
        """Return the bytes that are stored: the pointer and its own checksum."""
        body = self.model_dump(mode="json")
        return canonical({"current": body, "sha256": sha256(canonical(body))}) + b"\n"

    @classmethod
    def unseal(cls, data: bytes, kind: str) -> Self:
        """Return the pointer.

        Raises:
            ValueError: the bytes are not what `seal` made for this kind.
        """
        current = cls.model_validate(_sealed.validate_json(data).get("current"), strict=False)
        if current.seal() != data or current.kind != kind:
            raise ValueError("The pointer to the current version is not as it was written.")
        return current


_sealed: TypeAdapter[Mapping[str, JsonValue]] = TypeAdapter(Mapping[str, JsonValue])


def version_id(content: JsonValue) -> str:
    """Return the id of a version: the same content has the same id, on every machine."""
    return sha256(canonical(content))[:24]
