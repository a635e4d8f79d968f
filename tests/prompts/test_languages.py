"""The three languages say the same, and every reply is asked for in the same way."""

import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

import pytest

from dramaturg.evaluation.comparison.external import instruction
from dramaturg.nodes.identity.chronicle import triple_sentence
from dramaturg.prompts import load, parse
from dramaturg.stores.documents.forms import Triple
from dramaturg.stores.library import open_role

from roles import small_role

NAMES = sorted(f.name.removesuffix(".en.md") for f in files("dramaturg.prompts").iterdir() if f.name.endswith(".en.md"))
REPLIES = [name for name in NAMES if name.startswith("respond_")]
LANGUAGES = ("en", "zh", "ko")
BOUNDARY = {
    "en": "What lies outside your life and time you do not know, and you say so in your own manner.",
    "zh": "你的一生和时代以外的事你不知道，就用自己的口吻说不知道。",
    "ko": "당신의 삶과 시대 밖의 일은 모르며, 모른다고 당신답게 말합니다.",
}
ASKED = {"en": "what is asked of this person", "zh": "问这个人的话", "ko": "그 사람이 받은 물음"}
GROUNDS = {"identity", "knowledge", "attributes", "memories", "other", "records", "dialogues"}
LENGTH = {"en": "in three to five sentences.", "zh": "三到五句。", "ko": "세 문장에서 다섯 문장으로 대답하십시오."}

QUOTED = re.compile(r"“[^”]*”|\"[^\"\n]*\"")
END = re.compile(r"[.!?](?=\)?(?:\s|$))|[。！？]")
TAG = re.compile(r"</?[a-z_ ]+>")


class Counting(NamedTuple):
    """How a language says how many sentences or words are wanted."""

    numbers: dict[str, int]
    up_to: str
    sentence: str
    word: str
    per_word: int = 1


ENGLISH = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "ten": 10, "twelve": 12,
    "twenty": 20, "thirty": 30, "sixty": 60,
}  # fmt: skip
CHINESE = dict(zip("一二三四五六七八九十", range(1, 11), strict=True))
CHINESE |= {"两": 2, "二十": 20, "二十四": 24, "四十": 40, "六十": 60, "一百二十": 120}
KOREAN = {
    "한": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6, "여덟": 8, "열": 10, "열두": 12,
    "스무": 20, "서른": 30, "예순": 60,
}  # fmt: skip
NO_COUNT = "第那这行전관"  # 第一句, 那一句, 一行一句, 온전한 문장, 관한 문장
COUNTING = {
    "en": Counting(ENGLISH, " (?:or|to) ", r" (?:\w+ ){0,2}sentences?\b", " words"),
    "zh": Counting(
        CHINESE,
        "(?:到|(?=[两三]))",
        "(?:个?完整|个?短)?(?:句|个句子)",
        "个字",
        per_word=2,  # characters
    ),
    "ko": Counting(KOREAN, "(?: 문장에서 |(?<=한)(?=두)|(?<=두)(?=세))", " ?문장", " 낱말"),
}


def shape(text: str) -> list[int | str]:
    """What stands in each line: a value alone, an example of an answer, or so many sentences."""
    return [
        line if re.fullmatch(r"\$\w+|</?\w+>", line) else "{}" if line.startswith("{") else sentences(line)
        for line in text.splitlines()
        if line.strip()
    ]


def sentences(line: str) -> int:
    """How many sentences a line has; what it quotes is none."""
    return sum(bool(re.search(r"\w", part)) for part in END.split(QUOTED.sub("Q", line)))


