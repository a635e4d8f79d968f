"""Interviews in an evaluation: one for each inventory, method, role and seed, kept in the folder of the run."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict

from dramaturg.evaluation.comparison.contestants import (
    Contestant,
    contestant,
    digest,
    fingerprint,
    language_in,
    languages_of,
    models_of,
    server_of,
)
from dramaturg.evaluation.comparison.external import PACKAGES
from dramaturg.evaluation.comparison.making import Making, interviewing, prompts_of
from dramaturg.evaluation.instruments.files import NAMES, instrument
from dramaturg.evaluation.instruments.instrument import Instrument
from dramaturg.evaluation.interviews.run import asked_by, read_interview, so_far
from dramaturg.evaluation.interviews.state import InterviewContext, InterviewOutput
from dramaturg.evaluation.judging.scales import METRICS
from dramaturg.nodes.run import RunContext
from dramaturg.stores.errors import near_or_all
from dramaturg.stores.role import Role
from dramaturg.workflows.methods import file_name, flow

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
    """Split names into metrics of replies and inventories; each stands once."""
    known = tuple(dict.fromkeys(names))
    inventories = tuple(one for one in known if one in NAMES or "/" in one or one.lower().endswith(SUFFIXES))
    others = tuple(one for one in known if one not in inventories)
    if unknown := [one for one in others if one not in METRICS]:
        near = near_or_all(unknown[0], (*METRICS, *NAMES), ", or the path of an inventory")
        raise ValueError(f"There is no metric {unknown[0]!r}{near}")
    return others, inventories


def interviews_of(
    names: Sequence[str],
    contestants: Sequence[Contestant],
    roles: Sequence[Role],
    seeds: Sequence[int],
    shared: RunContext,
    judge: str,
    makings: Mapping[str, Making],
) -> tuple[tuple[Inventory, ...], tuple[Interview, ...]]:
    """Return the inventories, and the interviews by them: role by role, and all methods one after the other.

    Args:
        names: of the inventories, or their paths.
        contestants: who are interviewed.
        roles: whom they play.
        seeds: one interview each.
        shared: with which models.
        judge: the name of the model that rates the answers.
        makings: what makes the replies of each.
    """
    away = [one.name for one in contestants if one.method in PACKAGES]
    if names and away:
        raise ValueError(
            f"{' and '.join(away)} cannot be interviewed, only workflows of this package can: leave out such methods, "
            f"or the metrics {', '.join(names)}."
        )
    inventories: dict[str, Inventory] = {}
    found: list[Interview] = []
    for role in roles if names else ():
        knowledge, languages = fingerprint(role.root), languages_of(shared, role)
        made = {name: one.digest(languages) for name, one in makings.items()}
        for name in names:
            language: Any = language_in(shared, role)
            judging = prompts_of(interviewing(), [language])
            asked = instrument(name, language)
            inventories.setdefault(name, described(name, asked))
            title, items = re.sub(r"\W+", "-", asked.name).strip("-"), asked.model_dump(mode="json")
            for seed, one in product(seeds, contestants):
                by = (*models_of(shared), judge, shared.language)
                key = digest([one.name, made[one.name], judging, role.id, knowledge, seed, items, *by])
                file = f"{title}-{file_name(one.name)}-{role.id}-{seed}-{key[:12]}.json"
                found.append(
                    Interview(key=key, inventory=name, contestant=one.name, role=role.id, seed=seed, file=file)
                )
    if len({one.key for one in found}) < len(found):
        raise ValueError(f"Two of {', '.join(names)} are the same inventory: name it once.")
    return tuple(inventories.values()), tuple(found)


def described(name: str, asked: Instrument) -> Inventory:
    """Describe an inventory for a report."""
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


def context_of(one: Interview, shared: RunContext, judge: str | BaseChatModel) -> InterviewContext:
    """Return the context of an interview: answers are rated in batches (InCharacter), each once.

    Args:
        one: which interview.
        shared: the models and bounds that all contestants have.
        judge: who rates; empty: the model that speaks.
    """
    by = contestant(one.contestant)
    here = {"embedding_model"} if server_of(shared) else set()
    common = {name: getattr(shared, name) for name in RunContext.model_fields if name not in here}
    asked = {"role": one.role, "model_seed": one.seed, "instrument": one.inventory, "judge": judge}
    asked["server"] = server_of(shared)
    own = dict(by.settings)
    rules = {"rules": own.pop("rules")} if "rules" in own else {}
    return InterviewContext(**{**common, **asked, **rules, "method": flow(by.method), "method_settings": own})


def held(folder: Path, one: Interview) -> InterviewOutput | None:
    """Read an interview of a run; None if it is not over."""
    file = folder / FOLDER / one.file
    return read_interview(file) if file.is_file() else None


def left_of(folder: Path, one: Interview, inventory: Inventory) -> Left:
    """Count what is still to be asked in an interview, which may have been stopped halfway."""
    file = folder / FOLDER / one.file
    if file.is_file():
        return Left(0, 0)
    done = so_far(file)
    return Left(inventory.items - done["ask"], inventory.judgements - done["judge"])
