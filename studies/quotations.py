"""Who says what in prose: quotations that are found, and whose speakers are told, beside those of a published corpus.

The Project Dialogism Novel Corpus (Vishnubhotla et al. 2022), read from folders of the user's.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from dramaturg.evaluation.metrics.intervals import cluster_interval
from dramaturg.nodes.casting.asked import Stretch, ask_speakers, cost_of, stretches_of
from dramaturg.nodes.casting.attribution import Attribution
from dramaturg.nodes.casting.people import People, read_prose
from dramaturg.nodes.casting.quotes import Quote
from dramaturg.nodes.casting.words import NARRATOR
from dramaturg.stores.documents.forms import Language
from studies.datasets.pdnc import LICENCE, LOOKS, GoldNovel, GoldQuote, novels_in
from studies.study import (
    Bench,
    Cell,
    Study,
    StudyCost,
    StudyFindings,
    StudyTable,
    spaced,
)

LANGUAGE: Language = "en"
"""Of the corpus."""
UNIT = "novel"
NAMES_READ = """
AHandfulOfDust APassageToIndia ARoomWithAView AlicesAdventuresInWonderland AnneOfGreenGables Emma HowardsEnd NightAndDay
OliverTwist PrideAndPrejudice TheAgeOfInnocence TheGambler TheManWhoWasThursday TheMysteriousAffairAtStyles
ThePictureOfDorianGray TheSportOfTheGods WhereAngelsFearToTread
"""
READ = frozenset(NAMES_READ.split())
"""Novels that were read while the rules were written: every other one, by name, and three more."""
PUBLISHED = (
    "Published figures on the corpus, accuracy over all quotations (Vishnubhotla et al. 2023, Improving Automatic "
    "Quotation Attribution in Literary Novels, ACL, arXiv 2307.03734, Table 3): BookNLP, which finds its characters "
    "itself as is done here, 0.40; BookNLP+, which chooses among mentions whose character is known, 0.62, with 0.93 of "
    "explicit quotations. They are given here as later works cite the table."
)


class QuotationsSettings(BaseModel):
    """What is measured beside the rules."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: bool = Field(default=False, description="Have the chat model asked who says what rules leave open.")
    questions: int = Field(
        default=0, ge=0, description="So many questions a novel, evenly spaced over it; 0: all that there are."
    )


class Judged(NamedTuple):
    """A quotation of the corpus, and what was said of it."""

    kind: str
    found: bool
    """Whether a quotation of ours holds each piece of it."""
    how: str
    """What has told the speaker; empty: nothing."""
    right: bool


class Novel(NamedTuple):
    """What was found in a novel."""

    name: str
    quotes: tuple[Judged, ...]
    ours: int
    """How many quotations were found."""
    theirs: int
    """How many of them the corpus has."""
    asked: tuple[Judged, ...] = ()
    """Those of which the chat model was asked."""
    unanswered: int = 0
    """Questions without a usable answer."""


class Attributed(NamedTuple):
    """A novel with the quotations that were found in it."""

    gold: GoldNovel
    people: People
    quotes: list[Quote]

    def judged(self, gold: GoldQuote, quotes: Sequence[Quote], begins: Sequence[int]) -> Judged:
        """Hold a quotation of the corpus against those that were found; its first piece says who speaks."""
        there = [_at(one, quotes, begins) for one in gold.spans]
        first = there[0]
        right = bool(first and first.speaker) and self.character(first.speaker if first else "") == gold.speaker
        return Judged(gold.kind, all(there), first.how if first else "", right)

    def character(self, speaker: str) -> str:
        """The corpus's character that a person of ours is: by the first of the person's names that it has."""
        if speaker == NARRATOR[LANGUAGE]:
            return self.gold.narrator
        person = self.people.known.get(speaker)
        return self.gold.character((person.name, *person.aliases) if person else (speaker,))


def _at(span: tuple[int, int], quotes: Sequence[Quote], begins: Sequence[int]) -> Quote | None:
    place = bisect_right(begins, span[0]) - 1
    return quotes[place] if place >= 0 and quotes[place].end >= span[1] else None


def check(bench: Bench) -> list[GoldNovel]:
    """Read the novels.

    Raises:
        ValueError: there are no folders.
    """
    if not bench.files:
        raise ValueError(f"The study quotations needs a folder: python -m studies quotations FOLDER, with {LOOKS}.")
    return [one for path in bench.files for one in novels_in(path)]


def by_rules(gold: GoldNovel) -> Attributed:
    """Attribute the quotations of a novel by rules alone."""
    prose = read_prose(gold.text, LANGUAGE)
    people = People(prose)
    return Attributed(gold, people, list(Attribution(prose, people).quotes()))


