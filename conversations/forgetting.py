"""Forgetting for good: what was said at once is taken out of every state that a conversation has been in.

The state after a turn that is forgotten becomes the one before it. What came of it and lives on is taken out of the
states that followed: by the ids of its messages, by what that turn has added, and by its words.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Overwrite
from pydantic import BaseModel

from dramaturg.conversations.turns import Turn, time_of
from dramaturg.nodes.talk.index import words_of
from dramaturg.stores.conversations.memories import ConversationMemory
from dramaturg.stores.conversations.talk import Fact, Line, Note, TalkRecord
from dramaturg.stores.saver.rewriting import parents_first
from dramaturg.stores.saver.steps import Step

RUN, LONG_RUN = 6, 12  # words of what the user, or the role, has said, that tell that a text repeats it
LEAST = 3  # words: a shorter line is known only where a text is nothing else
FORMAL = re.compile(r"[a-z][a-z_]*")  # a key that is no name of a thing
NAMING = ("role", "user_role")  # of a role, whatever is forgotten
Values = dict[str, Any]


class Words:
    """What was said, to find again where it is repeated: whole, in part, or with other punctuation.

    Args:
        lines: that were said. A role repeats itself: of what it has said a longer part must be there.
        phrases: that are nowhere to be left, however short.
    """

    def __init__(self, lines: Iterable[Line], phrases: Iterable[str] = ()) -> None:
        self._runs: dict[int, set[tuple[str, ...]]] = {}
        self._whole = set[tuple[str, ...]]()
        self._known: dict[str, bool] = {}
        for line in lines:
            self.add(line.text, RUN if line.who == "human" else LONG_RUN)
        for phrase in phrases:
            words = tuple(words_of(phrase))
            self._add(words, len(words))

    def add(self, text: str, run: int = LONG_RUN) -> None:
        """Look for one more text, or for so many words of it."""
        words = tuple(words_of(text))
        if len(words) < LEAST:
            self._whole.add(words)
        else:
            self._add(words, min(len(words), run))

    def _add(self, words: tuple[str, ...], size: int) -> None:
        runs = {words[at : at + size] for at in range(len(words) - size + 1)} if size else set()
        if not runs <= self._runs.get(size, set()):
            self._runs.setdefault(size, set()).update(runs)
            self._known.clear()

    def spare(self, texts: Iterable[str]) -> None:
        """Look no more for what stands in these texts, too."""
        for text in texts:
            words = tuple(words_of(text))
            for size, runs in self._runs.items():
                runs.difference_update(words[at : at + size] for at in range(len(words) - size + 1))
        self._known.clear()

    def are_in(self, text: str) -> bool:
        """Whether a text repeats any of it."""
        if text not in self._known:
            words = tuple(words_of(text))
            self._known[text] = (bool(words) and words in self._whole) or any(
                words[at : at + size] in runs
                for size, runs in self._runs.items()
                for at in range(len(words) - size + 1)
            )
        return self._known[text]


def going(said: Sequence[TalkRecord], ids: Iterable[str], phrase: str) -> list[TalkRecord]:
    """What is forgotten where some of what was said is: also where the same was asked again, or is repeated in full.

    Args:
        said: all of it, on all branches.
        ids: of what is meant, or of its messages.
        phrase: what is meant is what holds it, whatever the case, the spaces and the punctuation; empty: nothing.
    """
    meant, words = set(ids), Words([], [phrase])
    chosen = [one for one in said if is_meant(one, meant) or any(words.are_in(part.text) for part in parts_of(one))]
    asked = {tuple(words_of(line.text)) for one in chosen for line in one.said if line.who == "human"}
    repeated = Words([], [" ".join(one) for one in asked if len(one) > LEAST])
    again = {(one.parent, one.said[0].text) for one in chosen if one.said[0].who == "human"}
    copied = copies(said, chosen)
    return [
        one
        for one in said
        if one in chosen
        or (one.said and (one.parent, one.said[0].text) in again)
        or any(repeated.are_in(line.text) for line in one.said)
        or one.id in copied
    ]


def copies(said: Sequence[TalkRecord], chosen: Sequence[TalkRecord]) -> set[str]:
    """The ids of records in which the same was written down on other branches; who repeats it on one says it anew."""
    # Of lines of scenes, each role has records of its own; what nothing is kept of knows no record before it.
    known = {one.id: one for one in said if bool(one.place) == bool(one.parent) and not one.witnesses}

    def branch(one: TalkRecord | None) -> Iterator[str]:
        while one is not None:
            yield one.id
            one = known.get(one.parent)

    meant = defaultdict[tuple[str, ...], dict[str, set[str]]](dict)
    for one in chosen:
        if one.id in known:
            meant[texts_of(one)][one.id] = {*branch(one)}
    return {
        one.id
        for one in known.values()
        if (same := meant.get(texts_of(one)))
        and same.keys().isdisjoint(branch(one))
        and not any(one.id in before for before in same.values())
    }


def texts_of(record: TalkRecord) -> tuple[str, ...]:
    """What was said in a record, line by line."""
    return tuple(line.text for line in record.said)


def parts_of(record: TalkRecord) -> Sequence[Line | Fact]:
    """What was said in a record, and what was noted of it."""
    return [*record.said, *record.facts]


def is_meant(record: TalkRecord, ids: set[str]) -> bool:
    """Whether a record, or a message in it, has one of these ids."""
    return record.id in ids or any(line.id in ids for line in record.said)


class Forgotten(NamedTuple):
    """What was forgotten."""

    said: list[TalkRecord]
    notes: list[Note]
    made: list[ConversationMemory]
    """What Emotional RAG has made of it."""
    states: int = 0
    """How many states of the conversation are others now."""
    summaries: int = 0
    """How many of them had a summary of what was said before the window, and have none."""


def as_record(turn: Turn) -> TalkRecord:
    """A turn that nothing is kept of, as if something were."""
    asked = [Line(id=turn.id, who="human", text=turn.question)] if turn.question else []
    reply = Line(id=f"{turn.id}/reply" if asked else turn.id, who="ai", text=turn.reply or "")
    at = time_of(turn.checkpoint) or datetime.now(UTC)
    return TalkRecord(id=turn.id, parent=turn.before or "", place=0, said=(*asked, reply), at=at)


class _Plan(NamedTuple):
    """What becomes of a checkpoint."""

    reverted: bool
    """Whether it is of a turn that is forgotten, and gets the state of `base`."""
    base: str | None
    undone: tuple[tuple[str | None, str], ...]
    """Before and after each forgotten turn that led to it."""
    unsaid: tuple[tuple[str | None, frozenset[str]], ...]
    """The checkpoints before something forgotten was said, and the ids of that."""
    under_way: bool
    """Whether what is said next belongs to a turn that is forgotten."""


class Forgetting:
    """Takes what was said, and what came of it, out of the checkpoints of a thread; see `Rewriter`.

    Args:
        steps: of the thread, by checkpoint.
        messages: the ids of what is forgotten.
        words: of what is forgotten.
        others: more ids that go, such as those of memories.
        everywhere: whether it may be quoted in states that it has not led to, as a note is.
    """

    def __init__(
        self,
        steps: Mapping[str, Step],
        messages: set[str],
        words: Words,
        others: Iterable[str] = (),
        *,
        everywhere: bool = False,
    ) -> None:
        self.messages = set(messages)
        self._everywhere = everywhere
        self.words = words
        self.summaries = 0
        """How many summaries were emptied: what has left the window is told in them in other words."""
        self._ids = self.messages | set(others)
        self._plans: dict[str, _Plan] = {}
        for step in parents_first(steps, lambda one: one.parent_id):
            self._plans[step.checkpoint_id] = self._planned(step, steps)
        pairs = [pair for plan in self._plans.values() for pair in plan.undone]
        before = [one for plan in self._plans.values() for one, _ in plan.unsaid]
        self._needed = {one for pair in pairs for one in pair} | set(before)
        self._needed |= {plan.base for plan in self._plans.values() if plan.reverted}
        self._old: dict[str | None, Values] = {None: {}}
        self._new: dict[str | None, Values] = {None: {}}
        self._added: dict[tuple[str | None, str, str], list[Any]] = {}

    def _planned(self, step: Step, steps: Mapping[str, Step]) -> _Plan:
        parent = step.parent_id if step.parent_id in steps else None
        before = self._plans[parent] if parent else _Plan(False, None, (), (), False)
        under_way, gone = before.under_way, set[str]()
        for message in step.said:
            if message.type == "human":
                under_way = message.id in self.messages
            if under_way or message.id in self.messages:
                gone.add(str(message.id))
        self.messages |= gone
        self._ids |= gone
        reverted = len(gone) == len(step.said) if step.said else before.reverted
        base = before.base if before.reverted else parent
        undone = before.undone + (((before.base, str(parent)),) if before.reverted and not reverted else ())
        unsaid = before.unsaid + (((base, frozenset(gone)),) if gone else ())
        return _Plan(reverted, base, undone, unsaid, under_way)

    def values(self, saved: CheckpointTuple) -> Values | None:
        """The values that a checkpoint is to have; None: as they are."""
        own, old = saved.config["configurable"], saved.checkpoint["channel_values"]
        plan = self._plans.get(saved.checkpoint["id"]) if own["checkpoint_ns"] == "" else None
        if plan is None or (self._everywhere and not plan.unsaid):
            new = {name: self.without(value) for name, value in old.items()}
        elif plan.reverted:
            of_run = {name: self.without(value) for name, value in old.items() if is_of_run(name)}
            new = of_run | {name: value for name, value in self._new[plan.base].items() if not is_of_run(name)}
        elif plan.unsaid:
            new = self._after(plan, old)
        else:
            new = {name: self.without(value) if is_of_run(name) else value for name, value in old.items()}
        if saved.checkpoint["id"] in self._needed:
            self._old[saved.checkpoint["id"]], self._new[saved.checkpoint["id"]] = old, new
        return new if new != old else None

    def written(self, value: Any) -> Any:
        """What a pending write is to hold."""
        return Overwrite(self.without(value.value)) if isinstance(value, Overwrite) else self.without(value)

    def _after(self, plan: _Plan, old: Values) -> Values:
        """The values of a state that something forgotten has led to."""
        new = dict(old)
        for before, after in reversed(plan.undone):
            for name in [one for one in new if one != "messages" and not is_of_run(one)]:
                self._undo(new, name, before, after)
        window = {str(message.id) for message in old.get("messages", [])}
        if self._may_tell(new, window, plan, lambda state: state):
            new["summary"] = ""
            self.summaries += 1
            if isinstance(evidence := new.get("evidence"), dict) and "summary" in evidence:
                new["evidence"] = {**evidence, "summary": ""}
        for name, memory in parts_in(new).items():  # a part has a window and a summary of its own
            window = {str(message["data"].get("id")) for message in memory.get("messages") or []}
            if self._may_tell(memory, window, plan, partial(part_in, name)):
                new["parts"] = {**new["parts"], name: {**memory, "summary": ""}}
                self.summaries += 1
        if self._is_last(old.get("messages", [])):
            new |= {name: {} for name in ("evidence", "usage") if name in new}
        return {name: self.without(value) for name, value in new.items()}

    def _may_tell(self, new: Values, window: set[str], plan: _Plan, of: Callable[[Values], Values]) -> bool:
        """Whether a summary may tell of what is forgotten: that has left the window, and it was another one before.

        Args:
            new: what has the summary.
            window: the ids of the messages that it stands before.
            plan: of the checkpoint.
            of: gives what has it, of the values of a state.
        """
        told = [of(self._old[before]).get("summary") for before, ids in plan.unsaid if not ids & window]
        return bool(told and new.get("summary") and new["summary"] not in told)

    def _is_last(self, window: Sequence[AnyMessage]) -> bool:
        """Whether the last question is one that is forgotten."""
        asked = [message.id for message in window if message.type == "human"]
        return bool(asked) and asked[-1] in self.messages

    def _undo(self, values: Values, name: str, before: str | None, after: str) -> None:
        """Take out of a channel what a turn has added, and have it as before where it has been left alone since."""
        then, later, now = (of.get(name, MISSING) for of in (self._old[before], self._old[after], values))
        if now == later and then != later and is_wordy(now):
            if then is MISSING:
                del values[name]
            else:
                values[name] = then
        elif isinstance(now, list) and isinstance(later, list) and name not in ("evidence", "usage"):
            known = then if isinstance(then, list) else []
            if (place := (before, after, name)) not in self._added:
                self._added[place] = [one for one in later if isinstance(one, dict) and one not in known]
            added = self._added[place]
            ids = {one["id"]: one for one in known if isinstance(one, dict) and isinstance(one.get("id"), str)}
            living = [one for one in added if one in now]
            for text in set(texts_in(living)) - set(texts_in(known)):  # what lives on is quoted where it is used
                if is_wordy(text):
                    self.words.add(text)
            if added:
                kept = (ids.get(str(one.get("id"))) if one in added else one for one in now)
                values[name] = [one for one in kept if one is not None]

    def without(self, value: Any) -> Any:
        """A value without what is forgotten: an entry of a list goes whole, a text elsewhere is emptied."""
        if isinstance(value, str):
            return "" if self._is_in(value) else value
        if isinstance(value, BaseMessage):
            more = self.without(value.additional_kwargs)
            return value if more == value.additional_kwargs else value.model_copy(update={"additional_kwargs": more})
        if isinstance(value, dict):
            kept = {name: one for name, one in value.items() if FORMAL.fullmatch(str(name)) or not self._is_in(name)}
            return {name: one if name in NAMING else self.without(one) for name, one in kept.items()}
        if isinstance(value, list | tuple):
            return type(value)([self.without(one) for one in value if not self._is_in(one)])
        return value

    def _is_in(self, value: Any) -> bool:
        """Whether something that is forgotten is anywhere in a value; other messages are what they are.

        An input that another program has sent may hold a message before anybody has given it an id.
        """
        if isinstance(value, str):
            return value in self._ids or self.words.are_in(value)
        if isinstance(value, BaseMessage):
            return value.id in self.messages if value.id else self.words.are_in(value.text)
        if isinstance(value, dict):
            names = (name for name in value if not FORMAL.fullmatch(str(name)))
            return any(map(self._is_in, [*names, *(one for name, one in value.items() if name not in NAMING)]))
        if isinstance(value, BaseModel):
            return self._is_in(value.model_dump())
        return isinstance(value, list | tuple | set | frozenset) and any(map(self._is_in, value))


MISSING = object()


def parts_in(values: Values) -> Values:
    """What the parts of a state remember, by their names; nothing where it has none."""
    parts = values.get("parts")
    return {name: one for name, one in parts.items() if isinstance(one, dict)} if isinstance(parts, dict) else {}


def part_in(name: str, values: Values) -> Values:
    """What one part remembers."""
    found: Values = parts_in(values).get(name, {})
    return found


def is_of_run(channel: str) -> bool:
    """Whether a channel is LangGraph's own, by which it knows what runs next."""
    return channel.startswith("__") or ":" in channel


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a value, but for the names of roles."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts_in([one for name, one in value.items() if name not in NAMING])
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one)


def is_wordy(value: Any) -> bool:
    """Whether a value may say something, and not only name it."""
    if isinstance(value, str):
        return len(tuple(words_of(value))) >= LEAST
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(is_wordy, parts))
