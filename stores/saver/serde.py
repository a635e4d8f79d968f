"""How values of a conversation become bytes: plain types only, compressed, and never code."""

import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

T = TypeVar("T")
LARGEST = 64 * 1024 * 1024  # bytes of one value; also the bound of what a row may expand to
_KINDS = ("null", "bytes", "bytearray", "msgpack")  # never "json" or "pickle", which can name code
_ZLIB = "+zlib"
_BLOCKED = ("msgpack_blocked", "msgpack_method_blocked")
# What compressed values began with when the saver wrote with a dictionary of its own: such values are still read.
FORMER_DICTIONARY = (
    b"after again against almost already also although always another anything around asked away back because "
    b"become been before began behind being believe between both brought called came cannot children come could "
    b"course country day death did different does done door down each early enough even every everything eyes face "
    b"family father few find first five found four friend friends from gave get give going gone good great had "
    b"half hand hands happened hard has have having head heard heart help her here him himself his home house how "
    b"however hundred idea important into its itself just keep kept knew know known large last later learned least "
    b"left less letter life light like little live lived long look looked love made make making many matter maybe "
    b"mean men might mind moment money more morning most mother much must name near need never new next night "
    b"nothing now number off often old once one only open or other others our out over own part people perhaps "
    b"person place point present question quite rather read really remember right room said same saw say school "
    b"second see seemed seen sent set several shall she should show since small so some something sometimes soon "
    b"still story street such sure table take taken talk tell than that their them themselves then there these "
    b"they thing things think this those though thought three through time times to today together told too took "
    b"toward town truth turn turned two under until upon used very voice wait want wanted was water way week well "
    b"went were what when where whether which while white who whole whose why wife will with within without woman "
    b"word words work working world would write written year years yes yet you young your . The . She . He . It . "
    b"In . I and the, and a, but the, which is that the that it was in the of the to the on the for the with the "
    b"from the at the by the as the and the it is there is there was has been had been have been would be will be "
    b"to be could not did not do not was not is not one of the out of the "
    b"\xa8langgraph\xaatool_calls\x90\xb2invalid_tool_calls\x90\xaeusage_metadata\xc0\x83\xacinput_tokens\xadoutput_tokens"
    b"\xactotal_tokens\xb3input_token_details\xb4output_token_details\xaamodel_name\xadfinish_reason\xa4stop\xaemodel_provider"
    b"\xa6openai\xb2system_fingerprint\xa1v\x04\xa2ts\xd9 2026-01-01T00:00:00.000000+00:00\xa2id\xd9$"
    b"\xaechannel_values\xb0channel_versions\xadversions_seen\xb0updated_channels\xadpending_sends\x90\xc0"
    b"\xa9__input__\x80\xa9__start__\x81\xa9__start__\xadbranch:to:\xa8question\xa6answer\xa7summary\xabrole_memory\xa8messages"
    b"\xbdlangchain_core.messages.system\xadSystemMessage\x86\xa7content"
    b"\xbalangchain_core.messages.ai\xa9AIMessage\x8a\xa7content"
    b"\xbdlangchain_core.messages.human\xacHumanMessage\x86\xa7content\xd9"
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa2ai\xa4name\xc0\xa2id\xd9$"
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa5human\xa4name\xc0\xa2id\xd9$\xb3model_validate_json"
)


# Rows that were read, by key and checksum: line, id, kind and bytes. A row that changed has another checksum.
Verified = dict[tuple[int, bytes], tuple[int, str, str, bytes]]


class LastRead(Generic[T]):
    """What was read last of each line, while it is no more than so many bytes in all.

    A turn reads its window several times and its history twice, and the turns of other talks come in between.
    """

    MOST = 16 * 1024 * 1024

    def __init__(self) -> None:
        self._lines: dict[int, tuple[T, int]] = {}
        self._bytes = 0

    def of(self, line: int) -> T | None:
        """What was read last of a line."""
        return self._lines[line][0] if line in self._lines else None

    def drop(self, line: int) -> None:
        """Keep nothing of a line."""
        self._bytes -= self._lines.pop(line, (None, 0))[1]

    def keep(self, line: int, found: T, size: int) -> None:
        """Keep what was read of a line, in the place of what was before; what was not read for longest goes."""
        self._bytes += size - self._lines.pop(line, (None, 0))[1]
        self._lines[line] = found, size
        while self._bytes > self.MOST:
            self._bytes -= self._lines.pop(next(iter(self._lines)))[1]


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer with its allow-list always on, and every value compressed.

    The allow-list holds plain types, LangChain's messages and LangGraph's own types, plus those that a graph declares
    in its state when it is compiled in LangGraph's strict mode. A value of any other type is refused when it is
    written, so that nothing is acknowledged that could not be read again.
    """

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)
        self.last_read = LastRead[Verified]()
        self.last_steps = LastRead[Any]()  # see `steps`

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
    short = zlib.compress(data, level=6)
    return (kind + _ZLIB, short) if len(short) < len(data) else (kind, bytes(data))


def expanded(kind: str, data: bytes) -> tuple[str, bytes]:
    """Return the kind and the bytes of a value as they were before `compressed`.

    Raises:
        ValueError: the bytes were not compressed so, or expand beyond `LARGEST`.
    """
    if not kind.endswith(_ZLIB):
        return kind, data
    press = zlib.decompressobj(zdict=FORMER_DICTIONARY)
    try:
        raw = press.decompress(data, LARGEST + 1)
    except zlib.error as error:
        raise ValueError("A stored value cannot be decompressed.") from error
    if len(raw) > LARGEST or not press.eof or press.unused_data:
        raise ValueError("A stored value does not end where it should.")
    return kind.removesuffix(_ZLIB), raw
