"""Five hundred damaged or hostile files, each with a number and a name, made when they are asked for."""

import base64
import io
import json
import random
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wild_cards import WILD, book, chunk, entry, png_of, v2, v3

from dramaturg.stores.files import sha256
from dramaturg.stores.formats.archives import unzipped
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.bundles import bundled
from dramaturg.stores.formats.cards import Card, as_charx
from dramaturg.stores.formats.png import SIGNATURE, blank, with_texts
from dramaturg.stores.library import Library

import graph_roles

NUMBER = 500
MUTATIONS = ("flip", "cut", "zeros", "doubled", "reversed", "glued", "repeated line", "spliced")
Make = Callable[[], bytes]


class Case(NamedTuple):
    """A file that is damaged or hostile."""

    number: int
    name: str
    make: Make

    @property
    def label(self) -> str:
        """As a test shows it."""
        return f"{self.number:03d} {self.name}"


HEADER, END = blank()[8:33], chunk(b"IEND", b"")
CHAT = (
    b'{"chat_metadata":{},"user_name":"a"}\n{"name":"a","is_user":true,"mes":"b"}\n'
    b'{"name":"Ada","mes":"d","swipes":["d","e"],"swipe_id":0}'
)


def png(*parts: bytes) -> bytes:
    return SIGNATURE + HEADER + b"".join(parts) + END


def carried(text: bytes, word: bytes = b"chara", kind: bytes = b"tEXt") -> bytes:
    return png(chunk(kind, word + b"\0" + text))


def packed(value: object) -> bytes:
    return base64.b64encode(json.dumps(value).encode())


