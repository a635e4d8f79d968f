"""The XML of "SMS Backup & Restore" on Android: all conversations of a phone in one file."""

import re
from collections.abc import Mapping
from xml.parsers import expat

from dramaturg.stores.texts.form import Messages, Unreadable
from dramaturg.stores.texts.messengers.gathering import IN_UTC, OWNER, OWNER_IS, Gathered, moment

AGAIN = "make the backup again, as XML and with its messages"
_ROOT = re.compile(r"<smses\b|<(?:sms|mms) [^>]{0,400}\bdate=")
_HALVES = re.compile(r"&#(5[56]\d{3});&#(5[67]\d{3});")
_SENT = {"sms": ("type", "2"), "mms": ("msg_box", "2")}
_UNSAID = {"3", "4", "5", "6"}
"""Boxes of drafts and of what was not sent."""


def looks_like_sms(text: str) -> bool:
    """Whether a text begins as such a backup does."""
    return text.lstrip().startswith("<") and bool(_ROOT.search(text))


def read_sms(text: str) -> Messages:
    """Return what was sent and received, a chat a person or group, each in its order.

    Raises:
        Unreadable: it is no whole XML, brings declarations of its own, or has no message.
    """
    backup = _Backup()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refused
    parser.StartElementHandler = backup.begin
    parser.EndElementHandler = backup.end
    try:
        parser.Parse(_HALVES.sub(_letter, text).encode(), True)
    except expat.ExpatError as error:
        raise Unreadable(f"is no whole XML ({error}): {AGAIN}") from error
    gathered = backup.gathered
    # A chat is read to its end before the next one: a file has all of them mixed, by time.
    places = {chat: at for at, chat in enumerate(dict.fromkeys(one.chat for one in gathered.said))}
    gathered.said.sort(key=lambda one: places[one.chat])
    return gathered.messages(OWNER_IS, IN_UTC, otherwise=AGAIN)


class _Backup:
    """The messages of a backup, as its tags come by."""

    def __init__(self) -> None:
        self.gathered = Gathered()
        self.number = 0
        self.message: Mapping[str, str] = {}
        self.texts = list[str]()
        self.sender = ""

    def begin(self, tag: str, values: dict[str, str]) -> None:
        if tag in _SENT:
            self.number += 1
            self.message, self.texts, self.sender = values, [], ""
            if tag == "sms":
                self.texts.append(values.get("body", ""))
        elif tag == "part":
            if values.get("ct") == "text/plain":
                self.texts.append(values.get("text", ""))
            elif values.get("ct") != "application/smil":
                self.gathered.leave("media")
        elif tag == "addr" and values.get("type") == "137":
            self.sender = values.get("address", "")

    def end(self, tag: str) -> None:
        if tag not in _SENT:
            return
        values, (box, sent) = self.message, _SENT[tag]
        chat = next((name for key in ("contact_name", "address") if _known(name := values.get(key, ""))), "Unknown")
        if values.get(box) in _UNSAID:
            self.gathered.leave("empty message")
            return
        in_group = "~" in values.get("address", "")
        speaker = OWNER if values.get(box) == sent else self.sender if in_group and self.sender else chat
        said = "\n".join(text for text in self.texts if _known(text))
        if said or tag == "sms":
            self.gathered.say(speaker, said, f"message {self.number}", moment(values.get("date")), chat)


def _known(value: str) -> bool:
    return value.strip() not in ("", "null", "(Unknown)")


def _letter(found: re.Match[str]) -> str:
    """A letter that the backup wrote as two halves, which are no letters in XML."""
    high, low = int(found[1]), int(found[2])
    whole = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
    return f"&#{whole};" if 0xD800 <= high < 0xDC00 <= low < 0xE000 else found[0]


def _refused(*_: object) -> None:
    raise Unreadable(f"brings declarations of its own, which no backup has: {AGAIN}")
