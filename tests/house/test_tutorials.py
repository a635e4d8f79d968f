"""Each tutorial runs from top to bottom: its files are written, its commands are run, in their order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from stub_endpoint import endpoint

PAGES = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*_*.md"))
BLOCK = re.compile(r'^```(\w+)(?: title="([\w./]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs(page: Path, tmp_path: Path) -> None:
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert len(blocks) > 2
    paths = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with endpoint() as stub:
        known = {**os.environ, **stub.variables(), "PATH": paths, "DRAMATURG_LIBRARY": str(tmp_path / "library")}
        for kind, title, text in blocks:
            if title:
                (tmp_path / title).write_text(text, encoding="utf-8")
            for line in re.findall(r"^\$ (.+)$", text, re.MULTILINE) if kind == "console" else ():
                done = subprocess.run(
                    line, shell=True, cwd=tmp_path, env=known, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        assert stub.asked
