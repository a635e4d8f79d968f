"""Files of datasets fetched from a server on loopback: the known one is kept, and nothing else."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

from dramaturg.evaluation.datasets import released
from dramaturg.evaluation.datasets.catalogue import DATASETS
from dramaturg.evaluation.datasets.fetching import address_of, fetch, found_in, release_of, released_in
from dramaturg.evaluation.datasets.released import RELEASES, DatasetFile, Release
from dramaturg.stores.errors import RoleFileError

CONTENT = {"a b.json": b'{"plots": []}', "texts/wiki_A.txt": b"# A\n" * 500}


class Server(ThreadingHTTPServer):
    """Serves `files` by their paths, and remembers what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(CONTENT)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/copy"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = unquote(self.path).removeprefix("/copy/")
        self.server.asked.append(name)
        data = self.server.files.get(name)
        self.send_response(404 if data is None else 200)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Release:
    files = tuple(DatasetFile(hashlib.sha256(data).hexdigest(), len(data), name) for name, data in CONTENT.items())
    release = Release("authors/tiny", "abc", "data/", files)
    monkeypatch.setattr(released, "RELEASES", {"coser": release})
    monkeypatch.setitem(RELEASES, "coser", release)  # type: ignore[misc]  # a mapping that is a dict
    return release


def test_files_are_had_whole_and_once(server: Server, tiny: Release, tmp_path: Path) -> None:
    folder, told = tmp_path / "coser", list[int]()
    assert [one.state for one in found_in(folder, "coser")] == ["absent", "absent"]
    fetch(tiny, tiny.files, folder, server.url, told.append)
    assert {name: (folder / name).read_bytes() for name in CONTENT} == CONTENT
    assert told == [1, 2]
    assert [one.state for one in found_in(folder, "coser")] == ["known", "known"]
    (folder / "a b.json").rename(folder / "renamed.json")
    assert released_in(folder, "coser") == 1
    (folder / "renamed.json").rename(folder / "a b.json")
    fetch(tiny, tiny.files, folder, server.url)
    assert server.asked == [*CONTENT]


@pytest.mark.parametrize("data", [b'{"plots": [1]}', b"{}", b"x" * 1000], ids=["other", "shorter", "longer"])
def test_a_file_that_is_not_the_known_one_is_not_kept(
    server: Server, tiny: Release, tmp_path: Path, data: bytes
) -> None:
    server.files["a b.json"] = data
    with pytest.raises(RoleFileError, match=r"a%20b.json is not the file that is known by its SHA-256"):
        fetch(tiny, tiny.files, tmp_path / "coser", server.url)
    assert not [one for one in (tmp_path / "coser").rglob("*") if one.is_file()]


def test_what_cannot_be_had_is_said(server: Server, tiny: Release, tmp_path: Path) -> None:
    del server.files["a b.json"]
    with pytest.raises(RoleFileError, match=r"cannot be had .*404"):
        fetch(tiny, tiny.files, tmp_path / "coser", server.url)
    server.shutdown()
    with pytest.raises(RoleFileError, match="cannot be had"):
        fetch(tiny, tiny.files, tmp_path / "coser", "http://127.0.0.1:9/copy")


def test_another_file_of_the_name_is_left_alone(server: Server, tiny: Release, tmp_path: Path) -> None:
    (tmp_path / "a b.json").write_bytes(b"mine")
    with pytest.raises(RoleFileError, match="is not the released file: move it away"):
        fetch(tiny, tiny.files, tmp_path, server.url)
    assert (tmp_path / "a b.json").read_bytes() == b"mine"
    assert server.asked == []


def test_releases_are_of_datasets_and_their_addresses_of_one_commit() -> None:
    assert RELEASES.keys() <= DATASETS.keys()
    for release in RELEASES.values():
        assert len(release.commit) == 40
        for file in release.files:
            assert len(file.sha256) == 64
            assert file.size > 0
            assert not Path(file.path).is_absolute()
            assert ".." not in Path(file.path).parts
    release = RELEASES["coser"]
    start = f"https://raw.githubusercontent.com/{release.repository}/{release.commit}/"
    assert address_of(release, release.files[0]) == f"{start}data/final/King%20Lear.json"
    with pytest.raises(ValueError, match="No file of novel is known"):
        release_of("novel")
