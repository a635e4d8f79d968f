"""What every test stands on: no network, strict checkpoints, no user's folders, a seed for hypothesis."""

import dis
import gc
import os
import ssl
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

import pytest
import typer.main
from databases import postgres, postgres_server  # noqa: F401
from hypothesis import settings
from langgraph._internal import _serde
from langgraph.graph import state
from xdist.scheduler import LoadFileScheduling

from dramaturg.models.environment import VARIABLES
from dramaturg.stores.conversations import item_store
from dramaturg.stores.saver import file as saver_file

from commands import run, stub  # noqa: F401
from long_sample import LongSample

gc.disable()  # until all is collected: what is imported stays

# A few examples of each property, all of them with `--hypothesis-profile ci`. In CI the same ones every time: a new
# counterexample is found at a desk, where it can be looked into.
settings.register_profile(
    "quick", parent=settings.get_profile("ci" if "CI" in os.environ else "default"), deadline=None, max_examples=20
)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long-sample", metavar="SEED", help="of the tests that are left, those that a seed chooses")


def pytest_configure(config: pytest.Config) -> None:
    if seed := config.getoption("long_sample"):
        config.pluginmanager.register(LongSample(seed))


class OneModel(LoadFileScheduling):
    """A worker takes whole files, and one of them all of the embedded model's, which others work beside."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return "embedded" if "embedded" in file else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    return OneModel(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave a sample of enumerations and of whole runs to the quick tests, and give those of crashes more time.

    A test with the marker `sample(n)` keeps n of its cases, a file with `sample_of_file(n)` n of its functions, and the
    others have the marker `crash`. Which ones goes by a checksum of their names: the same in every run, and others in
    other tests, so that what many tests enumerate, as the methods, is all in the sample of some.

    Workers take whole files in the order of their tests, so what is dearest comes first: the embedded model and the
    crashes, whose few tests are long, other slow tests, then files with many. At the end nobody waits for a long file.
    """
    quick = [item for item in items if isinstance(item, pytest.Function) and not item.get_closest_marker("crash")]
    for name, names in ("sample", ("path", "originalname", "name")), ("sample_of_file", ("path", "originalname")):
        enumerated = defaultdict(set)
        for item in quick:
            *where, what = (getattr(item, name) for name in names)
            enumerated[*where].add(what)
        for item in quick:
            if marker := item.get_closest_marker(name):
                *where, what = (getattr(item, name) for name in names)
                kept = sorted(enumerated[*where], key=lambda name: zlib.crc32(name.encode()))[: marker.args[0]]
                if what not in kept:
                    item.add_marker("crash")
    for item in items:
        if item.get_closest_marker("crash"):
            item.add_marker(pytest.mark.timeout(1800))
    if hasattr(config, "workerinput"):
        sizes = Counter(item.path for item in items)
        slow = {item.path for item in items if item.get_closest_marker("slow")}

        def order(path: Path) -> tuple[bool, bool, bool, int]:
            return "embedded" not in path.name, path.parent.name != "crash", path not in slow, -sizes[path]

        items.sort(key=lambda item: order(item.path))


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of the garbage that is looked for: it stays, and is large.

    And look seldom: what tests leave is little, and a look at all of it takes a tenth of a second.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Iterator[None]:
    """Do once what each client, each run of the command and each graph that is compiled would do anew.

    That is to read the certificates, to build the command, to look for subgraphs in the instructions of nodes, and to
    look for channels, and for what a state may hold, in the annotations of its classes.
    """
    instructions = dis.get_instructions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        patch.setattr(_serde, "_safe_get_type_hints", cache(_serde._safe_get_type_hints))
        patch.setattr(state, "_get_channels", cache(state._get_channels))
        patch.setattr(dis, "get_instructions", cache(lambda code, **how: tuple(instructions(code, **how))))
        yield


NUMBERS = count()


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Take away the caller's variables and give each test folders of its own, which are made when they are needed.

    Nothing waits for the disk: a power cut is not tested.
    """
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(NUMBERS))
    monkeypatch.setenv("DRAMATURG_LIBRARY", str(home / "library"))
    monkeypatch.setenv("DRAMATURG_CACHE", str(home / "cache"))
    monkeypatch.setenv("DRAMATURG_SETTINGS", str(home / "endpoint.json"))
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    for module in (saver_file, item_store):
        monkeypatch.setattr(module, "SYNCHRONOUS", "OFF")
