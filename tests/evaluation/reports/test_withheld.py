"""Judges that fail their checks conclude nothing, in any form of a report; a good one concludes what it did."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_runs import report_of

from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.comparison.records import RecordFile
from dramaturg.evaluation.comparison.run import EvaluationSettings
from dramaturg.evaluation.judging.anchors import anchors, version
from dramaturg.evaluation.judging.holding import Material, hold
from dramaturg.evaluation.judging.standing import ANCHORS, Held, held
from dramaturg.evaluation.judging.verdicts import keep_standings, standings_of
from dramaturg.evaluation.reports.page import written_report
from dramaturg.evaluation.reports.tables import Tables, tables
from dramaturg.models.errors import UnusableAnswer

from commands import Command
from evaluations import Named, evaluation_of, library_of, speaker, taken
from roles import WordEmbeddings, fenced, said

ROLES = tuple(f"ada{number}" for number in range(8))
MUCH = "And so I say it, and I say it again, as it pleases me to say a thing twice. " * 4
GOOD = "good"
Says = Callable[[str, str, list[str]], bool | Exception]
"""Whether a reply is good, by the reply, all that was said, and the replies before."""


RIGHT = {one.case.reply for one in anchors() if one.worth.get("accuracy") == 1}


def is_right(reply: str, asked: str) -> bool:
    """Whether a reply holds the right answer, of the small role or of an anchor."""
    return "Tom" in reply or "light" in reply or reply.strip() in RIGHT


def refusing(reply: str, asked: str, before: list[str]) -> bool | Exception:
    """Right, and every third time nothing."""
    return UnusableAnswer("Hm.") if len(before) % 3 == 0 else is_right(reply, asked)


def by_chance(reply: str, asked: str, before: list[str]) -> bool:
    """Neither one nor the other, by the letters of the reply."""
    return sum(map(ord, asked)) % 7 < 3


JUDGES: dict[str, Says] = {
    "always first": lambda *_: True,
    "longest": lambda reply, *_: len(reply) > 250,
    "random": by_chance,
    "always 10": lambda *_: True,
    "refuses a third": refusing,
    "prose": lambda *_: UnusableAnswer("I would say that this is quite a good reply."),
    "good in English only": lambda reply, asked, _: is_right(reply, asked) or not is_english(asked),
    GOOD: lambda reply, asked, _: is_right(reply, asked),
}


def is_english(asked: str) -> bool:
    """Whether a judge is asked in English."""
    return "You mark an actor" in asked


def judge_by(name: str) -> Named:
    """A judge by its script: yes and 9 of what it takes for good, else no and 2; 10 if it always says that."""
    before: list[str] = []

    def answer(messages: list[Any]) -> str | Exception:
        asked = said(messages)
        if len(messages) == 2:
            before.append(asked)
            return "So it is."
        found = JUDGES[name](fenced("reply", asked), asked, before)
        if isinstance(found, Exception):
            return found
        if '"yes"' in asked:
            return json.dumps({"answer": "yes" if found else "no"})
        return json.dumps({"answer": 10 if name == "always 10" else 9 if found else 2})

    return Named(reply=answer, model_name=name)


def talker(language: str = "en") -> Any:
    """Whoever speaks for the roles: right and short by one method, wrong and long by the other."""
    return speaker(
        lambda text: "My brother Tom keeps the light." if "A keeper of few words" in text else f"Who knows? {MUCH}"
    )


async def run_with(folder: Path, *names: str, metric: str = "accuracy", language: str = "en") -> tuple[Tables, Path]:
    """A whole small evaluation by these judges; half of the roles speak the language."""
    library = library_of(folder / "library", *ROLES)
    if language != "en":
        for role in ROLES[::2]:
            card = library / role / "role.yaml"
            text = card.read_text("utf-8")
            assert "language: en" in text
            card.write_text(text.replace("language: en", f"language: {language}"), "utf-8")
    evaluation = evaluation_of(
        library, talker(), tuple(judge_by(name) for name in names), roles=ROLES, metrics=(metric,), bounds=True
    )
    await taken(evaluation)
    return tables(evaluation.plan, RecordFile(evaluation.folder).read()), evaluation.folder


async def standing_of(folder: Path, name: str, metric: str = "accuracy") -> list[Held]:
    """How a judge stands on the anchors."""
    material = Material(ANCHORS, version(), anchors(), (metric,), [])
    settings = EvaluationSettings(chat_model=speaker(), judges=(judge_by(name),), embedding_model=WordEmbeddings())
    records = await hold(material, settings, folder, lambda phase, number: lambda done: None)
    return held(material, records, name)


BAD = [(name, "en") for name in JUDGES if name not in (GOOD, "good in English only")] + [("good in English only", "zh")]


@pytest.mark.parametrize(("name", "language"), BAD)
async def test_nothing_is_concluded_by_a_bad_judge_in_any_form(
    tmp_path: Path, run: Command, name: str, language: str
) -> None:
    metric = "accuracy_level" if name == "always 10" else "accuracy"
    found, folder = await run_with(tmp_path, name, metric=metric, language=language)
    assert [(one.metric, one.judge) for one in found.withheld] == [(metric, name)]
    assert all(
        (one.p, one.corrected, one.found, bool(one.withheld)) == (None, None, False, True) for one in found.planned
    )
    markdown, page = (path.read_text("utf-8") for path in written_report(folder))
    assert markdown.splitlines()[2].startswith("Nothing is concluded")
    for text in (markdown, page):
        assert f"Nothing is concluded from {metric} by {name}" in text
        assert not re.search("(profile|vanilla) is (better|worse)", text)
        assert not re.search(r"\d\*(?!\*)", text)  # no star
    assert not re.search(r"\| (vanilla|profile) \| \d\.\d \|", markdown)  # no rank
    _, screen, err = run("report", str(folder))
    shown = " ".join(f"{screen} {err}".split())
    assert "Nothing is concluded" in shown
    assert f"Nothing is concluded from {metric} by {name}" in shown
    assert not re.search("(profile|vanilla) is (better|worse)", shown)
    told = json.loads(run("report", str(folder), "--json")[1])
    (judge,) = told["judges"]
    assert (judge["judge"], judge["stands"], bool(judge["why_not"])) == (name, False, True)
    assert any(one["outcome"] == "failed" for one in judge["checks"])
    assert any(f"{metric} by {name}" in one for one in told["problems"])
    assert all(one["p"] is None and one["withheld"] for one in told["differences"] if one["planned"])
    assert told["conclusion"].startswith("Nothing is concluded")


async def test_numbers_that_are_withheld_stay_and_are_grey(tmp_path: Path) -> None:
    _, folder = await run_with(tmp_path, "always first")
    markdown, page = (path.read_text("utf-8") for path in written_report(folder))
    assert "| vanilla |  | 1.000† [" in markdown
    assert "† nothing is concluded from this number" in markdown
    assert re.search(r"<td class='number withheld'>.*?1\.000†", page)


async def test_a_good_judge_concludes_and_a_bad_one_beside_it_changes_nothing_of_that(tmp_path: Path) -> None:
    alone, folder = await run_with(tmp_path / "alone", GOOD)
    said_alone = report_of(folder).splitlines()[2]
    assert "Primary comparison with vanilla by accuracy (judged by good, over 8 roles): profile is better" in said_alone
    for name in ("always first", "refuses a third", "prose"):
        both, folder = await run_with(tmp_path / name, name, GOOD)
        mine = [one for one in both.differences if one.judge == GOOD]
        assert [one._replace(equal_length=None) for one in mine] == [
            one._replace(equal_length=None) for one in alone.differences
        ]
        text = report_of(folder).splitlines()[2]
        assert f"(judged by good, as {name} fails its checks, over 8 roles): profile is better" in text
        assert "| profile | 1.0 | 1.000* [" in report_of(folder)


async def test_a_judge_that_knows_one_language_stands_in_that_one_alone(tmp_path: Path) -> None:
    name = "good in English only"
    (stands,) = [one for one in await standing_of(tmp_path / "held", name) if one.metric == "accuracy"]
    assert stands.told is not None
    assert stands.told.above  # in all three languages together
    for language, told in (("en", ""), ("zh", "on the anchors in Chinese it is not above chance")):
        found, folder = await run_with(tmp_path / language, name, language=language)
        keep_standings(folder, standings_of([stands]))
        found = tables(read_plan(folder), RecordFile(folder).read())
        assert [told in one.why for one in found.withheld] == [True] * bool(told)


async def test_a_judge_that_goes_by_length_is_caught_by_the_anchors(tmp_path: Path) -> None:
    (longest,) = [one for one in await standing_of(tmp_path / "longest", "longest") if one.metric == "accuracy"]
    assert longest.crossed is not None
    assert not longest.crossed.above
    (good,) = [one for one in await standing_of(tmp_path / "good", GOOD) if one.metric == "accuracy"]
    assert good.crossed is not None
    assert good.length is not None
    assert (good.told.value, good.crossed.value, good.length.value) == (1.0, 1.0, 0.0)  # type: ignore[union-attr]


async def test_a_judge_that_is_right_and_adds_points_for_length_is_withheld(tmp_path: Path) -> None:
    """It tells right from wrong on every anchor, and adds four points above 250 characters."""

    def answer(messages: list[Any]) -> str:
        asked = said(messages)
        if len(messages) == 2:
            return "So it is."
        reply = fenced("reply", asked)
        points = (9 if is_right(reply, asked) else 2) if len(reply) <= 250 else (10 if is_right(reply, asked) else 6)
        return json.dumps({"answer": points})

    fond = Named(reply=answer, model_name="fond of length")
    material = Material(ANCHORS, version(), anchors(), ("accuracy_level",), [])
    settings = EvaluationSettings(chat_model=speaker(), judges=(fond,), embedding_model=WordEmbeddings())
    records = await hold(material, settings, tmp_path / "held", lambda phase, number: lambda done: None)
    of = [one for one in held(material, records, "fond of length") if one.metric == "accuracy_level"]
    assert of[0].told is not None
    assert of[0].told.value == 1.0
    library = library_of(tmp_path / "library", *ROLES)
    evaluation = evaluation_of(library, talker(), (fond,), roles=ROLES, metrics=("accuracy_level",), bounds=True)
    records = await taken(evaluation)
    assert tables(evaluation.plan, records).withheld == []
    keep_standings(evaluation.folder, standings_of(of))
    (found,) = tables(evaluation.plan, records).withheld
    assert "it scores the same reply higher when it is longer in English" in found.why
