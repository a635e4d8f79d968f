"""WhatsApp's export of a chat (`_chat.txt`, "WhatsApp Chat with Mira.txt"), in the form of every phone and locale.

A message begins with a time, in brackets on iPhones and before a dash on Android; lines without one go on with it. What
has a time and no sender is a line of WhatsApp's own.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dramaturg.stores.texts.form import Messages
from dramaturg.stores.texts.messengers import whatsapp_words as words
from dramaturg.stores.texts.messengers.gathering import Gathered, Left
from dramaturg.stores.texts.messengers.times import LONGEST, MARKS, Stamp, order_of, stamp, timed

LONGEST_NAME = 100
PROOFS = 3
"""Messages after which a name may have a colon in it."""
_BRACKETED = re.compile(rf"[{MARKS}]*\[([^\[\]]{{6,{LONGEST}}})\][{MARKS}]*(?: |$)")
_DASHED = re.compile(rf"[{MARKS}]*(\d[^\[\]]{{5,{LONGEST}}}?) [-–] ")
_MARK = re.compile(f"[{MARKS}]")
_FROM_WHATSAPP = "\u200e"
"""The mark that iPhones set before what the app wrote."""
_IN_ANGLES = re.compile(rf"[{MARKS}]{{0,3}}<([^<>\n]{{2,160}})>[{MARKS}]{{0,3}}")
_FILE = re.compile(rf"[^\n]{{1,200}}?\.\w{{2,5}} \(([^()\n]{{3,40}})\)[{MARKS}]{{0,3}}(?:\n|$)")
_QUOTES = (("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"))


class _Entry(NamedTuple):
    """What stands between a time and the next one."""

    stamp: Stamp
    line: int
    rest: str


def looks_like_whatsapp(text: str) -> bool:
    """Whether a text begins as a chat export does: with a time among its first lines, and a sender somewhere."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if _head(line)), None)
    if first is None or sum(bool(line.strip()) for line in lines[:first]) > 3:
        return False
    return any(": " in line[head[1] :] or ":" in line[-1:] for line in lines if (head := _head(line)))


def read_whatsapp(text: str) -> Messages:
    """Return what the people of a chat wrote.

    Raises:
        Unreadable: nobody wrote anything.
    """
    entries, before = _entries(text)
    order, remark = order_of([one.stamp for one in entries])
    names = _names_with_colons([one.rest for one in entries])
    gathered = Gathered()
    undated = False
    for one in entries:
        name, said = _sender(one.rest, names)
        if not name:
            gathered.leave("system line")
            continue
        said, left = _own_words(said)
        for what, times in left.items():
            gathered.leave(what, times)
        if said or not left:
            when = timed(one.stamp, order)
            undated = undated or when is None
            gathered.say(name, said, f"line {one.line}", when)
    return gathered.messages(
        remark,
        "times of another calendar are not read" if undated else "",
        f"{before} line(s) before the first message" if before else "",
        otherwise='export the chat again ("Export chat", without media)',
    )


def _head(line: str) -> tuple[Stamp, int, str] | None:
    """The time with which a message begins, where its rest begins, and the form."""
    for form, pattern in (("[", _BRACKETED), ("-", _DASHED)):
        if (found := pattern.match(line)) and (time := stamp(found[1])):
            return time, found.end(), form
    return None


def _entries(text: str) -> tuple[list[_Entry], int]:
    """The messages and lines of the app, and how many lines stand before them.

    One file has one form: a time of the other form is part of what somebody wrote, who took it from elsewhere.
    """
    lines = text.split("\n")
    heads = [_head(line) for line in lines]
    forms = Counter(head[2] for head in heads if head)
    form = max(forms, key=lambda one: forms[one], default="")
    starts = [(at, head) for at, head in enumerate(heads) if head and head[2] == form]
    ends = [at for at, _ in starts[1:]] + [len(lines)]
    entries = [
        _Entry(head[0], at + 1, "\n".join([lines[at][head[1] :], *lines[at + 1 : end]]).rstrip("\n"))
        for (at, head), end in zip(starts, ends, strict=False)
    ]
    first = starts[0][0] if starts else 0
    return entries, sum(bool(line.strip()) for line in lines[:first])


