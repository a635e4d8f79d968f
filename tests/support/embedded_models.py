"""Where the embedded models are needed: their weights from the cache of before the tests, or the test is skipped."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.models.errors import WeightsError
from dramaturg.models.local.weights import find

PATIENT: dict[str, Any] = {"deadline": 2400, "turn_deadline": 3000}
"""Settings: seconds far above what a busy machine needs, where the longest test takes a quarter of an hour."""
SLOW = [pytest.mark.slow, pytest.mark.timeout(3600)]
"""Marks of tests that ask the embedded models."""


def use_real_models(monkeypatch: pytest.MonkeyPatch, cache: Path, *names: tuple[str, str]) -> None:
    """Take weights from `cache`, with one thread; each name is that of weights, with the package that runs them."""
    monkeypatch.setenv("DRAMATURG_CACHE", str(cache))
    monkeypatch.setenv("DRAMATURG_THREADS", "1")  # another worker is busy, and threads that wait for a core spin
    monkeypatch.setattr("dramaturg.models.clients.TIMEOUT", float(PATIENT["deadline"]))
    for name, package in names:
        pytest.importorskip(package)
        try:
            find(name, cache)
        except WeightsError:
            pytest.skip(f"run `dramaturg models pull {name}` first")
