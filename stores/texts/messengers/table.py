"""The table of messengers: how an export of each is recognised, and how it is read."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from dramaturg.stores.texts.form import Messages
from dramaturg.stores.texts.messengers.discord import looks_like_discord, read_discord
from dramaturg.stores.texts.messengers.imessage import looks_like_imessage, read_imessage
from dramaturg.stores.texts.messengers.kakaotalk import looks_like_kakaotalk, read_kakaotalk
from dramaturg.stores.texts.messengers.line import looks_like_line, read_line
from dramaturg.stores.texts.messengers.messenger import looks_like_messenger, read_messenger
from dramaturg.stores.texts.messengers.signal import looks_like_signal, read_signal
from dramaturg.stores.texts.messengers.slack import looks_like_slack, read_slack
from dramaturg.stores.texts.messengers.sms import looks_like_sms, read_sms
from dramaturg.stores.texts.messengers.telegram import looks_like_telegram, read_telegram
from dramaturg.stores.texts.messengers.wechat import looks_like_wechat, read_wechat
from dramaturg.stores.texts.messengers.whatsapp import looks_like_whatsapp, read_whatsapp

HEAD = 20_000
"""Letters of a file by which its messenger is recognised."""


class Messenger(NamedTuple):
    """A messenger whose exports are read."""

    looks: Callable[[str], bool]
    """Whether the beginning of a text is one of its exports."""
    read: Callable[[str], Messages]


MESSENGERS: Mapping[str, Messenger] = {
    "Telegram": Messenger(looks_like_telegram, read_telegram),
    "Discord": Messenger(looks_like_discord, read_discord),
    "Messenger or Instagram": Messenger(looks_like_messenger, read_messenger),
    "Slack": Messenger(looks_like_slack, read_slack),
    "SMS Backup & Restore": Messenger(looks_like_sms, read_sms),
    "KakaoTalk": Messenger(looks_like_kakaotalk, read_kakaotalk),
    "LINE": Messenger(looks_like_line, read_line),
    "iMessage": Messenger(looks_like_imessage, read_imessage),
    "Signal": Messenger(looks_like_signal, read_signal),
    "WeChat or QQ": Messenger(looks_like_wechat, read_wechat),
    "WhatsApp": Messenger(looks_like_whatsapp, read_whatsapp),
}
"""By name. The order counts: whose form allows more comes later."""


def messenger_of(text: str) -> str | None:
    """The name of the messenger whose export a text is; None if it is of none."""
    head = text[:HEAD]
    return next((name for name, messenger in MESSENGERS.items() if messenger.looks(head)), None)
