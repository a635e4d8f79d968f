"""Who is in a prose text: names found by verbs of speech and titles, each person's names joined by rules."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import NamedTuple

from dramaturg.nodes.casting.beside import CAPITAL, NAME, Beside, beside
from dramaturg.nodes.casting.quotes import Paragraph, Quote, paragraphs_in, quotes_in
from dramaturg.nodes.casting.words import (
    CALLED_KO,
    CALLED_ZH,
    FIRST_PERSON,
    NICKNAMES_EN,
    NO_NAMES_EN,
    NO_NAMES_KO,
    NO_NAMES_ZH,
    PRONOUNS_EN,
    PRONOUNS_KO,
    PRONOUNS_ZH,
    RELATIVES_EN,
    SURNAMES_KO,
    SURNAMES_ZH,
    TITLES_EN,
    Gender,
)
from dramaturg.stores.documents.forms import Language

SENTENCE_ON = re.compile(r"(?:[a-z,;]|,[’'”\"]) $")
WORD = re.compile(r"[^\W\d_][\w’'-]*")
NAMES = re.compile(rf"(?<![\w’'-]){NAME}")
CALL = re.compile(
    rf"(?:^|[,;.!?—–-]\s*|\b(?:[Dd]ear|[Oo]h|[Mm]y|[Yy]es|[Nn]o|[Ww]ell),?\s)(?P<who>{NAME})(?=[,.!?;—]|$)"
)
"""Somebody who is spoken to by name."""
APPOSITION = re.compile(
    rf"(?<![\w’'-])(?:(?P<name>{NAME}),\s(?P<called>[Tt]he(?:\s[\w’'-]+){{1,3}})"
    rf"|(?P<before>[Tt]he(?:\s[\w’'-]+){{1,3}}),\s(?P<after>{NAME}))(?=[.;:!?—)]|,(?!\s(?:and|or)\b))"
)
"""Who is called something beside their name: not in a list of several."""
DECORATION = frozenset({"dear", "poor", "little", "old", "young"})
NEAR_END = re.compile(r"[.!?“”\"]|(?<=[ ,])[A-Z][a-z]")
"""A sentence ends, or another name begins."""
PRONOUN_NEAR = re.compile(r"\b(he|him|himself|his|she|her|herself|hers)\b")
NEAR = 60
"""Characters after a name in which a pronoun may mean it."""
MOST, SPEAKERS = 500, 2_000
"""Names that are joined, and of those beside Chinese quotations that are looked at: the most frequent ones."""
SELDOM = 1
"""Mentions of somebody who speaks nowhere, up to which that may be none."""
RARE = 10
"""How many times more often Mr. Darcy stands than Mr. Fitzwilliam Darcy where that is one."""
SURE = 0.65
"""Share of pronouns from which on they tell a gender."""
OFTEN = 20
"""A name is not rare where a person has it once in so many mentions."""
LONG = 5
"""Words of a description from which on it is none of somebody."""
OF_FIRST_NAMES = frozenset(("Miss", "Lady", "Sir", "Master", "Uncle", "Aunt", "Cousin", "Brother", "Sister", "Prince"))
"""Titles that stand before a first name alone."""
WOMEN = frozenset(("Mrs", "Miss", "Lady"))
POSSESSED = re.compile(r"(?:his|her|my|their|our)\b", re.IGNORECASE)
PLACES = frozenset(("Lodge", "House", "Hall", "Park", "Street", "Square", "Road", "Abbey", "Castle", "Lane", "Court"))
NEVER_SPEAKERS = frozenset(("other", "others", "one", "voice", "former", "latter", "first", "crowd", "people"))


class Person(NamedTuple):
    """Somebody in a text."""

    name: str
    """The fullest of the names."""
    aliases: tuple[str, ...]
    """The others, the most frequent first."""
    mentions: int
    """How often one of the names stands in the text."""
    quotes: int
    """How often one stands with a verb of speech beside a quotation."""
    gender: Gender = ""


class Form(NamedTuple):
    """A name as it stands in an English text: its title, and its words."""

    title: str
    words: tuple[str, ...]

    @property
    def spelled(self) -> str:
        """As it is written."""
        title = f"{self.title}." if self.title in {"Mr", "Mrs", "Dr", "Ms", "St", "Rev"} else self.title
        return " ".join(filter(None, (title, *self.words)))

    @property
    def gender(self) -> Gender:
        """That of its title."""
        return TITLES_EN.get(self.title.casefold(), "")


class Prose(NamedTuple):
    """A text with what is found in it before anybody is known: paragraphs, quotations, and who is named at them."""

    text: str
    language: Language
    paragraphs: Sequence[Paragraph]
    quotes: Sequence[Quote]
    beside: Sequence[Beside | None]


def read_prose(text: str, language: Language) -> Prose:
    """Take a prose text apart."""
    paragraphs = paragraphs_in(text)
    quotes = quotes_in(text, paragraphs)
    found = [beside(text, paragraphs, quotes, at, language) for at in range(len(quotes))]
    return Prose(text, language, paragraphs, quotes, found)


class People:
    """The persons of a text, and whom a name means.

    Args:
        prose: the text.
    """

    def __init__(self, prose: Prose) -> None:
        self.language = prose.language
        self.known: dict[str, Person] = {}
        self._by_name: dict[str, str] = {}
        find = {"en": _english, "zh": _chinese, "ko": _korean}[prose.language]
        for person in sorted(find(prose), key=lambda one: (-one.quotes, -one.mentions, one.name)):
            self.known.setdefault(person.name, person)
            for name in (person.name, *person.aliases):
                self._by_name.setdefault(_key(name), person.name)

    def named(self, who: str) -> str:
        """The person whom words mean, such as `Mr. Silver`, `the captain`, 黛玉; empty: nobody who is known."""
        if found := self._by_name.get(_key(who)):
            return found
        if self.language != "en":
            inside = [name for name in self._by_name if who.startswith(name) or (len(name) > 1 and who.endswith(name))]
            return self._by_name[max(inside, key=len)] if inside else ""
        if who[:4].casefold() == "the ":
            said = who.split()
            shorter = (_key(" ".join(said[:n])) for n in range(len(said) - 1, 1, -1))
            if found := next((self._by_name[one] for one in shorter if one in self._by_name), ""):
                return found
        for form in forms_in(who):
            words = form.words
            tries = [form, Form("", words), *(Form(form.title, words[-n:]) for n in range(1, len(words)))]
            tries += [Form("", words[:n]) for n in range(len(words) - 1, 0, -1)]
            for one in tries:
                if found := self._by_name.get(_key(one.spelled)):
                    return found
        return ""

    def gender(self, name: str) -> Gender:
        """That of a person, as far as the text tells."""
        return self.known[name].gender if name in self.known else ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any name, where there are no spaces around them."""
        names = sorted(self._by_name, key=len, reverse=True)
        first = re.escape("".join({name[0] for name in names}))
        # The look ahead spares most places in the text to try each name.
        return re.compile(f"(?=[{first}])(?:{'|'.join(map(re.escape, names))})" if names else r"(?!)")


