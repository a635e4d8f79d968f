"""`dramaturg scene`: listed, played line by line or at a prompt, and written as a script."""

import json
from pathlib import Path

import pytest

from dramaturg.testing import write_role

from commands import Command
from stub_endpoint import Endpoint

INN = """place: An inn by night.
lines: 1
cast:
- {role: ada, method: vanilla}
- {role: ben, method: vanilla}
- {role: tom, method: vanilla, absent: true}
"""


@pytest.fixture
def inn(tmp_path: Path) -> str:
    for role, name in (("ben", "Ben Gunn"), ("tom", "Tom Morgan")):
        write_role(tmp_path, role, name=name)
    (tmp_path / "inn.yaml").write_text(INN, encoding="utf-8")
    return str(tmp_path / "inn.yaml")


def test_a_scene_is_played_from_its_file_and_each_role_remembers_its_part(
    run: Command, stub: Endpoint, inn: str
) -> None:
    code, out, _ = run("scene", inn, "/whisper Ben: The key is under the stone.", "Ada, good evening.", "--json")
    assert code == 0
    first, second = map(json.loads, out.splitlines())
    assert [(one["role"], one["heard_by"]) for one in first["spoken"]] == [("ben", ["ben"])]
    assert [(one["role"], one["heard_by"]) for one in second["spoken"]] == [("ada", ["ada", "ben"])]
    assert second["evidence"]["ada"]["not_heard"][0]["why"] == "whispered to Ben Gunn"
    for role, known in (("ben", True), ("ada", False)):
        stub.asked.clear()
        assert run("ask", role, "Where is the key?", "--method", "vanilla", "--thread", "t")[0] == 0
        assert ("under the stone" in json.dumps(stub.asked[-1])) == known


def test_what_a_role_has_heard_in_a_scene_is_listed_and_forgotten_by_all(run: Command, inn: str) -> None:
    assert run("scene", inn, "The key is under the stone, Ada.", "Ben, a fine night.")[0] == 0
    heard = ("memories", "ben", "--thread", "scene:inn/default")
    assert f"What ben has heard in scenes: dramaturg {' '.join(heard)}." in run("memories", "ben")[1]
    rows = json.loads(run(*heard, "--json")[1])
    assert rows[0]["text"].endswith(": The key is under the stone, Ada.")
    assert run(*heard, "--remove", rows[0]["memory"], "--yes")[0] == 0
    for role in ("ada", "ben"):
        assert "stone" not in run("memories", role, "--thread", "scene:inn/default", "--json")[1]
    assert "stone" not in run("scene", inn, "--heard", "--json")[1]
    code, _, err = run("memories", "ben", "--thread", "scene:none")
    assert (code, "Nothing was said in 'scene:none'" in err) == (2, True)


@pytest.mark.parametrize("name", ["Ben Gunn", "ben", "BEN"])
@pytest.mark.parametrize("lines", [(), ("Good evening.",)])
def test_nobody_plays_somebody_of_the_cast(run: Command, inn: str, name: str, lines: tuple[str, ...]) -> None:
    code, _, err = run("scene", inn, *lines, "--as", name)
    assert (code, f"You cannot play {name}: Ben Gunn is in the cast" in " ".join(err.split())) == (2, True)
    assert run("scene", inn, "Good evening.", "--as", "Benny")[0] == 0


def test_the_evidence_says_what_was_kept_from_a_role(run: Command, inn: str) -> None:
    code, out, _ = run("scene", inn, "/whisper Ben: Hush.", "Ada, good evening.", "--evidence")
    assert code == 0
    assert "Not heard since its own last line: 1 whispered to Ben Gunn, 1 whispered." in " ".join(out.split())


def test_a_scene_at_a_prompt_has_its_commands_and_goes_on(
    run: Command, inn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["/enter Tom", "/help", "/nonsense", "/whisper Nobody: Hush.", "/script", "/quit"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
    code, out, _ = run("scene", inn)
    assert code == 0
    for shown in (
        "Tom Morgan comes in.",
        "/whisper NAME: TEXT",
        "is none; there are: Ada Quill, Ben Gunn, Tom Morgan.",
    ):
        assert shown in " ".join(out.split())
    lines = iter(["/quit"])
    assert "You: /enter Tom" in run("scene", inn)[1]


def test_each_line_stands_under_who_says_it(run: Command, inn: str) -> None:
    assert run("scene", inn, "Ben, good evening.", "Ada, good evening.")[1].splitlines() == [
        "",
        "You: Ben, good evening.",
        "Ben Gunn: I keep the light.",
        "",
        "You: Ada, good evening.",
        "Ada Quill: I keep the light.",
    ]


def test_a_script_is_written(run: Command, inn: str, tmp_path: Path) -> None:
    assert run("scene", inn, "--script", str(tmp_path / "inn.fountain"))[0] == 2
    assert run("scene", inn, "/narrate The door opens.")[0] == 0
    assert run("scene", inn, "--script", str(tmp_path / "inn.fountain"))[0] == 0
    script = (tmp_path / "inn.fountain").read_text(encoding="utf-8")
    assert "!The door opens." in script
    assert "[[heard by Ada Quill, Ben Gunn]]" in script


def test_who_heard_what_is_shown(run: Command, inn: str) -> None:
    assert "Nothing was said in 'inn/default' yet." in run("scene", inn, "--heard")[2]
    assert run("scene", inn, "/whisper Ben: Hush.", "Ada, good evening.", "--as", "Squire")[0] == 0
    code, out, _ = run("scene", inn, "--heard", "--json")
    assert code == 0
    assert [(one["name"], one["heard"]) for one in json.loads(out)] == [
        ("Squire", ["ben"]),
        ("Ben Gunn", ["ben"]),
        ("Squire", ["ada", "ben"]),
        ("Ada Quill", ["ada", "ben"]),
    ]
    assert "Who heard what in inn" in run("scene", inn, "--heard")[1]


def test_scenes_are_listed_and_what_cannot_be_played_is_said(run: Command, inn: str, tmp_path: Path) -> None:
    code, out, _ = run("scene")
    assert code == 0
    assert "apple_barrel" in out
    assert json.loads(run("scene", "--json")[1]) == ["apple_barrel"]
    code, _, err = run("scene", "apple_barell", "/go")
    assert (code, "did you mean 'apple_barrel'" in err) == (2, True)
    code, _, err = run("scene", inn, "/go", "--set", "linez=2")
    assert (code, "did you mean 'lines'" in err) == (2, True)
    (tmp_path / "bad.yaml").write_text(INN.replace("ben", "nobody"), encoding="utf-8")
    code, _, err = run("scene", str(tmp_path / "bad.yaml"), "/go")
    assert (code, "'nobody'" in err) == (2, True)
