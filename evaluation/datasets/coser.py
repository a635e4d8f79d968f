"""CoSER's forms: a book's plots with conversations and who speaks in them, and the conversations of its test."""

import re
from collections.abc import Container, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from dramaturg.evaluation.datasets.dataset import Character, Dataset, DatasetQuestion, DatasetTurn
from dramaturg.evaluation.datasets.files import FileEntry, Filled, Source, Tally, Text
from dramaturg.stores.names import normal_name

LOOKS = "a book, an object with `plots` and `character_datasets`, one file of them at a time"
TEST_LOOKS = "test_set.json, a list of conversations with `book`, `plot`, `character_profiles` and `dialogues`"
LICENCE = "CoSER names no licence in its repository; profiles, plots and conversations were written by a model"
TEST_LICENCE = f"{LICENCE}; the lines are of novels, most of which are under copyright: for private tests"
NARRATOR = "Environment"
"""The speaker of what happens around a conversation; it is never asked."""
OPENS = "a line with which a conversation begins"
STRANGER = "a line of somebody without a profile"
THOUGHT = "a line that is only thought"
_THOUGHTS = re.compile(r"\[[^\]]*\]")


class BookLine(FileEntry):
    """A line; thoughts stand in square brackets, deeds in round ones."""

    character: Filled
    message: Text


class Motivated(FileEntry):
    """Somebody in a conversation, and what moves them: books say `motivation`, the 200 of the test `thought`."""

    name: str
    motivation: Text = ""
    thought: Text = ""


class CoserConversation(FileEntry):
    """A conversation of a plot."""

    scenario: Text = ""
    topic: Text = ""
    key_characters: Sequence[Motivated] = ()
    dialogues: list[BookLine]


class PlotCharacter(FileEntry):
    """Somebody in a plot, and what they live through there."""

    name: str
    experience: Text = ""
    description: Text = ""


class Plot(FileEntry):
    """A part of the book."""

    chapter: str | None = None
    key_characters: Sequence[PlotCharacter] = ()
    conversation: list[CoserConversation]


class Profile(FileEntry):
    """What is held on a character."""

    profile: str = ""


class Book(FileEntry):
    """A file; plots from `split_plot_index` on are the authors' test set."""

    plots: list[Plot]
    character_datasets: dict[str, Profile]
    split_plot_index: int | None = None


class TestPlot(FileEntry):
    """The part of a book that a conversation of the test is from."""

    i_p: int
    chapter: str | None = None
    key_characters: Sequence[PlotCharacter] = ()


class Circumstance(CoserConversation):
    """A conversation of the test; `i_c` is its number in the plot."""

    book: Filled
    i_c: int
    plot: TestPlot
    character_profiles: dict[str, str]
    tag: str = ""

    @property
    def id(self) -> str:
        """As the authors' released judgements call it."""
        return f"{self.book}-{self.plot.i_p}-{self.i_c}"


class Told(NamedTuple):
    """A conversation with what is known beside it."""

    id: str
    said: CoserConversation
    people: Container[str]
    """Who has a profile."""
    descriptions: Mapping[str, str]
    """Of people at this point of the book."""
    labels: Mapping[str, str]


def is_coser(source: Source) -> bool:
    """Whether it is a book."""
    return source.content.first.has("plots", "character_datasets")


def is_coser_test(source: Source) -> bool:
    """Whether it is a list of conversations of the test."""
    return source.content.first.has("book", "character_profiles", "dialogues")


def read_coser(source: Source) -> Dataset:
    """Return a question for each line of a character with a profile that follows somebody else's: what it replies to.

    The line is the right answer. Neighbouring lines of one speaker are one. Thoughts are taken out, since nobody else
    could hear them; a line that answers to the narrator answers to what happens. The authors let a whole scene be
    played instead: their scores are not those of single answers.
    """
    record, tally = source.content.first, Tally()
    book = record.read_as(Book)
    for index, plot in enumerate(book.plots):
        split = {} if book.split_plot_index is None else {"split": ("train", "test")[index >= book.split_plot_index]}
        for number, said in enumerate(plot.conversation):
            labels = {"topic": said.topic, "chapter": plot.chapter or "", **split}
            _add_lines(tally, Told(f"{index}.{number}", said, book.character_datasets, {}, labels), record.where)
    people = {name: Character(persona=one.profile) for name, one in book.character_datasets.items()}
    return tally.dataset(source.name, "coser", LICENCE, people)


def read_coser_test(source: Source) -> Dataset:
    """Return the lines of the test's conversations as of a book's; a role of several books has its name in each."""
    tally, people = Tally(), dict[str, Character]()
    for record in source.content.records:
        one = record.read_as(Circumstance)
        described = {person.name: person.description for person in one.plot.key_characters}
        labels = {"topic": one.topic, "chapter": one.plot.chapter or "", "book": one.book, "tag": one.tag}
        _add_lines(tally, Told(one.id, one, one.character_profiles, described, labels), record.where)
        for name, profile in one.character_profiles.items():
            people.setdefault(name, Character(persona=profile))
    return tally.dataset(source.name, "coser_test", TEST_LICENCE, people)


def known_as(book: Book) -> dict[str, str]:
    """Return who is meant by names that have a profile and that nobody in the plots has.

    The authors' program wrote a profile for each name that it met. "Albany" has one and is in no plot, "Duke of Albany"
    is: a name whose words are part of the name of one person who is there, and of no other, is that person's too.
    """
    there = {one.name for plot in book.plots for one in plot.key_characters}
    for conversation in (one for plot in book.plots for one in plot.conversation):
        there |= {one.character for one in conversation.dialogues} | {one.name for one in conversation.key_characters}
    found: dict[str, str] = {}
    for name in book.character_datasets.keys() - there:
        words = {*normal_name(name).split()}
        longer = [one for one in book.character_datasets.keys() & there if words < {*normal_name(one).split()}]
        if len(longer) == 1:
            found[name] = longer[0]
    return found


def heard(lines: list[BookLine], tally: Tally) -> list[DatasetTurn]:
    """Return what is said and done, neighbouring lines of a speaker as one."""
    turns = []
    for speaker, own in groupby(lines, key=lambda one: one.character):
        spoken = (re.sub(r"[ \t]{2,}", " ", _THOUGHTS.sub("", one.message)).strip() for one in own)
        if text := "\n".join(filter(None, spoken)):
            turns.append(DatasetTurn(speaker=speaker, text=text))
        else:
            tally.leave_out(THOUGHT)
    return turns


def _add_lines(tally: Tally, told: Told, where: str) -> None:
    turns = heard(told.said.dialogues, tally)
    for index, turn in enumerate(turns):
        if turn.speaker == NARRATOR:
            continue
        if turn.speaker not in told.people or index == 0:
            tally.leave_out(OPENS if turn.speaker in told.people else STRANGER)
            continue
        question = DatasetQuestion(
            id=f"{told.id}.{index}",
            role=turn.speaker,
            text=turns[index - 1].text,
            answer=turn.text,
            user_role=turns[index - 1].speaker,
            context=_context(told, turn.speaker),
            turns=tuple(turns[: index - 1]),
            labels={name: text for name, text in told.labels.items() if text},
        )
        tally.add(question, where)


def _context(told: Told, role: str) -> str:
    moved = next((one.motivation or one.thought for one in told.said.key_characters if one.name == role), "")
    parts = (told.said.scenario, told.descriptions.get(role, ""), moved)
    return "\n\n".join(filter(None, map(str.strip, parts)))
