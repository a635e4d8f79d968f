"""Moments as people write them, and which of two comes first."""

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.moments import UNITS, Moment, read_moment, require_moment, within

TIMELINE = ("the Admiral Benbow", "the voyage", "the island")
WORDS = ("one", "two", "three", "four", "five", "twelve", "twenty")
VALUES = (1, 2, 3, 4, 5, 12, 20)
ROMAN = ("I", "II", "III", "IV", "V", "XII", "XX")
HAN = ("一", "二", "三", "四", "五", "十二", "二十")


def place(**units: int) -> Moment:
    return Moment(place=tuple((units[one], units[one]) if one in units else None for one in UNITS))


@pytest.mark.parametrize("at", range(len(VALUES)))
def test_a_chapter_by_any_number(at: int) -> None:
    wanted = place(chapter=VALUES[at])
    for text in (
        f"Chapter {VALUES[at]}",
        f"CHAPTER {ROMAN[at]}.",
        f"chapter {ROMAN[at].lower()}: the sea",
        f"Chapter {WORDS[at]}",
        f"Ch. {VALUES[at]}",
        f"第{HAN[at]}章",
        f"第{HAN[at]}回 大海",
        f"第 {VALUES[at]} 章",
        f"제{VALUES[at]}장",
        f"제 {VALUES[at]} 회",
    ):
        assert read_moment(text) == wanted, text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Act 3, Scene 2", place(act=3, scene=2)),
        ("ACT III. SCENE II.", place(act=3, scene=2)),
        ("the third act", place(act=3)),
        ("Act the Third, sc. 2", place(act=3, scene=2)),
        ("第二幕第三场", place(act=2, scene=3)),
        ("제2막 제3장", place(act=2, scene=3)),
        ("Volume 2, Part One, Chapter 4", place(volume=2, part=1, chapter=4)),
        ("第一百二十回", place(chapter=120)),
        ("卷三", place(volume=3)),
        ("age 12", Moment(ages=(12, 12))),
        ("at twelve years old", Moment(ages=(12, 12))),
        ("12-14 years old", Moment(ages=(12, 14))),
        ("十二岁", Moment(ages=(12, 12))),
        ("12살 여름", Moment(ages=(12, 12))),
        ("1824-05", Moment(days=("1824-05-01", "1824-05-31"))),
        ("summer 1802", Moment(days=("1802-01-01", "1802-12-31"))),
        ("1770–1792", Moment(days=("1770-01-01", "1792-12-31"))),
        ("1770-72", Moment(days=("1770-01-01", "1772-12-31"))),
        ("the 1790s", Moment(days=("1790-01-01", "1799-12-31"))),
        ("3 May 1824", Moment(days=("1824-05-03", "1824-05-03"))),
        ("The concert of 2 April 1800", Moment(days=("1800-04-02", "1800-04-02"))),
        ("the great concert of December 1808, Vienna", Moment(days=("1808-12-01", "1808-12-31"))),
        ("from 3 May to 9 June 1824", Moment(days=("1824-06-09", "1824-06-09"))),
        ("3 May 1824 – 9 June 1826", Moment(days=("1824-01-01", "1826-12-31"))),
        ("1824年5月3日", Moment(days=("1824-05-03", "1824-05-03"))),
        ("the Voyage, at night", Moment(named=(1, 1))),
        ("Book Two: 1805", place(book=2)._replace(days=("1805-01-01", "1805-12-31"))),
    ],
)
def test_what_people_write(text: str, moment: Moment) -> None:
    assert read_moment(text, TIMELINE) == moment


@pytest.mark.parametrize("text", ["", "the storm", "The part I played", "May", "Chapter", "fear of the island", "12"])
def test_what_is_no_moment(text: str) -> None:
    assert not read_moment(text, TIMELINE).is_read


@pytest.mark.parametrize(
    ("when", "as_of", "ended", "begun"),
    [
        ("chapter 3, scene 2", "chapter 3", True, True),
        ("chapter 3", "chapter 3, scene 2", False, True),
        ("1824-05", "1824", True, True),
        ("1824", "1824-05", False, True),
        ("1825", "1824", False, False),
        ("act 1, scene 5", "act 2, scene 1", True, True),
        ("part 2, chapter 8", "chapter 8", None, None),
        ("scene 3", "act 2", None, None),
        ("1805", "chapter 3", None, None),
        ("long ago", "1805", None, None),
        ("age 12, 1782", "1790", True, True),
        ("the island", "the voyage", False, False),
        ("chapters 3-5", "chapter 4", False, True),
    ],
)
def test_which_comes_first(when: str, as_of: str, ended: bool | None, begun: bool | None) -> None:
    moment, now = read_moment(when, TIMELINE), read_moment(as_of, TIMELINE)
    assert (moment.ends_by(now), moment.begins_by(now)) == (ended, begun)


def test_a_scene_is_of_the_act_that_it_stands_in() -> None:
    act, scene = read_moment("Act 2"), read_moment("Scene 1")
    assert within(act, scene) == place(act=2, scene=1)
    assert within(within(act, scene), read_moment("1606")).days == ("1606-01-01", "1606-12-31")


def test_chapters_that_are_numbered_through_are_known_without_their_part() -> None:
    eighth = read_moment("part 2, chapter 8")._replace(through=frozenset({UNITS.index("chapter")}))
    assert [eighth.ends_by(read_moment(f"chapter {at}")) for at in (7, 8, 9)] == [False, True, True]


numbers = st.integers(1, 30)
moments = st.one_of(
    st.dates().map(lambda day: day.isoformat()),
    st.tuples(st.integers(1000, 2999), st.integers(1, 12)).map(lambda one: f"{one[0]}-{one[1]:02}"),
    st.integers(1000, 2999).map(str),
    numbers.map(lambda one: f"age {one}"),
    numbers.map(lambda one: f"chapter {one}"),
    st.tuples(numbers, numbers).map(lambda one: f"act {one[0]}, scene {one[1]}"),
    numbers.map(lambda one: f"act {one}"),
    st.sampled_from(TIMELINE),
)


@given(moments, moments, moments)
def test_what_is_known_at_a_moment_is_known_later_and_the_same_is_always_known(one: str, two: str, three: str) -> None:
    a, b, c = (read_moment(text, TIMELINE) for text in (one, two, three))
    assert all(moment.is_read and moment.ends_by(moment) for moment in (a, b, c))
    for first, second, third in product((a, b, c), repeat=3):
        if first.ends_by(second) and second.ends_by(third):
            assert first.ends_by(third)
        if first.ends_by(second):
            assert first.begins_by(second)
        assert (first.ends_by(second) is None) == (second.ends_by(first) is None)


@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=8, unique=True))
def test_a_text_is_known_up_to_where_it_is_read(places: list[tuple[int, int, int]]) -> None:
    told = [read_moment(f"book {book}, chapter {chapter}, scene {scene}") for book, chapter, scene in sorted(places)]
    for before, after in pairwise(told):
        assert (before.ends_by(after), after.ends_by(before)) == (True, False)


@given(st.text(max_size=60))
def test_any_text_is_read_in_peace(text: str) -> None:
    moment = read_moment(text, TIMELINE)
    assert moment.is_read == bool(moment.days or moment.ages or moment.place or moment.named)


def test_what_somebody_sets_must_be_readable() -> None:
    with pytest.raises(ValueError, match=r"'long ago' is no moment that can be read: .* timeline: the Admiral Benbow"):
        require_moment("long ago", TIMELINE)
