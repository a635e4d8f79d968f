"""The tables of a library in a Postgres database, in versions that go forward."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, LiteralString

from dramaturg.stores.errors import StorageError

if TYPE_CHECKING:
    from psycopg import Connection

    Session = Connection[tuple[Any, ...]]

MIGRATIONS: Sequence[LiteralString] = (
    """
    CREATE TABLE dramaturg_roles (name text PRIMARY KEY, revision bigint NOT NULL);
    CREATE TABLE dramaturg_blobs (
        role text NOT NULL REFERENCES dramaturg_roles ON DELETE CASCADE,
        digest text NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (role, digest)
    );
    ALTER TABLE dramaturg_blobs ALTER COLUMN data SET STORAGE EXTERNAL;
    CREATE TABLE dramaturg_files (
        role text NOT NULL,
        path text NOT NULL,
        digest text NOT NULL,
        PRIMARY KEY (role, path),
        FOREIGN KEY (role, digest) REFERENCES dramaturg_blobs ON DELETE CASCADE
    );
    CREATE INDEX ON dramaturg_files (role, digest);
    CREATE TABLE dramaturg_dropped (
        role text NOT NULL,
        path text NOT NULL,
        digest text NOT NULL,
        until timestamptz NOT NULL,
        PRIMARY KEY (role, path, digest),
        FOREIGN KEY (role, digest) REFERENCES dramaturg_blobs ON DELETE CASCADE
    );
    """,
)
"""What each version of the schema adds to the one before; never changed, only added to."""


def migrate(session: "Session", name: str) -> None:
    """Bring the tables of a database to the version that this package reads, whoever else is at it.

    Raises:
        StorageError: they are of a later version.
    """
    with session.transaction():
        session.execute("SELECT pg_advisory_xact_lock(hashtext('dramaturg_schema'))")
        session.execute("CREATE TABLE IF NOT EXISTS dramaturg_schema (version int NOT NULL)")
        row = session.execute("SELECT max(version) FROM dramaturg_schema").fetchone()
        there = (row and row[0]) or 0
        if there > len(MIGRATIONS):
            raise StorageError(
                f"The library in {name} was made by a later version of dramaturg (schema {there}, known here "
                f"{len(MIGRATIONS)}): upgrade this one, or go back with a dump."
            )
        for version, statements in enumerate(MIGRATIONS[there:], start=there + 1):
            session.execute(statements)
            session.execute("INSERT INTO dramaturg_schema VALUES (%s)", [version])
