"""What is sent compressed to whoever takes that: the page's files, and what is looked up; never what is streamed."""

from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

LEAST = 1_000  # bytes for which it is worth it
LEVEL = 6
AS_THEY_ARE = ("/picture", "/export", "/coming")
"""Most files are compressed already, and a reply is sent as it comes; of these, Starlette 0.46 does not know all."""


class Packing:
    """Stands before an application, and compresses what it answers to GET.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.packed = GZipMiddleware(app, minimum_size=LEAST, compresslevel=LEVEL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        whole = scope["type"] == "http" and scope["method"] == "GET" and not scope["path"].endswith(AS_THEY_ARE)
        part = whole and any(name == b"range" for name, _ in scope["headers"])
        await (self.packed if whole and not part else self.app)(scope, receive, send)
