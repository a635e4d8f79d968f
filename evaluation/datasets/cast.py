"""Roles that are made of a dataset: what each of them knows, as the files of a library, and what is left to ask them.

What a role is asked must not stand in what it knows: who casts a dataset holds scenes back, and asks about those only.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from dramaturg.evaluation.datasets.dataset import Dataset, DatasetTurn
from dramaturg.stores.documents.forms import CARD, LONGEST_NAME, LONGEST_TEXT, MEMORIES, RoleCard, card_text
from dramaturg.stores.errors import RoleError, did_you_mean
from dramaturg.stores.formats.markdown import language_of
from dramaturg.stores.library_folder import Library
from dramaturg.stores.names import normal_name

PROFILE = 500
"""Letters of a card's profile, which every prompt begins with: the first sentences that a dataset says of a role."""
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")


class Scene(NamedTuple):
    """What was said in a scene, by everybody."""

    id: str
    lines: tuple[DatasetTurn, ...]
    place: str = ""


class Member(NamedTuple):
    """Somebody of whom a dataset says enough to be a role."""

    name: str
    aliases: tuple[str, ...] = ()
    language: str = ""
    """en, zh or ko; empty: that of what is known."""
    profile: str = ""
    """In a few sentences; empty: the first ones of the documents."""
    documents: Mapping[str, str] = {}
    """By name, without a suffix: Markdown."""
    scenes: Sequence[Scene] = ()
    memories: Sequence[Mapping[str, str]] = ()
    """As the lines of memories.jsonl."""
    sources: tuple[str, ...] = ()
    """Where more of it is from than the dataset, with its licence."""


