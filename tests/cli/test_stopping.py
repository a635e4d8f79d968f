"""Ctrl-C, and a request that nobody answers: the command is gone in seconds, and says what is kept and what goes on."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roles import small_role
from stub_endpoint import Endpoint, Handler

pytestmark = [pytest.mark.usefixtures("ctrl_c"), pytest.mark.timeout(900)]
MAIN = "from dramaturg.cli.app import main; main()"
CHAT, EMBEDDINGS = "chat", "embeddings"
PATIENCE = 60.0
"""Seconds after which a command that was told to end waits for what nobody answers; half of what a question has."""
BY_ITSELF = """
from dramaturg.cli import stopping
stopping.GRACE = 3600.0
"""
STARTING = """
import pathlib, time
from dramaturg.models import clients
def build(*_):
    pathlib.Path("held").touch()
    time.sleep(3600)
clients.new_client = build
"""
PULLING = """
import pathlib
from dramaturg.cli import setup
from dramaturg.models.local import hub
hub.TIMEOUT = 3600
pull = setup.pull
def pulling(*arguments, **named):
    pathlib.Path("held").touch()
    return pull(*arguments, hub="HUB", **named)
setup.pull = pulling
"""
EMBEDDING = """
import pathlib, time
from langchain_core.embeddings import Embeddings
from dramaturg.models import embeddings
class Stuck(Embeddings):
    def embed_documents(self, texts):
        pathlib.Path("held").touch()
        time.sleep(3600)
    embed_query = embed_documents
