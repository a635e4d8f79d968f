"""Who says what in prose, by rules alone: verbs of speech, who acts in the paragraph, pronouns, calls and turns.

What is told by nothing stays without a speaker. The order of the rules is that of Muzny et al. 2017, "A Two-stage Sieve
Approach for Quote Attribution": what is next to a quotation counts first, whose turn it is last.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dramaturg.nodes.casting.beside import (
    Beside,
    beats,
    narration,
)
from dramaturg.nodes.casting.people import (
    CALL,
    NAMES,
    People,
    Prose,
    forms_in,
    is_narrator,
    is_pronoun,
    read_prose,
    usual_words,
)
from dramaturg.nodes.casting.quotes import Quote
from dramaturg.nodes.casting.words import ANYBODY_EN, BEFORE_OBJECT_EN, NARRATOR, Gender
from dramaturg.stores.documents.forms import Language

BACK = 8
"""Paragraphs in which whoever a pronoun means was named, or speaks."""
PARTY = 6
"""Turns before one in which whoever speaks is of the talk: where that is one other, it is that one's turn."""
CALLS = 3
"""How often somebody is called by those who talk with the narrator before that is taken for the narrator's name."""
FEW = 3
"""The same where they are called by what they are, `the girl`."""


class Named(NamedTuple):
    """Where the narration names somebody."""

    who: str
    paragraph: int
    at: int
    subject: bool
    """Whether that is who does something there."""


class Turn(NamedTuple):
    """The quotations of a paragraph, which one person says unless they are told apart."""

    paragraph: int
    first: int
    last: int
    """Numbers of its first quotation, and of the one behind its last."""


def attributed(text: str, language: Language, *, narrator: str = "") -> list[Quote]:
    """Find the quotations of a prose text, and who says each to whom.

    Args:
        text: Markdown.
        language: "en", "zh" or "ko".
        narrator: the name of whoever says "I" in the narration; empty: as others call them, or "Narrator".

    Returns:
        Quotations in their order; `how` says what tells the speaker, and is empty where nothing does.
    """
    prose = read_prose(text, language)
    return list(Attribution(prose, People(prose), narrator).quotes())


