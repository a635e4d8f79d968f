"""`chronicle.yaml` and what is drafted for it: accepted by a person, triple by triple, and read as a graph."""

import codecs
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import yaml

from dramaturg.stores.documents.forms import CHRONICLE, Chronicle, Triple
from dramaturg.stores.documents.reading import parse_yaml, read_text
from dramaturg.stores.errors import RoleError, RoleFileError, StaleDraft
from dramaturg.stores.files import read_bytes, read_if_there, remove_file, sweep, write_bytes
from dramaturg.stores.locks import role_lock
from dramaturg.stores.names import normal_name, relation_name

DRAFT = "chronicle.draft.yaml"


class _Dumper(yaml.SafeDumper):
    """Writes what is not seen, such as the end of a line, as an escape: elsewhere YAML reads some of it as a space."""


_Dumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(
        "tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"'
    ),
)


HEADER = """\
# What a model proposes for the chronicle of {role}. Change what is not right, then take over what is, triple by
# triple: dramaturg chronicle {role} --review
"""


def read_draft(role: Path) -> Chronicle | None:
    """Return what is drafted, or None if nothing is."""
    path = role / DRAFT
    return parse_yaml(read_bytes(path, role), path, Chronicle, role) if path.exists() else None


def refuse_second_draft(role: Path) -> None:
    """Refuse to draft where a draft waits for a person."""
    if (role / DRAFT).exists():
        raise RoleError(
            f"{role.name!r} has a draft already: decide on it with `dramaturg chronicle {role.name} --review`, or make "
            "another in its place with --again."
        )


def write_draft(role: Path, triples: Iterable[Triple], *, again: bool = False) -> Path:
    """Write a draft for a person to read, edit and accept; return where it is.

    Raises:
        RoleError: there is one already, and none is to be made again.
    """
    with role_lock(role):
        if not again:
            refuse_second_draft(role)
        _write(role, DRAFT, _draft_bytes(role, Chronicle(triples=tuple(triples))))
    return role / DRAFT


def accept(role: Path, chosen: Sequence[Triple]) -> list[Triple]:
    """Take triples of the draft over, at the end of the chronicle; return those that it did not hold yet.

    Killed before the draft is shortened, it does not take a triple twice when the same are accepted again.

    Raises:
        StaleDraft: a triple is no longer in the draft.
    """
    with role_lock(role):
        draft = _draft_with(role, chosen)
        before = read_if_there(role / CHRONICLE, within=role) or b""
        new = _unsaid(chosen, parse_yaml(before, role / CHRONICLE, Chronicle, role).triples)
        if new:
            _write(role, CHRONICLE, with_triples(before, new, role))
        _shorten(role, draft, chosen)
    return new


def reject(role: Path, chosen: Sequence[Triple]) -> None:
    """Take triples out of the draft.

    Raises:
        StaleDraft: a triple is no longer in the draft.
    """
    with role_lock(role):
        _shorten(role, _draft_with(role, chosen), chosen)


def with_triples(data: bytes, new: Sequence[Triple], role: Path) -> bytes:
    """Return the bytes of a chronicle with triples at its end; comments and order stay where its form allows it.

    Raises:
        RoleFileError: it cannot be used, or nothing can be added to it as it is written.
    """
    before = parse_yaml(data, role / CHRONICLE, Chronicle, role)
    wanted = before.model_copy(update={"triples": (*before.triples, *new)})
    return changed_bytes(data, wanted, role, lambda text: _inserted(text, new))


def changed_bytes(data: bytes, wanted: Chronicle, role: Path, change: Callable[[str], str]) -> bytes:
    """Return the bytes of a chronicle that holds what is wanted.

    Args:
        data: the bytes before.
        wanted: what the chronicle is to hold.
        role: whose it is.
        change: makes the text of before into that of now; where it cannot, all is written anew, without comments.

    Raises:
        RoleFileError: it cannot be used, or not be changed as it is written.
    """
    path = role / CHRONICLE
    for made in _ways(data, change(read_text(data, path, role)), wanted):
        try:
            if parse_yaml(made, path, Chronicle, role) == wanted:
                return made
        except RoleFileError:
            continue
    raise RoleFileError(
        f"{CHRONICLE} of {role.name!r} cannot be changed as it is written: put its triples one below the other, each "
        "after `- `."
    )


