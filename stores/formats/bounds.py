"""What a file of another program may hold: its size, levels and number of values are known before it is read."""

import json
import math
import re
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from dramaturg.stores.errors import RoleFileError

LARGEST_FILE = 100_000_000
"""Bytes of a file that is opened."""
LARGEST_JSON = 16_000_000
"""Bytes of one JSON value."""
LEVELS = 24
"""Of lists and objects in one another."""
VALUES = 300_000
"""In one JSON value."""
DIGITS = 40
"""Of a number."""
# A string that nobody closes goes on to the end. Possessive: no text makes this go back.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")
_HALF = re.compile(r"[\ud800-\udfff]")


class Refused(RoleFileError):
    """A file of another program is not taken; the message is a clause that goes on after the name of the file."""


def read_foreign(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        Refused: it is too large, or cannot be read.
    """
    try:
        if path.is_dir():
            raise Refused("is a folder: name the file in it")
        if (size := path.stat().st_size) > LARGEST_FILE:
            raise Refused(f"has {size:,} bytes, and {LARGEST_FILE:,} are the most: split it")
        return path.read_bytes()
    except OSError as error:
        raise Refused(f"cannot be read ({error.strerror}): name a file that is there") from error


def text_of(data: bytes) -> str:
    """Return a text in UTF-8, without a byte order mark, line ends as a line feed."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"is not text in UTF-8 (byte {error.start:,}): save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_json(data: bytes, *, largest: int = LARGEST_JSON, values: int = VALUES) -> Any:
    """Return a JSON value whose size, levels and numbers are bounded, and whose texts can be written as UTF-8.

    Args:
        data: the text, in UTF-8.
        largest: bytes that it may have.
        values: that may be in it.

    Raises:
        Refused: it is more than that, or no JSON.
    """
    if len(data) > largest:
        raise Refused(f"holds {len(data):,} bytes of JSON, and {largest:,} are the most: split it")
    outline = _STRING.sub(b"", data)
    if sum(map(outline.count, (b",", b"[", b"{"))) > values:
        raise Refused(f"holds more than {values:,} values: split it")
    level = 0
    for found in _BRACKET.finditer(outline):
        level += 1 if found[0] in b"[{" else -1
        if level > LEVELS:
            raise Refused(f"has more than {LEVELS} lists and objects in one another: make it flatter")
    try:
        value = json.loads(
            data.decode("utf-8-sig"), parse_int=_integer, parse_float=_number, parse_constant=_no_constant
        )
    except UnicodeDecodeError as error:
        raise Refused(f"is not text in UTF-8 (byte {error.start:,}): save it as UTF-8") from error
    except json.JSONDecodeError as error:
        raise Refused(
            f"is no JSON ({error.msg}, line {error.lineno}, column {error.colno}): mend it there, or export it again"
        ) from error
    return _whole(value)


def dumped(value: JsonValue, indent: int | None = None) -> bytes:
    """Return the JSON text of a value, as clients write it: UTF-8, the keys in their order."""
    separators = None if indent else (",", ":")
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators).encode()


def _integer(text: str) -> int:
    if len(text) > DIGITS:
        raise Refused(f"holds a number of more than {DIGITS} digits: shorten it")
    return int(text)


def _number(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise _no_constant(text)
    return number


def _no_constant(text: str) -> Any:
    raise Refused(f"holds {text[:20]}, which is no number of JSON: replace it")


def _whole(value: Any) -> Any:
    """The value with a sign in the place of each half of a surrogate pair, which no file can hold."""
    match value:
        case str():
            return (
                value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
                if _HALF.search(value)
                else value
            )
        case list():
            return [_whole(one) for one in value]
        case dict():
            return {_whole(name): _whole(one) for name, one in value.items()}
    return value
