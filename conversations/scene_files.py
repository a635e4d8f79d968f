"""The files of scenes: read by a name or a path, made, changed and deleted; what else somebody wrote in one stays."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from dramaturg.nodes.open_settings import Closed
from dramaturg.stores.documents.forms import dumped, with_values
from dramaturg.stores.documents.reading import parse_yaml, read_text, read_yaml
from dramaturg.stores.errors import RoleBusy, RoleError, near_or_all
from dramaturg.stores.files import make_folder, read_bytes, remove_file, write_bytes
from dramaturg.stores.library_folder import RESERVED, Library
from dramaturg.stores.locks import PATIENCE, file_lock
from dramaturg.stores.names import normal_name
from dramaturg.stores.shared_library import SharedLibrary
from dramaturg.workflows.scene import SceneContext

__all__ = ["change_scene", "delete_scene", "make_scene", "own_scenes", "read_scene", "scenes_of", "written_scene"]

FOLDER = "scenes"
EVERYBODY = "everybody"
"""Under what scenes of a library are kept where nobody says for whom."""
LONGEST_TITLE = 100
LONGEST_WORDS = 50  # characters of a title that are the name of a new scene
_NAME = re.compile(r"[^\W_][\w-]{0,63}")


class SceneFile(SceneContext):
    """A scene as its file has it."""

    title: Closed[str] = Field(
        default="", max_length=LONGEST_TITLE, description="What it is called; empty: as the file."
    )


def scenes_of(library: Library) -> list[str]:
    """The names of the scenes of a library, and of the examples; it may block."""
    return sorted({*own_scenes(library), *_examples()})


def own_scenes(library: Library) -> list[str]:
    """The names of the scenes that a library has itself; it may block."""
    folder = library.root / FOLDER
    return [one.stem for one in folder.glob("*.yaml")] if _has_files(library) and folder.is_dir() else []


def _has_files(library: Library) -> bool:
    return not isinstance(library, SharedLibrary)


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
    read = written_scene(library, name)
    own = {field: getattr(read, field) for field in read.model_fields_set - {"role", "library", "title"}}
    return SceneContext.model_validate({"scenes": EVERYBODY, **own, "library": library, **given})


def written_scene(library: Library, name: str) -> SceneFile:
    """What the file of a scene says, with the title that is shown of it; as `read_scene`."""
    path = Path(name).expanduser() if name.endswith((".yaml", ".yml")) else _named(library, name)
    if not path.is_file():
        raise RoleError(f"There is no file {name}.")
    read = parse_yaml(read_bytes(path, path.parent), path, SceneFile, path.parent)
    return read.model_copy(update={"title": read.title or title_of(path.stem)})


def title_of(name: str) -> str:
    """What a scene is called whose file does not say it."""
    words = name.replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:]


def _named(library: Library, name: str) -> Path:
    if not _may_be_name(name):
        raise RoleError(
            f"{name!r} can't be the name of a scene: take 1 to 64 letters, digits, - and _, the first a letter or "
            "digit, and no device name of Windows such as con or nul."
        )
    if name in own_scenes(library):
        return library.root / FOLDER / f"{name}.yaml"
    if name not in _examples():
        raise RoleError(f"There is no scene {name!r}{near_or_all(name, scenes_of(library))}")
    return _examples()[name]


def _may_be_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not RESERVED.fullmatch(name)


def make_scene(
    library: Library, title: str, values: Mapping[str, Any], *, like: str = "", used: Collection[str] = ()
) -> str:
    """Put the file of a new scene into a library; it may block.

    Args:
        library: the roles.
        title: what it is called.
        values: what its file is to say, by the names of the settings.
        like: another scene, of which it has everything else.
        used: names that the file must not have, such as those of scenes that are gone and whose chats are there.

    Returns:
        Its name.

    Raises:
        RoleError: there is a scene that is called so, or none that it is to be like, or its file could not be read.
    """
    with _changing(library):
        _require_new(library, title)
        begin = _text_of(library, like) if like else ""
        taken = {one.casefold() for one in (*scenes_of(library), *used)}
        words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", title.casefold()))
        plain = "-".join(words)[:LONGEST_WORDS].strip("-") or "scene"
        numbered = (f"{plain}-{number}" if number > 1 else plain for number in count(1))
        name = next(one for one in numbered if _may_be_name(one) and one.casefold() not in taken)
        _write(library, name, begin, {"title": title, **values})
    return name


def change_scene(library: Library, name: str, values: Mapping[str, Any]) -> None:
    """Change what the file of a scene of the library says; it may block.

    Args:
        library: the roles.
        name: of the scene.
        values: by the names of the settings; None, or what is empty: that is taken out. All else stays.

    Raises:
        RoleError: there is no such scene, or it is an example, or its file could not be read afterwards.
    """
    with _changing(library):
        _own(library, name)
        if values.get("title"):
            _require_new(library, values["title"], but=name)
        _write(library, name, _text_of(library, name), values)


def delete_scene(library: Library, name: str) -> None:
    """Delete the file of a scene of the library, and nothing that was played of it; it may block.

    Raises:
        RoleError: there is no such scene, or it is an example.
    """
    with _changing(library):
        remove_file(_own(library, name), within=library.root)


@contextmanager
def _changing(library: Library) -> Iterator[None]:
    """Hold the scenes of a library, across threads and processes."""
    if not _has_files(library):
        raise RoleError("Scenes are files, and this library is in a database: serve a folder to make some.")
    folder = library.root / FOLDER
    make_folder(folder, within=library.root)
    busy = RoleBusy("Another program is changing the scenes: try again when it is done.")
    with file_lock(folder / ".lock", patience=PATIENCE, busy=busy):
        yield


def _own(library: Library, name: str) -> Path:
    path = _named(library, name)
    if name in own_scenes(library):
        return path
    raise RoleError(f"{name!r} is an example, which cannot be changed: make a scene of your own like it.")


def _require_new(library: Library, title: str, but: str = "") -> None:
    """Refuse a title that another scene has."""
    for name in scenes_of(library):
        try:
            called = written_scene(library, name).title
        except (RoleError, ValueError):
            called = title_of(name)
        if name != but and normal_name(called) == normal_name(title):
            raise RoleError(f"There is a scene {called!r} already: take another name, or change that one.")


def _text_of(library: Library, name: str) -> str:
    written_scene(library, name)  # or why it cannot be read
    path = _named(library, name)
    return read_text(read_bytes(path, path.parent), path, path.parent)


def _write(library: Library, name: str, text: str, values: Mapping[str, Any]) -> None:
    """Write the file of a scene with other values, once it is seen that it can be read."""
    if values.get("title") == title_of(name):
        values = {**values, "title": ""}
    path = library.root / FOLDER / f"{name}.yaml"
    data = changed_text(text, values).encode()
    parse_yaml(data, path, SceneFile, path.parent)
    write_bytes(path, data, within=library.root)


def changed_text(text: str, values: Mapping[str, Any]) -> str:
    """A file of YAML with other values of some keys, and all else as it was, comments too.

    Comments are lost only among what is changed, and where the file is written in a way of which no part can be
    replaced alone.
    """
    before = read_yaml(text)[1] or {}
    other = {key: value for key, value in values.items() if (before.get(key) or None) != (value or None)}
    wanted = {key: value for key, value in {**before, **other}.items() if key not in other or value}
    if not other:
        return text
    made = with_values(text, {key: value or None for key, value in other.items()})
    try:
        kept = read_yaml(made)[1] == wanted
    except yaml.YAMLError:
        kept = False
    return made if kept else dumped(wanted)
