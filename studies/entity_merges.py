"""Entity normalization against names that people put together (RoleRAG 3.2, Algorithm 1)."""

import asyncio
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from dramaturg.evaluation.metrics.intervals import wilson
from dramaturg.models.chat import ChatModel, threshold
from dramaturg.models.errors import UNANSWERED
from dramaturg.models.questions import decide
from dramaturg.nodes.graph.normalization import Named, Pair, candidate_pairs, merge_groups
from dramaturg.prompts import load
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.names import normal_name
from dramaturg.workflows.role_rag_index import RoleRagIndexContext
from studies.separation import separation
from studies.study import (
    SEED,
    Bench,
    Cell,
    MarkedName,
    Study,
    StudyFindings,
    StudyTable,
    certainty_of,
    few,
    gold,
    marked,
    over_roles,
    spaced,
)

NEIGHBOURS: int = RoleRagIndexContext.model_fields["neighbours"].default
"""k of Algorithm 1."""
MOST = 16
"""Names of a role that are compared: more take too long with the embedded model."""
WORD = re.compile(r"[a-zà-ÿ]{4,}")
G = TypeVar("G", bound=Sequence[MarkedName])


class Compared(NamedTuple):
    """Two names that Algorithm 1 compares."""

    one: str
    other: str
    certainty: float | None
    """P(same); None where there is no answer."""


class Merging(NamedTuple):
    """All names of a role, how people group them, and what was answered on the pairs that were compared."""

    role: str
    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Compared, ...]
    above: float
    """P(same) from which two names are one by default."""


class PairCounts(NamedTuple):
    """How a grouping agrees with that of people, by pairs of names."""

    hits: int
    found: int
    wanted: int

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.hits / (self.found + self.wanted) if self.found + self.wanted else 1.0


async def records(bench: Bench) -> list[Merging]:
    """Compare the marked names of each role as indexing does."""
    return [await merging(bench, name, fewer(groups)) for name, groups in marked(gold().aliases, bench.roles).items()]


def fewer(groups: Sequence[G]) -> list[G]:
    """Groups, evenly spaced, with no more names than are compared."""
    sizes = range(len(groups), 0, -1)
    return next((found for size in sizes if sum(map(len, found := spaced(groups, size))) <= MOST), [])


async def merging(bench: Bench, name: str, groups: Sequence[Sequence[MarkedName]]) -> Merging:
    """Ask about the pairs of one role."""
    role = bench.role(name)
    chat = bench.chat(role.card.language)
    entities = entities_of([one for group in groups for one in group])
    texts = [one.text for one in entities]
    vectors = unit_rows(await (await asyncio.to_thread(bench.embedder, role.card.language)).documents(texts))
    pairs = candidate_pairs(entities, vectors, NEIGHBOURS)
    told = bench.told(f"entity-merges, {name}", len(pairs))

    async def asked(pair: Pair) -> Compared:
        certainty = await same(pair, chat, role.card.language)
        told.step()
        return Compared(pair.one.name, pair.other.name, certainty)

    compared = await asyncio.gather(*map(asked, pairs))
    right = tuple(tuple(one.name for one in group) for group in groups)
    names = tuple(one.name for one in entities)
    return Merging(name, names, right, tuple(compared), threshold(chat.name, "same"))


def entities_of(names: Iterable[MarkedName]) -> list[Named]:
    """Names as entities, each with the sentence that it stands in, in an order that keeps no group together."""
    found = [
        Named(normal_name(one.name), one.name, one.told, (one.name, at, at + 1), one.type)
        for at, one in enumerate(names)
    ]
    random.Random(SEED).shuffle(found)  # noqa: S311 (an order, not a secret)
    return found


async def same(pair: Pair, chat: ChatModel, language: str) -> float | None:
    """P(same), as indexing asks for it."""
    messages = load("same_entity", language).messages(data={"one": pair.one.entry, "other": pair.other.entry})
    try:
        decision = await decide(chat, messages)
    except UNANSWERED:
        return None
    return certainty_of(decision)


def scored(record: Merging, joined: Iterable[tuple[str, str]]) -> PairCounts:
    """Compare the groups that pairs make with those of people."""
    found = pairs_in(merge_groups(list(record.names), joined))
    wanted = pairs_in(record.groups)
    return PairCounts(len(found & wanted), len(found), len(wanted))


def pairs_in(groups: Iterable[Sequence[str]]) -> set[frozenset[str]]:
    """All pairs of names that are together."""
    return {frozenset(pair) for group in groups for pair in combinations(group, 2)}


def by_certainty(record: Merging, above: float) -> list[tuple[str, str]]:
    """The pairs that are one from a certainty on."""
    return [(one.one, one.other) for one in record.pairs if one.certainty is not None and one.certainty >= above]


def rightly(record: Merging) -> list[tuple[str, str]]:
    """The pairs that a judge without a fault would join: those that were compared and belong together."""
    wanted = pairs_in(record.groups)
    return [(one.one, one.other) for one in record.pairs if frozenset((one.one, one.other)) in wanted]