def _ways(data: bytes, text: str, wanted: Chronicle) -> Iterator[bytes]:
    """The text that was changed, and, where that does not hold what is wanted, all of it written anew."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    line_end = "\r\n" if b"\r\n" in data else "\n"
    yield mark + text.replace("\n", line_end).encode()
    yield _dumped(wanted.model_dump(mode="json", exclude_defaults=True)).encode()


def _inserted(text: str, new: Sequence[Triple]) -> str:
    """The text with triples after the last one, which may be the last thing in the file or not."""
    root = yaml.compose(text, yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    triples = next((value for key, value in pairs if key.value == "triples"), None)
    if triples is None:
        return f"{_ended(text)}triples:\n{_items(new)}"
    begin, end = triples.start_mark, triples.end_mark
    if not triples.value or triples.tag.endswith(":null"):
        key = text[: begin.index].rstrip(" ")
        text = key + text[end.index :]
        return _with_lines(text, _line_end(text, len(key)), _items(new))
    if triples.flow_style:
        items = ", ".join(_flow(one) for one in new)
        return f"{text[: end.index - 1].rstrip()}, {items}{text[end.index - 1 :]}"
    return _with_lines(text, end_of(text, triples), _items(new, begin.column))


def end_of(text: str, node: yaml.Node) -> int:
    """Where the line ends in which a node does; that of a block is said to end where the next thing begins."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return _line_end(text, node.end_mark.index)


def _line_end(text: str, at: int) -> int:
    """Where the line of a position ends; a position at the begin of a line is the end of the one before."""
    if text[:at].endswith("\n"):
        return at
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _with_lines(text: str, at: int, lines: str) -> str:
    return _ended(text[:at]) + lines + text[at:]


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"


def _items(triples: Iterable[Triple], indent: int = 0) -> str:
    """Triples as items of a list, as deep as the others are."""
    return textwrap.indent(_dumped([_plain(one) for one in triples]), " " * indent)


def _flow(triple: Triple) -> str:
    return yaml.dump(
        _plain(triple), Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=True, width=10**9
    ).strip()


def _dumped(value: object) -> str:
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, default_flow_style=False, width=110)


def _plain(triple: Triple) -> object:
    return triple.model_dump(mode="json", exclude_defaults=True)


def _draft_with(role: Path, chosen: Iterable[Triple]) -> Chronicle:
    draft = read_draft(role) or Chronicle()
    if not {*chosen} <= {*draft.triples}:
        raise StaleDraft(f"The draft of {role.name!r} was changed meanwhile: look at it, then try again.")
    return draft


def _shorten(role: Path, draft: Chronicle, decided: Sequence[Triple]) -> None:
    left = tuple(one for one in draft.triples if one not in decided)
    if left:
        _write(role, DRAFT, _draft_bytes(role, draft.model_copy(update={"triples": left})))
    else:
        remove_file(role / DRAFT, within=role)


def _draft_bytes(role: Path, draft: Chronicle) -> bytes:
    return (HEADER.format(role=role.name) + _dumped(draft.model_dump(mode="json", exclude_defaults=True))).encode()


def _write(role: Path, name: str, data: bytes) -> None:
    sweep(role, name)
    write_bytes(role / name, data, within=role)


def _unsaid(chosen: Iterable[Triple], held: Iterable[Triple]) -> list[Triple]:
    """Those that are not there yet, each once."""
    said, new = {_said(one) for one in held}, list[Triple]()
    for one in chosen:
        if _said(one) not in said:
            new.append(one)
        said.add(_said(one))
    return new


def _said(triple: Triple) -> tuple[str, str, str, str | None, str | None]:
    """What two triples have in common if they say the same of the same time."""
    return *triple_key(triple), triple.since, triple.until


def triple_key(triple: Triple) -> tuple[str, str, str]:
    """Equal for two triples that say the same."""
    return normal_name(triple.subject), relation_name(triple.relation), normal_name(triple.object)


def around(
    triples: Sequence[Triple], found: Sequence[Triple], hops: int, hubs: Iterable[str] = (), room: int = 0
) -> list[Triple]:
    """Return the triples within r hops of what was found, in their own order: K⁽¹⁾ without K⁽⁰⁾ (ID-RAG 3.3.2).

    A hop leads from a thing to all triples that it stands in, whichever way they point. Nothing spreads through `hubs`:
    through the role itself, whom nearly every triple is about, everything is two hops from everything. Where nothing
    else is near, as in a star, it does, as far as there is `room`, and what is reached by fewest hops comes first.

    Raises:
        ValueError: `hops` is negative.
    """
    if hops < 0:
        raise ValueError(f"A neighbourhood reaches 0 hops or more, not {hops}.")
    if not hops:
        return []
    standing = defaultdict[str, list[int]](list)
    for at, one in enumerate(triples):
        for thing in (one.subject, one.object):
            standing[thing].append(at)
    known = {*found}

    def reached(closed: Iterable[str]) -> list[int]:
        passed, near = {*closed}, dict[int, None]()
        things = {thing for one in found for thing in (one.subject, one.object)}
        for _ in range(hops):
            things -= passed
            passed |= things
            layer = sorted({at for thing in things for at in standing.get(thing, ())} - near.keys())
            near |= dict.fromkeys(layer)
            things = {thing for at in layer for thing in (triples[at].subject, triples[at].object)}
        return [at for at in near if triples[at] not in known]

    return [triples[at] for at in sorted(reached(hubs) or reached(())[:room])]
