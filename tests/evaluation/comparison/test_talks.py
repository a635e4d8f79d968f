"""Talks of several turns: one thread each, facts told and asked for, nothing asked twice, and what judges see."""

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison.estimates import estimated
from dramaturg.evaluation.comparison.plan import Wanted, planned
from dramaturg.evaluation.comparison.records import RecordFile, Records
from dramaturg.evaluation.comparison.run import Capped
from dramaturg.evaluation.comparison.talks import lines_in, placed_facts, scenes_opened
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.evaluation.judging.judges import JUDGES, Case, judged
from dramaturg.evaluation.judging.recall import recalled
from dramaturg.evaluation.metrics.acting import acting_score
from dramaturg.evaluation.reports.page import written_report
from dramaturg.evaluation.reports.tables import tables
from dramaturg.evaluation.reports.talks import remembered
from dramaturg.models.chat import chat_model
from dramaturg.models.errors import ModelUnavailable, UnusableAnswer
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.library import open_role

from evaluations import RIGHT, evaluation_of, judge, library_of, speaker, taken
from fakes import scripted
from roles import fenced, said

pytestmark = pytest.mark.sample_of_file(6)

BY_TURN = ("contradiction", "boundary", "whole_contradiction", "personality")
VALUE = re.compile(r"my (?P<what>[\w ]+?) is (?:called )?(?!called)(?P<value>\w+)\.")
ASKED = re.compile(r"(?:what my|number of my) (?P<what>[\w ]+?)(?: is called)?\.")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return library_of(tmp_path / "library")


def by_turn(records: Records, method: str = "vanilla", talk: str = "talk-1") -> list[Any]:
    own = [one for one in records.replies.values() if one.contestant == method and one.question.startswith(f"{talk}.")]
    return sorted(own, key=lambda one: int(one.question.rpartition(".")[2]))


def remembering(text: str) -> str:
    """Say what the prompt still holds of what is asked for."""
    asked = ASKED.search(fenced("question", text))
    told = {one["what"]: one["value"] for one in VALUE.finditer(text)}
    return f"It is {told.get(asked['what'], 'gone')}." if asked else RIGHT


async def test_a_talk_is_one_thread_and_knows_of_no_other(library: Path) -> None:
    records = await taken(evaluation_of(library, model := speaker(), turns=3, metrics=("recall",)))
    assert [one.asked for one in by_turn(records)][1] == "Are you sure? I was told otherwise. Who brings the flour?"
    (last,) = [one.text for one in model.calls if "I have told you" in one.text and "flour" in one.text][:1]
    assert last.count("Who brings the flour?") == 2
    assert "telephone" not in last
    assert "What do you keep?" not in last
    assert len(records.replies) == len(model.calls) == 2 * 3 * 3


async def test_what_is_out_of_scope_is_pressed_and_what_is_in_scope_is_doubted(library: Path) -> None:
    plan = evaluation_of(library, turns=3, metrics=("recall",)).plan
    kinds = {(one.talk.id, one.talk.turn): one.talk.kind for one in plan.questions["ada"] if one.talk}
    assert [kinds["talk-1", turn] for turn in (1, 2, 3)] == ["question", "doubt", "recall"]
    assert [kinds["talk-3", turn] for turn in (1, 2, 3)] == ["question", "press", "press"]
    assert plan.talks == 3


