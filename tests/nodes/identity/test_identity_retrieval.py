"""The search of ID-RAG over a chronicle: the paper's rule, and that of its released code."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.identity.retrieval import RelationalTriple, search_chronicle

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
ADA: list[RelationalTriple] = [
    ("Ada", "is", "keeper of the light"),
    ("Ada", "values", "A light that never fails"),
    ("Ada", "values", "Silence"),
    ("Ada", "believes", "The sea takes the careless"),
    ("Ada", "likes", "Storms at night"),
    ("Ada", "likes", "Strong tea"),
    ("Ada", "fears", "A calm sea"),
]
IS, LIGHT, SILENCE, CARELESS, STORMS, TEA, CALM = ADA
RELATIONS = st.sampled_from(["is", "values", "believes", "likes", "fears", "none"])
STRATEGIES = st.fixed_dictionaries(
    {
        "high_priority": st.lists(RELATIONS, max_size=3),
        "medium_priority": st.lists(RELATIONS, max_size=3),
        "keywords": st.lists(st.sampled_from(["sea", "LIGHT", "tea", "moon", ""]), max_size=3),
    }
)


@pytest.mark.parametrize(
    ("strategy", "wanted", "found"),
    [
        ({"high_priority": ["values"]}, 4, [LIGHT, SILENCE]),
        ({"high_priority": ["likes", "values"]}, 1, [LIGHT, SILENCE, STORMS, TEA]),  # all of high priority
        ({"high_priority": ["fears"], "medium_priority": ["values", "likes"]}, 3, [CALM, LIGHT, SILENCE]),
        ({"high_priority": ["values"], "medium_priority": ["values", "is"]}, 9, [LIGHT, SILENCE, IS]),
        ({"medium_priority": ["likes"]}, 1, [STORMS]),
        ({"high_priority": ["is"], "keywords": ["sea"]}, 5, [IS]),  # something was found: no keywords
        ({"high_priority": ["hates"], "keywords": ["SEA"]}, 5, [CARELESS, CALM]),
        ({"keywords": ["sea", "light"]}, 2, [IS, LIGHT]),
        ({"keywords": [""]}, 5, []),
        ({}, 5, []),
    ],
)
def test_the_papers_rule(strategy: dict[str, list[str]], wanted: int, found: list[RelationalTriple]) -> None:
    assert search_chronicle(ADA, strategy, wanted=wanted) == found


@pytest.mark.parametrize(
    ("strategy", "found"),
    [
        ({"high_priority": ["is"], "medium_priority": ["values", "likes"]}, [IS, LIGHT, SILENCE, STORMS, TEA]),
        ({"high_priority": ["values", "is"], "medium_priority": ["fears"]}, [IS, LIGHT, SILENCE]),  # three are enough
        ({"high_priority": ["is"], "keywords": ["sea"]}, [IS, CARELESS, CALM]),  # keywords beside one hit
        ({"high_priority": ["values"], "keywords": ["sea"]}, [LIGHT, SILENCE]),  # not beside two
        ({"high_priority": ["is", "values", "believes", "likes", "fears"]}, ADA[:6]),  # never the seventh
    ],
)
def test_the_rule_of_the_released_code(strategy: dict[str, list[str]], found: list[RelationalTriple]) -> None:
    assert search_chronicle(ADA, strategy, wanted=1, rule="released") == found


@given(STRATEGIES, st.integers(1, 9))
def test_what_always_holds_of_the_papers_rule(strategy: dict[str, list[str]], wanted: int) -> None:
    found = search_chronicle(ADA, strategy, wanted=wanted)
    high = [one for one in ADA if one[1] in strategy["high_priority"]]
    medium = [one for one in ADA if one[1] in strategy["medium_priority"] and one not in high]
    assert found[: len(high)] == high
    assert len(set(found)) == len(found) <= max(wanted, len(high))
    assert set(found) <= set(ADA)
    if high or medium:
        assert set(found) <= {*high, *medium}
        assert len(found) == max(len(high), min(wanted, len(high) + len(medium)))


@given(STRATEGIES)
def test_the_released_rule_never_gives_more_than_six_and_none_twice(strategy: dict[str, list[str]]) -> None:
    found = search_chronicle(ADA * 2, strategy, wanted=1, rule="released")
    assert len(set(found)) == len(found) <= 6


@pytest.mark.parametrize(
    ("strategy", "wanted", "rule", "problem"),
    [
        ({"high_priority": ["is"]}, 0, "paper", "At least one triple"),
        ({"high_priority": ["is"]}, 3, "mine", "There is no rule 'mine'"),
        ({"high": ["is"]}, 3, "paper", "and no 'high'"),
        ({"keywords": "sea"}, 3, "paper", "keywords of a search strategy must be a list"),
        ({"medium_priority": [1]}, 3, "released", "medium_priority of a search strategy must be a list"),
    ],
)
def test_what_is_no_strategy_is_refused_with_the_reason(strategy: Any, wanted: int, rule: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        search_chronicle(ADA, strategy, wanted=wanted, rule=rule)


def test_a_triple_that_is_there_twice_counts_once() -> None:
    strategy = {"high_priority": ["is"], "medium_priority": ["values"]}
    assert search_chronicle([IS, IS, LIGHT, LIGHT, SILENCE], strategy, wanted=3) == [IS, LIGHT, SILENCE]


def test_no_triples_have_no_hits() -> None:
    assert search_chronicle([], {"high_priority": ["is"], "keywords": ["a"]}, wanted=3) == []


@pytest.mark.skipif(not SHARED, reason="set DRAMATURG_SHARED_DATA to the folder of shared data")
def test_the_cases_that_the_released_code_was_run_on() -> None:
    folder = Path(SHARED or "") / "humanai_agents"
    triples = [tuple(one) for one in json.loads((folder / "alice.json").read_text(encoding="utf-8"))["triples"]]
    cases = json.loads((folder / "search_cases_alice.json").read_text(encoding="utf-8"))
    assert len(cases) == 12
    for case in cases:
        found = search_chronicle(triples, case["strategy"], wanted=6, rule="released")  # type: ignore[arg-type]
        assert [list(one[1:]) for one in found] == case["released_code_triples"]
