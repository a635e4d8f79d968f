"""What becomes of a character card in a role, and a card made of a role.

What can be read from the files of the role again is not written twice: `role.yaml` keeps, under `card`, what has no
place in them, and a text as it was where macros or headings make it another. In a card that is written, what people
have changed since counts, and everything else is as it was.
"""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dramaturg.stores.documents.forms import (
    CARD,
    LONGEST_NAME,
    LONGEST_TEXT,
    PICTURE,
    DialogueLine,
    Language,
    RoleCard,
    card_text,
)
from dramaturg.stores.documents.reading import read_lines
from dramaturg.stores.documents.secrets import told_among
from dramaturg.stores.files import read_bytes
from dramaturg.stores.formats.books import LONGEST_PROFILE, KeptBook, books_of, kept_books, placed, records_of
from dramaturg.stores.formats.bounds import dumped
from dramaturg.stores.formats.cards import Card, Said, Version, as_charx, as_json, as_png, main_icon
from dramaturg.stores.formats.lorebooks import Entry
from dramaturg.stores.formats.markdown import (
    FIELDS,
    Line,
    as_written,
    cleaned,
    examples_in,
    examples_text,
    language_of,
    persona_text,
    sections_in,
    title_of,
)
from dramaturg.stores.macros import STRANGER, Names, filled, unknown
from dramaturg.stores.role import Role

PERSONA = "persona/character.md"
EXAMPLES = "dialogues/examples.jsonl"
SCENES = "dialogues/scenes.jsonl"
FILES = "card/"
"""Where the files of a CHARX lie in a role, by their paths in it."""
SHORT = 1200
"""Characters of a description that a profile begins with."""
ASIDE = ("system_prompt", "post_history_instructions")


class Became(NamedTuple):
    """What became of a part of a file."""

    part: str
    where: str
    size: str


class Made(NamedTuple):
    """A role that is made of a card, and what became of what."""

    card: RoleCard
    files: Mapping[str, bytes]
    """By their paths in the role, `role.yaml` among them."""
    became: list[Became]
    stand: list[str]
    """Macros that stand as they are."""


