"""Whether embeddings tell the passage that carries an attribute from others: what `carried_above` rests on.

Each attribute of attribute_marks.yaml is written down with the passage that shows it. It is checked as the extractor
does where the model named that passage, where it named the most similar other one beside it, and where the right one
is not there at all.

Run: python benchmarks/attribute_passages.py [--role beethoven] [--above 0.3]
"""

import argparse
import asyncio
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score
from yaml import safe_load

from dramaturg.nodes.passages.attributes import CARRIED, beside, best_fit
from dramaturg.nodes.passages.retrieval import PassageSettings
from dramaturg.nodes.run import run_of
from dramaturg.stores.index.passages import passage_kind
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph

MARKS = Path(__file__).with_name("attribute_marks.yaml")


async def measured(role: str, above: float | None) -> tuple[float, Counter[tuple[str, str]], float]:
    """The area under the curve over all passages, what became of each case, and the threshold."""
    context = AmadeusIndexContext(role=role)
    await graph.ainvoke({}, context=context)
    run = await run_of(context)
    store = run.role.index(passage_kind(PassageSettings.model_fields["splitter"].default)).open()
    model = await run.embedder()
    least = CARRIED.get(model.name, -1.0) if above is None else above
    became, truths, scores = Counter[tuple[str, str]](), list[bool](), list[float]()
    for mark in safe_load(MARKS.read_text(encoding="utf-8"))[role]:
        text = mark["attribute"]
        (right,) = [one for one in store.passages if mark["shown_by"] in one.text][:1]
        for one in store.passages:
            truths.append(mark["shown_by"] in one.text)
            scores.append((await best_fit(model, text, one, [one], -1.0)).cosine)
        ranking = [store.get(name) for name, _ in store.search(model.embeddings.embed_query(text), 30)]
        wrong = [one for one in ranking if mark["shown_by"] not in one.text]
        cases = {
            "the right one is named": [right, wrong[0]],
            "the nearest other is named": [wrong[0], right],
            "a far one is named": [wrong[-1], right],
            "a far one is named, the right one is not there": [wrong[-1], wrong[-2]],
        }
        for name, shown in cases.items():
            near = [*shown, *beside(shown, store)]
            if "not there" in name:
                near = [one for one in near if mark["shown_by"] not in one.text]
            fit = await best_fit(model, text, shown[0], near, least)
            right_one = mark["shown_by"] in fit.passage.text
            kept = "right" if right_one else "as named" if fit.passage.id == shown[0].id else "another"
            became[name, kept if fit.cosine >= least else "dropped"] += 1
    return float(roc_auc_score(truths, scores)), became, least


def main() -> None:
    """Measure the roles and print a table each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--role", choices=safe_load(MARKS.read_text(encoding="utf-8")), default="beethoven")
    parser.add_argument("--above", type=float)
    given = parser.parse_args()
    auc, became, above = asyncio.run(measured(given.role, given.above))
    table = Table("passages", *(ends := ("right", "as named", "another", "dropped")))
    table.title = f"{given.role}: from a cosine of {above:g}; AUC over all passages {auc:.3f}"
    for name in dict.fromkeys(name for name, _ in became):
        table.add_row(name, *(str(became[name, end]) for end in ends))
    Console().print(table)


if __name__ == "__main__":
    main()
