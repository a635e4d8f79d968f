"""WeChat and QQ as they are commonly exported to text: a line with a time and a name, and what was written below it."""

import re

from dramaturg.stores.texts.form import Messages
from dramaturg.stores.texts.messengers.gathering import Gathered, written_time

_HEAD = re.compile(r"(\d{4}-\d\d-\d\d) (\d{1,2}:\d\d:\d\d) ([^\n]{1,100}?)(?:\(\d{5,12}\)|<[^<>\s]{3,60}>)?")
_NAME_FIRST = re.compile(r"([^\n]{1,100}?) ?[(（](\d{4}-\d\d-\d\d) (\d{1,2}:\d\d:\d\d)[)）]:?")
_MEDIA = re.compile(
    r"\[(?:图片|表情|动画表情|语音|视频|文件|链接|位置|名片|红包|转账|聊天记录|小程序"
    r"|圖片|影片|語音)\](?: ?[^\n]{0,200})?"
)
_BY_APP = re.compile(r"[^\n]{0,100}(?:撤回了一条消息|撤回一条消息|拍了拍[^\n]{1,60}|加入了?群聊|修改群名为[^\n]{1,60})")
_SYSTEM = ("系统消息", "系統訊息")


def looks_like_wechat(text: str) -> bool:
    """Whether a text begins as such an export does: with several lines of a time and a name."""
    return sum(bool(_head(line)) for line in text.split("\n")) >= 2 or bool(_head(text.lstrip().partition("\n")[0]))


def read_wechat(text: str) -> Messages:
    """Return what the people of a chat wrote.

    Raises:
        Unreadable: nobody wrote anything.
    """
    gathered = Gathered()
    entries = list[tuple[int, tuple[str, str], list[str]]]()
    for number, line in enumerate(text.split("\n"), start=1):
        if head := _head(line):
            entries.append((number, head, []))
        elif entries:
            entries[-1][2].append(line)
    for number, (name, time), lines in entries:
        said = "\n".join(lines).strip("\n")
        if name in _SYSTEM or _BY_APP.fullmatch(said):
            gathered.leave("deleted message" if "撤回" in said else "system line")
        elif _MEDIA.fullmatch(said):
            gathered.leave("media")
        else:
            gathered.say(name, said, f"line {number}", written_time(time))
    return gathered.messages(otherwise="export the chat again, as text")


def _head(line: str) -> tuple[str, str] | None:
    """The sender of a message and its time."""
    line = line.rstrip()
    if found := _HEAD.fullmatch(line):
        return found[3].strip(), f"{found[1]} {found[2]:0>8}"
    if found := _NAME_FIRST.fullmatch(line):
        return found[1].strip(), f"{found[2]} {found[3]:0>8}"
    return None
