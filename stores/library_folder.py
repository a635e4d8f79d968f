"""What a library is: a folder of roles, each had by its id; and the roles that come with the package."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from threading import RLock
from typing import NamedTuple
from uuid import uuid4

from dramaturg.stores.documents.forms import CARD, CHRONICLE, MEMORIES, PICTURES, RoleCard, card_text, parse_card
from dramaturg.stores.documents.originals import originals, taken
from dramaturg.stores.errors import RoleError, StorageError, did_you_mean
from dramaturg.stores.files import (
    files_in,
    inside,
    make_folder,
    move_folder,
    put_in_place,
    remove,
    sha256,
    written_aside,
)
from dramaturg.stores.followed import Followed
from dramaturg.stores.locks import role_lock
from dramaturg.stores.role import Role

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
RESERVED = re.compile(r"con|prn|aux|nul|(com|lpt)[0-9]", re.IGNORECASE)  # device names on Windows
_lock = RLock()
_roles: dict[Path, tuple[Role, Followed[None]]] = {}
"""The roles of this process by their folders, each with that it was seen to be one."""


def check_id(role: str) -> str:
    """Return the id of a role if it may be the name of a folder on every system."""
    if _may_be_id(role):
        return role
    raise RoleError(
        f"{role!r} can't be the id of a role: take 1 to 64 of the letters a-z, A-Z, digits, - and _, the first a "
        "letter or digit, and no device name of Windows such as con or nul."
    )


def id_of(name: str, file: str) -> str:
    """An id for a role after its name, or after its file where that has no letters that an id may have.

    Raises:
        RoleError: neither has any.
    """
    for text in (name, file):
        if words := re.findall(r"[a-z0-9]+", text.lower()):
            return check_id("-".join(words)[:64].strip("-"))
    raise RoleError(f"{name!r} gives no id of Latin letters: name one by --role ID.")


def new_id_of(name: str, file: str = "") -> str:
    """The same where nobody can be asked for an id: a digest of the name, where neither has such letters."""
    try:
        return id_of(name, file)
    except RoleError:
        return f"role-{sha256(name.encode(errors='surrogatepass'))[:8]}"


def _may_be_id(role: object) -> bool:
    return isinstance(role, str) and bool(_ID.fullmatch(role)) and not RESERVED.fullmatch(role)


class UnknownRole(RoleError):
    """A library has no such role."""


WRITTEN = {
    "persona": re.compile(r"persona/[^/]+\.md"),
    "dialogues": re.compile(r"dialogues/[^/]+\.jsonl"),
    "memories": re.compile(re.escape(MEMORIES)),
    "chronicle": re.compile(re.escape(CHRONICLE)),
}
"""What methods look things up in, each with the paths of its files in a role's folder."""


class Listed(NamedTuple):
    """What a list of roles says of one, without opening it."""

    card: Callable[[], RoleCard]
    """Its card; RoleError: it cannot be read."""
    written: tuple[str, ...]
    """Which kinds of files it has beside its card: of `WRITTEN`."""
    unread: int
    """Files in persona/ of which no document was made."""
    picture: str = ""
    """The file of its picture; empty: there is none."""