@pytest.mark.sample(2)
@pytest.mark.parametrize("at", range(1, 13))
async def test_a_talk_whose_model_goes_away_goes_on_and_asks_nothing_twice(library: Path, at: int) -> None:
    calls: list[str] = []

    def failing(text: str) -> str | Exception:
        calls.append(text)
        return ModelUnavailable("Gone.") if len(calls) == at else f"Reply {len(calls)}."

    async def attempt() -> Records:
        wishes: Any = {"turns": 4, "limit": 1, "methods": ("vanilla", "profile", "drmr"), "metrics": ("recall",)}
        return await taken(evaluation_of(library, speaker(failing), concurrency=1, **wishes))

    with pytest.raises(ModelUnavailable, match="Gone"):
        await attempt()
    records = await attempt()
    assert [one.error for one in records.replies.values()] == [""] * 12
    assert len({one.text for one in by_turn(records)}) == 4
    for method, turn in product(("vanilla", "profile"), range(1, 4)):
        before = by_turn(records, method)[turn - 1].text
        asked = by_turn(records, method)[turn].asked
        assert any(before in one and fenced("question", one) == asked for one in calls)


async def test_a_reply_that_was_not_written_down_is_read_from_its_thread(library: Path) -> None:
    wishes: Any = {"turns": 3, "limit": 1, "methods": ("vanilla",), "metrics": ("recall",)}
    first = await taken(evaluation_of(library, **wishes))
    file = RecordFile(library.parent / "run").path
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:1]), encoding="utf-8")
    again = await taken(evaluation_of(library, model := speaker(), **wishes))
    assert model.calls == []
    assert [one.text for one in by_turn(again)] == [one.text for one in by_turn(first)]
    assert [one.calls for one in by_turn(again)] == [1, 1, 1]


async def test_a_talk_stops_at_a_turn_without_a_reply_and_goes_on_there(library: Path) -> None:
    def mute(text: str) -> str | Exception:
        return UnusableAnswer("Nothing.") if "Are you sure?" in text else RIGHT

    wishes: Any = {"turns": 4, "limit": 1, "methods": ("vanilla",), "metrics": ("recall",)}
    records = await taken(evaluation_of(library, speaker(mute), **wishes))
    assert [bool(one.error) for one in by_turn(records)] == [False, True]
    records = await taken(evaluation_of(library, model := speaker(), **wishes))
    assert [one.text for one in by_turn(records)] == [RIGHT] * 4
    assert len(model.calls) == 3
    assert model.calls[0].text.count("Are you sure?") == 1


async def test_turns_count_against_the_cap(library: Path) -> None:
    with pytest.raises(Capped):
        await taken(evaluation_of(library, model := speaker(), turns=3, most_calls=4, concurrency=1))
    assert len(model.calls) == 4
    evaluation = evaluation_of(library, turns=3)
    left = {one.what: one.left for one in estimated(evaluation, RecordFile(evaluation.folder).read())}
    assert left["replies of vanilla"] + left["replies of profile"] == 14


async def test_how_far_a_method_remembers_is_told_by_distance(library: Path) -> None:
    wishes: Any = {"turns": 24, "limit": 1, "methods": ("vanilla",), "metrics": ("recall",), "bounds": True}
    evaluation = evaluation_of(library, speaker(remembering), **wishes)
    records = await taken(evaluation)
    hits = {(one.contestant, one.distance): one.hits.mean for one in remembered(evaluation.plan, records)}
    own = {distance: hit for (name, distance), hit in hits.items() if name == "vanilla"}
    assert [own[distance] for distance in (1, 2, 4, 16)] == [1.0, 1.0, 1.0, 0.0]
    assert {hit for (name, _), hit in hits.items() if name == "right-answers"} == {1.0}
    assert {hit for (name, _), hit in hits.items() if name == "always-declines"} == {0.0}
    written_report(evaluation.folder)
    report = (evaluation.folder / "report.md").read_text(encoding="utf-8")
    assert "| vanilla | 16 | 0.000" in report
    assert "talk-1 turn 24" in (evaluation.folder / "report.html").read_text(encoding="utf-8")


