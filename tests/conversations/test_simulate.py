"""A simulation that is kept: killed and gone on with, branched, refused, and read from its file."""

import asyncio
import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dramaturg.conversations.simulation import Simulation, open_simulation
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.conversations.kept_run import Busy
from dramaturg.stores.saver.conversation_saver import ConversationSaver
from dramaturg.workflows import riverbend
from dramaturg.workflows.riverbend_agents import RiverbendContext

from commands import Command
from crash_points import kills
from fakes import ScriptedChatModel
from passage_samples import quick
from stub_endpoint import Endpoint
from townspeople import deed as usual_deed
from townspeople import townspeople, world_settings

pytestmark = pytest.mark.sample_of_file(4)

STEPS = 2
LOG = "run.jsonl"
Events = list[dict[str, Any]]


def context(folder: Path, model: ScriptedChatModel | None = None, **settings: Any) -> RiverbendContext:
    given = world_settings(folder / "library", model or townspeople(), **{"steps": STEPS, **settings})
    return RiverbendContext(**given)


async def played(folder: Path, model: ScriptedChatModel | None = None, **settings: Any) -> Events:
    async with open_simulation(riverbend.build(), context(folder, model, **settings), folder / LOG) as run:
        return await run.play()


def play(folder: Path, model: ScriptedChatModel | None = None) -> None:
    """Play in a folder, as the command does."""
    asyncio.run(played(folder, model))


def written(log: Path) -> Events:
    """What a log says, but for what the clock says."""
    return timeless(json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())


def timeless(events: Any) -> Events:
    return [{name: value for name, value in one.items() if name != "seconds"} for one in events]


def whole(library: Path) -> Events:
    """What a run is that nobody disturbs."""
    output = asyncio.run(riverbend.graph.ainvoke({}, context=context(library)))
    return timeless(output["log"])


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return whole(tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def once_played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    play(folder)
    return folder


@pytest.fixture
def over(once_played: Path, tmp_path: Path) -> Path:
    """A folder with a run that is over."""
    return Path(shutil.copytree(once_played, tmp_path / "over"))


def test_the_log_is_what_has_happened(tmp_path: Path, undisturbed: Events) -> None:
    events = asyncio.run(played(tmp_path))
    assert timeless(events) == written(tmp_path / LOG) == undisturbed


@pytest.mark.crash
def test_a_run_killed_at_some_writes_goes_on(tmp_path: Path, undisturbed: Events) -> None:
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    crashes = 0
    for crash in kills(play, prepared, tmp_path, 16):
        crashes += 1
        log = crash.folder / LOG
        before = written(log) if log.exists() else []
        assert before == undisturbed[: len(before)], crash
        play(crash.folder)
        assert written(log) == undisturbed, crash
    assert crashes > 8


def test_a_step_that_failed_goes_on_where_it_was(tmp_path: Path, undisturbed: Events) -> None:
    calls = []

    def deed(role: str, text: str) -> str | Exception:
        calls.append(role)
        return ModelUnavailable("no connection") if len(calls) == 8 else usual_deed(role, text)

    with pytest.raises(ModelUnavailable):
        asyncio.run(played(tmp_path, townspeople(take_action=deed)))
    done = len(written(tmp_path / LOG))
    model = townspeople()
    assert timeless(asyncio.run(played(tmp_path, model))) == written(tmp_path / LOG) == undisturbed
    assert 0 < done < len(undisturbed)
    acted = [one for one in undisturbed if one["kind"] == "action"]
    asked_again = sum("one deed that can be done within the hour" in call.text for call in model.calls)
    assert asked_again <= len(acted) / 2  # the first of the two hours is not played again


def test_a_deed_is_kept_before_the_next_agent_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_writes, kept, waited = ConversationSaver.aput_writes, threading.Event(), []

    async def aput_writes(self: ConversationSaver, config: Any, writes: Any, *task: str) -> None:
        await put_writes(self, config, writes, *task)
        if not config["configurable"]["checkpoint_ns"] and isinstance(dict(writes).get("deeds"), list):
            kept.set()

    def deed(role: str, text: str) -> str:
        waited.append(len(waited) == 0 or kept.wait(120))  # in a thread of the model's, where waiting stops nobody else
        return usual_deed(role, text)

    monkeypatch.setattr(ConversationSaver, "aput_writes", aput_writes)
    asyncio.run(played(tmp_path, townspeople(take_action=deed), steps=1, concurrency=1))
    assert waited == [True] * 5


@pytest.mark.sample(1)
@pytest.mark.parametrize("at", [1, 4, 9])
def test_whoever_watches_can_stop_it_and_what_was_done_is_kept(tmp_path: Path, undisturbed: Events, at: int) -> None:
    seen: Events = []

    def show(one: dict[str, Any]) -> None:
        seen.append(one)
        if len(seen) == at:
            raise BrokenPipeError

    async def watched() -> None:
        async with open_simulation(riverbend.build(), context(tmp_path), tmp_path / LOG) as run:
            await run.play(show)

    with pytest.raises(BrokenPipeError):
        asyncio.run(watched())
    model = townspeople()
    assert timeless(asyncio.run(played(tmp_path, model))) == written(tmp_path / LOG) == undisturbed
    deeds = [one for one in seen if one["kind"] == "action"]
    asked_again = sum("one deed that can be done within the hour" in call.text for call in model.calls)
    assert asked_again <= sum(one["kind"] == "action" for one in undisturbed) - len(deeds)


def test_a_run_that_is_over_asks_nothing(over: Path) -> None:
    (over / LOG).unlink()
    (over / LOG).touch()
    model = townspeople()
    events = asyncio.run(played(over, model))
    assert (timeless(events), model.calls) == (written(over / LOG), [])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"condition": "full"}, "was begun with condition 'id-rag', not 'full'"),
        ({"seed": 3}, "was begun with seed 0, not 3"),
        ({"steps": 3}, "was begun with steps 2, not 3"),
        ({"identity_rule": "released"}, "was begun with identity_rule 'paper', not 'released'"),
    ],
)
def test_a_run_is_not_gone_on_with_as_another_one(over: Path, changed: dict[str, Any], says: str) -> None:
    before = (over / LOG).read_bytes()
    with pytest.raises(ValueError, match=says):
        asyncio.run(played(over, **changed))
    assert (over / LOG).read_bytes() == before


