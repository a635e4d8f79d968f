"""The memory unit M = {m_1, …, m_n} of a role (Emotional RAG, II.B.2): from dialogues and from what is written down."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from dramaturg.nodes.speakers import letters_of, spelling
from dramaturg.stores.files import sha256
from dramaturg.stores.index.memories import StoredMemory
from dramaturg.stores.memory_files import Lines
from dramaturg.stores.role_files import DialogueLine, Memory, RoleCard

_NO_NUMBER = re.compile(r"(?<![0-9])[.,:/]|[.,:/](?![0-9])|(?<=\w)-|-(?![0-9])")  # what stands in or before none


_HAN = r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"


_AROUND_HAN = re.compile(f"(?<={_HAN}) | (?={_HAN})")


_SAME = str.maketrans("\N{MINUS SIGN}", "-", "\ufe0e\ufe0f")  # what decides only how a symbol is drawn goes


_DASHES = "~\u2500\u2501"  # symbols to Unicode, but written as dashes


def memory_unit(files: Mapping[str, Lines], card: RoleCard) -> list[StoredMemory]:
    """Return the memories in the order of the files, copies joined.

    Copies are texts with the same words, numbers and symbols: overlapping excerpts of a script repeat its lines, now
    and then with other punctuation. What differs in a word, a number or a symbol is another memory.

    Args:
        files: the lines of each file, by its name and their numbers.
        card: whose memories; lines of a dialogue are the role's under its name and its aliases.
    """
    found: dict[str, StoredMemory] = {}
    for name, lines in files.items():
        for memory in memories_in(name, lines, card):
            first = found.get(memory.id)
            found[memory.id] = joined(first, memory) if first else memory
    return list(found.values())


def joined(first: StoredMemory, copy: StoredMemory) -> StoredMemory:
    """A memory together with a copy of it."""
    places, pinned = (*first.places, *copy.places), first.pinned or copy.pinned
    return first.model_copy(update={"places": places, "pinned": pinned, "when": first.when or copy.when})


def memories_in(name: str, lines: Lines, card: RoleCard) -> Iterator[StoredMemory]:
    """The memories of one file."""
    told = {number: line for number, line in lines.items() if isinstance(line, Memory)}
    for number, memory in told.items():
        yield from written_memory(memory, f"{name}:{number}", card)
    said = {number: line for number, line in lines.items() if isinstance(line, DialogueLine)}
    before: dict[str, DialogueLine] = {}  # the last line of each scene: scenes may take turns in a file
    for number, line in said.items():
        if line.memory and is_role(line.speaker, card):
            yield from spoken_memory(before.get(line.scene), line, f"{name}:{number}", card)
        before[line.scene] = line


def written_memory(memory: Memory, place: str, card: RoleCard) -> Iterator[StoredMemory]:
    """A line of `memories.jsonl`."""
    own = (memory.text or memory.answer or "").strip()
    text = own if memory.question is None else f"{memory.question.strip()}\n{card.name}: {own}"
    yield from memory_of(text, own, memory.when, place, memory)


def spoken_memory(
    before: DialogueLine | None, line: DialogueLine, place: str, card: RoleCard
) -> Iterator[StoredMemory]:
    """What the role says in a scene, after what was said before it there."""
    own = line.text.strip()
    asked = f"{before.speaker}: {before.text.strip()}\n" if before else ""
    yield from memory_of(f"{asked}{card.name}: {own}", own, line.date, place, line)


def memory_of(text: str, own: str, when: str | None, place: str, line: Memory | DialogueLine) -> Iterator[StoredMemory]:
    """A memory, unless the role says nothing in it."""
    if letters_of(own):
        identity = sha256(words_of(text).encode())[:12]
        yield StoredMemory(id=identity, text=text, own=own, when=when, pinned=line.pinned, places=(place,))


def words_of(text: str) -> str:
    """The words, numbers and symbols of a text, whatever their case and width, one space between them; "1.5" is one.

    Around Chinese characters and kana there is none: only there, spaces and punctuation part no words.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().translate(_SAME)
    kept = "".join(f" {one} " if is_symbol(one) else one if is_part_of_word(one) else " " for one in folded)
    return _AROUND_HAN.sub("", " ".join(_NO_NUMBER.sub(" ", kept).split()))


def is_symbol(letter: str) -> bool:
    """Whether it counts like a word: currencies, signs of arithmetic, pictures, "%" and "#"; accents are none."""
    return letter in "%#" or (unicodedata.category(letter) in ("Sc", "Sm", "So") and letter not in _DASHES)


def is_part_of_word(letter: str) -> bool:
    """Whether it may be a part of a word or a number."""
    return letter in ".,:/-" or unicodedata.category(letter)[0] in "LMN"


def is_role(speaker: str, card: RoleCard) -> bool:
    """Whether a line is the role's."""
    return spelling(speaker) in map(spelling, (card.name, *card.aliases))
