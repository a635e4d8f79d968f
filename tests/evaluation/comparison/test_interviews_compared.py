"""Interviews inside an evaluation: who is what by whose labels, that nothing is asked twice, and what is missing."""

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from dramaturg.evaluation.comparison.estimates import estimated
from dramaturg.evaluation.comparison.interviews import described
from dramaturg.evaluation.comparison.labels import labels_of
from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.comparison.run import Capped, Evaluation, evaluate
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.evaluation.instruments.files import instrument
from dramaturg.evaluation.metrics.alignment import ceiling, floors
from dramaturg.evaluation.reports.interviews import InterviewTables, interview_tables
from dramaturg.evaluation.reports.labels import LabelAgreement, agreements_of, truths_of
from dramaturg.evaluation.reports.page import written_report
from dramaturg.models.errors import ModelUnavailable
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.library import Library
from dramaturg.stores.saver import file as saver_file

from evaluations import Named, evaluation_of, library_of, taken
from fakes import ScriptedChatModel
from passage_samples import quick
from roles import fenced, said

pytestmark = pytest.mark.sample_of_file(11)

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
DIMENSIONS = {"E/I": ("E", "I"), "S/N": ("S", "N")}
SHORT, LONG = {"E/I": 1, "S/N": 2}, {"E/I": 2, "S/N": 7}
"""How many items a dimension has: for a batch each, and for one and two."""
RIGHT = {
    "ann": {"E/I": 90.0, "S/N": 20.0},
    "ben": {"E/I": 65.5, "S/N": 5.0},
    "cleo": {"E/I": 10.0, "S/N": 75.0},
    "dora": {"E/I": 80.0, "S/N": 45.0},
}
Score = Callable[[str, str, str], float | str | Exception]
"""What a role says of a dimension, by role, dimension and prompt."""
AnyAnswer = str | Exception


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)
    monkeypatch.setattr(saver_file, "SYNCHRONOUS", "OFF")  # a power cut is not tested here


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Four people without questions of their own."""
    return people(tmp_path / "library", *RIGHT)


def people(folder: Path, *names: str) -> Path:
    for name in names:
        card = RoleCard(name=name.title(), language="en", profile=f"{name.title()} says little.")
        Library(folder).create(name, card)
    return folder


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    return tiny(tmp_path / "tiny.yaml")


def tiny(path: Path, name: str = "tiny", numbers: Mapping[str, int] = SHORT) -> str:
    """An inventory with two dimensions, in our YAML."""
    dimensions = [
        {"name": one, "high": high, "low": low, "description": {"en": "What it means."}}
        for one, (high, low) in DIMENSIONS.items()
    ]
    items = [
        {
            "id": f"{one}{at}",
            "dimension": one,
            "key": "high",
            "statement": {"en": f"I am {one} {at}."},
            "question": {"en": f"How much {one} are you, for the {at}th time?"},
        }
        for one, number in numbers.items()
        for at in range(number)
    ]
    about = {"name": name, "licence": "CC0-1.0", "source": "a test", "scale": {"low": 1, "high": 7}}
    path.write_text(json.dumps({**about, "scores": "percent", "dimensions": dimensions, "items": items}))
    return str(path)


def by_labels(role: str, dimension: str, prompt: str) -> float:
    return RIGHT[role][dimension]


def player(score: Score = by_labels) -> ScriptedChatModel:
    """Whoever plays the roles: says of itself how much of the first pole it is."""

    def answer(messages: list[BaseMessage]) -> AnyAnswer:
        text = said(messages)
        (dimension,) = re.findall(r"How much (\S+) are you", fenced("question", text))
        role = next(name for name in RIGHT if name.title() in text)
        found = score(role, dimension, text)
        return found if isinstance(found, Exception) else f"I am {found} of it."

    return ScriptedChatModel(reply=answer)


def rater(rate: Callable[[str, float], Any] = lambda answers, mean: mean, name: str = "judge") -> ScriptedChatModel:
    """A judge that takes people at their word: the mean of the numbers that it is shown."""

    def answer(messages: list[BaseMessage]) -> AnyAnswer:
        text = said(messages)
        answers = fenced("answers", text)
        numbers = [float(one) for one in re.findall(r"I am ([\d.]+) of it", answers)]
        found = rate(answers, sum(numbers) / len(numbers) if numbers else 50.0)
        ((high, low),) = re.findall(r'"result": \{"(.)": …, "(.)": …\}', text)
        if isinstance(found, Exception | str):
            return found
        return json.dumps({"analysis": "so they say", "result": {high: found, low: 100 - found}})

    return Named(reply=answer, model_name=name)


def of(library: Path, inventory: str, model: Any = None, marker: Any = None, **wishes: Any) -> Evaluation:
    """An evaluation by interviews alone, unless it is told otherwise."""
    asked = {"metrics": (inventory,), "roles": tuple(RIGHT), "methods": ("vanilla",), **wishes}
    return evaluation_of(library, model or player(), (marker or rater(),), **asked)


async def run(evaluation: Evaluation, after: str = "") -> InterviewTables:
    await taken(evaluation, after)
    return interview_tables(read_plan(evaluation.folder))


async def reported(evaluation: Evaluation) -> tuple[InterviewTables, str, str]:
    found = await run(evaluation)
    markdown, page = (path.read_text(encoding="utf-8") for path in written_report(evaluation.folder))
    return found, markdown, page


def placed(scores: Mapping[str, Mapping[str, float]], contested: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    return {
        role: {
            name: {"score": score, "type": "X" if (role, name) in contested else "H" if score > 50 else "L"}
            for name, score in scored.items()
        }
        for role, scored in scores.items()
    }


def label_file(path: Path, questionnaire: str = "tiny", **groups: Any) -> str:
    """Scores in InCharacter's form, by who judged."""
    whole = {
        group: {f"{role.title()}-en": {questionnaire: scored} for role, scored in placings.items()}
        for group, placings in groups.items()
    }
    path.write_text(json.dumps(whole), encoding="utf-8")
    return str(path)


