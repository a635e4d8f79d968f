"""Who may call: keys, hosts, origins, sizes and rates, before anything of a request is read."""

import hmac
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CALLER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
SHORTEST_KEY = 16
ANYBODY = ""
"""Who calls a server that asks for no key."""
OPEN = ("/health", "/")
PAGE = "/page/"
"""What needs no key: whether the server is up, and the files of its page, which hold nothing of anybody's."""
UPLOADS = re.compile(r"/v1/(roles/import|roles/[^/]+/knowledge(/preview)?|casting(/people|/preview)?)")
"""What takes files: cards are mostly pictures of 5 to 10 MB, while a turn that is larger than 4 MiB is a mistake."""
BESIDE = 8_192  # bytes of a request that are not the files
LOOPBACK = ("localhost", "127.0.0.1", "::1")


RETRY_AFTER = 5  # seconds after which a caller who has had too many may ask again


@dataclass(frozen=True)
class Access:
    """What a server lets in."""

    keys: Mapping[str, str] = field(default_factory=dict)
    """By the names of callers; empty: anybody may call."""
    hosts: tuple[str, ...] = LOOPBACK
    """The names by which it may be called; "*": any."""
    origins: tuple[str, ...] = ()
    """Web pages that may call it, beside those that it serves itself."""
    most_bytes: int = 4 * 1024 * 1024
    """Of one request."""
    most_upload_bytes: int = 32 * 1024 * 1024
    """Of one request that brings files; it holds them as base64, and is in memory as a whole."""
    a_minute: int = 120
    """Requests of one caller."""
    at_once: int = 512
    """Turns of one caller."""
    changes_roles: bool = True
    """Whether callers may change what roles know, for everybody who talks to them, and make new ones."""
    connects: bool = False
    """Whether callers may see and choose which model is asked, and where: only where nobody but its owner can call."""

    def most_of(self, path: str) -> int:
        """The most bytes of a request to a path; who may change no role sends no files."""
        return self.most_upload_bytes if self.changes_roles and UPLOADS.fullmatch(path) else self.most_bytes

    @property
    def most_file_bytes(self) -> int:
        """The most bytes of all files of a request: base64 has four letters for three."""
        return max(self.most_upload_bytes - BESIDE, 0) * 3 // 4


def keys_in(text: str) -> dict[str, str]:
    """Read a file of keys: a caller's name and a key a line.

    Raises:
        ValueError: a line has another form, a key is too short, or a name or a key is there twice.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, key = line.strip().partition(" ")
        key = key.strip()
        if not CALLER.fullmatch(name) or len(key) < SHORTEST_KEY or not key.isascii() or " " in key:
            raise ValueError(
                f"Line {number} of the keys: write the caller's name (letters, digits, - and _), a space, and a key of "
                f"at least {SHORTEST_KEY} characters."
            )
        if name in found or key in found.values():
            raise ValueError(f"Line {number} of the keys: that name or key is there twice; each caller has one.")
        found[name] = key
    if not found:
        raise ValueError("The key file holds no key: write one caller per line, a name, a space and a key.")
    return found


def read_keys(file: Path) -> dict[str, str]:
    """Read the file of keys.

    Raises:
        ValueError: it cannot be read.
    """
    try:
        return keys_in(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"The file of keys {file} cannot be read: give the path of one that can.") from error


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches a server that listens there."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def refusal(status: int, message: str, code: str, field: str | None = None) -> JSONResponse:
    """An error in OpenAI's form, with the field of the request that it is about."""
    kind = "authentication_error" if status == 401 else "rate_limit_error" if status == 429 else "invalid_request_error"
    body = {
        "error": {"message": message, "type": kind if status < 500 else "server_error", "param": field, "code": code}
    }
    headers = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": str(RETRY_AFTER)}}
    return JSONResponse(body, status, headers.get(status, {}))


class Door:
    """Stands before an application, and puts who calls into its scope as `caller`.

    A web page that somebody has open must not reach a server on loopback: it comes with its Origin, or by a host name
    that leads here, or without JSON, which a page could send unasked.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access
        self._left: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self.app(scope, bounded(receive, self.access.most_of(scope["path"])), send)

    def _refused(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        host = host_of(headers.get("host", ""))
        if "*" not in self.access.hosts and host not in self.access.hosts:
            return refusal(403, "This host name is not allowed: start the server with --allow-host.", "host")
        origin = headers.get("origin")
        if origin is not None and origin not in self.access.origins:
            own = f"{scope.get('scheme', 'http')}://{headers.get('host', '')}"
            if origin != own:
                return refusal(403, "This origin is not allowed: start the server with --allow-origin.", "origin")
        if scope["path"] in OPEN or scope["path"].startswith(PAGE):
            return None
        caller = self._caller(headers.get("authorization", ""))
        if caller is None:
            return refusal(401, "The key is missing or unknown: send Authorization: Bearer KEY.", "invalid_api_key")
        scope["caller"] = caller
        if not self._has_left(caller):
            return refusal(
                429, f"{self.access.a_minute} requests per minute are the limit: wait a little.", "rate_limit"
            )
        if scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return refusal(415, "Send JSON, with Content-Type: application/json.", "content_type")
            length, most = headers.get("content-length", ""), self.access.most_of(scope["path"])
            if length.isdecimal() and (len(length) > 12 or int(length) > most):
                return too_large(most)
        return None

    def _caller(self, authorization: str) -> str | None:
        if not self.access.keys:
            return ANYBODY
        scheme, _, key = authorization.partition(" ")
        given, found = key.strip().encode(), None
        for name, own in self.access.keys.items():  # all of them, so that time says nothing
            if hmac.compare_digest(given, own.encode()):
                found = name
        return found if scheme.lower() == "bearer" else None

    def _has_left(self, caller: str) -> bool:
        """Take one from what a caller has: so many a minute, and as many at once."""
        now, most = time.monotonic(), float(self.access.a_minute)
        left, before = self._left.get(caller, (most, now))
        left = min(most, left + (now - before) * most / 60)
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class TooLarge(Exception):
    """More was sent than a request may have.

    Args:
        most: the bytes that it may have.
    """

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most


def bounded(receive: Receive, most: int) -> Receive:
    """Take a request in, as far as it has no more bytes than it may have."""
    read = 0

    async def taken() -> Message:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > most:
                raise TooLarge(most)
        return message

    return taken


def too_large(most: int) -> JSONResponse:
    """What is said to a request that is too large."""
    return refusal(413, f"{most:,} bytes are the limit of a request: send less.", "too_large")


def host_of(header: str) -> str:
    """The name in a Host header, without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header
