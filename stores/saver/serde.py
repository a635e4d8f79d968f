"""How values of a conversation become bytes: plain types only, compressed, and never code."""

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from dramaturg.stores.saver.dictionary import SHARED

LARGEST = 64 * 1024 * 1024  # bytes of one value; also the bound of what a row may expand to
_KINDS = ("null", "bytes", "bytearray", "msgpack")  # never "json" or "pickle", which can name code
_ZLIB = "+zlib"
_BLOCKED = ("msgpack_blocked", "msgpack_method_blocked")


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer with its allow-list always on, and every value compressed.

    The allow-list holds plain types, LangChain's messages and LangGraph's own types, plus those that a graph declares
    in its state when it is compiled in LangGraph's strict mode. A value of any other type is refused when it is
    written, so that nothing is acknowledged that could not be read again.
    """

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)

    def plain(self, value: Any) -> tuple[str, bytes]:
        """Return a value's kind and its bytes before compression.

        Raises:
            ValueError: the value is too large, or of a type that could not be read back.
        """
        kind, data = super().dumps_typed(value)
        if len(data) > LARGEST:
            raise ValueError(f"A value has {len(data):,} bytes: keep what is larger than {LARGEST:,} out of the state.")
        self._load(kind, data)
        return kind, data

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Return a value's kind and its compressed bytes; see `plain`."""
        return compressed(*self.plain(obj))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value that `dumps_typed` was given.

        Raises:
            ValueError: the bytes are not such a value, expand without bound, or name a type that is not allowed.
        """
        kind, raw = expanded(*data)
        if kind not in _KINDS:
            raise ValueError(f"A stored value is of the unknown kind {kind!r}.")
        return self._load(kind, raw)

    def _load(self, kind: str, data: bytes) -> Any:
        with _blocked_types() as blocked:
            value = super().loads_typed((kind, data))
        if blocked:
            raise ValueError(
                f"A value of the type {blocked[0]} cannot be kept in a conversation: "
                "put plain values, messages or documents into the state."
            )
        return value


@contextmanager
def _blocked_types() -> Iterator[list[str]]:
    """Collect the types that LangGraph's hook turned down in this thread; it only logs them, and goes on without."""
    blocked: list[str] = []
    thread = threading.get_ident()

    def notice(event: SerdeEvent) -> None:
        if event["kind"] in _BLOCKED and threading.get_ident() == thread:
            blocked.append(f"{event['module']}.{event['name']}")

    unregister = register_serde_event_listener(notice)
    try:
        yield blocked
    finally:
        unregister()


def compressed(kind: str, data: bytes) -> tuple[str, bytes]:
    """Return the kind and the bytes of a value in the shorter of both forms."""
    press = zlib.compressobj(level=6, zdict=SHARED)
    short = press.compress(data) + press.flush()
    return (kind + _ZLIB, short) if len(short) < len(data) else (kind, bytes(data))


def expanded(kind: str, data: bytes) -> tuple[str, bytes]:
    """Return the kind and the bytes of a value as they were before `compressed`.

    Raises:
        ValueError: the bytes were not compressed so, or expand beyond `LARGEST`.
    """
    if not kind.endswith(_ZLIB):
        return kind, data
    press = zlib.decompressobj(zdict=SHARED)
    try:
        raw = press.decompress(data, LARGEST + 1)
    except zlib.error as error:
        raise ValueError("A stored value cannot be decompressed.") from error
    if len(raw) > LARGEST or not press.eof or press.unused_data:
        raise ValueError("A stored value does not end where it should.")
    return kind.removesuffix(_ZLIB), raw
