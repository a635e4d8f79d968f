"""What a node's code tells: which channels it reads and writes, what it asks a model, and what it streams.

A function is followed into those of the package that it calls, as far as names and annotations say which they are.
"""

import ast
import asyncio
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from typing import Any, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from typing_extensions import is_typeddict

from dramaturg.models import questions
from dramaturg.nodes import run

HOUSES = ("dramaturg.nodes", "dramaturg.workflows")
QUESTIONS = {
    questions.decide: "decide",
    questions.rate: "rate",
    questions.choose: "choose",
    questions.extract: "extract",
    questions.write: "write",
    questions.write_message: "write",
    run.Run.embedder: "embed",
}


@dataclass
class Facts:
    """What was found of a function."""

    needs: set[str] = field(default_factory=set)
    may_read: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    events: set[str] = field(default_factory=set)
    settings: set[type] = field(default_factory=set)
    asks: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    """The names of graphs."""

    def add(self, other: "Facts") -> None:
        """Take over what was found of a function that is called; what that one returns is not written by it."""
        for name in ("needs", "may_read", "events", "settings", "asks", "runs"):
            getattr(self, name).update(getattr(other, name))


@dataclass(frozen=True)
class Special:
    """One of the things that a node is given."""

    name: str


@dataclass(frozen=True)
class Keys:
    """A dict with these keys."""

    names: frozenset[str]


@dataclass(frozen=True)
class Strings:
    """One of these strings, or all of them."""

    names: frozenset[str]


@dataclass(frozen=True)
class Items:
    """A tuple."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Known:
    """An object that is there when the code is imported."""

    object: Any


@dataclass(frozen=True)
class Instance:
    """An object of a class of the package."""

    kind: type


@dataclass(frozen=True)
class Either:
    """One of several values."""

    values: frozenset[Any]


STATE, RUNTIME, WRITER = Special("state"), Special("runtime"), Special("writer")
Value: TypeAlias = Special | Keys | Strings | Items | Known | Instance | Either | None
"""What is known of a value; None: nothing."""


def joined(one: Value, other: Value) -> Value:
    """What is known of a value that is one of two."""
    for kind in (Keys, Strings):
        if isinstance(one, kind) and isinstance(other, kind):
            return kind(one.names | other.names)
    values = alternatives(one) | alternatives(other)
    return Either(values) if len(values) > 1 else next(iter(values), None)


def alternatives(value: Value) -> frozenset[Any]:
    """All that a value may be."""
    return value.values if isinstance(value, Either) else frozenset({value} - {None})


def names_in(value: Value, kind: type[Keys] | type[Strings]) -> frozenset[str]:
    """The keys, or the strings, that a value may have."""
    return frozenset().union(*(one.names for one in alternatives(value) if isinstance(one, kind)))


def instance_of(annotation: Any) -> Value:
    """What is known of a value by its annotation."""
    kind = get_origin(annotation) or annotation
    if kind is Runtime:
        return RUNTIME
    if kind in (Union, types.UnionType):
        return reduce(joined, map(instance_of, get_args(annotation)))
    return Instance(kind) if isinstance(kind, type) and followed(kind) and not is_typeddict(kind) else None


def followed(thing: Any) -> bool:
    """Whether a function or class belongs to the nodes or workflows."""
    return str(getattr(thing, "__module__", "")).startswith(HOUSES)


@cache
def hints(thing: Any) -> dict[str, Any]:
    """The annotations of a function or class; those of type checkers' imports are left out."""
    try:
        return get_type_hints(thing)
    except (NameError, TypeError):
        return {}


