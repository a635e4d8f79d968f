"""Who says what in prose by rules alone, and what stays open."""

from typing import Literal

import pytest

from dramaturg.nodes.casting.attribution import attributed


def told(text: str, language: Literal["en", "zh", "ko"] = "en", narrator: str = "") -> list[tuple[str, str]]:
    return [(one.speaker, one.how) for one in attributed(text, language, narrator=narrator)]


@pytest.mark.parametrize(
    "text",
    [
        "“Sit,” said Mira.",
        "“Sit,” Mira softly whispered.",
        "Mira turned to Brandt and said, “Sit.”",
        "“Sit!” cried old Mira, and Brandt sat.",
        "Mira said:\n\n“Sit.”",
    ],
)
def test_a_name_with_a_verb_of_speech_tells_the_speaker(text: str) -> None:
    more = "\n\nNothing was heard.\n\n“No,” said Brandt. “Never,” said Mira."
    assert told(text + more)[0] == ("Mira", "verb")


def test_all_that_is_said_in_a_paragraph_is_said_by_one() -> None:
    assert told("“Sit,” said Mira, “and wait.”\n\n“No,” said Brandt. “I will not.”") == [
        ("Mira", "verb"),
        ("Mira", "verb"),
        ("Brandt", "verb"),
        ("Brandt", "verb"),
    ]


def test_who_acts_in_the_paragraph_speaks() -> None:
    assert told("“No,” said Mira.\n\nIt rained.\n\nMira put down the lamp. “It is late.”")[-1] == ("Mira", "beat")


def test_a_pronoun_means_whom_it_may_mean_and_was_named_last() -> None:
    text = (
        "“Sit,” said Mr. Brandt to Mrs. Hale.\n\nMrs. Hale sat down.\n\n“I am cold,” she said.\n\n“So am I,” he said."
    )
    assert told(text)[1:] == [("Mrs. Hale", "pronoun"), ("Mr. Brandt", "pronoun")]


def test_two_who_talk_take_turns() -> None:
    text = "“Where?” asked Mira.\n\n“Here,” said Brandt.\n\n“Now?”\n\n“Now.”\n\nThe rain fell.\n\n“Now what?”"
    assert told(text)[2:] == [("Mira", "turns"), ("Brandt", "turns"), ("", "")]


def test_whoever_is_called_answers_and_does_not_speak() -> None:
    text = "“No,” said Brandt.\n\n“Late,” said Mira.\n\nIt rained.\n\n“Who was it, Brandt?” asked Mira.\n\n“Me.”"
    quotes = attributed(text, "en")
    assert [(one.speaker, one.how, one.to) for one in quotes][-2:] == [
        ("Mira", "verb", "Brandt"),
        ("Brandt", "called", "Mira"),
    ]


def test_what_goes_on_over_paragraphs_has_the_speaker_of_its_beginning() -> None:
    assert told("Mira said, “I went down.\n\n“It was gone.”\n\nNobody moved.") == [("Mira", "verb"), ("Mira", "verb")]


@pytest.mark.parametrize(("narrator", "name"), [("", "Narrator"), ("Ada Quill", "Ada Quill")])
def test_i_is_whoever_tells_the_text(narrator: str, name: str) -> None:
    assert told("“Who is it?” I asked.\n\n“Mira,” said Mira.", narrator=narrator)[0] == (name, "verb")


def test_the_narrator_has_the_name_by_which_others_call_them() -> None:
    text = "“Now, Ada?” said Mira.\n\n“Now,” I said.\n\n“Sure, Ada?”\n\n“Sure,” I said.\n\n“Ada, be quick!”\n\n“I am.”"
    assert {one.speaker for one in attributed(text, "en")} == {"Mira", "Ada"}


def test_words_that_name_nobody_known_stay_beside_the_quotation() -> None:
    one, *_ = attributed("“Tickets,” said a man with a lamp.\n\nMira slept.", "en")
    assert (one.speaker, one.how, one.mention) == ("", "", "a man")


def test_in_a_text_without_anybody_nobody_speaks() -> None:
    assert told("“Tickets.”\n\n“Two.”") == [("", ""), ("", "")]


def test_chinese_speakers_stand_before_or_after_with_what_says_how() -> None:
    text = (
        "林晚秋推开门，低声问道：“有人吗？”\n\n“有，有。”周掌柜忙笑道，“住店？”\n\n“我找人。”林晚秋对周掌柜说。\n\n"
        "“昨夜就走了。”\n\n“走了？”"
    )
    assert told(text, "zh") == [
        ("林晚秋", "verb"),
        ("周掌柜", "verb"),
        ("周掌柜", "verb"),
        ("林晚秋", "verb"),
        ("周掌柜", "turns"),
        ("林晚秋", "turns"),
    ]


def test_korean_speakers_are_the_subjects_of_verbs_of_speech() -> None:
    text = (
        "이서진이 문을 열고 물었다. “누구 없어요?”\n\n“여기 있소.” 노인이 대답했다.\n\n“배를 빌려요.”\n\n"
        "“안 된다.” 노인은 고개를 저으며 말했다."
    )
    assert told(text, "ko") == [("이서진", "verb"), ("노인", "verb"), ("이서진", "turns"), ("노인", "verb")]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "'" * 600_000),
        ("en", "".join(f"“Go,” said the {'x' * (one % 50)}a.\n\n" for one in range(4_000))),
        ("zh", "".join(f"{chr(0x4E00 + one % 8000)}{chr(0x4E01 + one * 7 % 8000)}道：“走。”" for one in range(12_000))),
    ],
    ids=["marks", "people", "names"],
)
def test_a_hostile_text_has_an_end(language: Literal["en", "zh"], text: str) -> None:
    attributed(text, language)
