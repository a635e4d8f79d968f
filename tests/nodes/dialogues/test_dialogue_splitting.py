"""Dialogues from lines: scenes and their stretches, who a speaker is, what is left out, who speaks with whom."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.nodes.dialogues.cast import letters_of
from dramaturg.nodes.dialogues.index import dialogues_of, edges_of
from dramaturg.stores.documents.forms import DialogueLine, RoleCard
from dramaturg.stores.index.dialogues import StoredDialogue, dialogue_graph

from property_settings import property_settings

ADA = RoleCard(name="Ada Quill", aliases=("The keeper", "아다"))
NAME = "dialogues/a.jsonl"
quickly = property_settings(100)

Files = dict[str, Mapping[int, DialogueLine]]


def file(*lines: tuple[str, str] | Mapping[str, Any], name: str = NAME) -> Files:
    """A file: pairs of the speaker and the text, all in one scene, or whole lines."""
    written = [{"speaker": one[0], "text": one[1]} if isinstance(one, tuple) else one for one in lines]
    return {name: dict(enumerate((DialogueLine(**{"scene": "s", **one}) for one in written), start=1))}


def split(*files: Files, longest: int = 1000, card: RoleCard = ADA) -> list[StoredDialogue]:
    return dialogues_of({name: lines for one in files for name, lines in one.items()}, card, longest)


def told(dialogue: StoredDialogue) -> list[tuple[str, str]]:
    return [(line.speaker, line.text) for line in dialogue.lines]


def size(dialogue: StoredDialogue) -> int:
    """Characters of a dialogue, each line with its line feed."""
    return len(dialogue.text) + 1


def in_scenes(**scenes: str) -> Files:
    """A file in which each letter is a line of a speaker of that name; scenes come one after the other."""
    return file(*({"scene": scene, "speaker": one, "text": "Aye."} for scene, who in scenes.items() for one in who))


def even(count: int, characters: int) -> Files:
    """A scene of lines that are all so long, of two speakers in turn."""
    texts = (f"{number} ".ljust(characters - len("a: \n"), "x") for number in range(count))
    return file(*(("ab"[number % 2], text) for number, text in enumerate(texts)))


# Scenes


def test_a_scene_is_a_dialogue_with_its_place() -> None:
    (dialogue,) = split(file(("Tom", " Letters! "), ("Ada Quill", "Give\nthem  here.")))
    assert told(dialogue) == [("Tom", "Letters!"), ("Ada Quill", "Give them here.")]
    assert (dialogue.scene, dialogue.source) == ("s", "dialogues/a.jsonl:1–2")
    assert dialogue.text == dialogue.embedding_text == "Tom: Letters!\nAda Quill: Give them here."
    assert dialogue.speakers == ["Tom", "Ada Quill"]


def test_scenes_and_files_are_in_their_order() -> None:
    found = split(in_scenes(z="ab", a="cd"), file(("e", "Aye."), name="dialogues/b.jsonl"))
    assert [(one.scene, one.source) for one in found] == [
        ("z", "dialogues/a.jsonl:1–2"),
        ("a", "dialogues/a.jsonl:3–4"),
        ("s", "dialogues/b.jsonl:1"),
    ]


def test_scenes_that_take_turns_are_put_together() -> None:
    scenes = "xyxyx"
    (first, second) = split(file(*({"scene": s, "speaker": "Tom", "text": f"{at}."} for at, s in enumerate(scenes))))
    assert [text for _, text in told(first)] == ["0.", "2.", "4."]
    assert [text for _, text in told(second)] == ["1.", "3."]
    assert (first.source, second.source) == ("dialogues/a.jsonl:1–5", "dialogues/a.jsonl:2–4")


def test_a_scene_of_this_name_in_another_file_is_another_dialogue() -> None:
    found = split(file(("Tom", "One.")), file(("Tom", "Two."), name="dialogues/b.jsonl"))
    assert [told(one) for one in found] == [[("Tom", "One.")], [("Tom", "Two.")]]


def test_a_dialogue_that_is_there_twice_is_one() -> None:
    twice = split(file(("Tom", "Aye."), ("Nell", "No.")), file(("TOM", "Aye. "), ("nell", "No."), name="b.jsonl"))
    assert [one.source for one in twice] == ["dialogues/a.jsonl:1–2"]
    scenes = split(in_scenes(s="ab", t="ab"))
    assert len({one.id for one in scenes}) == len(scenes) == 2  # another scene


def test_an_id_is_of_what_is_said_and_in_which_scene() -> None:
    (one,) = split(file(("Tom", "Aye.")))
    silent = {"speaker": "Tom", "text": "…"}
    (moved,) = split(file(silent, ("Tom", "Aye."), name="dialogues/moved.jsonl"))
    assert (moved.id, moved.source) == (one.id, "dialogues/moved.jsonl:2")
    others = split(
        file(("Tom", "Ay.")),
        file(("Nell", "Aye."), name="b"),
        file({"speaker": "Tom", "text": "Aye."} | {"scene": "t"}, name="c"),
    )
    assert len({one.id, *(other.id for other in others)}) == 4


# Long scenes


@pytest.mark.parametrize(
    ("count", "characters", "longest", "parts"),
    [
        (10, 100, 1000, [10]),
        (10, 101, 1000, [5, 5]),
        (11, 100, 1000, [6, 5]),
        (12, 100, 500, [4, 4, 4]),
        (21, 100, 1000, [7, 7, 7]),
        (3, 64, 100, [1, 1, 1]),  # two are as near to an equal share as one, and too long
        (3, 500, 100, [1, 1, 1]),
        (1, 5000, 100, [1]),
    ],
)
def test_a_long_scene_becomes_parts_of_much_the_same_length(
    count: int, characters: int, longest: int, parts: list[int]
) -> None:
    found = split(even(count, characters), longest=longest)
    assert [len(one.lines) for one in found] == parts
    assert {one.scene for one in found} == {"s"}


def test_parts_say_which_lines_they_are() -> None:
    found = split(even(11, 100))
    assert [one.source for one in found] == ["dialogues/a.jsonl:1–6", "dialogues/a.jsonl:7–11"]


def test_a_line_that_is_too_long_is_a_dialogue_by_itself() -> None:
    long = "Nobody knows this. " * 20
    found = split(file(("Tom", "Aye."), ("Nell", long), ("Tom", "No.")), longest=100)
    assert [len(one.lines) for one in found] == [1, 1, 1]


# Speakers


@pytest.mark.parametrize("spelled", ["Ada Quill", "ADA  QUILL", " ada-quill ", "ＡＤＡ Quill", "the Keeper", "아다"])
def test_the_role_has_one_name_under_all_of_its_names(spelled: str) -> None:
    (dialogue,) = split(file(("Tom", "Well?"), (spelled, "Aye.")))
    assert dialogue.speakers == ["Tom", "Ada Quill"]
    assert dialogue.pairs == [("Ada Quill", "Tom")]


@pytest.mark.parametrize("spelled", ["tom Quill", "TOM QUILL", "Tom  Quill ", "Ｔｏｍ Quill", "Tom-Quill", "tomquill"])
def test_others_keep_the_first_spelling_of_their_names(spelled: str) -> None:
    found = split(file(("Tom Quill", "Aye."), ("Nell", "No.")), file((spelled, "Perhaps."), name="dialogues/b.jsonl"))
    assert [one.speakers for one in found] == [["Tom Quill", "Nell"], ["Tom Quill"]]
    (other, _) = split(file((spelled, "Perhaps.")), file(("Tom Quill", "Aye."), name="dialogues/b.jsonl"))
    assert other.speakers == [" ".join(spelled.split())]


def test_other_names_are_other_speakers() -> None:
    (dialogue,) = split(file(("Tom", "Aye."), ("Tom Quill", "No."), ("?!", "Who?"), ("…", "I.")))
    assert dialogue.speakers == ["Tom", "Tom Quill", "?!", "…"]


# What is left out


def test_lines_without_a_word_are_left_out() -> None:
    (dialogue,) = split(file(("Tom", "…"), ("Nell", ""), ("Tom", "Aye."), ("Nell", " - "), ("Tom", "好")))
    assert told(dialogue) == [("Tom", "Aye."), ("Tom", "好")]
    assert dialogue.source == "dialogues/a.jsonl:3–5"


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        ([("", "It is dark."), (" \t", "It is cold."), ("Tom", "Aye.")], [("Tom", "Aye.")]),
        (
            [("Tom", "Aye."), {"speaker": "Nell", "text": "No.", "memory": False}, ("Tom", "Well.")],
            [("Tom", "Aye."), ("Tom", "Well.")],
        ),
    ],
    ids=["of nobody", "not remembered"],
)
def test_lines_of_nobody_and_those_that_the_role_does_not_remember_are_left_out(lines: Any, left: Any) -> None:
    (dialogue,) = split(file(*lines))
    assert told(dialogue) == left


def test_a_scene_of_which_nothing_is_left_is_no_dialogue() -> None:
    nothing = file({"speaker": "Tom", "text": "Aye.", "memory": False}, ("Nell", "…"))
    assert split(nothing) == split({}) == split({NAME: {}}) == []


# Who speaks with whom


@pytest.mark.parametrize(
    ("who", "pairs"),
    [
        ("a", []),
        ("aaa", []),
        ("ab", ["ab"]),
        ("aabb", ["ab"]),
        ("ba", ["ab"]),
        ("abab", ["ab"]),
        ("abc", ["ab", "bc"]),  # a and c are in one scene and do not speak with each other
        ("abca", ["ab", "ac", "bc"]),
        ("abacad", ["ab", "ac", "ad"]),
        ("dcba", ["ab", "bc", "cd"]),
    ],
)
def test_who_speaks_right_after_another_speaks_with_them(who: str, pairs: list[str]) -> None:
    (dialogue,) = split(in_scenes(s=who))
    assert dialogue.pairs == [(pair[0], pair[1]) for pair in pairs]


def test_the_graph_holds_everybody_and_says_where_two_speak() -> None:
    found = split(in_scenes(x="abc", y="ab", z="d", w="cb"))
    graph, ids = dialogue_graph(found), {one.scene: one.id for one in found}
    assert sorted(graph) == ["a", "b", "c", "d"]
    assert {frozenset(pair): graph.edges[pair]["dialogues"] for pair in graph.edges} == {
        frozenset("ab"): (ids["x"], ids["y"]),
        frozenset("bc"): (ids["x"], ids["w"]),
    }
    assert [("".join(edge.pair), [one.scene for one in edge.dialogues]) for edge in edges_of(found)] == [
        ("ab", ["x", "y"]),
        ("bc", ["x", "w"]),
    ]


def test_where_a_long_scene_is_parted_nobody_speaks() -> None:
    (one, other) = split(file(("a", "x" * 60), ("b", "y" * 60)), longest=100)
    assert one.pairs == other.pairs == []


# Whatever the lines are

speakers = st.sampled_from(["Tom", "TOM", "Ada Quill", "The  keeper", "Nell", "", "…"])
texts = st.one_of(
    st.sampled_from(["…", "", "Aye.", "Aye.", " No. "]), st.text(st.sampled_from("ab .好\n"), max_size=60)
)
written = st.builds(
    lambda scene, speaker, text, memory: DialogueLine(scene=scene, speaker=speaker, text=text, memory=memory),
    *(st.sampled_from("xy"), speakers, texts, st.sampled_from([True, True, True, False])),
)
scenes = st.lists(written, max_size=40).map(lambda lines: {NAME: dict(enumerate(lines, start=1))})


def remembered(lines: Mapping[int, DialogueLine], scene: str) -> list[str]:
    """The texts of a scene that are said, remembered and hold a word."""
    said = (one for one in lines.values() if one.scene == scene and one.memory and one.speaker.strip())
    return [" ".join(one.text.split()) for one in said if letters_of(one.text)]


@quickly
@given(scenes, st.integers(1, 300))
def test_each_remembered_line_is_in_one_dialogue_and_in_order(files: Files, longest: int) -> None:
    lines = {at: one.model_copy(update={"text": f"{one.text} {at}"}) for at, one in files[NAME].items()}
    found = split({NAME: lines}, longest=longest)  # no two lines are the same
    for scene in "xy":
        texts = [line.text for one in found if one.scene == scene for line in one.lines]
        assert texts == remembered(lines, scene)
    assert len({one.id for one in found}) == len(found)


@quickly
@given(scenes, st.integers(1, 300))
def test_no_dialogue_is_too_long_unless_a_line_is(files: Files, longest: int) -> None:
    for one in split(files, longest=longest):
        assert size(one) <= longest or len(one.lines) == 1


@quickly
@given(scenes)
def test_what_is_short_enough_is_not_parted(files: Files) -> None:
    lines = files[NAME].values()
    said = [one.scene for one in lines if one.memory and one.speaker.strip() and letters_of(one.text)]
    assert [one.scene for one in split(files, longest=10_000)] == list(dict.fromkeys(said))


@quickly
@given(scenes, st.integers(1, 300))
def test_what_was_split_is_the_same_again_and_its_graph_holds_all(files: Files, longest: int) -> None:
    found = split(files, longest=longest)
    assert found == split(files, longest=longest)
    graph = dialogue_graph(found)
    assert {frozenset(pair) for one in found for pair in one.pairs} == {frozenset(pair) for pair in graph.edges}
    assert {*graph} == {speaker for one in found for speaker in one.speakers}