def test_a_branch_is_the_same_up_to_its_step(over: Path) -> None:
    async def branch() -> Events:
        async with open_simulation(riverbend.build(), context(over), over / LOG) as first:
            start = await first.after(1)
        changed = context(over, condition="full", steps=3)
        async with open_simulation(riverbend.build(), changed, over / "other.jsonl") as second:
            return await second.play(start=second.branch_of(LOG, start))

    events = timeless(asyncio.run(branch()))
    at = next(number for number, one in enumerate(events) if one["kind"] == "branch")
    assert events[:at] == [one for one in written(over / LOG) if one["step"] == 1]
    assert {one: events[at][one] for one in ("of", "after", "condition", "steps")} == {
        "of": LOG,
        "after": 1,
        "condition": "full",
        "steps": 3,
    }
    assert [one["step"] for one in events[at + 1 :] if one["kind"] == "step"] == [2, 3]
    how = {one["agent"]: one["identity"]["how"] for one in events[at + 1 :] if one["kind"] == "context"}
    assert (how["alice"], how["ellen"]) == ("all", "inferred")
    assert written(over / "other.jsonl") == events


def test_a_step_that_was_not_played_is_no_place_to_branch_from(over: Path) -> None:
    async def after() -> None:
        async with open_simulation(riverbend.build(), context(over), over / LOG) as run:
            await run.after(3)

    with pytest.raises(ValueError, match="has not come to the end of step 3"):
        asyncio.run(after())


async def test_one_program_plays_a_run(tmp_path: Path) -> None:
    async with open_simulation(riverbend.build(), context(tmp_path), tmp_path / LOG) as run:
        assert isinstance(run, Simulation)
        with pytest.raises(Busy, match="Another program plays"):
            async with open_simulation(riverbend.build(), context(tmp_path), tmp_path / LOG):
                pass