class Attribution:
    """The attribution of one text.

    Args:
        prose: the text.
        people: who is in it.
        narrator: the name of whoever says "I" in the narration.
    """

    def __init__(self, prose: Prose, people: People, narrator: str = "") -> None:
        self.prose, self.people = prose, people
        self.narrator = (people.named(narrator) or narrator) if narrator else NARRATOR[prose.language]
        self.begins = [one.begin for one in prose.quotes]
        self.found = list(prose.quotes)
        self.turns = list(_turns(prose.quotes))
        self.recent = list[Named]()
        self._named_up_to = 0

    def quotes(self) -> Sequence[Quote]:
        """The quotations with their speakers."""
        for number, turn in enumerate(self.turns):
            self._name_until(turn.paragraph)
            self._from_beside(number, turn)
            self._from_turns(number, turn, -1)
            for quote in self.found[turn.first : turn.last]:
                if quote.speaker:
                    self.recent.append(Named(quote.speaker, turn.paragraph, quote.begin, True))
        if not any(one.speaker for one in self.found):
            return self.found  # nobody from whose turn another one's could be told
        for number in range(len(self.turns) - 1, -1, -1):
            self._from_turns(number, self.turns[number], 1)
        for number, turn in enumerate(self.turns):
            self._address(number, turn)
        if self.narrator == NARRATOR[self.prose.language] and (name := self._narrator_called()):
            self.found = [
                one._replace(
                    speaker=name if one.speaker == self.narrator else one.speaker,
                    to=name if one.to == self.narrator else one.to,
                )
                for one in self.found
            ]
        return self.found

    def _narrator_called(self) -> str:
        """As whom the narrator is called by those who speak next to them; empty: nobody calls them.

        Whoever says "I" in the narration never stands in it with a verb of speech.
        """
        calls, usual = Counter[str](), usual_words(self.prose.text)
        for number in range(len(self.turns)):
            if self.narrator in {self._neighbour(number, -1), self._neighbour(number, 1)} - {self.speaker(number)}:
                turn = self.turns[number]
                texts = (quote.text for quote in self.found[turn.first : turn.last])
                forms = (form for text in texts for one in CALL.finditer(text) for form in forms_in(one["who"]))
                who = {form.spelled for form in forms if form.title or form.words[0].casefold() not in usual}
                calls.update({self.people.named(one) or one for one in who} - {self.speaker(number)})
        spoken = {name: one.quotes for name, one in self.people.known.items()}
        able = (name for name, times in calls.most_common() if times >= CALLS and spoken.get(name, 0) * CALLS <= times)
        return next(able, "")

    def speaker(self, number: int) -> str:
        """Who says a turn; empty: nobody knows, or several do."""
        turn = self.turns[number]
        said = {self.found[at].speaker for at in range(turn.first, turn.last)}
        return said.pop() if len(said) == 1 else ""

    def _name_until(self, paragraph: int) -> None:
        """Note who is named in the narration up to a paragraph, that included."""
        for number in range(max(self._named_up_to, paragraph - BACK), paragraph + 1):
            for begin, end in narration(self.prose.paragraphs[number], self.prose.quotes, self.begins):
                self.recent += self._named(number, begin, end)
        self._named_up_to = paragraph + 1
        self.recent = self.recent[-80:]

    def _named(self, paragraph: int, begin: int, end: int) -> Iterator[Named]:
        pattern = NAMES if self.prose.language == "en" else self.people.pattern
        for found in pattern.finditer(self.prose.text, begin, end):
            if who := self.people.named(found.group()):
                before = self.prose.text[max(begin, found.start() - 30) : found.start()].split()
                is_object = bool(before) and before[-1].casefold() in BEFORE_OBJECT_EN
                owner = found.group().endswith(("’s", "'s"))
                yield Named(who, paragraph, found.start(), not (is_object or owner))

    def _from_beside(self, number: int, turn: Turn) -> None:
        """Give a turn the speakers that are named next to its quotations."""
        first = self.found[turn.first]
        if first.goes_on and turn.first:
            before = self.found[turn.first - 1]
            self._say(turn, before.speaker, before.how, before.mention)
            if before.speaker:
                return
        beside = [self.prose.beside[at] for at in range(turn.first, turn.last)]
        strong = [one if one and one.strong else None for one in beside]
        chosen = strong if any(strong) else beside if any(beside) else [self._beat(turn)]
        known: Beside | None = next(filter(None, chosen), None)
        for at in range(turn.first, turn.last):
            own = chosen[at - turn.first] if at - turn.first < len(chosen) else None
            known = own or known
            if known:
                name, how = self._meant(known, number, turn)
                self.found[at] = self.found[at]._replace(speaker=name, how=how if name else "", mention=known.who)

    def _beat(self, turn: Turn) -> Beside | None:
        """Who does something in the narration of a turn's paragraph, that before its first quotation first."""
        paragraph = self.prose.paragraphs[turn.paragraph]
        if self.prose.language != "en":
            return self._beat_without_spaces(turn)
        pieces = narration(paragraph, self.prose.quotes, self.begins)
        begin = self.found[turn.first].begin
        before = [one for one in pieces if one[1] <= begin]
        after = [one for one in pieces if one[0] >= begin]
        wanted = [*((one, False) for one in before), *((one, True) for one in (*before, *after))]
        found = (beats(self.prose.text, *piece, first=first) for piece, first in wanted)
        return next((one for one in found if one and self._is_known(one.who)), None)

    def _is_known(self, who: str) -> bool:
        language = self.prose.language
        return is_narrator(who, language) or is_pronoun(who, language) is not None or bool(self.people.named(who))

    def _beat_without_spaces(self, turn: Turn) -> Beside | None:
        here = [one for one in self.recent if one.paragraph == turn.paragraph]
        return Beside(here[0].who, here[0].at, "beat") if here else None

    def _meant(self, known: Beside, number: int, turn: Turn) -> tuple[str, str]:
        """The person that words beside a quotation mean, and what tells that."""
        language = self.prose.language
        if is_narrator(known.who, language):
            return self.narrator, known.how
        gender = is_pronoun(known.who, language)
        if gender is not None:
            return self._by_pronoun(gender, known.at, number, turn), "pronoun"
        name = self.people.named(known.who)
        if name.split(" ")[-1] in ANYBODY_EN and (of := self.people.gender(name)):
            meant = self._by_pronoun(of, known.at, number, turn, FEW)
            return (meant, "pronoun") if meant else (name, known.how)
        return name, known.how

    def _by_pronoun(self, gender: Gender, at: int, number: int, turn: Turn, most: int = BACK) -> str:
        """Whom a pronoun means: who was named, or has spoken, last of those whom it may mean.

        In a talk the one before has just spoken, and is meant only where nobody else can be.
        """
        before = self.speaker(number - 1) if number and turn.paragraph - self.turns[number - 1].paragraph == 1 else ""
        called = self._called_in(turn)
        likely = dict[str, float]()
        for back, one in enumerate(reversed(self.recent)):
            away = turn.paragraph - one.paragraph
            if away > most or (one.at >= at and one.paragraph >= turn.paragraph):
                continue
            of = self.people.gender(one.who)
            if (of and of != gender) or one.who in called:
                continue
            weight = 1 / (1 + away) + 0.3 * one.subject - 0.3 * (not of) - 0.4 * (one.who == before and away > 0)
            likely[one.who] = max(likely.get(one.who, -BACK), weight - 0.05 * back)
        return max(likely, key=likely.__getitem__, default="")

    def _called_in(self, turn: Turn) -> list[str]:
        """Whom a turn calls by name."""
        found = list[str]()
        for at in range(turn.first, turn.last):
            text = self.found[at].text
            if self.prose.language == "en":
                found += filter(None, (self.people.named(one["who"]) for one in CALL.finditer(text)))
            else:
                found += filter(None, (self._called_first(text),))
        return found

    def _called_first(self, text: str) -> str:
        """Who is called at the beginning of what is said, where there are no spaces around names."""
        found = self.people.pattern.match(text)
        call = found and re.match(r"[아야]?[，,！!、]", text[found.end() :])
        return self.people.named(found.group()) if found and call else ""

    def _from_turns(self, number: int, turn: Turn, way: int) -> None:
        """Give a turn without a speaker the one whose turn it is; `way`: -1 by the turns before, 1 by those after."""
        if self.speaker(number) or any(self.found[at].speaker for at in range(turn.first, turn.last)):
            return
        if any(self.found[at].mention for at in range(turn.first, turn.last)):
            return
        called = self._called_in(turn)
        near, far = self._neighbour(number, way), self._neighbour(number, 2 * way)
        if not near:
            return
        if far and far != near and far not in called:
            self._say(turn, far, "turns")
            return
        if way > 0:
            return
        spoken_to = [one for one in self._called_in(self.turns[number - 1]) if one != near]
        if spoken_to and spoken_to[-1] not in called:
            self._say(turn, spoken_to[-1], "called")
            return
        before = range(max(number - PARTY, 0), number)
        talk = [at for at in before if turn.paragraph - self.turns[at].paragraph <= BACK]
        others = {self.speaker(at) for at in talk} - {"", near}
        if len(others) == 1 and not others & {*called}:
            self._say(turn, others.pop(), "turns")

    def _neighbour(self, number: int, away: int) -> str:
        """Who says the turn so many before or after, where nothing is told between the two."""
        other = number + away
        if not 0 <= other < len(self.turns):
            return ""
        low, high = sorted((number, other))
        gaps = (self.turns[at + 1].paragraph - self.turns[at].paragraph for at in range(low, high))
        return self.speaker(other) if all(gap == 1 for gap in gaps) else ""

    def _say(self, turn: Turn, speaker: str, how: str, mention: str = "") -> None:
        for at in range(turn.first, turn.last):
            self.found[at] = self.found[at]._replace(speaker=speaker, how=how if speaker else "", mention=mention)

    def _address(self, number: int, turn: Turn) -> None:
        """To whom a turn is said: who is called in it, or else the other one who speaks beside it."""
        speaker = self.speaker(number)
        called = [one for one in self._called_in(turn) if one != speaker]
        beside = {self._neighbour(number, -1), self._neighbour(number, 1)} - {"", speaker}
        to = called[0] if called else beside.pop() if len(beside) == 1 else ""
        for at in range(turn.first, turn.last):
            self.found[at] = self.found[at]._replace(to=to if self.found[at].speaker != to else "")


def _turns(quotes: Sequence[Quote]) -> Iterator[Turn]:
    first = 0
    for at, quote in enumerate(quotes):
        if at + 1 == len(quotes) or quotes[at + 1].paragraph != quote.paragraph:
            yield Turn(quote.paragraph, first, at + 1)
            first = at + 1
