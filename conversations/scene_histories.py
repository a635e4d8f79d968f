"""A scene of which a chat client keeps the history: what is new in it is written down with who has heard it.

What was said here before keeps those who heard it then, however the client shows it now: after an edit, a swipe or a
deletion, who was not there has not heard it either.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import PutOp
from langgraph.types import Overwrite

from dramaturg.conversations.alignment import Exchange, Place, as_heard, named_lines
from dramaturg.conversations.conversation import SCENES, Conversation
from dramaturg.conversations.forgetting import Forgotten, parts_in
from dramaturg.conversations.thread import Show, last_node
from dramaturg.conversations.turns import Turn, all_steps, id_of
from dramaturg.nodes.run import Run, library_of, run_of
from dramaturg.nodes.scene.presence import (
    COMMAND,
    USER,
    Member,
    SceneSettings,
    Stage,
    Told,
    audible,
    called,
    calls_in,
    cue_in,
    marked,
    members_of,
    names_at,
    noticed,
    stage_in,
    staged,
    told_apart,
    told_by_user,
    told_of,
    user_name,
    whisper_in,
    witnesses,
)
from dramaturg.nodes.turn import leaving, removals
from dramaturg.stores.conversations.labels import Labels
from dramaturg.stores.conversations.talk import key_of

__all__ = ["LATER_COMMAND", "SceneTalk"]

FORGETTING = ("dramaturg_forgetting",)  # where stands who has yet to forget
MOST = 400  # messages that stay in the script until they are given to those who heard them
UNHEARD = ("cue", "silence")  # kinds of lines that nobody hears
LATER_COMMAND = re.compile(rf"\n{COMMAND.pattern}", re.IGNORECASE)


class Line(NamedTuple):
    """A line as a client shows it, and what is known of it."""

    message: AnyMessage
    told: Told
    is_new: bool
    """Whether it was never said on this thread."""


class Known:
    """Who has heard the lines that were said on a thread, on any branch; of equal ones, who has heard them all.

    Args:
        steps: the messages of each.
    """

    def __init__(self, steps: Iterable[Sequence[BaseMessage]]) -> None:
        self._heard: dict[tuple[str, ...], Told] = {}
        for said in steps:
            asked: BaseMessage | None = None
            for message in said:
                if (told := told_of(message)) is None:  # type: ignore[arg-type]
                    continue
                if message.type == "human":
                    asked = message
                    self._add(told, USER, message.text)
                    continue
                self._add(told, told["by"], message.text)
                if asked is not None and (question := told_of(asked)):  # type: ignore[arg-type]
                    self._add(question, USER, told["by"], message.text)
                    if question["kind"] not in UNHEARD:  # which many lines have before them
                        self._add(told, told["by"], USER, asked.text)

    def _add(self, told: Told, *key: str) -> None:
        place = (*key[:-1], as_heard(key[-1]))
        if other := self._heard.get(place):
            told = {**told, "witnesses": [one for one in told["witnesses"] if one in other["witnesses"]]}
        self._heard[place] = told

    def of(self, by: str, text: str) -> Told | None:
        """What is known of a line; None: it was never said here."""
        return self._heard.get((by, as_heard(text)))

    def beside(self, by: str, other: str, text: str) -> Told | None:
        """What is known of what somebody has said where another has said this in the same turn."""
        return self._heard.get((by, other, as_heard(text)))


class SceneTalk(Conversation):
    """A conversation that plays a scene; somebody else may keep its history.

    `present` has the ids of the roles that hear what is new in that, where the client says who they are. None: it
    follows from who came and went in it.
    """

    present: tuple[str, ...] | None = None

    async def heads(self) -> Mapping[str, Sequence[str]]:
        """The same of a scene: of the cast, and behind it of all others who have heard something on any branch.

        And of those who had, before a forgetting began that was stopped: their states may not tell it any more.
        """
        heard = await heard_on(self.saver, self.thread.name)
        for role in await self._yet_to_forget():
            heard.setdefault(role, [])
        cast = self.context.playing
        return {role: heard.get(role, []) for role in (*cast, *sorted(heard.keys() - {*cast}))}

    async def _forget(self, ids: Iterable[str], phrase: str) -> Forgotten:
        former = {*await self.heads()} - {*self.context.playing}
        if former:
            await self._keep_yet_to_forget(former)
        gone = await super()._forget(ids, phrase)
        if former:
            await self._keep_yet_to_forget(())
        return gone

    async def discard(self) -> None:
        """Delete what is kept of the thread, for who holds it."""
        await super().discard()
        if await self._yet_to_forget():
            await self._keep_yet_to_forget(())

    async def _yet_to_forget(self) -> list[str]:
        item = await self.store.aget(FORGETTING, key_of(self.thread.name)) if self.store is not None else None
        return list(item.value["roles"]) if item else []

    async def _keep_yet_to_forget(self, roles: Iterable[str]) -> None:
        """Have it known who plays no more and has yet to forget, until all have."""
        if self.store is not None:
            value = {"roles": sorted(roles)} if roles else None
            await self.store.abatch([PutOp(FORGETTING, key_of(self.thread.name), value, index=False)])

    @property
    def _labels(self) -> Labels | None:
        return None if self.store is None else Labels(self.store, SCENES)  # of all roles: a cast changes

    def _as_shown(self, turn: Turn) -> Exchange:
        """A turn as a client shows it: who says a line stands in front, also of one that is alone."""
        begins = f"{turn.speakers[0]}: " if len(turn.speakers) == 1 else ""
        said = turn.reply or ""
        return Exchange(turn.question, said if said.startswith(begins) else begins + said)

    async def take_turn_after(
        self, history: Sequence[Exchange], message: str | HumanMessage, show: Show = lambda _: None
    ) -> dict[str, Any]:
        """Send a message as the next one of a history; one that is asked again is heard by who has heard it before."""
        calls = None if isinstance(message, str) else calls_in(message)
        if calls is not None and not isinstance(message, str):
            heard = await self._heard_again(history, message.text)
            message = message if heard is None else called(message, {**calls, "heard": heard})
        return await super().take_turn_after(history, message, show)

    async def _heard_again(self, history: Sequence[Exchange], text: str) -> list[str] | None:
        """Who has heard a message that was asked after this history before; None: it is new."""
        head = await self.thread.history()
        place = await self._place_of(history, head)
        whole = place.known == len(history)
        if whole and place.after == (head[-1] if head else None):
            return None  # at the end, everything is new
        steps = (await all_steps(self.saver, self.thread.name)).values()
        said = [one for step in steps for one in step.said if as_heard(one.text) == as_heard(text)]
        if whole:  # the same words elsewhere are another message
            after = place.after.id if place.after else None
            pairs = [pair for branch in await self.branches() for pair in pairwise((None, *branch))]
            asked = {turn.id for last, turn in pairs if turn and (last.id if last else None) == after}
            said = [one for one in said if one.id in asked]
        heard = [told["witnesses"] for one in said if one.type == "human" and (told := told_of(one))]  # type: ignore[arg-type]
        return [role for role in heard[0] if all(role in one for one in heard)] if heard else None

    async def _place_of(self, history: Sequence[Exchange], head: Sequence[Turn]) -> Place:
        heard = parts_in(await self.thread.values())
        if heard.keys() - {*self.context.playing}:  # their lines stand in the history with their names
            run: Any = await run_of(self.context)
            self.names = [name for one in await with_former(run, heard) for name in one.names]
        return await super()._place_of(history, head)

    async def _written_down(self, new: Sequence[Exchange], after: str) -> str:
        if not new:
            return after
        run: Any = await run_of(self.context)
        members, state = await with_former(run, await self.heads()), await self.thread.values(after)
        before = stage_in(state, run.settings)
        if self.present is not None:
            before = {**staged(self.present, before, run.settings), "user": True}
        steps = await all_steps(self.saver, self.thread.name)
        known, stages, turns = Known(one.said for one in steps.values()), list[Stage](), list[list[Line]]()
        for one in new:
            before, lines = read(run, one, before, members, known)
            stages.append(before)
            turns.append(lines)
        if self.present is not None:
            turns = narrowed(turns)
        graph, window = self.thread.graph, list(state.get("messages", []))
        for stage, lines in zip(stages, turns, strict=True):
            said = [marked(one.message, one.told, user_name(run)) for one in lines]
            window += said
            gone = leaving(window, MOST)
            del window[: len(gone)]
            values: dict[str, Any] = {"messages": [*removals(gone), *said], "stage": stage}
            values |= {"evidence": Overwrite({}), "usage": Overwrite({})}
            where = self.thread.address(after)
            after = id_of(await graph.aupdate_state(where, values, as_node=last_node(graph)))
        return after


async def heard_on(saver: BaseCheckpointSaver[Any], thread: str) -> dict[str, list[str]]:
    """Who has heard something in a scene, with the last record of what each has at the end of each branch, now first.

    Args:
        saver: where the scene is kept.
        thread: its name.

    Returns:
        The records by the ids of the roles; none, where nothing is kept of what a role has heard.
    """
    steps, found = await all_steps(saver, thread), dict[str, list[str]]()
    inner = {step.parent_id for step in steps.values()}
    for end in (one for one in steps if one not in inner):
        where: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": end}}
        saved = await saver.aget_tuple(where)
        for role, memory in parts_in(saved.checkpoint["channel_values"]).items() if saved else ():
            head = memory.get("talk_head")
            found.setdefault(role, []).extend([head] if isinstance(head, str) and head else [])
    return found


async def with_former(run: Run[SceneSettings], heard: Iterable[str]) -> list[Member]:
    """The cast by their names, and behind them those of the roles that have heard something who play no more.

    One that is gone from the library has its id for a name.
    """
    members, library = await members_of(run), library_of(run.settings)

    def names_of(role: str) -> Member:
        card = library.open(role).card if library.holds(role) else None
        return Member(role, card.name if card else role, (card.name, role, *card.aliases) if card else (role,))

    for role in sorted({*heard} - {*run.settings.playing}):
        members.append(await asyncio.to_thread(names_of, role))
    names = told_apart({one.role: one.name for one in members})
    return [one._replace(name=names[one.role]) for one in members]


def read(
    run: Run[SceneSettings],
    exchange: Exchange,
    before: Stage,
    members: Sequence[Member],
    known: Known,
) -> tuple[Stage, list[Line]]:
    """Who is there after an exchange that a client shows, and its lines with who has heard them."""
    lines, stage, said = list[Line](), before, list(lines_in(exchange.said, members))
    if exchange.heard:
        asked = HumanMessage(exchange.heard, id=str(uuid4()))
        stage, told = of_user(run, exchange.heard, before, members)
        earlier = known.of(USER, asked.text)
        instead = next(filter(None, (known.beside(USER, *one) for one in said)), None)
        lines.append(Line(asked, as_before(told, earlier, instead), not (earlier or instead)))
    for by, text in said:
        message = AIMessage(text, id=str(uuid4()), name=by or None)
        earlier, instead = known.of(by, text), known.beside(by, USER, exchange.heard)
        told = as_before(of_role(run, by, text, stage, members), earlier, instead)
        lines.append(Line(message, told, not (earlier or instead)))
        stage = noticed(stage, told)
    return stage, lines


def of_user(run: Run[SceneSettings], text: str, before: Stage, members: Sequence[Member]) -> tuple[Stage, Told]:
    """Who is there after a message of the user's, and who has heard it; nobody, where it is not to be understood."""
    names = {one.role: one.name for one in members}
    try:
        if LATER_COMMAND.search(text):
            raise ValueError("A command stands at the beginning of a message.")
        return told_by_user(run, cue_in(text, members), before, names)
    except ValueError:
        return before, Told(kind="cue", by="", to=[], witnesses=[], text=text, when="")


