"""Marks that people made for the example roles: names of one thing, moods of memories, scenes of a relation."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter
from yaml import safe_load

from dramaturg.stores.index.graph import EntityType

Emotion = Literal["joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation"]


M = TypeVar("M")


class _Mark(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MarkedName(_Mark):
    """A name, and what a text says where it first has it."""

    name: str
    type: EntityType
    told: str


class MarkedMoods(_Mark):
    """Questions by language and emotion, and beginnings of memories by role and emotion."""

    questions: Mapping[str, Mapping[Emotion, tuple[str, ...]]]
    memories: Mapping[str, Mapping[Emotion, tuple[str, ...]]]


class MarkedRelation(_Mark):
    """Who speaks with a role, what that one asks, and the scenes that bear on how the two stand to each other."""

    user: str
    questions: tuple[str, ...]
    bears: tuple[str, ...]


class Gold(NamedTuple):
    """All marks, by role; a role that is not there has none."""

    aliases: Mapping[str, tuple[tuple[MarkedName, ...], ...]]
    moods: MarkedMoods
    relations: Mapping[str, tuple[MarkedRelation, ...]]


ALIASES: TypeAdapter[dict[str, tuple[tuple[MarkedName, ...], ...]]] = TypeAdapter(
    dict[str, tuple[tuple[MarkedName, ...], ...]]
)
RELATIONS: TypeAdapter[dict[str, tuple[MarkedRelation, ...]]] = TypeAdapter(dict[str, tuple[MarkedRelation, ...]])


@cache
def gold() -> Gold:
    """Read the marks that come with the package."""
    found = {name: safe_load(text_of(f"{name}.yaml")) for name in ("aliases", "moods", "relations")}
    return Gold(
        ALIASES.validate_python(found["aliases"]),
        MarkedMoods.model_validate(found["moods"]),
        RELATIONS.validate_python(found["relations"]),
    )


def marked(marks: Mapping[str, M], roles: Iterable[str]) -> dict[str, M]:
    """The marks of these roles; roles without any are left out.

    Raises:
        ValueError: none of them has marks.
    """
    found = {role: marks[role] for role in roles if role in marks}
    if not found:
        raise ValueError(
            f"There are no marks for these roles: name one of {', '.join(marks)}, or leave this study out."
        )
    return found


def text_of(name: str) -> str:
    """A file of marks."""
    return (files("dramaturg.evaluation.studies") / "gold" / name).read_text(encoding="utf-8")
