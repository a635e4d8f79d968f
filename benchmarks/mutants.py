"""How many small faults the quick tests see: one-line mutants of the package, made and tested one by one.

Each mutant is one change of one line of nodes, stores, models, conversations or server: a comparison, a condition, a
constant, a default, an operation, a value that is returned, or a call that is left out. Which ones are taken goes by a
hash of the seed, the change and the function's name, so that code that was only moved has the same mutants.

They are made in a copy of a checkout. There the quick tests run once with a mark in each function that will be changed:
a mutant is then given to the test files that get there, the nearest first, until a test fails, and fails again alone,
since on a busy machine tests fail by themselves at times. A mutant outside of functions is given to all files.
Nothing is random. One that nothing catches takes about as long as the quick tests, the others a minute.

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
from dataclasses import asdict, dataclass
from itertools import count, pairwise, takewhile
from pathlib import Path
from signal import SIGKILL
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

FOLDERS = ("nodes", "stores", "models", "conversations", "server")
NEAR = 5  # so many test files are tried before the others are so much as imported
PYTEST = "-m pytest -q -p no:randomly -p no:cacheprovider -p mutants_seen --timeout 120"
MEMORY = 8 << 30  # bytes of a process: some mutants fill a list without an end
ONE_IN = 4  # constants, of which there are too many

SWAPS = (
    "< → <=, >=; <= → <, >; > → >=, <=; >= → >, <; == → !=; != → ==; is → is not; is not → is; in → not in; "
    "not in → in; and → or; or → and; + → -; - → +; * → /; / → *; // → *; % → *; ** → *; | → &; & → |"
)
OTHERS = {was: others.split(", ") for was, others in (one.split(" → ") for one in SWAPS.split("; "))}
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


class Place(NamedTuple):
    """Where a node stands: in which classes and functions, where the body of the inmost begins, and in a default."""

    names: tuple[str, ...] = ()
    entry: int = 0
    default: bool = False


def place_in(node: ast.AST, at: Place, lines: list[str]) -> Place | None:
    """Where the parts of a node stand, if it stands at a place itself; None: nothing in it is changed."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Raise() | ast.Assert() | ast.JoinedStr():
            return None  # Python 3.11 does not say where the parts of an f-string are
        case ast.Call(func=called) if ASIDE.search(ast.unparse(called)):
            return None
        case ast.Assign(targets=[ast.Name(id="__all__" | "msg")]) | ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return None
        case ast.Subscript(value=ast.Name(id="Literal" | "Annotated")):
            return None
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return Place((*at.names, node.name), body_of(node, lines))
        case ast.ClassDef():
            return Place((*at.names, node.name))
        case ast.arguments() | ast.keyword(arg="default"):
            return at._replace(default=True)
        case ast.AnnAssign() if at.names and not at.entry:  # a field of a class
            return at._replace(default=True)
    return at


