"""A role cast from texts over HTTP: who is in them, what it costs, the drafts, and what a person decides on these.

Everything here is for who may change roles: the drafts hold what texts say that others may not read.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.models.clients import address_of, is_embedded, name_of
from dramaturg.nodes.casting.characters import everybody
from dramaturg.nodes.casting.cost import CastCost
from dramaturg.server.rooms import Rooms
from dramaturg.server.work import MOST_FILES, SentFile, Works
from dramaturg.stores.documents.forms import LONGEST_NAME, LONGEST_TEXT, Language
from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import canonical, sha256
from dramaturg.stores.role import Role
from dramaturg.stores.texts.draft import FORMS, KINDS, CardField, CastDraft, Item, Kind
from dramaturg.stores.texts.form import SourceText
from dramaturg.stores.texts.reading import read_sent
from dramaturg.stores.texts.shown import source_of, whole_text
from dramaturg.workflows.cast import CastContext
from dramaturg.workflows.casting import (
    DEADLINE,
    WRITER,
    casted,
    language_in,
    put_beside,
    role_of,
    spelled,
    texts_with,
    weighed,
)
from dramaturg.workflows.methods import Show

SHOWN, MOST_SHOWN = 20, 1_000  # drafts of a kind
PEOPLE = 40
LONGEST_SHOWN = 1_200  # characters of a draft in a list
MOST_NUMBERS = 10_000
MOST_FAILED = 20
EDITED: dict[Kind, tuple[str, ...]] = {
    "card": ("text",),
    "persona": ("heading", "text"),
    "dialogues": ("scene", "lines"),
    "memories": ("when", "text", "question", "answer"),
    "chronicle": ("subject", "relation", "object"),
    "names": ("name",),
}
"""By kind, the fields of a draft that a person may edit; the others say where it is from."""


class Texts(BaseModel):
    """The body of a request about texts."""

    model_config = ConfigDict(extra="forbid")

    files: list[SentFile] = Field(min_length=1, max_length=MOST_FILES)


class Wish(Texts):
    """The body of a request to cast somebody, or to say what that would cost."""

    character: str = Field("", max_length=LONGEST_NAME)
    """The name that the texts have; empty: whoever writes."""
    first_person: bool = False
    until: str = Field("", max_length=LONGEST_NAME)
    drafts: list[Kind] = Field(list(KINDS), min_length=1, max_length=len(KINDS))
    asks: bool = True
    """Whether a model is asked."""
    role: str = Field("", max_length=200)
    """A role that is there; empty: one of its own."""


class Decision(BaseModel):
    """The body of a decision about drafts of a kind."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind
    version: str = Field(max_length=64)
    """Of the drafts that were read: their numbers are others since, where it is another."""
    decision: Literal["accept", "refuse"]
    numbers: list[int] | None = Field(None, min_length=1, max_length=MOST_NUMBERS)
    """None: all of them."""


class Line(BaseModel):
    """A line of a scene, as a person wants it; without a text it is left out."""

    model_config = ConfigDict(extra="forbid")

    speaker: str = Field(max_length=LONGEST_NAME)
    text: str = Field(max_length=LONGEST_TEXT)


class Edit(BaseModel):
    """The body of a draft as a person wants it; see `EDITED`."""

    model_config = ConfigDict(extra="forbid")

    version: str = Field(max_length=64)
    fields: dict[str, str | list[Line]] = Field(max_length=8)


class Planned(NamedTuple):
    """What a wish comes to."""

    role: str
    there: Role | None
    """None: it is yet to be made."""
    texts: list[SourceText]
    """As they were sent."""
    read: list[SourceText]
    """And those of before."""
    context: CastContext
    language: Language
    cost: CastCost


