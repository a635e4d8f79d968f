"""Which settings the caller of a served graph may set: those marked open, and those that its operator opens.

In process all may be set. Every field of a context is marked `Open[...]` or `Closed[...]`; one that is not is closed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dramaturg.models.environment import environment
from dramaturg.stores.errors import did_you_mean

__all__ = ["Closed", "Open", "SettingRefused", "require_open", "require_opened"]

T = TypeVar("T")
LONGEST_NAME = 60  # characters of a key that are said again


@dataclass(frozen=True)
class Caller:
    """Whether any caller may set a field."""

    may_set: bool


Open: TypeAlias = Annotated[T, Caller(True)]
"""A setting that reaches neither disk nor network nor code, and nothing that others share."""
Closed: TypeAlias = Annotated[T, Caller(False)]
"""One that names a place, a model or a tool, or that changes what is kept for all who talk to a role."""


class SettingRefused(ValueError):
    """A caller has set what is not open, or what there is not."""


def mark(field: FieldInfo) -> bool | None:
    """Whether any caller may set a field; None: nobody has said."""
    return next((one.may_set for one in field.metadata if isinstance(one, Caller)), None)


def require_open(kind: type[BaseModel], given: Any, *, opened: Collection[str] | None = None, within: str = "") -> None:
    """Refuse settings that are closed or unknown, in those of parts too.

    Args:
        kind: the context's class.
        given: what a caller sends as the context.
        opened: the names that the operator has opened, or "all" among them; None: DRAMATURG_OPEN_SETTINGS.
        within: the names of the settings around these, for messages.

    Raises:
        SettingRefused: one may not be set, and what there is instead.
    """
    opened = environment().opened if opened is None else opened
    if not isinstance(given, Mapping):
        raise SettingRefused(f"The context{f' {within!r}' if within else ''} must be an object of settings by name.")
    for name, value in given.items():
        field, short = kind.model_fields.get(name), str(name)[:LONGEST_NAME]
        path = f"{within}.{short}" if within else short
        if field is None:
            raise SettingRefused(f"There is no setting {path!r}{did_you_mean(short, kind.model_fields)}")
        if not (mark(field) or name in opened or "all" in opened):
            raise SettingRefused(
                f"The setting {path!r} is not open to callers of this server: its operator can open it with "
                f"DRAMATURG_OPEN_SETTINGS={name}."
            )
        for part, inner in _parts(field.annotation, value):
            require_open(part, inner, opened=opened, within=path)


def require_opened(kinds: Iterable[type[BaseModel]]) -> None:
    """Refuse names in DRAMATURG_OPEN_SETTINGS that are no settings.

    Args:
        kinds: the contexts of all graphs that a server has.

    Raises:
        ValueError: no context has a setting of a name, nor has one of its parts.
    """
    seen: set[type[BaseModel]] = set()
    left = [*kinds]
    while left:
        if (kind := left.pop()) not in seen:
            seen.add(kind)
            left += [inner for field in kind.model_fields.values() for inner in _kinds(field.annotation)]
    known = {name for kind in seen for name in kind.model_fields} | {"all"}
    if strange := sorted(environment().opened - known):
        raise ValueError(
            f"DRAMATURG_OPEN_SETTINGS cannot name {strange[0]!r}, which is no setting of any graph"
            f"{did_you_mean(strange[0], known, '; it may name settings, or be all.')}"
        )


def _kinds(annotation: Any) -> Iterator[type[BaseModel]]:
    """The classes of contexts that a field may hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _kinds(argument)


def _parts(annotation: Any, value: Any) -> Iterator[tuple[type[BaseModel], Any]]:
    """The contexts that are inside of a value, with their classes."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if isinstance(value, Mapping):
            yield annotation, value
        return
    inside: Iterable[Any] = [value]
    if get_origin(annotation) not in (Union, UnionType, Annotated):
        inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inside:
        for argument in get_args(annotation):
            yield from _parts(argument, one)