@cache
def body(code: types.CodeType) -> list[ast.stmt]:
    """The statements of a function."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(code))).body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101
    return function.body


_found: dict[Any, tuple[Facts, Value]] = {}


def found_in(function: types.FunctionType, given: dict[str, Value]) -> tuple[Facts, Value]:
    """What a function does with what it is given, and what it returns."""
    key = (function, frozenset(given.items()))
    if key not in _found:
        _found[key] = (Facts(), None)  # of one that calls itself
        reader = Reader(function, given)
        for _ in range(2):  # a loop may use what is bound further down
            for statement in body(function.__code__):
                reader.visit(statement)
        _found[key] = (reader.facts, reader.returned or instance_of(hints(function).get("return")))
    return _found[key]


class Reader(ast.NodeVisitor):
    """Goes through one function."""

    def __init__(self, function: types.FunctionType, given: dict[str, Value]) -> None:
        annotated = {name: instance_of(hint) for name, hint in hints(function).items()}
        self.names: dict[str, Value] = {**annotated, **{name: value for name, value in given.items() if value}}
        around = inspect.getclosurevars(function)
        self.around = {**around.builtins, **around.globals, **function.__globals__, **around.nonlocals}
        self.facts = Facts()
        self.returned: Value = None
        self.depth = 0
        self.maybe = False

    # What is known of an expression.

    def value(self, node: ast.expr) -> Value:
        """What is known of an expression."""
        read = getattr(self, f"value_of_{type(node).__name__}", None)
        return cast("Value", read(node)) if read else None

    def value_of_Constant(self, node: ast.Constant) -> Value:
        return Strings(frozenset({node.value})) if isinstance(node.value, str) else None

    def value_of_JoinedStr(self, node: ast.JoinedStr) -> Value:
        built = frozenset({""})
        for part in node.values:
            strings = names_in(self.value(part.value if isinstance(part, ast.FormattedValue) else part), Strings)
            built = frozenset(before + after for before in built for after in strings)
        return Strings(built) if built else None

    def value_of_Name(self, node: ast.Name) -> Value:
        if node.id in self.names:
            return self.names[node.id]
        return known(self.around[node.id]) if node.id in self.around else None

    def value_of_Attribute(self, node: ast.Attribute) -> Value:
        return reduce(joined, (attribute(one, node.attr) for one in alternatives(self.value(node.value))), None)

    def value_of_Subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, Items) and isinstance(node.slice, ast.Constant):
            return base.values[node.slice.value] if node.slice.value < len(base.values) else None
        return None

    def value_of_Dict(self, node: ast.Dict) -> Value:
        names = frozenset[str]()
        for key, one in zip(node.keys, node.values, strict=True):
            names |= names_in(self.value(one), Keys) if key is None else names_in(self.value(key), Strings)
        return Keys(names)

    def value_of_Tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        values = tuple(self.value(one) for one in node.elts)
        if values and all(isinstance(one, Strings) for one in values):
            return reduce(joined, values)
        return Items(values)

    value_of_List = value_of_Set = value_of_Tuple

    def value_of_BinOp(self, node: ast.BinOp) -> Value:
        return joined(self.value(node.left), self.value(node.right))

    def value_of_IfExp(self, node: ast.IfExp) -> Value:
        return joined(self.value(node.body), self.value(node.orelse))

    def value_of_BoolOp(self, node: ast.BoolOp) -> Value:
        return reduce(joined, map(self.value, node.values))

    def value_of_Await(self, node: ast.Await) -> Value:
        return self.value(node.value)

    value_of_Starred = value_of_Await

    def value_of_NamedExpr(self, node: ast.NamedExpr) -> Value:
        return self.value(node.value)

    def value_of_Call(self, node: ast.Call) -> Value:
        called = [one.object for one in alternatives(self.value(node.func)) if isinstance(one, Known)]
        return reduce(joined, (self.call(one, node.args, node.keywords) for one in called), None)

    # Calls.

    def call(self, called: Any, args: list[ast.expr], keywords: list[ast.keyword]) -> Value:
        """Follow a call, and say what it returns."""
        bound, called = ([called[1]], called[0]) if isinstance(called, tuple) else ([], called)
        if called in (asyncio.to_thread, partial) and args:
            inner = self.value(args[0])
            return self.call(inner.object, args[1:], keywords) if isinstance(inner, Known) else None
        values = [*bound, *self.given(args)]
        if called is cast:
            return values[1]
        if called == dict.fromkeys:
            return Keys(values[0].names) if isinstance(values[0], Strings) else None
        if called in (run.open_run, run.settings):
            kind = values[1].object if isinstance(values[1], Known) else None
            self.facts.settings |= {kind} if isinstance(kind, type) else set()
            return Instance(run.Run) if called is run.open_run else None
        if called in QUESTIONS:
            self.facts.asks.add(QUESTIONS[called])
            return None
        if isinstance(called, type):
            return instance_of(called)
        if not isinstance(called, types.FunctionType) or not followed(called):
            return None
        named = {one.arg: self.value(one.value) for one in keywords if one.arg}
        facts, returned = found_in(called, bindings(called, values) | named)
        self.facts.add(facts)
        return returned

    def given(self, args: Iterable[ast.expr]) -> Iterator[Value]:
        """The values of arguments; a tuple that is unpacked gives its own."""
        for one in args:
            value = self.value(one)
            if isinstance(one, ast.Starred) and isinstance(value, Items):
                yield from value.values
            else:
                yield value

    # Statements.

    def visit_Call(self, node: ast.Call) -> None:
        """Note what a call reads or streams, and follow it."""
        base = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if base == STATE and node.args:
            self.read(node.args[0], self.facts.may_read)
        elif self.value(node.func) == WRITER and isinstance(node.args[0], ast.Dict):
            pairs = zip(node.args[0].keys, node.args[0].values, strict=True)
            event = next(one for key, one in pairs if isinstance(key, ast.Constant) and key.value == "event")
            self.read(event, self.facts.events)
        else:
            self.value(node)
        for part in (*node.args, *(one.value for one in node.keywords)):
            self.visit(part)
        if not isinstance(node.func, ast.Name):
            self.visit(node.func.value if isinstance(node.func, ast.Attribute) else node.func)

    def visit_Name(self, node: ast.Name) -> None:
        """Follow a function that is handed on and not called here."""
        if isinstance(node.ctx, ast.Load):
            self.handed_on(self.value(node))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Follow a method that is handed on."""
        self.handed_on(self.value(node))
        self.visit(node.value)

    def handed_on(self, value: Value) -> None:
        """Follow what somebody else will call, with nothing known of its arguments."""
        for one in alternatives(value):
            if isinstance(one, Known) and isinstance(one.object, tuple | types.FunctionType):
                self.call(one.object, [], [])
            elif isinstance(one, Known) and isinstance(one.object, Pregel):
                self.facts.runs.add(one.object.name)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Note a channel that is read."""
        if self.value(node.value) == STATE:
            self.read(node.slice, self.facts.may_read if self.maybe else self.facts.needs)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Note that a channel may be missing which is read only if something is so."""
        self.visit(node.test)
        before, self.maybe = self.maybe, True
        self.visit(node.body)
        self.visit(node.orelse)
        self.maybe = before

    def visit_If(self, node: ast.If) -> None:
        """Note a channel without which there is an error."""
        match node.test:
            case ast.Compare(left=name, ops=[ast.NotIn()], comparators=[state]) if self.value(state) == STATE:
                raises = any(isinstance(one, ast.Raise) for one in node.body)
                self.read(name, self.facts.needs if raises else self.facts.may_read)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Note a channel that is looked for."""
        if any(self.value(one) == STATE for one in node.comparators):
            self.read(node.left, self.facts.may_read)
        self.generic_visit(node)

    def read(self, node: ast.expr, into: set[str]) -> None:
        """Put the strings that an expression may be into a set."""
        into |= names_in(self.value(node), Strings)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Bind names."""
        self.visit(node.value)
        for target in node.targets:
            self.bind(target, self.value(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Bind a name."""
        if node.value:
            self.visit(node.value)
            self.bind(node.target, self.value(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Bind a name to more."""
        self.visit(node.value)
        self.bind(node.target, self.value(node.value))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Bind a name within an expression."""
        self.visit(node.value)
        self.bind(node.target, self.value(node.value))

    def visit_For(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> None:
        """Bind a name to each of some strings."""
        target, source = node.target, node.iter
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):  # of `x.items()`
            source = source.func.value
            target = target.elts[0] if isinstance(target, ast.Tuple) else target
        self.bind(target, Strings(names) if (names := names_in(self.value(source), Strings)) else None)
        self.generic_visit(node)

    visit_AsyncFor = visit_comprehension = visit_For

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        """Go through a function within the function: it may stream and read, but returns to somebody else."""
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Return(self, node: ast.Return) -> None:
        """Note what is returned."""
        if node.value:
            self.visit(node.value)
            if not self.depth:
                self.returned = joined(self.returned, self.value(node.value))

    def bind(self, target: ast.expr, value: Value) -> None:
        """Give a name what is known of a value; a name that is bound twice may be either."""
        if isinstance(target, ast.Name):
            self.names[target.id] = joined(self.names.get(target.id), value)
        elif isinstance(target, ast.Tuple) and isinstance(value, Items) and len(value.values) == len(target.elts):
            for one, part in zip(target.elts, value.values, strict=True):
                self.bind(one, part)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):  # written["x"] = …
            key = self.value(target.slice)
            if isinstance(key, Strings) and isinstance(self.names.get(target.value.id), Keys):
                self.bind(target.value, Keys(key.names))


def known(thing: Any) -> Value:
    """What is known of an object that is there when the code is imported."""
    if isinstance(thing, str):
        return Strings(frozenset({thing}))
    if (
        isinstance(thing, tuple | list | set | frozenset | dict)
        and thing
        and all(isinstance(one, str) for one in thing)
    ):
        return Strings(frozenset(thing))
    return Known(thing) if callable(thing) or isinstance(thing, types.ModuleType | Pregel) else None


def attribute(base: Value, name: str) -> Value:
    """What is known of an attribute."""
    if base == RUNTIME and name == "stream_writer":
        return WRITER
    if isinstance(base, Instance):
        annotated = instance_of(hints(base.kind).get(name))
        own = inspect.getattr_static(base.kind, name, None)
        return annotated or (Known((own, base)) if inspect.isfunction(own) else property_of(own))
    if isinstance(base, Known) and isinstance(base.object, types.ModuleType | type):
        return known(getattr(base.object, name, None))
    return None


def property_of(own: Any) -> Value:
    """What is known of a property by the annotation of its function."""
    return instance_of(hints(own.fget).get("return")) if isinstance(own, property) else None


def bindings(function: types.FunctionType, values: list[Value]) -> dict[str, Value]:
    """Arguments by the names of parameters; the rest belongs to `*args`."""
    code = function.__code__
    names, rest = code.co_varnames[: code.co_argcount], values[code.co_argcount :]
    bound = dict(zip(names, values, strict=False))
    if code.co_flags & inspect.CO_VARARGS:
        strings = bool(rest) and all(isinstance(one, Strings) for one in rest)
        more = reduce(joined, rest) if strings else Items(tuple(rest))
        bound[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]] = more
    return bound
