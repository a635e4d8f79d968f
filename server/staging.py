"""Scenes that are put together without a terminal: made, changed and deleted as files of the library."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.conversations.conversation import SCENES
from dramaturg.conversations.scene_files import (
    LONGEST_TITLE,
    SceneFile,
    change_scene,
    delete_scene,
    make_scene,
    scenes_of,
    written_scene,
)
from dramaturg.nodes.scene.presence import MOST_ROLES, Player
from dramaturg.server.rooms import AUTO
from dramaturg.server.scenes import Scenes, card_in
from dramaturg.server.work import Works
from dramaturg.stores.errors import did_you_mean
from dramaturg.stores.library_folder import Listed, listed_examples, written_for
from dramaturg.stores.names import normal_name
from dramaturg.workflows.names import METHODS
from dramaturg.workflows.scene import flow_of

MUCH = 1_000  # of a list that is refused with a sentence, and not as what cannot be read


class Part(BaseModel):
    """Who plays in a scene, as a form has it."""

    model_config = ConfigDict(extra="forbid")

    role: str = Field(max_length=64)
    hidden: bool = False
    absent: bool = False
    method: str | None = Field(None, max_length=200)
    """None: the one that it has, or the usual one."""


class SceneChange(BaseModel):
    """The body of a request to change a scene: what is left out stays, and what is empty is taken out."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(None, max_length=LONGEST_TITLE)
    place: str | None = Field(None, max_length=2_000)
    opening: str | None = Field(None, max_length=5_000)
    user: str | None = Field(None, max_length=80)
    """Whom the user plays."""
    cast: list[Part] | None = Field(None, max_length=MUCH)


class NewScene(SceneChange):
    """The body of a request to make a scene."""

    like: str = Field("", max_length=200)
    """Another scene, of which it has all that is not said here, such as an example."""


