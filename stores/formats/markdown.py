"""How a card's texts stand in documents and dialogues that people edit, and how they are read from there again."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dramaturg.stores.documents.forms import Language
from dramaturg.stores.formats.lorebooks import Entry
from dramaturg.stores.macros import Names, filled
from dramaturg.stores.names import normal_name

FIELDS = ("description", "personality", "scenario")
HEADINGS: Mapping[str, Sequence[str]] = {
    "en": ("Description", "Personality", "Scenario"),
    "zh": ("描述", "性格", "场景"),
    "ko": ("설명", "성격", "상황"),
}
NAMES: Mapping[str, str] = {"en": "Names: ", "zh": "名称：", "ko": "이름: "}
LONGEST_LINE = 100_000
_HEADING = re.compile(r"^(#{1,6})(?=[ \t]|$)", re.MULTILINE)
_OWN_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_START = re.compile(r"^[ \t]*<START>[ \t]*$", re.MULTILINE | re.IGNORECASE)
_SPEAKER = re.compile(r"(\{\{(?:char|user)\}\}|<(?:bot|user)>)[ \t]*[:：][ \t]*", re.IGNORECASE)
_LETTERS = {"zh": re.compile(r"[\u3400-\u9fff]"), "ko": re.compile(r"[\uac00-\ud7a3]")}


class Line(NamedTuple):
    """A line of an example chat."""

    scene: str
    speaker: str
    text: str


def language_of(text: str) -> Language:
    """The language of a text, of those that there are prompts for: by its letters."""
    letters = sum(map(str.isalpha, text)) or 1
    shares = {name: len(form.findall(text)) / letters for name, form in _LETTERS.items()}
    return "ko" if shares["ko"] > 0.2 else "zh" if shares["zh"] > 0.2 else "en"


def cleaned(text: str) -> str:
    """A text as it may stand in a file: lines end with a line feed, nothing but letters and marks."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def as_written(text: str, names: Names, below: int) -> str:
    """A card's text in a document: macros filled in, and its headings below one of ours."""
    return _HEADING.sub(
        lambda match: "#" * min(6, len(match[1]) + below), cleaned(filled(cleaned(text), names))
    ).strip()


def persona_text(texts: Mapping[str, str], names: Names, language: str) -> str:
    """The document of description, personality and scenario; empty where none of them says anything."""
    parts = [
        f"## {heading}\n\n{text}\n"
        for field, heading in zip(FIELDS, HEADINGS[language], strict=True)
        if (text := as_written(texts.get(field, ""), names, 2))
    ]
    return "\n".join([f"# {title_of(names.char)}\n", *parts]) if parts else ""


def sections_in(document: str) -> dict[str, str]:
    """Description, personality and scenario, as they stand in that document; what else it says is of the part before.

    Whoever edits it may add headings, and change its language.
    """
    found = {field: list[str]() for field in FIELDS}
    fields = {heading: field for headings in HEADINGS.values() for field, heading in zip(FIELDS, headings, strict=True)}
    parts = _OWN_HEADING.split(document.partition("\n")[2] if document.startswith("# ") else document)
    field = "description"
    found[field].append(parts[0].strip())
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        known = fields.get(heading.strip())
        field = known or field
        found[field].append(text.strip() if known else f"## {heading}\n\n{text.strip()}")
    return {field: "\n\n".join(filter(None, texts)) for field, texts in found.items()}


def entry_text(entry: Entry, title: str, names: Names, language: str) -> str:
    """The document of an entry of a lorebook: its name, its other names, and what it says."""
    others = [
        one for one in (as_written(key, names, 0) for key in entry.names) if normal_name(one) != normal_name(title)
    ]
    line = f"{NAMES[language]}{', '.join(others)}.\n" if others else ""  # of one paragraph with what they are names of
    return f"# {title}\n\n{line}{as_written(entry.said, names, 1)}\n"


def entry_in(document: str) -> str:
    """What an entry says, as it stands in its document."""
    body = document.partition("\n")[2].strip() if document.startswith("#") else document.strip()
    first, _, rest = body.partition("\n")
    return rest.strip() if first.startswith(tuple(NAMES.values())) and first.endswith(".") and rest.strip() else body


def title_of(text: str) -> str:
    """A text as a heading of one line."""
    return " ".join(cleaned(text).split())[:120].lstrip("# ").strip()


def file_name(title: str, taken: dict[str, int]) -> str:
    """The name of a document after its title, which none of `taken` has, also where case makes no difference.

    Args:
        title: of the document.
        taken: the names that there are, in small letters; the new one is added. By each, how many began with it.
    """
    words = re.sub(r"[^\w]+", "-", unicodedata.normalize("NFC", title)).strip("-_")[:50].strip("-_") or "entry"
    first, name = f"lore-{words}".casefold(), f"lore-{words}.md"
    while name.casefold() in taken:
        taken[first] = max(1, taken.get(first, 0)) + 1
        name = f"lore-{words}-{taken[first]}.md"
    taken[name.casefold()] = 0
    return name


def examples_in(text: str, names: Names) -> list[Line]:
    """The lines of example chats; what nobody is named for is the role's."""
    lines: list[Line] = []
    for number, block in enumerate(filter(str.strip, _START.split(cleaned(text))), start=1):
        parts = _SPEAKER.split(f"\n{block.strip()}")
        spoken = [("{{char}}", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
        for speaker, said in spoken:
            name = names.user if "user" in speaker.lower() else names.char
            if line := cleaned(filled(said, names)):
                lines.append(Line(f"example {number}", name, line[:LONGEST_LINE]))
    return lines


def examples_text(lines: Iterable[Line], names: Names) -> str:
    """Example chats as a card has them."""
    scenes: dict[str, list[str]] = {}
    macros = {names.char: "{{char}}", names.user: "{{user}}"}
    for line in lines:
        scenes.setdefault(line.scene, []).append(f"{macros.get(line.speaker, line.speaker)}: {line.text}")
    return "\n".join("\n".join(["<START>", *spoken]) for spoken in scenes.values())