def test_facts_are_told_before_they_are_asked_for_at_every_distance() -> None:
    for turns, first in product(range(2, 130), (1, 2, 3)):
        placed = placed_facts(turns, first)
        places = [at for pair in placed for at in pair]
        assert len(set(places)) == len(places)
        assert all(1 <= told < asked <= turns and asked > first for told, asked in placed)
        assert len(placed) <= max(1, turns // 4)
    assert {asked - told for told, asked in placed_facts(100, 2)} == {1, 2, 4, 8, 16, 32, 64}
    assert placed_facts(3, 2) == [(1, 3)]
    assert placed_facts(3, 3) == []


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_every_language_has_the_same_lines(language: str) -> None:
    lines, english = lines_in(language), lines_in("en")
    assert (len(lines.doubts), len(lines.presses)) == (len(english.doubts), len(english.presses))
    for kind in lines.kinds:
        assert len(set(kind.whats)) == 13
        assert len(set(kind.values)) in (0, 13)
        assert ("$what" in kind.tells, "$value" in kind.tells, "$what" in kind.asks) == (True, True, True)


@pytest.mark.parametrize(
    ("reply", "fact", "found"),
    [
        ("Your dog? QUILLON, is it not!", "Quillon", True),
        ("Quill on the table.", "Quillon", True),
        ("It is 4,172.", "4172", True),
        ("Number ４１７２, I think.", "4172", True),
        ("4172번입니다.", "4172", True),
        ("It is 24172, or 41720.", "4172", False),
        ("In 1800, 417 of 2.", "4172", False),
        ("你的狗叫柯 若澄。", "柯若澄", True),
        ("그 개의 이름은 도윤슬이지요.", "도윤슬", True),
        ("I forget.", "Quillon", False),
    ],
)
def test_a_fact_is_found_by_its_characters(reply: str, fact: str, found: bool) -> None:
    assert recalled(reply, fact) is found


async def test_a_judge_sees_of_a_talk_what_it_is_asked_about(library: Path) -> None:
    marker = judge()
    evaluation = evaluation_of(library, None, (marker,), turns=3, methods=("vanilla",), metrics=BY_TURN)
    records = await taken(evaluation)
    asked = {name: sum(one.metric == name and one.applicable for one in records.judged.values()) for name in BY_TURN}
    assert asked == {"contradiction": 6, "boundary": 2, "whole_contradiction": 3, "personality": 9}
    texts = [said(one.messages) for one in marker.calls]
    pressed = [one for one in texts if "<pressed>" in one]
    assert {fenced("pressed", one) for one in pressed} == {"Which telephone do you have?"}
    whole = next(one for one in texts if "<talk>" in one)
    assert fenced("talk", whole).splitlines()[:2] == [
        f"Visitor: {by_turn(records)[0].asked}",
        f"Ada Quill: {RIGHT}",
    ]
    assert len(fenced("talk", whole).splitlines()) == 6


async def test_with_one_role_the_unit_is_the_talk(library: Path) -> None:
    evaluation = evaluation_of(library, turns=3, metrics=("contradiction",))
    found = tables(evaluation.plan, await taken(evaluation))
    assert found.units == "talks"
    assert {(one.interval.n_values, one.interval.method) for one in found.rows if one.interval} == {
        (6, "effective n over talks (Korn and Graubard)")
    }
    assert "McNemar" not in "".join(one.test for one in found.differences)


# A simulated user


async def test_a_simulated_user_goes_on_from_what_was_said_and_its_calls_count_apart(library: Path) -> None:
    model = speaker(lambda text: "And the oil?" if "<dialogue>" in text else RIGHT)
    wishes: Any = {"turns": 3, "user": "Jory", "limit": 1, "methods": ("vanilla",), "metrics": ("recall",)}
    evaluation = evaluation_of(library, model, bounds=True, **wishes)
    left = {one.what: one.left for one in estimated(evaluation, Records({}, {}, {}))}
    assert left["lines of the simulated user"] == 1
    records = await taken(evaluation)
    first, second, third = by_turn(records)
    assert second.asked == "And the oil?"
    assert (second.calls, second.user_calls, first.user_calls) == (1, 1, 0)
    assert f"Ada Quill: {RIGHT}" in fenced(
        "dialogue", next(one.text for one in model.calls if "<dialogue>" in one.text)
    )
    assert "I have told you" in third.asked
    assert {one.contestant for one in records.replies.values()} == {"vanilla"}
    assert evaluation.plan.user == "Jory by scripted"


async def test_what_a_simulated_user_has_said_is_not_said_anew_after_a_kill(library: Path) -> None:
    wishes: Any = {"turns": 3, "user": "Jory", "limit": 1, "methods": ("vanilla",), "metrics": ("recall",)}
    model = speaker(lambda text: "And the oil?" if "<dialogue>" in text else RIGHT)
    await taken(evaluation_of(library, model, **wishes))
    file = RecordFile(library.parent / "run").path
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(one for one in lines if '"talk-1.1"' in one), encoding="utf-8")
    records = await taken(evaluation_of(library, again := speaker(), **wishes))
    assert again.calls == []
    assert by_turn(records)[1].asked == "And the oil?"


