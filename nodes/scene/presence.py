"""Who is there in a scene, and who hears what: all that a role is given of a scene passes `heard_by`.

It has no paper. A role's window, its summary, and whatever it remembers of a scene are made of what it was given: what
it did not hear is in none of them, and takes no place in what is looked up.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from pydantic_core import CoreSchema
from typing_extensions import TypedDict

from dramaturg.nodes.open_settings import Closed, Open
from dramaturg.nodes.part import PartState
from dramaturg.nodes.run import Run, library_of, needs, open_run
from dramaturg.nodes.turn import SummarySettings, TurnState, question_in, shown_name, stranger_name
from dramaturg.stores.conversations.talk import SCENE, told_in
from dramaturg.stores.errors import near_or_all
from dramaturg.stores.library import open_role
from dramaturg.stores.names import normal_name

__all__ = ["Called", "Player", "SceneSettings", "SceneState", "called", "heard_by", "read_cue"]

Kind = Literal["line", "whisper", "narration", "event", "cue", "silence"]
MOST_ROLES = 8
USER = "user"
"""By whom a line is that the user says, among the ids of roles; no role can be called so in a scene."""


class Player(BaseModel):
    """Who plays in a scene, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Open[str] = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", description="The id of the role.")
    method: Open[str] = Field(
        default="profile", pattern=r"^[a-z][a-z-]*$", description="The method by which the role plays."
    )
    flow: Closed[str] = Field(
        default="", max_length=1000, description="A flow of one's own in the method's place: package.module:graph."
    )
    settings: Closed[SkipJsonSchema[dict[str, Any]]] = Field(
        default={}, description="Settings of its method for this role alone, its model among them."
    )
    hidden: Open[bool] = Field(default=False, description="Whether nobody else knows that it is there as it begins.")
    absent: Open[bool] = Field(default=False, description="Whether it is not there as it begins.")
    told: Open[str] = Field(default="", max_length=5000, description="What it alone is told as it begins.")


class InPlace:
    """Has the form of a field show what an object is where it is asked for."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema itself instead of a reference to it."""
        return handler.resolve_ref_schema(handler(core))


class SceneSettings(SummarySettings):
    """Who plays, where, and how it goes on."""

    cast: Open[Annotated[tuple[Annotated[Player, InPlace()], ...], Field(min_length=1, max_length=MOST_ROLES)]] = Field(
        default=(
            Player(role="silver"),
            Player(role="hands"),
            Player(role="dick"),
            Player(role="jim", hidden=True),
        ),
        description="The roles of the scene, each with its method.",
    )
    place: Open[str] = Field(
        default="", max_length=2000, description="Where it plays, and what is to be seen there; all who are there know."
    )
    opening: Open[str] = Field(
        default="", max_length=5000, description="What is narrated as it begins, to all who are there then."
    )
    user_role: Open[str] = Field(
        default="",
        max_length=80,
        description="Whom the user plays in the scene: a name, or a role of the library. Empty: nobody; what the user "
        "writes is narrated.",
    )

    @model_validator(mode="before")
    @classmethod
    def _play_the_first(cls, given: Any) -> Any:
        """The role of the run, whose language the scene has, is the first of the cast."""
        if not isinstance(given, Mapping):
            return given
        cast = given.get("cast", cls.model_fields["cast"].default)
        first = cast[0] if isinstance(cast, list | tuple) and cast else None
        role = first.get("role") if isinstance(first, Mapping) else getattr(first, "role", None)
        return {**given, "role": role} if role else given

    @model_validator(mode="after")
    def _name_each_once(self) -> "SceneSettings":
        roles = self.playing
        if USER in roles:
            raise ValueError(f"no role of a scene can have the id {USER!r}: that is the user")
        if twice := next((one for one in roles if roles.count(one) > 1), None):
            raise ValueError(f"{twice!r} is in the cast twice: a role plays one part of a scene")
        return self

    @property
    def playing(self) -> tuple[str, ...]:
        """The ids of the roles that play."""
        return tuple(one.role for one in self.cast)


class Told(TypedDict):
    """What is known of a line of a scene, among the `additional_kwargs` of its message, under `SCENE`."""

    kind: Kind
    by: str
    """The id of the role that says it; `USER`; empty: it is narrated."""
    to: list[str]
    """The ids of those to whom it is whispered; empty: all who are there."""
    witnesses: list[str]
    """The ids of the roles that hear it, who says it among them."""
    text: str
    """What they hear of it: no command, and no thought."""
    when: str
    """The time of the scene, `as_of`; empty: nobody has said."""


