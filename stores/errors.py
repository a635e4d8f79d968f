"""What can be wrong with a role, or with what was derived from it.

Every error derives from ValueError or RuntimeError, so that a LangGraph server shows its text to clients.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class RoleError(ValueError):
    """A role, or a part of it, is not there or may not be used."""


class RoleFileError(RoleError):
    """A file that a person writes cannot be used as it is; the message names the file, the line and what to do."""


class MissingIndex(ValueError):
    """The role has not been indexed, or not in the version that was asked for."""


class EmbeddingMismatch(ValueError):
    """The vectors of an index and those of a question come from different embedding models."""


class DamagedIndex(RuntimeError):
    """A stored file is not what was written; it is refused before it is read."""


class RoleBusy(RuntimeError):
    """Another program is changing the same index; the same call works a little later."""


class StaleDraft(RoleBusy):
    """The documents were changed while a version was made of them; it is not published, made again it will be."""


class StorageError(RuntimeError):
    """The file system refused: no space, no permission, a broken disk. What was there before still is."""


def did_you_mean(word: str, known: Iterable[str], otherwise: str = ".") -> str:
    """Return the end of a sentence: the nearest known words in any case, or what stands there when none is near."""
    spelled = {one.casefold(): one for one in known}
    near = [spelled[one] for one in get_close_matches(word.casefold(), spelled, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(repr(match) for match in near)}?" if near else otherwise


def near_or_all(word: str, known: Iterable[str], more: str = "") -> str:
    """Return the end of a sentence: the nearest known words, or all of them, and what there is `more`."""
    every = list(known)
    return did_you_mean(word, every, f"; there are: {', '.join(every)}{more}.")


class DamagedConversations(RuntimeError):
    """The file of a role's conversations is not what was written."""
