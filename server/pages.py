"""The page at `/`: files that hold nothing of anybody's, under a policy by which nothing but they can run."""

import mimetypes
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PAGE = Path(__file__).parent / "page"
OWN = ("script-src", "style-src", "connect-src", "img-src")
NOBODY = ("default-src", "base-uri", "form-action", "frame-ancestors")
POLICY = "; ".join(
    (
        *(f"{name} 'none'" for name in NOBODY),
        *(f"{name} 'self'" for name in OWN),
        "require-trusted-types-for 'script'",  # no text becomes an element or a script
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # it is asked for each time whether there is another
}


class PageFiles(StaticFiles):
    """The files that the page is made of."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Send a file, with the page's policy; compressed or not, it is the same one by its weak tag."""
        response = await super().get_response(path, scope)
        response.headers.update({**HEADERS, "ETag": f"W/{response.headers['ETag']}"})
        return response


def page_routes() -> list[BaseRoute]:
    """The page, and its files."""
    mimetypes.add_type("text/javascript", ".js")  # some systems have another, by which no module is taken

    files = PageFiles(directory=PAGE)

    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    return [Route("/", index), Mount("/page", files)]
