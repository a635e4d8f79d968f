"""Roles as characters: their pictures."""

import asyncio
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from dramaturg.server.rooms import Rooms
from dramaturg.stores.documents.forms import PICTURES
from dramaturg.stores.files import inside, sha256
from dramaturg.stores.library_folder import examples

LARGEST_PICTURE = 16_000_000  # bytes
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "private, max-age=300",
}


class Characters:
    """What the routes do about roles as characters.

    Args:
        rooms: the roles.
    """

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms

    async def picture(self, request: Request) -> Response:
        """The picture of a role."""
        model = await asyncio.to_thread(self.rooms.model, request.path_params["role"])
        data = await asyncio.to_thread(self._picture, model.role)
        kind = kind_of(data) if data else ""
        if not (data and kind):
            raise HTTPException(404, "This role has no picture: put one into its folder, as picture.png.")
        headers = HEADERS | {"ETag": f'"{sha256(data)[:32]}"'}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    def _picture(self, role: str) -> bytes | None:
        """The bytes of a picture, whatever they are; an example that nobody has opened has none. It blocks."""
        if role in examples() and not self.rooms.library.holds(role):
            return None
        return picture_in(self.rooms.library.open(role).root)


def picture_in(folder: Path) -> bytes | None:
    """The bytes of the picture in the folder of a role; None: there is none, or it is too large."""
    file = next((folder / name for name in PICTURES if (folder / name).is_file()), None)
    if file is None or (real := inside(file, folder)).stat().st_size > LARGEST_PICTURE:
        return None
    return real.read_bytes()


def kind_of(data: bytes) -> str:
    """What a picture is, by how it begins; empty: it is none that a page shows."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""
