"""`dramaturg dataset`, and one command from a dataset's folder to a report."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import tiny_datasets as tiny
from langchain_core.messages import BaseMessage

from dramaturg.nodes.run import AT_ONCE

from commands import Command
from fakes import ScriptedChatModel
from roles import actor, said
from stub_endpoint import Endpoint

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")


def speaks_and_judges(messages: list[BaseMessage]) -> str:
    """Answer for the role, and as a judge who likes everything."""
    text = said(messages)
    if '"yes"' in text:
        return json.dumps({"answer": "yes"})
    return "It is lit, on this night as on all others."


@pytest.fixture(autouse=True)
def asked(stub: Endpoint) -> Iterator[list[Any]]:
    stub.model = ScriptedChatModel(reply=speaks_and_judges)
    stub.asked.clear()
    yield stub.asked
    stub.model, stub.latency = actor(), 0.0


@pytest.fixture(autouse=True)
def nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO())


def chats(asked: list[Any]) -> list[str]:
    return [json.dumps(body["messages"]) for body in asked if "messages" in body]


@pytest.fixture
def light(tmp_path: Path) -> Path:
    return tiny.coser(tmp_path / "data" / "light")


def test_datasets_are_listed_with_licence_and_digests(run: Command, tmp_path: Path, light: Path) -> None:
    code, text, _ = run("dataset", "list", str(tmp_path / "data"))
    assert code == 0
    for told in ("charactereval", "has no licence", "CC BY-NC 4.0", "dataset fetch coser FOLDER"):
        assert told in " ".join(text.split())
    found = {one["name"]: one for one in json.loads(run("dataset", "list", str(tmp_path / "data"), "--json")[1])}
    assert found["coser"]["here"] == [f"{light} (in its form; released files: 0)"]
    assert found["novel"]["here"] == found["rolebench"]["here"] == []
    assert len(found["coser"]["files"][0]["sha256"]) == 64
    assert "here" not in json.loads(run("dataset", "list", "--json")[1])[0]


def test_roles_are_made_and_stay(run: Command, tmp_path: Path, light: Path) -> None:
    code, text, err = run("dataset", "roles", "coser", str(light), "--dry-run", "--json")
    assert code == 0
    assert "CoSER names no licence" in err
    assert [(one["role"], one["state"], one["scenes"]) for one in json.loads(text)["roles"]] == [
        ("coser-ada", "new", 2),
        ("coser-tom", "new", 2),
    ]
    assert not (tmp_path / "coser-ada").exists()
    code, text, _ = run("dataset", "roles", "coser", str(light), "--only", "Tom")
    assert (code, "made" in text, "--dataset" in text) == (0, True, True)
    assert (tmp_path / "coser-tom" / "role.yaml").is_file()
    assert not (tmp_path / "coser-ada").exists()
    assert "is there" in run("dataset", "roles", "coser", str(light))[1]
    assert {one["role"] for one in json.loads(run("roles", "--json")[1])} >= {"coser-ada", "coser-tom"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("roles", "cosser", "."), "did you mean 'coser'"),
        (("roles", "coser", "nowhere"), "is no folder"),
        (("roles", "coser", "{light}", "--only", "Adda"), "did you mean 'Ada'"),
        (("roles", "incharacter", "{light}", "--profiles", "{light}"), "does not hold InCharacter"),
        (("fetch", "novel", "{light}"), "No file of novel is known"),
        (("fetch", "coser", "{light}", "--only", "x.json"), "has no known file 'x.json'"),
    ],
)
def test_what_cannot_be_done_is_said(run: Command, light: Path, arguments: tuple[str, ...], told: str) -> None:
    code, _, err = run("dataset", *(one.replace("{light}", str(light)) for one in arguments))
    assert code != 0
    assert told in err


def test_nothing_is_fetched_without_a_yes(run: Command, tmp_path: Path) -> None:
    code, text, err = run("dataset", "fetch", "coser", str(tmp_path / "coser"), "--dry-run")
    assert (code, "382,974" in text, "CoSER names no licence" in err) == (0, True, True)
    code, _, err = run("dataset", "fetch", "coser", str(tmp_path / "coser"), "--from", "http://127.0.0.1:9")
    assert (code, "Nothing was done" in err, (tmp_path / "coser").exists()) == (1, True, False)


MAIN = "from dramaturg.cli.app import main; main()"
EVALUATE = ("evaluate", "--methods", "naive-rag,vanilla", "--metrics", "similarity,accuracy")


@pytest.mark.crash
def test_one_command_leads_from_a_folder_to_a_report(
    run: Command, tmp_path: Path, light: Path, asked: list[Any]
) -> None:
    out = tmp_path / "run"
    command = (*EVALUATE, "--dataset", f"coser={light}", "--out", str(out))
    code, text, err = run(*command, "--dry-run", "--json")
    assert (code, "CoSER names no licence" in err, chats(asked)) == (0, True, [])
    assert "replies of naive-rag" in text
    assert not (tmp_path / "coser-ada").exists()
    code, _, err = run(*command)  # there is nobody to say yes
    assert (code, "Make 2 roles and ask all this?" in err, "Nothing was done" in err) == (1, True, True)
    assert (chats(asked), out.exists(), (tmp_path / "coser-ada").exists()) == ([], False, False)
    code, text, err = run(*command, "--yes")
    assert (code, "similarity" in text) == (0, True)
    plan = json.loads((out / "plan.json").read_text(encoding="utf-8"))
    assert plan["roles"] == ["coser-ada", "coser-tom"]
    assert "CoSER names no licence" in plan["licence"]
    assert "CoSER names no licence" in (out / "report.md").read_text(encoding="utf-8")
    before = len(chats(asked))
    code, _, err = run(*command)  # nothing is left: nothing to agree to
    assert (code, "Ask this?" in err, len(chats(asked))) == (0, False, before)


def test_roles_are_named_as_the_dataset_names_them(run: Command, tmp_path: Path, light: Path) -> None:
    command = (*EVALUATE, "--dataset", f"coser={light}", "--out", str(tmp_path / "run"), "--dry-run")
    code, _, err = run(*command, "--role", "tom")
    assert (code, "coser-tom" in err, "coser-ada" in err) == (0, True, False)
    code, _, err = run("evaluate", "--methods", "vanilla", "--out", str(tmp_path / "other"))
    assert (code, "--role needs one or more names" in err) == (2, True)


def test_incharacter_brings_labels_for_an_inventory(run: Command, tmp_path: Path) -> None:
    folder = tiny.incharacter(tmp_path / "data" / "incharacter")
    tiny.put(tmp_path / "texts" / "Ada.md", "# Ada\n\nShe keeps a light.\n")
    command = ("evaluate", "--methods", "vanilla", "--dataset", f"incharacter={folder}", "--profiles")
    wishes = (str(tmp_path / "texts"), "--out", str(tmp_path / "run"), "--dry-run", "--json")
    code, _, err = run(*command, *wishes)
    assert (code, "name an inventory among the metrics" in err) == (2, True)
    code, text, _ = run(*command, *wishes, "--metrics", "four-letters")
    assert (code, "items of" in text) == (0, True)


def wait_for(file: Path, replies: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until so many replies are there."""
    until, has_ended = time.monotonic() + 240, False
    while time.monotonic() < until and not has_ended:
        has_ended = process.poll() is not None
        if file.is_file() and file.read_bytes().count(b'"kind":"reply"') >= replies:
            return
        time.sleep(0.02)
    raise AssertionError(f"{file} has no {replies} replies, exit code {process.poll()}")


