"""The evidence of a reply from memories, as tables: every part has its place, and no text steers the terminal."""

from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group

from dramaturg.cli.drawing.wheel import COLOURS
from dramaturg.cli.evidence.memories import memories_view, memory_views, mood_view, talk_views
from dramaturg.cli.output import CleanConsole

from property_settings import property_settings

SCORES = dict(zip(COLOURS, (8, 3, 1, 2, 1, 1, 1, 6), strict=True))
MOOD = {"encoder": "model", "emotions": {name: {"score": at, "reason": f"of {name}"} for name, at in SCORES.items()}}
HOSTILE = "[bold]a\x1b]0;title\x07\x1b[2J\r\x08\u202eb[/bold]"


def memory(**changed: Any) -> dict[str, Any]:
    plain = {
        "memory": "3f2a9c77d1e0",
        "text": "The lamp came from Leith.",
        "source": "memories.jsonl:12",
        "canon": True,
    }
    more = {"pinned": False, "count": 1, "when": None, "semantic": 0.9124, "emotional": 0.081, "score": 0.9934}
    return plain | more | {"emotions": SCORES} | changed


def shown(*views: Any, width: int = 120) -> str:
    """What a person sees."""
    console = CleanConsole(file=StringIO(), width=width, color_system=None)
    console.print(Group(*views))
    told = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(letter.isprintable() or letter == "\n" for letter in told)
    return str(told)


def row(told: str, text: str) -> list[str]:
    """The cells of the line that has this text."""
    line = next(line for line in told.splitlines() if text in line)
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_evidence_of_other_methods_has_no_tables() -> None:
    assert memory_views({}) == []
    assert memory_views({"knowledge": [], "entities": [], "role_memory": [], "strategy": "C-A"}) == []


def test_each_part_of_the_evidence_has_its_table() -> None:
    assert len(memory_views({"mood": MOOD})) == 1
    told = shown(*memory_views({"memories": [memory()], "mood": MOOD, "strategy": "S-E"}))
    assert told.index("Mood of the question (model)") < told.index("Memories, recalled by S-E")


def test_what_was_lost_is_said() -> None:
    told = shown(*memory_views({"memories": [memory()], "strategy": "semantic", "lost_memories": 2}))
    assert told.startswith("Memories, recalled by meaning alone")
    assert "Memories of this conversation that are gone or cannot be read: 2." in told


def test_a_mood_has_a_score_a_bar_and_a_reason_for_each_emotion() -> None:
    told = shown(mood_view({"mood": MOOD}))
    for name, score in SCORES.items():
        assert row(told, f"of {name}") == [name, str(score), "━" * score, f"of {name}"]
    full = shown(mood_view({"mood": {"emotions": {"joy": {"score": 10, "reason": ""}}}}))
    assert row(full, "joy") == ["joy", "10", "━" * 10]
    assert row(full, "fear")[:2] == ["fear", "–"]


def test_an_encoder_that_gives_no_reasons_needs_no_column() -> None:
    told = shown(mood_view({"mood": {"encoder": "similarity", "emotions": {name: {"score": 2} for name in COLOURS}}}))
    assert "reason" not in told
    assert "(similarity)" in told


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        (
            {"mood": {"encoder": "model", "error": "The model gave no score."}},
            "The mood of the question is unknown (model): The model gave no score.",
        ),
        ({"mood": {}}, "The mood of the question is unknown: the evidence does not say why."),
        ({"mood": None}, "The mood of the question is unknown: the evidence does not say why."),
        ({}, "The mood of the question is unknown: the evidence does not say why."),
    ],
)
def test_a_mood_that_could_not_be_had_says_why(evidence: dict[str, Any], sentence: str) -> None:
    assert shown(mood_view(evidence)).strip() == sentence


def test_a_memory_has_both_distances_and_the_fused_one() -> None:
    told = shown(memories_view({"memories": [memory(), memory(text="He laughed.", emotional=None, emotions=None)]}))
    assert row(told, "Leith") == ["1", "The lamp came from Leith.", "0.912", "0.081", "0.993", "joy 8,"]
    assert "3f2a9c77 · memories.jsonl:12 " in told
    assert row(told, "laughed") == ["2", "He laughed.", "0.912", "–", "0.993", "mood unknown"]


def test_what_else_is_known_of_a_memory_stands_below_it() -> None:
    told = shown(memories_view({"memories": [memory(pinned=True, count=3, when="1802")]}))
    assert "3f2a9c77 · memories.jsonl:12 · 1802 · pinned · ×3" in told
    assert not {"pinned", "×", "None"} & set(shown(memories_view({"memories": [memory()]})).split())


