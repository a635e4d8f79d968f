"""What every test stands on: no network, strict checkpoints, no user's folders, a seed for hypothesis."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

import pytest

from dramaturg.models.environment import VARIABLES

from commands import run, stub  # noqa: F401


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Take away the caller's variables and give each test folders of its own."""
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DRAMATURG_LIBRARY", str(home / "library"))
    monkeypatch.setenv("DRAMATURG_CACHE", str(home / "cache"))
