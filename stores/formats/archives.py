"""Zip files of other people: every name and size is looked at before anything is unpacked, and nothing is written."""

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping

from dramaturg.stores.formats.bounds import Refused

FILES = 2_000
UNPACKED = 300_000_000
"""Bytes of all files once they are unpacked."""
DENSEST, DENSE = 100, 50_000_000
"""How often the bytes of a zip file its files may be, if they are more than so many: texts and vectors are less."""
LONGEST_PATH = 240
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:")
_STEP = re.compile(r"[^\x00-\x1f<>:\"|?*\\]{1,120}")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def is_zip(data: bytes) -> bool:
    """Whether it is a zip file; one may stand behind a picture."""
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06")) or (
        data.startswith(b"\xff\xd8\xff") and zipfile.is_zipfile(io.BytesIO(data))
    )


def unzipped(data: bytes) -> dict[str, bytes]:
    """Return the files in a zip file by their paths.

    Raises:
        Refused: it is damaged, holds more than it may, or a name in it is no plain path within it.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError, OverflowError) as error:
        raise Refused(f"is a damaged zip file ({type(error).__name__}): get it again") from error
    files = [one for one in entries if not one.is_dir()]
    if len(entries) > FILES:
        raise Refused(f"holds {len(entries):,} files, and {FILES:,} are the most: split it")
    if (size := sum(one.file_size for one in files)) > UNPACKED:
        raise Refused(f"would hold {size:,} bytes once it is unpacked, and {UNPACKED:,} are the most: split it")
    if size > max(DENSE, DENSEST * len(data)):
        raise Refused(
            f"would grow to {size:,} bytes from {len(data):,} once it is unpacked: it is not safe, do not use it"
        )
    found: dict[str, bytes] = {}
    seen, left = set[str](), UNPACKED
    for one in files:
        name = checked_path(one.filename)
        if stat.S_ISLNK(one.external_attr >> 16):
            raise Refused(f"holds a link, {name}: put the file itself there")
        if one.flag_bits & 1:
            raise Refused("is protected by a password: save a copy without one")
        if name.casefold() in seen:
            raise Refused(f"holds {name} twice: leave one of them out")
        seen.add(name.casefold())
        found[name] = _unpacked(archive, one, left)
        left -= len(found[name])
    return found


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file of these files, the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def checked_path(name: str) -> str:
    """Return a path within a folder, with `/` between its steps.

    Raises:
        Refused: it leads elsewhere, or is none on some system.
    """
    shown = ascii(name[:80])
    if _ABSOLUTE.match(name) or ".." in re.split(r"[/\\]", name):
        raise Refused(f"holds a file that leads out of it, {shown}: it is not safe, do not use it")
    steps = name.split("/")
    if len(name) > LONGEST_PATH or not all(_STEP.fullmatch(one) and one[-1] not in " ." for one in steps):
        raise Refused(f"holds a file whose name is no path everywhere, {shown}: rename that")
    return name


def _unpacked(archive: zipfile.ZipFile, one: zipfile.ZipInfo, left: int) -> bytes:
    """The bytes of a file, of which no more are unpacked than it says, and than there is room for."""
    try:
        with archive.open(one) as file:
            data = file.read(min(one.file_size, left) + 1)
            if len(data) > one.file_size or file.read(1):
                raise Refused(f"holds {one.filename}, which is larger than it says: it is not safe, do not use it")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused(f"has a damaged part, {one.filename} ({type(error).__name__}): get it again") from error
    return data
