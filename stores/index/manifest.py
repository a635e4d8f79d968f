"""What a published version says of itself, and the pointer that says which one is served."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from dramaturg.stores.errors import EmbeddingMismatch
from dramaturg.stores.files import canonical, sha256

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
VersionId = Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class FileRecord(_Record):
    """A stored file: compared before it is read."""

    sha256: Digest
    bytes: int = Field(ge=0)


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

    format: Literal[1] = 1
    kind: str
    version: VersionId
    created: datetime = Field(strict=False)
    embedding: EmbeddingRecord
    settings: dict[str, JsonValue]
    sources: dict[str, Digest]
    """The checksum of each document, by its name."""
    counts: dict[str, int]
    files: dict[str, FileRecord]

    def encoded(self) -> bytes:
        """Return the bytes that are stored."""
        return (self.model_dump_json(indent=2) + "\n").encode()


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
