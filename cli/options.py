"""Options that several commands share, and how they become a context."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from dramaturg.models.environment import environment
from dramaturg.nodes.run import RoleContext
from dramaturg.workflows.methods import METHODS, context_type

MethodName = StrEnum("MethodName", {name: name for name in METHODS})  # type: ignore[misc]
AMADEUS = MethodName("amadeus")
ROLE_RAG = MethodName("role-rag")
EMOTIONAL_RAG = MethodName("emotional-rag")
DRMR = MethodName("drmr")

RoleArgument = Annotated[str, typer.Argument(help="The id of a role, e.g. beethoven.", show_default=False)]
MethodOption = Annotated[MethodName, typer.Option("--method", help="How the role answers.")]
LibraryOption = Annotated[
    Path | None, typer.Option("--library", help="The folder of the roles.", envvar="DRAMATURG_LIBRARY")
]
ModelOption = Annotated[
    str, typer.Option("--model", help="auto, embedded, a model's name at OPENAI_BASE_URL, or provider:name.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the method, e.g. slots=3; may be repeated."),
]
StrategyOption = Annotated[
    str, typer.Option("--strategy", help="How Emotional RAG recalls: C-A, C-M, S-S, S-E or semantic.")
]
UserRoleOption = Annotated[
    str,
    typer.Option(
        "--user-role",
        metavar="NAME",
        help="The role that you play: one of the library by its id or name, or anybody who speaks in the dialogues.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


def library_path(library: Path | None) -> Path:
    """The library that is meant."""
    return library or environment().library


def context_for(
    method: str, role: str, library: Path | None, settings: Sequence[str] | None, **named: Any
) -> RoleContext:
    """Put the context of a run together; what is named and empty was not given.

    Raises:
        ValueError: a setting is unknown or out of its bounds, or the method has no such option.
    """
    options, kind = {name: value for name, value in named.items() if value}, context_type(method)
    if missing := options.keys() - kind.model_fields.keys():
        have = " or ".join(other for other in METHODS if missing <= context_type(other).model_fields.keys())
        raise ValueError(
            f"The method {method} has no --{min(missing).replace('_', '-')}: add --method {have}, or leave it out."
        )
    given = options | dict(map(setting, settings or []))
    return kind.model_validate({"role": role, "library": str(library_path(library)), **given})


def setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; the value as YAML reads it: a number, true, or text."""
    name, equals, value = text.partition("=")
    if not equals:
        msg = f"--set takes NAME=VALUE, not {text!r}."
        raise ValueError(msg)
    try:
        return name.strip().replace("-", "_"), yaml.safe_load(value)
    except yaml.YAMLError as error:
        msg = f"The value of --set {name.strip()} cannot be read: put quotation marks around it."
        raise ValueError(msg) from error
