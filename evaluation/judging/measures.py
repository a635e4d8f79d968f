"""What is measured of replies: by judges, and by the likeness to a right answer, which needs none."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from dramaturg.evaluation.comparison.records import Judged, Reply
from dramaturg.evaluation.datasets.dataset import Question
from dramaturg.evaluation.judging.judges import BOUNDS, JUDGES, Case, Judge, judged, prompt_version
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.text.similarity import cosines
from dramaturg.stores.errors import did_you_mean
from dramaturg.stores.files import canonical
from dramaturg.stores.role import Role

SIMILARITY = "similarity"


METRICS = (SIMILARITY, *JUDGES)


EVENTS = 3


class MetricScale(NamedTuple):
    """Between which values a metric lies, and which are better."""

    low: float
    high: float
    better: str


class ToJudge(NamedTuple):
    """A measure of a reply that is wanted; `key` is a digest of all that it depends on."""

    reply: Reply
    question: Question
    role: Role
    metric: str
    language: str
    by: str
    key: str


PLACES = ("knowledge", "selection", "specific", "general", "memories", "dialogues", "identity", "episodes")
"""Where the methods' evidence has what prompts show of a role."""


TEXTS = ("text", "sentence", "description")


class RefusalRates(NamedTuple):
    """Shares of judged replies; None where there is no reply of that kind."""

    overall: float | None
    """Replies that kept to what the role can know: refusals out of scope and answers in scope, of all. Higher is
    better, and a role that refuses everything or nothing reaches the share of one scope."""
    true_refusals: float | None
    """Refusals of the questions out of scope: higher is better."""
    false_refusals: float | None
    """Refusals of the questions in scope: lower is better."""
    n_in: int
    """Judged replies to questions in scope."""
    n_out: int
    missing: int
    """Replies that no judge could judge; they are in no share."""


def scale_of(metric: str) -> MetricScale:
    """The scale of a metric.

    Raises:
        ValueError: there is none of that name.
    """
    if metric == SIMILARITY:
        return MetricScale(-1.0, 1.0, "higher")
    if metric in JUDGES:
        low, high = BOUNDS[JUDGES[metric].scale]
        return MetricScale(low, high, JUDGES[metric].better)
    near = did_you_mean(metric, METRICS) or f"; there are: {', '.join(METRICS)}."
    raise ValueError(f"There is no metric {metric!r}{near}")


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
        value = min(max(await cosines(embedder, task.reply.text, right)), 1.0) if right else None
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
    near = await cosines(embedder, question, texts)
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


def shown_texts(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the passages, memories, dialogues, statements or triples of a reply, each once, as they come."""
    found = (text for place in PLACES for text in texts_in(evidence.get(place)))
    return tuple(dict.fromkeys(found))


def texts_in(value: Any) -> Iterator[str]:
    """The texts in a part of the evidence, however deep."""
    if isinstance(value, Mapping):
        yield from (text for name in TEXTS if isinstance(text := value.get(name), str) and text.strip())
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from texts_in(one)


def refusal_rates(judged: Iterable[tuple[Literal["in", "out"], float | None]]) -> RefusalRates:
    """Count refusals by the scope of the questions.

    The paper scores a reply 1 if it keeps to what the role can know, else 0, and averages over all questions of a
    dataset, in and out of scope together; its Figure 4 is on those out of scope alone. It leaves open what a refusal
    in scope costs: here it counts against the overall rate. Its judge also looks for lore that does not fit; here an
    answer in scope is kept, right or wrong, since other judges say that.

    Args:
        judged: of each reply, the scope of its question, and whether it declined: 1 (or True), 0, or None if missing.

    Raises:
        ValueError: a scope is unknown, or a judgement neither yes nor no.
    """
    refused: dict[str, list[bool]] = {"in": [], "out": []}
    missing = 0
    for scope, value in judged:
        if scope not in refused or value not in (0, 1, None):
            raise ValueError(
                f"Give the scope, in or out, and 1, 0 or None for yes, no or missing: not {scope!r}, {value}."
            )
        if value is None:
            missing += 1
        else:
            refused[scope].append(bool(value))
    kept = refused["out"] + [not one for one in refused["in"]]
    n_in, n_out = len(refused["in"]), len(refused["out"])
    return RefusalRates(_share(kept), _share(refused["out"]), _share(refused["in"]), n_in, n_out, missing)


def _share(of: list[bool]) -> float | None:
    return sum(of) / len(of) if of else None
