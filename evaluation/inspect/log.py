"""The records of a run as logs of Inspect, one a method, so that its viewer opens them (`inspect view`).

A sample is a question to a role; its epoch is the seed. Its scores are those of every metric and judge, with the reason
that the judge gave; a reply that did not come is a sample with an error, a judgement that did not come is unscored.
What is concluded stands in the report alone: Inspect's means take every question for one observation.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ModelOutput
from inspect_ai.scorer import Score

from dramaturg.evaluation.comparison.plan import Entry, Plan
from dramaturg.evaluation.comparison.records import Judged, Records, Reply
from dramaturg.evaluation.reports.tables import tables
from dramaturg.evaluation.reports.values import by_reply, judges_of

Scorers = Mapping[str, Mapping[str, Judged]]
"""By the name of a metric with its judge: what was said of each reply, by the reply's key."""


def write_logs(plan: Plan, records: Records, folder: Path) -> list[Path]:
    """Write a run's logs into a folder, one a method, floor and ceiling too; give their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, name in enumerate((*plan.methods, *plan.bounds), start=1):
        path = folder / f"{number:02d}_{re.sub(r'[^a-z0-9-]+', '_', name.lower()).strip('_')}.eval"
        write_eval_log(log_of(plan, records, name), str(path))
        written.append(path)
    return written


def log_of(plan: Plan, records: Records, contestant: str) -> EvalLog:
    """What one method said to all questions of a run, and what judges said of it."""
    scorers = {
        f"{metric} ({judge})": by_reply(records, metric, judge)
        for metric in plan.metrics
        for judge in judges_of(plan, records, metric)
    }
    samples = [sample_of(plan, one, records.replies.get(one.key), scorers) for one in plan.of(contestant)]
    why = {f"{one.metric} ({one.judge})": one.why for one in tables(plan, records).credits}
    answered = sum(one.error is None for one in samples)
    return EvalLog(
        status="success" if answered == len(samples) else "error",
        eval=EvalSpec(
            created=datetime.fromtimestamp(plan.folder.stat().st_mtime, UTC).isoformat(),
            task=plan.folder.name,
            task_id=f"{plan.folder.name}/{contestant}",
            solver=contestant,
            model=plan.model,
            dataset=EvalDataset(name=plan.dataset, samples=len({(one.role, one.question) for one in plan.entries})),
            config=EvalConfig(epochs=len(plan.seeds)),
            packages={"dramaturg": plan.dramaturg, "inspect_ai": version("inspect_ai")},
            metadata={"roles": list(plan.roles), "compared_with": plan.compared_with, "licence": plan.licence},
        ),
        results=EvalResults(
            total_samples=len(samples),
            completed_samples=answered,
            scores=[scores_of(name, samples, why.get(name, "")) for name in scorers],
        ),
        samples=samples,
    )


def sample_of(plan: Plan, entry: Entry, reply: Reply | None, scorers: Scorers) -> EvalSample:
    """A question, its reply and what was said of that."""
    question = plan.question(entry)
    asked: list[ChatMessage] = [ChatMessageUser(content=f"{one.speaker}: {one.text}") for one in question.turns]
    asked.append(ChatMessageUser(content=reply.asked if reply else question.text))
    said = reply.text if reply and not reply.error else ""
    missing = (reply.error if reply else "not asked yet") if not said else ""
    about = {"role": entry.role, "scope": question.scope, "attribute": question.attribute}
    spent = {"calls": reply.calls, "tokens": reply.tokens, "evidence": reply.evidence} if reply else {}
    return EvalSample(
        id=f"{entry.role}: {entry.question}",
        epoch=plan.seeds.index(entry.seed) + 1,
        input=asked,
        target=question.right_answers,
        messages=[*asked, *([ChatMessageAssistant(content=said)] if said else [])],
        output=ModelOutput.from_content(reply.model if reply else "", said),
        scores=dict(score_of(entry, scorers)),
        metadata=about | spent,
        total_time=reply.seconds if reply else None,
        error=EvalError(message=missing, traceback="", traceback_ansi="") if missing else None,
    )


def score_of(entry: Entry, scorers: Scorers) -> Iterator[tuple[str, Score]]:
    """What each judge said of a reply; what is missing, or not defined, is unscored."""
    for name, found in scorers.items():
        if one := found.get(entry.key):
            about = {"prompt": one.prompt, "probability": one.probability}
            if one.value is None:
                reason = "missing" if one.applicable else "not_applicable"
                yield name, Score.unscored(reason=reason, explanation=one.error or None, metadata=about)
            else:
                yield name, Score(value=one.value, explanation=one.reason or None, metadata=about)


def scores_of(name: str, samples: list[EvalSample], withheld: str) -> EvalScore:
    """The mean of one judge's scores; none where nothing can be concluded from them, for a reason."""
    found = [one.scores[name] for one in samples if one.scores and name in one.scores]
    values = [value for one in found if isinstance(value := one.value, int | float) and value == value]
    shown = {"mean": EvalMetric(name="mean", value=fmean(values))} if values and not withheld else {}
    return EvalScore(
        name=name,
        scorer=name,
        scored_samples=len(values),
        unscored_samples=len(samples) - len(values),
        metrics=shown,
        metadata={"withheld": withheld} if withheld else None,
    )
