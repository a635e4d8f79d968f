"""The memory unit: what is a memory, which lines are copies of one, and what an id depends on."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dramaturg.nodes.dialogues.cast import letters_of
from dramaturg.nodes.memories.index import memory_unit
from dramaturg.stores.documents.forms import DialogueLine, Memory, RoleCard
from dramaturg.stores.documents.memories import Lines
from dramaturg.stores.index.memories import StoredMemory

from property_settings import property_settings

ADA = RoleCard(name="Ada Quill", aliases=("The keeper", "아다"))
ROLE, OTHER = "Ada Quill", "Tom"


def told(*lines: str | Mapping[str, Any]) -> dict[str, Lines]:
    """A `memories.jsonl`."""
    written = [Memory(text=one) if isinstance(one, str) else Memory(**one) for one in lines]
    return {"memories.jsonl": dict(enumerate(written, start=1))}


def scene(*lines: tuple[str, str] | Mapping[str, Any], name: str = "dialogues/a.jsonl") -> dict[str, Lines]:
    """A dialogue: pairs of the speaker and the text, all in one scene, or whole lines."""
    written = [{"speaker": one[0], "text": one[1]} if isinstance(one, tuple) else one for one in lines]
    return {name: dict(enumerate((DialogueLine(**{"scene": "s", **one}) for one in written), start=1))}


def unit(*files: Mapping[str, Lines], card: RoleCard = ADA) -> list[StoredMemory]:
    return memory_unit({name: lines for file in files for name, lines in file.items()}, card)


def texts(*files: Mapping[str, Lines]) -> list[str]:
    return [one.text for one in unit(*files)]


# What is a memory


def test_the_roles_line_after_what_was_said_before_it() -> None:
    (memory,) = unit(scene((OTHER, " Letters! "), (ROLE, "Give them here.\n")))
    assert memory.text == "Tom: Letters!\nAda Quill: Give them here."
    assert (memory.own, memory.places, memory.pinned, memory.when) == (
        "Give them here.",
        ("dialogues/a.jsonl:2",),
        False,
        None,
    )


def test_the_first_line_of_a_scene_stands_alone() -> None:
    lines = [
        {"speaker": OTHER, "text": "It is late."},
        {"speaker": ROLE, "text": "It is calm.", "scene": "dawn", "date": "1841"},
        {"speaker": OTHER, "text": "Still.", "scene": "dawn"},
        {"speaker": ROLE, "text": "Still.", "scene": "s"},
    ]
    found = unit(scene(*lines))
    assert [one.text for one in found] == ["Ada Quill: It is calm.", "Tom: It is late.\nAda Quill: Still."]
    assert [one.when for one in found] == ["1841", None]


def test_scenes_that_take_turns_in_a_file_do_not_mix() -> None:
    turns = [
        ("a", OTHER, "Fog?"),
        ("b", "Jory", "Fish?"),
        ("a", ROLE, "Fog."),
        ("b", ROLE, "Fish."),
        ("a", ROLE, "Hm."),
    ]
    lines = [{"scene": name, "speaker": speaker, "text": text} for name, speaker, text in turns]
    assert texts(scene(*lines)) == [
        "Tom: Fog?\nAda Quill: Fog.",
        "Jory: Fish?\nAda Quill: Fish.",
        "Ada Quill: Fog.\nAda Quill: Hm.",
    ]


def test_what_was_said_in_another_file_comes_not_before() -> None:
    assert texts(scene((OTHER, "Well?"), name="dialogues/a.jsonl"), scene((ROLE, "No."), name="dialogues/b.jsonl")) == [
        "Ada Quill: No."
    ]


def test_two_lines_of_the_role_in_a_row() -> None:
    assert texts(scene((ROLE, "Hush."), (ROLE, "A ship!"), (OTHER, "Where?"))) == [
        "Ada Quill: Hush.",
        "Ada Quill: Hush.\nAda Quill: A ship!",
    ]


def test_what_the_role_does_not_remember_is_still_what_was_said_before() -> None:
    hushed = {"speaker": ROLE, "text": "Hush.", "memory": False}
    assert texts(scene(hushed, (ROLE, "A ship!"))) == ["Ada Quill: Hush.\nAda Quill: A ship!"]


@pytest.mark.parametrize(
    "speaker", ["Ada Quill", "ADA QUILL", " ada  quill:", "Ａｄａ　Ｑｕｉｌｌ", "the Keeper", "아다"]
)
def test_the_role_is_known_by_any_of_its_names(speaker: str) -> None:
    assert texts(scene((OTHER, "Who?"), (speaker, "I am."))) == ["Tom: Who?\nAda Quill: I am."]


def test_a_decomposed_name_is_the_same_name() -> None:
    card = RoleCard(name="Zoë 아다")
    spoken = scene((unicodedata.normalize("NFD", card.name), "I am."))
    assert [one.own for one in unit(spoken, card=card)] == ["I am."]


@pytest.mark.parametrize("speaker", ["Ada", "Ada Quill's brother", "Tom", "", "???"])
def test_nobody_else_is_the_role(speaker: str) -> None:
    card = ADA.model_copy(update={"aliases": ("★",)})
    assert unit(scene((speaker, "I am.")), card=card) == []


def test_a_name_without_letters_is_a_name() -> None:
    card = RoleCard(name="★")
    assert [one.text for one in unit(scene(("★", "I am."), ("☆", "No, I."), ("", "Or I.")), card=card)] == ["★: I am."]


def test_free_memories_and_questions() -> None:
    pair = {"question": " Why? ", "answer": " Because. ", "when": "1843", "pinned": True}
    found = unit(told(" It rained. ", pair))
    assert [(one.text, one.own, one.when, one.pinned) for one in found] == [
        ("It rained.", "It rained.", None, False),
        ("Why?\nAda Quill: Because.", "Because.", "1843", True),
    ]
    assert [one.places for one in found] == [("memories.jsonl:1",), ("memories.jsonl:2",)]


@pytest.mark.parametrize("own", ["", " ", "…", "?!", "—", "❤️", "\u200b", "~~~~"])
def test_where_the_role_says_nothing_there_is_no_memory(own: str) -> None:
    assert unit(told(own, {"question": "Well?", "answer": own}), scene((OTHER, "Well?"), (ROLE, own))) == []


@pytest.mark.parametrize("own", ["7", "é", "唉", "아", "½", "ﬁ"])
def test_a_single_letter_is_something(own: str) -> None:
    assert len(unit(told(own))) == 1


def test_memories_stand_in_the_order_of_the_files() -> None:
    files = [scene((ROLE, "b"), (OTHER, "-"), (ROLE, "a"), name=f"dialogues/{name}.jsonl") for name in "zy"]
    found = unit(*files, told("d", "c", "b"))
    assert [one.own for one in found] == ["b", "a", "d", "c", "b"]
    assert found[0].places == ("dialogues/z.jsonl:1", "dialogues/y.jsonl:1")


def test_blank_lines_count() -> None:
    assert unit({"memories.jsonl": {3: Memory(text="a"), 9: Memory(text="b")}})[1].places == ("memories.jsonl:9",)


# Copies

COPIES = [
    ("I sang to it.", "I sang to it."),
    ("I sang to it.", "  i SANG – to it!!! "),
    ("I sang to it.", "Ｉ　ｓａｎｇ to it。"),
    ("I don't know", "I don’t know."),
    ("Straße", "STRASSE"),
    ("It is 7:30, the 3rd.", "It is ７：３０ the 3rd"),
    ("I keep 1,000 lamps...", "I keep １，０００ lamps"),
    ("师父，徒弟来了！", "师父 徒弟来了。"),
    ("俺有 3 个桃", "俺有3个桃"),
    ("カモメ島 の灯", "ｶﾓﾒ島の灯"),
    ("등대지기 아다", unicodedata.normalize("NFD", "등대지기, 아다")),
    ("It was −5 degrees.", "It was -5 degrees"),
    ("It costs 5 €.", "it costs 5€"),
    ("I owe 50%!", "I owe 50 ％"),
    ("俺有5 $", "俺有 5＄。"),
    ("I love you ❤️", "I love you❤"),
    ("Well – (truly) [so] “it” is?", "„Well“… truly so 'it' - is!"),
    ("Well, `so`!", "Well ~ so～"),
    ("好──走", "好—走"),
]
OTHERS = [
    ("I keep 7 lamps", "I keep 8 lamps"),
    ("It weighs 1.5 pounds.", "It weighs 15 pounds."),
    ("It weighs 1.5 pounds.", "It weighs 1:5 pounds."),
    ("It was -5 degrees.", "It was 5 degrees."),
    ("She is a nice man.", "She is an iceman."),
    ("I sang to it.", "I sang to him."),
    ("I sang to it.", "I sang to it once."),
    ("to it I sang", "I sang to it"),
    ("1 12 lamps", "11 2 lamps"),
    ("아버지가 방에", "아버지 가방에"),
    ("俺有三个桃", "俺有四个桃"),
    ("कि", "की"),
    ("It costs 5 $", "It costs 5 €"),
    ("It costs 5 $", "It costs 5"),
    ("I owe 50%", "I owe 50"),
    ("I write C++", "I write C#"),
    ("I write C++", "I write C"),
    ("I love you ❤️", "I love you 💔"),
    ("It is 20°", "It is 20"),
    ("½ a pound", "1 2 a pound"),
    ("俺有5$", "俺有5€"),
    ("resume", "résumé"),
]


@pytest.mark.parametrize(("one", "other"), COPIES)
def test_what_differs_in_punctuation_case_or_width_is_one_memory(one: str, other: str) -> None:
    found = unit(told(one, "Else.", {"text": other, "pinned": True, "when": "1843"}))
    assert [memory.text for memory in found] == [one.strip(), "Else."]
    assert (found[0].places, found[0].pinned, found[0].when) == (
        ("memories.jsonl:1", "memories.jsonl:3"),
        True,
        "1843",
    )


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_what_differs_in_a_word_a_number_or_a_symbol_is_two(one: str, other: str) -> None:
    assert len(unit(told(one, other))) == 2


def test_copies_of_a_scene_keep_the_first_words_and_every_place() -> None:
    first = scene((OTHER, "Well?"), (ROLE, "Not a breath."), name="dialogues/a.jsonl")
    again = scene((OTHER, "WELL"), {"speaker": "the keeper", "text": "Not a breath…", "pinned": True, "date": "1840"})
    again = {"dialogues/b.jsonl": again["dialogues/a.jsonl"]}
    (memory,) = unit(first, again, told({"question": "Tom: Well?", "answer": "not a breath"}))
    assert memory.text == "Tom: Well?\nAda Quill: Not a breath."
    assert memory.places == ("dialogues/a.jsonl:2", "dialogues/b.jsonl:2", "memories.jsonl:1")
    assert (memory.pinned, memory.when) == (True, "1840")


def test_the_same_line_after_other_words_is_another_memory() -> None:
    assert len(unit(scene((OTHER, "Well?"), (ROLE, "No."), ("Jory", "Well?"), (ROLE, "No.")))) == 2


def test_an_id_depends_on_its_own_words_alone() -> None:
    before = {one.text: one.id for one in unit(scene((OTHER, "Well?"), (ROLE, "No.")), told("a", "b", "c"))}
    after = {one.text: one.id for one in unit(told("z", "c", "b", {"text": "a", "pinned": True, "when": "1840"}))}
    assert len({*before.values()}) == 4
    assert {text: after[text] for text in "abc"} == {text: before[text] for text in "abc"}
    renamed = unit(told("a", {"question": "q", "answer": "b"}), card=RoleCard(name="Ida"))
    assert renamed[0].id == before["a"]


# Whatever is written

words = st.text(st.sampled_from("abAＢ é1１2.,:-−/?!$＄%+~ \n\u2028我你，아가ﬁ_❤'’ि"), max_size=8) | st.text(
    max_size=12
)
speakers = st.sampled_from([ROLE, "the keeper", OTHER, ""])
free = st.builds(lambda text, pinned: Memory(text=text, pinned=pinned), words, st.booleans())
pairs = st.builds(lambda question, answer: Memory(question=question, answer=answer), words, words)
spoken = st.builds(
    lambda name, speaker, text, memory: DialogueLine(scene=name, speaker=speaker, text=text, memory=memory),
    st.sampled_from("st"),
    speakers,
    words,
    st.booleans(),
)


def numbered(lines: Sequence[Any]) -> Lines:
    return dict(enumerate(lines, start=1))


banks = st.builds(
    lambda first, second, lines: {"dialogues/a.jsonl": first, "dialogues/b.jsonl": second, "memories.jsonl": lines},
    *(st.lists(spoken, max_size=6).map(numbered) for _ in range(2)),
    st.lists(free | pairs, max_size=6).map(numbered),
)


def remembered(line: Memory | DialogueLine) -> bool:
    """Whether a line is to be a memory."""
    if isinstance(line, DialogueLine) and not (line.memory and line.speaker in (ROLE, "the keeper")):
        return False
    own = line.text if line.text is not None else getattr(line, "answer", "")
    return bool(letters_of(own))


@given(banks)
@property_settings(40)
def test_every_line_is_in_exactly_one_memory(files: dict[str, Lines]) -> None:
    found = unit(files)
    places = Counter(place for one in found for place in one.places)
    lines = [(f"{name}:{number}", line) for name, lines in files.items() for number, line in lines.items()]
    assert places == Counter(place for place, line in lines if remembered(line))
    assert len({one.id for one in found}) == len(found)
    assert sum(line.pinned for _, line in lines if remembered(line)) >= sum(one.pinned for one in found)


@given(banks)
@example(told("-.5", "- 5", "5", "५"))
@property_settings(40)
def test_joining_again_joins_nothing_more(files: dict[str, Lines]) -> None:
    found = unit(files)
    again = unit(told(*(one.text for one in found)))
    assert [one.id for one in again] == [one.id for one in found]
    doubled = unit(files, {f"dialogues/z{name.replace('/', '')}": lines for name, lines in files.items()})
    assert [(one.id, one.text) for one in doubled] == [(one.id, one.text) for one in found]
    assert sum(len(one.places) for one in doubled) == 2 * sum(len(one.places) for one in found)


@given(banks)
@property_settings(40)
def test_the_order_of_files_decides_no_id(files: dict[str, Lines]) -> None:
    found = {one.id: {*one.places} for one in unit(files)}
    for names in permutations(files):
        assert {one.id: {*one.places} for one in unit({name: files[name] for name in names})} == found


@given(st.lists(words, max_size=5), st.integers(0, 4), words)
@property_settings(40)
def test_another_line_changes_no_id(lines: list[str], at: int, new: str) -> None:
    before = {one.id for one in unit(told(*lines))}
    after = {one.id for one in unit(told(*lines[:at], new, *lines[at:]))}
    assert after == before | {one.id for one in unit(told(new))}
