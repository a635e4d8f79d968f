"""Where a reply ends because it begins to speak for somebody else, and what of a role's own looks so and is not.

Each reply is given once; what is kept of it must not depend on how it comes in parts.
"""

import random
import re
from time import process_time

import pytest

from dramaturg.nodes.own_voice import MARKS, QUOTED_LINES, OwnVoice, own_part, stop_words

OWN = {"en": ["Ada Marsh", "the keeper"], "zh": ["王熙凤", "凤姐"], "ko": ["에이다"]}
OTHERS = {
    "en": ["Tom Hale", "Dr. Mira O’Brien", "old_salt", "Jean-Luc"],
    "zh": ["林黛玉", "汤姆·黑尔", "平儿"],
    "ko": ["톰", "김민준", "미라"],
}
Case = tuple[str, str, str]
"""The language, what of a reply is kept, and what is left out; between them was space."""
FOR_OTHERS: list[Case] = [
    ("en", "Good evening.", "\nTom Hale: Hello Ada!\nAda: How are you?"),
    ("en", "Good evening.", "\n\nTom: Hello Ada!"),
    ("en", "Good evening.", "\nUser: Hello Ada!"),
    ("en", "Good evening.", "\nYou: Hello Ada!"),
    ("en", "Good evening.", "\nYOU : Hello Ada!"),
    ("en", "Good evening.", "\r\nhuman: Hello Ada!"),
    ("en", "Good evening.", "\n{{user}}: Hello Ada!"),
    ("en", "Good evening.", "\n<user> Hello Ada!"),
    ("en", "*She bows.* Good evening.", "  \n **Tom:** Hello"),
    ("en", "Good evening.", "\n**Tom Hale**: Hello"),
    ("en", "Good evening.", "\n*Tom*: Hello"),
    ("en", "Good evening.", "\n__Tom__ : Hello"),
    ("en", "Good evening.", "\n[Tom]: Hello"),
    ("en", "Good evening.", "\n<Tom> Hello"),
    ("en", "Good evening.", "\nTom (laughing): Hello"),
    ("en", "Good evening.", "\nTom *laughs*: Hello"),
    ("en", "Good evening.", "\n**Tom** (his eyes on the sea): Hello"),
    ("en", "Good evening.", "\n### Tom: Hello"),
    ("en", "Good evening.", "\n### User\nHello"),
    ("en", "Good evening.", "\n> Tom: Hello"),
    ("en", "Good evening.", "\n- Tom: Hello"),
    ("en", "Good evening.", "\n— Tom: Hello"),
    ("en", "Good evening.", "\n\n---\n\nTom: Hello"),
    ("en", "Good evening.", "\n***\n**TOM**\nHello"),
    ("en", "Good evening.", "\nTOM\nHello Ada!"),
    ("en", "Good evening.", "\nTOM HALE (from the door)\nHello Ada!"),
    ("en", "Good evening.", "\n**Tom**\nHello Ada!"),
    ("en", "Good evening.", "\n[Tom]\nHello Ada!"),
    ("en", "Good evening.", "\n### Tom\nHello Ada!"),
    ("en", "Good evening.", "\nMIRA\n*She nods.*"),
    ("en", "Good evening.", "\nＴｏｍ： Hello"),
    ("en", "Good evening.", "\nDr. O'Brien: Hello"),
    ("en", "Good evening.", "\nDR MIRA O’BRIEN: Hello"),
    ("en", "Good evening.", "\nCaptain Hale: Hello"),
    ("en", "Good evening.", "\nold_salt: Hello"),
    ("en", "Good evening.", "\njean‑luc: Hello"),
    ("en", "Good evening.", "\nTom:"),
    ("en", "", "Tom: Hello"),
    ("en", "", "\n\n **User:** Hello"),
    ("en", "Ada: Good evening.", "\nTom: Hello"),
    ("en", "Ada:\nGood evening.", "\nTom: Hello"),
    ("en", "ADA\nGood evening.", "\nTOM\nHello"),
    ("en", "“Good evening, Tom,” she says.", "\nTom: “Hello”"),
    ("en", '"Good evening," she says. The door is 6\'7" high.', "\nTom: Hello"),
    ("en", "’Tis late. I have my sisters’ letters.", "\nTom: Hello"),
    ("en", "My crew:\n- Ada: the cook\n- Jean-Luc: the mate", "\nTom: And me?"),
    ("en", "I have but one question: why?", "\nTom: Why not?"),
    ("en", "I must tell you this:", "\nUser: What?"),
    ("en", "Do you love the sea", "</s>Yes"),
    ("zh", "晚上好。", "\n黛玉：你来了。"),
    ("zh", "晚上好。", "\n林黛玉：你来了。"),
    ("zh", "晚上好。", "\n**林黛玉**：你来了。"),
    ("zh", "晚上好。", "\n**林黛玉：**你来了。"),
    ("zh", "晚上好。", "\n林黛玉（笑）：你来了。"),
    ("zh", "晚上好。", "\n【汤姆】：你来了。"),
    ("zh", "晚上好。", "\n【汤姆】\n你来了。"),
    ("zh", "晚上好。", "\n汤姆·黑尔 : 你来了。"),
    ("zh", "晚上好。", "\n\n汤姆： “你来了。”"),
    ("zh", "晚上好。", "\n用户：你来了。"),
    ("zh", "晚上好。", "\n你：我来了。"),
    ("zh", "晚上好。", "\n您（点头）：我来了。"),
    ("zh", "晚上好。", "\n### 玩家\n我来了。"),
    ("zh", "“晚上好。”她说。", "\n平儿:奶奶。"),
    ("zh", "凤姐：晚上好。", "\n**平儿**\n奶奶。"),
    ("zh", "", "平儿：奶奶。"),
    ("ko", "안녕하세요.", "\n톰: 반가워요."),
    ("ko", "안녕하세요.", "\n**톰:** 반가워요."),
    ("ko", "안녕하세요.", "\n**톰**: 반가워요."),
    ("ko", "안녕하세요.", "\n[톰] : 반가워요."),
    ("ko", "안녕하세요.", "\n톰 (웃으며): 반가워요."),
    ("ko", "안녕하세요.", "\n톰（웃음）：반가워요."),
    ("ko", "안녕하세요.", "\n민준: 반가워요."),
    ("ko", "안녕하세요.", "\n\n사용자: 반가워요."),
    ("ko", "안녕하세요.", "\n당신: 반가워요."),
    ("ko", "안녕하세요.", "\n유저： 반가워요."),
    ("ko", "안녕하세요.", "\n**톰**\n반가워요."),
    ("ko", "에이다: 안녕하세요.", "\n미라: 반가워요."),
    ("ko", "", "톰: 반가워요."),
]
ALL_OWN: list[tuple[str, str]] = [
    ("en", "Good evening."),
    ("en", "You smile and nod.\nTom smiles.\nTom, come here.\nTom’s lamp: lit.\nTomas: a saint."),
    ("en", "Listen: You: the one who came late. Tom: the one who stayed."),
    ("en", 'Tom said: "Hello."\nHe said: hello.\nTom says, laughing: hello.'),
    ("en", '"Tom: come here," I called.\n“User: an ugly word.”'),
    ("en", "I read it to you. “Dear Ada,\nTom: he is well.\nMira: she is not.\nYours.” That is all."),
    ("en", 'It goes: "Who goes there?\nTom: A friend.\nAda: Pass."\nSuch is the play.'),
    ("en", "“My dear,\n\n“Tom: he is well.\n\n“Mira: she is not.” So he wrote."),
    ("en", "My crew:\n- Tom: the helmsman\n- **Mira**: the mate\n- Ada: the cook\n- You: the guest"),
    ("en", "My crew:\n\n1. Tom: the helmsman\n2. Mira: the mate\n\nThat is all."),
    ("en", "- Tom: the helmsman\n- Mira: the mate"),
    ("en", "The men I trust:\n\n**Tom Hale**: my helmsman.\n\n**Jean-Luc**: my mate."),
    ("en", "I recall what was said:\nTom: Stay.\nAda: No.\nTom: Then go."),
    ("en", "I had to think.\nTom"),
    ("en", "Tom\nis my friend."),
    ("en", "TOM\nis my friend."),
    ("en", "I saw them both.\n**Tom**\n**Mira**\nThe others were gone."),
    ("en", "And there he stood.\n\n**Tom**\n\nI could not breathe."),
    ("en", "Here is one.\n**Tom**\n- a sailor\n- a drunkard"),
    ("en", "They called.\nTom\nThey called again."),
    ("en", "And then I saw him.\n**TOM**"),
    ("en", "## The crew\n### Tom\nThe helmsman."),
    ("en", "> I shall come.\n> Tom: bring the lamp."),
    ("en", "You :) are late.\nYou :P"),
    ("en", "Ada: Good evening.\nAda: Still here?\n**Ada Marsh**\nYes."),
    ("en", "The keeper: that am I."),
    ("en", "Hale: that is how I am.\nMarsh: where I am from."),
    ("en", "One rule\n---\nis enough.\n***"),
    ("en", "I <3 you. [sic] # 1 <b>bold</b> <i|x [INS"),
    ("zh", "晚上好。你笑了笑。\n黛玉笑道：“你来了。”\n汤姆说：你来了。"),
    ("zh", "“黛玉：这名字好。”我说。"),
    ("zh", "你且听：林黛玉：会写诗的。"),
    ("zh", "信上写着：“凤姐：\n黛玉：安好。\n平儿：也好。”就这些。"),
    ("zh", "戏文是「谁在那里？\n汤姆：是我。」你听过么？"),
    ("zh", "府里的人：\n- 林黛玉：会写诗的\n- 平儿：我的帮手\n- 你：客人"),
    ("zh", "府里的人：\n1、林黛玉：会写诗的\n2、平儿：我的帮手"),
    ("zh", "我最疼的人：\n\n**林黛玉**：会写诗的。\n**平儿**：我的帮手。"),
    ("zh", "我说是谁呢。\n平儿"),
    ("zh", "凤姐：晚上好。\n王熙凤：还没睡？"),
    ("zh", '他说:"谁在那里?\n汤姆:是我。"就这样。'),
    ("ko", "안녕하세요.\n당신은 웃습니다.\n톰은 웃었다.\n톰이 말했다: 안녕."),
    ("ko", '"톰: 이리 와." 나는 불렀다.'),
    ("ko", "들어 봐요: 톰: 늦게 온 사람."),
    ("ko", "편지에는 “톰: 잘 있어요.\n미라: 아파요.\n톰: 안녕.”이라고 적혀 있었어요."),
    ("ko", "그 연극은 『거기 누구요?\n톰: 친구요.』 이렇게 시작해요."),
    ("ko", "제 친구들:\n- 톰: 항해사\n- 미라: 요리사\n- 당신: 손님"),
    ("ko", "제 친구들:\n\n1. 톰: 항해사\n2. 미라: 요리사"),
    ("ko", "제가 믿는 사람들:\n**톰**: 항해사.\n**김민준**: 의사."),
    ("ko", "글쎄요.\n톰"),
    ("ko", "에이다: 안녕하세요.\n에이다: 아직 안 자요?"),
    ("ko", "토마토: 빨갛다.\n톰슨: 모르는 사람."),
]


