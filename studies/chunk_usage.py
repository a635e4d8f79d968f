"""Use of a role's passages with and without guided selection (AMADEUS Table 3 and Figure 1)."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dramaturg.evaluation.metrics.chunks import chunk_duplication, chunk_usage
from dramaturg.evaluation.metrics.intervals import wilson
from dramaturg.models.chat import threshold
from dramaturg.models.local.cross_encoder import cross_encoder
from dramaturg.nodes.passages.retrieval import in_context
from dramaturg.nodes.passages.selection import SelectionSettings, needed
from dramaturg.stores.index.passages import passage_kind
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph
from studies.study import Bench, Cell, Study, StudyFindings, StudyTable, over_roles

N, K = (SelectionSettings.model_fields[name].default for name in ("search_limit", "slots"))
"""Algorithm 1: the most passages that are judged, and how many are selected."""
JUDGED = "en"
"""The language that the cross-encoder reads."""
MOST_SHOWN = 6
"""The last column of the histogram: passages given for this many questions or more."""
PassageJudge = Callable[[str, Sequence[str]], Sequence[float]]


def selected(ranking: Sequence[str], accepted: Sequence[bool]) -> list[str]:
    """The first K passages that were accepted (Algorithm 1, lines 4 to 13)."""
    return [one for one, yes in zip(ranking, accepted, strict=False) if yes][:K]


class Used(NamedTuple):
    """The passages that one question was given."""

    role: str
    question: str
    passages: int
    nearest: tuple[str, ...]
    """The K + 1 nearest, without guided selection."""
    selected: tuple[str, ...] | None
    """Before the fallback; None where the cross-encoder does not read the language."""
    judged: int


async def records(bench: Bench, judge: PassageJudge | None = None) -> list[Used]:
    """Rank the passages of each question in scope, and have them judged."""
    found: list[Used] = []
    for name in bench.roles:
        role = bench.role(name)
        await graph.ainvoke({}, context=bench.context(AmadeusIndexContext, name))
        judging = (judge or cross_encoder().scores) if role.card.language == JUDGED else None
        questions = [one.question for one in role.questions() if one.scope == "in"]
        told = bench.told(f"chunk-usage, {name}", len(questions))
        for question in questions:
            found.append(await asyncio.to_thread(used, bench, name, question, judging))
            told.step()
    return found


def used(bench: Bench, name: str, question: str, judge: PassageJudge | None) -> Used:
    """The passages for one question."""
    role = bench.role(name)
    store = role.index(passage_kind("acts")).open()
    ranking = [
        one
        for one, _ in store.search(bench.embedder(role.card.language).embeddings.embed_query(question), max(N, K + 1))
    ]
    nearest, whole = tuple(ranking[: K + 1]), len(store.passages)
    if judge is None:
        return Used(name, question, whole, nearest, None, 0)
    scores = judge(question, [in_context(store.get(one)) for one in ranking[:N]])
    accepted = [score >= threshold("cross-encoder", "judge") for score in scores]
    return Used(name, question, whole, nearest, tuple(selected(ranking, accepted)), needed(accepted, K))


def given(record: Used, way: str) -> Sequence[str]:
    """The passages that a question is given in a way."""
    if way != "guided":
        return record.nearest[: K + (way == "nearest K + 1")]
    return record.selected or record.nearest


def expected_usage(sizes: Iterable[int], passages: int) -> float:
    """The share of passages that would be used if each question drew as many at random."""
    unused = 1.0
    for size in sizes:
        unused *= 1 - size / passages
    return 1 - unused


WAYS = ("nearest K", "nearest K + 1", "guided")


def findings(records: Sequence[Used]) -> StudyFindings:
    """The numbers."""
    roles = list(dict.fromkeys(one.role for one in records))
    judged = [role for role in roles if any(one.selected is not None for one in records if one.role == role)]
    left_out = [role for role in roles if role not in judged]
    return StudyFindings(
        (usage_rows(records, roles), histogram_rows(records, roles), failure_rows(records, judged)),
        how=(
            f"Algorithm 1 with N = {N}, K = {K} and its fallback of K + 1, on the questions in scope. The judge is the "
            "embedded cross-encoder with the threshold in `models/chat.py`; the 1.5B model would take hours.",
            "Usage is the share of the role's passages that were given for at least one question. By chance: the same "
            "numbers of passages, drawn at random. Gini is 0, and entropy 1, if all passages are given equally often.",
        ),
        limits=(
            *(f"{role}: no guided selection, because the cross-encoder reads English only." for role in left_out),
            f"Guided selection was possible for {len(judged)} roles, so the interval of their mean is useless. The "
            "usage rate of one role is a single number; it rests on its questions and passages, which are stated.",
            "The cross-encoder is not the paper's judge. On the most similar passages it agrees with the 1.5B model in "
            "three of four cases (docs/concepts/guided_selection.md). People have checked neither.",
            "A higher usage is not better in itself: passages chosen at random have the highest.",
        ),
    )


def of_way(records: Sequence[Used], role: str, way: str) -> list[Used]:
    """The records of a role that have this way."""
    return [one for one in records if one.role == role and (way != "guided" or one.selected is not None)]


def sets_of(found: Sequence[Used], way: str) -> list[Sequence[str]]:
    """The passages of each question in a way."""
    return [given(one, way) for one in found]


def usage_rows(records: Sequence[Used], roles: Sequence[str]) -> StudyTable:
    """Usage, Gini and entropy of each role and way, and usage over roles."""
    rows: list[tuple[Cell, ...]] = []
    for way in WAYS:
        of = {role: found for role in roles if (found := of_way(records, role, way))}
        rows += [(way, role, *spread(found, way)) for role, found in of.items()]
        if of:
            rates = {role: [chunk_usage(sets_of(found, way), found[0].passages).rate] for role, found in of.items()}
            rows.append((way, "over roles", None, None, over_roles(rates), None, None, None))
    columns = ("passages given", "role", "questions", "used", "usage", "by chance", "Gini", "entropy")
    return StudyTable("Use of passages", columns, tuple(rows))


def spread(found: Sequence[Used], way: str) -> tuple[Cell, ...]:
    """How one role's passages are used in a way."""
    sets, passages = sets_of(found, way), found[0].passages
    use, even = chunk_usage(sets, passages), chunk_duplication(sets, passages)
    chance = expected_usage(map(len, sets), passages)
    return use.n_questions, f"{use.used} of {use.n_chunks}", use.rate, chance, even.gini, even.entropy


