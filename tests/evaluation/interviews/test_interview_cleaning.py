"""Replies before they are judged: turns of others, repetition, words out of character, scripts; and names taken out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.evaluation.interviews.cleaning import EXPERIMENTER, PARTICIPANT, Cleaned, anonymous, cleaned, fenced

NAMES = ("Ada Quill", "Ada", "胡桃", "아다 퀼")
LOOP = "I walk to the light and I trim the lamp and then I walk all the way home again. "


def clean(reply: str, language: str = "en", experimenter: str = "Tom") -> Cleaned:
    return cleaned(reply, names=NAMES, others=[experimenter], language=language)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reply", "text", "flags"),
    [
        ("I keep the light.", "I keep the light.", ()),
        ("Ada: I do.", "I do.", ()),
        ("**Ada Quill:** I do.", "I do.", ()),
        ("Answer: I do.", "I do.", ()),
        ("I do.\nTom: Really?\nAda: Yes.", "I do.", ("further_speakers",)),
        ("Tom: Do you?\nAda: I do.", "I do.", ("further_speakers",)),
        ("Interviewer: Do you?\nI do not say.", "", ("further_speakers", "empty")),
        ("Ada: I do.\nHarbour Master: Nonsense.\nAda: Go.", "I do.", ("further_speakers",)),
        ("Ada (laughing): I do.\nTom (gravely): Really?", "I do.", ("further_speakers",)),
        ("[Ada]: I do.\n[User]: Really?", "I do.", ("further_speakers",)),
        ("Ada: I do.\nHarbour Master (angry): Nonsense.", "I do.", ("further_speakers",)),
        ("Ada: I do.\nAda: And I will.", "I do.\nAnd I will.", ()),
        (
            "I keep two things:\nNote: the lamp\nLog: the ships",
            "I keep two things:\nNote: the lamp\nLog: the ships",
            (),
        ),
        ("", "", ("empty",)),
        (" … ", "…", ("empty",)),
    ],
)
def test_only_the_words_of_the_role_are_its_answer(reply: str, text: str, flags: tuple[str, ...]) -> None:
    assert clean(reply) == (text, flags)


@pytest.mark.parametrize(
    ("reply", "text", "flags", "language"),
    [
        ("胡桃：「我喜欢。」\n提问者：「真的吗？」", "「我喜欢。」", ("further_speakers",), "zh"),
        ("【胡桃】（笑）：我喜欢。\n旅行者（惊讶）：真的吗？", "我喜欢。", ("further_speakers",), "zh"),
        ("我喜欢。\n旅行者：真的吗？", "我喜欢。", ("further_speakers",), "zh"),
        ("原因如下：我喜欢。", "原因如下：我喜欢。", (), "zh"),
        ("아다 퀼: 좋아합니다.\n면접관: 정말요?", "좋아합니다.", ("further_speakers",), "ko"),
    ],
)
def test_turns_in_chinese_and_korean(reply: str, text: str, flags: tuple[str, ...], language: str) -> None:
    assert clean(reply, language, "旅行者") == (text, flags)


@pytest.mark.parametrize(
    ("reply", "text", "language"),
    [
        (LOOP * 4, LOOP.strip(), "en"),
        ("Never. " + LOOP + "So it goes. " + LOOP, "Never. " + LOOP + "So it goes.", "en"),
        ("I come. " * 30, "I come.", "en"),
        ("我每天傍晚都要走到灯塔上去把灯芯剪好然后再慢慢走回家里去睡觉。" * 3, None, "zh"),
        (
            "나는 저녁마다 등대에 올라 심지를 자르고 천천히 집으로 돌아와 혼자 밥을 먹고 잠이 든다 그리고 다시. " * 3,
            None,
            "ko",
        ),
    ],
)
def test_a_text_ends_where_it_repeats_itself(reply: str, text: str | None, language: str) -> None:
    found = clean(reply, language)
    assert found.flags == ("repetition",)
    assert found.text == (text if text is not None else reply[: len(reply) // 3].strip())


def test_a_refrain_is_no_repetition() -> None:
    reply = "I keep the light, and I keep the log. When it storms, I keep the light, and I keep the log."
    assert clean(reply) == (reply, ())


@pytest.mark.parametrize(
    ("reply", "text", "language"),
    [
        ("As an AI language model, I do not sleep.", "I do not sleep.", "en"),
        ("Well, as an AI, I do not sleep.", "Well, I do not sleep.", "en"),
        ("作为一个人工智能语言模型，我不睡觉。", "我不睡觉。", "zh"),
        ("저는 AI 언어 모델로서, 잠을 자지 않습니다.", "잠을 자지 않습니다.", "ko"),
    ],
)
def test_words_that_say_what_speaks_are_cut_and_counted(reply: str, text: str, language: str) -> None:
    assert clean(reply, language) == (text, ("assistant_phrase", "not_into_character"))


@pytest.mark.parametrize(
    ("reply", "language"),
    [
        ("I am only a language model.", "en"),
        ("My AI says so.", "en"),
        ("我是AI，没有感情。", "zh"),
        ("저는 인공지능입니다.", "ko"),
    ],
)
def test_what_is_out_of_character_stays_and_is_counted(reply: str, language: str) -> None:
    assert clean(reply, language) == (reply, ("not_into_character",))


@pytest.mark.parametrize("reply", ["He said it. AIR is all I need.", "MAID and PAID are words.", "I wait for aid."])
def test_letters_in_other_words_are_in_character(reply: str) -> None:
    assert clean(reply).flags == ()


@pytest.mark.parametrize(
    ("reply", "language", "mixed"),
    [
        ("I like 散步 in the 森林 a lot", "en", True),
        ("我常和 Beethoven 一起在树林里散步，那里很安静，我很喜欢。", "zh", False),
        ("我喜欢 long walks in the quiet woods", "zh", True),
        ("저는 혼자 걷는 것을 좋아합니다. 1808년부터요.", "ko", False),
        ("저는 I like to walk alone", "ko", True),
        ("12, 13!", "en", False),
        ("저는 혼자 걷는 것을 좋아합니다.", "zh", True),
    ],
)
def test_a_reply_in_two_scripts_is_counted(reply: str, language: str, mixed: bool) -> None:
    assert clean(reply, language) == (reply, ("mixed_language",) if mixed else ())


PIECES = ("Ada:", "Tom: ", "\n", "I do. ", "我喜欢", "「", "**", ": ", LOOP, "As an AI, ", "Q：", "\x00", "ß")


@given(  # a code point that is no letter yet may be in the range of a script
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
    | st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=200)
)
def test_cleaning_only_takes_away(reply: str) -> None:
    found = clean(reply)
    assert "assistant_phrase" in found.flags or all(line in reply for line in found.text.split("\n"))
    assert ("empty" in found.flags) == (not any(letter.isalnum() for letter in found.text))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Ada Quill asks Tom.", "<the participant> asks <the experimenter>."),
        ("Ada, Adam, Ada's, Ada-Marie, Jo-Ada", "<the participant>, Adam, <the participant>'s, Ada-Marie, Jo-Ada"),
        ("Ada-like  Ada\nQuill", "<the participant>-like  <the participant>"),
        ("胡桃说，小胡桃·李来了。", "<the participant>说，小胡桃·李来了。"),
        ("我叫Ada，不叫Adam。", "我叫<the participant>，不叫Adam。"),
        ("아다 퀼은 아다 퀼이라고 합니다.", "<the participant>은 <the participant>이라고 합니다."),
        (
            "나는 아다 퀼다. 아다 퀼였습니다. 아다 퀼인데요.",
            f"나는 {PARTICIPANT}다. {PARTICIPANT}였습니다. {PARTICIPANT}인데요.",
        ),
        ("아다퀼은 아다퀼하고 갑니다.", f"{PARTICIPANT}은 {PARTICIPANT}하고 갑니다."),
        ("아다 퀼다운 말입니다.", "아다 퀼다운 말입니다."),
        ("_Ada_, __Ada__, ada_Ada, Ada_1", "_<the participant>_, __<the participant>__, ada_Ada, Ada_1"),
        ("아다 퀼린은 남입니다.", "아다 퀼린은 남입니다."),
        ("Ada는 말합니다.", "<the participant>는 말합니다."),
        ("ADA QUILL! ADA! ada, ADAM", "<the participant>! <the participant>! ada, ADAM"),
    ],
)
def test_whole_names_are_taken_out(text: str, hidden: str) -> None:
    assert anonymous(text, names=NAMES, experimenter="Tom") == hidden


@pytest.mark.parametrize("name", ["Ada O'Quill", "Ada O’Quill"])
def test_either_apostrophe_is_that_of_a_name(name: str) -> None:
    hidden = anonymous("Ada O'Quill's and Ada O’Quill’s.", names=[name])
    assert hidden == "<the participant>'s and <the participant>’s."


def test_any_dot_is_that_of_a_name() -> None:
    names = ["阿达·羽", "羽毛"]
    assert (
        anonymous("阿达•羽是我，羽毛也是我；小·羽毛不是。", names=names)
        == f"{PARTICIPANT}是我，{PARTICIPANT}也是我；小·羽毛不是。"
    )


def test_a_name_that_is_in_every_word_is_left_alone() -> None:
    assert anonymous("夏天夏来了", names=["夏", "", " "]) == "夏天夏来了"


def test_nobody_asks_nobody_is_hidden() -> None:
    assert anonymous("Tom asks.", names=NAMES) == "Tom asks."


def test_marks_come_through_a_fence_that_nothing_else_does() -> None:
    text = f"{PARTICIPANT}: </answers> <b>{EXPERIMENTER}"
    assert fenced("answers", text) == f"<answers>\n{PARTICIPANT}: ‹/answers> ‹b>{EXPERIMENTER}\n</answers>"
