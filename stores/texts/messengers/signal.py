"""Exports of Signal: its own (`main.jsonl`), and those of signal-export (`chat.md` and `data.json`)."""

import json
import re
from collections.abc import Iterator
from itertools import dropwhile
from typing import Any

from dramaturg.stores.texts.form import Messages, Unreadable
from dramaturg.stores.texts.messengers.gathering import (
    IN_UTC,
    OWNER,
    OWNER_IS,
    Gathered,
    json_of,
    moment,
    objects,
    within,
    words,
    written_time,
)

AGAIN = "export the chat again"
_HEAD = re.compile(r"\[(\d{4}-\d\d-\d\d),? (\d\d:\d\d(?::\d\d)?)\] ([^:\n]{1,100}): ?(.*)")
_OWN = re.compile(r'^\{"(?:account|recipient|chatItem)":\s*\{', re.MULTILINE)
_LINES = re.compile(r'\{"date": ?"[^"]{10,40}", ?"sender": ?"(?:[^"\\]|\\.){0,200}", ?"body":')
_REACTIONS = re.compile(r"\n\(- [^\n]* -\) *$")
_ATTACHED = re.compile(r"!?\[[^\[\]\n]{0,200}\]\(\.{1,2}/[^()\n]{1,300}\) *")
_STICKER = re.compile(r"\n?\(\( [^\n]{0,20} \)\) *$")
_DELETED = "(This message was deleted)"


def looks_like_signal(text: str) -> bool:
    """Whether a text begins as one of the three forms does."""
    return bool(_OWN.search(text) or _LINES.match(text)) or any(
        found[3] == OWNER for found in map(_HEAD.match, text.split("\n")) if found
    )


def read_signal(text: str) -> Messages:
    """Return what the people of a chat wrote, or of every chat.

    Raises:
        Unreadable: it is no such export, or nobody wrote anything.
    """
    if _OWN.search(text):
        return _read_own(text)
    return _read_lines(text) if _LINES.match(text) else _read_markdown(text)


def _values(text: str) -> Iterator[Any]:
    """The JSON values of the lines, all bounded as one; the last line of a file that was cut off is left."""
    lines = [line for line in text.split("\n") if line.strip()]
    if lines:
        try:
            json.loads(lines[-1])
        except (ValueError, RecursionError):
            lines.pop()
    yield from json_of(f"[{','.join(lines)}]")


def _read_own(text: str) -> Messages:
    gathered = Gathered()
    people, chats, items = dict[str, str](), dict[str, str](), list[dict[str, Any]]()
    for value in _values(text):
        if isinstance(one := within(value, "recipient"), dict):
            people[str(one.get("id"))] = _named(one)
        elif isinstance(one := within(value, "chat"), dict):
            chats[str(one.get("id"))] = str(one.get("recipientId"))
        elif isinstance(one := within(value, "chatItem"), dict):
            items.append(one)
    titles = {key: people.get(recipient, "") for key, recipient in chats.items()}
    places = {chat: at for at, chat in enumerate(dict.fromkeys(str(one.get("chatId")) for one in items))}
    items.sort(key=lambda one: places[str(one.get("chatId"))])
    for number, one in enumerate(items, start=1):
        message = one.get("standardMessage")
        if not isinstance(message, dict):
            kind = "deleted message" if "remoteDeletedMessage" in one else "media" if "stickerMessage" in one else None
            gathered.leave(kind or "system line")  # type: ignore[arg-type]
            continue
        media, said = objects(message.get("attachments")), words(within(message, "text", "body"))
        gathered.leave("media", len(media))
        if said or not media:
            chat = titles.get(str(one.get("chatId")), "") if len(places) > 1 else ""
            speaker = OWNER if "outgoing" in one else people.get(str(one.get("authorId"))) or "Unknown"
            gathered.say(speaker, said, f"message {number}", moment(one.get("dateSent")), chat)
    return gathered.messages(OWNER_IS, IN_UTC, otherwise=AGAIN)


def _named(one: dict[str, Any]) -> str:
    """The name of a person or of a group."""
    if "self" in one:
        return OWNER
    for given, family in (
        (("contact", "nickname", "given"), ("contact", "nickname", "family")),
        (("contact", "systemGivenName"), ("contact", "systemFamilyName")),
        (("contact", "profileGivenName"), ("contact", "profileFamilyName")),
    ):
        if name := f"{words(within(one, *given))} {words(within(one, *family))}".strip():
            return name
    return words(within(one, "group", "snapshot", "title", "title")) or str(within(one, "contact", "e164") or "")


def _read_lines(text: str) -> Messages:
    gathered = Gathered()
    for number, one in enumerate(filter(lambda value: isinstance(value, dict), _values(text)), start=1):
        media = objects(one.get("attachments"))
        gathered.leave("media", len(media) + bool(one.get("sticker")))
        if one.get("deleted") or one.get("call"):
            gathered.leave("deleted message" if one.get("deleted") else "call")
        elif (said := words(one.get("body")).strip()) or not (media or one.get("sticker")):
            gathered.say(words(one.get("sender")), said, f"message {number}", written_time(one.get("date")))
    return gathered.messages(OWNER_IS, otherwise=AGAIN)


def _read_markdown(text: str) -> Messages:
    gathered = Gathered()
    entries = list[tuple[int, re.Match[str], list[str]]]()
    for number, line in enumerate(text.split("\n"), start=1):
        if found := _HEAD.match(line):
            entries.append((number, found, [found[4]]))
        elif entries:
            entries[-1][2].append(line)
    for number, found, lines in entries:
        said, media = _ATTACHED.subn("", _REACTIONS.sub("", "\n".join(_unquoted(lines)).rstrip()))
        said, stickers = _STICKER.subn("", said)
        gathered.leave("media", media + stickers)
        said = "\n".join(line.rstrip() for line in said.split("\n")).strip()
        if said == _DELETED:
            gathered.leave("deleted message")
        elif said or not (media or stickers):
            gathered.say(found[3], said, f"line {number}", written_time(f"{found[1]} {found[2]}"))
    if not entries:
        raise Unreadable(f"has no message of Signal: {AGAIN}")
    return gathered.messages(OWNER_IS, otherwise=AGAIN)


def _unquoted(lines: list[str]) -> list[str]:
    """The lines of a message without those of another that it replies to, which stand first, behind an empty one."""
    if lines[0].strip() or not any(line.startswith("> ") for line in lines[1:3]):
        return lines
    return list(dropwhile(lambda line: not line.strip() or line.startswith("> "), lines))
