"""The conversations that a server holds: which role and method a model is, and which thread a history belongs to."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, NamedTuple, TypeVar

from langgraph.store.base import Op, PutOp
from pydantic import ValidationError

from dramaturg.conversations.alignment import Exchange, as_heard
from dramaturg.conversations.conversation import SCENES, Conversation
from dramaturg.conversations.opening import Kept, elsewhere, kept_with, scenes_kept, threads_in
from dramaturg.conversations.scene_histories import SceneTalk
from dramaturg.conversations.titles import ListedTalk, talks_in
from dramaturg.conversations.turns import Turn
from dramaturg.models.clients import chat_client, is_embedded
from dramaturg.models.environment import check_environment
from dramaturg.nodes.run import RoleContext, opening_once, run_of
from dramaturg.nodes.scene.presence import members_of
from dramaturg.stores.conversations.items import items_under
from dramaturg.stores.errors import RoleError, did_you_mean
from dramaturg.stores.files import sha256
from dramaturg.stores.formats.characters import shortened, texts_of
from dramaturg.stores.library import find_card, find_role
from dramaturg.stores.library_folder import (
    Library,
    check_id,
    every_card,
    examples,
    listed_examples,
    new_id_of,
    stories,
    written_for,
)
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows import scene
from dramaturg.workflows.methods import flow
from dramaturg.workflows.names import METHODS
from dramaturg.workflows.scene import SceneContext

AUTO = "auto"
LISTED = ("amadeus", "role-rag", "emotional-rag", "drmr", "id-rag", "ensemble")
"""The methods that are listed for each role; the others can be asked for by name."""
THREADS = "dramaturg_threads"
CANDIDATES = 20
LONGEST_USER = 200  # characters
LINE = 160  # characters of a profile that stand under a role's name
LOOKED_UP = 4
"""The exchanges of a history, from its end, by which its thread is looked for."""

Settled = TypeVar("Settled", bound=RoleContext)


class Model(NamedTuple):
    """What the name of a model means."""

    role: str
    method: str


SCENE = Model("", "scene")
"""What plays a scene, whatever its cast."""


class UnknownModel(RoleError):
    """There is no such role or method."""


class Rooms:
    """Conversations with the roles of a library, each workflow compiled and each file opened once.

    Args:
        library: the roles.
        method: that of a model which names none.
        flows: own flows, by the names that they have here.
        settings: for every turn; those that a method does not have are left out.
    """

    def __init__(self, library: Library, method: str, flows: Mapping[str, str], settings: Mapping[str, Any]) -> None:
        self.library = library
        self.method = method
        self.methods = {name: name for name in METHODS} | dict(flows)
        self.listed = (*LISTED, *flows)
        self.settings = settings
        self._stack = AsyncExitStack()
        self._lock = asyncio.Lock()
        self._kept: dict[str, Kept] = {}
        self._talks: dict[Model, Conversation] = {}
        self._said: dict[str, tuple[list[str], str]] = {}
        self._needs: dict[str, set[str]] = {}

    def check_settings(self) -> None:
        """Look whether the settings can be, before anybody comes.

        Raises:
            ValueError: no method has a setting of a name, or it is out of its bounds; or a variable cannot be used.
            ModelError: the model that is named has no endpoint, or no package that asks it.
        """
        check_environment()
        if (named := self.settings.get("chat_model", "auto")) not in ("auto", "embedded"):
            chat_client(named)
        if not self.settings:
            return
        known = {name for one in self.methods.values() for name in flow(one).context.model_fields}
        if strange := next((name for name in self.settings if name not in known), None):
            raise ValueError(f"No method has a setting {strange!r}{did_you_mean(strange, known)}")
        for method in self.methods:
            self.context(Model("anybody", method), {})

    async def close(self) -> None:
        """Close what was opened."""
        await self._stack.aclose()

    def names(self) -> list[str]:
        """The names of the models, without stories, which are nobody to talk to; it may block."""
        cards = every_card(self.library)
        roles = sorted(cards.keys() - stories(cards).keys())
        return [name for role in roles for name in (role, *(f"{role}:{method}" for method in self.listed))] + [
            f"role:{AUTO}"
        ]

    def roles(self) -> list[dict[str, Any]]:
        """The roles by their cards, the library's first; one whose card cannot be read says why. It may block.

        Returns:
            Of each, what its card says, its `line`, the address of its `picture` (None: it has none), and the methods
            that are listed and that it has files for. Those that are the story of others come last, with whose.
        """
        own = self.library.listed()
        others = {role: one for role, one in listed_examples().items() if role not in own}
        every = own | dict(sorted(others.items(), key=lambda other: not other[1].written))  # first who has files
        shared = stories({role: one.card for role, one in every.items()})
        shown = []
        for role, listed in sorted(every.items(), key=lambda one: one[0] in shared):
            about: dict[str, Any] = {"id": role, "example": role not in own, "story_of": shared.get(role, [])}
            about["picture"] = f"/v1/roles/{role}/picture" if listed.picture else None
            kinds = {*written_for(listed, every)}
            about["methods"] = [name for name in self.listed if not self.reads(name) - kinds]
            try:
                read = listed.card()
                said = {"name": read.name, "language": read.language, "profile": read.profile.strip()}
                shown.append(about | said | {"line": shortened(" ".join(read.profile.split()), LINE)})
            except RoleError as error:
                said = {"name": role, "language": "en", "profile": "", "line": ""}
                shown.append(about | said | {"error": str(error)})
        return shown

    def reads(self, method: str) -> set[str]:
        """What a method cannot do without of a role: of "persona", "memories", "dialogues" and "chronicle"."""
        if method not in self._needs:
            context = self.context(Model("anybody", method), {})
            kinds = {one.kind.sources for one in flow(self.methods[method]).preparations(context).values()}
            self._needs[method] = kinds | ({"chronicle"} if method == "id-rag" else set())
        return self._needs[method]

    def methods_for(self, role: str) -> list[dict[str, Any]]:
        """The methods that are listed, each with what it reads and the role has none of; it may block.

        Returns:
            Of each, its name and `lacks`: of "persona", "memories", "dialogues" and "chronicle".
        """
        opened = self.library.open(role)
        there = {"persona": opened.persona, "memories": opened.memory_files, "dialogues": opened.dialogue_files}
        lacking = {name for name, files in there.items() if not files.names()}
        lacking |= set() if opened.chronicle().triples else {"chronicle"}
        return [{"id": name, "lacks": sorted(self.reads(name) & lacking)} for name in self.listed]

    @property
    def embedded(self) -> bool:
        """Whether the small model in this process plays the roles."""
        return is_embedded(self.settings.get("chat_model", "auto"))

    def model(self, name: str, speaker: str = "", *, group: bool = False) -> Model:
        """What a model is: `silver`, `silver:drmr`, `role:silver`, or `role:auto` by who is to speak; it may block.

        Args:
            name: as the client has it; a role by its id, its name or an alias.
            speaker: whom the client wants to speak.
            group: whether that may be another role than the model's, if the library has it.

        Raises:
            UnknownModel: there is no such role or method.
        """
        role, colon, method = name.removeprefix("role:").partition(":")
        if colon and method not in self.methods:
            raise UnknownModel(f"There is no method {method!r}{did_you_mean(method, self.methods)}")
        wanted = speaker if role == AUTO else role
        found = self.role_named(speaker) if group and speaker else None
        found = found or (self.role_named(wanted) if wanted else None)
        if found is None:
            what = f"The role {wanted!r} is not there" if wanted else "No role is named"
            raise UnknownModel(f"{what}: /v1/models lists the roles; with role:auto, send X-Role-Char.")
        return Model(found, method or self.method)

    def role_named(self, name: str) -> str | None:
        """The id of a role by id, name or alias; it may block."""
        if self.library.holds(name) or name in examples():
            return name
        ids = [*self.library.roles(), *examples()]
        spelled = [one for one in ids if normal_name(one) == normal_name(name)]
        found = find_role(name, self.library.root)
        return spelled[0] if spelled else found and found[0]

    def new_id(self, name: str, file: str = "") -> str:
        """An id for a new role of a name; it may block.

        Args:
            name: of the role; where it has no letters that an id may have, the file's name, or a digest, is taken.
            file: the name of the file that it is made from.

        Raises:
            RoleError: there is a role that is called so.
        """
        role = new_id_of(name, file)
        self.require_new(role)
        return role

    def require_new(self, role: str) -> None:
        """Refuse the id of a role that is there, in whatever case, or of an example; it may block."""
        if check_id(role).lower() in {one.lower() for one in (*self.library.roles(), *examples())}:
            raise RoleError(f"There is a role {role!r} already: take another name, or go on with that one.")

    def context(self, model: Model, given: Mapping[str, Any], like: RoleContext | None = None) -> RoleContext:
        """How a request is to be done: the server's settings, then those that came with it, as far as they fit.

        Args:
            model: who answers, and how.
            given: the settings that came with it.
            like: another context of the request, whose role need not be opened again.

        Raises:
            ValueError: a setting is out of its bounds.
        """
        return opening_once(self.settled(flow(self.methods[model.method]).context, model.role, given), like)

    def settled(self, kind: type[Settled], role: str, given: Mapping[str, Any]) -> Settled:
        """A context of a kind: the server's settings, then others, as far as they fit; see `context`."""
        wanted = {**self.settings, **given}
        fitting = {name: value for name, value in wanted.items() if name in kind.model_fields}
        try:
            return kind.model_validate({"role": role, "library": self.library, **fitting})
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None

    async def conversation(self, model: Model, context: RoleContext, thread: str) -> Conversation:
        """A conversation with a role, or a scene, on a thread that may be new."""
        kept = await self.kept(context)
        async with self._lock:
            if model not in self._talks:
                plays = isinstance(context, SceneContext)
                graph = scene.build() if plays else flow(self.methods[model.method]).builder
                away = elsewhere(self.library)
                self._talks[model] = (SceneTalk if plays else Conversation)(
                    graph, kept.saver, context, thread, store=kept.store, locks=kept.locks, elsewhere=away
                )
        talk = self._talks[model].on(kept.prefix + thread, context)
        talk.names = await self.names_of(context)
        return talk

    async def names_of(self, context: RoleContext) -> tuple[str, ...]:
        """What a role is called, or those of a scene."""
        if isinstance(context, SceneContext):
            return tuple(name for one in await members_of(await run_of(context)) for name in one.names)
        run = await run_of(context)
        return (run.role.card.name, *run.role.card.aliases, run.role.id)

    async def kept(self, context: RoleContext) -> Kept:
        """Where the conversations with a role are kept, or the scenes."""
        if not isinstance(context, SceneContext):
            return await self._kept_with((await run_of(context)).role)
        async with self._lock:
            if SCENES not in self._kept:
                self._kept[SCENES] = await self._stack.enter_async_context(scenes_kept(self.library))
        return self._kept[SCENES]

    async def _kept_with(self, role: Role) -> Kept:
        shared = isinstance(self.library, SharedLibrary)  # then one saver and one store serve all roles
        where = "" if shared else role.id
        async with self._lock:
            if where not in self._kept:
                self._kept[where] = await self._stack.enter_async_context(kept_with(role))
        return self._kept[where]._replace(prefix=f"{role.id}/") if shared else self._kept[where]

    async def threads_with(self, role: str, caller: str) -> list[str]:
        """The names of a caller's threads with a role, the one that was written last first."""
        opened = await asyncio.to_thread(self.library.open, role)
        of_caller = thread_name(caller, "") if caller else ""
        names = await threads_in(await self._kept_with(opened))
        return [name.removeprefix(of_caller) for name in names if name.startswith(of_caller)]

    async def talks_with(self, role: str, caller: str, search: str = "") -> AsyncIterator[ListedTalk]:
        """A caller's threads with a role, as they are listed, by the names that they have for the caller."""
        opened = await asyncio.to_thread(self.library.open, role)
        of_caller = thread_name(caller, "") if caller else ""
        async for one in talks_in(await self._kept_with(opened), role, of_caller, search):
            yield one._replace(thread=one.thread.removeprefix(of_caller))

    def role_knows(self, context: RoleContext, role: Role, user: str) -> bool:
        """Whether a method knows a user by name, as a role or from the dialogues; it may block."""
        card = role.card
        if "user_role" not in type(context).model_fields or len(user) > 80:
            return False
        if normal_name(user) in map(normal_name, (role.id, card.name, *card.aliases)):
            return False
        speakers = {normal_name(line.speaker) for line in role.dialogues()}
        return normal_name(user) in speakers or find_card(user, self.library.root) is not None

    async def thread_of(
        self, model: Model, context: RoleContext, caller: str, history: Sequence[Exchange]
    ) -> str | None:
        """The name of the caller's thread that holds most of a history; None: none of them holds any.

        Of a turn that has not ended, no more is known than its words: its thread counts where no other holds more.
        """
        names = await self._held_by(context, caller, history)
        most, best = 0, names[0] if names else None
        for name in names:
            place = await (await self.conversation(model, context, name)).place_of(history)
            if place.agreed > most:
                most, best = place.agreed, name
        return best

    async def _held_by(self, context: RoleContext, caller: str, history: Sequence[Exchange]) -> list[str]:
        """The names of a caller's threads that hold the end of a history, those that hold most of it first."""
        kept, called = await self.kept(context), await self.names_of(context)
        counts: dict[str, tuple[int, float]] = {}
        for one in history[-LOOKED_UP:]:
            for item in await kept.store.asearch(self._place(kept, caller, one, called), limit=200):
                name, at = item.value.get("thread"), item.value.get("at")
                if isinstance(name, str) and isinstance(at, int | float):
                    known, latest = counts.get(name, (0, 0.0))
                    counts[name] = (known + 1, max(latest, at))
        return sorted(counts, key=lambda name: counts[name], reverse=True)[:CANDIDATES]

    async def remember(self, context: RoleContext, caller: str, thread: str, said: Sequence[Exchange]) -> None:
        """Keep by which exchanges a thread is found again, when a client does not name it."""
        kept, called = await self.kept(context), await self.names_of(context)
        value = {"thread": thread, "at": time.time()}
        writes: list[Op] = [
            PutOp(self._place(kept, caller, one, called), sha256(thread.encode())[:32], value, index=False)
            for one in said
        ]
        if writes:
            await kept.store.abatch(writes)

    async def find_no_more(self, context: RoleContext, caller: str, thread: str) -> None:
        """Forget by which exchanges a thread is found that is gone."""
        kept, key = await self.kept(context), sha256(thread.encode())[:32]
        places = [
            item.namespace async for item in items_under(kept.store, self._shelf(kept, caller)) if item.key == key
        ]
        writes: list[Op] = [PutOp(place, key, None) for place in places]
        if writes:
            await kept.store.abatch(writes)

    def _shelf(self, kept: Kept, caller: str) -> tuple[str, ...]:
        return (THREADS, sha256((kept.prefix + caller).encode())[:32])

    def _place(self, kept: Kept, caller: str, exchange: Exchange, called: Sequence[str]) -> tuple[str, ...]:
        said = f"{as_heard(exchange.heard)}\0{as_heard(exchange.said, called)}"
        digest = sha256(said.encode(errors="surrogatepass"))[:32]
        return (*self._shelf(kept, caller), digest)

    async def known_of(self, role: Role, user: str) -> str:
        """What people wrote of a role in its card and its persona, as `as_heard`, with the name of a user in it."""

        def read() -> str:
            texts = [role.card.profile, *(document.text for document in role.documents()), *texts_of(role.card, user)]
            if self._said.get(role.id, ([], ""))[0] != texts:
                self._said[role.id] = (texts, "\n".join(map(as_heard, texts)))
            return self._said[role.id][1]

        return await asyncio.to_thread(read)


def thread_name(caller: str, thread: str) -> str:
    """The name of a caller's thread among all: nobody can name another's."""
    return f"{caller}/{thread}" if caller else thread


def known_as(caller: str, asker: str) -> str:
    """Under which name somebody is known in all talks with a role; two people behind one key are two.

    It holds a slash, so that nobody who only gives a name is who has a key of this name.

    Args:
        caller: whose key it is, in which there is no slash; "": the server asks for none.
        asker: who speaks, as the client says it; "": it does not.
    """
    name = f"{caller}/{asker}" if caller or asker else ""
    # Of two long names, the beginning may be the same.
    return name if len(name) <= LONGEST_USER else f"{sha256(name.encode(errors='surrogatepass'))}/"


def turn_at(turns: Sequence[Turn], wanted: str) -> Turn | None:
    """A turn by its number from 1 on, or its id."""
    if wanted.isascii() and wanted.isdecimal() and len(wanted) < 7:
        return turns[int(wanted) - 1] if 1 <= int(wanted) <= len(turns) else None
    return next((turn for turn in turns if turn.id == wanted), None)
