"""What was said in a conversation, exchange by exchange, each kept after the one before it.

A record's id is a digest of what was said in it and of the record before: whoever has the id of the last one has all of
its branch, and no other. A branch begins where two records have the same one before them. The same talk makes the same
records, whoever writes them and however often.
"""

import base64
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from threading import Lock
from typing import Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from langchain_core.messages import AnyMessage
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp
from pydantic import AwareDatetime, BaseModel, ConfigDict, JsonValue, ValidationError

from dramaturg.stores.conversations.items import PAGE, drop_at, items_at, items_under, pages
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.index.vectors import Vectors, unit_rows

ROOT, HEADS, USERS = "dramaturg_talks", "dramaturg_talks_of", "dramaturg_users_of"
LISTED = "listed"  # the key of what says that there are users of each talk that has heads
CHANGED = "changed"  # the key of what says how often a talk's past was changed
DIGITS = 32
MOST_KEPT = 50_000  # records that stay in the process
NOTES = "notes"  # the key of the user's notes
SCENE = "dramaturg_scene"
"""The key among a message's `additional_kwargs` of what is known of a line of a scene: who has heard it, and when."""
MOST_NOTES, LONGEST_NOTE = 50, 500  # how many of them, and characters of one


class Line(BaseModel):
    """What somebody said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Of the message."""
    who: Literal["human", "ai"]
    name: str | None = None
    """Who that is, where it is known."""
    text: str


class Fact(BaseModel):
    """What was noted of an exchange; without a text where it was forgotten."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: Literal["user", "role", "world"]
    text: str
    replaces: tuple[str, ...] = ()
    """Which facts hold no more since then: the id of the record of each, a colon, and its place there."""


class Standing(BaseModel):
    """How the role has come to stand to whom it talks with, by what was said in a record and in those before it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_role: str
    """The role that the user played; empty: a stranger."""
    text: str
    exchanges: int
    """How many records it is made of; the last of them has it."""


class TalkRecord(BaseModel):
    """What was said at once: mostly a question and its reply."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    parent: str
    """The id of the record before it; empty: it is the first."""
    place: int
    """How many records are before it."""
    said: tuple[Line, ...]
    """Without names and texts where it was forgotten."""
    at: AwareDatetime
    facts: tuple[Fact, ...] = ()
    """What was noted of it."""
    standings: tuple[Standing, ...] = ()
    """How the role has come to stand since then, to each user's role."""
    witnesses: tuple[str, ...] = ()
    """Of a line of a scene: the ids of the roles that have heard it."""
    when: str = ""
    """Of a line of a scene: its time there, in words; empty: nobody has said."""
    pinned: bool = False
    """Comes back whatever is asked."""
    embedding: str = ""
    """The name of the model that gave `vectors`."""
    vectors: str = ""
    """The meanings of the passages of its lines, shape (p, d), as bytes from -127 to 127 in base64."""
    dimension: int = 0

    @property
    def is_forgotten(self) -> bool:
        """Whether what was said in it is in it no more."""
        return not any(line.text for line in self.said)

    @property
    def forgotten(self) -> "TalkRecord":
        """The same without what was said in it, and what it meant: the ids of its messages are left."""
        lines = tuple(Line(id=line.id, who=line.who, text="") for line in self.said)
        nothing = {"facts": (), "standings": (), "embedding": "", "vectors": "", "dimension": 0, "pinned": False}
        return self.model_copy(update={"said": lines, **nothing})

    def directions(self, embedding: str) -> Vectors | None:
        """The meanings, of length 1, shape (p, d); None: this model has not given them."""
        if not self.vectors or self.embedding != embedding:
            return None
        rows = np.frombuffer(base64.b64decode(self.vectors), np.int8).reshape(-1, self.dimension)
        return unit_rows(rows.astype(np.float32)).astype(np.float32)

    def embedded(self, embedding: str, rows: Vectors) -> "TalkRecord":
        """The same with meanings, shape (p, d), as a byte a number: a cosine is within half a hundredth of its own."""
        largest = np.abs(rows).max(axis=1, keepdims=True)
        small = np.rint(rows / np.where(largest > 0, largest, 1) * 127).astype(np.int8)
        vectors = base64.b64encode(small.tobytes()).decode()
        return self.model_copy(update={"embedding": embedding, "vectors": vectors, "dimension": rows.shape[1]})


