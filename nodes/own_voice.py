"""Own voice: a reply ends where it begins to speak for the user, or for somebody else of the talk.

Models that were taught on transcripts go on after their own line and write the next one, "Tom: Good evening!". That is
seen without a model: at the beginning of a line, where the name of another stands as a label, and wherever a mark of a
chat template stands, which nobody says. Quotations, lists of people, and what is told of the user ("You smile.") are
the role's own. What is and what is not is listed in `tests/nodes/test_own_voice.py`. The role's own name as a label at
the very beginning is left out.

A label is decided on by the line it begins and by what stood before it, never by what comes later, so that a reply can
be shown while it is written. Only two kinds of lines wait for the next one: a name that stands alone, and a rule.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from dramaturg.nodes.slips import QUOTES
from dramaturg.stores.names import normal_name

__all__ = ["OwnVoice", "own_part", "stop_words"]

MOST_STOPS = 4  # that servers take
LONGEST_NAME = 80  # of a stop word, in characters
QUOTED_CHARACTERS, QUOTED_LINES = 1_000, 12
"""For how long a quotation that was not closed is taken for one: a stray quotation mark must not hide what follows."""

USER = (
    "User", "Human", "You", "Player", "The user",
    "用户", "使用者", "玩家", "你", "您",
    "사용자", "유저", "플레이어", "당신", "너",
)  # fmt: skip
"""What models call the user, whatever its name. "Me", "我" and "나" are no such labels: so the role may call itself."""
TITLES = (
    "mr", "mrs", "ms", "miss", "mx", "dr", "doctor", "prof", "professor", "sir", "dame", "lady", "lord", "madam",
    "master", "captain", "king", "queen", "prince", "princess", "father", "mother", "brother", "sister", "saint", "the",
)  # fmt: skip
SURNAMES = (
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변추도석선설"
)
"""The first syllables by which a Korean's name of three is known from a foreign one."""

# Marks of chat templates. Square brackets and `<<` are Llama 2's and Mistral's, `_of_turn` is Gemma's, `### ` Alpaca's
# and Vicuna's; nearly all others have bars, and DeepSeek's are wide. `</s>` ends a text: replies are no HTML, in which
# it would end a strikethrough.
MARKS = (
    "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "<<SYS>>", "<</SYS>>", "<start_of_turn>", "<end_of_turn>", "</s>", "<eos>",
    "<START>", "### Instruction:", "### Human:", "### User:",
)  # fmt: skip
BARRED = re.compile(r"<[|｜][\w▁ /.-]{1,40}[|｜]?>|<\w{1,40}[|｜]>")
BARRED_BEGUN = re.compile(r"<(?:[|｜](?:[\w▁ /.-]{1,40}[|｜]?)?|\w{1,40}[|｜]?)?")
MARK_BEGINS = frozenset(mark[0] for mark in MARKS)

# What follows are patterns of folded text. Around a name is Markdown, or brackets; after it what its speaker does.
ALIKE = str.maketrans("’‘ʼ‐‑‒–—−•・‧", "'''------···", "\u200b\u200c\u200d\u2060\ufeff")
LEAD = re.compile(r"[#>*_`~=\[({<【·\-\s]*")
NUMBER = re.compile(r"\d{1,3}(?:[.)、]|$)")
ITEM = re.compile(r"[->·]|\*\s|\d{1,3}[.)、]")
RULE = re.compile(r"[-*_=~#\s]{3,}")
STRESS = re.compile(r"#|\*\*|__|[\[【]")
CLOSE = r"[\s*_`~\])}>】]*"
ASIDE = rf"(?:\([^()]{{0,60}}\)|\[[^\[\]]{{0,60}}\]|\*[^*]{{1,60}}\*){CLOSE}"
ALONE = re.compile(rf"{CLOSE}(?:{ASIDE})?")
# A colon after a space may be the eyes of a face.
LABELLED = re.compile(rf"{ALONE.pattern}(?:(?<!\s):|(?<=\s):(?=\s|[^\x00-\x7f]))")
UNDECIDED = re.compile(rf"{CLOSE}(?:\([^()]{{0,60}}|\[[^\[\]]{{0,60}}|\*[^*]{{0,60}}|{ASIDE})?(?:(?<=\s):)?")
MARKUP = "*_`~"

Kind = Literal["text", "own", "name", "label", "rule"]
"""How a line begins: with a label, the role's or another's, or without one; or it is nothing but a name, or a rule."""
Speaker = Literal["own", "other", "user"]


