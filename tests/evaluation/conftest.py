"""Statistics without the pauses that statsmodels makes."""

import gc

import pytest


@pytest.fixture(autouse=True)
def no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """`multipletests` looks for garbage after each call, for 60 ms in a process as large as that of the tests."""
    monkeypatch.setattr(gc, "collect", lambda generation=2: 0)