def histogram_rows(records: Sequence[Used], roles: Sequence[str]) -> StudyTable:
    """How many passages are given for 0, 1, 2 … questions."""
    rows: list[tuple[Cell, ...]] = []
    for way in WAYS:
        for role in roles:
            if found := of_way(records, role, way):
                counts = chunk_duplication(sets_of(found, way), found[0].passages).histogram
                many = sum(number for times, number in counts.items() if times >= MOST_SHOWN)
                rows.append((way, role, *(counts.get(times, 0) for times in range(MOST_SHOWN)), many))
    columns = ("passages given", "role", *map(str, range(MOST_SHOWN)), f"{MOST_SHOWN} or more")
    return StudyTable("Passages that were given for so many questions", columns, tuple(rows))


def failure_rows(records: Sequence[Used], roles: Sequence[str]) -> StudyTable:
    """How often guided selection fell back, and how many passages it judged."""
    rows: list[tuple[Cell, ...]] = []
    failed: dict[str, list[float]] = {}
    for role in roles:
        found = of_way(records, role, "guided")
        failed[role] = [float(not one.selected) for one in found]
        judged = sum(one.judged for one in found) / len(found)
        rows.append((role, wilson(int(sum(failed[role])), len(found)), judged))
    if rows:
        rows.append(("over roles", over_roles(failed), None))
    columns = ("role", "nothing selected", "passages judged a question")
    return StudyTable("Guided selection that fell back", columns, tuple(rows))


STUDY = Study("chunk-usage", "Chunk usage with and without guided selection", records, findings)
