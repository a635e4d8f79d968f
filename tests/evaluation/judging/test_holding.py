"""Judges whose worth is known are called what they are: by what is asked of them, and by what comes of it."""

import random
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.comparison.run import Capped, EvaluationSettings
from dramaturg.evaluation.judging.anchors import anchors, version
from dramaturg.evaluation.judging.holding import PAIR, Material, estimated, hold, to_ask
from dramaturg.evaluation.judging.lines import SPEAKER, hidden_speakers, play
from dramaturg.evaluation.judging.standing import ANCHORS, Held, Measured, held, in_order, over
from dramaturg.evaluation.judging.verdicts import Standing, keep_standings, read_standings, standings_of, verdicts
from dramaturg.nodes.run import AT_ONCE
from dramaturg.testing import ScriptedChatModel

from scripted_judges import NamedJudge, a_coin, always_yes, length_lover, perfect, place_lover

pytestmark = pytest.mark.sample_of_file(3)

LINES = hidden_speakers(play(), "play", "ko")
FEW = 12
"""Questions in each language, short ones and long ones."""


def material(limit: int = FEW, metrics: tuple[str, ...] = ("accuracy", "refusal"), lines: Any = LINES) -> Material:
    return Material(ANCHORS, version(), anchors(limit), metrics, lines)


async def asked(model: ScriptedChatModel, folder: Path, given: Material, most_calls: int = 0) -> Records:
    settings = EvaluationSettings(judges=(model,), most_calls=most_calls)
    return await hold(given, settings, folder / "judges", lambda phase, number: lambda done: None)


async def found_of(model: NamedJudge, folder: Path) -> dict[str, Held]:
    given = material()
    records = await asked(model, folder, given)
    return {one.metric: one for one in held(given, records, model.model_name)}


def said(found: dict[str, Held], metric: str) -> str:
    return " ".join(verdicts([found[metric]]))


async def test_a_perfect_judge_is_above_chance_and_has_no_bias(tmp_path: Path) -> None:
    found = await found_of(perfect(LINES), tmp_path)
    assert list(found) == ["accuracy", "refusal", PAIR, SPEAKER]
    for one in found.values():
        assert one.told is not None
        assert (one.told.value, one.told.above, one.missing) == (1.0, True, 0)
        assert {*one.by_language} <= {"en", "zh", "ko"}
    assert [*verdicts(found.values())] == []
    length, place = found["accuracy"].length, found[PAIR].place
    assert length is not None
    assert place is not None
    assert (length.value, place.value) == (0.0, 0.5)
    assert {(cell.kind, cell.mean) for cell in found["accuracy"].cells} == {
        ("right", 1.0),
        ("voice", 1.0),
        ("right at length", 1.0),
        ("wrong at length", 0.0),
        ("wrong", 0.0),
        ("refused", 0.0),
        ("echo", 0.0),
    }


async def test_calibration_is_of_what_the_judge_gives_for_yes(tmp_path: Path) -> None:
    one = (await found_of(perfect(LINES), tmp_path))["accuracy"]
    assert one.brier is not None
    assert one.brier.score == pytest.approx((3 * 0.1**2 + 4 * 0.2**2) / 7)  # of seven replies three deserve a yes
    assert one.brier.n == 126
    assert sum(share.n for _, share in one.bins) == 126


async def test_a_coin_says_nothing(tmp_path: Path) -> None:
    found = await found_of(a_coin(), tmp_path)
    for metric in found:
        assert "not above chance" in said(found, metric)
        assert "to everything" not in said(found, metric)
        assert "goes by place" not in said(found, metric)


async def test_always_yes_is_seen_to_say_one_thing(tmp_path: Path) -> None:
    found = await found_of(always_yes(), tmp_path)
    for metric in ("accuracy", "refusal"):
        assert "it says yes to everything" in said(found, metric)
        assert "not above chance (0.500" in said(found, metric)


@pytest.mark.parametrize(("value", "way"), [(0.1, "higher"), (-0.1, "lower")])
def test_a_small_liking_of_length_goes_the_way_it_goes(value: float, way: str) -> None:
    length = Measured(value, value - 0.05, value + 0.05, 0, 9, 9)
    found = Held("judge", "accuracy", ANCHORS, "", (), Measured(0.9, 0.8, 1, 0.5, 9, 9), {}, length=length)
    (line,) = verdicts([found])
    assert f"it scores longer replies {way} than shorter ones" in line


async def test_a_lover_of_length_is_seen(tmp_path: Path) -> None:
    found = await found_of(length_lover(), tmp_path)
    assert "scores longer replies higher" in said(found, "accuracy")
    assert "not above chance" in said(found, "accuracy")


