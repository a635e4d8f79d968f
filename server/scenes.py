"""Scenes as models: several roles answer on one thread, each by what it has heard; a group chat is one, too.

A client of a group asks for one line of one character, and says who is there to hear what is new.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AnyMessage, HumanMessage

from dramaturg.conversations.alignment import Exchange
from dramaturg.conversations.conversation import SCENES, Conversation
from dramaturg.conversations.opening import scenes_begun, threads_in
from dramaturg.conversations.scene_files import own_scenes, read_scene, scenes_of, title_of, written_scene
from dramaturg.conversations.scene_histories import LATER_COMMAND, SceneTalk
from dramaturg.conversations.scenes import kept_scene
from dramaturg.conversations.thread import Part
from dramaturg.conversations.titles import ListedTalk, talks_in
from dramaturg.nodes.run import opening_once, run_of
from dramaturg.nodes.scene.presence import COMMAND, MOST_ROLES, Player, called, members_of, told_apart, told_of
from dramaturg.server.chat_requests import LONGEST_NAME, Heard, Shown, Unfit
from dramaturg.server.reasoning import why
from dramaturg.server.replies import Piece, Speech
from dramaturg.server.rooms import AUTO, SCENE, Rooms, UnknownModel, thread_name
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library_folder import Listed, example_card, examples
from dramaturg.stores.names import normal_name
from dramaturg.workflows.names import METHODS
from dramaturg.workflows.scene import SceneContext, flow_of

GO, NEXT = "/go", "/next"


class Staged(NamedTuple):
    """A request to a scene."""

    context: SceneContext
    heard: Heard
    of: str
    """Whose threads of the scene it is about: what their names begin with, before a slash."""
    names: Mapping[str, str]
    """The names of the roles by their ids."""
    speaker: str
    """The id of the role of which one line is asked; empty: the scene chooses who speaks."""
    present: tuple[str, ...] | None
    """The ids of the roles that hear what is new; None: the scene knows."""


class Scenes:
    """The scenes of a library, and those that clients make of their groups.

    Args:
        rooms: the conversations.
    """

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms

    def models(self) -> list[str]:
        """The names of the scenes as models; it may block."""
        return [f"{SCENES}{name}" for name in (*scenes_of(self.rooms.library), AUTO)]

    async def begun(self) -> dict[str, list[str]]:
        """The threads of scenes, by the names of the scenes; also those whose files are gone."""
        if not await asyncio.to_thread(scenes_begun, self.rooms.library):
            return {}
        found = dict[str, list[str]]()
        for one in await threads_in(await self.rooms.kept(SceneContext(library=self.rooms.library))):
            if one.startswith(SCENES):
                found.setdefault(one.removeprefix(SCENES).partition("/")[0], []).append(one)
        return found

    async def played(self, caller: str) -> list[str]:
        """The scenes, as models, of which a caller has threads; the groups of clients are one."""
        begun = {f"{SCENES}{name}": threads for name, threads in (await self.begun()).items()}
        return [one for one in begun if any(name.startswith(f"{of_caller(one, caller)}/") for name in begun[one])]

    async def shown(self) -> list[dict[str, Any]]:
        """The scenes of the library and the examples, each with its cast; one that cannot be read says why."""

        def read() -> list[dict[str, Any]]:
            listed = self.rooms.library.listed()
            return [self._shown(name, listed) for name in scenes_of(self.rooms.library)]

        return await asyncio.to_thread(read)

    def one(self, name: str) -> dict[str, Any]:
        """The same of one of them; it may block."""
        return self._shown(name, self.rooms.library.listed())

    def _shown(self, name: str, listed: Mapping[str, Listed]) -> dict[str, Any]:
        example = name not in own_scenes(self.rooms.library)
        about: dict[str, Any] = {"id": f"{SCENES}{name}", "name": title_of(name), "example": example}
        try:
            file = written_scene(self.rooms.library, name)
            names = told_apart({role: card_in(listed, role).name for role in file.playing})
        except (RoleError, ValueError) as error:
            return {**about, "place": "", "opening": "", "user": "", "cast": [], "error": str(error)}
        said = {"name": file.title, "place": file.place, "opening": file.opening, "user": file.user_role}
        return {**about, **said, "cast": [self._part(one, names[one.role]) for one in file.cast]}

    def _part(self, one: Player, name: str) -> dict[str, Any]:
        ticks = {"hidden": one.hidden, "absent": one.absent}
        return {"role": one.role, "name": name, **ticks, "method": self.method_of(one)}

    def method_of(self, one: Player) -> str:
        """By what a role plays: the name of a method, or of a flow, as it is served here."""
        flows = {flow: name for name, flow in self.rooms.methods.items()}
        return flows.get(one.flow, one.flow) or one.method

    def require(self, model: str) -> None:
        """Refuse a model that is no scene; it may block.

        Raises:
            UnknownModel: there is no such scene.
            RoleError: its file cannot be read.
        """
        name = model.removeprefix(SCENES)
        if name != AUTO:
            self._read(name, {})

    def _read(self, name: str, given: Mapping[str, Any]) -> SceneContext:
        known = [one.removeprefix(SCENES) for one in self.models()]
        if name not in known:
            raise UnknownModel(f"There is no scene {name[:LONGEST_NAME]!r}: /v1/models lists them.")
        return read_scene(self.rooms.library, name, **given)

    async def staged(self, model: str, heard: Heard, given: Mapping[str, Any], caller: str) -> Staged:
        """What a request asks of a scene.

        Args:
            model: the scene, `scene:NAME`, or `scene:auto` for the members of a group.
            heard: what the client shows.
            given: the settings that came with it.
            caller: whose key it is; "": the server asks for none.

        Raises:
            UnknownModel: there is no such scene, or nobody of the library is in the group.
            Unfit: who is to speak is not in the cast, or a command cannot be read.
        """
        name = model.removeprefix(SCENES)
        group = name == AUTO or bool(heard.speaker and (heard.others or heard.present is not None))
        roles = dict[str, str]()
        if name == AUTO:
            for one in sorted({*heard.others, *(heard.present or ()), heard.speaker} - {""}):
                if found := await asyncio.to_thread(self.rooms.role_named, one):
                    roles[normal_name(one)] = found
            context = self._group_of(sorted({*roles.values()}), given)
        else:
            context = await asyncio.to_thread(self._read, name, self._own(given))
        if group and heard.asker and not context.user_role:
            context = changed(context, user_role=heard.asker[:80])
        context = opening_once(changed(context, cast=tuple(self._with(one, given) for one in context.cast)))
        run = await run_of(context)
        members = await members_of(run)
        roles |= {normal_name(called_so): one.role for one in members for called_so in one.names}
        speaker, present = "", None
        if group:
            speaker = roles.get(normal_name(heard.speaker), "")
            if not speaker and name == AUTO:
                raise UnknownModel(f"The role {heard.speaker!r} is not there: /v1/models lists the roles.")
            there = (*(heard.others), heard.speaker) if heard.present is None else heard.present
            present = tuple(sorted({role for one in there if (role := roles.get(normal_name(one)))}))
            if not speaker and heard.others:
                cast = ", ".join(one.name for one in members)
                raise Unfit("X-Role-Char", f"{heard.speaker!r} is not in the cast of this scene: {cast}.")
        if not speaker:  # a chat with one character, whoever that is, is with the scene
            present = None
        (silence,) = run.prompt("silence").messages()
        turns = directed(heard.lines, roles, silence.text) if speaker else together(heard.lines, silence.text)
        *history, (question, _) = turns
        question = question or (f"{NEXT} {speaker}" if speaker else GO)
        if heard.kind != "quiet" and LATER_COMMAND.search(question):
            raise Unfit("messages", "a command such as /whisper stands at the beginning of a message of its own.")
        heard = heard._replace(history=history, question=question, begun="")
        heard = heard if heard.kind == "quiet" else heard._replace(kind="turn")
        return Staged(
            context, heard, of_caller(model, caller), {one.role: one.name for one in members}, speaker, present
        )

    async def talk(self, model: str, caller: str, thread: str) -> Conversation | None:
        """A caller's thread of a scene, to be looked at, also where the scene's file is gone; None: there is none.

        Raises:
            UnknownModel: there is no such scene, and no such thread.
            RoleError: the same of one whose file cannot be read.
        """
        kept, context = await self.rooms.kept(SceneContext(library=self.rooms.library)), None
        name = thread_name(of_caller(model, caller), thread)
        begun = await kept.saver.aget_tuple({"configurable": {"thread_id": name, "checkpoint_ns": ""}}) is not None
        if model != f"{SCENES}{AUTO}":
            try:
                context = await asyncio.to_thread(self._read, model.removeprefix(SCENES), {})
            except RoleError:
                if not begun:
                    raise
        context = (context or await kept_scene(kept.saver, self.rooms.library, name)) if begun else None
        return await self.rooms.conversation(SCENE, context, name) if context else None

    async def talks(self, model: str, caller: str, search: str = "") -> AsyncIterator[ListedTalk]:
        """A caller's threads of a scene, as they are listed, by the names that they have for the caller.

        They are there also where the scene's file is gone or cannot be read. One that begins with a
        command is called by the words behind it.
        """
        try:
            await asyncio.to_thread(self.require, model)
        except RoleError:
            if model not in await self.played(caller):
                raise
        kept, of = await self.rooms.kept(SceneContext(library=self.rooms.library)), f"{of_caller(model, caller)}/"
        async for one in talks_in(kept, SCENES, of, search):
            begun = COMMAND.match(one.title)
            title = one.title[begun.end() :] if begun else one.title
            yield one._replace(thread=one.thread.removeprefix(of), title=title)

    def _group_of(self, roles: Sequence[str], given: Mapping[str, Any]) -> SceneContext:
        """A scene of the members of a group that the library has."""
        if not roles:
            raise UnknownModel(
                "Nobody of the group is in the library: /v1/models lists the roles; with scene:auto, send X-Role-Char "
                "and X-Role-Group."
            )
        if len(roles) > MOST_ROLES:
            raise ValueError(f"A scene has at most {MOST_ROLES} roles, and of this group {len(roles)} are here.")
        method = self.rooms.method
        how = {"method": method} if method in METHODS else {"flow": self.rooms.methods[method]}
        cast = [{"role": role, **how} for role in roles]
        return SceneContext.model_validate({"cast": cast, "library": self.rooms.library, **self._own(given)})

    def _own(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of the server, and those that came with a request, as far as they are a scene's.

        What somebody has said to a role alone does not come back before others.
        """
        wanted = {**self.rooms.settings, **given}
        fields = SceneContext.model_fields.keys() - {"cast", "role", "library", "known_as"}
        return {name: value for name, value in wanted.items() if name in fields and value != AUTO}

    def _with(self, player: Player, given: Mapping[str, Any]) -> Player:
        """A role of the cast, with the settings of its method that are the server's, or came with the request."""
        fields = flow_of(player).context.model_fields.keys() - SceneContext.model_fields.keys()
        of_server = {name: value for name, value in self.rooms.settings.items() if name in fields}
        of_request = {name: value for name, value in given.items() if name in fields}
        return player.model_copy(update={"settings": {**of_server, **player.settings, **of_request}})


