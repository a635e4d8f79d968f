"""The role memory, and attributes traced to the passages that show them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dramaturg.nodes.passages.attributes import Attribute, attributes_in, findings, updated_memory
from dramaturg.stores.index.passages import StoredPassage

texts = st.text("abAB", min_size=1, max_size=3)


def attribute(text: str, passage: str = "p") -> Attribute:
    return {"role": "ada", "kind": "psychological_trait", "attribute": text, "passage": passage}


def passages(*ids: str) -> list[StoredPassage]:
    return [StoredPassage(id=name, text=name, source="life.md", start=0, end=1) for name in ids]


@given(st.lists(texts, max_size=12), st.lists(texts, max_size=12), st.integers(0, 10))
def test_a_role_memory_is_bounded_and_holds_nothing_twice(old: list[str], new: list[str], most: int) -> None:
    memory = updated_memory([], list(map(attribute, old)), 100)
    after = updated_memory(memory, list(map(attribute, new)), most)
    names = [a["attribute"].casefold() for a in after]
    assert len(after) <= most
    assert len(set(names)) == len(names)
    assert set(names) <= {name.casefold() for name in [*old, *new]}
    if most >= len({name.casefold() for name in [*old, *new]}):
        assert set(names) == {name.casefold() for name in [*old, *new]}


def test_the_oldest_is_forgotten_first_and_what_shows_again_is_new_again() -> None:
    memory = [attribute("a", "1"), attribute("b", "2"), attribute("c", "3")]
    after = updated_memory(memory, [attribute("A", "4"), attribute("d", "5")], 3)
    assert [(a["attribute"], a["passage"]) for a in after] == [("c", "3"), ("A", "4"), ("d", "5")]


def test_an_attribute_has_the_passage_that_shows_it() -> None:
    answer = findings(2).model_validate(
        {
            "belief_and_value": [{"attribute": " Art is a duty. ", "passage": 2}],
            "psychological_traits": [{"attribute": "He is proud.", "passage": 1}],
        }
    )
    assert attributes_in(answer, passages("one", "two"), "ada") == [
        {"role": "ada", "kind": "belief_and_value", "attribute": "Art is a duty.", "passage": "two"},
        {"role": "ada", "kind": "psychological_trait", "attribute": "He is proud.", "passage": "one"},
    ]


@pytest.mark.parametrize("number", [0, 3, "first"])
def test_an_attribute_must_name_a_passage_that_was_shown(number: object) -> None:
    with pytest.raises(ValidationError):
        findings(2).model_validate(
            {"belief_and_value": [{"attribute": "x", "passage": number}], "psychological_traits": []}
        )


def test_an_answer_is_bounded() -> None:
    schema = findings(3).model_json_schema()
    assert schema["properties"]["belief_and_value"]["maxItems"] == 3
    finding = schema["$defs"]["Finding"]["properties"]
    assert (finding["passage"]["minimum"], finding["passage"]["maximum"]) == (1, 3)
    assert finding["attribute"]["maxLength"] == 200
