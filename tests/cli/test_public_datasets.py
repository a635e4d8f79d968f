"""Public datasets on stubs with a known truth: one command from the files to a report, and the report finds it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_datasets as tiny
from langchain_core.messages import BaseMessage

from commands import Command
from fakes import ScriptedChatModel
from roles import actor, fenced, said
from stub_endpoint import Endpoint

SIX = tuple(f"{name} Reed" for name in ("Ada", "Bea", "Cleo", "Dora", "Edna", "Fay"))
KNOWN = "It is as it is, and I say no more."
UNKNOWN = "Hello! How can I help you today?"


def knows_who_it_is(messages: list[BaseMessage]) -> str:
    """Plays well where it is told who it is, plays a guest, and judges without a mistake."""
    text = said(messages)
    if text.rstrip().endswith(" now:"):
        return "Tea, please." if fenced("aim", text) else "Go on."
    if "<reply>" not in text and "<talk>" not in text:
        return KNOWN if "silent" in text.partition("Who you are:")[2] else UNKNOWN
    good = UNKNOWN not in (fenced("talk", text) or fenced("reply", text))
    if text.rstrip().endswith('begins "The reply":') or text.rstrip().endswith('begins "The actor":'):
        return "The reply is of somebody." if good else "The reply is of nobody."
    if "as JSON:" in text:
        flaw = {"flaw": "A clerk speaks.", "severity": 5}
        return json.dumps({"flaws": [] if good else [flaw] * 5})
    high = 10 if "1 to 10" in text else 5
    return json.dumps({"answer": ("yes" if good else "no") if "yes or no:" in text else high if good else 1})


@pytest.fixture(autouse=True)
def asked(stub: Endpoint) -> Iterator[list[Any]]:
    stub.model = ScriptedChatModel(reply=knows_who_it_is)
    stub.asked.clear()
    yield stub.asked
    stub.model = actor()


DATASETS: list[tuple[str, Callable[[Path], Path], str, tuple[str, ...]]] = [
    ("rolebench", lambda folder: tiny.rolebench(folder, *SIX), "accuracy", ()),
    ("timechara", lambda folder: tiny.timechara(folder, *SIX), "point_in_time", ()),
    (
        "persona_gym",
        lambda folder: tiny.persona_gym(folder, *(f"A silent keeper of {number} lights" for number in range(6))),
        "persona_gym",
        (),
    ),
    (
        "ping_pong",
        lambda folder: tiny.ping_pong(folder, *SIX),
        "entertaining",
        ("--turns", "3", "--user", "Guest"),
    ),
    (
        "coser_test",
        lambda folder: tiny.coser_test(folder, *SIX),
        "acting_fidelity",
        ("--turns", "3", "--user", "Guest"),
    ),
]


@pytest.mark.parametrize(("name", "maker", "metric", "more"), DATASETS, ids=[one[0] for one in DATASETS])
def test_one_command_finds_which_method_knows_who_it_is(
    run: Command, tmp_path: Path, name: str, maker: Callable[[Path], Path], metric: str, more: tuple[str, ...]
) -> None:
    folder, out = maker(tmp_path / "data"), tmp_path / "run"
    wishes = ("--methods", "vanilla,profile", "--metrics", metric, "--dataset", f"{name}={folder}", "--yes")
    code, text, err = run("evaluate", *wishes, *more, "--out", str(out), "--json")
    assert (code, err and "Traceback" in err) == (0, False)
    told = json.loads(text)
    assert told["valid"], told["problems"]
    (difference,) = [one["interval"] for one in told["differences"]]
    assert (difference["low"] > 0, difference["n"]) == (True, 6)
    means = {one["contestant"]: one["interval"]["mean"] for one in told["rows"]}
    assert means["profile"] > means["vanilla"]