def type_file(path: Path, types: Mapping[str, str], questionnaire: str = "MBTI") -> str:
    """Types in InCharacter's form."""
    whole = {
        f"{role.title()}-en": {"alias": [], "experimenter": "Tom", "labels": {questionnaire: letters}}
        for role, letters in types.items()
    }
    path.write_text(json.dumps(whole), encoding="utf-8")
    return str(path)


def measures(found: InterviewTables, contestant: str = "vanilla", labels: str = "pdb") -> dict[str, LabelAgreement]:
    return {one.measure: one for one in found.agreements if (one.contestant, one.labels) == (contestant, labels)}


# Oracles


async def test_a_role_that_answers_by_the_labels_has_all_hits_and_no_error(
    library: Path, inventory: str, tmp_path: Path
) -> None:
    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    found = measures(await run(of(library, inventory, labels=labels)))
    values = {name: (one.value, one.hits, one.n, one.left_out) for name, one in found.items()}
    assert values == {
        "Acc(Dim)": (1.0, 8, 8, 0),
        "Acc(Full)": (1.0, 4, 4, 0),
        "MSE": (pytest.approx(0, abs=1e-9), None, 8, 0),
        "MAE": (pytest.approx(0, abs=1e-9), None, 8, 0),
    }
    least = floors(placed(RIGHT), low=0, high=100)
    assert found["Acc(Dim)"].floors == {"majority": least.majority_acc_dim} == {"majority": 0.75}
    assert found["MSE"].floors == {"constant": least.constant_mse, "midpoint": least.midpoint_mse}
    assert all(one.ceiling is None for one in found.values())


async def test_a_role_that_is_always_the_same_gets_the_floor(library: Path, inventory: str, tmp_path: Path) -> None:
    means = {name: sum(one[name] for one in RIGHT.values()) / len(RIGHT) for name in DIMENSIONS}
    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    evaluation = of(library, inventory, player(lambda role, dimension, _: means[dimension]), labels=labels)
    found = measures(await run(evaluation))
    assert found["Acc(Dim)"].value == found["Acc(Dim)"].floors["majority"]
    assert found["Acc(Full)"].value == found["Acc(Full)"].floors["majority"]
    assert found["MSE"].value == pytest.approx(found["MSE"].floors["constant"])


async def test_a_role_in_the_middle_has_the_error_of_the_midpoint(
    library: Path, inventory: str, tmp_path: Path
) -> None:
    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    found = measures(await run(of(library, inventory, player(lambda *_: 50), labels=labels)))
    for name in ("MSE", "MAE"):
        assert found[name].value == pytest.approx(found[name].floors["midpoint"])
    assert found["Acc(Dim)"].hits == sum(score < 50 for one in RIGHT.values() for score in one.values())


