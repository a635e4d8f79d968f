"""The evidence of a reply from an identity, as tables: query, triples and verdict are plain to read."""

import re
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group

from dramaturg.cli.evidence.identity import SHOWN, identity_views
from dramaturg.cli.evidence.reply import evidence_view
from dramaturg.cli.output import CleanConsole
from dramaturg.cli.progress import STEPS

from property_settings import property_settings

HOSTILE = "[bold]a\x1b]0;title\x07\x1b[2J\r\x08b[/bold] [/x]"
QUERY = {"high_priority": ["values", "wants"], "medium_priority": [], "keywords": ["lamp"]}
LIGHT = {"sentence": "Ada holds dear a light.", "relation": "values", "kind": "value", "core": True}
SILENCE = {"sentence": "Ada likes silence.", "relation": "likes", "kind": "preference"}
IDENTITY = {"how": "strategy", "query": QUERY, "triples": [LIGHT, SILENCE], "of": 7}
EPISODE = {"at": "1841", "text": "The lamp burned all night.", "salience": 0.91234, "similarity": 0.5}
CHANGE = {
    "number": 1,
    "sentence": "Ada wants to sail.",
    "replaces": LIGHT,
    "evidence": "She says so.",
    "salience": 9,
    "confidence": 0.85,
    "approved": True,
}


def attempt(verdict: str = "allow", **more: Any) -> dict[str, Any]:
    """A proposal with its verdict."""
    told = {"triple": None, "reason": "", "probability": None, "error": ""}
    return {"text": "I sold the lamp.", "verdict": verdict, **told, **more}


BLOCKED = attempt("block", triple=LIGHT, reason="She would never.", probability=0.871)


def gate(*attempts: dict[str, Any]) -> dict[str, Any]:
    """The evidence of a gate that these proposals went through."""
    return {"gate": {"attempts": list(attempts), "outcome": attempts[-1]["verdict"]}}


def shown(evidence: dict[str, Any], width: int = 120) -> str:
    """What a person sees."""
    console = CleanConsole(file=StringIO(), width=width, color_system=None)
    console.print(Group(*identity_views(evidence)))
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(letter.isprintable() or letter == "\n" for letter in told)
    return str(told)


def row(told: str, text: str) -> list[str]:
    """The cells of the line that has this text."""
    line = next(line for line in told.splitlines() if text in line)
    return [cell.strip() for cell in line.strip("│").split("│")]


def coloured(evidence: dict[str, Any], code: int) -> str:
    """What is said in a colour: 31 is red, 32 green, 33 yellow."""
    console = CleanConsole(file=StringIO(), width=120, force_terminal=True, color_system="standard")
    console.print(Group(*identity_views(evidence)))
    said = re.findall(f"\x1b\\[{code}m(.*?)\x1b\\[0m", console.file.getvalue())  # type: ignore[attr-defined]
    return " ".join(" ".join(said).split())


def yellow(evidence: dict[str, Any]) -> str:
    return coloured(evidence, 33)


def test_evidence_of_other_methods_has_no_tables() -> None:
    assert list(identity_views({})) == []
    assert list(identity_views({"knowledge": [], "memories": [], "drafts": []})) == []


def test_each_part_has_its_place_in_all_the_evidence() -> None:
    console = CleanConsole(file=StringIO(), width=120, color_system=None)
    evidence = {"episodes": [EPISODE], "identity": IDENTITY, "feeling": "Proud.", **gate(BLOCKED)}
    console.print(evidence_view({**evidence, "identity_changes": [CHANGE]}))
    told = console.file.getvalue()  # type: ignore[attr-defined]
    parts = ("Memories, the most", "Query of", "Identity, found", "Feels: Proud.", "The gate", "The role has changed")
    places = [told.index(part) for part in parts]
    assert places == sorted(places)


def test_the_query_is_told_part_by_part() -> None:
    lines = [line.strip() for line in shown({"identity": IDENTITY}).splitlines()]
    assert "high priority: values, wants" in lines
    assert "medium priority: –" in lines
    assert "keywords: lamp" in lines


def test_triples_are_told_in_words_with_relation_kind_and_whether_they_are_core() -> None:
    told = shown({"identity": IDENTITY})
    assert "Identity, found by the query: 2 of 7 triples" in told
    assert row(told, "Ada holds dear") == ["Ada holds dear a light.", "values", "core value"]
    assert row(told, "Ada likes") == ["Ada likes silence.", "likes", "preference"]