class Note(BaseModel):
    """What the user wants the role to keep in mind, whatever is said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    text: str
    at: AwareDatetime


class Talk:
    """The records of a conversation that this process has read, of all branches; another one after a change.

    Args:
        changed: what differs where something was forgotten since then.
    """

    def __init__(self, changed: JsonValue = None) -> None:
        self.records: dict[str, TalkRecord] = {}
        self.changed = changed
        self.notes: list[Note] = []
        """The user's notes, the oldest first; they are of all branches."""
        self.whole = set[str]()
        """The ids of records of which all that led to them is known to be there."""

    def back(self, head: str) -> Iterator[TalkRecord]:
        """The records that led to one, that one first; where one is lost, those after it."""
        while head and (one := self.records.get(head)):
            yield one
            head = one.parent


class TalkRecords:
    """What was said in one conversation, in any LangGraph store.

    Args:
        store: where it is kept; its vector index, if it has one, is left alone.
        role: the id of the role.
        thread: the name of the conversation.
    """

    def __init__(self, store: BaseStore, role: str, thread: str) -> None:
        self.store = store
        self.role = role
        self.thread = thread
        self.namespace = (ROOT, digest_of(role, thread))
        self.users = (USERS, self.namespace[1])

    async def branch(self, head: str) -> list[TalkRecord]:
        """The records that led to one, oldest first, and that one; where one is lost, those after it."""
        return list((await self.read(head)).back(head))[::-1]

    async def read(self, head: str) -> Talk:
        """Have the records of the conversation that lead to one; what is there already is not read again."""
        marked, noted = await self.store.abatch([GetOp(self.namespace, CHANGED), GetOp(self.namespace, NOTES)])
        talk = self._as_marked(marked)
        talk.notes = self._notes_in(noted)
        await self._read_until(head, talk)
        return talk

    def _as_marked(self, marked: object) -> Talk:
        """What this process has read of it, as long as it is what is kept."""
        talk, changed = self._known(), marked.value.get("times") if isinstance(marked, Item) else None
        # Who has the other one at hand goes on with what was there.
        return talk if talk.changed == changed else self._known(Talk(changed))

    async def _read_until(self, head: str, talk: Talk) -> None:
        """Have the records of a talk that lead to one."""
        if not head or head in talk.records:
            return
        # What another process has said since then is read one by one, as long as it is little.
        missing, found = head, list[TalkRecord]()
        while talk.records and missing and missing not in talk.records and len(found) < 4:
            item = await self.store.aget(self.namespace, missing)
            record = self._read(item) if item else None
            if record is None:
                break
            found.append(record)
            missing = record.parent
        if not missing or missing in talk.records:
            talk.records |= {one.id: one for one in found}
            return
        # All at once: who has the last record in the meantime has those before it.
        talk.records |= {
            record.id: record async for item in items_under(self.store, self.namespace) if (record := self._read(item))
        }

    async def extended(
        self, head: str, messages: Sequence[AnyMessage], at: Mapping[str, datetime] | None = None
    ) -> str:
        """Keep what was said, and return the id of its last record.

        What the branch holds already is not kept twice, and what was forgotten stays forgotten; where it holds
        something else after the same beginning, as after an edit, what is said now is a branch of its own.

        Args:
            head: the id of the last record so far; empty: there is none.
            messages: the end of the conversation, as its window shows it; a question without a reply is left out.
            at: when messages were said, by their ids, where that is not now.
        """
        said = list(exchanges_in(messages))
        if not said:
            return head
        scenes = {str(one.id): told for one in messages if (told := told_in(one))}
        known = self._since((await self.read(head)).back(head), said[0][0].id)
        if known:
            # The window may begin in the middle of what was said at once.
            first = known[0].said[: next(at for at, line in enumerate(known[0].said) if line.id == said[0][0].id)]
            said[0] = first + said[0]
            head, done = known[0].parent, 0
            for one in known:
                if done < len(said) and _is_said_in(one, said[done]):
                    done += 1
                elif not one.is_forgotten:
                    break
                head = one.id
            said = said[done:]
        records, new = self._known().records, dict[str, TalkRecord]()
        place = records[head].place + 1 if head in records else 0
        for at_place, lines in enumerate(said, place):
            digest = sha256(canonical([head, [line.model_dump() for line in lines]]))[:DIGITS]
            if digest not in records:
                when = (at or {}).get(lines[0].id) or datetime.now(UTC)
                scene = scenes.get(lines[0].id, {})
                new[digest] = TalkRecord(
                    id=digest,
                    parent=head,
                    place=at_place,
                    said=lines,
                    at=when,
                    witnesses=tuple(scene.get("witnesses", ())),
                    when=scene.get("when", ""),
                )
            head = digest
        if new and next(iter(new.values())).parent not in records:  # what is kept from the first on was not read
            new = {**new, **{one.id: one for one in await self.get(new)}}
        await self.save(new.values())
        return head

    @staticmethod
    def _since(back: Iterator[TalkRecord], message: str) -> list[TalkRecord]:
        """The records from the one that holds a message on, oldest first; none, if none does."""
        found = list[TalkRecord]()
        for one in back:
            found.append(one)
            if any(line.id == message for line in one.said):
                return found[::-1]
        return []

    async def save(self, records: Iterable[TalkRecord]) -> None:
        """Keep records in the place of those with the same ids."""
        by_id = {one.id: one for one in records}
        for page in pages(by_id):
            writes: list[Op] = [PutOp(self.namespace, one, self._record(by_id[one]), index=False) for one in page]
            await self.store.abatch(writes)
        self._known().records.update(by_id)

    async def save_meanings(self, embedded: Iterable[TalkRecord]) -> None:
        """Keep the meanings of records, where these are as they were when they were read, and nothing else of them.

        A model has been asked meanwhile: what was forgotten, erased or pinned by then is not to be as it was before.
        """
        by_id = {one.id: one for one in embedded}
        there = [(one, by_id[one.id]) for one in await self.get(by_id)]
        await self.save(
            now.model_copy(update=new.model_dump(include={"embedding", "vectors", "dimension"}))
            for now, new in there
            if (now.said, now.facts) == (new.said, new.facts)
        )

    async def save_witnesses(self, head: str, witnesses: Sequence[str], when: str) -> None:
        """Keep who has heard the line of a scene that is in a record, and when that was."""
        there = await self.get([head])
        await self.save(one.model_copy(update={"witnesses": tuple(witnesses), "when": when}) for one in there)

    async def save_facts(self, record: TalkRecord, facts: tuple[Fact, ...]) -> None:
        """Keep what was noted of a record, where that is as it was when a model was asked; see `save_meanings`."""
        there = await self.get([record.id])
        await self.save(one.model_copy(update={"facts": facts}) for one in there if one.said == record.said)

    async def save_standing(self, made_of: Sequence[TalkRecord], standing: Standing) -> None:
        """Keep how the role has come to stand with the last of the records that a model was told of.

        It is kept where all of them are as they were; see `save_meanings`.
        """
        there = await self.get(one.id for one in made_of)
        if {one.id: one.said for one in there} == {one.id: one.said for one in made_of}:
            last = next(one for one in there if one.id == made_of[-1].id)
            others = (one for one in last.standings if one.user_role != standing.user_role)
            await self.save([last.model_copy(update={"standings": (*others, standing)})])

    async def standings_of(self, ids: Iterable[str]) -> list[tuple[TalkRecord, Standing]]:
        """The standings that are made of any of these records, each with the record that has it."""
        meant, talk = set(ids), Talk()
        talk.records = {one.id: one for one in await self.all()}
        return [
            (record, standing)
            for record in talk.records.values()
            for standing in record.standings
            if any(one.id in meant for one in islice(talk.back(record.id), standing.exchanges))
        ]

    async def all(self) -> list[TalkRecord]:
        """Every record of the conversation, on whatever branch, the first said first."""
        found = [record async for item in items_under(self.store, self.namespace) if (record := self._read(item))]
        return sorted(found, key=lambda one: (one.at, one.place, one.id))

    async def forget(self, ids: Iterable[str]) -> None:
        """Forget what was said in records, and what is made of it; what was said after them still has its place."""
        meant = set(ids)
        if kept := await self.get(meant):
            left = dict[str, TalkRecord]()
            for record, made in await self.standings_of(meant):
                now = left.get(record.id, record)
                stay = tuple(one for one in now.standings if one != made)
                left[record.id] = now.model_copy(update={"standings": stay})
            await self.save((left | {one.id: one.forgotten for one in kept}).values())
            await self._note_change()

    async def forget_made(self, meant: Callable[[str], bool]) -> None:
        """Forget facts and standings of exchanges that are remembered; the other facts keep their places."""
        changed = list[TalkRecord]()
        for one in await self.all():
            facts = tuple(fact.model_copy(update={"text": ""}) if meant(fact.text) else fact for fact in one.facts)
            standings = tuple(standing for standing in one.standings if not meant(standing.text))
            new: dict[str, Any] = {"facts": facts, "standings": standings}
            if facts != one.facts:  # its meanings were those of its facts, too
                new |= {"embedding": "", "vectors": "", "dimension": 0}
            if (facts, standings) != (one.facts, one.standings):
                changed.append(one.model_copy(update=new))
        if changed:
            await self.save(changed)
            await self._note_change()

    async def pin(self, ids: Iterable[str], *, pinned: bool) -> None:
        """Have records come back whatever is asked, or no more."""
        if kept := await self.get(ids):
            await self.save([one.model_copy(update={"pinned": pinned}) for one in kept])
            await self._note_change()

    async def notes(self) -> list[Note]:
        """The user's notes, the oldest first; they are of all branches."""
        return self._notes_in(await self.store.aget(self.namespace, NOTES))

    def _notes_in(self, item: object) -> list[Note]:
        kept = item.value.get("notes") if isinstance(item, Item) else None
        if not isinstance(item, Item) or not kept or item.value.get("checksum") != self._checksum(kept):
            return []
        return [Note.model_validate(one) for one in kept]

    async def add_note(self, text: str) -> Note:
        """Keep a note.

        Raises:
            ValueError: it has no text, or is too long, or there are as many as can be.
        """
        text, notes = " ".join(text.replace("\0", "").encode(errors="replace").decode().split()), await self.notes()
        if not text or len(text) > LONGEST_NOTE:
            raise ValueError(f"A note has up to {LONGEST_NOTE} characters, and one at least: this one has {len(text)}.")
        if len(notes) >= MOST_NOTES:
            raise ValueError(f"There are {MOST_NOTES} notes already: forget one of them first.")
        note = Note(id=sha256(text.encode())[:DIGITS], text=text, at=datetime.now(UTC))
        await self._save_notes([*(one for one in notes if one.id != note.id), note])
        return note

    async def drop_notes(self, ids: Iterable[str]) -> None:
        """Forget notes."""
        gone, notes = set(ids), await self.notes()
        left = [one for one in notes if one.id not in gone]
        if left != notes:
            await self._save_notes(left)

    async def _save_notes(self, notes: Sequence[Note]) -> None:
        kept = [one.model_dump(mode="json") for one in notes]
        value = {"notes": kept, "checksum": self._checksum(kept)} if kept else None
        await self.store.abatch([PutOp(self.namespace, NOTES, value, index=False)])

    async def get(self, ids: Iterable[str]) -> list[TalkRecord]:
        """The records with these ids; those that are gone or damaged are left out."""
        items = await items_at(self.store, self.namespace, ids)
        return [record for item in items.values() if (record := self._read(item))]

    async def drop_lost(self, turns: Iterable[str], heads: Iterable[str] = ()) -> None:
        """Forget the ends of branches whose messages are in none of these turns any more.

        Args:
            turns: the ids of all turns that are left.
            heads: the ids of records that are named somewhere, with all that led to them; first that of the talk as it
                is now.
        """
        heads = list(heads)
        held, records = set(turns), {one.id: one for one in await self.all()}
        ends = [one.id for one in records.values() if any(line.id in held for line in one.said)]
        kept = set[str]()
        for one in [*ends, *heads]:
            record = records.get(one)
            while record and record.id not in kept:
                kept.add(record.id)
                record = records.get(record.parent)
        if gone := records.keys() - kept:
            now = heads[0] if heads else ""
            lost = [one for one in await self._named() if one.value.get("head") in gone]
            await self.store.abatch(
                [PutOp(one.namespace, one.key, {**one.value, "head": now}, index=False) for one in lost]
                if now
                else self._without(lost)
            )
            await drop_at(self.store, self.namespace, gone)
            await self._note_change()

    async def is_whole(self, head: str) -> bool:
        """Whether all that led to a record is there; where there is none, that is."""
        talk, led = await self.read(head), list[str]()
        for one in talk.back(head):
            if one.id in talk.whole:
                break
            led.append(one.id)
        else:
            if (talk.records[led[-1]].parent if led else head) != "":
                return False
        talk.whole.update(led)
        return True

    async def hide(self) -> None:
        """Have nothing of this talk come back in others from now on; who has had it is still known."""
        await self.store.abatch(
            [PutOp(one.namespace, one.key, {**one.value, "head": ""}, index=False) for one in await self._named()]
        )

    async def drop_all(self) -> None:
        """Forget all that was said, readable or not, and that somebody has said it."""
        keys = {item.key async for item in items_under(self.store, self.namespace)}
        await self.store.abatch(self._without(await self._named()))
        await drop_at(self.store, self.namespace, keys)
        with _lock:
            _talks.get(self.store, OrderedDict()).pop(self.namespace, None)

    async def beside(self) -> set[str]:
        """The other talks of those who have had this one: what was said here may have come back in them."""
        names = {
            item.value.get("thread")
            for one in await self._named()
            async for item in items_under(self.store, one.namespace)
        }
        return {one for one in names if isinstance(one, str) and one != self.thread}

    async def _named(self) -> list[Item]:
        """Where this talk stands among those of its users."""
        await list_users(self.store)
        users, key = [item.key async for item in items_under(self.store, self.users)], key_of(self.thread)
        found = list[Item]()
        for page in pages(users):
            reads: list[Op] = [GetOp((HEADS, one), key) for one in page]
            found += [item for item in await self.store.abatch(reads) if isinstance(item, Item)]
        return found

    def _without(self, named: Iterable[Item]) -> list[Op]:
        """What takes this talk out of those of users, by where it stands among them."""
        return [
            op
            for one in named
            for op in (PutOp(one.namespace, one.key, None), PutOp(self.users, one.namespace[1], None))
        ]

    async def _note_change(self) -> None:
        """Tell other processes that what they have read is not what is kept."""
        marked = await self.store.aget(self.namespace, CHANGED)
        times = int(marked.value.get("times", 0)) + 1 if marked else 1
        await self.store.aput(self.namespace, CHANGED, {"times": times}, index=False)

    def _known(self, anew: Talk | None = None) -> Talk:
        with _lock:
            talks = _talks.setdefault(self.store, OrderedDict())
            talk = talks[self.namespace] = anew or talks.get(self.namespace) or Talk()
            talks.move_to_end(self.namespace)
            while len(talks) > 1 and sum(len(one.records) for one in talks.values()) > MOST_KEPT:
                talks.popitem(last=False)
            return talk

    def _record(self, one: TalkRecord) -> dict[str, JsonValue]:
        kept = one.model_dump(mode="json", exclude_defaults=True)
        return {**kept, "checksum": self._checksum(kept)}

    def _read(self, item: Item) -> TalkRecord | None:
        """The record of an item, if it is of this conversation and as it was written."""
        kept = {name: value for name, value in item.value.items() if name != "checksum"}
        if item.key in (CHANGED, NOTES) or item.value.get("checksum") != self._checksum(kept):
            return None
        try:
            return TalkRecord.model_validate(kept)
        except ValidationError:
            return None

    def _checksum(self, kept: Any) -> str:
        return sha256(canonical([self.role, self.thread, kept]))[:DIGITS]


