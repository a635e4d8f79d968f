"""The files that memories and dialogues are read from, line by line, and how their lines are changed in place."""

import codecs
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue, ValidationError

from dramaturg.stores.documents.forms import DialogueLine, Memory
from dramaturg.stores.documents.reading import explain, read_lines
from dramaturg.stores.documents.sources import DIALOGUES, Sources, dialogue_paths, is_of_story
from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import sha256

MEMORY_FILE = "memories.jsonl"
Lines = Mapping[int, Memory | DialogueLine]
Change = Mapping[str, JsonValue] | None
_END = re.compile(rb"(\r\n|\r|\n)")  # those that `read_text` knows
_NUMBER = re.compile(r"[0-9]{1,9}")


def memory_paths(role: Path) -> list[Path]:
    """Return the paths of the files: the dialogues by name, then `memories.jsonl`, as far as they are there."""
    lone = role / MEMORY_FILE
    return [*dialogue_paths(role), *([lone] if lone.exists() else [])]


def memory_sources(role: Path) -> Sources:
    """Return the files that memories are made from."""
    return Sources(role, "", memory_paths)


def read_memory_files(sources: Sources) -> dict[str, Lines]:
    """Return the lines of each file by their numbers, from 1; a change that has begun is finished first."""
    return {name: read_lines(place.path, form_of(name), place.role) for name, place in sources.places()}


def read_dialogue_files(sources: Sources) -> dict[str, Mapping[int, DialogueLine]]:
    """Return the same of dialogues alone."""
    return {name: read_lines(place.path, DialogueLine, place.role) for name, place in sources.places()}


def form_of(name: str) -> type[Memory] | type[DialogueLine]:
    """Return what a line of a file may hold; the file may be one of the role's story."""
    folders, _, file = name.rpartition("/")
    return Memory if file == MEMORY_FILE and not f"{folders}/".endswith(DIALOGUES) else DialogueLine


def change_lines(sources: Sources, changes: Mapping[str, Change]) -> None:
    """Change keys of lines, or take lines out of their files, all or none; the others stay as they are, byte for byte.

    Args:
        sources: the files.
        changes: by the place, the file and the number of the line such as "memories.jsonl:12", the new values; None
            takes the line out. A value None takes the key out.

    Raises:
        RoleError: there is no such line, or it would not be one any more.
    """
    wanted: dict[str, dict[int, Change]] = {}
    for place, change in changes.items():
        name, number = split_place(place)
        wanted.setdefault(name, {})[number] = change
    if strange := sorted({*wanted} - {*sources.names()}):
        raise _no_line(strange[0], min(wanted[strange[0]]))
    before = {name: sources.read(name) for name in wanted}
    after = {name: _with_changes(before[name], lines, name) for name, lines in wanted.items()}
    sources.change(after, was={name: sha256(data) for name, data in before.items()})


def split_place(place: str) -> tuple[str, int]:
    """Return the file of a place, and the number of the line."""
    name, _, number = place.rpartition(":")
    if not _NUMBER.fullmatch(number):
        raise RoleError(f"{place[:80]!r} is no place: give the file and the number of the line, as memories.jsonl:12.")
    return name, int(number)


def _with_changes(data: bytes, changes: Mapping[int, Change], name: str) -> bytes:
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    parts = _END.split(data.removeprefix(mark))  # lines, and between them how they end
    for number in sorted(changes, reverse=True):  # from the last: the others keep their numbers
        at, change = 2 * number - 2, changes[number]
        if not 0 <= at < len(parts) or not parts[at].strip():
            raise _no_line(name, number)
        if change is None:
            first = min(at, max(0, len(parts) - 2))  # the last line goes with the end of the one before it
            del parts[first : first + 2]
        else:
            parts[at] = _changed(parts[at], change, name, number)
    return mark + b"".join(parts)


def _changed(line: bytes, change: Mapping[str, JsonValue], name: str, number: int) -> bytes:
    """A line with other values; numbers that Python does not hold are not written back as others."""
    try:
        merged = {**json.loads(line), **change}
        written = {key: value for key, value in merged.items() if value is not None or key not in change}
        data = json.dumps(written, ensure_ascii=False, allow_nan=False).encode()
        form_of(name).model_validate_json(data)
    except ValidationError as error:
        raise RoleError(f"{name}, line {number}: {explain(error, form_of(name))}.") from error
    except (TypeError, ValueError) as error:
        raise RoleError(f"{name}, line {number}, cannot be changed ({error}): change it in an editor.") from error
    return data


def _no_line(name: str, number: int) -> RoleError:
    look = "what a story says is changed in the story" if is_of_story(name) else "look for the memory once more"
    return RoleError(f"There is no line {name}:{number} among the role's own: {look}.")


def add_memory(role: Path, text: str, when: str = "") -> str:
    """Write a memory below the others in `memories.jsonl`, which is made where it is missing; return its place.

    Args:
        role: the folder of the role.
        text: the memory, in free words.
        when: when it was, in words; empty: nobody says.

    Raises:
        StaleDraft: somebody else has changed the file meanwhile.
    """
    return add_memories(role, [Memory(text=text, when=when or None)])[0]


def add_memories(role: Path, memories: Sequence[Memory]) -> list[str]:
    """Write memories below the others in `memories.jsonl`, all or none, and return their places; see `add_memory`."""
    sources = memory_sources(role)
    before = sources.read(MEMORY_FILE) if MEMORY_FILE in sources.names() else None
    forms = [one.model_dump(exclude_none=True, exclude_defaults=True) for one in memories]
    lines = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in forms).encode()
    above = before or b""
    if above and not _END.fullmatch(above[-1:]):
        above += b"\n"
    sources.change({MEMORY_FILE: above + lines}, was={MEMORY_FILE: None if before is None else sha256(before)})
    first = len(_END.findall(above)) + 1
    return [f"{MEMORY_FILE}:{number}" for number in range(first, first + len(memories))]


def pin(role: Path, places: Iterable[str], *, pinned: bool) -> None:
    """Have the memories at some places recalled whatever is asked, or no longer; see `change_lines`."""
    change_lines(memory_sources(role), {place: {"pinned": True if pinned else None} for place in places})


def remove(role: Path, places: Iterable[str]) -> None:
    """Take memories out: a line of `memories.jsonl` goes, one of a dialogue stays and is no memory any more."""
    changes: dict[str, Change] = {
        place: None if split_place(place)[0] == MEMORY_FILE else {"memory": False} for place in places
    }
    change_lines(memory_sources(role), changes)


def edit(role: Path, places: Iterable[str], text: str, question: str | None = None) -> None:
    """Put other words in the place of the role's, and, in a memory of a question, in the place of that.

    Raises:
        RoleError: there is no such line, or the memory is of no question.
    """
    files, changes = read_memory_files(memory_sources(role)), dict[str, Change]()
    for place in places:
        name, number = split_place(place)
        line = files.get(name, {}).get(number)
        if line is None:
            raise _no_line(name, number)
        if isinstance(line, Memory) and line.question is not None:
            changes[place] = {"answer": text, **({} if question is None else {"question": question})}
        elif question is None:
            changes[place] = {"text": text}
        else:
            raise RoleError("This memory has no question of its own: give --text alone.")
    change_lines(memory_sources(role), changes)