class Library:
    """A folder of roles; it need not exist yet."""

    is_copy = False
    """Whether the folder is this machine's copy of a library in a database."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root).expanduser().resolve()
        self.name = str(self.root)

    def roles(self) -> list[str]:
        """Return the ids of the roles, sorted; folders that are no role are left out."""
        return sorted(name for name in self._names() if _may_be_id(name) and not self._refusal(name))

    def cards(self) -> dict[str, Callable[[], RoleCard]]:
        """Return how the card of each role is had, by its id; RoleError: that one cannot be read."""
        return {role: partial(_card, self, role) for role in self.roles()}

    def listed(self) -> dict[str, Listed]:
        """Return what a list says of each role, by its id."""
        found = {}
        for role, card in self.cards().items():
            folder = self.root / role
            waiting = {one.name for one in originals(folder)} - {*taken(folder)}
            picture = next((name for name in PICTURES if (folder / name).is_file()), "")
            found[role] = Listed(card, written(folder), len(waiting), picture)
        return found

    def create(self, role: str, card: RoleCard) -> Role:
        """Make a new role: a commented `role.yaml`, and a folder for its persona.

        Raises:
            RoleError: the id may not be used, or is taken (also in another case: some systems see no difference).
        """
        taken = [name for name in self._names() if name.lower() == check_id(role).lower()]
        if taken:
            raise RoleError(f"There is {taken[0]!r} in {self.name} already: take another id, or edit that role.")
        self.replace({role: {CARD: card_text(card).encode()}}, new=True)
        made = self.role(role)
        make_folder(made.root / "persona", within=made.root)
        return made

    def role(self, role: str) -> Role:
        """Return a role; all callers in the process share one object.

        Raises:
            RoleError: the id may not be used, there is no such role, or its folder leads out of the library.
        """
        return self._opened(check_id(role))

    def holds(self, role: str) -> bool:
        """Whether a role has this id, as it is spelled."""
        try:
            self.role(role)
        except RoleError:
            return False
        return True

    def open(self, role: str) -> Role:
        """Return a role; an example that the library lacks is copied first."""
        try:
            return self.role(role)
        except UnknownRole:
            if role not in examples():
                raise
            return self.adopt(role)

    def adopt(self, example: str) -> Role:
        """Return a role, copied from the examples unless the library has it; the copy belongs to the user.

        The story that it is of is copied before it.
        """
        with _lock:
            for one in filter(None, (example_card(example).story, example)):
                if one in self._names():
                    continue
                try:
                    self.replace({one: dict(_files_of(_examples() / one))}, new=True)
                except (RoleError, StorageError):
                    if one not in self._names():  # else another process was faster
                        raise
        return self.role(example)

    def _opened(self, role: str) -> Role:
        """Return a role of this process; whether its folder is one is looked up again when that has changed."""
        root = self.root / role
        known = _roles.get(root)
        opened, folder = known or (Role(root, self), Followed[None](root))
        folder.get(partial(self._require, role))
        if lacks := self._lacks_card(role):
            raise RoleError(lacks)
        if known is None:
            with _lock:
                opened, _ = _roles.setdefault(root, (opened, folder))
        return opened

    def _require(self, role: str) -> None:
        if role not in self._names():
            raise self._unknown(role)
        if refusal := self._refusal(role):
            raise RoleError(refusal)

    def contents(self, role: str) -> dict[str, bytes]:
        """Return the files of a role by their paths, as they are at one moment; what begins with a dot is left out.

        Raises:
            RoleError: there is no such role, or a link in it leads out of it.
        """
        folder = self.role(role).root
        with role_lock(folder):
            return {path: inside(folder / path, folder).read_bytes() for path in files_in(folder)}

    def replace(self, roles: Mapping[str, Mapping[str, bytes]], *, new: bool = False) -> None:
        """Put whole roles there, by their ids and the paths of their files; of each, all files or none.

        Args:
            roles: the bytes of each file. All are written before the first is put in its place.
            new: whether none of them may be there yet.

        Raises:
            RoleError: a role is there.
            StorageError: the file system refuses.
        """
        if new and (there := sorted(roles.keys() & {*self._names()})):
            raise RoleError(f"There is {there[0]!r} in {self.name} already: take another id, or edit that role.")
        with ExitStack() as stack:
            written = {role: stack.enter_context(self._aside(role)) for role in roles}
            for role, folder in written.items():
                with written_aside({folder / path: data for path, data in roles[role].items()}, within=folder) as aside:
                    put_in_place(aside)
            for role, folder in written.items():
                place, former = self.root / role, stack.enter_context(self._aside(role))
                if new or not place.exists():
                    move_folder(folder, place, within=self.root)
                    continue
                stack.enter_context(role_lock(place))
                move_folder(place, former, within=self.root)
                try:
                    move_folder(folder, place, within=self.root)
                except StorageError:
                    move_folder(former, place, within=self.root)
                    raise

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.root)  # noqa: PTH208 (as they are written, also where the system ignores case)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _refusal(self, role: str) -> str:
        """Return why a folder is no role; empty if it is one."""
        root = self.root / role
        if root.is_symlink() or root.resolve() != root:
            return f"{role!r} is a link: put a copy of the role in its place."
        return self._lacks_card(role)

    def _lacks_card(self, role: str) -> str:
        if (self.root / role / CARD).is_file():
            return ""
        return f"{role!r} has no {CARD}: write one, or begin with `dramaturg new`."

    @contextmanager
    def _aside(self, role: str) -> Iterator[Path]:
        """Give a folder to write in; a reader never sees half a role."""
        folder = self.root / f".{role}.{uuid4().hex}.tmp"
        try:
            yield folder
        finally:
            remove(folder)

    def _unknown(self, role: str) -> "UnknownRole":
        known = sorted({*self.roles(), *examples()})
        near = did_you_mean(role, known)
        return UnknownRole(
            f"There is no role {role!r} in {self.name}{near} There are: {', '.join(known) or 'none'}. "
            f"`dramaturg new {role}` begins a new one."
        )


def examples() -> list[str]:
    """Return the ids of the roles that come with the package."""
    return sorted(entry.name for entry in _examples().iterdir() if (entry / CARD).is_file())


def written(role: Traversable) -> tuple[str, ...]:
    """Which kinds of files there are of a role beside its card: of `WRITTEN`."""
    there = set[str]()
    for name in ("persona", "dialogues"):
        if (folder := role / name).is_dir():
            there |= {f"{name}/{entry.name}" for entry in folder.iterdir()}
    return kinds_of({*there, *(name for name in (MEMORIES, CHRONICLE) if (role / name).is_file())})


def written_for(role: Listed, others: Mapping[str, Listed]) -> tuple[str, ...]:
    """Which kinds of files a role has, with those of its story; `others`: the roles of its library."""
    with suppress(RoleError):
        if story := others.get(role.card().story):
            return tuple(dict.fromkeys((*role.written, *story.written)))
    return role.written


def stories(cards: Mapping[str, Callable[[], RoleCard]]) -> dict[str, list[str]]:
    """Return which of some roles are the story of others: by the id of each, the ids of those that name it."""
    found = dict[str, list[str]]()
    for role, card in cards.items():
        with suppress(RoleError):  # a card that cannot be read names none
            if (story := card().story) in cards:
                found.setdefault(story, []).append(role)
    return found


def kinds_of(paths: Collection[str]) -> tuple[str, ...]:
    """Which kinds of files of a role some paths in its folder are: of `WRITTEN`."""
    return tuple(kind for kind, form in WRITTEN.items() if any(map(form.fullmatch, paths)))


def example_files(role: str) -> tuple[str, ...]:
    """Which kinds of files there are of a role that comes with the package, beside its card: of `WRITTEN`."""
    return written(_examples() / role)


def listed_examples() -> dict[str, Listed]:
    """Return what a list says of the roles that come with the package, by their ids."""
    return {role: Listed(partial(example_card, role), example_files(role), 0) for role in examples()}


def every_card(library: Library) -> dict[str, Callable[[], RoleCard]]:
    """Return how the card of each role of a library is had, by its id, and after them of the examples it lacks."""
    own = library.cards()
    return own | {role: partial(example_card, role) for role in examples() if role not in own}


@cache
def example_card(role: str) -> RoleCard:
    """Return the card of a role that comes with the package."""
    folder = Path(role)
    return parse_card((_examples() / role / CARD).read_bytes(), folder)


def _card(library: Library, role: str) -> RoleCard:
    return library.role(role).card


def _examples() -> Traversable:
    return files("dramaturg.examples")


def _files_of(folder: Traversable, path: str = "") -> Iterator[tuple[str, bytes]]:
    """The files in a folder and in those below, by their paths from it."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files_of(entry, f"{path}{entry.name}/")
        else:
            yield f"{path}{entry.name}", entry.read_bytes()
