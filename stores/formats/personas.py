"""Characters that are no cards: the folders of Chat-Haruhi, and the texts of companion-app."""

import re
from pathlib import Path
from typing import NamedTuple

from dramaturg.stores.formats.bounds import LARGEST_FILE, Refused, read_foreign, text_of
from dramaturg.stores.formats.cards import Card
from dramaturg.stores.formats.markdown import Line, cleaned

SCENES = 5_000
_SPOKEN = re.compile(r"([^:：「\n]{1,60}?)\s*[:：]\s*[「“\"](.*?)[」”\"]?\s*")
_SAID = re.compile(r"^([^:\n]{1,60}):[ \t]*", re.MULTILINE)
_MARK = re.compile(r"^###END(?:PREAMBLE|SEEDCHAT)###[ \t]*$", re.MULTILINE)


class Persona(NamedTuple):
    """A character, and the scenes that it speaks in."""

    card: Card
    scenes: list[Line]


def persona_in(folder: Path) -> Persona:
    """Read a folder of Chat-Haruhi: `system_prompt.txt`, and scenes in `texts/*.txt` with lines `Name:「speech」`.

    Raises:
        Refused: it is none, or larger than it may be.
    """
    prompt, texts = folder / "system_prompt.txt", folder / "texts"
    if not prompt.is_file() or not texts.is_dir() or prompt.is_symlink() or texts.is_symlink():
        raise Refused("is a folder, and none of Chat-Haruhi: that has system_prompt.txt and texts/")
    files = sorted(path for path in texts.iterdir() if path.suffix == ".txt" and path.is_file())
    if len(files) > SCENES or sum(path.stat().st_size for path in files) > LARGEST_FILE:
        raise Refused(f"holds more than {SCENES:,} scenes or {LARGEST_FILE:,} bytes: take some of them away")
    if linked := [path.name for path in files if path.is_symlink()]:
        raise Refused(f"holds a link, {linked[0]}: put the file itself there")
    lines = [line for path in files for line in _scene(path.stem, text_of(read_foreign(path)))]
    described = cleaned(text_of(read_foreign(prompt)))
    named = [one for one in _speakers(lines) if one in described]
    data = {"name": next(iter([*named, *_speakers(lines)]), folder.name), "description": described}
    return Persona(Card(2, data), lines)


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
    names = [line.speaker for line in lines]
    return sorted({*names}, key=lambda name: (-names.count(name), name))
