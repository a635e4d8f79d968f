"""The evidence of a reply from a knowledge graph, as tables: every part has its place."""

from io import StringIO
from typing import Any

from rich.console import Group

from dramaturg.cli.evidence.graph import graph_views
from dramaturg.cli.output import CleanConsole

HOSTILE = "[bold]Jory\x1b]0;title\x07[/bold]"


def shown(evidence: dict[str, Any]) -> str:
    file = StringIO()
    CleanConsole(file=file, width=160, color_system=None).print(Group(*graph_views(evidence)))
    return file.getvalue()


def test_every_part_of_the_evidence_has_its_place() -> None:
    known = {"name": "Jory", "type": "person", "strategy": "specific", "certainty": 0.8, "reason": "He keeps the lamp."}
    recalled = {"entity": "Jory", "score": 0.5, "description": "A keeper.", "relation": None}
    related = {**recalled, "how": "name", "relation": {"strength": 9, "description": "A keeper."}}
    followed = {"source": "Jory", "target": "lamp", "strength": 7, "description": "He trims it."}
    text = shown(
        {
            "question": "Who is he?",
            "hypothetical": "He is a keeper.",
            "entities": [known],
            "asked_again": [{"name": HOSTILE, "strength": 9, "stands": False}],
            "specific": [recalled, related],
            "reached": [{**recalled, "score": None}],
            "followed": [followed],
            "sentences": [{"text": "He dreads the sea.", "source": "life.md", "start": 0, "end": 18, "score": 0.25}],
            "missing": [HOSTILE],
            "graph_warning": "An older version is read.",
        }
    )
    for part in (
        "Understood as: Who is he?",
        "Hypothetical context",
        "0.80",
        "nearest 0.500",
        "[9] as described",
        "He dreads the sea.",
    ):
        assert part in text
    assert "Jory – lamp" in text
    assert "He trims it." in text
    assert "Not in the documents:" in text
    assert "has strength 9: in scope" in text
    assert "\x1b" not in text
    assert "An older version is read." in text


def test_a_question_about_nobody_says_what_was_recalled() -> None:
    assert "Entities: none" in shown({"entities": []})
    assert shown({}).strip() == ""
