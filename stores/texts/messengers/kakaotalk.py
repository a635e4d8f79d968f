"""KakaoTalk's exports: text of phones and of computers, in Korean and English, and CSV."""

import csv
import io
import re
from datetime import datetime

from dramaturg.stores.texts.form import Messages, Unreadable
from dramaturg.stores.texts.messengers.gathering import Gathered, Left, written_time
from dramaturg.stores.texts.messengers.times import Stamp, date_alone, hour_alone, order_of, stamp, timed

AGAIN = "export the chat again (대화 내용 내보내기)"
_COLUMNS = re.compile(r"\W?Date\W{1,3}User\W{1,3}Message\b")
_DAY = re.compile(
    r"(?:-{3,} *)?(?:(\d{4}년 \d{1,2}월 \d{1,2}일)(?: \w요일)?|(\w{6,9}, \w{3,9} \d{1,2}, \d{4}))(?: *-{3,})?"
)
_COMPUTER = re.compile(r"\[([^\n]{1,100}?)\] \[((?:오전|오후) \d{1,2}:\d\d|\d{1,2}:\d\d(?: ?[AP]M)?)\] (.*)")
_PHONE = re.compile(r"([^\[\n]{0,40}?\d:\d\d(?: ?[AP]M)?), ([^\n]{1,100}?) : (.*)")
_APP = re.compile(r"([^\[\n]{8,40}?\d:\d\d(?: ?[AP]M)?)(?:[:,] .*)?")
_BY_APP = re.compile(
    r"[^\n]{1,100}님(?:이|을|께서)? ?[^\n]{0,100}(?:들어왔습니다|나갔습니다|초대했습니다|내보냈습니다)\.?"
    r"|[^\n]{1,100} (?:joined this chatroom|left this chatroom|invited [^\n]{1,100} to this chatroom)\.?"
)
_SAVED = re.compile(r"(?:저장한 날짜|Date Saved) ?: ")
_MEDIA = re.compile(
    r"(?:사진|동영상|Photos?|Videos?)(?: \d+(?:장|개)?)?|\(?(?:이모티콘|[Ee]moticons?)\)? ?"
    r"|음성메시지|Voice (?:[Nn]ote|[Mm]essage)"
    r"|(?:파일|File): .*|(?:지도|Map|연락처|Contact): .*"
)
_CALL = re.compile(r"(?:보이스톡|페이스톡|라이브톡|그룹콜|Voice Call|Video Call|Live Talk)(?: .{0,40})?")
_DELETED = re.compile(r"(?:삭제된 메시지입니다|가려진 메시지입니다|This message was deleted|Deleted message)\.?")


def looks_like_kakaotalk(text: str) -> bool:
    """Whether a text begins as one of the forms does."""
    if _COLUMNS.match(text):
        return True
    lines = text.split("\n", 400)[:400]
    if any(map(_SAVED.match, lines[:4])) or any(_DAY.fullmatch(line) and line.startswith("---") for line in lines):
        return True
    # Behind a time, a comma and a colon between two spaces: nobody else writes so.
    return any((found := _PHONE.fullmatch(line)) and _phone_time(found[1], None) for line in lines)


def read_kakaotalk(text: str) -> Messages:
    """Return what the people of a chat wrote.

    Raises:
        Unreadable: nobody wrote anything.
    """
    return _read_rows(text) if _COLUMNS.match(text) else _read_lines(text)


def _read_lines(text: str) -> Messages:
    gathered = Gathered()
    entries = list[tuple[int, Stamp | None, str, list[str]]]()
    day: Stamp | None = None
    inside = False
    for number, line in enumerate(map(str.rstrip, text.split("\n")), start=1):
        if found := _DAY.fullmatch(line):
            day, inside = date_alone(found[1] or found[2]), False
        elif found := _COMPUTER.fullmatch(line):
            entries.append((number, day and hour_alone(found[2], day), found[1], [found[3]]))
            inside = True
        elif (found := _PHONE.fullmatch(line)) and (time := _phone_time(found[1], day)):
            entries.append((number, time, found[2], [found[3]]))
            inside = True
        elif (found := _APP.fullmatch(line)) and stamp(found[1]):
            gathered.leave("system line", times=bool(line[len(found[1]) :]))  # a time alone heads what follows
            inside = False
        elif _BY_APP.fullmatch(line):
            gathered.leave("system line")
        elif inside:
            entries[-1][3].append(line)
        elif line and entries:
            gathered.leave("system line")
    order, _ = order_of([time for _, time, _, _ in entries if time])
    for number, time, name, lines in entries:
        _add(gathered, name, "\n".join(lines).rstrip("\n"), f"line {number}", time and timed(time, order))
    return gathered.messages(otherwise=AGAIN)


def _phone_time(text: str, day: Stamp | None) -> Stamp | None:
    return stamp(text) or (hour_alone(text, day) if day else None)


def _read_rows(text: str) -> Messages:
    gathered = Gathered()
    try:
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), start=1):
            if name := row.get("User"):
                _add(gathered, name, row.get("Message") or "", f"message {number}", written_time(row.get("Date")))
            else:
                gathered.leave("system line")
    except csv.Error as error:
        raise Unreadable(f"is no whole CSV ({error}): {AGAIN}") from error
    return gathered.messages(otherwise=AGAIN)


def _add(gathered: Gathered, name: str, said: str, at: str, when: datetime | None) -> None:
    kinds: tuple[tuple[re.Pattern[str], Left], ...] = (
        (_MEDIA, "media"),
        (_CALL, "call"),
        (_DELETED, "deleted message"),
    )
    for pattern, kind in kinds:
        if pattern.fullmatch(said):
            gathered.leave(kind)
            return
    gathered.say(name.strip(), said, at, when)
