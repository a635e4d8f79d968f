"""Reports name how each judge stands, mark numbers of one that is not above chance, and say who was never held."""

from pathlib import Path

import pytest

from dramaturg.evaluation.comparison.records import Records
from dramaturg.evaluation.comparison.run import Evaluation
from dramaturg.evaluation.judging.judges import JUDGES, prompt_version
from dramaturg.evaluation.judging.lines import SPEAKER
from dramaturg.evaluation.judging.standing import ANCHORS, InLanguage, Measured
from dramaturg.evaluation.judging.verdicts import Standing, keep_standings
from dramaturg.evaluation.reports.document import as_markdown
from dramaturg.evaluation.reports.judges import standing_lines
from dramaturg.evaluation.reports.page import markdown
from dramaturg.evaluation.reports.standings import take_standings
from dramaturg.evaluation.reports.tables import tables

from evaluations import evaluation_of, library_of, taken

PROMPT = prompt_version(JUDGES["accuracy"], "en")


@pytest.fixture
async def run(tmp_path: Path) -> tuple[Evaluation, Records]:
    evaluation = evaluation_of(library_of(tmp_path / "library"))
    return evaluation, await taken(evaluation)


def standing(low: float, metric: str = "accuracy", prompts: tuple[str, ...] = (PROMPT,)) -> Standing:
    chance, source = (0.25, "") if metric == SPEAKER else (0.5, ANCHORS)
    told = Measured(low + 0.1, low, low + 0.2, chance, 36, 180)
    return Standing(judge="judge", metric=metric, source=source, prompts=prompts, told=told)


def said(run: tuple[Evaluation, Records], *found: Standing) -> str:
    evaluation, records = run
    keep_standings(evaluation.folder, found)
    return "\n".join(as_markdown(standing_lines(evaluation.plan, records)))


def withheld(run: tuple[Evaluation, Records]) -> dict[tuple[str, str], str]:
    """By which metric and judge nothing is concluded, and why."""
    return {(one.metric, one.judge): one.why for one in tables(run[0].plan, run[1]).withheld}


def test_a_judge_that_was_never_held_is_said_to_be_so(run: tuple[Evaluation, Records]) -> None:
    text = said(run)
    assert "judge was never held against anchors by accuracy: `dramaturg judges --anchors --metrics accuracy" in text
    assert "judge was never asked who is speaking." in text
    assert withheld(run) == {}


def test_the_standing_of_a_judge_stands_beside_its_numbers(run: tuple[Evaluation, Records]) -> None:
    text = said(run, standing(0.7), standing(0.4, SPEAKER))
    assert "| judge | accuracy | anchors | all | 0.800 | [0.700, 0.900] | 0.5 | 36 |" in text
    assert "| judge | who is speaking | lines of dialogues | all | 0.500 | [0.400, 0.600] | 0.25 | 36 |" in text
    assert "never" not in text


def test_numbers_of_a_judge_that_is_not_above_chance_are_marked(run: tuple[Evaluation, Records]) -> None:
    assert "| 0.550 | [0.450, 0.650] | 0.5 |" in said(run, standing(0.45))
    evaluation, records = run
    assert "on the anchors it is not above chance (0.550" in withheld(run)["accuracy", "judge"]
    text = markdown(evaluation.plan, records, tables(evaluation.plan, records))
    line = "**Nothing is concluded from accuracy by judge** (†): on the anchors it is not above chance"
    assert text.count(line) == 2  # at the top, and at the table


@pytest.mark.parametrize(("low", "n", "why"), [(0.4, 12, True), (0.4, 3, True), (0.45, 3, False), (0.6, 12, False)])
def test_a_judge_that_takes_the_longer_reply_for_the_right_one_concludes_nothing(
    run: tuple[Evaluation, Records], low: float, n: int, why: bool
) -> None:
    good = standing(0.7)
    crossed = Measured(low + 0.1 + (0.15 if low == 0.45 else 0), low, 1.0, 0.5, n, n)
    known = {"en": InLanguage(good.told, crossed=crossed)}
    said(run, good.model_copy(update={"by_language": known, "crossed": crossed}))
    found = withheld(run).get(("accuracy", "judge"), "")
    assert ("does not score a right reply above a wrong one of another length in English" in found) is why


def test_a_judge_near_chance_at_who_is_speaking_is_named(run: tuple[Evaluation, Records]) -> None:
    said(run, standing(0.7), standing(0.2, SPEAKER))
    evaluation, records = run
    text = markdown(evaluation.plan, records, tables(evaluation.plan, records))
    assert "accuracy by judge: it is near chance at who is speaking (0.300" in text


def test_a_standing_by_another_prompt_is_none(run: tuple[Evaluation, Records]) -> None:
    text = said(run, standing(0.3, prompts=("another",)))
    assert "never held against anchors by accuracy" in text
    assert withheld(run) == {}


def test_a_report_takes_standings_of_its_own_judges_alone(run: tuple[Evaluation, Records], tmp_path: Path) -> None:
    other = standing(0.7).model_copy(update={"judge": "somebody"})
    (tmp_path / "shared").mkdir()
    keep_standings(tmp_path / "shared", [standing(0.6), other])
    take_standings(run[0].folder, run[0].plan.judges, tmp_path / "shared")
    text = "\n".join(as_markdown(standing_lines(run[0].plan, run[1])))
    assert "[0.600, 0.800]" in text
    assert "somebody" not in text
    take_standings(run[0].folder, run[0].plan.judges, tmp_path / "nowhere")
    assert "[0.600, 0.800]" in "\n".join(as_markdown(standing_lines(run[0].plan, run[1])))
