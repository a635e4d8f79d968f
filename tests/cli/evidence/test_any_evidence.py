"""Evidence of any form, as a file that was imported may hold it: shown as far as it can be."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from dramaturg.cli.evidence.reply import evidence_view, usage_table

STRANGE = (None, True, 0, -7, 3.5, 10**400, float("nan"), float("inf"), "", "word", "\x1b]0;x\x07", [], [None], [[]])
STRANGE += ({}, {"": None}, [{}], {"a": {"b": []}}, [["x", 1]], "x" * 10_000)
PASSAGE = {"passage": "p1", "source": "life.md", "headings": ["life", "Storms"], "text": "Storms.", "score": 0.5}
TRIPLE = {"sentence": "Ada is calm.", "relation": "is", "kind": "trait", "core": True, "source": "life.md"}
CHANGE = {"sentence": "Ada sings.", "replaces": TRIPLE, "evidence": "She sang.", "salience": 4, "confidence": 0.5}
WHOLE: dict[str, Any] = {
    "warning": "old",
    "documents_warning": "long",
    "speakers_warning": "nobody",
    "not_yet": {"as_of": "chapter 3", "later": {"passages": 4, "memories": 1}, "not_comparable": {"triples": 2}},
    "not_told": {"passages": 3},
    "not_heard": [{"line": "m1", "by": "ben", "why": "whispered to Tom"}],
    "documents_error": "away",
    "talk": [
        {
            "when": "an hour ago",
            "text": "user: Hi\nAda: Ho",
            "turn": "t1",
            "place": 0,
            "talk": "tea",
            "by_meaning": 1,
            "by_words": None,
        }
    ],
    "talk_error": "down",
    "facts": [{"about": "user", "text": "She sings.", "replaces": ["She whistles."]}],
    "facts_error": "down",
    "knowledge": [PASSAGE],
    "selection": {
        "selected": [PASSAGE],
        "verdicts": [{"passage": "p1", "certainty": 0.9}],
        "judged": 1,
        "wasted": 1,
        "failed": 1,
        "fallback": None,
    },
    "attributes": [{"kind": "belief", "attribute": "calm", "passage": "p1"}],
    "role_memory": [{"kind": "belief", "attribute": "brave", "passage": "p1"}],
    "slips": [{"outcome": "cut", "slip": "echo", "text": "As Ada", "error": "none"}],
    "wish": "shorter",
    "parts": ["passages"],
    "grounds": {"tokens": 20, "left_out": {"passages": 2}},
    "question": "Who?",
    "entities": [{"name": "Tom", "type": "person", "strategy": "specific", "certainty": 0.4, "reason": "friend"}],
    "asked_again": [{"name": "Tom", "stands": True, "strength": 4}],
    "specific": [
        {
            "entity": "Tom",
            "how": "name",
            "score": 0.5,
            "description": "A friend.",
            "relation": {"description": "friends", "strength": 5},
        }
    ],
    "followed": [{"source": "Tom", "target": "Ada", "strength": 4, "description": "friends"}],
    "sentences": [{"score": 0.5, "source": "life.md", "text": "Tom is a friend."}],
    "missing": ["Ida"],
    "mood": {"emotions": {"joy": {"score": 4, "reason": "glad"}}, "encoder": "words", "error": None},
    "strategy": "semantic",
    "calm": False,
    "memories": [
        {
            "memory": "m1",
            "text": "A storm.",
            "source": "memories.jsonl:1",
            "when": "1810",
            "count": 2,
            "pinned": True,
            "canon": True,
            "emotions": {"joy": 3},
            "semantic": 0.5,
            "emotional": 0.4,
            "score": 0.3,
        }
    ],
    "relations": {
        "clique": ["Ada", "Tom"],
        "user_role": "Tom",
        "role": "Ada",
        "profile": True,
        "unscored": 1,
        "edges": [{"roles": ["Ada", "Tom"], "score": 4.0, "reason": "friends", "dialogues": ["d1"]}],
    },
    "dialogues": [{"text": "Hello", "speakers": ["Ada"], "scene": "one", "similarity": 0.5, "revision": 1}],
    "records": [{"text": "They met.", "dialogues": ["d1"]}],
    "condensed": {"text": "They met.", "records": 2},
    "talk_records": [{"text": "They made peace.", "dialogues": ["turn 1"]}],
    "earlier_records": [{"text": "They made peace.", "talk": "monday", "dialogues": ["turn 1"]}],
    "drafts": [{"text": "Hi", "score": 4.0, "reason": "good"}],
    "verification": {"alpha": 3.5, "spoken": 0, "passed": False},
    "episodes": [{"salience": 0.5, "similarity": 0.5, "at": "dawn", "text": "Storm"}],
    "identity": {
        "how": "strategy",
        "of": 3,
        "fallback": "",
        "triples": [TRIPLE],
        "query": {"high_priority": ["a"], "medium_priority": ["b"], "keywords": ["c"]},
        "left_out": 4,
        "not_held": {"as_of": "1849", "count": 2, "triples": [TRIPLE]},
    },
    "plan": "to sing",
    "feeling": "calm",
    "gate": {
        "attempts": [{"verdict": "allow", "text": "Hi", "triple": TRIPLE, "reason": "so", "probability": 0.5}],
        "outcome": "allow",
    },
    "reflection": {"found": [CHANGE], "proposed": 1, "not_weighed": ["why"]},
    "identity_changes": [CHANGE],
    "declined": 2,
    "own": {"attempts": [{"verdict": "good", "text": "Hi", "reason": "so"}]},
    "inner": {"knowledge": [PASSAGE]},
}
OWN = ("own", "inner", "error", "calm")
CORRECTIVE = {
    "retrieved": [{**PASSAGE, "confidence": 0.5, "verdict": "correct"}],
    "knowledge": [{**PASSAGE, "confidence": 0.5}],
    "action": "correct",
    "web_search": "off",
    "web_error": "none",
    "query": "Ada",
}


def shown(view: Any) -> str:
    console = Console(width=140)
    with console.capture() as captured:
        console.print(view)
    return captured.get()


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*place, key))


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """The value with another at a place, or without it where the new one is `...`."""
    if not place:
        return new
    key, *rest = place
    copy = dict(value) if isinstance(value, dict) else list(value)
    if new is ... and not rest:
        del copy[key]
    else:
        copy[key] = changed(value[key], tuple(rest), new)
    return copy


@pytest.mark.sample(1)
@pytest.mark.parametrize("whole", [WHOLE, CORRECTIVE])
def test_whatever_stands_at_any_place_the_rest_is_shown(whole: dict[str, Any]) -> None:
    assert "cannot be shown" not in shown(evidence_view(whole))
    draw = random.Random(7)
    for place in draw.sample(list(places(whole))[1:], 12):
        for new in (..., draw.choice(STRANGE)):
            said = shown(evidence_view(changed(whole, place, new)))
            assert "Storms" in said, (place, new)


@pytest.mark.parametrize("name", [*WHOLE, *CORRECTIVE, "error", "summary"])
def test_whatever_a_name_holds_it_is_shown_or_said_not_to_be(name: str) -> None:
    for new in STRANGE:
        shown(evidence_view({name: new}))
    assert f"{name} cannot be shown" in shown(evidence_view({name: 10**400})) or name in OWN


@pytest.mark.parametrize("evidence", STRANGE)
def test_evidence_that_is_none_is_said_to_be(evidence: Any) -> None:
    assert ("it is not a mapping" in shown(evidence_view(evidence))) is not isinstance(evidence, dict)


@pytest.mark.parametrize("usage", STRANGE)
def test_usage_that_is_none_costs_nothing(usage: Any) -> None:
    for said in (usage, {"respond": usage}, {"respond": {"prompt_tokens": usage}}):
        *_, row, _ = shown(usage_table([said])).splitlines()
        costs = [cell.strip() for cell in row.strip("│").split("│")][1:]
        assert set(costs) <= {"0", "0.0"} or said["respond"]["prompt_tokens"] in (True, -7, 3.5)


def test_how_much_others_know_is_said() -> None:
    assert "Not told to it, and known to others: passages (3)." in shown(evidence_view({"not_told": {"passages": 3}}))