def mutants(file: str, text: str) -> Iterator[Mutant]:  # noqa: C901
    """All mutants of a file."""
    lines = text.split("\n")

    def changed(operator: str, at: Place, line: int, begin: int, end: int | None, to: str) -> Mutant:
        whole = lines[line - 1].encode()  # columns are bytes
        after = (whole[:begin] + to.encode() + whole[end:]).decode().strip()
        return Mutant(file, line, operator, ".".join(at.names), whole.decode().strip(), after, at.entry)

    def replaced(operator: str, at: Place, node: ast.expr | ast.stmt, to: str) -> Iterator[Mutant]:
        if to and node.lineno == node.end_lineno:
            yield changed(operator, at, node.lineno, node.col_offset, node.end_col_offset, to)

    def between(operator: str, at: Place, left: ast.expr, right: ast.expr) -> Iterator[Mutant]:
        if left.end_lineno == right.lineno:
            begin, end = left.end_col_offset, right.col_offset
            text = lines[right.lineno - 1].encode()[begin:end].decode()  # with parentheses, at times
            was = text.strip(" ()") if text.strip(" ()") in OTHERS else text.strip(" ()=")
            for other in OTHERS.get(was, ()):
                yield changed(operator, at, right.lineno, begin or 0, end, text.replace(was, other, 1))

    def of(node: ast.AST, at: Place) -> Iterator[Mutant]:  # noqa: C901
        match node:
            case ast.Compare():
                for left, right in pairwise([node.left, *node.comparators]):
                    yield from between("comparison", at, left, right)
            case ast.BoolOp():
                for left, right in pairwise(node.values):
                    yield from between("and, or, not", at, left, right)
            case ast.UnaryOp(op=ast.Not()):
                yield from replaced("and, or, not", at, node, f"({ast.unparse(node.operand)})")
            case ast.BinOp():
                yield from between("arithmetic", at, node.left, node.right)
            case ast.AugAssign():
                yield from between("arithmetic", at, node.target, node.value)
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
                yield from replaced("return", at, value, "None")
            case ast.Expr(value=ast.Call(func=called) | ast.Await(value=ast.Call(func=called))):
                if not ASIDE.search(ast.unparse(called)):
                    yield from replaced("call left out", at, node, "pass")
            case ast.Call(func=ast.Name(id="min" | "max") as called):
                yield from replaced("min, max", at, called, "max" if called.id == "min" else "min")
            case ast.Constant(value=value):
                yield from replaced("default" if at.default else "constant", at, node, constant(value, at.default))
        if isinstance(node, ast.If | ast.IfExp | ast.comprehension):
            for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
                if not isinstance(test, ast.Compare | ast.UnaryOp):  # these are turned round by their operators
                    yield from replaced("condition", at, test, f"not ({ast.unparse(test)})")

    def within(node: ast.AST, around: Place) -> Iterator[Mutant]:
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "cast":
            node = node.args[1]
        if (at := place_in(node, around, lines)) is None:
            return
        yield from of(node, at)
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not {name, getattr(child, "arg", "")} & UNSEEN:
                    yield from within(child, at)

    yield from within(ast.parse(text), Place())


def body_of(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """The line of its first statement after the docstring, where a mark can stand (0: nowhere)."""
    first = function.body[1 if ast.get_docstring(function) is not None and len(function.body) > 1 else 0]
    if lines[first.lineno - 1][: first.col_offset].strip():
        return 0
    decorators: list[ast.expr] = getattr(first, "decorator_list", [])
    return min([first.lineno, *(one.lineno for one in decorators)])


def constant(value: object, default: bool) -> str:
    """Another one (empty: there is none); one instead of none only where it is a default."""
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
            rank = int(hashlib.sha256(told).hexdigest(), 16) * (ONE_IN if one.operator == "constant" else 1)
            if (one.file, one.line) not in ranked or rank < ranked[one.file, one.line][0]:
                ranked[one.file, one.line] = rank, one
    once = dict(ranked.values())  # the same line twice in one function is one mutant
    return [once[rank] for rank in sorted(once)[:wanted]]


class Copy:
    """A copy of a checkout, named `dramaturg`: that is the package where the folder around it is in the path."""

    def __init__(self, root: Path, folder: Path, workers: int) -> None:
        self.folder, self.tree, self.workers = folder, folder / "dramaturg", workers
        self.left_out, self.times = list[str](), count(1_000_000_000)
        paths = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "", "TMPDIR": str(folder / "tmp")}
        others = {name: value for name, value in os.environ.items() if not re.search("KEY|TOKEN|PYTEST", name)}
        self.surroundings = {**others, **paths, "PYTHONHASHSEED": "0", "CI": "true", "HF_HUB_OFFLINE": "1"}
        (folder / "tmp").mkdir()
        (folder / "mutants_seen.py").write_text(PLUGIN, encoding="utf-8")
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0"):
            if name and (root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.tree / name)
        for command in ("git init --quiet", "git add --all"):  # tests ask git for the files
            subprocess.run(command.split(), cwd=self.tree, check=True)

    def check(self) -> None:
        """See that its modules are those that a test imports.

        Raises:
            SystemExit: they are others.
        """
        names = ", ".join(FOLDERS)
        program = f"from dramaturg import {names}\nfor one in ({names}): print(one.__file__)"
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd="/", env=self.surroundings, check=True, capture_output=True, text=True)
        if any(not Path(file).is_relative_to(self.tree) for file in done.stdout.splitlines()):
            raise SystemExit(f"Another copy of the package would be tested: {done.stdout}")

    def write(self, file: str, text: str) -> None:
        """With a time that no compiled file has."""
        (self.tree / file).write_text(text, encoding="utf-8")
        changed = next(self.times)
        os.utime(self.tree / file, (changed, changed))

    def test(self, files: list[str], *options: str, limit: float) -> tuple[int, list[list[str]]]:
        """What pytest ends with (-1: not in time), and what the plugin tells."""
        told = self.folder / "told"
        told.unlink(missing_ok=True)
        command = [sys.executable, *PYTEST.split(), "-m", "not slow and not crash", *options, *files]
        command += [f"--deselect={one}" for one in self.left_out]
        if self.workers > 1 and len(files) != 1:
            command += ["-n", str(self.workers), "--dist", "loadfile", "--no-loadscope-reorder"]
        with (self.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=self.tree, env=self.surroundings, stdout=log, stderr=log, start_new_session=True
            )
            try:
                code = process.wait(max(limit, 1))
            except subprocess.TimeoutExpired:
                code = -1
            finally:
                with suppress(ProcessLookupError):  # and what tests have left
                    os.killpg(process.pid, SIGKILL)
                process.wait()
        lines = told.read_text(encoding="utf-8").split("\n")[:-1] if told.exists() else []
        return code, [line.split("\t") for line in dict.fromkeys(lines)]