async def test_a_second_group_of_annotators_is_the_ceiling(library: Path, inventory: str, tmp_path: Path) -> None:
    others = {**RIGHT, "ben": {"E/I": 30.0, "S/N": 5.0}}
    labels = label_file(tmp_path / "labels.json", annotation=placed(others), pdb=placed(RIGHT))
    found = measures(await run(of(library, inventory, labels=labels)))
    top = ceiling(placed(RIGHT), placed(others), low=0, high=100)
    assert [found[name].ceiling for name in ("Acc(Dim)", "Acc(Full)", "MSE", "MAE")] == [*top[:4]]
    assert (top.acc_dim, found["Acc(Dim)"].value) == (7 / 8, 1.0)


async def test_a_label_that_nobody_could_tell_does_not_count(library: Path, inventory: str, tmp_path: Path) -> None:
    contested = placed(RIGHT, (("dora", "S/N"), ("ann", "E/I")))
    contested["dora"]["S/N"]["score"] = "X"
    found = measures(await run(of(library, inventory, labels=label_file(tmp_path / "labels.json", pdb=contested))))
    assert {(one.n, one.left_out) for name, one in found.items() if name != "Acc(Full)"} == {(6, 0)}
    assert (found["Acc(Full)"].hits, found["Acc(Full)"].n) == (4, 4)


@pytest.mark.parametrize("questionnaire", ["MBTI", "tiny"])
async def test_types_are_held_against_letters(
    questionnaire: str, library: Path, inventory: str, tmp_path: Path
) -> None:
    types = {"ann": "EN", "ben": "IN", "cleo": "IS", "dora": "EX"}  # ben is an E
    labels = type_file(tmp_path / "labels.json", types, questionnaire)
    found = measures(await run(of(library, inventory, labels=labels)), labels="types")
    assert (found["type accuracy"].value, found["type accuracy"].hits, found["type accuracy"].n) == (6 / 7, 6, 7)
    assert (found["whole type"].hits, found["whole type"].n) == (3, 4)
    # E/I: of E, E, E, I for E, I, E, I; S/N: all three right
    assert found["F1"].value == pytest.approx(((2 * 2 / 5 + 2 / 3) / 2 + 1) / 2)
    assert found["F1"].interval is None
    # E and N for everybody: 2 of 4 and 2 of 3
    assert found["type accuracy"].floors == {"majority": pytest.approx(4 / 7)}
    assert found["whole type"].floors == {"majority": 0.5}


async def test_labels_in_both_forms_are_both_used(library: Path, inventory: str, tmp_path: Path) -> None:
    folder = tmp_path / "labels"
    folder.mkdir()
    label_file(folder / "characters_labels.json", pdb=placed(RIGHT))
    type_file(folder / "characters.json", {"ann": "EN", "cleo": "IS"})
    found = await run(of(library, inventory, labels=str(folder)))
    assert {one.labels for one in found.agreements} == {"pdb", "types"}
    assert measures(found, labels="types")["type accuracy"].hits == 4


async def test_methods_that_differ_are_told_apart(library: Path, inventory: str, tmp_path: Path) -> None:
    def contrary(role: str, dimension: str, prompt: str) -> float:
        return RIGHT[role][dimension] if "says little" in prompt else 100 - RIGHT[role][dimension]

    wishes = {"methods": ("vanilla", "profile"), "labels": label_file(tmp_path / "labels.json", pdb=placed(RIGHT))}
    found, markdown, _ = await reported(of(library, inventory, player(contrary), **wishes))
    (apart,) = found.differences
    assert (measures(found)["Acc(Dim)"].value, measures(found, "profile")["Acc(Dim)"].value) == (0.0, 1.0)
    assert (apart.first, apart.second, apart.interval.mean) == ("profile", "vanilla", 1.0)
    assert apart.p == pytest.approx(2 * 0.5**4)  # four roles that do not vary, however many dimensions they have
    assert (apart.corrected.corrected, apart.corrected.significant) == (pytest.approx(2 * 0.5**4), False)
    assert apart.detectable is None
    assert "Holm's correction is over these 1 tests" in markdown


async def test_methods_that_are_alike_are_not(library: Path, inventory: str, tmp_path: Path) -> None:
    wishes = {"methods": ("vanilla", "profile"), "labels": label_file(tmp_path / "labels.json", pdb=placed(RIGHT))}
    found, markdown, _ = await reported(of(library, inventory, **wishes))
    (apart,) = found.differences
    assert (apart.interval.mean, apart.p, apart.detectable) == (0.0, 1.0, None)
    assert "| — |" in markdown