@pytest.mark.parametrize(("language", "kept", "rest"), FOR_OTHERS)
def test_a_reply_ends_where_it_speaks_for_others(language: str, kept: str, rest: str) -> None:
    """From the label on it is left out; the space before it is in neither."""
    assert own_part(kept + rest, OWN[language], OTHERS[language]) == (unlabelled(kept), rest.lstrip())


def unlabelled(text: str) -> str:
    """A text without the name of the role that it begins with."""
    return re.sub(r"^(?:Ada|ADA|The keeper|凤姐|에이다)(?:[:：]\s*|\n)", "", text)


@pytest.mark.parametrize(("language", "text"), ALL_OWN)
def test_what_a_role_quotes_lists_and_tells_is_its_own(language: str, text: str) -> None:
    assert own_part(text, OWN[language], OTHERS[language]) == (unlabelled(text), "")
    assert own_part(f"{text} \n\n", OWN[language], OTHERS[language]) == (unlabelled(text), "")


@pytest.mark.parametrize(("language", "text"), [*((one, a + b) for one, a, b in FOR_OTHERS), *ALL_OWN])
def test_it_does_not_matter_how_a_reply_is_parted(language: str, text: str) -> None:
    """Nothing of what is cut is ever shown, and what is cut is all that is missing."""
    kept, cut = own_part(text, OWN[language], OTHERS[language])
    chance = random.Random(text)
    for most in (1, 2, 5, 9, 40):
        voice, shown, at = OwnVoice(OWN[language], OTHERS[language]), "", 0
        while at < len(text):
            at, begun = at + chance.randint(1, most), at
            shown += voice.feed(text[begun:at])
            assert kept.startswith(shown)
        assert shown + voice.end() == kept
        assert voice.cut == cut
    text = unlabelled(text)
    assert text.startswith(kept)
    assert text.endswith(cut)
    assert not text[len(kept) : len(text) - len(cut)].strip()


