"""What takes its time and changes a role: files that were sent are read, and one change of a role goes on at a time."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dramaturg.server.access import Access
from dramaturg.server.openai_forms import EventStream, described, event
from dramaturg.stores.errors import RoleBusy
from dramaturg.workflows.methods import Show

MOST_FILES = 16
ALIVE_AFTER = 2.0  # seconds without news after which a listener is told that the work goes on
LOOKS = 0.1  # seconds between two looks at how far it is
READ_ONLY = "This server does not allow changes to roles: its operator can allow them with --change-roles."
Read = TypeVar("Read")


class SentFile(BaseModel):
    """A file as it was sent."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=255)
    data: str
    """Base64."""


class Work:
    """A change of a role that is under way: it goes on where nobody listens to it any more."""

    def __init__(self, what: str, doing: Callable[[Show], Awaitable[dict[str, Any]]]) -> None:
        self.what = what
        self.far: dict[str, Any] = {"step": "reading", "done": 0, "total": 0}
        self.task: asyncio.Task[dict[str, Any]] = asyncio.create_task(self._done(doing))

    async def _done(self, doing: Callable[[Show], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        return await doing(self.show)

    def show(self, step: str, done: int, total: int) -> None:
        """Be told how far it is."""
        self.far = {"step": step, "done": done, "total": total}

    @property
    def told(self) -> dict[str, Any]:
        """What is under way, and how far it is."""
        return {"what": self.what, **self.far}

    async def news(self) -> AsyncIterator[str]:
        """The work as events: how far it is whenever that changes, and its end."""
        said, since = None, 0.0
        while not self.task.done():
            if self.told != said:
                said, since = self.told, 0.0
                yield event({"object": "progress", **said})
            elif since >= ALIVE_AFTER:
                since = 0.0
                yield ": working\n\n"
            await asyncio.wait({self.task}, timeout=LOOKS)
            since += LOOKS
        if self.told != said:  # how far it came between the last two looks
            yield event({"object": "progress", **self.told})
        try:
            yield event({"object": "done", **self.task.result()})
        except Exception as error:  # noqa: BLE001 (a stream that has begun can only say it)
            _, message, code = described(error)
            yield event({"error": {"message": message, "code": code}})
        yield "data: [DONE]\n\n"


class Works:
    """The changes of roles that are under way, and what is read for them.

    Args:
        access: whether roles may be changed, and how large a request may be.
    """

    def __init__(self, access: Access) -> None:
        self.access = access
        self.under_way: dict[str, Work] = {}
        """By role."""
        self.reading = asyncio.Semaphore(1)  # a reader of PDF may take half a gigabyte

    async def read(self, files: Sequence[SentFile], reader: Callable[[str, bytes], Read]) -> list[Read]:
        """Read files by their names and bytes, one after the other.

        Raises:
            ValueError: one is no base64, too large, or cannot be read.
        """
        found = []
        for one in files:
            try:
                data = base64.b64decode(one.data, validate=True)
            except binascii.Error:
                raise ValueError(f"{one.name[:80]}: `data` is not base64.") from None
            if len(data) > (most := self.access.most_file_bytes):
                raise ValueError(f"{one.name[:80]} has more than {most:,} bytes: split it into several files.")
            async with self.reading:
                found.append(await asyncio.to_thread(reader, one.name, data))
        return found

    def require_changes(self) -> None:
        """Refuse where callers may change no role."""
        if not self.access.changes_roles:
            raise HTTPException(403, READ_ONLY)

    def require_free(self, role: str) -> None:
        """Refuse where callers may not change a role, or somebody is changing it."""
        self.require_changes()
        if role in self.under_way:
            raise RoleBusy(f"{role!r} is being changed already: wait until that is done.")

    def told(self, role: str) -> dict[str, Any] | None:
        """What is under way of a role, and how far it is; None: nothing."""
        work = self.under_way.get(role)
        return work.told if work else None

    def begun(self, role: str, what: str, doing: Callable[[Show], Awaitable[dict[str, Any]]]) -> Response:
        """Begin to change a role; the answer tells how far it is, and the work goes on where nobody listens."""
        self.require_free(role)
        work = self.under_way[role] = Work(what, doing)
        work.task.add_done_callback(lambda _: self.under_way.pop(role))
        return EventStream(work.news(), {})

    async def close(self) -> None:
        """Wait for what is under way; what is cancelled goes on with the next change, or the next turn."""
        while left := [work.task for work in self.under_way.values()]:
            await asyncio.wait(left)
