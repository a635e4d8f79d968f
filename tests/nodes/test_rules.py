"""One setting for all in which we deviate from a method's paper, and each of them alone."""

from typing import Any

import pytest

from dramaturg.evaluation.comparison import interviews
from dramaturg.evaluation.comparison.contestants import NAMES, Contestant, contestant, rules_of
from dramaturg.evaluation.interviews.asking import respondent_context
from dramaturg.nodes.part import part_context
from dramaturg.nodes.run import RoleContext, RunContext, by_rules, deviations
from dramaturg.workflows.methods import METHODS, context_type


class Deviating(RoleContext):
    ties: str = by_rules(paper="first", ours="nearest", description="Which of two alike comes first.")
    asked: int = 3


@pytest.mark.parametrize(
    ("given", "ties"),
    [
        ({}, "nearest"),
        ({"rules": "ours"}, "nearest"),
        ({"rules": "paper"}, "first"),
        ({"rules": "paper", "ties": "nearest"}, "nearest"),
        ({"ties": "first"}, "first"),
    ],
)
def test_rules_set_what_deviates_and_each_can_be_set_alone(given: dict[str, Any], ties: str) -> None:
    context = Deviating(**given)
    assert (context.ties, context.asked) == (ties, 3)


def test_deviations_are_listed_with_both_values() -> None:
    assert deviations(Deviating) == {"ties": ("first", "nearest")}
    assert Deviating.model_json_schema()["properties"]["ties"]["paper"] == "first"


def test_a_part_has_the_rules_of_the_flow_or_its_own() -> None:
    flow = RoleContext(rules="paper")
    assert part_context(Deviating, {}, flow, "part").ties == "first"
    assert part_context(Deviating, {"rules": "ours"}, flow, "part").ties == "nearest"


@pytest.mark.parametrize("name", METHODS)
def test_what_deviates_has_a_value_of_the_paper_that_the_setting_takes(name: str) -> None:
    kind = context_type(name)
    for one, (paper, ours) in deviations(kind).items():
        assert paper != ours
        assert getattr(kind(rules="paper"), one) == paper
        assert getattr(kind(**{one: paper}), one) == paper
        assert getattr(kind(), one) == ours


async def test_an_interview_of_a_published_method_goes_by_its_papers_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    deviating = Contestant("amadeus", "amadeus", {"rules": "paper"}, context_type("amadeus"))
    monkeypatch.setattr(interviews, "contestant", lambda name: deviating)
    asked = interviews.Interview(contestant="amadeus", role="ada", seed=0, inventory="four-letters", key="k", file="f")
    context = interviews.context_of(asked, RunContext(), "")
    assert respondent_context(context).rules == "paper"
    assert context.method_settings == {}


def test_an_evaluation_says_by_whose_rules_a_method_went() -> None:
    assert [rules_of(one) for one in ("amadeus", "amadeus-ours", "ordinary-rag", "lightrag", "my.flow:graph")] == [
        "paper",
        "ours",
        "paper",
        "",
        "",
    ]
    for name in METHODS:  # each redraws a reply by its rules
        assert contestant(name).context(RoleContext(), "ada", 1).rules == rules_of(name) != ""
        assert "redraws" in deviations(context_type(name))
    for name in ("amadeus", "role-rag", "emotional-rag", "id-rag", "drmr"):
        one = contestant(name)
        assert one.settings.get("rules", "paper") == "paper"
        assert bool(deviations(one.kind)) == ("rules" in one.settings)
        assert contestant(f"{name}-ours").settings["rules"] == "ours"


def test_naive_rag_is_compared_with_both_splitters_that_the_paper_may_mean() -> None:
    assert "naive-rag-acts" in NAMES
    one = contestant("naive-rag-acts")
    papers = deviations(context_type("amadeus"))
    assert (one.method, one.kind().splitter) == ("naive-rag", "fixed")  # type: ignore[attr-defined]
    assert one.settings == {name: papers[name][0] for name in ("splitter", "longest")}


def test_baselines_redraw_as_little_as_what_they_are_compared_with() -> None:
    for name in ("vanilla", "profile", "naive-rag", "crag", "role-gpt", "graph-rag-local", "generative-agents"):
        assert contestant(name).context(RoleContext(), "ada", 1).redraws == 0  # type: ignore[attr-defined]
    assert contestant("ensemble").context(RoleContext(), "ada", 1).redraws == 2  # type: ignore[attr-defined]
