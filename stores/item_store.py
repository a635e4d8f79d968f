"""A LangGraph store in one sqlite file: JSON under a namespace and a key, wholly written or not at all."""

import asyncio
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from langgraph.store.base import BaseStore, Op, PutOp, Result, SearchOp, validate_op_namespace

from dramaturg.stores import item_rows
from dramaturg.stores.files import canonical
from dramaturg.stores.saver.file import JOURNAL, PATIENCE, SYNCHRONOUS, transaction, translated

Place = tuple[tuple[str, ...], str]  # a namespace and a key


class ItemStore(BaseStore):
    """Items that outlive a process; programs that share the file wait for each other.

    A batch is one transaction: its reads see what was there before its writes. The file is made by the first item that
    is put, and what is deleted is erased from it. There are no vectors, filters or times to live. Items are given in
    the order of their namespaces and keys. A value that is no JSON any more is given as an empty one: only who wrote it
    knows how to do without it.

    Every call may raise `DamagedConversations` when the file is not as it was written, and `StorageError` when the
    file system refuses or another program holds the file. There is nothing to close.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # One thread: what is asked for later is done later, also where the first to ask was cancelled meanwhile.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="items")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations; see `BaseStore`.

        Raises:
            ValueError: a value is not plain JSON, a namespace has a label that none may have, or a search a filter.
        """
        return self._begun(ops).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations; see `batch`."""
        return await asyncio.wrap_future(self._begun(ops))

    def _begun(self, ops: Iterable[Op]) -> Future[list[Result]]:
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
            if isinstance(op, SearchOp) and op.filter:
                raise ValueError("This store has no filters: search without one, and choose among what it gives.")
        last = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        puts = {place: None if op.value is None else canonical(dict(op.value)) for place, op in last.items()}
        return self._thread.submit(self._done, asked, puts)

    def _done(self, ops: Sequence[Op], puts: Mapping[Place, bytes | None]) -> list[Result]:
        grows = any(value is not None for value in puts.values())
        with translated(self.path):
            if not grows and not self.path.exists():
                return [item_rows.nothing(op) for op in ops]
            with (
                closing(connect(self.path)) as connection,
                transaction(connection, self.path, "IMMEDIATE" if puts else "DEFERRED"),
            ):
                if not item_rows.has_table(connection, self.path):
                    if not grows:
                        return [item_rows.nothing(op) for op in ops]
                    item_rows.create_table(connection)
                results = [item_rows.answer(connection, op) for op in ops]
                for (namespace, key), value in puts.items():
                    item_rows.put(connection, namespace, key, value)
                return results


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, empty if it is not there."""
    uri = f"{path.absolute().as_uri()}?mode=rwc"
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        connection.execute(f"PRAGMA journal_mode = {JOURNAL}")
    except BaseException:
        connection.close()
        raise
    return connection
