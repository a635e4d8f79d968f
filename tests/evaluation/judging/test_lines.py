"""Who is speaking: what is asked gives away neither by name nor by place, and shows nothing of the line's scene."""

from collections import Counter
from pathlib import Path

import pytest

import dramaturg.examples
from dramaturg.evaluation.judging.lines import AMONG, HiddenSpeaker, hidden_speakers, named, play
from dramaturg.models.chat import chat_model
from dramaturg.stores.documents.forms import DialogueLine
from dramaturg.stores.role import Role
from dramaturg.testing import ScriptedChatModel

EXAMPLES = Path(next(iter(dramaturg.examples.__path__)))
LINES = {
    "beethoven": ("en", tuple(Role(EXAMPLES / "beethoven").dialogues())),
    "wukong": ("zh", tuple(Role(EXAMPLES / "wukong").dialogues())),
    "play": ("ko", play()),
}
EVERY = pytest.mark.parametrize("source", LINES)


def questions(source: str) -> list[HiddenSpeaker]:
    language, lines = LINES[source]
    return hidden_speakers(lines, source, language)


@EVERY
def test_every_name_and_every_place_is_right_once_in_a_group(source: str) -> None:
    groups: dict[str, list[HiddenSpeaker]] = {}
    for one in questions(source):
        groups.setdefault(one.group, []).append(one)
    assert len(groups) >= 4
    for of in groups.values():
        assert len({one.names for one in of}) == 1
        assert sorted(one.speaker for one in of) == [*range(AMONG)]


@EVERY
def test_a_line_is_its_speakers_and_is_asked_once(source: str) -> None:
    lines = {one.text: one for one in LINES[source][1]}
    found = questions(source)
    assert len({one.line for one in found}) == len(found)
    assert all(lines[one.line].speaker == one.names[one.speaker] for one in found)


@EVERY
def test_what_a_speaker_says_elsewhere_is_from_other_scenes_than_any_line_of_that_one(source: str) -> None:
    scenes = {one.text: one.scene for one in LINES[source][1]}
    asked: dict[str, set[str]] = {}
    for one in questions(source):
        asked.setdefault(one.names[one.speaker], set()).add(scenes[one.line])
    for one in questions(source):
        for name, texts in zip(one.names, one.elsewhere, strict=True):
            assert not {scenes[text] for text in texts} & asked.get(name, set())
        assert {scenes[text] for text in one.before} <= {scenes[one.line]}
        assert one.line not in one.before


def test_nobody_is_asked_for_much_more_often_than_others() -> None:
    counts = Counter(one.names[one.speaker] for one in questions("beethoven"))
    assert max(counts.values()) <= 3
    assert len(counts) >= 10


def test_there_is_nothing_to_ask_where_fewer_than_four_speak_in_two_scenes() -> None:
    text = "A line that is long enough to be somebody's own."
    lines = [DialogueLine(scene=f"{at}", speaker=f"{at % 3}", text=f"{text} {at}") for at in range(30)]
    assert hidden_speakers(lines, "ada", "en") == []
    lines += [DialogueLine(scene="30", speaker="3", text=f"{text} {at}") for at in range(30, 40)]
    assert hidden_speakers(lines, "ada", "en") == []


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
async def test_the_speaker_is_not_in_what_is_shown_before_the_four_names(language: str) -> None:
    one = questions("play")[1]._replace(language=language)
    model = ScriptedChatModel(choose=3)
    assert await named(chat_model(model), one) == 2
    shown = model.calls[0].text
    material, _, names = shown.partition("</line>")
    assert one.line in material
    assert all(name in names for name in one.names)
    assert all(f"{name}: " in material for name in one.names)  # with what they say elsewhere
    assert one.names[one.speaker] not in material[material.rindex("<dialogue>") :]
