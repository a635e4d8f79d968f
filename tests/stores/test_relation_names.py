"""One writing for the name of a relation, in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.names import relation_name


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Likes", "likes"),
        ("is fond of", "is_fond_of"),
        ("isFriendOf", "is_friend_of"),
        ("works-at", "works_at"),
        ("works – at.", "works_at"),
        ("hasIdeology", "has_ideology"),
        ("ownsHMSBeagle", "owns_hms_beagle"),
        ("喜欢", "喜欢"),
        ("「喜欢」", "喜欢"),
        ("ｌｉｋｅｓ", "likes"),
        ("좋아하는 것", "좋아하는_것"),
        ("ЛюбитМоре", "любит_море"),
        ("पसंद है", "पसंद_है"),
        ("يحب", "يحب"),
        ("—", ""),
    ],
)
def test_a_relation_has_one_writing(said: str, written: str) -> None:
    assert relation_name(said) == written


@given(st.text(max_size=30))
def test_what_is_written_so_stays_so(said: str) -> None:
    once = relation_name(said)
    assert relation_name(once) == once
