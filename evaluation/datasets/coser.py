"""CoSER's form: a book's plots with conversations, and who speaks in them."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from dramaturg.evaluation.datasets.dataset import Character, Dataset, DatasetQuestion, DatasetTurn
from dramaturg.evaluation.datasets.files import FileEntry, Filled, Source, Tally, Text
from dramaturg.stores.names import normal_name

LOOKS = "a book, an object with `plots` and `character_datasets`, one file of them at a time"
LICENCE = "CoSER names no licence in its repository; profiles, plots and conversations were written by a model"
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
    """Somebody in a conversation, and what moves them."""

    name: str
    motivation: Text = ""


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


class PlotPlace(NamedTuple):
    """Where a conversation stands in the book, from 0."""

    plot: int
    conversation: int
    labels: dict[str, str]


def is_coser(source: Source) -> bool:
    """Whether it is a book."""
    return source.content.first.has("plots", "character_datasets")


def read_coser(source: Source) -> Dataset:
    """Return a question for each line of a character with a profile that follows somebody else's: what it replies to.

    The line is the right answer. Neighbouring lines of one speaker are one. Thoughts are taken out, since nobody else
    could hear them; a line that answers to the narrator answers to what happens. The authors let a whole scene be
    played instead: their scores are not those of single answers.
    """
    record, tally = source.content.first, Tally()
    book = record.read_as(Book)
    for index, plot in enumerate(book.plots):
        for number, conversation in enumerate(plot.conversation):
            place = PlotPlace(index, number, _labels(book, index, conversation))
            _add_lines(tally, place, conversation, book, record.where)
    people = {name: Character(persona=one.profile) for name, one in book.character_datasets.items()}
    return tally.dataset(source.name, "coser", LICENCE, people)


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


def _add_lines(tally: Tally, place: PlotPlace, conversation: CoserConversation, book: Book, where: str) -> None:
    turns = heard(conversation.dialogues, tally)
    for index, turn in enumerate(turns):
        if turn.speaker == NARRATOR:
            continue
        if turn.speaker not in book.character_datasets or index == 0:
            tally.leave_out(OPENS if turn.speaker in book.character_datasets else STRANGER)
            continue
        question = DatasetQuestion(
            id=f"{place.plot}.{place.conversation}.{index}",
            role=turn.speaker,
            text=turns[index - 1].text,
            answer=turn.text,
            user_role=turns[index - 1].speaker,
            context=_context(conversation, turn.speaker),
            turns=tuple(turns[: index - 1]),
            labels=place.labels,
        )
        tally.add(question, where)


def _context(conversation: CoserConversation, role: str) -> str:
    moved = next((one.motivation for one in conversation.key_characters if one.name == role), "")
    return "\n\n".join(filter(None, (conversation.scenario.strip(), moved.strip())))


def _labels(book: Book, index: int, conversation: CoserConversation) -> dict[str, str]:
    found = {"topic": conversation.topic, "chapter": book.plots[index].chapter or ""}
    if book.split_plot_index is not None:
        found["split"] = "test" if index >= book.split_plot_index else "train"
    return {name: text for name, text in found.items() if text}