def people_in(text: str, language: Language) -> list[Person]:
    """Find who is in a prose text, whoever speaks most first.

    Whoever is named with a verb of speech beside a quotation, has a title or is called by name is a person; names are
    joined where only one person can be meant: `Long John Silver`, `Silver` and `Mr. Silver`, but not two Bennets.

    Args:
        text: Markdown.
        language: "en", "zh" or "ko".
    """
    return list(People(read_prose(text, language)).known.values())


def _key(name: str) -> str:
    return " ".join(name.replace("’", "'").replace(".", "").casefold().split())


def forms_in(said: str) -> Iterator[Form]:
    """The names in a piece of English, without what is a decoration of them."""
    for found in NAMES.finditer(said):
        yield from _forms_of(found.group())


def _forms_of(said: str) -> Iterator[Form]:
    title, words = "", list[str]()
    for word in re.findall(rf"{CAPITAL}\.?|de|von|van|du|la|le|der|the", said):
        plain = re.sub(r"[’']s?$", "", word.rstrip("."))
        if plain.casefold() in TITLES_EN and not words:
            title = "" if plain.casefold() in DECORATION else plain
        elif plain.casefold() in NO_NAMES_EN:
            if words:
                yield Form(title, tuple(words))
            title, words = "", []
        elif plain:
            words.append(plain)
    while words and words[-1].islower():
        words.pop()
    if words:
        yield Form(title, tuple(words))


