"""Settings of a knowledge graph: what each changes in the graph, or in what a chat model is asked for it."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dramaturg.nodes.graph.index import check_graph
from dramaturg.stores.role import Role
from dramaturg.testing import FirstToken

from fakes import weighing, yes_with
from graph_roles import (
    JORY,
    TOM,
    asked,
    compared,
    graph_actor,
    graph_role,
    groups,
    index,
    means_same,
    part,
    served,
    settings,
)
from passage_samples import quick
from roles import fenced

pytestmark = pytest.mark.sample_of_file(2)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return graph_role(tmp_path)


@pytest.mark.parametrize(
    ("probability", "given", "together"),
    [
        (0.7, {}, True),
        (0.7, {"same_above": 0.69}, True),
        (0.7, {"same_above": 0.71}, False),
        (0.4, {}, False),
        (0.4, {"same_above": 0.39}, True),
    ],
)
async def test_same_above_says_from_which_probability_two_names_are_one(
    role: Role, probability: float, given: dict[str, float], together: bool
) -> None:
    def weighed(text: str) -> FirstToken | None:
        if part(text) != "same":
            return None
        return yes_with(probability if means_same(fenced("one", text), fenced("other", text)) else 0.1)

    await index(role, weighing(graph_actor(weighed)), **given)
    merged = {group for group in groups(role) if len(group) > 1}
    assert merged == ({TOM, JORY} if together else set())


async def test_least_similarity_leaves_out_names_that_are_not_alike(role: Role) -> None:
    questions: list[Counter[frozenset[str]]] = []
    for least in (-1, 0.5, 1):
        model = graph_actor()
        await index(role, model, {"rebuild": True}, least_similarity=least)
        questions.append(compared(model))
    every, near, none = questions
    assert not none
    assert near
    assert near < every
    assert not {group for group in groups(role) if len(group) > 1}


async def test_summarize_above_leaves_short_descriptions_as_they_are(role: Role) -> None:
    lengths = []
    for above in (None, 0, 150, 10_000):
        model = graph_actor()
        await index(role, model, {"rebuild": True}, summarize_above=above)
        summaries = [fenced("facts", text) for text in asked(model, "summary")]
        lengths.append([sum(len(line.removeprefix("- ")) for line in told.split("\n")) for told in summaries])
    usual, every, some, none = lengths
    assert sorted(usual) == sorted(every)
    assert sorted(some) == sorted(length for length in every if length > 150)
    assert 0 < len(some) < len(every)
    assert not none
    description = served(role).entity(served(role).find("Tom") or "").description
    assert "In short" not in description
    assert "Note: Tom sails the Petrel." in description


@pytest.mark.parametrize(("given", "most"), [({}, 300), ({"description_tokens": 33}, 33)])
async def test_description_tokens_bound_a_summary(role: Role, given: dict[str, int], most: int) -> None:
    model = graph_actor()
    await index(role, model, **given)
    bounds = {call.parameters["max_tokens"] for call in model.calls if part(call.text) == "summary"}
    assert bounds == {most}


TWO = {"Tom Quill", "Her brother"}


def named_in(text: str) -> set[str]:
    """The names of the two entries of a question."""
    return {fenced(tag, text).split(":")[0] for tag in ("one", "other")}


@pytest.mark.parametrize("holds_a_no", [False, True])
async def test_a_graph_without_a_no_is_the_same_by_the_rules_of_the_paper(role: Role, holds_a_no: bool) -> None:
    no = "no" if holds_a_no else "yes"
    await index(role, graph_actor(lambda text: no if part(text) == "same" and named_in(text) >= TWO else None))
    stale = {}
    for rules in ("paper", "ours"):
        runtime: Any = SimpleNamespace(context=settings(role, graph_actor(), rules=rules))
        found = await check_graph({"graph_stale": False}, runtime)
        stale[rules] = found["graph_stale"]
    assert stale == {"paper": holds_a_no, "ours": False}