def limits(text: str, language: str) -> list[tuple[str, int, int]]:
    """How many sentences and words are asked for, from and to."""
    how = COUNTING[language]
    number = "|".join(sorted(how.numbers, key=len, reverse=True))
    found = [
        (unit, how.numbers[low or high] // per, how.numbers[high] // per)
        for unit, form, per in (("sentence", how.sentence, 1), ("word", how.word, how.per_word))
        for low, high in re.findall(rf"(?<![{NO_COUNT}])(?:({number}){how.up_to})?({number}){form}", text.lower())
    ]
    return sorted(one for one in found if one[2])


def figures(text: str) -> list[str]:
    """The numbers in digits, without those of an answer that is an example."""
    return sorted(re.findall(r"\d+", "\n".join(line for line in text.splitlines() if not line.startswith("{"))))


@pytest.mark.parametrize("language", ["zh", "ko"])
def test_a_prompt_says_as_much_in_every_language(language: str) -> None:
    def shapes(language: str) -> dict[str, list[tuple[str, list[int | str]]]]:
        asked = (name for name in NAMES if name != "feelings")  # which nobody is asked
        return {name: [(kind, shape(text)) for kind, text in load(name, language).sections] for name in asked}

    assert shapes(language) == shapes("en")


@pytest.mark.parametrize("language", ["zh", "ko"])
def test_a_prompt_has_the_same_limits_in_every_language(language: str) -> None:
    def wanted(language: str) -> dict[str, list[tuple[list[tuple[str, int, int]], list[str]]]]:
        return {
            name: [(limits(text, language), figures(text)) for _, text in load(name, language).sections]
            for name in NAMES
        }

    assert wanted(language) == wanted("en")


@pytest.mark.parametrize("language", ["zh", "ko"])
def test_a_prompt_speaks_of_the_same_values_and_tags_in_every_language(language: str) -> None:
    def named(language: str) -> dict[str, list[tuple[set[str], set[str]]]]:
        return {
            name: [
                (set(Template(text).get_identifiers()), set(TAG.findall(text)))
                for _, text in load(name, language).sections
            ]
            for name in NAMES
        }

    assert named(language) == named("en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_replies_are_asked_for_at_one_length_within_one_boundary(language: str) -> None:
    for name in REPLIES:
        (_, system), (_, asked) = load(name, language).sections
        assert BOUNDARY[language] in system, name
        assert LENGTH[language] in asked, name
        assert limits(system + asked, language) == [("sentence", 3, 5)], name


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_reply_is_told_with_which_word_it_begins(language: str) -> None:
    demands = {"en": r"\b[Bb]egin", "zh": "开头", "ko": "시작"}[language]
    told = [name for name in REPLIES if re.search(demands, load(name, language).sections[-1][1])]
    assert told == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_another_packages_reply_is_asked_for_in_the_same_way(language: str, tmp_path: Path) -> None:
    small_role(tmp_path)
    asked = instruction(open_role("ada", tmp_path), language)
    assert BOUNDARY[language] in asked
    assert LENGTH[language] in asked


@pytest.mark.parametrize("language", LANGUAGES)
def test_tags_hold_nothing_but_material_where_a_prompt_says_so(language: str) -> None:
    for name in NAMES:
        prompt = load(name, language)
        text = "\n".join(text for _, text in prompt.sections)
        if {"en": "between tags", "zh": "标签之间", "ko": "태그 사이"}[language] in text:
            fenced = prompt.places | (GROUNDS if "grounds" in prompt.places else set())
            assert {tag.strip("</>") for tag in TAG.findall(text)} <= fenced, name  # <the participant> is a name
            # The question is the task, but for replies, which say so otherwise, and where a line answers it already.
            if {"situation", "question"} <= prompt.places and "line" not in prompt.places and name not in REPLIES:
                assert ASKED[language] in text, name


PARTICLES = "$a은(는) $a이(가) $a을(를) $a과(와) $a와(과) $a(으)로 $a(이)라고"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("앨리스", "앨리스는 앨리스가 앨리스를 앨리스와 앨리스와 앨리스로 앨리스라고"),
        ("베토벤", "베토벤은 베토벤이 베토벤을 베토벤과 베토벤과 베토벤으로 베토벤이라고"),
        ("나폴", "나폴은 나폴이 나폴을 나폴과 나폴과 나폴로 나폴이라고"),
        ("Alice", "Alice는 Alice가 Alice를 Alice와 Alice와 Alice로 Alice라고"),
        ("Tom", "Tom은 Tom이 Tom을 Tom과 Tom과 Tom으로 Tom이라고"),
        ("Abel", "Abel은 Abel이 Abel을 Abel과 Abel과 Abel로 Abel이라고"),
        ("R2", "R2는 R2가 R2를 R2와 R2와 R2로 R2라고"),
        ("제17", "제17은 제17이 제17을 제17과 제17과 제17로 제17이라고"),
        ("왕 (톰)", "왕 (톰)은 왕 (톰)이 왕 (톰)을 왕 (톰)과 왕 (톰)과 왕 (톰)으로 왕 (톰)이라고"),
    ],
)
def test_a_particle_follows_the_last_sound_of_a_name(name: str, sentence: str) -> None:
    (message,) = parse("x", f"# user\n{PARTICLES}").messages(a=name)
    assert message.text == sentence


def test_a_particle_whose_sound_is_not_known_keeps_both_forms() -> None:
    (message,) = parse("x", f"# user\n{PARTICLES}").messages(a="孙悟空")
    assert message.text == PARTICLES.replace("$a", "孙悟空")


def test_what_a_value_says_keeps_its_own_particles() -> None:
    (message,) = parse("x", "# user\n${role}이(가)\n$question").messages(
        role="톰", data={"question": "그는 $role은(는)?"}
    )
    assert message.text == "톰이\n<question>\n그는 $role은(는)?\n</question>"


def test_a_statement_of_identity_has_particles_too() -> None:
    triple = Triple(subject="앨리스", relation="values", object="호기심", kind="value")
    assert triple_sentence(triple, "ko") == "앨리스가 소중히 여기는 것: 호기심."


def test_no_particle_stands_behind_a_value_in_one_form() -> None:
    folder = files("dramaturg.prompts")
    texts = {f.name: f.read_text(encoding="utf-8") for f in folder.iterdir() if f.name.endswith((".ko.md", ".ko.yaml"))}
    one_form = re.compile(r"\$[a-z_]+[\"”]? ?(?:은|는|이|가|을|를|과|와|으로|로|라고|이라고)(?=[\s,.?]|서)")
    assert {name: one_form.findall(text) for name, text in texts.items() if one_form.search(text)} == {}