DATA = [
    pytest.param("coser", "", marks=pytest.mark.crash, id="tiny"),
    pytest.param(
        *("coser", "coser_plays"),
        marks=[pytest.mark.slow, pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA")],
        id="coser",
    ),
    pytest.param(
        *("character_llm", "character_llm"),
        marks=[pytest.mark.slow, pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA")],
        id="character_llm",
    ),
]


@pytest.mark.parametrize(("name", "folder"), DATA)
def test_a_kill_costs_no_answer_that_was_there(
    run: Command, stub: Endpoint, tmp_path: Path, light: Path, asked: list[Any], name: str, folder: str
) -> None:
    """From an empty library: killed by -9 among its replies, the same command asks only for what is missing."""
    data, out = Path(SHARED or "") / folder if folder else light, tmp_path / "run"
    metric = "similarity,accuracy" if name == "coser" else "refusal"
    wishes = ("evaluate", "--methods", "naive-rag,vanilla", "--metrics", metric, "--limit", "3", "--yes")
    command = (*wishes, "--dataset", f"{name}={data}", "--out", str(out), "--library", str(tmp_path / "empty"))
    stub.latency = 0.2
    process = subprocess.Popen([sys.executable, "-c", MAIN, *command], stderr=subprocess.DEVNULL)
    try:
        wait_for(out / "records.jsonl", 4, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    stub.latency = 0.0
    before = records_in(out)
    assert len(chats(asked)) - sum(one.get("calls", 0) for one in before) <= AT_ONCE  # the kill has cost no more
    asked.clear()
    assert run(*command)[0] == 0
    added = records_in(out)[len(before) :]
    assert len(before) >= 4
    assert not {one["key"] for one in added} & {one["key"] for one in before}
    assert len(chats(asked)) == sum(one.get("calls", 0) for one in added)
    assert (out / "report.html").is_file()
    assert json.loads(run("report", str(out), "--json")[1])["valid"]


def records_in(run: Path) -> list[Any]:
    """What a run has kept; a line that was torn by the kill is none."""
    whole = (run / "records.jsonl").read_bytes().rpartition(b"\n")[0]
    return [one for line in whole.split(b"\n") if (one := json.loads(line))["kind"] != "indexed"]