class Staging:
    """What the routes do about the files of scenes.

    Args:
        scenes: those that are played.
        works: whether callers may change anything.
    """

    def __init__(self, scenes: Scenes, works: Works) -> None:
        self.scenes, self.rooms = scenes, scenes.rooms
        self.works = works

    async def seen(self, request: Request) -> Response:
        """A scene as its file has it."""
        return await self._told(self._name(request))

    async def new(self, request: Request) -> Response:
        """Make a scene."""
        self.works.require_changes()
        body = NewScene.model_validate_json(await request.body())
        like, used = body.like.removeprefix(SCENES), await self.scenes.begun()

        def made() -> str:
            title = titled(body.name or "")
            values = self._values(body, written_scene(self.rooms.library, like) if like else None)
            if not (values.get("cast") or like):
                raise ValueError(NOBODY)
            return make_scene(self.rooms.library, title, values, like=like, used=(*used, AUTO))

        return await self._told(await asyncio.to_thread(made), 201)

    async def change(self, request: Request) -> Response:
        """Change a scene of the library; what its file has besides stays."""
        self.works.require_changes()
        body, name = SceneChange.model_validate_json(await request.body()), self._name(request)

        def changed() -> None:
            self.scenes.require(f"{SCENES}{name}")
            values = self._values(body, written_scene(self.rooms.library, name))
            if body.name is not None:
                values["title"] = titled(body.name)
            change_scene(self.rooms.library, name, values)

        await asyncio.to_thread(changed)
        return await self._told(name)

    async def delete(self, request: Request) -> Response:
        """Delete the file of a scene; what was played of it can still be read."""
        self.works.require_changes()
        name = self._name(request)
        if name not in await asyncio.to_thread(scenes_of, self.rooms.library):
            await asyncio.to_thread(self.scenes.require, f"{SCENES}{name}")  # says that it is not there
        await asyncio.to_thread(delete_scene, self.rooms.library, name)
        return JSONResponse({"object": "scene.deleted", "id": f"{SCENES}{name}", "deleted": True})

    def _name(self, request: Request) -> str:
        name: str = request.path_params["name"]
        return name.removeprefix(SCENES)

    async def _told(self, name: str, status: int = 200) -> Response:
        def shown() -> dict[str, Any]:
            if name not in scenes_of(self.rooms.library):
                self.scenes.require(f"{SCENES}{name}")
            return self.scenes.one(name)

        return JSONResponse({"object": "scene", **await asyncio.to_thread(shown)}, status)

    def _values(self, body: SceneChange, before: SceneFile | None) -> dict[str, Any]:
        """What the file is to say, by the names of its settings; of the cast, what the form does not have stays."""
        given = {"place": body.place, "opening": body.opening, "user_role": body.user}
        values: dict[str, Any] = {
            name: "\n".join(text.splitlines()).strip()  # YAML has other ends of lines, too
            for name, text in given.items()
            if text is not None
        }
        listed = listed_examples() | self.rooms.library.listed()
        if body.cast is not None:
            values["cast"] = self._cast(body.cast, before, listed)
        user = values.get("user_role", before.user_role if before else "")
        playing = [one.role for one in (body.cast or (before.cast if before and body.user else ()))]
        if any(normal_name(user) in map(normal_name, names_of(role, listed)) for role in playing):
            raise ValueError(f"You play {user!r}, who is in the cast: take that one out, or play somebody else.")
        return values

    def _cast(
        self, cast: Sequence[Part], before: SceneFile | None, listed: Mapping[str, Listed]
    ) -> list[dict[str, Any]]:
        """Who plays in a scene, as the file has it."""
        if not cast:
            raise ValueError(NOBODY)
        if len(cast) > MOST_ROLES:
            raise ValueError(f"A scene has at most {MOST_ROLES} roles, and this one has {len(cast)}: take some out.")
        known = {one.role: one.model_dump(mode="json", exclude_unset=True) for one in before.cast} if before else {}
        return [self._part(one, known.get(one.role, {}), listed) for one in cast]

    def _part(self, part: Part, before: Mapping[str, Any], listed: Mapping[str, Listed]) -> dict[str, Any]:
        """Who plays, as the file has it."""
        name, found = card_in(listed, part.role).name, {"role": part.role, **before}
        for tick, wanted in (("hidden", part.hidden), ("absent", part.absent)):
            if wanted != found.get(tick, False):
                found[tick] = wanted
        method = part.method or Player.model_fields["method"].default
        if part.method is None or method == self.scenes.method_of(Player.model_validate(found)):
            return found
        if method not in self.rooms.methods:
            raise ValueError(f"There is no method {method!r}{did_you_mean(method, self.rooms.methods)}")
        if lacks := sorted(self.rooms.reads(method) - {*written_for(listed[part.role], listed)}):
            raise ValueError(f"{name} has no {' and no '.join(lacks)}, which {method} reads: choose another method.")
        how = {"method": method} if method in METHODS else {"flow": self.rooms.methods[method]}
        rest = {key: value for key, value in found.items() if key not in ("method", "flow")}
        fields = flow_of(Player.model_validate({**rest, **how})).context.model_fields
        if strange := next((one for one in rest.get("settings", {}) if one not in fields), None):
            raise ValueError(f"The file sets {strange!r} for {name}, which {method} does not have: keep its method.")
        return {"role": part.role, **how, **rest}


NOBODY = "A scene needs somebody who plays: choose one character or more."


def titled(name: str) -> str:
    """The name that is given to a scene.

    Raises:
        ValueError: it is empty, or has signs that nobody sees.
    """
    title = " ".join(name.split())
    if not title or not title.isprintable():
        raise ValueError("A scene needs a name, of letters that can be seen.")
    return title


def names_of(role: str, listed: Mapping[str, Listed]) -> tuple[str, ...]:
    """What a role is called; it may block."""
    card = card_in(listed, role)
    return (role, card.name, *card.aliases)