def test_a_neighbour_and_a_source_are_told_below_the_triple() -> None:
    near = SILENCE | {"neighbour": True, "source": "life.md"}
    told = shown({"identity": IDENTITY | {"triples": [LIGHT, near]}})
    assert "related to what was found · from life.md" in told.split("Ada likes silence.")[1]
    assert told.count("related to") == 1


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"how": "similarity", "query": None}, "Identity, most similar to what is asked: 2 of 7 triples"),
        (
            {"how": "similarity", "fallback": "the query found no triple"},
            "Identity, most similar to what is asked, for the query found no triple: 2 of 7 triples",
        ),
        ({"how": "all", "query": None}, "Identity, the whole chronicle: 2 of 7 triples"),
        ({"how": "inferred", "triples": [], "text": "A keeper."}, "Identity, inferred from memories: A keeper."),
    ],
)
def test_where_the_identity_is_from_is_told(changed: dict[str, Any], sentence: str) -> None:
    told = shown({"identity": IDENTITY | changed})
    assert sentence in " ".join(told.split())
    assert ("Query of" in told) == (changed.get("query", QUERY) is not None)


def test_what_found_nothing_or_could_not_be_asked_is_said_in_yellow() -> None:
    assert yellow({"identity": IDENTITY | {"triples": []}}) == "Identity, found by the query: no triple was found."
    assert yellow({"identity_query_error": "no answer"}) == (
        "No query could be made, so the identity was searched by similarity: no answer"
    )
    assert yellow({"identity": IDENTITY}) == ""


def test_the_most_salient_memories_are_told_and_how_many_more_there_are() -> None:
    many = [EPISODE | {"text": f"Memory {n}."} for n in range(SHOWN + 2)]
    told = shown({"episodes": many})
    assert row(told, "Memory 0.") == ["0.912", "0.500", "1841", "Memory 0."]
    assert [f"Memory {n}." in told for n in range(SHOWN + 2)] == [True] * SHOWN + [False] * 2
    assert "first; 2 more came back" in " ".join(told.split())
    assert "more" not in shown({"episodes": many[:SHOWN]})
    assert shown({"episodes": []}).strip() == "Memories: none."


def test_what_does_not_hold_at_the_date_is_said() -> None:
    left = {"as_of": "1849", "count": 3, "triples": [LIGHT, SILENCE]}
    told = " ".join(shown({"identity": IDENTITY | {"not_held": left}}).split())
    assert f"Does not hold at 1849: {LIGHT['sentence']} {SILENCE['sentence']} and 1 more" in told


def test_triples_without_room_are_counted() -> None:
    assert "Triples left out, for lack of room (identity_tokens): 4." in yellow(
        {"identity": IDENTITY | {"left_out": 4}}
    )


def test_a_verdict_names_the_triple_that_it_rests_on() -> None:
    told = shown(gate(attempt("revise", triple=LIGHT, reason="She would never."), BLOCKED))
    assert row(told, "revise") == ["revise", "I sold the lamp.", "Ada holds dear a light. (core)"]
    assert row(told, "block") == ["block", "I sold the lamp.", "Ada holds dear a light. (core)"]
    assert "She would never. · 0.87" in told
    assert coloured(gate(BLOCKED), 31).endswith("The gate blocked it: the role declines, or does nothing.")


def test_what_passes_is_said_to_go_against_nothing() -> None:
    told = shown(gate(attempt()))
    assert row(told, "allow") == ["allow", "I sold the lamp.", "nothing"]
    assert coloured(gate(attempt()), 32).endswith("The gate let it pass.")
    revised = gate(attempt("revise", triple=LIGHT), attempt())
    assert coloured(revised, 32).endswith("The gate let it pass when it was revised.")


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (attempt(triple=SILENCE), "The gate passed it: what it contradicts is not core."),
        (attempt(error="no answer"), "let through unchecked: no answer The gate has no verdict on what was said."),
        (attempt("revise", triple=SILENCE), "revise The gate has no verdict on what was said."),
    ],
)
def test_what_the_gate_leaves_open_is_said_in_yellow(last: dict[str, Any], sentence: str) -> None:
    assert yellow(gate(last)) == sentence


