"""Locks that programs share: on a file, and on a role."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from dramaturg.stores.changes import finish_change
from dramaturg.stores.errors import RoleBusy, StorageError
from dramaturg.stores.files import inside, make_folder

PATIENCE = 60.0  # seconds; each step under the lock takes far less
POLL = 0.02


class Original(Protocol):
    """What a folder of roles is a copy of, for one machine of several."""

    def exchange(self, folder: Path) -> AbstractContextManager[None]:
        """Hold a role on all machines: its copy is up to date, and what changes in it is written back at the end."""

    def restore(self, folder: Path, under: str) -> bool:
        """Bring files of a role that are no longer part of it back into its copy; return whether there was any."""

    def drop_kept(self, folder: Path) -> None:
        """Keep nothing of a role that is no longer part of it."""


copies: dict[Path, Original] = {}
"""The folders of roles in this process that are copies, and of what."""


@contextmanager
def file_lock(path: Path, *, patience: float, busy: Exception, poll: float = 0.05) -> Iterator[None]:
    """Hold a lock file, across threads and processes.

    Args:
        path: the file; its folder must be there.
        patience: seconds to wait for somebody else.
        busy: what to raise after that.
        poll: seconds between two attempts.
    """
    lock = FileLock(path, timeout=patience, poll_interval=poll, mode=0o600)
    try:
        lock.acquire()
    except Timeout as error:
        raise busy from error
    except OSError as error:
        raise StorageError(f"{lock.lock_file} cannot be locked ({error.strerror}): give permission.") from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def role_lock(role: Path) -> Iterator[None]:
    """Hold a role for one step, across threads and processes; a change that was interrupted is finished first.

    A role of which this machine has a copy is held on all machines, and what is changed is written back at the end.

    Raises:
        RoleBusy: someone else held it for a minute.
    """
    folder = role / "index"
    inside(folder, role)
    make_folder(folder, within=role)
    busy = RoleBusy(f"Another program is changing {role.name!r}: try again when it is done.")
    original = copies.get(role.parent)
    everywhere = original.exchange(role) if original else nullcontext()
    with file_lock(folder / ".lock", patience=PATIENCE, busy=busy, poll=POLL), everywhere:
        finish_change(role)
        yield
