"""Ada Quill, a small role that has something for every method."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library_folder import Library

LIFE = """# Ada Quill

Ada Quill keeps the lighthouse of Gull Rock and has kept it for thirty years.

## Work

### The lamp

She trims the lamp at dusk and at midnight, and never once has it gone out.

### The log

Every ship that passes is written into the log with its name and the hour.

## People

Her brother Tom sails the mail boat and brings flour and letters on Fridays.

She distrusts the harbour master, who once sold the old lamp behind her back.

## Nature

Storms make her cheerful; a calm sea makes her uneasy and short with visitors.
"""
MEMORIES: tuple[Mapping[str, str], ...] = (
    {"text": "The lamp burned all night in the great storm, and I sang to it.", "when": "1841"},
    {"text": "They drowned within sight of my lamp, and I could do nothing but weep.", "when": "1843"},
    {"question": "Do you trust the harbour master?", "answer": "He sold my old lamp. I spit on his name."},
)
DIALOGUE: tuple[Mapping[str, str], ...] = (
    {"scene": "friday", "speaker": "Tom", "text": "Flour, letters, and a parcel from Leith."},
    {"scene": "friday", "speaker": "Ada Quill", "text": "A parcel! Give it here, I have waited a month."},
    {"scene": "friday", "speaker": "Tom", "text": "It is heavy."},
    {"scene": "calm", "speaker": "Ada Quill", "text": "Not a breath of wind. I do not like it."},
)
CHRONICLE = """triples:
- {subject: Ada Quill, relation: profession, object: keeper of the light, kind: experience, core: true}
- {subject: Ada Quill, relation: values, object: a light that never fails, kind: value, core: true}
- {subject: Ada Quill, relation: values, object: silence, kind: value}
- {subject: Ada Quill, relation: likes, object: storms, kind: preference}
- {subject: Ada Quill, relation: fears, object: a calm sea, kind: trait}
"""


def write_role(
    library: Path,
    role: str = "ada",
    *,
    name: str = "Ada Quill",
    profile: str = "A keeper of few words.",
    persona: str = LIFE,
    memories: Iterable[Mapping[str, Any]] = MEMORIES,
    dialogue: Iterable[Mapping[str, Any]] = DIALOGUE,
    chronicle: str = CHRONICLE,
) -> Path:
    """Put a role into a library, and return its folder: all of Ada, or what is given in place of a part of her.

    Args:
        library: the folder of the library.
        role: the id of the role, the name of its folder.
        name: by which it goes.
        profile: who it is, in a sentence.
        persona: the Markdown of its one document.
        memories: the lines of `memories.jsonl`.
        dialogue: the lines of its one file of scenes.
        chronicle: the YAML of its identity; empty: none.

    Raises:
        RoleError: the library has this role already.
    """
    folder = Library(library).create(role, RoleCard(name=name, language="en", profile=profile)).root
    (folder / "persona" / "life.md").write_text(persona, encoding="utf-8")
    (folder / "dialogues").mkdir()
    write_lines(folder / "memories.jsonl", memories)
    write_lines(folder / "dialogues" / "scenes.jsonl", dialogue)
    if chronicle:
        (folder / "chronicle.yaml").write_text(chronicle, encoding="utf-8")
    return folder


def write_lines(file: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a file of JSON lines."""
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
