"""Which names become one: a plan to be read and edited, and the decisions that a person has accepted.

`merge_plan.yaml` proposes and is derived; `merges.yaml` decides and is a source of the role like its documents.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from dramaturg.stores.changes import KeptDocuments
from dramaturg.stores.documents.reading import parse_yaml
from dramaturg.stores.errors import RoleFileError, StaleDraft, did_you_mean
from dramaturg.stores.files import read_bytes, remove_file, sha256, sweep, write_bytes
from dramaturg.stores.locks import role_lock
from dramaturg.stores.names import normal_name

PASSAGE = re.compile(r"(.+):(\d+)-(\d+)")
PLAN = "merge_plan.yaml"
DECISIONS = "merges.yaml"


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Why(_Written):
    """Two names that were compared: what was found, and what speaks for it."""

    names: tuple[str, str]
    same: bool = True
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

    def parts_without(self, name: str) -> list[tuple[str, ...]]:
        """Return the other names in parts, as they are joined without this one; first the part that the merge stays.

        Only what this name alone joined falls apart: names that nothing joined were put there by a person, and stay.
        """
        import networkx as nx

        out, names = normal_name(name), {normal_name(one): one for one in self.names}
        pairs = [(normal_name(one.names[0]), normal_name(one.names[1])) for one in self.why if one.same]
        graph: nx.Graph[str] = nx.Graph([pair for pair in pairs if names.keys() >= set(pair)])
        bridged = set(nx.node_connected_component(graph, out)) - {out} if out in graph else set()
        parts = [set(part) for part in nx.connected_components(graph.subgraph(bridged))] or [set()]
        main = max(parts, key=lambda part: (normal_name(self.name) in part, len(part)))
        main |= names.keys() - bridged - {out}
        ordered = [main, *(one for one in parts if one is not main)]
        return [tuple(names[key] for key in names if key in part) for part in ordered if part]


class Split(_Written):
    """A name that means something else in some places, where it goes by a name of its own."""

    name: str = Field(min_length=1)
    called: str = Field(min_length=1)
    where: tuple[str, ...] = Field(min_length=1)
    """Documents ("dog.md"), or passages of them by their characters ("life.md:120-340")."""

    @model_validator(mode="after")
    def _two_names(self) -> Self:
        if normal_name(self.name) == normal_name(self.called):
            raise ValueError(f"{self.called!r} is the name that is split: give it another name in these places")
        return self

    def holds(self, name: str, source: str, start: int) -> bool:
        """Return whether a name that a document gives there is meant."""
        if normal_name(name) != normal_name(self.name):
            return False
        return any(
            document == source and begin <= start < (end or start + 1)
            for document, begin, end in map(_place, self.where)
        )


def _place(where: str) -> tuple[str, int, int]:
    """A document, and the characters of it that are meant; all of them where the end is 0."""
    found = PASSAGE.fullmatch(where)
    return (found[1], int(found[2]), int(found[3])) if found else (where, 0, 0)


class MergePlan(_Written):
    """Merges, names that stay alone, and names that are split. Between two names of these nobody else decides."""

    merges: tuple[Merge, ...] = ()
    alone: tuple[str, ...] = ()
    splits: tuple[Split, ...] = ()
    apart: tuple[Why, ...] = ()
    """Where a chain of matches held a no: the no's, and the matches that were left out for them. To be read only."""

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
        """Return the merges, and each name that stays alone, or is split, and is in none of them as one of its own."""
        merged = {key for merge in self.merges for key in merge.spellings()}
        split = [name for one in self.splits for name in (one.name, one.called)]
        left = {normal_name(name): name for name in (*split, *self.alone) if normal_name(name) not in merged}
        return [*self.merges, *(Merge(name=name, names=(name,)) for name in left.values())]

    def merge_of(self, name: str) -> Merge | None:
        """Return the merge that holds a name."""
        return next((one for one in self.merges if normal_name(name) in map(normal_name, one.names)), None)

    def taking_in(self, found: Merge) -> "MergePlan":
        """Return the plan with a merge that was made with it, in place of those that this holds."""
        held = [one for one in self.merges if one.spellings().keys() & found.spellings().keys()]
        decided = tuple(Why(names=(one.names[0], other)) for one in held for other in one.names[1:])
        merge = found.model_copy(update={"why": (*found.why, *decided)})
        merges = (*(one for one in self.merges if one not in held), merge)
        alone = tuple(one for one in self.alone if normal_name(one) not in merge.spellings())
        return self.model_copy(update={"merges": merges, "alone": alone})

    def without(self, name: str) -> "MergePlan":
        """Return the plan with a name taken out of its merge, and what only that name joined taken apart."""
        key = normal_name(name)
        found = self.merge_of(name)
        if found is None:
            known = [one for merge in self.merges for one in merge.names]
            raise RoleFileError(f"No merge holds {name!r}{did_you_mean(name, known)}")
        parts = found.parts_without(name)
        called = [
            found.name if normal_name(found.name) != key and at == 0 else part[0] for at, part in enumerate(parts)
        ]
        rest = tuple(
            Merge(name=one, names=part, why=tuple(why for why in found.why if {*why.names} <= {*part}))
            for one, part in zip(called, parts, strict=True)
            if len(part) > 1
        )
        freed = (name, *(part[0] for part in parts if len(part) == 1))
        merges = tuple(one for one in self.merges if one is not found) + rest
        return self.model_copy(update={"merges": merges, "alone": tuple(dict.fromkeys((*self.alone, *freed)))})


