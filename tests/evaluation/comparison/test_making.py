"""A run is bound to what made it: prompts, settings, code and version; replies of another make are kept apart."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison import making, plan, run
from dramaturg.evaluation.comparison.contestants import contestant
from dramaturg.evaluation.comparison.making import Making, differences, walked
from dramaturg.evaluation.comparison.merging import merged
from dramaturg.evaluation.comparison.plan import read_plan
from dramaturg.evaluation.comparison.run import EvaluationSettings
from dramaturg.evaluation.judging.scales import SIMILARITY
from dramaturg.evaluation.reports.page import written_report
from dramaturg.nodes import run as nodes_run
from dramaturg.prompts import Prompt, load
from dramaturg.workflows.names import METHODS

from evaluations import QUESTIONS, evaluation_of, library_of, speaker, taken

LIE = "ALWAYS LIE."


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return library_of(tmp_path / "library")


@pytest.fixture
def lying(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Have the package's prompt of the profile say something else, as if its file had been edited."""

    def edited(name: str, language: str) -> Prompt:
        known = load(name, language)
        if name != "respond_from_profile":
            return known
        sections = tuple((kind, f"{text}\n{LIE}") for kind, text in known.sections)
        return Prompt(known.name, sections)

    def edit() -> None:
        monkeypatch.setattr(making, "load", edited)
        monkeypatch.setattr(nodes_run, "load", edited)

    return edit


