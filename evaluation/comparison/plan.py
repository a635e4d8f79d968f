"""The plan of an evaluation: who is asked what, by which measures. A report needs it and what was said, no model."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from dramaturg.evaluation.comparison.contestants import (
    BOUNDS,
    Contestant,
    ToAsk,
    contestant,
    contestants_of,
    language_in,
    languages_of,
    server_of,
    speaking_model,
    to_ask_of,
)
from dramaturg.evaluation.comparison.external import PACKAGES
from dramaturg.evaluation.comparison.interviews import FOLDER as INTERVIEWS
from dramaturg.evaluation.comparison.interviews import Interview, Inventory, interviews_of, told_apart
from dramaturg.evaluation.comparison.labels import KnownLabels, labels_of
from dramaturg.evaluation.comparison.making import Making, differences
from dramaturg.evaluation.comparison.needs import require_all
from dramaturg.evaluation.comparison.records import FILE as RECORDS
from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.comparison.talks import FEWEST, scenes_opened, scripted_talks, talks_in, talks_of
from dramaturg.evaluation.datasets.casting import asked_of
from dramaturg.evaluation.datasets.dataset import AIM, Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.evaluation.judging.printed import require_printed
from dramaturg.evaluation.judging.scales import OF_SCENES, OF_TALKS, SIMILARITY, UNJUDGED
from dramaturg.models.clients import name_of
from dramaturg.models.embeddings import embedder_name
from dramaturg.nodes.run import RunContext
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_if_there, write_bytes
from dramaturg.stores.role import Role

FILE = "plan.json"
OWN = "questions.jsonl"
OF_ALL = "mean"
"""What stands in a primary comparison for the mean of all judges."""
OWN_ONES, NONE = "the roles' own questions", "no dataset"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Frozen):
    """A reply that is wanted, by its key in the records."""

    key: str
    contestant: str
    role: str
    seed: int
    question: str


class Excluded(_Frozen):
    """A question that a report leaves out, as no method has it."""

    role: str
    question: str
    text: str
    why: str


class Plan(_Frozen):
    """The plan of a run: everything that is to be asked and measured, so that a report needs no model."""

    methods: tuple[str, ...]
    roles: tuple[str, ...]
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    """Those of replies; what is measured by interviews is in `inventories`."""
    model: str
    judges: tuple[str, ...]
    dataset: str
    licence: str
    dramaturg: str
    """The version by which it was made; that of a reply stands in its record."""
    questions: Mapping[str, tuple[DatasetQuestion, ...]]
    """Of each role."""
    entries: tuple[Entry, ...]
    bounds: tuple[str, ...] = ()
    """Floor and ceiling, which have entries too and are no methods."""
    inventories: tuple[Inventory, ...] = ()
    interviews: tuple[Interview, ...] = ()
    labels: Mapping[str, Mapping[str, KnownLabels]] = {}
    """What is right, by inventory and role, so that a report needs no file of it."""
    baseline: str = ""
    """The method that each other one is compared with; plans of earlier versions have none: the first."""
    primary: str = ""
    """The comparison that is tested by itself: a metric, and with a colon a judge, or `mean` for that of all judges.
    Plans of earlier versions have none: the first metric by the first judge."""
    embedders: Mapping[str, str] = {}
    """Which embedding model measures each role, where likeness is measured; plans of earlier versions do not say."""
    left_out: Mapping[str, Mapping[str, int]] = {}
    """How many questions of each role a limit left out, by their kind."""
    repeated: Mapping[str, int] = {}
    """How many questions of each role came again, and are asked once."""
    unplayed: tuple[str, ...] = ()
    """Which roles of a dataset a method has no files for, and for want of what; they are not asked."""
    turns: int = 0
    """How many turns each talk has; 0: there are none, or they are those of a script."""
    user: str = ""
    """Whom a model plays that speaks with the roles, and which model that is; empty: nobody."""
    anonymous: bool = False
    """Whether judges of replies are not shown the names of the role and of who asks; those of interviews never are."""
    made: Mapping[str, Making] = {}
    """What makes the replies of each method; plans of earlier versions do not say."""
    taken_from: str = ""
    """The run whose answers were taken over when this one began."""
    excluded: tuple[Excluded, ...] = ()
    """What a report leaves out; the plan that is kept has none."""
    _folder: Path | None = PrivateAttr(default=None)

    @property
    def folder(self) -> Path:
        """Where it is kept, and the interviews with it; it has no folder before it was written or read."""
        if self._folder is None:
            raise RuntimeError("This plan has no folder yet: write it, or read it from one.")
        return self._folder

    @property
    def compared_with(self) -> str:
        """The method that each other one is compared with."""
        return self.baseline or self.methods[0]

    @property
    def primary_metric(self) -> tuple[str, str]:
        """The metric of the primary comparison, and whose numbers it is of: a judge's, or those of all in the mean."""
        metric, _, judge = self.primary.partition(":")
        return metric or next(iter(self.metrics), ""), judge or next(iter(self.judges), "")

    def question(self, entry: Entry) -> DatasetQuestion:
        """The question of a reply."""
        return self._by_id[entry.role, entry.question]

    def versions(self, records: Records) -> tuple[str, ...]:
        """The versions by which the replies and judgements of this plan were had; those taken over have their own."""
        keys = {one.key for one in self.entries}
        replies = [one for key, one in records.replies.items() if key in keys]
        judged = [one for one in records.judged.values() if one.reply in keys and one.model in self.judges]
        found = {one.dramaturg or self.dramaturg for one in (*replies, *judged)}
        return tuple(sorted(found)) or (self.dramaturg,)

    @cached_property
    def talks(self) -> int:
        """How many talks of several turns there are, over all roles; 0: each question stands alone."""
        return sum(map(talks_in, self.questions.values()))

    def together(self, entry: Entry) -> str:
        """What a reply belongs to within its role: its talk, or else its question."""
        talk = self.question(entry).talk
        return talk.id if talk else entry.question

    @cached_property
    def _by_id(self) -> dict[tuple[str, str], DatasetQuestion]:
        return {(role, one.id): one for role, of in self.questions.items() for one in of}

    def of(self, contestant: str) -> Iterator[Entry]:
        """The replies that are wanted of one contestant."""
        return iter(self._by_contestant.get(contestant, ()))

    @cached_property
    def _by_contestant(self) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        for one in self.entries:
            found.setdefault(one.contestant, []).append(one)
        return found


