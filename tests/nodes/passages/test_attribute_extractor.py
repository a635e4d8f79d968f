"""The role memory, and attributes traced to the passages that show them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.models.embeddings import Embedder
from dramaturg.nodes.passages.attributes import Attribute, best_fit, findings, updated_memory
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.testing import WordEmbeddings

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


@pytest.mark.parametrize(
    ("number", "known"), [(2, 2), ("2", 2), ("[2]", 2), (2.0, 2), (0, None), (3, None), ("first", None), (None, None)]
)
def test_a_number_of_no_passage_that_was_shown_is_none(number: object, known: int | None) -> None:
    answer = findings(2).model_validate(
        {"belief_and_value": [{"attribute": " x ", "passage": number}], "psychological_traits": []}
    )
    assert [(one.attribute, one.passage) for one in answer.belief_and_value] == [("x", known)]


@pytest.mark.parametrize(
    ("named", "cosines", "kept"),
    [
        (0, {"a": 0.5, "b": 0.4}, "a"),
        (0, {"a": 0.5, "b": 0.59}, "a"),
        (0, {"a": 0.4, "b": 0.6}, "b"),
        (0, {"a": 0.29, "b": 0.41}, "b"),
        (0, {"a": 0.29, "b": 0.39}, "a"),
        (None, {"a": 0.5, "b": 0.4}, "a"),
        (None, {"a": 0.4, "b": 0.5}, "b"),
    ],
)
async def test_the_named_passage_is_kept_unless_another_fits_clearly_better(
    monkeypatch: pytest.MonkeyPatch, named: int | None, cosines: dict[str, float], kept: str
) -> None:
    async def told(model: object, query: str, texts: list[str]) -> list[float]:
        return [cosines[text] for text in texts]

    monkeypatch.setattr("dramaturg.nodes.passages.attributes.cosines", told)
    near = passages("a", "b")
    fit = await best_fit(Embedder("m", WordEmbeddings()), "x", None if named is None else near[named], near, 0.3)
    assert (fit.passage.id, fit.rests_on) == (kept, kept)


def test_an_answer_is_bounded() -> None:
    schema = findings(3).model_json_schema()
    assert schema["properties"]["belief_and_value"]["maxItems"] == 3
    finding = schema["$defs"]["Finding"]["properties"]
    assert (finding["passage"]["minimum"], finding["passage"]["maximum"]) == (1, 3)
    assert finding["attribute"]["maxLength"] == 200