class Cast(NamedTuple):
    """The roles of a dataset by their ids, and the questions that they are asked."""

    form: str
    title: str
    licence: str
    members: Mapping[str, Member]
    dataset: Dataset
    """The questions that are left to ask; without any, only interviews are possible."""
    notes: Sequence[str] = ()
    """Sentences about what was held back, left out or not found."""

    def questions(self, role: str) -> int:
        """How many questions there are for a role."""
        one = self.members[role]
        names = {*map(normal_name, (role, one.name, *one.aliases)), ""}
        return sum(normal_name(question.role) in names for question in self.dataset.questions)

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Return the ids of roles that are named by id, name or alias, all of a name; of all where nobody is named.

        Raises:
            ValueError: the dataset has nobody of a name.
        """
        by_name, by_alias = dict[str, list[str]](), dict[str, list[str]]()
        for role, one in self.members.items():
            for known in {normal_name(role), normal_name(one.name)}:
                by_name.setdefault(known, []).append(role)
            for alias in {*map(normal_name, one.aliases)}:
                by_alias.setdefault(alias, []).append(role)
        by_name, wanted = by_alias | by_name, list(names)
        for name in wanted:
            if normal_name(name) not in by_name:
                there = [one.name for one in self.members.values()]
                first = f"; it has {', '.join(there[:20])}{', …' * (len(there) > 20)}."
                raise ValueError(f"{self.title} has nobody of the name {name!r}{did_you_mean(name, there, first)}")
        return [*dict.fromkeys(role for name in wanted for role in by_name[normal_name(name)])] or [*self.members]

    def files(self, role: str) -> dict[str, bytes]:
        """Return the files of a role, by their paths in its folder."""
        one = self.members[role]
        said = "\n".join((*one.documents.values(), *(line.text for scene in one.scenes for line in scene.lines)))
        aliases = [name for name in dict.fromkeys(one.aliases) if 0 < len(name) <= LONGEST_NAME]
        card = RoleCard.model_validate(
            {
                "name": one.name[:LONGEST_NAME],
                "aliases": [name for name in aliases if name != one.name],
                "language": one.language or language_of(said or "".join(map(str, one.memories))),
                "profile": one.profile or first_sentences(said if one.documents else ""),
                "sources": (self.title, f"Licence: {self.licence}", *one.sources),
            }
        )
        found = {CARD: card_text(card).encode()}
        for name, text in one.documents.items():
            found[f"persona/{file_stem(name)}.md"] = f"{text.strip()}\n".encode(errors="replace")
        if one.scenes:
            lines = (
                {"scene": scene.id, **({"place": scene.place} if scene.place else {})}
                | {"speaker": line.speaker[:LONGEST_NAME], "text": line.text[:LONGEST_TEXT]}
                for scene in one.scenes
                for line in scene.lines
            )
            found["dialogues/scenes.jsonl"] = json_lines(lines)
        if one.memories:
            found[MEMORIES] = json_lines(one.memories)
        return found


class Placed(NamedTuple):
    """A role of a dataset in a library."""

    role: str
    name: str
    state: Literal["new", "there", "edited"]
    """`edited`: it was made of this dataset, and its files are no longer what would be made now; it stays as it is."""
    documents: int
    scenes: int
    memories: int
    questions: int


def placed(cast: Cast, roles: Sequence[str], library: Library) -> list[Placed]:
    """Say which roles of a cast a library has already.

    Raises:
        RoleError: a role of that id is there, and was not made of this dataset.
    """
    there, found = {*library.roles()}, []
    for role in roles:
        one = cast.members[role]
        state: Literal["new", "there", "edited"] = "new"
        if role in there:
            if cast.title not in library.role(role).card.sources:
                raise RoleError(f"There is {role!r} in {library.name} that was not made of {cast.title}: rename it.")
            known = library.contents(role)
            state = "there" if all(known.get(path) == data for path, data in cast.files(role).items()) else "edited"
        sizes = (len(one.documents), len(one.scenes), len(one.memories), cast.questions(role))
        found.append(Placed(role, one.name, state, *sizes))
    return found


def put_into(cast: Cast, found: Sequence[Placed], library: Library) -> None:
    """Write the roles that a library lacks, each whole or not at all; those that are there stay as they are."""
    new = {one.role: cast.files(one.role) for one in found if one.state == "new"}
    if new:
        library.replace(new, new=True)


def role_id(form: str, name: str) -> str:
    """Return the id of a role of a dataset: the same each time, and that of no role which somebody wrote by hand.

    Letters that have no Latin ones in them are their code points: 张飞 is u5f20u98de.
    """
    latin = unicodedata.normalize("NFKD", name).casefold()
    kept = "".join(
        one if one.isascii() and one.isalnum() else "-" if not one.isalnum() else f"u{ord(one):x}"
        for one in latin
        if not unicodedata.combining(one)
    )
    told = re.sub(r"-+", "-", f"{form.replace('_', '-')}-{kept}").strip("-")
    return told if len(told) <= 64 else f"{told[:55]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def free_id(form: str, name: str, taken: Container[str]) -> str:
    """Return the id of a role of a dataset; where two names would have one, the second has a digest of its own too."""
    own = role_id(form, name)
    return f"{own[:55]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}" if own in taken else own


def first_sentences(text: str, most: int = PROFILE) -> str:
    """Return the first whole sentences of a text without its headings, as many as fit."""
    paragraphs = [one.strip() for one in text.split("\n") if one.strip() and not one.lstrip().startswith("#")]
    found = ""
    for sentence in _SENTENCE.split(" ".join(paragraphs)[: 4 * most]):
        if len(found) + len(sentence) > most:
            break
        found += sentence if not found or found[-1] in "。！？" else f" {sentence}"
    return found.strip() or " ".join(paragraphs)[:most].strip()


def file_stem(name: str) -> str:
    """Return a name as that of a document: no path, and no character that some system refuses."""
    kept = "".join(one if one.isalnum() or one in " -_" else " " for one in unicodedata.normalize("NFC", name))
    return " ".join(kept.split())[:60].strip() or "persona"


def json_lines(values: Iterable[Mapping[str, str]]) -> bytes:
    """Return values as JSON lines."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in values).encode(errors="replace")
