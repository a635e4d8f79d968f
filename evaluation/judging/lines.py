"""Who is speaking? Lines of dialogues and plays without their speaker, one of four (as in PersonaEval, 2025).

Four speakers and a line of each make four questions with the same four names in the same order, so that each name, and
each place, is right once: who goes by names, by places, or by how much somebody speaks is right in a quarter. What each
of the four says elsewhere is shown from other scenes than the line's; nobody has to be famous.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from dramaturg.models.chat import ChatModel
from dramaturg.models.questions import choose
from dramaturg.prompts import load
from dramaturg.stores.documents.forms import DialogueLine

SPEAKER = "speaker"
"""The name of this test among the metrics."""
PROMPT = "name_speaker"
AMONG = 4
SAMPLES, BEFORE = 2, 2
"""Lines of each speaker from elsewhere, and lines that are shown before the one in question."""
SHORTEST = 30
"""Bytes of a line in UTF-8: a shorter one may be anybody's."""
MOST = 24
"""Questions of one role."""


class HiddenSpeaker(NamedTuple):
    """A line, and the four of whom one speaks it."""

    id: str
    source: str
    """The role whose dialogues it is from."""
    group: str
    """The four questions with the same names."""
    language: str
    line: str
    before: tuple[str, ...]
    names: tuple[str, ...]
    elsewhere: tuple[tuple[str, ...], ...]
    """Of each name."""
    speaker: int
    """The place of the right name, from 0."""
    prompt: str = ""
    """How a dataset asks, where it does; the rest is empty then."""


def hidden_speakers(
    lines: Sequence[DialogueLine], source: str, language: str, limit: int = MOST
) -> list[HiddenSpeaker]:
    """Make questions of dialogues, at most `limit` of them, always four together; the same lines make the same.

    Who speaks in one scene alone is in none of them: what is shown of the others would tell the scenes apart.
    """
    waiting, samples = usable(lines)
    found: list[HiddenSpeaker] = []
    asked: Counter[str] = Counter()
    while len(found) + AMONG <= limit:
        left = [name for name in waiting if waiting[name]]
        most = sorted(left, key=lambda name: (asked[name], -len(waiting[name])))[:AMONG]
        if len(most) < AMONG:
            break
        asked.update(most)
        turn = len(found) // AMONG % AMONG
        names = tuple(sorted(most)[turn:] + sorted(most)[:turn])
        for place, name in enumerate(names):
            at = waiting[name].pop(0)
            said = [one.text for one in lines[max(0, at - BEFORE) : at] if one.scene == lines[at].scene]
            elsewhere = tuple(samples[one] for one in names)
            group = f"{source}/{len(found) // AMONG}" if place == 0 else found[-1].group
            found.append(
                HiddenSpeaker(
                    f"{source}/{at}", source, group, language, lines[at].text, tuple(said), names, elsewhere, place
                )
            )
    return found


def usable(lines: Sequence[DialogueLine]) -> tuple[dict[str, list[int]], dict[str, tuple[str, ...]]]:
    """Of each speaker the lines to ask for, by number, and what is shown, from scenes that are not asked for."""
    by_speaker: dict[str, dict[str, list[int]]] = {}
    for at, one in enumerate(lines):
        if len(one.text.encode()) >= SHORTEST:
            by_speaker.setdefault(one.speaker, {}).setdefault(one.scene, []).append(at)
    waiting, samples = dict[str, list[int]](), dict[str, tuple[str, ...]]()
    for speaker, scenes in by_speaker.items():
        shown: list[int] = []
        for scene in [*scenes][:-1]:  # one is left to be asked for
            if len(shown) < SAMPLES:
                shown += scenes.pop(scene)
        if len(shown) >= SAMPLES:
            waiting[speaker] = [*chain.from_iterable(scenes.values())]
            samples[speaker] = tuple(lines[at].text for at in shown[:SAMPLES])
    return waiting, samples


@cache
def play() -> tuple[DialogueLine, ...]:
    """The play in Korean that comes with the package, as no example role has dialogues in it."""
    text = (files("dramaturg.evaluation.judging") / "plays" / "ko.jsonl").read_text(encoding="utf-8")
    return tuple(DialogueLine.model_validate_json(line) for line in text.splitlines())


async def named(chat: ChatModel, one: HiddenSpeaker) -> int:
    """Ask who speaks a line; the place of the name that was chosen, from 0."""
    data = {"elsewhere": "\n\n".join(shown(one)), "dialogue": "\n".join(one.before), "line": one.line}
    return one.names.index(await choose(chat, load(PROMPT, one.language).messages(data=data), one.names))


def shown(one: HiddenSpeaker) -> Iterator[str]:
    """What each of the four says elsewhere."""
    for name, texts in zip(one.names, one.elsewhere, strict=True):
        yield "\n".join(f"{name}: {' '.join(text.split())}" for text in texts)
