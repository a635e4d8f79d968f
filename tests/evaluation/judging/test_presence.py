"""Whether what a role of a scene says holds a word: the letters are compared, in every language alike."""

import pytest

from dramaturg.evaluation.judging.presence import stands_in


@pytest.mark.parametrize(
    ("reply", "word", "found"),
    [
        ("It is in the Tea-Pot.", "snuffbox|tea pot", True),
        ("钥匙在那把破茶壺里。", "茶壶|茶壺", True),
        ("钥匙不在我这里。", "茶壶", False),
        ("열쇠는 찻주전자에 있소.", "찻주전자", True),
        ("나는 모르오.", "찻주전자", False),
    ],
)
def test_a_word_is_found_by_its_letters_in_every_language(reply: str, word: str, found: bool) -> None:
    assert stands_in([reply], word) == found
