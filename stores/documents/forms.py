"""The files of a role that people write: what they may hold, and how they are read."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from dramaturg.stores.documents.front_matter import front_matter
from dramaturg.stores.documents.reading import parse_lines, parse_yaml, read_lines, read_text
from dramaturg.stores.documents.secrets import KNOWN_TO, KnownTo, RoleNames, names_of, secrets_in
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_bytes, sha256
from dramaturg.stores.macros import Names, filled
from dramaturg.stores.moments import When, read_moment, require_moment

LONGEST_NAME = 200
"""Characters of a name, in a card, a line or a triple."""
LONGEST_TEXT = 100_000
"""Characters of a profile, a line of a dialogue, a memory, a question and its answer."""
Name = Annotated[str, Field(max_length=LONGEST_NAME)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Language = Literal["en", "zh", "ko"]
"""There are prompts for these."""
CARD = "role.yaml"
CHRONICLE = "chronicle.yaml"
MEMORIES = "memories.jsonl"
PICTURES = ("picture.png", "picture.jpg", "picture.jpeg", "picture.webp")
"""Where the picture of a role may be: the first of these that is there."""
PICTURE = "picture.png"


class _Written(BaseModel):
    """Closed: an unknown key is a slip."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Line(BaseModel):
    """Open: what else a line says is kept."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


class RoleCard(_Written):
    """`role.yaml`: who the role is, in short."""

    name: Name = Field(min_length=1)
    aliases: tuple[Name, ...] = Field(default=(), strict=False)
    """Other names under which texts speak of the role."""
    language: Language = "en"
    """The language the role answers in."""
    profile: Text = ""
    """Who the role is, in a few sentences; every prompt begins with it."""
    sources: tuple[str, ...] = Field(default=(), strict=False)
    """Where the facts are from; for people, never in a prompt."""
    greetings: tuple[Text, ...] = Field(default=(), strict=False)
    """What the role may say before anybody has spoken: the first, and others in its place; macros are filled in."""
    timeline: tuple[Name, ...] = Field(default=(), strict=False)
    """Names of times in the order in which they come, such as chapters of a life; without them, those of its story."""
    story: str = ""
    """The id of a role in the library whose files it reads, too, as far as they are known to it."""
    card: Mapping[str, JsonValue] = {}
    """What of a character card has no other place in a role's files; see `dramaturg.stores.formats`."""

    @property
    def called(self) -> str:
        """The name that a card's texts call the role by."""
        nickname = self._of_card("nickname")
        return nickname.strip() if isinstance(nickname, str) and nickname.strip() else self.name

    def greeting(self, user: str, at: int = 0) -> str:
        """One of the greetings, to somebody; empty: there is none."""
        return filled(self.greetings[at], Names(self.called, user)).strip() if at < len(self.greetings) else ""

    def directions(self, user: str, seed: str) -> str:
        """How its author wants the role to be played, to somebody; empty: nobody has said it.

        Args:
            user: the name of whom it speaks with.
            seed: of what is left to chance in it.
        """
        extensions = self._of_card("extensions")
        depth = extensions.get("depth_prompt") if isinstance(extensions, dict) else None
        beside = depth.get("prompt") if isinstance(depth, dict) else None
        parts = (self._of_card("system_prompt"), beside, self._of_card("post_history_instructions"))
        names = Names(self.called, user)
        said = (filled(part, names, f"{seed}{at}").strip() for at, part in enumerate(parts) if isinstance(part, str))
        return "\n\n".join(part for part in said if part)

    def _of_card(self, field: str) -> JsonValue:
        data = self.card.get("data")
        return data.get(field) if isinstance(data, dict) else None


class Document(_Written):
    """A text of `persona/`: UTF-8 decoded, no byte order mark, line ends as a line feed."""

    name: str
    text: str
    sha256: str
    """Of the file's bytes."""
    when: str = ""
    """The time that all of it is of, as it says above its text; empty: it does not say."""
    known_to: tuple[tuple[int, RoleNames], ...] = ()
    """Who knows what, by the places where it says so: of the sections they stand in, of all of it above the first."""


class DialogueLine(_Line):
    """A line that someone speaks in a scene."""

    scene: str
    speaker: Name
    text: Text
    place: str | None = None
    date: str | None = None
    when: str | None = None
    """The moment that it is of; without it `date`, or else `scene`, says it."""
    known_to: KnownTo = None
    """The roles that know of it; None: all that have it."""
    pinned: bool = False
    """Whether the memory of it is recalled whatever is asked."""
    memory: bool = True
    """Whether the role remembers it."""