async def test_a_lover_of_a_place_is_seen_in_pairs_and_in_names(tmp_path: Path) -> None:
    found = await found_of(place_lover(), tmp_path)
    assert "it goes by place: the first reply (chosen first: 1.000" in said(found, PAIR)
    assert "not above chance (0.500" in said(found, PAIR)
    assert "it goes by place: the first name (1.000" in said(found, SPEAKER)
    assert "not above chance (0.250" in said(found, SPEAKER)


async def test_what_is_answered_is_not_asked_again_and_a_cap_is_kept_to(tmp_path: Path) -> None:
    given, model = material(limit=1, lines=LINES[:4]), always_yes()
    with pytest.raises(Capped, match="same command goes on"):
        await asked(model, tmp_path, given, most_calls=9)
    assert len(model.calls) <= 9 + AT_ONCE  # the grades under way have a second call
    records = await asked(model, tmp_path, given)
    wanted = to_ask(given, "always-yes")
    assert {one.key for one in wanted} == {*records.judged}
    number = len(model.calls)
    assert number == sum(2 if one.metric in ("accuracy", "refusal") else 1 for one in wanted)
    await asked(model, tmp_path, given)
    assert len(model.calls) == number
    assert all(one.left == 0 for one in estimated(given, ["always-yes"], records))
    other = estimated(given, ["another"], records)
    assert [(one.what, one.left) for one in other] == [
        ("accuracy, by another", 21),
        ("refusal, by another", 18),
        ("pair, by another", 6),
        ("speaker, by another", 4),
    ]


async def test_an_answer_that_does_not_come_is_missing_and_no_score(tmp_path: Path) -> None:
    model = NamedJudge(decide="Perhaps.", choose="Nobody.", model_name="mumbler")
    given = material(limit=1, lines=LINES[:4])
    found = held(given, await asked(model, tmp_path, given), "mumbler")
    assert [(one.metric, one.told, one.missing) for one in found] == [
        ("accuracy", None, 21),
        ("refusal", None, 18),
        (PAIR, None, 6),
        (SPEAKER, None, 4),
    ]
    assert all("nothing can be said" in line for line in verdicts(found))


async def test_a_standing_is_kept_and_fewer_answers_do_not_replace_more(tmp_path: Path) -> None:
    given = material(metrics=("accuracy",), lines=LINES)
    records = await asked(perfect(LINES), tmp_path, given)
    keep_standings(tmp_path, standings_of(held(given, records, "perfect")))
    kept = read_standings(tmp_path)
    assert [(one.metric, one.source, one.told.value) for one in kept] == [
        ("accuracy", ANCHORS, 1.0),
        (PAIR, ANCHORS, 1.0),
        (SPEAKER, "", 1.0),
    ]
    few = held(material(limit=1, metrics=("accuracy",), lines=()), records, "perfect")
    keep_standings(tmp_path, standings_of(few))
    assert read_standings(tmp_path) == kept
    changed = [one.model_copy(update={"prompts": ("new",)}) for one in standings_of(few)]
    keep_standings(tmp_path, changed)
    assert read_standings(tmp_path) == (*changed, kept[2])
    assert isinstance(kept[0], Standing)


async def test_as_many_answers_replace_those_before_and_fewer_do_to_other_replies(tmp_path: Path) -> None:
    given = material(metrics=("accuracy",), lines=())
    records = await asked(perfect(LINES), tmp_path, given)
    whole, _ = standings_of(held(given, records, "perfect"))
    few, _ = standings_of(held(material(limit=1, metrics=("accuracy",), lines=()), records, "perfect"))
    again = whole.model_copy(update={"told": whole.told._replace(value=0.9)})
    other = few.model_copy(update={"version": "other replies"})
    for found in (whole, again, other):
        keep_standings(tmp_path, [found])
        assert read_standings(tmp_path) == (found,)


def test_of_many_coins_few_are_above_chance_and_of_weak_judges_many() -> None:
    dice = random.Random(0)

    def above(error: float) -> int:
        found = 0
        for _ in range(60):
            right: dict[str, list[float]] = {}
            for at in range(36):
                said = [(worth, float(worth) if dice.random() > error else 1.0 - worth) for worth in (1, 1, 0, 0, 0)]
                right[f"{at}"] = [*in_order(said)]
            found += over(right, 0.5).above
        return found

    assert above(error=0.5) / 60 < 0.05
    assert above(error=0.3) / 60 > 0.95
