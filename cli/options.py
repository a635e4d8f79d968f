"""Options that several commands share, and how they become a context."""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dramaturg.cli.output import note
from dramaturg.models.environment import Environment, environment
from dramaturg.stores.library import is_address, library_at
from dramaturg.stores.library_folder import Library
from dramaturg.workflows.names import METHODS
from dramaturg.workflows.settings import parted, require_known, settings_of, with_settings

if TYPE_CHECKING:
    from dramaturg.nodes.run import RoleContext
    from dramaturg.stores.role import Role

AMADEUS, ROLE_RAG, EMOTIONAL_RAG, DRMR = "amadeus", "role-rag", "emotional-rag", "drmr"


def method_named(text: str) -> str:
    """The name of a method; a flow of one's own is imported, and modules of the current folder are found.

    Raises:
        ValueError: there is no such method, or it cannot take a turn.
    """
    name = own_named(text)
    if name not in METHODS:
        from dramaturg.workflows.methods import flow

        flow(name)
    return name


def own_named(text: str) -> str:
    """A name, and that of a flow of one's own ready to be imported: ./flow.py and flow.py are the same."""
    name, _ = with_settings(text)
    where, colon, attribute = name.rpartition(":")
    if not colon:
        return text
    find_modules_here()
    return f"{os.path.normpath(where)}:{attribute}{text[len(name) :]}"


def find_modules_here() -> None:
    """Let modules of the current folder be imported, as `python -m` does."""
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)


RoleArgument = Annotated[str, typer.Argument(help="The id of a role, e.g. beethoven.", show_default=False)]
RolesArgument = Annotated[list[str], typer.Argument(metavar="ROLE …", help="The ids of roles.", show_default=False)]
MethodOption = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME|MODULE:GRAPH",
        help=f"How the role answers: {', '.join(METHODS)}, or a graph of your own, as package.module:graph or "
        "path/to/file.py:graph.",
        callback=method_named,
        autocompletion=lambda incomplete: [name for name in METHODS if name.startswith(incomplete)],
    ),
]
LibraryOption = Annotated[
    str | None,
    typer.Option("--library", help="The folder of the roles, or postgresql://….", envvar="DRAMATURG_LIBRARY"),
]
ServerOption = Annotated[
    str,
    typer.Option("--server", metavar="URL", help="A LangGraph server that does the work, by its models and library."),
]
ModelOption = Annotated[
    str, typer.Option("--model", help="auto, embedded, a model's name at OPENAI_BASE_URL, or provider:name.")
]
SettingsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any setting of the method, e.g. slots=3; of a part of it, e.g. passages.slots=3. May be repeated.",
    ),
]
PromptsOption = Annotated[
    Path | None,
    typer.Option(
        "--prompts",
        metavar="FOLDER",
        help="A folder with your own prompts, such as judge.en.md; they override the role's and the package's.",
        exists=True,
        file_okay=False,
    ),
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
JudgesOption = Annotated[
    list[str] | None, typer.Option("--judge", help="The model that judges; may be repeated. Default: that of --model.")
]
MostCallsOption = Annotated[
    int, typer.Option("--most-calls", min=0, help="Stop after this many calls; 0 means no limit.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what it would cost, and exit.")]
CountOption = Annotated[bool, typer.Option("--dry-run", help="Print how many questions it would ask, and exit.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def library_path(library: str | None) -> Path | str:
    """Where the library is that is meant: a folder, or the address of a database.

    Raises:
        ValueError: it is a file, or the address of something else.
    """
    place = library or environment().library
    if not is_address(place) and ("://" in str(place) or Path(place).is_file()):
        shown = re.sub("//[^/]*@", "//…@", str(place))
        raise ValueError(f"The library cannot be {shown!r}: it may be a folder, or postgresql://user@host/name.")
    return place


def shelf_of(library: str | None) -> Library:
    """The library that is meant."""
    surroundings = environment()
    return library_at(library_path(library), surroundings.cache, keep=surroundings.keep_versions)


def carry_to(server: str, library: str | None, *roles: str) -> None:
    """Carry roles of this side's folder into the database that is a server's library, where it has none of their id.

    What the server has is what it goes by. From a folder alone nothing can be carried: the server says what it lacks.
    """
    shelf = shelf_of(library)
    if not server or not shelf.is_copy:
        return
    here = environment().library
    folder = Library(Path(Environment().library if is_address(here) else here))
    lacking = {*roles} & {*folder.roles()} - {*shelf.roles()}
    if lacking:
        shelf.replace({role: folder.contents(role) for role in lacking}, new=True)
        note(f"Carried {', '.join(sorted(lacking))} from {folder.name} to {shelf.name}.")


def command_line(*words: str, method: str = AMADEUS, library: Path | str | None = None, server: str = "") -> str:
    """A command to be typed, with the options that lead to the same method, library and server."""
    by = [] if method == AMADEUS else ["--method", method]
    around = library is None or str(library) == str(environment().library)
    among = [] if around else ["--library", re.sub(r":[^:/@]*@", "@", str(library))]  # without a password
    return shlex.join(["dramaturg", *words, *by, *among, *(["--server", server] if server else [])])


def context_for(
    method: str, role: str, library: str | None, settings: Sequence[str] | None, **named: Any
) -> "RoleContext":
    """Put the context of a run together; what is named and empty was not given.

    Raises:
        ValueError: a setting is unknown or out of its bounds, or the method has no such option.
    """
    from dramaturg.workflows.methods import context_type

    options, kind = {name: value for name, value in named.items() if value}, context_type(method)
    given = settings_of(settings)
    require_known(kind, given, method)
    if missing := options.keys() - kind.model_fields.keys():
        have = " or ".join(other for other in METHODS if missing <= context_type(other).model_fields.keys())
        raise ValueError(
            f"The method {method} has no --{min(missing).replace('_', '-')}: add --method {have}, or leave it out."
        )
    return kind.model_validate({"role": role, "library": str(library_path(library)), **options, **given})


def role_for(
    method: str, role: str, library: str | None, settings: Sequence[str] | None, **named: Any
) -> "tuple[RoleContext, Role]":
    """Put the context of a run together, and open its role; see `context_for`."""
    return context_for(method, role, library, settings, **named), shelf_of(library).open(role)


def names_in(option: str, given: Sequence[str]) -> tuple[str, ...]:
    """The names in an option that may be repeated, with commas between or not; each once, one at least."""
    names = tuple(dict.fromkeys(part for text in given for part in parted(text)))
    if not names:
        raise ValueError(f"{option} needs one or more names: separate them by commas, or repeat the option.")
    return names


def one_wish(wishes: Mapping[str, bool], unit: str = "thing") -> str:
    """The only option given of those that exclude each other; empty: none of them."""
    wanted = [wish for wish, given in wishes.items() if given]
    if len(wanted) > 1:
        raise ValueError(f"One {unit} at a time: {' or '.join(f'--{wish}' for wish in wanted)}.")
    return "".join(wanted)


def given_object(option: str, text: str) -> Any:
    """Import what an option names; modules of the current folder are found, too.

    Args:
        option: that names it, for the message.
        text: MODULE:NAME.

    Raises:
        ValueError: there is no such module, or nothing of that name in it.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{option} takes MODULE:NAME, such as my_search:search, not {text!r}.")
    find_modules_here()
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{option} {text} cannot be imported: {error}.") from error