class Beginning(NamedTuple):
    """How a line begins, and whether the label is one that every user has."""

    kind: Kind
    user: bool = False


def own_part(text: str, own: Sequence[str], others: Sequence[str]) -> tuple[str, str]:
    """What of a text is the role's own, without space at its end, and what is not; see `OwnVoice`."""
    voice = OwnVoice(own, others)
    kept = voice.feed(text) + voice.end()
    return kept, voice.cut


def stop_words(others: Sequence[str], own: Sequence[str] = ()) -> list[str]:
    """What a server may end a reply at, so that nothing is written in vain. It sees neither quotations nor lists.

    So it is given the names of the others as they are written, the first ones first, and the one label of the user
    that is no word of a role. A name of one letter is none: that may be an item of a list.
    """
    taken = {spelling for name in own for spelling in spellings(name)}
    stops = dict[str, None]()
    for name in (*(one.strip() for one in others), "User"):
        letter = len(name) < 2 and name.isascii()
        if letter or len(name) > LONGEST_NAME or not name.isprintable() or folded(normal_name(name)) in taken:
            continue
        stops[f"\n{name}{'：' if re.match('[㐀-鿿]', name) else ':'}"] = None
    return list(stops)[:MOST_STOPS]


class OwnVoice:
    """Ends a reply, which comes in parts, where it begins to speak for somebody else.

    It goes by characters, so it is one and the same wherever a text is parted. Space is held back until it is known
    what follows; at the end of what is kept it is dropped.

    Args:
        own: names and aliases of the role.
        others: names and aliases of everybody else in the talk, the user included.
    """

    cut: str
    """What was left out, from the label on; empty: nothing. It grows while parts come."""

    def __init__(self, own: Sequence[str], others: Sequence[str]) -> None:
        self.cut = ""
        self._labels = labels(tuple(own), tuple(others))
        self._quotation = Quotation()
        self._shown: list[str] = []
        self._space: list[str] = []
        self._mark = ""  # what may become a mark of a template
        self._held: list[str] = []  # lines that wait for the next one, with the space around them
        self._name_held = self._spoken = self._labelled = False
        # Of the line before: whether it announces names, and whether it is an item of a list.
        self._announced = self._after_item = False
        self._begin_line()

    def feed(self, part: str) -> str:
        """Take in the next part of the reply, and give what of it may be shown now."""
        if self.cut:
            self.cut += part
            return ""
        for at, character in enumerate(part):
            self._read(character)
            if self.cut:
                self.cut += part[at + 1 :]
                break
        return self._now_shown()

    def end(self) -> str:
        """The rest that was held back and is the role's own, as the reply has ended."""
        if not self.cut:
            mark, self._mark = self._mark, ""
            self._take_all(mark)
        if not self.cut:
            self._finish()
        return self._now_shown()

    def _read(self, character: str) -> None:
        if not self._mark and character not in MARK_BEGINS:
            self._take(character)
            return
        self._mark += character
        while self._mark and not self.cut:
            if is_mark(self._mark):
                self._finish()
                self.cut += self._mark
                self._mark = ""
            elif may_become_mark(self._mark):
                return
            else:
                first, self._mark = self._mark[0], self._mark[1:]
                self._take(first)
        if self._mark:
            self.cut, self._mark = self.cut + self._mark, ""

    def _take_all(self, text: str) -> None:
        for at, character in enumerate(text):
            self._take(character)
            if self.cut:
                self.cut += text[at + 1 :]
                return

    def _take(self, character: str) -> None:
        self._quotation.read(character)
        if character == "\n":
            self._end_line()
        elif self._settled:
            self._show(character)
            self._note_last(character)
        elif not self._head and character.isspace():
            self._show(character)
        else:
            self._head += character
            self._settle(ended=False)

    def _begin_line(self) -> None:
        self._head, self._last = "", ""  # what of the line is undecided; its last character that is no markup
        self._settled = self._item = self._listed = self._heading = False
        self._quoted = self._quotation.is_open()

    def _end_line(self) -> None:
        if self._head and not self._settled:
            self._settle(ended=True)
        if self.cut:
            self.cut += "\n"
            return
        if self._settled:
            self._announced = self._listed or self._heading or self._last == ":"
            self._after_item = self._item
        elif self._name_held:
            self._release()  # a name, and an empty line: an exclamation
        self._show("\n")
        self._begin_line()

    def _settle(self, *, ended: bool) -> None:
        found = Beginning("text") if self._quoted else self._labels.read(self._head, ended=ended)
        if found is None:
            return
        line = folded(self._head)
        self._settled, self._item = True, bool(ITEM.match(line))
        self._heading = line.startswith("#") and found.kind == "text"
        kind = self._kind_here(found)
        if kind == "label" or (kind == "text" and self._name_held and not (self._item or self._listed)):
            self._cut_here(from_name=kind == "text")
        elif kind in {"name", "rule"}:
            self._hold(kind)
        elif found.kind == "own" and not self._spoken and not self._held:
            self._last, self._spoken, self._labelled = "", True, True  # who speaks is known: that is no word of a reply
        else:
            self._release()
            self._spoken = True
            for character in self._head:
                self._show(character)
                self._note_last(character)
            if found.kind == "own":
                self._last = ""  # "Ada:" announces nobody

    def _kind_here(self, found: Beginning) -> Kind:
        """What a beginning is after the lines before: people are listed, or somebody's words told, after a colon."""
        if found.kind == "own":
            self._listed = self._announced
        elif found.kind == "label" and self._item:
            if self._announced or self._after_item or not (self._spoken or found.user):
                return "text"
        elif found.kind == "label" and self._announced and not found.user:
            self._listed = True
            return "text"
        elif found.kind == "name" and (self._announced or self._name_held):
            self._listed = True  # several names, each on its line
            return "text"
        elif found.kind == "name" and (self._item or not self._spoken):
            return "text"
        return found.kind

    def _cut_here(self, *, from_name: bool) -> None:
        if self._name_held and not from_name:
            self._release()
        self.cut = "".join(self._held) + self._head
        self._held = []

    def _hold(self, kind: Kind) -> None:
        if self._name_held:
            self._release()
        self._held.append(self._head)
        self._name_held = kind == "name"

    def _release(self) -> None:
        held, self._held, self._name_held = self._held, [], False
        for character in "".join(held):
            self._show(character)

    def _finish(self) -> None:
        if self._head and not self._settled:
            self._settle(ended=True)
        if not self.cut:
            self._release()

    def _show(self, character: str) -> None:
        if self._held:
            self._held.append(character)
        elif character.isspace():
            if not self._labelled:
                self._space.append(character)
        else:
            self._labelled = False
            self._shown += [*self._space, character]
            self._space.clear()

    def _now_shown(self) -> str:
        shown = "".join(self._shown)
        self._shown.clear()
        return shown

    def _note_last(self, character: str) -> None:
        if not character.isspace() and character not in MARKUP:
            self._last = ":" if character == "：" else character


