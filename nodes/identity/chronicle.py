"""The identity model 𝒞: a role's chronicle, what its conversation has changed in it, and its sentences (ID-RAG 3.2)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

import yaml
from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema
from typing_extensions import TypedDict

from dramaturg.nodes.edited import entries
from dramaturg.nodes.identity.perception import PerceptionState, date_of_turn
from dramaturg.nodes.open_settings import Open
from dramaturg.nodes.run import RoleContext, Run
from dramaturg.prompts import filled
from dramaturg.stores.documents.chronicle import triple_key
from dramaturg.stores.documents.forms import Triple
from dramaturg.stores.documents.secrets import told_among
from dramaturg.stores.errors import RoleError
from dramaturg.stores.index.folder import left_out_of
from dramaturg.stores.library import open_role
from dramaturg.stores.moments import read_moment
from dramaturg.stores.names import relation_name
from dramaturg.stores.role import Role

Condition = Literal["id-rag", "full", "baseline"]

# For a relation without a template: its name as words.
DEFAULT_TEMPLATES: Mapping[str, str] = {
    "en": "$subject $relation $object.",
    "zh": "$subject——$relation：$object。",
    "ko": "$subject — $relation: $object.",
}
SENTENCE_ENDS = tuple(".!?。！？")
UNKNOWN_KIND: Literal["trait"] = "trait"
"""The kind of a triple for which a model names none: but for a rule, nothing hangs on it."""
GivenRelation = Annotated[
    str,
    BeforeValidator(lambda said: relation_name(said) if isinstance(said, str) else said),
    StringConstraints(min_length=1, max_length=80),
    WithJsonSchema({"pattern": "^[a-z][a-z_]{1,40}$", "type": "string"}),
]
"""The name of a relation, as a model gives it and a chronicle writes it."""
GivenObject = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class IdentitySettings(RoleContext):
    """What an identity is made of."""

    office: Open[str] = Field(
        default="",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$",
        description="The id of a role whose chronicle holds the rules of an office that this role has; empty: none.",
    )
    update: Open[bool] = Field(
        default=False, description="Whether a turn may change the identity; costs a call after the reply."
    )


class IdentityChange(TypedDict):
    """What a turn has changed in a role's identity: a new triple, and the one that it replaces, if any.

    `salience` is from 1 to 10, `confidence` from 0 to 1, `approved` whether a person has agreed (None: nobody was
    asked), and `evidence` what was said or seen. Where the triple it replaces is a core one that it contradicts,
    `replaces_too` is the one that the model named.
    """

    role: str
    turn: str
    triple: dict[str, Any]
    replaces: dict[str, Any] | None
    replaces_too: NotRequired[dict[str, Any]]
    evidence: str
    salience: int
    confidence: float
    asks: bool
    approved: bool | None


IdentityChanges = Annotated[
    list[IdentityChange], Field(description="How the identity has changed in this conversation; it lives on.")
]


class IdentityState(PerceptionState):
    """What every node that opens the identity reads."""

    identity_changes: NotRequired[IdentityChanges]


class Identity(NamedTuple):
    """An identity model: the role's own triples, those of its office, and the templates of their sentences.

    `not_held` are those of either that hold only before or after its date, `as_of`.
    """

    role: Role
    name: str
    language: str
    as_of: str
    triples: tuple[Triple, ...]
    rules: tuple[Triple, ...]
    not_held: tuple[Triple, ...]
    templates: Mapping[str, str]

    def sentence(self, triple: Triple) -> str:
        """What a triple says."""
        return triple_sentence(triple, self.language, self.templates)

    def text(self, triples: Iterable[Triple]) -> str:
        """K_text: the sentences of triples, each on a line."""
        return "\n".join(map(self.sentence, triples))

    def numbered(self, triples: Iterable[Triple]) -> str:
        """The sentences of triples, numbered from 1."""
        return "\n".join(f"{number}. {self.sentence(one)}" for number, one in enumerate(triples, start=1))

    def triple_evidence(self, triple: Triple) -> dict[str, Any]:
        """A triple as evidence shows it: the fields that are set, and its sentence."""
        return {**triple_json(triple), "sentence": self.sentence(triple)}


async def identity_of(run: Run[IdentitySettings], state: IdentityState) -> Identity:
    """The identity of a turn: what holds at its date, after the changes of the conversation up to then.

    Raises:
        RoleError: the office is missing or has no rules, or a chronicle cannot be read.
    """
    role, as_of, office = run.role, date_of_turn(state), run.settings.office
    chronicle, rules = await asyncio.to_thread(role.chronicle), None
    if office:
        rules = await asyncio.to_thread(lambda: open_role(office, role.root.parent).chronicle())
        if not rules.triples:
            raise RoleError(f"The office {office!r} has no rules: write them into {office}/chronicle.yaml.")
    # What a program brings as `now` comes before the time that is set: then what cannot be compared with it may hold.
    told = AtMoment(as_of, role.card.timeline, surely=as_of == run.settings.as_of != "")
    there, there_of_office = chronicle.triples, rules.triples if rules else ()
    own, duties = (told_among(of, role.own_names) for of in (there, there_of_office))
    run.keep_untold(triples=len(there) + len(there_of_office) - len(own) - len(duties))
    held, not_held = at_moment(own, told)
    of_office, not_of_office = at_moment(duties, told)
    if told.surely:
        run.keep_back(triples=left_out_of(begun_by([*not_of_office, *not_held], told)))
    changes = [one for one in changes_in(state) if one["role"] == role.id]
    return Identity(
        role=role,
        name=role.card.name,
        language=run.language,
        as_of=as_of,
        triples=tuple(apply_changes(held, changes_at_moment(changes, told, not_held))),
        rules=tuple(of_office),
        not_held=(*not_of_office, *not_held),
        templates={**(rules.sentences if rules else {}), **chronicle.sentences},
    )


class AtMoment(NamedTuple):
    """The moment by which an identity is read; `surely`: what cannot be compared with it does not hold."""

    as_of: str
    timeline: tuple[str, ...]
    surely: bool

    def holds(self, triple: Triple) -> bool:
        """Whether a triple holds then."""
        return triple.holds_at(self.as_of, self.timeline, surely=self.surely)


def at_moment(triples: Iterable[Triple], moment: AtMoment) -> tuple[list[Triple], list[Triple]]:
    """The triples that hold at a moment, and those that do not."""
    held, not_held = list[Triple](), list[Triple]()
    for one in triples:
        (held if moment.holds(one) else not_held).append(one)
    return held, not_held


def begun_by(not_held: Iterable[Triple], moment: AtMoment) -> list[bool | None]:
    """Of triples that do not hold, whether each has begun; None: its times cannot be compared."""
    now, found = read_moment(moment.as_of, moment.timeline), list[bool | None]()
    for one in not_held:
        ends = now.ends_by(read_moment(one.until, moment.timeline)) if one.until else True
        found.append(None if ends is None else not one.since or read_moment(one.since, moment.timeline).begins_by(now))
    return found


class _Change(TypedDict):
    """What must be in a change for an identity to be read."""

    role: str
    triple: Triple
    replaces: Triple | None
    replaces_too: NotRequired[Triple | None]
    approved: bool | None


def changes_in(state: Mapping[str, Any]) -> list[IdentityChange]:
    """The changes of a conversation; one that somebody has written there may have a role and a triple alone."""
    return entries(state, "identity_changes", _Change, replaces=None, approved=None)


async def chronicled_identity(run: Run[IdentitySettings], state: IdentityState) -> Identity:
    """The identity of a turn, where its chronicle has any triples, be they of another time or known to others alone.

    Raises:
        RoleError: it has none.
    """
    identity = await identity_of(run, state)
    if identity.triples or identity.not_held or identity.role.chronicle().triples:
        return identity
    role = identity.role.id
    raise RoleError(
        f"{role!r} has no identity yet: write {role}/chronicle.yaml, have it drafted by `dramaturg chronicle {role} "
        "--draft`, or add --set identity=baseline, which infers it from memories."
    )


def changes_at_moment(
    changes: Iterable[IdentityChange], moment: AtMoment, not_held: Sequence[Triple]
) -> list[IdentityChange]:
    """The changes of a conversation that count at a moment.

    Left out is what holds only after it, and what the chronicle has taken over and ended: it holds then, and not now.
    """
    alike = defaultdict[tuple[str, str, str], list[Triple]](list)
    for one in not_held:
        alike[triple_key(one)].append(one)

    def counts(new: Triple) -> bool:
        ended = new.since and any(one.holds_at(new.since, moment.timeline) for one in alike[triple_key(new)])
        return moment.holds(new) and not ended

    return [change for change in changes if counts(Triple.model_validate(change["triple"]))]


def apply_changes(triples: Sequence[Triple], changes: Sequence[IdentityChange]) -> list[Triple]:
    """The triples of a chronicle after the changes of a conversation, in the order in which they were made."""
    if not changes:
        return [*triples]
    known = dict(enumerate(triples))  # by place: what is new takes the place of what it replaces
    places = defaultdict[tuple[str, str, str], list[int]](list)
    for at, one in known.items():
        places[triple_key(one)].append(at)

    def take_out(change: IdentityChange, replaced: dict[str, Any] | None) -> int | None:
        """Take out all that says what is replaced, whatever else its lines hold now; the first of their places."""
        if not replaced:
            return None
        triple = Triple.model_validate(replaced)
        may = triple.core or bool(change["approved"])  # else a line that was made core meanwhile stays
        alike = places[triple_key(triple)]
        out = [one for one in alike if may or not known[one].core]
        for place in out:
            alike.remove(place)
            del known[place]
        return min(out, default=None)

    for last, change in enumerate(changes, start=len(known)):
        place, new = take_out(change, change["replaces"]), Triple.model_validate(change["triple"])
        take_out(change, change.get("replaces_too"))
        alike = places[triple_key(new)]
        if not alike:
            alike.append(last if place is None else place)
            known[alike[0]] = new
        elif new.core:
            known[alike[0]] = known[alike[0]].model_copy(update={"core": True})
    return [known[place] for place in sorted(known)]


def written_relation(name: str, known: Iterable[str]) -> str:
    """A relation as a chronicle has written it already, else by its own name."""
    return next((one for one in known if relation_name(one) == name), name)


def triple_json(triple: Triple) -> dict[str, Any]:
    """A triple as plain JSON, without the fields that are not set."""
    return triple.model_dump(exclude_defaults=True)


def triple_sentence(triple: Triple, language: str, own: Mapping[str, str] | None = None) -> str:
    """Return the sentence of a triple: its own text, or else the template of its relation.

    Args:
        triple: what is to be said.
        language: "en", "zh" or "ko".
        own: the chronicle's own templates by relation; they come before the package's.
    """
    if triple.text:
        return triple.text
    template = (own or {}).get(triple.relation) or templates(language).get(triple.relation, DEFAULT_TEMPLATES[language])
    return _sentence(template, triple.subject, triple.relation, triple.object)


@lru_cache(maxsize=50_000)  # a turn makes those of a whole chronicle, again and again
def _sentence(template: str, subject: str, relation: str, thing: str) -> str:
    said = filled(template, {"subject": subject, "object": thing, "relation": relation.replace("_", " ")})
    return said[:-1] if said.endswith(SENTENCE_ENDS) and said[:-1].endswith(SENTENCE_ENDS) else said


@cache
def templates(language: str) -> Mapping[str, str]:
    """The templates of a language, by relation."""
    file = files("dramaturg.prompts") / f"relations.{language}.yaml"
    return dict(yaml.safe_load(file.read_text(encoding="utf-8")))
