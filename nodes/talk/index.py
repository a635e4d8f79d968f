"""A talk to look things up in, by meaning and by words together: what both find comes first."""

import re
import sqlite3
import weakref
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from copy import copy
from threading import Lock
from typing import NamedTuple

import numpy as np

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.text.recalled import passages_of, size_of
from dramaturg.stores.conversations.talk import TalkRecord
from dramaturg.stores.index.vectors import Vectors, unit_rows, with_direction

NEARBY = 0.2  # of the scores of the records before and after
MOST_WORDS, FEWEST_WORDS = 24, 4  # that are looked up of a question: the rarest
COMMON = 40  # a word that stands in more than one of so many records tells little, and takes long to look up …
FEW = 500  # … unless it stands in no more records than this
EMBEDDED_AT_ONCE = 256  # passages: those of a long history come turn after turn, the latest first
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
WORD = re.compile(r"[^\W_]+")


class Found(NamedTuple):
    """A record that was found: its place in the index, and its ranks from 1; None: that way did not find it."""

    at: int
    by_meaning: int | None
    by_words: int | None


def words_of(text: str) -> Iterator[str]:
    """The words of a text; of Chinese, Japanese and Korean, which have no spaces or many endings, pairs of letters."""
    for word in WORD.findall(text.casefold()):
        for part in [word] if word.isascii() else re.split(f"({CJK.pattern})", word):
            if not CJK.fullmatch(part):
                yield from filter(None, [part])
            elif len(part) == 1:
                yield part
            else:
                yield from (part[at : at + 2] for at in range(len(part) - 1))


def from_0_to_1(scores: Vectors, low: float) -> Vectors:
    """Scores of shape (n,) on a scale from `low` to the best; where there is none it is 0."""
    found = np.isfinite(scores)
    span = scores.max(initial=low) - low
    return np.where(found, (scores - low) / span if span > 0 else 1.0, 0.0)


def ranks_of(places: Sequence[int], scores: Vectors) -> list[int | None]:
    """The ranks from 1 at some places; None: there is no score."""
    own = scores[list(places)]
    found = np.sort(scores[np.isfinite(scores)])
    better = len(found) - np.searchsorted(found, own, "right")
    return [rank + 1 if scored else None for rank, scored in zip(better.tolist(), np.isfinite(own), strict=True)]


