"""Who knows a statement, as people write it beside it: `known_to`, with ids, names or aliases of roles."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import BeforeValidator

from dramaturg.stores.names import normal_name

KNOWN_TO = "known_to"
_LINE = re.compile(
    r"^[ \t]*(?:[-+*>][ \t]+)?(?:<!--[ \t]*)?[*_`]{0,3}known_to[*_`]{0,3}[ \t]*[:：](?P<names>[^\n]*)$",
    re.MULTILINE | re.IGNORECASE,
)
_BETWEEN = re.compile(r"[,，、]")
_WHAT = "must name roles, as [jim, silver]"

RoleNames = tuple[str, ...]
"""Of the roles that know a thing; none: nobody does."""
Known = frozenset[str]
"""The names of one role, as they are compared."""


def names_of(said: Any) -> RoleNames:
    """The names in what stands behind `known_to`, a list or a text with commas.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(said, str):
        said = _BETWEEN.split(said.strip().removesuffix("-->").strip(" \t*`").removeprefix("[").removesuffix("]"))
    if not isinstance(said, list | tuple) or not all(isinstance(one, str | int) for one in said):
        raise ValueError(_WHAT)
    return tuple(name for one in said if (name := str(one).strip(" \t'\"*`")))


KnownTo = Annotated[RoleNames | None, BeforeValidator(lambda said: None if said is None else names_of(said))]
"""Who knows a line or a triple; None: nobody says, so all do who have it."""


def secrets_in(text: str) -> tuple[tuple[tuple[int, RoleNames], ...], str]:
    """The lines of a document that say who knows what they stand in, by their places, and the text without them.

    There are spaces in their place: no place in the text moves.
    """
    found = tuple((match.start(), names_of(match["names"])) for match in _LINE.finditer(text))
    return found, _LINE.sub(lambda match: " " * len(match[0]), text) if found else text


def own_names(*names: str) -> Known:
    """The names by which `known_to` may name a role: its id, its name and its aliases."""
    return frozenset(map(normal_name, names))


def is_told(known_to: Iterable[str] | None, own: Known) -> bool:
    """Whether a role of these names is among those who know a thing."""
    return known_to is None or any(normal_name(one) in own for one in known_to)


class Tellable(Protocol):
    """A memory, a line of a dialogue, or a triple."""

    @property
    def known_to(self) -> RoleNames | None:
        """Who knows it; None: nobody says."""


T = TypeVar("T", bound=Tellable)


def told_among(things: Iterable[T], own: Known) -> list[T]:
    """Those of some memories, lines or triples that a role of these names has been told."""
    return [one for one in things if is_told(one.known_to, own)]