async def test_tests_are_corrected_over_all_inventories(library: Path, inventory: str, tmp_path: Path) -> None:
    other = tiny(tmp_path / "other.yaml", "other")
    labels = type_file(tmp_path / "labels.json", {"ann": "EN", "ben": "EN"})
    wishes = {"methods": ("vanilla", "profile"), "metrics": (inventory, other), "labels": labels}
    found = await run(of(library, inventory, roles=("ann", "ben"), **wishes))
    assert [(one.inventory, one.corrected.n) for one in found.differences] == [(inventory, 2), (other, 2)]


async def test_one_role_has_an_interval_over_its_dimensions(library: Path, inventory: str, tmp_path: Path) -> None:
    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    wishes = {"roles": ("ann",), "methods": ("vanilla", "profile"), "labels": labels}
    found = await run(of(library, inventory, player(lambda *_: 60), **wishes))
    interval = measures(found)["MAE"].interval
    assert interval is not None
    assert (interval.n, interval.method) == (2, "effective n over dimensions (Korn and Graubard)")
    assert found.differences[0].test == "McNemar, exact"


async def test_one_labelled_role_has_no_floor_of_its_own_labels(library: Path, inventory: str, tmp_path: Path) -> None:
    labels = label_file(tmp_path / "labels.json", pdb=placed({"ann": RIGHT["ann"]}))
    found = await run(of(library, inventory, labels=labels))
    floors = {name: one.floors for name, one in measures(found).items()}
    assert floors["Acc(Dim)"] == floors["Acc(Full)"] == {}
    assert {*floors["MSE"]} == {*floors["MAE"]} == {"midpoint"}
    types = type_file(tmp_path / "types.json", {"ann": "EN"})
    found = await run(of(library, inventory, folder="types", labels=types))
    assert all(one.floors == {} for one in measures(found).values())


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
@pytest.mark.parametrize(
    ("questionnaire", "hits", "floor", "top", "full_floor", "full_top"),
    [("16Personalities", 121, 67, 103, 2, 20), ("BFI", 157, 90, 121, 3, 11)],
)
def test_the_released_labels_have_their_floors_and_ceilings(
    questionnaire: str, hits: int, floor: int, top: int, full_floor: int, full_top: int, tmp_path: Path
) -> None:
    folder = Path(SHARED or "") / "incharacter"
    asked = described("mine.json", instrument(folder / f"questionnaires/{questionnaire}.json", "en"))
    dataset = read_dataset(folder / "characters_labels.json", "incharacter")
    cards = {code.replace(" ", "_"): RoleCard(name=code, language="en", profile="?") for code in dataset.characters}
    known = labels_of(dataset, [Library(tmp_path).create(*one) for one in cards.items()], [asked])
    (truth,) = truths_of(asked, known["mine.json"])
    scores = {role: {name: one.score or 0.0 for name, one in of.items()} for role, of in truth.placed.items()}
    found = {one.measure: one for one in agreements_of(truth, "vanilla", scores)}
    assert (found["Acc(Dim)"].value, found["Acc(Dim)"].hits, found["Acc(Dim)"].n) == (1.0, hits, hits)
    assert found["Acc(Dim)"].floors["majority"] == pytest.approx(floor / hits)
    assert found["Acc(Dim)"].ceiling == pytest.approx(top / hits)
    assert found["Acc(Full)"].floors["majority"] == pytest.approx(full_floor / 32)
    assert found["Acc(Full)"].ceiling == pytest.approx(full_top / 32)
    assert found["MSE"].value == 0.0


# What is missing


async def test_a_dimension_without_a_score_is_missing_and_no_miss(
    library: Path, inventory: str, tmp_path: Path
) -> None:
    def unsure(answers: str, mean: float) -> Any:
        return "I would rather not." if mean == RIGHT["ben"]["E/I"] else mean

    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    found, markdown, page = await reported(of(library, inventory, marker=rater(unsure), labels=labels))
    types = {one.role: (one.type, one.missing, one.valid) for one in found.portraits}
    assert types == {"ann": ("EN", 0, True), "ben": ("?N", 1, False), "cleo": ("IS", 0, True), "dora": ("EN", 0, True)}
    rows = measures(found)
    assert (rows["Acc(Dim)"].hits, rows["Acc(Dim)"].n, rows["Acc(Dim)"].left_out) == (7, 7, 1)
    assert (rows["Acc(Full)"].hits, rows["Acc(Full)"].n) == (3, 3)
    assert not found.valid
    for text in (markdown, page):
        assert "This run is incomplete" in text
        assert "1 of 3 judgements of items are missing" in text
        assert "they count neither as hits nor as misses" in text


