"""Novels as text or EPUB: books become personas with a heading a chapter, of whoever the user names."""

import re
from pathlib import Path

from dramaturg.evaluation.datasets.cast import Cast, Member, free_id
from dramaturg.evaluation.datasets.dataset import Dataset
from dramaturg.evaluation.datasets.files import documents, listed, named, text_of
from dramaturg.evaluation.datasets.folders import Wish, gathered
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.stores.documents.originals import as_markdown
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import LARGEST

EPUB = ".epub"
QUESTIONS = "questions.jsonl"
LONGEST_HEADING = 80
_GUTENBERG = re.compile(r"\*\*\* ?(START|END) OF (?:THE|THIS) PROJECT GUTENBERG EBOOK.*", re.IGNORECASE)
_NUMBER = r"(?:[0-9]+|[ivxlc]+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|the \w+)"
_CHAPTER = re.compile(
    rf"(?:(?:chapter|book|part|volume|stave|act|scene|letter|canto)\s+{_NUMBER}\b[^a-z]{{0,3}}.*"
    r"|(?:prologue|epilogue|preface|introduction)\.?"
    r"|[IVXLC]{1,8}\.?"
    r"|第\s*[0-9〇零一二三四五六七八九十百千]+\s*[章回节節卷部集幕].*"
    r"|제?\s*[0-9]+\s*[장화부막].*)",
    re.IGNORECASE,
)
"""A line that begins a chapter, where it stands alone between blank lines."""


def cast_novels(wish: Wish) -> Cast:
    """Every role that is named has all books of the folder; nobody is guessed from them, and no line is ascribed.

    Raises:
        ValueError: nobody is named.
        RoleFileError: there is no book, or one cannot be read.
    """
    texts = [one for one in documents(wish.folder) if one.suffix.lower() == ".txt"]
    books = sorted([*texts, *listed(wish.folder, (EPUB,))], key=lambda one: one.name)
    if not books:
        raise RoleFileError(f"{wish.called} holds no .txt or .epub: put the novels there.")
    if not wish.only:
        raise ValueError("A novel does not say who is to be a role: name one or more with --only, by their full names.")
    notes, read = list[str](), dict[str, str]()
    for book in books:
        text, missing = (of_epub if book.suffix.lower() == EPUB else of_text)(book)
        if book.stem in read:
            raise RoleFileError(f"{wish.called} holds {book.stem} twice, as text and as EPUB: keep one of them.")
        read[book.stem], notes = text, [*notes, *missing]
    whole = "\n".join(read.values()).casefold()
    members = dict[str, Member]()
    for name in wish.only:
        if not any(part in whole for part in name.casefold().split()):
            raise ValueError(f"None of {', '.join(read)} speaks of {name!r}: name somebody as the book does.")
        members[free_id(wish.name, name, members)] = Member(name=name, documents=read)
    return gathered(wish, members, questions_of(wish), None, notes)


def questions_of(wish: Wish) -> Dataset:
    """The questions that lie beside the books; none if there are none."""
    path = wish.folder / QUESTIONS
    if path.is_file():
        return read_dataset(path, "jsonl").model_copy(update={"name": wish.called})
    return Dataset(name=wish.called, form="jsonl", questions=())


def of_text(path: Path) -> tuple[str, list[str]]:
    """Return a book of plain text as Markdown; what Project Gutenberg says before and after it is left out."""
    lines, title = text_of(path).split("\n"), path.stem
    marks = [at for at, line in enumerate(lines) if _GUTENBERG.fullmatch(line.strip())]
    if marks:
        named_there = (line.partition(":")[2].strip() for line in lines[: marks[0]] if line.startswith("Title:"))
        title = next(named_there, title)
        lines = lines[marks[0] + 1 : marks[1] if len(marks) > 1 else None]
    found = [f"# {title}", ""]
    for at, line in enumerate(lines):
        alone = (at == 0 or not lines[at - 1].strip()) and (at + 1 == len(lines) or not lines[at + 1].strip())
        heads = alone and len(line.strip()) <= LONGEST_HEADING and _CHAPTER.fullmatch(line.strip())
        found.append(f"## {line.strip()}" if heads else line.lstrip("#") if line.startswith("#") else line)
    text = "\n".join(found)
    if not any(line.strip() for line in found[2:]):
        raise RoleFileError(f"{named(path)} holds no text but what stands around the book: give the whole file.")
    chapters = text.count("\n## ")
    return text, [] if chapters else [f"{path.name} has no line that reads like the beginning of a chapter"]


def of_epub(path: Path) -> tuple[str, list[str]]:
    """Return a book as Markdown, read in a process of its own whose time and memory are bounded."""
    if path.stat().st_size > LARGEST:
        raise RoleFileError(f"{named(path)} has more than {LARGEST:,} bytes: split it.")
    text, missing = as_markdown(path.read_bytes(), path.name)
    return text.decode(), missing
