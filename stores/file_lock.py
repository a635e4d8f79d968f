"""A lock that programs share: a file that one of them holds, which the system frees when its process dies."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from dramaturg.stores.errors import StorageError


@contextmanager
def file_lock(path: Path, *, patience: float, busy: Exception, poll: float = 0.05) -> Iterator[None]:
    """Hold a lock file, across threads and processes.

    Args:
        path: the file; its folder must be there.
        patience: seconds to wait for somebody else.
        busy: what to raise after that.
        poll: seconds between two attempts.

    Raises:
        StorageError: the file cannot be written.
    """
    lock = FileLock(path, timeout=patience, poll_interval=poll)
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