# Scripts


def script(folder: Path, *talks: Any) -> str:
    file = folder / "talks.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in talks), encoding="utf-8")
    return str(file)


async def test_a_script_is_said_line_by_line(library: Path) -> None:
    talk = {
        "id": "cat",
        "lines": [
            "Good morning.",
            {"text": "My cat is Fips.", "plants": "Fips"},
            {"text": "Which telephone do you have?", "scope": "out"},
            {"text": "Come, which telephone?", "scope": "out"},
            {"text": "What is my cat called?", "recalls": "Fips"},
        ],
    }
    other = {"role": "somebody else", "lines": ["Hello.", "Bye."]}
    wishes: Any = {
        "script": script(library.parent, talk, other),
        "methods": ("vanilla",),
        "metrics": ("recall", "boundary"),
    }
    evaluation = evaluation_of(library, speaker(lambda text: "Fips." if "My cat is Fips." in text else RIGHT), **wishes)
    records = await taken(evaluation)
    assert [one.asked for one in by_turn(records, talk="cat")][-1] == "What is my cat called?"
    assert len(records.replies) == 5
    assert [(one.distance, one.hits.mean) for one in remembered(evaluation.plan, records)] == [(3, 1.0)]
    assert sum(one.metric == "boundary" and one.applicable for one in records.judged.values()) == 1


@pytest.mark.parametrize(
    ("talk", "problem"),
    [
        ({"lines": ["Alone."]}, "2 lines or more"),
        ({"lines": ["Hello.", {"text": "And?", "recalls": "Fips"}]}, "plant it in an earlier line"),
        ({"lines": ["Hello.", {"text": "And?", "plants": "Fips"}]}, "does not say it"),
        ({"role": "somebody else", "lines": ["Hello.", "Bye."]}, "no talk for ada"),
        ({"lines": ["Hello.", " "]}, "blank"),
    ],
)
def test_a_script_that_cannot_be_used_is_refused(library: Path, talk: Any, problem: str) -> None:
    with pytest.raises(RoleFileError, match=problem):
        evaluation_of(library, script=script(library.parent, talk), metrics=("recall",))


def test_talks_are_not_held_on_a_server(library: Path) -> None:
    settings = evaluation_of(library).settings.model_copy(update={"server": "http://127.0.0.1:9"})
    wanted = Wanted(methods=("vanilla",), roles=("ada",), metrics=("recall",), turns=3)
    with pytest.raises(ValueError, match="leave --server out"):
        planned(wanted, [open_role("ada", library)], settings, ["judge"])


