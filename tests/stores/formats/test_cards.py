"""Character cards as they are found: in each kind of text, with and without what the specifications ask for."""

import base64
import zlib
from pathlib import Path
from typing import Any

import pytest
from wild_cards import WILD, book, chunk, entry, png_of, v2, v3

from dramaturg.stores.documents.forms import RoleCard, card_text, parse_card
from dramaturg.stores.formats.bounds import dumped, parse_json
from dramaturg.stores.formats.cards import Card, as_charx, as_json, as_png
from dramaturg.stores.formats.characters import card_of, role_of
from dramaturg.stores.formats.personas import Persona
from dramaturg.stores.formats.png import SIGNATURE, blank, texts_in, with_texts
from dramaturg.stores.formats.told import read_file, told
from dramaturg.stores.library import Library

HEADER, END = blank()[8:33], chunk(b"IEND", b"")


def card(data: bytes) -> Card:
    one = told(data)
    assert isinstance(one, Card)
    return one


def carried(kind: bytes, text: bytes) -> bytes:
    return SIGNATURE + HEADER + chunk(kind, text) + END + b"what comes after the end"


PACKED = base64.b64encode(dumped(v2(name="Ada")))


@pytest.mark.parametrize(
    "data",
    [
        carried(b"tEXt", b"chara\0" + PACKED),
        carried(b"tEXt", b"Chara\0" + PACKED.rstrip(b"=")),
        carried(b"tEXt", b"chara\0" + b"\n".join(PACKED[at : at + 60] for at in range(0, len(PACKED), 60))),
        carried(b"tEXt", b"chara\0" + dumped(v2(name="Ada"))),
        carried(b"zTXt", b"chara\0\0" + zlib.compress(PACKED)),
        carried(b"iTXt", b"chara\0\0\0en\0Karte\0" + PACKED),
        carried(b"iTXt", b"chara\0\1\0\0\0" + zlib.compress(PACKED)),
        b"\xef\xbb\xbf" + dumped(v2(name="Ada"), indent=4).replace(b"\n", b"\r\n"),
        b"\xff\xd8\xff\xe0 a picture before it " + as_charx(Card(3, {"name": "Ada"})),
        dumped({"name": "Ada", "data": {"name": "Ada", "description": "", "first_mes": ""}}),
    ],
    ids=["plain", "no padding", "in lines", "no base64", "packed", "international", "both", "JSON", "JPEG", "no spec"],
)
def test_a_card_is_found(data: bytes) -> None:
    assert card(data).said.name == "Ada"


def test_v3_comes_before_v2_and_the_json_says_which_it_is() -> None:
    data = with_texts(png_of(v2(name="Two")), {"ccv3": base64.b64encode(dumped(v3(name="Three")))})
    assert (card(data).said.name, card(data).version) == ("Three", 3)
    assert card(png_of(v3(name="Three"))).version == 3
    newer = dumped({"spec": "chara_card_v3", "spec_version": "3.7", "data": v3(name="Three")["data"]})
    assert as_json(card(newer))["spec_version"] == "3.7"


def test_a_png_that_is_written_holds_both_and_no_other_card() -> None:
    one = card(png_of(v3(name="Three", nickname="Trey", character_book=book(entry("@@depth 2\nx", "y")))))
    texts = texts_in(as_png(one._replace(picture=png_of(v2(name="Old")))))
    older, newer = (parse_json(base64.b64decode(texts[word])) for word in ("chara", "ccv3"))
    assert (older["spec"], newer["spec"]) == ("chara_card_v2", "chara_card_v3")
    assert "nickname" not in older["data"]
    assert older["data"]["character_book"]["entries"][0]["content"] == "x"
    assert newer["data"]["nickname"] == "Trey"
    assert newer["data"]["character_book"]["entries"][0]["content"] == "@@depth 2\nx"


def test_a_name_of_another_kind_or_none_is_that_of_the_file() -> None:
    assert role_of(card(dumped(v2(name=7))), "x.png").card.name == "7"
    assert role_of(card(dumped(v2(name=" \n"))), "Old Tom.png").card.name == "Old Tom"
    assert len(role_of(card(dumped(v2(name="a" * 999))), "x.png").card.name) <= 200


def test_what_is_always_active_fills_the_profile_and_then_documents(tmp_path: Path) -> None:
    entries = [entry(f"{number} " + "x" * 1500, f"k{number}", constant=True) for number in range(4)]
    made = role_of(card(dumped(v2(name="Ada", description="Short.", character_book=book(*entries)))), "a.png")
    assert made.card.profile.startswith("Short.\n\n0 x")
    assert len(made.card.profile) <= 4000
    assert sorted(made.files) == ["persona/character.md", "persona/lore-k2.md", "persona/lore-k3.md", "role.yaml"]