class Wanted(_Frozen):
    """The wishes that a plan is made from."""

    methods: tuple[str, ...]
    roles: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    metrics: tuple[str, ...]
    """Of replies, and inventories: by name, or by path."""
    dataset: str = ""
    limit: int = 0
    """The most questions of a role, or talks; 0: all."""
    turns: int = 0
    """How many turns each talk has that begins with a question; 0: each question is asked alone."""
    user: str = ""
    """Who speaks in talks: the id of a role, or any name. A model plays it; empty: the questions themselves."""
    script: str = ""
    """The path of talks that are written out."""
    bounds: bool = True
    """Whether floor and ceiling stand beside the methods."""
    labels: str = ""
    """The path of what is right of the roles by the inventories."""
    baseline: str = ""
    """The method that each other one is compared with; empty: the first."""
    anonymous: bool = False
    """Whether judges of replies are shown no names."""
    unplayed: tuple[str, ...] = ()
    """The roles of a dataset that are left out, and why."""
    primary: str = ""
    """The comparison that is tested by itself, as the plan has it; empty: the first metric by the first judge."""


def planned(
    wanted: Wanted, roles: Sequence[Role], shared: RunContext, judges: Sequence[str]
) -> tuple[Plan, list[ToAsk]]:
    """Return the plan, and each question that it holds with whom it is for; the first judge judges interviews.

    Raises:
        ValueError: there is no such method or metric, a role lacks what a method needs, there are no questions for a
            role, a method cannot be interviewed, or labels do not fit.
        RoleFileError: the dataset, an inventory or the labels cannot be read.
    """
    metrics, inventories = told_apart(wanted.metrics)
    require_talks(wanted, metrics, server_of(shared))
    require_printed(metrics, getattr(shared, "printed", {}))
    # What a simulated user says hangs on the reply, so that floor and ceiling would have other talks.
    bounded = wanted.bounds and metrics and not wanted.user
    methods, bounds = contestants_of(wanted.methods), BOUNDS if bounded else {}
    names, baseline = tuple(one.name for one in methods), contestant(wanted.baseline or wanted.methods[0]).name
    if wanted.dataset and not metrics:
        raise ValueError("An inventory brings its own questions: leave the dataset out, or name a metric of replies.")
    require_primary(wanted.primary, metrics, judges)
    dataset = asked_of(wanted.dataset) if wanted.dataset else None
    if baseline not in names:
        raise ValueError(f"--baseline {baseline} is none of the methods: {', '.join(names)}.")
    asks = bool(metrics) and not wanted.script
    there = {role.id: questions_of(role, dataset) for role in roles} if asks else {}
    once = {role: distinct(of) for role, of in there.items()}
    begin = {role: scenes_opened(of) if wanted.turns else of for role, of in once.items()}
    chosen = [(role, spread(begin[role.id], wanted.limit)) for role in roles] if asks else []
    if not (wanted.turns and wanted.user) and any(AIM in one.labels for of in once.values() for one in of):
        raise ValueError(f"{wanted.dataset} has situations for a simulated user: add --turns 4 --user Guest.")
    require_scene(wanted, methods, metrics, [one for _, of in chosen for one in of], server_of(shared))
    if wanted.script:
        questions = [(role, scripted_talks(Path(wanted.script), role, wanted.limit)) for role in roles]
    elif wanted.turns:
        questions = [
            (role, [*talks_of(role, of, once[role.id], wanted.turns, language_in(shared, role), wanted.user)])
            for role, of in chosen
        ]
    else:
        questions = chosen
    languages = sorted({language for role in roles for language in languages_of(shared, role)})
    scene = any(one.played for _, of in questions for one in of)
    made = {one.name: one.making(shared, languages, scene=scene) for one in methods}
    asked = list(to_ask_of([*methods, *bounds.values()], questions, wanted.seeds, shared, made))
    found, interviews = interviews_of(inventories, methods, roles, wanted.seeds, shared, judges[0], made)
    require_all(methods, roles, shared)
    labels = labels_of(read_dataset(wanted.labels, "incharacter"), roles, found) if wanted.labels else {}
    source = dataset.name if dataset else OWN_ONES if metrics else NONE
    plan = Plan(
        methods=names,
        roles=wanted.roles,
        seeds=wanted.seeds,
        metrics=metrics,
        model=speaking_model(shared),
        judges=tuple(judges),
        dataset=Path(wanted.script).name if wanted.script else source,
        licence=dataset.licence if dataset else "",
        dramaturg=version("dramaturg"),
        questions={role.id: tuple(of_role) for role, of_role in questions},
        entries=tuple(
            Entry(
                key=one.key, contestant=one.contestant.name, role=one.role.id, seed=one.seed, question=one.question.id
            )
            for one in asked
        ),
        bounds=tuple(bounds),
        inventories=found,
        interviews=interviews,
        labels=labels,
        baseline=baseline,
        primary=wanted.primary,
        embedders={role.id: embedder_name(shared.embedding_model, role.card.language) for role in roles}
        if SIMILARITY in metrics
        else {},
        left_out={role.id: gone for role, of in chosen if (gone := kinds(begin[role.id]) - kinds(of))},
        repeated={role: again for role, of in there.items() if (again := len(of) - len(once[role]))},
        anonymous=wanted.anonymous,
        unplayed=wanted.unplayed,
        made=made,
        turns=wanted.turns,
        user=f"{wanted.user} by {name_of(shared.chat_model)}" if wanted.user else "",
    )
    return plan, asked