def card_in(listed: Mapping[str, Listed], role: str) -> RoleCard:
    """The card of a role, or of an example, which is not taken into the library for it; it may block.

    Raises:
        RoleError: there is no such role, or its card cannot be read.
    """
    if role not in listed and role not in examples():
        raise RoleError(f"There is no role {role!r}.")
    return listed[role].card() if role in listed else example_card(role)


def of_caller(model: str, caller: str) -> str:
    """What the names of a caller's threads of a scene begin with, before a slash: nobody can name another's."""
    return "/".join(filter(None, [model, caller]))


def changed(context: SceneContext, **settings: Any) -> SceneContext:
    """A scene with other settings."""
    given = {name: getattr(context, name) for name in context.model_fields_set}
    return SceneContext.model_validate(given | settings)


def directed(lines: Sequence[Shown], roles: Mapping[str, str], silence: str) -> list[Exchange]:
    """The chat of a group as turns of one line each; the last has none: it is what is to be answered.

    Args:
        lines: of the chat.
        roles: the ids of the roles by their names.
        silence: what is said where nobody answers.
    """
    found, asked = list[Exchange](), ""
    for one in lines:
        if one.by_user:
            found += [Exchange(asked, silence)] if asked else []
            asked = one.text
            continue
        role = roles.get(normal_name(one.name), "") if one.name else ""
        said = ": ".join(filter(None, [role or one.name, one.text]))
        found.append(Exchange(asked or (f"{NEXT} {role}" if role else GO), said))
        asked = ""
    return [*found, Exchange(asked, "")]


