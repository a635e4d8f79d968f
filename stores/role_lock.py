"""One program at a time changes a role: its documents, and what is derived from them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from dramaturg.stores.document_changes import finish_change
from dramaturg.stores.errors import RoleBusy, StorageError
from dramaturg.stores.files import inside, make_folder

PATIENCE = 60.0  # seconds; each step under the lock takes far less
POLL = 0.02


@contextmanager
def role_lock(role: Path) -> Iterator[None]:
    """Hold a role for one step, across threads and processes; a change that was interrupted is finished first.

    Raises:
        RoleBusy: someone else held it for a minute.
        StorageError: the file system refuses.
    """
    folder = role / "index"
    inside(folder, role)
    make_folder(folder, within=role)
    lock = FileLock(folder / ".lock", timeout=PATIENCE, poll_interval=POLL)
    try:
        lock.acquire()
    except Timeout as error:
        raise RoleBusy(f"Another program is changing {role.name!r}: try again when it is done.") from error
    except OSError as error:
        raise StorageError(f"{lock.lock_file} cannot be locked ({error.strerror}): give permission.") from error
    try:
        finish_change(role)
        yield
    finally:
        lock.release()