def role_of(card: Card, source: str, language: Language | None = None, scenes: Sequence[Line] = ()) -> Made:
    """Make a role of a character card.

    Args:
        card: the card.
        source: the name of its file; a card without a name is called by it.
        language: of the role; None: that of its texts.
        scenes: that it speaks in, beside the example chats of its card.
    """
    said = card.said
    name = title_of(said.name)[:LONGEST_NAME] or title_of(source.partition(".")[0]) or "Nobody"
    texts = {field: getattr(said, field) for field in FIELDS}
    book = card.book
    language = language or language_of(
        " ".join([*texts.values(), said.first_mes, *(line.text for line in scenes[:100])])
    )
    names = Names(said.nickname.strip() or name, STRANGER[language])
    files: dict[str, bytes] = {}
    if persona := persona_text(texts, names, language):
        files[PERSONA] = persona.encode()
    examples = examples_in(said.mes_example, names)
    files |= {
        path: b"".join(json.dumps(line._asdict(), ensure_ascii=False).encode() + b"\n" for line in lines)
        for path, lines in ((EXAMPLES, examples), (SCENES, scenes))
        if lines
    }
    most = {"description": SHORT, "personality": SHORT // 2}
    whole = {field: as_written(texts[field], names, 2) for field in most}
    short = {field: shortened(whole[field], length) for field, length in most.items()}
    profile = "\n\n".join(filter(None, short.values()))
    kept_book, entries, always = (
        (None, {}, "") if book is None else placed(book, names, language, room=LONGEST_PROFILE - len(profile))
    )
    files |= entries
    if picture := card.picture:
        files[PICTURE] = picture
    elif picture := card.assets.get(main_icon(card.data.get("assets"))):
        kind = "jpg" if picture.startswith(b"\xff\xd8\xff") else "webp" if picture[8:12] == b"WEBP" else ""
        files |= {f"picture.{kind}": picture} if kind else {}
    files |= {f"{FILES}{path}": data for path, data in card.assets.items()}
    creator, number = title_of(said.creator), title_of(said.character_version)
    about = ", ".join([source, *[f"by {creator}"] * bool(creator), *[f"version {number}"] * bool(number)])
    made = RoleCard(
        name=name,
        aliases=tuple(filter(None, [title_of(said.nickname)[:LONGEST_NAME]])),
        language=language,
        profile="\n\n".join(filter(None, [profile, always])),
        sources=tuple(dict.fromkeys([*map(title_of, said.source), about])),
        greetings=_greetings([said.first_mes, *said.alternate_greetings]),
        card={"version": card.version, "data": {}, **({"beside": dict(card.beside)} if card.beside else {})},
    )
    if kept_book is not None:
        made = made.model_copy(update={"card": {**made.card, "books": [records_of(kept_book)]}})
    again = _data(made, persona, examples, {})
    kept = {field: one for field, one in card.data.items() if field != "character_book" and again.get(field) != one}
    made = made.model_copy(update={"card": {**made.card, "data": kept}})
    files[CARD] = card_text(made).encode()
    stand = set[str]().union(*(unknown(one) for one in (*texts.values(), said.mes_example, *made.greetings)))
    if book is not None:
        stand |= set[str]().union(*(unknown(one.content) for one in book.read()))
    cut = {field: len(text) for field, text in short.items() if text != whole[field]}
    return Made(made, files, _became(card, made, kept, files, kept_book, cut), sorted(stand))


def card_of(role: Role) -> Card:
    """Make a character card of a role, from its files as they are now; see `books_of` for its lorebook."""
    own, root = role.card, role.root
    texts = {one.name: one.text for one in role.told_whole()}
    persona = texts.get(PERSONA.removeprefix("persona/"), "")
    lines = read_lines(root / EXAMPLES, DialogueLine, root).values() if (root / EXAMPLES).exists() else ()
    kept, beside = own.card.get("data"), own.card.get("beside")
    data = _data(
        own,
        persona,
        [Line(*map(str, (one.scene, one.speaker, one.text))) for one in told_among(lines, role.own_names)],
        kept if isinstance(kept, dict) else {},
    )
    if not persona and not any(data.get(field) for field in FIELDS):
        data["description"] = own.profile
    if books := books_of(role):
        entries = [entry for book in books for entry in book.in_form("book").entries]
        data["character_book"] = {**books[0].in_form("book").about, "entries": entries}
    folder = root / FILES
    found = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []
    assets = {path.relative_to(folder).as_posix(): read_bytes(path, root) for path in found}
    picture = read_bytes(root / PICTURE, root) if (root / PICTURE).exists() else None
    version: Version = 2 if own.card.get("version") == 2 else 3
    return Card(version, data, beside if isinstance(beside, dict) else {}, picture, assets)


def card_file(role: Role, form: Literal["png", "json", "charx"]) -> bytes:
    """The file of a role's card, with the time of now, as V3 asks for it."""
    card = card_of(role)
    card = card._replace(data={**card.data, "modification_date": int(time.time())})
    match form:
        case "png":
            return as_png(card)
        case "charx":
            return as_charx(card)
    return dumped(as_json(card), indent=4)


def texts_of(card: RoleCard, user: str) -> list[str]:
    """What the card of a role says to a user, beside its files: as a client shows it that has the same card."""
    kept, names = card.card.get("data"), Names(card.name, user)
    said = Said.model_validate(kept if isinstance(kept, dict) else {})
    depth = said.extensions.get("depth_prompt")
    texts = [getattr(said, field) for field in (*FIELDS, *ASIDE)]
    texts += [depth["prompt"]] if isinstance(depth, dict) and isinstance(depth.get("prompt"), str) else []
    texts += [Entry.model_validate(one.entry).said for book in kept_books(card) for one in book.entries]
    return [filled(cleaned(text), names) for text in texts if text]


def _data(card: RoleCard, persona: str, examples: Sequence[Line], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a card but for its book: what the files of the role say, or as it was where that is the same.

    Args:
        card: of the role.
        persona: its document of description, personality and scenario.
        examples: its example chats.
        kept: the fields as they were, as far as the files of the role do not say them.
    """
    names = Names(card.called, STRANGER[card.language])
    data = dict(kept)
    if "name" not in kept or title_of(str(kept["name"]))[:LONGEST_NAME] != card.name:
        data["name"] = card.name
    was = sections_in(persona_text({field: str(kept.get(field) or "") for field in FIELDS}, names, card.language))
    now = sections_in(persona)
    data |= {field: text for field, text in now.items() if field not in kept or was[field] != text}
    if "mes_example" not in kept or examples_in(str(kept["mes_example"] or ""), names) != examples:
        data["mes_example"] = examples_text(examples, names)
    others = kept.get("alternate_greetings")
    if _greetings([kept.get("first_mes"), *(others if isinstance(others, list) else [])]) != card.greetings:
        data |= {"first_mes": next(iter(card.greetings), ""), "alternate_greetings": list(card.greetings[1:])}
    return data


def _greetings(texts: Sequence[Any]) -> tuple[str, ...]:
    """Those greetings that say something, and are short enough to be one."""
    said = (cleaned(one) for one in texts if isinstance(one, str))
    return tuple(one for one in said if one and len(one) <= LONGEST_TEXT)


def shortened(text: str, most: int) -> str:
    """The beginning of a text: whole paragraphs, or sentences, or words, of at most so many characters."""
    if len(text) <= most:
        return text
    part = text[:most]
    ends = [
        part.rfind(mark) + len(mark.rstrip())
        for mark in ("\n\n", "\n", ". ", "。", "! ", "? ", "！", "？")
        if mark in part
    ]
    far = [end for end in ends if end > most // 3]
    if far:
        return part[: max(far)].strip()
    words = part[: most - 1].rpartition(" ")[0]
    return f"{(words if len(words) > most // 3 else part[: most - 1]).strip()}…"


def _became(
    card: Card,
    made: RoleCard,
    kept: Mapping[str, Any],
    files: Mapping[str, bytes],
    book: KeptBook | None,
    cut: Mapping[str, int],
) -> list[Became]:
    """What became of each part of a card; `cut`: how much of a part the profile has, where that is not all of it."""
    said = card.said
    found = [Became("name", "role.yaml: name", made.name)]
    found += [Became("nickname", "role.yaml: aliases", title_of(said.nickname))] * bool(said.nickname)
    for field in FIELDS:
        if text := getattr(said, field):
            profile = " and profile" * (field != "scenario")
            part = f", the first {cut[field]:,} of them in the profile" if field in cut else ""
            found.append(Became(field, PERSONA + profile, f"{len(text):,} characters{part}"))
    if EXAMPLES in files:
        count = files[EXAMPLES].count(b"\n")
        found.append(Became("mes_example", EXAMPLES, f"{count:,} lines"))
    if SCENES in files:
        count = files[SCENES].count(b"\n")
        found.append(Became("scenes", SCENES, f"{count:,} lines"))
    if made.greetings:
        found.append(Became("first_mes, alternate_greetings", "role.yaml: greetings", f"{len(made.greetings):,}"))
    if book is not None:
        found += [Became(part, where, f"{count:,}") for part, where, count in book.counted() if count]
    depth = said.extensions.get("depth_prompt")
    played = [one for one in ASIDE if getattr(said, one)] + ["depth_prompt"] * bool(
        isinstance(depth, dict) and depth.get("prompt")
    )
    found += [Became(one, "role.yaml: card, and every reply's prompt", "") for one in played]
    found += [Became("picture", PICTURE, f"{len(card.picture):,} bytes")] if card.picture else []
    found += [Became("assets", FILES, f"{len(card.assets):,}")] if card.assets else []
    shown = {"name", *FIELDS, "mes_example", "first_mes", "alternate_greetings", *ASIDE, "nickname"}
    rest = [field for field in (*kept, *card.beside) if field not in shown]
    return found + ([Became(", ".join(rest)[:200], "role.yaml: card", "kept")] if rest else [])
