"""`--server` on commands: the same output as at home, records here, what was stopped found again."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dramaturg.cli.progress import Stage
from dramaturg.conversations.simulation import open_simulation
from dramaturg.evaluation.comparison.run import Evaluation
from dramaturg.evaluation.comparison.speakers import SEED
from dramaturg.evaluation.interviews.run import interviewed
from dramaturg.evaluation.interviews.state import InterviewContext
from dramaturg.stores.library import library_at
from dramaturg.workflows import riverbend
from dramaturg.workflows.riverbend_agents import RiverbendContext
from dramaturg.workflows.server_forms import ServerError

from commands import Command
from evaluations import RIGHT, evaluation_of, library_of, taken
from roles import actor, small_role
from served_here import URL, ServedHere, served_here
from townspeople import townspeople

pytestmark = pytest.mark.sample_of_file(2)

SERVER = ("--server", URL)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ServedHere]:
    """A server with a library and a model of its own."""
    small_role(tmp_path / "there")
    with served_here(monkeypatch, tmp_path / "there", actor()) as served:
        yield served


def test_ask(run: Command, there: ServedHere, stub: Any) -> None:
    stub.asked.clear()
    code, out, err = run("ask", "ada", "Who are you?", *SERVER)
    assert code == 0
    assert out.splitlines()[-2:] == [
        "Ada Quill: I keep the light.",
        "Why: Rests on 2 passages of life.md and 2 traits of the character.",
    ]
    assert "Judging passages: 1 judged" in err
    turn = json.loads(run("ask", "ada", "Who are you?", "--json", *SERVER)[1])
    home = json.loads(run("ask", "ada", "Who are you?", "--json")[1])
    assert {name: turn[name] for name in ("reply", "waiting")} == {name: home[name] for name in ("reply", "waiting")}
    assert turn["evidence"]["selection"] == home["evidence"]["selection"]
    assert there.all == {}


def test_what_is_said_is_kept_here_apart_from_what_is_said_at_home(run: Command, there: ServedHere) -> None:
    for where in (SERVER, ()):
        assert run("ask", "ada", "Who are you?", "--thread", "tea", *where)[0] == 0
    listed = json.loads(run("conversations", "ada", "--json")[1])
    assert {"tea", "tea@server.test"} == {one["thread"] if isinstance(one, dict) else one for one in listed}
    assert len(there.all) == 1


def test_a_missing_server_is_a_sentence(run: Command) -> None:
    code, _, err = run("ask", "ada", "Who are you?", "--server", "http://127.0.0.1:9")
    assert (code, "Error: The server at http://127.0.0.1:9 cannot be reached" in err) == (2, True)


def test_index_of_one_role_and_of_several(run: Command, there: ServedHere, tmp_path: Path) -> None:
    report = json.loads(run("index", "ada", "--json", *SERVER)[1])
    assert report["embedded"] == report["passages"] > 0
    assert not (tmp_path / "ada" / "index").exists()
    for library in ("", "there"):
        small_role(tmp_path / library, role="eda")
    code, out, err = run("index", "ada", "eda", "--json", *SERVER)
    assert code == 0
    assert {name: one["embedded"] > 0 for name, one in json.loads(out).items()} == {
        "amadeus_index of ada": False,
        "amadeus_index of eda": True,
    }
    assert "Roles: 2 of 2" in err
    there.own["library"] = str(tmp_path)
    assert json.loads(run("index", "ada", "eda", "--json")[1]).keys() == json.loads(out).keys()  # at home, too


def test_a_role_is_carried_into_the_library_that_both_share(
    run: Command, there: ServedHere, postgres: str, tmp_path: Path
) -> None:
    there.own["library"] = postgres
    code, out, err = run("ask", "ada", "Who are you?", "--json", *SERVER, "--library", postgres)
    assert (code, json.loads(out)["reply"]) == (0, "I keep the light.")
    assert f"Carried ada from {tmp_path}" in err
    assert library_at(postgres).roles() == ["ada"]
    assert "Carried" not in run("ask", "ada", "Who are you?", "--json", *SERVER, "--library", postgres)[2]


def evaluation(folder: Path, there: ServedHere, **wishes: Any) -> Evaluation:
    """One that is spoken on the server, and judged here."""
    made = evaluation_of(library_of(folder / "here"), "auto", **wishes)
    settings = made.settings.model_copy(update={"server": URL})
    return made._replace(settings=settings)


async def test_an_evaluation_is_spoken_there_and_kept_here(there: ServedHere, tmp_path: Path) -> None:
    there.own["chat_model"] = speaking = actor(reply=RIGHT)
    wanted = evaluation(tmp_path, there, methods=("vanilla", "amadeus"))
    records = await taken(wanted)
    assert {one.text for one in records.replies.values()} == {RIGHT}
    assert {one.model for one in records.replies.values()} == {f"auto at {URL}"}
    assert len(records.judged) == 6
    assert (tmp_path / "there" / "ada" / "index").exists()
    assert there.all == {}
    asked = len(speaking.calls)
    await taken(wanted)
    assert len(speaking.calls) == asked


async def test_an_evaluation_finds_again_what_the_server_went_on_with(there: ServedHere, tmp_path: Path) -> None:
    there.own["chat_model"] = speaking = actor(reply=RIGHT)
    wanted = evaluation(tmp_path, there, methods=("vanilla",))
    there.lost = lambda part: part.event.startswith("messages")
    with pytest.raises(ServerError, match="its run goes on there, and the same command"):
        await taken(wanted)
    there.lost = lambda part: False
    assert (wanted.folder / SEED).is_file()
    begun = {one.id for runs in there.all.values() for one in runs}
    assert begun
    await asyncio.gather(*(one.task for runs in there.all.values() for one in runs if one.task))
    asked = len(speaking.calls)
    records = await taken(wanted)
    assert len(records.replies) == 3
    assert len(speaking.calls) - asked == 3 - len(begun)


async def test_an_interview_is_answered_there(there: ServedHere, tmp_path: Path) -> None:
    small_role(tmp_path / "here")
    there.own["chat_model"] = speaking = actor(reply="4")
    context = InterviewContext(
        role="ada", library=str(tmp_path / "here"), method="vanilla", judging="self_report", limit=4, server=URL
    )
    output = await interviewed(context, tmp_path / "interview.json")
    assert output["about"]["model"] == f"auto at {URL}"
    assert [one["reply"] for one in output["records"]] == ["4"] * 4
    assert there.all == {}
    asked = len(speaking.calls)
    await interviewed(context, tmp_path / "interview.json")
    assert len(speaking.calls) == asked


async def test_a_simulation_is_played_there_stopped_and_gone_on_with(there: ServedHere, tmp_path: Path) -> None:
    there.own["chat_model"] = model = townspeople()
    context = RiverbendContext(library=str(tmp_path / "here"), steps=2)
    shown: list[Any] = []

    def stop(event: Any) -> None:
        shown.append(event)
        if event["kind"] == "cost":
            raise KeyboardInterrupt

    log = tmp_path / "run.jsonl"
    with pytest.raises(KeyboardInterrupt):
        async with open_simulation(riverbend.build(), context, log, server=URL, name="riverbend") as run:
            await run.play(stop)
    ((begun,),) = there.all.values()
    assert begun.task
    await asyncio.wait([begun.task])
    assert begun.status == "interrupted"
    asked = len(model.calls)
    async with open_simulation(riverbend.build(), context, log, server=URL, name="riverbend") as run:
        events = await run.play()
    assert len(model.calls) < 2 * asked + 5  # the first hour is not played again
    assert [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] == events
    assert [one["step"] for one in events if one["kind"] == "cost"] == [1, 2]
    with pytest.raises(ValueError, match=f"was begun on {URL}: name that by --server"):
        async with open_simulation(riverbend.build(), context, log):
            pass
    (tmp_path / "home.jsonl").touch()
    with pytest.raises(ValueError, match="was begun at home: leave --server out"):
        async with open_simulation(riverbend.build(), context, tmp_path / "home.jsonl", server=URL, name="riverbend"):
            pass


def test_words_of_several_speakers_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with Stage("Ada") as stage:
        for text, message, who in (("I ", "1", ""), ("see.", "1", ""), ("And I.", "2", "Tom")):
            words = {"event": "words", "text": text, "message": message, "who": who}
            stage.show({"type": "custom", "ns": (), "data": words})
    assert capsys.readouterr().out == "Ada: I see.\nTom: And I.\n"
