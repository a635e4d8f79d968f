"""Libraries: folders of roles, and how a role is had by its id."""

import os
import re
import shutil
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from threading import RLock
from uuid import uuid4

import yaml

from dramaturg.stores.errors import RoleError, did_you_mean
from dramaturg.stores.files import inside, make_folder, move_folder, write_bytes
from dramaturg.stores.role import Role
from dramaturg.stores.role_files import CARD, RoleCard

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_RESERVED = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]", re.IGNORECASE)  # device names on Windows
_lock = RLock()
_roles: dict[Path, Role] = {}


def check_id(role: str) -> str:
    """Return the id of a role if it may be the name of a folder on every system.

    Raises:
        RoleError: it may not.
    """
    if _ID.fullmatch(role) and not _RESERVED.fullmatch(role):
        return role
    raise RoleError(
        f"{role!r} can't be the id of a role: take 1 to 64 of the letters a-z, A-Z, digits, - and _, the first a "
        "letter or digit, and no device name of Windows such as con or nul."
    )


class Library:
    """A folder of roles; it need not exist yet."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root).expanduser().resolve()

    def roles(self) -> list[str]:
        """Return the ids of the roles, sorted; folders that are no role are left out."""
        return sorted(name for name in self._names() if self._is_role(name))

    def create(self, role: str, card: RoleCard) -> Role:
        """Make a new role: a commented `role.yaml` and an empty persona folder.

        Raises:
            RoleError: the id may not be used, or is taken (also in another case: some systems see no difference).
            StorageError: the file system refuses.
        """
        taken = [name for name in self._names() if name.lower() == check_id(role).lower()]
        if taken:
            raise RoleError(f"There is {taken[0]!r} in {self.root} already: take another id, or edit that role.")
        aside = self._aside(role)
        write_bytes(aside / CARD, _card_text(card).encode(), within=self.root)
        make_folder(aside / "persona")
        self._put(aside, role)
        return self.role(role)

    def role(self, role: str) -> Role:
        """Return a role; all callers in the process share one object.

        Raises:
            RoleError: the id may not be used, there is no such role, or its folder leads out of the library.
        """
        if check_id(role) not in self._names():
            raise self._unknown(role)
        root = self.root / role
        if inside(root, self.root) != root:
            raise RoleError(f"{role!r} is a link: open the role that it leads to, or put a copy in its place.")
        if not (root / CARD).is_file():
            raise RoleError(f"{role!r} has no {CARD}: write one, or begin with `dramaturg new`.")
        with _lock:
            return _roles.setdefault(root, Role(root))

    def adopt(self, example: str) -> Role:
        """Return a role, copied from the examples unless the library has it; the copy belongs to the user."""
        with _lock:
            if example not in self._names():
                aside = self._aside(example)
                _copy(_examples() / example, aside, self.root)
                self._put(aside, example)
        return self.role(example)

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.root)  # noqa: PTH208 (names as they are written, whatever the system's case)
        except FileNotFoundError:
            return []

    def _is_role(self, name: str) -> bool:
        try:
            return self.role(name) is not None
        except RoleError:
            return False

    def _aside(self, role: str) -> Path:
        return self.root / f".{role}.{uuid4().hex}.tmp"

    def _put(self, aside: Path, role: str) -> None:
        try:
            move_folder(aside, self.root / role, within=self.root)
        except RuntimeError:
            if role not in self._names():  # else another process was faster
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _unknown(self, role: str) -> RoleError:
        known = sorted({*self.roles(), *examples()})
        return RoleError(
            f"There is no role {role!r} in {self.root}{did_you_mean(role, known) or '.'} "
            f"There are: {', '.join(known) or 'none'}. `dramaturg new {role}` begins a new one."
        )


def examples() -> list[str]:
    """Return the ids of the roles that come with the package."""
    return sorted(entry.name for entry in _examples().iterdir() if (entry / CARD).is_file())


def open_role(role: str, library: str | Path | Library) -> Role:
    """Return a role by its id, from anywhere in the process; an example that the library lacks is copied first.

    Raises:
        RoleError: the id may not be used, or there is no such role; the message names those there are.
        StorageError: an example cannot be copied.
    """
    opened = library if isinstance(library, Library) else Library(Path(library))
    return opened.adopt(role) if role in examples() else opened.role(role)


def _examples() -> Traversable:
    return files("dramaturg.examples")


def _copy(source: Traversable, target: Path, within: Path) -> None:
    for entry in source.iterdir():
        if entry.is_dir():
            _copy(entry, target / entry.name, within)
        else:
            write_bytes(target / entry.name, entry.read_bytes(), within=within)


def _card_text(card: RoleCard) -> str:
    return "".join(f"# {comment}\n{_dump({name: getattr(card, name)})}" for name, comment in _COMMENTS.items())


def _dump(field: dict[str, object]) -> str:
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in field.items()}
    return yaml.safe_dump(plain, allow_unicode=True, width=110)


_COMMENTS = {
    "name": "The name that the role calls itself by.",
    "aliases": "Other names under which texts speak of it.",
    "language": "The language it answers in: en, zh or ko.",
    "profile": "Who it is, in a few sentences: every prompt begins with them.",
    "sources": "Where the facts are from; for people, never in a prompt.",
}