class TalkIndex:
    """The records of one branch, or of several talks, in their order, which grows as the talk does.

    Words are looked up in SQLite's full-text index (BM25), meanings by the cosines of all passages; a record counts by
    its best passage. Each record has a row there, whose number it keeps wherever it stands in the order.
    """

    def __init__(self) -> None:
        self.records: list[TalkRecord] = []
        self.pinned: list[int] = []
        """The places of those that come back whatever is asked."""
        self.sizes: list[tuple[int, ...]] = []
        """By record: the bytes of each of its lines."""
        self.embedding = ""
        self._texts: list[str] = []
        """By record, in one case: what is said in it."""
        self._rows = np.zeros(0, np.intp)
        """By record: the number of its row."""
        self._made = 0
        """How many rows there ever were."""
        self._count = Counter[str]()
        """By word: in how many records it is."""
        self._of = np.zeros(0, np.intp)
        """By passage: the row of its record; they ascend."""
        self._vectors = np.zeros((0, 0), np.float32)
        self._has = np.zeros(0, np.bool_)
        self._words: sqlite3.Connection | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.records)

    def extend(self, records: Sequence[TalkRecord]) -> None:
        """Add the records that come next; it blocks."""
        with self._lock:
            self._add(records)

    def arranged(self, records: Sequence[TalkRecord]) -> "TalkIndex":
        """An index of these records in their order, for which only what this one lacks of them is read; it blocks.

        It finds what an index would find that was made of them alone. Nothing can be added to this one any more; who
        is looking something up in it goes on, without the words of records that are not in the other.
        """
        known, order, new = defaultdict[str, list[int]](list), list[int](), list[TalkRecord]()
        for place in reversed(range(len(self))):
            known[self.records[place].id].append(place)  # of two talks that began as one, both have it
        for record in records:
            place = known[record.id].pop() if known[record.id] else -1
            if place < 0 or not _says_the_same(self.records[place], record):
                place = len(self) + len(new)
                new.append(record)
            order.append(place)
        if self._made + len(new) > 2 * len(records):  # most of it would be rows that nothing stands in any more
            anew = TalkIndex()
            anew.embedding = self.embedding
            anew.extend(records)
            return anew
        found, stay = copy(self), {place for place in order if place < len(self)}
        with self._lock:
            found._drop([place for place in range(len(self)) if place not in stay])
            found._order(range(len(self)))
            found._add(new)
            found._order(order)
            found.records = list(records)  # which may have been pinned or given meanings
            found.pinned = [place for place, one in enumerate(records) if one.pinned]
            found._take_vectors(found._lacking(len(records)))
        return found

    def lacking(self, embedding: str, until: int) -> list[int]:
        """The places of records before `until` whose meanings are not there, the latest first, some at a time."""
        if embedding != self.embedding:
            with self._lock:
                self.embedding = embedding
                self._vectors = np.zeros((0, 0), np.float32)
                self._has[:] = False
                self._take_vectors(range(len(self)))
        chosen, left = list[int](), EMBEDDED_AT_ONCE
        for place in reversed(self._lacking(until)):
            left -= len(passages_in(self.records[place]))
            if left < 0 and chosen:
                break
            chosen.append(place)
        return chosen

    async def embed(self, model: Embedder, places: Sequence[int]) -> list[TalkRecord]:
        """Have the meanings of some records, and give these as they are to be kept.

        Raises:
            ModelError: the model cannot be reached.
        """
        texts = list(dict.fromkeys(one for place in places for one in passages_in(self.records[place])))
        rows = dict(zip(texts, await model.documents(texts, faulty=True), strict=True))
        new = list[TalkRecord]()
        for place in places:
            own = np.stack([rows[one] for one in passages_in(self.records[place])])
            if with_direction(own).all():
                self.records[place] = self.records[place].embedded(model.name, unit_rows(own))
                new.append(self.records[place])
        with self._lock:
            for place in places:
                self._take_vectors([place])
        return new

    def nearest(
        self, words: str, vector: Vectors | None, until: int, most: int, but: Sequence[int] = ()
    ) -> list[Found]:
        """The records before `until` that are nearest to a question, best first; it blocks.

        Each way's scores go from 0 to 1, and are added up: how much better the best of a way is than the next counts,
        which ranks do not say (Bruch, Gai and Ingber 2023). A part of what is said just before and after counts, too.

        Args:
            words: of the question.
            vector: its meaning, of length 1, shape (d,); None: words alone count.
            until: how many records of the branch are looked at.
            most: how many are wanted.
            but: the places of records that are not looked at.
        """
        until = min(until, len(self.records))
        meaning, word = self._by_meaning(vector, until), self._by_words(words, until)
        for found in (meaning, word):
            found[list(but)] = -np.inf
        lowest = meaning[np.isfinite(meaning)].min(initial=1.0)
        alone = from_0_to_1(meaning, lowest) + from_0_to_1(word, 0.0)
        around = np.pad(alone, 1)
        scores = alone + NEARBY * (around[:-2] + around[2:])
        scores[~(np.isfinite(meaning) | np.isfinite(word))] = -np.inf
        first, size = dict[str, int](), 0  # of those that say the same
        while len(first) < most and size < until:  # the best are sorted, and more of them where many say the same
            size = min(max(8 * size, 8 * most), until)
            best = np.argpartition(scores, until - size)[until - size :]
            for at in best[np.lexsort((-best, -scores[best]))].tolist():
                if len(first) < most and scores[at] > -np.inf:
                    first.setdefault(self._texts[at], at)
        places = list(first.values())
        return list(map(Found, places, ranks_of(places, meaning), ranks_of(places, word)))

    def _by_meaning(self, vector: Vectors | None, until: int) -> Vectors:
        """The cosine of each record's best passage, shape (n,); -inf where there is none."""
        found, last = np.full(self._made, -np.inf), min(len(self._of), len(self._vectors))
        if vector is not None and last and self._vectors.shape[1] == len(vector):
            cosines = np.einsum("ij,j->i", self._vectors[:last], vector)  # `@` has a core spin that nobody needs
            begins = np.flatnonzero(np.diff(self._of[:last], prepend=-1))  # of the passages of each row
            best = np.maximum.reduceat(np.where(self._has[:last], cosines, -np.inf), begins)
            found[self._of[begins]] = best
        return found[self._rows[:until]]

    def _by_words(self, words: str, until: int) -> Vectors:
        """BM25 of each record, shape (n,); -inf where no word is in it."""
        found, count = np.full(self._made, -np.inf), self._count
        rarest = sorted(set(words_of(words)), key=lambda word: (count[word], word))
        forms = [word for word in rarest if not count[word]]  # another form of it may be there
        known = [word for word in rarest if count[word]]
        # BM25 gives a word that is in more than half of the records nothing.
        most = min(max(FEW, len(self.records) // COMMON), len(self.records) // 2)
        telling = [word for word in known if count[word] <= most]
        least = [word for word in known[:FEWEST_WORDS] if count[word] <= FEW]
        chosen = [*forms[:MOST_WORDS], *(telling[:MOST_WORDS] or least)]
        if not chosen or not until or self._words is None:
            return found[self._rows[:until]]
        asked = " OR ".join(f'"{word}"' for word in chosen)
        with self._lock:
            rows = self._words.execute(
                "SELECT rowid, rank FROM words WHERE words MATCH ? AND rowid <= ?", (asked, self._made)
            ).fetchall()
        if rows:
            numbers, ranks = zip(*rows, strict=True)
            found[np.array(numbers) - 1] = -np.array(ranks)
        return found[self._rows[:until]]

    def _add(self, records: Sequence[TalkRecord]) -> None:
        """Give rows to records that come next."""
        if self._words is None:
            self._words = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            weakref.finalize(self._lock, self._words.close)  # Python 3.13 warns of one that nobody has closed
            self._words.execute("PRAGMA temp_store = memory")  # what is sorted never meets a full disk
            self._words.execute(
                "CREATE VIRTUAL TABLE words USING "
                "fts5(said, content='', tokenize='porter unicode61 remove_diacritics 2')"
            )
        self._words.execute("BEGIN")
        first, of = len(self.records), list[int]()
        rows = np.arange(self._made, self._made + len(records))
        for row, record in zip(rows.tolist(), records, strict=True):
            if record.pinned:
                self.pinned.append(len(self.records))
            self.records.append(record)
            of += [row] * len(passages_in(record))
            self.sizes.append(tuple(size_of(" ".join(line.text.split())) for line in record.said))
            text = "\n".join(texts_in(record)).casefold()
            self._texts.append(text)
            words = list(words_of(text))
            self._count.update(set(words))
            self._words.execute("INSERT INTO words(rowid, said) VALUES (?, ?)", (row + 1, " ".join(words)))
        self._words.execute("COMMIT")
        self._made += len(records)
        self._rows = np.concatenate([self._rows, rows])
        self._of = np.concatenate([self._of, np.array(of, np.intp)])
        self._has = np.concatenate([self._has, np.zeros(len(of), np.bool_)])
        self._take_vectors(range(first, len(self.records)))

    def _drop(self, places: Sequence[int]) -> None:
        """Have records found by no word any more."""
        self._count = self._count.copy()
        if not self._words:
            return
        for place in places:
            words = list(words_of(self._texts[place]))
            self._count.subtract(set(words))
            gone = int(self._rows[place]) + 1, " ".join(words)
            self._words.execute("INSERT INTO words(words, rowid, said) VALUES ('delete', ?, ?)", gone)

    def _order(self, places: Sequence[int]) -> None:
        """Have the records that stand at these places, in their order."""
        self.records = [self.records[place] for place in places]
        self.pinned = []
        self.sizes = [self.sizes[place] for place in places]
        self._texts = [self._texts[place] for place in places]
        self._rows = self._rows[np.array(places, np.intp)]

    def _lacking(self, until: int) -> list[int]:
        """The places of records before `until` with a passage whose meaning is not there."""
        lacks = np.zeros(self._made, np.bool_)
        lacks[self._of[~self._has]] = True
        lacking: list[int] = np.flatnonzero(lacks[self._rows[:until]]).tolist()
        return lacking

    def _take_vectors(self, places: Sequence[int]) -> None:
        """Take the meanings that records have."""
        for place, first in zip(places, np.searchsorted(self._of, self._rows[places]).tolist(), strict=True):
            record = self.records[place]
            rows, count = record.directions(self.embedding) if self.embedding else None, len(passages_in(record))
            if rows is not None and len(rows) == count:
                if self._vectors.shape[1] != rows.shape[1]:
                    self._vectors = np.zeros((len(self._has), rows.shape[1]), np.float32)
                    self._has[:] = False
                if len(self._vectors) < len(self._has):
                    grown = np.zeros((max(len(self._has), 2 * len(self._vectors)), rows.shape[1]), np.float32)
                    grown[: len(self._vectors)] = self._vectors
                    self._vectors = grown
                self._vectors[first : first + count] = rows
                self._has[first : first + count] = True


def _says_the_same(record: TalkRecord, other: TalkRecord) -> bool:
    """Whether two records of one id are found by the same: something may be noted of one later, or forgotten."""
    return record is other or (record.said, record.facts) == (other.said, other.facts)


def texts_in(record: TalkRecord) -> list[str]:
    """What was said in a record, a line each with who said it, if that has a name; and each thing noted of it."""
    said = "\n".join(f"{line.name}: {line.text}" if line.name else line.text for line in record.said)
    return [one for one in (said, *(fact.text for fact in record.facts)) if one]


def passages_in(record: TalkRecord) -> list[str]:
    """The passages of what was said in a record, mostly one, and of what was noted of it."""
    return [passage for text in texts_in(record) for passage in passages_of(text)]
