"""What conversations have changed in an identity, written into `chronicle.yaml`: what was ends, what is new begins."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dramaturg.stores.documents.chronicle import changed_bytes, end_of, triple_key, with_triples
from dramaturg.stores.documents.forms import CHRONICLE, Chronicle, Triple
from dramaturg.stores.documents.reading import parse_yaml
from dramaturg.stores.files import read_if_there, sweep, write_bytes
from dramaturg.stores.locks import role_lock
from dramaturg.stores.moments import DATE, read_moment


class Replacement(NamedTuple):
    """A triple that holds since a moment, which it has, and the triples that it took the place of."""

    new: Triple
    old: tuple[Triple, ...]

    @property
    def since(self) -> str:
        """The date."""
        return self.new.since or ""


class Lines(NamedTuple):
    """The triples of a chronicle after replacements: each that it had, None if it is out, and those at its end."""

    kept: list[Triple | None]
    added: list[Triple]


def unwritten(triples: Sequence[Triple], changes: Sequence[Replacement]) -> list[Replacement]:
    """The replacements that would change something, without what took a place for less than a day."""
    return [one for one in in_short(changes) if lines_after(triples, [one]) != Lines([*triples], [])]


def write_replacements(role: Path, changes: Sequence[Replacement]) -> None:
    """Write replacements into a chronicle: old lines end the day before, new ones stand below the last.

    An old line that would have held for less than a day is taken out. Comments and order stay where the form of the
    file allows it. What is written already is not written twice.

    Raises:
        RoleFileError: the chronicle cannot be used, or not be changed as it is written.
    """
    with role_lock(role):
        before = read_if_there(role / CHRONICLE, within=role) or b""
        made = with_replacements(before, changes, role)
        if made != before:
            sweep(role, CHRONICLE)
            write_bytes(role / CHRONICLE, made, within=role)


def with_replacements(data: bytes, changes: Sequence[Replacement], role: Path) -> bytes:
    """Return the bytes of a chronicle after replacements; see `write_replacements`."""
    before = parse_yaml(data, role / CHRONICLE, Chronicle, role)
    kept, added = lines_after(before.triples, in_short(changes))
    if kept != [*before.triples]:
        wanted = before.model_copy(update={"triples": tuple(one for one in kept if one)})
        data = changed_bytes(data, wanted, role, lambda text: _rewritten(text, before.triples, kept))
    return with_triples(data, added, role) if added else data


def in_short(changes: Sequence[Replacement]) -> list[Replacement]:
    """Replacements without those that were replaced at the same date: A by B and B by C is A by C."""
    short: list[Replacement] = []
    for one in changes:
        gone = {triple_key(old) for old in one.old}
        passed = [other for other in short if other.since == one.since and triple_key(other.new) in gone]
        old = (*(old for other in passed for old in other.old), *one.old)
        left = tuple(old_one for old_one in old if triple_key(old_one) not in {triple_key(one.new)})
        short = [*(other for other in short if other not in passed), one._replace(old=left)]
    return short


def lines_after(triples: Sequence[Triple], changes: Sequence[Replacement]) -> Lines:
    """What becomes of the triples of a chronicle: an old one ends if it holds at the date, a new one is there once."""
    rows: list[Triple | None] = [*triples]
    for change in changes:
        gone, since = {triple_key(old) for old in change.old}, change.since
        rows = [_ended(one, since) if one and triple_key(one) in gone and one.holds_at(since) else one for one in rows]
        key = triple_key(change.new)
        there = [at for at, one in enumerate(rows) if one and triple_key(one) == key and not _is_over(one, since)]
        if not there:
            rows.append(change.new)
        elif change.new.core:
            rows[there[0]] = rows[there[0]].model_copy(update={"core": True})  # type: ignore[union-attr]
    return Lines(rows[: len(triples)], [one for one in rows[len(triples) :] if one])


def _ended(triple: Triple, since: str) -> Triple | None:
    """A triple that holds until the day, month or year before a date; None: it did not hold then.

    What is before another moment, such as a chapter, nobody can name: it holds until then.
    """
    if not DATE.fullmatch(since):
        return triple.model_copy(update={"until": since})
    first = date.fromisoformat(f"{since}-01-01"[:10])
    last = date.fromordinal(max(first.toordinal() - 1, 1)).isoformat()[: len(since)]
    begins_later = triple.since and read_moment(triple.since).begins_by(read_moment(last)) is False
    return None if begins_later else triple.model_copy(update={"until": last})


def _is_over(triple: Triple, since: str) -> bool:
    return triple.until is not None and read_moment(since).ends_by(read_moment(triple.until)) is False


def _rewritten(text: str, before: Sequence[Triple], after: Sequence[Triple | None]) -> str:
    """The text with what has changed of its triples, from the last to the first: places before a change stay."""
    root: Any = yaml.compose(text, yaml.SafeLoader)
    items = next(value.value for key, value in root.value if key.value == "triples")
    for item, old, new in reversed(list(zip(items, before, after, strict=True))):
        if new is None:
            text = _without(text, item)
        elif new != old:
            fields = ((name, getattr(new, name)) for name in ("until", "core"))
            text = _with_fields(text, item, {name: value for name, value in fields if value != getattr(old, name)})
    return text


def _without(text: str, item: yaml.Node) -> str:
    """The text without an item of a list, and without the line that it stands on."""
    dash = text.rfind("-", 0, item.start_mark.index)
    return text[: text.rfind("\n", 0, dash) + 1] + text[end_of(text, item) :]


def _with_fields(text: str, item: Any, fields: Mapping[str, Any]) -> str:
    """The text where some fields of an item have other values."""
    for name, value in fields.items():
        told = yaml.safe_dump(value).removesuffix("\n").removesuffix("\n...")
        known = next((one for key, one in item.value if key.value == name), None)
        if known:
            text = text[: known.start_mark.index] + told + text[known.end_mark.index :]
        elif item.flow_style:
            before = text[: item.end_mark.index - 1].rstrip().removesuffix(",")
            text = f"{before}, {name}: {told}{text[item.end_mark.index - 1 :]}"
        else:
            at, indent = end_of(text, item), " " * item.start_mark.column
            begun = text[:at] if text[:at].endswith("\n") else f"{text[:at]}\n"
            text = f"{begun}{indent}{name}: {told}\n{text[at:]}"
    return text