def of_role(run: Run[SceneSettings], by: str, text: str, stage: Stage, members: Sequence[Member]) -> Told:
    """What is known of a line that a role says, or that is narrated."""
    when = run.settings.as_of
    (silence,) = run.prompt("silence").messages()
    if not by and as_heard(text) == as_heard(silence.text):
        return Told(kind="silence", by="", to=[], witnesses=[], text="", when="")
    whom, text = whisper_in(run, text) if by else ("", text)
    to: tuple[str, ...] = (USER,) if whom else ()
    with suppress(ValueError):  # of several who are called so, none is meant more than the other
        to = names_at(whom, members)[0] or to
    return Told(
        kind="whisper" if to else "line" if by else "narration",
        by=by,
        to=[one for one in to if one != USER],
        witnesses=witnesses(stage, by, to),
        text=audible(text) or "…",
        when=when,
    )


def as_before(told: Told, earlier: Told | None, instead: Told | None) -> Told:
    """What is known of a line: who heard it when it was said here, or what was said in its place before an edit."""
    if earlier is not None:
        return earlier
    if instead is None or instead["kind"] in UNHEARD:
        return told
    return {**told, "witnesses": instead["witnesses"]}


def narrowed(turns: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The same lines; a new one that stands before what was said here is not new to who has not heard that.

    What is new since the last turn stands at the end: those who are there now have heard it.
    """
    found, heard = list[list[Line]](), None
    for lines in reversed(turns):
        kept = list[Line]()
        for one in reversed(lines):
            told = one.told
            if told["kind"] not in UNHEARD and not one.is_new:
                heard = told["witnesses"]
            elif told["kind"] not in UNHEARD and heard is not None:
                told = {**told, "witnesses": [role for role in told["witnesses"] if role in (*heard, told["by"])]}
            kept.insert(0, one._replace(told=told))
        found.insert(0, kept)
    return found


def lines_in(text: str, members: Sequence[Member]) -> Iterator[tuple[str, str]]:
    """The lines of a text with the id of who says each: the name stands in front; empty: nobody's does."""
    roles = {name: one.role for one in members for name in one.names}
    names = named_lines(tuple(sorted(roles, key=len, reverse=True)))
    by, begun = "", 0
    for found in names.finditer(text):
        if before := text[begun : found.start()].strip():
            yield by, before
        by, begun = roles.get(found[0].strip(" \t*_:：").strip(), ""), found.end()
    if rest := text[begun:].strip():
        yield by, rest
