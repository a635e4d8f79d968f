"""How many small faults the quick tests see: one-line mutants of the package, made and tested one by one.

Each mutant is one change of one line of nodes, stores, models, conversations or server: a comparison, a condition, a
constant, a default, an operation, a value that is returned, or a call that is left out. Which ones are taken goes by a
hash of the seed, the change and the function's name, so that code that was only moved has the same mutants.

They are made in a copy of a checkout. There the quick tests run once with a mark in each function that will be changed:
a mutant is then given to the test files that get there, the nearest first, until a test fails, and fails again alone,
since on a busy machine tests fail by themselves at times. A mutant outside of functions is given to all files.
Nothing is random. Ten minutes of a processor for the first run, then about one and a half a mutant.

Run: python benchmarks/mutants.py [--seed 39] [--count 60] [--root CHECKOUT] [--out results.jsonl] [-n 1]
     [--timeout 900] [--json]
With `--out`, a run that was stopped goes on where it was.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import count, pairwise, takewhile
from pathlib import Path
from signal import SIGKILL
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

FOLDERS = ("nodes", "stores", "models", "conversations", "server")
NEAR = 5  # so many test files are tried before the others are so much as imported
HANGS = 120  # seconds of a test; the dearest quick ones take ten on an idle machine
MEMORY = 8 << 30  # bytes of a process: some mutants fill a list without an end
ONE_IN = 4  # constants, of which there are too many

OPERATORS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
"""What an operator becomes."""

ASIDE = re.compile(r"^(logger|log|warnings)\.|^(TypeVar|NewType)$|(Error|Warning)$")
"""Functions whose arguments are for people or for a type checker."""
UNSEEN = {"annotation", "returns", "decorator_list", "description", "title", "examples"}
"""Parts of nodes, and of calls, that no test of behaviour is to see."""

PLUGIN = '''\
"""Tells which test file gets to which mark, and which tests fail. Processes that tests start tell it, too."""
import functools, os, sys

HERE = os.path.dirname(__file__)
TOLD = os.open(os.path.join(HERE, "told"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
write, seen, caches, lru_cache = os.write, set(), [], functools.lru_cache

def tell(*words):
    if words not in seen:
        seen.add(words)
        write(TOLD, ("\\t".join(words) + "\\n").encode())

def mark(number):
    file = os.environ.get("MUTANTS_TEST_FILE", "")
    if ("mark", number, file) not in seen:
        frame = sys._getframe()
        while frame := frame.f_back:  # what an import calls is done once, for all
            if getattr(frame.f_globals.get("__spec__"), "_initializing", False):
                return tell("mark", number, "")
        tell("mark", number, file)

def noted_cache(maxsize=128, typed=False):
    def noted(function):
        kept = lru_cache(maxsize, typed)(function)
        if getattr(function, "__code__", None) and function.__code__.co_filename.startswith(HERE):
            caches.append(kept)
        return kept
    return lru_cache(maxsize, typed) if callable(maxsize) else noted

functools.lru_cache = noted_cache

def pytest_runtest_logstart(nodeid):
    file = nodeid.partition("::")[0]
    if file != os.environ.get("MUTANTS_TEST_FILE"):
        os.environ["MUTANTS_TEST_FILE"] = file
        tell("file", file)
        for one in caches:  # what one file has computed, another would not get to
            one.cache_clear()

def pytest_runtest_logreport(report):
    if report.failed:
        tell("failed", report.nodeid)
'''


@dataclass(frozen=True)
class Mutant:
    """A change of one line of a file, and the line where the body of its function begins (0: it is in none)."""

    file: str
    line: int
    operator: str
    function: str
    before: str
    after: str
    entry: int


@dataclass(frozen=True)
class Place:
    """Where a node stands: in which classes and functions, where the body of the inmost begins, and in a default."""

    names: tuple[str, ...] = ()
    entry: int = 0
    default: bool = False


def mutants(file: str, text: str) -> Iterator[Mutant]:  # noqa: C901
    """All mutants of a file."""
    lines = text.splitlines()

    def changed(operator: str, at: Place, line: int, begin: int, end: int, to: str) -> Iterator[Mutant]:
        whole = lines[line - 1].encode()  # columns are bytes
        after = (whole[:begin] + to.encode() + whole[end:]).decode().strip()
        yield Mutant(file, line, operator, ".".join(at.names), whole.decode().strip(), after, at.entry)

    def replaced(operator: str, at: Place, node: ast.expr | ast.stmt, to: str) -> Iterator[Mutant]:
        if node.lineno == node.end_lineno and node.end_col_offset:
            yield from changed(operator, at, node.lineno, node.col_offset, node.end_col_offset, to)

    def between(kind: str, at: Place, left: ast.expr, operator: ast.AST, right: ast.expr) -> Iterator[Mutant]:
        was, *others = OPERATORS.get(type(operator), ("",))
        if left.end_lineno == right.lineno and left.end_col_offset:
            begin, end = left.end_col_offset, right.col_offset
            text = lines[right.lineno - 1].encode()[begin:end].decode()  # with parentheses, at times
            for to in others:
                yield from changed(kind, at, right.lineno, begin, end, text.replace(was, to, 1))

    def of(node: ast.AST, at: Place) -> Iterator[Mutant]:  # noqa: C901
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Raise() | ast.Assert() | ast.JoinedStr():
                return  # Python 3.11 does not say where the parts of an f-string are
            case ast.Call(func=called) if ASIDE.search(ast.unparse(called)):
                return
            case ast.Assign(targets=[ast.Name(id="__all__" | "msg")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return
            case ast.Subscript(value=ast.Name(id="Literal" | "Annotated")):
                return
            case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
                yield from of(value, at)
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                at = Place((*at.names, node.name), body_of(node, lines))
            case ast.ClassDef():
                at = Place((*at.names, node.name))
            case ast.arguments() | ast.keyword(arg="default"):
                at = replace(at, default=True)
            case ast.AnnAssign() if at.names and not at.entry:  # a field of a class
                at = replace(at, default=True)
            case ast.Compare():
                for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
                    yield from between("comparison", at, left, operator, right)
            case ast.BoolOp():
                for left, right in pairwise(node.values):
                    yield from between("and, or, not", at, left, node.op, right)
            case ast.UnaryOp(op=ast.Not()):
                yield from replaced("and, or, not", at, node, f"({ast.unparse(node.operand)})")
            case ast.BinOp():
                yield from between("arithmetic", at, node.left, node.op, node.right)
            case ast.AugAssign(target=ast.Name() | ast.Attribute() | ast.Subscript()):
                yield from between("arithmetic", at, node.target, node.op, node.value)
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
                yield from replaced("return", at, value, "None")
            case ast.Expr(value=ast.Call(func=called) | ast.Await(value=ast.Call(func=called))):
                if not ASIDE.search(ast.unparse(called)):
                    yield from replaced("call left out", at, node, "pass")
            case ast.Call(func=ast.Name(id="min" | "max") as called):
                yield from replaced("min, max", at, called, "max" if called.id == "min" else "min")
            case ast.Constant(value=value):
                to = constant(value, at.default)
                yield from replaced("default" if at.default else "constant", at, node, to) if to else ()
        conditions = node.ifs if isinstance(node, ast.comprehension) else [getattr(node, "test", None)]
        for test in filter(
            None, conditions
        ):  # the others are turned round by their operators, and a loop might not end
            if not isinstance(node, ast.While) and not isinstance(test, ast.Compare | ast.UnaryOp):
                yield from replaced("condition", at, test, f"not ({ast.unparse(test)})")
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not {name, getattr(child, "arg", "")} & UNSEEN:
                    yield from of(child, at)

    yield from of(ast.parse(text), Place())


def body_of(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """The line of its first statement after the docstring, where a mark can stand (0: nowhere)."""
    first, *others = function.body
    first = others[0] if others and ast.get_docstring(function) is not None else first
    if lines[first.lineno - 1][: first.col_offset].strip():
        return 0
    return min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])


def constant(value: object, default: bool) -> str:
    """Another one; none only where it is a default."""
    match value:
        case bool():
            return repr(not value)
        case int() | float():
            return repr(value + 1)
        case str():
            return repr(f"{value}x")
    return "1" if value is None and default else ""


def sample(root: Path, seed: int, wanted: int) -> list[Mutant]:
    """The first of all mutants by their hashes, at most one a line."""
    ranked = dict[tuple[str, int], tuple[int, Mutant]]()
    for file in sorted(file for folder in FOLDERS for file in (root / folder).rglob("*.py")):
        for one in mutants(str(file.relative_to(root)), file.read_text(encoding="utf-8")):
            told = repr((seed, one.operator, one.function, one.before, one.after)).encode()
            rank = int.from_bytes(hashlib.sha256(told).digest()) * (ONE_IN if one.operator == "constant" else 1)
            if (one.file, one.line) not in ranked or rank < ranked[one.file, one.line][0]:
                ranked[one.file, one.line] = rank, one
    once = dict(ranked.values())  # the same line twice in one function is one mutant
    return [once[rank] for rank in sorted(once)[:wanted]]


@dataclass
class Copy:
    """A copy of a checkout, named `dramaturg` so that it is the package for what has its folder in the path."""

    folder: Path
    workers: int
    tree: Path = field(init=False)
    times: Iterator[int] = field(default_factory=lambda: count(1_000_000_000))
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tree = self.folder / "dramaturg"
        (self.folder / "tmp").mkdir()
        (self.folder / "mutants_seen.py").write_text(PLUGIN, encoding="utf-8")

    def fill(self, root: Path) -> None:
        """Copy what git has or would take; tests ask git for it again.

        Raises:
            SystemExit: another copy of the package would be tested.
        """
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0"):
            if name and (root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.tree / name)
        subprocess.run(["git", "init", "--quiet"], cwd=self.tree, check=True)
        subprocess.run(["git", "add", "--all"], cwd=self.tree, check=True)
        program = (
            f"from dramaturg import {', '.join(FOLDERS)}; print(*(one.__file__ for one in ({', '.join(FOLDERS)})))"
        )
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd="/", env=self.surroundings(), check=True, capture_output=True, text=True)
        if any(not Path(file).is_relative_to(self.tree) for file in done.stdout.split()):
            raise SystemExit(f"Another copy of the package would be tested: {done.stdout}")

    def surroundings(self) -> dict[str, str]:
        """The caller's variables without keys; compiled files are kept."""
        kept = {
            name: value for name, value in os.environ.items() if not re.search("KEY|TOKEN|^PYTEST|^DRAMATURG", name)
        }
        paths = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "", "TMPDIR": str(self.folder / "tmp")}
        return {**kept, **paths, "PYTHONHASHSEED": "0", "CI": "true", "HF_HUB_OFFLINE": "1"}

    def write(self, file: str, text: str) -> None:
        """With a time that no compiled file has."""
        (self.tree / file).write_text(text, encoding="utf-8")
        changed = next(self.times)
        os.utime(self.tree / file, (changed, changed))

    def test(self, files: list[str], *options: str, limit: float) -> tuple[int, list[list[str]]]:
        """What pytest ends with (-1: not in time), and what the plugin tells."""
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        spread = ["-n", str(self.workers), "--dist", "loadfile", "--no-loadscope-reorder"] if self.workers > 1 else []
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            "-p",
            "mutants_seen",
        ]
        command += [
            "-m",
            "not slow and not crash",
            "--timeout",
            str(HANGS),
            *options,
            *(spread if len(files) != 1 else []),
        ]
        command += [f"--deselect={one}" for one in self.left_out]
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, *files],
                cwd=self.tree,
                env=self.surroundings(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                code = process.wait(max(limit, 1))
            except subprocess.TimeoutExpired:
                code = -1
            with suppress(ProcessLookupError):  # and what tests have left
                os.killpg(process.pid, SIGKILL)
            process.wait()
        lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
        return code, [line.split("\t") for line in lines]


def reached(copy: Copy, chosen: list[Mutant]) -> dict[str, Any]:
    """Which test files get to the function of each mutant, of which there are, and the tests that fail without one.

    Raises:
        SystemExit: no test ran.
    """
    entries = {one.file: sorted({it.entry for it in chosen if it.file == one.file and it.entry}) for one in chosen}
    whole = {file: (copy.tree / file).read_text(encoding="utf-8") for file in entries}
    for file, text in whole.items():
        lines = text.splitlines(keepends=True)
        for entry in reversed(entries[file]):
            indent = re.match(r"\s*", lines[entry - 1])
            lines.insert(entry - 1, f'{indent and indent[0]}__import__("mutants_seen").mark("{file}:{entry}")\n')
        copy.write(file, "".join(lines))
    _, told = copy.test([], limit=4 * 3600)
    for file, text in whole.items():
        copy.write(file, text)
    files = sorted(words[1] for words in told if words[0] == "file")
    if not files:
        raise SystemExit(f"No test ran: {(copy.folder / 'log').read_text(encoding='utf-8')[-2000:]}")
    marks: dict[str, set[str]] = {}
    for words in told:
        if words[0] == "mark":
            marks.setdefault(words[1], set()).add(words[2])
    failed = [words[1] for words in told if words[0] == "failed"]
    return {"files": files, "marks": {mark: sorted(found) for mark, found in marks.items()}, "left_out": failed}


def nearest(mutant: Mutant, seen: dict[str, Any]) -> list[str]:
    """The test files that get to a mutant: by folder and name, those of the whole house last."""
    found = seen["marks"].get(f"{mutant.file}:{mutant.entry}", []) if mutant.entry else [""]
    folders, stem = Path(mutant.file).parent.parts, Path(mutant.file).stem

    def distance(file: str) -> tuple[bool, int, bool, int, str]:
        parts = Path(file).parent.parts[1:]
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(folders, parts, strict=False)))
        return parts == ("house",), -shared, stem not in file, len(parts), file

    return sorted(seen["files"] if "" in found else found, key=distance)


