"""What makes a method's replies: its code, prompts and settings. Replies of another make are kept apart.

The code is that of the method's module and of all modules of nodes and workflows which it imports, as Python reads it:
comments, docstrings and layout do not count. The prompts are those that are named in it. What else a reply hangs on is
in its key already (role, question, models) or, as how a model is asked, in the version, which each record has.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from dramaturg.prompts import load
from dramaturg.stores.files import canonical
from dramaturg.workflows.names import METHODS

OURS = ("dramaturg.nodes", "dramaturg.workflows")
"""Where the code of methods is."""
EXTERNAL = "dramaturg.evaluation.comparison.external"
INTERVIEWS = "dramaturg.evaluation.interviews"
DIGITS = 12


class Making(BaseModel):
    """What makes the replies of one contestant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    """A digest; empty where a server runs it, which does not say."""
    prompts: Mapping[str, str]
    """A digest of each by its name and language, such as "reply.en"; a user's own prompts count by their folder."""
    settings: Mapping[str, Any]
    """As they are resolved by rules and defaults, without those that all contestants share."""

    def digest(self, languages: Iterable[str]) -> str:
        """One digest of it for a role that speaks these languages."""
        wanted = {*languages}
        prompts = {name: one for name, one in self.prompts.items() if name.rpartition(".")[2] in wanted}
        told: Any = [self.code, prompts, self.settings]
        return sha(canonical(told))


class Module(NamedTuple):
    """What is read of a module."""

    code: str
    prompts: frozenset[str]
    imports: frozenset[str]


def making_of(method: str, context: BaseModel, shared: Iterable[str], languages: Iterable[str]) -> Making:
    """Say what makes the replies of a method.

    Args:
        method: its name, that of another package's method, or `package.module:graph` of one's own.
        context: what it is told.
        shared: the settings that all contestants share.
        languages: of the roles.
    """
    code, names = code_of(method)
    return Making(code=code, prompts=prompts_of(names, languages), settings=plain(context, frozenset(shared)))


def played_by(made: Making, languages: Iterable[str]) -> Making:
    """What makes replies in a scene: the code and the prompts of that, too."""
    code, names = walked(["dramaturg.workflows.scene"], OURS)
    return made.model_copy(
        update={"code": sha(canonical([made.code, code])), "prompts": {**made.prompts, **prompts_of(names, languages)}}
    )


@cache
def code_of(method: str) -> tuple[str, frozenset[str]]:
    """A digest of a method's code, and the names of the prompts in it."""
    where = method.rpartition(":")[0]
    if method in METHODS:
        return walked([f"dramaturg.workflows.{METHODS[method]}"], OURS)
    if not where:
        return walked([EXTERNAL, f"dramaturg.evaluation.external.{method}_engine"], OURS)
    return walked([where], (*OURS, where.partition(".")[0]))


@cache
def interviewing() -> frozenset[str]:
    """The names of the prompts by which an interview is held and judged."""
    return walked([f"{INTERVIEWS}.graph"], (INTERVIEWS,))[1]


def prompts_of(names: Iterable[str], languages: Iterable[str]) -> dict[str, str]:
    """A digest of what each prompt says in these languages."""
    there = [f"{name}.{language}" for name in names for language in languages]
    known = prompt_names()
    return {name: sha(repr(load(*name.split(".")).sections).encode()) for name in sorted(there) if name in known}


@cache
def prompt_names() -> frozenset[str]:
    """The package's prompts by name and language."""
    return frozenset(one.name.removesuffix(".md") for one in files("dramaturg.prompts").iterdir())


def walked(begin: Sequence[str], within: tuple[str, ...]) -> tuple[str, frozenset[str]]:
    """Read modules and what they import of some packages; a digest of their code, and the prompts that they name."""
    found: dict[str, Module] = {}
    left = [*begin]
    while left:
        name = left.pop()
        if name not in found and (one := module_of(name)):
            found[name] = one
            left += (other for other in one.imports if f"{other}.".startswith(tuple(f"{of}." for of in within)))
    # A file is the same wherever it lies.
    told: Any = sorted(("" if name.endswith(".py") else name, one.code) for name, one in found.items())
    return sha(canonical(told)), frozenset().union(*(one.prompts for one in found.values()))