def _english(prose: Prose) -> Iterator[Person]:
    """Names that speak, have a title or are called, joined; and whoever speaks without a name."""
    proper = Proper(prose)
    where = defaultdict[Form, list[int]](list)
    for begin, end, heading in prose.paragraphs:
        for found in () if heading else NAMES.finditer(prose.text, begin, end):
            for form in proper.forms(found.group()):
                where[form].append(found.end())
    counts = Counter({form: len(ends) for form, ends in where.items()})
    spoken = Counter(form for one in prose.beside if one for form in _naming(one.who, proper))
    calls = (found["who"] for quote in prose.quotes for found in CALL.finditer(quote.text))
    called = Counter(form for who in calls for form in proper.forms(who))
    genders = {form: form.gender or _pronouns_after(prose.text, ends) for form, ends in where.items()}
    forms = _of_persons(counts, {form for form in counts if spoken[form] or form.title or called[form] > 1})
    told = [one.who for one in prose.beside if one and one.strong]
    described = Counter(_described(who) for who in told if not [*proper.forms(who)])
    without_name = {name: times for name, times in described.items() if name and times > 1}
    groups = _joined(forms, counts, genders)
    beside = _in_apposition(prose.text)
    called_so = _joined_by_apposition(groups, told, beside, proper, genders)
    of_form = {form: at for at, group in enumerate(groups) for form in group}
    meant = defaultdict[int, list[str]](list)
    for name in without_name:
        if len(of := {of_form.get(form, -1) for form in beside[name]}) == 1:
            meant[of.pop()].append(name)
    for at, group in enumerate(groups):
        times, gender = sum(spoken[form] for form in group), _of_all(genders[form] for form in group)
        also = [name for name in meant[at] if {gender, _relative(name)} != {"f", "m"}]
        times += sum(without_name.pop(name) for name in also)
        known = gender and any(form.title or called[form] for form in group)
        if times or (known and sum(counts[form] for form in group) > SELDOM):
            one = _person([form for form in group if form not in called_so] or group, counts, times, gender)
            more = [form.spelled for form in group if form.spelled not in (one.name, *one.aliases)]
            yield one._replace(aliases=(*one.aliases, *more, *also), mentions=sum(counts[form] for form in group))
    for name, times in without_name.items():
        yield Person(name, (), times, times, _relative(name))


def _relative(name: str) -> Gender:
    """Whether somebody without a name is called what a woman or a man is."""
    return RELATIVES_EN.get(name.rsplit(maxsplit=1)[-1], "")


def _joined_by_apposition(
    groups: list[list[Form]],
    told: Iterable[str],
    beside: dict[str, set[Form]],
    proper: "Proper",
    genders: dict[Form, Gender],
) -> set[Form]:
    """Join names that stand behind "the", as "the Jew", with those beside which they stand; return all of the kind."""
    alone = {group[0]: group for group in groups if len(group) == 1}
    called_so = {form: who for who in {*told} if who[:4] == "the " for form in _naming(who, proper) if form in alone}
    for form, who in called_so.items():
        of = beside[_key(who)] - {form}
        if found := [group for group in groups if of and of <= {*group} and _agree(form, group, genders)]:
            groups.remove(alone[form])
            found[0].append(form)
    return {*called_so}


def _in_apposition(text: str) -> dict[str, set[Form]]:
    """What a text calls people beside their names, `Hale, the inspector,` or `the inspector, Hale,`, with the names."""
    found = defaultdict[str, set[Form]](set)
    for one in APPOSITION.finditer(text):
        if (called := one["called"] or one["before"]) and (name := one["name"] or one["after"]):
            found[_key(called)].update(forms_in(name))
    return found


