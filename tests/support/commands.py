"""A command, run in this process over a library with one role, against a model on loopback."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dramaturg.cli.app import main

from roles import small_role
from stub_endpoint import Endpoint, endpoint

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def stub() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@pytest.fixture
def run(stub: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `dramaturg`, or a module of `studies`, over a library with one role; gives exit code, output and errors."""
    small_role(tmp_path)
    for name, value in {**stub.variables(), "DRAMATURG_LIBRARY": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)

    def command(*arguments: str) -> tuple[int, str, str]:
        study = arguments[0].split(".")[0] == "studies" if arguments else False
        program, *rest = arguments if study else ("dramaturg", *arguments)
        monkeypatch.setattr(sys, "argv", [program, *rest])
        code: object = 0
        try:
            if study:
                importlib.import_module("studies.__main__" if program == "studies" else program).main()
            else:
                main()
        except SystemExit as ended:
            code = ended.code or 0
        said = capsys.readouterr()
        return int(str(code)), said.out, " ".join(said.err.split())

    return command