_talks: WeakKeyDictionary[BaseStore, OrderedDict[tuple[str, ...], Talk]] = WeakKeyDictionary()
_lock = Lock()


async def read_all(store: BaseStore, talks: Sequence[tuple[TalkRecords, str]]) -> list[Talk]:
    """Have the records of several conversations that lead to one of each, without the notes.

    Args:
        store: where they are kept.
        talks: each with the id of that record.
    """
    marks: list[Op] = [GetOp(kept.namespace, CHANGED) for kept, _ in talks]
    marked = await store.abatch(marks) if marks else []
    read = [kept._as_marked(mark) for (kept, _), mark in zip(talks, marked, strict=True)]
    for (kept, head), talk in zip(talks, read, strict=True):
        await kept._read_until(head, talk)
    return read


def _is_said_in(record: TalkRecord, lines: tuple[Line, ...]) -> bool:
    """Whether a record is of what was said at once; one that was forgotten is known by its first message."""
    return record.said == lines or (record.is_forgotten and record.said[0].id == lines[0].id)


def digest_of(role: str, name: str) -> str:
    """Under what something of a role is kept, whatever its name is made of."""
    return sha256(json.dumps([role, name]).encode())


def key_of(thread: str) -> str:
    """The key of a talk among those of a user."""
    return sha256(thread.encode())[:DIGITS]


