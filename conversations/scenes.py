"""Scenes of a library: their files, where they are kept, and their scripts."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from dramaturg.conversations.conversation import PATIENCE, SCENES, Conversation
from dramaturg.conversations.opening import elsewhere, scenes_kept
from dramaturg.conversations.turns import said_until
from dramaturg.nodes.run import library_of, run_of
from dramaturg.nodes.scene.presence import USER, members_of, told_of, user_name
from dramaturg.stores.documents.reading import parse_yaml
from dramaturg.stores.errors import RoleError, near_or_all
from dramaturg.stores.files import read_bytes
from dramaturg.stores.library_folder import Library, check_id
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows import scene
from dramaturg.workflows.scene import SceneContext

__all__ = ["lines_of", "open_scene", "read_scene", "scenes_of", "script_of", "thread_of"]

FOLDER = "scenes"
EVERYBODY = "everybody"
"""Under what scenes of a library are kept where nobody says for whom."""


def scenes_of(library: Library) -> list[str]:
    """The names of the scenes of a library, and of the examples; it may block."""
    own = library.root / FOLDER if not isinstance(library, SharedLibrary) else None
    found = [one.stem for one in own.glob("*.yaml")] if own and own.is_dir() else []
    return sorted({*found, *_examples()})


@cache
def _examples() -> Mapping[str, Path]:
    folder = Path(str(files("dramaturg.examples"))) / FOLDER
    return {one.stem: one for one in sorted(folder.glob("*.yaml"))}


def read_scene(library: Library, name: str, **given: Any) -> SceneContext:
    """Read a scene by its file, or by its name in a library or among the examples; it may block.

    Args:
        library: the roles.
        name: of a file that ends in .yaml, or of a scene.
        given: settings that come before those of the file.

    Raises:
        RoleError: there is no such scene, or its file cannot be read; the message has the line.
        ValueError: a setting is out of its bounds.
    """
    path = Path(name).expanduser() if name.endswith((".yaml", ".yml")) else _named(library, name)
    if not path.is_file():
        raise RoleError(f"There is no file {name}.")
    read = parse_yaml(read_bytes(path, path.parent), path, SceneContext, path.parent)
    own = {field: getattr(read, field) for field in read.model_fields_set - {"role", "library"}}
    return SceneContext.model_validate({"scenes": EVERYBODY, **own, "library": library, **given})


def _named(library: Library, name: str) -> Path:
    check_id(name)
    own = library.root / FOLDER / f"{name}.yaml"
    if not isinstance(library, SharedLibrary) and own.is_file():
        return own
    if name not in _examples():
        raise RoleError(f"There is no scene {name!r}{near_or_all(name, scenes_of(library))}")
    return _examples()[name]


def thread_of(name: str, thread: str = "") -> str:
    """The name of the thread on which a scene is played; of several, each has a name of its own."""
    scene_name = Path(name).stem if name.endswith((".yaml", ".yml")) else name
    return f"{SCENES}{scene_name}" + (f"/{thread}" if thread else "")


@asynccontextmanager
async def open_scene(context: SceneContext, thread: str, *, patience: float = PATIENCE) -> AsyncIterator[Conversation]:
    """Open the conversation that plays a scene; what each role has heard is kept with its other talks.

    Args:
        context: of the scene.
        thread: see `thread_of`.
        patience: seconds that a turn waits for one of another program.
    """
    await members_of(await run_of(context))  # refuses a role that is not there
    library = library_of(context)
    async with scenes_kept(library) as kept:
        yield Conversation(
            scene.build(),
            kept.saver,
            context,
            thread,
            store=kept.store,
            locks=kept.locks,
            patience=patience,
            elsewhere=elsewhere(library),
        )


class Spoken(NamedTuple):
    """A line of a scene."""

    role: str
    """The id of the role that says it; `USER`; empty: it is narrated."""
    name: str
    """Who says it; empty: it is narrated."""
    text: str
    heard: Sequence[str]
    """The ids of the roles that have heard it."""


async def lines_of(talk: Conversation) -> list[Spoken]:
    """What was said in a scene on its branch, and who has heard it."""
    run: Any = await run_of(talk.context)
    names = {one.role: one.name for one in await members_of(run)}
    turns = await talk.history()
    said, _ = await said_until(talk.saver, talk.thread.name, turns[-1].checkpoint) if turns else ([], {})
    known = [(one, told) for one in said if (told := told_of(one)) and told["kind"] not in ("cue", "silence")]
    found = list[Spoken]()
    for one, told in known:
        by = told["by"]
        name = one.name or user_name(run) if by == USER else names.get(by, "")
        found.append(Spoken(by, name, told["text"] if by in ("", USER) else one.text, told["witnesses"]))
    return found


async def script_of(talk: Conversation) -> list[str]:
    """The lines of a scene on its branch, as Fountain writes a play, with who heard what was not for all."""
    run: Any = await run_of(talk.context)
    names = {one.role: one.name for one in await members_of(run)}
    lines = [f"Title: {talk.thread.name.removeprefix(SCENES)}", ""]
    if run.settings.place:
        lines += [f".{' '.join(run.settings.place.split())}", ""]
    for one in await lines_of(talk):
        heard = [names[role] for role in names if role in one.heard]
        noted = "" if len(heard) == len(names) else f" [[heard by {', '.join(heard) or 'nobody'}]]"
        lines += [f"@{one.name}", f"{one.text}{noted}", ""] if one.name else [f"!{one.text}{noted}", ""]
    return lines
