"""A library by its place, a folder or a database, and a role by its id or its name, from anywhere in the process."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Lock

from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import RoleError
from dramaturg.stores.library_folder import Library, every_card, examples
from dramaturg.stores.locks import copies
from dramaturg.stores.names import normal_name
from dramaturg.stores.role import Role

__all__ = ["Library", "examples", "library_at", "open_role"]

_lock = Lock()
_databases: dict[str, Library] = {}


def library_at(place: str | Path, cache: Path | None = None, *, keep: int | None = None) -> Library:
    """Return the library in a folder, or in a database by its address; one object for each database.

    Args:
        place: a folder, which may be this machine's copy of a database, or postgresql://…
        cache: where the copies of a database lie; needed with an address that was not opened before.
        keep: for how many days a version of an index in a database can be read that is no longer one of the role's.
    """
    if not is_address(place):
        folder = Path(place).expanduser().resolve()
        original = copies.get(folder)
        return original if isinstance(original, Library) else Library(folder)
    from dramaturg.stores.shared_library import KEEP, SharedLibrary

    with _lock:
        if place not in _databases:
            if cache is None:
                raise RoleError("A library in a database needs a folder for its copies.")
            _databases[str(place)] = SharedLibrary(
                str(place), cache, keep=KEEP if keep is None else timedelta(days=keep)
            )
        return _databases[str(place)]


def is_address(place: str | Path) -> bool:
    """Whether this is the address of a database, and no folder."""
    return str(place).startswith(("postgresql://", "postgres://"))


def open_role(role: str, library: str | Path | Library) -> Role:
    """Return a role by its id, from anywhere in the process; an example that the library lacks is copied first.

    Raises:
        RoleError: the id may not be used, or there is no such role; the message names those there are.
    """
    return (library if isinstance(library, Library) else library_at(library)).open(role)


def find_card(name: str, library: Path, *, taken: bool = False) -> RoleCard | None:
    """Return the card of a role by its id, its name or an alias; see `find_role`."""
    found = find_role(name, library, taken=taken)
    return found and found[1]


def find_role(name: str, library: Path, *, taken: bool = False) -> tuple[str, RoleCard] | None:
    """Return the id and the card of a role by its id, its name or an alias; roles of the library before the examples.

    Args:
        name: id, name or alias.
        library: where the roles are.
        taken: somebody goes by this name already, and an example has it only if it is its id or its name.

    Raises:
        RoleError: the card of this id cannot be read; of others, what cannot be read is left out.
    """
    cards = every_card(library_at(library))
    if name in cards:
        return name, cards[name]()
    for role, card in cards.items():
        with suppress(RoleError):
            found = card()
            aliases = () if taken and role in examples() else found.aliases
            if normal_name(name) in map(normal_name, (found.name, *aliases)):
                return role, found
    return None
