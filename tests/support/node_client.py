"""The JavaScript client of the LangGraph API and its hook, where node and they are there: see `make test-js`."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CLIENT = "DRAMATURG_JS_CLIENT"
"""The variable that names the folder of @langchain/langgraph-sdk."""
HOOK = "DRAMATURG_JS_HOOK"
"""The variable that names a folder in which that client is installed with React."""


def tour(*urls: str) -> dict[str, Any]:
    """Take the tour of `tour.mjs` at a server, or at two that share their threads."""
    ran = subprocess.run(command("tour.mjs", CLIENT, *urls), capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    seen: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return seen


def chat(shown: Callable[[str], None], *arguments: str) -> dict[str, Any]:
    """Have the chat of `chat.mjs`, and hear of each text that it shows of a reply."""
    with subprocess.Popen(command("chat.mjs", HOOK, *arguments), stdout=subprocess.PIPE, text=True) as ran:
        assert ran.stdout
        told: dict[str, Any] = {}
        for line in ran.stdout:
            told = json.loads(line)
            if "shown" in told:
                shown(told["shown"])
    assert ran.returncode == 0
    return told


def command(script: str, variable: str, *arguments: str) -> list[str]:
    """How a script of this folder is run; the test is skipped where it cannot be."""
    node, folder = shutil.which("node"), os.environ.get(variable)
    if not node or not folder:
        pytest.skip(f"node is not there, or {variable} names no folder of packages: `make test-js` brings them")
    return [node, str(Path(__file__).with_name(script)), str(Path(folder).resolve()), *arguments]


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
