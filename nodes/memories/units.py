"""The memory unit M = {m_1, …, m_n} of a role (Emotional RAG, II.B.2): from dialogues and from what is written down."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from dramaturg.nodes.dialogues.cast import letters_of, spelling
from dramaturg.stores.documents.forms import DialogueLine, Memory, RoleCard
from dramaturg.stores.documents.memories import Lines
from dramaturg.stores.files import sha256
from dramaturg.stores.index.memories import StoredMemory

NO_NUMBER = re.compile(r"(?<![0-9])[.,:/]|[.,:/](?![0-9])|(?<=\w)-|-(?![0-9])")  # what stands in or before none
HAN = r"[\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
AROUND_HAN = re.compile(f"(?<={HAN}) | (?={HAN})")
SAME = str.maketrans("\N{MINUS SIGN}", "-", "\ufe0e\ufe0f")  # what decides only how a symbol is drawn goes
DASHES = "~\u2500\u2501"  # symbols to Unicode, but written as dashes


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
            first = found.setdefault(memory.id, memory)
            if first is not memory:
                places, pinned = (*first.places, *memory.places), first.pinned or memory.pinned
                joined = {"places": places, "pinned": pinned, "when": first.when or memory.when}
                found[memory.id] = first.model_copy(update=joined)
    return list(found.values())


def memories_in(name: str, lines: Lines, card: RoleCard) -> Iterator[StoredMemory]:
    """The memories of one file: what is written down, or what the role says in a scene after the line before it there.

    A memory in which the role says nothing is none.
    """
    names = {spelling(one) for one in (card.name, *card.aliases)}
    before: dict[str, DialogueLine] = {}  # the last line of each scene: scenes may take turns in a file
    for number, line in lines.items():
        if isinstance(line, Memory):
            own, when = (line.text or line.answer or "").strip(), line.when
            text = own if line.question is None else f"{line.question.strip()}\n{card.name}: {own}"
        else:
            said, before[line.scene] = before.get(line.scene), line
            if not line.memory or spelling(line.speaker) not in names:
                continue
            own, when = line.text.strip(), line.date
            text = (f"{said.speaker}: {said.text.strip()}\n" if said else "") + f"{card.name}: {own}"
        if letters_of(own):
            identity, place = sha256(words_of(text).encode())[:12], f"{name}:{number}"
            yield StoredMemory(id=identity, text=text, own=own, when=when, pinned=line.pinned, places=(place,))


def words_of(text: str) -> str:
    """The words, numbers and symbols of a text, whatever their case and width, one space between them; "1.5" is one.

    Around Chinese characters and kana there is none: only there, spaces and punctuation part no words.
    """
    kept = ""
    for letter in unicodedata.normalize("NFKC", text).casefold().translate(SAME):
        kind = unicodedata.category(letter)
        if letter in "%#" or (kind in ("Sc", "Sm", "So") and letter not in DASHES):  # "Sk", accents, are no symbols
            kept += f" {letter} "
        else:
            kept += letter if letter in ".,:/-" or kind[0] in "LMN" else " "
    return AROUND_HAN.sub("", " ".join(NO_NUMBER.sub(" ", kept).split()))
