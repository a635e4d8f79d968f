"""Reading what people write: every error names the file, the line and what to do."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dramaturg.stores.errors import RoleFileError, did_you_mean
from dramaturg.stores.files import read_bytes

M = TypeVar("M", bound=BaseModel)
DEPTH = 32
"""Levels of lists and mappings in a file of YAML."""
REFERENCES = 100
"""How often a file of YAML may repeat by `*` what `&` has named."""
_TEXT = "tag:yaml.org,2002:str"


def read_text(data: bytes, path: Path, within: Path) -> str:
    """Return the text of a file: UTF-8, without a byte order mark, line ends as a line feed."""
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


def read_lines(path: Path, model: type[M], within: Path) -> dict[int, M]:
    """Return one object a line of JSON, by the numbers of the lines, from 1; blank lines are skipped."""
    return parse_lines(read_bytes(path, within), path, model, within)


def parse_lines(data: bytes, path: Path, model: type[M], within: Path) -> dict[int, M]:
    """Return what the bytes of such a file hold."""
    text = read_text(data, path, within)
    found = {}
    for number, line in enumerate(text.split("\n"), start=1):  # no splitlines: texts may hold other separators
        if line.strip():
            try:
                found[number] = model.model_validate_json(line)
            except ValidationError as error:
                raise _error(path, within, number, explain(error, model)) from error
    return found


class _PlainLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML by libyaml, where there is one; a date is text, and `<<` a key like others."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (as PyYAML has it)
        first: [
            (tag, pattern) for tag, pattern in rules if tag.rpartition(":")[2] not in ("timestamp", "merge", "value")
        ]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class NotPlain(Exception):
    """YAML that is read node by node: with references, with a key that is no word, or with a mistake in it."""


def plain_value(text: str) -> Any:
    """Return the value of a text of YAML, as `read_yaml` does, without a node for each word: a fifth of the time.

    Raises:
        NotPlain: there is more in it, or something wrong; `read_yaml` reads it, or says what.
    """
    loader = _PlainLoader(text)
    try:
        kinds = [type(loader.get_event()), type(loader.get_event())]
        if kinds != [yaml.StreamStartEvent, yaml.DocumentStartEvent]:
            raise NotPlain
        value = _next_value(loader, loader.get_event())
        kinds = [type(loader.get_event()), type(loader.get_event())]
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotPlain from error
    if kinds != [yaml.DocumentEndEvent, yaml.StreamEndEvent]:
        raise NotPlain
    return value


def _next_value(loader: Any, event: Any, depth: int = 0) -> Any:
    """The value that an event begins."""
    kind = type(event)
    if kind is yaml.ScalarEvent:
        return _scalar(loader, event)
    if kind is yaml.AliasEvent or event.anchor or event.tag or depth == DEPTH:
        raise NotPlain
    if kind is yaml.SequenceStartEvent:
        items = []
        while type(item := loader.get_event()) is not yaml.SequenceEndEvent:
            items.append(_next_value(loader, item, depth + 1))
        return items
    found, names = dict[Any, Any](), set[str]()
    while type(key := loader.get_event()) is not yaml.MappingEndEvent:
        if type(key) is not yaml.ScalarEvent or key.value in names:
            raise NotPlain
        names.add(key.value)
        found[_scalar(loader, key)] = _next_value(loader, loader.get_event(), depth + 1)
    return found


def _scalar(loader: Any, event: Any) -> Any:
    """A text, or what it stands for without quotes: a number, true, false, nothing."""
    if event.anchor or event.tag:
        raise NotPlain
    if not event.implicit[0]:  # in quotes, or a block
        return event.value
    tag = loader.resolve(yaml.ScalarNode, event.value, event.implicit)
    return event.value if tag == _TEXT else loader.construct_object(yaml.ScalarNode(tag, event.value))


def read_yaml(text: str) -> tuple[yaml.Node | None, Any]:
    """Return what a text of YAML holds, as nodes and as values: texts, numbers, true and false, lists, mappings.

    What is more is refused: tags, keys that are no words or stand there twice, more than DEPTH levels, and references
    that would grow. So nothing is built but plain values, in a time that grows with the length alone.

    Raises:
        yaml.YAMLError: the text is no such YAML; a `MarkedYAMLError` says where and why.
    """
    try:
        _refuse_growth(yaml.parse(text, _PlainLoader))
        loader = _PlainLoader(text)
        node = loader.get_single_node()
        _refuse_keys(node)
        return node, None if node is None else loader.construct_document(node)
    except (RecursionError, ValueError) as error:
        raise yaml.YAMLError(str(error)) from error


def _refuse_growth(events: Iterable[yaml.Event]) -> None:
    """Refuse tags, more than DEPTH levels, references in what is referred to, and more than REFERENCES of them."""
    named = list[bool]()  # of each list or mapping that is open, whether `&` names it
    references = 0
    for event in events:
        if getattr(event, "tag", None):
            raise _marked("tags such as `!!int` are not taken: write the value alone, or put it in quotes", event)
        match event:
            case yaml.AliasEvent():
                references += 1
                if any(named) or references > REFERENCES:
                    raise _marked("`*` repeats too much: write out what is needed", event)
            case yaml.CollectionStartEvent():
                named.append(event.anchor is not None)
                if len(named) > DEPTH:
                    raise _marked(f"more than {DEPTH} levels are not taken: make lists and mappings flatter", event)
            case yaml.CollectionEndEvent():
                named.pop()


class _RefusedError(yaml.MarkedYAMLError):
    """YAML that we do not take; its problem says what to do."""


def _marked(problem: str, where: Any) -> _RefusedError:
    return _RefusedError(problem=problem, problem_mark=where.start_mark)


def parse_yaml(data: bytes, path: Path, model: type[M], within: Path) -> M:
    """Return the object that the bytes of a YAML file describe; a key without a value counts as missing."""
    text = read_text(data, path, within)
    try:
        node, value = None, plain_value(text)
    except NotPlain:
        node, value = _read_nodes(text, path, within)
    if isinstance(value, dict):
        value = {name: item for name, item in value.items() if item is not None}
    try:
        return model.model_validate({} if value is None else value)
    except ValidationError as error:
        line = _line_of(node or _read_nodes(text, path, within)[0], _first_problem(error)["loc"])
        raise _error(path, within, line, explain(error, model)) from error


def _read_nodes(text: str, path: Path, within: Path) -> tuple[yaml.Node | None, Any]:
    """Read a file's text as `read_yaml` does, with errors that name the file."""
    try:
        return read_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        hint = "" if isinstance(error, _RefusedError) else ": check colons, quotes and indentation"
        raise _error(path, within, line, f"{error.problem}{hint}") from error
    except yaml.YAMLError as error:
        raise _error(path, within, 1, "the file can't be read as YAML: look for what is odd in an editor") from error


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return what is wrong with a value that a person wrote, and what to do about it, in one clause."""
    problem = _first_problem(error)
    where = ".".join(str(step + 1 if isinstance(step, int) else step) for step in problem["loc"])
    keys = _keys(model, problem)
    match problem["type"]:
        case "extra_forbidden":
            near = did_you_mean(str(problem["loc"][-1]), keys, f"; the keys are {', '.join(keys)}").rstrip("?")
            return f"there is no key `{where}`{near}"
        case "missing":
            return f"`{where}` is missing: add it"
        case "string_type":
            return f"`{where}` must be text: put it in quotes"
        case "string_too_long":
            return f"`{where}` has more than {problem['ctx']['max_length']:,} characters: shorten or split it"
        case "string_too_short":
            return f"`{where}` must not be empty"
        case "tuple_type":
            return f"`{where}` must be a list: put each item on a line of its own, after `- `"
        case "model_type" | "model_attributes_type":
            return f"{where or 'this'} must hold keys and values; the keys are {', '.join(keys)}"
        case "json_invalid":
            what = problem["msg"].removeprefix("Invalid JSON: ").replace(" at line 1 column ", " at column ")
            return f"no JSON, {what}"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"`{where}` {message}" if where else message


def _first_problem(error: ValidationError) -> ErrorDetails:
    """Return the problem to name: an unknown key, which explains a missing one, or else the first."""
    problems = error.errors(include_url=False)
    return next((one for one in problems if one["type"] == "extra_forbidden"), problems[0])


def _keys(model: type[BaseModel], problem: ErrorDetails) -> list[str]:
    """Return the keys of the innermost model on the way to a problem."""
    for step in problem["loc"][:-1]:
        inner = model.model_fields.get(str(step))
        types = get_args(inner.annotation) if inner else ()
        model = next((one for one in types if isinstance(one, type) and issubclass(one, BaseModel)), model)
    return list(model.model_fields)


def _line_of(node: yaml.Node | None, location: Sequence[str | int]) -> int:
    """Return the line, from 1, of the deepest key or item on the way to a location in a document."""
    line = node.start_mark.line + 1 if node else 1
    for step in location:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = (node.value[step], node.value[step])
        elif isinstance(node, yaml.MappingNode) and (pairs := [one for one in node.value if one[0].value == step]):
            found = pairs[-1]  # what stands here comes after what is merged in
        else:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _refuse_keys(root: yaml.Node | None) -> None:
    """Refuse a key that is no word, and two equal ones, of which YAML keeps the last without a word."""
    open_nodes, seen = [root], set[int]()
    while open_nodes:
        node = open_nodes.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:  # references lead to one node many times
            continue
        seen.add(id(node))
        names = set[str]()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                raise _marked("a key must be a word: look for what is odd before the colon", key)
            if key.value in names:
                raise _marked(f"`{key.value}` is there twice: take one away", key)
            names.add(key.value)
        for item in node.value:
            open_nodes.extend(item if isinstance(item, tuple) else (item,))


def _name(path: Path, within: Path) -> str:
    return path.relative_to(within.parent).as_posix()


def _error(path: Path, within: Path, line: int, what: str) -> RoleFileError:
    return RoleFileError(f"{_name(path, within)}, line {line}: {what}.")
