"""`memories.draft.jsonl`: memories that were drafted for a role, and wait until a person takes them over."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from dramaturg.stores.documents.forms import Memory
from dramaturg.stores.documents.memories import MEMORY_FILE, add_memories
from dramaturg.stores.documents.reading import read_lines
from dramaturg.stores.errors import RoleError, StaleDraft
from dramaturg.stores.files import remove_file, sweep, write_bytes
from dramaturg.stores.locks import role_lock

MEMORY_DRAFT = "memories.draft.jsonl"


def read_memory_draft(role: Path) -> list[Memory]:
    """Return the memories that wait, in their order.

    Raises:
        RoleFileError: the file cannot be read.
    """
    path = role / MEMORY_DRAFT
    return [*read_lines(path, Memory, role).values()] if path.exists() else []


def refuse_second_memory_draft(role: Path) -> None:
    """Refuse to draft where a draft waits for a person."""
    if (role / MEMORY_DRAFT).exists():
        raise RoleError(
            f"{role.name!r} has drafted memories already: decide on them with `dramaturg memories {role.name} --accept "
            "NUMBERS` or `--reject NUMBERS`, or make others in their place with --again."
        )


def write_memory_draft(role: Path, memories: Iterable[Memory], *, again: bool = False) -> Path:
    """Write a draft for a person to read, edit and accept; return where it is.

    Raises:
        RoleError: there is one already, and none is to be made again.
    """
    with role_lock(role):
        if not again:
            refuse_second_memory_draft(role)
        _write(role, memories)
    return role / MEMORY_DRAFT


def accept_memories(role: Path, chosen: Sequence[Memory]) -> list[Memory]:
    """Take memories of the draft over, below the others in `memories.jsonl`; return those that it did not hold yet.

    Killed before the draft is shortened, it does not take one twice when the same are accepted again.

    Raises:
        StaleDraft: one is no longer in the draft, or the memories were changed meanwhile.
    """
    _require(role, chosen)
    path = role / MEMORY_FILE
    held = [*read_lines(path, Memory, role).values()] if path.exists() else []
    new = [one for one in chosen if one not in held]
    if new:
        add_memories(role, new)
    reject_memories(role, chosen)
    return new


def reject_memories(role: Path, chosen: Sequence[Memory]) -> None:
    """Take memories out of the draft.

    Raises:
        StaleDraft: one is no longer in the draft.
    """
    with role_lock(role):
        _require(role, chosen)
        left = [one for one in read_memory_draft(role) if one not in chosen]
        if left:
            _write(role, left)
        else:
            remove_file(role / MEMORY_DRAFT, within=role)


def _require(role: Path, chosen: Iterable[Memory]) -> None:
    waiting = read_memory_draft(role)
    if not all(one in waiting for one in chosen):
        raise StaleDraft(f"The drafted memories of {role.name!r} were changed meanwhile: look at them, then try again.")


def _write(role: Path, memories: Iterable[Memory]) -> None:
    lines = (json.dumps(one.model_dump(exclude_defaults=True), ensure_ascii=False) for one in memories)
    sweep(role, MEMORY_DRAFT)
    write_bytes(role / MEMORY_DRAFT, "".join(f"{line}\n" for line in lines).encode(), within=role)
