"""Files that a command writes where a person says."""

from pathlib import Path

from dramaturg.stores.files import write_bytes


def require_place(file: Path) -> None:
    """Refuse a file that cannot be written.

    Raises:
        ValueError: it is a folder, or would lie in one that is not there.
    """
    if file.is_dir() or not file.parent.is_dir():
        msg = f"{file} cannot be written: name a file in a folder that is there."
        raise ValueError(msg)


def write_whole(file: Path, data: bytes) -> None:
    """Write a file wholly or not at all, in place of what was there.

    Raises:
        ValueError: it is a folder, or would lie in one that is not there.
        StorageError: the file system refuses.
    """
    require_place(file)
    write_bytes(file, data, within=file.parent)