def zip_of(*files: tuple[str | zipfile.ZipInfo, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in files:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            archive.writestr(info, data, how)
    return out.getvalue()


CHARX = dumped(v3(name="Ada Two", description="A mate."))


def charx_with(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    return zip_of(("card.json", CHARX), *files)


def special(mode: int) -> zipfile.ZipInfo:
    """An entry of a zip file that is none of a plain file."""
    info = zipfile.ZipInfo("assets/x")
    info.external_attr = (mode | 0o777) << 16
    return info


def card(**data: Any) -> bytes:
    return dumped(v2(**{"name": "Ada Two", **data}))


def raw(text: str) -> bytes:
    """A card, with a value that is written as it stands here."""
    return f'{{"name":"Ada Two","description":{text}}}'.encode()


def nested(levels: int, opened: bytes = b"[", closed: bytes = b"]") -> bytes:
    return b'{"name":"x","description":' + opened * levels + (b"1" if opened != b"[" else b"") + closed * levels + b"}"


@cache
def bundle() -> bytes:
    """A role with a knowledge graph and a conversation, bundled."""
    import asyncio

    with tempfile.TemporaryDirectory() as folder:
        role = graph_roles.graph_role(Path(folder))
        asyncio.run(graph_roles.index(role))
        return bundled(Library(Path(folder)), role, index=True, talks={})


def bundle_with(role: str = "bea", **files: bytes | None) -> bytes:
    """The bundle with other files, under checksums that are right; `__` in a name stands for a slash."""
    there: dict[str, bytes] = unzipped(bundle())
    head = json.loads(there.pop("bundle.json"))
    for name, one in files.items():
        path = name.replace("__", "/")
        if one is None:
            there.pop(path, None)
        else:
            there[path] = one
    head |= {"role": role, "files": {path: sha256(one) for path, one in there.items()}}
    return zip_of(("bundle.json", json.dumps(head).encode()), *there.items())


def bundle_saying(**head: Any) -> bytes:
    there: dict[str, bytes] = unzipped(bundle())
    said = {**json.loads(there.pop("bundle.json")), "role": "bea", **head}
    return zip_of(("bundle.json", json.dumps(said).encode()), *there.items())


VECTORS = "index/graph/entities.faiss.f32"


def vectors(change: Callable[[bytes], bytes]) -> bytes:
    return bundle_with(**{VECTORS: change(unzipped(bundle())[VECTORS])})


def smuggled_faiss() -> bytes:
    """A bundle in which vectors are a file of FAISS's own, which says that it holds more than it does."""
    head = struct.pack("<4siqqq?iQ", b"IxFI", 64, 1 << 40, 1 << 20, 1 << 20, True, 0, 1 << 46)
    return bundle_with(**{VECTORS: None, "index/graph/entities.faiss": head})


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def central(data: bytes, offset: int, new: bytes) -> bytes:
    """A zip file with other bytes in the last entry of its table."""
    return patched(data, data.rindex(b"PK\x01\x02") + offset, new)


def whole() -> Mapping[str, Make]:
    """One valid file of each kind, of which damaged ones are made."""
    world = {"name": "w", "entries": {str(n): {"uid": n, "key": [f"k{n}"], "content": "b" * 40} for n in range(4)}}
    haruhi = [
        {"luotuo_openai": "system_prompt", "text": "你要扮演佟掌柜。"},
        {"luotuo_openai": "AAAA", "text": "佟掌柜：「好。」"},
    ]
    people = [{"name": "Ann", "identity": "Ann mends clocks.", "plan": "Tea."}, v2(name="Bo", description="Bo bakes.")]
    return {
        "v2 png": lambda: png_of(WILD["w++"]),
        "v3 png": lambda: with_texts(png_of(WILD["chinese"]), {"ccv3": packed(WILD["chinese"])}),
        "json": lambda: dumped(WILD["boostyle"]),
        "charx": lambda: as_charx(Card(3, WILD["korean"]["data"], picture=blank())),
        "world": lambda: dumped(world),
        "book": lambda: dumped({"spec": "lorebook_v3", "data": book(entry("x", "y"), entry("@@depth 2\nx", "z"))}),
        "chat": lambda: CHAT,
        "haruhi": lambda: b"\n".join(map(dumped, haruhi)),
        "people": lambda: dumped(people),
        "companion": lambda: (
            b"Ada keeps bees.\n###ENDPREAMBLE###\nHuman: Hi\nAda: Hello.\n###ENDSEEDCHAT###\nShe is 40."
        ),
        "bundle": lambda: bundle_with(),
    }


def pictures() -> Iterator[tuple[str, Make]]:
    good = png_of(WILD["w++"])
    for at in (16, 29, 40, len(good) - 60, len(good) - 2):
        yield f"png, wrong byte {at}", lambda at=at: patched(good, at, bytes([good[at] ^ 0x55]))
    for length in (8, 20, 33, 41, len(good) // 2, len(good) - 13, len(good) - 1):
        yield f"png, {length} bytes of it", lambda length=length: good[:length]
    for length in (0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 1 << 24):
        yield (
            f"png, a part of {length} bytes",
            lambda length=length: SIGNATURE + HEADER + struct.pack(">I", length) + b"tEXtchara\0" + bytes(40),
        )
    for side in (0, 20_001, 1 << 31):
        sides = struct.pack(">IIBBBBB", side & 0xFFFFFFFF, 10, 8, 2, 0, 0, 0)
        yield (
            f"png, {side} dots",
            lambda sides=sides: SIGNATURE + chunk(b"IHDR", sides) + carried(packed(v2(name="a")))[33:],
        )
    for kind, before in ((b"zTXt", b"chara\0\0"), (b"iTXt", b"chara\0\1\0\0\0"), (b"zTXt", b"ccv3\0\0")):
        yield (
            f"png, 200 MB in {kind.decode()} {before[:4].decode()}",
            lambda kind=kind, before=before: png(chunk(kind, before + zlib.compress(bytes(200_000_000), 1))),
        )
    yield (
        "png, many packed texts",
        lambda: png(
            *(chunk(b"zTXt", b"w%d\0\0" % n + zlib.compress(bytes(20_000_000), 1)) for n in range(40)),
            chunk(b"tEXt", b"chara\0" + packed(v2(name="Ada Two"))),
        ),
    )
    yield "png, 60,000 parts", lambda: png(chunk(b"tEXt", b"a\0b") * 60_000)
    yield (
        "png, an asset whose name leads out",
        lambda: png(
            chunk(b"tEXt", b"chara\0" + packed(v2(name="a"))), chunk(b"tEXt", b"chara-ext-asset_:../../x\0" + packed(1))
        ),
    )
    yield (
        "png, an asset that is not base64",
        lambda: png(chunk(b"tEXt", b"chara\0" + packed(v2(name="a"))), chunk(b"tEXt", b"chara-ext-asset_:x\0<<>>")),
    )
    yield "png, twice the same word", lambda: png(*[chunk(b"tEXt", b"chara\0" + packed(v2(name=n))) for n in "ab"])
    yield "png, no IEND but a zip", lambda: SIGNATURE + HEADER + charx_with()
    yield "png, two headers", lambda: SIGNATURE + HEADER + carried(packed(v2(name="a")))[8:]
    texts = {
        "not base64": b"<<<>>>",
        "half of base64": b"e",
        "nothing": b"",
        "spaces": b" \n \t",
        "a picture": base64.b64encode(blank()),
        "a number": packed(7),
        "a list": packed([1]),
        "null": packed(None),
        "bytes": bytes(range(1, 256)),
        "base64 with signs between": packed(v2(name="a")).replace(b"A", b"A!"),
        "a card cut in the middle": packed(v2(name="a"))[:31],
        "twice base64": base64.b64encode(packed(v2(name="a"))),
        "22 MB of A": b"A" * 22_000_000,
        "many equal signs": packed(v2(name="a")) + b"=" * 100_000,
        "nested": base64.b64encode(nested(100_000)),
    }
    for name, text in texts.items():
        for word in (b"chara", b"ccv3"):
            yield f"png, {word.decode()} holds {name}", lambda text=text, word=word: carried(text, word)
    for kind, data in (
        (b"zTXt", b"chara\0\0notzlib"),
        (b"iTXt", b"chara\0\1"),
        (b"iTXt", b"chara"),
        (b"zTXt", b"chara"),
    ):
        yield f"png, {kind.decode()} of {len(data)} bytes", lambda kind=kind, data=data: png(chunk(kind, data))


def values() -> Iterator[tuple[str, Make]]:
    for levels in (25, 1_000, 100_000):
        yield f"json, lists {levels} deep", lambda levels=levels: nested(levels)
        yield f"json, objects {levels} deep", lambda levels=levels: nested(levels, b'{"a":', b"}")
        yield f"json, lists {levels} deep that nobody closes", lambda levels=levels: nested(levels)[: 30 + levels]
    texts = {
        "NaN": "NaN",
        "infinity": "-Infinity",
        "1e999": "1e999",
        "5,000 digits": "9" * 5_000,
        "1e5 with zeros": "1" + "0" * 39,
        "half a pair": '"\\ud83d"',
        "other half": '"\\udc00 x"',
        "a zero": '"\\u0000"',
        "all controls": json.dumps("".join(map(chr, range(32)))),
        "right to left": '"\\u202e\\u2066"',
        "a list": "[1,2]",
        "an object": '{"a":{}}',
        "null": "null",
        "false": "false",
        "500,000 values": "[" + "1," * 500_000 + "1]",
        "open string": '"a',
        "bad escape": '"\\x"',
        "a comment": "1/*x*/",
        "two values": "1}{",
        "quotes behind strokes": '"' + '\\"' * 1_000_000,
        "15 MB": '"' + "a" * 15_000_000 + '"',
        "17 MB": '"' + "a" * 17_000_000 + '"',
        "macros in macros": json.dumps("{{random:" * 20_000),
        "macros that grow": json.dumps("{{char}}" * 100_000),
        "braces": json.dumps("{{" * 50_000 + "char" + "}}" * 50_000),
        "heads": json.dumps("#" * 300_000),
        "fences": json.dumps("```\n" * 100_000),
        "yaml": json.dumps("a: b\n- c\n%TAG ! x\n--- \n..."),
        "lines that end with spaces": json.dumps(" \n" * 100_000),
        "a heading of ours": json.dumps("## Personality\n\nx\n## Scenario\n"),
    }
    for name, text in texts.items():
        yield f"card, {name}", lambda text=text: raw(text)
    yield "json, latin-1", lambda: '{"name":"é","description":""}'.encode("latin-1")
    yield "json, utf-16", lambda: '{"name":"é","description":""}'.encode("utf-16")
    yield "json, utf-32", lambda: '{"name":"é","description":""}'.encode("utf-32")
    yield "json, gbk", lambda: '{"name":"林清","description":"守夜人"}'.encode("gbk")
    yield "json, a mark of order alone", lambda: b"\xef\xbb\xbf"
    yield "json, twice a key", lambda: b'{"name":"a","name":"b","description":""}'
    yield "nothing", lambda: b""
    yield "line feeds", lambda: b"\n" * 1_000_000
    yield "a program", lambda: b"\x7fELF" + bytes(4_000)
    yield "a pickle", lambda: b"\x80\x04cos\nsystem\n(S'true'\ntR."
    yield "a text", lambda: b"Once upon a time." * 1_000


def fields() -> Iterator[tuple[str, Make]]:
    kinds: Mapping[str, Any] = {"number": 7, "list": [[]], "object": {"a": [1]}, "null": None, "long": "x" * 300_000}
    names = ("name", "description", "first_mes", "alternate_greetings", "mes_example", "extensions", "tags", "nickname")
    for field in (*names, "system_prompt", "source", "assets", "creation_date"):
        for kind, value in kinds.items():
            yield f"card, {field} is {kind}", lambda field=field, value=value: card(**{field: value})
    names_of_roles = (
        "..",
        "/etc",
        "con",
        "a" * 500,
        "\n",
        "\u202e",
        "{{char}}",
        "<USER>",
        "# x",
        "a\x00b",
        "'; DROP TABLE",
        "🦊",
    )
    for name in names_of_roles:
        yield f"card, called {name[:12]!a}", lambda name=name: card(name=name)
    yield "card, depth prompt is a list", lambda: card(extensions={"depth_prompt": ["x"]})
    yield "card, 3,000 greetings", lambda: card(alternate_greetings=[f"g{n}" for n in range(3_000)])
    yield (
        "card, a spec of a later time",
        lambda: dumped({"spec": "chara_card_v9", "spec_version": "9", "data": {"name": "a"}}),
    )
    yield "card, a spec that is a list", lambda: dumped({"spec": [1], "data": {"name": "a", "description": ""}})
    yield "card, data that is a list", lambda: dumped({"spec": "chara_card_v2", "data": [1]})


def books() -> Iterator[tuple[str, Make]]:
    entries: Mapping[str, Any] = {
        "keys are a catastrophe": {
            "keys": ["/(a+)+$/", "(x+x+)+y", "/^(([a-z])+.)+[A-Z]([a-z])+$/i"],
            "content": "a" * 5_000 + "!",
        },
        "keys are objects": {"keys": [{"a": 1}, [2], None, True], "content": "x"},
        "keys are a number": {"keys": 7, "content": "x"},
        "a key of 1 MB": {"keys": ["k" * 1_000_000], "content": "x"},
        "20,000 keys": {"keys": [f"k{n}" for n in range(20_000)], "content": "x"},
        "content is a list": {"keys": ["k"], "content": ["x"]},
        "content is null": {"keys": ["k"], "content": None},
        "decorators alone": {"keys": ["k"], "content": "@@depth 4\n@@@role system\n" * 5_000},
        "decorators without end": {"keys": ["k"], "content": "@" * 500_000},
        "order is a text": {"keys": ["k"], "content": "x", "insertion_order": "first"},
        "extensions is a list": {"keys": ["k"], "content": "x", "extensions": [1]},
        "ours in extensions": {
            "keys": ["k"],
            "content": "x",
            "extensions": {"dramaturg": {"world": {"uid": "../x"}, "book": []}},
        },
        "a name of a path": {"keys": ["../../etc/passwd"], "content": "x", "name": "../../x"},
        "a name of controls": {"keys": ["\x00\x1b[2J"], "content": "x"},
        "uid is an object": {"uid": {}, "key": ["k"], "content": "x"},
        "position is a text": {"keys": ["k"], "content": "x", "position": 99},
        "half a pair": {"keys": ["k"], "content": "\ud83d"},
        "enabled is an object": {"keys": ["k"], "content": "x", "enabled": {"a": 1}},
    }
    for name, one in entries.items():
        yield f"book, {name}", lambda one=one: json.dumps({"spec": "lorebook_v3", "data": {"entries": [one]}}).encode()
        yield f"world, {name}", lambda one=one: json.dumps({"entries": {"0": {"key": one.get("keys"), **one}}}).encode()
        yield f"card's book, {name}", lambda one=one: json.dumps(v2(name="Ada Two", character_book=book(one))).encode()
    yield "book, a million entries", lambda: b'{"entries":[' + b"{}," * 1_000_000 + b"{}]}"
    yield "world, 300,000 entries", lambda: b'{"entries":{' + b'"0":{},' * 290_000 + b'"1":{}}}'
    yield "book, 5,001 entries", lambda: b'{"entries":[' + b"{}," * 5_000 + b"{}]}"
    yield "book, 2,000 of one name", lambda: dumped(book(*[entry(f"c{n}", "same") for n in range(2_000)]))
    for name, value in {
        "a text": "x",
        "a list": [1],
        "null": None,
        "entries a text": {"entries": "x"},
        "NaN": {},
    }.items():
        yield (
            f"card's book is {name}",
            lambda value=value: json.dumps(v2(name="Ada Two", character_book=value)).encode(),
        )
        yield f"book of entries {name}", lambda value=value: json.dumps({"entries": [value, 1]}).encode()


def archives() -> Iterator[tuple[str, Make]]:
    names = (
        "../role.yaml",
        "a/../../x",
        "assets\\..\\..\\x",
        "/etc/passwd",
        "C:/x",
        "\\\\host\\x",
        "a\nb",
        "a?b",
        "a//b",
        "a/ /b",
        "a.",
        "x" * 300,
        "a/" * 130 + "x",
        "\x01",
        "...",
        "./x",
        "con\u202e",
        "é" * 80,
        "~/x",
        "card.json/x",
        "persona/x.md",
        "role.yaml",
        ".lock",
        "index/x",
    )
    for name in names:
        yield f"charx, a file {name[:20]!a}", lambda name=name: charx_with((name, b"x"))
    for kind, mode in {
        "link": stat.S_IFLNK,
        "device": stat.S_IFBLK,
        "pipe": stat.S_IFIFO,
        "socket": stat.S_IFSOCK,
    }.items():
        yield f"charx, a {kind}", lambda mode=mode: charx_with((special(mode), b"/etc/passwd"))
    yield "charx, a name twice", lambda: charx_with(("a/b", b"1"), ("A/B", b"2"))
    yield "charx, two cards", lambda: charx_with(("Card.json", CHARX))
    yield "charx, a file that is a folder, too", lambda: charx_with(("a", b"1"), ("a/b", b"2"))
    yield "charx, 2,001 files", lambda: charx_with(*((f"f{n}", b"") for n in range(2_000)))
    yield "charx, 290 MB of zeros", lambda: charx_with(("assets/x", bytes(290_000_000)))
    yield "charx, 30 files of 20 MB", lambda: charx_with(*((f"assets/{n}", bytes(20_000_000)) for n in range(30)))
    yield "charx, a zip in it", lambda: charx_with(("assets/x.zip", charx_with(("y", bytes(1_000_000)))))
    yield "charx, a wrong checksum", lambda: central(charx_with(("x", b"abc")), 16, b"\1\2\3\4")
    yield "charx, a size that is too small", lambda: central(charx_with(("x", b"abc" * 99)), 24, struct.pack("<I", 3))
    yield "charx, a size of 4 GB", lambda: central(charx_with(("x", b"abc")), 24, b"\xff\xff\xff\xff")
    yield "charx, a place beyond the file", lambda: central(charx_with(("x", b"abc")), 42, b"\xff\xff\xff\x7f")
    yield "charx, packed in a way that there is not", lambda: central(charx_with(("x", b"abc")), 10, b"\x63\0")
    yield "charx, a password", lambda: central(charx_with(("x", b"abc")), 8, b"\1\0")
    yield "charx, the same place for two", lambda: central(charx_with(("x", b"abc"), ("y", b"abd")), 42, bytes(4))
    yield "charx, a name in cp437", lambda: charx_with(("assets/ae", b"x")).replace(b"assets/ae", b"assets/\x84\x94")
    yield (
        "charx, a name in shift-jis",
        lambda: charx_with(("assets/ae", b"x")).replace(b"assets/ae", b"assets/\x83\x5c"),
    )
    yield "charx, cards of 40 MB", lambda: zip_of(("card.json", b'{"name":"' + b"a" * 40_000_000 + b'"}'))
    yield "charx, nested json", lambda: zip_of(("card.json", nested(100_000)))
    yield (
        "charx, a picture that is none",
        lambda: zip_of(
            (
                "card.json",
                dumped(v3(name="Ada Two", assets=[{"type": "icon", "uri": "embeded://x.png", "name": "main"}])),
            ),
            ("x.png", b"\x89PNGx"),
        ),
    )
    yield (
        "charx, an icon that leads out",
        lambda: zip_of(
            (
                "card.json",
                dumped(v3(name="Ada Two", assets=[{"type": "icon", "uri": "embeded://../../x", "name": "main"}])),
            )
        ),
    )
    yield "a zip of nothing", lambda: zip_of()
    yield "a zip without a card", lambda: zip_of(("x", b"y"))
    yield "a zip with a comment", lambda: patched(charx_with(), len(charx_with()) - 2, b"\xff\xff")
    yield "a picture with half a zip", lambda: b"\xff\xd8\xff\xe0" + charx_with()[:-9]


def chats() -> Iterator[tuple[str, Make]]:
    lines: Mapping[str, bytes] = {
        "a broken line": b'{"name":"Ada","mes":',
        "a number": b"7",
        "a list": b"[1]",
        "no mes": b'{"name":"Ada"}',
        "mes is a list": b'{"name":"Ada","mes":[1]}',
        "nested": b'{"name":"Ada","mes":"x","extra":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        "NaN": b'{"name":"Ada","mes":"x","a":NaN}',
        "swipes are a text": b'{"name":"Ada","mes":"x","swipes":"yz"}',
        "swipes are objects": b'{"name":"Ada","mes":"x","swipes":[{},null,3,"x"]}',
        "swipe_id beyond": b'{"name":"Ada","mes":"x","swipes":["x"],"swipe_id":99}',
        "9,000 swipes": dumped({"name": "Ada", "mes": "x", "swipes": [str(n) for n in range(9_000)]}),
        "name is an object": b'{"name":{"a":1},"mes":"x"}',
        "half a pair": b'{"name":"Ada","mes":"\\ud83d"}',
        "no utf-8": b'{"name":"Ada","mes":"\xff"}',
        "a zero": b'{"name":"Ada","mes":"\\u0000"}',
        "evidence of ours": b'{"name":"Ada","mes":"x","extra":{"dramaturg":{"turn":[],"evidence":"x"}}}',
        "nobody of the role": b'{"name":"Zed","mes":"x"}',
        "a header again": b'{"chat_metadata":{},"user_name":"a"}',
    }
    head = CHAT.partition(b"\n")[0]
    for name, line in lines.items():
        yield f"chat, {name}", lambda line=line: head + b"\n" + line
        yield f"chat, {name} behind a whole one", lambda line=line: CHAT + b"\n" + line
    yield "chat, 60,000 messages", lambda: head + b'\n{"mes":"x"}' * 60_000
    yield "chat, metadata is a list", lambda: CHAT.replace(b'"chat_metadata":{}', b'"chat_metadata":[1]')
    start = b'{"format":"dramaturg-conversation"'
    for name, rest in {
        "alone": b"}",
        "of another version": b',"version":99}',
        "with lines that are none": b',"version":1}\n{"a":1}',
        "nested": b',"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    }.items():
        yield f"conversation, {name}", lambda rest=rest: start + rest
    for name, line in {
        "no text": b'{"text":7}',
        "no base64": b'{"enc_text":"<>"}',
        "nobody speaks": b'{"text":"hm"}',
        "a scene of 1 MB": dumped({"text": "A：「" * 200_000}),
    }.items():
        yield f"haruhi, {name}", lambda line=line: line
        yield (
            f"haruhi, {name} behind a whole one",
            lambda line=line: b'{"text":"A\xef\xbc\x9a\xe3\x80\x8cb\xe3\x80\x8d"}\n' + line,
        )


def bundles() -> Iterator[tuple[str, Make]]:
    yield (
        "bundle, a wrong digest",
        lambda: bundle_saying(files={path: "00" for path in unzipped(bundle()) if path != "bundle.json"}),
    )
    yield "bundle, a file more than it says", lambda: bundle_saying(files={})
    for role in ("../x", "", "con", "a/b", 7, "x" * 90):
        yield f"bundle, of the role {ascii(role)[:9]}", lambda role=role: bundle_saying(role=role)
    yield "bundle, of a later version", lambda: bundle_saying(version=2)
    yield "bundle, with a key more", lambda: bundle_saying(run="rm")
    yield "bundle, FAISS's own file", smuggled_faiss
    yield (
        "bundle, FAISS's file beside the vectors",
        lambda: bundle_with(**{"index/graph/other.faiss": b"IxFI" + bytes(60)}),
    )
    yield (
        "bundle, a pickle among the vectors",
        lambda: bundle_with(**{"index/graph/x.pkl": b"\x80\x04cos\nsystem\n(S'true'\ntR."}),
    )
    yield "bundle, a pickle as vectors", lambda: vectors(lambda data: b"\x80\x04cos\nsystem\n(S'true'\ntR.")
    yield "bundle, a vector less", lambda: vectors(lambda data: data[: len(data) // 2])
    yield "bundle, vectors and a byte", lambda: vectors(lambda data: data + b"\0")
    yield "bundle, vectors of zeros", lambda: vectors(lambda data: bytes(len(data)))
    yield "bundle, vectors that are no numbers", lambda: vectors(lambda data: b"\xff" * len(data))
    yield "bundle, vectors three times", lambda: vectors(lambda data: data * 3)
    files: Mapping[str, bytes | None] = {
        "index/graph/manifest.json": b"{}",
        "index/graph/graph.json": b"[" * 100_000,
        "index/graph/../../x": b"",
        "index/../x/manifest.json": b"{}",
        "index/other/manifest.json": b"{}",
        "role/role.yaml": b"name: !!python/object/apply:os.system [true]",
        "role/index/current.json": b"{}",
        "role/.git/hooks/x": b"#!",
        "role/memories.jsonl": b"{}",
        "role/chronicle.yaml": b"a: &a [*a]",
        "role/persona/x.md": b"\xff\xfe",
        "conversations/names.json": b'["a"]',
        "role/dialogues/x.jsonl": b"{",
        "role/questions.jsonl": b"[",
        "role/merges.json": b"{",
        "role/prompts/reply.en.md": b"{{{{",
        "role/x/../../y": b"",
        "elsewhere/x": b"y",
    }
    for path, data in files.items():
        yield f"bundle, another {path}", lambda path=path, data=data: bundle_with(**{path: data})
    bombs = {
        "yaml, lists of lists": b"a: &a [x]\n"
        + b"".join(b"b%d: &b%d [*%s,*%s]\n" % (n, n, *[b"b%d" % (n - 1) if n else b"a"] * 2) for n in range(40))
    }
    for name, data in bombs.items():
        yield (
            f"bundle, {name}",
            lambda data=data: bundle_with(**{"role/role.yaml": b"name: a\ncard:\n  " + data.replace(b"\n", b"\n  ")}),
        )


def mutated(name: str, seed: int, data: bytes) -> bytes:
    """A file with a damage of this kind, at a place that goes by the seed."""
    chance = random.Random(f"{name}{seed}{len(data)}")
    at, to = sorted(chance.randrange(len(data)) for _ in range(2))
    match name:
        case "flip":
            return patched(data, at, bytes([data[at] ^ (1 << chance.randrange(8))]))
        case "cut":
            return data[:at]
        case "zeros":
            return patched(data, at, bytes(min(to - at, 40)))
        case "doubled":
            return data[:at] + data[at:to] + data[at:]
        case "reversed":
            return data[:at] + data[at:to][::-1] + data[to:]
        case "glued":
            return data + data
        case "repeated line":
            lines = data.split(b"\n")
            return b"\n".join([*lines, lines[chance.randrange(len(lines))]])
        case _:
            return data[:at] + b'"]}{[' + data[at:]


def mutations() -> Iterator[tuple[str, Make]]:
    made = whole()
    for seed in range(100):
        for kind, make in made.items():
            damage = MUTATIONS[(seed + len(kind)) % len(MUTATIONS)] if seed % 2 else ("flip", "cut")[seed // 2 % 2]
            yield f"{kind}, {damage} {seed}", lambda make=make, damage=damage, seed=seed: mutated(damage, seed, make())


def cases() -> list[Case]:
    """All of them, in the order of their numbers: those that are made by hand, then damaged ones of whole files."""
    kinds = (pictures, values, fields, books, archives, chats, bundles, mutations)
    found = [one for kind in kinds for one in kind()][:NUMBER]
    return [Case(number, name, make) for number, (name, make) in enumerate(found, start=1)]
