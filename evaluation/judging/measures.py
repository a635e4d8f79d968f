"""What is measured of replies: by judges, and by the likeness to a right answer, which needs none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from dramaturg.evaluation.comparison.contestants import BOUNDS, CEILING, digest
from dramaturg.evaluation.comparison.records import Judged, Reply
from dramaturg.evaluation.comparison.talks import lines_in
from dramaturg.evaluation.datasets.dataset import DatasetQuestion, DatasetTurn
from dramaturg.evaluation.interviews.cleaning import anonymous
from dramaturg.evaluation.judging.judges import JUDGES, Case, Judge, judged, prompt_version
from dramaturg.evaluation.judging.presence import presence
from dramaturg.evaluation.judging.printed import marked
from dramaturg.evaluation.judging.recall import recalled
from dramaturg.evaluation.judging.scales import OF_SCENES, OF_TALKS, PRESENCE, RECALL, SIMILARITY
from dramaturg.models.chat import ChatModel
from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.asking import asked_in_all
from dramaturg.nodes.text.similarity import cosines
from dramaturg.nodes.told import told_documents
from dramaturg.stores.documents.secrets import told_among
from dramaturg.stores.role import Role

EVENTS = 3


class ToJudge(NamedTuple):
    """A measure of a reply that is wanted; `key` is a digest of all that it depends on."""

    reply: Reply
    question: DatasetQuestion
    role: Role
    metric: str
    language: str
    by: str
    key: str
    anonymous: bool = False
    """Whether the judge is not shown the names of the role and of who asks."""


MARKS = ("[the participant]", "[the user]")
"""Without angle brackets, which prompts take the force from."""
NO_NAMES = ("language", "scope", "turns")
"""Of what a judge is shown, that which holds no names."""
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


def to_judge(
    reply: Reply,
    question: DatasetQuestion,
    role: Role,
    metric: str,
    language: str,
    by: str,
    *,
    anonymous: bool = False,
) -> ToJudge:
    """Return a measure to take, with its key; `language` is that of the judge's prompt, `by` the model's name."""
    prompt = version_of(metric, language)
    rests: Any = [metric, prompt, by, reply.key, reply.text, question.told(), role.card.profile]
    if anonymous and metric in JUDGES:
        rests.append([role.card.name, *role.card.aliases])
    return ToJudge(reply, question, role, metric, language, by, digest(rests), anonymous)


def version_of(metric: str, language: str) -> str:
    """Return the version of a judge's prompt; empty for a measure without one."""
    return prompt_version(JUDGES[metric], language) if metric in JUDGES else ""


async def measured(task: ToJudge, judge: ChatModel | None, embedder: Embedder, printed: str = "") -> Judged:
    """Take a measure of a reply; a judgement that does not come is missing, and its error says why.

    Args:
        task: what is measured of which reply.
        judge: who judges, where a judge does.
        embedder: measures likeness.
        printed: the prompt, where it is a paper's own.
    """
    about: dict[str, Any] = {
        "key": task.key,
        "reply": task.reply.key,
        "metric": task.metric,
        "model": task.by,
        "prompt": version_of(task.metric, task.language),
    }
    if task.metric == RECALL:
        fact = task.question.talk.fact if task.question.talk else ""
        value = float(recalled(task.reply.text, fact)) if fact else None
        return Judged(**about, value=value, applicable=bool(fact))
    if task.metric in OF_SCENES:
        value = presence(task.metric, task.question.played, task.reply.text, task.reply.in_prompts)
        return Judged(**about, value=value, applicable=value is not None)
    if task.metric == SIMILARITY or judge is None:
        right = task.question.right_answers
        # Rounding takes the cosine of a text with itself past 1, which is off the scale.
        value = min(max(await cosines(embedder, task.reply.text, right)), 1.0) if right else None
        return Judged(**about, value=value, applicable=bool(right))
    by = partial(marked, printed) if printed else None
    found = await judged(JUDGES[task.metric], judge, await case_of(task, JUDGES[task.metric], embedder), by)
    return Judged(
        **about,
        value=found.value,
        probability=found.probability,
        applicable=found.state != "not_applicable",
        reason=found.reason if found.state == "judged" else found.error,
        error=found.error if found.state == "missing" else "",
        refused=found.refused,
        **asked_in_all([judge.account.usage()]),
    )


