"""Follow-up questions looked up as they were asked, and said in full (`nodes/self_contained.py`)."""

from collections.abc import Mapping, Sequence

from dramaturg.evaluation.metrics.intervals import wilson
from dramaturg.nodes.passages.retrieval import PassageSettings
from dramaturg.workflows.amadeus_index import AmadeusIndexContext, graph
from studies.splitters import (
    VALUES,
    Retrieved,
    answer_sentences,
    answerable,
    look_up,
    scale_of,
)
from studies.study import (
    Bench,
    Cell,
    Study,
    StudyFindings,
    StudyTable,
    difference,
    few,
    gold,
    marked,
    over_roles,
)

Asked = Mapping[str, Sequence[Retrieved]]
"""What was found for each way of asking."""
FULL, AS_ASKED = "said in full", "as asked"


async def records(bench: Bench) -> list[tuple[str, Retrieved]]:
    """Look each marked question up in both ways; each with the way."""
    found: list[tuple[str, Retrieved]] = []
    marks = marked(gold().follow_ups, bench.roles)
    told = bench.told("follow-ups", len(marks))
    for name, of in marks.items():
        await graph.ainvoke({}, context=bench.context(AmadeusIndexContext, name))
        role, splitter = bench.role(name), PassageSettings.model_fields["splitter"].default
        known = {one.question: one for one in answerable(role)}
        full = [known[one.question] for one in of]
        asked = [one.model_copy(update={"question": mark.asked}) for one, mark in zip(full, of, strict=True)]
        answers = answer_sentences(role, full, bench)
        for way, questions in ((FULL, full), (AS_ASKED, asked)):
            found += ((way, one) for one in look_up(role, splitter, questions, answers, bench))
        told.step()
    return found


def findings(records: Sequence[tuple[str, Retrieved]]) -> StudyFindings:
    """The numbers of both ways, and of their difference."""
    roles = list(dict.fromkeys(one.role for _, one in records))
    by = {
        way: {role: [one for which, one in records if (which, one.role) == (way, role)] for role in roles}
        for way in (FULL, AS_ASKED)
    }
    rows: list[tuple[Cell, ...]] = []
    for what, value in VALUES.items():
        means = {way: {role: [value(one) for one in of] for role, of in found.items()} for way, found in by.items()}
        scale = scale_of(what)
        apart = difference(means[FULL], means[AS_ASKED], scale)
        rows.append((what, *(over_roles(means[way], scale) for way in by), apart))
    each: list[tuple[Cell, ...]] = []
    for role in roles:
        recall = [sum(VALUES["recall at 3"](one) for one in found[role]) for found in by.values()]
        each.append((role, *(wilson(int(hits), len(by[FULL][role])) for hits in recall)))
    return StudyFindings(
        (
            StudyTable("Follow-up questions, over roles", ("", *by, "difference"), tuple(rows)),
            StudyTable("Recall at 3 of each role", ("role", *by), tuple(each)),
        ),
        how=(
            "For some questions of questions.jsonl we wrote down how a user asks them in the middle of a conversation. "
            "The passages of the default splitter are ranked for both forms. The measures are those of the study of "
            "splitters.",
        ),
        limits=(
            few(len(roles)),
            "People wrote the full questions. What a model makes of a follow-up question is at best as good, and no "
            "model was asked here. How often users ask follow-up questions is not known.",
        ),
    )


STUDY = Study("follow-ups", "Follow-up questions, as asked and said in full", records, findings)