class Stage(TypedDict):
    """Who is there now: the ids of roles in the order of the cast, and the user."""

    present: list[str]
    hidden: list[str]
    """Those among them of whom nobody else knows."""
    user: bool


class Asked(TypedDict):
    """What the user's message asks for beside what is heard: who speaks next, in their order."""

    next: list[str]


class Called(TypedDict):
    """What a program that decides itself who is there and who speaks says of a turn, beside the user's message."""

    present: list[str]
    """The ids of the roles that hear what is new; nobody else does."""
    next: list[str]
    """The ids of those that speak, a line each; they are there from then on."""
    heard: NotRequired[list[str]]
    """The ids of those that have heard the message, where it is not new: they have, and nobody else hears it now."""


class SceneState(TurnState, PartState):
    """A turn of a scene, and what lives on: its script as the user sees it, who is there, what each role remembers.

    The script is shown to no role: each has a window of its own in `parts`, of what it has heard.
    """

    stage: NotRequired[Annotated[Stage, Field(description="Who is there; it lives on.")]]
    asked: Annotated[Asked, Field(description="What the user's message asks for.")]
    delivered: NotRequired[Annotated[str, Field(description="The id of the last line that was given to who heard it.")]]
    speaker: Annotated[str, Field(description="The id of the role that speaks next; empty: nobody.")]
    spoken: Annotated[list[str], Field(description="Who has spoken in this turn, line by line.")]


class Member(NamedTuple):
    """A role of the cast by its names."""

    role: str
    name: str
    names: tuple[str, ...]


class Cue(NamedTuple):
    """What a message does: a command behind a slash, or a line."""

    kind: Literal["line", "whisper", "narrate", "enter", "leave", "hide", "next", "go"]
    to: tuple[str, ...]
    """The roles that it names."""
    text: str


CALLED = "dramaturg_called"  # the key among the `additional_kwargs` of the user's message of what is `Called`
COMMAND = re.compile(r"\s*/(whisper|narrate|enter|leave|hide|next|go)(?![\w-])[ \t]*", re.IGNORECASE)
THOUGHT = re.compile(r"[ \t]*\[[^\[\]]*\]")
BETWEEN = re.compile(r"\s*(?:,|，|、|&)\s*")
COLON = re.compile(r"\s*[:：]\s*")
SOMEBODY = "0000"  # in the place of a name


async def members_of(run: Run[SceneSettings]) -> list[Member]:
    """The cast by their names, of which no two are the same; a role that is not there is a RoleError."""

    def read() -> list[Member]:
        library = library_of(run.settings)
        cards = {role: open_role(role, library).card for role in run.settings.playing}
        names = told_apart({role: card.name for role, card in cards.items()})
        return [
            Member(role, names[role], tuple(dict.fromkeys((names[role], card.name, role, *card.aliases))))
            for role, card in cards.items()
        ]

    return await asyncio.to_thread(read)


def require_free(own: SceneSettings, members: Sequence[Member]) -> None:
    """Refuse a user who would play somebody of the cast.

    Raises:
        ValueError: it would.
    """
    wanted = normal_name(own.user_role)
    for one in members if wanted else ():
        if wanted in map(normal_name, one.names):
            raise ValueError(
                f"You cannot play {own.user_role}: {one.name} is in the cast, and is played by a model. Name somebody "
                f"else (--as, or user_role in the scene's file), or take {one.role} out of the cast."
            )


def told_apart(names: Mapping[str, str]) -> dict[str, str]:
    """The names of roles by their ids; behind one that several have stands the id."""
    times = Counter(map(normal_name, names.values()))
    return {role: name if times[normal_name(name)] == 1 else f"{name} ({role})" for role, name in names.items()}


