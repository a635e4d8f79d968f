"""One program at a time changes a role: its documents, and what is derived from them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dramaturg.stores.document_changes import finish_change
from dramaturg.stores.errors import RoleBusy
from dramaturg.stores.file_lock import file_lock
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
    busy = RoleBusy(f"Another program is changing {role.name!r}: try again when it is done.")
    with file_lock(folder / ".lock", patience=PATIENCE, busy=busy, poll=POLL):
        finish_change(role)
        yield
