"""Replies before they are judged: what is not the role's answer is cut off, and what went wrong is named (InCharacter).

InCharacter cleans the replies of small models by rules of its program. These are rules for the same troubles in words
of our own: which labels are speakers, how much of another script is too much, and that text is cut where it repeats
itself are our choices. Nothing is asked again, and the raw reply stays in the record.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from dramaturg.evaluation.instruments.instrument import Language
from dramaturg.prompts import fence

Flag = Literal[
    "further_speakers", "repetition", "assistant_phrase", "not_into_character", "mixed_language", "empty", "no_reply"
]
"""What was cut off (the first three), what is wrong with what is left, and that there was no reply at all."""
REPEATED: Mapping[Language, int] = {"en": 15, "zh": 30, "ko": 15}
"""A text is cut where this many tokens in a row repeat earlier ones; a token is a word, in Chinese a character."""
OTHER_SCRIPT = 0.2
"""The share of words (of Chinese: characters) in another script above which a reply mixes languages."""
HAN, KANA, HANGUL = "㐀-䶿一-鿿\uf900-\ufaff", "぀-ヿ", "가-힣ᄀ-ᇿ㄰-㆏"
TOKEN = re.compile(rf"[{HAN}{KANA}]|[{HANGUL}]+|[^\W\d_{HAN}{KANA}{HANGUL}]+|\d+")
SCRIPTS: Mapping[Language, re.Pattern[str]] = {
    "en": re.compile(r"[A-Za-zÀ-ɏ]+"),
    "zh": re.compile(rf"[{HAN}]"),
    "ko": re.compile(rf"[{HANGUL}]+"),
}
LABEL = re.compile(r"^[ \t]*\**([^\s:：*「“\"][^:：\n*「“\"]{0,39})\**[ \t]*[:：]\**[ \t]*", re.MULTILINE)
TITLED = re.compile(r"[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|van|von|de|of|the)){0,3}")
ASIDE = re.compile(r"[ \t]*[(（][^()（）]*[)）]$")
OTHERS = frozenset(
    (
        *("user", "human", "interviewer", "experimenter", "questioner", "someone", "system", "question", "q"),
        *("用户", "面试官", "采访者", "提问者", "主持人", "问题", "问"),
        *("사용자", "면접관", "질문자", "진행자", "질문", "문"),
    )
)
OWN = frozenset(
    ("assistant", "answer", "reply", "response", "a", "助手", "回答", "答", "어시스턴트", "대답", "답변", "답")
)
PHRASES = re.compile(
    r"\bas an? (?:AI|artificial intelligence)(?: language)?(?: model| assistant)?\s*,\s*"
    r"|作为(?:一个|一款|一名)?(?:AI|人工智能)(?:大?语言)?(?:模型|助手)?[，,]\s*"
    r"|(?:저는 )?(?:AI|인공지능)(?: ?언어)? ?(?:모델|어시스턴트)?(?:로서|로써)(?:는)?,?\s*",
    re.IGNORECASE,
)
OUTSIDE = re.compile(
    r"(?<![A-Za-z])A\.?I\.?(?![A-Za-z])|(?i:language model|artificial intelligence|chat ?bot|virtual assistant)"
    r"|人工智能|语言模型|聊天机器人|인공지능|언어 ?모델|챗봇"
)


class Cleaned(NamedTuple):
    """The answer in a reply, and what was found in it."""

    text: str
    flags: tuple[Flag, ...]


PARTICIPANT, EXPERIMENTER = "<the participant>", "<the experimenter>"
CJK = rf"[{HAN}{KANA}{HANGUL}]"
DOTS = "[·・‧•]"
PARTICLES = (
    "은는이가을를의에와과도만로께야아여랑나님씨",
    "으로|이라|이여|이나|이랑|입니|이다|이에|예요|처럼|보다|부터|까지|한테|조차|마저|라고|라는|라면"
    "|였|인데|인지|지만|뿐|밖에|하고|같이|같은",
)
LAST = "다인라란네"  # after a name they end the word: the copula without its vowel, as in 철수다
AFTER_HANGUL = rf"(?![{HANGUL}])|(?=[{PARTICLES[0]}]|{PARTICLES[1]}|[{LAST}](?![{HANGUL}]))"


def cleaned(reply: str, *, names: Iterable[str], others: Iterable[str], language: Language) -> Cleaned:
    """Cut a reply down to the role's answer, and name what is wrong with it.

    Another script is seen, another language of the same script is not: German in an English reply goes unnoticed.

    Args:
        reply: as it came.
        names: the role's, which may stand in front of its words.
        others: names of those who are not the role, such as who asked.
        language: that the role answers in.
    """
    spoken = list(turns(reply, names, others))
    own_words = first_own(spoken)
    once = without_repetition(own_words, language)
    text = without_phrases(once)
    found: dict[Flag, bool] = {
        "further_speakers": not all(own for own, _ in spoken),
        "repetition": once != own_words,
        "assistant_phrase": text != once,
        "not_into_character": bool(OUTSIDE.search(once)),
        "mixed_language": foreign_share(text, language) > OTHER_SCRIPT,
        "empty": not TOKEN.search(text),
    }
    return Cleaned(text, tuple(flag for flag, is_so in found.items() if is_so))


def first_own(spoken: Iterable[tuple[bool, str]]) -> str:
    """The role's first words, without the turns of others that come before or after them."""
    kept: list[str] = []
    for own, text in spoken:
        if not own and kept:
            break
        if own and text:
            kept.append(text)
    return "\n".join(kept)


