"""A real `langgraph dev` on loopback."""

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

STARTING = 600
"""Seconds that a server is given to answer."""
STARTS_A_SERVER = [pytest.mark.slow, pytest.mark.timeout(1200)]
"""Marks of tests that start a server, for which the first of a file waits."""


@contextmanager
def dev_server(folder: Path, config: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """Serve what a langgraph.json names, over the library of a folder, and give the address."""
    environment = {
        **os.environ,
        **variables,
        "DRAMATURG_LIBRARY": str(folder / "library"),
        "DRAMATURG_CACHE": str(folder / "cache"),
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGGRAPH_DISABLE_FILE_PERSISTENCE": "true",
        "LANGSMITH_TRACING": "false",
    }
    port = free_port()
    command = [str(Path(sys.executable).parent / "langgraph"), "dev", "--config", str(config)]
    options = ["--no-browser", "--no-reload", "--port", str(port), "--n-jobs-per-worker", "10"]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen([*command, *options], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            wait_for(f"http://127.0.0.1:{port}", server, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(120)
            finally:
                server.kill()


def free_port() -> int:
    """A port for a server that begins in a moment.

    It is none of those that the system gives to clients and to servers that ask for any: meanwhile one could get it.
    """
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers."""
    ends = time.monotonic() + STARTING
    while server.poll() is None and time.monotonic() < ends:
        with suppress(httpx.TransportError):
            if httpx.get(f"{url}/ok").is_success:
                return
        time.sleep(0.25)
    pytest.fail(f"The server did not start:\n{log.read_text()[-3000:]}")
