"""LINE's export of a chat (`[LINE] …のトーク履歴.txt`), of phones and computers, in its languages."""

import re
from collections.abc import Iterator
from itertools import pairwise

from dramaturg.stores.texts.form import Messages
from dramaturg.stores.texts.messengers.gathering import Gathered
from dramaturg.stores.texts.messengers.times import Stamp, date_alone, hour_alone, order_of, timed

AGAIN = "export the chat again (トーク履歴を送信)"
_TITLE = re.compile(
    r"\[LINE\] ?(?:(?P<ja>.+?)(?:とのトーク履歴|のトーク履歴)"
    r"|(?:Chat history (?:with|in) |與|与)(?P<en>.+?)(?:的聊天(?:記錄|记录))?|.+)"
)
_DAY = re.compile(
    r"(?:[^\W\d]{2,9}\.?,? )?(\d{1,4}[/.]\d{1,2}[/.]\d{1,4})\.? ?(?:[(（][^()（）\d]{1,9}[)）]|[^\W\d]{1,12})?"
)
_TABBED = re.compile(r"([^\t\n]{0,6}\d{1,2}:\d\d(?: ?[AaPp][Mm])?)\t([^\t\n]{0,100})(?:\t(.*))?")
_SPACED = re.compile(r"(\d{1,2}:\d\d) (\S.*)")
_MEDIA = re.compile(
    r"\[(?:スタンプ|写真|動画|アルバム|ファイル|ボイスメッセージ|ノート|連絡先"
    r"|Sticker|Photo|Video|Album|File|Voice message|Note|Contact|貼圖|照片|影片"
    r"|相簿|檔案|語音訊息|記事本|聯絡資訊|贴图|视频|文件|스티커|사진|동영상|앨범|파일|음성메시지|노트|สติกเกอร์|รูป|วิดีโอ)\]"
    r"(?: .{0,100})?|スタンプ|写真|動画"
)
_PLACE = re.compile(
    r"(?:\[(?:位置情報|Location|位置訊息)\].*|.*https://maps\.google\.com/\S+|.*https://line\.me/R/nv/location\S*)"
)
_UNSENT = re.compile(
    r".{0,100}(?:メッセージの送信を取り消しました|unsent a message|已收回訊息|撤回了消息|메시지를 취소했습니다)\.?"
)


def looks_like_line(text: str) -> bool:
    """Whether a text begins as such an export does: by its title, or by a day and then a time with tabs."""
    if _TITLE.match(text.lstrip()):
        return True
    lines = text.split("\n")
    return any(_DAY.fullmatch(line) and _TABBED.fullmatch(after) for line, after in pairwise(lines))


def read_line(text: str) -> Messages:
    """Return what the people of a chat wrote.

    Raises:
        Unreadable: nobody wrote anything.
    """
    gathered = Gathered()
    entries = list(_entries(text))
    order, remark = order_of([time for _, time, _, _ in entries])
    for number, time, name, said in entries:
        if _UNSENT.fullmatch(said) or (not said and _UNSENT.fullmatch(name)):
            gathered.leave("deleted message")
        elif said.startswith("☎"):
            gathered.leave("call")
        elif not name or not said:
            gathered.leave("system line")
        elif _MEDIA.fullmatch(said):
            gathered.leave("media")
        elif len(said) < 500 and _PLACE.fullmatch(said):
            gathered.leave("place")
        else:
            gathered.say(name, _unquoted(said), f"line {number}", timed(time, order))
    return gathered.messages(remark, otherwise=AGAIN)


def _entries(text: str) -> Iterator[tuple[int, Stamp, str, str]]:
    """Line, time, sender and text of each message, and of each line of the app's own."""
    lines = text.split("\n")
    title = _TITLE.match(text.lstrip())
    other = (title["ja"] or title["en"] or "") if title else ""
    tabbed = any(map(_TABBED.fullmatch, lines))
    day: Stamp | None = None
    entry: tuple[int, Stamp, str, list[str]] | None = None
    for number, line in enumerate(lines, start=1):
        new = day and _message(line, day, tabbed, other)
        today = date_alone(found[1]) if (found := _DAY.fullmatch(line)) and not new else None
        if entry and (new or today):
            yield *entry[:3], "\n".join(entry[3]).rstrip("\n")
            entry = None
        if today:
            day = today
        elif new:
            entry = (number, new[0], new[1], [new[2]])
        elif entry:
            entry[3].append(line)
    if entry:
        yield *entry[:3], "\n".join(entry[3]).rstrip("\n")


def _message(line: str, day: Stamp, tabbed: bool, other: str) -> tuple[Stamp, str, str] | None:
    """Time, sender and first line; between spaces a name ends at the first, but for that in the title."""
    found = (_TABBED if tabbed else _SPACED).fullmatch(line)
    time = hour_alone(found[1], day) if found else None
    if found is None or time is None:
        return None
    if tabbed:
        return time, found[2], found[3] or ""
    if _UNSENT.fullmatch(found[2]):
        return time, "", found[2]
    name = other if other and found[2].startswith(f"{other} ") else found[2].partition(" ")[0]
    return time, name, found[2][len(name) :].removeprefix(" ")


def _unquoted(said: str) -> str:
    """A message of several lines without the quotes that stand around it."""
    return said[1:-1] if "\n" in said and len(said) > 1 and said[0] == said[-1] == '"' else said
