"""What a study is: copies of roles in a folder of its own, marks that people made, and tables with intervals."""

import shutil
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel, ConfigDict, TypeAdapter
from yaml import safe_load

from dramaturg.evaluation.metrics.intervals import SHARE, Ends, Interval, Share, cluster_interval, paired_interval
from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.embeddings import Embedder, embedder
from dramaturg.models.questions import Decision
from dramaturg.nodes.run import RoleContext
from dramaturg.nodes.world.world import Event
from dramaturg.stores.conversations.kept_run import alone
from dramaturg.stores.index.graph import EntityType
from dramaturg.stores.library_folder import Library, every_card, examples, stories
from dramaturg.stores.role import Role
from studies.separation import Separation

INDEX = "index"
"""What a role's copy keeps where its files are copied anew."""
AT_ONCE = 2
"""Questions asked of the chat model at once: as many as the embedded one answers."""
DEADLINE = 600
"""Seconds for one question: a busy machine is slow, and a study is no conversation."""
AnnounceStep = Callable[[str, int, int], None]
"""Is told what is done, how much of it, and how much there is."""
Play = Callable[[Any, Path, Callable[[Event], None]], Awaitable[None]]
"""Plays a simulation to its end: its context, its log, and what is told each new event; goes on where it stopped."""
C = TypeVar("C", bound=RoleContext)


@dataclass(frozen=True)
class Bench:
    """A folder of copies and the models of a run; indexes and answers stay in the folder for the next run."""

    folder: Path
    roles: tuple[str, ...]
    chat_model: str | BaseChatModel = "embedded"
    embedding_model: str | Embeddings = "auto"
    announce: AnnounceStep = lambda what, done, total: None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the studies of the run are told, such as how many seeds; of those that can be told anything."""
    play: Play | None = None
    """How simulations are played."""
    files: tuple[Path, ...] = ()
    """What the studies that read files of the user's are made of."""

    @property
    def is_new(self) -> bool:
        """Whether nothing was made here before."""
        return not self.folder.exists()

    @property
    def library(self) -> Library:
        """The copies of the roles."""
        return Library(self.folder / "library")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep others away from the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with alone(self.folder, f"makes studies in {self.folder}"):
            yield

    def role(self, role: str) -> Role:
        """Open a copy."""
        return self.library.role(role)

    def context(self, kind: type[C], role: str, **settings: Any) -> C:
        """Return the context of a workflow on a copy."""
        models: dict[str, Any] = {"chat_model": self.chat_model, "embedding_model": self.embedding_model}
        return kind(role=role, library=str(self.library.root), **models, **settings)

    def embedder(self, language: str) -> Embedder:
        """The embedding model for a language; the first use of one blocks for seconds."""
        return embedder(self.embedding_model, language)

    def chat(self, language: str) -> ChatModel:
        """The chat model; what it has answered is kept, so that a run that was stopped goes on."""
        kept = self.folder / "answers.sqlite"
        settings: dict[str, Any] = {"deadline": DEADLINE, "concurrency": AT_ONCE, "language": language}
        return chat_model(self.chat_model, cache=kept, **settings)

    def told(self, what: str, total: int) -> "Progress":
        """Announce a piece of work and count its steps."""
        return Progress(self.announce, what, total)


class Progress:
    """The progress of one piece of work of a study."""

    def __init__(self, announce: AnnounceStep, what: str, total: int) -> None:
        self.announce, self.what, self.total, self.done = announce, what, total, 0
        announce(what, 0, total)

    def step(self) -> None:
        """One more is done."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """So many are done."""
        self.done = done
        self.announce(self.what, self.done, self.total)


T = TypeVar("T")
SEED = 0
"""Of all draws in the studies."""
Cell = str | int | float | Interval | Share | Separation | None


class StudyTable(NamedTuple):
    """Numbers, each with what it rests on."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    unit: str = "role"
    """What intervals are over, in a word."""


class StudyFindings(NamedTuple):
    """What came of a study."""

    tables: tuple[StudyTable, ...]
    how: tuple[str, ...]
    """How it was measured."""
    limits: tuple[str, ...]
    """What cannot be concluded."""
    calibration: tuple[tuple[float, Share], ...] = ()
    """Mean P(known) and the share that is known, bin by bin: what the plot shows."""


class StudyCost(NamedTuple):
    """What a study would cost, before it asks anything."""

    counts: Mapping[str, int | float | None]
    """For programs."""
    lines: tuple[str, ...]
    """For people."""