async def test_a_letter_that_is_missing_is_in_no_type_accuracy(library: Path, inventory: str, tmp_path: Path) -> None:
    def silent(role: str, dimension: str, _: str) -> Any:
        return RIGHT[role][dimension] if (role, dimension) != ("ann", "S/N") else "nothing"

    def unsure(answers: str, mean: float) -> Any:
        return "No." if "nothing" in answers else mean

    labels = type_file(tmp_path / "labels.json", {"ann": "ES", "ben": "EN"})  # ann's S/N would be a miss
    evaluation = of(library, inventory, player(silent), rater(unsure), labels=labels, roles=("ann", "ben"))
    rows = measures(await run(evaluation), labels="types")
    assert (rows["type accuracy"].hits, rows["type accuracy"].n, rows["type accuracy"].left_out) == (3, 3, 1)
    assert (rows["whole type"].hits, rows["whole type"].n) == (1, 1)


async def test_flags_of_replies_are_counted(library: Path, inventory: str) -> None:
    evaluation = of(library, inventory, player(lambda *_: "an AI, 3"), rater(lambda *_: 40.0), roles=("ann",))
    found, markdown, page = await reported(evaluation)
    assert found.portraits[0].flags == {"not_into_character": 3}
    assert "not into character 3" in markdown
    assert page.count("Flagged: not into character. Judged as:") == 3


async def test_seeds_are_averaged_and_their_spread_is_shown(library: Path, tmp_path: Path) -> None:
    inventory = tiny(tmp_path / "long.yaml", numbers=LONG)
    asked: list[str] = []

    def changing(role: str, dimension: str, _: str) -> float:
        asked.append(dimension)
        return 40.0 if len(asked) <= 9 else 80.0

    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    wishes = {"seeds": (0, 5), "roles": ("ann",), "labels": labels, "concurrency": 1}
    found, markdown, _ = await reported(of(library, inventory, player(changing), **wishes))
    (one,) = found.portraits
    assert (one.seeds, one.type) == ((0, 5), "ES")
    assert one.scores["E/I"] == (60.0, None, 20.0)
    assert one.scores["S/N"] == (60.0, 0.0, 20.0)
    assert measures(found)["Acc(Dim)"].n == 2
    assert "60.00 ± 0.00 (seeds 20.00)" in markdown


# Nothing is asked twice


async def test_an_interview_that_is_over_asks_nothing(library: Path, inventory: str) -> None:
    first = await run(of(library, inventory, seeds=(0, 1)))
    again = of(library, inventory, model := player(), marker := rater(), seeds=(0, 1))
    assert await run(again) == first
    assert model.calls == marker.calls == []


@pytest.mark.crash
async def test_a_changed_role_judge_or_inventory_is_another_interview(library: Path, inventory: str) -> None:
    await run(of(library, inventory))
    (library / "ann" / "persona" / "more.md").write_text("# More\n\nShe sold the boat.\n", encoding="utf-8")
    await run(of(library, inventory, model := player(), folder="b"), after="run")
    assert len(model.calls) == 3
    await run(of(library, inventory, model := player(), rater(name="other"), folder="c"), after="b")
    assert len(model.calls) == 3 * 4
    changed = tiny(Path(inventory), "changed")
    await run(of(library, changed, model := player(), rater(name="other"), folder="d"), after="c")
    assert len(model.calls) == 3 * 4
    assert len(list((library.parent / "d" / "interviews").glob("*.json"))) == 4 + 1 + 4 + 4


async def test_files_say_what_they_are(library: Path, inventory: str) -> None:
    await run(of(library, inventory, roles=("ann",), methods=("vanilla", "full-retrieval")[:1]))
    (file,) = (library.parent / "run" / "interviews").glob("*.json")
    assert re.fullmatch(r"tiny-vanilla-ann-0-[0-9a-f]{12}\.json", file.name)


@pytest.mark.sample(2)
@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 8])
async def test_a_capped_run_goes_on_and_asks_nothing_twice(most: int, library: Path, inventory: str) -> None:
    models: list[Any] = []

    async def attempt(most_calls: int) -> InterviewTables:
        models.extend((model := player(), marker := rater()))
        bounds = {"concurrency": 1, "most_calls": most_calls}
        return await run(of(library, inventory, model, marker, roles=("ann", "ben"), **bounds))

    with pytest.raises(Capped, match="the same command goes on"):
        await attempt(most)
    spent = sum(len(one.calls) for one in models)
    assert most <= spent <= most + 1  # the one after it may have begun
    found = await attempt(0)
    assert sum(len(one.calls) for one in models) <= 2 * 5 + 1
    assert [(one.type, one.valid) for one in found.portraits] == [("EN", True)] * 2


