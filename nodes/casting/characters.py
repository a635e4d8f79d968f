"""Who is in texts, who of them is cast, and which parts of the texts are about that one."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from dramaturg.nodes.casting.people import people_in
from dramaturg.nodes.dialogues.cast import TITLES, letters_of, likely_meant, listed, spelling
from dramaturg.nodes.text.splitter import plain, sections
from dramaturg.stores.documents.forms import Language
from dramaturg.stores.errors import RoleError
from dramaturg.stores.texts.form import Scene, SourceText

LETTERS = re.compile(r"\w")
WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Letters beside which another word may stand: of Korean a particle."""


class Character(NamedTuple):
    """Who is cast."""

    name: str
    aliases: tuple[str, ...]
    """Other names that texts have for it."""


class Somebody(NamedTuple):
    """Somebody in texts, and how much of them."""

    name: str
    aliases: tuple[str, ...]
    lines: int
    """That they say; quotes in prose."""
    letters: int
    """Of what they say."""
    mentions: int
    """How often they are named."""


def everybody(texts: Iterable[SourceText], language: Language) -> list[Somebody]:
    """Return who is in some texts, who says most first; who is nowhere said to speak comes by how often they are named.

    In prose they are found by names beside quotes, in other forms by who heads a line.
    """
    found = dict[str, Somebody]()
    for text in texts:
        for one in people_of(text, language):
            before = found.get(spelling(one.name))
            found[spelling(one.name)] = joined(before, one) if before else one
    return sorted(found.values(), key=lambda one: (-one.lines, -one.mentions, one.name))


def people_of(text: SourceText, language: Language) -> list[Somebody]:
    """Return who is in a text, in no order."""
    if text.form == "prose":
        return [
            Somebody(one.name, tuple(one.aliases), one.quotes, 0, one.mentions)
            for one in people_in(text.text, language)
        ]
    lines = [line for scene in text.scenes for line in scene.lines if line.speaker]
    said, letters = Counter(line.speaker for line in lines), Counter[str]()
    for line in lines:
        letters[line.speaker] += len(LETTERS.findall(line.text))
    spellings = dict[str, list[str]]()
    for name in said:
        spellings.setdefault(spelling(name), []).append(name)
    return [
        Somebody(names[0], tuple(names[1:]), sum(said[one] for one in names), sum(letters[one] for one in names), 0)
        for names in spellings.values()
    ]


def joined(one: Somebody, other: Somebody) -> Somebody:
    """Two that are one person."""
    aliases = [name for name in (*one.aliases, other.name, *other.aliases) if name != one.name]
    counts = (one.lines + other.lines, one.letters + other.letters, one.mentions + other.mentions)
    return Somebody(one.name, tuple(dict.fromkeys(aliases)), *counts)


def the_character(
    name: str, aliases: Sequence[str], people: Sequence[Somebody], texts: Sequence[SourceText]
) -> Character:
    """Return who of the people has a name, or one of some aliases.

    A part of somebody's name, or more of it than texts say, means them where nobody else can be meant; and who is
    nowhere said to speak, as on a page about somebody, need only be named.

    Raises:
        RoleError: the texts have nobody of the name, or several who may be meant.
    """
    wanted = {*map(spelling, (name, *aliases))}
    found = [one for one in people if wanted & {*map(spelling, (one.name, *one.aliases))}]
    words = {*name.split()}
    parts = {one.name: {*one.name.split()} for one in people}
    able = [] if found else [one for one in people if parts[one.name] < words or words < parts[one.name]]
    if len(able) == 1:
        found = able
    elif found:  # Holmes is Sherlock Holmes, where nobody else has more of a name with it
        more = [without_titles(one.name) for one in people if one not in found]
        found += [
            one for one in people if parts[one.name] < words and not any(parts[one.name] < other for other in more)
        ]
    named = any(names_in(one.text, Character(name, ()), capitals=one.form == "script") for one in texts)
    if not found and (able or not named):
        where, names = ", ".join(one.name for one in texts), [one.name for one in able or people]
        near = likely_meant([name], names) if not able else names
        meant = f"did you mean {' or '.join(near[:3])}?" if near else f"who is there is {listed(names) or 'nobody'}."
        raise RoleError(f"Nobody in {where} is called {name!r}; {meant}")
    others = [other for one in found for other in (one.name, *one.aliases)]
    return Character(name, tuple(one for one in dict.fromkeys((*aliases, *others)) if one != name))