def sharing_words(record: Merging) -> list[tuple[str, str]]:
    """The pairs that have a word of four letters in common, or one name within the other where there are no spaces."""
    return [(one.one, one.other) for one in record.pairs if alike(normal_name(one.one), normal_name(one.other))]


def alike(one: str, other: str) -> bool:
    """Whether two names look like one."""
    words = set(WORD.findall(one)) & set(WORD.findall(other))
    return bool(words) or (not one.isascii() and (one in other or other in one))


def in_hindsight(record: Merging) -> list[tuple[str, str]]:
    """The pairs at the threshold that would have been best here."""
    steps = sorted({one.certainty for one in record.pairs if one.certainty is not None}) or [1.0]
    best = max(steps, key=lambda above: scored(record, by_certainty(record, above)).f1)
    return by_certainty(record, best)


RULES: Mapping[str, Callable[[Merging], list[tuple[str, str]]]] = {
    "P(same), default threshold": lambda record: by_certainty(record, record.above),
    "P(same), best threshold in hindsight": in_hindsight,
    "names that share a word": sharing_words,
    "no fault in what is compared": rightly,
}


def findings(records: Sequence[Merging]) -> StudyFindings:
    """The numbers."""
    failed = sum(one.certainty is None for record in records for one in record.pairs)
    pairs = sum(len(record.pairs) for record in records)
    above = ", ".join(sorted({f"{one.above:g}" for one in records}))
    return StudyFindings(
        (pair_rows(records), role_rows(records), separation_rows(records)),
        how=(
            f"At most {MOST} names of each role, in groups that are evenly spaced in "
            "`studies/gold/aliases.yaml`. They pass through Algorithm 1 in a fixed random order with "
            f"k = {NEIGHBOURS}. Each name is compared with the nearest names before it, by name and sentence. For each "
            "pair the model is asked, by names and types alone, whether both are the same entity. They are merged if "
            f"P(same) ≥ {above}.",
            "Precision, recall and F1 count pairs of names in one group. The floor merges names that share a word of "
            "four letters and asks no model. The ceiling is a judge that makes no mistake on the pairs that k leaves.",
            f"{failed} of {pairs} pairs had no answer and count as different.",
        ),
        limits=(
            "The threshold was chosen on Beethoven's pairs (benchmarks/graph_judges.py), so his row does not test it. "
            "The hindsight row is chosen on each role's own answers, so it is not a result.",
            "The names were picked to be hard, with one sentence each, and not taken from an extraction. Real text has "
            "more easy pairs and more mentions. Pairs in one group are not independent, so Wilson intervals are too "
            "narrow.",
            few(len(records)),
        ),
    )


def pair_rows(records: Sequence[Merging]) -> StudyTable:
    """All roles together, and the mean of F1 over roles."""
    rows: list[tuple[Cell, ...]] = []
    for rule, joined in RULES.items():
        scores = {one.role: scored(one, joined(one)) for one in records}
        hits, found, wanted = (sum(one[at] for one in scores.values()) for at in range(3))
        precision = wilson(hits, found) if found else None
        recall = wilson(hits, wanted) if wanted else None
        rows.append((rule, precision, recall, over_roles({role: [one.f1] for role, one in scores.items()})))
    columns = ("rule", "precision, pairs of all roles", "recall, pairs of all roles", "F1 over roles")
    return StudyTable("Pairs of names", columns, tuple(rows))


def role_rows(records: Sequence[Merging]) -> StudyTable:
    """Each role by itself."""
    rows: list[tuple[Cell, ...]] = []
    for record in records:
        for rule, joined in RULES.items():
            score = scored(record, joined(record))
            precision = wilson(score.hits, score.found) if score.found else None
            recall = wilson(score.hits, score.wanted) if score.wanted else None
            rows.append((record.role, rule, len(record.names), precision, recall, score.f1))
    return StudyTable("Each role", ("role", "rule", "names", "precision", "recall", "F1"), tuple(rows))


def separation_rows(records: Sequence[Merging]) -> StudyTable:
    """How well P(same) orders the pairs that were compared."""
    rows: list[tuple[Cell, ...]] = []
    for record in records:
        wanted, sure = pairs_in(record.groups), [one for one in record.pairs if one.certainty is not None]
        one = [c.certainty or 0.0 for c in sure if frozenset((c.one, c.other)) in wanted]
        two = [c.certainty or 0.0 for c in sure if frozenset((c.one, c.other)) not in wanted]
        found = separation(one, two)
        rows.append((record.role, found, len(one), len(two)))
    columns = ("role", "AUC of P(same)", "pairs that are one", "pairs that are two")
    return StudyTable("P(same) on the pairs that were compared", columns, tuple(rows))


STUDY = Study(
    "entity-merges",
    "Entity merges against names that belong together",
    records,
    findings,
    lambda bench: marked(gold().aliases, bench.roles),
)
