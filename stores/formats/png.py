"""The texts that a PNG carries beside its picture, which is where characters are kept; the picture is never decoded.

A PNG is a signature and chunks: length, kind, data, and the CRC-32 of kind and data. Walking them takes these few
lines; a library for pictures would decode what we only carry.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dramaturg.stores.formats.bounds import LARGEST_JSON, Refused

SIGNATURE = b"\x89PNG\r\n\x1a\n"
CHUNKS = 50_000
SIDE = 20_000
"""The most dots of a side of the picture: others, who do decode it, are shown it again."""
LARGEST_TEXT = LARGEST_JSON * 4 // 3 + 1000
LARGEST_TEXTS = 120_000_000
"""Bytes of all texts that are looked at, once they are unpacked."""
BLANK_SIDES = (400, 600)
BLANK_COLOUR = b"\x4a\x50\x5c"


class Chunk(NamedTuple):
    """A part of a PNG."""

    kind: bytes
    data: bytes

    def packed(self) -> bytes:
        """As it stands in a file."""
        crc = zlib.crc32(self.kind + self.data)
        return struct.pack(">I", len(self.data)) + self.kind + self.data + struct.pack(">I", crc)


def chunks(data: bytes) -> Iterator[Chunk]:
    """Give the parts of a PNG up to its end mark; what follows that is left aside.

    Raises:
        Refused: it is no whole PNG, or a part is not what was written.
    """
    if not data.startswith(SIGNATURE):
        raise Refused("is no PNG: take the file that the card was saved as")
    at = len(SIGNATURE)
    for number in range(CHUNKS):
        if at + 12 > len(data):
            raise Refused("ends before its end mark: it is not whole, get it again")
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        end = at + 12 + length
        if end > len(data) or not kind.isalpha():
            raise Refused(f"is damaged at byte {at:,}: get it again")
        one = Chunk(kind, data[at + 8 : end - 4])
        if zlib.crc32(one.data, zlib.crc32(kind)) != int.from_bytes(data[end - 4 : end]):
            raise Refused(f"has a wrong checksum in its part {kind.decode()} at byte {at:,}: get it again")
        if (number == 0) != (kind == b"IHDR") or (number == 0 and not _may_be_shown(one.data)):
            raise Refused(f"does not begin with a picture of 1 to {SIDE:,} dots a side: save it again as PNG")
        yield one
        if kind == b"IEND":
            return
        at = end
    raise Refused(f"has more than {CHUNKS:,} parts: save the picture again as PNG")


def texts_in(data: bytes, words: tuple[str, ...] = ("",)) -> dict[str, bytes]:
    """Return the texts of a PNG by their keywords in small letters, of those that begin so; of equal ones the first."""
    found: dict[str, bytes] = {}
    left = LARGEST_TEXTS
    for one in chunks(data):
        word = (
            one.data.partition(b"\0")[0].decode("latin-1").lower() if one.kind in (b"tEXt", b"zTXt", b"iTXt") else None
        )
        if word is not None and word not in found and word.startswith(words):
            if (text := _text(one)) is None:
                continue
            left -= len(text)
            if left < 0:
                raise Refused(
                    f"holds texts of more than {LARGEST_TEXTS:,} bytes once they are unpacked: split the card"
                )
            found[word] = text
    return found


def with_texts(data: bytes, texts: Mapping[str, bytes], without: tuple[str, ...] = ()) -> bytes:
    """Return a PNG with these texts before its end mark, in place of those of the same keywords, and `without` some.

    A name in `without` that ends with a colon stands for all keywords that begin so.
    """
    gone = {*texts, *without}
    kept = list[Chunk]()
    for one in chunks(data):
        word = one.data.partition(b"\0")[0].decode("latin-1").lower() if one.kind in (b"tEXt", b"zTXt", b"iTXt") else ""
        if word not in gone and not (word and f"{word.partition(':')[0]}:" in gone):
            kept.append(one)
    new = [Chunk(b"tEXt", word.encode("latin-1") + b"\0" + text) for word, text in texts.items()]
    return SIGNATURE + b"".join(one.packed() for one in (*kept[:-1], *new, kept[-1]))


def blank() -> bytes:
    """Return a picture of one colour, for a role that has none."""
    width, height = BLANK_SIDES
    dots = zlib.compress((b"\0" + BLANK_COLOUR * width) * height, 9)
    parts = (
        Chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        Chunk(b"IDAT", dots),
        Chunk(b"IEND", b""),
    )
    return SIGNATURE + b"".join(one.packed() for one in parts)


def _may_be_shown(header: bytes) -> bool:
    return len(header) == 13 and all(0 < int.from_bytes(header[at : at + 4]) <= SIDE for at in (0, 4))


def _text(chunk: Chunk) -> bytes | None:
    """The text of a chunk; None: it is packed in a way that there is not."""
    _, _, rest = chunk.data.partition(b"\0")
    if chunk.kind == b"tEXt":
        return rest
    packed = chunk.kind == b"zTXt" or rest[:1] == b"\1"
    if chunk.kind == b"zTXt":
        rest = rest[1:]
    else:
        fields = rest[2:].split(b"\0", 2)  # language, keyword in it, text
        rest = fields[2] if len(fields) == 3 else b""
    if not packed:
        return rest
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(rest, LARGEST_TEXT)
    except zlib.error:
        return None
    if unpacker.unconsumed_tail:
        raise Refused(f"holds a text of more than {LARGEST_TEXT:,} bytes once it is unpacked: split the card")
    return text
