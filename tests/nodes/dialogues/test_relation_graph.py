"""The best clique beside networkx's enumeration of the whole graph, by hand, and on dialogues of real series."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import fsum, inf, nan
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.dialogues.relations import best_clique, roles_near

from property_settings import property_settings

Edges = list[tuple[str, str, float]]

SHARED = os.environ.get("DRAMATURG_SHARED_DATA")
NAMES = "abcdefghij"
quickly = property_settings(150)
few = st.integers(-2, 3)  # many ties
whole = st.integers(-1000, 1000)
any_score = st.one_of(few, whole, st.floats(-5, 5, allow_nan=False))


@st.composite
def graphs(draw: st.DrawFn, scores: st.SearchStrategy[float] = any_score) -> Edges:
    """Edges between some of ten roles, each once."""
    pairs = draw(st.lists(st.sampled_from([*combinations(NAMES, 2)]), unique=True, max_size=45))
    return [(one, other, draw(scores)) for one, other in pairs]


def by_enumeration(edges: Edges, user: str, model: str) -> list[str]:
    """The same from all maximal cliques of the whole graph."""
    graph: nx.Graph[str] = nx.Graph()
    graph.add_weighted_edges_from(edges)
    found = [sorted(clique) for clique in nx.find_cliques(graph) if {user, model} <= {*clique}]
    return min(found, key=lambda roles: (-total(edges, roles), -len(roles), roles), default=[])


def total(edges: Edges, roles: Sequence[str]) -> float:
    """The sum of the scores between roles."""
    return fsum(score for one, other, score in edges if {one, other} <= {*roles})


def scored(score: float, *pairs: str) -> Edges:
    """Edges that all have one score; "ab" joins a and b."""
    return [(pair[0], pair[1], score) for pair in pairs]


def complete(roles: Iterable[str], score: float) -> Edges:
    """All edges between roles."""
    return [(one, other, score) for one, other in combinations(roles, 2)]


# Beside the enumeration of the whole graph


@quickly
@given(graphs())
def test_it_is_the_best_of_all_maximal_cliques_that_hold_both(edges: Edges) -> None:
    for user, model in combinations(NAMES[:4], 2):
        assert best_clique(edges, user, model) == by_enumeration(edges, user, model)


@quickly
@given(graphs(few), st.data())
def test_neither_order_nor_direction_matters(edges: Edges, data: st.DataObject) -> None:
    mixed = [(other, one, score) if data.draw(st.booleans()) else (one, other, score) for one, other, score in edges]
    mixed = data.draw(st.permutations(mixed))
    assert best_clique(mixed, "a", "b") == best_clique(edges, "a", "b") == best_clique(edges, "b", "a")


@quickly
@given(graphs())
def test_it_is_a_maximal_clique_and_sorted(edges: Edges) -> None:
    joined = {frozenset(edge[:2]) for edge in edges}
    roles = best_clique(edges, "a", "b")
    assert bool(roles) == (frozenset("ab") in joined)
    assert roles == sorted({*roles})
    assert all(frozenset(pair) in joined for pair in combinations(roles, 2))
    for other in {*NAMES} - {*roles} if roles else set():
        assert not all(frozenset((other, role)) in joined for role in roles)


@quickly
@given(graphs(), st.data())
def test_scores_of_edges_that_a_turn_does_not_ask_for_change_nothing(edges: Edges, data: st.DataObject) -> None:
    near = roles_near([(one, other) for one, other, _ in edges], "a", "b")
    asked = [(one, other, score if {one, other} <= near else data.draw(any_score)) for one, other, score in edges]
    assert best_clique(asked, "a", "b") == by_enumeration(edges, "a", "b")


@quickly
@given(graphs(), graphs())
def test_of_an_edge_that_is_there_again_the_last_counts(before: Edges, edges: Edges) -> None:
    last = {frozenset(edge[:2]): edge for edge in [*before, *edges]}
    assert best_clique([*before, *edges], "a", "b") == best_clique([*last.values()], "a", "b")


def test_any_iterable_of_edges_will_do() -> None:
    assert best_clique(iter(scored(1, "ab", "bc", "ac")), "a", "b") == ["a", "b", "c"]


# By hand


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (scored(5, "ac", "bc"), []),  # they never spoke
        (scored(1, "ab"), ["a", "b"]),
        (scored(1, "ab", "ac", "bd", "cd"), ["a", "b"]),  # nobody speaks with both
        (scored(1, "ab", "ac", "bc"), ["a", "b", "c"]),
        (scored(1, "ab", "ac", "bc", "ad", "bd", "cd"), ["a", "b", "c", "d"]),
        (scored(1, "ab", "ac", "bc") + scored(4, "ad", "bd"), ["a", "b", "d"]),  # c and d never spoke
        (scored(0, "ab", "ac", "bc") + scored(0, "ad", "bd", "cd"), ["a", "b", "c", "d"]),
    ],
)
def test_cliques_by_hand(edges: Edges, expected: list[str]) -> None:
    assert best_clique(edges, "a", "b") == best_clique(edges, "b", "a") == expected


def test_the_sum_decides_and_not_the_size() -> None:
    edges = [*scored(5, "ab", "ac", "bc"), *complete("xyz", 1), *scored(1, "ax", "ay", "az", "bx", "by", "bz")]
    assert best_clique(edges, "a", "b") == ["a", "b", "c"]  # 15 against 5 + 9
    more = [(one, other, 2 * score if score == 1 else score) for one, other, score in edges]
    assert best_clique(more, "a", "b") == ["a", "b", "x", "y", "z"]  # 5 + 18


def test_of_two_with_one_sum_the_larger_is_taken() -> None:
    edges = [*scored(3, "ac", "bc"), *scored(2, "ad", "bd"), *scored(1, "ae", "be"), ("d", "e", 0.0), ("a", "b", 1.0)]
    assert best_clique(edges, "a", "b") == ["a", "b", "d", "e"]  # both 7


def test_of_two_as_large_the_first_by_name_is_taken() -> None:
    for third, fourth in (("c", "d"), ("d", "c")):
        edges = scored(2, "ab", f"a{third}", f"b{third}", f"a{fourth}", f"b{fourth}")
        assert best_clique(edges, "a", "b") == ["a", "b", "c"]


def test_sums_do_not_depend_on_the_order_of_adding() -> None:
    """0.3 + 0.1 + 0.2 would be more than 0.3 + 0.2 + 0.1."""
    edges = [("a", "b", 0.3), ("a", "c", 0.2), ("b", "c", 0.1), ("a", "d", 0.1), ("b", "d", 0.2)]
    assert best_clique(edges, "a", "b") == best_clique(edges[::-1], "a", "b") == ["a", "b", "c"]


def test_negative_scores_count_and_the_clique_stays_maximal() -> None:
    edges = scored(-1, "ab", "ac", "bc")
    assert best_clique(edges, "a", "b") == ["a", "b", "c"]  # {a, b} is worth more, and no maximal clique
    assert best_clique([*edges, *scored(-2, "ad", "bd")], "a", "b") == ["a", "b", "c"]
    assert best_clique([*edges, *scored(5, "ad"), *scored(-6.5, "bd")], "a", "b") == ["a", "b", "d"]


def test_names_that_nobody_knows_have_no_clique() -> None:
    edges = scored(1, "ab", "ac", "bc")
    for user, model in (("x", "a"), ("a", "x"), ("x", "y"), ("", "a")):
        assert best_clique(edges, user, model) == best_clique([], user, model) == []


def test_of_two_edges_between_two_roles_the_last_counts() -> None:
    edges = [*scored(1, "ab", "ac", "bc"), *scored(2, "ad", "bd")]
    assert best_clique(edges, "a", "b") == ["a", "b", "d"]
    assert best_clique([*edges, ("c", "a", 4.0)], "a", "b") == ["a", "b", "c"]
    assert best_clique([("c", "a", 4.0), *edges], "a", "b") == ["a", "b", "d"]


# What is refused

REFUSED = [
    ([("a", "a", 1.0)], "b", "An edge joins two roles and has a finite score"),
    ([("a", "b", nan)], "b", "An edge joins two roles and has a finite score"),
    ([("a", "b", inf)], "b", "An edge joins two roles and has a finite score"),
    ([("c", "d", -inf)], "b", "An edge joins two roles and has a finite score"),
    ([("a", "b", 1.0)], "a", "play two roles, not 'a' twice"),
    ([], "a", "play two roles, not 'a' twice"),
]


@pytest.mark.parametrize(("edges", "model", "why"), REFUSED)
def test_what_is_no_relation_is_refused(edges: Edges, model: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        best_clique(edges, "a", model)


@pytest.mark.crash
def test_it_is_refused_without_asserts_too() -> None:
    script = (
        "from math import inf, nan\n"
        "from dramaturg.nodes.dialogues.relations import best_clique, roles_near\n"
        f"for edges, model, why in {REFUSED!r}:\n"
        "    try:\n"
        "        print(best_clique(edges, 'a', model))\n"
        "    except ValueError as error:\n"
        "        print(why in str(error))\n"
    )
    run = subprocess.run([sys.executable, "-O", "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True"] * len(REFUSED)


# Dialogues of two series, from the public data of CharacterEval


@pytest.mark.skipif(not SHARED, reason="DRAMATURG_SHARED_DATA is not set")
def test_the_relation_graphs_of_charactereval() -> None:
    file = Path(SHARED or "") / "charactereval" / "relation_graphs.json"
    if not file.is_file():
        pytest.skip("the file of relation graphs is not there")
    compared = 0
    for graph in json.loads(file.read_text(encoding="utf-8")).values():
        edges = [(one, other, score) for one, other, score, *_ in graph["edges"]]
        for pair, best in graph["best_clique_for_pair"].items():
            user, model = pair.split("|")
            found = best_clique(edges, user, model)
            assert total(edges, found) == best["score"], pair
            assert found == min((sorted(one) for one in best["cliques"]), key=lambda roles: (-len(roles), roles)), pair
            compared += 1
    assert compared > 100
