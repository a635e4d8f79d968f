"""Writes docs/reference/servers.md: turns of AMADEUS with a server that behaves as those that people have."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support")]

from all_methods import whole_role  # noqa: E402
from wild_endpoint import WAYS, WildEndpoint, wild_endpoint  # noqa: E402

from dramaturg.conversations.opening import open_conversation  # noqa: E402
from dramaturg.models.servers import connections  # noqa: E402
from dramaturg.workflows.methods import flow  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "servers.md"
QUESTION = "Do storms make you afraid, and what does Tom say of it?"
HEAD = """# Servers and models

<!-- Written by docs/generate/servers.py -->

Servers that speak OpenAI's protocol take different parts of it, and models differ in what they write. Each row is a
behaviour that the tests' server can have (`tests/support/wild_endpoint.py`), who behaves so, and what two turns of
AMADEUS are then: what is said, and how many requests each turn is. All methods are tested with all of them, in Python
and on the command line (`tests/conversations/test_wild_endpoints.py`). What is learned from a refusal is kept for a day
([models](../how-to/models.md#what-a-server-takes)).

`python docs/generate/servers.py` makes this page; it takes two minutes.

| behaviour | who | reported in | what is said | requests of the first turn | of the second |
| --- | --- | --- | --- | --- | --- |
"""


async def turn(library: str, thread: str) -> str:
    """Take a turn."""
    context = flow("amadeus").context(role="ada", library=library, deadline=600, turn_deadline=600)
    async with open_conversation("amadeus", context, thread) as talk:
        return str((await talk.take_turn(QUESTION))["messages"][-1].text)


def row(server: WildEndpoint, library: str, way: str) -> str:
    """Two turns with a server of which nothing is known."""
    os.environ["DRAMATURG_CACHE"] = tempfile.mkdtemp()
    server.ways, said, asked = way, list[str](), list[str]()
    for _ in range(2):
        server.asked.clear()
        try:
            said.append(asyncio.run(turn(library, way)))
        except (ValueError, RuntimeError) as error:
            said.append(f"*{error}*".replace(str(server.server_port), "PORT"))
        asked.append(str(len(server.asked)))
    told = (way, WAYS[way].who, WAYS[way].source, said[0], *asked)
    return f"| {' | '.join(one.replace('|', '/').replace('<', '&lt;') for one in told)} |\n"


if __name__ == "__main__":
    connections.RETRIES = 0
    with wild_endpoint() as server, tempfile.TemporaryDirectory() as library:
        whole_role(Path(library))
        os.environ.update({**server.variables(), "DRAMATURG_LIBRARY": library})
        asyncio.run(turn(library, "index"))
        PAGE.write_text(HEAD + "".join(row(server, library, way) for way in WAYS), encoding="utf-8")
