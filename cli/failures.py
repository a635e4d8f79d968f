"""Errors as sentences and exit codes."""

import sqlite3

from pydantic import ValidationError

from dramaturg.models.errors import ModelError, WeightsError
from dramaturg.stores.errors import DamagedConversations, DamagedIndex

CODES: tuple[tuple[type[Exception], int], ...] = (
    (ModelError, 3),
    (WeightsError, 4),
    (DamagedIndex, 5),
    (DamagedConversations, 5),
    (sqlite3.Error, 5),
)


def exit_code(error: Exception) -> int:
    """The exit code for an error; 2 for everything that the caller can put right in what was given."""
    return next((code for kind, code in CODES if isinstance(error, kind)), 2)


def sentence(error: Exception) -> str:
    """What went wrong, for a person."""
    if isinstance(error, ValidationError):
        problems = {f"{e['loc'][0] if e['loc'] else 'all'}: {e['msg']}" for e in error.errors(include_url=False)}
        return "These settings cannot be used: " + "; ".join(sorted(problems)) + "."
    if isinstance(error, sqlite3.Error):
        return f"The conversations of this role are in use or damaged ({error}): see the folder .conversations."
    return str(error) or type(error).__name__
