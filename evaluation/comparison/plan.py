"""The plan of an evaluation: who is asked what, by which measures. A report needs it and what was said, no model."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from itertools import chain, zip_longest
from pathlib import Path

from pydantic import BaseModel, ConfigDict, PrivateAttr

from dramaturg.evaluation.comparison.contestants import BOUNDS, ToAsk, contestant, speaking_model, to_ask_of
from dramaturg.evaluation.comparison.interviews import Interview, Inventory, interviews_of, told_apart
from dramaturg.evaluation.comparison.labels import KnownLabels, labels_of
from dramaturg.evaluation.datasets.dataset import Dataset, DatasetQuestion
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.nodes.run import RunContext
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_if_there, write_bytes
from dramaturg.stores.role import Role

FILE = "plan.json"
OWN = "questions.jsonl"
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
    questions: Mapping[str, tuple[DatasetQuestion, ...]]
    """Of each role."""
    entries: tuple[Entry, ...]
    bounds: tuple[str, ...] = ()
    """Floor and ceiling, which have entries too and are no methods."""
    inventories: tuple[Inventory, ...] = ()
    interviews: tuple[Interview, ...] = ()
    labels: Mapping[str, Mapping[str, KnownLabels]] = {}
    """What is right, by inventory and role, so that a report needs no file of it."""
    _folder: Path | None = PrivateAttr(default=None)

    @property
    def folder(self) -> Path:
        """Where it is kept, and the interviews with it; it has no folder before it was written or read."""
        if self._folder is None:
            raise RuntimeError("This plan has no folder yet: write it, or read it from one.")
        return self._folder

    def question(self, entry: Entry) -> DatasetQuestion:
        """The question of a reply."""
        return self._by_id[entry.role, entry.question]

    @cached_property
    def _by_id(self) -> dict[tuple[str, str], DatasetQuestion]:
        return {(role, one.id): one for role, of in self.questions.items() for one in of}

    def of(self, contestant: str) -> Iterator[Entry]:
        """The replies that are wanted of one contestant."""
        return (one for one in self.entries if one.contestant == contestant)


class Wanted(_Frozen):
    """The wishes that a plan is made from."""

    methods: tuple[str, ...]
    roles: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    metrics: tuple[str, ...]
    """Of replies, and inventories: by name, or by path."""
    dataset: str = ""
    limit: int = 0
    """The most questions of a role; 0: all."""
    bounds: bool = True
    """Whether floor and ceiling stand beside the methods."""
    labels: str = ""
    """The path of what is right of the roles by the inventories."""


def planned(
    wanted: Wanted, roles: Sequence[Role], shared: RunContext, judges: Sequence[str]
) -> tuple[Plan, list[ToAsk]]:
    """Return the plan, and each question that it holds with whom it is for; the first judge judges interviews.

    Raises:
        ValueError: there is no such method or metric, there are no questions for a role, a method cannot be
            interviewed, or labels do not fit.
        RoleFileError: the dataset, an inventory or the labels cannot be read.
    """
    metrics, inventories = told_apart(wanted.metrics)
    methods, bounds = [*map(contestant, wanted.methods)], BOUNDS if wanted.bounds and metrics else {}
    if wanted.dataset and not metrics:
        raise ValueError("An inventory brings its own questions: leave the dataset out, or name a metric of replies.")
    dataset = read_dataset(wanted.dataset) if wanted.dataset else None
    questions = [(role, questions_of(role, dataset, wanted.limit)) for role in roles] if metrics else []
    asked = list(to_ask_of([*methods, *bounds.values()], questions, wanted.seeds, shared))
    found, interviews = interviews_of(inventories, methods, roles, wanted.seeds, shared, judges[0])
    labels = labels_of(read_dataset(wanted.labels, "incharacter"), roles, found) if wanted.labels else {}
    plan = Plan(
        methods=wanted.methods,
        roles=wanted.roles,
        seeds=wanted.seeds,
        metrics=metrics,
        model=speaking_model(shared),
        judges=tuple(judges),
        dataset=dataset.name if dataset else OWN_ONES if metrics else NONE,
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
    )
    return plan, asked


def questions_of(role: Role, dataset: Dataset | None, limit: int) -> list[DatasetQuestion]:
    """Return the questions for a role: those of the dataset, else its own, at most `limit` of them (0: all)."""
    if dataset is None:
        if not (role.root / OWN).is_file():
            raise RoleFileError(f"{role.id} has no {OWN}: write some, or name a dataset.")
        dataset = read_dataset(role.root / OWN)
    found = dataset.of_role(role.id, role.card.name, *role.card.aliases)
    return spread(found, limit) if limit else list(found)


def spread(questions: Sequence[DatasetQuestion], limit: int) -> list[DatasetQuestion]:
    """Return a few questions of each kind rather than many of the first: in turn by scope and attribute, in order."""
    kinds: dict[tuple[str, str], list[DatasetQuestion]] = {}
    for one in questions:
        kinds.setdefault((one.scope, one.attribute), []).append(one)
    turns = chain.from_iterable(zip_longest(*kinds.values()))
    chosen = {one.id for one in [one for one in turns if one is not None][:limit]}
    return [one for one in questions if one.id in chosen]


def write_plan(folder: Path, plan: Plan) -> None:
    """Write the plan of a run into its folder."""
    write_bytes(folder / FILE, plan.model_dump_json(indent=1).encode(), within=folder)
    plan._folder = folder


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
