"""The evidence of flows of one's own: of each part under its name, of a checker with what it said."""

from io import StringIO
from typing import Any

from dramaturg.cli.evidence.reply import evidence_view
from dramaturg.cli.output import CleanConsole


def shown(evidence: dict[str, Any]) -> list[str]:
    console = CleanConsole(width=100, record=True, file=StringIO())
    console.print(evidence_view(evidence))
    return [line.strip() for line in console.export_text().splitlines() if line.strip()]


def test_the_evidence_of_each_part_stands_under_its_name() -> None:
    passage = {"passage": "p", "score": 0.5, "source": "life.md", "headings": ["Ada"], "text": "She keeps the light."}
    found = {"knowledge": [passage]}
    lines = shown({"one": found, "other": {"memories": []}, "mine": {"anything": 1}})
    assert lines[0] == "one"
    assert any("She keeps the light." in line for line in lines)
    assert "other" in lines
    assert not any("anything" in line for line in lines)


def test_what_was_drawn_again_is_told_with_what_became_of_it() -> None:
    slips = [
        {"slip": "echo", "text": "Are you lonely?", "outcome": "dropped"},
        {"slip": "announcement", "text": "As Ada, I am.", "outcome": "cut", "error": "It is gone."},
    ]
    assert shown({"mine": {"slips": slips}}) == [
        "mine",
        "Not spoken (the question again): Are you lonely?",
        "Used without its first words (the name of who speaks): As Ada, I am. Another attempt failed: It is",
        "gone.",
    ]


def test_what_a_checker_of_ones_own_said_is_told_draft_by_draft() -> None:
    attempts = [{"text": "My computer!", "verdict": "revise", "reason": "a computer", "error": ""}]
    told = "\n".join(shown({"no computers": {"attempts": attempts, "outcome": "revise"}}))
    assert "Checked by no computers" in told
    assert all(word in told for word in ("revise", "My computer!", "a computer"))


def test_of_a_turn_that_failed_before_its_passages_were_refined_they_are_shown() -> None:
    found = {"passage": "life.md:0-9", "source": "life.md", "headings": [], "text": "She sings."}
    judged = {**found, "confidence": None, "verdict": "failed", "error": "UnusableAnswer"}
    evidence = {"knowledge": [found], "retrieved": [judged], "action": "ambiguous", "web_search": "off"}
    assert sum("She sings." in line for line in shown(evidence)) == 2
