"""The JavaScript client of the LangGraph API, where node and that client are there: see `make test-js`."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CLIENT = "DRAMATURG_JS_CLIENT"
"""The variable that names the folder of @langchain/langgraph-sdk."""


def tour(*urls: str) -> dict[str, Any]:
    """Take the tour of `tour.mjs` at a server, or at two that share their threads."""
    node, client = shutil.which("node"), os.environ.get(CLIENT)
    if not node or not client:
        pytest.skip(f"node is not there, or {CLIENT} names no @langchain/langgraph-sdk: `make test-js` brings it")
    script = Path(__file__).with_name("tour.mjs")
    ran = subprocess.run(
        [node, str(script), str(Path(client).resolve()), *urls],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    seen: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return seen


def check(seen: dict[str, Any]) -> None:
    """Whether a tour has seen two turns that are kept, one of them as it was written."""
    reply = seen["streamed"]
    assert reply
    assert {"role", "language", "slots"} <= {*seen["settings"]}
    assert seen["events"]["custom"] > 0
    assert seen["said"] == [
        ["human", "Do storms frighten you?"],
        ["ai", reply],
        ["human", "And the fog?"],
        ["ai", reply],
    ]
    assert (seen["kept"], seen["again"]) == (4, 4)
    assert seen["checkpoints"] > 10
    assert seen["refused"] == 422
