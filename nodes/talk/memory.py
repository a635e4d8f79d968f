"""What was said before the window comes back when it is spoken of again; no question is asked of a chat model for it.

Every exchange is kept after its reply, and looked up by meaning and by words before the next. It has no paper: the
methods' papers have talks of one turn.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from babel.dates import format_timedelta
from langchain_core.messages import AnyMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from dramaturg.models.embeddings import Embedder
from dramaturg.models.errors import ModelError, WeightsError
from dramaturg.nodes.reply import BYTES
from dramaturg.nodes.run import RoleContext, Run, needs, open_run, settings
from dramaturg.nodes.self_contained import in_full, refers_back
from dramaturg.nodes.talk.facts import known_facts, noted, replaced_in
from dramaturg.nodes.talk.index import Found, TalkIndex, words_of
from dramaturg.nodes.text.recalled import GAP, size_of
from dramaturg.nodes.text.splitter import split_document
from dramaturg.nodes.turn import (
    RecalledTalk,
    SummarySettings,
    TalkState,
    clipped,
    speaker_named,
    stranger_name,
    talk_records,
)
from dramaturg.stores.conversations.talk import (
    HEADS,
    Line,
    Note,
    Talk,
    TalkHead,
    TalkRecord,
    TalkRecords,
    TalksOf,
    digest_of,
    read_all,
)
from dramaturg.stores.index.folder import left_out_of
from dramaturg.stores.index.vectors import Vectors, unit_rows
from dramaturg.stores.role import Role

MOST = 24  # exchanges that are found, before there is room for them
LONG = 600  # bytes of a line: a longer one is shown by what was found in it
LEAST = 60  # bytes: where less is left, nothing more is looked for
OPENING = 200  # bytes that are shown of a long line in which nothing was found
BRANCHES = 64  # of talks, whose indexes stay in the process
MOST_RECORDS = 100_000  # in all of them
OTHER_TALKS = 50  # of the same user, that are looked at: the latest


class Shown(NamedTuple):
    """A record that comes back, as it is shown, and why: how it was found; None: it was said just before or after."""

    record: TalkRecord
    text: str
    found: Found | None
    talk: str
    """The name of the other talk in which it was said; empty: this one."""


@dataclass(frozen=True)
class Told:
    """A part of what was said to the role that is looked at: this talk before its window, or the user's other talks."""

    index: TalkIndex
    until: int
    """How many of its records are looked at."""
    kept: Mapping[str, TalkRecords]
    """Where its records are kept, by the id of each; of this talk all are in one place, and stand under ""."""
    later: frozenset[int] = frozenset()
    """The places of those that are of a later time than the role knows of, or of one that cannot be compared."""