class Proper:
    """Which capitals of a text begin names: not those of words that are as often written small."""

    def __init__(self, prose: Prose) -> None:
        self.usual = usual_words(prose.text)
        told = (one for one in prose.beside if one and one.strong and re.fullmatch(NAME, one.who))
        certain = Counter(form for one in told for form in _forms_of(one.who) if len(form.words) == 1 or form.title)
        self.certain = {form for form, times in certain.items() if times > 1}

    def forms(self, said: str) -> Iterator[Form]:
        """The names in a piece of text."""
        for form in forms_in(said):
            words = list(form.words)
            while words and words[0].casefold() in self.usual and not form.title and form not in self.certain:
                del words[0]
            if words and not words[0].islower() and not (len(words) > 1 and words[-1] in PLACES):
                yield Form(form.title, tuple(words))


def _naming(who: str, proper: Proper) -> list[Form]:
    """The name that words beside a quotation are: `the White Rabbit`, but not `his sister Ann`."""
    return [] if POSSESSED.match(who) else [*proper.forms(who)][:1]


def _described(who: str) -> str:
    """What somebody without a name is called: `the landlady`; empty: that is nobody."""
    words = who.casefold().split()
    return " ".join(words) if words[0] == "the" and len(words) < LONG and words[-1] not in NEVER_SPEAKERS else ""


def _of_persons(counts: Counter[Form], evident: set[Form]) -> list[Form]:
    """The forms that are of persons, the most frequent first: also full names of which a part is."""
    shared = {word for form in evident for word in form.words if not word.islower()}
    full = {form for form in counts if len(form.words) > 1 < counts[form] and {form.words[0], form.words[-1]} & shared}
    # A name that is told in full once is somebody's who is called by the first of its words, and by no other full name.
    first = {form.words[0] for form in evident if len(form.words) == 1 and not form.title}
    begun = Counter(form.words[0] for form in counts if len(form.words) > 1)
    full |= {form for form in counts if len(form.words) > 1 == begun[form.words[0]] and form.words[0] in first}
    return [form for form, _ in counts.most_common() if form in evident or form in full][:MOST]


def _person(forms: Sequence[Form], counts: Counter[Form], quotes: int, gender: Gender) -> Person:
    """Put a person together; the fullest form that is not rare is its name."""
    mentions = sum(counts[form] for form in forms)
    often = [form for form in forms if counts[form] * OFTEN > mentions]
    name = max(often or forms, key=lambda form: (len(form.words), counts[form])).spelled
    ordered = (form.spelled for form in sorted(forms, key=lambda form: -counts[form]))
    return Person(name, tuple(one for one in dict.fromkeys(ordered) if one != name), mentions, quotes, gender)


def usual_words(text: str) -> set[str]:
    """Words that begin with a capital only where a sentence begins, or are written small as often."""
    small, capital = Counter[str](), Counter[str]()
    for found in WORD.finditer(text):
        word = found.group()
        if word[0].islower():
            small[word] += 1
        elif SENTENCE_ON.search(text, max(found.start() - 3, 0), found.start()):
            capital[re.sub(r"[’']s$", "", word).casefold()] += 1
    usual = {word for word, times in small.items() if times >= capital[word]}
    return usual | NO_NAMES_EN


def _pronouns_after(text: str, ends: Sequence[int]) -> Gender:
    """The gender of the pronouns that stand behind a name, before another name and the end of the sentence."""
    tally = Counter[Gender]()
    for end in ends[:MOST]:
        near = NEAR_END.split(text[end : end + NEAR], maxsplit=1)[0]
        if found := PRONOUN_NEAR.search(near):
            tally["f" if found.group().startswith(("she", "her")) else "m"] += 1
    return _sure(tally)


def _sure(tally: Counter[Gender]) -> Gender:
    both = tally.total()
    return next((one for one, times in tally.items() if both > 1 and times >= SURE * both), "")


