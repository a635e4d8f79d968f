"""Dialogues D from the lines of a role's files (DRMR 3.1): scenes, and the stretches of long ones."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dramaturg.nodes.speakers import Speakers, letters_of
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.index.dialogues import SpokenLine, StoredDialogue
from dramaturg.stores.role_files import DialogueLine, RoleCard


class Placed(NamedTuple):
    """A line, and its number in its file."""

    number: int
    line: SpokenLine


def dialogues_of(files: Mapping[str, Mapping[int, DialogueLine]], card: RoleCard, longest: int) -> list[StoredDialogue]:
    """Return the dialogues in the order of the files; one that is there twice is one.

    A scene is one dialogue, or several of much the same length where it is longer than `longest` characters. Lines
    without a word, and lines that the role does not remember, are left out.

    Args:
        files: the lines of each file, by its name and their numbers.
        card: whose dialogues; under its aliases the role is the same speaker.
        longest: characters of a dialogue.
    """
    speakers, found = Speakers((card.name, *card.aliases)), dict[str, StoredDialogue]()
    for name, lines in files.items():
        for scene, placed in scenes_of(lines, speakers).items():
            for part in stretches(placed, longest):
                dialogue = stored(scene, name, part)
                found.setdefault(dialogue.id, dialogue)
    return list(found.values())


def scenes_of(lines: Mapping[int, DialogueLine], speakers: Speakers) -> dict[str, list[Placed]]:
    """The lines of each scene of a file: scenes may take turns in it."""
    scenes: dict[str, list[Placed]] = {}
    for number, line in lines.items():
        text = " ".join(line.text.split())
        if line.memory and letters_of(text) and line.speaker.strip():
            spoken = SpokenLine(speaker=speakers.name(line.speaker), text=text)
            scenes.setdefault(line.scene, []).append(Placed(number, spoken))
    return scenes


def stretches(placed: Sequence[Placed], longest: int) -> Iterator[list[Placed]]:
    """A scene in parts of much the same length, none longer than it may be unless a single line is."""
    left = sum(map(length, placed))
    share = left / -(-left // longest)
    part, done = list[Placed](), 0
    for one in placed:
        if part and (done + length(one) > longest or done + length(one) / 2 > share):
            yield part
            left -= done
            share, part, done = left / -(-left // longest), [], 0
        part.append(one)
        done += length(one)
    yield part


def length(placed: Placed) -> int:
    """Characters of a line with its speaker."""
    return len(placed.line.speaker) + len(placed.line.text) + len(": \n")


def stored(scene: str, file: str, part: Sequence[Placed]) -> StoredDialogue:
    """A dialogue; its id is the hash of what is said in it and where, so that a new version knows it again."""
    lines = [one.line for one in part]
    identity = sha256(canonical([scene, [[line.speaker, line.text] for line in lines]]))[:12]
    first, last = part[0].number, part[-1].number
    source = f"{file}:{first}" + (f"–{last}" if last > first else "")
    return StoredDialogue(id=identity, scene=scene, source=source, lines=tuple(lines))