def asked_of(one: Attributed, own: QuotationsSettings) -> list[Stretch]:
    """What the chat model would be asked."""
    stretches = stretches_of(one.gold.text, one.quotes, list(one.people.known.values()))
    return spaced(stretches, own.questions) if own.questions else stretches


async def records(bench: Bench) -> list[Novel]:
    """Attribute the quotations of each novel, by rules and, if that is wished for, by the chat model."""
    own = QuotationsSettings.model_validate(dict(bench.settings))
    novels, found = check(bench), list[Novel]()
    told = bench.told("quotations", len(novels))
    for gold in novels:
        one = await asyncio.to_thread(by_rules, gold)
        begins = [quote.begin for quote in one.quotes]
        judged = tuple(one.judged(quote, one.quotes, begins) for quote in gold.quotes)
        asked, unanswered = tuple[Judged, ...](), 0
        if own.ask:
            asked, unanswered = await by_model(one, own, bench)
        found.append(Novel(gold.name, judged, len(one.quotes), theirs(one), asked, unanswered))
        told.step()
    return found


async def by_model(one: Attributed, own: QuotationsSettings, bench: Bench) -> tuple[tuple[Judged, ...], int]:
    """The quotations of the corpus of which the chat model is asked, with what it says."""
    stretches = asked_of(one, own)
    told = bench.told(f"quotations, {one.gold.name}", len(stretches))
    answer = await ask_speakers(bench.chat(LANGUAGE), one.quotes, stretches, language=LANGUAGE, announce=told.reach)
    asked = {one.quotes[at].begin for stretch in stretches for at in stretch.quotes}
    begins = [quote.begin for quote in one.quotes]
    places = ((quote, _at(quote.spans[0], one.quotes, begins)) for quote in one.gold.quotes)
    of = [quote for quote, at in places if at and at.begin in asked]
    return tuple(one.judged(quote, answer.quotes, begins) for quote in of), len(answer.failed)


def theirs(one: Attributed) -> int:
    """How many of our quotations hold, or are in, one of the corpus; those that nobody says count as the corpus's."""
    spans = sorted(span for quote in one.gold.quotes for span in quote.spans)
    begins = [begin for begin, _ in spans]

    def is_theirs(quote: Quote) -> bool:
        near = spans[max(bisect_left(begins, quote.begin) - 1, 0) : bisect_left(begins, quote.end)]
        return any(begin < quote.end and quote.begin < end for begin, end in near)

    return sum(map(is_theirs, one.quotes))


def findings(records: Sequence[Novel]) -> StudyFindings:
    """The numbers of each novel, and of those that were read while the rules were written apart from the others."""
    groups = {
        "others": [one for one in records if one.name not in READ],
        "read": [one for one in records if one.name in READ],
    }
    groups = {name: of for name, of in groups.items() if of}
    tables = [novels_table(groups), *kinds_tables(groups), how_table(groups)]
    asked = [one for one in records if one.asked]
    if asked:
        tables.append(asked_table(asked))
    unanswered = sum(one.unanswered for one in records)
    return StudyFindings(
        tables=tuple(tables),
        how=(
            "Quotations of whole novels are found, and their speakers told, by the rules of nodes/casting, which find "
            "the people themselves: no list of characters is given, and no chat model is asked. Found: a quotation of "
            "ours holds each piece of the corpus's. In the corpus: the share of ours that are the corpus's. Told: the "
            "share of the corpus's quotations that have a speaker of ours. Right when told: the share of those whose "
            "speaker is the corpus's. Right: the share of all.",
            "A person of ours is the corpus's character that has the first of the person's names that the corpus lists "
            "for one character alone; where it lists none of them, the one whose names alone have all words of one of "
            "them (it lists Hercule Poirot, and not Poirot). Whoever says I in the narration is the one who says most "
            "of what an I is next to. What the corpus gives to a group, or to nobody who can be known, is left out.",
            f"Read: {len(READ)} novels, every other one by name and three more, whose errors were looked at while the "
            "rules were written. Others: the rest, of which no more than scores were seen meanwhile. Intervals are "
            f"over {UNIT}s.",
            PUBLISHED,
            *(
                (
                    "Asked: the first quotation of each paragraph that the rules leave open, several in a question, "
                    f"with up to twelve people to choose from. {unanswered} questions have no usable answer: their "
                    "quotations count as not told.",
                )
                if asked
                else ()
            ),
        ),
        limits=(
            "The published figures are of the corpus as it was, with 22 novels, and of its authors' way to hold names "
            "against characters: a difference of a few hundredths says nothing.",
            "Novels in English of 1811 to 1937. Nothing is known from these about Chinese or Korean prose, nor about "
            "speech without marks.",
            f"{LICENCE}.",
        ),
    )


