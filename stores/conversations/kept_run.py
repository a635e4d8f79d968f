"""Runs that are kept in files: one program at a time works at one, and its checkpoints lie beside its file."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from dramaturg.stores.locks import file_lock
from dramaturg.stores.saver.conversation_saver import ConversationSaver


class Busy(RuntimeError):
    """Another program works at the same thing; the message names it."""


@contextmanager
def alone(place: Path, doing: str, instead: str = "") -> Iterator[None]:
    """Hold the lock of a file or a folder; refuse at once where another program holds it.

    Args:
        place: what is worked at; the folder, or the folder of the file, must be there.
        doing: what the other program does then, such as "plays run.jsonl".
        instead: what one can do besides waiting, such as "take another --log".

    Raises:
        Busy: another program holds it.
    """
    busy = Busy(f"Another program {doing}: wait for it{f', or {instead}' if instead else ''}.")
    lock = place / ".lock" if place.is_dir() else place.with_name(f".{place.name}.lock")
    with file_lock(lock, patience=0, busy=busy):
        yield


@asynccontextmanager
async def kept_run(file: Path, doing: str, option: str) -> AsyncIterator[tuple[Path, ConversationSaver]]:
    """Open the checkpoints of a run by the file that it writes; give the file's absolute path and the saver.

    Args:
        file: what the run writes: its log, or its result.
        doing: the verb for what another program does that holds the run, such as "plays".
        option: the option of the command that names the file, for messages.

    Raises:
        Busy: another program holds the run.
        ValueError: the file cannot be there, or it is there without its checkpoints.
    """
    file, checkpoints = await asyncio.to_thread(_places, file, option)
    with alone(file, f"{doing} {file}", f"take another {option}"):
        async with ConversationSaver.open(checkpoints) as saver:
            yield file, saver


def checkpoints_of(file: Path) -> Path:
    """The file of a run's checkpoints: beside the file of the run."""
    return file.with_name(f"{file.name}.checkpoints")


def refuse_other_run(file: Path, begun: Mapping[str, Any], wanted: Mapping[str, Any], option: str) -> None:
    """Refuse to go on with another run than was begun: what describes a run must not change.

    Raises:
        ValueError: a value of `wanted` is another one in `begun`.
    """
    for name, value in wanted.items():
        if begun.get(name) != value:
            now = f"{name} {begun.get(name)!r}, not {value!r}"
            raise ValueError(f"{file} was begun with {now}: take that, or another {option}.")


def _places(file: Path, option: str) -> tuple[Path, Path]:
    file = file.expanduser().absolute()
    if file.is_dir() or not file.parent.is_dir():
        raise ValueError(f"{file} cannot be written: name a file in a folder that is there.")
    checkpoints = checkpoints_of(file)
    if file.exists() and not checkpoints.exists():
        raise ValueError(f"{file} is there, but its checkpoints ({checkpoints.name}) are not: take another {option}.")
    return file, checkpoints
