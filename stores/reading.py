"""Reading what people write: every error names the file, the line and what to do."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dramaturg.stores.errors import RoleFileError, did_you_mean
from dramaturg.stores.files import inside

LARGEST = 100_000_000  # bytes of one file; compared before it is read
M = TypeVar("M", bound=BaseModel)


def read_bytes(path: Path, within: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        RoleFileError: it is not there, cannot be read, or is larger than 100 MB.
        RoleError: it is a link that leads out of the role.
    """
    real = inside(path, within)
    try:
        size = real.stat().st_size
        if size <= LARGEST and real.is_file():
            return real.read_bytes()
    except OSError as error:
        raise RoleFileError(f"{_name(path, within)} cannot be read ({error.strerror}).") from error
    raise RoleFileError(
        f"{_name(path, within)} has {size:,} bytes, more than {LARGEST:,}: split it into several files."
    )


def read_text(data: bytes, path: Path, within: Path) -> str:
    """Return the text of a file: UTF-8, without a byte order mark, line ends as a line feed.

    Raises:
        RoleFileError: it is not UTF-8, or no text.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else f"byte {error.start + 1}"
        raise _error(path, within, line, f"is not UTF-8 ({hint}): save the file with the encoding UTF-8") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _error(path, within, line, "there is a zero character, as in files that are no text: remove it")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, model: type[M], within: Path) -> list[M]:
    """Return one object a line of JSON; blank lines are skipped.

    Raises:
        RoleFileError: the file or a line cannot be used.
    """
    text = read_text(read_bytes(path, within), path, within)
    found = []
    for number, line in enumerate(text.split("\n"), start=1):  # no splitlines: texts may hold other separators
        if line.strip():
            try:
                found.append(model.model_validate_json(line))
            except ValidationError as error:
                raise _error(path, within, number, _sentence(error.errors()[0], model)) from error
    return found


def read_yaml(path: Path, model: type[M], *, within: Path) -> M:
    """Return the object that a YAML file describes.

    Raises:
        RoleFileError: the file is no YAML, or a key or value in it cannot be used.
    """
    text = read_text(read_bytes(path, within), path, within)
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        _refuse_doubles(node, path, within)
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _error(path, within, line, f"is no YAML ({error.problem}): check colons, quotes, indentation") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if isinstance(error, RoleFileError):
            raise
        raise _error(path, within, 1, "is no YAML that can be read: check it with an editor") from error
    try:
        return model.model_validate(value if value is not None else {})
    except ValidationError as error:
        first = error.errors()[0]
        raise _error(path, within, _line(node, first["loc"]), _sentence(first, model)) from error


def _refuse_doubles(node: yaml.Node | None, path: Path, within: Path) -> None:
    """YAML keeps the last of two equal keys without a word; a person would miss the first."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_doubles(item, path, within)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for name, item in node.value:
            if str(name.value) in seen:
                raise _error(path, within, name.start_mark.line + 1, f"`{name.value}` is there twice: keep one")
            seen.add(str(name.value))
            _refuse_doubles(item, path, within)


def _line(node: yaml.Node | None, location: Sequence[str | int]) -> int:
    """Return the line of the deepest node on the way to a location."""
    line = node.start_mark.line + 1 if node else 1
    for step in location:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
        elif isinstance(node, yaml.MappingNode):
            node, line = next(((v, k.start_mark.line + 1) for k, v in node.value if k.value == step), (None, line))
            continue
        else:
            break
        line = node.start_mark.line + 1
    return line


def _sentence(error: ErrorDetails, model: type[BaseModel]) -> str:
    location = ".".join(str(step) for step in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"there is no key `{location}` here{did_you_mean(str(error['loc'][-1]), model.model_fields)}"
    if error["type"] == "missing":
        return f"`{location}` is missing: add it"
    return f"`{location}`: {error['msg']}" if location else error["msg"]


def _name(path: Path, within: Path) -> str:
    return path.relative_to(within.parent).as_posix()


def _error(path: Path, within: Path, line: int, what: str) -> RoleFileError:
    return RoleFileError(f"{_name(path, within)}, line {line}: {what}.")
