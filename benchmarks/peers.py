"""Indexing a corpus with peers and with this package: seconds beside the model, calls, processor, disk, and changes.

Peers are installed into an environment of their own, `build/peers` (LightRAG and nano-graphrag with what they need, 1.5
GB), when it is missing. All systems ask one endpoint that answers by a rule after a fixed time; each runs in a process
of its own, in rounds that go through all of them, beginning with another one each time. What is printed is also put
into `docs/research/performance.md`, between its marks.

Run: python benchmarks/peers.py [--documents 100] [--rounds 3] [--at-once 16] [--print]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import page
from rich.console import Console
from rich.progress import track
from rich.table import Table

from corpus import documents
from peer_systems import SYSTEMS
from stub_server import running

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / "build" / "peers"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
PEERS = {"LightRAG": ("lightrag-hku", "1.5.7"), "nano-graphrag": ("nano-graphrag", "0.0.8.2")}
LONGEST = 3600  # seconds of one system in one round
CHAT, EMBEDDING = 0.05, 0.01  # seconds an answer takes

Steps = dict[str, dict[str, float]]


class Ran(NamedTuple):
    """What a system did in one round, or why it did not."""

    steps: Steps
    error: str = ""


def install(package: str, wanted: str) -> str:
    """Put a peer into the environment, if it is not there; why it could not be, else empty."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    asked = f"import importlib.metadata as m; print(m.version({package!r}))"
    have = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=False).stdout.strip()
    if have == wanted:
        return ""
    print(f"Installing {package} {wanted} and what it needs into {ENVIRONMENT.relative_to(HERE.parent)} …", flush=True)
    # litellm's wheel has tiktoken's vocabularies, which else would be downloaded at the first call.
    command = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        f"{package}=={wanted}",
        "litellm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"cannot be installed: {last_line(done.stderr)}" if done.returncode else ""


def last_line(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")[:200]


def run(system: str, number: int, at_once: int) -> Ran:
    """Run a system in a process of its own, with an empty folder and an endpoint that begins to count."""
    python = PYTHON if system in PEERS else Path(sys.executable)
    with tempfile.TemporaryDirectory() as folder, running(CHAT, EMBEDDING) as stub:
        surroundings = os.environ | {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "none"}
        found = [*ENVIRONMENT.glob("lib/*/site-packages/litellm/litellm_core_utils/tokenizers")]
        if found:
            surroundings["TIKTOKEN_CACHE_DIR"] = str(found[0])
        command = [
            python,
            HERE / "peer_systems.py",
            system,
            folder,
            "--documents",
            str(number),
            "--at-once",
            str(at_once),
        ]
        try:
            done = subprocess.run(
                command, env=surroundings, cwd=folder, capture_output=True, text=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            return Ran({}, f"not done after {LONGEST} s")
    steps = {one["step"]: one for one in map(json.loads, done.stdout.splitlines())}
    return Ran(steps, last_line(done.stderr) if done.returncode else "")


def spread(rounds: Sequence[Steps], value: Callable[[Mapping[str, float]], float], step: str, form: str) -> str:
    """The median of a value over the rounds, with its range where there are several."""
    found = [value(one[step]) for one in rounds if step in one]
    if not found:
        return "–"
    shown = format(median(found), form)
    return shown if len(found) == 1 else f"{shown} ({min(found):{form}}–{max(found):{form}})"


def index_row(rounds: Sequence[Steps]) -> list[str]:
    """What indexing took."""
    values: list[tuple[Callable[[Mapping[str, float]], float], str]] = [
        (lambda one: one["wall"], ".1f"),
        (lambda one: one["wall"] - one["busy_seconds"], ".1f"),
        (lambda one: one["chat"], ",.0f"),
        (lambda one: one["texts"], ",.0f"),
        (lambda one: 1000 * one["processor"] / max(1, one["chat"] + one["embedding"]), ".1f"),
        (lambda one: one["disk"] / 1e6, ".1f"),
    ]
    return [spread(rounds, value, "index", form) for value, form in values]


def change_row(rounds: Sequence[Steps]) -> list[str]:
    """What indexing again took, with nothing changed, a document more, and one less."""
    row = []
    for step in ("again", "added", "removed"):
        row.append(spread(rounds, lambda one: one["chat"], step, ",.0f"))
        row.append(spread(rounds, lambda one: one["texts"], step, ",.0f"))
        row.append(spread(rounds, lambda one: one["wall"], step, ".2f"))
    return row


INDEX = ("wall, s", "beyond the model, s", "questions", "texts embedded", "processor a call, ms", "disk, MB")
CHANGES = tuple(f"{step}: {what}" for step in ("again", "+1", "−1") for what in ("questions", "texts", "s"))


def rows_of(results: Mapping[str, Sequence[Ran]], row: Callable[[Sequence[Steps]], list[str]]) -> list[list[str]]:
    """A row a system; one that failed in every round says why."""
    rows = []
    for system, ran in results.items():
        whole = [one.steps for one in ran if one.steps]
        failed = next((one.error for one in ran if one.error), "")
        rows.append([system, *row(whole)] if whole else [system, failed])
        if whole and failed:
            rows.append([f"{system}, a round", failed])
    return rows


def conditions(given: argparse.Namespace) -> str:
    """On what machine, with what, and by which command."""
    peers = ", ".join(f"{name} {wanted}" for name, (_, wanted) in PEERS.items())
    characters = sum(len(text) for _, text in documents(given.documents))
    return (
        f"{given.documents} documents ({characters / 1000:,.0f} kB), {given.at_once} at once, median of "
        f"{given.rounds} interleaved rounds (range); an answer takes {CHAT * 1000:.0f} ms, a call for vectors "
        f"{EMBEDDING * 1000:.0f} ms. {page.machine('langgraph', 'langchain-openai')}; {peers}."
    )


def main(given: argparse.Namespace) -> None:
    """Run all rounds, print the tables and put them into the page."""
    results: dict[str, list[Ran]] = {system: [] for system in SYSTEMS}
    missing = {name: why for name, package in PEERS.items() if (why := install(*package))}
    systems = [one for one in SYSTEMS if one not in missing]
    for name, why in missing.items():
        results[name].append(Ran({}, why))
    order = [
        system for at in range(given.rounds) for system in systems[at % len(systems) :] + systems[: at % len(systems)]
    ]
    for system in track(order, "rounds"):
        results[system].append(run(system, given.documents, given.at_once))
    index, changes = rows_of(results, index_row), rows_of(results, change_row)
    tables = [Table("system", *columns) for columns in (INDEX, CHANGES)]
    for table, rows in zip(tables, (index, changes), strict=True):
        for row in rows:
            table.add_row(*row)
        Console().print(table)
    command = (
        f"python benchmarks/peers.py --documents {given.documents} --rounds {given.rounds} --at-once {given.at_once}"
    )
    text = "\n\n".join([f"`{command}`: {conditions(given)}", *map(page.markdown, tables)])
    if given.print:
        print(text)
    else:
        page.put("peers", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--print", action="store_true", help="print what would be written into the page")
    main(parser.parse_args())