@pytest.mark.parametrize(
    "mark",
    [
        *MARKS,
        "<|im_start|>user",
        "<|im_end|>",
        "<|user|>",
        "<|eot_id|><|start_header_id|>user",
        "<｜User｜>",
        "<｜end▁of▁sentence｜>",
        "<turn|>",
    ],
)
@pytest.mark.parametrize("before", ["Good evening.", "“A quotation", "Good evening.\nTo", "List:\n- ", "Good <<", ""])
def test_a_mark_of_a_chat_template_always_ends_a_reply(mark: str, before: str) -> None:
    """It may stand anywhere."""
    cut = f"{mark}\nHello Ada! [INST]"
    assert own_part(before + cut, OWN["en"], OTHERS["en"]) == (before.rstrip(), cut)


def test_what_can_be_no_label_is_shown_at_once() -> None:
    voice = OwnVoice(OWN["en"], OTHERS["en"])
    assert voice.feed("Go") == "Go"
    assert voice.feed("od.\n") == "od."
    assert voice.feed("To") == ""
    assert voice.feed("m is") == "\nTom is"
    assert voice.feed(" late.\n\nTom:") == " late."
    assert voice.feed(" Hello") == ""
    assert voice.end() == ""
    assert voice.cut == "Tom: Hello"


def test_a_quotation_that_is_not_closed_does_not_hide_what_comes_later() -> None:
    for stray in '"“‘「':
        far, long = "\nI wait." * QUOTED_LINES, "\n" + "I wait. " * 150
        for between in (far, long):
            kept, cut = own_part(f"Well, {stray}tis late.{between}\nTom: Hello", OWN["en"], OTHERS["en"])
            assert (kept[-7:], cut) == ("I wait.", "Tom: Hello")