def test_a_long_description_is_the_profile_as_far_as_whole_sentences_go() -> None:
    text = " ".join(f"Sentence {number} is here." for number in range(200))
    profile = role_of(card(dumped(v2(name="Ada", description=text))), "a.png").card.profile
    assert profile.endswith("is here.")
    assert 400 < len(profile) <= 1200


@pytest.mark.parametrize("sentence", ["He keeps the light.\n", "他守着灯。", "he keeps the light and "])
def test_what_a_profile_has_no_room_for_stands_in_the_persona_and_the_report_says_so(sentence: str) -> None:
    told = (sentence * (6000 // len(sentence))).strip()
    made = role_of(Card(2, v2(name="Ada", description=told, personality="Calm.")["data"]), "ada.png")
    document = made.files["persona/character.md"].decode()
    described = made.card.profile.removesuffix("\n\nCalm.")
    assert told in document
    assert described.removesuffix("…").rstrip() in document
    assert described.endswith((".", "。", "keeps…", "light…", "the…", "he…", "and…"))
    sizes = {one.part: one.size for one in made.became}
    assert sizes["description"] == f"{len(told):,} characters, the first {len(described):,} of them in the profile"
    assert sizes["personality"] == "5 characters"


def test_role_yaml_is_read_as_it_was_written() -> None:
    for value in WILD.values():
        made = role_of(card(dumped(value)), "x.png")
        assert parse_card(made.files["role.yaml"], Path("x")) == made.card
    odd: dict[str, Any] = {
        "a": [None, "", "null", "1", 1, 1.5, True, "x: y", "- z", "\u2028", "\x85\t", "ü" * 200],
        "": {},
    }
    one = RoleCard(name="Ada", card={"data": {"extensions": odd}})
    assert parse_card(card_text(one).encode(), Path("x")) == one


def test_a_folder_of_chat_haruhi_is_a_role_with_scenes(tmp_path: Path) -> None:
    (tmp_path / "tong" / "texts").mkdir(parents=True)
    (tmp_path / "tong" / "system_prompt.txt").write_text("你要扮演佟掌柜，客栈的掌柜。")
    (tmp_path / "tong" / "texts" / "one.txt").write_text(
        "旁白:「客栈里。」\n佟掌柜：「额滴神啊！」\n还在说。\n老白:「啥事？」\n佟掌柜：「没事。」\n"
    )
    found = read_file(tmp_path / "tong")
    assert isinstance(found, Persona)
    made = role_of(found.card, "tong", None, found.scenes)
    assert (made.card.name, made.card.language) == ("佟掌柜", "zh")
    library = Library(tmp_path / "library")
    library.replace({"tong": made.files})
    lines = [(line.scene, line.speaker, line.text) for line in library.role("tong").dialogues()]
    assert lines[1] == ("one", "佟掌柜", "额滴神啊！\n还在说。")
    assert len(lines) == 4


def test_a_link_in_a_role_is_not_carried_out(tmp_path: Path) -> None:
    library = Library(tmp_path / "library")
    role = library.create("ada", RoleCard(name="Ada"))
    (tmp_path / "secret").write_text("secret")
    (role.root / "card").mkdir()
    (role.root / "card" / "x.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(ValueError, match=r"x\.txt leads out of ada"):
        card_of(role)


def packed(**more: str) -> bytes:
    """A line of Chat-Haruhi, with what stands for its embeddings."""
    return dumped({"luotuo_openai": "AAAA", "bge_zh_s15": "BBBB", **more}) + b"\n"


SCENE = "旁白:「客栈里。」\n佟掌柜：「额滴神啊！」\n佟掌柜：「没事。」\n"


@pytest.mark.parametrize("where", ["alone", "folder"])
def test_json_lines_of_chat_haruhi_are_a_role_with_scenes(where: str, tmp_path: Path) -> None:
    head = packed(text="你要扮演佟掌柜。", luotuo_openai="system_prompt") + packed(text="Reserve", bge_zh_s15="config")
    lines = packed(text=SCENE, file="one.txt") + packed(enc_text=base64.b64encode(SCENE.encode()).decode())
    file = tmp_path / "tong" / "tong.jsonl"
    file.parent.mkdir()
    if where == "folder":
        (file.parent / "system_prompt.txt").write_text("佟掌柜开客栈。")
        head = b""
    file.write_bytes(head + lines)
    found = read_file(file if where == "alone" else file.parent)
    assert isinstance(found, Persona)
    made = role_of(found.card, file.name, None, found.scenes)
    assert (made.card.name, made.card.language) == ("佟掌柜", "zh")
    assert found.card.said.description == ("你要扮演佟掌柜。" if where == "alone" else "佟掌柜开客栈。")
    assert [line.scene for line in found.scenes][::3] == ["one", f"scene {4 if where == 'alone' else 2}"]
    assert ("scenes", "dialogues/scenes.jsonl", "6 lines") in made.became
    assert b"AAAA" not in made.files["dialogues/scenes.jsonl"]
