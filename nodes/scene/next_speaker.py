"""Who speaks next in a scene: whom a line names, each in turn, who would most like to, whom somebody calls."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from pydantic import Field

from dramaturg.models.clock import TurnClock
from dramaturg.models.errors import ModelError
from dramaturg.models.questions import choose
from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.run import Run, chat_in, needs, open_run
from dramaturg.nodes.scene.presence import (
    USER,
    Member,
    SceneSettings,
    SceneState,
    heard_by,
    members_of,
    said_by,
    said_to,
    told_of,
    user_name,
)
from dramaturg.nodes.turn import clipped
from dramaturg.stores.names import normal_name

__all__ = ["TurnTakingSettings", "choose_speaker", "speaker_outcome"]

SHOWN = 12  # lines of the scene by which it is judged who speaks
LONGEST = 600  # bytes of one of them


class TurnTakingSettings(SceneSettings):
    """Who speaks, and for how long the user is not asked."""

    next: Open[Literal["named", "round", "willing", "director", "user"]] = Field(
        default="named",
        description="Who speaks next. named: whom the last line names, else who has been silent longest, and where a "
        "role names nobody it is the user's turn; round: each once; willing: who would most like to, by one question a "
        "line for all of them; director: whom a model chooses that sees the whole scene, by one question a line; user: "
        "only whom the user calls by /next or whispers to.",
    )
    lines: Open[int] = Field(
        default=3, ge=1, le=40, description="The most lines that roles say before it is the user's turn."
    )
    director_model: Closed[str] = Field(
        default="auto", min_length=1, max_length=200, description="The model that directs; auto: the chat model."
    )


@needs(stage="read_cue", asked="read_cue", spoken="read_cue")
async def choose_speaker(state: SceneState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Choose who speaks next, or nobody: then it is the user's turn.

    Who was called by the user, or whispered to, comes first. Nobody speaks who has heard nothing since its own last
    line, but whom the user calls. Where the model that is asked gives no answer, who has been silent longest speaks,
    and the evidence says so.
    """
    run = await open_run(runtime, TurnTakingSettings)
    own, spoken, stage = run.settings, state["spoken"], state["stage"]
    called = [role for role in state["asked"]["next"] if role in stage["present"]][len(spoken) :]
    if called:
        return {"speaker": called[0]}
    last = told_of(state["messages"][-1])
    said = len(spoken) - len(state["asked"]["next"])
    if own.next == "user" or said >= (len(stage["present"]) if own.next == "round" else own.lines):
        return {"speaker": ""}
    if last is None or (last["kind"] == "whisper" and last["by"] in (USER, "")) or state["asked"]["next"]:
        return {"speaker": ""}
    able = [role for role in stage["present"] if role not in stage["hidden"] and has_heard(state, role)]
    if not able:
        return {"speaker": ""}
    silent = longest_silent(state["messages"], able)
    match own.next:
        case "round":
            return {"speaker": next((role for role in able if role not in spoken), "")}
        case "named":
            members = {one.role: one for one in await members_of(run)}
            if named := first_named(
                last["text"], [members[role] for role in able if heard_by(state["messages"][-1], role)]
            ):
                return {"speaker": named}
            return {"speaker": "" if last["by"] not in (USER, "") and stage["user"] else silent}
    return await judged(run, state, able, silent)


def has_heard(state: Mapping[str, Any], role: str) -> bool:
    """Whether a role has heard something since its own last line, by its window."""
    window = ((state.get("parts") or {}).get(role) or {}).get("messages") or []
    return bool(window) and window[-1]["type"] == "human"


def longest_silent(messages: Sequence[AnyMessage], roles: Sequence[str]) -> str:
    """Who of some roles has said nothing for longest; those that never spoke come first, in the order of the cast."""
    last = {said_by(one): at for at, one in enumerate(messages)}
    return min(roles, key=lambda role: last.get(role, -1))


def first_named(text: str, members: Sequence[Member]) -> str:
    """The id of whom a line names first, by any of its names; empty: nobody."""
    found = dict[str, int]()
    said = normal_name(text)
    for member in members:
        for name in member.names:
            wanted = normal_name(name)
            edge = r"(?<![^\W_])" if wanted[:1].isascii() else ""
            end = r"(?![^\W_])" if wanted[-1:].isascii() else ""
            if at := re.search(f"{edge}{re.escape(wanted)}{end}", said):
                found[member.role] = min(found.get(member.role, len(said)), at.start())
    return min(found, key=lambda role: found[role], default="")


async def judged(run: Run[TurnTakingSettings], state: SceneState, able: Sequence[str], silent: str) -> dict[str, Any]:
    """Who speaks next by one question, whatever their number.

    How willing the roles are is judged by what all of them have heard: a whisper is no reason to speak that others
    could see. A director sees all of it.
    """
    own, members = run.settings, {one.role: one for one in await members_of(run)}
    names, director = {role: one.name for role, one in members.items()}, run.settings.next == "director"
    heard = [one for one in state["messages"] if told_of(one) and (director or all(heard_by(one, r) for r in able))]
    lines = [said_to(run, one, "", names) for one in heard if told_of(one)["kind"] != "cue"]  # type: ignore[index]
    shown = "\n".join(f"{one.name}: {clipped(' '.join(one.text.split()), LONGEST)}" for one in lines[-SHOWN:])
    (nobody,) = run.prompt("nobody").messages(user=user_name(run))
    chat = replace(run.chat, clock=TurnClock(own.turn_deadline))
    if director and own.director_model != "auto":
        chat = await chat_in(own.model_copy(update={"chat_model": own.director_model}), run.language)
    messages = run.prompt("direct_scene" if director else "most_willing").messages(
        others=", ".join(names[role] for role in able), data={"scene": own.place, "conversation": shown}
    )
    options = [names[role] for role in able]
    try:
        chosen = await choose(chat, messages, [*options, nobody.text])
    except ModelError as error:
        return {
            "speaker": silent,
            "evidence": {"next_error": str(error)},
            "usage": {"choose_speaker": chat.account.usage()},
        }
    speaker = able[options.index(chosen)] if chosen in options else ""
    return {"speaker": speaker, "usage": {"choose_speaker": chat.account.usage()}}


def speaker_outcome(state: SceneState) -> Literal["speaks", "silence"]:
    """Whether somebody speaks."""
    return "speaks" if state.get("speaker") else "silence"
