"""How well the two judges of guided selection tell passages apart, how far they agree, and what thresholds follow.

For each in-scope question of an example role, the passage nearest to the written answer should be accepted, and a
passage from the far half of the ranking should not. Over the most similar passages there is no right answer, only
agreement.

Run: python benchmarks/selection_judges.py [--role beethoven] [--questions 30] [--depth 8]
"""

import argparse
import asyncio
import random
import time
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from dramaturg.models.chat import threshold
from dramaturg.models.environment import environment
from dramaturg.models.local.cross_encoder import cross_encoder
from dramaturg.models.questions import decide
from dramaturg.nodes.passages.retrieval import in_context
from dramaturg.nodes.run import run_of
from dramaturg.prompts import load
from dramaturg.stores.index.passages import passage_kind
from dramaturg.stores.library import open_role
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph


class Case(NamedTuple):
    """A question and three kinds of passage: the answer's own, one that is far off, and the most similar ones."""

    question: str
    answers: str
    far: str
    top: list[str]


async def cases(context: Any, count: int, depth: int) -> list[Case]:
    """Draw the cases; the same for the same arguments."""
    await graph.ainvoke({"rebuild": False}, context=context)
    role = open_role(context.role, environment().library)
    store, model = role.index(passage_kind(context.splitter)).open(), await (await run_of(context)).embedder()
    questions = [question for question in role.questions() if question.scope == "in"]
    random.Random(0).shuffle(questions)
    made = []
    for number, question in enumerate(questions[:count]):
        ranking = store.search(model.embeddings.embed_query(question.question), len(store.passages))
        texts = [in_context(store.get(name)) for name, _ in ranking]
        answer = store.search(model.embeddings.embed_query(str(question.answer)), 1)[0][0]
        far = random.Random(number).choice(texts[len(texts) // 2 :])
        made.append(Case(question.question, in_context(store.get(answer)), far, texts[:depth]))
    return made


async def by_model(context: Any, drawn: list[Case]) -> list[list[float]]:
    """P(yes) for each passage of each case."""
    role = open_role(context.role, environment().library)
    chat, prompt = (await run_of(context)).chat, load("judge", role.card.language)

    async def certainty(question: str, passage: str) -> float:
        messages = prompt.messages(role=role.card.name, data={"question": question, "passage": passage})
        decision = await decide(chat, messages)
        return float(decision.answer) if decision.probability is None else decision.probability

    return [list(await asyncio.gather(*(certainty(case.question, p) for p in passages(case)))) for case in drawn]


def by_cross_encoder(drawn: list[Case]) -> list[list[float]]:
    """The logit for each passage of each case."""
    return [cross_encoder().scores(case.question, passages(case)) for case in drawn]


def passages(case: Case) -> list[str]:
    """All passages of a case."""
    return [case.answers, case.far, *case.top]


def row(name: str, scores: np.ndarray[Any, Any], above: float, seconds: float) -> list[str]:
    """What one judge does with the passages whose verdict is known."""
    right, far = scores[:, 0], scores[:, 1]
    auc = roc_auc_score([1] * len(right) + [0] * len(far), [*right, *far])
    best = max(np.unique(scores[:, :2]), key=lambda t: np.mean(right >= t) - np.mean(far >= t))
    shares = [f"{np.mean(part >= above):.2f}" for part in (right, far, scores[:, 2:])]
    return [name, f"{auc:.3f}", f"{above:g}", *shares, f"{best:.3f}", f"{seconds / scores.size:.3f}"]


async def main(role: str, count: int, depth: int, at_once: int) -> None:
    """Print a row for each judge, and their agreement."""
    context = AmadeusIndexContext(role=role, concurrency=at_once)
    drawn = await cases(context, count, depth)
    began = time.perf_counter()
    model = np.array(await by_model(context, drawn))
    between = time.perf_counter()
    encoder = np.array(by_cross_encoder(drawn))
    ended = time.perf_counter()
    name = (await run_of(context)).chat.name
    limits = threshold(name, "judge"), threshold("cross-encoder", "judge")
    columns = ("judge", "AUC", "threshold", "answer yes", "far yes", "top yes", "best threshold", "s a passage")
    table = Table(*columns, title=f"{role}: {len(drawn)} questions, the {depth} most similar passages of each")
    table.add_row(*row(name, model, limits[0], between - began))
    table.add_row(*row("cross-encoder", encoder, limits[1], ended - between))
    Console(width=110).print(table)
    verdicts = (model[:, 2:] >= limits[0]).ravel(), (encoder[:, 2:] >= limits[1]).ravel()
    same = np.mean(verdicts[0] == verdicts[1])
    print(f"Same verdict on the most similar passages: {same:.2f}, Cohen's kappa {cohen_kappa_score(*verdicts):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--role", default="beethoven")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--concurrency", type=int, default=2)
    given = parser.parse_args()
    asyncio.run(main(given.role, given.questions, given.depth, given.concurrency))
