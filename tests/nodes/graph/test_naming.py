"""Which entities a text names, and which names may mean one thing."""

import pytest

from dramaturg.nodes.graph.naming import may_mean, named_in


@pytest.mark.parametrize(
    ("text", "name", "named"),
    [
        ("And the army of Napoleon?", "Napoleon's army", True),
        ("Napoleon?", "Napoleon's army", False),
        ("Is it 1984?", "1984", True),
        ("Who is your brother?", "her brother", True),
        ("Did Tom’s boat sink?", "TOM QUILL", True),
        ("Were you at the battle?", "", False),
        ("你11岁吗？", "阿波罗11号", False),
        ("你知道阿波罗吗？", "阿波罗11号", True),
        ("你的哥哥是谁？", "他的哥哥", True),
        ("贝多芬是谁？", "路德维希·范·贝多芬", True),
        ("장군 이순신은요?", "이순신 장군", True),
        ("중국 사람입니까?", "중국 공산당", False),
        ("그의 집은 어디입니까?", "그의 형", False),
        ("Kennst du Łukasz?", "Lukasz", True),
    ],
)
def test_a_text_names_an_entity_by_its_name_or_by_a_word_or_a_part_that_stands_for_it(
    text: str, name: str, named: bool
) -> None:
    assert named_in(text, {0: [name]}) == ({0} if named else set())


def test_the_longer_and_the_whole_name_are_meant() -> None:
    names = {"quill": ["Tom Quill"], "thumb": ["Tom Thumb"], "york": ["York"], "new": ["New York"]}
    assert named_in("Tom Thumb in New York?", names) == {"thumb", "new"}
    assert named_in("And Tom?", {**names, "cat": ["Tom"]}) == {"cat"}
    assert named_in("And Tom?", names) == {"quill", "thumb"}
    assert named_in("Tom Thumb and Tom?", {"quill": ["Tom Quill"], "thumb": ["Tom Thumb"]}) == {"quill", "thumb"}


@pytest.mark.parametrize(
    ("name", "known", "same"),
    [
        ("Apollo 11 landing", "Apollo 11", True),
        ("Apollo", "Apollo 11", True),
        ("Apollo 13", "Apollo 11", False),
        ("the landing", "Apollo 11 landing", False),
        ("Tom", "Tom Quill", True),
        ("Tom Thumb", "Tom Quill", False),
        ("music box", "music", False),
        ("the", "The Beatles", False),
        ("共产党", "中国共产党", True),
        ("中国", "中国共产党", False),
        ("第九交响曲", "《第九交响曲》", True),
        ("阿波罗11号登月", "阿波罗11号", True),
    ],
)
def test_a_name_may_mean_what_a_longer_or_a_shorter_one_means(name: str, known: str, same: bool) -> None:
    assert may_mean(name, known) == same
