"""How long a turn of the ensemble takes beside its slowest part, with a model of fixed latency, on Beethoven.

The parts go side by side: a turn should take little more than the slowest of them, the draft, the gate and the
verifier, one after the other. Everything is indexed before, and the median of some turns counts.

Run: python benchmarks/ensemble.py [--latency 0.3] [--repeats 5] [--concurrency 4]
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.messages import HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from rich.console import Console
from rich.table import Table

from dramaturg.testing import Rule, ScriptedChatModel, WordEmbeddings
from dramaturg.workflows.ensemble import PARTS, EnsembleContext, build

MOST = 1.5
QUESTION = {"messages": [HumanMessage("What did you think of Haydn as a teacher?", id="asked")]}
FITS = Rule("How well the line fits", {"reason": "It fits.", "score": 5})
Times = dict[str, float]
CHECKS = ("draft", "validate", "verify")


class SlowModel(ScriptedChatModel):
    """Takes `latency` seconds for each answer, however many are asked for at once."""

    latency: float = 0

    async def _agenerate(self, *args: Any, **options: Any) -> ChatResult:
        await asyncio.sleep(self.latency)
        return await super()._agenerate(*args, **options)

    async def _astream(self, *args: Any, **options: Any) -> AsyncIterator[ChatGenerationChunk]:
        await asyncio.sleep(self.latency)
        async for chunk in super()._astream(*args, **options):
            yield chunk


async def turn(graph: Any, context: EnsembleContext) -> tuple[Times, Times]:
    """How long each node of a turn took, and its calls; "turn" is the whole of it."""
    began, done, calls = time.perf_counter(), Times(), Times()
    async for part in graph.astream(QUESTION, context=context, stream_mode="updates"):
        for node, written in part.items():
            done[node] = time.perf_counter() - began
            if node in (*PARTS, *CHECKS):
                calls[node] = sum(used["calls"] for used in written.get("usage", {}).values())
    before = dict.fromkeys(PARTS, "choose_parts")
    before |= {"draft": max(done.keys() & {*PARTS}, key=done.__getitem__), "validate": "draft"}
    before["verify"] = "validate" if "validate" in done else "draft"
    spent = {node: done[node] - done[one] for node, one in before.items() if node in done}
    return {**spent, "turn": time.perf_counter() - began}, calls


async def measured(graph: Any, context: EnsembleContext, repeats: int) -> tuple[Times, Times]:
    """The medians of some turns, and the calls of one."""
    turns = [await turn(graph, context) for _ in range(repeats)]
    return {node: median(spent[node] for spent, _ in turns) for node in turns[0][0]}, turns[0][1]


async def main(latency: float, repeats: int, concurrency: int, library: Path) -> None:
    """Print each part alone and beside the others, and the ratio; it fails where the ratio is too large."""
    model, graph = SlowModel(rules=[FITS]), build().compile()
    given = {"role": "beethoven", "library": str(library), "chat_model": model, "concurrency": concurrency}
    context = EnsembleContext(**given, embedding_model=WordEmbeddings())
    await turn(graph, context)
    await turn(graph, context)  # dialogues are scored by now
    model.latency = latency
    whole, calls = await measured(graph, context, repeats)
    table = Table("part", "calls", "alone, s", "beside the others, s")
    alone = Times()
    for part in PARTS:
        found, _ = await measured(graph, context.model_copy(update={"parts": frozenset({part})}), repeats)
        alone[part] = found[part]
        table.add_row(part, f"{calls[part]:.0f}", f"{alone[part]:.3f}", f"{whole[part]:.3f}")
    Console().print(table)
    checks = sum(whole[one] for one in CHECKS)
    ratio = whole["turn"] / (max(alone.values()) + checks)
    print(f"A turn of {sum(calls.values()):.0f} calls of {latency:g} s, {concurrency} at once: {whole['turn']:.3f} s.")
    print(f"The slowest part alone {max(alone.values()):.3f} s, draft, gate and verifier {checks:.3f} s.")
    print(f"{ratio:.2f} times these; at most {MOST} is wanted.")
    if ratio > MOST:
        raise SystemExit(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.3, help="seconds for one answer")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=4, help="questions that are asked at once")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(arguments.latency, arguments.repeats, arguments.concurrency, Path(folder)))
