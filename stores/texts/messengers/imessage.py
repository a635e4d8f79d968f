"""The text that imessage-exporter writes of a chat in Messages: a time, a sender, and what was written."""

import re
from collections.abc import Iterator

from dramaturg.stores.texts.form import Messages
from dramaturg.stores.texts.messengers.gathering import OWNER_IS, Gathered
from dramaturg.stores.texts.messengers.times import Stamp, order_of, stamp, timed

_HEAD = re.compile(r"([A-Z][a-z]{2} \d\d, \d{4} {1,2}\d{1,2}:\d\d:\d\d [AP]M)(?: \([^\n]{0,200}\))?")
_FILE = re.compile(r"(?:/|~/|attachments/)[^\n]{0,500}\.\w{2,5}")
_REACTIONS = re.compile(r"^(?:Tapbacks|Reactions):$", re.MULTILINE)
_UNSENT = re.compile(r"[^\n]{0,100}unsent (?:this|a) message(?: part)?[^\n]{0,100}")


def looks_like_imessage(text: str) -> bool:
    """Whether a text begins as such an export does."""
    return bool(_HEAD.fullmatch(text.lstrip().partition("\n")[0].rstrip()))


def read_imessage(text: str) -> Messages:
    """Return what the people of a chat wrote.

    Raises:
        Unreadable: nobody wrote anything.
    """
    gathered = Gathered()
    entries = list(_entries(text.split("\n")))
    order, _ = order_of([time for _, time, _ in entries])
    for number, time, (name, *lines) in entries:
        if not name:
            gathered.leave("system line")
            continue
        said = _REACTIONS.split("\n".join(lines), maxsplit=1)[0].strip("\n")
        kept = [line for line in said.split("\n") if not _FILE.fullmatch(line)]
        files = said.count("\n") + 1 - len(kept)
        gathered.leave("media", files)
        if _UNSENT.fullmatch(said):
            gathered.leave("deleted message")
        elif (said := "\n".join(kept).strip("\n")) or not files:
            gathered.say(name, said, f"line {number}", timed(time, order))
    return gathered.messages(OWNER_IS, otherwise="export the chat again, as text")


def _entries(lines: list[str]) -> Iterator[tuple[int, Stamp, list[str]]]:
    """Line, time, and then sender and lines of each message; replies that are shown below another are indented."""
    entry: tuple[int, Stamp, list[str]] | None = None
    for number, line in enumerate(lines, start=1):
        if (found := _HEAD.fullmatch(line.rstrip())) and (time := stamp(found[1])):
            if entry and entry[2]:
                yield entry
            entry = (number, time, [])
        elif entry:
            entry[2].append(line)
    if entry and entry[2]:
        yield entry
