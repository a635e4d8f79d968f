"""What a role knows, changed from the page: documents learned and taken back, and names that become one."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dramaturg.nodes.told import cut_to_told
from dramaturg.server.rooms import Model, Rooms
from dramaturg.server.work import MOST_FILES, SentFile, Works
from dramaturg.stores import learning
from dramaturg.stores.documents.merges import PLAN, Merge, MergePlan, read_plan, write_plan
from dramaturg.stores.documents.originals import PACKED
from dramaturg.stores.errors import RoleError
from dramaturg.stores.files import read_if_there, sha256
from dramaturg.stores.index.graph import GRAPH_KIND, UNMERGED_GRAPH_KIND, KnowledgeGraph
from dramaturg.stores.index.opened import Index
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.role import Role
from dramaturg.stores.versions import Version, take_back, versions
from dramaturg.workflows.methods import Preparation, Show, flow

MERGING = "role-rag"


class Teaching(BaseModel):
    """The body of a request to learn files, or to say what that would cost."""

    model_config = ConfigDict(extra="forbid")

    method: str = Field("", max_length=200)
    files: list[SentFile] = Field(min_length=1, max_length=MOST_FILES)


class Undoing(BaseModel):
    """The body of a request to bring a former version back."""

    model_config = ConfigDict(extra="forbid")

    method: str = Field("", max_length=200)
    version: str = Field(max_length=200)


class Merging(BaseModel):
    """The body of a decision about which names are one."""

    model_config = ConfigDict(extra="forbid")

    plan: str
    """The SHA-256 of the plan that was read: it may have been written anew since."""
    approved: list[int] = Field(max_length=10_000)
    """The numbers of the merges that shall be; the names of the others stay apart."""


class Taught(NamedTuple):
    """A role, and what is made of its documents for a method."""

    role: Role
    method: str
    parts: dict[str, Preparation]
    """The indexing graphs that read documents; empty: the method reads none."""

    @property
    def graph(self) -> Index[StoredPassage, KnowledgeGraph]:
        """The index of the graph that the method asks; of RoleRAG's, where it asks none."""
        kinds = {one.kind for one in self.parts.values()}
        return self.role.index(UNMERGED_GRAPH_KIND if UNMERGED_GRAPH_KIND in kinds else GRAPH_KIND)

    def versions(self) -> list[Version]:
        """The versions of the first of its indexes, by which its documents are taken back; it may block."""
        return versions(self.role, next(iter(self.parts.values())).kind) if self.parts else []


