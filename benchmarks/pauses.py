"""Whether a request fails because a connection was closed in a pause, straight at a server and behind a proxy.

`dramaturg serve` runs in a process of its own before a stub endpoint that answers at once. Each user holds one talk
over one connection that is kept for as long as the other side keeps it, and pauses at random between two turns. A proxy
is given what lies in `deploy/`, with the addresses of this machine.

Run: python benchmarks/pauses.py [straight] [nginx] [caddy] [--requests 10000] [--users 200] [--pause 4,6]
     [--keep-alive 75] [--proxy-keeps SECONDS]
"""

import argparse
import asyncio
import random
import re
import socket
import ssl
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import page
from rich.console import Console
from rich.table import Table
from serving import at_stub, serving

from dramaturg.stores.library import Library

from stub_server import running

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
FAILURES = ("502", "other status", "closed unanswered", "broken stream", "error in stream")


def configured(name: str, server: str, port: int, keeps: int | None) -> str:
    """What `deploy/` has for a proxy, with these addresses, and the seconds for which it keeps an idle connection."""
    text = (DEPLOY / {"nginx": "nginx.conf", "caddy": "Caddyfile"}[name]).read_text(encoding="utf-8")
    if keeps is not None:
        text = re.sub(r"(keepalive(?:_timeout)?) \d+s", rf"\1 {keeps}s", text)
    if name == "caddy":
        text = text.replace("replica-1:8000 replica-2:8000", server).replace(":8000 {", f"http://127.0.0.1:{port} {{")
        return "{\n\tadmin off\n\tauto_https off\n}\n" + text.replace("/ok", "/health")
    text = text.replace("127.0.0.1:8642", server).replace("listen 80", f"listen 127.0.0.1:{port}")
    return f"events {{ worker_connections 4096; }}\nhttp {{\naccess_log off;\n{text}}}\n"


@contextmanager
def through(name: str, url: str, keeps: int | None) -> Iterator[str]:
    """The address by which a server is called, that of a proxy in front of it if one is named."""
    if name == "straight":
        yield url
        return
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        file = Path(folder) / "proxy.conf"
        file.write_text(configured(name, url.removeprefix("http://"), port, keeps), encoding="utf-8")
        own = f"daemon off; error_log {folder}/errors; pid {folder}/pid;"
        command = {
            "nginx": ["nginx", "-e", f"{folder}/errors", "-c", str(file), "-p", folder, "-g", own],
            "caddy": ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"],
        }[name]
        proxy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).raise_for_status()
                    break
                except httpx.HTTPError:
                    if proxy.poll() is not None:
                        raise RuntimeError(f"{name} ended at its start.") from None
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            proxy.terminate()
            proxy.wait()


async def turn(http: httpx.AsyncClient, thread: str, number: int, opened: Counter[str]) -> str:
    """Take a turn and read its stream: how it failed, or nothing."""

    async def seen(event: str, _: Any) -> None:
        opened[event] += 1

    messages = [{"role": "user", "content": f"What did you think of Haydn as a teacher, in the year {1790 + number}?"}]
    body = {"model": "beethoven:vanilla", "messages": messages, "stream": True, "metadata": {"thread_id": thread}}
    text, begun = "", False
    try:
        async with http.stream("POST", "/v1/chat/completions", json=body, extensions={"trace": seen}) as response:
            begun = True
            if response.status_code != 200:
                await response.aread()
                return "502" if response.status_code == 502 else "other status"
            async for part in response.aiter_text():
                text += part
    except httpx.TransportError:
        return "broken stream" if begun else "closed unanswered"
    if "[DONE]" not in text:
        return "broken stream"
    return "error in stream" if '"error"' in text else ""


async def talks(url: str, given: argparse.Namespace) -> tuple[Counter[str], int]:
    """Take all turns of all users: how many failed in which way, and how many connections were opened for them."""
    left, found, opened = iter(range(given.requests)), Counter[str](), Counter[str]()
    kept, trusted = httpx.Limits(keepalive_expiry=None), ssl.create_default_context()

    async def user() -> None:
        thread = uuid4().hex
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, limits=kept, verify=trusted) as http:
            await asyncio.sleep(random.uniform(0, given.pause[1]))
            for number in left:
                found[await turn(http, thread, number % 200, opened)] += 1
                await asyncio.sleep(random.uniform(*given.pause))

    await asyncio.gather(*(user() for _ in range(given.users)))
    return found, opened["connection.connect_tcp.complete"]


def measured(name: str, given: argparse.Namespace) -> list[str]:
    """A row of the table."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running(0, 0, script=str(Path(__file__).with_name("stub_turns.py"))) as stub,
    ):
        library, variables = Path(folder) / "library", at_stub(stub.url, f"{folder}/cache")
        Library(library).open("beethoven")
        with (
            serving(library, variables, "", "--keep-alive", str(given.keep_alive)) as (http, _),
            through(name, str(http.base_url).rstrip("/"), given.proxy_keeps) as url,
        ):
            begun = time.perf_counter()
            found, opened = asyncio.run(talks(url, given))
            wall = time.perf_counter() - begun
    done = sum(found.values())
    return [name, str(done), f"{done / wall:.0f}", str(opened), *(str(found[one]) for one in FAILURES)]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("through", nargs="*", default=["straight", "nginx"], metavar="straight|nginx|caddy")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--pause", type=lambda text: [float(one) for one in text.split(",")], default=[4.0, 6.0])
    parser.add_argument("--keep-alive", type=int, default=75, help="the option of `dramaturg serve`")
    parser.add_argument("--proxy-keeps", type=int, help="seconds a proxy keeps a connection, if not as in deploy/")
    given = parser.parse_args()
    print(page.machine("uvicorn", "httptools", "httpx"))
    for name in given.through:
        table = Table("through", "requests", "a second", "connections of users", *FAILURES)
        table.add_row(*measured(name, given))
        Console(width=150).print(table)


if __name__ == "__main__":
    main()
