"""Characters that are no cards: Chat-Haruhi's folders and JSON lines, companion-app's texts, and lists of people."""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dramaturg.stores.formats.bounds import LARGEST_FILE, Refused, parse_json, read_foreign, text_of
from dramaturg.stores.formats.cards import Card, card_in
from dramaturg.stores.formats.markdown import Line, cleaned

SCENES = 5_000
PEOPLE = 500
"""The most in one file."""
_SPOKEN = re.compile(r"([^:：「\n]{1,60}?)\s*[:：]\s*[「“\"](.*?)[」”\"]?\s*")
_SAID = re.compile(r"^([^:\n]{1,60}):[ \t]*", re.MULTILINE)
_MARK = re.compile(r"^###END(?:PREAMBLE|SEEDCHAT)###[ \t]*$", re.MULTILINE)


class Persona(NamedTuple):
    """A character, and the scenes that it speaks in."""

    card: Card
    scenes: list[Line]


class People(NamedTuple):
    """Several characters in one file."""

    cards: tuple[Card, ...]


def persona_in(folder: Path) -> Persona:
    """Read a folder of Chat-Haruhi: `system_prompt.txt`, and scenes in `texts/*.txt` or in one file of JSON lines.

    A scene has lines `Name:「speech」`.

    Raises:
        Refused: it is none, or larger than it may be.
    """
    prompt, texts = folder / "system_prompt.txt", folder / "texts"
    packed = sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")
    files = sorted(path for path in texts.iterdir() if path.suffix == ".txt") if texts.is_dir() else packed
    if not prompt.is_file() or (not texts.is_dir() and len(packed) != 1):
        raise Refused(
            "is a folder, and none of Chat-Haruhi: that has system_prompt.txt, and texts/ or one file of JSON lines"
        )
    if linked := [path.name for path in (prompt, texts, *files) if path.is_symlink()]:
        raise Refused(f"holds a link, {linked[0]}: put the file itself there")
    files = [path for path in files if path.is_file()]
    if len(files) > SCENES or sum(path.stat().st_size for path in files) > LARGEST_FILE:
        raise Refused(f"holds more than {SCENES:,} scenes or {LARGEST_FILE:,} bytes: take some of them away")
    if texts.is_dir():
        scenes, described = [(path.stem, text_of(read_foreign(path))) for path in files], ""
    else:
        scenes, described = _packed_in(read_foreign(files[0]))
    return _persona(folder.name, text_of(read_foreign(prompt)) or described, scenes)


def packed_in(data: bytes) -> Persona:
    """Read JSON lines of Chat-Haruhi: a scene a line, with its embeddings, which are left aside.

    Raises:
        Refused: a line is none of them, or there are too many.
    """
    scenes, described = _packed_in(data)
    return _persona("", described, scenes)


def is_packed(value: Any) -> bool:
    """Whether a line is one of Chat-Haruhi's JSON lines."""
    return isinstance(value, dict) and any(isinstance(value.get(name), str) for name in ("text", "enc_text"))


def people_in(value: Any) -> People | None:
    """Read a list of characters: cards, or people of ai-town (`name`, `identity`, `plan`); None: it is none.

    Raises:
        Refused: there are too many of them, or one is no character.
    """
    listed = value.get("characters") if isinstance(value, dict) else value
    if not isinstance(listed, list) or not listed or not isinstance(listed[0], dict) or _person(listed[0]) is None:
        return None
    if len(listed) > PEOPLE:
        raise Refused(f"holds {len(listed):,} characters, and {PEOPLE:,} are the most: split it")
    cards = [_person(one) for one in listed]
    if None in cards:
        raise Refused(f"holds an entry {cards.index(None) + 1} that is no character: take that out")
    return People(tuple(filter(None, cards)))


def _person(value: Any) -> Card | None:
    """One of several characters."""
    if isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("identity"), str):
        told = {"name": value["name"], "description": value["identity"]}
        plan = value.get("plan")
        beside = {name: one for name, one in value.items() if name not in ("name", "identity", "plan")}
        return Card(2, {**told, **({"scenario": plan} if isinstance(plan, str) else {})}, beside)
    return card_in(value)


def companion_in(data: bytes) -> Card | None:
    """Read a text of companion-app: who it is, a seed chat, and a life; None: it is none."""
    text = text_of(data)
    parts = _MARK.split(text)
    if len(parts) != 3:
        return None
    preamble, chat, life = parts
    spoken = [one for one in _SAID.findall(chat) if one.strip().lower() not in ("human", "user")]
    name = max(spoken, key=spoken.count).strip() if spoken else ""
    example = _SAID.sub(lambda one: f"{'{{char}}' if one[1].strip() == name else '{{user}}'}: ", chat.strip())
    description = "\n\n".join(filter(None, [cleaned(preamble), cleaned(life)]))
    return Card(2, {"name": name, "description": description, "mes_example": f"<START>\n{example}" if example else ""})


def _packed_in(data: bytes) -> tuple[list[tuple[str, str]], str]:
    """The scenes of JSON lines of Chat-Haruhi by their names, and how it describes its character."""
    scenes, described = list[tuple[str, str]](), ""
    for number, line in enumerate(text_of(data).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse_json(line.encode())
        except Refused as error:
            raise Refused(f"has a line {number} that {error}") from error
        if not is_packed(value):
            raise Refused(f"has a line {number} that is no scene of Chat-Haruhi: take that out")
        text, marks = _text_in(value, number), {one for one in value.values() if isinstance(one, str)}
        if "system_prompt" in marks:  # where the others have their embedding
            described = text
        elif "config" not in marks:
            scenes.append((str(value.get("file") or f"scene {number}").removesuffix(".txt")[:100], text))
        if len(scenes) > SCENES:
            raise Refused(f"holds more than {SCENES:,} scenes: split it")
    return scenes, described


def _text_in(line: Mapping[str, Any], number: int) -> str:
    """The text of a line, which may be packed."""
    if isinstance(line.get("text"), str):
        return str(line["text"])
    try:
        return base64.b64decode(line["enc_text"], validate=True).decode()
    except ValueError as error:
        raise Refused(f"has a line {number} whose text is not in base64: export it again") from error


def _persona(name: str, described: str, scenes: Iterable[tuple[str, str]]) -> Persona:
    """A character of what describes it, and of scenes by their names."""
    lines = [line for scene, text in scenes for line in _scene(scene, text)]
    described = cleaned(described)
    speakers = _speakers(lines)
    named = next((one for one in speakers if one in described), next(iter(speakers), name))
    if not described and not lines:
        raise Refused("holds no scene in which somebody speaks: a line of one is Name:「…」")
    return Persona(Card(2, {"name": named, "description": described}), lines)


def _scene(scene: str, text: str) -> list[Line]:
    """The lines of a scene; what nobody says stands with who has spoken last."""
    found: list[Line] = []
    for line in filter(None, map(cleaned, text.split("\n"))):
        if spoken := _SPOKEN.fullmatch(line):
            found.append(Line(scene, spoken[1].strip(), spoken[2].strip() or "…"))
        elif found:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}\n{line}"[:100_000])
    return found


def _speakers(lines: list[Line]) -> list[str]:
    """Who speaks, those who do most first."""
    counts = Counter(line.speaker for line in lines)
    return sorted(counts, key=lambda name: (-counts[name], name))