def require_primary(primary: str, metrics: Sequence[str], judges: Sequence[str]) -> None:
    """Refuse a primary comparison that the plan does not have.

    Raises:
        ValueError: there is no such metric or judge in it.
    """
    metric, _, judge = primary.partition(":")
    if metric and metric not in metrics:
        raise ValueError(f"--primary {metric} is none of the metrics: {', '.join(metrics) or 'there are none'}.")
    if judge and metric in UNJUDGED:
        raise ValueError(f"--primary {primary}: {metric} has no judge, name it alone.")
    if judge and judge not in (*judges, OF_ALL):
        raise ValueError(f"--primary {primary}: {judge} is none of the judges: {', '.join(judges)}, or {OF_ALL}.")


def require_talks(wanted: Wanted, metrics: Sequence[str], server: str) -> None:
    """Refuse wishes for talks that do not go together.

    Raises:
        ValueError: one of them needs another, or excludes it.
    """
    talks = bool(wanted.turns or wanted.script)
    if wanted.turns == 1:
        raise ValueError(f"A talk has {FEWEST} turns or more: give --turns {FEWEST}, or leave it out.")
    if wanted.script and (wanted.turns or wanted.dataset or wanted.user):
        raise ValueError("A script has its own lines: leave --turns, --user and --dataset out.")
    if wanted.user and not wanted.turns:
        raise ValueError("A simulated user needs the number of turns: add --turns, such as --turns 3.")
    if talks and server:
        raise ValueError("Talks are held on this machine: leave --server out.")
    if talks and not metrics:
        raise ValueError("Talks are measured by metrics of replies: name one beside the inventories.")
    if not talks and (names := [one for one in metrics if one in OF_TALKS]):
        raise ValueError(f"{names[0]} is measured in talks of several turns: add --turns, such as --turns 3.")