class Memory(_Line):
    """A memory in free words, or as a question and its answer."""

    text: Text | None = None
    question: Text | None = None
    answer: Text | None = None
    when: str | None = None
    known_to: KnownTo = None
    """The roles that have it; None: all that share it."""
    pinned: bool = False
    """Whether it is recalled whatever is asked."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        pair = self.question is not None and self.answer is not None
        lone = self.question is not None or self.answer is not None
        if (self.text is None) == lone and pair == lone:
            return self
        raise ValueError("a memory has either `text`, or `question` and `answer`")


def _as_sentence(text: str) -> str:
    template = Template(text)
    if template.is_valid() and {"object"} <= {*template.get_identifiers()} <= {"subject", "object"}:
        return text
    raise ValueError("must be a sentence with $object, and with no other place than $subject; $$ is a dollar sign")


Sentence = Annotated[str, AfterValidator(_as_sentence)]


class Triple(_Written):
    """A statement of identity: subject, relation, object, an edge of 𝒞 (ID-RAG 3.2)."""

    subject: Text = Field(min_length=1)
    relation: Name = Field(min_length=1)
    object: Text = Field(min_length=1)
    kind: Literal["belief", "trait", "value", "preference", "goal", "experience", "rule"]
    """`rule`: what an office demands of whoever holds it."""
    core: bool = False
    """A core triple is what the role would not be itself without."""
    text: str = ""
    """The sentence that says it, where that of its relation would read badly."""
    source: str = ""
    """Where it is from."""
    since: When | None = None
    until: When | None = None
    """From when to when it holds, both included; None: always."""
    known_to: KnownTo = None
    """The roles that know it; None: all that have the chronicle."""

    def holds_at(self, when: str, timeline: tuple[str, ...] = (), *, surely: bool = False) -> bool:
        """Whether it holds at a moment, of a month or a year at its end; at none in particular, what has no end does.

        So it is with what begins or ends at a time that cannot be compared with the moment.

        Args:
            when: the moment; empty: none in particular.
            timeline: the role's.
            surely: what cannot be compared does not hold.
        """
        now = read_moment(when, timeline)
        begun = read_moment(self.since, timeline).begins_by(now) if self.since else True
        still = now.ends_by(read_moment(self.until, timeline)) if self.until else True
        if begun is None or still is None:
            return not surely and begun is not False and self.until is None
        return begun and still


class Chronicle(_Written):
    """`chronicle.yaml`: an identity graph 𝒞, and how its relations are put into words."""

    triples: tuple[Triple, ...] = Field(default=(), strict=False)
    sentences: Mapping[str, Sentence] = {}
    """By relation, a sentence with $subject and $object."""


class Question(_Line):
    """A question to try the role with."""

    question: Text = Field(min_length=1)
    answer: Text | None
    """What a good answer says; None where there is none."""
    scope: Literal["in", "out"]
    """`out`: the role can't know."""
    attribute: str | None = None
    """What the question is about, such as `relationships`."""
    reason: str | None = None
    """Why the role can't know."""


class _BlockDumper(yaml.SafeDumper):
    """Texts of several lines as a block, not in quotes with doubled line ends."""

    def ignore_aliases(self, data: object) -> bool:
        """Write each value out, also where two are one object."""
        return True


class _CardDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """The same by libyaml, where there is one: a card may keep a book of 5,000 entries."""

    ignore_aliases = _BlockDumper.ignore_aliases


for _dumper in (_BlockDumper, _CardDumper):
    _dumper.add_representer(
        str,
        lambda dumper, text: dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
        ),
    )


