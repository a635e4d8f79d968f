"""Two servers of the graphs with caches of their own, on one Postgres and one Redis, as deploy/compose.yaml has."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from all_methods import whole_cast, whole_role
from databases import named
from langchain_core.messages import BaseMessage

from dramaturg.stores.library import Library
from dramaturg.stores.shared_library import SharedLibrary

from dev_server import free_port, wait_for
from stub_endpoint import Endpoint, endpoint

CONFIG = Path(__file__).parents[2] / "deploy" / "langgraph.json"
PYTHON = "DRAMATURG_LANGHOST_PYTHON"
HEARTBEAT = 5  # seconds


class Replica:
    """A server in a process of its own, which may be killed and started again."""

    def __init__(self, folder: Path, variables: dict[str, str], jobs: int = 10) -> None:
        self.jobs = jobs
        self.url = f"http://127.0.0.1:{free_port()}"
        self.variables = {**variables, "DRAMATURG_CACHE": str(folder / "cache")}
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir()

    def begin(self) -> None:
        """Start it, and go on."""
        command = [str(Path(os.environ[PYTHON]).parent / "langhost"), "serve", "--config", str(CONFIG)]
        port = self.url.rpartition(":")[2]
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", port, "--n-jobs-per-worker", str(self.jobs)],
                cwd=self._folder,
                env={**os.environ, **self.variables},
                stdout=log,
                stderr=log,
            )

    def wait(self) -> None:
        """Wait until it answers."""
        assert self._process
        wait_for(self.url, self._process, self._folder / "log")

    def processor(self) -> float:
        """The seconds of processor time that it has used."""
        assert self._process
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(") ")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, at once or as an operator does."""
        if self._process:
            self._process.send_signal(how)
            try:
                self._process.wait(120)
            finally:
                self._process.kill()
        self._process = None


class Replicas:
    """Two of them, what they ask, and the library that they share."""

    def __init__(self, one: Replica, other: Replica, stub: "Counted", library: SharedLibrary) -> None:
        self.one, self.other, self.stub, self.library = one, other, stub, library


class Counted:
    """The endpoint, and when each question to the chat model was answered."""

    def __init__(self, served: Endpoint) -> None:
        self.endpoint = served
        served.model, served.joins = whole_cast(), False
        self.reply: Callable[[list[BaseMessage]], Any] = served.model.reply
        served.model.reply = self._answer
        self.answered: list[tuple[float, str]] = []

    def _answer(self, messages: list[BaseMessage]) -> Any:
        self.answered.append((time.monotonic(), "\n".join(message.text for message in messages)))
        return self.reply(messages)

    def embedded(self) -> list[str]:
        """Every text that was embedded."""
        bodies = [body["input"] for body in list(self.endpoint.asked) if "input" in body]
        return [text for given in bodies for text in ([given] if isinstance(given, str) else given)]

    def forget(self) -> None:
        """Begin to count."""
        self.endpoint.asked.clear()
        self.answered.clear()


@contextmanager
def two_replicas(server: str, folder: Path) -> Iterator[Replicas]:
    """Run them over a library with one role.

    Args:
        server: the address of a Postgres server.
        folder: for their caches and logs.
    """
    if not os.environ.get(PYTHON):
        pytest.skip(f"{PYTHON} names no Python that has langhost: `make test-replicas` makes one")
    whole_role(folder / "roles")
    with endpoint() as stub, replicas_of(server, folder, stub.variables()) as ((one, other), library):
        library.replace({"ada": Library(folder / "roles").contents("ada")})
        for replica in (one, other):  # one after the other: on an empty database one makes the tables
            replica.begin()
            replica.wait()
        yield Replicas(one, other, Counted(stub), library)


@contextmanager
def replicas_of(
    server: str, folder: Path, model: dict[str, str], jobs: int = 10
) -> Iterator[tuple[tuple[Replica, Replica], SharedLibrary]]:
    """Two that are not begun yet, over empty databases.

    Args:
        server: the address of a Postgres server.
        folder: for their caches and logs.
        model: the variables that name what they ask.
        jobs: runs that each works at.
    """
    runs, roles = "replicas_runs", "replicas_roles"
    with psycopg.connect(server, autocommit=True) as admin:
        for name in (runs, roles):
            admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
            admin.execute(f"CREATE DATABASE {name}".encode())
    library = SharedLibrary(named(server, roles), folder / "cache")
    with redis_server(folder) as redis:
        variables = {
            **model,
            "DATABASE_URI": named(server, runs),
            "REDIS_URI": redis,
            "DRAMATURG_LIBRARY": library.address,
            "LG_BG_JOB_HEARTBEAT": str(HEARTBEAT),
            "LANGGRAPH_STRICT_MSGPACK": "true",
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGGRAPH_NO_VERSION_CHECK": "true",
            "LANGSMITH_TRACING": "false",
        }
        one, other = (Replica(folder / name, variables, jobs) for name in ("one", "other"))
        try:
            yield (one, other), library
        finally:
            one.end()
            other.end()
            library.close()


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Run Redis, and give its address."""
    found = shutil.which("redis-server")
    if not found:
        pytest.skip("there is no redis-server: install Redis, such as Debian's package redis-server")
    port = str(free_port())
    options = ["--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
    server = subprocess.Popen([found, *options], stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()
