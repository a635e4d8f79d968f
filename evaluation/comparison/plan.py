"""The plan of an evaluation: who is asked what, by which measures. A report needs it and the records, no model."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import chain, zip_longest
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from dramaturg.evaluation.comparison.asked import Asked, asked_of
from dramaturg.evaluation.comparison.contestants import contestant
from dramaturg.evaluation.datasets.dataset import Dataset, Question
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.models.client import name_of
from dramaturg.nodes.context import RunContext
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_if_there, write_bytes
from dramaturg.stores.role import Role

FILE = "plan.json"
OWN = "questions.jsonl"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Entry(_Frozen):
    """A reply that is wanted, by its key in the records."""

    key: str
    contestant: str
    role: str
    seed: int
    question: str


class Plan(_Frozen):
    """All that was wanted."""

    methods: tuple[str, ...]
    roles: tuple[str, ...]
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    model: str
    judges: tuple[str, ...]
    dataset: str
    licence: str
    dramaturg: str
    questions: Mapping[str, tuple[Question, ...]]
    """Of each role."""
    entries: tuple[Entry, ...]

    def question(self, entry: Entry) -> Question:
        """The question of a reply."""
        return next(one for one in self.questions[entry.role] if one.id == entry.question)

    def of(self, contestant: str) -> Iterator[Entry]:
        """The replies of one contestant."""
        return (one for one in self.entries if one.contestant == contestant)


class Wanted(_Frozen):
    """What somebody wants compared."""

    methods: tuple[str, ...]
    roles: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    metrics: tuple[str, ...]
    dataset: str = ""
    limit: int = 0
    """The most questions of a role; 0: all."""


def planned(
    wanted: Wanted, roles: Sequence[Role], shared: RunContext, judges: Sequence[str]
) -> tuple[Plan, list[Asked]]:
    """Return the plan, and each question that it holds with whom it is for.

    Raises:
        ValueError: there is no such method, or there are no questions for a role.
        RoleFileError: the dataset cannot be read.
    """
    contestants = [contestant(name) for name in wanted.methods]
    dataset = read_dataset(wanted.dataset) if wanted.dataset else None
    questions = [(role, questions_of(role, dataset, wanted.limit)) for role in roles]
    asked = list(asked_of(contestants, questions, wanted.seeds, shared))
    plan = Plan(
        methods=wanted.methods,
        roles=wanted.roles,
        seeds=wanted.seeds,
        metrics=wanted.metrics,
        model=name_of(shared.chat_model),
        judges=tuple(judges),
        dataset=dataset.name if dataset else "the roles' own questions",
        licence=dataset.licence if dataset else "",
        dramaturg=version("dramaturg"),
        questions={role.id: tuple(of_role) for role, of_role in questions},
        entries=tuple(
            Entry(
                key=one.key, contestant=one.contestant.name, role=one.role.id, seed=one.seed, question=one.question.id
            )
            for one in asked
        ),
    )
    return plan, asked


def questions_of(role: Role, dataset: Dataset | None, limit: int) -> list[Question]:
    """The questions for a role: those of the dataset, else its own.

    Raises:
        RoleFileError: the role has no questions of its own.
        ValueError: the dataset has none for it.
    """
    if dataset is None:
        if not (role.root / OWN).is_file():
            raise RoleFileError(f"{role.id} has no {OWN}: write some, or name a dataset.")
        dataset = read_dataset(role.root / OWN)
    found = dataset.of_role(role.id, role.card.name, *role.card.aliases)
    return spread(found, limit) if limit else list(found)


def spread(questions: Sequence[Question], limit: int) -> list[Question]:
    """A few questions of each kind rather than many of the first: in turn by scope and attribute, in their order."""
    kinds: dict[tuple[str, str], list[Question]] = {}
    for one in questions:
        kinds.setdefault((one.scope, one.attribute), []).append(one)
    turns = chain.from_iterable(zip_longest(*kinds.values()))
    chosen = {one.id for one in [one for one in turns if one is not None][:limit]}
    return [one for one in questions if one.id in chosen]


def write_plan(folder: Path, plan: Plan) -> None:
    """Put the plan of a run into its folder.

    Raises:
        StorageError: the file system refuses.
    """
    write_bytes(folder / FILE, plan.model_dump_json(indent=1).encode(), within=folder)


def read_plan(folder: Path) -> Plan:
    """Read the plan of a run.

    Raises:
        RoleFileError: there is none, or it cannot be used.
    """
    data = read_if_there(folder / FILE, within=folder)
    if data is None:
        raise RoleFileError(f"{folder} is no run of an evaluation: name the --out of `dramaturg evaluate`.")
    try:
        return Plan.model_validate_json(data)
    except ValueError as error:
        raise RoleFileError(f"{folder / FILE} is damaged: run the evaluation again, its records are kept.") from error