def cue_in(text: str, members: Sequence[Member]) -> Cue:
    """Read what a message does.

    Args:
        text: of the user, or of a role; `/whisper NAME[, NAME]: text`, `/narrate text`, `/enter NAME`, `/leave NAME`,
            `/hide NAME`, `/next NAME`, `/go`, or a line.
        members: the cast. A name is an id, a name or an alias.

    Raises:
        ValueError: a command lacks its name or its text, or names nobody of the cast.
    """
    if not (found := COMMAND.match(text)):
        return Cue("line", (), text.strip())
    kind: Any = found[1].lower()
    rest = text[found.end() :].strip()
    if kind == "go":
        return Cue("go", (), rest)
    if kind == "narrate":
        if not rest:
            raise ValueError("There is nothing to narrate: write /narrate and then what happens.")
        return Cue("narrate", (), rest)
    to, said = names_at(rest, members)
    if kind in ("enter", "leave") and not rest:
        return Cue(kind, (USER,), "")
    if not to:
        written = rest.split(":")[0].split("\n")[0][:60]
        raise ValueError(
            f"/{kind} needs the name of somebody of the cast, and {written!r} is none"
            + near_or_all(written, [one.name for one in members])
        )
    if kind == "whisper" and not said:
        raise ValueError(f"There is nothing to whisper: write /whisper {members[0].name}: and then the words.")
    return Cue(kind, to, said)


def names_at(text: str, members: Sequence[Member]) -> tuple[tuple[str, ...], str]:
    """The roles that a text names at its beginning, and what follows them.

    Raises:
        ValueError: a name is that of several.
    """
    found, known = list[str](), [(name.casefold(), one.role) for one in members for name in one.names]
    known.sort(key=lambda one: -len(one[0]))
    while True:
        start = text.casefold()
        for name, role in known:
            after = start[len(name) : len(name) + 1]
            if start.startswith(name) and not (after.isalnum() and after.isascii()):
                if len(alike := {of for other, of in known if other == name}) > 1:
                    raise ValueError(f"{text[: len(name)]} is the name of several here: {' or '.join(sorted(alike))}?")
                found.append(role)
                text = text[len(name) :]
                break
        else:
            return tuple(dict.fromkeys(found)), text.strip()
        if between := BETWEEN.match(text):
            text = text[between.end() :]
            continue
        colon = COLON.match(text)
        return tuple(dict.fromkeys(found)), text[colon.end() if colon else 0 :].strip()


def whisper_in(run: Run[Any], text: str) -> tuple[str, str]:
    """To whom a line is whispered that a role has said, and the line itself; empty: it is said aloud."""
    (only,) = run.prompt("whispers_to").messages(others=SOMEBODY)
    whom = r"((?:[^()]|\([^()]*\))+|.+?)"  # a name may have brackets
    found = re.match(re.escape(only.text.strip()).replace(SOMEBODY, whom), text.strip())
    return (found[1], text.strip()[found.end() :].strip()) if found else ("", text)


def told_of(message: AnyMessage) -> Told | None:
    """What is known of a line of a scene; None: nothing, as of one that another program has written."""
    told: Any = told_in(message)
    return told if told is not None and Told.__required_keys__ <= told.keys() else None


def said_by(message: AnyMessage) -> str:
    """The id of the role that says a line, or `USER`; empty: it is narrated, or nobody knows."""
    told = told_of(message)
    return told["by"] if told else ""


def heard_by(message: AnyMessage, role: str) -> bool:
    """Whether a role has heard a line of a scene: it was there, or it was whispered to it.

    This is the filter of all that a role is given of a scene, in its prompts and in what it remembers.
    """
    told = told_of(message)
    return told is not None and role in told["witnesses"]


def audible(text: str) -> str:
    """What others hear of a role's line: its thoughts stand in square brackets, and are its own (as in CoSER)."""
    return THOUGHT.sub("", text).strip()


def witnesses(stage: Stage, by: str, to: Sequence[str]) -> list[str]:
    """Who hears a line: all who are there, or those to whom it is whispered; and who says it."""
    wanted = {by, *to} if to else {by, *stage["present"]}
    return [role for role in dict.fromkeys([*stage["present"], *to, by]) if role in wanted and role not in ("", USER)]


def first_stage(own: SceneSettings) -> Stage:
    """Who is there as a scene begins."""
    there = [one for one in own.cast if not one.absent]
    return {
        "present": [one.role for one in there],
        "hidden": [one.role for one in there if one.hidden],
        "user": bool(own.user_role),
    }


def stage_in(state: Mapping[str, Any], own: SceneSettings) -> Stage:
    """Who is there now; who is no more in the cast is not."""
    stage: Stage = state.get("stage") or first_stage(own)
    return staged(stage["present"], stage, own)


