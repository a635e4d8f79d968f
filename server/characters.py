"""Roles as characters: their pictures, new ones, and files of other programs that become roles, or are made of them."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.exchange import Taken, made_of, take_book, take_bundle, take_role
from dramaturg.server.faces import kind_of, picture_of
from dramaturg.server.rooms import Model, Rooms, thread_name
from dramaturg.server.work import SentFile, Works
from dramaturg.stores.documents.forms import CARD, LONGEST_NAME, LONGEST_TEXT, Language, RoleCard, card_text
from dramaturg.stores.files import sha256
from dramaturg.stores.formats.bundles import Bundle, bundled
from dramaturg.stores.formats.characters import PERSONA, Made, card_file
from dramaturg.stores.formats.lorebooks import Book
from dramaturg.stores.formats.told import Told, read_sent
from dramaturg.stores.library_folder import examples
from dramaturg.stores.role import Role

LONGEST_PERSONA = 1_000_000  # characters
SAFE = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
FORMS = {
    "card": ("png", "image/png"),
    "json": ("json", "application/json"),
    "charx": ("charx", "application/zip"),
    "bundle": ("role.zip", "application/zip"),
}
"""What a role is exported as: the end of the file's name, and what is in it."""


class NewRole(BaseModel):
    """The body of a request to make a role."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    language: Language = "en"
    profile: str = Field("", max_length=LONGEST_TEXT)
    greeting: str = Field("", max_length=LONGEST_TEXT)
    persona: str = Field("", max_length=LONGEST_PERSONA)
    """A document of its persona, in Markdown."""


class Import(BaseModel):
    """The body of a request to take a file in."""

    model_config = ConfigDict(extra="forbid")

    file: SentFile
    role: str = Field("", max_length=200)
    """Whose a lorebook is; of anything else, the id of the new role."""
    only: str = Field("", max_length=LONGEST_NAME)
    """Whom to take of a file with several characters."""


class Characters:
    """What the routes do about roles as characters.

    Args:
        rooms: the roles, and the conversations with them.
        works: what changes roles.
    """

    def __init__(self, rooms: Rooms, works: Works) -> None:
        self.rooms = rooms
        self.works = works
        self._drawing = asyncio.Semaphore(2)  # a picture that is made smaller takes 200 MB meanwhile

    async def picture(self, request: Request) -> Response:
        """The picture of a role, or, with `?small=1`, the face in it."""
        model = await asyncio.to_thread(self.rooms.model, request.path_params["role"])
        small = request.query_params.get("small") == "1"
        async with self._drawing:
            data = await asyncio.to_thread(self._picture, model.role, small)
        kind = kind_of(data) if data else ""
        if not (data and kind):
            raise HTTPException(404, "This role has no picture: put one into its folder, as picture.png.")
        headers = SAFE | {"Cache-Control": "private, max-age=300", "ETag": f'"{sha256(data)[:32]}"'}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    async def new(self, request: Request) -> Response:
        """Make a role by what a person writes of it."""
        self.works.require_changes()
        body = NewRole.model_validate_json(await request.body())
        role = await asyncio.to_thread(self._made, body)
        return JSONResponse({"object": "role", "role": role}, 201)

    async def take_in(self, request: Request) -> Response:
        """Take a card, a bundle or a lorebook in, or, with `?preview=1`, tell what would become of it."""
        self.works.require_changes()
        body = Import.model_validate_json(await request.body())
        (told,) = await self.works.read([body.file], read_sent)
        preview = request.query_params.get("preview") == "1"
        match one := one_of(await asyncio.to_thread(made_of, told, body.file.name), body.only):
            case Made():
                role = await asyncio.to_thread(self._id_for, one.card.name, body)
                taken = await asyncio.to_thread(take_role, self.rooms.library, one, role, dry_run=preview)
            case Bundle():
                role = await asyncio.to_thread(self._id_for, one.role, body)

                async def opened(thread: str) -> Conversation:
                    model = Model(role, self.rooms.method)
                    name = thread_name(request.scope["caller"], thread)
                    return await self.rooms.conversation(model, self.rooms.context(model, {}), name)

                taken = await take_bundle(self.rooms.library, one, role, opened, dry_run=preview)
            case Book():
                if not body.role:
                    raise ValueError("This is a lorebook: say whose it is with `role`.")
                owner = await self._role(body.role)
                if not preview:
                    self.works.require_free(owner.id)
                taken = await asyncio.to_thread(take_book, one, owner, dry_run=preview)
            case _:
                raise ValueError("This is a conversation, not a character: use `dramaturg import`.")
        return JSONResponse({"object": "import", "preview": preview, **shown(taken)})

    async def export(self, request: Request) -> Response:
        """A role as a file: a card in a picture (`form=card`), as JSON or CHARX, or all that was written (`bundle`)."""
        self.works.require_changes()  # who may not change a role is told what it says, and not what its files do
        form = request.query_params.get("form", "card")
        if form not in FORMS:
            raise ValueError(f"A role is exported as {', '.join(FORMS)}, and not as {form[:80]!r}.")
        role = await self._role(request.path_params["role"])
        end, kind = FORMS[form]
        data = await asyncio.to_thread(self._file, role, end)
        return sent(data, kind, f"{role.id}.{end}")

    def _file(self, role: Role, end: str) -> bytes:
        match end:
            case "png" | "json" | "charx":
                return card_file(role, end)
        return bundled(self.rooms.library, role, index=False, talks={})

    def _made(self, body: NewRole) -> str:
        name = " ".join(body.name.split())
        if not name or not name.isprintable():
            raise ValueError("The name of a role must be printable.")
        greetings = (body.greeting.strip(),) if body.greeting.strip() else ()
        card = RoleCard(name=name, language=body.language, profile=body.profile.strip(), greetings=greetings)
        files = {CARD: card_text(card).encode()}
        if body.persona.strip():
            files[PERSONA] = f"{body.persona.strip()}\n".encode()
        role = self.rooms.new_id(name)
        self.rooms.library.replace({role: files}, new=True)
        return role

    def _id_for(self, name: str, body: Import) -> str:
        """The id of a new role that is made from a file."""
        if body.role:
            self.rooms.require_new(body.role)
            return body.role
        return self.rooms.new_id(name, PurePath(body.file.name).stem)

    async def _role(self, name: str) -> Role:
        model = await asyncio.to_thread(self.rooms.model, name)
        return await asyncio.to_thread(self.rooms.library.open, model.role)

    def _picture(self, role: str, small: bool) -> bytes | None:
        """The bytes of a picture, whatever they are; an example that nobody has opened has none. It blocks."""
        if role in examples() and not self.rooms.library.holds(role):
            return None
        return picture_of(self.rooms.library.open(role).root, small=small)


def one_of(found: Sequence[Made | Told], only: str) -> Made | Told:
    """What is taken of all that is in a file: the character of a name, or the only one.

    Raises:
        ValueError: there are several, or nobody of the name.
    """
    people = {one.card.name: one for one in found if isinstance(one, Made)}
    if only and only not in people:
        raise ValueError(f"There is nobody called {only!r} in it: {', '.join(people)[:400] or 'it has no characters'}.")
    if not only and len(found) > 1:
        raise ValueError(f"There are several characters in it: choose one of {', '.join(people)[:400]} with `only`.")
    return people[only] if only else found[0]


def shown(taken: Taken) -> dict[str, Any]:
    """What became of a file."""
    lines = [one._asdict() for one in taken.became]
    return {"kind": taken.kind, "role": taken.role, "name": taken.name, "lines": lines, "macros": [*taken.macros]}


def sent(data: bytes, kind: str, name: str) -> Response:
    """A file to keep, by its name."""
    plain = name.encode("ascii", "replace").decode().translate({ord(one): "_" for one in '?"\\'})
    disposition = f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    headers = SAFE | {"Cache-Control": "no-store", "Content-Disposition": disposition}
    return Response(data, media_type=kind, headers=headers)
