"""What every test stands on: no network, strict checkpoints, no user's folders, a seed for hypothesis."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

import pytest
from hypothesis import settings

from dramaturg.models.environment import VARIABLES

from commands import run, stub  # noqa: F401

# A few examples of each property, all of them with `--hypothesis-profile ci`. In CI the same ones every time: a new
# counterexample is found at a desk, where it can be looked into.
settings.register_profile(
    "quick", parent=settings.get_profile("ci" if "CI" in os.environ else "default"), deadline=None, max_examples=20
)
settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the enumerations of crashes more time than other tests."""
    for item in items:
        if item.get_closest_marker("crash"):
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Take away the caller's variables and give each test folders of its own."""
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DRAMATURG_LIBRARY", str(home / "library"))
    monkeypatch.setenv("DRAMATURG_CACHE", str(home / "cache"))
