"""What a floor under the memory of talks would cost: what is near enough to a question by neither way is not given.

After small talk (`small_talk.yaml`) nothing needs to come back; after the questions of LoCoMo the lines with the answer
do. For two forms of a floor, each value is tried: how many points of the share of lines at 10 it costs (as `dramaturg
studies memory` counts it), and after how much of the small talk nothing would come back. Printed is the value that
silences most of the English small talk at a cost of less than half a point: the talks are English.

Run: python benchmarks/talk_floor.py locomo10.json [--embedding minilm] [--talks 10]
"""

import argparse
import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import page
import yaml
from rich.console import Console
from rich.table import Table

from dramaturg.models.embeddings import Embedder, embedder
from dramaturg.models.environment import environment
from dramaturg.nodes.talk.index import TalkIndex
from dramaturg.stores.index.vectors import Vectors, unit_rows
from studies.datasets.long_talks import LongTalks
from studies.memory import indexed, records_of, talks_in
from studies.study import Bench

SMALL = Path(__file__).with_name("small_talk.yaml")
FIRST, COST = 10, 0.005


class Near(NamedTuple):
    """How near records are: the cosine and BM25 of each, shape (n,); 0 where no word is shared."""

    cosines: Vectors
    words: Vectors


class Asked(NamedTuple):
    """The records with the answer to a question that are among the first ten, and how many have it in all."""

    found: Near
    of: int


Floor = Callable[[Near], Any]


def floors() -> Iterator[tuple[str, str, Floor]]:
    """Each form with each of its values."""
    for least in np.arange(0.1, 1.2, 0.02):
        yield (
            "their sum",
            f"cosine + BM25 / 20 ≥ {least:.2f}",
            lambda near, least=least: near[0] + near[1] / 20 >= least,
        )
    for least in np.arange(0.1, 0.96, 0.02):
        for words in np.arange(0.5, 8, 0.5):
            yield (
                "either",
                f"cosine ≥ {least:.2f} or BM25 ≥ {words:.1f}",
                lambda near, least=least, words=words: (near[0] >= least) | (near[1] >= words),
            )


async def near(index: TalkIndex, model: Embedder, text: str) -> tuple[Near, list[int]]:
    """How near each record is to a text, and the places of the first ten."""
    (vector,) = unit_rows([await model.query(text)])
    cosines, words = index._by_meaning(vector, len(index)), index._by_words(text, len(index))
    first = [one.at for one in index.nearest(text, vector, len(index), FIRST)]
    return Near(cosines, np.where(np.isfinite(words), words, 0.0)), first


async def measured(file: LongTalks, name: str, talks: int) -> tuple[list[Asked], dict[str, list[Near]]]:
    """All questions, and the small talk by its language, in each talk."""
    bench, model = Bench(environment().cache / "studies", ()), embedder(name, "en")
    small: dict[str, list[str]] = yaml.safe_load(SMALL.read_text(encoding="utf-8"))
    asked, said = list[Asked](), {language: list[Near]() for language in small}
    for talk in file.talks[:talks]:
        records = list(records_of(talk))
        index = await indexed(records, model, bench)
        place = {line.id: one.place for one in records for line in one.said}
        for question in (one for one in talk.questions if one.lines):
            there, first = await near(index, model, question.text)
            found = [place[one] for one in question.lines if place[one] in first]
            asked.append(Asked(Near(there.cosines[found], there.words[found]), len(question.lines)))
        for language, texts in small.items():
            said[language] += [(await near(index, model, one))[0] for one in texts]
    return asked, said


def main() -> None:
    """Try each floor, and print the best of each form."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--embedding", default="minilm")
    parser.add_argument("--talks", type=int, default=10)
    given = parser.parse_args()
    asked, said = asyncio.run(measured(talks_in(given.file), given.embedding, given.talks))
    best = dict[str, tuple[float, list[str]]]()
    for form, name, floor in floors():
        cost = fmean(float((~floor(one.found)).sum()) / one.of for one in asked)
        silent = {language: fmean(not floor(one).any() for one in all_of) for language, all_of in said.items()}
        if cost < COST and silent["en"] >= best.get(form, (0.0, []))[0]:
            shares = (f"{share:.0%}" for share in silent.values())
            best[form] = silent["en"], [name, f"{100 * cost:.2f}", *shares]
    table = Table(f"floor, {given.embedding}", "points at 10", *(f"nothing comes back, {one}" for one in said))
    for _, row in best.values():
        table.add_row(*row)
    Console(width=160).print(table)
    print(page.markdown(table))


if __name__ == "__main__":
    main()
