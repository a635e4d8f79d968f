"""What a text is once it is read, whatever its format: its words, and who says what to whom, in scenes.

A reader of a format returns a `SourceText`. Formats of messengers return `Message`s, of which `chat_text` makes one.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

Form: TypeAlias = Literal["prose", "script", "chat", "diary"]
"""`prose`: speakers are to be found beside quotes; `script`: they head their lines, in a play, a screenplay, a
transcript; `chat`: each message has a sender; `diary`: dated entries of one who writes."""
PAUSE = timedelta(hours=3)
"""Silence after which a chat is another scene."""


class Unreadable(ValueError):
    """A text cannot be read; the message goes on after the name of its file, and says what to do."""


class Line(NamedTuple):
    """What one person says at a time."""

    speaker: str
    text: str
    at: str
    """Where it stands in its file, in words: "line 12", "message 8841"."""
    to: str = ""
    """To whom; empty: nobody says."""
    when: str = ""
    """A date, or a date and a time, as ISO 8601 writes it; empty: nobody says."""


class Scene(NamedTuple):
    """What was said in one place at one time."""

    title: str
    """Its heading: a chapter, an act and scene, a day."""
    lines: tuple[Line, ...]
    place: str = ""
    when: str = ""


class SourceText(NamedTuple):
    """A text that was read."""

    name: str
    """Of its file."""
    form: Form
    text: str
    """All of it as Markdown, with headings; of a chat or a script, as `told` writes its scenes."""
    scenes: tuple[Scene, ...] = ()
    """Of a script, a chat or a diary; in prose they are found later."""
    missing: tuple[str, ...] = ()
    """What was not read, a sentence each without its full stop: "2 pictures are left out"."""
    picture: bytes = b""
    """The cover of a book, as PNG; kept in a file of its own."""


class Message(NamedTuple):
    """A message of a messenger."""

    speaker: str
    text: str
    at: str
    when: datetime | None = None
    """As the clock of who exported it said; a file that names only moments is read in UTC."""
    chat: str = ""
    """In which, where one file holds several."""


class Messages(NamedTuple):
    """A chat export as its reader gives it: only what somebody wrote, in its order."""

    said: list[Message]
    missing: list[str]
    """What was left out, with how often: "31 system lines", "12 media"."""


def chat_text(name: str, messages: Messages) -> SourceText:
    """Return a chat as scenes, each a stretch without a long pause; messages in a row of one sender are one line."""
    scenes = tuple(_stretches(messages.said))
    return SourceText(name, "chat", told(scenes), scenes, tuple(messages.missing))


def told(scenes: Iterable[Scene]) -> str:
    """Return scenes as Markdown: a heading each, and a paragraph a line, begun with who speaks."""
    return "\n".join(
        f"## {scene.title}\n\n" + "".join(f"{line.speaker}: {line.text}\n\n" for line in scene.lines)
        for scene in scenes
    )


def _stretches(said: Sequence[Message]) -> Iterator[Scene]:
    found = list[list[Message]]()
    for one in said:
        last = found[-1][-1] if found else None
        if last is None or last.chat != one.chat or (last.when and one.when and one.when - last.when > PAUSE):
            found.append([])
        found[-1].append(one)
    for number, stretch in enumerate(found, start=1):
        when = stretch[0].when.isoformat(" ", "minutes") if stretch[0].when else ""
        yield Scene(when or f"Part {number}", tuple(_joined(stretch)), place=stretch[0].chat, when=when)


def _joined(stretch: Sequence[Message]) -> Iterator[Line]:
    """The lines of a stretch: what one writes without anybody between is said at a time."""
    last: Line | None = None
    for one in stretch:
        if last and last.speaker == one.speaker:
            last = last._replace(text=f"{last.text}\n{one.text}")
            continue
        if last:
            yield last
        last = Line(one.speaker, one.text, one.at, when=one.when.isoformat(" ", "minutes") if one.when else "")
    if last:
        yield last
