"""The question sets of the example roles: enough of each kind, and true to what the files of the role hold."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from dramaturg.evaluation.datasets.dataset import ATTRIBUTES, DatasetQuestion
from dramaturg.evaluation.datasets.reading import read_dataset
from dramaturg.stores.library import Library
from dramaturg.stores.role import Role

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = re.compile(r"(?<=[a-z,;] )[A-Z]\w+|\d+")
"""Names, since sentences begin otherwise, and numbers."""


@pytest.fixture(params=["beethoven", "silver", "wukong"])
def role(request: pytest.FixtureRequest) -> Role:
    return Library(EXAMPLES).role(request.param)


def questions(role: Role, scope: str) -> list[DatasetQuestion]:
    found = read_dataset(role.root / "questions.jsonl").questions
    return [one for one in found if one.scope == scope]


def material(role: Role) -> str:
    """All that the role's persona, scenes and card say."""
    texts = [one.text for one in role.documents()]
    scenes = [f"{line.speaker} {line.place} {line.text}" for line in role.dialogues()]
    return "\n".join([*texts, *scenes, role.card.name, role.card.profile])


def words(text: str) -> list[str]:
    """Longer words, or pairs of neighbouring characters in Chinese."""
    chinese = re.findall(r"[\u4e00-\u9fff]", text)
    if chinese:
        return [one + other for one, other in pairwise(chinese)]
    return [word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3]


def test_there_are_enough_in_scope_over_the_six_attributes(role: Role) -> None:
    inside = Counter(one.attribute for one in questions(role, "in"))
    assert set(inside) == set(ATTRIBUTES)
    assert inside.total() >= 30
    assert min(inside.values()) >= 4


def test_there_are_enough_out_of_scope_and_each_says_why(role: Role) -> None:
    outside = questions(role, "out")
    assert len(outside) >= 15
    assert all(one.labels["reason"] and not one.answer for one in outside)


def test_no_question_is_there_twice(role: Role) -> None:
    asked = [one.text.casefold() for scope in ("in", "out") for one in questions(role, scope)]
    assert len(set(asked)) == len(asked)


def test_answers_name_nobody_and_no_number_that_the_role_does_not_hold(role: Role) -> None:
    held = {word.casefold() for word in re.findall(r"\w+", material(role))}
    for one in questions(role, "in"):
        assert {name.casefold() for name in NAMES.findall(one.answer)} <= held, one.text


def test_answers_are_made_of_what_the_role_holds(role: Role) -> None:
    held = {*words(material(role))}
    for one in questions(role, "in"):
        said = words(one.answer)
        assert sum(word in held for word in said) >= 0.65 * len(said), one.text
