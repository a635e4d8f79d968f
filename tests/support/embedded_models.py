"""Where the embedded models are needed: their weights from the cache of before the tests, or the test is skipped."""

from pathlib import Path

import pytest

from dramaturg.models.errors import WeightsError
from dramaturg.models.weights import find


def use_real_models(monkeypatch: pytest.MonkeyPatch, cache: Path, *names: tuple[str, str]) -> None:
    """Take weights from `cache`, with one thread; each name is that of weights, with the package that runs them."""
    monkeypatch.setenv("DRAMATURG_CACHE", str(cache))
    monkeypatch.setenv("DRAMATURG_THREADS", "1")  # another worker is busy, and threads that wait for a core spin
    for name, package in names:
        pytest.importorskip(package)
        try:
            find(name, cache)
        except WeightsError:
            pytest.skip(f"run `dramaturg models pull {name}` first")
