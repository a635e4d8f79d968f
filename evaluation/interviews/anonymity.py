"""Answers without names, so that a judge cannot go by what it knows of somebody famous (InCharacter)."""

import re
from collections.abc import Iterable

from dramaturg.evaluation.interviews.cleaning import HAN, HANGUL, KANA
from dramaturg.prompts import fence

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


def anonymous(text: str, *, names: Iterable[str], experimenter: str = "") -> str:
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
    """
    marks = {experimenter: EXPERIMENTER} | dict.fromkeys(names, PARTICIPANT)
    known = sorted(filter(hides, marks), key=len, reverse=True)
    if not known:
        return text
    pattern = re.compile("|".join(f"({whole(name)})" for name in known))
    return pattern.sub(lambda found: marks[known[(found.lastindex or 1) - 1]], text)


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