embeddings.endpoint_embeddings = lambda *_: Stuck()
"""


HELD: list[str] = []
"""The requests that got no answer."""


def hold(request: Handler) -> None:
    """Let a request wait until the test is over."""
    HELD.append(request.path)
    request.server.ended.wait()  # type: ignore[attr-defined]


@pytest.fixture
def silent(stub: Endpoint) -> Iterator[Endpoint]:
    """An endpoint that can be told to answer nothing."""
    HELD.clear()
    stub.ended.clear()
    yield stub
    stub.faults.clear()
    stub.ended.set()


def begun(stub: Endpoint, library: Path, *arguments: str, before: str = "") -> subprocess.Popen[str]:
    """The command in a process of its own."""
    variables = {**os.environ, **stub.variables(), "DRAMATURG_LIBRARY": str(library), "PYTHONIOENCODING": "utf-8"}
    return subprocess.Popen(
        [sys.executable, "-c", before + MAIN, *arguments],
        env={**variables, "DRAMATURG_CACHE": str(library / ".cache")},
        cwd=library,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(process: subprocess.Popen[str], stub: Endpoint, folder: Path) -> tuple[str, str]:
    """Send Ctrl-C when a request is with the endpoint; what was printed by then."""
    wait_for(process, lambda: bool(HELD) or (folder / "held").exists())
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail(f"It runs {PATIENCE:g} s after Ctrl-C: {process.communicate()}")


def wait_for(process: subprocess.Popen[str], seen: Callable[[], bool]) -> None:
    """Wait until something was seen."""
    began = time.monotonic()
    while not seen():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - began < 240
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "path", "kept"),
    [
        (("index", "ada"), EMBEDDINGS, "the same command goes on"),
        (("index", "ada", "--method", "drmr", "--scores"), CHAT, "the same command goes on"),
        (("learn", "ada", "new.md"), EMBEDDINGS, "files are changed.*`dramaturg index ada` goes on"),
        (
            ("evaluate", "--role", "ada", "--methods", "profile"),
            CHAT,
            "the same command goes on with them: .*run",
        ),
        (
            ("interview", "ada", "--method", "profile"),
            CHAT,
            r"goes on .* ada-profile-four-letters\.json",
        ),
        (("simulate", "riverbend"), CHAT, r"the same command goes on .* riverbend-id-rag-0\.jsonl"),
        (("ask", "ada", "Who?", "--method", "profile"), CHAT, "without --thread is not saved"),
        (
            ("ask", "ada", "Who?", "--method", "profile", "--thread", "a b"),
            CHAT,
            "chat ada --thread 'a b' --method profile",
        ),
        (("doctor",), CHAT, "Stopped"),
    ],
    ids=lambda one: " ".join(one[:3]) if isinstance(one, tuple) else "",
)
def test_ctrl_c_ends_a_command_in_seconds(
    silent: Endpoint, tmp_path: Path, arguments: tuple[str, ...], path: str, kept: str
) -> None:
    small_role(tmp_path)
    (tmp_path / "ada" / "questions.jsonl").write_text('{"question": "Who?", "reference": "Ada."}\n')
    (tmp_path / "new.md").write_text("# A dog\n\nAda has a dog.\n")
    silent.faults[path] = hold
    process = begun(silent, tmp_path, *arguments, before=BY_ITSELF)
    out, err = interrupted(process, silent, tmp_path)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    last = err.strip().splitlines()[-1]
    assert last.startswith("Stopped")
    assert re.search(kept, last)
    assert not [one for one in tmp_path.rglob("*") if one.name.endswith((".tmp", ".part"))]


@pytest.mark.slow
@pytest.mark.parametrize("before", [STARTING, EMBEDDING], ids=["a model that starts", "a model that embeds"])
def test_what_a_thread_does_is_not_waited_for(silent: Endpoint, tmp_path: Path, before: str) -> None:
    small_role(tmp_path)
    command = ("ask", "ada", "Who?", "--method", "profile") if before is STARTING else ("index", "ada")
    process = begun(silent, tmp_path, *command, before=before)
    out, err = interrupted(process, silent, tmp_path)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert err.strip().splitlines()[-1].startswith("Stopped")


@pytest.mark.slow
def test_what_was_pulled_is_kept(silent: Endpoint, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hub:  # which takes connections and says nothing
        address = f"http://127.0.0.1:{hub.getsockname()[1]}"
        process = begun(silent, tmp_path, "models", "pull", "minilm", before=PULLING.replace("HUB", address))
        out, err = interrupted(process, silent, tmp_path)
    assert process.returncode == 130
    assert "Traceback" not in out + err
    assert err.splitlines()[-1] == "Stopped. What was downloaded is kept, and the same command continues it."


@pytest.mark.slow
def test_a_turn_that_was_stopped_is_named_and_finished_at_the_next_start(silent: Endpoint, tmp_path: Path) -> None:
    small_role(tmp_path)
    silent.faults[CHAT] = hold
    chat = begun(silent, tmp_path, "chat", "ada", "--method", "profile")
    assert chat.stdin
    chat.stdin.write("Who are you?\n")
    chat.stdin.flush()
    out, err = interrupted(chat, silent, tmp_path)  # which ends the turn; and the input then ends the chat
    assert (chat.returncode, "Traceback" in err) == (0, False)
    assert "Stopped. Your question is kept: /retry answers it; another message takes it back." in out
    silent.faults.clear()
    again = begun(silent, tmp_path, "chat", "ada", "--method", "profile")
    out, err = again.communicate("/retry\n/history\n", timeout=240)
    assert "Not answered yet: Who are you?" in out
    assert "Ada Quill: I keep the light." in out


@pytest.mark.slow
def test_a_chat_is_left_though_a_thread_is_stuck(silent: Endpoint, tmp_path: Path) -> None:
    small_role(tmp_path)
    chat = begun(silent, tmp_path, "chat", "ada", "--method", "profile", before=STARTING)
    assert chat.stdin
    chat.stdin.write("Who are you?\n")
    chat.stdin.flush()
    out, err = interrupted(chat, silent, tmp_path)
    assert "/retry answers it" in out
    assert (chat.returncode, "Traceback" in err) == (0, False)


@pytest.mark.slow
def test_ctrl_c_at_the_prompt_ends_the_chat(silent: Endpoint, tmp_path: Path) -> None:
    small_role(tmp_path)
    chat = begun(silent, tmp_path, "chat", "ada", "--method", "profile")
    assert chat.stdout
    said = ""
    while not said.endswith("You: "):
        one = chat.stdout.read(1)
        assert one, said
        said += one
    chat.send_signal(signal.SIGINT)
    _, err = chat.communicate(timeout=PATIENCE)
    assert chat.returncode == 130
    assert err.strip() == "Stopped. What was said is kept, and `dramaturg chat ada --method profile` goes on."
