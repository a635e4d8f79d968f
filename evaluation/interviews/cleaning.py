"""Replies before they are judged: what is not the role's answer is cut off, and what went wrong is named (InCharacter).

InCharacter cleans the replies of small models by rules of its program. These are rules for the same troubles in words
of our own: which labels are speakers, how much of another script is too much, and that text is cut where it repeats
itself are our choices. Nothing is asked again, and the raw reply stays in the record.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from dramaturg.evaluation.instruments.instrument import Language

Flag = Literal[
    "further_speakers", "repetition", "assistant_phrase", "not_into_character", "mixed_language", "empty", "no_reply"
]
"""What was cut off (the first three), what is wrong with what is left, and that there was no reply at all."""

REPEATED: Mapping[Language, int] = {"en": 15, "zh": 30, "ko": 15}
"""So many tokens that were said before end a text: words, in Chinese characters."""
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
