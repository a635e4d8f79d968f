"""Interviews in an evaluation: one for each inventory, method, role and seed, kept in the folder of the run."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict

from dramaturg.evaluation.comparison.contestants import Contestant, contestant, fingerprint
from dramaturg.evaluation.comparison.external import PACKAGES
from dramaturg.evaluation.instruments.files import NAMES, instrument
from dramaturg.evaluation.instruments.instrument import Instrument
from dramaturg.evaluation.interviews.run import asked_by, read_interview, so_far
from dramaturg.evaluation.interviews.state import InterviewContext, InterviewOutput
from dramaturg.evaluation.judging.measures import METRICS
from dramaturg.models.client import name_of
from dramaturg.models.embeddings import name_of as embeddings_name
from dramaturg.nodes.run import RunContext
from dramaturg.stores.errors import did_you_mean
from dramaturg.stores.files import canonical
from dramaturg.stores.role import Role

FOLDER = "interviews"


SUFFIXES = (".json", ".yaml", ".yml")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Poles(_Frozen):
    """What an inventory measures, with the letters of its two poles."""

    name: str
    high: str
    low: str


class Inventory(_Frozen):
    """What a report has to know of an inventory."""

    metric: str
    """As it was asked for: a name, or a path."""
    name: str
    source: str
    licence: str
    low: float
    high: float
    dimensions: tuple[Poles, ...]
    items: int
    judgements: int
    """How many of them an interview has, where every reply comes."""

    @property
    def midpoint(self) -> float:
        """The score between the poles."""
        return (self.low + self.high) / 2


class Interview(_Frozen):
    """An interview that is wanted; `key` is a digest of all that it depends on."""

    key: str
    inventory: str
    """As it was asked for."""
    contestant: str
    role: str
    seed: int
    file: str
    """Its name in the folder of interviews."""


class Left(NamedTuple):
    """The questions that are still to be asked in an interview."""

    items: int
    judgements: int


def told_apart(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell the metrics that are inventories from those of replies: the latter first, each once.

    Raises:
        ValueError: there is no metric and no inventory of such a name.
    """
    known = tuple(dict.fromkeys(names))
    inventories = tuple(one for one in known if is_inventory(one))
    others = tuple(one for one in known if not is_inventory(one))
    if unknown := [one for one in others if one not in METRICS]:
        there = (*METRICS, *NAMES)
        near = did_you_mean(unknown[0], there) or f"; there are: {', '.join(there)}, or the path of an inventory."
        raise ValueError(f"There is no metric {unknown[0]!r}{near}")
    return others, inventories


def is_inventory(name: str) -> bool:
    """Whether a metric is an inventory: one of ours, or a path."""
    return name in NAMES or "/" in name or name.lower().endswith(SUFFIXES)


def interviews_of(
    names: Sequence[str],
    contestants: Sequence[Contestant],
    roles: Sequence[Role],
    seeds: Sequence[int],
    shared: RunContext,
    judge: str,
) -> tuple[tuple[Inventory, ...], tuple[Interview, ...]]:
    """The inventories, and the interviews by them: role by role, and all methods one after the other.

    Args:
        names: of the inventories, or their paths.
        contestants: who are interviewed.
        roles: whom they play.
        seeds: one interview each.
        shared: with which models.
        judge: the name of the model that rates the answers.

    Raises:
        ValueError: a method cannot be interviewed, or there is no such inventory in a role's language, or it is named
            twice.
        RoleFileError: a file of an inventory cannot be used.
        WeightsError: the package of an inventory is not in the cache.
    """
    refuse_external(names, contestants)
    inventories: dict[str, Inventory] = {}
    found: list[Interview] = []
    for role in roles if names else ():
        knowledge = fingerprint(role.root)
        for name in names:
            asked = instrument_for(name, role, shared)
            inventories.setdefault(name, described(name, asked))
            found += [
                interview(name, asked, one, role, knowledge, seed, shared, judge)
                for seed in seeds
                for one in contestants
            ]
    if len({one.key for one in found}) < len(found):
        raise ValueError(f"Two of {', '.join(names)} are the same inventory: name it once.")
    return tuple(inventories.values()), tuple(found)


def refuse_external(names: Sequence[str], contestants: Sequence[Contestant]) -> None:
    """Refuse to interview a method that is another package's.

    Raises:
        ValueError: there is one.
    """
    away = [one.name for one in contestants if one.method in PACKAGES]
    if names and away:
        raise ValueError(
            f"{' and '.join(away)} cannot be interviewed, only workflows of this package can: leave out such methods, "
            f"or the metrics {', '.join(names)}."
        )


def instrument_for(name: str, role: Role, shared: RunContext) -> Instrument:
    """An inventory in the language that a role is asked in.

    Raises:
        ValueError: there is none, or not in this language.
    """
    language: Any = role.card.language if shared.language == "auto" else shared.language
    return instrument(name, language)


def described(name: str, asked: Instrument) -> Inventory:
    """What a report has to know of an inventory."""
    low, high = asked.range
    wanted = asked_by(asked)
    return Inventory(
        metric=name,
        name=asked.name,
        source=asked.source,
        licence=asked.licence,
        low=low,
        high=high,
        dimensions=tuple(Poles(name=one.name, high=one.high, low=one.low) for one in asked.dimensions),
        items=wanted["items"],
        judgements=wanted["judgements"],
    )


def interview(
    name: str,
    asked: Instrument,
    one: Contestant,
    role: Role,
    knowledge: str,
    seed: int,
    shared: RunContext,
    judge: str,
) -> Interview:
    """An interview with the digest of what it depends on: another one with anything else."""
    embedding = shared.embedding_model
    embedded = embedding if isinstance(embedding, str) else embeddings_name(embedding)
    models = [name_of(shared.chat_model), embedded, judge, shared.language]
    told: Any = [one.name, dict(one.settings), role.id, knowledge, seed, asked.model_dump(mode="json"), *models]
    key = hashlib.sha256(canonical(told)).hexdigest()[:32]
    title = re.sub(r"\W+", "-", asked.name).strip("-")
    file = f"{title}-{one.name}-{role.id}-{seed}-{key[:12]}.json"
    return Interview(key=key, inventory=name, contestant=one.name, role=role.id, seed=seed, file=file)


def context_of(one: Interview, shared: RunContext, judge: str | BaseChatModel) -> InterviewContext:
    """How an interview is held: answers are rated in batches (InCharacter), each once.

    Args:
        one: which interview.
        shared: the models and bounds that all contestants have.
        judge: who rates; empty: the model that speaks.
    """
    by = contestant(one.contestant)
    common = {name: getattr(shared, name) for name in RunContext.model_fields}
    asked = {"role": one.role, "model_seed": one.seed, "instrument": one.inventory, "judge": judge}
    return InterviewContext(**{**common, **asked, "method": by.method, "method_settings": dict(by.settings)})


def held(folder: Path, one: Interview) -> InterviewOutput | None:
    """An interview that is over; none if it is not.

    Args:
        folder: of the run.
        one: which.

    Raises:
        ValueError: its file is damaged.
    """
    file = folder / FOLDER / one.file
    return read_interview(file) if file.is_file() else None


def left_of(folder: Path, one: Interview, inventory: Inventory) -> Left:
    """What is still to be asked in an interview: nothing, all, or where it was stopped the rest.

    Raises:
        DamagedConversations: its checkpoints are damaged.
    """
    file = folder / FOLDER / one.file
    if file.is_file():
        return Left(0, 0)
    done = so_far(file)
    return Left(inventory.items - done["ask"], inventory.judgements - done["judge"])
