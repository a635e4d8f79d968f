"""Scenarios: what is read of one, and every way in which a file is refused, with its line."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.documents.scenario import Clock, Scenario, read_scenario, scenarios
from dramaturg.stores.errors import RoleFileError

MILL = """\
name: The mill
about: Two millers want one mill.
agents:
  - role: mara
    goal: to get the mill
    candidate: true
  - role: jon
    goal: to keep the mill
    candidate: true
clock:
  start: "2024-10-01T09:00"
  hours: 2
  steps: 3
polls:
  open: "2024-10-01T11:00"
  close: "2024-10-01T13:00"
events:
  - at: "2024-10-01T11:00"
    text: The bell rings.
"""


def read(folder: Path, text: str) -> Scenario:
    file = folder / "mill.yaml"
    file.write_text(text, encoding="utf-8")
    return read_scenario(str(file))


def test_a_file_says_who_lives_through_which_hours(tmp_path: Path) -> None:
    mill = read(tmp_path, MILL)
    assert (mill.name, mill.language, mill.shared) == ("The mill", "en", ())
    assert (mill.candidates, mill.goal("jon")) == (("mara", "jon"), "to keep the mill")
    assert [mill.clock.at(step) for step in (1, 2, 3)] == [f"2024-10-01T{hour}:00" for hour in ("09", "11", "13")]


def test_votes_are_cast_from_the_hour_of_opening_to_before_that_of_closing(tmp_path: Path) -> None:
    mill = read(tmp_path, MILL)
    assert [mill.polls_at(mill.clock.at(step)) for step in (1, 2, 3, 4)] == ["none", "open", "closed", "closed"]
    quiet = read(tmp_path, MILL.split("polls:", maxsplit=1)[0])
    assert {quiet.polls_at(quiet.clock.at(step)) for step in (1, 2, 3)} == {"none"}


def test_the_hour_after_midnight_is_another_day() -> None:
    clock = Clock(start="2024-12-31T22:30", hours=1, steps=3)
    assert clock.at(3) == "2025-01-01T00:30"
    assert [clock.strikes(f"2024-12-31T{hour}") for hour in ("22:30", "23:30", "21:30", "23:00")] == [
        *(True, True, False, False)
    ]


def test_riverbend_comes_with_the_package_and_a_file_is_as_good(tmp_path: Path) -> None:
    assert scenarios() == ["riverbend"]
    riverbend = read_scenario("riverbend")
    source = Path(__file__).parents[2] / "examples" / "scenarios" / "riverbend.yaml"
    assert read(tmp_path, source.read_text(encoding="utf-8")) == riverbend
    assert riverbend.candidates == ("alice", "bob")


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("name: The mill", "title: The mill", 1, "there is no key `title`; the keys are name, language, about"),
        ("name: The mill\n", "", 1, "`name` is missing: add it"),
        ("name: The mill", 'name: ""', 1, "`name` must not be empty"),
        ("name: The mill", "name: 7", 1, "`name` must be text: put it in quotes"),
        ("name: The mill", f"name: {'M' * 81}", 1, "`name` has more than 80 characters"),
        ("name: The mill", "name: [The mill", 2, "check colons, quotes and indentation"),
        ("about: Two", "name: Again\nabout: Two", 2, "`name` is there twice"),
        ("about: Two", "language: de\nabout: Two", 2, "`language` should be 'en', 'zh' or 'ko'"),
        ("about: Two", "shared: Nothing.\nabout: Two", 2, "`shared` must be a list"),
        ("about: Two", f"shared: [{'x' * 1001}]\nabout: Two", 2, "`shared.1` has more than 1,000"),
        ("role: mara", "role: ../mara", 4, "`agents.1.role` String should match pattern"),
        ("goal: to get the mill", "gaol: to get the mill", 5, "no key `agents.1.gaol`; did you mean 'goal'"),
        ("candidate: true\n  - role: jon", "candidate: 1\n  - role: jon", 6, "`agents.1.candidate` "),
        ("role: jon", "role: mara", 1, "`agents` must name each role once"),
        ("steps: 3", "steps: 0", 13, "`clock.steps` "),
        ("steps: 3", "steps: 101", 13, "`clock.steps` "),
        ("hours: 2", "hours: 25", 12, "`clock.hours` "),
        ("hours: 2", 'hours: "2"', 12, "`clock.hours` "),
        ('close: "2024-10-01T13:00"', 'close: "2024-10-01T11:00"', 1, "`polls` must close after they open"),
        ("T13:00", "T10:00", 1, "`polls` must close after they open"),
        (
            "candidate: true\nclock",
            "candidate: false\nclock",
            1,
            "`polls` need two agents or more with `candidate: true`",
        ),
        ('open: "2024-10-01T11:00"', 'open: "2024-10-01T12:00"', 1, "`polls` are open at no step of the clock"),
        ('at: "2024-10-01T11:00"', 'at: "2024-10-01T10:00"', 1, "`events` at 2024-10-01T10:00 meet no step"),
        ('at: "2024-10-01T11:00"', 'at: "2024-10-01T07:00"', 1, "`events` at 2024-10-01T07:00 meet no step"),
        ("text: The bell rings.", 'text: ""', 19, "`events.1.text` must not be empty"),
    ],
)
def test_a_slip_is_named_with_its_line(tmp_path: Path, old: str, new: str, line: int, problem: str) -> None:
    assert MILL.count(old) == 1
    with pytest.raises(RoleFileError) as refused:
        read(tmp_path, MILL.replace(old, new))
    assert f"mill.yaml, line {line}: " in str(refused.value)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    "hour",
    [
        *("2024-10-01", "2024-10-01 09:00", "2024-10-01T09:00:00", "2024-10-01T9:00", "2024-13-01T09:00"),
        *("2024-10-01T0900Z", "2024-W40-2T09:00", "20241001T090000", "noon", ""),
    ],
)
def test_an_hour_is_written_in_one_way_for_hours_are_compared_as_texts(tmp_path: Path, hour: str) -> None:
    with pytest.raises(RoleFileError, match=r"line 11: `clock.start` must be a date and time such as 2024-10-01T09:00"):
        read(tmp_path, MILL.replace('start: "2024-10-01T09:00"', f'start: "{hour}"'))


@pytest.mark.parametrize("agents", ["[]", "[{role: mara, goal: rest}]"])
def test_nobody_lives_alone(tmp_path: Path, agents: str) -> None:
    text = f"name: The mill\nabout: Nobody comes.\nagents: {agents}\nclock: {{start: '2024-10-01T09:00', steps: 1}}\n"
    with pytest.raises(RoleFileError, match=r"mill.yaml, line 3: `agents` .*at least 2 items"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("riverbed", "There is no scenario 'riverbed': take one of riverbend, or the path of a .yaml file."),
        ("riverbend.json", "There is no scenario 'riverbend.json'"),
        ("", "There is no scenario ''"),
        ("nowhere.yaml", "nowhere.yaml cannot be read (No such file or directory): put it there."),
    ],
)
def test_what_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, problem: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RoleFileError) as refused:
        read_scenario(name)
    assert problem in str(refused.value)


def test_a_scenario_does_not_change_while_it_is_played() -> None:
    riverbend: Any = read_scenario("riverbend")
    with pytest.raises(ValueError, match="frozen"):
        riverbend.name = "Elsewhere"