def _of_all(genders: Iterable[Gender]) -> Gender:
    found = Counter[Gender](one for one in genders if one)
    return found.most_common(1)[0][0] if found else ""


def _joined(forms: Sequence[Form], counts: Counter[Form], genders: dict[Form, Gender]) -> list[list[Form]]:
    """Put the forms of one person's name together, where only one person can be meant."""
    groups = list[list[Form]]()
    full = [form for form in forms if len(form.words) > 1]
    for form in sorted(full, key=lambda one: (-len(one.words), -counts[one])):
        alike = [group for group in groups if any(map(partial(_alike, form), group)) and _agree(form, group, genders)]
        if len(alike) == 1:
            alike[0].append(form)
        else:
            groups.append([form])
    whole = list(groups)
    single = [form for form in forms if len(form.words) == 1]
    for form in sorted((one for one in single if one.title), key=lambda one: -counts[one]):
        word = form.words[0]
        # Mr. John Knightley is not Mr. Knightley: who has a title with both names lacks it with one.
        able = [
            group
            for group in whole
            if _agree(form, group, genders)
            and (
                (_last(group) == word and not _has_title_with_both(form, group, counts))
                or (form.title in OF_FIRST_NAMES and (_first(group) == word or _nickname(word, _first(group))))
            )
            and (form.title != "Mrs" or any(one.title == "Mrs" for one in group))
        ]
        if len(able) == 1:
            able[0].append(form)
        else:
            groups.append([form])
    for form in sorted((one for one in single if not one.title), key=lambda one: -counts[one]):
        word = form.words[0]
        called = [group for group in whole if word != _last(group) and any(one.words == (word,) for one in group)]
        first = called or [group for group in whole if _first(group) == word]
        last = [group for group in groups if _last(group) == word]
        own = [group for group in last if not {one.title for one in group} & WOMEN]
        short = [
            group
            for group in whole
            if _nickname(word, _first(group)) and not {one.title for one in group} & {"Lady", "Sir"}
        ]
        agreeing = ([group for group in some if _agree(form, group, genders)] for some in (first, own, last, short))
        able = next(filter(None, agreeing), [])
        if len(able) == 1:
            able[0].append(form)
        else:
            groups.append([form])
    return groups


def _alike(short: Form, long: Form) -> bool:
    """Whether a full name leaves out words of another, John Silver of Long John Silver, or has a short first name."""
    left = iter(long.words)
    same_last = short.words[-1] == long.words[-1]
    return same_last and (all(word in left for word in short.words) or _nickname(short.words[0], long.words[0]))


def _has_title_with_both(form: Form, group: Sequence[Form], counts: Counter[Form]) -> bool:
    """Whether a person has a title with both names, and so is not who has it with the last one alone."""
    both = sum(counts[one] for one in group if one.title == form.title and len(one.words) > 1)
    return both * RARE > counts[form] if form.title == "Mr" else both > 0


def _agree(form: Form, group: Sequence[Form], genders: dict[Form, Gender]) -> bool:
    """Whether a form may be of a person: neither another gender nor another of the titles of one gender."""
    gender, of = genders[form], _of_all(genders[one] for one in group)
    titles = {one.title for one in (form, *group)} & {"Mrs", "Miss"}
    return (not gender or not of or gender == of) and len(titles) < 2


def _first(group: Sequence[Form]) -> str:
    return group[0].words[0]


def _last(group: Sequence[Form]) -> str:
    return group[0].words[-1]


def _nickname(one: str, other: str) -> bool:
    return any({one.casefold(), other.casefold()} <= {*names} for names in NICKNAMES_EN)


def _chinese(prose: Prose) -> Iterable[Person]:
    said = Counter(one.who for one in prose.beside if one and re.fullmatch(r"[\u3400-\u9fff·]{2,6}", one.who))
    spoken = {
        who: n
        for who, n in said.most_common(SPEAKERS)
        if _may_be_name(who, NO_NAMES_ZH, PRONOUNS_ZH) and (n > 1 or prose.text.count(who) > 1)
    }
    # What begins with a name that speaks more often says what else that one does.
    names = {
        who: n for who, n in spoken.items() if not any(spoken.get(who[:end], 0) >= n for end in range(2, len(who)))
    }
    yield from _without_spaces(prose.text, names, SURNAMES_ZH, CALLED_ZH, PRONOUNS_ZH)