_COMMENTS = {
    "name": "The name that the role calls itself by.",
    "aliases": "Other names under which texts speak of it.",
    "language": "The language it answers in: en, zh or ko.",
    "profile": "Who it is, in a few sentences: every prompt begins with them.",
    "sources": "Where the facts are from; for people, never in a prompt.",
    "timeline": "Names of times in their order, for what has a time and no date.",
    "story": "The id of a role of this library whose files it reads, too, as far as they are known to it.",
    "greetings": "How it begins a conversation: the first, or one of the others in its place.",
    "card": "What of the character card that it was made of has no other place; it goes back into a card.",
}
_CARD_BLOCK = re.compile(r"^card:.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
_SHOWN: Mapping[str, Any] = {"allow_unicode": True, "sort_keys": False, "width": 110}
_END = "\n...\n"  # of a document, which a block that ends with blank lines brings
_ESCAPED = re.compile(r"[\U00010000-\U0010ffff]")
_ONLY_WHERE_THERE = ("timeline", "story", "greetings", "card")


def parse_card(data: bytes, role: Path) -> RoleCard:
    """Return the card that the bytes of `role.yaml` describe."""
    return parse_yaml(data, role / CARD, RoleCard, role)


def parse_chronicle(data: bytes, role: Path) -> Chronicle:
    """Return what the bytes of `chronicle.yaml` hold; nothing where there are none.

    Raises:
        RoleFileError: it cannot be used, or a time in it can neither be read nor is one of the role's timeline.
    """
    chronicle = parse_yaml(data, role / CHRONICLE, Chronicle, role)
    times = [when for one in chronicle.triples for when in (one.since, one.until) if when]
    if unknown := [when for when in times if not read_moment(when).is_read]:
        timeline = parse_card(read_bytes(role / CARD, role), role).timeline
        for when in unknown:
            try:
                require_moment(when, timeline)
            except ValueError as error:
                line = data.partition(when.encode())[0].count(b"\n") + 1
                raise RoleFileError(f"{role.name}/{CHRONICLE}, line {line}: {error}") from error
    return chronicle


def parse_memories(data: bytes, role: Path) -> dict[int, Memory]:
    """Return the lines that the bytes of `memories.jsonl` hold, by their numbers in it, from 1."""
    return parse_lines(data, role / MEMORIES, Memory, role)


def read_questions(role: Path) -> list[Question]:
    """Return `questions.jsonl`; empty if there is none."""
    path = role / "questions.jsonl"
    return list(read_lines(path, Question, role).values()) if path.exists() else []


def card_text(card: RoleCard) -> str:
    """Return a `role.yaml` for people to edit: each field with what it is for."""
    shown = {name: getattr(card, name) for name in _COMMENTS}
    return "".join(
        f"# {_COMMENTS[name]}\n{_dumped(name, value)}"
        for name, value in shown.items()
        if value or name not in _ONLY_WHERE_THERE
    )


def with_card(text: str, kept: Mapping[str, JsonValue]) -> str:
    """Return a `role.yaml` with another `card`, and everything else as its author wrote it."""
    comment = f"# {_COMMENTS['card']}\n"
    before = _CARD_BLOCK.sub("", text.replace(comment, ""))
    return f"{before.rstrip()}\n{comment}{_dumped('card', kept)}" if kept else before


def with_values(text: str, values: Mapping[str, Any]) -> str:
    """Return a file of YAML with other values of some keys, and everything else as its author wrote it; None: none."""
    for name, value in values.items():
        block = re.compile(rf"^{name}:.*?(?=^[^\s-]|\Z)", re.MULTILINE | re.DOTALL)
        new = "" if value is None else _dumped(name, value)
        there = block.search(text)
        text = f"{text[: there.start()]}{new}{text[there.end() :]}" if there else f"{text.rstrip()}\n{new}".lstrip()
    return text


def document(data: bytes, path: Path, role: Path, name: str = "") -> Document:
    """Return the document that these bytes are, or would be at this path; `name`: another one, as of a story's."""
    front, text = front_matter(read_text(data, path, role))
    when, (known_to, text) = front.get("when"), secrets_in(text)
    if KNOWN_TO in front:
        try:
            known_to = (0, names_of(front[KNOWN_TO] or ())), *known_to
        except ValueError as error:
            where = path.relative_to(role.parent).as_posix()
            raise RoleFileError(f"{where}, above its text: `{KNOWN_TO}` {error}.") from error
    said = "" if when is None else str(when)
    return Document(name=name or path.name, text=text, sha256=sha256(data), when=said, known_to=known_to)


def _dumped(name: str, value: Any) -> str:
    plain = {name: list(value) if isinstance(value, tuple) else value}
    if name == "card":
        # What libyaml escapes, such as emoji, has a sign of one's own use in its place meanwhile: people read this.
        text = json.dumps(plain, ensure_ascii=False)
        own = (sign for sign in map(chr, range(0xE000, 0xF900)) if sign not in text)
        signs = {ord(sign): next(own, sign) for sign in sorted({*_ESCAPED.findall(text)})}
        shown = str(yaml.dump(json.loads(text.translate(signs)), Dumper=_CardDumper, **_SHOWN))
        return shown.translate({ord(own): sign for sign, own in signs.items()}).replace(_END, "\n")
    return dumped(plain)


def dumped(values: Mapping[str, Any]) -> str:
    """Return values as YAML for people to edit."""
    return str(yaml.dump(dict(values), Dumper=_BlockDumper, **_SHOWN)).replace(_END, "\n")