def moved(stage: Stage, kind: str, roles: Sequence[str], own: SceneSettings) -> Stage:
    """Who is there after somebody has come, gone or hidden."""
    there, hidden = set(stage["present"]), set(stage["hidden"])
    for role in roles:
        if role == USER:
            stage = {**stage, "user": kind == "enter"}
        elif kind == "leave":
            there.discard(role)
            hidden.discard(role)
        else:
            there.add(role)
            hidden = hidden | {role} if kind == "hide" else hidden - {role}
    present = [role for role in own.playing if role in there]
    return {**stage, "present": present, "hidden": [role for role in present if role in hidden]}


def noticed(stage: Stage, told: Told) -> Stage:
    """Who is there after a line: who was hidden and says something that anybody else hears is hidden no more.

    What it whispers tells it to nobody but whom it is for, and what it thinks to nobody.
    """
    by, others = told["by"], [role for role in told["witnesses"] if role != told["by"]]
    is_heard = told["kind"] == "line" and bool(others or stage["user"]) and bool(told["text"].strip(" .…"))
    return {**stage, "hidden": [role for role in stage["hidden"] if role != by]} if is_heard else stage


async def read_cue(state: SceneState, runtime: Runtime[Any]) -> dict[str, Any]:
    """Take what the user's message does from it: a line, a whisper, what is narrated, who comes and who goes.

    Lines that were written by another program, as where a client keeps the history, were heard by all who are there.

    Raises:
        ValueError: the last message is not a user's, is empty or too long, a command names nobody of the cast, or the
            user plays somebody of it.
    """
    run = await open_run(runtime, SceneSettings)
    own, messages, members = run.settings, state["messages"], await members_of(run)
    question = question_in(messages)
    *earlier, last = messages
    before, names = stage_in(state, own), {one.role: one.name for one in members}
    unknown = [as_said(one, before, own) for one in earlier if told_of(one) is None]
    for told_earlier in filter(None, map(told_of, unknown)):
        before = noticed(before, told_earlier)
    calls = calls_in(last)
    if calls is None:
        require_free(own, members)
    else:  # a client's users are called as they are
        before = {**staged(calls["present"], before, own), "user": True}
    cue = cue_in(last.text, members)
    stage, told = told_by_user(run, cue, before, names)
    asked = [role for role in cue.to if cue.kind in ("whisper", "next") and role != USER]
    if calls is not None:
        asked = calls["next"]
        stage = staged([*stage["present"], *asked], stage, own)
        told["witnesses"] = [role for role in own.playing if role in calls.get("heard", told["witnesses"])]
    return {
        "messages": [*unknown, marked(last, told, user_name(run))],
        "question": question,
        "window": own.window,
        "stage": stage,
        "asked": {"next": asked},
        "speaker": "",
        "spoken": [],
        "evidence": Overwrite({}),
        "usage": Overwrite({}),
    }


def called(message: HumanMessage, calls: Called) -> HumanMessage:
    """A message of the user with who is there to hear it, and who speaks next, as a program says that has a stage."""
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, CALLED: calls}})


def calls_in(message: AnyMessage) -> Called | None:
    """What a program has said of a turn; None: nothing, and the scene decides."""
    found: Any = message.additional_kwargs.get(CALLED)
    return found if isinstance(found, dict) and Called.__required_keys__ <= found.keys() else None  # type: ignore[return-value]


def staged(roles: Sequence[str], stage: Stage, own: SceneSettings) -> Stage:
    """Who is there where these roles are, and no others."""
    present = [role for role in own.playing if role in roles]
    return {**stage, "present": present, "hidden": [role for role in stage["hidden"] if role in present]}