class Knowledge:
    """What the routes do about what a role knows.

    Args:
        rooms: the roles, and the settings that hold for them.
        works: what changes roles, one thing at a time.
    """

    def __init__(self, rooms: Rooms, works: Works) -> None:
        self.rooms = rooms
        self.works = works

    async def known(self, request: Request) -> Response:
        """A role's documents, whether they can be changed here, what can be taken back, and what is under way."""
        taught = await self._taught(request, request.query_params.get("method", ""))
        documents, found, graph = await asyncio.to_thread(
            lambda: (_documents(taught.role), taught.versions(), taught.graph.folder.pointer())
        )
        return JSONResponse(
            {
                "object": "knowledge",
                "role": taught.role.id,
                "method": taught.method,
                "reads": bool(taught.parts),
                "changes": self.works.access.changes_roles,
                "documents": documents,
                "graph": graph is not None,
                "most_bytes": self.works.access.most_file_bytes,
                "most_files": MOST_FILES,
                "kinds": sorted({*learning.TEXTS, *PACKED} - {""}),
                "versions": [_shown(one) for one in found],
                "work": self.works.told(taught.role.id),
            }
        )

    async def graph(self, request: Request) -> Response:
        """All of a role's knowledge graph, for its authors; for others, a map of what the role has been told.

        A source is shown to those who may change the role alone, and so is what was read in it.
        """
        taught = await self._taught(request, request.query_params.get("method", ""))
        whole = self.works.access.changes_roles
        data = await asyncio.to_thread(_graph, taught, whole=whole)
        return JSONResponse({"object": "graph", "role": taught.role.id, "whole": whole, **data})

    async def preview(self, request: Request) -> Response:
        """What learning files would change and cost; nothing is changed, and no model is asked."""
        body = Teaching.model_validate_json(await request.body())
        taught = await self._taught(request, body.method)
        self.works.require_free(taught.role.id)
        found = await self.works.read(body.files, learning.incoming_sent)
        documents = [(one.name, one.data) for one in found]
        changes = await asyncio.to_thread(learning.changes, taught.role, documents)
        costs = {title: await one.preview(dict(documents)) for title, one in taught.parts.items()}
        return JSONResponse(
            {
                "object": "preview",
                "documents": [one._asdict() for one in changes],
                "missing": [line for one in found for line in one.missing],
                "costs": [_cost(title, cost) for title, cost in costs.items() if cost],
            }
        )

    async def learn(self, request: Request) -> Response:
        """Learn files: documents of their own, or in the place of those of their names; then what is new is indexed."""
        body = Teaching.model_validate_json(await request.body())
        taught = await self._taught(request, body.method)
        self.works.require_free(taught.role.id)
        _require_reading(taught)
        documents = [(one.name, one.data) for one in await self.works.read(body.files, learning.incoming_sent)]
        await asyncio.to_thread(learning.changes, taught.role, documents)  # refused before anything is begun

        async def doing(show: Show) -> dict[str, Any]:
            if not await asyncio.to_thread(taught.versions) and taught.role.persona.names():
                await _made(taught, show)  # what there was before can then be brought back
            changes = await asyncio.to_thread(learning.learn, taught.role, documents)
            reports = await _made(taught, show)
            return {"documents": [one._asdict() for one in changes], "index": reports}

        return self.works.begun(taught.role.id, "learn", doing)

    async def undo(self, request: Request) -> Response:
        """Bring the documents of a former version back, and its index."""
        body = Undoing.model_validate_json(await request.body())
        taught = await self._taught(request, body.method)
        _require_reading(taught)
        kind = next(iter(taught.parts.values())).kind

        async def doing(show: Show) -> dict[str, Any]:
            back = await asyncio.to_thread(take_back, taught.role, kind, body.version)
            return {"documents": list(back.documents), "index": await _made(taught, show)}

        return self.works.begun(taught.role.id, "undo", doing)

    async def merges(self, request: Request) -> Response:
        """The plan of which names of a role would become one, and what the model said of each two."""
        role = (await self._taught(request, MERGING)).role
        digest, merges, beside = await asyncio.to_thread(_plan, role)
        about = {"role": role.id, "changes": self.works.access.changes_roles, "work": self.works.told(role.id)}
        return JSONResponse({"object": "merges", **about, "plan": digest, "merges": merges, **beside})

    async def merge(self, request: Request) -> Response:
        """Decide which names are one: the plan holds from then on, and the graph is made by it."""
        body = Merging.model_validate_json(await request.body())
        taught = await self._taught(request, MERGING)

        self.works.require_free(taught.role.id)
        digest, merges, _ = await asyncio.to_thread(_plan, taught.role)
        if digest is None or digest != body.plan:
            raise HTTPException(409, "The plan has changed: read it again.")
        if strange := set(body.approved) - {one["number"] for one in merges}:
            raise ValueError(f"There is no merge {min(strange)}: `approved` has numbers from 1 to {len(merges)}.")

        def decided() -> None:
            plan = read_plan(taught.role.root, PLAN) or MergePlan()
            kept = [one for at, one in enumerate(plan.merges, start=1) if at in body.approved]
            apart = [name for one in plan.merges if one not in kept for name in one.names]
            alone = tuple(dict.fromkeys((*plan.alone, *apart)))
            write_plan(taught.role.root, plan.model_copy(update={"merges": tuple(kept), "alone": alone}), PLAN)

        async def doing(show: Show) -> dict[str, Any]:
            await asyncio.to_thread(decided)
            return {"merged": len(set(body.approved)), "index": await _made(taught, show, apply=True)}

        return self.works.begun(taught.role.id, "merge", doing)

    async def _taught(self, request: Request, method: str) -> Taught:
        model = await asyncio.to_thread(self.rooms.model, request.path_params["role"])
        method = method or self.rooms.method
        if method not in self.rooms.methods:
            raise HTTPException(404, f"There is no method {method!r}: /v1/models lists them.")
        context = self.rooms.context(Model(model.role, method), {})

        def opened() -> Taught:
            reading = flow(self.rooms.methods[method]).reading(context)
            return Taught(self.rooms.library.open(model.role), method, reading)

        return await asyncio.to_thread(opened)