def without_titles(name: str) -> set[str]:
    """The words of a name that are no titles."""
    return {word for word in name.split() if letters_of(word) not in TITLES}


def until(texts: Iterable[SourceText], heading: str) -> list[SourceText]:
    """Return texts, each up to the first heading that has some words in it, whatever their case.

    A text without such a heading is read whole: of several texts one may have it.

    Raises:
        RoleError: none has it.
    """
    given, wanted = list(texts), spelling(heading)
    found = [_cut(one, wanted) if wanted else one for one in given]
    if wanted and all(one is None for one in found):
        names = ", ".join(one.name for one in given)
        raise RoleError(f"No heading of {names} has {heading!r} in it: name one that is there.")
    return [cut or whole for cut, whole in zip(found, given, strict=True)]


def _cut(text: SourceText, wanted: str) -> SourceText | None:
    """A text up to the heading with some words; None: it has no such heading."""
    lines = plain(text.text)
    begin = next((one.title for one in sections(lines)[1:] if wanted in spelling(one.headings[-1])), None)
    if begin is None:
        return None
    cut = next((at for at, scene in enumerate(text.scenes) if wanted in spelling(scene.title)), len(text.scenes))
    return text._replace(text=text.text[:begin].rstrip() + "\n", scenes=text.scenes[:cut])


def names_in(text: str, who: Character, *, capitals: bool = False) -> bool:
    """Whether a text names a character: as words where its script has spaces between them.

    Args:
        text: the text.
        who: the character.
        capitals: whether names may stand in capitals, as in scripts.
    """
    return bool(names_pattern(who, capitals=capitals).search(text))


def names_pattern(who: Character, *, capitals: bool = False) -> re.Pattern[str]:
    """What finds any of the names of a character in a text; see `names_in`."""
    names = {who.name, *who.aliases}
    names |= {one.upper() for one in names} if capitals else set()
    return re.compile("|".join(map(_as_words, sorted(filter(None, names), key=len, reverse=True))) or r"(?!)")


def _as_words(name: str) -> str:
    """What finds a name, and not the beginning of a longer one, where its script has spaces between words."""
    before, after = (
        "" if not one.isalnum() or WITHOUT_SPACES.match(one) else bound
        for one, bound in ((name[0], r"(?<!\w)"), (name[-1], r"(?!\w)"))
    )
    return f"{before}{re.escape(name)}{after}"


def scenes_with(texts: Iterable[SourceText], who: Character) -> list[tuple[SourceText, Scene]]:
    """Return the scenes in which a character speaks; each of its lines has its name then."""
    names = {*map(spelling, (who.name, *who.aliases))}
    found = []
    for text in texts:
        for scene in text.scenes:
            lines = tuple(
                line._replace(speaker=who.name) if spelling(line.speaker) in names else line for line in scene.lines
            )
            if any(line.speaker == who.name for line in lines):
                found.append((text, scene._replace(lines=lines)))
    return found


def place_in(text: SourceText, offset: int) -> str:
    """Where something stands in a text, in words: its heading, and in prose the line of its file as it was read."""
    heading = next((title for begin, title in reversed(headings_of(text.text)) if begin <= offset), "")
    line = f"line {text.text.count(chr(10), 0, offset) + 1}" if text.form == "prose" else ""
    return ", ".join(filter(None, [heading, line]))


@lru_cache(maxsize=32)  # each draft is asked where it is from
def headings_of(text: str) -> list[tuple[int, str]]:
    """Where the headings of a text begin, and what they say."""
    return [(one.title, one.headings[-1]) for one in sections(plain(text))[1:]]
