"""Algorithm 1 without a model: groups are the connected components, candidates the nearest of those before."""

import random
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.graph.merging import pairs_of
from dramaturg.nodes.graph.normalization import (
    EntityMatch,
    Named,
    candidate_pairs,
    groups_with_decisions,
    in_former_order,
    merge_groups,
)
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.graph import embedding_text
from dramaturg.stores.index.vectors import unit_rows
from dramaturg.stores.names import normal_name

from property_settings import property_settings

quickly = property_settings(60)
KEYS = [chr(ord("a") + at) for at in range(9)]
names_lists = st.lists(st.sampled_from(KEYS), min_size=1, max_size=12)


@st.composite
def names_and_pairs(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, str]]]:
    names = draw(names_lists)
    one = st.sampled_from(names)
    return names, draw(st.lists(st.tuples(one, one), max_size=12))


@st.composite
def edges_and_decisions(draw: st.DrawFn) -> tuple[list[EntityMatch], list[list[str]]]:
    one, sure = st.sampled_from(KEYS), st.none() | st.floats(0, 1)
    edges = draw(st.lists(st.builds(EntityMatch, one, one, sure, sure), max_size=14))
    owners = draw(st.lists(st.integers(0, 4), min_size=len(KEYS), max_size=len(KEYS)))
    decided = [[key.upper() for key, owner in zip(KEYS, owners, strict=True) if owner == at] for at in range(3)]
    return edges, decided


def as_sets(groups: Iterable[Sequence[str]]) -> set[frozenset[str]]:
    return {frozenset(group) for group in groups}


def named(count: int) -> list[Named]:
    return [Named(str(at), f"Name {at}", "") for at in range(count)]


def exact_units(count: int, seed: int) -> np.ndarray:
    """Corners and faces of a small cube: many are equal, and their products have no rounding."""
    chance = np.random.default_rng(seed)
    corners, faces = chance.choice([-0.5, 0.5], size=(count, 4)), np.eye(4)[chance.integers(4, size=count)]
    return np.where(chance.random((count, 1)) < 0.5, corners, faces).astype(np.float32)


# merge_groups


@quickly
@given(names_and_pairs())
def test_groups_are_the_connected_components(found: tuple[list[str], list[tuple[str, str]]]) -> None:
    names, same = found
    groups = merge_groups(names, same)
    graph: nx.Graph = nx.Graph(same)
    graph.add_nodes_from(names)
    assert as_sets(groups) == as_sets(nx.connected_components(graph))
    assert sorted(name for group in groups for name in group) == sorted(set(names))


@quickly
@given(names_and_pairs())
def test_groups_and_names_are_in_order_of_first_appearance(found: tuple[list[str], list[tuple[str, str]]]) -> None:
    names, same = found
    groups = merge_groups(names, same)
    assert all(group == sorted(group, key=names.index) for group in groups)
    assert groups == sorted(groups, key=lambda group: names.index(group[0]))


@quickly
@given(names_and_pairs(), st.randoms(use_true_random=False))
def test_groups_do_not_depend_on_order_or_direction_of_pairs(
    found: tuple[list[str], list[tuple[str, str]]], chance: random.Random
) -> None:
    names, same = found
    turned = [pair[::-1] if chance.random() < 0.5 else pair for pair in same]
    chance.shuffle(turned)
    assert merge_groups(names, iter(turned + turned)) == merge_groups(names, same)


@pytest.mark.parametrize(
    ("names", "same", "groups"),
    [
        ([], [], []),
        (["b", "a", "b"], [], [["b"], ["a"]]),
        (["a"], [("a", "a")], [["a"]]),
        (["a", "b", "c", "d"], [("d", "b"), ("b", "d")], [["a"], ["b", "d"], ["c"]]),
        (["a", "b", "c", "d"], [("c", "d"), ("d", "a")], [["a", "c", "d"], ["b"]]),
        (["A", "a"], [], [["A"], ["a"]]),
    ],
)
def test_groups(names: list[str], same: list[tuple[str, str]], groups: list[list[str]]) -> None:
    assert merge_groups(names, same) == groups


@pytest.mark.parametrize("pair", [("a", "x"), ("x", "a"), ("x", "x")])
def test_a_pair_with_an_unknown_name_is_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"'x', which is not among the names"):
        merge_groups(["a", "b"], [("a", "b"), pair])