async def test_a_cap_that_suffices_stops_nothing(library: Path, inventory: str) -> None:
    found = await run(of(library, inventory, roles=("ann",), most_calls=5))
    assert found.valid
    again = await run(of(library, inventory, roles=("ann",), most_calls=1))
    assert again == found


@pytest.mark.parametrize("at", [1, 3, 4, 5])
async def test_a_run_whose_model_goes_away_goes_on(at: int, library: Path, inventory: str) -> None:
    calls: list[str] = []

    def failing(what: str) -> bool:
        calls.append(what)
        return len(calls) == at

    def gone(role: str, dimension: str, _: str) -> Any:
        return ModelUnavailable("Gone.") if failing(dimension) else RIGHT[role][dimension]

    def unsure(answers: str, mean: float) -> Any:
        return ModelUnavailable("Gone.") if failing("judge") else mean

    async def attempt() -> InterviewTables:
        return await run(of(library, inventory, player(gone), rater(unsure), roles=("ann",), concurrency=1))

    with pytest.raises(ModelUnavailable, match="Gone"):
        await attempt()
    found = await attempt()
    assert len(calls) <= 5 + 1 + 1
    assert [(one.type, one.valid) for one in found.portraits] == [("EN", True)]


# What is asked


async def test_where_only_inventories_are_asked_for_no_questions_are(library: Path, inventory: str) -> None:
    phases: list[tuple[str, int]] = []

    def show(phase: str, number: int) -> Any:
        phases.append((phase, number))
        return lambda done: None

    evaluation = of(library, inventory, model := player())
    assert (evaluation.asked, evaluation.plan.metrics, evaluation.plan.bounds) == ([], (), ())
    await evaluate(evaluation, show)
    assert len(model.calls) == 4 * 3
    assert phases == [("Preparing", 4), ("Interviews", 4 * 5)]
    assert RecordFile(evaluation.folder).read() == ({}, {}, {})


async def test_replies_and_interviews_stand_in_one_report(tmp_path: Path) -> None:
    library = library_of(tmp_path / "library")

    def reply(messages: list[BaseMessage]) -> str:
        return "I am 70 of it." if "How much" in (text := said(messages)) else f"Tom. {len(text)}"

    def answer(messages: list[BaseMessage]) -> str:
        if "<answers>" in said(messages):
            return rater().reply(messages)  # type: ignore[return-value]
        return "So it is." if len(messages) == 2 else json.dumps({"answer": "yes"})

    inventory = tiny(tmp_path / "tiny.yaml")
    model, marker = ScriptedChatModel(reply=reply), Named(reply=answer)
    evaluation = evaluation_of(library, model, (marker,), metrics=("accuracy", inventory))
    found, markdown, page = await reported(evaluation)
    assert [(one.contestant, one.type) for one in found.portraits] == [("vanilla", "ES"), ("profile", "ES")]
    assert evaluation.plan.metrics == ("accuracy",)
    for text in ("## accuracy", "### tiny", "| vanilla | ada | [0](interviews/tiny-vanilla-ada-0-"):
        assert text in markdown
    assert "This run is incomplete" not in page


def test_a_dry_run_counts_items_and_judgements(library: Path, inventory: str) -> None:
    evaluation = of(library, inventory, seeds=(0, 1))
    found = {one.what: (one.left, one.done) for one in estimated(evaluation, RecordFile(evaluation.folder).read())}
    assert found == {"items of tiny in interviews": (24, 0), "judgements of tiny in interviews": (16, 0)}
    assert not evaluation.folder.exists()


async def test_a_dry_run_knows_what_is_there_and_what_it_has_cost(library: Path, inventory: str) -> None:
    wishes = {"roles": ("ann", "ben"), "concurrency": 1}
    with pytest.raises(Capped):
        await run(of(library, inventory, most_calls=6, **wishes))
    found = estimated(evaluation := of(library, inventory, **wishes), RecordFile(evaluation.folder).read())
    assert [(one.left, one.done) for one in found] == [(2, 4), (2, 2)]
    assert [one.calls for one in found] == [2, 2]
    assert {one.basis for one in found} == {"interviews of this run"}
    assert all(one.tokens > 10 * one.left for one in found)
    await run(evaluation)
    found = estimated(evaluation, RecordFile(evaluation.folder).read())
    assert [(one.left, one.done, one.calls) for one in found] == [(0, 6, 0), (0, 4, 0)]