def tried(mutant: Mutant, copy: Copy, files: list[str], timeout: float) -> dict[str, Any]:
    """Make a mutant, test it, and put back what was there."""
    began, left_out = time.monotonic(), copy.left_out
    text = (copy.tree / mutant.file).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    lines[mutant.line - 1] = lines[mutant.line - 1].replace(mutant.before, mutant.after)
    copy.write(mutant.file, "".join(lines))
    outcome, by, stages = "survived", "", [files[:NEAR], files[NEAR:]]
    while stages and outcome == "survived":
        code, told = copy.test(stages[0], "-x", limit=timeout - (time.monotonic() - began)) if stages[0] else (0, [])
        failed = next((words[1] for words in told if words[0] == "failed"), "")
        if code == 1 and failed:
            code, _ = copy.test([failed], limit=timeout - (time.monotonic() - began))
            if code == 0:  # it failed by itself
                copy.left_out = [*copy.left_out, failed]
                continue
        if code == -1:
            outcome = "out of time"
        elif code not in (0, 5):  # 5: none of these tests is quick
            outcome, by = "caught", failed or "the import"
        stages.pop(0)
    copy.write(mutant.file, text)
    copy.left_out = left_out
    return {
        "outcome": outcome,
        "by": by,
        "files": len(files),
        "seconds": round(time.monotonic() - began),
        **asdict(mutant),
    }