def test_a_long_chain_is_one_group() -> None:
    names = [str(at) for at in range(5000)]
    assert merge_groups(names, zip(names[1:], names, strict=False)) == [names]


# candidate_pairs


@quickly
@given(st.integers(1, 12), st.integers(1, 15), st.integers(0, 99))
def test_candidates_are_the_nearest_of_those_before(count: int, k: int, seed: int) -> None:
    rows = exact_units(count, seed)
    scores = rows @ rows.T
    nearest = (np.argsort(-scores[at, :at], kind="stable")[:k] for at in range(count))
    wanted = [(at, int(other)) for at, others in enumerate(nearest) for other in others]
    entities = named(count)
    pairs = candidate_pairs(entities, rows, k)
    assert [(int(pair.other.key), int(pair.one.key)) for pair in pairs] == wanted
    assert [pair.similarity for pair in pairs] == [scores[pair] for pair in wanted]


@quickly
@given(st.integers(1, 12), st.integers(1, 15))
def test_how_many_pairs_there_are_does_not_depend_on_the_vectors(count: int, k: int) -> None:
    pairs = candidate_pairs(named(count), exact_units(count, 1), k)
    assert len(pairs) == sum(min(at, k) for at in range(count))
    assert len({frozenset([pair.one.key, pair.other.key]) for pair in pairs}) == len(pairs)


def test_the_first_has_no_candidate_and_equal_ones_are_in_order() -> None:
    entities = named(4)
    pairs = candidate_pairs(entities, unit_rows(np.ones((4, 2))), 2)
    found = [(pair.other.key, pair.one.key) for pair in pairs]
    assert found == [("1", "0"), ("2", "0"), ("2", "1"), ("3", "0"), ("3", "1")]
    assert candidate_pairs(entities[:1], unit_rows(np.ones((1, 2))), 3) == []


def test_more_neighbours_than_there_are_gives_all_pairs() -> None:
    assert len(candidate_pairs(named(6), exact_units(6, 3), 1000)) == 15


# groups_with_decisions


@quickly
@given(edges_and_decisions())
def test_where_nothing_is_decided_edges_decide(found: tuple[list[EntityMatch], list[list[str]]]) -> None:
    edges, _ = found
    groups = merge_groups(KEYS, [edge[:2] for edge in edges])
    assert groups_with_decisions(KEYS, edges, []) == groups_with_decisions(KEYS, edges, [[], ["nobody"]]) == groups


@quickly
@given(edges_and_decisions())
def test_no_edge_overrules_what_is_decided(found: tuple[list[EntityMatch], list[list[str]]]) -> None:
    edges, decided = found
    groups = groups_with_decisions(KEYS, edges, decided)
    assert sorted(key for group in groups for key in group) == KEYS
    for group in filter(None, decided):
        holding = [one for one in groups if set(one) & {key.lower() for key in group}]
        assert len(holding) == 1  # kept together
        assert {key.lower() for key in group} <= set(holding[0])
        for other in decided:
            assert other is group or not {key.lower() for key in other} & set(holding[0])  # and apart from the others


@quickly
@given(edges_and_decisions())
def test_an_edge_is_left_out_only_for_a_decision(found: tuple[list[EntityMatch], list[list[str]]]) -> None:
    edges, decided = found
    group_of = {key: at for at, group in enumerate(groups_with_decisions(KEYS, edges, decided)) for key in group}
    owned = {group_of[key.lower()] for group in decided for key in group}
    for edge in edges:
        one, other = group_of[edge.one], group_of[edge.other]
        assert one == other or {one, other} <= owned


def test_the_less_certain_edge_gives_in() -> None:
    decided = [["a"], ["c"]]
    sure, unsure = EntityMatch("a", "b", 0.2, 0.9), EntityMatch("b", "c", 0.9, 0.6)
    assert groups_with_decisions("abc", [unsure, sure], decided) == [["a", "b"], ["c"]]
    assert groups_with_decisions("abc", [sure._replace(certainty=0.5), unsure], decided) == [["a"], ["b", "c"]]
    chained = [EntityMatch("a", "b", 0.9), EntityMatch("b", "d", 0.8), EntityMatch("d", "c", 0.7)]
    assert groups_with_decisions("abcd", chained, decided) == [["a", "b", "d"], ["c"]]


