"""`dramaturg mcp` at the protocol's own client, which starts the command as a process: what each tool does there."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role

from stub_endpoint import Endpoint, endpoint

mcp = pytest.importorskip("mcp")
COMMAND = "from dramaturg.cli.app import main; main()"
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def stub() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@asynccontextmanager
async def client(stub: Endpoint, library: Path, *options: str) -> AsyncIterator[Any]:
    """A client of the command over a library with Ada, all of whose questions are answered on loopback."""
    if not (library / "ada").exists():
        whole_role(library)
    env = {**os.environ, **stub.variables(), "DRAMATURG_LIBRARY": str(library)}
    start = mcp.StdioServerParameters(command=sys.executable, args=["-c", COMMAND, "mcp", *options], env=env)
    async with mcp.Client(start) as one:
        yield one


async def called(one: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives; it is the same as an object and as text."""
    result = await one.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


async def test_x(stub, tmp_path):
    stub.model = whole_cast(reply="I keep the light.")
    async with client(stub, tmp_path) as one:
        for t in (await one.list_tools()).tools: print(json.dumps(t.model_dump(exclude_none=True),indent=1)[:3000])
        print(await called(one, "list_roles"))
        print(await called(one, "ask_role", role="Ada Quill", message="Who are you?", thread="t"))
        for m in ("amadeus","role-rag","emotional-rag","drmr","id-rag"):
            u={"user":"Tom Quill"} if m=="drmr" else {}
            r=await called(one, "recall", role="ada", question="Do you trust Tom?", method=m, thread="t", **u)
            print(m, json.dumps(r["found"])[:600], list(r["evidence"]))
        print(await called(one, "relations", role="ada", person="Tom Quill", thread="t"))
        print(await called(one, "relations", role="ada", person="Tom Quill", score=True))
        print(await called(one, "remember", role="ada", kind="memory", text="I once saw a whale.", when="May"))
        print(await called(one, "remember", role="ada", kind="document", text="# Whale\n\nAda once saw a whale.", title="Whale"))
        for t,a in [("nix",{}),("ask_role",{"role":"nobody","message":"x"}),("ask_role",{"role":"ada"}),("ask_role",{"role":"../x","message":"x","method":"a.py:graph"}),("recall",{"role":"ada","question":"x","method":"vanilla"}),("remember",{"role":"ada","kind":"document","text":"x","title":"../../x"}),("ask_role",{"role":"ada","message":"x","library":"/etc"}), ("relations",{"role":"ada","person":"Ada Quill"}),("remember",{"role":"ada","kind":"document","text":"x","title":"Whale"}),("ask_role",{"role":"ada","message":"x","user":"Tom"})]:
            r=await one.call_tool(t,a); print(r.is_error, r.content[0].text)
