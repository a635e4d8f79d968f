"""The neighbourhood of triples in the identity graph."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.documents.chronicle import around
from dramaturg.stores.documents.forms import Triple


def triple(subject: str, relation: str, thing: str) -> Triple:
    return Triple(subject=subject, relation=relation, object=thing, kind="experience")


OWNS = triple("Ada", "owns", "the lamp")
SOLD = triple("Mr Pike", "sold", "the lamp")
BUYS = triple("Mr Pike", "buys_of", "Leith")
TOM = triple("Tom", "sails_to", "Leith")
FEARS = triple("Ada", "fears", "a calm sea")
ADA = [FEARS, TOM, OWNS, BUYS, SOLD]


@pytest.mark.parametrize(
    ("hops", "found"),
    [(0, []), (1, [SOLD]), (2, [BUYS, SOLD]), (3, [TOM, BUYS, SOLD]), (9, [TOM, BUYS, SOLD])],
)
def test_a_hop_leads_through_things_whichever_way_triples_point(hops: int, found: list[Triple]) -> None:
    assert around(ADA, [OWNS], hops, ["Ada"]) == found
    assert around(ADA, [FEARS], hops, ["Ada"]) == []


def test_nothing_spreads_through_a_hub_and_all_through_who_is_none() -> None:
    assert around(ADA, [FEARS], 1) == [OWNS]
    assert around(ADA, [OWNS], 1) == [FEARS, SOLD]
    assert around(ADA, [SOLD], 1, ["Mr Pike", "Ada"]) == [OWNS]
    assert around(ADA, [SOLD], 5, ["the lamp", "Mr Pike"]) == []


def test_where_nothing_else_is_near_as_much_as_there_is_room_for_is_found_through_a_hub_nearest_first() -> None:
    assert around(ADA, [FEARS], 2, ["Ada"], room=1) == [OWNS]
    assert around(ADA, [FEARS], 2, ["Ada"], room=5) == [OWNS, SOLD]
    assert around(ADA, [OWNS], 1, ["Ada"], room=5) == [SOLD]


def test_a_hub_that_is_in_no_triple_is_no_matter() -> None:
    assert around([OWNS, SOLD], [OWNS], 1, ["Nobody"]) == [SOLD]
    assert around([], [], 3, ["Ada"]) == []


def test_a_hub_of_hundreds_of_triples_leads_to_none_of_them() -> None:
    many = [triple("Ada", "likes", f"thing {number}") for number in range(600)]
    assert around(many, many[::2], 2, ["Ada"]) == []


def test_less_than_no_hops_is_refused() -> None:
    with pytest.raises(ValueError, match="0 hops or more, not -1"):
        around(ADA, [OWNS], -1)


THINGS = st.sampled_from("abcdef")
TRIPLES = st.lists(st.builds(triple, THINGS, st.sampled_from(["likes", "owns"]), THINGS), max_size=12)


@given(TRIPLES, st.data(), st.sets(THINGS, max_size=2))
def test_more_hops_find_no_less_in_order_and_nothing_that_was_found(
    triples: list[Triple], data: st.DataObject, hubs: set[str]
) -> None:
    found = [one for one in triples if data.draw(st.booleans())]
    layers = [around(triples, found, hops, hubs) for hops in range(5)]
    assert layers[0] == []
    for fewer, more in pairwise(layers):
        assert all(one in more for one in fewer)
        assert not [one for one in more if one in found]
        assert more == [one for one in triples if one in more]
        assert all({one.subject, one.object} - hubs for one in more)
