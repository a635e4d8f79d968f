"""Answers kept on disk, to re-run a report or an experiment without asking again. Off unless a file is named."""

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from filelock import FileLock
from langchain_core.messages import BaseMessage
from langgraph.cache.sqlite import SqliteCache

NAMESPACE = ("answers",)
ANSWERS = "answers.sqlite"  # the name of the file in the folder of what can be had again
logger = logging.getLogger(__name__)


class JsonSerializer:
    """Writes values as JSON: what is read from the file can only be plain values."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Write a value."""
        return "json", json.dumps(obj).encode()

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a value."""
        return json.loads(data[1])


class AnswerCache:
    """Keeps usable answers under a digest of the question and of who was asked.

    The file holds digests and answers, neither prompts nor keys. Several processes may use one file. A file that
    fails while it is used costs the answer's place in it and a warning in the log, never the answer.
    """

    def __init__(self, path: Path) -> None:
        self._cache: SqliteCache[Any] = SqliteCache(path=str(path), serde=JsonSerializer())

    async def get(self, key: str) -> Any | None:
        """The answer kept under `key`, or None."""
        try:
            found = await self._cache.aget([(NAMESPACE, key)])
        except (sqlite3.Error, ValueError) as error:
            logger.warning("A kept answer cannot be read (%s).", type(error).__name__)
            return None
        return found.get((NAMESPACE, key))

    async def set(self, key: str, answer: Any) -> None:
        """Keep an answer: plain JSON, not None."""
        try:
            await self._cache.aset({(NAMESPACE, key): (answer, None)})
        except sqlite3.Error as error:
            logger.warning("An answer cannot be kept (%s).", type(error).__name__)


def forget_answers(path: Path, meant: Callable[[str], bool]) -> int:
    """Take answers out of a file of kept answers, so that no byte of them stays in it; return how many; it may block.

    Args:
        path: the file; it need not be there.
        meant: whether an answer, as JSON, is to go.

    Raises:
        sqlite3.Error: the file cannot be used.
    """
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        with connection:
            rows = connection.execute("SELECT ns, key, val FROM cache").fetchall()
            gone = [(ns, key) for ns, key, value in rows if meant(json.dumps(json.loads(value), ensure_ascii=False))]
            connection.executemany("DELETE FROM cache WHERE ns = ? AND key = ?", gone)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return len(gone)


_caches: dict[Path, AnswerCache] = {}
_lock = threading.Lock()


def open_answers(path: Path) -> AnswerCache:
    """Open the file of kept answers, made if it is not there: one connection a process and file."""
    path = path.absolute()
    with _lock:
        if path not in _caches:
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.touch(mode=0o600)
                path.chmod(0o600)
                # Two processes that set up one new file at once would find it locked.
                with FileLock(path.with_name(f"{path.name}.lock"), timeout=60, mode=0o600):
                    _caches[path] = AnswerCache(path)
            except (OSError, sqlite3.Error) as error:
                msg = (
                    f"The answers at {path} cannot be opened ({type(error).__name__}): remove the file or name another."
                )
                raise ValueError(msg) from None
        return _caches[path]


def cache_key(identity: Any, kind: str, messages: Sequence[BaseMessage], parameters: Any) -> str:
    """Digest all that an answer depends on: who is asked, and what."""
    said = [message.model_dump(mode="json", include={"type", "content", "name"}) for message in messages]
    return hashlib.sha256(json.dumps([identity, kind, said, parameters], sort_keys=True).encode()).hexdigest()
