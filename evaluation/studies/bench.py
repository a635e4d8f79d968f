"""Where a study works: copies of the roles in a folder of its own, and the models that it asks."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.embeddings import Embedder, embedder
from dramaturg.nodes.context import RoleContext
from dramaturg.stores.file_lock import file_lock
from dramaturg.stores.library import Library, examples
from dramaturg.stores.role import Role

INDEX = "index"
"""What a role's copy keeps where its files are copied anew."""
AT_ONCE = 2
"""Questions asked of the chat model at once: as many as the embedded one answers."""
DEADLINE = 600
"""Seconds for one question: a busy machine is slow, and a study is no conversation."""

Announce = Callable[[str, int, int], None]
"""Is told what is done, how much of it, and how much there is."""
C = TypeVar("C", bound=RoleContext)


class StudiesBusy(RuntimeError):
    """Another program works at the same bench."""


@dataclass(frozen=True)
class Bench:
    """A folder of copies and the models of a run; indexes and answers stay in the folder for the next run."""

    folder: Path
    roles: tuple[str, ...]
    chat_model: str | BaseChatModel = "embedded"
    embedding_model: str | Embeddings = "auto"
    announce: Announce = lambda what, done, total: None

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
        """Keep others away from the folder.

        Raises:
            StudiesBusy: another program works there.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        busy = StudiesBusy(f"Another program makes studies in {self.folder}: wait for it.")
        with file_lock(self.folder / ".lock", patience=0, busy=busy):
            yield

    def role(self, role: str) -> Role:
        """A copy."""
        return self.library.role(role)

    def context(self, kind: type[C], role: str, **settings: Any) -> C:
        """The settings of a workflow on a copy."""
        models: dict[str, Any] = {"chat_model": self.chat_model, "embedding_model": self.embedding_model}
        return kind(role=role, library=str(self.library.root), **models, **settings)

    def embedder(self, role: Role) -> Embedder:
        """The embedding model for a role's language; the first use of one blocks for seconds."""
        return embedder(self.embedding_model, role.card.language)

    def chat(self, role: Role) -> ChatModel:
        """The chat model; what it has answered is kept, so that a run that was stopped goes on."""
        kept = self.folder / "answers.sqlite"
        settings: dict[str, Any] = {"deadline": DEADLINE, "concurrency": AT_ONCE, "language": role.card.language}
        return chat_model(self.chat_model, cache=kept, **settings)

    def told(self, what: str, total: int) -> "Progress":
        """Count something down."""
        return Progress(self.announce, what, total)


class Progress:
    """How far a study is with one thing."""

    def __init__(self, announce: Announce, what: str, total: int) -> None:
        self.announce, self.what, self.total, self.done = announce, what, total, 0
        announce(what, 0, total)

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        self.announce(self.what, self.done, self.total)


def copy_roles(bench: Bench, library: Path) -> None:
    """Copy the roles of a bench from a library, or from the examples where the library has none; keep their indexes.

    The library is only read. A copy that is there is brought up to date, so that an index of it says what is stale.

    Raises:
        RoleError: neither has a role of this id.
    """
    for name in bench.roles:
        with source_of(name, library) as source:
            target = bench.library.root / name
            for old in (one for one in (target.iterdir() if target.is_dir() else ()) if one.name != INDEX):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(INDEX, ".*"), dirs_exist_ok=True)


@contextmanager
def source_of(role: str, library: Path) -> Iterator[Path]:
    """The folder that a role is copied from."""
    if role in examples() and role not in Library(library).roles():
        with as_file(files("dramaturg.examples") / role) as folder:
            yield folder
    else:
        yield Library(library).role(role).root
