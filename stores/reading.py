"""Reading what people write: every error names the file, the line and what to do."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import inside
from dramaturg.stores.slips import clause, worst
from dramaturg.stores.yaml_lines import line_of, refuse_doubles

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
        if size > LARGEST:
            raise RoleFileError(f"{_name(path, within)} has more than {LARGEST:,} bytes: split it into several files.")
        return real.read_bytes()
    except OSError as error:
        raise RoleFileError(f"{_name(path, within)} cannot be read ({error.strerror}): put it there.") from error


def read_text(data: bytes, path: Path, within: Path) -> str:
    """Return the text of a file: UTF-8, without a byte order mark, line ends as a line feed.

    Raises:
        RoleFileError: it is not UTF-8, or no text.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else f"byte {data[error.start]:#04x}"
        raise _error(path, within, line, f"this is not UTF-8 ({hint}): save the file as UTF-8") from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _error(path, within, line, "there is a zero character, as in files that are no text: remove it")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, model: type[M], within: Path) -> list[M]:
    """Return one object a line of JSON; blank lines are skipped.

    Raises:
        RoleFileError: the file or a line cannot be used.
    """
    return list(numbered_lines(path, model, within).values())


def numbered_lines(path: Path, model: type[M], within: Path) -> dict[int, M]:
    """Return the same by the numbers of the lines, from 1.

    Raises:
        RoleFileError: the file or a line cannot be used.
    """
    text = read_text(read_bytes(path, within), path, within)
    found = {}
    for number, line in enumerate(text.split("\n"), start=1):  # no splitlines: texts may hold other separators
        if line.strip():
            try:
                found[number] = model.model_validate_json(line)
            except ValidationError as error:
                raise _error(path, within, number, clause(worst(error), model)) from error
    return found


def parse_yaml(data: bytes, path: Path, model: type[M], within: Path) -> M:
    """Return the object that the bytes of a YAML file describe; a key without a value counts as not there.

    Raises:
        RoleFileError: the file is no YAML, or a key or value in it cannot be used.
    """
    text = read_text(data, path, within)
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        refuse_doubles(node)
        value = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise _error(path, within, line, f"{error.problem}: check colons, quotes and indentation") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _error(path, within, 1, "the file can't be read as YAML: look for what is odd in an editor") from error
    try:
        return model.model_validate(_given(value))
    except ValidationError as error:
        slip = worst(error)
        raise _error(path, within, line_of(node, slip["loc"]), clause(slip, model)) from error


def _given(value: object) -> object:
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if item is not None}
    return {} if value is None else value


def _name(path: Path, within: Path) -> str:
    return path.relative_to(within.parent).as_posix()


def _error(path: Path, within: Path, line: int, what: str) -> RoleFileError:
    return RoleFileError(f"{_name(path, within)}, line {line}: {what}.")