def is_mark(text: str) -> bool:
    """Whether a text is a mark of a chat template."""
    return text in MARKS or bool(BARRED.fullmatch(text))


def may_become_mark(text: str) -> bool:
    """Whether a text is the beginning of one."""
    return any(mark.startswith(text) for mark in MARKS) or bool(BARRED_BEGUN.fullmatch(text))


class Labels:
    """The names that are labels where a line begins with them, and whose they are."""

    def __init__(self, own: Sequence[str], others: Sequence[str]) -> None:
        names: dict[str, Speaker] = {spelling: "other" for name in others for spelling in spellings(name)}
        names |= {folded(normal_name(name)): "user" for name in USER}
        exactly_own = {folded(normal_name(name)) for name in own}
        for name in own:
            # The user's labels are ambiguous only where the role has just that name.
            names |= {one: "own" for one in spellings(name) if one in exactly_own or names.get(one) != "user"}
        names.pop("", None)
        self._by_letter: dict[str, list[tuple[str, Speaker]]] = {}
        for name in sorted(names, key=len, reverse=True):
            self._by_letter.setdefault(name[0], []).append((name, names[name]))
        self._in_capitals = {spelling for name in others if name.isupper() for spelling in spellings(name)}
        self._longest = max(map(len, names)) + 100

    def read(self, head: str, *, ended: bool) -> Beginning | None:
        """How a line begins, none of whose space comes first; None: more of the line must be known.

        Args:
            head: of the line.
            ended: whether that is all of it.
        """
        if len(head) > self._longest:
            return Beginning("text")
        line = folded(head)
        if ended and RULE.fullmatch(line):
            return Beginning("rule")
        marks, rest = parted(line)
        found = [self._named(rest, marks, head, ended=ended)]
        if number := NUMBER.match(rest):
            found.append(self._named(parted(rest[number.end() :])[1], marks, head, ended=ended))
        decided = [one for one in found if one is not None]
        named = (one for one in decided if one.kind != "text")
        return next(named, None if len(decided) < len(found) else Beginning("text"))

    def _named(self, rest: str, marks: str, head: str, *, ended: bool) -> Beginning | None:
        undecided = not rest
        for name, who in self._by_letter.get(rest[:1], ()):
            if not rest.startswith(name):
                undecided |= name.startswith(rest)
                continue
            tail, is_user = rest[len(name) :], who == "user"
            label = Beginning("own" if who == "own" else "label", is_user)
            if ("<" in marks and tail.startswith(">")) or LABELLED.match(tail + "\n" if ended else tail):
                return label
            if ended and ALONE.fullmatch(tail) and (STRESS.search(marks) or self._is_shouted(name, head)):
                return label if who == "own" or (is_user and "#" in marks) else Beginning("name", is_user)
            undecided |= bool(UNDECIDED.fullmatch(tail))
        return None if undecided and not ended else Beginning("text")

    def _is_shouted(self, name: str, head: str) -> bool:
        return name not in self._in_capitals and re.sub(r"\(.*|\[.*", "", head).isupper()


