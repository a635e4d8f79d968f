"""Diaries as dated entries, each a scene of one who writes."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.texts.diary import looks_like_diary, read_diary
from dramaturg.stores.texts.form import Unreadable


def entries(text: str, name: str = "diary.md") -> list[tuple[str, str, str, str]]:
    """Title, place, date and text of each entry."""
    return [(one.title, one.place, one.when, one.lines[0].text) for one in read_diary(name, text).scenes]


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("## 2024-05-03", "2024-05-03"),
        ("2024-05-03 22:10", "2024-05-03 22:10"),
        ("2024-05-03T22:10:59Z", "2024-05-03 22:10"),
        ("# May 3rd, 1897", "1897-05-03"),
        ("**May 3, 1897**", "1897-05-03"),
        ("Monday, 3 May 1897 at 9:05 p.m.", "1897-05-03 21:05"),
        ("Mon 3 Sept. 1897", "1897-09-03"),
        ("The 3rd of May, 1897", "1897-05-03"),
        ("03.05.1897", "1897-05-03"),
        ("3. März 1897", "1897-03-03"),
        ("lundi 3 mai 1897", "1897-05-03"),
        ("3 de mayo de 1897", "1897-05-03"),
        ("3 мая 1897", "1897-05-03"),
        ("25/12/1897", "1897-12-25"),
        ("12/25/1897", "1897-12-25"),
        ("1897年5月3日 星期一 晴", "1897-05-03"),
        ("一八九七年十二月廿三日", "1897-12-23"),
        ("二〇二四年五月十三日", "2024-05-13"),
        ("2024년 5월 3일 금요일 맑음", "2024-05-03"),
        ("2024.05.03 (금)", "2024-05-03"),
        ("# May 1897", "1897-05"),
        ("4 July 97", ""),
        ("31 February 1897", ""),
    ],
)
def test_dates_are_read_as_people_write_them(line: str, when: str) -> None:
    text = f"{line}\n\nI rose early.\n"
    if when:
        assert [one[2:] for one in entries(text)] == [(when, "I rose early.")]
    else:
        assert all(one[2] == "" for one in entries(f"3 May\n\nI rose.\n\n{text}"))


def test_years_go_on_from_the_entry_before_and_turn_with_january() -> None:
    text = (
        "30 December 1896\n\nI rose.\n\n31 December\n\nI slept.\n\n1 January\n\nI rose again.\n\n5 March\n\nI slept.\n"
    )
    assert [one[2] for one in entries(text)] == ["1896-12-30", "1896-12-31", "1897-01-01", "1897-03-05"]


def test_a_heading_or_the_name_of_the_file_gives_the_year() -> None:
    text = "3 May\n\nI rose.\n\n# 1899\n\n4 May\n\nI slept.\n"
    assert [one[2] for one in entries(text, "Diary 1897.txt")] == ["1897-05-03", "1899-05-04"]
    assert [one[2] for one in entries(f"# My diary, 1898\n\n{text}")] == ["1898-05-03", "1899-05-04"]


def test_without_any_year_there_is_no_date() -> None:
    assert entries("3 May. Bistritz.—Left Munich in the night.\n") == [
        ("3 May. Bistritz", "Bistritz", "", "Left Munich in the night.")
    ]


def test_a_day_of_the_week_is_the_next_one_after_the_day_before() -> None:
    text = "Friday, 3 May 2024\n\nI rose.\n\nSaturday\n\nI slept.\n\nFriday\n\nI rose.\n"
    assert [one[2] for one in entries(text)] == ["2024-05-03", "2024-05-04", "2024-05-10"]


def test_what_order_day_and_month_have_is_seen_in_the_other_dates() -> None:
    assert [one[2] for one in entries("03/05/2024\n\nI rose.\n\n14/05/2024\n\nI slept.\n")] == [
        "2024-05-03",
        "2024-05-14",
    ]
    assert [one[2] for one in entries("5/3/24\n\nI rose.\n\n5/14/24\n\nI slept.\n")] == ["2024-05-03", "2024-05-14"]
    assert [one[2] for one in entries("11/01/2024\n\nI rose.\n\n02/03/2024\n\nI slept.\n")] == [
        "2024-01-11",
        "2024-03-02",
    ]


def test_where_nothing_says_the_order_the_date_is_only_its_year() -> None:
    assert [one[2] for one in entries("3/5/2024\n\nI rose.\n")] == ["2024"]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("3 May 1897 — at sea", "at sea"),
        ("3 May 1897, New York", "New York"),
        ("3 May 1897. On board the Demeter", "On board the Demeter"),
        ("3 May 1897, morning", ""),
        ("3 May 1897 - Sunny", ""),
        ("3 May 1897: I have a plan", ""),
        ("2024年5月3日 于上海", "上海"),
        ("2024년 5월 3일 부산에서", "부산"),
        ("1897年5月3日 星期一 晴", ""),
    ],
)
def test_a_place_is_kept_where_a_heading_clearly_says_one(line: str, place: str) -> None:
    assert [one[1] for one in entries(f"{line}\n\nI rose.\n")] == [place]


def test_entries_that_begin_on_the_line_of_their_date_are_read() -> None:
    text = """_3 May. Bistritz._--Left in the