def test_a_change_says_what_it_replaces_and_what_shows_it() -> None:
    told = shown({"identity_changes": [CHANGE, CHANGE | {"replaces": None, "approved": None}]})
    assert "The role has changed: Ada wants to sail." in told
    assert "in place of: Ada holds dear a light. (core)" in told
    assert "shown by: She says so. (salience 9 of 10, confidence 0.85) · approved" in told
    assert (told.count("in place of"), told.count("approved")) == (1, 1)


def test_what_became_of_reflection_is_told() -> None:
    found = [{"object": "sailing", "salience": 9, "confidence": 0.5}]
    told = shown({"reflection": {"found": found, "proposed": 0}})
    assert "Evidence of a change, 0 of 1 proposed: sailing (salience 9 of 10, confidence 0.50)" in told
    assert "Nothing in this turn changes the role." in shown({"reflection": {"found": [], "proposed": 0}})
    assert yellow({"reflection": {"error": "no answer"}}) == (
        "Whether this has changed the role is not known: no answer"
    )
    assert yellow({"declined": 1}) == "Not approved: 1 change."
    assert yellow({"declined": 2}) == "Not approved: 2 changes."
    assert shown({"declined": 0}).strip() == ""
    assert "200 times at most" in yellow({"identity_full": 200})


@pytest.mark.parametrize(
    "evidence",
    [
        {"episodes": None},
        {"episodes": [{}]},
        {"identity": {"how": "strategy", "query": {"high_priority": None}, "triples": None}},
        {"identity": {"triples": [{}]}},
        {"identity": {"how": "inferred", "text": ""}},
        {"gate": {"attempts": [], "outcome": None}},
        {"gate": {"attempts": [{}]}},
        {"gate": {"attempts": [{"triple": {}}], "outcome": "block"}},
        {"identity_changes": [{}], "reflection": {"found": [{}]}, "declined": None, "identity_full": None},
    ],
)
def test_evidence_of_which_little_is_known_can_be_shown(evidence: dict[str, Any]) -> None:
    assert "None" not in shown(evidence)


@given(st.text() | st.just(HOSTILE), st.integers(30, 120))
@property_settings(60)
def test_any_text_can_be_shown(text: str, width: int) -> None:
    triple = {"sentence": text, "relation": text, "kind": text, "source": text, "core": True}
    change = {**CHANGE, "sentence": text, "replaces": triple, "evidence": text}
    evidence = {
        "episodes": [EPISODE | {"text": text, "at": text}],
        "identity": {"how": text, "query": {part: [text] for part in QUERY}, "triples": [triple], "of": 1},
        **gate(attempt(text, triple=triple, reason=text), attempt("block", error=text or "x")),
        **dict.fromkeys(("feeling", "identity_query_error"), text),
        "identity_changes": [change],
        "reflection": {"found": [{"object": text}], "proposed": 1},
    }
    told = " ".join(shown(evidence, width).split())
    for heading in ("Memories, the", "Query of the identity", "The gate", "The role has changed:", "in place of:"):
        assert heading in told
    inferred = shown({"identity": {"how": "inferred", "text": text + "x"}}, width)
    assert "Identity, inferred from memories:" in " ".join(inferred.split())


def test_markup_is_only_text() -> None:
    told = shown({"identity": IDENTITY | {"triples": [LIGHT | {"sentence": HOSTILE}]}, "feeling": HOSTILE}, 160)
    assert told.count("[bold]a]0;title[2J b[/bold] [/x]") == 2


@pytest.mark.parametrize(
    ("event", "line"),
    [
        ({"event": "identity", "triples": 3}, "Looked up who the role is: 3 triples …"),
        ({"event": "gate", "verdict": "allow"}, "The gate: in character …"),
        ({"event": "gate", "verdict": "revise"}, "The gate: out of character, so it is rewritten …"),
        ({"event": "gate", "verdict": "block"}, "The gate: the role declines …"),
        ({"event": "identity_changed", "changes": 2}, "Changes of who the role is: 2 …"),
    ],
)
def test_progress_says_what_is_done(event: dict[str, Any], line: str) -> None:
    assert STEPS[event["event"]](event) == line
