"""The example roles: as large as a role should be to try things on, and of one piece."""

import re
from collections import Counter
from pathlib import Path

import pytest

from dramaturg.nodes.text.splitter import longest_paragraph, split_document
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role

EXAMPLES = Path(__file__).parents[2] / "examples"
ATTRIBUTES = {
    "activity",
    "belief_and_value",
    "demographic_information",
    "psychological_traits",
    "skill_and_expertise",
    "social_relationships",
}


@pytest.fixture(params=["beethoven", "wukong"])
def role(request: pytest.FixtureRequest) -> Role:
    return Library(EXAMPLES).role(request.param)


def test_a_persona_is_long_enough_and_has_three_levels_of_headings(role: Role) -> None:
    text = "\n".join(document.text for document in role.documents())
    size = len(text.split()) if role.card.language == "en" else len(re.findall(r"[\u4e00-\u9fff]", text))
    assert size >= 6000
    assert {len(level) for level in re.findall(r"^(#+) ", text, re.MULTILINE)} == {1, 2, 3}


def test_passages_are_short_enough_for_a_small_model(role: Role) -> None:
    for document in role.documents():
        assert longest_paragraph(document.text) <= 520
        assert all(passage.headings for passage in split_document(document.text))


def test_scenes_have_several_speakers_and_the_role_in_each(role: Role) -> None:
    lines = role.dialogues()
    scenes = Counter(line.scene for line in lines)
    assert len(lines) >= 150
    for scene in scenes:
        speakers = {line.speaker for line in lines if line.scene == scene}
        assert role.card.name in speakers
        assert len(speakers) >= 2
    assert len({line.speaker for line in lines}) >= 16


def test_memories_and_identity_are_there_and_differ(role: Role) -> None:
    memories = [memory.model_dump_json() for memory in role.memories()]
    assert len(memories) >= 150
    assert len(set(memories)) == len(memories)
    triples = [(triple.subject, triple.relation, triple.object) for triple in role.chronicle().triples]
    assert len(triples) >= 45
    assert len(set(triples)) == len(triples)
    assert {triple.kind for triple in role.chronicle().triples} == {
        "belief",
        "trait",
        "value",
        "preference",
        "goal",
        "experience",
    }


def test_questions_cover_the_six_attributes_and_what_the_role_cannot_know(role: Role) -> None:
    questions = role.questions()
    inside = Counter(question.attribute for question in questions if question.scope == "in")
    assert inside == dict.fromkeys(ATTRIBUTES, 5)
    outside = [question for question in questions if question.scope == "out"]
    assert len(outside) == 15
    assert all(question.answer is None and question.reason for question in outside)


def test_a_role_names_its_sources(role: Role) -> None:
    assert len(role.card.sources) >= 3
