"""A day of a channel in Slack's export (`channel/2023-12-31.json`)."""

import html
import re
from collections.abc import Mapping
from typing import Any

from dramaturg.stores.texts.form import Messages
from dramaturg.stores.texts.messengers.gathering import (
    IN_UTC,
    Gathered,
    json_of,
    last_names,
    moment,
    objects,
    within,
    words,
)

_KEYS = re.compile(r'"ts":\s*"\d{9,11}\.\d+"')
_LINK = re.compile(r"<(?:([@#!])([A-Za-z0-9]{1,30})(?:\|([^<>\n]{0,200}))?|([^<>|\s]{1,2000})(?:\|([^<>\n]{0,500}))?)>")
_WRITTEN = {None, "", "bot_message", "thread_broadcast", "file_share", "me_message"}


def looks_like_slack(text: str) -> bool:
    """Whether a text begins as such a file does."""
    return text.lstrip().startswith("[") and bool(_KEYS.search(text))


def read_slack(text: str) -> Messages:
    """Return what the people of a channel wrote.

    Raises:
        Unreadable: it is no such file, or nobody wrote anything.
    """
    found = objects(json_of(text))
    names = last_names((words(one.get("user")), _name(one)) for one in found)
    gathered = Gathered()
    for number, one in enumerate(found, start=1):
        if one.get("type") != "message" or one.get("subtype") not in _WRITTEN:
            gathered.leave("system line")
            continue
        files = objects(one.get("files"))
        gathered.leave("media", len(files))
        said = html.unescape(_LINK.sub(lambda link: _shown(link, names), words(one.get("text"))))
        if said or not files:
            user = words(one.get("user"))
            speaker = names.get(user) or words(one.get("username")) or user or "Unknown"
            gathered.say(speaker, said, f"message {number}", moment(one.get("ts"), a_second=1))
    return gathered.messages(IN_UTC, otherwise="export the channel again")


def _name(one: dict[str, Any]) -> str:
    keys = ("display_name", "real_name", "name")
    return next((name for key in keys if (name := words(within(one, "user_profile", key)))), "")


def _shown(link: re.Match[str], names: Mapping[str, str]) -> str:
    """What Slack shows of a link, of a person or a channel that is named."""
    sign, key, label, address, title = link.groups()
    if sign:
        return f"{'@' if sign == '!' else sign}{label or names.get(key, key)}"
    return title or address
