"""A library in a Postgres database, for several machines; each has a copy of the roles that it reads.

The database holds a role as the folder that it is: its files by path, each by the hash of its bytes, and a revision
that every change raises. Whoever changes a role holds it by an advisory lock, which ends with the connection,
brings its copy up to date, changes that as one changes a folder, and writes what differs back in one transaction. That
is refused where the revision is not the one that was read. Who reads asks for the revision, and fetches what is new.
A copy is a cache: what lies in it and not in the database, as after a crash, goes.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, LiteralString
from urllib.parse import urlsplit
from weakref import finalize

from dramaturg.stores.changes import TAKEN
from dramaturg.stores.documents.forms import CARD, CHRONICLE, MEMORIES, PICTURES, RoleCard, parse_card
from dramaturg.stores.documents.originals import taken_in
from dramaturg.stores.errors import RoleBusy, RoleError, StorageError
from dramaturg.stores.files import files_in, make_folder, remove_file, sha256, write_bytes
from dramaturg.stores.index.folder import POINTERS
from dramaturg.stores.library_folder import Library, Listed, check_id, kinds_of
from dramaturg.stores.locks import PATIENCE, copies, file_lock
from dramaturg.stores.role import Role
from dramaturg.stores.role_copy import Copy
from dramaturg.stores.shared_tables import migrate

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from dramaturg.stores.shared_tables import Session

AT_ONCE = 64  # files that are fetched by one statement
CONNECTIONS = 16
KEEP = timedelta(days=30)
"""How long a version that no folder holds any more can still be read by a conversation that goes by it."""


class SharedLibrary(Library):
    """The roles in a database; `root` holds this machine's copies of them.

    Args:
        address: of the database, postgresql://user:password@host/name.
        cache: a folder for copies; processes of one machine share it.
        patience: seconds to wait for somebody else who changes a role.
        keep: how long a version of an index can still be read after nothing but a conversation goes by it.

    Raises:
        StorageError: the database cannot be reached, or a newer version of this package has made its tables.
    """

    is_copy = True

    def __init__(self, address: str, cache: Path, *, patience: float = PATIENCE, keep: timedelta = KEEP) -> None:
        place = urlsplit(address)
        super().__init__(cache / "libraries" / sha256(address.rpartition("@")[2].encode())[:16])
        self.name = f"{place.hostname or 'localhost'}{place.path}"
        self.address = address
        self._patience = patience
        self._keep = keep
        self._lock = Lock()
        self._pool: ConnectionPool[Session] | None = None
        self._end: Callable[[], object] | None = None
        copies[self.root] = self

    # What a library does

    def roles(self) -> list[str]:
        """Return the ids of the roles, sorted."""
        return self._names()

    def role(self, role: str) -> Role:
        """Return a role, its copy brought up to date; see `Library.role`."""
        self.refresh(check_id(role))
        return self._opened(role)

    def cards(self) -> dict[str, Callable[[], RoleCard]]:
        """Return how the card of each role is had, by its id; no other file is fetched."""
        with self._session() as session:
            rows = session.execute(
                "SELECT name, data FROM dramaturg_roles LEFT JOIN dramaturg_files ON role = name AND path = %s "
                "LEFT JOIN dramaturg_blobs USING (role, digest) ORDER BY name",
                [CARD],
                binary=True,
            )
            return {str(name): partial(_card_in, bytes(data or b""), str(name)) for name, data in rows}

    def listed(self) -> dict[str, Listed]:
        """Return what a list says of each role, by its id, by the names of its files."""
        cards, paths, unread = self.cards(), dict[str, set[str]](), dict[str, set[str]]()
        with self._session() as session:
            rows = session.execute(
                "SELECT f.role, path, data FROM dramaturg_files f "
                "LEFT JOIN dramaturg_blobs b ON path = %s AND b.role = f.role AND b.digest = f.digest "
                "WHERE path = ANY(%s) OR path LIKE 'persona/%%' OR path LIKE 'dialogues/%%' ORDER BY path DESC",
                [TAKEN, [TAKEN, MEMORIES, CHRONICLE, *PICTURES]],
                binary=True,
            ).fetchall()
        for role, path, data in rows:
            folder, _, name = str(path).partition("/")
            paths.setdefault(role, set()).add(str(path))
            if folder == "persona" and ("/" in name or not name.lower().endswith(".md")):
                unread.setdefault(role, set()).add(name.partition("/")[0] + "/" * ("/" in name))
            if path == TAKEN:
                unread.setdefault(role, set()).difference_update(taken_in(bytes(data)))
        return {
            role: Listed(
                card,
                kinds_of(paths.get(role, ())),
                len(unread.get(role, ())),
                next((name for name in PICTURES if name in paths.get(role, ())), ""),
            )
            for role, card in cards.items()
        }

    def _require(self, role: str) -> None:
        if refusal := self._refusal(role):  # that there is such a role, `refresh` has looked up
            raise RoleError(refusal)

    def _names(self) -> list[str]:
        with self._session() as session:
            return [name for (name,) in session.execute("SELECT name FROM dramaturg_roles ORDER BY name")]

    # What a machine does with its copy

    def refresh(self, role: str) -> None:
        """Bring the copy of a role up to date; one question to the database where nothing is new."""
        folder = self.root / role
        with self._session() as session:
            row = session.execute("SELECT revision FROM dramaturg_roles WHERE name = %s", [role]).fetchone()
        if row is None:
            raise self._unknown(role)
        copy = Copy(folder)
        is_of_now = copy.read()[0] == row[0] and (folder / CARD).is_file()
        if is_of_now and not copy.is_in_change:
            return
        make_folder(folder / "index", within=self.root)
        busy = RoleBusy(f"Another program is changing {role!r}: try again when it is done.")
        patience = 0 if is_of_now else self._patience  # who changes it now is not waited for
        try:
            with file_lock(folder / "index" / ".lock", patience=patience, busy=busy), self._session() as session:
                self._fetch(session, folder)
                copy.end_change()
        except RoleBusy:
            if not is_of_now:
                raise

    @contextmanager
    def exchange(self, folder: Path) -> Iterator[None]:
        """Hold a role on all machines: its copy is up to date, and what changes in it is written back at the end.

        For who holds the lock of the copy.

        Raises:
            RoleBusy: somebody else holds it for longer than one is ready to wait, or changed it all the same.
            StorageError: the database cannot be reached; nothing has changed there.
        """
        with self._session() as session, self._held(session, folder.name):
            revision, copy = self._fetch(session, folder), Copy(folder)
            copy.begin_change()
            try:
                yield
            finally:
                self._write_back(session, folder, revision)
                copy.end_change()

    def restore(self, folder: Path, under: str) -> bool:
        """Bring files of a role that are no longer part of it back into the copy; the next who changes it removes them.

        Args:
            folder: the copy.
            under: what the paths of those that are wanted begin with.

        Returns:
            Whether there was any.
        """
        with self._session() as session:
            rows = session.execute(
                "SELECT DISTINCT ON (path) path, digest FROM dramaturg_dropped WHERE role = %s "
                "AND starts_with(path, %s) ORDER BY path, until DESC",
                [folder.name, under],
            ).fetchall()
            for path, data in self._blobs(session, folder.name, dict(rows)):
                if not (folder / path).exists():
                    write_bytes(folder / path, data, within=folder)
        return bool(rows)

    def drop_kept(self, folder: Path) -> None:
        """Keep nothing of a role that is no longer part of it."""
        with self._session() as session, session.transaction():
            self._hold(session, folder.name, "pg_advisory_xact_lock")
            session.execute("DELETE FROM dramaturg_dropped WHERE role = %s", [folder.name])
            self._drop_unnamed(session, folder.name)

    def _fetch(self, session: "Session", folder: Path) -> int:
        """Make the copy of a role what the database has, and return the revision."""
        with session.transaction():
            session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            row = session.execute("SELECT revision FROM dramaturg_roles WHERE name = %s", [folder.name]).fetchone()
            if row is None:
                raise RoleError(f"There is no role {folder.name!r} in {self.name} any more.")
            files = self._digests(session, folder.name)
            copy = Copy(folder)
            known, seen = copy.read()
            same = copy.same(seen)
            new = {path: digest for path, digest in files.items() if same.get(path) != digest}
            for path, data in self._blobs(session, folder.name, dict(sorted(new.items(), key=_last))):
                write_bytes(folder / path, data, within=folder)
        gone = [path for path in files_in(folder) if path not in files]
        for path in gone:
            remove_file(folder / path, within=folder)
        _drop_empty(folder, gone)
        if new or gone or known != row[0]:
            copy.write(row[0], files)
        return int(row[0])

    def _digests(self, session: "Session", role: str) -> dict[str, str]:
        rows = session.execute("SELECT path, digest FROM dramaturg_files WHERE role = %s", [role])
        return {str(path): str(digest) for path, digest in rows}

    def _blobs(self, session: "Session", role: str, files: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        """The bytes of files, in their order."""
        paths = list(files)
        for start in range(0, len(paths), AT_ONCE):
            some = paths[start : start + AT_ONCE]
            digests = [files[path] for path in some]
            rows = session.execute(
                "SELECT digest, data FROM dramaturg_blobs WHERE role = %s AND digest = ANY(%s)",
                [role, digests],
                binary=True,
            )
            found = {str(digest): bytes(data) for digest, data in rows}
            for path in some:
                data = found.get(files[path])
                if data is None or sha256(data) != files[path]:
                    raise StorageError(f"{path} of {role!r} is damaged in {self.name}: push the role there again.")
                yield path, data

    def _write_back(self, session: "Session", folder: Path, revision: int) -> None:
        """Write what differs from what the copy was, in one transaction."""
        copy = Copy(folder)
        _, seen = copy.read()
        same = copy.same(seen)
        new = {path: (folder / path).read_bytes() for path in files_in(folder) if path not in same}
        digests = {path: sha256(data) for path, data in new.items()}
        gone = [path for path in seen if path not in same and path not in new]
        if not new and not gone:
            return
        with session.transaction():
            now = self._raise_revision(session, folder.name, revision)
            self._store(session, folder.name, {digests[path]: data for path, data in new.items()}, digests)
            self._drop(session, folder.name, gone)
        copy.write(now, {**same, **digests})

    def _raise_revision(self, session: "Session", role: str, revision: int) -> int:
        # A time: counted by ones, the numbers of changes that a restored dump undid would come again, for other ones.
        row = session.execute(
            "UPDATE dramaturg_roles "
            "SET revision = greatest(revision + 1, extract(epoch FROM clock_timestamp()) * 1000000) "
            "WHERE name = %s AND revision = %s RETURNING revision",
            [role, revision],
        ).fetchone()
        if row is None:
            raise RoleBusy(f"{role!r} was changed in {self.name} meanwhile: try again.")
        return int(row[0])

    def _store(self, session: "Session", role: str, blobs: Mapping[str, bytes], files: Mapping[str, str]) -> None:
        """Put files there, within a transaction."""
        with session.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO dramaturg_blobs VALUES (%s, %s, %b) ON CONFLICT DO NOTHING",
                [(role, digest, data) for digest, data in blobs.items()],
            )
            cursor.executemany(
                "INSERT INTO dramaturg_files VALUES (%s, %s, %s) "
                "ON CONFLICT (role, path) DO UPDATE SET digest = excluded.digest",
                [(role, path, digest) for path, digest in files.items()],
            )

    def _drop(self, session: "Session", role: str, gone: Sequence[str]) -> None:
        """Take files away, and bytes that no file has; those of versions are kept for who goes by them."""
        kept = [path for path in gone if _of_a_version(path)]
        session.execute(
            "INSERT INTO dramaturg_dropped SELECT role, path, digest, now() + %s FROM dramaturg_files "
            "WHERE role = %s AND path = ANY(%s) ON CONFLICT (role, path, digest) DO UPDATE SET until = excluded.until",
            [self._keep, role, kept],
        )
        session.execute("DELETE FROM dramaturg_files WHERE role = %s AND path = ANY(%s)", [role, list(gone)])
        session.execute("DELETE FROM dramaturg_dropped WHERE role = %s AND until < now()", [role])
        self._drop_unnamed(session, role)

    def _drop_unnamed(self, session: "Session", role: str) -> None:
        session.execute(
            "DELETE FROM dramaturg_blobs b WHERE role = %s "
            "AND NOT EXISTS (SELECT FROM dramaturg_files f WHERE f.role = b.role AND f.digest = b.digest) "
            "AND NOT EXISTS (SELECT FROM dramaturg_dropped d WHERE d.role = b.role AND d.digest = b.digest)",
            [role],
        )

    # Roles as a whole, in and out

    def replace(self, roles: Mapping[str, Mapping[str, bytes]], *, new: bool = False) -> None:
        """Put whole roles there, by their ids and the paths of their files: all of them or none.

        Args:
            roles: the bytes of each file.
            new: whether none of them may be there yet.

        Raises:
            RoleError: a role is there.
            StorageError: the database cannot be reached; nothing has changed there.
        """
        with self._session() as session, session.transaction():
            for role, files in sorted(roles.items()):
                self._hold(session, role, "pg_advisory_xact_lock")
                there = session.execute("SELECT revision FROM dramaturg_roles WHERE name = %s", [role]).fetchone()
                if there and new:
                    raise RoleError(f"There is {role!r} in {self.name} already: take another id, or edit that role.")
                if there:
                    self._raise_revision(session, role, there[0])
                else:
                    session.execute(
                        "INSERT INTO dramaturg_roles VALUES (%s, extract(epoch FROM clock_timestamp()) * 1000000)",
                        [role],
                    )
                digests = {path: sha256(data) for path, data in files.items()}
                before = self._digests(session, role)
                self._store(session, role, {digests[path]: data for path, data in files.items()}, digests)
                self._drop(session, role, [path for path in before if path not in files])

    def contents(self, role: str) -> dict[str, bytes]:
        """Return the files of a role by their paths, as they are now; RoleError: there is no such role."""
        with self._session() as session, session.transaction():
            session.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            if not (files := self._digests(session, role)):
                raise self._unknown(role)
            return dict(self._blobs(session, role, files))

    # Connections

    @contextmanager
    def _session(self) -> Iterator["Session"]:
        """A connection of this process's; StorageError: the database cannot be reached."""
        try:
            from psycopg import Error
        except ImportError as error:
            raise StorageError("A library in Postgres needs `pip install 'dramaturg[postgres]'`.") from error
        try:
            with self._connections().connection() as session:
                yield session
        except Error as error:
            reason = " ".join(str(error).split())
            raise StorageError(
                f"The library in {self.name} cannot be reached ({reason}): look whether it runs."
            ) from error

    def _connections(self) -> "ConnectionPool[Session]":
        from psycopg import connect
        from psycopg_pool import ConnectionPool

        with self._lock:
            if self._pool is None:
                with connect(self.address, autocommit=True, connect_timeout=10) as session:
                    migrate(session, self.name)
                self._pool = ConnectionPool(
                    self.address, min_size=0, max_size=CONNECTIONS, open=True, kwargs={"autocommit": True}, timeout=10
                )
                self._end = finalize(self, _close, self._pool, os.getpid())
            return self._pool

    def close(self) -> None:
        """Close the connections; where nobody does, it is done as the process ends, while all modules are there."""
        with self._lock:
            if self._end is not None:
                self._end()
            self._pool = self._end = None

    @contextmanager
    def _held(self, session: "Session", role: str) -> Iterator[None]:
        self._hold(session, role, "pg_advisory_lock")
        try:
            yield
        finally:
            if not session.broken:
                session.execute("SELECT pg_advisory_unlock_all()")

    def _hold(self, session: "Session", role: str, how: LiteralString) -> None:
        from psycopg.errors import LockNotAvailable

        key = int.from_bytes(bytes.fromhex(sha256(f"role\0{role}".encode()))[:8], signed=True)
        try:
            session.execute(
                "SELECT set_config('lock_timeout', %s, false)", [f"{max(1, round(self._patience * 1000))}ms"]
            )
            session.execute(f"SELECT {how}(%s)".encode(), [key])
        except LockNotAvailable as error:
            raise RoleBusy(f"Another program is changing {role!r}: try again when it is done.") from error


def _close(pool: "ConnectionPool[Session]", opened_in: int) -> None:
    """Close connections in the process that opened them: one that was forked from it would end them for both."""
    if os.getpid() == opened_in:
        pool.close()


@lru_cache(maxsize=10_000)
def _card_in(data: bytes, role: str) -> RoleCard:
    return parse_card(data, Path(role))


def _last(file: tuple[str, str]) -> tuple[bool, str]:
    """By what files are sorted, so that those that say which others are read are written after them."""
    path, _ = file
    return path.rpartition("/")[2] in POINTERS, path


def _of_a_version(path: str) -> bool:
    """Whether a file belongs to a version of an index."""
    parts = path.split("/")
    return len(parts) > 3 and parts[0] == "index" and parts[2] in ("versions", "parts")


def _drop_empty(folder: Path, paths: Iterable[str]) -> None:
    """Remove folders that hold nothing any more."""
    for one in sorted({parent for path in paths for parent in Path(path).parents}, key=lambda at: -len(at.parts)):
        if one.parts:
            try:
                (folder / one).rmdir()
            except OSError:
                continue