def test_a_chain_that_holds_a_no_is_cut_at_its_weakest_edge() -> None:
    chain = [EntityMatch("a", "b", 0.5, 0.9), EntityMatch("b", "c", 0.9, 0.8), EntityMatch("c", "d", 0.5, 0.95)]
    cut = partial(groups_with_decisions, "abcd", decided=[])
    assert cut(chain, refused=[]) == [["a", "b", "c", "d"]]
    assert cut(chain, refused=[("d", "a")]) == [["a", "b"], ["c", "d"]]
    assert cut(chain, refused=[("a", "c")]) == [["a", "b"], ["c", "d"]]
    assert cut(chain, refused=[("b", "d")]) == [["a", "b"], ["c", "d"]]
    round_it = [*chain, EntityMatch("a", "d", 0.5, 0.7)]
    assert cut(round_it, refused=[("a", "c")]) == [["a", "b"], ["c", "d"]]
    assert groups_with_decisions("abcd", chain, [["a", "d"]], [("d", "a")]) == [["a", "b", "c", "d"]]  # decided


@quickly
@given(edges_and_decisions(), st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(KEYS)), max_size=6))
def test_no_edge_joins_what_a_no_holds_apart(
    found: tuple[list[EntityMatch], list[list[str]]], refused: list[tuple[str, str]]
) -> None:
    edges, decided = [edge._replace(similarity=edge.similarity or 0.0) for edge in found[0]], found[1]
    whole = {key: at for at, names in enumerate(groups_with_decisions(KEYS, edges, decided)) for key in names}
    groups = groups_with_decisions(KEYS, edges, decided, refused)
    group = {key: at for at, names in enumerate(groups) for key in names}
    owner = {key.lower(): at for at, names in enumerate(decided) for key in names}
    for one, other in refused:
        assert one == other or group[one] != group[other] or one in owner  # a person may have joined them
    for names in groups if not any(decided) else ():
        assert len({whole[key] for key in names}) == 1


def test_decided_names_need_no_edge_and_their_spelling_does_not_count() -> None:
    assert groups_with_decisions(["tom quill", "ann", "tom"], [], [["Tom", "  TOM  Quill"]]) == [
        ["tom quill", "tom"],
        ["ann"],
    ]


# Order and names


def test_entities_that_were_compared_before_come_first() -> None:
    entities = named(5)
    ordered = in_former_order(entities, ["3", "gone", "1"], lambda entity: entity.key)
    assert [entity.key for entity in ordered] == ["3", "1", "0", "2", "4"]
    assert in_former_order(entities, [], lambda entity: entity.key) == entities


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("  Tom\t Quill. ", "tom quill"),
        ("“Tom”", "tom"),
        ("ＴＯＭ", "tom"),
        ("Straße", "strasse"),
        ("《命运》交响曲", "命运》交响曲"),
        ("J. S. Bach", "j. s. bach"),
        ("...", "..."),
        ("Σίσυφος", "σίσυφοσ"),
    ],
)
def test_normal_name(name: str, key: str) -> None:
    assert normal_name(name) == key


@quickly
@given(st.text(max_size=20))
def test_a_normal_name_stays_as_it_is(name: str) -> None:
    assert normal_name(normal_name(name)) == normal_name(name)
    assert normal_name(f" {name}\n") == normal_name(name)


@pytest.mark.parametrize(
    ("place", "entry"), [(None, "Ada: A keeper."), (("life.md", 0, 9), "Ada (person)")], ids=["described", "quoted"]
)
def test_a_model_compares_descriptions_and_types_where_a_sentence_was_quoted(place: Any, entry: str) -> None:
    one = Named("ada", "Ada", "A keeper.", place, "person")
    assert one.entry == entry
    assert one.text == embedding_text("Ada", "A keeper.")


@pytest.mark.parametrize(("least", "asked"), [(0.5, 1), (0.51, 0)])
async def test_a_pair_just_as_near_as_it_must_be_is_asked_about(tmp_path: Path, least: float, asked: int) -> None:
    async def embedded(_: Sequence[str]) -> np.ndarray:
        return np.array([[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5]], dtype=np.float32)

    role = SimpleNamespace(root=tmp_path, card=RoleCard(name="Ada", language="en"))
    settings = SimpleNamespace(neighbours=3, least_similarity=least)
    run = SimpleNamespace(role=role, settings=settings, opened=SimpleNamespace(at_hand={}))
    build: Any = SimpleNamespace(run=run, embedded=embedded)
    assert len(await pairs_of(named(2), build)) == asked
