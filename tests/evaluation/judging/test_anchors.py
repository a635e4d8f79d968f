"""Anchors: each label holds by construction, and nothing but the reply gives it away."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest

import dramaturg.examples
from dramaturg.evaluation.judging.anchors import KINDS, LONG, WORTH, Known, QuestionBeyond, anchors, card_of, written
from dramaturg.stores.documents.sources import document_paths
from dramaturg.stores.role import Role
from studies.separation import separation

EXAMPLES = Path(next(iter(dramaturg.examples.__path__)))
ROLES = [(language, role) for language, roles in written().items() for role in roles]
EVERY_ROLE = pytest.mark.parametrize(("language", "role"), ROLES)


def files_of(role: str) -> str:
    """What a role is said to know: its documents, dialogues and card."""
    texts = [path.read_text(encoding="utf-8") for path in document_paths(EXAMPLES / role)]
    return "\n".join([*texts, *(one.text for one in Role(EXAMPLES / role).dialogues()), card_of(role).profile])


def replies(language: str, kind: str) -> list[Known]:
    return [one for one in anchors() if (one.language, one.kind) == (language, kind)]


def test_there_are_as_many_of_each_kind_role_and_language() -> None:
    found = anchors()
    assert len(found) == len({one.id for one in found}) == 324
    assert {*Counter((one.kind, one.language, one.id.split("/")[1]) for one in found).values()} == {4}
    assert {one.kind for one in found} == {*KINDS}
    assert {kind for kinds in WORTH.values() for kind in kinds} == {*KINDS}


@EVERY_ROLE
def test_a_right_reply_and_another_voice_hold_the_fact_and_no_other_does(language: str, role: str) -> None:
    for one in written()[language][role].known:
        fact = one.fact.casefold()
        holds = {kind for kind, text in one.replies().items() if fact in text.casefold()}
        assert holds == {"right", "voice", "right at length"}, one.question
        assert fact in one.gold.casefold()
        assert fact not in one.question.casefold()
        assert one.rests_on in files_of(role), one.rests_on


@EVERY_ROLE
def test_a_wrong_reply_is_the_right_one_with_another_fact(language: str, role: str) -> None:
    for one in written()[language][role].known:
        wrong, before, after = one.replies()["wrong"], *one.right.split(one.fact)
        assert wrong == before + one.instead + after != one.right
        assert one.instead.casefold() not in f"{one.gold} {one.more}".casefold()


@EVERY_ROLE
def test_another_voice_speaks_of_the_role(language: str, role: str) -> None:
    about = written()[language][role]
    assert all(about.third in one.voice for one in about.known)
    assert not any(about.third in f"{one.right}{one.more}" for one in about.known)


@EVERY_ROLE
def test_an_echo_says_the_question_again(language: str, role: str) -> None:
    def pairs(text: str) -> set[str]:
        letters = [one for one in text.casefold() if one.isalnum()]
        return {"".join(both) for both in pairwise(letters)}

    for one in written()[language][role].known:
        asked = pairs(one.question)
        held = {kind: len(asked & pairs(text)) / len(asked) for kind, text in one.replies().items()}
        assert held["echo"] > max(0.5, *(share for kind, share in held.items() if kind != "echo")), one.question


@EVERY_ROLE
def test_what_is_out_of_scope_stands_in_no_file_of_the_role(language: str, role: str) -> None:
    known = files_of(role).casefold()
    for one in written()[language][role].beyond:
        assert one.names.casefold() not in known
        assert one.accepted != one.declined


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_length_gives_no_kind_away(language: str) -> None:
    lengths = {kind: [len(one.case.reply) for one in replies(language, kind)] for kind in KINDS if LONG not in kind}
    whole = fmean(size for of in lengths.values() for size in of)
    for kind, of in lengths.items():
        assert fmean(of) == pytest.approx(whole, rel=0.05), kind
        others = [size for other in lengths if other != kind for size in lengths[other]]
        found = separation(of, others)
        assert found is not None
        assert 0.35 < found.auc < 0.65, (kind, found)


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_replies_to_one_question_are_of_one_length_and_half_of_the_questions_have_short_ones(language: str) -> None:
    by_question: dict[str, list[int]] = {}
    for one in anchors():
        if one.language == language and LONG not in one.kind:
            by_question.setdefault(one.question, []).append(len(one.case.reply))
    assert all(max(of) <= 1.35 * min(of) for of in by_question.values())
    means = sorted(map(fmean, by_question.values()))
    assert means[len(means) // 2] > 1.5 * means[len(means) // 2 - 1]


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_a_reply_at_length_is_as_long_as_those_of_methods_and_says_no_more(language: str) -> None:
    """Some sentences, twice the short one or more, and the wrong one as long as the right one."""
    for about in written()[language].values():
        for one in about.known:
            of = one.replies()
            assert 3 <= len(re.findall(r"[.!?。！？]+", of["right at length"])) <= 9, one.question
            assert len(of["right at length"]) > 1.9 * len(one.right)
            assert of["wrong at length"] == of["right at length"].replace(one.fact, one.instead)


def test_a_few_are_of_all_kinds_languages_roles_and_lengths() -> None:
    few = anchors(6)
    assert {one.kind for one in few} == {*KINDS}
    assert {one.id.rsplit("/", 2)[0] for one in few} == {f"{language}/{role}" for language, role in ROLES}
    assert {one.id for one in few} <= {one.id for one in anchors()}
    lengths = [len(one.case.reply) for one in anchors(12) if one.language == "en" and one.kind == "right"]
    assert min(lengths) * 1.5 < max(lengths)


def test_what_a_kind_deserves_is_known_of_both_sides() -> None:
    assert all({0, 1} == {*of.values()} for of in WORTH.values())
    beyond = [one for roles in written().values() for about in roles.values() for one in about.beyond]
    assert all(isinstance(one, QuestionBeyond) for one in beyond)
