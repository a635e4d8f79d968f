"""DiscordChatExporter's exports of a channel: JSON, pages, plain text and CSV."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

from dramaturg.stores.texts.form import Messages, Unreadable
from dramaturg.stores.texts.messengers.gathering import (
    Gathered,
    json_of,
    last_names,
    objects,
    within,
    words,
    written_time,
)
from dramaturg.stores.texts.messengers.pages import discord_page
from dramaturg.stores.texts.messengers.times import Stamp, order_of, stamp, timed

AGAIN = "export the channel again, as JSON"
_KEYS = re.compile(r'"guild":\s*\{.{0,2000}?"channel":\s*\{', re.DOTALL)
_PAGE = re.compile(r'<(?:div|span) [^<>]{0,80}class=(?:"[^"<>]{0,40})?chatlog|\.chatlog__message')
_TOP = re.compile(r"={20,}\n(?:Guild|Server): .*\nChannel: ")
_COLUMNS = re.compile(r"\W?AuthorID\W{1,3}Author\W{1,3}Date\W{1,3}Content\b")
_ROW = ("AuthorID", "Author", "Date", "Content", "Attachments")
_HEAD = re.compile(r"\[([^\[\]\n]{8,40})\] ([^\n]{1,120})")
_PART = re.compile(r"^\{(?:Attachments|Embed|Stickers|Reactions|Forwarded Message)\}$", re.MULTILINE)
_WORDS = ("Default", "Reply", "0", "19")
"""Kinds of messages in which somebody writes."""


def looks_like_discord(text: str) -> bool:
    """Whether a text begins as one of the four forms does."""
    if text.lstrip().startswith("<"):
        return bool(_PAGE.search(text))
    return bool(
        (text.lstrip().startswith("{") and _KEYS.search(text)) or _TOP.match(text.lstrip()) or _COLUMNS.match(text)
    )


def read_discord(text: str) -> Messages:
    """Return what the people of a channel wrote, each under the name that they had last.

    Raises:
        Unreadable: it is no such export, or nobody wrote anything.
    """
    if text.lstrip().startswith("{"):
        return _read_json(text)
    if text.lstrip().startswith("<"):
        return discord_page(text)
    return _read_rows(text) if _COLUMNS.match(text) else _read_plain(text)


def _read_json(text: str) -> Messages:
    gathered = Gathered()
    found = objects(within(json_of(text), "messages"))
    names = last_names((_author(one), _name(one)) for one in found)
    for number, one in enumerate(found, start=1):
        said = words(one.get("content"))
        if str(one.get("type", "Default")) not in _WORDS:
            gathered.leave("call" if one.get("type") == "Call" else "system line")
            continue
        media = objects(one.get("attachments")) + objects(one.get("stickers"))
        gathered.leave("media", len(media))
        if "forwardedMessage" in one:
            gathered.leave("forwarded message")
        if said or not (media or "forwardedMessage" in one):
            speaker = names.get(_author(one)) or "Deleted User"
            gathered.say(speaker, said, f"message {number}", written_time(one.get("timestamp")))
    return gathered.messages(otherwise=AGAIN)


def _author(one: dict[str, Any]) -> str:
    return str(within(one, "author", "id") or within(one, "author", "name") or "")


def _name(one: dict[str, Any]) -> str:
    return words(within(one, "author", "nickname")) or words(within(one, "author", "name"))


def _read_rows(text: str) -> Messages:
    gathered = Gathered()
    try:
        rows = [{key: row.get(key) or "" for key in _ROW} for row in csv.DictReader(io.StringIO(text))]
    except csv.Error as error:
        raise Unreadable(f"is no whole CSV ({error}): {AGAIN}") from error
    times = [stamp(row["Date"]) for row in rows]
    order, remark = order_of([time for time in times if time])
    names = last_names((row["AuthorID"], row["Author"]) for row in rows)
    for number, (row, time) in enumerate(zip(rows, times, strict=True), start=1):
        media = [name for name in row["Attachments"].split(",") if name.strip()]
        gathered.leave("media", len(media))
        if row["Content"] or not media:
            when = timed(time, order) if time else written_time(row["Date"])
            gathered.say(names.get(row["AuthorID"], row["Author"]), row["Content"], f"message {number}", when)
    return gathered.messages(remark, otherwise=AGAIN)


def _read_plain(text: str) -> Messages:
    gathered = Gathered()
    entries = list(_entries(text.split("\n")))
    order, remark = order_of([time for _, time, _, _ in entries])
    for line, time, name, lines in entries:
        said, *parts = _PART.split("\n".join(lines))
        if parts:
            gathered.leave("media", max(1, sum(part.count("http") for part in parts[:1])))
        if said.strip() or not parts:
            gathered.say(name.removesuffix(" (pinned)"), said.strip("\n"), f"line {line}", timed(time, order))
    return gathered.messages(remark, otherwise=AGAIN)


def _entries(lines: list[str]) -> Iterator[tuple[int, Stamp, str, list[str]]]:
    """Line, time, sender and lines of each message: it begins behind an empty line."""
    entry: tuple[int, Stamp, str, list[str]] | None = None
    before = ""
    for number, line in enumerate(lines, start=1):
        found = None if before.strip() else _HEAD.fullmatch(line)
        time = stamp(found[1]) if found else None
        rule = line.startswith("=" * 20) and not before.strip()  # above what the end says
        if entry and (time or rule):
            yield entry
            entry = None
        if found and time:
            entry = (number, time, found[2], [])
        elif entry:
            entry[3].append(line)
        before = line
    if entry:
        yield entry