class Casting:
    """What the routes do about casting.

    Args:
        rooms: the roles, and the settings that hold for them.
        works: what changes roles, one thing at a time.
    """

    def __init__(self, rooms: Rooms, works: Works) -> None:
        self.rooms = rooms
        self.works = works

    async def open(self, _: Request) -> Response:
        """Whether a role may be cast here, from how much, and for which roles drafts wait or are made."""
        changes = self.works.access.changes_roles
        return JSONResponse(
            {
                "object": "casting",
                "changes": changes,
                "most_bytes": self.works.access.most_file_bytes,
                "most_files": MOST_FILES,
                "kinds": list(KINDS),
                "waiting": await asyncio.to_thread(self._waiting) if changes else [],
            }
        )

    async def people(self, request: Request) -> Response:
        """Who is in texts, how much each says, and of what form the texts are; nothing is kept of them."""
        self.works.require_changes()
        body = Texts.model_validate_json(await request.body())
        texts = await self.works.read(body.files, read_text)
        language = language_in(texts)
        async with self.works.reading:
            people = await asyncio.to_thread(everybody, texts, language)
        shown = [{**one._asdict(), "aliases": one.aliases[:8]} for one in people[:PEOPLE]]
        forms = [
            {"name": one.name, "form": one.form, "characters": len(one.text), "missing": one.missing} for one in texts
        ]
        about = {"language": language, "writer": WRITER[language], "texts": forms}
        return JSONResponse({"object": "people", **about, "people": shown, "more": len(people) - len(shown)})

    async def preview(self, request: Request) -> Response:
        """What casting would ask, of how much of the texts, and of which model where; no model is asked."""
        self.works.require_changes()
        plan = await self._planned(Wish.model_validate_json(await request.body()))
        model = plan.context.chat_model
        return JSONResponse(
            {
                "object": "preview",
                "role": plan.role,
                "new": plan.there is None,
                "character": plan.context.character,
                "texts": [one.name for one in plan.read],
                "questions": plan.cost.questions,
                "characters": plan.cost.characters,
                "model": name_of(model),
                "address": address_of(model),
                "embedded": is_embedded(model),
            }
        )

    async def cast(self, request: Request) -> Response:
        """Cast somebody: a role is made where there is none yet, and drafts of its files come to wait."""
        self.works.require_changes()
        plan = await self._planned(Wish.model_validate_json(await request.body()))

        async def doing(show: Show) -> dict[str, Any]:
            await asyncio.to_thread(put_beside, plan.texts, plan.context, self.rooms.library, plan.language)
            far = dict[str, tuple[int, int]]()

            def asked(what: str, done: int, total: int) -> None:
                far[what] = (done, total)
                step = "speakers" if what == "speakers" else "drafts"
                of = [pair for name, pair in far.items() if (name == "speakers") == (step == "speakers")]
                show(step, sum(pair[0] for pair in of), sum(pair[1] for pair in of))

            report = await casted(plan.context, asked)
            return {"role": plan.role, "cast": {**report, "failed": report["failed"][:MOST_FAILED]}}

        return self.works.begun(plan.role, "cast", doing)

    async def drafts(self, request: Request) -> Response:
        """What waits of a role, by kind, with numbers, texts and sources: the first of each, `shown` of them."""
        self.works.require_changes()
        return await self._shown(await self._role(request), shown_in(request))

    async def draft(self, request: Request) -> Response:
        """A whole draft, and the fields of it that may be edited."""
        self.works.require_changes()
        role, kind = await self._role(request), kind_in(request)
        items = await asyncio.to_thread(CastDraft(role.root).items, kind)
        number = request.path_params["number"]
        item = numbered(items, [number], kind)[0]
        fields = item.model_dump(mode="json", include={*EDITED[kind]})
        for line in fields.get("lines", ()):
            for name in {*line} - {*Line.model_fields}:
                del line[name]
        about = {"role": role.id, "kind": kind, "number": number, "version": version_of(items)}
        return JSONResponse(
            {"object": "draft", **about, "text": whole_text(item), "source": source_of(item), "fields": fields}
        )

    async def decide(self, request: Request) -> Response:
        """Accept drafts of a kind, which then stand in the role's files, or refuse them; the answer is what is left."""
        self.works.require_changes()
        body = Decision.model_validate_json(await request.body())
        role = await self._role(request)
        self.works.require_free(role.id)
        draft = CastDraft(role.root)

        def decided() -> int:
            items = self._of_version(draft, body.kind, body.version)
            chosen = items if body.numbers is None else numbered(items, body.numbers, body.kind)
            if body.decision == "accept":
                draft.accept({body.kind: chosen})
            else:
                draft.refuse(body.kind, chosen)
            return len(chosen)

        count = await asyncio.to_thread(decided)
        return await self._shown(role, shown_in(request), decided=count)

    async def edit(self, request: Request) -> Response:
        """Have a draft wait as a person wants it; the answer is what waits then."""
        self.works.require_changes()
        body = Edit.model_validate_json(await request.body())
        role, kind = await self._role(request), kind_in(request)
        self.works.require_free(role.id)
        draft, number = CastDraft(role.root), request.path_params["number"]

        def edited() -> None:
            items = self._of_version(draft, kind, body.version)
            item = numbered(items, [number], kind)[0]
            draft.replace(kind, item, with_edits(kind, item, body.fields))

        await asyncio.to_thread(edited)
        return await self._shown(role, shown_in(request))

    def _waiting(self) -> list[dict[str, Any]]:
        """The roles of which drafts wait, or are being made; it blocks."""
        found = []
        for role, card in self.rooms.library.cards().items():
            draft, work = CastDraft(self.rooms.library.root / role), self.works.under_way.get(role)
            if not (draft.folder.is_dir() or (work and work.what == "cast")):
                continue
            about: dict[str, Any] = {"role": role, "work": work is not None}
            try:
                found.append({**about, "name": card().name, "drafts": sum(draft.counts().values())})
            except RoleError as error:
                found.append({**about, "name": role, "drafts": 0, "error": str(error)})
        return found

    async def _planned(self, wish: Wish) -> Planned:
        texts = await self.works.read(wish.files, read_text)
        async with self.works.reading:
            return await asyncio.to_thread(self._weighed, wish, texts)

    def _weighed(self, wish: Wish, texts: Sequence[SourceText]) -> Planned:
        """What a wish comes to; it blocks.

        Raises:
            ValueError: nobody is named, or has the name in the texts; or the role would be another's.
        """
        name = wish.character.strip()
        if not (name or wish.first_person):
            raise ValueError("Say whom to cast: `character` is a name, or `first_person` whoever writes.")
        if not name.isprintable():
            raise ValueError(f"{name[:80]!r} can't be the name of a character: take letters, digits and spaces.")
        library, language = self.rooms.library, language_in(texts)
        name = spelled(name, texts, language) if name else WRITER[language]
        role = self._named(wish.role) if wish.role else role_of(name, library, texts)
        there = library.open(role) if wish.role or library.holds(role) else None
        spoken = there.card.language if there else language
        given = {
            "deadline": self.rooms.settings.get("deadline", DEADLINE),
            "character": name,
            "first_person": wish.first_person,
            "until": wish.until.strip(),
            "drafts": wish.drafts,
            "asks": wish.asks,
            "review": False,
        }
        context = self.rooms.settled(CastContext, role, given)
        read = texts_with(texts, there)
        return Planned(role, there, [*texts], read, context, spoken, weighed(read, there, context, spoken))

    def _named(self, name: str) -> str:
        found = self.rooms.role_named(name)
        if found is None:
            raise RoleError(f"There is no role {name[:80]!r}: /v1/roles lists them.")
        return found

    async def _role(self, request: Request) -> Role:
        model = await asyncio.to_thread(self.rooms.model, request.path_params["role"])
        return await asyncio.to_thread(self.rooms.library.open, model.role)

    def _of_version(self, draft: CastDraft, kind: Kind, version: str) -> list[Any]:
        items = draft.items(kind)
        if version_of(items) != version:
            raise HTTPException(409, "The drafts have changed: read them again.")
        return items

    async def _shown(self, role: Role, most: int, **more: Any) -> Response:
        items = await asyncio.to_thread(lambda: {kind: CastDraft(role.root).items(kind) for kind in KINDS})
        kinds = [
            {"kind": kind, "total": len(found), "version": version_of(found), "drafts": listed(found[:most])}
            for kind, found in items.items()
            if found
        ]
        about = {"role": role.id, "name": role.card.name, "work": self.works.told(role.id)}
        return JSONResponse({"object": "drafts", **about, **more, "kinds": kinds})