@needs(question="read_turn")
async def recall_talk(state: TalkState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Find again what was said before the window that the question speaks of, with what was said around it.

    Where the embedding model cannot be asked, words alone find it, and the evidence says so.

    Raises:
        StorageError: the store cannot be read.
    """
    run = await open_run(runtime, SummarySettings)
    kept = talk_records(runtime, run.settings)
    if kept is None:
        return {"recalled_talk": []}
    talk = await kept.read(state.get("talk_head", ""))
    parts, notes = await told_before(kept, talk, state, run.settings), notes_with_room(talk.notes, run)
    if run.as_of is not None:
        parts = [in_time(one, run) for one in parts]
    if not parts:
        return {"recalled_talk": notes, **({"evidence": {"talk": list(map(dict, notes))}} if notes else {})}
    asked, evidence = asked_for(state), dict[str, Any]()
    vectors: list[Vectors | None] = [None] * len(asked)
    try:
        model = await run.embedder()
        queries = asyncio.gather(*map(model.query, asked))
        meant, _ = await asyncio.gather(queries, asyncio.gather(*(embed(one, model) for one in parts)))
        vectors = [*unit_rows(np.stack(meant))]
    except (ModelError, WeightsError, ValueError) as error:
        evidence["talk_error"] = str(error)
    left, now = run.settings.talk_tokens * BYTES - sum(size_of(one["text"]) for one in notes), datetime.now(UTC)

    def looked_for() -> tuple[list[Shown], list[str]]:
        found = [looked_up(one, asked, vectors) for one in parts]
        shown = with_room(parts, found, "\n".join(asked), run, left)
        return shown, [when(one, now, run) for one in shown]  # a language is read from a file

    shown, times = await asyncio.to_thread(looked_for)
    recalled: list[RecalledTalk] = [
        {
            "when": time,
            "text": one.text,
            "turn": one.record.said[0].id,
            "place": one.record.place,
            "talk": one.talk,
        }
        for one, time in zip(shown, times, strict=True)
    ]
    runtime.stream_writer({"event": "recalled talk", "exchanges": len(recalled)})
    how = [
        {
            **told,
            "by_meaning": one.found.by_meaning if one.found else None,
            "by_words": one.found.by_words if one.found else None,
            "pinned": one.record.pinned,
        }
        for told, one in zip(recalled, shown, strict=True)
    ]
    evidence |= {"talk": [*notes, *how], **run.kept_back()}
    return {"recalled_talk": [*notes, *recalled], "evidence": evidence}


@needs(messages="read_turn")
async def keep_talk(state: TalkState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Keep what was said in this turn, so that it can be found again when it has left the window.

    Raises:
        StorageError: the store cannot be written.
    """
    own = settings(runtime, SummarySettings)
    kept = talk_records(runtime, own)
    if kept is None:
        return {"recalled_talk": []}
    head = await kept.extended(state.get("talk_head", ""), state["messages"])
    written = await note_facts(kept, head, runtime) if own.talk_facts == "on" else {}
    if user := known_as(own):
        await TalksOf(kept.store, kept.role, user).note(kept.thread, head)
    return {"talk_head": head, "recalled_talk": [], **written}


async def keep_heard(
    runtime: Runtime[Any], own: RoleContext, head: str, messages: Sequence[AnyMessage]
) -> dict[str, Any]:
    """Keep what a role has heard in a scene, also where it does not answer.

    Args:
        runtime: of the node around.
        own: the settings of the role.
        head: the id of the last record of what it has heard so far; empty: there is none.
        messages: its window.

    Returns:
        What it remembers now: its `talk_head`; nothing, where nothing is kept.

    Raises:
        StorageError: the store cannot be written.
    """
    if not isinstance(own, SummarySettings) or (kept := talk_records(runtime, own)) is None:
        return {}
    head = await kept.extended(head, messages)
    for key in told_under(own):
        await TalksOf(kept.store, kept.role, key).note(kept.thread, head)
    return {"talk_head": head} if head else {}


async def keep_said(runtime: Runtime[Any], own: RoleContext, head: str, witnesses: Sequence[str], when: str) -> None:
    """Keep who has heard the line that a role has said last in a scene, by the record that holds it.

    Raises:
        StorageError: the store cannot be written.
    """
    if head and isinstance(own, SummarySettings) and (kept := talk_records(runtime, own)) is not None:
        await kept.save_witnesses(head, witnesses, when)
        for key in told_under(own):
            await TalksOf(kept.store, kept.role, key).note(kept.thread, head)


def told_under(own: SummarySettings) -> list[str]:
    """Under which names or keys other talks of the role are kept that may come back in this one."""
    return list(dict.fromkeys(filter(None, [known_as(own), scenes_of(own)])))


def scenes_of(own: SummarySettings) -> str:
    """Under what the scenes of a role are kept, which is no name of a user."""
    return scenes_under(own.scenes) if own.scenes else ""


def scenes_under(name: str) -> str:
    """Under what scenes are kept that were played under a name."""
    return f"\0scenes of {name}"


async def note_facts(kept: TalkRecords, head: str, runtime: Runtime[Any]) -> dict[str, Any]:
    """Note what was said last, where it is not noted yet, and give evidence and usage of that."""
    run = await open_run(runtime, SummarySettings)
    branch = await kept.branch(head)
    if not branch or branch[-1].facts:
        return {}
    last = branch[-1]
    exchange = "\n".join(line_text(line, "", run.role, stranger_name(run), False) for line in last.said)
    index = await index_of(kept, last.parent)
    known = await asyncio.to_thread(known_facts, index, exchange)
    facts, evidence = await noted(run, exchange, known)
    if facts:
        await kept.save_facts(last, facts)
    return {"evidence": evidence, "usage": {"keep_talk": run.usage}}


def known_as(own: SummarySettings) -> str:
    """Under which name or key the user is known in all talks; a LangGraph server says whom it has let in."""
    return own.known_as or str(get_config().get("configurable", {}).get("langgraph_auth_user_id") or "")


def looked_up(told: Told, asked: Sequence[str], vectors: Sequence[Vectors | None]) -> list[Found]:
    """What is nearest to what is asked, of each by turns; it blocks."""
    later = sorted(told.later)
    several = [told.index.nearest(*one, told.until, MOST, later) for one in zip(asked, vectors, strict=True)]
    first = dict[int, Found]()
    for one in (one for row in zip_longest(*several) for one in row if one is not None):
        first.setdefault(one.at, one)
    return list(first.values())[:MOST]


async def told_before(kept: TalkRecords, talk: Talk, state: TalkState, own: SummarySettings) -> list[Told]:
    """What there is to look at: this talk before its window, and the other talks of the same user."""
    parts, head = list[Told](), state.get("talk_head", "")
    if head:
        index = await index_of(kept, head, talk)
        if until := before_window(index.records, {str(message.id) for message in state["messages"]}):
            parts.append(Told(index, until, {"": kept}))
    if keys := told_under(own):
        talks = await others_of(kept, head, own)
        place = (HEADS, digest_of(kept.role, "\n".join(keys)), kept.namespace[1])
        other = await index_of_all(
            kept.store, place, [(TalkRecords(kept.store, kept.role, one.thread), one.head) for one in talks]
        )
        if other.until:
            parts.append(other)
    return parts


async def others_of(kept: TalkRecords, head: str, own: SummarySettings) -> list[TalkHead]:
    """The other talks of the user, and the role's other scenes, in the order in which they were last spoken on.

    What came of them is taken out of this talk where it is forgotten there: so it stands among them before.
    """
    found = dict[str, TalkHead]()
    for key in told_under(own):
        of_user = TalksOf(kept.store, kept.role, key)
        await of_user.begin(kept.thread, head if key == known_as(own) else "")  # a talk is no scene
        found |= {one.thread: one for one in await of_user.others(kept.thread, OTHER_TALKS)}
    return sorted(found.values(), key=lambda one: (one.at, one.thread))[-OTHER_TALKS:]


def in_time(told: Told, run: Run[SummarySettings]) -> Told:
    """The same without what was heard in a scene of a later time than the role knows of."""
    times, as_of = [one.when for one in told.index.records[: told.until]], run.as_of
    verdicts = {when: as_of.knows_text(when) for when in set(times) if as_of is not None}
    if all(verdicts.values()):
        return told
    later = {at: known for at, when in enumerate(times) if not (known := verdicts[when])}
    run.keep_back(talk=left_out_of(later.values()))
    return replace(told, later=frozenset(later))


async def embed(told: Told, model: Embedder) -> None:
    """Have the meanings of what is looked at, some at a time, and keep them.

    Raises:
        ModelError: the model cannot be reached.
    """
    if not (lacking := told.index.lacking(model.name, told.until)):
        return
    new = await told.index.embed(model, lacking)
    for kept in set(told.kept.values()):
        if own := [one for one in new if told.kept.get(one.id, told.kept.get("")) is kept]:
            await kept.save_meanings(own)


def before_window(records: Sequence[TalkRecord], shown: set[str]) -> int:
    """How many records of a branch were said before what its window shows.

    Args:
        records: of the branch, in their order.
        shown: the ids of the messages in the window.
    """
    until = len(records)
    while until and any(line.id in shown for line in records[until - 1].said):
        until -= 1
    return until


def asked_for(state: Mapping[str, Any]) -> list[str]:
    """What is looked up: the question, and once more with what was said before it where it goes on from that.

    Together they would find little but what was said before it: that stands in the talk word for word.
    """
    question = in_full(state)
    if not refers_back(question):
        return [question]
    before = [text for message in state["messages"][:-1] if (text := message.text).strip()][-2:]
    return [question, "\n".join([*before, question])] if before else [question]


def notes_with_room(notes: Sequence[Note], run: Run[SummarySettings]) -> list[RecalledTalk]:
    """The user's notes that there is room for, the latest first; they stand before what comes back, in their order."""
    (only,) = run.prompt("kept_in_mind").messages()
    left, shown = run.settings.talk_tokens * BYTES, list[RecalledTalk]()
    for place, note in enumerate(reversed(notes), 2):
        if (left := left - size_of(note.text)) < 0:
            break
        shown.append({"when": only.text.strip(), "text": note.text, "turn": note.id, "place": -place, "talk": ""})
    return shown[::-1]


def with_room(
    parts: Sequence[Told], found: Sequence[Sequence[Found]], words: str, run: Run[SummarySettings], left: int
) -> list[Shown]:
    """What there is room for, in the order in which it was said: what was pinned, what was found, what is around it."""
    chosen = dict[tuple[int, int], Shown]()
    hits = [(number, one) for row in zip_longest(*found) for number, one in enumerate(row) if one is not None]
    known = {(number, one.at): one for number, one in hits}
    pinned = [(number, at) for number, one in enumerate(parts) for at in one.index.pinned]
    around = [(number, at) for number, one in hits for at in (one.at - 1, one.at + 1)]
    later = {
        number: later_of(part, [one.at for row, one in hits if row == number]) for number, part in enumerate(parts)
    }
    stranger = stranger_name(run)
    wanted = [(number, at) for number, one in hits for at in (one.at, *later[number].get(one.at, ()))]
    for number, at in [*pinned, *wanted, *around]:
        records, hit = parts[number].index.records, known.get((number, at))
        if not 0 <= at < parts[number].until or (number, at) in chosen or records[at].is_forgotten:
            continue
        if at in parts[number].later:
            continue
        if sum(size for size in parts[number].index.sizes[at] if size <= LONG) > left:  # of a long line less is shown
            continue
        kept = parts[number].kept
        talk = "" if "" in kept else kept[records[at].id].thread
        known_well = hit is not None or records[at].pinned
        text = "\n".join(line_text(line, words, run.role, stranger, known_well) for line in records[at].said)
        if (size := size_of(text)) <= left:
            chosen[number, at] = Shown(records[at], text, hit, talk)
            left -= size
        if left < LEAST:
            break
    return [chosen[place] for place in sorted(chosen, key=lambda place: (-place[0], place[1]))]


def later_of(part: Told, found: Sequence[int]) -> dict[int, list[int]]:
    """By the place of each record that was found, of which something holds no more: where it is said what holds."""
    records = part.index.records
    if not any(records[at].facts for at in found):
        return {}
    replaced = replaced_in(records[: part.until])
    places = {one.id: at for at, one in enumerate(records[: part.until])} if replaced else {}
    told = {at: [f"{records[at].id}:{number}" for number in range(len(records[at].facts))] for at in found}
    return {at: [places[replaced[one].id] for one in facts if one in replaced] for at, facts in told.items()}


def line_text(line: Line, words: str, role: Role, stranger: str, found: bool) -> str:
    """Who said what, on one line; of a long text the part that shares most words with what is looked up.

    A word counts the more, the fewer parts it is in.
    """
    text = " ".join(line.text.split())
    if size_of(text) > LONG:
        if found:
            length = LONG * 4 // 5 * len(text) // size_of(text)
            asked, shared = set(words_of(words)), dict[str, set[str]]()
            for part in split_document(text, method="fixed", fixed_length=length, fixed_overlap=length // 4):
                shared[part.text] = asked & set(words_of(part.text))
            count = Counter(word for own in shared.values() for word in own)
            best = max(shared, key=lambda one: sum(1 / count[word] for word in shared[one]), default=text)
            text = f"{GAP.strip()} {best.strip()} {GAP.strip()}"
        text = clipped(text, LONG if found else OPENING)
    return f"{speaker_named(line.who, line.name, role, stranger)}: {text}"


def when(one: Shown, now: datetime, run: Run[SummarySettings]) -> str:
    """How long ago something was said, and whether in another talk, in words; empty: just now, in this one."""
    ago, since = "", one.record.at - now
    if since.total_seconds() <= -60:
        ago = str(format_timedelta(since, granularity="minute", add_direction=True, locale=run.language))
    if not one.talk:
        return ago
    (only,) = run.prompt("in_another_talk").messages(when=ago)
    return only.text.strip(" ,，")


@dataclass(frozen=True)
class Cached:
    """An index that stays in the process, and what it was made from."""

    branches: Sequence[tuple[Talk, str]]
    """The talks in their order, each with the last of its records."""
    index: TalkIndex
    kept: Mapping[str, TalkRecords]


async def index_of(kept: TalkRecords, head: str, talk: Talk | None = None) -> TalkIndex:
    """The index of the branch that ends with a record; it grows with the talk.

    Args:
        kept: where the talk is kept.
        head: the id of the record.
        talk: what was read of it just now.
    """
    talk, new = talk or await kept.read(head), list[TalkRecord]()
    with _lock:
        indexes = _indexes.setdefault(kept.store, OrderedDict())
        for key in [key for key, one in indexes.items() if key[0] == kept.namespace and one.branches[0][0] is not talk]:
            del indexes[key]  # something was forgotten
        index = TalkIndex()
        for record in talk.back(head):
            if known := indexes.pop((kept.namespace, record.id), None):
                index = known.index
                break
            new.append(record)
    if new:
        await asyncio.to_thread(index.extend, new[::-1])
    _remember(kept.store, (kept.namespace, head), Cached([(talk, head)], index, {"": kept}))
    return index


async def index_of_all(store: BaseStore, place: tuple[str, ...], talks: Sequence[tuple[TalkRecords, str]]) -> Told:
    """The index of several talks, one after the other; of those that have gone on, what is new is added.

    It is rebuilt where one of them is gone, or something was forgotten in it: nothing of that is to be left.

    Args:
        store: where they are kept.
        place: whose talks these are, and beside which one: that keeps one index.
        talks: each with the id of the last of its records.
    """
    read = await read_all(store, talks)
    branches = [(talk, head) for talk, (_, head) in zip(read, talks, strict=True)]
    with _lock:
        known = _indexes.setdefault(store, OrderedDict()).pop((place, ""), None)  # nobody else adds to it
    if known is None or known.branches != branches:
        records = [list(talk.back(head))[::-1] for talk, head in branches]
        there = {id(talk) for talk in read}
        stays = known is not None and all(id(talk) in there for talk, _ in known.branches)
        before = known.index if known and stays else TalkIndex()
        index = await asyncio.to_thread(before.arranged, [record for own in records for record in own])
        kept = {one.id: talk for own, (talk, _) in zip(records, talks, strict=True) for one in own}
        known = Cached(branches, index, kept)
    _remember(store, (place, ""), known)
    return Told(known.index, len(known.index), known.kept)


def drop_indexes(kept: TalkRecords) -> None:
    """Have nothing of a talk that is erased stay in the process."""
    with _lock:
        indexes = _indexes.get(kept.store, OrderedDict())
        for key, cached in list(indexes.items()):
            if any(one.namespace == kept.namespace for one in {*cached.kept.values()}):
                del indexes[key]


def _remember(store: BaseStore, key: "Place", cached: Cached) -> None:
    with _lock:
        indexes = _indexes.setdefault(store, OrderedDict())
        indexes[key] = cached
        indexes.move_to_end(key)
        while len(indexes) > 1 and (
            len(indexes) > BRANCHES or sum(len(one.index) for one in indexes.values()) > MOST_RECORDS
        ):
            indexes.popitem(last=False)


Place = tuple[tuple[str, ...], str]
"""Where a talk is kept, and the last of its records; of a user's talks beside one, what they are known by, and none."""
_indexes: WeakKeyDictionary[BaseStore, OrderedDict[Place, Cached]] = WeakKeyDictionary()
_lock = Lock()
