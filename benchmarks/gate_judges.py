"""How well a chat model tells whether a line goes against a statement of an identity (ID-RAG's gate), and from when.

Lines of three people of Riverbend, written for this project: half of them go against the statement that they stand
with, the others agree with it or speak of something else. Each is asked of as the node `validate` asks of each apart.

Run: python benchmarks/gate_judges.py [--model embedded]
"""

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import yaml
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.environment import environment
from dramaturg.nodes.identity.chronicle import triple_sentence
from dramaturg.nodes.identity.gate import contradiction_probability
from dramaturg.prompts import load
from dramaturg.stores.library import open_role

LINES = yaml.safe_load((Path(__file__).parent / "alice_lines.yaml").read_text(encoding="utf-8"))
CASES = LINES["cases"]
ENGLISH = partial(load, language="en")
LINES_DRAWN = (0.40, 0.42, 0.44, 0.46)
"""Thresholds that whole replies are counted at."""


async def certainties(asked: ChatModel) -> list[float]:
    """How surely each line goes against its statement."""

    async def one(case: Mapping[str, str]) -> float:
        data = {name: case[name] for name in ("statement", "question", "line")}
        return await contradiction_probability(asked, ENGLISH, case["role"], data)

    return list(await asyncio.gather(*map(one, CASES)))


def row(found: Sequence[float], seconds: float) -> list[str]:
    """How far the halves are apart, and where they are told apart best; of two such places the higher."""
    sure, against = np.array(found), np.array([case["contradicts"] for case in CASES])

    def correct(line: float) -> float:
        return float(np.mean((sure >= line) == against))

    best = max(np.unique(sure)[::-1], key=correct)
    quarters = [" ".join(f"{np.quantile(half, q):.2f}" for q in (0.25, 0.5, 0.75)) for half in halves(sure, against)]
    missed, alarms = 1 - np.mean(sure[against] >= best), np.mean(sure[~against] >= best)
    auc = roc_auc_score(against, sure)
    rates = [f"{rate:.2f}" for rate in (correct(best), missed, alarms)]
    return [f"{auc:.3f}", *quarters, f"{best:.2f}", *rates, f"{seconds / len(CASES):.1f}"]


async def surest(asked: ChatModel) -> list[tuple[float, bool]]:
    """How surely whole replies go against any of Alice's core triples, and whether they do."""
    chronicle = open_role("alice", environment().library).chronicle()
    statements = [triple_sentence(one, "en", chronicle.sentences) for one in chronicle.triples if one.core]

    async def one(reply: Mapping[str, str]) -> float:
        data = {name: reply[name] for name in ("question", "line")}
        stated = [{**data, "statement": text} for text in statements]
        return max([await contradiction_probability(asked, ENGLISH, "Alice", one) for one in stated])

    found = await asyncio.gather(*map(one, LINES["replies"]))
    return [(sure, bool(reply["contradicts"])) for sure, reply in zip(found, LINES["replies"], strict=True)]


def halves(sure: np.ndarray, against: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What was found of the lines that go against their statement, and of the others."""
    return sure[against], sure[~against]


async def main(model: str) -> None:
    """Print a row, and what whole replies come to."""
    columns = ("AUC", "lines against", "other lines", "best threshold", "correct", "missed", "false alarms", "s each")
    table = Table(*columns, title=f"{len(CASES)} lines, half of which go against a statement, {model}")
    asked = chat_model(model, concurrency=2)
    began = time.perf_counter()
    table.add_row(*row(await certainties(asked), time.perf_counter() - began))
    Console(width=140).print(table)
    replies = await surest(asked)
    sure, against = np.array([one for one, _ in replies]), np.array([one for _, one in replies])
    Console(width=140).print(f"{len(replies)} whole replies: AUC {roc_auc_score(against, sure):.2f}")
    for line in LINES_DRAWN:
        caught, alarms = (int(np.sum(half >= line)) for half in halves(sure, against))
        Console(width=140).print(
            f"from {line:.2f}: {caught} of those against her are caught, and {alarms} of the others"
        )
    for name, against in (("against her", True), ("in keeping", False)):
        found = ", ".join(f"{sure:.2f}" for sure, is_against in sorted(replies) if is_against == against)
        Console(width=140).print(f"Surest of all core triples, replies {name}: {found}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="embedded")
    asyncio.run(main(parser.parse_args().model))
