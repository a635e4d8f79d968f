"""What lives on in a state from turn to turn: somebody may have edited it, and an entry lack what we would write."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError


class UnreadableEntry(ValueError):
    """An entry of a state is not of its form."""


@cache
def _form(kind: Any) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[kind])


def entries(state: Mapping[str, Any], channel: str, kind: Any, **otherwise: Any) -> list[Any]:
    """The entries of a channel, each with all that its readers need.

    Args:
        state: of a turn.
        channel: holds a list; it may be missing.
        kind: the form of an entry, a TypedDict; what else an entry holds stays in it.
        otherwise: by a field that an entry may lack, what it is then.

    Raises:
        UnreadableEntry: one lacks another field, or a value is of another kind.
    """
    found = [{**otherwise, **one} if isinstance(one, dict) else one for one in state.get(channel) or []]
    try:
        _form(kind).validate_python(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at, *where = first["loc"]
        said = f"{'.'.join(map(str, where))}: {first['msg']}" if where else first["msg"]
        which = f"Entry {int(at) + 1} of {channel!r} in the state"
        raise UnreadableEntry(f"{which} cannot be read ({said}): correct it there, or take it out.") from None
    return found
