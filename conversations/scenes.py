"""Scenes of a library as they are played: where they are kept, who heard what, and their scripts."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from dramaturg.conversations.conversation import PATIENCE, SCENES, Conversation
from dramaturg.conversations.opening import elsewhere, kept_with, scenes_begun, scenes_kept
from dramaturg.conversations.scene_files import EVERYBODY
from dramaturg.conversations.scene_histories import SceneTalk, heard_on, with_former
from dramaturg.conversations.turns import Turn, all_steps, said_until
from dramaturg.nodes.run import RoleContext, Run, library_of, run_of
from dramaturg.nodes.scene.presence import (
    MOST_ROLES,
    USER,
    Member,
    Player,
    Stage,
    Told,
    calls_in,
    cue_in,
    first_stage,
    members_of,
    noticed,
    staged,
    told_by_user,
    told_of,
    user_name,
    whisper_in,
)
from dramaturg.nodes.talk.memory import OTHER_TALKS, scenes_under
from dramaturg.stores.conversations.talk import TalksOf
from dramaturg.stores.library_folder import Library
from dramaturg.stores.saver.rewriting import parents_first
from dramaturg.workflows import scene
from dramaturg.workflows.scene import SceneContext, beginning, beginning_ids, window_of

__all__ = [
    "cast_of",
    "kept_scene",
    "lines_of",
    "open_scene",
    "played_turns",
    "scenes_heard",
    "script_of",
    "thread_of",
    "usual_thread_of",
]

Why = Literal["said", "heard", "whispered", "seen", "told", "away", "to_others", "unseen", "before"]
"""Why a role has heard a line, or has not: it was not there; it was for others alone; it could not be seen; it was
said before the role was there, in a history that a client has shown."""


def thread_of(name: str, thread: str = "") -> str:
    """The name of the thread on which a scene is played; of several, each has a name of its own."""
    scene_name = Path(name).stem if name.endswith((".yaml", ".yml")) else name
    return f"{SCENES}{scene_name}" + (f"/{thread}" if thread else "")


async def usual_thread_of(library: Library, name: str) -> str:
    """The thread on which a scene is played where nobody names one: "default", as with a role.

    Earlier revisions called it by the scene alone: what was begun there goes on there.
    """
    if await asyncio.to_thread(scenes_begun, library):
        async with scenes_kept(library) as kept:
            earlier = thread_of(name)
            if await kept.saver.aget_tuple({"configurable": {"thread_id": earlier, "checkpoint_ns": ""}}):
                return earlier
    return thread_of(name, "default")


@asynccontextmanager
async def open_scene(context: SceneContext, thread: str, *, patience: float = PATIENCE) -> AsyncIterator[SceneTalk]:
    """Open the conversation that plays a scene; what each role has heard is kept with its other talks.

    Args:
        context: of the scene.
        thread: see `thread_of`.
        patience: seconds that a turn waits for one of another program.
    """
    await members_of(await run_of(context))  # refuses a role that is not there
    library = library_of(context)
    async with scenes_kept(library) as kept:
        yield SceneTalk(
            scene.build(),
            kept.saver,
            context,
            thread,
            store=kept.store,
            locks=kept.locks,
            patience=patience,
            elsewhere=elsewhere(library),
        )


async def scenes_heard(context: RoleContext) -> list[str]:
    """The threads of scenes in which a role has heard something that may come back, the latest last."""
    role = (await run_of(context)).role
    async with kept_with(role) as kept:
        talks = await TalksOf(kept.store, role.id, scenes_under(EVERYBODY)).others("", OTHER_TALKS)
    return [one.thread for one in talks]


async def kept_scene(saver: BaseCheckpointSaver[Any], library: Library, thread: str) -> SceneContext | None:
    """A scene as it is kept, to be looked at and forgotten of, whatever became of its file; None: it has not begun."""
    heard = await heard_on(saver, thread)
    there = [role for role in sorted(heard) if await asyncio.to_thread(library.holds, role)][:MOST_ROLES]
    return SceneContext(library=library, cast=tuple(Player(role=role) for role in there)) if there else None


class Spoken(NamedTuple):
    """A line of a scene, with who heard it, and who was there."""

    id: str
    turn: str
    """The id of the turn in which it was said; empty: it was told as the scene began."""
    kind: str
    """line, whisper, narration or event: somebody comes, goes or hides."""
    role: str
    """The id of the role that says it; `USER`; empty: it is narrated."""
    name: str
    """Who says it; empty: it is narrated."""
    text: str
    """As the user reads it, with the thoughts of who says it."""
    audible: str
    """What others hear of it."""
    to: Sequence[str]
    """The ids of the roles to which it is whispered."""
    heard: Sequence[str]
    """The ids of the roles that have heard it."""
    there: Sequence[str]
    """The ids of the roles that were there."""
    hidden: Sequence[str]
    """Those among them of whom nobody else knew."""

    def why(self, role: str) -> Why:
        """Why a role has heard this line, or has not."""
        if role == self.role:
            return "said"
        if role in self.heard:
            how: dict[str, Why] = {"whisper": "whispered", "event": "seen"}
            return "told" if not self.turn and len(self.heard) == 1 else how.get(self.kind, "heard")
        if role not in self.there:
            return "away"
        if self.kind == "whisper" or not self.turn:
            return "to_others"
        return "unseen" if self.kind == "event" else "before"


class Played(NamedTuple):
    """What was said in a turn of a scene, and who was there after it."""

    lines: list[Spoken]
    stage: Stage


class Replay:
    """Who was there as each line of a scene was said, by what the user's messages do, one after the other.

    Args:
        run: of the scene.
        members: its cast.
    """

    def __init__(self, run: Run[SceneContext], members: Sequence[Member]) -> None:
        self.run = run
        self.members = members
        self.names = {one.role: one.name for one in members}
        self.begins = first_stage(run.settings)

    def line(self, message: AnyMessage, before: Stage, turn: str) -> tuple[Stage, Spoken | None]:
        """Who is there after a message, and the line that it is; None: nobody hears it, as of one that calls somebody.

        Who heard a line that is not whispered was there, whatever the commands before it say: of a group, the client
        decides that.
        """
        if (told := told_of(message)) is None:
            return before, None
        after, own, calls = before, self.run.settings, None
        if message.type == "human":
            calls = calls_in(message)
            after = before = before if calls is None else staged(calls["present"], before, own)
            with suppress(ValueError):
                after, _ = told_by_user(self.run, cue_in(message.text, self.members), before, self.names)
            if calls is not None:
                after = staged([*after["present"], *calls["next"]], after, own)
        if told["kind"] in ("cue", "silence"):
            return after, None
        if told["kind"] in ("line", "narration") and calls is None:
            after = before = staged(told["witnesses"], before, own)
        if message.type == "ai":
            after = before = noticed(before, told)
        return after, self.spoken(message, told, turn, [before, after])

    def spoken(self, message: AnyMessage, told: Told, turn: str, stages: Sequence[Stage]) -> Spoken:
        """A message as a line of a scene."""
        by, there, hidden = told["by"], set[str](), set[str]()
        for stage in stages:
            there.update(stage["present"])
            hidden.update(stage["hidden"])
        return Spoken(
            id=str(message.id),
            turn=turn,
            kind=told["kind"],
            role=by,
            name=message.name or user_name(self.run) if by == USER else self.names.get(by, ""),
            text=told["text"] if by in ("", USER) else whisper_in(self.run, message.text)[1],
            audible=told["text"],
            to=told["to"],
            heard=told["witnesses"],
            there=[role for role in self.names if role in there],
            hidden=[role for role in self.names if role in hidden],
        )


async def replay_of(talk: Conversation) -> Replay:
    """What tells who was there in a scene, also of those who play in it no more."""
    own: Any = talk.context
    members = await cast_of(talk)
    gone = (Player(role=one.role, absent=True) for one in members if one.role not in own.playing)
    run: Any = await run_of(own.model_copy(update={"cast": (*own.cast, *gone)}))
    return Replay(run, members)


async def cast_of(talk: Conversation) -> list[Member]:
    """Who plays in a scene, and behind them who has heard something in it and plays no more."""
    run: Any = await run_of(talk.context)
    return await with_former(run, await talk.heads())


async def lines_of(talk: Conversation, turn: Turn | None = None) -> list[Spoken]:
    """What was said in a scene until the end of a turn, and who has heard it; until now, where no turn is named."""
    replay = await replay_of(talk)
    last = turn or next(reversed(await talk.history()), None)
    said, _ = await said_until(talk.saver, talk.thread.name, last.checkpoint) if last else ([], {})
    found, stage, now = list[Spoken](), replay.begins, ""
    for one in said:
        now = str(one.id) if one.type == "human" else now
        stage, line = replay.line(one, stage, now)
        if one is said[0]:
            found += await told_first(talk, replay, one)
        found += [line] if line else []
    return found


async def told_first(talk: Conversation, replay: Replay, first: AnyMessage) -> list[Spoken]:
    """What was narrated as a scene began, before its first line: as it was heard then, for its file may be another now.

    Of a history that was taken over, that is not known yet as it begins: there it is what the file says.
    """
    turn = await talk.thread.find(str(first.id))
    state = await talk.values(turn) if turn else {}
    lines = {str(one.id): (one, told) for one in beginning_in(state, str(first.id)) if (told := told_of(one))}
    if not state.get("delivered"):
        now = beginning(replay.run.settings, replay.begins, str(first.id))
        lines = {str(one.id): (one, told) for one in now if (told := told_of(one))}
    there = {role for _, told in lines.values() for role in told["witnesses"]} | {*replay.begins["present"]}
    stage: Stage = {**replay.begins, "present": [role for role in replay.names if role in there]}
    return [replay.spoken(one, {**told, "text": one.text}, "", [stage]) for one, told in lines.values()]


def beginning_in(state: Mapping[str, Any], first: str) -> list[AnyMessage]:
    """What the roles have in their windows of what was narrated before the first line, in its order."""
    heard = {str(one.id): one for memory in (state.get("parts") or {}).values() for one in window_of(memory)}
    return [heard[one] for one in beginning_ids(first) if one in heard]


async def played_turns(talk: Conversation) -> dict[str, Played]:
    """What was said in each turn of a scene, on all branches, by the ids of the turns."""
    replay, steps = await replay_of(talk), await all_steps(talk.saver, talk.thread.name)
    found, ends = dict[str, Played](), dict[str | None, tuple[Stage, str]]()
    for step in parents_first(steps, lambda one: one.parent_id):
        stage, turn = ends.get(step.parent_id, (replay.begins, ""))
        said: Any = step.said
        for message in said:
            turn = str(message.id) if message.type == "human" or not turn else turn
            stage, line = replay.line(message, stage, turn)
            known = found.setdefault(turn, Played([], stage))
            found[turn] = known._replace(stage=stage)
            if line and all(one.id != line.id for one in known.lines):
                known.lines.append(line)
        ends[step.checkpoint_id] = (stage, turn)
    return found


async def script_of(talk: Conversation) -> list[str]:
    """The lines of a scene on its branch, as Fountain writes a play, with who heard what was not for all."""
    own: Any = talk.context
    names = {one.role: one.name for one in await cast_of(talk)}
    lines = [f"Title: {talk.thread.name.removeprefix(SCENES).partition('/')[0]}", ""]
    if own.place:
        lines += [f".{' '.join(own.place.split())}", ""]
    for one in await lines_of(talk):
        heard = [names[role] for role in names if role in one.heard]
        whispers = ["(whispers)"] if one.name and one.kind == "whisper" else []
        noted = "" if len(heard) == len(names) else f" [[heard by {', '.join(heard) or 'nobody'}]]"
        text = one.text.replace("[[", "[ [").replace("/*", "/ *").splitlines() or [""]  # no note, and nothing left out
        if one.name:  # a line of two spaces is no end of what somebody says
            said = "\n".join(line if line.strip() else "  " for line in text)
            lines += [f"@{' '.join(one.name.split())}", *whispers, f"{said}{noted}", ""]
        else:
            lines += ["\n".join(f"!{line}" if line.strip() else "" for line in text) + noted, ""]
    return lines