def _korean(prose: Prose) -> Iterable[Person]:
    spoken = Counter(one.who for one in prose.beside if one)
    names = {who: n for who, n in spoken.items() if _may_be_name(who, NO_NAMES_KO, PRONOUNS_KO) and 1 < len(who) < 7}
    yield from _without_spaces(prose.text, names, SURNAMES_KO, CALLED_KO, PRONOUNS_KO)


def _may_be_name(who: str, none: frozenset[str], pronouns: Iterable[str]) -> bool:
    return who not in none and who not in pronouns and not any(who.startswith(one) for one in none if len(one) > 1)


def _without_spaces(
    text: str, spoken: dict[str, int], surnames: str, called: dict[str, Gender], pronouns: dict[str, Gender]
) -> Iterator[Person]:
    """Persons by names in which the surname stands first, and which what they are called follows."""
    fuller = dict[str, str]()
    spoken = dict(Counter(spoken).most_common(MOST))
    for name in spoken:
        before = Counter(text[at - 1] for at in (one.start() for one in re.finditer(re.escape(name), text)) if at)
        surname, times = next(((sign, n) for sign, n in before.most_common() if sign in surnames), ("", 0))
        if (
            len(name) == 2
            and name[0] not in surnames
            and name not in called
            and (times > 1 or times * 3 >= before.total())
        ):
            fuller[name] = surname + name
    full = {*fuller.values(), *(name for name in spoken if len(name) > 2 and name[0] in surnames)}
    groups = defaultdict[str, list[str]](list)
    for name in dict.fromkeys([*full, *spoken]):
        ends = [one for one in full if one != name and one.endswith(name) and len(name) > 1]
        suffix = next((one for one in called if name.endswith(one) and len(name) > len(one)), "")
        bare = name.removesuffix(suffix).strip()
        of = [
            one
            for one in full
            if suffix
            and one != name
            and (one == bare or one.endswith(bare) or (len(bare) == 1 and one[0] == bare and not _called(one, called)))
        ]
        able = [fuller[name]] if name in fuller else ends or of
        groups[able[0] if len(able) == 1 else name].append(name)
    for name, names in groups.items():
        given = name[1:] if name in full and len(name) > 2 else ""
        alone = given and sum(one.endswith(given) for one in full) == 1 and text.count(given) > text.count(name)
        aliases = [*dict.fromkeys(one for one in (*names, given if alone else name) if one != name)]
        all_names = [name, *aliases]
        yield Person(
            name,
            tuple(aliases),
            sum(text.count(one) for one in all_names if not any(part in one for part in all_names if part != one)),
            sum(spoken.get(one, 0) for one in all_names),
            _of_all(_called(one, called) for one in all_names) or _pronouns_near(text, name, pronouns),
        )


def _called(name: str, called: dict[str, Gender]) -> Gender:
    return next((gender for one, gender in called.items() if name.endswith(one)), "")


def _pronouns_near(text: str, name: str, pronouns: dict[str, Gender]) -> Gender:
    """The gender of the first pronouns behind a name."""
    pattern = re.compile("|".join(sorted(pronouns, key=len, reverse=True)))
    ends = islice((found.end() for found in re.finditer(re.escape(name), text)), MOST)
    near = (pattern.search(text, end, end + NEAR) for end in ends)
    return _sure(Counter(pronouns[found.group()] for found in near if found))


def is_pronoun(who: str, language: Language) -> Gender | None:
    """The gender of a pronoun of a third person; None: it is none."""
    table = {"en": PRONOUNS_EN, "zh": PRONOUNS_ZH, "ko": PRONOUNS_KO}[language]
    return table.get(who.casefold())


def is_narrator(who: str, language: Language) -> bool:
    """Whether words mean whoever tells the text."""
    return who.casefold() in FIRST_PERSON[language]
