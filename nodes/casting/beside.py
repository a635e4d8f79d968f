"""Who is named beside a quotation: the subject of a verb of speech, or whoever does something in its paragraph."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from dramaturg.nodes.casting.quotes import Paragraph, Quote
from dramaturg.nodes.casting.words import (
    ADVERBS_EN,
    BEFORE_OBJECT_EN,
    BREAKS_EN,
    HOW_ZH,
    NO_NAMES_EN,
    NO_NAMES_KO,
    OBJECT_KO,
    SPEECH_EN,
    SPEECH_KO,
    SPEECH_ZH,
    SUBJECT_KO,
    TITLES_EN,
    TO_ZH,
    WEAK_EN,
)
from dramaturg.stores.documents.forms import Language

NEAR = 400
"""Characters on either side of a quotation that are looked at."""
CAPITAL = r"(?:St\.?\s+)?[A-ZÀ-ÖØ-Þ]\w*+(?:[’'-]\w++)*+"
TITLE = rf"(?:{'|'.join(one.capitalize() for one in TITLES_EN)})\b\.?"
PARTICLE = r"(?:de|von|van|du|la|le|der|the)\s+"
NAME = rf"(?:{TITLE}\s+(?:{PARTICLE})*){{0,3}}{CAPITAL}(?:\s+(?:{PARTICLE})?{CAPITAL}){{0,4}}"
DETERMINER = r"(?:[Tt]he|[Aa]n?|[Hh]is|[Hh]er|[Mm]y|[Tt]heir|[Oo]ur|[Tt]h(?:is|at)|[Aa]nother)"
BREAK = rf"(?!(?:{'|'.join(sorted(BREAKS_EN))}|\w+ly)\b)"
DESCRIPTION = rf"{DETERMINER}(?:\s+{BREAK}[\w’'-]+){{1,4}}"
ADVERB = rf"\w+ly|{'|'.join(sorted(ADVERBS_EN))}"
SPEECH = "|".join(sorted(SPEECH_EN))
PRONOUN = r"(?:I|[Hh]e|[Ss]he|[Tt]hey|[Ww]e)\b"
CALLED = rf"(?:(?:old|young|poor|little|dear)\s+)?{NAME}"
SUBJECT = rf"(?P<who>{PRONOUN}|{DESCRIPTION}|{CALLED})"
SHORT = rf"(?P<who>{PRONOUN}|{DETERMINER}(?:\s+[\w’'-]+){{1,4}}?|{CALLED})"
VERB_FIRST = re.compile(rf"[\s,;.—–*_-]{{0,6}}(?:(?:and|but|so|thus|then|here)\s+)?(?P<verb>{SPEECH})\s+{SUBJECT}")
SUBJECT_FIRST = re.compile(
    rf"[\s,;.—–*_-]{{0,6}}(?:(?:and|but|as|then|so)\s+)?{SHORT},?\s+(?:(?:{ADVERB})\s+){{0,3}}?(?P<verb>{SPEECH})\b"
)
BEHIND_VERB = re.compile(rf"\s+{SUBJECT}")
SPOKEN = re.compile(rf"\b(?:{SPEECH})\b")
WHO = re.compile(rf"(?<![\w’'-])(?P<who>{PRONOUN}|{DESCRIPTION}|{NAME})")
SENTENCE = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bDr)(?<!\bSt)[.!?…][”’\"']?\s+(?=[\"“‘']?[A-ZÀ-Þ])")
CLAUSE_ZH = rf"(?P<clause>[^，。！？；：、\s“”「」]{{1,14}}?)(?:{'|'.join(SPEECH_ZH)})"
BEFORE_ZH = re.compile(rf"{CLAUSE_ZH}(?:了|着|起来|一句|一声)?[：:，,。]?\s*$")
BEHIND_ZH = re.compile(rf"\s*{CLAUSE_ZH}")
ZH_SENTENCE = re.compile(r"[。！？；…\n]+")


class Beside(NamedTuple):
    """Words that stand for who speaks, and what makes that likely."""

    who: str
    at: int
    """Where they stand in the text."""
    how: str
    """`verb`: a verb of speech; `beat`: somebody does something in the same paragraph."""
    strong: bool = True


class Around(NamedTuple):
    """The narration next to a quotation in its paragraph, and the end of the paragraph before."""

    before: str
    after: str
    before_at: int
    after_at: int
    lead: str
    lead_at: int
    """The last sentence of the paragraph before, where it ends with a colon; else empty."""


def around(text: str, paragraphs: Sequence[Paragraph], quotes: Sequence[Quote], at: int) -> Around:
    """The narration around quotation number `at`."""
    quote = quotes[at]
    paragraph = paragraphs[quote.paragraph]
    last, after = quotes[at - 1] if at else None, quotes[at + 1] if at + 1 < len(quotes) else None
    begin = last.end if last and last.paragraph == quote.paragraph else paragraph.begin
    end = after.begin if after and after.paragraph == quote.paragraph else paragraph.end
    lead, lead_at = "", 0
    if begin == paragraph.begin and not text[begin : quote.begin].strip() and quote.paragraph:
        earlier = paragraphs[quote.paragraph - 1]
        lead_at = max(earlier.begin, earlier.end - NEAR)
        if last and last.paragraph == quote.paragraph - 1:
            lead_at = max(lead_at, last.end)
        said = text[lead_at : earlier.end].rstrip()
        lead = said if said.endswith((":", "：")) and not earlier.heading else ""
    begin, end = max(begin, quote.begin - NEAR), min(end, quote.end + NEAR)
    return Around(text[begin : quote.begin], text[quote.end : end], begin, quote.end, lead, lead_at)


def beside(
    text: str, paragraphs: Sequence[Paragraph], quotes: Sequence[Quote], at: int, language: Language
) -> Beside | None:
    """Who is named with a verb of speech right beside a quotation; None: nobody is."""
    there = around(text, paragraphs, quotes, at)
    find = {"en": _in_english, "zh": _in_chinese, "ko": _in_korean}[language]
    return find(there, quotes[at])


def _in_english(there: Around, quote: Quote) -> Beside | None:
    for pattern in (VERB_FIRST, SUBJECT_FIRST):
        found = pattern.match(there.after)
        if found and _is_somebody(found["who"]):
            begins = there.after[: found.start("who")].strip(" \n,;—–-*_")
            weak = found["verb"] in WEAK_EN and (pattern is SUBJECT_FIRST or not quote.text.endswith((",", "?", "!")))
            late = "." in begins
            # Behind a full stop of the narration itself it is another sentence.
            return Beside(found["who"], there.after_at + found.start("who"), "verb", not (weak or late))
    return _before_in_english(there.before, there.before_at) or _before_in_english(there.lead, there.lead_at)


def _before_in_english(said: str, begin: int) -> Beside | None:
    """The subject of the last verb of speech in the sentence that ends before a quotation."""
    sentence = _last_sentence(said)
    if not sentence.rstrip().endswith((",", ":", "—", "-")):
        return None
    begin += len(said) - len(sentence)
    for verb in reversed([*SPOKEN.finditer(sentence)]):
        for one in reversed([*WHO.finditer(sentence, 0, verb.start())]):
            if _is_somebody(one["who"]) and not _is_object(sentence, one.start()):
                return Beside(one["who"], begin + one.start(), "verb", verb.group() not in WEAK_EN)
        after = BEHIND_VERB.match(sentence, verb.end())
        if after and _is_somebody(after["who"]):
            return Beside(after["who"], begin + after.start("who"), "verb")
    return None


def _last_sentence(said: str) -> str:
    ends = [found.end() for found in SENTENCE.finditer(said)]
    return said[ends[-1] :] if ends else said


def _is_somebody(who: str) -> bool:
    first = who.split(maxsplit=1)[0].casefold().rstrip(".")
    return first in {"i", "he", "she", "they", "we"} or len(who.split()) > 1 or first not in NO_NAMES_EN


def _is_object(sentence: str, at: int) -> bool:
    words = sentence[max(at - 30, 0) : at].split()
    return bool(words) and words[-1].casefold() in BEFORE_OBJECT_EN


def beats(text: str, begin: int, end: int, first: bool) -> Beside | None:
    """Who does something in a piece of narration: the subject of its first, or its last, sentence (English)."""
    start = begin if first else max(begin, end - NEAR)
    said = text[start : min(end, start + NEAR)]
    pieces = [0, *(found.end() for found in SENTENCE.finditer(said)), len(said)]
    at = pieces[0] if first else pieces[-2]
    sentence = said[at : pieces[1] if first else pieces[-1]]
    for one in WHO.finditer(sentence):
        if _is_somebody(one["who"]) and not _is_object(sentence, one.start()):
            return Beside(one["who"], start + at + one.start(), "beat", one.start() < 30)
    return None


def _in_chinese(there: Around, quote: Quote) -> Beside | None:
    before = there.before or there.lead
    begin = there.before_at if there.before else there.lead_at
    sentences = [0, *(found.end() for found in ZH_SENTENCE.finditer(before))]
    sentence = before[sentences[-1] :]
    if found := BEFORE_ZH.search(sentence):
        at, who = found.start("clause"), bare_zh(found["clause"])
        if not who:  # the subject stands in an earlier clause
            clauses = ((one.start(), one.group()) for one in re.finditer(r"[^，、：:\s]+", sentence[:at]))
            at, who = next(clauses, (at, ""))
            who = who[0] if re.match("[他她我](?!们)", who) else who
        if who:
            return Beside(who, begin + sentences[-1] + at, "verb")
    if (found := BEHIND_ZH.match(there.after)) and (who := bare_zh(found["clause"])):
        return Beside(who, there.after_at + found.start("clause"), "verb", not there.after.lstrip().startswith("的"))
    return None


def bare_zh(clause: str) -> str:
    """A clause before a verb of speech without what says how, and to whom; empty where it names nobody."""
    who, last = clause.strip(), ""
    while who != last:
        last = who
        who = re.split(f"(?<=.)[{TO_ZH}]", who, maxsplit=1)[0]
        for how in HOW_ZH:
            who = who.removesuffix(how)
    return who


def _in_korean(there: Around, quote: Quote) -> Beside | None:
    after = re.split(r"(?<=[.!?])\s", there.after.strip(), maxsplit=1)[0]
    offset = there.after_at + len(there.after) - len(there.after.lstrip())
    if _speaks_ko(after) and (found := subject_ko(after)):
        return Beside(found[0], offset + found[1], "verb")
    pieces = [0, *(one.end() for one in re.finditer(r"[.!?]\s+", there.before.rstrip()))]
    last = there.before[pieces[-1] :]
    if last.strip() and _speaks_ko(last) and (found := subject_ko(last)):
        # The sentence before names whoever speaks: 민수가 물었다. "…"
        return Beside(found[0], there.before_at + pieces[-1] + found[1], "verb")
    if there.lead and (found := subject_ko(there.lead)):
        return Beside(found[0], there.lead_at + found[1], "verb")
    return None


def _speaks_ko(sentence: str) -> bool:
    words = [one.strip('.,!?…"” ') for one in sentence.split()]
    return any(one in SPEECH_KO or one.removeprefix("라고").removeprefix("하고") in SPEECH_KO for one in words)


def subject_ko(sentence: str) -> tuple[str, int] | None:
    """Who does something in a Korean sentence, and where that stands in it."""
    for found in re.finditer(r"[가-힣]+", sentence):
        word = found.group()
        particle = next((one for one in SUBJECT_KO if word.endswith(one) and len(word) > len(one)), "")
        stem = word.removesuffix(particle) if particle else ""
        if stem and stem not in NO_NAMES_KO and word not in SPEECH_KO and not word.endswith(OBJECT_KO):
            return stem, found.start()
        if word in {"나는", "내가", "난", "저는", "제가"}:
            return word[0], found.start()
    return None


def narration(paragraph: Paragraph, quotes: Sequence[Quote], begins: Sequence[int]) -> list[tuple[int, int]]:
    """The pieces of a paragraph that no quotation takes; `begins`: where each of all quotations begins."""
    pieces, at = list[tuple[int, int]](), paragraph.begin
    for quote in quotes[bisect_left(begins, paragraph.begin) : bisect_left(begins, paragraph.end)]:
        pieces.append((at, quote.begin))
        at = quote.end
    return [one for one in (*pieces, (at, paragraph.end)) if one[1] - one[0] > 1]