def turns(reply: str, names: Iterable[str], others: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """The turns in a reply, each with whether it is the role's.

    A line begins a turn where a known label stands in front; where the reply is written like a play, with the role's
    label at its beginning, also where any title-cased label does.
    """
    own, other = {normal(one) for one in names} | OWN, {normal(one) for one in others} | OTHERS
    labels = list(LABEL.finditer(reply))
    play = bool(labels) and not reply[: labels[0].start()].strip() and normal(labels[0][1]) in own
    starts = [one for one in labels if normal(one[1]) in own | other or (play and TITLED.fullmatch(bare(one[1])))]
    yield True, reply[: starts[0].start() if starts else len(reply)].strip()
    for at, one in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(reply)
        yield normal(one[1]) in own, reply[one.end() : end].strip()


def without_repetition(text: str, language: Language) -> str:
    """A text up to where it begins to say again what it has said, word for word and for longer than people do."""
    tokens, length, seen = list(TOKEN.finditer(text)), REPEATED[language], set[tuple[str, ...]]()
    for at in range(len(tokens) - length + 1):
        run = tuple(one[0].casefold() for one in tokens[at : at + length])
        if run in seen:
            return text[: tokens[at].start()].rstrip()
        seen.add(run)
    return text


def without_phrases(text: str) -> str:
    """A text without the words by which a model says that it is one; the sentence around them stays."""
    left = PHRASES.sub("", text).strip()
    return left[:1].upper() + left[1:] if PHRASES.match(text) else left


def foreign_share(text: str, language: Language) -> float:
    """Which part of the words of a text is in another script than its language's; numbers are of none."""
    words = [one for one in TOKEN.findall(text) if not one.isdigit()]
    return sum(not SCRIPTS[language].fullmatch(one) for one in words) / len(words) if words else 0.0


def normal(name: str) -> str:
    """A name as it is compared."""
    return " ".join(bare(name).split()).casefold()


def bare(label: str) -> str:
    """A name without brackets around it, and without how it speaks: 【悟空】, [User], Tom (laughing)."""
    return ASIDE.sub("", label).strip(" \t[]【】") or label


def anonymous(
    text: str,
    *,
    names: Iterable[str],
    experimenter: str = "",
    marks: tuple[str, str] = (PARTICIPANT, EXPERIMENTER),
) -> str:
    """Put `<the participant>` in the place of a role's names, and `<the experimenter>` in that of who asks.

    Whole names only, the longest first: "Ann" stays in "Annabel" and "Ann-Marie", and a Korean name is one with a
    particle after it. "ANN" is the name too, "ann" is not. A part of a longer name that is written with dots
    (卡尔·范·贝多芬) is somebody else. Where two people share a word for a name, or a name is also a word, this cannot
    tell; a Chinese name of one character is left alone. What gives a famous person away besides names, such as works
    and places, stays.

    Args:
        text: an answer or a question.
        names: the role's name and aliases.
        experimenter: who asks, if that has a name.
        marks: what stands for the two.
    """
    marked = {experimenter: marks[1]} | dict.fromkeys(names, marks[0])
    known = sorted(filter(hides, marked), key=len, reverse=True)
    if not known:
        return text
    pattern = re.compile("|".join(f"({whole(name)})" for name in known))
    return pattern.sub(lambda found: marked[known[(found.lastindex or 1) - 1]], text)


def fenced(tag: str, text: str) -> str:
    """Put an anonymous text between tags as `fence` does, with our two marks as they are."""
    between = fence(tag, text)
    for mark in (PARTICIPANT, EXPERIMENTER):
        between = between.replace(fence(tag, mark).splitlines()[1], mark)
    return between


def hides(name: str) -> bool:
    """Whether a name is long enough to be found without finding other words."""
    return len(name) > 1 if re.match(CJK, name) else bool(name.strip())


def whole(name: str) -> str:
    """A pattern for a name that is not a part of another one."""
    text = spelled(name)
    if re.fullmatch(rf"[{HANGUL}\s]+", name):
        return rf"(?<![{HANGUL}]){text.replace('+', '*')}(?:{AFTER_HANGUL})"  # written in one word as well
    if re.search(CJK, name):
        return rf"(?<!{DOTS}){text}(?!{DOTS})"
    latin = r"A-Za-zÀ-ɏ0-9"  # not \w: a Latin name may stand amid Chinese, have a Korean particle, or be _emphasized_
    return rf"(?<![{latin}])(?<![{latin}][_-])(?:{text}|{spelled(name.upper())})(?![{latin}])(?!_[{latin}]|-[A-ZÀ-Þ])"


def spelled(name: str) -> str:
    """A pattern for the letters of a name, with whichever apostrophes, dots and spaces."""
    text = r"\s+".join(map(re.escape, name.split()))
    for alike in ("['’]", DOTS):  # models write one for the other
        text = re.sub(alike, alike, text)
    return text