def keep(results: Path, found: dict[str, Any]) -> None:
    with results.open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


def measured(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What becomes of each mutant, and a line of the file of results for each.

    Raises:
        SystemExit: the file has results of another sample.
    """
    chosen, root = sample(given.root, given.seed, given.count), given.root
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        results = given.out or Path(folder) / "results"
        kept = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
        copy = Copy(Path(folder), given.workers)
        copy.fill(root)
        if not kept:
            kept = [{"sample": [asdict(one) for one in chosen], **reached(copy, chosen)}]
            keep(results, kept[0])
        seen, *done = kept
        if seen["sample"] != [asdict(one) for one in chosen]:
            raise SystemExit(f"{given.out} has results of another sample: name another file.")
        copy.left_out = seen["left_out"]
        yield from done
        for number, one in enumerate(chosen[len(done) :], len(done) + 1):
            found = tried(one, copy, nearest(one, seen), given.timeout)
            keep(results, found)
            what = f"{one.file}:{one.line}: {one.operator}: {one.before} → {one.after}"
            print(f"{number}/{len(chosen)} {found['outcome']} {found['seconds']} s {what}", file=sys.stderr, flush=True)
            yield found


def main(given: argparse.Namespace) -> None:
    """Print how many are caught in each folder, and which are not."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    found = list(measured(given))
    if given.json:
        print(json.dumps(found, indent=2))
        return
    outcomes, house = ("caught", "survived", "out of time"), "caught by tests/house alone"
    table = Table("folder", "mutants", *outcomes, house)
    for folder in (*FOLDERS, ""):
        rows = [one for one in found if one["file"].startswith(folder)]
        numbers = Counter(one["outcome"] for one in rows)
        only = sum(one["by"].startswith("tests/house/") for one in rows)
        table.add_row(folder or "all", str(len(rows)), *(str(numbers[one]) for one in outcomes), str(only))
    Console(width=130).print(table)
    left = Table("not caught", "function", "change", "test files", show_lines=True)
    for one in found:
        if one["outcome"] != "caught":
            change = f"{one['operator']}\n- {one['before']}\n+ {one['after']}"
            where = f"{one['file']}:{one['line']}" + (" (out of time)" if one["outcome"] == "out of time" else "")
            left.add_row(where, one["function"], escape(change), str(one["files"]))
    Console(width=130).print(left)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=39)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="the checkout")
    parser.add_argument("--out", type=Path, help="a file of results, a JSON line a mutant")
    parser.add_argument("-n", "--workers", type=int, default=1, help="processes of pytest")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for a mutant")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    main(given)