def at_version(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    for module in (plan, run):
        monkeypatch.setattr(module, "version", lambda name: number)


async def test_a_second_half_by_other_prompts_is_refused_by_their_names(
    library: Path, lying: Callable[[], None]
) -> None:
    with pytest.raises(run.Capped):
        await taken(evaluation_of(library, metrics=(SIMILARITY,), most_calls=2, concurrency=1))
    lying()
    with pytest.raises(
        ValueError, match=r"run holds another plan: the prompts respond_from_profile\.en have changed \(profile"
    ):
        await taken(evaluation_of(library, model := speaker(), metrics=(SIMILARITY,)))
    assert model.calls == []


async def test_what_begins_with_a_run_of_other_prompts_asks_those_methods_anew(
    library: Path, lying: Callable[[], None]
) -> None:
    methods = ("vanilla", "profile", "naive-rag")
    first = await taken(evaluation_of(library, methods=methods, metrics=(SIMILARITY,)))
    lying()
    again = evaluation_of(library, model := speaker(), methods=methods, metrics=(SIMILARITY,), folder="again")
    records = await taken(again, after="run")
    changed = {one.contestant for one in records.replies.values() if one.key not in first.replies}
    assert "profile" in changed  # and those whose code names the prompt, too
    assert sum(LIE in call.text for call in model.calls) == len(QUESTIONS)
    assert len(model.calls) == len(changed) * len(QUESTIONS)
    assert len({one.made for one in records.replies.values() if one.contestant == "profile"}) == 2


async def test_another_version_is_refused_and_taken_over_from_at_no_cost_and_both_are_named(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await taken(evaluation_of(library))
    at_version(monkeypatch, "9.9.9")
    with pytest.raises(ValueError, match=rf"run holds another plan: dramaturg: {version('dramaturg')} before, 9\.9\.9"):
        await taken(evaluation_of(library, model := speaker(), seeds=(0,)))
    again = evaluation_of(library, model, seeds=(0, 1), folder="again")
    records = await taken(again, after="run")
    assert len(model.calls) == len(first.replies)  # the second seed alone: nothing of the methods has changed
    assert {one.dramaturg for one in records.replies.values()} == {version("dramaturg"), "9.9.9"}
    report = written_report(again.folder)[0].read_text(encoding="utf-8")
    assert f"Dramaturg {version('dramaturg')} and 9.9.9." in report
    assert read_plan(again.folder).dramaturg == "9.9.9"


async def test_halves_by_other_prompts_have_no_report_together(library: Path, lying: Callable[[], None]) -> None:
    await taken(evaluation_of(library, metrics=(SIMILARITY,)))
    lying()
    await taken(evaluation_of(library, metrics=(SIMILARITY,), seeds=(1,), folder="other"))
    with pytest.raises(ValueError, match=r"no runs of one plan: in other, the prompts respond_from_profile\.en"):
        merged([library.parent / "run", library.parent / "other"], library.parent / "all")


async def test_a_default_of_a_setting_that_changes_is_another_make(library: Path) -> None:
    one = evaluation_of(library).plan.made["vanilla"]
    other = one.model_copy(update={"settings": {**one.settings, "reply_tokens": 1}})
    before = one.settings["reply_tokens"]
    assert [*differences({"vanilla": one}, {"vanilla": other})] == [f"reply_tokens: {before} before, 1 now (vanilla)"]
    assert one.digest(["en"]) != other.digest(["en"])
    assert "chat_model" not in one.settings


def test_a_prompt_counts_for_those_who_are_asked_by_it_in_their_language() -> None:
    told = {name: contestant(name).making(EvaluationSettings(), ["en", "zh"]) for name in METHODS}
    assert {name for name, one in told.items() if "judge.en" in one.prompts} == {"amadeus", "ensemble"}
    assert not any(one.startswith("grade_") for of in told.values() for one in of.prompts)
    changed = {**told["amadeus"].prompts, "judge.zh": "another"}
    other = told["amadeus"].model_copy(update={"prompts": changed})
    assert other.digest(["en"]) == told["amadeus"].digest(["en"])
    assert other.digest(["zh"]) != told["amadeus"].digest(["zh"])
    assert len({one.code for one in told.values()}) == len(METHODS)


def test_a_server_does_not_say_what_it_runs() -> None:
    found = contestant("drmr").making(EvaluationSettings(server="http://127.0.0.1:1"), ["en"])
    assert (found.code, found.prompts) == ("", {})
    assert found.settings["rules"] == "paper"


@pytest.mark.parametrize(
    ("now", "same"),
    [
        ('"""Other words."""\nimport json\n\n\ndef graph(one):  # a comment\n    return json.dumps( one )\n', True),
        ("import json\n\n\ndef graph(one):\n    return json.dumps([one])\n", False),
    ],
)
def test_code_is_another_one_where_python_reads_it_so(tmp_path: Path, now: str, same: bool) -> None:
    def read(text: str) -> str:
        making.module_of.cache_clear()
        file = tmp_path / "mine.py"
        file.write_text(text, encoding="utf-8")
        return walked([str(file)], making.OURS)[0]

    before = read('"""Mine."""\nimport json\ndef graph(one):\n    "Say it."\n    return json.dumps(one)\n')
    assert (read(now) == before) == same


def test_a_flow_of_ones_own_is_made_of_its_package_and_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "gullery"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "talk.py").write_text("from . import words\nfrom dramaturg.nodes import reply\n")
    (package / "words.py").write_text("SAY = 'respond_from_profile'\n")
    monkeypatch.syspath_prepend(tmp_path)

    def read() -> tuple[str, frozenset[str]]:
        making.module_of.cache_clear()
        return walked(["gullery.talk"], (*making.OURS, "gullery"))

    before = read()
    assert {"respond_from_profile"} <= before[1]
    (package / "words.py").write_text("SAY = 'decline'\n")
    assert read()[0] != before[0]


def test_the_plan_is_read_again_as_it_was_written(library: Path) -> None:
    made = evaluation_of(library, methods=("ensemble", "drmr[revisions=0]")).plan.made
    again: Any = json.loads(json.dumps({name: one.model_dump(mode="json") for name, one in made.items()}))
    assert {name: Making.model_validate(one) for name, one in again.items()} == dict(made)
    assert made["drmr[revisions=0]"].settings["revisions"] == 0
