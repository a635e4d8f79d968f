"""What mem0 finds of LoCoMo's talks, beside this package's memory of talks: the same exchanges, the same vectors.

mem0 is installed into an environment of its own, `build/mem0` (300 MB), when it is missing. It keeps each exchange as
it was said: with a chat model it would keep what that makes of it, which is another question. The file is the user's,
as for `python -m studies memory`, whose measure this is: of the exchanges that hold the answer to a question, the share
that is among the first k.

Run: python benchmarks/memory_peers.py locomo10.json
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import page
from rich.console import Console
from rich.table import Table

from dramaturg.models.embeddings import Embedder
from dramaturg.models.environment import environment
from dramaturg.nodes.talk.index import passages_in, texts_in
from studies.memory import AT, LANGUAGE, indexed, look_up, records_of, talks_in
from studies.study import Bench

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / "build" / "mem0"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MEM0 = "2.2.1"


def installed() -> None:
    """Have mem0 in its environment."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", f"mem0ai=={MEM0}"], check=True)


async def measured(path: Path) -> dict[str, list[dict[int, float]]]:
    """By who finds: for each question, the share of its lines at each k."""
    bench = Bench(environment().cache / "studies", ())
    embedder = await asyncio.to_thread(bench.embedder, LANGUAGE)
    file, found = talks_in(path), dict[str, list[dict[int, float]]]()
    for talk in file.talks:
        records = list(records_of(talk))
        index = await indexed(records, embedder, bench)
        place = {line.id: one.place for one in records for line in one.said}
        questions = [one for one in talk.questions if one.lines]
        ranks = await by_mem0(index.records, [one.text for one in questions], embedder)
        for question, order in zip(questions, ranks, strict=True):
            asked, _ = await look_up(file, talk, question, index, embedder)
            for way, places in asked.lines.items():
                shares = {k: fmean(at is not None and at <= k for at in places) for k in AT}
                found.setdefault(way, []).append(shares)
            shares = {k: fmean(place[one] in order[:k] for one in question.lines) for k in AT}
            found.setdefault("mem0", []).append(shares)
    return found


async def by_mem0(records: list[Any], questions: list[str], embedder: Embedder) -> list[list[int]]:
    """The places of the records that mem0 finds for each question."""
    texts, rows = ["\n".join(texts_in(one)) for one in records], list[Any]()
    long = [text for text, one in zip(texts, records, strict=True) if len(passages_in(one)) != 1]
    whole = dict(zip(long, await embedder.documents(long), strict=True)) if long else {}
    for text, one in zip(texts, records, strict=True):
        kept = one.directions(embedder.name)
        rows.append(whole[text] if text in whole else kept[0])
    asked = [await embedder.query(one) for one in questions]
    vectors = {
        " ".join(text.split()): list(map(float, row))
        for text, row in zip([*texts, *questions], [*rows, *asked], strict=True)
    }
    given = json.dumps({"texts": texts, "questions": questions, "vectors": vectors, "most": max(AT)})
    ran = await asyncio.to_thread(
        subprocess.run,
        [PYTHON, HERE / "memory_systems.py"],
        input=given,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout.splitlines()[-1])


def main() -> None:
    """Measure, and print a table for a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    installed()
    found = asyncio.run(measured(given.file))
    table = Table("by", *(f"at {k}" for k in AT))
    for name, shares in found.items():
        label = f"mem0 {MEM0}, infer=False" if name == "mem0" else f"this package, {name}"
        table.add_row(label, *(f"{fmean(one[k] for one in shares):.3f}" for k in AT))
    Console().print(table)
    print(page.markdown(table), f"\n{len(found['mem0'])} questions")


if __name__ == "__main__":
    main()
