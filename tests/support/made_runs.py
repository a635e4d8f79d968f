"""Runs that are made up: a plan, and what judges said of replies, by a function of method, role and question."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dramaturg.evaluation.comparison.plan import FILE, Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, RecordFile, Reply
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.reports.page import written_report

Value = Callable[[str, str, int, str], float | None]
"""By method, role, number of the question, and judge; None: the judgement has failed."""


def made_run(
    folder: Path,
    value: Value,
    *,
    methods: Sequence[str] = ("vanilla", "profile"),
    roles: Sequence[str] = ("ada",),
    questions: int = 3,
    metrics: Sequence[str] = ("accuracy",),
    judges: Sequence[str] = ("judge",),
    judged_by: Sequence[str] | None = None,
    scopes: Sequence[str] = ("in",),
    skip: Callable[[str, str, int], bool] = lambda *_: False,
    text: Callable[[str, int], str] = lambda *_: "So.",
    **more: Any,
) -> Path:
    """Write a run; its judges are those of the plan, unless others judged. Replies that are skipped are not there.

    `text` is what a method says to a question.
    """
    asked = {
        role: tuple(
            DatasetQuestion(id=f"{at}", text=f"Question {at}?", answer="Yes.", scope=scopes[at % len(scopes)])  # type: ignore[arg-type]
            for at in range(questions)
        )
        for role in roles
    }
    entries = [
        Entry(key=f"{method}-{role}-{at}", contestant=method, role=role, seed=0, question=f"{at}")
        for role in roles
        for at in range(questions)
        for method in methods
    ]
    plan = Plan(
        methods=tuple(methods),
        roles=tuple(roles),
        seeds=(0,),
        metrics=tuple(metrics),
        model="speaker",
        judges=tuple(judges),
        dataset="made up",
        licence="",
        dramaturg="0",
        questions=asked,
        entries=tuple(entries),
        **more,
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(plan.model_dump_json(exclude_unset=True), encoding="utf-8")
    there = [one for one in entries if not skip(one.contestant, one.role, int(one.question))]
    records: list[Any] = [
        Reply(
            key=one.key,
            contestant=one.contestant,
            role=one.role,
            seed=0,
            question=one.question,
            asked="?",
            text=text(one.contestant, int(one.question)),
            calls=1,
            tokens=100,
        )
        for one in there
    ]
    for metric in metrics:
        for judge in judges if judged_by is None else judged_by:
            for one in there:
                found = value(one.contestant, one.role, int(one.question), judge)
                key = f"{one.key}-{metric}-{judge}"
                error = "" if found is not None else "Hm."
                records.append(
                    Judged(key=key, reply=one.key, metric=metric, model=judge, value=found, error=error, tokens=10)
                )
    RecordFile(folder).add(records)
    return folder


def report_of(folder: Path) -> str:
    """The report of a run in Markdown."""
    return written_report(folder)[0].read_text(encoding="utf-8")
