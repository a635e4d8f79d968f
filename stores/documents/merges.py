"""Which names become one: a plan to be read and edited, and the decisions that a person has accepted.

`merge_plan.yaml` proposes and is derived; `merges.yaml` decides and is a source of the role like its documents.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from dramaturg.stores.documents.reading import parse_yaml
from dramaturg.stores.errors import RoleFileError, did_you_mean
from dramaturg.stores.files import read_bytes, remove_file, sha256, sweep, write_bytes
from dramaturg.stores.locks import role_lock
from dramaturg.stores.names import normal_name

PLAN = "merge_plan.yaml"
DECISIONS = "merges.yaml"


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Why(_Written):
    """Two names that were held for one, and what speaks for it."""

    names: tuple[str, str]
    similarity: float | None = None
    """The cosine of what is said of the two; none where nothing was compared."""
    certainty: float | None = None
    """P(yes) of the model, where it gives one."""
    reason: str = ""


class Merge(_Written):
    """Names that become one entity under a canonical name."""

    name: str = Field(min_length=1)
    names: tuple[str, ...] = Field(min_length=1)
    why: tuple[Why, ...] = ()

    def spellings(self) -> dict[str, str]:
        """Return all names of the entity as they are compared, the canonical one among them."""
        return {normal_name(name): name for name in (*self.names, self.name)}


class MergePlan(_Written):
    """Merges, and the names that stay alone. Between two names that are named here nobody else decides."""

    merges: tuple[Merge, ...] = ()
    alone: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _each_name_once(self) -> Self:
        seen: dict[str, str] = {}
        for merge in self.merges:
            for key, name in merge.spellings().items():
                if key in seen:
                    raise ValueError(f"{name!r} is in two merges ({seen[key]!r} and {merge.name!r})")
                seen[key] = merge.name
        return self

    def groups(self) -> list[Merge]:
        """Return the merges, and each name that stays alone and is in none of them as one of its own."""
        merged = {key for merge in self.merges for key in merge.spellings()}
        left = {normal_name(name): name for name in self.alone if normal_name(name) not in merged}
        return [*self.merges, *(Merge(name=name, names=(name,)) for name in left.values())]

    def without(self, name: str) -> "MergePlan":
        """Return the plan with a name taken out of its merge."""
        key = normal_name(name)
        found = next((one for one in self.merges if key in map(normal_name, one.names)), None)
        if found is None:
            known = [one for merge in self.merges for one in merge.names]
            raise RoleFileError(f"No merge holds {name!r}{did_you_mean(name, known) or '.'}")
        left = tuple(one for one in found.names if normal_name(one) != key)
        called = found.name if normal_name(found.name) != key else next(iter(left), name)
        why = tuple(one for one in found.why if key not in map(normal_name, one.names))
        rest = (Merge(name=called, names=left, why=why),) if len(left) > 1 else ()
        freed = (name,) if rest else (name, *left)
        merges = tuple(one for one in self.merges if one is not found) + rest
        return MergePlan(merges=merges, alone=tuple(dict.fromkeys((*self.alone, *freed))))


HEADERS = {
    PLAN: """\
# Which names of {role} are to become one, and why. Move names between `names` and `alone`, give a merge
# another `name`, take merges out or add some; then: dramaturg index {role} --method role-rag --apply
""",
    DECISIONS: """\
# Which names of {role} are one. Names that are here, in `merges` or in `alone`, are as they stand here; about
# others the model decides. To have it decide about all, remove this file. Changes hold from the next index on.
""",
}


def read_plan(role: Path, name: str = DECISIONS) -> MergePlan | None:
    """Return what a file of merges says, or None if it is not there."""
    path = role / name
    return parse_yaml(read_bytes(path, role), path, MergePlan, role) if path.exists() else None


def write_plan(role: Path, plan: MergePlan, name: str = DECISIONS) -> Path:
    """Write a file of merges for a person to read and edit; return where it is."""
    with role_lock(role):
        return _write(role, plan, name)


def accept_plan(role: Path, known: Iterable[str]) -> MergePlan:
    """Make the plan, as it was edited, the decisions that hold from now on.

    Args:
        role: the folder of the role.
        known: the names that there are; a plan with another name has a slip in it.

    Raises:
        RoleFileError: there is no plan, it cannot be used, or it names what is not there.
        StorageError: the file system refuses; the plan is still there, or it holds already.
    """
    with role_lock(role):
        plan = read_plan(role, PLAN)
        if plan is None:
            raise RoleFileError(
                f"There is no {PLAN}: write one with `dramaturg index {role.name} --method role-rag --plan`; "
                f"one that was accepted already is in {DECISIONS}."
            )
        _check(role, plan, {normal_name(name): name for name in known})
        _write(role, plan, DECISIONS)
        remove_file(role / PLAN, within=role)
    return plan


def _check(role: Path, plan: MergePlan, known: Mapping[str, str]) -> None:
    merged = {normal_name(name) for merge in plan.merges for name in merge.names}
    called = {normal_name(merge.name) for merge in plan.merges} - merged
    for name in (*(name for merge in plan.merges for name in merge.names), *plan.alone):
        if normal_name(name) not in known:
            near = did_you_mean(name, known.values()) or "."
            raise RoleFileError(f"{PLAN} of {role.name!r} names {name!r}, which no document does{near}")
        if normal_name(name) in called:
            raise RoleFileError(
                f"{PLAN} of {role.name!r} leaves {name!r} alone and calls a merge so: give that another name."
            )


def digest_of_decisions(role: Path) -> str:
    """Return the SHA-256 of the decisions; empty if there are none."""
    path = role / DECISIONS
    return sha256(read_bytes(path, role)) if path.exists() else ""


def drop_plan(role: Path) -> None:
    """Remove the plan, and what was written aside for a file of merges; for callers that hold the role's lock."""
    remove_file(role / PLAN, within=role)
    for name in (PLAN, DECISIONS):
        sweep(role, name)


def _write(role: Path, plan: MergePlan, name: str) -> Path:
    told = HEADERS[name].format(role=role.name) + yaml.safe_dump(
        plan.model_dump(mode="json", exclude_defaults=True), allow_unicode=True, sort_keys=False, width=110
    )
    sweep(role, name)
    write_bytes(role / name, told.encode(), within=role)
    return role / name
