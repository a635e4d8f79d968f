"""A run that is killed under a filter, goes on, and is gone on with by another version: records, costs and texts."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.comparison import plan
from dramaturg.evaluation.comparison import run as runs
from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.comparison.records import RecordFile, Records
from dramaturg.nodes.run import AT_ONCE

from commands import Command
from fakes import ScriptedChatModel
from roles import actor, said
from stub_endpoint import Endpoint, Handler

MAIN = "from dramaturg.cli.app import main; main()"
ASKED = 30
NUMBER = re.compile(r"[Qq]uestion number (\d+)")
FILTER = {"error": {"code": "content_filter", "message": "The prompt triggered the content management policy."}}
"""What a filter says. Where it says nothing, those who waited for the first answer are refused with the first."""


def number_in(text: str) -> int:
    return int(NUMBER.findall(text)[-1])


def answer(messages: list[BaseMessage]) -> str:
    """Say which question it was, and as a judge yes to an even one."""
    text = said(messages)
    if '"yes"' in text:
        return json.dumps({"answer": "no" if number_in(text) % 2 else "yes"})
    return f"That was question number {number_in(text)}."


def is_kept_back(handler: Handler) -> bool:
    """Whether it is a question to the role that a filter keeps back: one in ten."""
    text = json.dumps(handler.body["messages"])
    return "<reply>" not in text and bool(NUMBER.search(text)) and number_in(text) % 10 == 3


def filtering(handler: Handler) -> None:
    if not is_kept_back(handler):
        return handler.answer(handler.body)
    data = json.dumps(FILTER).encode()
    handler.send_response(400)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
    return None


@pytest.fixture
def asked(stub: Endpoint, run: Command, tmp_path: Path) -> Iterator[list[Any]]:
    lines = ({"question": f"What is question number {at}?", "answer": f"Number {at}."} for at in range(ASKED))
    (tmp_path / "ada" / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    stub.model, stub.faults["chat"] = ScriptedChatModel(reply=answer), filtering
    stub.asked.clear()
    yield stub.asked
    stub.model, stub.latency = actor(), 0.0
    stub.faults.clear()


def killed_at(command: tuple[str, ...], out: Path, more: int) -> Records:
    """Run a command in a process that is killed by -9 when there are so many more records."""
    before = len(RecordFile(out).path.read_bytes().splitlines()) if RecordFile(out).path.exists() else 0
    process = subprocess.Popen([sys.executable, "-c", MAIN, *command], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if RecordFile(out).path.exists() and RecordFile(out).path.read_bytes().count(b"\n") >= before + more:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return RecordFile(out).read()


@pytest.mark.crash
def test_kills_a_filter_and_another_version_leave_each_record_right_and_each_call_counted(
    run: Command, stub: Endpoint, asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, stub.latency = tmp_path / "run", 0.1
    command = ("evaluate", "--methods", "vanilla,profile", "--role", "ada", "--metrics", "accuracy", "--no-bounds")
    for _ in range(3):
        found = killed_at((*command, "--out", str(out)), out, 12)
        assert found.replies
    lost = len(asked) - calls_in(found)
    stub.latency = 0.0
    code, _, err = run(*command, "--out", str(out))
    assert (code, "This run is incomplete" in err) == (0, True)  # a filter took more than 2 %
    found = RecordFile(out).read()
    gone = [one for one in found.replies.values() if one.error]
    assert (len(found.replies), len(gone)) == (2 * ASKED, 2 * ASKED // 10)
    assert all(number_in(one.asked) % 10 == 3 and one.refused for one in gone)
    for one in found.replies.values():
        assert one.error or one.text == f"That was question number {number_in(one.asked)}."
    right = {key: one.text for key, one in found.replies.items()}
    for mark in found.judged.values():
        assert mark.value == (number_in(right[mark.reply]) + 1) % 2
    # Three kills cost what was under way: replies, judgements of two calls, and what was refused and had no record yet.
    assert lost <= 3 * 3 * AT_ONCE + 3 * len(gone)
    told = json.loads(run("report", str(out), "--json")[1])
    assert sum(one["calls"] for one in told["costs"]) == sum(one.calls for one in found.replies.values())
    assert sum(one["judge_calls"] for one in told["costs"]) == sum(one.calls for one in found.judged.values())
    assert told["run"]["versions"] == [version("dramaturg")]
    # The filter is gone, and there is another version.
    stub.faults.clear()
    for module in (plan, runs):
        monkeypatch.setattr(module, "version", lambda name: "9.9.9")
    code, _, err = run(*command, "--out", str(out))
    assert (code, "before, 9.9.9 now" in err, RecordFile(out).read() == found) == (2, True, True)
    asked.clear()
    code, _, _ = run(*command, "--from", str(out), "--out", str(tmp_path / "on"))
    assert code == 0
    whole = RecordFile(tmp_path / "on").read()
    new = [one for one in (*whole.replies.values(), *whole.judged.values()) if one.dramaturg == "9.9.9"]
    assert {one.key for one in new if one.key in whole.replies} == {one.key for one in gone}
    assert len(new) == 2 * len(gone)  # a reply and its judgement: nothing else is asked again
    assert len(asked) == sum(one.calls for one in new)
    told = json.loads(run("report", str(tmp_path / "on"), "--json")[1])
    assert (told["valid"], told["run"]["versions"]) == (True, [version("dramaturg"), "9.9.9"])
    assert read_plan(tmp_path / "on").taken_from == "run"


def calls_in(found: Records) -> int:
    """The calls of all that is kept."""
    return sum(one.calls for one in (*found.replies.values(), *found.judged.values()))
