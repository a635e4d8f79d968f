"""`cast.draft/`: texts that a character is cast from, what was drafted of them, and what a person has decided.

A draft is a line of JSON in a file a kind, to be read and edited: `persona.jsonl` (a statement, and the heading that it
comes under), `dialogues.jsonl` (a scene a line), `memories.jsonl`, `chronicle.jsonl` (a triple a line), `card.jsonl`
(a field of `role.yaml` a line, or the role's picture), `names.jsonl` (the names of somebody else a line). Accepted,
they stand in the files that people write: no method reads this folder.

What was drafted once does not come back, whether it waits, was edited, taken over or refused: `drafted.txt` has its
key.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError, model_validator

from dramaturg.stores.changes import change_documents
from dramaturg.stores.documents.chronicle import triple_key, with_triples
from dramaturg.stores.documents.forms import (
    CARD,
    CHRONICLE,
    LONGEST_NAME,
    MEMORIES,
    PICTURE,
    DialogueLine,
    Memory,
    Name,
    RoleCard,
    Text,
    Triple,
    card_text,
    parse_card,
    parse_chronicle,
    with_values,
)
from dramaturg.stores.documents.merges import DECISIONS, Merge, MergePlan, plan_bytes, read_plan
from dramaturg.stores.documents.reading import parse_lines, read_lines, read_text
from dramaturg.stores.documents.sources import finish_begun_change
from dramaturg.stores.errors import RoleError, StaleDraft
from dramaturg.stores.files import append_bytes, canonical, read_if_there, sha256, sweep, write_bytes
from dramaturg.stores.learning import document_name
from dramaturg.stores.locks import role_lock
from dramaturg.stores.names import normal_name
from dramaturg.stores.texts.form import Scene, SourceText

FOLDER = "cast.draft"
Kind: TypeAlias = Literal["card", "persona", "dialogues", "memories", "chronicle", "names"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_TEXTS, _ANSWERS, _KEYS = "texts", "answers.jsonl", "drafted.txt"
LONGEST_FILE = 150
"""Bytes of the name of a file that is made after a text's, where that one may not be used."""
_SOURCE: TypeAdapter[SourceText] = TypeAdapter(SourceText)


class _Drafted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CardField(_Drafted):
    """What a field of `role.yaml` would hold, or one more of its items; a picture is the cover of the text named."""

    field: Literal["profile", "aliases", "greetings", "picture"]
    text: Text = Field(min_length=1)
    source: str = ""

    @model_validator(mode="after")
    def _names_are_short(self) -> Self:
        if self.field == "aliases" and len(self.text) > LONGEST_NAME:
            raise ValueError(f"an alias has at most {LONGEST_NAME} characters")
        return self


class Statement(_Drafted):
    """What a text tells of the character, under a heading of a persona document."""

    document: Name = Field(min_length=1)
    heading: Name = Field(min_length=1)
    text: Text = Field(min_length=1)
    source: str = ""
    """Where the text says it."""


class DraftedLine(_Drafted):
    """A line of a scene."""

    speaker: Name = Field(min_length=1)
    text: Text = Field(min_length=1)
    to: Name = ""
    at: str = ""
    """Where it stands in its file."""


class DraftedScene(_Drafted):
    """A scene in which the character speaks."""

    document: Name = Field(min_length=1)
    scene: Name = Field(min_length=1)
    place: str = ""
    date: str = ""
    lines: tuple[DraftedLine, ...] = Field(min_length=1, strict=False)


class DraftedNames(_Drafted):
    """Names that are of one person in the texts, who is not the character."""

    name: Name = Field(min_length=1)
    names: tuple[Name, ...] = Field(min_length=2, strict=False)
    """All of them, that one, too."""
    source: str = ""


Item: TypeAlias = CardField | Statement | DraftedScene | Memory | Triple | DraftedNames
FORMS: Mapping[Kind, type[Item]] = {
    "card": CardField,
    "persona": Statement,
    "dialogues": DraftedScene,
    "memories": Memory,
    "chronicle": Triple,
    "names": DraftedNames,
}


