"""What versions share: a file of a version is what is new in it, and pieces of the same file of versions before.

The folder of a version holds the new bytes alone, under the name of the file. Which bytes are whose follows from the
content: a file is compared by its lines, the elements of its JSON and the rows of its vectors.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from dramaturg.stores.files import sha256

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FolderName = Annotated[str, Field(pattern=r"^[0-9a-f]{24}-[0-9a-f]{12}$")]

BLOCK = 4096  # bytes; what is shorter is written again, so that a file is in few pieces
FOLDERS = 8  # versions that a file has pieces of, at most
_ENDS = re.compile(rb"\n|\},\{")  # of a line, and of an element


class Piece(NamedTuple):
    """Bytes of a file that lie in one folder."""

    folder: str
    """The name of the folder of a version; empty: that of the version itself."""
    start: int
    length: int


class FileRecord(BaseModel):
    """A stored file: compared before it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    sha256: Digest
    bytes: int = Field(ge=0)
    folders: tuple[FolderName, ...] = Field(default=(), strict=False)
    """The folders of other versions that hold pieces of it."""
    pieces: str = Field(default="", pattern=r"^(\d+:\d+\+\d+( |$))*$")
    """What it is put together from: `folder:start+length`, folders counted from 1; 0 is the version's own.

    Empty: all of it lies in the version's own folder.
    """

    def made_of(self) -> list[Piece]:
        """Return the pieces, in their order."""
        found = [re.split("[:+]", one) for one in self.pieces.split()] or [["0", "0", str(self.bytes)]]
        names = ("", *self.folders)
        return [Piece(names[int(folder)], int(start), int(length)) for folder, start, length in found]

    @property
    def has_own(self) -> bool:
        """Whether anything of it lies in the version's own folder."""
        return not all(one.folder for one in self.made_of())


def record_of(data: bytes, pieces: Sequence[Piece] = ()) -> FileRecord:
    """Return the record of a file; without pieces of other versions, all of it lies in the version's own folder."""
    number = {name: at for at, name in enumerate(dict.fromkeys(["", *(one.folder for one in pieces)]))}
    put = " ".join(f"{number[one.folder]}:{one.start}+{one.length}" for one in pieces) if len(number) > 1 else ""
    return FileRecord(sha256=sha256(data), bytes=len(data), folders=tuple(number)[1:], pieces=put)


def divided(
    data: bytes, before: bytes, made: Sequence[Piece], row: int, sizes: Mapping[str, int]
) -> tuple[bytes, list[Piece]]:
    """Return what is new in a file, and the pieces that the file is put together from.

    A folder of which less than half is still used, or that is not among the `FOLDERS` used most, is no longer
    referred to: what is needed of it is written again, so that it can go.

    Args:
        data: the file.
        before: the file of the version before.
        made: the pieces of that one, each with the name of its folder.
        row: bytes of a vector, where the file is one of vectors; else 0.
        sizes: how many bytes of this file lie in each of the folders.
    """
    found = [(at, piece) for at, piece in _kept(data, before, made, row) if piece.length >= BLOCK]
    used = Counter[str]()
    for _, piece in found:
        used[piece.folder] += piece.length
    known = {name for name, length in used.most_common(FOLDERS) if 2 * length >= sizes[name]}
    new, pieces, done = bytearray(), list[Piece](), 0
    for at, piece in [*((at, piece) for at, piece in found if piece.folder in known), (len(data), Piece("", 0, 0))]:
        if at > done:
            pieces.append(Piece("", len(new), at - done))
            new += data[done:at]
        if piece.length:
            pieces.append(piece)
            done = at + piece.length
    return bytes(new), pieces


def _kept(data: bytes, before: bytes, made: Sequence[Piece], row: int) -> Iterator[tuple[int, Piece]]:
    """The stretches of a file that were in the one before: where each begins, and where it lies."""
    begins = list(accumulate((one.length for one in made), initial=0))
    for at, start, length in _runs(data, before, row):
        for number in range(bisect_right(begins, start) - 1, bisect_left(begins, start + length)):
            begin, piece = begins[number], made[number]
            low, high = max(start, begin), min(start + length, begins[number + 1])
            yield at + low - start, Piece(piece.folder, piece.start + low - begin, high - low)


def _runs(data: bytes, before: bytes, row: int) -> Iterator[tuple[int, int, int]]:
    """Where stretches of a file begin, where in the one before they stand, and how long they are."""
    if data == before:
        yield 0, 0, len(data)
        return
    places: dict[int, int] = {}  # by the hash, so that the file is not in memory once more
    for start, end in _atoms(before, row):
        places.setdefault(hash(before[start:end]), start)
    begin = there = length = 0
    for start, end in _atoms(data, row):
        atom = data[start:end]
        if length and before.startswith(atom, there + length):
            length += len(atom)
            continue
        if length:
            yield begin, there, length
        begin, there = start, places.get(hash(atom), -1)
        length = len(atom) if there >= 0 and before.startswith(atom, there) else 0
    if length:
        yield begin, there, length


def _atoms(data: bytes, row: int) -> Iterator[tuple[int, int]]:
    """The smallest stretches that are compared: of vectors the rows, whatever stands before them."""
    ends = range(len(data) % row, len(data), row) if row else (one.end() for one in _ENDS.finditer(data))
    start = 0
    for end in (*ends, len(data)):
        if end > start:
            yield start, end
        start = end
