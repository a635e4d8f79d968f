"""The evidence of a reply from relations, as tables: every part has its place, and no text steers the terminal."""

import re
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group

from dramaturg.cli.evidence.relations import relation_views
from dramaturg.cli.evidence.reply import evidence_view
from dramaturg.cli.output import CleanConsole

from property_settings import property_settings

HOSTILE = "[bold]a\x1b]0;title\x07\x1b[2J\r\x08b[/bold] [/x]"
PAIR = {"roles": ["Ada", "Tom"], "score": 5.0, "reason": "They are brother and sister.", "dialogues": ["d1", "d2"]}
OTHER = {"roles": ["Ada", "Nell"], "score": None, "reason": "", "dialogues": ["d2"]}
MET = {"user_role": "Tom", "profile": True, "clique": ["Ada", "Nell", "Tom"], "edges": [PAIR, OTHER], "unscored": 0}
DIALOGUE = {
    "dialogue": "e36f48c742ee",
    "similarity": 0.624433,
    "revision": 0,
    "scene": "parcel",
    "source": "dialogues/scenes.jsonl:1–2",
    "speakers": ["Tom", "Ada"],
    "text": "Tom: A parcel from Leith for you.\nAda: Give it here.",
}
PASSED = {"passed": True, "spoken": 1, "revisions": 1, "alpha": 4.0}
DRAFTS = [
    {"text": "A stranger!", "score": 2.0, "reason": "She knows him.", "error": ""},
    {"text": "My brother!", "score": 5.0, "reason": "It fits.", "error": ""},
]


def shown(evidence: dict[str, Any], width: int = 120) -> str:
    """What a person sees."""
    console = CleanConsole(file=StringIO(), width=width, color_system=None)
    console.print(Group(*relation_views(evidence)))
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(letter.isprintable() or letter == "\n" for letter in told)
    return str(told)


def row(told: str, text: str) -> list[str]:
    """The cells of the line that has this text."""
    line = next(line for line in told.splitlines() if text in line)
    return [cell.strip() for cell in line.strip("│").split("│")]


def yellow(evidence: dict[str, Any]) -> str:
    """What is said in yellow."""
    console = CleanConsole(file=StringIO(), width=120, force_terminal=True, color_system="standard")
    console.print(Group(*relation_views(evidence)))
    return " ".join(re.findall("\x1b\\[33m(.*?)\x1b\\[0m", console.file.getvalue()))  # type: ignore[attr-defined]


def test_evidence_of_other_methods_has_no_tables() -> None:
    assert list(relation_views({})) == []
    assert list(relation_views({"knowledge": [], "memories": [], "role_memory": []})) == []


def test_each_part_has_its_place_in_all_the_evidence() -> None:
    console = CleanConsole(file=StringIO(), width=120, color_system=None)
    evidence = {"relations": MET, "dialogues": [DIALOGUE], "records": [{"text": "He is kin.", "dialogues": ["d1"]}]}
    console.print(evidence_view({**evidence, "drafts": DRAFTS, "verification": PASSED}))
    told = console.file.getvalue()  # type: ignore[attr-defined]
    places = [told.index(part) for part in ("Clique of", "Dialogues", "New in the role memory", "Drafts")]
    assert places == sorted(places)


def test_a_clique_is_told_with_scores_and_reasons() -> None:
    told = shown({"relations": MET})
    assert "Clique of Ada, Nell, Tom: scores of 5 in all" in " ".join(told.split())
    assert row(told, "Ada – Tom") == ["5 of 5", "Ada – Tom", "2", "They are brother and sister."]
    assert row(told, "Ada – Nell") == ["–", "Ada – Nell", "1", ""]
    assert yellow({"relations": MET}) == ""


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"clique": []}, "Tom and the role have never spoken with each other: there is no clique."),
        ({"clique": [], "user_role": ""}, "The user is a stranger: nobody in the dialogues is meant"),
        (
            {"unscored": 3},
            "Relations without a score: 3. They weigh nothing, and are not asked about again in this conversation.",
        ),
    ],
)
def test_what_is_missing_in_a_graph_is_said_in_yellow(changed: dict[str, Any], sentence: str) -> None:
    assert sentence in yellow({"relations": MET | changed})


def test_a_user_role_without_a_card_is_told() -> None:
    sentence = "The library has no profile of Tom."
    assert sentence in shown({"relations": MET | {"profile": False}})
    assert sentence not in shown({"relations": MET})
    assert "profile" not in shown({"relations": {"user_role": "", "profile": False, "clique": []}})


def test_dialogues_say_where_they_are_written_and_what_brought_them() -> None:
    told = shown({"dialogues": [DIALOGUE, DIALOGUE | {"text": "Nell: I mended the net.", "revision": 2}]})
    assert row(told, "A parcel")[0] == "0.624"
    assert "Tom: A parcel from Leith for you. Ada: Give it here." in told
    below = told.splitlines()
    first = next(at for at, line in enumerate(below) if "A parcel" in line)
    assert "│ Tom, Ada · parcel · dialogues/scenes.jsonl:1–2" in below[first + 1]
    assert "revision 2 · Tom, Ada" in told.split("Nell:")[1]
    assert told.count("revision") == 1


