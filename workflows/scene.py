"""A scene of several roles, each by a method of its own, with a memory of what it has heard and of nothing else."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal
from uuid import NAMESPACE_OID, uuid4, uuid5

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, messages_from_dict, messages_to_dict
from langgraph.graph import END, START
from langgraph.runtime import Runtime

from dramaturg.models.clock import TurnClock
from dramaturg.nodes.part import part_context, turn_of
from dramaturg.nodes.run import RoleContext, Run, needs, open_run
from dramaturg.nodes.scene.next_speaker import TurnTakingSettings, choose_speaker, speaker_outcome
from dramaturg.nodes.scene.presence import (
    MOST_ROLES,
    USER,
    Cue,
    Member,
    Player,
    SceneState,
    Stage,
    Told,
    audible,
    cue_in,
    heard_by,
    marked,
    members_of,
    names_at,
    noticed,
    others_there,
    read_cue,
    said_by,
    said_to,
    told_of,
    undelivered,
    user_name,
    witnesses,
)
from dramaturg.nodes.talk.memory import keep_heard, keep_said
from dramaturg.nodes.turn import TurnInput, TurnOutput, leaving, removals
from dramaturg.nodes.wish import wish_in, wished
from dramaturg.nodes.workflow import Workflow, changeable
from dramaturg.stores.conversations.talk import SCENE
from dramaturg.workflows.methods import Flow, flow
from dramaturg.workflows.names import METHODS

SHARED = ("window", "summary_tokens", "talk_tokens", "known_as", "scenes")
"""Settings of the scene that each role has, unless it has its own."""
WHISPER = re.compile(r"(?<!\S)/whisper(?![\w-])", re.IGNORECASE)
MOST_KEPT = 20  # lines that were not heard, which the evidence of a reply names


class SceneContext(TurnTakingSettings):
    """Everything that a scene may be told."""


@needs(stage="read_cue")
async def hear(state: SceneState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Give each role the lines that it has heard, and keep them where its talk is kept.

    Raises:
        StorageError: the store cannot be written.
    """
    run = await open_run(runtime, SceneContext)
    new = list(undelivered(state))
    names = {one.role: one.name for one in await members_of(run)}
    parts, before = dict[str, dict[str, Any]](), state.get("parts") or {}
    if new and not state.get("delivered"):
        new[:0] = beginning(run.settings, state["stage"], str(new[0].id))
    for player in run.settings.cast:
        memory = before.get(player.role, {})
        window = window_of(memory)
        known = {one.id for one in window}
        told = [
            one if said_by(one) == player.role else said_to(run, one, player.role, names)
            for one in new
            if heard_by(one, player.role) and one.id not in known  # what it has just said stands in its window
        ]
        if not told:
            continue
        window, own = [*window, *told], context_of(player, run.settings)
        head = await keep_heard(runtime, own, memory.get("talk_head", ""), window)
        window = window[len(leaving(window, getattr(own, "window", run.settings.window))) :]
        parts[player.role] = {**memory, **head, "messages": messages_to_dict(window)}
    last = {"delivered": str(new[-1].id)} if new else {}
    return {"parts": parts, **last}


def beginning(own: SceneContext, stage: Stage, first: str) -> list[HumanMessage]:
    """What is narrated as a scene begins, before its first line: to all who are there, and to each alone."""
    told = [(own.opening, witnesses(stage, "", ()))] + [(one.told, [one.role]) for one in own.cast]
    return [
        HumanMessage(
            text,
            id=one,
            additional_kwargs={SCENE: Told(kind="narration", by="", to=[], witnesses=heard, text=text, when=own.as_of)},
        )
        for one, (text, heard) in zip(beginning_ids(first), told, strict=False)
        if text
    ]


def beginning_ids(first: str) -> list[str]:
    """The ids of what is narrated before the first line of a scene: the same where the node runs again."""
    return [str(uuid5(NAMESPACE_OID, f"{first} {number}")) for number in range(1 + MOST_ROLES)]


def window_of(memory: Mapping[str, Any]) -> list[AnyMessage]:
    """The window of a role, as it is kept in its memory."""
    return messages_from_dict(memory.get("messages", []))  # type: ignore[return-value]


