"""`dramaturg log`: the views of a run, and what is said of a file that is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import Command
from roles import fenced
from townspeople import by_hour, comes, hour, of_kind, played, townspeople

pytestmark = pytest.mark.sample_of_file(8)

AGENTS = ["alice", "bob", "charlie", "dorothy", "ellen"]
VIEWS = ("overview", "actions", "context", "timeline", "memories")
Change = Callable[[list[dict[str, Any]]], object]


def outcome(_: str, text: str) -> str:
    """Alice's deeds matter, and lead to a talk; of Ellen's there is no account."""
    match fenced("deed", text).split()[0]:
        case "Alice":
            return comes(f"It went well at {hour(text)}.", "Bob", talks_with="Dorothy", importance=9)
        case "Ellen":
            return "Who knows?"
    return comes("Nobody cared.", importance=2)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """A whole day as it is logged."""
    model = townspeople(take_action=by_hour("walks"), resolve_action=outcome)
    log: list[dict[str, Any]] = played(tmp_path_factory.mktemp("library"), model, talk_lines=2, attempts=1)["log"]
    return log


@pytest.fixture
def log(events: list[dict[str, Any]], tmp_path: Path) -> Path:
    """The day in a file."""
    return written(tmp_path / "run.jsonl", events)


def written(file: Path, events: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in events), encoding="utf-8")
    return file


def shown(run: Command, *arguments: object) -> str:
    code, out, err = run("log", *map(str, arguments))
    assert (code, err) == (0, "")
    return out


def record(run: Command, *arguments: object) -> Any:
    return json.loads(shown(run, *arguments, "--json"))


def flat(text: str) -> str:
    """A text without the frames and breaks of tables."""
    return " ".join(word for word in text.split() if not set(word) & set("│┃━─┏┡└"))


# Overview


def test_the_overview_says_what_the_run_is_and_who_is_elected(run: Command, log: Path) -> None:
    out = shown(run, log, "overview")
    assert out == shown(run, log)
    assert "Riverbend: condition id-rag, seed 0, 7 of 7 steps; alice, bob, charlie, dorothy, ellen" in flat(out)
    assert all(name in flat(out) for name in ("step", "time", "deeds", "lines", "votes", "calls", "tokens", "seconds"))
    assert "2024-10-01 15:00" in out
    assert out.endswith("The votes: alice 5, bob 0. alice is elected.\n")


def test_the_overview_tells_what_each_step_cost(run: Command, log: Path, events: list[dict[str, Any]]) -> None:
    found = record(run, log, "overview")
    costs = of_kind(events, "cost")
    for name in ("calls", "tokens", "seconds"):
        spent = [row[name] for row in found["steps"]]
        assert spent[0] == costs[0][name]
        assert sum(spent) == pytest.approx(costs[-1][name])
        assert min(spent) > 0
    assert [(row["step"], row["deeds"], row["lines"], row["votes"]) for row in found["steps"]] == [
        (step, 5, 2, 5 if step == 3 else 0) for step in range(1, 8)
    ]
    assert found["result"] == {"votes": {"alice": 5, "bob": 0}, "winner": "alice"}
    assert (found["run"]["condition"], found["run"]["agents"], found["warning"]) == ("id-rag", AGENTS, "")


def test_the_overview_tells_how_much_was_said_before_in_talks(
    run: Command, tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    parrots = [{**one, "text": "I say what you say."} if one["kind"] == "line" else one for one in events]
    log = written(tmp_path / "parrots.jsonl", [one for one in parrots if (one["step"], one["kind"]) != (7, "line")])
    assert [row["repetition"] for row in record(run, log)["steps"]] == [1.0] * 6 + [None]
    assert "Said before in the same talk, of what is said in talks: step 1: 100%, step 2: 100%" in flat(shown(run, log))
    assert {row["repetition"] for row in record(run, written(tmp_path / "run.jsonl", events))["steps"]} == {0.0}


def test_who_waits_has_not_voted(run: Command, tmp_path: Path, events: list[dict[str, Any]]) -> None:
    waits = [{**one, "choice": ""} if one["kind"] == "vote" and one["agent"] == "bob" else one for one in events]
    log = written(tmp_path / "waits.jsonl", waits)
    assert [row["votes"] for row in record(run, log)["steps"]][2] == 4
    assert "bob votes for nobody yet" in shown(run, log, "timeline")


def test_a_step_under_way_has_no_cost_yet(run: Command, tmp_path: Path, events: list[dict[str, Any]]) -> None:
    at = next(number for number, one in enumerate(events) if one["step"] == 2 and one["kind"] == "outcome")
    log = written(tmp_path / "begun.jsonl", events[:at])
    rows = record(run, log)["steps"]
    assert [(row["deeds"], row["calls"] is None) for row in rows] == [(5, False), (5, True)]
    assert record(run, log)["result"] is None
    out = shown(run, log)
    assert "2 of 7 steps" in out
    assert "–" in out
    assert "No votes were counted." in out
    assert "not decided yet" in flat(shown(run, log, "actions", "--step", 2))


def test_nobody_is_elected_in_a_tie(run: Command, tmp_path: Path, events: list[dict[str, Any]]) -> None:
    tie = [{**one, "winner": None} if one["kind"] == "result" else one for one in events]
    assert "Nobody is elected." in shown(run, written(tmp_path / "tie.jsonl", tie))


def test_a_branch_is_named(run: Command, tmp_path: Path, events: list[dict[str, Any]]) -> None:
    begun = [one for one in events if one["step"] <= 3]
    branch = {**events[0], "step": 3, "kind": "branch", "of": "day.jsonl", "after": 3, "condition": "full"}
    out = shown(run, written(tmp_path / "branch.jsonl", [*begun, branch]))
    assert "condition full, seed 0, 3 of 7 steps; a branch of day.jsonl after step 3" in flat(out)


# Actions


def test_actions_are_told_hour_by_hour_with_what_came_of_them(run: Command, log: Path) -> None:
    out = flat(shown(run, log, "actions"))
    places = [out.index(f"Step {step}, 2024-10-01 {8 + step:02}:00 agent deed") for step in range(1, 8)]
    assert places == sorted(places)
    for part in ("Alice walks at", "It went well at", "bob, talks with", "no account of it: "):
        assert out.count(part) == 7


def test_actions_of_one_agent_in_one_step_are_its_own(run: Command, log: Path) -> None:
    (only,) = record(run, log, "actions", "--agent", "dorothy", "--step", 3)
    assert (only["step"], only["agent"], only["text"]) == (3, "dorothy", "Dorothy walks at 11:00.")
    assert (only["outcome"]["text"], only["outcome"]["importance"]) == ("Nobody cared.", 2)
    assert len(record(run, log, "actions", "--agent", "bob")) == 7
    assert len(record(run, log, "actions", "--step", 4)) == 5
    assert {one["agent"] for one in record(run, log, "actions", "--step", 4)} == {*AGENTS}
    (lost,) = record(run, log, "actions", "--agent", "ellen", "--step", 1)
    assert (lost["outcome"]["text"], lost["outcome"]["noticed_by"]) == ("", [])
    assert lost["outcome"]["error"]


# Context


def test_what_a_decision_rested_on_is_shown(run: Command, log: Path, events: list[dict[str, Any]]) -> None:
    out = flat(shown(run, log, "context", "--agent", "alice", "--step", 2))
    for part in (
        "alice, step 2, 2024-10-01 10:00",
        "Grandfather let me hold the lamp",
        "It went well at 09:00.",
        "Query of the identity",
        "high priority: values",
        "found by the query: 2 of 20 triples",
        "an urban planner",
        "Feels: Alice feels well.",
    ):
        assert part in out
    assert "Bob lives" not in out
    (told,) = record(run, log, "context", "--agent", "alice", "--step", 2)
    (event,) = [one for one in of_kind(events, "context") if (one["step"], one["agent"]) == (2, "alice")]
    assert told == {**{name: value for name, value in event.items() if name != "kind"}, "gate": None}


def test_an_identity_from_memories_is_told_as_such(run: Command, log: Path) -> None:
    out = flat(shown(run, log, "context", "--agent", "charlie", "--step", 1))
    assert "Identity, inferred from memories: Charlie lives in Riverbend." in out
    assert "Query of the identity" not in out


def test_the_gates_verdict_stands_beside_what_a_decision_rested_on(
    run: Command, tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    triple = {"sentence": "Bob plans.", "core": True}
    attempt = {"text": "Bob sleeps.", "verdict": "block", "triple": triple, "reason": "he plans", "probability": None}
    gate = {"attempts": [attempt], "outcome": "block"}
    bobs = [{**one, "gate": gate} if one["kind"] == "action" and one["agent"] == "bob" else one for one in events]
    log = written(tmp_path / "gate.jsonl", bobs)
    assert record(run, log, "context", "--agent", "bob", "--step", 1)[0]["gate"] == gate
    out = flat(shown(run, log, "context", "--agent", "bob", "--step", 1))
    assert "Bob sleeps. Bob plans. (core) he plans" in out
    assert "Bob walks at 09:00. (the gate: block)" in shown(run, log, "timeline", "--step", 1)


# Timeline


def test_the_timeline_tells_everything_in_order(run: Command, log: Path, events: list[dict[str, Any]]) -> None:
    out = shown(run, log, "timeline", "--step", 3)
    parts = [
        "Step 3, 2024-10-01 11:00",
        "The school bell rings",
        "  alice: Alice walks at 11:00.",
        "    alice: It went well at 11:00.",
        "  alice and dorothy talk:",
        "    alice: “I am Alice.”",
        "    dorothy: “I am Dorothy.”",
        "  alice votes for alice",
    ]
    assert [out.index(part) for part in parts] == sorted(out.index(part) for part in parts)
    assert out.count("talk:") == 1
    assert "    ellen: no account of it: " in out
    whole = shown(run, log, "timeline")
    assert whole.rstrip().endswith("The votes: alice 5, bob 0. alice is elected.")
    readable = ("event", "action", "outcome", "line", "silence", "vote", "result")
    assert [one["kind"] for one in record(run, log, "timeline")] == [one["kind"] for one in of_kind(events, *readable)]


def test_the_timeline_of_an_agent_has_what_was_said_to_it(run: Command, log: Path) -> None:
    out = shown(run, log, "timeline", "--agent", "dorothy", "--step", 1)
    assert "“I am Alice.”" in out
    assert "The stalls are set up" in out
    assert "Bob walks" not in out


def test_a_talk_that_ended_for_want_of_a_line_says_so(
    run: Command, tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    silent = [
        {**one, "kind": "silence", "error": "No line."} if one["kind"] == "line" and one["agent"] == "dorothy" else one
        for one in events
    ]
    out = shown(run, written(tmp_path / "silent.jsonl", silent), "timeline", "--step", 1)
    assert "    alice: “I am Alice.”\n    dorothy: says nothing (No line.)\n" in out


# Memories


def test_memories_are_told_by_importance_agent_by_agent(run: Command, log: Path) -> None:
    rows = record(run, log, "memories")
    assert [one for one in AGENTS if any(row["agent"] == one for row in rows)] == AGENTS
    assert [AGENTS.index(row["agent"]) for row in rows] == sorted(AGENTS.index(row["agent"]) for row in rows)
    for agent in AGENTS:
        weights = [row["importance"] for row in rows if row["agent"] == agent]
        assert weights == sorted(weights, reverse=True)
    out = flat(shown(run, log, "memories", "--agent", "bob"))
    assert "What bob remembers of the run: 18" in out
    assert out.index("It went well at 15:00.") < out.index("The stalls are set up") < out.index("Nobody cared.")
    assert "What alice remembers" not in out


def test_an_agent_remembers_what_it_heard_and_what_everybody_noticed(run: Command, log: Path) -> None:
    rows = record(run, log, "memories", "--agent", "dorothy", "--step", 1)
    assert [(row["agent"], row["importance"], " ".join(row["text"].split()[:3])) for row in rows] == [
        ("dorothy", 9.0, "It went well"),
        ("dorothy", 5.0, "The stalls are"),
        ("dorothy", 4.0, "Alice: “I am"),
        ("dorothy", 2.0, "Nobody cared."),
    ]


# What cannot be read


@pytest.mark.sample(2)
@pytest.mark.parametrize("view", VIEWS)
def test_what_was_not_written_to_its_end_is_left_out_with_a_warning(run: Command, log: Path, view: str) -> None:
    data = log.read_bytes()
    whole = data[: data.rindex(b"\n", 0, -1) + 1]
    number = whole.count(b"\n") + 1
    for torn in (data[len(whole) : -2], b"\0\0\0", '{"step": 7, "text": "“'.encode()[:-1]):
        log.write_bytes(whole + torn)
        code, out, err = run("log", str(log), view, "--json")
        assert (code, err) == (0, f"run.jsonl ends within line {number}, which is left out.")
        log.write_bytes(whole)
        found, expected = json.loads(out), record(run, log, view)
        assert {**found, "warning": ""} == expected if view == "overview" else found == expected


def test_a_last_line_without_its_line_end_is_read(run: Command, log: Path) -> None:
    whole = record(run, log)
    log.write_bytes(log.read_bytes().rstrip(b"\n"))
    assert record(run, log) == whole


@pytest.mark.parametrize(
    ("gone", "told"), [("", ""), ("Alice fears the mill.", " (instead of: Alice fears the mill.)")]
)
def test_the_timeline_tells_what_somebody_has_become(
    run: Command, events: list[dict[str, Any]], tmp_path: Path, gone: str, told: str
) -> None:
    became = {"agent": "alice", "text": "Alice loves the mill.", "instead_of": gone, "evidence": "she walks there"}
    change = {"step": 1, "time": events[0]["time"], "kind": "change", **became}
    log = written(tmp_path / "changed.jsonl", [events[0], change])
    assert f"alice has changed: Alice loves the mill.{told}\n" in shown(run, log, "timeline")
    assert change in record(run, log, "timeline")


def test_kinds_of_events_that_are_not_known_are_passed_over(
    run: Command, log: Path, tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    sky = {"step": 2, "time": "2024-10-01T10:00", "kind": "sky", "colour": "blue"}
    other = written(tmp_path / "sky.jsonl", [events[0], sky, *events[1:]])
    for view in VIEWS[1:]:
        assert record(run, other, view) == record(run, log, view)


def test_nothing_in_a_log_steers_the_terminal(run: Command, tmp_path: Path, events: list[dict[str, Any]]) -> None:
    texts = ("text", "situation", "feeling")
    wild = [{name: f"\x1b[2J{value}\x07" if name in texts else value for name, value in one.items()} for one in events]
    log = written(tmp_path / "wild.jsonl", wild)
    for view in VIEWS:
        out = shown(run, log, view)
        assert "\x1b" not in out
        assert "\x07" not in out


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "this is no JSON."),
        ("Once upon a time", "this is no JSON."),
        ("[" * 100_000, "this is no JSON."),
        ("[]", "this is no event of a run, this must hold keys and values; the keys are step, time, kind"),
        ('{"step": 1, "kind": "step"}', "this is no event of a run, `time` is missing"),
        ('{"step": 0, "time": "", "kind": "step"}', "this is no event of a run, `step` "),
        ('{"step": 1, "time": "", "kind": "vote", "choice": "bob"}', "this is no event of a run, `agent` is missing"),
    ],
)
def test_a_line_that_is_no_event_is_named(run: Command, log: Path, line: str, problem: str) -> None:
    first, *rest = log.read_text(encoding="utf-8").splitlines()
    log.write_text("\n".join([first, "", line, *rest, ""]), encoding="utf-8")
    code, out, err = run("log", str(log))
    assert (code, out) == (2, "")
    assert f"run.jsonl, line 3: {problem}" in err


@pytest.mark.parametrize("text", ["", "\n\n", '{"step": 1', '{"step": 1, "time": "", "kind": "step"}\n'])
def test_a_file_that_tells_of_no_run_is_none(run: Command, tmp_path: Path, text: str) -> None:
    (tmp_path / "other.jsonl").write_text(text, encoding="utf-8")
    code, _, err = run("log", str(tmp_path / "other.jsonl"))
    assert code == 2
    assert "other.jsonl is no log of a run: name a file that `dramaturg simulate` wrote." in err


@pytest.mark.parametrize(("name", "why"), [("nowhere.jsonl", "No such file or directory"), (".", "Is a directory")])
def test_a_file_that_cannot_be_read_is_named(run: Command, tmp_path: Path, name: str, why: str) -> None:
    code, _, err = run("log", str(tmp_path / name))
    assert code == 2
    assert f"cannot be read ({why}): name the log of a run." in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("actions", "--agent", "alise"), "There is no agent 'alise' in this run; did you mean 'alice'"),
        (("actions", "--agent", "zed"), "no agent 'zed' in this run: there are alice, bob, charlie, dorothy, ellen."),
        (("context", "--step", "8"), "There is no step 8 in this run: it has come to step 7."),
        (("timeline", "--step", "-1"), "Invalid value for '--step'"),
        (("overview", "--agent", "bob"), "The overview is of the whole run: leave --agent and --step out"),
        (("overview", "--step", "2"), "The overview is of the whole run: leave --agent and --step out"),
        (("feelings",), "'feelings' is not one of"),
    ],
)
def test_what_there_is_not_cannot_be_shown(run: Command, log: Path, arguments: tuple[str, ...], problem: str) -> None:
    code, out, err = run("log", str(log), *arguments)
    assert (code, out) == (2, "")
    assert problem in " ".join(err.replace("│", " ").split())
