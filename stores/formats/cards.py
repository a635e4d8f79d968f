"""Character cards: V1, V2 and V3, in a PNG, as JSON or as CHARX; read leniently, written as the specifications ask.

A card is kept as the JSON that it was, so that nothing is lost; `Said` is how it is read.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from dramaturg.stores.formats.archives import checked_path, zipped
from dramaturg.stores.formats.bounds import LARGEST_JSON, Refused, dumped, parse_json
from dramaturg.stores.formats.lorebooks import Book, Entry, Mapped, Text, Texts, read_book, whole_book
from dramaturg.stores.formats.png import blank, texts_in, with_texts

Version = Literal[2, 3]
V1 = ("name", "description", "personality", "scenario", "first_mes", "mes_example")
V2_ONLY_TEXTS = ("creator_notes", "system_prompt", "post_history_instructions", "creator", "character_version")
LISTS = ("alternate_greetings", "tags")
V3_ONLY = (
    "nickname",
    "assets",
    "creator_notes_multilingual",
    "source",
    "group_only_greetings",
    "creation_date",
    "modification_date",
)
PYGMALION: Mapping[str, str] = {
    "char_name": "name",
    "char_persona": "description",
    "world_scenario": "scenario",
    "char_greeting": "first_mes",
    "example_dialogue": "mes_example",
}
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]*+=*+")
_EMBEDDED = re.compile(r"embed+ed://", re.IGNORECASE)  # the specification's own spelling has one d


class Said(BaseModel):
    """What a card says, as it is read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Text = ""
    nickname: Text = ""
    description: Text = ""
    personality: Text = ""
    scenario: Text = ""
    first_mes: Text = ""
    mes_example: Text = ""
    alternate_greetings: Texts = ()
    creator_notes: Text = ""
    system_prompt: Text = ""
    post_history_instructions: Text = ""
    tags: Texts = ()
    creator: Text = ""
    character_version: Text = ""
    source: Texts = ()
    extensions: Mapped = {}


class Card(NamedTuple):
    """A character card."""

    version: Version
    data: Mapping[str, Any]
    """The fields of the character, as they were written."""
    beside: Mapping[str, Any] = {}
    """What stands beside them, where it is no copy of them."""
    picture: bytes | None = None
    """A PNG without the card."""
    assets: Mapping[str, bytes] = {}
    """Files of a CHARX by their paths in it."""

    @property
    def said(self) -> Said:
        """What it says."""
        return Said.model_validate(dict(self.data))

    @property
    def book(self) -> Book | None:
        """Its lorebook."""
        return read_book(self.data["character_book"]) if self.data.get("character_book") else None


def card_in(value: Any) -> Card | None:
    """The card that a JSON value is; None: it is something else.

    Raises:
        Refused: it is a card whose parts are of another kind.
    """
    if not isinstance(value, dict):
        return None
    spec, data = value.get("spec"), value.get("data")
    is_card = isinstance(spec, str) and spec.startswith("chara_card_v")
    if is_card or (spec is None and isinstance(data, dict) and {"name", "description"} <= data.keys()):
        if not isinstance(data, dict):
            raise Refused("is a card without data: export it again")
        version: Version = 2 if spec in (None, "chara_card_v2", "chara_card_v1") else 3
        known = {"spec": spec, "data": data, "spec_version": f"{version}.0", **data}
        beside = {name: one for name, one in value.items() if name not in known or known[name] != one}
        return _checked(Card(version, data, beside))
    if "char_name" in value:
        value = {PYGMALION.get(name, name): one for name, one in value.items()}
    if "spec" not in value and "name" in value and {*V1[1:]} & value.keys():
        return _checked(Card(2, value))
    return None


def card_of_png(data: bytes) -> Card:
    """The card in a PNG: of `ccv3` if there is one, else of `chara`; which version it is its JSON says."""
    texts = texts_in(data, ("chara", "ccv3"))
    text = texts.get("ccv3", texts.get("chara"))
    if text is None:
        raise Refused("is a picture without a character: take the file that was exported as a card")
    card = card_in(parse_json(_plain(text)))
    if card is None:
        raise Refused("holds no character card in its text: export it again")
    parts = {word: one for word, one in texts.items() if word.startswith(_ASSET)}
    assets = {f"assets/other/{word.removeprefix(_ASSET).strip('/ ')}": _plain(one) for word, one in parts.items()}
    picture = with_texts(data, {}, without=("chara", "ccv3", _ASSET))
    return card._replace(picture=picture, assets={checked_path(name): one for name, one in assets.items()})


def card_of_charx(unpacked: Mapping[str, bytes]) -> Card:
    """The card in the files of a CHARX, with those beside it."""
    files = dict(unpacked)
    text = files.pop("card.json", None)
    card = None if text is None else card_in(parse_json(text))
    if card is None:
        raise Refused("holds no character: there is no card.json in it")
    picture = files.get(main_icon(card.data.get("assets")))
    shown = picture is not None and picture.startswith(b"\x89PNG")
    return card._replace(assets=files, picture=with_texts(picture, {}) if picture and shown else None)