def test_a_log_without_its_checkpoints_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="are not: take another --log"):
        play(tmp_path)
    assert (tmp_path / LOG).read_text(encoding="utf-8") == "mine"


@pytest.fixture
def model(stub: Endpoint) -> Iterator[ScriptedChatModel]:
    """The model of the endpoint plays the townspeople."""
    old, stub.model = stub.model, townspeople()
    yield stub.model
    stub.model = old


def test_the_command_shows_the_day_and_goes_on(model: ScriptedChatModel, run: Command, tmp_path: Path) -> None:
    asked = ("simulate", "riverbend", "--steps", "3", "--log", str(tmp_path / LOG))
    code, out, err = run(*asked)
    assert (code, err) == (0, "")
    hours = ("2024-10-01 09:00", "2024-10-01 11:00", "2024-10-01 12:00")
    assert [hour in out for hour in hours] == [True, True, False]
    assert "alice: Alice asks Dorothy at the bridge" in out
    assert "dorothy to alice: “I am Dorothy.”" in out
    assert "ellen votes for alice" in out
    cost = re.findall(r"\d+ calls", out)
    code, out, err = run(*asked)
    assert (code, "is over" in err, re.findall(r"\d+ calls", out)) == (0, True, cost)


def test_the_command_for_a_program(model: ScriptedChatModel, run: Command, tmp_path: Path) -> None:
    code, out, err = run("simulate", "riverbend", "--steps", "1", "--log", str(tmp_path / LOG), "--json")
    assert (code, err) == (0, "")
    shown = [json.loads(line) for line in out.splitlines()]
    assert sorted(map(str, timeless(shown))) == sorted(map(str, written(tmp_path / LOG)))


@pytest.mark.crash
def test_the_command_branches(model: ScriptedChatModel, run: Command, tmp_path: Path) -> None:
    first, second = str(tmp_path / LOG), str(tmp_path / "other.jsonl")
    run("simulate", "riverbend", "--steps", "2", "--log", first)
    code, _, err = run(
        *("simulate", "riverbend", "--steps", "2", "--log", second, "--from", first, "--after", "1"),
        *("--condition", "baseline"),
    )
    assert (code, err) == (0, "")
    assert sum(one["kind"] == "branch" for one in written(tmp_path / "other.jsonl")) == 1


def test_the_command_is_told_how_identities_are_looked_up(
    model: ScriptedChatModel, run: Command, tmp_path: Path
) -> None:
    log = tmp_path / "run.jsonl"
    code, _, err = run("simulate", "riverbend", "--steps=1", f"--log={log}", "--set=identity_rule=released")
    assert (code, err) == (0, "")
    assert written(log)[0].get("identity_rule") == "released"


def test_a_dry_run_asks_nothing(model: ScriptedChatModel, run: Command) -> None:
    code, out, _ = run("simulate", "riverbend", "--dry-run")
    assert (code, model.calls) == (0, [])
    assert "At most 251 questions: 175 for deeds, 56 in talks, 20 for votes." in out


def test_a_dry_run_counts_what_gate_and_update_ask(model: ScriptedChatModel, run: Command) -> None:
    _, out, _ = run("simulate", "riverbend", "--dry-run", "--set", "update=true", "--set", "gate=true")
    assert "455 for deeds" in out  # of 35 deeds: 5 questions, and 4 more of each


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "There is no scenario 'nowhere': take one of riverbend"),
        (["riverbend", "--condition", "none"], "condition"),
        (["riverbend", "--after", "2"], "A branch needs both"),
        (["riverbend", "--from", "gone.jsonl", "--after", "2"], "There is no run gone.jsonl"),
        (["riverbend", "--set", "talk=3"], "talk"),
        (["riverbend", "--log", "nowhere/run.jsonl"], "a folder that is there"),
    ],
)
def test_what_cannot_be_played_is_said_and_leaves_nothing(
    model: ScriptedChatModel,
    run: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    says: str,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    code, _, err = run("simulate", *arguments)
    assert (code, says in err, "Traceback" in err) == (2, True, False)
    assert list((tmp_path / "here").iterdir()) == []
    assert model.calls == []