@pytest.mark.parametrize("dialogues", [[], None])
def test_no_dialogues_are_said_to_be_none(dialogues: Any) -> None:
    assert shown({"dialogues": dialogues}).startswith("Dialogues: none")


def test_what_the_role_memory_has_gained_is_told() -> None:
    told = shown({"records": [{"text": "He is kin.", "dialogues": ["d1", "d2"]}, {"text": "I trust him."}]})
    assert "New in the role memory, from 2 dialogues: He is kin." in told
    assert "New in the role memory, from 0 dialogues: I trust him." in told
    assert "from 1 dialogue: x" in shown({"records": [{"text": "x", "dialogues": ["d1"]}]})
    earlier = {"text": "He gave the boat back.", "talk": "monday", "dialogues": ["turn 1"]}
    assert "In the role memory, from 1 turn of monday: He gave the boat back." in shown({"earlier_records": [earlier]})
    assert "The 3 oldest records became one: All in all." in shown({"condensed": {"records": 3, "text": "All in all."}})


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("memory_error", "Nothing new could be put into the role memory: no answer"),
        ("condense_error", "The oldest records could not be merged: no answer"),
        ("earlier_records_error", "An earlier talk could not be put into the role memory: no answer"),
        ("talk_record_error", "What was said could not be put into the role memory: no answer"),
    ],
)
def test_what_could_not_be_remembered_is_said_in_yellow(key: str, sentence: str) -> None:
    assert yellow({key: "no answer"}) == sentence


def test_each_draft_has_its_score_and_reason_and_one_was_spoken() -> None:
    told = shown({"drafts": DRAFTS, "verification": PASSED})
    assert "Drafts; one passes with more than 4" in told
    assert row(told, "A stranger!") == ["1", "2 of 5", "A stranger!", "She knows him."]
    assert row(told, "My brother!") == ["2", "5 of 5", "spoken · My brother!", "It fits."]
    assert yellow({"drafts": DRAFTS, "verification": PASSED}) == ""


def test_a_reply_that_never_passed_is_said_in_yellow() -> None:
    assert yellow({"drafts": DRAFTS[:1], "verification": PASSED | {"passed": False, "spoken": 0}}) == (
        "No draft passed: the best one was used."
    )
    unknown = {"text": "Who?", "score": None, "reason": "", "error": "The model gave no score."}
    evidence = {"drafts": [unknown], "verification": PASSED | {"passed": False, "spoken": 0, "alpha": None}}
    assert yellow(evidence) == "A draft could not be verified: the best of the others was used."
    told = shown(evidence)
    assert row(told, "Who?") == ["1", "–", "spoken · Who?", "The model gave no score."]
    assert "passes" not in told


def test_fractions_of_scores_are_short() -> None:
    assert row(shown({"drafts": [DRAFTS[0] | {"score": 3.87654}]}), "A stranger!")[1] == "3.88 of 5"


@pytest.mark.parametrize(
    "evidence",
    [
        {"relations": {"user_role": None}},
        {"relations": {"clique": ["A", "B"]}},
        {"relations": {"clique": ["A", "B"], "edges": [{}]}},
        {"dialogues": [{}]},
        {"records": [{}], "condensed": {}},
        {"drafts": [{}]},
        {"drafts": [{}], "verification": None},
        {"verification": {"passed": True}},
    ],
)
def test_evidence_of_which_little_is_known_can_be_shown(evidence: dict[str, Any]) -> None:
    assert "None" not in shown(evidence)


@given(st.text() | st.just(HOSTILE), st.integers(30, 120))
@property_settings(60)
def test_any_text_can_be_shown(text: str, width: int) -> None:
    pair = {"roles": [text, text], "score": 2.0, "reason": text, "dialogues": [text]}
    evidence = {
        "relations": {"user_role": text, "clique": [text], "edges": [pair]},
        "dialogues": [DIALOGUE | {"text": text, "scene": text, "source": text, "speakers": [text]}],
        "records": [{"text": text, "dialogues": [text]}],
        "earlier_records": [{"text": text, "talk": text, "dialogues": [text]}],
        "drafts": [{"text": text, "score": None, "reason": text, "error": text}],
        **dict.fromkeys(("memory_error", "condense_error", "talk_record_error"), text),
        "condensed": {"records": 2, "text": text},
    }
    told = " ".join(shown(evidence, width).split())
    for heading in ("Clique of", "Dialogues", "New in the role memory, from 1 dialogue:", "Drafts"):
        assert heading in told


def test_markup_is_only_text() -> None:
    told = shown({"relations": MET | {"clique": [HOSTILE]}, "drafts": [DRAFTS[0] | {"text": HOSTILE}]}, 160)
    assert told.count("[bold]a]0;title[2J b[/bold] [/x]") == 2