def reached(copy: Copy, chosen: list[Mutant]) -> dict[str, Any]:
    """Which test files get to the function of each mutant, of which there are, and the tests that fail without one.

    Raises:
        SystemExit: no test ran.
    """
    whole = {one.file: (copy.tree / one.file).read_text(encoding="utf-8") for one in chosen}
    for file, text in whole.items():
        lines = text.split("\n")
        for entry in sorted({one.entry for one in chosen if one.file == file and one.entry}, reverse=True):
            indent = lines[entry - 1].removesuffix(lines[entry - 1].lstrip())
            lines.insert(entry - 1, f'{indent}__import__("mutants_seen").mark("{file}:{entry}")')
        copy.write(file, "\n".join(lines))
    _, told = copy.test([], limit=4 * 3600)
    for file, text in whole.items():
        copy.write(file, text)
    files = sorted(words[1] for words in told if words[0] == "file")
    if not files:
        raise SystemExit(f"No test ran: {(copy.folder / 'log').read_text(encoding='utf-8')[-2000:]}")
    marks: dict[str, list[str]] = {}
    for _, mark, file in (words for words in told if words[0] == "mark"):
        marks.setdefault(mark, []).append(file)
    failed = [words[1] for words in told if words[0] == "failed"]  # a few of them at the marks: they count writes
    again = copy.test(failed, limit=3600)[1] if failed else []
    return {"files": files, "marks": marks, "left_out": [words[1] for words in again if words[0] == "failed"]}


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
    lines = text.split("\n")
    lines[mutant.line - 1] = lines[mutant.line - 1].replace(mutant.before, mutant.after)
    copy.write(mutant.file, "\n".join(lines))
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
    found = {"outcome": outcome, "by": by, "files": len(files), "seconds": round(time.monotonic() - began)}
    return {**found, **asdict(mutant)}


def measured(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What becomes of each mutant, and a line of the file of results for each.

    Raises:
        SystemExit: the file has results of another sample.
    """
    chosen = sample(given.root, given.seed, given.count)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        results = given.out or Path(folder) / "results"
        results.touch()
        kept = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
        copy = Copy(given.root, Path(folder), given.workers)
        copy.check()
        with results.open("a", encoding="utf-8", buffering=1) as out:
            if not kept:
                kept = [{"sample": [asdict(one) for one in chosen], **reached(copy, chosen)}]
                print(json.dumps(kept[0]), file=out)
            seen, *done = kept
            if seen["sample"] != [asdict(one) for one in chosen]:
                raise SystemExit(f"{results} has results of another sample: name another file.")
            yield from done
            copy.left_out = seen["left_out"]
            for number, one in enumerate(chosen[len(done) :], len(done) + 1):
                found = tried(one, copy, nearest(one, seen), given.timeout)
                print(json.dumps(found), file=out)
                what = f"{found['outcome']} ({found['seconds']} s) {one.file}:{one.line}: {one.before} → {one.after}"
                print(f"{number}/{len(chosen)} {what}", file=sys.stderr, flush=True)
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
