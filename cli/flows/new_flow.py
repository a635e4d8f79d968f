"""`dramaturg new-flow`: a package with a flow of one's own, its test, and what serves it."""

import keyword
import re
import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Annotated
from uuid import uuid4

import typer

from dramaturg.cli.output import screen
from dramaturg.stores.files import make_folder, move_folder, remove, write_bytes
from dramaturg.workflows.names import METHODS

NAME = re.compile(r"[a-z](?:[a-z0-9_]{0,62}[a-z0-9])?")  # what is both a package of Python and a project of pip
PLACES = {
    "README.md.txt": "README.md",
    "pyproject.toml.txt": "pyproject.toml",
    "langgraph.json.txt": "langgraph.json",
    "init.py.txt": "$name/__init__.py",
    "flow.py.txt": "$name/flow.py",
    "test_flow.py.txt": "tests/test_flow.py",
}
"""Where each template goes."""


def new_flow(
    name: Annotated[str, typer.Argument(help="The name of the package, e.g. my_flow.", show_default=False)],
    into: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to create the package in.")] = Path(),
) -> None:
    """Create a package with your own flow: AMADEUS with one more node and setting, a test, a README."""
    made = write_flow(name, into)
    screen.print(f"Made {made}. Its README.md says what to run; the flow is {name}/flow.py.", soft_wrap=True)


def write_flow(name: str, into: Path) -> Path:
    """Write the package, whole or not at all, and return its folder.

    Raises:
        ValueError: the name may not be used, or the folder is there, or there is none to put it into.
        StorageError: the file system refuses.
    """
    check_name(name)
    folder = into.expanduser().resolve()
    if not folder.is_dir():
        raise ValueError(f"{into} is no folder: name one that is there with --into.")
    if (folder / name).exists():
        raise ValueError(f"There is {name} in {folder} already: take another name, or another folder with --into.")
    aside = folder / f".{name}.{uuid4().hex}.tmp"
    try:
        for template, place in PLACES.items():
            target = aside / filled(place, name)
            make_folder(target.parent, within=folder)
            text = (files("dramaturg.cli.flows") / "templates" / template).read_text(encoding="utf-8")
            write_bytes(target, filled(text, name).encode(), within=folder)
        move_folder(aside, folder / name, within=folder)
    finally:
        remove(aside)
    return folder / name


def check_name(name: str) -> None:
    """Refuse what cannot be a package, and what would hide one that is there.

    Raises:
        ValueError: the name may not be used.
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ValueError(
            f"{name!r} can't be the name of a flow: up to 64 of the letters a-z, digits and _, the first a letter, "
            "the last no _, and no word of the Python language."
        )
    if name in METHODS.values():
        raise ValueError(f"{name!r} is a method of Dramaturg: take another name for the flow.")
    if name == "tests" or name in sys.stdlib_module_names or find_spec(name):
        raise ValueError(f"A flow {name!r} would hide the Python package of that name: take another name.")


def filled(text: str, name: str) -> str:
    """A template with its values."""
    return Template(text).substitute(name=name)
