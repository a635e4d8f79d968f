"""Triples put into words."""

from string import Template
from typing import Any

import pytest

from dramaturg.nodes.identity.chronicle import templates, triple_sentence
from dramaturg.stores.documents.forms import Triple

LANGUAGES = ("en", "zh", "ko")
MARKS = (".", "!", "?", "。", "！", "？")


def triple(relation: str, thing: str, **given: Any) -> Triple:
    return Triple(subject="Ada", relation=relation, object=thing, kind="value", **given)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_sentence_for_the_same_relations(language: str) -> None:
    assert list(templates(language)) == list(templates("en"))
    for relation, template in templates(language).items():
        assert isinstance(relation, str)
        assert {*Template(template).get_identifiers()} == {"subject", "object"}, relation
        assert template.endswith(MARKS), relation


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_relation_without_a_template_is_named_as_words(language: str) -> None:
    said = triple_sentence(triple("sings_to", "the lamp"), language)
    assert all(part in said for part in ("Ada", "sings to", "the lamp"))
    assert said.endswith(MARKS)
    assert "$" not in said


def test_a_chronicles_own_template_comes_before_ours() -> None:
    own = {"values": "$object is dear to $subject.", "sings_to": "$subject sings to $object."}
    assert triple_sentence(triple("values", "silence"), "en") == "Ada holds dear silence."
    assert triple_sentence(triple("values", "silence"), "en", own) == "silence is dear to Ada."
    assert triple_sentence(triple("sings_to", "the lamp"), "en", own) == "Ada sings to the lamp."


def test_a_triples_own_text_comes_before_all_templates() -> None:
    said = triple("values", "silence", text="Do not speak to Ada!")
    assert triple_sentence(said, "en", {"values": "$object, $subject."}) == "Do not speak to Ada!"


@pytest.mark.parametrize(
    ("language", "thing", "end"),
    [
        ("en", "a light that never fails.", "never fails."),
        ("en", "to ask: who goes there?", "who goes there?"),
        ("en", "the sea!", "the sea!"),
        ("zh", "灯不可灭。", "灯不可灭。"),
        ("zh", "灯！", "灯！"),
    ],
)
def test_an_end_mark_is_not_doubled(language: str, thing: str, end: str) -> None:
    said = triple_sentence(triple("sings_of", thing), language)
    assert said.endswith(end)
    assert not said[:-1].endswith(MARKS)


@pytest.mark.parametrize("thing", ["the U.S", "version 2.5", "St. X"])
def test_a_template_without_an_end_mark_loses_nothing_of_its_object(thing: str) -> None:
    assert triple_sentence(triple("likes", thing), "en", {"likes": "$subject likes $object"}) == f"Ada likes {thing}"


def test_dollars_of_a_template_and_of_an_object_stay_as_they_are() -> None:
    own = {"owes": "$subject owes $$5 for $object."}
    assert triple_sentence(triple("owes", "$subject $$ ${x}"), "en", own) == "Ada owes $5 for $subject $$ ${x}."
