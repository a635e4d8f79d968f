"""How many answers of the model, one after the other, a turn waits for before its first word.

Each method takes three turns of a talk with a model that answers after a second, and the embedding model at once: what
takes about a second took one round. The third question refers to the second. Shown are the rounds to the first word of
each turn and to the end of the second, and the kinds of questions in the second; those asked together stand together.

Run: python benchmarks/rounds.py [METHOD …] [--latency 1] [--set NAME=VALUE …]
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import page
from rich.console import Console
from rich.table import Table
from serving import at_stub
from turns import KINDS, QUESTIONS, prepare

from dramaturg.conversations.opening import open_conversation
from dramaturg.models import asking, embeddings
from dramaturg.workflows.methods import context_type

from stub_server import running

GOALS = {"amadeus": 3, "role-rag": 3, "emotional-rag": 2, "id-rag": 3, "drmr": 4}
TURNS = (*QUESTIONS[:2], "And why is that?")


class Heard:
    """When questions were asked, texts embedded, and the first word heard, in seconds since a turn began."""

    def __init__(self) -> None:
        self.begun, self.first = time.perf_counter(), 0.0
        self.asked = list[tuple[float, str]]()
        self.embedded = 0

    def now(self) -> float:
        return time.perf_counter() - self.begun

    def hear(self, part: Any) -> None:
        """Look at a part of a stream."""
        if part["type"] == "messages" and not self.first:
            chunk, _ = part["data"]
            self.first = self.now() if chunk.type in ("ai", "AIMessageChunk") and chunk.text else 0.0

    def rounds(self, latency: float) -> list[Counter[str]]:
        """The kinds of the questions of each round."""
        rounds = dict[int, Counter[str]]()
        for when, kind in self.asked:
            rounds.setdefault(int(when / latency), Counter())[kind] += 1
        return [kinds for _, kinds in sorted(rounds.items())]


async def measured(method: str, given: argparse.Namespace) -> list[Heard]:
    """Take the turns of a talk."""
    heard = list[Heard]()
    wait, embed = asking.in_turn, embeddings.InOrderAsync.create

    async def in_turn(chat: Any, kind: str, answer: Any) -> Any:
        heard[-1].asked.append((heard[-1].now(), kind))
        return await wait(chat, kind, answer)

    async def create(self: Any, **request: Any) -> Any:
        heard[-1].embedded += 1
        return await embed(self, **request)

    context = context_type(method)(role="beethoven", answer_cache=False, **dict(one.split("=", 1) for one in given.set))
    with patch.object(asking, "in_turn", in_turn), patch.object(embeddings.InOrderAsync, "create", create):
        async with open_conversation(method, context, uuid4().hex) as talk:
            for question in TURNS:
                heard.append(Heard())
                await talk.take_turn(question, heard[-1].hear)
                heard[-1].asked.append((heard[-1].now(), "the end"))
    return heard


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", default=list(KINDS), metavar="METHOD")
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--set", nargs="*", default=[])
    given = parser.parse_args()
    script = str(Path(__file__).with_name("stub_turns.py"))
    table = Table("method", "goal", "first word", "end", "embeddings", "asked in the second turn, by round")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library"
        with running(0.0, 0.0, script=script) as stub:
            os.environ.update(at_stub(stub.url, f"{folder}/cache") | {"DRAMATURG_LIBRARY": str(library)})
            prepare(library, given.methods, 0, 0)
        with running(given.latency, 0.0, script=script) as stub:
            os.environ["OPENAI_BASE_URL"] = stub.url
            for method in given.methods:
                asyncio.run(measured(method, given))
                heard = asyncio.run(measured(method, given))
                ends = [one.asked.pop()[0] / given.latency for one in heard]
                kinds = [
                    " ".join(f"{kind}×{count}" if count > 1 else kind for kind, count in one.items())
                    for one in heard[1].rounds(given.latency)
                ]
                table.add_row(
                    method,
                    str(GOALS.get(method, "")),
                    ", ".join(f"{one.first / given.latency:.1f}" for one in heard),
                    f"{ends[1]:.1f}",
                    f"{heard[1].embedded}",
                    " → ".join(kinds),
                )
    print(page.machine("langgraph", "langchain-openai"))
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