night.

_4 May 1897._--I found that
3 May was a day I had lost.

12 May.--Let me begin with facts--bare facts.

24 June, before morning.--He left.

5月3日，我起得很早。

2024년 5월 4일 비. 나는 잤다.
"""
    assert [(one[0], one[3]) for one in entries(text)] == [
        ("3 May. Bistritz", "Left in the\nnight."),
        ("4 May 1897", "I found that\n3 May was a day I had lost."),
        ("12 May", "Let me begin with facts--bare facts."),
        ("24 June. before morning", "He left."),
        ("5月3日", "我起得很早。"),
        ("2024년 5월 4일 비", "나는 잤다."),
    ]


def test_an_entry_is_one_line_of_nobody_named_and_its_text_a_heading_and_what_is_below() -> None:
    read = read_diary("d.md", "# Diary of a keeper\n\n## 2024-05-03\n\nI rose.\n\n### The lamp\n\nIt burns.\n")
    (line,) = read.scenes[0].lines
    assert (line.speaker, line.at, line.when) == ("", "line 3", "2024-05-03")
    assert read.text == "# Diary of a keeper\n\n## 2024-05-03\n\nI rose.\n\n### The lamp\n\nIt burns.\n"


def test_dates_without_text_are_said_to_be_left_out() -> None:
    read = read_diary("d.md", "2024-05-03\n\n2024-05-04\n\nI rose.\n")
    assert len(read.scenes) == 1
    assert read.missing == ("1 dated entry has no text",)


def test_the_name_of_a_file_dates_what_is_in_it() -> None:
    assert looks_like_diary("2024-05-03.md", "I rose early.")
    assert entries("I rose early.", "notes/20240503.md") == [("2024-05-03", "", "2024-05-03", "I rose early.")]
    assert not looks_like_diary("2024-05-03.md", "Revenue rose.")


def test_an_export_of_day_one_is_read_in_the_order_of_its_days() -> None:
    kept = {
        "entries": [
            {"creationDate": "2024-05-04T08:00:00Z", "text": "I slept\\. ![](dayone-moment://AB)"},
            {"creationDate": "2024-05-03T22:10:00Z", "text": "I rose.", "location": {"localityName": "Oslo"}},
            {"creationDate": "2024-05-05T22:10:00Z"},
            {"creationDate": 5, "text": "x"},
            "x",
        ]
    }
    assert looks_like_diary("Journal.json", json.dumps(kept))
    assert entries(json.dumps(kept)) == [
        ("2024-05-03 22:10", "Oslo", "2024-05-03 22:10", "I rose."),
        ("2024-05-04 08:00", "", "2024-05-04 08:00", "I slept."),
    ]


DIARIES = {
    "English": "3 May 1897\n\nI rose early.\n\n4 May\n\nMy head aches again.\n\n5 May\n\nRain all day. I read.\n",
    "Chinese": "5月3日 晴\n\n今天我起得很早，出去走了走，天气很好。\n\n5月4日 雨\n\n我头疼，整天在家看书。\n\n"
    "5月5日\n\n我很好。今天我又去了海边，看见了一条船。\n",
    "Korean": "2024년 5월 3일\n\n나는 일찍 일어나서 바닷가에 나갔다.\n\n5월 4일\n\n내 머리가 아파서 책을 읽었다.\n\n"
    "5월 5일\n\n비가 왔다. 나는 잤다. 아무도 오지 않았다.\n",
    "German": "3. Mai 1897\n\nIch ging früh aus.\n\n4. Mai\n\nMein Kopf ist schwer.\n\n5. Mai\n\nIch las sehr viel.\n",
}


@pytest.mark.parametrize("language", DIARIES)
def test_dated_entries_in_the_first_person_are_a_diary(language: str) -> None:
    assert looks_like_diary("d.txt", DIARIES[language])


NO_DIARIES = {
    "novel": "Chapter I\n\nOn 3 May I rose. She said: I am.\n\n3 May was cold, and I rose.\n" * 20,
    "novel that begins with letters": "3 May 1897\n\nI rose.\n\n4 May\n\nI slept.\n\n5 May\n\n"
    + "My story is long.\n\n" * 200,
    "novel of several who write": "Ada's Journal\n\n3 May\n\nI rose early today.\n\nTom's Diary\n\n"
    "4 May\n\nI slept late.\n\n5 May\n\nI rose again.\n",
    "chat": "03/05/2024, 10:15 - Ada: I am here, are you?\n\n03/05/2024, 10:16 - Tom: I am here too, at home.\n\n" * 6,
    "iMessage": "Dec 31, 2023  9:41:05 PM\nMe\nI am here, at home.\n\n" * 4,
    "log": "2024-05-03 10:00:01 started my service\n2024-05-03 10:00:02 failed\n" * 9,
    "changelog": "## 2024-05-03\n\n- Added a lamp that burns.\n\n## 2024-05-01\n\n- Fixed the door that stuck.\n\n" * 2,
    "timeline": "1811: Ada is born.\n\n3 May 1830: she keeps the light.\n\n4 May 1890: she dies.\n",
    "CSV": "2024-05-03,Ada,12\n2024-05-04,Tom,13\n2024-05-05,Kit,14\n" * 5,
    "recipe": "Soup\n\n1. Boil my water.\n2. Add salt.\n3. Serve.\n",
    "source": "# 2024-05-03\nfor i in range(3):\n    print(i)\n" * 4,
    "empty": "",
}


@pytest.mark.parametrize("kind", NO_DIARIES)
def test_what_only_has_dates_is_no_diary(kind: str) -> None:
    assert not looks_like_diary(f"{kind}.txt", NO_DIARIES[kind])


def test_a_text_without_dates_is_refused() -> None:
    with pytest.raises(Unreadable, match="has no dated entries"):
        read_diary("d.md", "I rose.\n")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "3 May " * 40_000,
        "3 May\n\n" * 9_000,
        "一" * 100_000,
        "_" * 100_000,
        "_3" * 50_000,
        "3 May" + " " * 100_000 + "x",
        "3 May 1897 " + "." * 100_000,
        "1/" * 50_000,
        "99999999999999999999-05-03\n\nI rose.",
        '{"creationDate": ' + "[" * 50_000,
        "\x00\ud800 3 May\n",
    ],
)
def test_a_hostile_text_has_an_end(text: str) -> None:
    looks_like_diary("d.txt", text)
    with suppress(Unreadable):
        read_diary("d.txt", text)


WORDS = st.text(st.characters(codec="utf-8", categories=("Ll", "Lu", "Nd")), min_size=1, max_size=12)
HEADS = st.sampled_from(
    ["3 May 1897", "## 2024-05-03", "1897年5月3日 晴", "_4 May. Bistritz._--I", "5 June.—I", "Monday"]
)


@given(st.lists(st.tuples(HEADS, st.lists(WORDS, min_size=1, max_size=8)), min_size=1, max_size=6))
def test_no_letter_of_an_entry_is_lost(written: list[tuple[str, list[str]]]) -> None:
    text = "\n\n".join(
        f"{head} wrote\n\n{' '.join(words)}" if head[-1] == "I" else f"{head}\n\nI {' '.join(words)}"
        for head, words in written
    )
    read = read_diary("d.txt", text)
    letters = "".join(one.title + one.lines[0].text for one in read.scenes)
    assert [one for one in letters if one.isalnum()] == [one for one in text if one.isalnum()]