def together(lines: Sequence[Shown], silence: str) -> list[Exchange]:
    """The chat with a scene as its turns, of as many lines as there are between two of the user's; the last has none.

    Args:
        lines: of the chat.
        silence: what is said where nobody answers.
    """
    found, asked, said = list[Exchange](), "", list[str]()
    for one in (*lines, Shown("", "", by_user=True)):
        if not one.by_user:
            said.append(": ".join(filter(None, [one.name, one.text])))
        elif said or (asked and one.text):
            found.append(Exchange(asked or GO, "\n\n".join(said) or silence))
            asked, said = one.text, []
        else:
            asked = one.text or asked
    return [*found, Exchange(asked, "")]


class Coming:
    """A line that is being said.

    Args:
        name: of who says it.
        held: whether it is sent as a whole: what is whispered, to whom, is known when it is there.
    """

    def __init__(self, name: str, *, held: bool) -> None:
        self.name = name
        self.held = held
        self.text = ""
        self.sent = 0
        """How many characters of it were sent."""
        self._message = ""

    def takes(self, chunk: AnyMessage) -> bool:
        """Add a part of it, unless that is of another draft; a line that may be a command is held."""
        self._message = self._message or str(chunk.id)
        if self._message == str(chunk.id):
            self.text = (self.text + chunk.text).lstrip()
            self.held = self.held or self.text.startswith("/")
        return self._message == str(chunk.id)