async def test_the_first_judge_judges(library: Path, inventory: str) -> None:
    first, second = rater(), rater(name="second")
    wishes: Any = {"metrics": (inventory,), "roles": ("ann",), "methods": ("vanilla",)}
    evaluation = evaluation_of(library, player(), (first, second), **wishes)
    _, markdown, _ = await reported(evaluation)
    assert (len(first.calls), second.calls) == (2, [])
    assert "judge, the first judge, rates the answers" in markdown


async def test_our_own_inventory_needs_no_file(library: Path) -> None:
    plan = of(library, "four-letters", roles=("ann",)).plan
    (inventory,) = plan.inventories
    assert (inventory.name, inventory.items, inventory.judgements) == ("four-letters", 60, 16)
    assert [one.name for one in inventory.dimensions] == ["E/I", "S/N", "T/F", "P/J"]


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        ({"methods": ("vanilla", "lightrag")}, "lightrag cannot be interviewed"),
        ({"metrics": ("four-leters",)}, "did you mean 'four-letters'"),
        ({"metrics": ("acuracy",)}, "did you mean 'accuracy'"),
        ({"metrics": ("./nowhere.yaml",)}, "nowhere.yaml"),
        ({"dataset": "questions.jsonl"}, "leave the dataset out"),
    ],
)
def test_what_cannot_be_asked_is_refused_before(
    wishes: dict[str, Any], told: str, library: Path, inventory: str
) -> None:
    with pytest.raises(ValueError, match=told):
        of(library, inventory, **wishes)


def test_an_inventory_is_named_once(library: Path, inventory: str) -> None:
    folder = Path(inventory).parent
    with pytest.raises(ValueError, match="are the same inventory: name it once"):
        of(library, inventory, metrics=(inventory, f"{folder}/../{folder.name}/tiny.yaml"))


# Labels


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (
            partial(type_file, types={"zoe": "EN"}),
            "labels for none of ann, ben, cleo, dora: it has some for Zoe-en",
        ),
        (
            partial(type_file, types={"ann": "ENFP"}),
            r"no labels for tiny \(E/I, S/N\): .* there are: the type ENFP \(MBTI\)",
        ),
        (
            lambda path: label_file(path, "BFI", pdb=placed(RIGHT)),
            r"there are: scores by BFI \(E/I, S/N; pdb\)",
        ),
        *(
            (partial(type_file, types={"ann": letters}), "has no labels for tiny")
            for letters in ("NE", "XX", "en", "E")
        ),
        (
            lambda path: label_file(path, pdb=placed({"ann": {"E/I": 120.0, "S/N": 3.0}})),
            "a score of 120 by tiny, which goes from 0 to 100",
        ),
    ],
    ids=["no role", "another type", "another inventory", "NE", "XX", "en", "E", "off the scale"],
)
def test_labels_that_fit_no_role_or_inventory_say_what_they_are(
    written: Callable[[Path], str], says: str, library: Path, inventory: str, tmp_path: Path
) -> None:
    labels = written(tmp_path / "labels.json")
    with pytest.raises(ValueError, match=says):
        of(library, inventory, labels=labels)


