"""The JSON of Facebook Messenger and of Instagram (`message_1.json`), and of Messenger's encrypted chats."""

import re
from typing import Any

from dramaturg.stores.texts.form import Messages
from dramaturg.stores.texts.messengers.gathering import IN_UTC, Gathered, json_of, moment, objects, within, words

AGAIN = "download your messages again, as JSON"
_KEYS = re.compile(r'"sender_name":|"senderName":|"participants":\s*\[\s*(?:\{\s*"name":|"[^"]{0,200}"[,\s\]])')
_MEDIA = ("photos", "videos", "audio_files", "files", "gifs", "sticker", "media")
_BY_APP = re.compile(r"(?:Reacted .{1,20} to your message|Liked a message|.{1,100} sent an attachment\.) ?")


def looks_like_messenger(text: str) -> bool:
    """Whether a text begins as such a file does."""
    return text.lstrip().startswith("{") and bool(_KEYS.search(text))


def read_messenger(text: str) -> Messages:
    """Return what the people of a chat wrote, the first message first.

    Raises:
        Unreadable: it is no such file, or nobody wrote anything.
    """
    found = objects(within(json_of(text), "messages"))
    gathered = Gathered()
    for number, one in sorted(enumerate(found, start=1), key=lambda pair: _time(pair[1])):
        said = _mended(words(one.get("content")) or words(one.get("text")))
        media = [one[name] for name in _MEDIA if one.get(name)]
        gathered.leave("media", sum(len(some) if isinstance(some, list) else 1 for some in media))
        if one.get("is_unsent") or one.get("isUnsent"):
            gathered.leave("deleted message")
        elif "call_duration" in one or one.get("type") == "Call":
            gathered.leave("call")
        elif one.get("type") in ("Subscribe", "Unsubscribe") or _BY_APP.fullmatch(said):
            gathered.leave("system line")
        elif said or not (media or one.get("share")):
            name = _mended(words(one.get("sender_name")) or words(one.get("senderName")))
            gathered.say(name or "Deleted account", said, f"message {number}", moment(_time(one)))
    return gathered.messages(IN_UTC, otherwise=AGAIN)


def _time(one: dict[str, Any]) -> float:
    time = one.get("timestamp_ms", one.get("timestamp"))
    return time if isinstance(time, int | float) else 0


def _mended(text: str) -> str:
    """A text whose bytes of UTF-8 were written as a letter each, which these files do."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text