def read_text(name: str, data: bytes) -> SourceText:
    """Read a file that was sent.

    Raises:
        RoleError: its name is that of no file, or it cannot be read.
    """
    if Path(name).name != name or "\\" in name or not name.isprintable() or not name.strip(" ."):
        raise RoleError(f"{name[:80]!r} can't be the name of a text: send a file's name without its folders.")
    return read_sent(name, data)


def version_of(items: Sequence[Item]) -> str:
    """By which the numbers of drafts hold."""
    return sha256(canonical([one.model_dump(mode="json", exclude_none=True) for one in items]))


def listed(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Drafts as they are listed, those of a card with their field; of what is long, the beginning."""
    shown = []
    for number, one in enumerate(items, start=1):
        text, field = (one.text, one.field) if isinstance(one, CardField) else (whole_text(one), None)
        cut = len(text) > LONGEST_SHOWN
        text = f"{text[: LONGEST_SHOWN - 1]}…" if cut else text
        shown.append({"number": number, "field": field, "text": text, "cut": cut, "source": source_of(one)})
    return shown


def numbered(items: Sequence[Any], numbers: Sequence[int], kind: Kind) -> list[Any]:
    """The drafts of some numbers.

    Raises:
        ValueError: there is none of a number.
    """
    if strange := [one for one in numbers if not 1 <= one <= len(items)]:
        waits = f"numbers go from 1 to {len(items)}" if items else "none waits"
        raise ValueError(f"There is no draft {strange[0]} of {kind}: {waits}.")
    return [items[number - 1] for number in sorted({*numbers})]


def with_edits(kind: Kind, item: Item, fields: dict[str, str | list[Line]]) -> Item:
    """A draft as a person wants it.

    Raises:
        ValueError: a field may not be written, or what is in it is not as it must be.
    """
    if strange := next((one for one in fields if one not in EDITED[kind]), None):
        raise ValueError(f"{strange[:80]!r} of {kind} can't be edited: {', '.join(EDITED[kind])} can.")
    whole = item.model_dump(mode="json", exclude_none=True)
    for name, value in fields.items():
        if name == "lines":
            whole[name] = edited_lines(whole[name], value)
        elif not isinstance(value, str):
            raise ValueError(f"{name} of {kind} is a text.")
        elif value.strip():
            whole[name] = value.strip()
        else:
            whole.pop(name, None)
    try:
        return FORMS[kind].model_validate(whole)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"The draft is not valid: {place + ': ' if place else ''}{first['msg']}.") from None


def edited_lines(lines: Sequence[dict[str, Any]], by: str | list[Line]) -> list[dict[str, Any]]:
    """The lines of a scene with other speakers and texts; what is left without a text goes."""
    if isinstance(by, str) or len(by) != len(lines):
        raise ValueError(f"Send the {len(lines)} lines of the scene, those that shall go without a text.")
    both = zip(lines, by, strict=True)
    return [{**one, **new.model_dump()} for one, new in both if new.text.strip() and new.speaker.strip()]


def kind_in(request: Request) -> Kind:
    """The kind that a path names."""
    found: Kind | None = next((one for one in get_args(Kind) if one == request.path_params["kind"]), None)
    if found is None:
        raise HTTPException(404, f"There is no such kind of draft: {', '.join(KINDS)}.")
    return found


def shown_in(request: Request) -> int:
    """How many drafts of each kind a request wants to see."""
    said = request.query_params.get("shown", "")
    return min(max(int(said), 1), MOST_SHOWN) if said.isdecimal() and len(said) < 6 else SHOWN
