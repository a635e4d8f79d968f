"""The identity model 𝒞: the chronicle of a role, and what its conversation has changed in it (ID-RAG 3.2)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any, Literal, NamedTuple, NotRequired

import yaml
from pydantic import Field
from typing_extensions import TypedDict

from dramaturg.nodes.identity.perception import PerceptionState, day_of
from dramaturg.nodes.run import RoleContext, language_of, role_of
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library import open_role
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import Triple

Condition = Literal["id-rag", "full", "baseline"]


class IdentitySettings(RoleContext):
    """What an identity is made of."""

    office: str = Field(
        default="",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$",
        description="The id of a role whose chronicle holds the rules of an office that this role has; empty: none.",
    )


class IdentityChange(TypedDict):
    """What a turn has changed in a role's identity: a triple that is new, and the one whose place it takes, if any.

    `salience` is a number from 1 to 10, `confidence` one from 0 to 1, `approved` whether a person has agreed (None: it
    was not asked), and `evidence` what was said or seen.
    """

    role: str
    turn: str
    triple: dict[str, Any]
    replaces: dict[str, Any] | None
    evidence: str
    salience: int
    confidence: float
    asks: bool
    approved: bool | None


class IdentityState(PerceptionState):
    """What every step that knows the identity reads."""

    identity_changes: NotRequired[list[IdentityChange]]


class Identity(NamedTuple):
    """An identity model: the role's own triples, those of its office, and how they are put into words."""

    role: Role
    name: str
    language: str
    triples: tuple[Triple, ...]
    rules: tuple[Triple, ...]
    templates: Mapping[str, str]

    def sentence(self, triple: Triple) -> str:
        """What a triple says."""
        return sentence(triple, self.language, self.templates)

    def text(self, triples: Iterable[Triple]) -> str:
        """What triples say, each on a line."""
        return sentences(triples, self.language, self.templates)

    def shown(self, triple: Triple) -> dict[str, Any]:
        """A triple as evidence shows it: what is set of it, and its sentence."""
        return {**as_plain(triple), "sentence": self.sentence(triple)}


UNKNOWN: Mapping[str, str] = {
    "en": "$subject $relation $object.",
    "zh": "$subject——$relation：$object。",
    "ko": "$subject — $relation: $object.",
}
"""For a relation without a template: its name as words."""


ENDS = tuple(".!?。！？")


async def identity_of(context: IdentitySettings, state: IdentityState) -> Identity:
    """Open the identity of a turn: what holds on its day, with what the conversation has changed.

    Raises:
        RoleError: the role or its office is not there, or the office has no chronicle.
    """
    role = await role_of(context)
    chronicle = await asyncio.to_thread(role.chronicle)
    day = day_of(state)
    changes = [one for one in state.get("identity_changes") or [] if one["role"] == role.id]
    office = await office_of(context, role) if context.office else None
    rules = await asyncio.to_thread(office.chronicle) if office else None
    if office and not (rules and rules.triples):
        raise RoleError(f"The office {office.id!r} has no rules: write them into {office.id}/chronicle.yaml.")
    return Identity(
        role=role,
        name=role.card.name,
        language=language_of(context, role),
        triples=tuple(changed([one for one in chronicle.triples if one.holds_at(day)], changes)),
        rules=tuple(one for one in rules.triples if one.holds_at(day)) if rules else (),
        templates={**(rules.sentences if rules else {}), **chronicle.sentences},
    )


async def office_of(context: IdentitySettings, role: Role) -> Role:
    """Open the role that an office is written as; it lies in the same library."""
    return await asyncio.to_thread(open_role, context.office, role.root.parent)


def changed(triples: Sequence[Triple], changes: Iterable[IdentityChange]) -> list[Triple]:
    """The triples of a chronicle after the changes of a conversation, in the order in which they were made."""
    known = list(triples)
    for change in changes:
        gone, new = change["replaces"], Triple.model_validate(change["triple"])
        at = next((n for n, one in enumerate(known) if gone and as_plain(one) == gone), len(known))
        known = [one for n, one in enumerate(known) if n != at]
        twin = same_as(new, known)
        if twin is None:
            known.insert(at, new)
        elif new.core:
            known[known.index(twin)] = twin.model_copy(update={"core": True})
    return known


def same_as(new: Triple, known: Iterable[Triple]) -> Triple | None:
    """The triple that says the same, if there is one."""
    return next((one for one in known if spelled(one) == spelled(new)), None)


def spelled(triple: Triple) -> tuple[str, str, str]:
    """What makes two triples the same."""
    return normal_name(triple.subject), triple.relation, normal_name(triple.object)


def as_plain(triple: Triple) -> dict[str, Any]:
    """A triple as plain JSON, without what is not set."""
    return triple.model_dump(exclude_defaults=True)


def has_chronicle(identity: Identity) -> Identity:
    """Return an identity that something is known of.

    Raises:
        RoleError: nothing is.
    """
    if identity.triples:
        return identity
    role = identity.role.id
    raise RoleError(
        f"{role!r} has no identity yet: write {role}/chronicle.yaml, have it drafted by `dramaturg chronicle {role} "
        "--draft`, or add --set identity=baseline, which infers it from memories."
    )


def sentence(triple: Triple, language: str, own: Mapping[str, str] | None = None) -> str:
    """Return the sentence of a triple: its own, or else one by its relation.

    Args:
        triple: what is to be said.
        language: "en", "zh" or "ko".
        own: templates that the chronicle brings, by relation; they come before ours.
    """
    if triple.text:
        return triple.text
    template = {**templates(language), **(own or {})}.get(triple.relation, UNKNOWN[language])
    relation = triple.relation.replace("_", " ")
    said = Template(template).substitute(subject=triple.subject, object=triple.object, relation=relation)
    return said[:-1] if said.endswith(ENDS) and said[:-1].endswith(ENDS) else said


def sentences(triples: Iterable[Triple], language: str, own: Mapping[str, str] | None = None) -> str:
    """Return K_text: the sentences of triples, each on a line."""
    return "\n".join(sentence(one, language, own) for one in triples)


@cache
def templates(language: str) -> Mapping[str, str]:
    """The templates of a language, by relation."""
    file = files("dramaturg.prompts") / f"relations.{language}.yaml"
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))
