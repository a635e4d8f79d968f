"""What was said before the window comes back when it is spoken of again; no question is asked of a chat model for it.

Every exchange is kept after its reply, and looked up by meaning and by words before the next. It has no paper: the
methods' papers have talks of one turn.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from babel.dates import format_timedelta
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from dramaturg.models.errors import ModelError
from dramaturg.nodes.reply import BYTES
from dramaturg.nodes.run import Run, needs, open_run, settings
from dramaturg.nodes.self_contained import in_full, refers_back
from dramaturg.nodes.talk.index import Found, TalkIndex
from dramaturg.nodes.text.recalled import GAP, passages_of, size_of
from dramaturg.nodes.turn import (
    RecalledTalk,
    SummarySettings,
    TalkState,
    clipped,
    speaker,
    stranger_name,
    talk_records,
)
from dramaturg.stores.conversations.talk import Line, Talk, TalkRecord, TalkRecords
from dramaturg.stores.index.vectors import Vectors, unit_rows

MOST = 24  # exchanges that are found, before there is room for them
LONG = 600  # bytes of a line: a longer one is shown by what was found in it
OPENING = 200  # bytes that are shown of a long line in which nothing was found
BRANCHES = 64  # of talks, whose indexes stay in the process
MOST_RECORDS = 100_000  # in all of them


class Shown(NamedTuple):
    """A record that comes back, as it is shown, and why: how it was found; None: it was said just before or after."""

    record: TalkRecord
    text: str
    found: Found | None


@needs(question="read_turn")
async def recall_talk(state: TalkState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Find again what was said before the window that the question speaks of, with what was said around it.

    Where the embedding model cannot be asked, words alone find it, and the evidence says so.

    Raises:
        StorageError: the store cannot be read.
    """
    run = await open_run(runtime, SummarySettings)
    kept, head = talk_records(runtime, run.settings), state.get("talk_head", "")
    if kept is None or not head or not run.settings.talk_tokens:
        return {"recalled_talk": []}
    index = await index_of(kept, head)
    until = before_window(index.records, {str(message.id) for message in state["messages"]})
    if not until:
        return {"recalled_talk": []}
    words, evidence = asked_for(state), dict[str, Any]()
    vector: Vectors | None = None
    try:
        model = await run.embedder()
        asked, new = await asyncio.gather(model.query(words), index.embed(model, index.lacking(model.name, until)))
        vector = unit_rows([asked])[0]
        await kept.save(new)
    except (ModelError, ValueError) as error:
        evidence["talk_error"] = str(error)
    found = await asyncio.to_thread(index.nearest, words, vector, until, MOST)
    shown = with_room(index.records[:until], found, words, run)
    now = datetime.now(UTC)
    recalled: list[RecalledTalk] = [
        {
            "when": when(one.record.at, now, run.language),
            "text": one.text,
            "turn": one.record.said[0].id,
            "place": one.record.place,
        }
        for one in shown
    ]
    runtime.stream_writer({"event": "recalled talk", "exchanges": len(recalled)})
    evidence["talk"] = [
        {
            **told,
            "by_meaning": one.found.by_meaning if one.found else None,
            "by_words": one.found.by_words if one.found else None,
        }
        for told, one in zip(recalled, shown, strict=True)
    ]
    return {"recalled_talk": recalled, "evidence": evidence}


@needs(messages="read_turn")
async def keep_talk(state: TalkState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Keep what was said in this turn, so that it can be found again when it has left the window.

    Raises:
        StorageError: the store cannot be written.
    """
    own = settings(runtime, SummarySettings)
    kept = talk_records(runtime, own)
    if kept is None or not own.talk_tokens:
        return {"recalled_talk": []}
    return {"talk_head": await kept.extended(state.get("talk_head", ""), state["messages"]), "recalled_talk": []}


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


def asked_for(state: Mapping[str, Any]) -> str:
    """What is looked up: the question, and what was said before it where it goes on from that."""
    question = in_full(state)
    before = [message.text for message in state["messages"][:-1] if message.text.strip()][-2:]
    return "\n".join([*before, question]) if before and refers_back(question) else question


def with_room(
    records: Sequence[TalkRecord], found: Sequence[Found], words: str, run: Run[SummarySettings]
) -> list[Shown]:
    """What there is room for, in the order in which it was said: what was found, best first, then what is around it."""
    left, chosen = run.settings.talk_tokens * BYTES, dict[int, Shown]()
    nearby = [at for one in found for at in (one.at - 1, one.at + 1) if 0 <= at < len(records)]
    for at, hit in [*((one.at, one) for one in found), *((at, None) for at in nearby)]:
        record = records[at]
        if at in chosen or record.is_forgotten:
            continue
        text = "\n".join(line_text(line, words, run, hit is not None) for line in record.said)
        if (size := size_of(text)) <= left:
            chosen[at] = Shown(record, text, hit)
            left -= size
    return [chosen[at] for at in sorted(chosen)]


def line_text(line: Line, words: str, run: Run[SummarySettings], found: bool) -> str:
    """Who said what, on one line; of a long text the passages that share most words with what is looked up."""
    text = " ".join(line.text.split())
    if size_of(text) > LONG:
        if found:
            asked = set(words.casefold().split())
            near = {one: len(asked & set(one.casefold().split())) for one in passages_of(line.text)}
            best = max(near, key=lambda one: near[one])
            text = f"{GAP.strip()} {' '.join(best.split())} {GAP.strip()}"
        text = clipped(text, LONG if found else OPENING)
    message = (HumanMessage if line.who == "human" else AIMessage)("", name=line.name)
    return f"{speaker(message, run.role, stranger_name(run))}: {text}"


def when(at: datetime, now: datetime, language: str) -> str:
    """How long ago something was said, in words; empty: just now."""
    if (now - at).total_seconds() < 60:
        return ""
    return str(format_timedelta(at - now, granularity="minute", add_direction=True, locale=language))


async def index_of(kept: TalkRecords, head: str) -> TalkIndex:
    """The index of the branch that ends with a record; it grows with the talk."""
    talk, new = await kept.read(head), list[TalkRecord]()
    with _lock:
        indexes = _indexes.setdefault(kept.store, OrderedDict())
        for key in [key for key, (read, changed, _) in indexes.items() if key[0] == kept.namespace and read is talk]:
            if indexes[key][1] != talk.changed:  # something was forgotten
                del indexes[key]
        index = TalkIndex()
        for record in talk.back(head):
            if (known := indexes.pop((kept.namespace, record.id), None)) and known[0] is talk:
                index = known[2]
                break
            new.append(record)
    await asyncio.to_thread(index.extend, new[::-1])
    with _lock:
        indexes[kept.namespace, head] = (talk, talk.changed, index)
        while len(indexes) > 1 and (
            len(indexes) > BRANCHES or sum(len(one) for _, _, one in indexes.values()) > MOST_RECORDS
        ):
            indexes.popitem(last=False)
    return index


_indexes: WeakKeyDictionary[BaseStore, OrderedDict[tuple[tuple[str, ...], str], tuple[Talk, Any, TalkIndex]]] = (
    WeakKeyDictionary()
)
_lock = Lock()
