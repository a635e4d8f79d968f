"""Benchmarks can be begun: what they import is there, under the name that they use."""

import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*.py")), ids=lambda file: file.stem)
def test_a_benchmark_can_be_begun(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))  # as where it is run: some share a module
    assert runpy.run_path(str(file), run_name="begun")["__doc__"]