@lru_cache(256)
def labels(own: tuple[str, ...], others: tuple[str, ...]) -> Labels:
    """The labels of a talk: a reply is read several times, and the same people go on talking."""
    return Labels(own, others)


def parted(line: str) -> tuple[str, str]:
    """The markup that a line begins with, and the rest."""
    lead = LEAD.match(line)
    at = lead.end() if lead else 0
    return line[:at], line[at:]


def folded(text: str) -> str:
    """A text as labels are compared. Decomposed: of a composed letter, no part that comes first is a beginning."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKD", text).casefold().translate(ALIKE))


@lru_cache(1024)
def spellings(name: str) -> frozenset[str]:
    """What somebody is called in a label: by the name, by the first name, by a title and the last name."""
    return frozenset(folded(one) for one in called(normal_name(name)) if one)


def called(name: str) -> Iterator[str]:
    """The same, as names are compared elsewhere."""
    yield name
    yield name.replace(".", "")
    words = [word for word in re.split(r"[\s·・•]+", name) if word]
    while len(words) > 1 and words[0].strip(".") in TITLES:
        del words[0]
    if words == [name]:
        # 林黛玉 is called 黛玉, and 김민준 민준.
        if re.fullmatch("[㐀-鿿]{3}", name) or re.fullmatch(f"[{SURNAMES}][가-힣]{{2}}", name):
            yield name[1:]
    elif words:
        first, last = words[0], words[-1]
        if len(first.strip(".")) > 1:
            yield first
        for title in TITLES:
            yield f"{title} {last}"
            yield f"{title}. {last}"


class Quotation:
    """Whether a text stands in a quotation. Apostrophes are none, and of straight marks only the double ones count."""

    def __init__(self) -> None:
        self._closing: dict[str, tuple[int, int]] = {}  # the marks that are waited for, the innermost last
        self._at = self._line = 0
        self._before = "\n"

    def read(self, character: str) -> None:
        """Take in the next character."""
        self._at += 1
        self._line += character == "\n"
        if character == '"':
            self._read_straight()
        elif character in self._closing:
            self._close(character)
        elif character in OPENING:
            self._open(OPENING[character])
        self._before = character

    def is_open(self) -> bool:
        """Whether one was opened lately and not closed."""
        first, top = self._at - QUOTED_CHARACTERS, self._line - QUOTED_LINES
        self._closing = {mark: (at, line) for mark, (at, line) in self._closing.items() if at > first and line > top}
        return bool(self._closing)

    def _read_straight(self) -> None:
        """Take in a mark that opens or closes, by what stands before it; after a number it is inches."""
        if self._before.isspace() or self._before in "([{（【*_—–":
            self._open('"')
        elif '"' in self._closing:
            self._close('"')
        elif not (self._before.isascii() and self._before.isalnum()):
            self._open('"')

    def _open(self, closing: str) -> None:
        self._closing.pop(closing, None)  # each paragraph of a long quotation opens it again
        self._closing[closing] = (self._at, self._line)

    def _close(self, mark: str) -> None:
        while self._closing.popitem()[0] != mark:
            pass  # one within it was not closed


OPENING = {opening: closing for opening, closing in QUOTES.items() if opening != closing} | {"‘": "’", "„": "“"}