def _require_reading(taught: Taught) -> None:
    if not taught.parts:
        raise RoleError(f"{taught.method} reads no documents: choose a method that does, such as amadeus.")


async def _made(taught: Taught, show: Show, **wishes: bool) -> dict[str, dict[str, Any]]:
    """Index what is new, index by index; what is counted in a report, by index."""
    reports = {title: await one.made(wishes, show) for title, one in taught.parts.items()}
    return {
        title: {name: len(value) if isinstance(value, list) else value for name, value in report.items()}
        for title, report in reports.items()
    }


def _graph(taught: Taught, *, whole: bool) -> dict[str, Any]:
    """What a graph is drawn from; it may block.

    Raises:
        MissingIndex: there is none yet.
    """
    from dramaturg.server.graphs import graph_data, without_texts  # networkx takes as long as the rest of the server

    role, index = taught.role, taught.graph
    known = index.open()
    if not whole:
        known = cut_to_told(index, known, role.own_names, role.card)
    data = graph_data(known, known.find(role.card.name, *role.card.aliases))
    return data if whole else without_texts(data)


def _documents(role: Role) -> list[dict[str, Any]]:
    return [
        {"name": name, "characters": len(role.persona.read(name).decode(errors="replace"))}
        for name in role.persona.names()
    ]


def _shown(version: Version) -> dict[str, Any]:
    about = {"version": version.version, "created": version.created.isoformat()}
    return about | {
        "documents": list(version.documents),
        "counts": dict(version.counts),
        "served": version.served,
        "restorable": version.restorable,
    }


def _cost(title: str, cost: Mapping[str, int]) -> dict[str, Any]:
    """What an index would cost: questions to a chat model, texts to embed, and of how many pieces it would be."""
    return {
        "index": title,
        "documents": cost["documents"],
        "pieces": cost.get("passages", cost.get("chunks", 0)),
        "questions": cost.get("to_extract", 0),
        "to_embed": cost.get("to_embed"),
    }


def _plan(role: Role) -> tuple[str | None, list[dict[str, Any]], dict[str, Any]]:
    """The SHA-256 of the plan, its merges with their numbers, and what it says beside them; it may block.

    Raises:
        RoleFileError: the plan cannot be read as it is.
    """
    data = read_if_there(role.root / PLAN, within=role.root)
    plan = read_plan(role.root, PLAN) if data is not None else None
    if data is None or plan is None:
        return None, [], {"apart": [], "alone": 0, "splits": []}
    merges = [_merge(number, one) for number, one in enumerate(plan.merges, start=1)]
    apart = [one.model_dump(mode="json") for one in plan.apart]
    splits = [one.model_dump(mode="json") for one in plan.splits]
    return sha256(data), merges, {"apart": apart, "alone": len(plan.alone), "splits": splits}


def _merge(number: int, merge: Merge) -> dict[str, Any]:
    return {"number": number, **merge.model_dump(mode="json")}
