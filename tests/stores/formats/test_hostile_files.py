"""Damaged and hostile files: each is refused in one sentence or read right, bounded, and nothing is written."""

import base64
import io
import json
import re
import stat
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wild_cards import WILD, book, chunk, png_of, v2

from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.formats import bounds
from dramaturg.stores.formats.bounds import Refused, dumped, parse_json
from dramaturg.stores.formats.cards import Card, as_charx
from dramaturg.stores.formats.characters import role_of
from dramaturg.stores.formats.chats import Chat, written_chat
from dramaturg.stores.formats.lorebooks import Book
from dramaturg.stores.formats.png import SIGNATURE, blank
from dramaturg.stores.formats.told import Told, read_file, told
from dramaturg.stores.macros import LONGEST, Names, filled

CARD = png_of(WILD["w++"])
HEADER = blank()[8:33]


def zipped(**entries: bytes | tuple[zipfile.ZipInfo, bytes]) -> bytes:
    """A zip file; `__` in a name stands for a slash."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in entries.items():
            info, data = one if isinstance(one, tuple) else (zipfile.ZipInfo(name.replace("__", "/")), one)
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def named(name: str, data: bytes = b"x") -> dict[str, Any]:
    return {"entry": (zipfile.ZipInfo(name), data)}


def link() -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo("assets/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, b"/etc/passwd"


def lying(size: int) -> bytes:
    """A zip file whose entry says that it has another size."""
    data = zipped(card=b"a" * 100_000)
    return data.replace(struct.pack("<I", 100_000), struct.pack("<I", size))


def renamed(data: bytes) -> bytes:
    """A zip file in which a name is said to be longer than it is."""
    return data[:27] + b"\1" + data[28:]


def encrypted() -> bytes:
    data = bytearray(zipped(card=b"abc"))
    central = data.rindex(b"PK\x01\x02")
    data[central + 8] |= 1
    return bytes(data)


def nested(levels: int) -> bytes:
    return b'{"name":"x","description":' + b"[" * levels + b"]" * levels + b"}"


def text_chunk(text: bytes, kind: bytes = b"tEXt") -> bytes:
    return SIGNATURE + HEADER + chunk(kind, b"chara\0" + text) + chunk(b"IEND", b"")


HOSTILE: Mapping[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "none of what can be imported"),
    "spaces": (lambda: b"  \n ", "none of what can be imported"),
    "a picture without a card": (blank, "a picture without a character"),
    "a PNG cut short": (lambda: CARD[:-20], "ends before its end mark|damaged at byte"),
    "a PNG without its end": (lambda: CARD[:-12], "ends before its end mark"),
    "a PNG of nothing": (lambda: SIGNATURE, "ends before its end mark"),
    "a wrong checksum": (lambda: CARD.replace(b"chara\0", b"chara\1"), "wrong checksum in its part tEXt"),
    "a length beyond the file": (
        lambda: SIGNATURE + HEADER + b"\x7f\xff\xff\xfftEXt" + bytes(20),
        "damaged at byte 33",
    ),
    "a negative length": (lambda: SIGNATURE + HEADER + b"\xff\xff\xff\xfftEXt" + bytes(20), "damaged at byte 33"),
    "no header": (lambda: SIGNATURE + chunk(b"IEND", b""), "does not begin with a picture"),
    "a picture larger than any": (
        lambda: SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 30, 1 << 30, 8, 2, 0, 0, 0)),
        "does not begin with a picture of 1 to 20,000 dots",
    ),
    "a part of no kind": (lambda: SIGNATURE + HEADER + chunk(b"\0\0\0\0", b""), "damaged at byte 33"),
    "no base64": (lambda: text_chunk(b"<<<>>>"), "not written in base64"),
    "half of base64": (lambda: text_chunk(b"e"), "base64 is damaged"),
    "base64 of nothing": (lambda: text_chunk(b""), "is no JSON"),
    "base64 of a picture": (lambda: text_chunk(base64.b64encode(blank())), "not text in UTF-8"),
    "a packed text that grows": (
        lambda: text_chunk(b"\0" + zlib.compress(bytes(30_000_000), 9), b"zTXt"),
        "once it is unpacked",
    ),
    "no UTF-8": (lambda: b'{"name":"\xff","description":""}', "not text in UTF-8"),
    "UTF-16": (lambda: "{}".encode("utf-16"), "none of what can be imported"),
    "zero characters": (lambda: b'{"name"\0:1}', "none of what can be imported"),
    "no JSON": (lambda: b'{"name": }', "is no JSON"),
    "JSON that ends early": (lambda: b'{"name": "a', "is no JSON"),
    "a list": (lambda: b"[1, 2]", "is JSON, and none"),
    "another object": (lambda: b'{"a": 1}', "is JSON, and none"),
    "a group": (lambda: b'{"members": [], "chats": []}', "the definition of a group"),
    "deep lists": (lambda: nested(25), "more than 24 lists"),
    "lists as deep as memory": (lambda: nested(1_000_000), "more than 300,000 values|more than 24 lists"),
    "brackets and quotes": (lambda: b'{"name":"x","description":"' + b'\\"' * 1_000_000, "is no JSON"),
    "many values": (lambda: b'{"name":"x","tags":[' + b"1," * 400_000 + b"1]}", "more than 300,000 values"),
    "a long number": (lambda: b'{"name":"x","description":' + b"9" * 5_000 + b"}", "a number of more than 40 digits"),
    "infinity": (lambda: b'{"name":"x","description":1e999}', "no number of JSON"),
    "not a number": (lambda: b'{"name":"x","description":NaN}', "no number of JSON"),
    "a card without data": (lambda: b'{"spec":"chara_card_v2","data":[]}', "a card without data"),
    "a book that is a list": (lambda: dumped(v2(name="x", character_book=[1])), "a lorebook that is no object"),
    "a book without entries": (lambda: dumped(v2(name="x", character_book={"name": "b"})), "it has no entries"),
    "an entry that is a text": (lambda: dumped(v2(name="x", character_book=book("e"))), "an entry that is no object"),  # type: ignore[arg-type]
    "a book with too many entries": (lambda: b'{"entries":[' + b"{}," * 5_000 + b"{}]}", "5,001 entries"),
    "a zip of nothing": (lambda: zipped(), "a zip file without a role"),
    "a zip cut short": (lambda: as_charx(Card(3, {"name": "x"}))[:-30], "damaged zip file"),
    "a zip with a broken part": (lambda: zipped(card__x=b"abc" * 999).replace(b"\x4b\x4c", b"\x4c\x4b"), ""),
    "a zip whose names do not agree": (lambda: renamed(zipped(card=b"abc" * 999)), "has a damaged part, card"),
    "two dots": (lambda: zipped(**named("../role.yaml")), "leads out of it, '../role.yaml'"),
    "two dots within": (lambda: zipped(**named("assets/../../x")), "leads out of it"),
    "two dots of Windows": (lambda: zipped(**named("assets\\..\\..\\x")), "leads out of it|no path everywhere"),
    "an absolute name": (lambda: zipped(**named("/etc/passwd")), "leads out of it"),
    "a drive": (lambda: zipped(**named("C:/x")), "leads out of it"),
    "a name with a line feed": (lambda: zipped(**named("a\nb")), "no path everywhere"),
    "a name of Windows": (lambda: zipped(**named("assets/a?b")), "no path everywhere"),
    "a long name": (lambda: zipped(**named("a/" * 200 + "x")), "no path everywhere"),
    "an empty step": (lambda: zipped(**named("a//b")), "no path everywhere"),
    "a link": (lambda: zipped(link=link()), "holds a link, assets/link"),
    "a name twice": (lambda: zipped(a__b=b"1", A__B=b"2"), "holds A/B twice"),
    "a bomb": (lambda: lying(310_000_000), "310,000,000 bytes once"),
    "a file that is longer than it says": (lambda: lying(10), "damaged part|larger than it says"),
    "a password": (encrypted, "protected by a password"),
    "many files": (lambda: zipped(**{f"f{at}": b"" for at in range(2_001)}), "2,001 files"),
    "a CHARX without a card": (lambda: zipped(**{"card.json": b"{}"}), "no card.json in it|no character"),
    "a chat of no messages": (lambda: b'{"user_name":"a","character_name":"b"}', "holds no message"),
    "a chat with a line of no message": (lambda: b'{"chat_metadata":{}}\n{"mes":1}', "a line 2 that is no message"),
    "a chat with a line of no JSON": (lambda: b'{"chat_metadata":{}}\n{"mes":', "a line 2 that is no JSON"),
    "a bundle of another kind": (lambda: zipped(**{"bundle.json": b'{"format":"other"}'}), "cannot be used"),
    "a bundle that lacks a file": (
        lambda: zipped(**{"bundle.json": b'{"role":"a","files":{"role/role.yaml":"00"}}'}),
        "lacks, or has beside what it says, role/role.yaml",
    ),
    "a bundle with a wrong checksum": (
        lambda: zipped(
            **{"bundle.json": b'{"role":"a","files":{"role/role.yaml":"00"}}', "role__role.yaml": b"name: a"}
        ),
        "a wrong checksum in role/role.yaml",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    make, expected = HOSTILE[name]
    file = tmp_path / "hostile.bin"
    file.write_bytes(make())
    with pytest.raises(RoleFileError, match=rf"\Ahostile\.bin .*({expected}).*\.\Z") as refused:
        read_file(file)
    assert len(str(refused.value)) < 400
    assert str(refused.value).isprintable()
    assert [*tmp_path.iterdir()] == [file]


def test_folders_and_what_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match="none of Chat-Haruhi"):
        read_file(tmp_path)
    with pytest.raises(RoleFileError, match="name a file that is there"):
        read_file(tmp_path / "none.png")


def test_a_file_that_is_too_large_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LARGEST_FILE", 10)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    (tmp_path / "x.png").write_bytes(bytes(11))
    with pytest.raises(RoleFileError, match=r"x\.png has 11 bytes, and 10 are the most"):
        read_file(tmp_path / "x.png")


@pytest.mark.parametrize(
    "make", [HOSTILE[name][0] for name in ("lists as deep as memory", "brackets and quotes", "many values")]
)
def test_json_is_bounded_before_it_is_built(make: Callable[[], bytes]) -> None:
    data = make()
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            parse_json(data)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(data) + 1_000_000
    finally:
        tracemalloc.stop()


def test_a_text_with_half_of_a_pair_can_be_written() -> None:
    card = told(b'{"name":"a\\ud83d","description":"\\udc00 b \\ud83d\\ude00"}')
    assert isinstance(card, Card)
    assert (card.said.name, card.said.description) == ("a\ufffd", "\ufffd b \U0001f600")
    dumped(dict(card.data))


@pytest.mark.parametrize("text", ["{{random:" * 5_000, "{{char}}" * 100_000, "{{" * 50_000 + "char" + "}}" * 50_000])
def test_macros_end(text: str) -> None:
    assert len(filled(text, Names("x" * 200, "y" * 200))) <= LONGEST


def test_dice_and_choices_are_bounded() -> None:
    names = Names("a", "b")
    assert int(filled("{{roll:999d999999}}", names)) <= 100 * 999_999
    assert filled("{{roll:9999999999999999}}", names) == ""
    assert filled("{{roll:0}}", names) == ""


@given(st.data())
def test_a_damaged_file_is_refused_or_read(data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from(WHOLE)))
    match data.draw(st.sampled_from(("bytes", "cut", "doubled", "swapped"))):
        case "bytes":
            for _ in range(data.draw(st.integers(1, 8))):
                whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
        case "cut":
            del whole[data.draw(st.integers(0, len(whole) - 1)) :]
        case "doubled":
            at = data.draw(st.integers(0, len(whole)))
            whole[at:at] = whole[: data.draw(st.integers(0, 400))]
        case "swapped":
            start, end = sorted(data.draw(st.tuples(st.integers(0, len(whole)), st.integers(0, len(whole)))))
            whole[start:end] = whole[start:end][::-1]
    read_or_refused(bytes(whole))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    *("name", "nickname", "description", "personality", "first_mes", "alternate_greetings", "mes_example"),
    *("system_prompt", "tags", "source", "assets", "extensions", "character_book"),
)


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES), st.sampled_from(("chara_card_v2", "chara_card_v3", None)))
def test_fields_of_any_kind_are_refused_or_become_a_role(fields: dict[str, Any], spec: str | None) -> None:
    value: dict[str, Any] = {"spec": spec, "data": fields} if spec else fields
    read_or_refused(json.dumps(value).encode())


ENTRY = ("keys", "key", "content", "name", "extensions", "enabled", "uid")


@given(st.lists(st.dictionaries(st.sampled_from(ENTRY), VALUES), max_size=4), st.booleans())
def test_entries_of_any_kind_are_refused_or_read(entries: list[dict[str, Any]], world: bool) -> None:
    value = {"entries": {str(at): one for at, one in enumerate(entries)} if world else entries}
    read_or_refused(json.dumps(value).encode())


def read_or_refused(data: bytes) -> None:
    """A file is refused in one sentence, or can be used as what it is."""
    refusal = ""
    try:
        use(told(data))
    except Refused as error:
        refusal = str(error)
    assert len(refusal) < 400


def use(one: Told) -> None:
    match one:
        case Card():
            made = role_of(one, "some.png")
            assert all(
                re.fullmatch(r"role\.yaml|picture\.png|(persona|dialogues|card)/[^\0]+", path) for path in made.files
            )
            assert not any(".." in path.split("/") or path.startswith("/") for path in made.files)
        case Book():
            one.in_form("book").read()
            one.in_form("world").read()
        case Chat():
            written_chat(one)


WHOLE = (
    CARD,
    png_of(WILD["chinese"], "ccv3"),
    dumped(WILD["boostyle"]),
    as_charx(Card(3, WILD["korean"]["data"], picture=blank())),
    b'{"chat_metadata":{},"user_name":"a"}\n{"name":"a","is_user":true,"mes":"b"}\n{"name":"c","mes":"d","swipes":["d","e"]}',
    dumped({"entries": {"0": {"uid": 0, "key": ["a"], "content": "b"}}}),
)