def require_scene(
    wanted: Wanted,
    methods: Sequence[Contestant],
    metrics: Sequence[str],
    questions: Sequence[DatasetQuestion],
    server: str,
) -> None:
    """Refuse wishes for a scene that do not go together.

    Raises:
        ValueError: one of them needs the questions of a scene, or is not possible in one.
    """
    if not any(one.played for one in questions):
        if all_hear := [one.name for one in methods if one.hears_all]:
            raise ValueError(f"{all_hear[0]} plays in a scene: name its questions by --dataset, or leave it out.")
        if names := [one for one in metrics if one in OF_SCENES]:
            raise ValueError(f"{names[0]} is measured in a scene: name the questions of one by --dataset.")
        return
    if wanted.turns or server:
        raise ValueError(
            f"A scene is played here, a question at a time: leave {'--server' if server else '--turns'} out."
        )
    if external := [one.name for one in methods if one.method in PACKAGES]:
        raise ValueError(f"{external[0]} plays in no scene: leave it out.")


def questions_of(role: Role, dataset: Dataset | None) -> Sequence[DatasetQuestion]:
    """Return the questions for a role: those of the dataset, else its own."""
    if dataset is None:
        if not (role.root / OWN).is_file():
            raise RoleFileError(f"{role.id} has no {OWN}: write some, or name a dataset.")
        dataset = read_dataset(role.root / OWN)
    return dataset.of_role(role.id, role.card.name, *role.card.aliases)


def distinct(questions: Sequence[DatasetQuestion]) -> list[DatasetQuestion]:
    """Return each question once; in the same words, from the same person and after the same, it is no other."""
    found: dict[object, DatasetQuestion] = {}
    for one in questions:
        found.setdefault((" ".join(one.text.split()), one.user_role, one.context, one.turns), one)
    return [*found.values()]


def spread(questions: Sequence[DatasetQuestion], limit: int) -> list[DatasetQuestion]:
    """Return at most so many questions (0: all), of each scope in turn, and of each attribute of a scope; in order."""
    if not limit:
        return list(questions)
    scopes: dict[str, dict[str, list[DatasetQuestion]]] = {}
    for one in questions:
        scopes.setdefault(one.scope, {}).setdefault(one.attribute, []).append(one)
    turns = in_turn([in_turn(of.values()) for of in scopes.values()])
    chosen = {one.id for one in turns[:limit]}
    return [one for one in questions if one.id in chosen]


