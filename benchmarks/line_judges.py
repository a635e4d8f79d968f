"""How well a chat model tells whether a line is in character (DRMR's Verify), and what threshold α follows.

Lines of Long John Silver, written for this project: half of them could be his, the others contradict what is settled of
him, step out of his world, or take a friend for an enemy. Each is scored in both ways that the package knows.

Run: python benchmarks/line_judges.py [--model embedded] [--ways apart together]
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
from dramaturg.nodes.judgement import Appraising
from dramaturg.nodes.verification import TEMPERATURE
from dramaturg.prompts import load
from dramaturg.stores.library import open_role

LINES = yaml.safe_load((Path(__file__).parent / "silver_lines.yaml").read_text(encoding="utf-8"))


def asking(case: Mapping[str, str], half: str) -> Appraising:
    """The question about a line as the node `verify` asks it."""
    role, user = open_role("silver", environment().library).card, case["user"]
    notes = f"{role.profile.strip()}\n\n{LINES['memory'][user]}"
    data = {"notes": notes, "question": case["question"], "line": case[half]}
    values = {"role": role.name, "user": user, "before": ""}
    return Appraising("verify_line", "judge_line", "why_line", values, data, partial(load, language=role.language))


async def scores(asked: ChatModel, half: str, way: str) -> list[float]:
    """h of each line of a half; the reasons that are asked for apart are left out."""

    async def score(case: Mapping[str, str]) -> float:
        if way == "together":
            return (await asking(case, half).together_by(asked, TEMPERATURE)).score
        return await asking(case, half).probable_by(asked)

    return list(await asyncio.gather(*map(score, LINES["cases"])))


def row(way: str, fitting: Sequence[float], strange: Sequence[float], seconds: float) -> list[str]:
    """How far the halves are apart, and where they are told apart best."""
    right, wrong = np.array(fitting), np.array(strange)
    auc = roc_auc_score([1] * len(right) + [0] * len(wrong), [*right, *wrong])

    def correct(alpha: float) -> float:
        return float(np.mean([*(right > alpha), *(wrong <= alpha)]))

    best = max(np.unique([*right, *wrong]), key=correct)
    quarters = [f"{np.quantile(half, share):.2f}" for half in (right, wrong) for share in (0.25, 0.5, 0.75)]
    passing = [f"{np.mean(right > best):.2f}", f"{np.mean(wrong > best):.2f}"]
    each = seconds / (len(right) + len(wrong))
    return [way, f"{auc:.3f}", " ".join(quarters[:3]), " ".join(quarters[3:]), f"{best:.2f}", *passing, f"{each:.1f}"]


async def main(model: str, ways: Sequence[str]) -> None:
    """Print a row for each way."""
    columns = (
        "way",
        "AUC",
        "h of fitting lines",
        "h of strange lines",
        "best α",
        "fitting pass",
        "strange pass",
        "s each",
    )
    table = Table(*columns, title=f"{len(LINES['cases'])} fitting and as many strange lines of Silver, {model}")
    for way in ways:
        asked = chat_model(model, concurrency=2)
        began = time.perf_counter()
        found = [await scores(asked, half, way) for half in ("fitting", "strange")]
        table.add_row(*row(way, *found, time.perf_counter() - began))
    Console(width=140).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--ways", nargs="+", default=["apart", "together"], choices=["apart", "together"])
    given = parser.parse_args()
    asyncio.run(main(given.model, given.ways))
