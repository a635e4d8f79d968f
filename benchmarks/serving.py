"""What a turn costs a server of roles, one stream after the other and many at once.

`dramaturg serve` runs in a process of its own before one stub endpoint (50 ms an answer, 10 ms an embedding). Rounds of
both kinds take turns; each stream is a thread of its own. Processor time is that of the server's process alone.

Run: python benchmarks/serving.py [METHOD …] [--streams 50] [--rounds 3] [--json]
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import httpx
from rich.console import Console
from rich.table import Table

from dramaturg.stores.library import Library

from stub_server import running

GOAL = 1.3  # of a turn among many to one alone
TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(
    library: Path, variables: dict[str, str], command: str = "", *more: str
) -> Iterator[tuple[httpx.AsyncClient, int]]:
    """A server of roles, and the number of its process.

    Args:
        library: what it serves.
        variables: of its environment.
        command: the one that is run, where it is not this one.
        more: options of it.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["serve", "--port", str(port), "--library", str(library), "--a-minute", "1000000", "--at-once", "1000"]
    env = {**os.environ, **variables}
    server = subprocess.Popen(
        [command or str(Path(sys.executable).with_name("dramaturg")), *options, *more],
        env=env,
        stdout=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        while True:
            try:
                httpx.get(f"{url}/health", trust_env=False)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield (
            httpx.AsyncClient(base_url=url, timeout=300, trust_env=False, limits=httpx.Limits(max_connections=None)),
            server.pid,
        )
    finally:
        server.terminate()
        server.wait()


def at_stub(url: str, cache: str) -> dict[str, str]:
    """The variables of a server whose models are those of the stub endpoint."""
    return {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "stub",
        "DRAMATURG_CHAT_MODEL": "stub",
        "DRAMATURG_EMBEDDING_MODEL": "openai:stub",
        "DRAMATURG_CACHE": cache,
    }


def processor_of(process: int) -> float:
    """Seconds of processor that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def talk(http: httpx.AsyncClient, model: str, number: int) -> None:
    """Take one turn on a thread of its own, and read its stream to the end."""
    messages = [{"role": "user", "content": f"What did you think of Haydn as a teacher, in the year {1790 + number}?"}]
    body = {"model": model, "messages": messages, "stream": True, "metadata": {"thread_id": uuid4().hex}}
    async with http.stream("POST", "/v1/chat/completions", json=body) as response:
        text = "".join([part async for part in response.aiter_text()])
    if "[DONE]" not in text or '"error"' in text:
        raise RuntimeError(text[-500:])


async def rounds(http: httpx.AsyncClient, process: int, model: str, streams: int, count: int) -> dict[str, list[float]]:
    """Milliseconds of processor a turn, and of wall, of each kind and round."""
    found: dict[str, list[float]] = {"alone": [], "together": [], "alone wall": [], "together wall": []}
    for number in range(4):  # what is opened once is opened
        await talk(http, model, number)
    for _ in range(count):
        for kind in ("alone", "together"):
            processor, wall = processor_of(process), time.perf_counter()
            if kind == "alone":
                for number in range(streams):
                    await talk(http, model, number)
            else:
                await asyncio.gather(*(talk(http, model, number) for number in range(streams)))
            found[kind].append(1000 * (processor_of(process) - processor) / streams)
            found[f"{kind} wall"].append(1000 * (time.perf_counter() - wall) / streams)
    return found


async def measured(methods: list[str], streams: int, count: int) -> dict[str, dict[str, list[float]]]:
    """The rounds of each method."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(script=str(Path(__file__).with_name("stub_turns.py"))) as stub,
    ):
        library = Path(folder) / "library"
        Library(library).open("beethoven")
        with serving(library, at_stub(stub.url, f"{folder}/cache")) as (http, process):
            return {one: await rounds(http, process, f"beethoven:{one}", streams, count) for one in methods}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=["vanilla", "amadeus"], metavar="METHOD")
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = asyncio.run(measured(given.methods, given.streams, given.rounds))
    if given.json:
        print(json.dumps(found))
        return
    table = Table("method", "alone, ms", f"{given.streams} at once, ms", "ratio", "wall alone", "wall at once")
    for name, all_of in found.items():
        middle: dict[str, Any] = {kind: median(values) for kind, values in all_of.items()}
        ratio = middle["together"] / middle["alone"]
        mark = "" if ratio <= GOAL else f" (goal {GOAL})"
        table.add_row(
            name,
            f"{middle['alone']:.1f}",
            f"{middle['together']:.1f}",
            f"{ratio:.2f}{mark}",
            f"{middle['alone wall']:.0f} ms",
            f"{middle['together wall']:.0f} ms",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
