"""What is measured of replies: by judges, and by the likeness to a right answer, which needs none."""

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from dramaturg.evaluation.comparison.records import Judged, Reply
from dramaturg.evaluation.datasets.dataset import Question
from dramaturg.evaluation.judging.judges import BOUNDS, JUDGES, Case, Judge, judged, prompt_version
from dramaturg.evaluation.judging.shown_texts import shown_texts
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.embedded_texts import likeness
from dramaturg.stores.errors import did_you_mean
from dramaturg.stores.files import canonical
from dramaturg.stores.role import Role

SIMILARITY = "similarity"
METRICS = (SIMILARITY, *JUDGES)
EVENTS = 3


class Scale(NamedTuple):
    """Between which values a metric lies, and which are better."""

    low: float
    high: float
    better: str


def scale_of(metric: str) -> Scale:
    """The scale of a metric.

    Raises:
        ValueError: there is none of that name.
    """
    if metric == SIMILARITY:
        return Scale(-1.0, 1.0, "higher")
    if metric in JUDGES:
        low, high = BOUNDS[JUDGES[metric].scale]
        return Scale(low, high, JUDGES[metric].better)
    near = did_you_mean(metric, METRICS) or f"; there are: {', '.join(METRICS)}."
    raise ValueError(f"There is no metric {metric!r}{near}")


class ToJudge(NamedTuple):
    """A measure of a reply that is wanted; `key` is a digest of all that it depends on."""

    reply: Reply
    question: Question
    role: Role
    metric: str
    language: str
    by: str
    key: str


def to_judge(reply: Reply, question: Question, role: Role, metric: str, language: str, by: str) -> ToJudge:
    """Say what is to be measured.

    Args:
        reply: what was said.
        question: what was asked.
        role: who replied.
        metric: by which measure.
        language: of the judge's prompt.
        by: the name of the model that judges or embeds.
    """
    prompt = version_of(metric, language)
    rests: Any = [metric, prompt, by, reply.key, reply.text, question.model_dump(mode="json"), role.card.profile]
    key = hashlib.sha256(canonical(rests)).hexdigest()[:32]
    return ToJudge(reply, question, role, metric, language, by, key)


def version_of(metric: str, language: str) -> str:
    """The version of a judge's prompt; a measure without one has none."""
    return prompt_version(JUDGES[metric], language) if metric in JUDGES else ""


async def measured(task: ToJudge, judge: ChatModel | None, embedder: Embedder) -> Judged:
    """Take a measure of a reply; a judgement that does not come is missing, and says why.

    Raises:
        ModelError: the judge cannot be reached or refuses every question.
    """
    about: dict[str, Any] = {
        "key": task.key,
        "reply": task.reply.key,
        "metric": task.metric,
        "model": task.by,
        "prompt": version_of(task.metric, task.language),
    }
    if task.metric == SIMILARITY or judge is None:
        right = task.question.right_answers
        # Rounding takes the cosine of a text with itself past 1, which is off the scale.
        value = min(max(await likeness(embedder, task.reply.text, right)), 1.0) if right else None
        return Judged(**about, value=value, applicable=bool(right))
    return await by_judge(JUDGES[task.metric], judge, task, embedder, about)


async def by_judge(judge: Judge, chat: ChatModel, task: ToJudge, embedder: Embedder, about: dict[str, Any]) -> Judged:
    """Have a judge say what a reply is worth."""
    found = await judged(judge, chat, await case_of(task, judge, embedder))
    used = chat.account.usage()
    return Judged(
        **about,
        value=found.value,
        probability=found.probability,
        applicable=found.state != "not_applicable",
        reason=found.reason if found.state == "judged" else found.error,
        error=found.error if found.state == "missing" else "",
        calls=used["calls"],
        tokens=used["prompt_tokens"] + used["completion_tokens"],
    )


async def case_of(task: ToJudge, judge: Judge, embedder: Embedder) -> Case:
    """What a judge is shown."""
    question, role = task.question, task.role
    events = await events_of(role, question.text, embedder) if "events" in judge.needs else ""
    return Case(
        role=role.card.name,
        question=question.text,
        reply=task.reply.text,
        language=task.language,  # type: ignore[arg-type]  # checked where the role's card is read
        profile=role.card.profile,
        gold="\n".join(question.right_answers),
        passages=shown_texts(task.reply.evidence),
        events=events,
        dialogue=question.turns,
        user_role=question.user_role,
        relation=question.labels.get("relation", ""),
        scope=question.scope,
    )


async def events_of(role: Role, question: str, embedder: Embedder) -> str:
    """What a role has lived through that bears most on a question, whichever method replied."""
    texts = [part.strip() for document in role.documents() for part in document.text.split("\n\n") if part.strip()]
    texts += [one.text or f"{one.question} {one.answer}" for one in role.memories()]
    near = await likeness(embedder, question, texts)
    best = sorted(range(len(texts)), key=near.__getitem__, reverse=True)[:EVENTS]
    return "\n\n".join(texts[at] for at in sorted(best))


def metrics_of(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of metrics.

    Raises:
        ValueError: there is none of such a name.
    """
    for name in names:
        scale_of(name)
    return tuple(dict.fromkeys(names))