class SceneSpeech(Speech):
    """A turn of a scene: its lines are sent as they are said, each with the name of who says it.

    Args:
        talk: the conversation.
        staged: the request.
        history: what was said before, as the client has it; None: the turn follows the head.
        keep: is told when there is a reply.
        language: in which it is said why.
    """

    def __init__(
        self,
        talk: SceneTalk,
        staged: Staged,
        history: Sequence[Exchange] | None,
        keep: Callable[[Speech], Awaitable[None]],
        language: str,
    ) -> None:
        talk.present = staged.present
        self.staged = staged
        self._lines: set[str] | None = None
        self._coming: Coming | None = None
        super().__init__(talk, history, staged.heard.question, "", staged.heard.wish, keep, language)

    @property
    def asked(self) -> HumanMessage:
        """The message that the turn answers, with who hears it and who answers, where the client says so."""
        asked, present = super().asked, self.staged.present
        return asked if present is None else called(asked, {"present": [*present], "next": [self.staged.speaker]})

    def _show(self, part: Part) -> None:
        if part["type"] == "custom" and not part["ns"] and part["data"].get("event") == "speaks":
            self._coming = Coming(part["data"]["name"], held=part["data"]["whispers"])
            self._put(Piece("", thought=False, by=part["data"]["role"]))
        elif part["type"] == "messages":
            chunk, _ = part["data"]
            if self._coming and chunk.type in ("ai", "AIMessageChunk") and self._coming.takes(chunk):
                self._send(self._coming)
        elif part["type"] == "values" and not part["ns"]:
            self._take(part["data"])

    def _take(self, state: Mapping[str, Any]) -> None:
        """Send what is not sent yet of the lines in a state, and why they are as they are."""
        self.output = state
        said: list[AnyMessage] = state.get("messages") or []
        known, self._lines = self._lines, {*(self._lines or ()), *(str(one.id) for one in said)}
        if known is None:  # the first is the state before the turn
            self._begins(said)
            return
        for one in said:
            if one.type == "ai" and str(one.id) not in known:
                told = told_of(one)
                coming = self._coming or Coming(self.staged.names.get(told["by"], "") if told else "", held=True)
                for reason in why(state.get("evidence") or {}, self._told, self.language):
                    self._put(Piece(reason + "\n", thought=True))
                coming.text = one.text if one.text.startswith(coming.text[: coming.sent].rstrip()) else coming.text
                coming.held = False
                self._send(coming)
                self._coming = None

    def _send(self, line: "Coming") -> None:
        """Send what has come of a line since the last time."""
        if line.held or len(line.text) <= line.sent:
            return
        text, begins = line.text[line.sent :], not line.sent
        line.sent = len(line.text)
        if begins:
            name = "" if self.staged.speaker or not line.name else f"{line.name}: "
            text = f"{chr(10) * 2 if self.spoken else ''}{name}{text}"
        self.spoken += text
        self._put(Piece(text, thought=False))

    @property
    def exchange(self) -> Exchange:
        """The turn as the client shows it, with who speaks, where the client shows that beside the line."""
        said = f"{self.staged.speaker}: {self.spoken}" if self.staged.speaker else self.spoken
        return Exchange(self.question, said if self.spoken else "")
