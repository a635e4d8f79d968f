"""Settings of a method as text: NAME=VALUE, several of them behind a method's name, and what is said of wrong ones."""

import json
import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from dramaturg.stores.documents.reading import read_yaml
from dramaturg.stores.errors import near_or_all

TOKEN = re.compile(r"""=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*')|.""", re.DOTALL)
"""A character, or a quoted value with the sign before it."""
PLAIN = re.compile(r"[\w.+-]+")
"""What needs no quotes as a value."""


def require_known(
    kind: type[BaseModel], given: Mapping[str, Any], of: str, before: str = "", *, but: Set[str] = frozenset()
) -> None:
    """Refuse a setting that there is not, and name those near it, or all.

    Args:
        kind: whose settings they are.
        given: by their names.
        of: who has them, for messages.
        before: the names of the parts that lead there.
        but: settings that are not named, since they cannot be set here.

    Raises:
        ValueError: there is no such setting.
    """
    fields = kind.model_fields
    for name, value in given.items():
        if name not in fields:
            raise ValueError(f"{of} has no setting {before + name!r}{near_or_all(name, sorted(fields.keys() - but))}")
        types = (fields[name].annotation, *get_args(fields[name].annotation))
        part = next((one for one in types if isinstance(one, type) and issubclass(one, BaseModel)), None)
        if part and isinstance(value, Mapping):
            require_known(part, value, of, f"{before}{name}.", but=but)


def settings_of(given: Sequence[str] | None, by: str = "--set", *, once: bool = False) -> dict[str, Any]:
    """Read settings, each as NAME=VALUE; a name with dots leads into those of a part.

    Args:
        given: the texts.
        by: what gives them, for messages.
        once: whether each may be given once only; else the last counts, as behind an alias of the shell.

    Raises:
        ValueError: one cannot be read, or is given twice where it may not.
    """
    found: dict[str, Any] = {}
    for text in given or []:
        name, value = setting(text, by)
        *parts, last = name.split(".")
        among = found
        for one in parts:
            among = among.setdefault(one, {})
            if not isinstance(among, dict):
                raise ValueError(f"{by} {name}: {one} has been given another value already.")
        if once and last in among:
            raise ValueError(f"{by} gives {name} twice: give it once.")
        among[last] = value
    return found


def setting(text: str, by: str = "--set") -> tuple[str, Any]:
    """Read NAME=VALUE; the value as YAML reads it: a number, true, or text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{by} takes NAME=VALUE, not {text!r}.")
    try:
        return name.strip().replace("-", "_"), read_yaml(value)[1]
    except yaml.YAMLError as error:
        raise ValueError(f"The value of {by} {name.strip()} cannot be read: put quotation marks around it.") from error


def parted(text: str) -> list[str]:
    """The parts of a text between its commas; those in brackets, and in a quoted value, are no such commas."""
    parts, depth = [""], 0
    for one in TOKEN.findall(text):
        depth += (one in ("[", "{")) - (one in ("]", "}"))
        if one == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += one
    return [part.strip() for part in parts if part.strip()]


def with_settings(text: str) -> tuple[str, list[str]]:
    """A method's name, and the settings in brackets behind it: `drmr[revisions=0,notes=true]`.

    Raises:
        ValueError: the bracket is not closed.
    """
    at, depth, begins = 0, 0, 0
    for one in TOKEN.findall(text):
        begins = at if one == "[" and not depth else begins
        depth += (one == "[") - (one == "]")
        at += len(one)
    if depth:
        raise ValueError(f"{text!r} has a bracket too few or too many: write NAME[SETTING=VALUE].")
    if not text.endswith("]"):
        return text, []
    return text[:begins].strip(), parted(text[begins + 1 : -1])


def written(settings: Mapping[str, Any], before: str = "") -> list[str]:
    """Settings as text, by name, so that reading it gives them again; see `settings_of`."""
    found: list[str] = []
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping) and value:
            found += written(value, f"{before}{name}.")
        else:
            found.append(f"{before}{name}={_as_text(value)}")
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, str) and PLAIN.fullmatch(value) and read_yaml(value)[1] == value:
        return value
    if isinstance(value, list):
        return f"[{','.join(map(_as_text, value))}]"
    return json.dumps(value, ensure_ascii=False)
