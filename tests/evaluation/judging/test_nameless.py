"""Judges that are not shown whom they judge: names are replaced in all that stands in their prompts."""

from pathlib import Path

import pytest

from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.datasets.dataset import DatasetTurn
from dramaturg.evaluation.judging.judges import JUDGES, Case
from dramaturg.evaluation.judging.measures import nameless
from dramaturg.evaluation.judging.scales import OF_TALKS, SIMILARITY
from dramaturg.evaluation.reports.page import written_report
from dramaturg.stores.library import open_role

from evaluations import evaluation_of, judge, library_of, speaker, taken

SINGLE = tuple(name for name, judge in JUDGES.items() if name not in OF_TALKS and not judge.printed)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return library_of(tmp_path / "library")


@pytest.mark.parametrize(
    ("wishes", "metrics"),
    [({}, SINGLE), ({"turns": 3, "limit": 1}, ("personality", "contradiction", "whole_character"))],
    ids=["questions", "talks"],
)
async def test_no_prompt_of_a_judge_has_a_name_of_the_role(
    library: Path, wishes: dict[str, int], metrics: tuple[str, ...]
) -> None:
    card = open_role("ada", library).card
    names = (card.name, *card.aliases)
    said = speaker(lambda text: f"I am {card.name}, and my brother is Tom.")
    shown, hidden = judge(), judge()
    await taken(evaluation_of(library, said, (shown,), metrics=metrics, **wishes))
    again = evaluation_of(library, said, (hidden,), metrics=metrics, folder="hidden", anonymous=True, **wishes)
    await taken(again)
    assert len(hidden.calls) == len(shown.calls) > 0
    assert all(any(name in call.text for name in names) for call in shown.calls)
    assert not any(name in call.text for call in hidden.calls for name in names)
    assert all("[the participant]" in call.text for call in hidden.calls)
    assert "The judges were shown neither the names" in written_report(again.folder)[0].read_text(encoding="utf-8")
    assert read_plan(again.folder).anonymous


async def test_what_was_judged_by_name_is_judged_again_without_and_likeness_is_not(library: Path) -> None:
    first = await taken(evaluation_of(library, metrics=("accuracy", SIMILARITY)))
    with pytest.raises(ValueError, match="anonymous: False before, True now"):
        await taken(evaluation_of(library, metrics=("accuracy", SIMILARITY), anonymous=True))
    more = evaluation_of(library, model := speaker(), metrics=("accuracy", SIMILARITY), folder="more", anonymous=True)
    records = await taken(more, after="run")
    assert model.calls == []
    assert {one.metric for key, one in records.judged.items() if key not in first.judged} == {"accuracy"}


def test_who_asks_has_no_name_either_and_others_keep_theirs() -> None:
    case = Case(
        role="贝多芬",
        question="Karl asks: 贝多芬, who is Schindler?",
        reply="Schindler? I am Beethoven; Karl knows him.",
        language="zh",
        user_role="Karl",
        passages=("Beethoven wrote to Karl.",),
        talk=(DatasetTurn(speaker="Beethoven", text="Karl!"),),
        scope="in",
        turns=2,
    )
    found = nameless(case, ("贝多芬", "Beethoven"))
    assert (found.role, found.user_role) == ("[the participant]", "[the user]")
    assert found.question == "[the user] asks: [the participant], who is Schindler?"
    assert found.reply == "Schindler? I am [the participant]; [the user] knows him."
    assert found.passages == ("[the participant] wrote to [the user].",)
    assert found.talk == (DatasetTurn(speaker="[the participant]", text="[the user]!"),)
    assert (found.language, found.scope, found.turns, found.gold) == ("zh", "in", 2, "")