def told_by_user(run: Run[Any], cue: Cue, before: Stage, names: Mapping[str, str]) -> tuple[Stage, Told]:
    """Who is there after a message of the user's, and what is known of it as a line of the scene.

    Raises:
        ValueError: it is whispered to somebody who is not there, or who leaves is hidden and others with it are not.
    """
    own = run.settings
    if cue.kind == "line" and not before["user"]:
        cue = cue._replace(kind="narrate")
    by, stage, text, kind = "", before, cue.text, "narration"
    match cue.kind:
        case "line":
            by, kind = USER, "line"
        case "whisper":
            by, kind = USER if before["user"] else "", "whisper"
            if gone := [names[role] for role in cue.to if role not in before["present"]]:
                raise ValueError(f"{gone[0]} is not there to hear it: /enter {gone[0]} first.")
        case "next" | "go":
            kind = "cue"
        case "enter" | "leave" | "hide":
            unseen = [one for one in cue.to if one in before["hidden"]]
            if cue.kind == "leave" and unseen and len(unseen) < len(cue.to):
                name = names[unseen[0]]
                raise ValueError(f"Nobody knows that {name} is here: write /leave {name} by itself.")
            stage, kind = moved(before, cue.kind, cue.to, own), "event"
            text = event_text(run, cue, names)
    if kind == "cue":
        heard = list[str]()
    elif kind == "event":
        heard = event_witnesses(before, stage, cue)
    else:
        heard = witnesses(before, by, cue.to if kind == "whisper" else ())
    return stage, {
        "kind": kind,  # type: ignore[typeddict-item]
        "by": by,
        "to": list(cue.to) if kind == "whisper" else [],
        "witnesses": heard,
        "text": text,
        "when": own.as_of,
    }


def event_witnesses(before: Stage, after: Stage, cue: Cue) -> list[str]:
    """Who sees that somebody comes, goes or hides: all who are there before or after; but of what is hidden, itself."""
    moving = [role for role in cue.to if role != USER]
    if cue.kind == "hide" or (moving and cue.kind == "leave" and {*moving} <= {*before["hidden"]}):
        return moving
    return list(dict.fromkeys([*before["present"], *after["present"]]))


def event_text(run: Run[Any], cue: Cue, names: Mapping[str, str]) -> str:
    """What is narrated where somebody comes, goes or hides."""
    who = ", ".join(names.get(role) or user_name(run) for role in cue.to)
    (only,) = run.prompt(f"scene_{cue.kind}").messages(role=who)
    return f"{only.text} {cue.text}".strip()


def as_said(message: AnyMessage, stage: Stage, own: SceneSettings) -> AnyMessage:
    """A line that another program has written, as all who are there have heard it."""
    by = str(message.name or "") if message.type == "ai" else USER
    by = by if by in (*own.playing, USER) else ""
    told: Told = {
        "kind": "line" if by else "narration",
        "by": by,
        "to": [],
        "witnesses": witnesses(stage, by, ()),
        "text": audible(message.text) if message.type == "ai" else message.text.strip(),
        "when": own.as_of,
    }
    return marked(message, told)


def marked(message: AnyMessage, told: Told, name: str | None = None) -> AnyMessage:
    """A message of a scene with what is known of it, and who says it."""
    new: dict[str, Any] = {"additional_kwargs": {**message.additional_kwargs, SCENE: dict(told)}}
    if name is not None and told["by"] == USER:
        new["name"] = name
    return message.model_copy(update=new)


def user_name(run: Run[Any]) -> str:
    """What the user is called in the scene."""
    return run.settings.user_role or stranger_name(run)


def said_to(run: Run[Any], message: AnyMessage, role: str, names: Mapping[str, str]) -> HumanMessage:
    """A line as one role hears it: with who says it, and whether it is whispered."""
    told = told_of(message)
    if told is None:
        raise ValueError("Nobody has said who hears this line: read_cue comes before it.")
    (narrator,) = run.prompt("narrator").messages()
    name = user_name(run) if told["by"] == USER else names.get(told["by"]) or narrator.text
    text = told["text"]
    if told["kind"] == "whisper":
        others = [names.get(one, one) for one in told["to"] if one != role]
        (only,) = run.prompt("whispered_to_several" if others else "whispered").messages(others=", ".join(others))
        text = f"{only.text} {text}"
    known = {**told, "text": ""}  # it stands in the message
    return HumanMessage(text, id=message.id, name=shown_name(name), additional_kwargs={SCENE: known})


def undelivered(state: Mapping[str, Any]) -> Iterator[AnyMessage]:
    """The lines of the script that nobody was given yet; all that are there, where it is not known."""
    messages, last = state["messages"], state.get("delivered", "")
    begin = next((at for at, one in enumerate(messages, 1) if one.id == last), 0)
    yield from (one for one in messages[begin:] if told_of(one) is not None)


@needs(stage="read_cue")
def others_there(state: SceneState, role: str) -> list[str]:
    """The ids of those whom a role knows to be there, itself not among them."""
    stage = state["stage"]
    return [one for one in stage["present"] if one != role and one not in stage["hidden"]]