def _split(rest: str) -> tuple[str, str]:
    """What stands before the first colon of a first line, and what after it; no name if there is none."""
    at = rest.find(":", 0, LONGEST_NAME)
    while at >= 0 and rest[at + 1 : at + 2] not in ("", " ", "\n", "\u200e", "\u200f"):
        at = rest.find(":", at + 1, LONGEST_NAME)
    if at < 0 or "\n" in rest[:at] or _in_quotes(rest[:at]):
        return "", rest
    return rest[:at], rest[at + 1 :].removeprefix(" ")


def _in_quotes(text: str) -> bool:
    """Whether a quote is open at the end of a text: a name of a group has the colon (`changed the name to "A: B"`)."""
    return text.count('"') % 2 == 1 or any(text.rfind(begin) > text.rfind(end) for begin, end in _QUOTES)


def _names_with_colons(rests: Sequence[str]) -> Mapping[str, str]:
    """Names that have a colon, by what stands before it: all that this "sender" says begins with the same words."""
    said = defaultdict[str, list[str]](list)
    for rest in rests:
        name, text = _split(rest)
        if name:
            said[name].append(text)
    found = dict[str, str]()
    for name, texts in said.items():
        second = Counter(part for text in texts if (part := _split(text)[0])).most_common(1)
        if second and second[0][1] >= PROOFS and all(text.startswith(second[0][0]) for text in texts):
            found[name] = f"{name}: {second[0][0]}"
    return found


def _sender(rest: str, names: Mapping[str, str]) -> tuple[str, str]:
    """The sender of an entry and what follows; no name for a line of the app."""
    name, text = _split(rest)
    if full := names.get(name):
        if not rest.startswith(f"{full}:"):
            return "", rest  # "Dr: Mira left"
        name, text = full, rest[len(full) + 1 :].removeprefix(" ")
    return _MARK.sub("", name).lstrip("~ \u202f\u00a0").strip(), text


def _own_words(text: str) -> tuple[str, Counter[Left]]:
    """What a sender wrote of a message, and what else it holds."""
    left = Counter[Left]()
    by_app = text.startswith(_FROM_WHATSAPP)
    text = "".join(_without_files(text, left))
    bare = _MARK.sub("", text).strip().rstrip(".。").casefold()
    kind: Left | None = None
    if bare in words.DELETED:
        kind = "deleted message"
    elif bare == "null":
        kind = "media"
    elif bare in words.WAITING:
        kind = "system line"
    elif words.POLL.match(bare) and (by_app or "\n" in bare):
        kind = "poll"
    elif words.PLACE.match(bare):
        kind = "place"
    elif by_app and bare and "\n" not in bare:
        kind = "media" if words.OMITTED.search(bare) else "call" if words.CALL.search(bare) else "system line"
    if kind:
        left[kind] += 1
        return "", left
    return text.removeprefix(_FROM_WHATSAPP).strip("\n"), left


def _without_files(text: str, left: Counter[Left]) -> Iterator[str]:
    """A message without what stands for a file in it and without the remark that it was edited."""
    if (found := _FILE.match(text)) and words.ATTACHED.search(found[1]):
        left["media"] += 1
        text = text[found.end() :]
    last, begin, end = 0, len(text) - len(text.lstrip()), len(text.rstrip())
    for found in _IN_ANGLES.finditer(text):
        inside, whole = found[1], found.start() <= begin and found.end() >= end
        attached = (":" in inside or "：" in inside) and words.ATTACHED.search(inside)
        if attached or (whole and (words.OMITTED.search(inside) or words.MEDIA.search(inside))):
            left["media"] += 1
        elif not (words.EDITED.search(inside) and found.end() >= end):
            continue
        yield text[last : found.start()].rstrip(" ")
        last = found.end()
    yield text[last:]