def test_two_types_that_differ_are_refused(library: Path, inventory: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    one = {"alias": [], "experimenter": "Tom", "labels": {"MBTI": "EN", "other": "IN"}}
    path.write_text(json.dumps({"ann-en": one}), encoding="utf-8")
    with pytest.raises(ValueError, match="Labels have EN and IN as a type by tiny"):
        of(library, inventory, labels=str(path))
    path.write_text(json.dumps({"ann-en": {**one, "labels": {"TINY": "ES", "other": "IN"}}}), encoding="utf-8")
    assert of(library, inventory, labels=str(path)).plan.labels[inventory]["ann"].type == "ES"


@pytest.mark.parametrize("code", ["ANN", "ann-en", "Ann", "somebody"])
def test_a_character_is_found_by_any_of_its_names(code: str, library: Path, inventory: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    one = {"alias": ["aNN"] if code == "somebody" else [], "experimenter": "Tom", "labels": {"MBTI": "EN"}}
    path.write_text(json.dumps({code: one, "zoe-en": {**one, "alias": []}}), encoding="utf-8")
    assert {*of(library, inventory, labels=str(path)).plan.labels[inventory]} == {"ann"}


def test_of_two_characters_the_one_in_the_roles_language_is_meant(
    library: Path, inventory: str, tmp_path: Path
) -> None:
    path = tmp_path / "labels.json"
    one = {"alias": [], "experimenter": "Tom", "labels": {"MBTI": "EN"}}
    path.write_text(json.dumps({"ann-zh": {**one, "labels": {"MBTI": "IS"}}, "ann-en": one}), encoding="utf-8")
    assert of(library, inventory, labels=str(path)).plan.labels[inventory]["ann"].type == "EN"
    path.write_text(json.dumps({"Ann-en": one, "ann-en": one}), encoding="utf-8")
    with pytest.raises(ValueError, match="Ann-en and ann-en for ann: keep the one that is meant"):
        of(library, inventory, labels=str(path))


def test_labels_without_interviews_are_refused(tmp_path: Path) -> None:
    labels = type_file(tmp_path / "labels.json", {"ada": "EN"})
    with pytest.raises(ValueError, match="name an inventory among the metrics"):
        evaluation_of(library_of(tmp_path / "library"), labels=labels)


def test_labels_in_another_form_are_refused(library: Path, inventory: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"question": "Who are you?"}\n', encoding="utf-8")
    with pytest.raises(RoleFileError, match="does not have the form incharacter"):
        of(library, inventory, labels=str(path))


def test_a_report_needs_neither_labels_nor_inventory_nor_model(library: Path, inventory: str, tmp_path: Path) -> None:
    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    asyncio.run(run(evaluation := of(library, inventory, labels=labels)))
    before = {path: path.read_bytes() for path in written_report(evaluation.folder)}
    Path(labels).unlink()
    Path(inventory).unlink()
    moved = evaluation.folder.rename(tmp_path / "elsewhere")
    assert [path.read_bytes() for path in written_report(moved)] == [*before.values()]


# The report


async def test_the_report_shows_types_scores_and_what_they_rest_on(library: Path, tmp_path: Path) -> None:
    inventory = tiny(tmp_path / "long.yaml", numbers=LONG)
    labels = label_file(tmp_path / "labels.json", pdb=placed({name: RIGHT[name] for name in ("ann", "ben")}))
    _, markdown, _ = await reported(of(library, inventory, labels=labels))
    for text in (
        "| EN | 90.00 | 20.00 ± 0.00 | 0 of 9 | none | 12 | yes |",
        "From 0 to 100: E/I (E above the middle, else I); S/N (S above the middle, else N). 9 items, 3 batches.",
        "Source: a test (CC0-1.0).",
        "| pdb | vanilla | Acc(Dim) | 1.000 | [0.158, 1.000] | 4 of 4 | majority 1.000 |",
        "There are no labels for cleo, dora.",
        "all 2 roles have the same mean",
    ):
        assert text in markdown


async def test_without_labels_there_are_types_and_scores_only(library: Path, inventory: str) -> None:
    found, markdown, _ = await reported(of(library, inventory))
    assert (found.agreements, found.differences) == ((), ())
    assert "Agreement" not in markdown
    assert "| EN |" in markdown


async def test_the_page_leads_from_a_type_to_all_that_was_said(library: Path, inventory: str) -> None:
    evil = "<script>alert(1)</script> $x"
    evaluation = of(library, inventory, player(lambda *_: f"{evil} 7"), rater(lambda *_: 40.0), roles=("ann", "ben"))
    _, _, page = await reported(evaluation)
    assert "<script>" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt; $x") == 2 * 3
    leads = re.findall(r'<a href="#(i-[0-9a-f]+)">0</a>', page)
    assert sorted(leads) == sorted(re.findall(r'<details id="(i-[0-9a-f]+)">', page))
    assert len(leads) == 2
    assert "Items S/N0, S/N1: 40.0. so they say" in page


async def test_an_interview_that_is_not_over_makes_a_run_invalid(library: Path, inventory: str, tmp_path: Path) -> None:
    labels = label_file(tmp_path / "labels.json", pdb=placed(RIGHT))
    evaluation = of(library, inventory, labels=labels, roles=("ann", "ben"), most_calls=5, concurrency=1)
    with pytest.raises(Capped):
        await run(evaluation)
    markdown, page = (path.read_text(encoding="utf-8") for path in written_report(evaluation.folder))
    found = interview_tables(read_plan(evaluation.folder))
    assert [one.type for one in found.portraits] == ["EN", "??"]
    assert (measures(found)["Acc(Dim)"].n, measures(found)["Acc(Dim)"].left_out) == (2, 2)
    assert "0: not over" in markdown
    for text in (markdown, page):
        assert "of 2 interviews 0 lack too much, and 1 are not over" in text