async def case_of(task: ToJudge, judge: Judge, embedder: Embedder) -> Case:
    """What a judge is shown."""
    question, role = task.question, task.role
    events = await events_of(role, question.text, embedder) if "events" in judge.needs else ""
    case = Case(
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
        pressed=question.talk.pressed if question.talk else "",
        talk=whole_talk(task),
        scene=question.talk.scene if question.talk else "",
        reference=question.talk.reference if question.talk else "",
        fact=question.labels.get("fact", ""),
        task=question.labels.get("task", ""),
        turns=question.turn or 1,
        scope=question.scope,
    )
    return nameless(case, (role.card.name, *role.card.aliases)) if task.anonymous else case


def nameless(case: Case, names: Iterable[str]) -> Case:
    """Put marks in the place of names in all that a judge is shown, as models know famous people by them.

    What counts as a name: see `anonymous` of interviews.

    Args:
        case: of a reply.
        names: the role's name and aliases.
    """
    hide = partial(anonymous, names=tuple(names), experimenter=case.user_role, marks=MARKS)

    def hidden(value: Any) -> Any:
        if isinstance(value, str):
            return hide(value)
        if isinstance(value, DatasetTurn):
            return DatasetTurn(speaker=hide(value.speaker), text=hide(value.text))
        return tuple(map(hidden, value))

    shown = {name: hidden(getattr(case, name)) for name in type(case).model_fields if name not in NO_NAMES}
    return case.model_copy(update=shown)


def whole_talk(task: ToJudge) -> tuple[DatasetTurn, ...]:
    """All that was said in a talk, at its last turn; nothing before."""
    question, talk = task.question, task.question.talk
    if talk is None or talk.turn < talk.turns:
        return ()
    return (*question.turns, *exchange(question, task.reply, task.role, task.language))


def exchange(question: DatasetQuestion, reply: Reply, role: Role, language: str) -> tuple[DatasetTurn, ...]:
    """A turn of a talk as lines: what the user says, and what the role does."""
    user = question.user_role or lines_in(language).stranger
    return DatasetTurn(speaker=user, text=reply.asked), DatasetTurn(speaker=role.card.name, text=reply.text)


def is_measured(metric: str, contestant: str) -> bool:
    """Whether a metric is of this contestant: right answers, one by one, are no talk that could be judged."""
    if metric in OF_SCENES and metric != PRESENCE:
        return contestant not in BOUNDS  # they have no prompts
    return contestant != CEILING or metric not in OF_TALKS or metric == RECALL


def has_row(metric: str, question: DatasetQuestion) -> bool:
    """Whether a value would stand in a table: what hangs on the scope has no row for turns without one."""
    by_scope = metric in JUDGES and JUDGES[metric].better == "by_scope"
    return not (by_scope and question.talk and not question.scope)


def may_apply(metric: str, question: DatasetQuestion) -> bool:
    """Whether a metric can be of this question or turn, by what the question says; each reply says the rest itself."""
    talk = question.talk
    if not has_row(metric, question):
        return False
    if metric == RECALL:
        return bool(talk and talk.fact)
    if metric in OF_SCENES:
        return presence(metric, question.played, "", ()) is not None
    if metric not in JUDGES:
        return metric != SIMILARITY or bool(question.right_answers)
    needs = JUDGES[metric].needs
    there = {
        "gold": bool(question.right_answers),
        "user_role": bool(question.user_role),
        **{part: bool(question.labels.get(part)) for part in ("relation", "fact", "task")},
        "dialogue": bool(talk and talk.turn > 1),
        "pressed": bool(talk and talk.pressed),
        "talk": bool(talk and talk.turn == talk.turns),
        "scene": bool(talk and talk.scene),
        "reference": bool(talk and talk.reference),
    }
    return all(there.get(part, True) for part in needs)


async def events_of(role: Role, question: str, embedder: Embedder) -> str:
    """Return what of the documents and memories that a role has been told bears most on a question.

    It is the same for all methods, at whatever time of the story they have the role speak.
    """
    texts = [part.strip() for one in told_documents(role) for part in one.text.split("\n\n") if part.strip()]
    texts += [one.text or f"{one.question} {one.answer}" for one in told_among(role.memories(), role.own_names)]
    near = await cosines(embedder, question, texts)
    best = sorted(range(len(texts)), key=near.__getitem__, reverse=True)[:EVENTS]
    return "\n\n".join(texts[at] for at in sorted(best))


def shown_texts(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the passages, memories, dialogues, statements or triples of a reply, each once, as they come."""
    found = (text for place in PLACES for text in texts_in(evidence.get(place)))
    return tuple(dict.fromkeys(found))


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a part of the evidence, however deep."""
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
    overall, out, within = (sum(of) / len(of) if of else None for of in (kept, refused["out"], refused["in"]))
    return RefusalRates(overall, out, within, len(refused["in"]), len(refused["out"]), missing)
