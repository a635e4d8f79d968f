"""What a knowledge graph holds: entities and relations, and for each of their facts the sentence that it comes from."""

from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

EntityType = Literal["character", "location", "organization", "event", "time", "object", "concept", "other"]
TYPES: tuple[str, ...] = get_args(EntityType)


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Statement(_Record):
    """A description as it was extracted, and where it comes from: `document[start:end]` is the sentence."""

    text: str
    passage: str
    """The id of the chunk that it was extracted from."""
    source: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @property
    def told(self) -> tuple[str, str, int, int]:
        """What is said and where: the same from whichever of two chunks that overlap it was extracted."""
        return self.text, self.source, self.start, self.end


class Entity(_Record):
    """A node n̂ of the graph (RoleRAG, Equation 1)."""

    name: str
    """The canonical name."""
    type: EntityType
    description: str
    """The summary of the statements; the statement itself where there is one; empty where nothing is said of it."""
    names: tuple[str, ...] = Field(min_length=1)
    """All names that were found to mean it, as the documents write them; the canonical one first."""
    statements: tuple[Statement, ...] = ()

    @property
    def embedding_text(self) -> str:
        """The text to embed: name and description (RoleRAG, 3.1)."""
        return embedding_text(self.name, self.description)


class Relation(_Record):
    """An edge r̂ between two entities (RoleRAG, Equation 1); `source` and `target` as in its first statement."""

    source: str
    target: str
    description: str
    strength: int = Field(ge=1, le=10)
    """The strongest of the statements, from 1 (loose) to 10 (close)."""
    statements: tuple[Statement, ...] = Field(min_length=1)

    def other(self, name: str) -> str:
        """Return the end that is not `name`."""
        return self.target if name == self.source else self.source


def embedding_text(name: str, description: str) -> str:
    """Return the text that stands for an entity in the vector database 𝒱 (RoleRAG, 3.1)."""
    return f"{name}: {description}" if description else name