def _columns(of: Sequence[Novel]) -> tuple[Cell, ...]:
    quotes = {one.name: one.quotes for one in of}
    return (
        sum(map(len, quotes.values())),
        _share({name: [one.found for one in all_of] for name, all_of in quotes.items()}),
        _share({one.name: [1.0] * one.theirs + [0.0] * (one.ours - one.theirs) for one in of}),
        *_told(quotes),
    )


def _told(quotes: dict[str, Sequence[Judged]] | dict[str, tuple[Judged, ...]]) -> tuple[Cell, Cell, Cell]:
    """How many have a speaker, how many of these the right one, and how many of all."""
    return (
        _share({name: [bool(one.how) for one in of] for name, of in quotes.items()}),
        _share({name: [one.right for one in of if one.how] for name, of in quotes.items()}),
        _share({name: [one.right for one in of] for name, of in quotes.items()}),
    )


def _share(values: dict[str, Iterable[float]] | dict[str, list[bool]] | dict[str, list[float]]) -> Cell:
    some = {name: [float(one) for one in of] for name, of in values.items()}
    some = {name: of for name, of in some.items() if of}
    if not some:
        return None
    if len(some) == 1:
        (of,) = some.values()
        return sum(of) / len(of)
    return cluster_interval(some, pooled=True, unit=UNIT)


def novels_table(groups: dict[str, list[Novel]]) -> StudyTable:
    """Each novel, and each group together."""
    rows = list[tuple[Cell, ...]]()
    for name, of in groups.items():
        rows.append((f"{name}, together", *_columns(of)))
        rows += ((one.name, *_columns([one])) for one in of)
    columns = ("novel", "quotations", "found", "in the corpus", "told", "right when told", "right")
    return StudyTable("Quotations and their speakers, by rules alone", columns, tuple(rows), UNIT)


def kinds_tables(groups: dict[str, list[Novel]]) -> Iterator[StudyTable]:
    """By what is next to a quotation."""
    for name, of in groups.items():
        rows = list[tuple[Cell, ...]]()
        for kind in ("Explicit", "Anaphoric", "Implicit"):
            quotes = {one.name: tuple(quote for quote in one.quotes if quote.kind == kind) for one in of}
            rows.append((kind.lower(), sum(map(len, quotes.values())), *_told(quotes)))
        columns = ("quotations", "n", "told", "right when told", "right")
        yield StudyTable(f"By what is next to a quotation: {name}", columns, tuple(rows), UNIT)


def how_table(groups: dict[str, list[Novel]]) -> StudyTable:
    """By what has told the speaker."""
    rows = list[tuple[Cell, ...]]()
    for name, of in groups.items():
        counts = Counter(quote.how for one in of for quote in one.quotes if quote.how)
        for how, number in counts.most_common():
            told = defaultdict[str, list[bool]](list)
            for one in of:
                told[one.name] += [quote.right for quote in one.quotes if quote.how == how]
            rows.append((name, how, number, _share(told)))
    return StudyTable("By what tells the speaker", ("novels", "by", "n", "right when told"), tuple(rows), UNIT)


def asked_table(of: Sequence[Novel]) -> StudyTable:
    """What the chat model says of what rules leave open."""
    rows = list[tuple[Cell, ...]]()
    for name, some in {"together": of, **{one.name: [one] for one in of}}.items():
        quotes = {one.name: one.asked for one in some}
        rows.append((name, sum(map(len, quotes.values())), *_told(quotes)))
    columns = ("novel", "asked", "told", "right when told", "right")
    return StudyTable("What rules leave open, by the chat model", columns, tuple(rows), UNIT)


def cost(bench: Bench) -> StudyCost:
    """What would be asked."""
    own = QuotationsSettings.model_validate(dict(bench.settings))
    counts, lines = Counter[str](), list[str]()
    for gold in check(bench):
        found = cost_of(asked_of(by_rules(gold), own), LANGUAGE) if own.ask else cost_of([], LANGUAGE)
        counts.update(novels=1, quotations=len(gold.quotes), calls=found.questions, tokens=found.tokens)
        lines.append(
            f"quotations, {gold.name}: {len(gold.quotes):,} quotations. The chat model would be asked "
            f"{found.questions:,} times about {found.quotes:,} of them, with about {found.tokens:,} tokens."
        )
    return StudyCost(dict(counts), (*lines, f"{LICENCE}."))


STUDY = Study(
    "quotations",
    "Who says what in prose: the Project Dialogism Novel Corpus",
    records,
    findings,
    check,
    settings=QuotationsSettings,
    cost=cost,
    reads_files=True,
)