def as_json(card: Card) -> dict[str, Any]:
    """A card as JSON, in the version that it has."""
    data = v3_data(card) if card.version == 3 else v2_data(card)
    return _named(card, card.version, data)


def as_png(card: Card) -> bytes:
    """A card as a PNG: V2 in `chara` for older readers, V3 in `ccv3`, before the end of the picture."""
    texts = {}
    for word, version in (("chara", 2), ("ccv3", 3)):
        data = v2_data(card) if version == 2 else v3_data(card)
        texts[word] = base64.b64encode(dumped(_named(card, version, data)))
    return with_texts(card.picture or blank(), texts)


def as_charx(card: Card) -> bytes:
    """A card as CHARX: V3, with its files."""
    data, assets = v3_data(card), dict(card.assets)
    if not data.get("assets") and card.picture:
        data["assets"] = [
            {"type": "icon", "uri": "embeded://assets/icon/images/main.png", "name": "main", "ext": "png"}
        ]
        assets.setdefault("assets/icon/images/main.png", card.picture)
    return zipped({"card.json": dumped(_named(card, 3, data), indent=1), **assets})


def _named(card: Card, version: int, data: Mapping[str, Any]) -> dict[str, Any]:
    """A card of a version, with what stood beside it; a newer number of the same version stays."""
    beside = dict(card.beside)
    number = beside.pop("spec_version", None)
    same = isinstance(number, str) and number.startswith(f"{version}.")
    return {
        **beside,
        "spec": f"chara_card_v{version}",
        "spec_version": number if same else f"{version}.0",
        "data": dict(data),
    }


def v2_data(card: Card) -> dict[str, Any]:
    """The fields of a V2 card; of one of V3 what V2 has not is left out, and decorators are taken off its book."""
    data = {name: one for name, one in card.data.items() if name not in V3_ONLY}
    whole = _with_needed(data)
    if card.version == 3 and isinstance(book := whole.get("character_book"), dict):
        entries = [{**one, "content": Entry.model_validate(one).said} for one in book["entries"]]
        whole["character_book"] = {**book, "entries": entries}
    return whole


def v3_data(card: Card) -> dict[str, Any]:
    """The fields of a V3 card."""
    return {"group_only_greetings": [], **_with_needed(card.data)}


def _with_needed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with those that readers ask for, of their kinds."""
    said = Said.model_validate(dict(data)).model_dump(include={*V1, *V2_ONLY_TEXTS, *LISTS, "extensions"})
    kinds = {**dict.fromkeys(LISTS, list), "extensions": dict}
    read = {name: list(one) if name in LISTS else one for name, one in said.items()}
    whole = {
        **read,
        **{name: one for name, one in data.items() if isinstance(one, kinds.get(name, str)) or name not in read},
    }
    if data.get("character_book"):
        whole["character_book"] = whole_book(read_book(data["character_book"]).in_form("book"))
    elif "character_book" in whole:
        del whole["character_book"]
    return whole


def _checked(card: Card) -> Card:
    """The card, once its book can be read."""
    if not isinstance(card.data.get("character_book") or {}, dict):
        raise Refused("has a lorebook that is no object: export it again")
    if card.book is not None and not isinstance(card.data["character_book"]["entries"], list | dict):
        raise Refused("has a lorebook without entries: export it again")
    return card


_ASSET = "chara-ext-asset_:"


def main_icon(assets: Any) -> str:
    """Where the picture of a CHARX lies in it; empty: nowhere."""
    listed = [one for one in assets if isinstance(one, dict)] if isinstance(assets, list) else []
    icons = [one for one in listed if one.get("type") == "icon" and isinstance(one.get("uri"), str)]
    main = next((one for one in icons if one.get("name") == "main"), next(iter(icons), {}))
    return _EMBEDDED.sub("", main.get("uri", "")) if _EMBEDDED.match(main.get("uri", "")) else ""


def _plain(text: bytes) -> bytes:
    """What a text chunk holds: base64, with or without its end; some write the JSON as it is."""
    packed = b"".join(text.split())
    if packed.startswith((b"{", b"\xef\xbb\xbf{")):
        return text
    if len(packed) > LARGEST_JSON * 4 // 3 + 8:
        raise Refused(f"holds more than {LARGEST_JSON:,} bytes of JSON: split the card")
    if not _BASE64.fullmatch(packed):
        raise Refused("holds a card that is not written in base64: export it again")
    packed = packed.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        return base64.b64decode(packed + b"=" * (-len(packed) % 4))
    except binascii.Error as error:
        raise Refused("holds a card whose base64 is damaged: export it again") from error
