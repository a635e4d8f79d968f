"""The Project Dialogism Novel Corpus (Vishnubhotla et al. 2022): whole novels, and who says each quotation in them."""

import csv
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dramaturg.nodes.dialogues.cast import name_words, spelling
from dramaturg.stores.errors import RoleFileError

LOOKS = "a folder of github.com/Priya22/project-dialogism-novel-corpus, or one novel's folder in its data"
LICENCE = "The corpus names no licence; it is no part of this package"
TEXT, QUOTES, PEOPLE = "novel_text.txt", "quotation_info.csv", "character_info.csv"
NOBODY = frozenset({"_unknowable", "_group", "Unknowable"})
"""Speakers of quotations that no one person says: these are left out."""
FIELD = 10_000_000
"""Characters of a field, the longest of which is a list of all that is mentioned in a quotation."""


class GoldQuote(NamedTuple):
    """A quotation as the annotators have it."""

    spans: tuple[tuple[int, int], ...]
    """Where its pieces stand in the text, without marks."""
    speaker: str
    kind: str
    """Explicit, Anaphoric or Implicit: a name, another word, or nothing is next to it."""


class GoldNovel(NamedTuple):
    """A novel."""

    name: str
    text: str
    quotes: tuple[GoldQuote, ...]
    names: Mapping[str, str]
    """The character that a name means, by its spelling; names of several characters are not there."""
    words: Mapping[str, frozenset[str]]
    """The words of a character's names, titles aside."""
    narrator: str
    """Who says most of what "I" is next to; empty: nobody."""

    def character(self, names: Sequence[str]) -> str:
        """The character that the first known one of some names means; empty: none of them.

        The corpus does not list each name: one that it lacks is of whom alone has all of its words.
        """
        return next(filter(None, map(self._listed, names)), "") or next(filter(None, map(self._alone, names)), "")

    def _listed(self, name: str) -> str:
        plain = spelling(name)
        return self.names.get(plain) or self.names.get(f"the{plain}") or self.names.get(plain.removeprefix("the")) or ""

    def _alone(self, name: str) -> str:
        words = {*name_words(name)}
        able = [one for one, of in self.words.items() if words <= of]
        return able[0] if len(able) == 1 else ""


def novels_in(folder: Path) -> list[GoldNovel]:
    """Read the novels of a folder.

    Raises:
        RoleFileError: there are none, or one cannot be read.
    """
    found = sorted(one.parent for one in folder.glob(f"**/{QUOTES}"))
    if not found:
        raise RoleFileError(f"{folder.name} holds no novels with quotations: give {LOOKS}.")
    return [_novel(one) for one in found]


def _novel(folder: Path) -> GoldNovel:
    try:
        text = (folder / TEXT).read_bytes().decode()
        people, rows = list(_rows(folder / PEOPLE)), list(_rows(folder / QUOTES))
        names = _names(people)
        mains = {one["Main Name"] for one in people}
        quotes, by_narrator = list[GoldQuote](), Counter[str]()
        for one in rows:
            said_by = one["speaker"]
            # Some speakers stand in the table of quotations under another of their names.
            speaker = said_by if said_by in mains else names.get(spelling(said_by), said_by)
            if said_by in NOBODY:
                continue
            spans = tuple((int(begin), int(end)) for begin, end in literal_eval(one["quoteByteSpans"]))
            quotes.append(GoldQuote(spans, speaker, one["quoteType"]))
            if re.search(r"\bI\b", one["referringExpression"]):
                by_narrator[speaker] += 1
    except (OSError, UnicodeDecodeError, KeyError, ValueError, SyntaxError, TypeError, csv.Error) as error:
        raise RoleFileError(f"{folder.name} is no novel of the corpus ({error}): give {LOOKS}.") from error
    aliases = {one["Main Name"]: " ".join([one["Main Name"], *literal_eval(one["Aliases"])]) for one in people}
    words = {one: frozenset(name_words(of)) for one, of in aliases.items()}
    narrator = by_narrator.most_common(1)[0][0] if by_narrator else ""
    return GoldNovel(folder.name, text, tuple(quotes), names, words, narrator)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    limit = csv.field_size_limit(FIELD)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
    finally:
        csv.field_size_limit(limit)


def _names(people: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    found = dict[str, set[str]]()
    for one in people:
        for name in (one["Main Name"], *literal_eval(one["Aliases"])):
            found.setdefault(spelling(name), set()).add(one["Main Name"])
    return {name: next(iter(of)) for name, of in found.items() if len(of) == 1}
