"""Facts put together under canonical names, each with its sentence, and one description where much is told."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.graph.construction import (
    CLIPPED,
    SHOWN,
    Statements,
    description_of,
    open_questions,
    parts_of,
    put_together,
    repeated_in,
    skeleton_of,
    summary_key,
)
from dramaturg.nodes.graph.facts import entities_in, facts_key, mentions_in, type_of
from dramaturg.stores.documents.merges import Merge
from dramaturg.stores.index.graph import Entity, Graph, Relation
from dramaturg.stores.index.passages import StoredPassage
from dramaturg.stores.names import normal_name

from property_settings import property_settings

TEXT = "Ada met Tom. Tom sails.\n\nHer brother Tom met Ada! Ada sings."
Facts = dict[str, list[dict[str, Any]]]


def chunk(start: int = 0, end: int = len(TEXT)) -> StoredPassage:
    return StoredPassage(id=f"life.md:{start}-{end}", text=TEXT[start:end], source="life.md", start=start, end=end)


def entity(name: str, sentence: int = 1, kind: str = "character", description: str | None = None) -> dict[str, Any]:
    told = {} if description is None else {"description": description}
    return {"name": name, "type": kind, "sentence": sentence, **told}


def relation(source: str, target: str, sentence: int = 1, strength: int = 5) -> dict[str, Any]:
    return {"source": source, "target": target, "sentence": sentence, "strength": strength}


def graph_from(facts: dict[StoredPassage, Facts] | Facts, *groups: tuple[str, ...]) -> Graph:
    """The graph of these facts, with groups of names as one under the first of them."""
    by_chunk = facts if isinstance(next(iter(facts), None), StoredPassage) else {chunk(): facts}
    mentions = mentions_in(by_chunk, {facts_key(one): found for one, found in by_chunk.items()})  # type: ignore
    merged = {normal_name(name) for names in groups for name in names}
    alone = [(one.name,) for one in entities_in(mentions) if one.key not in merged]
    merges = [Merge(name=names[0], names=names) for names in (*groups, *alone)]
    return put_together(skeleton_of(mentions, merges), lambda told: " | ".join(told.texts))


def entities(graph: Graph) -> dict[str, Entity]:
    return {name: data["entity"] for name, data in graph.nodes(data=True)}


def relations(graph: Graph) -> list[Relation]:
    return [data["relation"] for _, _, data in graph.edges(data=True)]


def test_a_statement_is_the_sentence_that_holds_it() -> None:
    facts: Facts = {
        "entities": [entity("Ada", 4), entity("Tom", 2, description="A sailor.")],
        "relations": [relation("Tom", "Ada", 3)],
    }
    graph = graph_from(facts)
    (ada,), (tom,) = (entities(graph)[name].statements for name in ("Ada", "Tom"))
    assert (ada.text, TEXT[ada.start : ada.end]) == ("Ada sings.", "Ada sings.")
    assert (tom.text, TEXT[tom.start : tom.end], tom.source) == ("A sailor.", "Tom sails.", "life.md")
    (met,) = relations(graph)[0].statements
    assert TEXT[met.start : met.end] == met.text == "Her brother Tom met Ada!"
    assert (met.passage, entities(graph)["Tom"].description) == (chunk().id, "A sailor.")


def test_a_relation_of_two_names_that_became_one_is_told_of_the_entity() -> None:
    facts: Facts = {"entities": [entity("Tom", 2)], "relations": [relation("Her brother", "Tom", 3)]}
    graph = graph_from(facts, ("Tom", "Her brother"))
    assert relations(graph) == []
    assert [one.text for one in entities(graph)["Tom"].statements] == ["Tom sails.", "Her brother Tom met Ada!"]
    assert entities(graph)["Tom"].names == ("Tom", "Her brother")


def test_a_relation_of_a_name_with_itself_tells_nothing() -> None:
    assert relations(graph_from({"entities": [entity("Ada")], "relations": [relation("Ada", " ADA.")]})) == []


def test_two_directions_are_one_edge_with_the_greatest_strength() -> None:
    found = [relation("Tom", "Ada", 1, 3), relation("Ada", "Her brother", 3, 8), relation("Tom", "Ada", 4, 1)]
    (one,) = relations(graph_from({"entities": [], "relations": found}, ("Tom", "Her brother")))
    assert (one.source, one.target, one.strength) == ("Tom", "Ada", 8)  # the direction of the first
    assert [statement.text for statement in one.statements] == [
        "Ada met Tom.",
        "Her brother Tom met Ada!",
        "Ada sings.",
    ]
    assert one.description == "Ada met Tom. | Her brother Tom met Ada! | Ada sings."


def test_an_entity_that_only_a_relation_names_is_kept() -> None:
    graph = graph_from({"entities": [entity("Ada")], "relations": [relation("Ada", "the Petrel")]})
    petrel = entities(graph)["the Petrel"]
    assert (petrel.type, petrel.description, petrel.statements) == ("other", "", ())
    assert len(relations(graph)) == 1


@pytest.mark.parametrize(
    ("types", "most"),
    [
        (["other", "other", "event"], "event"),
        (["object", "event", "event"], "event"),
        (["object", "event", "other", "other", "other"], "object"),
        (["other"], "other"),
        ([], "other"),
    ],
)
def test_the_type_that_is_given_most_often(types: Any, most: str) -> None:
    assert type_of(types) == most


def test_what_overlapping_chunks_both_tell_counts_once() -> None:
    first, second = chunk(0, 23), chunk(13)
    sails: Facts = {"entities": [entity("Tom", 2), entity("Tom", 2)], "relations": [relation("Tom", "Ada", 2)] * 2}
    again: Facts = {"entities": [entity("Tom", 1)], "relations": [relation("Tom", "Ada", 1)]}
    graph = graph_from({first: sails, second: again})
    assert [(one.text, one.passage) for one in entities(graph)["Tom"].statements] == [("Tom sails.", first.id)]
    assert len(relations(graph)[0].statements) == 1


def test_a_name_is_written_as_it_is_most_often() -> None:
    found = [entity("TOM", 1), entity("Tom", 2), entity("tom", 3), entity("Tom", 4)]
    assert list(entities(graph_from({"entities": found, "relations": []}))) == ["Tom"]
    graph = graph_from({"entities": found, "relations": []}, ("Thomas", "tom"))
    assert entities(graph)["Thomas"].names == ("Thomas", "Tom")


def test_what_is_told_once_needs_no_summary() -> None:
    facts: Facts = {"entities": [entity("Ada", 1), entity("Tom", 1), entity("Tom", 2)], "relations": []}
    mentions = mentions_in([chunk()], {facts_key(chunk()): facts})  # type: ignore[dict-item]
    groups = [Merge(name=name, names=(name,)) for name in ("Ada", "Tom")]
    assert repeated_in(skeleton_of(mentions, groups)) == [Statements("Tom", ("Ada met Tom.", "Tom sails."))]


# One description

tellings = st.lists(st.integers(1, 2500), min_size=1, max_size=40, unique=True).map(
    lambda lengths: Statements("Ada", tuple("x" * length for length in lengths))
)


@property_settings(60)
@given(tellings)
def test_parts_fit_into_a_question_and_nothing_is_lost(told: Statements) -> None:
    parts = parts_of(told)
    assert tuple(text for part in parts for text in part.texts) == told.texts
    assert all(sum(min(len(text), CLIPPED) for text in part.texts) <= SHOWN for part in parts)
    assert all(part.texts and part.title == "Ada" for part in parts)
    assert len(parts) <= len(told.texts) / 4 + 1


@property_settings(60)
@given(tellings, st.integers(1, 2000))
def test_a_description_is_had_in_rounds_that_end(told: Statements, length: int) -> None:
    answers: dict[str, Any] = {}
    shown: list[str] = []
    for _ in range(5):
        left = open_questions(told, answers)
        if not left:
            break
        assert description_of(told, answers) is None
        assert all(len(parts_of(one)) == 1 < len(one.texts) for one in left)  # each fits into one question
        assert not {summary_key(one) for one in left} & set(answers)  # and is asked once
        shown += [text for one in left for text in one.texts]
        answers |= {summary_key(one): f"{len(answers) + at}".ljust(length, "s") for at, one in enumerate(left)}
    assert open_questions(told, answers) == []
    assert set(told.texts) <= {*shown, *(told.texts if len(told.texts) == 1 else ())}
    assert description_of(told, answers) in {*answers.values(), *told.texts}