async def list_users(store: BaseStore) -> None:
    """Have the users of each talk listed, once in a store that an earlier version has written without that."""
    if await store.aget((USERS,), LISTED) is not None:
        return
    writes = list[Op]()
    async for item in items_under(store, (HEADS,)):
        role, thread = item.value.get("role"), item.value.get("thread")
        if isinstance(role, str) and isinstance(thread, str):
            writes.append(PutOp((USERS, digest_of(role, thread)), item.namespace[1], {"thread": thread}, index=False))
    if writes:
        for at in range(0, len(writes), PAGE):
            await store.abatch(writes[at : at + PAGE])
        await store.aput((USERS,), LISTED, {}, index=False)


class TalkHead(NamedTuple):
    """Where a talk stands that somebody has with a role."""

    thread: str
    head: str
    at: float


class TalksOf:
    """The talks that one user has with a role, by the name or key under which the user is known.

    Args:
        store: where they are kept.
        role: the id of the role.
        user: the name or key.
    """

    def __init__(self, store: BaseStore, role: str, user: str) -> None:
        self.store = store
        self.role = role
        self.namespace = (HEADS, digest_of(role, user))

    async def begin(self, thread: str, head: str) -> None:
        """Have a talk among them before anything of the others comes back in it: who forgets that, looks there, too."""
        if await self.store.aget(self.namespace, key_of(thread)) is None:
            await list_users(self.store)  # as long as there are few
            await self.note(thread, head)

    async def note(self, thread: str, head: str) -> None:
        """Keep how far a talk has come, and that this user has it."""
        value = {"role": self.role, "thread": thread, "head": head, "at": datetime.now(UTC).timestamp()}
        users = (USERS, digest_of(self.role, thread))
        await self.store.abatch(
            [
                PutOp(self.namespace, key_of(thread), value, index=False),
                PutOp(users, self.namespace[1], {"thread": thread}, index=False),
            ]
        )

    async def others(self, thread: str, most: int) -> list[TalkHead]:
        """The talks beside one, the latest of them, in the order in which they were last spoken on."""
        found = list[TalkHead]()
        async for item in items_under(self.store, self.namespace):
            name, head, at = (item.value.get(one) for one in TalkHead._fields)
            if isinstance(name, str) and isinstance(head, str) and isinstance(at, int | float):
                found.append(TalkHead(name, head, float(at)))
        found = [one for one in found if one.head and one.thread != thread]
        return sorted(found, key=lambda one: (one.at, one.thread))[-most:]


