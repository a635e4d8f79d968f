"""The pages (HTML) that Telegram Desktop and DiscordChatExporter write unless they are told otherwise.

Both are made by programs, which escape what people wrote: each sign that looks like a tag is one, and the classes of
the tags say what stands in them. Nothing of a page is run or fetched.
"""

import html
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from dramaturg.stores.texts.form import Messages, Unreadable
from dramaturg.stores.texts.messengers.gathering import Gathered
from dramaturg.stores.texts.messengers.times import order_of, stamp, timed

AGAIN = "export the chat again, as JSON"
DEPTH = 200
"""Of tags in one another."""
_TOKEN = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})([^<>]*)>|([^<]+)|<")
_ATTRIBUTE = re.compile(r'([a-z-]{1,30})=(?:"([^"]*)"|([^\s"]+))')
_NEVER_CLOSED = frozenset({"br", "img", "meta", "link", "input", "hr", "source"})
_ZONE = re.compile(r" (?:UTC|GMT)[+-]\d\d:?\d\d$")
_IN_TELEGRAM = ("message", "date", "from_name", "text", "media_wrap", "forwarded")
_IN_DISCORD = (
    "chatlog__message-container", "chatlog__author", "chatlog__timestamp", "chatlog__short-timestamp",
    "chatlog__content", "chatlog__attachment", "chatlog__sticker", "chatlog__system-notification-content",
    "chatlog__embed", "chatlog__reply", "chatlog__edited-timestamp",
)  # fmt: skip


class _Part(NamedTuple):
    """An element of a class that is looked for: as it begins, and once more with its text as it ends."""

    name: str
    classes: Collection[str]
    title: str
    around: Collection[str]
    """The classes of what it stands in, of those that are looked for."""
    text: str | None = None


class _Open(NamedTuple):
    """An element that has not ended."""

    tag: str
    part: _Part | None
    said: list[str]


class _Written(NamedTuple):
    """What stands in one message."""

    speaker: str
    text: str
    at: str
    time: str


def telegram_page(text: str) -> Messages:
    """Return what the people of a page wrote; a message without a name is by who wrote the one before.

    Raises:
        Unreadable: nobody wrote anything.
    """
    gathered = Gathered()
    written = list[_Written]()
    speaker, time, number = "", "", 0
    for part in _parts(text, _IN_TELEGRAM):
        if part.name == "message" and part.text is None:
            number, time = number + 1, ""
            gathered.leave("system line", times="service" in part.classes)
        elif part.name == "forwarded" and part.text is None:
            gathered.leave("forwarded message")
        elif "forwarded" in part.around:
            continue
        elif part.name == "media_wrap" and part.text is None:
            gathered.leave("media")
        elif part.name == "date":
            time = time or _ZONE.sub("", part.title)
        elif part.name == "from_name" and part.text:
            speaker = part.text
        elif part.name == "text" and part.text and "media_wrap" not in part.around:
            written.append(_Written(speaker, part.text, f"message {number}", time))
    return _messages(gathered, written)


def discord_page(text: str) -> Messages:
    """Return what the people of a page wrote; a message without a name is by who wrote the one before.

    Raises:
        Unreadable: nobody wrote anything.
    """
    gathered = Gathered()
    written = list[_Written]()
    speaker, time, number = "", "", 0
    for part in _parts(text, _IN_DISCORD):
        name = part.name.removeprefix("chatlog__")
        if {"chatlog__embed", "chatlog__reply"} & set(part.around):
            continue
        if part.text is None:
            number += name == "message-container"
            gathered.leave("media", times=name in ("attachment", "sticker"))
            gathered.leave("system line", times=name == "system-notification-content")
        elif name in ("timestamp", "short-timestamp"):
            time = next((one for one in (part.title, part.text) if stamp(one)), time)
        elif name == "author":
            speaker = part.text
        elif name == "content" and part.text:
            written.append(_Written(speaker, part.text, f"message {number}", time))
    return _messages(gathered, written)


def _messages(gathered: Gathered, written: Sequence[_Written]) -> Messages:
    times = [stamp(one.time) for one in written]
    order, remark = order_of([time for time in times if time])
    for one, time in zip(written, times, strict=True):
        gathered.say(one.speaker, one.text, one.at, time and timed(time, order))
    return gathered.messages(remark, otherwise=AGAIN)


def _parts(text: str, names: Collection[str]) -> Iterator[_Part]:
    """The elements of a page that have one of some classes; a text belongs to the innermost of them."""
    around = list[_Open]()
    for found in _TOKEN.finditer(text):
        closing, tag, attributes, letters = found.groups()
        if closing:
            yield from _closed(around, tag)
        elif tag and tag not in _NEVER_CLOSED:
            values = _values(attributes)
            classes = values.get("class", "").split()
            part = None
            if name := next((one for one in names if one in classes), ""):
                part = _Part(name, classes, values.get("title", ""), [one.part.name for one in around if one.part])
                yield part
            around.append(_Open(tag, part, []))
            if len(around) > DEPTH:
                raise Unreadable(f"has more than {DEPTH} tags in one another: {AGAIN}")
        elif inner := next((one for one in reversed(around) if one.part), None):
            inner.said.append(letters or ("\n" if tag == "br" else _values(attributes or "").get("alt", "")))


def _closed(around: list[_Open], tag: str) -> Iterator[_Part]:
    """End the last element of a tag, and those in it that nobody ended."""
    if not any(one.tag == tag for one in around):
        return
    while around:
        last = around.pop()
        if last.part:
            yield last.part._replace(text=html.unescape("".join(last.said)).strip())
        if last.tag == tag:
            return


def _values(attributes: str) -> dict[str, str]:
    return {name: html.unescape(quoted or bare) for name, quoted, bare in _ATTRIBUTE.findall(attributes)}