def test_a_label_that_may_be_the_roles_own_is_none() -> None:
    """A first name that both have, and a label of users that is the name of the role."""
    assert own_part("Hm.\nTom: I?", ["Tom Marsh"], ["Tom Hale"])[1] == ""
    assert own_part("Hm.\nTom Hale: I?", ["Tom Marsh"], ["Tom Hale"])[1] == "Tom Hale: I?"
    assert own_part("Hm.\nPlayer: I?", ["Player"], ["Tom"])[1] == ""
    assert own_part("Hm.\nPlayer: I?", ["Player One"], ["Tom"])[1] == "Player: I?"
    assert own_part("Hm.\nUser: I?", ["Ada"], [])[1] == "User: I?"
    assert own_part("Hm.\nHAL\nis my friend.", ["Ada"], ["HAL"])[1] == ""
    assert own_part("Hm.\n: ?", ["", " "], ["", "**"])[1] == ""


def test_it_takes_time_by_the_length_of_a_reply() -> None:
    def seconds(text: str) -> float:
        begun, voice = process_time(), OwnVoice(OWN["en"], OTHERS["en"])
        for character in text:
            voice.feed(character)
        voice.end()
        return process_time() - begun

    for line in (
        "Tom *waits and waits\n",
        "a",
        " ",
        "*",
        "<",
        "“",
        "\n",
        "- Tom: yes\n",
        "**Tom**\n",
        "---\n",
        "Tom (",
    ):
        assert seconds(line * (20_000 // len(line))) < 2, line


def test_stop_words_are_few_and_safe() -> None:
    assert stop_words(["Tom Hale", "林黛玉", "톰"]) == ["\nTom Hale:", "\n林黛玉：", "\n톰:", "\nUser:"]
    assert len(stop_words([f"Tom {n}" for n in range(9)])) == 4
    assert stop_words(["ada", "Ada Marsh", "Mira", "Mira", "A", "", "To\nm"], ["Ada Marsh"]) == ["\nMira:", "\nUser:"]
    assert stop_words(["Tom"], ["User"]) == ["\nTom:"]
    assert all(word.startswith("\n") for word in stop_words(["Tom", "You"]))
