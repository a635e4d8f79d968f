"""Telegram Desktop's export: in JSON (`result.json`) of one chat or of all of an account, or as pages of a chat."""

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
from dramaturg.stores.texts.messengers.pages import telegram_page

_CHAT = re.compile(
    r'"(?:from_id|date_unixtime)"|"type":\s*"(?:personal_chat|(?:private|public)_\w+|bot_chat|saved_messages)"'
)
_ALL = re.compile(r'"about":\s*"[^"]{0,200}Telegram|"personal_information":\s*\{')
_PAGE = re.compile(r'class="message (?:default|service)\b')
_MEDIA = ("photo", "file", "media_type", "sticker_emoji")


def looks_like_telegram(text: str) -> bool:
    """Whether a text begins as `result.json` or `messages.html` does."""
    if text.lstrip().startswith("<"):
        return bool(_PAGE.search(text))
    return text.lstrip().startswith("{") and bool(_CHAT.search(text) or _ALL.search(text))


def read_telegram(text: str) -> Messages:
    """Return what the people of each chat wrote; what somebody forwards are another's words and is left out.

    Raises:
        Unreadable: it is no such export, or nobody wrote anything.
    """
    if text.lstrip().startswith("<"):
        return telegram_page(text)
    value = json_of(text)
    chats = objects(within(value, "chats", "list")) + objects(within(value, "left_chats", "list"))
    if not chats and isinstance(value, dict) and "messages" in value:
        chats = [value]
    if not chats:
        raise Unreadable("has no chat of Telegram: export the chat again, as JSON")
    gathered = Gathered()
    names = last_names((_id(one), words(one.get("from"))) for chat in chats for one in objects(chat.get("messages")))
    for chat in chats:
        title = words(chat.get("name")) if len(chats) > 1 else ""
        for number, one in enumerate(objects(chat.get("messages")), start=1):
            _add(gathered, one, f"message {one.get('id', number)}", names.get(_id(one)) or _nameless(one, chat), title)
    return gathered.messages(otherwise="export the chat again, as JSON and with its messages")


def _add(gathered: Gathered, one: dict[str, Any], at: str, speaker: str, chat: str) -> None:
    if one.get("type") != "message":
        gathered.leave("call" if one.get("action") in ("phone_call", "group_call") else "system line")
    elif one.get("forwarded_from") or one.get("saved_from"):
        gathered.leave("forwarded message")
    else:
        said = "".join(_parts(one.get("text")))
        if any(one.get(name) for name in _MEDIA):
            gathered.leave("media")
        elif "poll" in one:
            gathered.leave("poll")
        elif "location_information" in one:
            gathered.leave("place")
        elif "contact_information" in one:
            gathered.leave("contact")
        elif not said.strip():
            gathered.leave("empty message")
        if said.strip():
            gathered.say(speaker, said, at, written_time(one.get("date")), chat)


def _parts(text: Any) -> Iterator[str]:
    """The text of a message: one, or a list of texts and of parts with a form."""
    for part in text if isinstance(text, list) else [text]:
        yield words(part) or words(within(part, "text"))


def _id(one: dict[str, Any]) -> str:
    return str(one.get("from_id") or one.get("from") or "")


def _nameless(one: dict[str, Any], chat: dict[str, Any]) -> str:
    """The name of one who has none any more, or of a channel that speaks itself."""
    key = _id(one)
    return f"Deleted account {key.removeprefix('user')}" if key.startswith("user") else words(chat.get("name")) or key
