"""Short answers compared with right ones by their words, as LoCoMo does (Maharana et al. 2024, `task_eval`)."""

import re
import sqlite3
import string
from collections import Counter
from contextlib import closing
from functools import lru_cache
from statistics import fmean

UNKNOWN = ("no information available", "not mentioned")
"""With one of these a reply says that there is no answer."""
_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def token_f1(reply: str, answer: str) -> float:
    """The harmonic mean of precision and recall of the stems that both have; articles and punctuation do not count."""
    said, right = Counter(stems(reply)), Counter(stems(answer))
    same = (said & right).total()
    return 2 * same / (said.total() + right.total()) if same else 0.0


def several_f1(reply: str, answers: str) -> float:
    """For each of several answers, with commas between them, the part of the reply that is nearest; their mean."""
    parts = reply.split(",")
    return fmean(max(token_f1(part, answer) for part in parts) for answer in answers.split(","))


def says_unknown(reply: str) -> bool:
    """Whether it says that there is no answer."""
    return any(one in reply.lower() for one in UNKNOWN)


@lru_cache(maxsize=10_000)
def stems(text: str) -> tuple[str, ...]:
    """The stems of the words, by Porter's algorithm as SQLite has it; LoCoMo has NLTK's, which differs for few."""
    plain = _ARTICLES.sub(" ", text.replace(",", "").lower().translate(_PUNCTUATION))
    with closing(sqlite3.connect(":memory:")) as words:
        words.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize='porter unicode61')")
        words.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(said, 'instance')")
        words.execute("INSERT INTO said VALUES (?)", (plain,))
        return tuple(term for (term,) in words.execute("SELECT term FROM terms ORDER BY offset"))