@needs(stage="read_cue", speaker="choose_speaker")
async def speak(state: SceneState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Have a role say its line by its method, from what it has heard.

    A line that begins with `/whisper NAME:` is heard by that role alone, and so is the answer to a whisper. Thoughts
    in square brackets are heard by nobody else. The wish of the turn holds for all of its lines.

    Raises:
        ModelError: the model gave no reply.
        ValueError: the settings of a role cannot be used.
    """
    run = await open_run(runtime, SceneContext)
    role, stage, members = state["speaker"], state["stage"], await members_of(run)
    names = {one.role: one.name for one in members}
    player = next(one for one in run.settings.cast if one.role == role)
    memory = (state.get("parts") or {}).get(role) or {}
    window = window_of(memory)
    asked, told = told_of(window[-1]) if window and window[-1].type == "human" else None, list[AnyMessage]()
    if asked is None:
        (cue,) = run.prompt("your_turn").messages(role=names[role])
        (narrator,) = run.prompt("narrator").messages()
        known: Told = {"kind": "cue", "by": "", "to": [], "witnesses": [role], "text": cue.text, "when": ""}
        told = [HumanMessage(cue.text, id=str(uuid4()), name=narrator.text, additional_kwargs={SCENE: known})]
    whispers = bool(answered(asked, role, stage["present"]))
    runtime.stream_writer({"event": "speaks", "role": role, "name": names[role], "whispers": whispers})
    own = context_of(player, run.settings, asked, played(run, state, role, names, asked))
    if wish := wish_in(next(one for one in reversed(state["messages"]) if one.type == "human")):
        *before, last = *window, *told
        memory, told = {**memory, "messages": messages_to_dict(before)}, [wished(last, wish)]
    turn = await turns_by(player.flow or player.method)(memory, told, own)
    text, line = line_of(run, role, turn.reply.text, stage, members, asked)
    await keep_said(runtime, own, turn.memory.get("talk_head", ""), line["witnesses"], line["when"])
    number = state["spoken"].count(role) + 1
    name = role if number == 1 else f"{role} {number}"
    reply = AIMessage(text, id=turn.reply.id, name=role, additional_kwargs=dict(turn.reply.additional_kwargs))
    return {
        "messages": [marked(reply, line)],
        "stage": noticed(stage, line),
        "parts": {role: turn.memory},
        "spoken": [*state["spoken"], role],
        "evidence": {name: {**turn.evidence, **unheard(state["messages"], role, names)}},
        "usage": {f"{name}.{node}": used for node, used in turn.usage.items()},
    }


speak.runs = frozenset(METHODS.values())  # type: ignore[attr-defined]  # for the page of nodes


@needs(spoken="read_cue")
async def close(state: SceneState, runtime: Runtime[Any]) -> dict[str, Any]:
    """End the turn: what the window of the script has no room for leaves it; where nobody spoke, that is said."""
    run = await open_run(runtime, SceneContext)
    said, silent = list[AnyMessage](), dict[str, Any]()
    if not state["spoken"]:
        (only,) = run.prompt("silence").messages()
        told: Told = {"kind": "silence", "by": "", "to": [], "witnesses": [], "text": "", "when": ""}
        said = [AIMessage(only.text, id=str(uuid4()), additional_kwargs={SCENE: dict(told)})]
        silent = {"evidence": {"silence": True}}
    messages = state["messages"]
    begun = max(at for at, one in enumerate(messages) if one.type == "human")  # this turn stays whole
    gone = leaving([*messages, *said], run.settings.window)[:begun]
    return {"messages": [*removals(gone), *said], **silent}


def context_of(player: Player, own: SceneContext, asked: Told | None = None, scene: str = "") -> RoleContext:
    """The settings of a role: those of its method, what the scene shares, its own, and what is so at present."""
    kind = flow_of(player).context
    shared = {name: getattr(own, name) for name in SHARED if name in kind.model_fields}
    now: dict[str, Any] = {"role": player.role}
    if scene and "scene" in kind.model_fields:
        now["scene"] = scene
    if asked and "user_role" in kind.model_fields:
        now["user_role"] = own.user_role if asked["by"] == USER else asked["by"]
    context: RoleContext = part_context(kind, {**shared, **player.settings, **now}, own, player.role)
    if context._opened:
        context._opened.clock = TurnClock(context.turn_deadline)  # each line has the time of a turn
    return context


def flow_of(player: Player) -> Flow:
    """By what method a role plays."""
    return flow(player.flow or player.method)


@cache
def turns_by(name: str) -> Any:
    """What has a role take its turn by a method, or a flow of one's own."""
    return turn_of(flow(name).builder.compile(name=name.rpartition(":")[2]))


def played(run: Run[SceneContext], state: SceneState, role: str, names: Mapping[str, str], asked: Told | None) -> str:
    """What a role is told of the scene as it is: the place and the time, who is there, who has spoken last."""
    stage, own = state["stage"], run.settings
    others = [names[one] for one in others_there(state, role)] + ([own.user_role] if stage["user"] else [])
    by = asked["by"] if asked else ""
    last = user_name(run) if by == USER else names.get(by, "")
    pieces = [
        ("scene_alone", not others),
        ("scene_others", bool(others)),
        ("scene_hidden", role in stage["hidden"]),
        ("scene_last", bool(last)),
    ]
    values = {"others": ", ".join(others), "example": others[0] if others else "", "user": last}
    told = [run.prompt(name).messages(data=None, **values)[0].text for name, wanted in pieces if wanted]
    return "\n".join(filter(None, [own.place.strip(), asked["when"] if asked else "", *told]))


def line_of(
    run: Run[SceneContext], role: str, text: str, stage: Stage, members: Sequence[Member], asked: Told | None = None
) -> tuple[str, Told]:
    """What a role says, as it stands in its own window, and what is known of it as a line of the scene.

    Args:
        run: of the scene.
        role: who says it.
        text: what it says, which may whisper.
        stage: who is there.
        members: the cast.
        asked: the line that it answers.
    """
    names, own = {one.role: one.name for one in members}, run.settings
    there, others = [one for one in stage["present"] if one != role], [one for one in members if one.role != role]
    if stage["user"] and own.user_role:
        there.append(USER)
        others.append(Member(USER, own.user_role, (own.user_role,)))
    said = cue_in_line(text, others, there)
    to = said.to or (role,) if said.kind == "whisper" else answered(asked, role, stage["present"])
    kind: Literal["whisper", "line"] = "whisper" if to else "line"
    line: Told = {
        "kind": kind,
        "by": role,
        "to": [one for one in to if one not in (USER, role)],
        "witnesses": witnesses(stage, role, to),
        "text": audible(said.text) or "…",
        "when": asked["when"] if asked else "",
    }
    text = said.text
    if whom := ", ".join(filter(None, (names.get(one, own.user_role) for one in to if one != role))):  # else an aside
        (only,) = run.prompt("whispers_to").messages(others=whom)
        text = f"{only.text} {text}"
    return text, line


def cue_in_line(text: str, members: Sequence[Member], there: Sequence[str]) -> Cue:
    """What a role's line does: it may whisper to who is there; all else that it writes is said.

    A whisper is never said aloud, also where it comes after something else: to nobody who is there, nobody hears it.
    """
    if whisper := WHISPER.search(text):
        before, after = text[: whisper.start()].strip(), text[whisper.end() :].strip()
        try:
            to, said = names_at(after, members)
        except ValueError:  # two are called so
            to, said = (), after
        return Cue("whisper", tuple(one for one in to if one in there), f"{before} {said}".strip())
    try:
        found = cue_in(text, members)
    except ValueError:  # to nobody of the cast, or without a word
        return cue_in(text.lstrip().lstrip("/"), members)
    return found if found.kind == "line" else found._replace(kind="line", to=(), text=found.text or text.strip())


def answered(asked: Told | None, role: str, there: list[str]) -> tuple[str, ...]:
    """To whom a role whispers by answering a whisper; empty: it speaks aloud."""
    if asked is None or asked["kind"] != "whisper":
        return ()
    others = [one for one in (asked["by"], *asked["to"]) if one != role]
    return tuple(one for one in others if one in there or one == USER) or (USER,)


def unheard(messages: list[AnyMessage], role: str, names: Mapping[str, str]) -> dict[str, Any]:
    """The evidence of what was kept from a role since its own last line, and why."""
    last = max((at for at, one in enumerate(messages, 1) if said_by(one) == role), default=0)
    kept = list[dict[str, str]]()
    for one in messages[last:]:
        told = told_of(one)
        if told is None or told["kind"] in ("cue", "silence") or heard_by(one, role):
            continue
        whom = ", ".join(names.get(to, to) for to in told["to"])
        whispered = f"whispered to {whom}" if whom else "whispered"
        kept.append(
            {"line": str(one.id), "by": told["by"], "why": whispered if told["kind"] == "whisper" else "not there"}
        )
    return {"not_heard": kept[-MOST_KEPT:]}


@changeable
def build() -> Workflow[SceneState, SceneContext, TurnInput, TurnOutput]:
    """Wire the graph."""
    builder = Workflow(SceneState, SceneContext, input_schema=TurnInput, output_schema=TurnOutput)
    builder.add_node(read_cue)
    builder.add_node(hear)
    builder.add_node(choose_speaker)
    builder.add_node(speak)
    builder.add_node(close)
    builder.add_edge(START, "read_cue")
    builder.add_edge("read_cue", "hear")
    builder.add_edge("hear", "choose_speaker")
    builder.add_conditional_edges("choose_speaker", speaker_outcome, {"speaks": "speak", "silence": "close"})
    builder.add_edge("speak", "hear")
    builder.add_edge("close", END)
    return builder


graph = build().compile(name="scene")