def in_turn(groups: Iterable[Sequence[DatasetQuestion]]) -> list[DatasetQuestion]:
    """The first of each group, then the second of each, until all are there."""
    return [one for one in chain.from_iterable(zip_longest(*groups)) if one is not None]


def kinds(questions: Iterable[DatasetQuestion]) -> Counter[str]:
    """How many questions there are of each scope and attribute, in words."""
    scopes = {"in": "in scope", "out": "out of scope", "": "of no scope"}
    return Counter(f"{scopes[one.scope]}{f', {one.attribute}' if one.attribute else ''}" for one in questions)


def keep_plan(folder: Path, plan: Plan) -> None:
    """Keep the plan of a run in its folder; from then on it is not changed.

    Raises:
        ValueError: another plan is there. Who sees numbers and then asks for more, or by another judge, has another
            run, and a report of it says so.
    """
    there = require_same(folder, plan)
    kept = plan.model_copy(update={"taken_from": there.taken_from}) if there else plan
    write_bytes(folder / FILE, kept.model_dump_json(indent=1).encode(), within=folder)
    plan._folder = folder


def require_same(folder: Path, plan: Plan) -> Plan | None:
    """Return the plan of a folder, if there is one and something was asked by it; refuse another."""
    if not (folder / FILE).is_file() or not any((folder / name).exists() for name in (RECORDS, INTERVIEWS)):
        return None
    there = read_plan(folder)
    require_made(there)
    if changed := list(changes(there, plan)):
        raise ValueError(
            f"{folder.name} holds another plan: {'; '.join(changed)}. A plan stays as it is once something was asked: "
            f"take another --out, and --from {folder.name} if it is to begin with what was answered there."
        )
    return there


def require_made(plan: Plan) -> None:
    """Refuse to go on from a run that does not say what made its replies, as those of earlier versions do not."""
    if not plan.made:
        raise ValueError(
            f"{plan.folder.name} is of an earlier version, which did not write down by which prompts, settings and "
            "code it was answered: dramaturg report shows it, and a run that goes on begins anew in another --out."
        )


def changes(before: Plan, now: Plan) -> Iterator[str]:
    """What has changed between two plans, in words; what an earlier version did not write has not."""
    compared = [name for name in Plan.model_fields if name in before.model_fields_set and name != "taken_from"]
    differ = [name for name in compared if getattr(before, name) != getattr(now, name)]
    named = [name for name in differ if name not in ("questions", "entries", "interviews", "left_out", "repeated")]
    for name in named:
        if name == "made":
            yield from differences(before.made, now.made)
        elif name == "labels":
            yield "the labels have changed"
        else:
            yield f"{name}: {in_words(before, name)} before, {in_words(now, name)} now"
    if not named:
        asked = {role for role in before.roles if before.questions.get(role) != now.questions.get(role)}
        if asked:
            yield f"there are other questions for {', '.join(sorted(asked))}"
        elif differ:
            known = {one.key for one in before.entries} | {one.key for one in before.interviews}
            roles = {one.role for one in now.entries if one.key not in known}
            roles |= {one.role for one in now.interviews if one.key not in known}
            yield f"files of {', '.join(sorted(roles)) or 'a role'} have changed, or prompts"


def in_words(plan: Plan, name: str) -> str:
    """The value of a field in a sentence."""
    value: Any = getattr(plan, name)
    if name == "inventories":
        value = tuple(one.name for one in value)
    if isinstance(value, Mapping):
        value = tuple(dict.fromkeys(value.values()))
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else f"{value}" or "none"


def read_plan(folder: Path) -> Plan:
    """Read the plan of a run."""
    data = read_if_there(folder / FILE, within=folder)
    if data is None:
        raise RoleFileError(f"{folder} is no run of an evaluation: name the --out of `dramaturg evaluate`.")
    try:
        plan = Plan.model_validate_json(data)
    except ValueError as error:
        raise RoleFileError(f"{folder / FILE} is damaged: run the evaluation again, its records are kept.") from error
    plan._folder = folder
    return plan