HEADERS = {
    PLAN: """\
# Which names of {role} are to become one, and why. Move names between `names` and `alone`, give a merge
# another `name`, take merges out or add some; then: dramaturg index {role} --method role-rag --apply
# `why` has what the model said of two names; `same: false` is a no. `apart` has the no's within chains of names, and
# the matches that were left out for them. Where a name means something else in some places, add:
# splits: [{{name: Tom, called: Tom the dog, where: [dog.md, "life.md:120-340"]}}]
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


def accept_plan(role: Path, known: Iterable[str], documents: Collection[str]) -> MergePlan:
    """Make the plan, as it was edited, the decisions that hold from now on.

    Args:
        role: the folder of the role.
        known: the names that there are; a plan with another name has a slip in it.
        documents: the names of the documents, in which it may split names.

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
        _check(role, plan, {normal_name(name): name for name in known}, documents)
        _write(role, plan, DECISIONS)
        remove_file(role / PLAN, within=role)
    return plan


def _check(role: Path, plan: MergePlan, known: Mapping[str, str], documents: Collection[str]) -> None:
    for where in (where for one in plan.splits for where in one.where):
        if (document := _place(where)[0]) not in documents:
            near = did_you_mean(document, documents)
            raise RoleFileError(f"{PLAN} of {role.name!r} splits a name where there is no document {document!r}{near}")
    known = {**known, **{normal_name(one.called): one.called for one in plan.splits}}
    merged = {normal_name(name) for merge in plan.merges for name in merge.names}
    called = {normal_name(merge.name) for merge in plan.merges} - merged
    split = (one.name for one in plan.splits)
    for name in (*(name for merge in plan.merges for name in merge.names), *plan.alone, *split):
        if normal_name(name) not in known:
            near = did_you_mean(name, known.values())
            raise RoleFileError(f"{PLAN} of {role.name!r} names {name!r}, which no document does{near}")
        if normal_name(name) in called:
            raise RoleFileError(
                f"{PLAN} of {role.name!r} leaves {name!r} alone and calls a merge so: give that another name."
            )


def digest_of_decisions(role: Path) -> str:
    """Return the SHA-256 of the decisions; empty if there are none."""
    path = role / DECISIONS
    return sha256(read_bytes(path, role)) if path.exists() else ""


def keep_decisions(role: Path, digest: str) -> None:
    """Keep the decisions that a version was made by, so that it can be taken back; for callers that hold the lock.

    Raises:
        StaleDraft: they have changed since.
    """
    if digest_of_decisions(role) != digest:
        raise StaleDraft(
            f"{DECISIONS} of {role.name!r} was changed while it was indexed: "
            f"run `dramaturg index {role.name} --method role-rag` again."
        )
    if digest:
        KeptDocuments(role).keep([read_bytes(role / DECISIONS, role)])


def drop_plan(role: Path) -> None:
    """Remove the plan, and what was written aside for a file of merges; for callers that hold the role's lock."""
    remove_file(role / PLAN, within=role)
    for name in (PLAN, DECISIONS):
        sweep(role, name)


def plan_bytes(role: Path, plan: MergePlan, name: str = DECISIONS) -> bytes:
    """A file of merges, for a person to read and edit."""
    told = yaml.safe_dump(
        plan.model_dump(mode="json", exclude_defaults=True), allow_unicode=True, sort_keys=False, width=110
    )
    return (HEADERS[name].format(role=role.name) + told).encode()


def _write(role: Path, plan: MergePlan, name: str) -> Path:
    sweep(role, name)
    write_bytes(role / name, plan_bytes(role, plan, name), within=role)
    return role / name