@cache
def module_of(name: str) -> Module | None:
    """Read a module, or a file of Python; None: there is none of that name, as where a name in a module is meant."""
    path = file_of(name)
    if path is None:
        return None
    tree = ast.parse(path.read_bytes())
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    texts = {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    known = {one.partition(".")[0] for one in prompt_names()}
    code = " ".join(shape(tree, [])).encode(errors="surrogatepass")
    return Module(sha(code), frozenset(texts & known), frozenset(imported(tree, package)))


def file_of(name: str) -> Path | None:
    """The file of a module."""
    if name.endswith(".py"):
        return Path(name).expanduser()
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """All that a module may import: modules, and names in them that may be modules too."""
    for one in ast.walk(tree):
        if isinstance(one, ast.Import):
            yield from (alias.name for alias in one.names)
        elif isinstance(one, ast.ImportFrom):
            up = ".".join(package.split(".")[: len(package.split(".")) - one.level + 1]) if one.level else ""
            base = ".".join(filter(None, (up, one.module or "")))
            yield base
            yield from (f"{base}.{alias.name}" for alias in one.names)


def shape(node: Any, found: list[str]) -> list[str]:
    """Code as words, the same for every version of Python: without docstrings, and fields that are empty."""
    if isinstance(node, ast.AST):
        found.append(type(node).__name__)
        for name in node._fields:
            if (value := getattr(node, name, None)) is not None and value != []:
                found.append(name)
                shape(value, found)
    elif isinstance(node, list):
        for one in node:
            if not is_docstring(one):
                shape(one, found)
    else:
        found.append(repr(node))
    found.append(")")
    return found


def is_docstring(node: Any) -> bool:
    """Whether a statement says something and does nothing."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return False
    return isinstance(node.value.value, str)


def plain(value: Any, shared: frozenset[str]) -> Any:
    """Settings as plain values, in an order that is always the same, without those that are shared."""
    if isinstance(value, BaseModel):
        return {name: plain(getattr(value, name), shared) for name in type(value).model_fields if name not in shared}
    if isinstance(value, Mapping):
        return {str(name): plain(one, shared) for name, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(one, shared) for one in value), key=repr)
    if isinstance(value, list | tuple):
        return [plain(one, shared) for one in value]
    return value if value is None or isinstance(value, str | int | float) else type(value).__qualname__


def sha(data: bytes) -> str:
    """A short digest."""
    return hashlib.sha256(data).hexdigest()[:DIGITS]


def differences(before: Mapping[str, Making], now: Mapping[str, Making]) -> Iterator[str]:
    """In which ways contestants are made otherwise than before, in words; what only one of the two has does not count.

    Args:
        before: of each contestant.
        now: the same.
    """
    found: dict[str, list[str]] = {}
    for name in before.keys() & now.keys():
        for what in differing(before[name], now[name]):
            found.setdefault(what, []).append(name)
    for what, names in sorted(found.items()):
        yield f"{what} ({', '.join(sorted(names))})"


def differing(one: Making, other: Making) -> Iterator[str]:
    """In which ways two makings differ."""
    if prompts := sorted(
        name for name in one.prompts.keys() & other.prompts.keys() if one.prompts[name] != other.prompts[name]
    ):
        yield f"the prompts {', '.join(prompts)} have changed"
    for name in sorted(one.settings.keys() | other.settings.keys()):
        values = [of.settings.get(name, "not there") for of in (one, other)]
        if values[0] != values[1]:
            yield f"{name}: {values[0]} before, {values[1]} now"
    if one.code != other.code:
        yield "the code has changed"