def item_keys(kind: Kind, items: Iterable[Item]) -> list[list[str]]:
    """What tells each draft from others of its kind: what it says, whatever its source.

    A scene has a key for each line of what is said, which counts how often that was said before in its text: of a chat
    that has grown, or a scene that was changed, only what is new is drafted again.
    """
    seen = Counter[str]()
    found = []
    for item in items:
        match item:
            case CardField():
                said = [[item.field, item.text]]
            case Statement():
                said = [[item.document, item.text]]
            case DraftedScene():
                said = [[item.document, line.speaker, part] for line in item.lines for part in line.text.split("\n")]
            case Triple():
                said = [[*triple_key(item)]]
            case DraftedNames():
                said = [sorted(item.names)]
            case Memory():
                said = [[item.text or "", item.question or "", item.answer or ""]]
        keys = list[str]()
        for one in said:
            digest = sha256(canonical([kind, *one]))[:24]
            seen[digest] += 1
            keys.append(f"{digest}.{seen[digest]}" if isinstance(item, DraftedScene) else digest)
        found.append(keys)
    return found


class CastDraft:
    """The drafts of a role; those who change them hold its lock meanwhile."""

    def __init__(self, role: Path) -> None:
        self.role = role
        self.folder = role / FOLDER

    def add_texts(self, texts: Iterable[SourceText]) -> None:
        """Keep texts; one of the same name is replaced."""
        with role_lock(self.role):
            sweep(self.folder / _TEXTS)
            for one in texts:
                path = self._text_path(one.name)
                if one.picture:
                    write_bytes(path.with_suffix(".png"), one.picture, within=self.role)
                write_bytes(path, _SOURCE.dump_json(one._replace(picture=b"")), within=self.role)

    def picture(self, name: str) -> bytes | None:
        """Return the picture that a text came with; None: it has none."""
        return read_if_there(self._text_path(name).with_suffix(".png"), within=self.role)

    def names(self) -> list[str]:
        """Return the names of the texts, sorted."""
        return sorted(one.name for one in self.texts())

    def texts(self) -> list[SourceText]:
        """Return the texts, by name.

        Raises:
            RoleError: one is not what was written.
        """
        found = []
        for path in sorted((self.folder / _TEXTS).glob("*.json")):
            try:
                found.append(_SOURCE.validate_json(read_if_there(path, within=self.role) or b""))
            except ValidationError as error:
                place = path.relative_to(self.role).as_posix()
                raise RoleError(f"{place} of {self.role.name!r} is damaged: cast from its file again.") from error
        return found

    def add_scenes(self, name: str, scenes: Iterable[Scene]) -> None:
        """Keep the scenes that were found in a text."""
        with role_lock(self.role):
            for one in self.texts():
                if one.name == name:
                    write_bytes(
                        self._text_path(name), _SOURCE.dump_json(one._replace(scenes=tuple(scenes))), within=self.role
                    )

    def answers(self) -> dict[str, JsonValue]:
        """Return the answers of a model so far, by the keys that they are kept under."""
        found = dict[str, JsonValue]()
        for line in (read_if_there(self.folder / _ANSWERS, within=self.role) or b"").split(b"\n"):
            with suppress(ValueError):  # the last line of a process that was killed may be cut
                key, value = json.loads(line)
                found[key] = value
        return found

    def keep_answers(self, answers: Mapping[str, JsonValue]) -> None:
        """Keep answers of a model, so that nothing is asked twice."""
        with role_lock(self.role):
            path = self.folder / _ANSWERS
            there = read_if_there(path, within=self.role) or b""
            cut = b"" if not there or there.endswith(b"\n") else b"\n"
            lines = b"".join(canonical([key, value]) + b"\n" for key, value in answers.items())
            append_bytes(path, cut + lines, within=self.role)

    def items(self, kind: Kind) -> list[Any]:
        """Return what waits of a kind, in its order; a change that has begun is finished first.

        Raises:
            RoleFileError: the file cannot be read, or a line in it is none of its kind.
        """
        finish_begun_change(self.role)
        return self._items(kind)

    def _items(self, kind: Kind) -> list[Any]:
        path = self._path(kind)
        return [*read_lines(path, FORMS[kind], self.role).values()] if path.exists() else []

    def counts(self) -> dict[Kind, int]:
        """Return how many wait of each kind; kinds of which none does are left out."""
        found: dict[Kind, int] = {kind: len(self.items(kind)) for kind in KINDS}
        return {kind: number for kind, number in found.items() if number}

    def put(self, drafts: Mapping[Kind, Sequence[Item]], speaker: str = "") -> dict[Kind, int]:
        """Have drafts wait below those that do, but for what was drafted before; return how many are new.

        Args:
            drafts: by their kinds.
            speaker: who speaks in each scene; where the lines that are new are all of others, they wait for the next
                one of theirs. Empty: a scene is one whoever speaks.
        """
        with role_lock(self.role):
            known, new = self._keys(), dict[Kind, list[Item]]()
            for kind, items in drafts.items():
                for one, keys in zip(items, item_keys(kind, items), strict=True):
                    fresh = [key not in known for key in keys]
                    if isinstance(one, DraftedScene):
                        lines = fresh_lines(one, fresh)
                        if not any(line.speaker == (speaker or line.speaker) for line in lines):
                            continue
                        one = one.model_copy(update={"lines": lines})  # noqa: PLW2901
                    known.update(keys)
                    if any(fresh):
                        new.setdefault(kind, []).append(one)
            if new:
                files = {self._name(kind): _lines([*self._items(kind), *items]) for kind, items in new.items()}
                drafted = "".join(f"{key}\n" for key in sorted(known)).encode()
                change_documents(self.role, {**files, f"{FOLDER}/{_KEYS}": drafted})
        return {kind: len(items) for kind, items in new.items()}

    def refuse(self, kind: Kind, chosen: Sequence[Item]) -> None:
        """Take drafts out; they do not come back.

        Raises:
            StaleDraft: one is no longer there.
        """
        with role_lock(self.role):
            change_documents(self.role, self._without({kind: chosen}))

    def replace(self, kind: Kind, item: Item, by: Item) -> None:
        """Have another draft wait in the place of one, as a person wants it.

        Raises:
            StaleDraft: it is no longer there.
        """
        with role_lock(self.role):
            left = self._without({kind: [item]})  # refuses where it is not there
            items = [by if one == item else one for one in self._items(kind)]
            change_documents(self.role, {**left, self._name(kind): _lines(items)})

    def accept(self, chosen: Mapping[Kind, Sequence[Item]]) -> dict[str, int]:
        """Take drafts over into the files of the role, all or none; return how many each file got.

        Raises:
            StaleDraft: one is no longer there.
            RoleFileError: a file of the role cannot be added to.
        """
        with role_lock(self.role):
            left, counts = self._without(chosen), Counter[str]()
            files = dict[str, bytes]()
            for kind, items in chosen.items():
                for path, data, count in self._taken_over(kind, items) if items else ():
                    files[path] = data
                    counts[path] += count
            change_documents(self.role, {**files, **left})
        return dict(counts)

    def _taken_over(self, kind: Kind, items: Sequence[Any]) -> Iterator[tuple[str, bytes, int]]:
        """The files that drafts of a kind become a part of, what they hold then, and how much is new in each."""
        match kind:
            case "card":
                yield from self._card_taken_over(items)
            case "names":
                before_plan = read_plan(self.role) or MergePlan()
                plan = with_names(before_plan, items)
                if plan != before_plan:
                    yield DECISIONS, plan_bytes(self.role, plan), len(items)
            case "persona":
                for name, of in by_file(items):
                    path = f"persona/{name}"
                    yield path, with_statements(self._bytes(path).decode(), of[0].document, of).encode(), len(of)
            case "dialogues":
                for name, of in by_file(items):
                    path = f"dialogues/{name.removesuffix('.md')}.jsonl"
                    lines = [line for one in of for line in dialogue_lines(one)]
                    before = self._bytes(path)
                    parse_lines(before, self.role / path, DialogueLine, self.role)
                    yield path, _below(before, lines), len(of)
            case "memories":
                before = self._bytes(MEMORIES)
                held = [*parse_lines(before, self.role / MEMORIES, Memory, self.role).values()]
                new = [one for one in items if one not in held]
                yield MEMORIES, _below(before, new), len(new)
            case "chronicle":
                before = self._bytes(CHRONICLE)
                held_keys = {triple_key(one) for one in parse_chronicle(before, self.role).triples}
                fresh = [one for one in items if triple_key(one) not in held_keys]
                yield CHRONICLE, with_triples(before, fresh, self.role) if fresh else before, len(fresh)

    def _card_taken_over(self, items: Sequence[CardField]) -> Iterator[tuple[str, bytes, int]]:
        """`role.yaml` with fields of drafts, and a picture where the role has none."""
        if fields := [one for one in items if one.field != "picture"]:
            data = self._bytes(CARD)
            yield CARD, changed_card(data, with_fields(parse_card(data, self.role), fields), self.role), len(fields)
        pictures = filter(None, (self.picture(one.text) for one in items if one.field == "picture"))
        if (picture := next(pictures, None)) and not (self.role / PICTURE).exists():
            yield PICTURE, picture, 1

    def _without(self, chosen: Mapping[Kind, Sequence[Item]]) -> dict[str, bytes | None]:
        """The files of the drafts without some."""
        files = dict[str, bytes | None]()
        for kind, items in chosen.items():
            waiting = self._items(kind)
            if not all(one in waiting for one in items):
                raise StaleDraft(
                    f"The drafts of {self.role.name!r} were changed meanwhile: look at them, then try again."
                )
            left = [one for one in waiting if one not in items]
            files[self._name(kind)] = _lines(left) if left else None
        return files

    def _keys(self) -> set[str]:
        """What was drafted ever."""
        return {*(read_if_there(self.folder / _KEYS, within=self.role) or b"").decode(errors="replace").split()}

    def _bytes(self, path: str) -> bytes:
        return read_if_there(self.role / path, within=self.role) or b""

    def _text_path(self, name: str) -> Path:
        digest = sha256(name.encode(errors="surrogatepass"))[:16]
        return self.folder / _TEXTS / f"{digest}.json"

    def _name(self, kind: Kind) -> str:
        return f"{FOLDER}/{kind}.jsonl"

    def _path(self, kind: Kind) -> Path:
        return self.role / self._name(kind)


