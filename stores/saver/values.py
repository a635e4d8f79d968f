"""The values of a row: their checksum, and how they are read without trusting them."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from dramaturg.stores.errors import DamagedConversations
from dramaturg.stores.saver.serde import StrictSerializer

_LONGEST = 1_000_000  # messages of one window
Value = str | bytes | int | None


class Unreadable(DamagedConversations):
    """A row is not what was written; the file's name is added where it is known."""


def checksum(*values: Value) -> bytes:
    """Return the 8 bytes that tell whether the values of a row are what was written.

    They find accidents; what a forger may do is bounded by the serializer.
    """
    digest = blake2b(digest_size=8)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        digest.update(b"%s %d " % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return digest.digest()


def require(seal: bytes, *values: Value) -> None:
    """Compare a row with its checksum.

    Raises:
        Unreadable: they differ.
    """
    if seal != checksum(*values):
        raise Unreadable("holds a row that is not what was written")


def revive(serializer: StrictSerializer, kind: str, data: bytes) -> Any:
    """Return a stored value.

    Raises:
        Unreadable: the bytes are no value that the serializer wrote, or name what may not be loaded.
    """
    try:
        return serializer.loads_typed((kind, data))
    except (ValueError, TypeError, LookupError, AttributeError, ImportError, ArithmeticError, RuntimeError) as error:
        raise Unreadable("holds a value that cannot be loaded") from error


def revive_metadata(text: str) -> dict[str, Any]:
    """Return the metadata of a checkpoint.

    Raises:
        Unreadable: they are none.
    """
    found = _json(text)
    if not isinstance(found, dict):
        raise Unreadable("holds a checkpoint without metadata")
    return found


def keys_in(text: str) -> list[int]:
    """Return the keys that `as_keys` wrote.

    Raises:
        Unreadable: they are none.
    """
    found = _json(text)
    try:
        if sum(last - first + 1 for first, last in found) <= _LONGEST:
            return [key for first, last in found for key in range(first, last + 1)]
    except (TypeError, ValueError) as error:
        raise Unreadable("holds a checkpoint without its messages") from error
    raise Unreadable("holds a checkpoint with too many messages")


def as_keys(keys: Iterable[int]) -> str:
    """Return the text of a list of keys: the first and last of each run, for a window is one run most of the time."""
    runs: list[list[int]] = []
    for key in keys:
        if runs and key == runs[-1][1] + 1:
            runs[-1][1] = key
        else:
            runs.append([key, key])
    return json.dumps(runs, separators=(",", ":"))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable("holds a text that is no JSON") from error


def as_json(values: Iterable[object]) -> str:
    """Return the text of a list, which sqlite can read too."""
    return json.dumps(list(values), separators=(",", ":"))