@pytest.mark.parametrize(
    ("wishes", "problem"),
    [
        ({"turns": 1}, "2 turns or more"),
        ({"user": "Jory"}, "add --turns"),
        ({"metrics": ("recall",)}, "recall is measured in talks"),
        ({"turns": 3, "metrics": ("four-letters",)}, "metrics of replies"),
        ({"script": "a.jsonl", "turns": 3}, "its own lines"),
    ],
)
def test_wishes_for_talks_that_do_not_go_together_are_refused(
    library: Path, wishes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        evaluation_of(library, **wishes)


async def test_another_length_is_another_plan(library: Path) -> None:
    await taken(evaluation_of(library, turns=3))
    with pytest.raises(ValueError, match="turns: 3 before, 4 now"):
        await taken(evaluation_of(library, turns=4))


# Scenes


async def test_a_scene_is_scored_by_the_flaws_that_a_judge_lists(library: Path) -> None:
    scene = {"question": "Is the lamp lit?", "answer": "It is.", "user_role": "Jory", "role": "ada"}
    scene["context"] = "The lamp room, at dusk."
    (library / "ada" / "questions.jsonl").write_text(json.dumps(scene), encoding="utf-8")
    flaws = {"flaws": [{"flaw": "She repeats herself.", "severity": 3}, {"flaw": "A clerk's tone.", "severity": 2}]}
    marker = scripted("She repeats herself.", json.dumps(flaws))
    metrics = ("acting_consistency", "acting_quality")
    evaluation = evaluation_of(library, None, (marker,), turns=2, methods=("vanilla",), metrics=metrics, concurrency=1)
    values = [one for one in (await taken(evaluation)).judged.values() if one.applicable]
    assert {(one.metric, one.value) for one in values} == {(name, 100 - 5 * (5 - 0.3 * 2)) for name in metrics}
    shown = next(one.text for one in marker.calls if "<reference>" in one.text)
    assert fenced("reference", shown) == "Jory: Is the lamp lit?\nada: It is."
    assert fenced("scene", shown) == "The lamp room, at dusk."
    assert {one.talk.kind for one in evaluation.plan.questions["ada"] if one.talk} == {"question"}  # no facts of ours


def test_a_scene_opens_one_talk() -> None:
    first: dict[str, Any] = {
        "question": "Is the lamp lit?",
        "answer": "It is.",
        "user_role": "Jory",
        "role": "ada",
        "context": "Dusk.",
    }
    said = [{"speaker": "Jory", "text": "Is the lamp lit?"}, {"speaker": "Ada", "text": "It is."}]
    scenes = [first | {"turns": []}, first | {"question": "Good.", "turns": said}, first | {"context": "Noon."}]
    questions = [DatasetQuestion(id=f"{at}", text=one.pop("question"), **one) for at, one in enumerate(scenes)]
    assert [one.id for one in scenes_opened(questions)] == ["0", "2"]
    asked_alone = [one.model_copy(update={"context": ""}) for one in questions]
    assert scenes_opened(asked_alone) == asked_alone


async def test_a_list_of_flaws_with_one_that_cannot_be_read_is_no_score(library: Path) -> None:
    flaws = {"flaws": [{"flaw": "She repeats herself.", "severity": 3}, {"flaw": "A clerk's tone.", "severity": "bad"}]}
    talk: Any = ({"speaker": "Ada", "text": "It is."},)
    case = Case(role="Ada", question="?", reply=".", language="en", profile="p", scene="s", talk=talk)
    chat = chat_model(scripted("So.", *[json.dumps(flaws)] * 3))
    found = await judged(JUDGES["acting_quality"], chat, case)
    assert (found.state, found.value) == ("missing", None)


@pytest.mark.parametrize(
    ("severities", "rounds", "score"),
    [([], 1, 100.0), ([3], 3, 89.5), ([1], 10, 100.0), ([5] * 5, 2, 0.0), ([2, 4], 20, 100.0), ([5] * 3, 10, 40.0)],
)
def test_flaws_cost_points_beyond_what_a_longer_scene_may_have(
    severities: list[int], rounds: int, score: float
) -> None:
    assert acting_score(severities, rounds) == pytest.approx(score)