def by_file(items: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Drafts by the names of the files for what is taken over from their texts."""
    found = dict[str, list[Any]]()
    for one in items:
        found.setdefault(file_of(one.document), []).append(one)
    return [*found.items()]


def file_of(document: str) -> str:
    """The name of a file after that of a text, without what a name of a file may not hold."""
    words = re.sub(r"[^\w.'()-]+", " ", document).encode(errors="ignore")
    short = words[:LONGEST_FILE].decode(errors="ignore").strip(" .")
    for name in (document, short or "text"):
        with suppress(RoleError):
            return document_name(name)
    return document_name(f"text {short}")


def fresh_lines(scene: DraftedScene, fresh: Iterable[bool]) -> tuple[DraftedLine, ...]:
    """What of a scene is new: of each line the parts that are, in which one goes on after another message."""
    left, found = iter(fresh), list[DraftedLine]()
    for line in scene.lines:
        if parts := [part for part in line.text.split("\n") if next(left)]:
            found.append(line.model_copy(update={"text": "\n".join(parts)}))
    return tuple(found)


def with_names(plan: MergePlan, drafts: Iterable[DraftedNames]) -> MergePlan:
    """Decisions with names that are one person's; what was decided of a name stays so."""
    for one in drafts:
        held = [merge for merge in plan.merges if {*map(normal_name, one.names)} & {*merge.spellings()}]
        alone = {*map(normal_name, plan.alone), *(normal_name(split.name) for split in plan.splits)}
        names = {normal_name(name): name for name in one.names if normal_name(name) not in alone}
        if len(held) > 1 or len(names) < 2:
            continue
        name = one.name if normal_name(one.name) in names else next(iter(names.values()))
        before = held[0] if held else Merge(name=name, names=(name,))
        names = {normal_name(said): said for said in before.names} | names
        plan = plan.taking_in(before.model_copy(update={"names": tuple(names.values())}))
    return plan


def changed_card(data: bytes, wanted: RoleCard, role: Path) -> bytes:
    """The bytes of a `role.yaml` that says what is wanted, with what its author wrote beside it where that can stay."""
    before = parse_card(data, role)
    fields = {name: getattr(wanted, name) for name in ("profile", "aliases", "greetings")}
    changed = {name: value for name, value in fields.items() if value != getattr(before, name)}
    made = with_values(read_text(data, role / CARD, role), changed).encode()
    with suppress(RoleError):
        if parse_card(made, role) == wanted:
            return made
    return card_text(wanted).encode()


def with_fields(card: RoleCard, fields: Iterable[CardField]) -> RoleCard:
    """A card with a profile in the place of its own, and aliases and greetings below its own."""
    found: dict[str, Any] = card.model_dump()
    for one in fields:
        if one.field == "profile":
            found["profile"] = one.text
        elif one.text not in (found[one.field], card.name) and one.text not in found[one.field]:
            found[one.field] = (*found[one.field], one.text)
    return RoleCard.model_validate(found)


def with_statements(text: str, title: str, statements: Sequence[Statement]) -> str:
    """A persona document with statements at the ends of their headings' parts; it is begun where there is none."""
    lines = text.rstrip("\n").split("\n") if text.strip() else [f"# {title}"]
    for heading in dict.fromkeys(one.heading for one in statements):
        said = [_paragraph(one) for one in statements if one.heading == heading]
        begin = next((at for at, line in enumerate(lines) if line.strip() == f"## {heading}"), None)
        if begin is None:
            lines += ["", f"## {heading}"]
            begin = len(lines) - 1
        end = next((at for at in range(begin + 1, len(lines)) if lines[at].startswith(("# ", "## "))), len(lines))
        while end > begin + 1 and not lines[end - 1].strip():
            end -= 1
        lines[end:end] = [part for one in said for part in ("", one)]
    return "\n".join(lines) + "\n"


def _paragraph(one: Statement) -> str:
    """A statement as a paragraph of Markdown, which no line of it ends or makes a heading; its place behind it."""
    text = " ".join(one.text.split()) if one.text.lstrip().startswith("#") else one.text.strip()
    text = f"\\{text}" if text.startswith("#") else text
    return f"{text} ({one.source})" if one.source else text


def dialogue_lines(scene: DraftedScene) -> Iterator[DialogueLine]:
    """A scene as the lines of a file of dialogues."""
    for line in scene.lines:
        more: dict[str, Any] = {"to": line.to} if line.to else {}
        more |= {"source": f"{scene.document}, {line.at}" if line.at else scene.document}
        yield DialogueLine(
            scene=scene.scene,
            speaker=line.speaker,
            text=line.text,
            place=scene.place or None,
            date=scene.date or None,
            **more,
        )


def _below(before: bytes, items: Iterable[BaseModel]) -> bytes:
    above = before if not before or before.endswith((b"\n", b"\r")) else before + b"\n"
    return above + _lines(items)


def _lines(items: Iterable[BaseModel]) -> bytes:
    found = (one.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for one in items)
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in found).encode(errors="replace")
