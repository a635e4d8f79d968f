"""A judge held against scores that people gave: what is read, what is refused, and how far they agree."""

from pathlib import Path

import pytest

from dramaturg.evaluation.comparison.run import EvaluationSettings
from dramaturg.evaluation.judging.holding import PAIR, Material, hold
from dramaturg.evaluation.judging.people import scored
from dramaturg.evaluation.judging.standing import Held, held
from dramaturg.evaluation.judging.verdicts import verdicts
from dramaturg.stores.errors import RoleFileError

from scripted_judges import NamedJudge, coin, judge_that, options, shown

HEAD = "role,question,reply,score,gold,rater\n"
TWO = "Ada,Who?,Tom.,1,Tom.,x\nAda,Who?,Jory.,0,Tom.,x\n"


def file_of(folder: Path, text: str) -> Path:
    path = folder / "scores.csv"
    path.write_text(text, encoding="utf-8")
    return path


def many(folder: Path) -> Path:
    """Twelve questions, each with a good and a bad reply, and two who scored; one of them errs now and then."""
    lines = []
    for at in range(12):
        for good in (True, False):
            reply = f"{'Tom' if good else 'Jory'}, {'surely ' * (at % 4)}{at}."
            lines.append(f'Ada,Who {at}?,"{reply}",{"yes" if good else "no"},Tom.,x')
            lines.append(f'Ada,Who {at}?,"{reply}",{int(good if at % 5 else not good)},Tom.,y')
    return file_of(folder, HEAD + "\n".join(lines))


async def against_people(folder: Path, judge: NamedJudge) -> dict[str, Held]:
    given = scored(many(folder), "accuracy")
    material = Material("scores.csv", "1", given.replies, ("accuracy",), ())
    settings = EvaluationSettings(judges=(judge,))
    records = await hold(material, settings, folder / "judges", lambda phase, number: lambda done: None)
    return {one.metric: one for one in held(material, records, judge.model_name, given.ratings)}


def test_lines_of_one_reply_are_scores_of_several_people(tmp_path: Path) -> None:
    given = scored(many(tmp_path), "accuracy")
    assert len(given.replies) == 24
    assert given.raters == ("x", "y")
    assert given.ratings[:3] == [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    assert [one.worth["accuracy"] for one in given.replies[:3]] == [0.5, 0.5, 1.0]


async def test_a_judge_who_says_what_people_say_is_above_chance(tmp_path: Path) -> None:
    good = judge_that(
        lambda call: "Tom" in shown(call)["reply"], lambda call: 1 + ("Tom" not in options(call)[0]), "good"
    )
    found = await against_people(tmp_path, good)
    accuracy = found["accuracy"]
    assert accuracy.told is not None
    assert accuracy.told.above
    assert accuracy.told.value > 0.8
    assert (accuracy.told.n, accuracy.told.n_values) == (12, 24)
    assert accuracy.agreed is not None
    assert accuracy.agreed.value > 0.5
    assert accuracy.agreed.above
    assert accuracy.among is not None
    assert 0.3 < accuracy.among < accuracy.agreed.value
    assert found[PAIR].told is not None
    assert found[PAIR].told.value == 1


async def test_a_coin_is_not_above_chance_against_people(tmp_path: Path) -> None:
    found = await against_people(tmp_path, judge_that(lambda call: bool(coin(call)), lambda _: 1, "coin"))
    said = " ".join(verdicts(found.values()))
    assert "coin, accuracy: not above chance" in said
    assert "it goes by place: the first reply" in said


async def test_a_lover_of_length_is_seen_against_people(tmp_path: Path) -> None:
    found = await against_people(tmp_path, judge_that(lambda call: len(shown(call)["reply"]) > 20, lambda _: 1, "l"))
    assert "scores longer replies higher" in " ".join(verdicts([found["accuracy"]]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("role,question,reply\n", "line 1: there is no column score; the columns are question, reply, score, role"),
        (HEAD + "Ada,Who?,Tom.,1,Tom.,x\nAda,Who?,Jory.,2,Tom.,x\n", "line 3, column score: this must be from 0 to 1"),
        (HEAD + "Ada,Who?,Tom.,often,Tom.,x\n", "line 2, column score: this must be from 0 to 1, by accuracy"),
        (HEAD + "Ada,Who?,Tom.,nan,Tom.,x\n", "line 2, column score"),
        (HEAD + "Ada,Who?,,1,Tom.,x\n", "line 2, column reply: this is not as it must be"),
        (HEAD + "Ada,Who?,Tom.,1,,x\n", "line 2, column gold: this is empty, and accuracy needs it"),
        (HEAD + "Ada,Who?,Tom, or so.,1,Tom.,x\n", "line 2: there are more fields than the 6 columns"),
        (HEAD + "Ada,Who?,Tom.,1\n", "line 2: there are fewer fields than the 6 columns"),
        (HEAD + TWO + "Ada,Who?,Tom.,0,Tom.,x\n", "line 4, column rater: this has x a second time for the same reply"),
        (HEAD + TWO + "Ada,Who?,Tom.,0,Tim.,y\n", "line 4, column gold: this is another one than in an earlier line"),
        (HEAD, "scores.csv has no scores"),
        ("", "line 1: there is no column question"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RoleFileError, match=r"scores\.csv") as caught:
        scored(file_of(tmp_path, text), "accuracy")
    assert said in str(caught.value)


def test_a_language_that_has_no_prompts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RoleFileError, match="line 2, column language"):
        scored(file_of(tmp_path, "role,question,reply,score,gold,language\nAda,Wer?,Tom.,1,Tom.,de\n"), "accuracy")