class Study(NamedTuple):
    """A study: what makes its records with the models, and what makes numbers of the records without any."""

    name: str
    title: str
    records: Callable[[Bench], Awaitable[Sequence[Any]]]
    findings: Callable[[Sequence[Any]], StudyFindings]
    check: Callable[[Bench], object] = lambda bench: None
    """Refuses roles that it cannot be made of, before any study of the run has begun."""
    roles: tuple[str, ...] = ()
    """The roles that it is made of, whichever are named; none: those that are named."""
    settings: type[BaseModel] | None = None
    """What it may be told; None: nothing."""
    cost: Callable[[Bench], StudyCost] | None = None
    """What it would ask. A study that can say so is dear, and is made only where it is named."""
    reads_files: bool = False
    """Whether it is made of files of the user's, and of no roles."""


Emotion = Literal["joy", "acceptance", "fear", "surprise", "sadness", "disgust", "anger", "anticipation"]
M = TypeVar("M")


class _Mark(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MarkedName(_Mark):
    """A name, and what a text says where it first has it."""

    name: str
    type: EntityType
    told: str


class MarkedMoods(_Mark):
    """Questions by language and emotion, and beginnings of memories by role and emotion."""

    questions: Mapping[str, Mapping[Emotion, tuple[str, ...]]]
    memories: Mapping[str, Mapping[Emotion, tuple[str, ...]]]


class MarkedRelation(_Mark):
    """Who speaks with a role, what that one asks, and the scenes that bear on how the two stand to each other."""

    user: str
    questions: tuple[str, ...]
    bears: tuple[str, ...]


class MarkedFollowUp(_Mark):
    """A question of a role as it is asked in the middle of a conversation."""

    asked: str
    question: str


class Gold(NamedTuple):
    """All marks, by role; a role that is not there has none."""

    aliases: Mapping[str, tuple[tuple[MarkedName, ...], ...]]
    moods: MarkedMoods
    relations: Mapping[str, tuple[MarkedRelation, ...]]
    follow_ups: Mapping[str, tuple[MarkedFollowUp, ...]]


def copy_roles(bench: Bench, library: Library) -> None:
    """Copy the roles of a bench from a library, or from the examples where the library has none; keep their indexes.

    The story of a role is copied, too. The library is only read. A copy that is there is brought up to date, so that
    an index of it says what is stale.
    """
    cards = every_card(library)
    read = (story for story, of in stories(cards).items() if not {*of}.isdisjoint(bench.roles))
    for name in dict.fromkeys((*bench.roles, *read)):
        shipped = name in examples() and name not in library.roles()
        kept = as_file(files("dramaturg.examples") / name) if shipped else nullcontext(library.role(name).root)
        with kept as source:
            target = bench.library.root / name
            for old in (one for one in (target.iterdir() if target.is_dir() else ()) if one.name != INDEX):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(INDEX, ".*"), dirs_exist_ok=True)


def spaced(items: Sequence[T], most: int) -> list[T]:
    """At most `most` of the items, evenly spaced."""
    if not items:
        return []
    return [items[at] for at in np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(int)).tolist()]


def few(roles: int) -> str:
    """The limit that holds for numbers of so few roles."""
    return f"{roles} roles say little about others: intervals over them are wide, and no test is made."


def over_roles(values: Mapping[str, Sequence[float]], scale: Ends = SHARE) -> Interval:
    """The mean over roles, with its interval."""
    return cluster_interval({role: of for role, of in values.items() if len(of)}, scale=scale)


def difference(
    first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]], scale: Ends = SHARE
) -> Interval:
    """The first minus the second, paired by roles and questions."""
    return paired_interval(first, second, scale=scale)


@cache
def gold() -> Gold:
    """Read the marks that come with the package."""
    folder = Path(__file__).parent / "gold"
    texts = {name: (folder / f"{name}.yaml").read_text(encoding="utf-8") for name in Gold._fields}
    return TypeAdapter(Gold).validate_python({name: safe_load(text) for name, text in texts.items()})


def marked(marks: Mapping[str, M], roles: Iterable[str]) -> dict[str, M]:
    """Return the marks of these roles; roles without any are left out, and it is an error if none has any."""
    found = {role: marks[role] for role in roles if role in marks}
    if not found:
        raise ValueError(
            f"There are no marks for these roles: name one of {', '.join(marks)}, or leave this study out."
        )
    return found


def certainty_of(decision: Decision) -> float:
    """P(yes) of a decision; 1 or 0 where the model gives no probabilities."""
    return float(decision.answer) if decision.probability is None else decision.probability
