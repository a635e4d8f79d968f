"""A memory that is edited, pinned or removed: its lines are changed where they are written, in every copy at once."""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from dramaturg.stores.errors import RoleError
from dramaturg.stores.memory_files import MEMORY_FILE, change_lines, read_memory_files, split_place
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import DialogueLine, Memory


def pin(role: Role, places: Iterable[str], *, pinned: bool) -> None:
    """Have a memory recalled whatever is asked, or no longer.

    Raises:
        RoleError: there is no such line.
        StaleDraft: the file was changed meanwhile.
        StorageError: the file system refuses.
    """
    change_lines(role.memory_files, {place: {"pinned": True if pinned else None} for place in places})


def remove(role: Role, places: Iterable[str]) -> None:
    """Take a memory out: a line of `memories.jsonl` goes, one of a dialogue stays and is no memory any more.

    Raises:
        RoleError: there is no such line.
        StaleDraft: the file was changed meanwhile.
        StorageError: the file system refuses.
    """
    change_lines(role.memory_files, {place: gone(place) for place in places})


def edit(role: Role, places: Iterable[str], text: str, question: str | None = None) -> None:
    """Put other words in the place of the role's, and, in a memory of a question, in the place of that.

    Raises:
        RoleError: there is no such line, or the memory is of no question.
        StaleDraft: the file was changed meanwhile.
        StorageError: the file system refuses.
    """
    change_lines(role.memory_files, {place: words(line_at(role, place), text, question) for place in places})


def gone(place: str) -> Mapping[str, JsonValue] | None:
    """What becomes of a line that is to be a memory no longer."""
    return None if split_place(place)[0] == MEMORY_FILE else {"memory": False}


def words(line: Memory | DialogueLine, text: str, question: str | None) -> dict[str, JsonValue]:
    """The keys of a line that hold these words."""
    if isinstance(line, Memory) and line.question is not None:
        return {"answer": text, **({} if question is None else {"question": question})}
    if question is not None:
        raise RoleError("This memory has no question of its own: give --text alone.")
    return {"text": text}


def line_at(role: Role, place: str) -> Memory | DialogueLine:
    """Return the line at a place.

    Raises:
        RoleError: there is none.
    """
    name, number = split_place(place)
    line = read_memory_files(role.root).get(name, {}).get(number)
    if line is None:
        raise RoleError(f"There is no line {place}: look for the memory once more.")
    return line