def told_in(message: AnyMessage) -> Mapping[str, Any] | None:
    """What is known of a line of a scene: who has heard it; None: it is none."""
    told = message.additional_kwargs.get(SCENE)
    if not isinstance(told, Mapping) or not isinstance(told.get("when", ""), str):
        return None
    heard = told.get("witnesses")
    return told if isinstance(heard, list) and all(isinstance(one, str) for one in heard) else None


def exchanges_in(messages: Sequence[AnyMessage]) -> Iterator[tuple[Line, ...]]:
    """What was said at once: each question with what came after it; a question without a reply is left out.

    A line of a scene stands by itself: who hears it need not answer.
    """
    lines = list[Line]()
    for message in messages:
        text = message.text.replace("\0", "").strip().encode(errors="replace").decode()  # no half of a pair
        if message.type == "human" and lines and lines[-1].who == "ai":
            yield tuple(lines)
            lines = []
        if text and message.type in {"human", "ai"}:
            name = message.name.replace("\0", "") if message.name is not None else None
            who: Literal["human", "ai"] = "human" if message.type == "human" else "ai"
            line, told = Line(id=str(message.id), who=who, name=name, text=text), told_in(message)
            if who == "ai" or told is None:
                lines.append(line)
            elif told.get("kind") != "cue":
                yield (line,)
    if lines and lines[-1].who == "ai":
        yield tuple(lines)