def test_memories_of_the_conversation_stand_apart_with_their_rank() -> None:
    memories = [memory(), memory(canon=False, text="You asked me.", source="turn 7"), memory(text="He laughed.")]
    told = shown(memories_view({"memories": memories, "strategy": "C-M"}))
    own, conversation = told.split("From this conversation")
    assert own.strip().startswith("Memories, recalled by C-M")
    assert [row(own, "Leith")[0], row(own, "laughed")[0], row(conversation, "asked")[0]] == ["1", "3", "2"]
    assert "turn 7" in conversation
    only = shown(memories_view({"memories": memories[1:2], "strategy": "C-M"})).strip()
    assert only.startswith("From this conversation, recalled by C-M")


@pytest.mark.parametrize("evidence", [{}, {"memories": []}, {"memories": None}])
def test_no_memories_are_said_to_be_none(evidence: dict[str, Any]) -> None:
    assert shown(memories_view(evidence)).strip() == "Memories: none."


def test_a_memory_of_which_little_is_known_has_a_row() -> None:
    assert row(shown(memories_view({"memories": [{}]})), "mood unknown") == ["1", "", "–", "–", "–", "mood unknown"]


@pytest.mark.parametrize("width", [60, 80, 160])
def test_long_texts_are_clipped_and_wide_ones_are_whole(width: int) -> None:
    told = shown(memories_view({"memories": [memory(text="A lamp. " * 200)]}), width=width)
    assert told.count("lamp.") == 20
    assert told.count("…") == 1
    wide = "那天晚上，第一次演奏合唱交响曲的时候，我从来没有那么高兴过；我听不见掌声。"
    letters = set(shown(memories_view({"memories": [memory(text=wide)]}), width=width))
    assert set(wide) <= letters
    assert "…" not in letters


def exchange(**changed: Any) -> dict[str, Any]:
    plain = {
        "when": "3 days ago",
        "text": "user: My cat is Zebulon.\nAda: I see.",
        "turn": "t1",
        "place": 4,
        "talk": "",
    }
    return plain | {"by_meaning": 2, "by_words": 1} | changed


def test_what_came_back_of_the_talk_says_when_who_said_what_and_how_it_was_found() -> None:
    assert talk_views({"memories": [memory()]}) == []
    assert shown(*talk_views({"talk": []})).strip() == "Recalled from earlier messages: nothing."
    other = exchange(text="user: He bites.", when="in another talk, 1 week ago", talk="monday", by_words=None)
    beside = exchange(text="Ada: So do I.", when="", by_meaning=None, by_words=None)
    note = {"when": "to be kept in mind", "text": "I am called Tom.", "turn": "n1", "place": -2, "talk": ""}
    pinned = exchange(text="user: I swim.", pinned=True, by_meaning=None, by_words=None)
    told = shown(*talk_views({"talk": [note, other, exchange(), beside, pinned]}))
    assert "Recalled from earlier messages: 4 exchanges, 1 of other talks; notes: 1" in told
    assert row(told, "called Tom") == ["to be kept in mind", "I am called Tom.", "a note"]
    assert row(told, "I swim.")[2] == "pinned"
    assert row(told, "He bites.") == ["in another talk, 1 week ago", "user: He bites.", "meaning (#2)"]
    assert row(told, "monday")[0] == "monday"
    assert row(told, "Zebulon") == ["3 days ago", "user: My cat is Zebulon.", "meaning (#2), words (#1)"]
    assert row(told, "I see.")[1] == "Ada: I see."
    assert row(told, "So do I.") == ["just now", "Ada: So do I.", "said beside it"]


def test_escape_sequences_and_markup_are_only_text() -> None:
    mood = {"encoder": HOSTILE, "emotions": {"joy": {"score": 3, "reason": HOSTILE}}}
    hostile = memory(text=HOSTILE, source=HOSTILE, when=HOSTILE, memory="\x1b[2Jabc")
    told = shown(*memory_views({"mood": mood, "memories": [hostile], "strategy": HOSTILE}), width=200)
    assert told.count("[bold]a]0;title[2J b[/bold]") >= 4
    said = shown(*talk_views({"talk": [exchange(text=HOSTILE, when=HOSTILE, talk=HOSTILE)]}), width=200)
    assert said.count("[bold]a]0;title[2J") == 3
    assert "[2J b" in shown(mood_view({"mood": {"error": HOSTILE}}))


@given(st.text(), st.integers(30, 120))
@property_settings(40)
def test_any_text_can_be_shown(text: str, width: int) -> None:
    mood = {"encoder": text, "emotions": {"joy": {"score": 3, "reason": text}}}
    told = memory(text=text, source=text, when=text, memory=text)
    seen = shown(*memory_views({"mood": mood, "memories": [told], "strategy": text}), width=width)
    assert "\x1b" not in seen
    assert "joy" in seen
