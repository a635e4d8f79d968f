"""Guided selection one at a time and several at once, with a model of fixed latency: rounds, calls, waste, same set.

Run: python benchmarks/guided_selection.py [--latency 0.05] [--questions 10]
"""

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from rich.console import Console
from rich.table import Table

from dramaturg.nodes.passages.index import IndexingSettings
from dramaturg.nodes.passages.retrieval import retrieve
from dramaturg.nodes.passages.selection import (
    SelectionSettings,
    SelectionState,
    begin_selection,
    judge,
    selection_outcome,
)
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.library import Library
from dramaturg.workflows.amadeus_index import graph as amadeus_index

from stub_model import StubModel

PASSAGES = 60
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5)
AT_ONCE = (1, 2, 4, 8)


class Context(SelectionSettings, IndexingSettings):
    """What the loop alone may be told."""


class StubJudge(StubModel):
    """Answers after a fixed time; whether yes or no is drawn once for each passage and question."""

    share: float

    def answer(self, messages: list[BaseMessage]) -> str:
        """What it says."""
        drawn = random.Random("".join(message.text for message in messages)).random()
        answer = "yes" if drawn < self.share else "no"
        return f'{{"answer": "{answer}"}}'


def loop() -> Any:
    """The nodes of guided selection, put together on their own."""
    builder = StateGraph(SelectionState, Context)
    builder.add_node(retrieve)
    builder.add_node(begin_selection)
    builder.add_node(judge)
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "begin_selection")
    builder.add_edge("begin_selection", "judge")
    builder.add_conditional_edges("judge", selection_outcome, {"more": "judge", "enough": END, "none": END})
    return builder.compile()


async def measured(graph: Any, context: Context, questions: list[str]) -> list[dict[str, Any]]:
    """Run the loop for each question and count."""
    runs = []
    for question in questions:
        began, rounds, output = time.perf_counter(), 0, {}
        async for mode, part in graph.astream(
            {"question": question}, context=context, stream_mode=["updates", "values"]
        ):
            rounds += mode == "updates" and "judge" in part
            output = part if mode == "values" else output
        runs.append(
            {
                "rounds": rounds,
                "calls": len(output["verdicts"]),
                "wasted": sum(v["wasted"] for v in output["verdicts"]),
                "selected": [s["passage"] for s in output["selected"]],
                "seconds": time.perf_counter() - began,
            }
        )
    return runs


async def main(latency: float, count: int, folder: Path) -> None:
    """Print a row for each share of accepted passages and each number judged at once."""
    role = Library(folder).create("stub", RoleCard(name="Stub", language="en"))
    paragraphs = (f"Paragraph {n} tells of matter {n * 7919}." for n in range(PASSAGES))
    (role.root / "persona" / "life.md").write_text("\n\n".join(f"# Part {n}\n\n{p}" for n, p in enumerate(paragraphs)))
    base = {"role": "stub", "library": str(folder), "embedding_model": DeterministicFakeEmbedding(size=32)}
    await amadeus_index.ainvoke({"rebuild": False}, context=Context(**base))
    questions = [f"Question {n}?" for n in range(count)]
    table = Table("accepted", "at once", "rounds", "calls", "wasted", "same set", "seconds", "times faster")
    for share in SHARES:
        model, one_by_one = StubJudge(latency=latency, share=share), None
        for at_once in AT_ONCE:
            context = Context(**base, chat_model=model, judged_at_once=at_once, concurrency=16)
            runs = await measured(loop(), context, questions)
            one_by_one = one_by_one or runs
            same = all(a["selected"] == b["selected"] for a, b in zip(runs, one_by_one, strict=True))
            spent = mean(run["seconds"] for run in runs)
            table.add_row(
                f"{share:.0%}",
                str(at_once),
                *(f"{mean(run[key] for run in runs):.1f}" for key in ("rounds", "calls", "wasted")),
                "yes" if same else "NO",
                f"{spent:.3f}",
                f"{mean(run['seconds'] for run in one_by_one) / spent:.1f}",
            )
    Console().print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, default=0.05, help="seconds for one judgement")
    parser.add_argument("--questions", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(arguments.latency, arguments.questions, Path(folder)))
