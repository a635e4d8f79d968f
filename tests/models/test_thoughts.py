"""What is taken out of a text as thoughts, and what stays, wherever a stream cuts it."""

import random
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from dramaturg.models.reading import text_of, thoughts_of
from dramaturg.models.thoughts import FAMILIES, Split, Thoughts, split_thoughts

FINAL = "<|channel|>final<|message|>"
FORMS = {
    "deepseek": ("<think>\nHe lies.\n</think>\n\nGood day.", "Good day.", "He lies."),
    "an empty thought": ("<think>\n\n</think>\n\nGood day.", "Good day.", ""),
    "letters of any size": ("<THINK>He lies.</Think>Good day.", "Good day.", "He lies."),
    "spaces and attributes": ("< think lang='en' depth = 3 >He lies.</ think >Good day.", "Good day.", "He lies."),
    "a tag that is empty itself": ("<think/>Good day.", "Good day.", ""),
    "two words for one thing": ("<thinking>He lies.</think>Good day.", "Good day.", "He lies."),
    "magistral": ("[THINK]He lies.[/THINK]Good day.", "Good day.", "He lies."),
    "pangu": ("[unused16]He lies.[unused17]Good day.", "Good day.", "He lies."),
    "kimi-vl": ("◁think▷He lies.◁/think▷Good day.", "Good day.", "He lies."),
    "kimi-k3": (
        "<|open|>think<|sep|>He lies.<|close|>think<|sep|>"
        "<|open|>response<|sep|>Good day.<|close|>response<|sep|><|close|>message<|sep|>",
        "Good day.",
        "He lies.",
    ),
    "openthoughts": (
        "<|begin_of_thought|>\n\nHe lies.\n\n<|end_of_thought|>\n\n<|begin_of_solution|>\nGood day.<|end_of_solution|>",
        "Good day.",
        "He lies.",
    ),
    "cohere": (
        "<|START_THINKING|>He lies.<|END_THINKING|><|START_RESPONSE|>Good day.<|END_RESPONSE|>",
        "Good day.",
        "He lies.",
    ),
    "cohere without thoughts": ("<|START_RESPONSE|>Good day.<|END_RESPONSE|>", "Good day.", ""),
    "apertus": ("<|inner_prefix|>He lies.<|inner_suffix|>Good day.", "Good day.", "He lies."),
    "inkling": (
        "<|content_thinking|>He lies.<|end_message|><|message_model|><|content_text|>Good day.<|end_message|>",
        "Good day.",
        "He lies.",
    ),
    "solar": ("<|think|>He lies.<|end|><|begin|>assistant<|content|>Good day.<|end|>", "Good day.", "He lies."),
    "gemma": ("<|channel>thought\nHe lies.\n<channel|>Good day.", "Good day.", "He lies."),
    "gemma without thoughts": ("<|channel>thought\n<channel|>Good day.", "Good day.", ""),
    "gemma, an answer in a channel": (
        "<|channel>thought\nHe lies.<channel|><|channel>response\nGood day.<channel|>",
        "Good day.",
        "He lies.",
    ),
    "medgemma": ("<unused94>thought\nHe lies.<unused95>Good day.", "Good day.", "He lies."),
    "harmony": (
        f"<|channel|>analysis<|message|>He lies.<|end|><|start|>assistant{FINAL}Good day.<|return|>",
        "Good day.",
        "He lies.",
    ),
    "harmony, every channel but one": (
        "<|start|>assistant<|channel|>analysis<|message|>He lies.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.x <|constrain|>json<|message|>{}<|call|>"
        f"<|start|>assistant{FINAL}Good day.",
        "Good day.",
        "He lies.\n{}",
    ),
    "harmony, a channel twice": (
        f"<|channel|>commentary to=assistant<|channel|>analysis<|message|>He lies.<|end|>{FINAL}Good day.",
        "Good day.",
        "He lies.",
    ),
    "harmony without thoughts": (f"{FINAL}Good day.<|return|>", "Good day.", ""),
    "harmony with spaces (llm-jp)": (
        "<|channel|> analysis<|message|> He lies.<|end|><|start|> assistant<|channel|> final<|message|> Good day.",
        "Good day.",
        "He lies.",
    ),
    "harmony, a header without its end": ("<|channel|>final Good day.", "Good day.", ""),
    "harmony without its marks": ("analysisHe lies.\n\nassistantfinalGood day.", "Good day.", "He lies."),
    "a mark round the answer": ("<think>He lies.</think>\n<answer>\nGood day.</answer>", "Good day.", "He lies."),
    "twice": ("<think>He lies.</think>Good <think>Or not.</think> day.", "Good day.", "He lies.\nOr not."),
    "within speech": ("Good\n\n<think>He lies.</think>\n\nday.", "Good\n\nday.", "He lies."),
    "within a word": ("Good<think>He lies.</think> day.", "Good day.", "He lies."),
    "after speech": ("Good day.<think>He lies.</think>", "Good day.", "He lies."),
    "after space": ("\n <think>He lies.</think>\n Good day.\n", "Good day.\n", "He lies."),
    "a tag of its own": ("<think>In <think> I lie.</think>Good day.", "Good day.", "In  I lie."),
    "a tag of another family": ("<think><analysis>No.</analysis></think>A.", "A.", "<analysis>No.</analysis>"),
    "not closed": ("Good day. <think>He lies. </thin", "Good day. ", "He lies. </thin"),
    "not closed, harmony": ("<|channel|>analysis<|message|>He lies.<|e", "", "He lies.<|e"),
    "not closed, without marks": ("analysisHe lies. assistantfin", "", "He lies. assistantfin"),
    **{
        name: (f"<{name}>He lies.</{name}>\nGood day.", "Good day.", "He lies.")
        for names in FAMILIES.values()
        for name in names
    },
}
UNOPENED = {
    "a tag": ("He lies.\n</think>\n\nGood day.", "Good day.", "He lies."),
    "nothing before it": ("</think>Good day.", "Good day.", ""),
    "gemma": ("He lies.<channel|>Good day.", "Good day.", "He lies."),
    "cohere": ("He lies.<|START_RESPONSE|>Good day.<|END_RESPONSE|>", "Good day.", "He lies."),
    "harmony": (f"He lies.<|end|><|start|>assistant{FINAL}Good day.<|return|>", "Good day.", "He lies."),
    "kimi-k3": ("He lies.<|close|>think<|sep|><|open|>response<|sep|>Good day.", "Good day.", "He lies."),
}
CLOSED_TWICE = {
    "two blocks, the second not opened": ("<think>He</think>lies.</think>Good day.", "Good day.", "He\nlies."),
    "nested": ("<think>He <think>lies</think> now.</think>Good day.", "Good day.", "He lies\nnow."),
}
SPEECH = [
    "I think <b>he</b> lies.",
    "x < y, and y > z: <<>>",
    "I love you <3",
    "*thinks* (thinking) [Thought] [think] He lies.",
    "<thinks hard> He lies.",
    "<think hard> He lies.",
    "<thinker>, <rethink>, <think_tag>, <|thinking",
    "Thinking: the analysis of it. Reasoning, reflection, <analyst>.",
    "analysis",
    "analysis of the case",
    "analysis: he lies.",
    "analysis, assistantfinal, final",
    "Analysis paralysis. assistantfinal",
    "anal",
    "<answer>Good day.</answer>",
    "<said>Good day.</said>\n</said>",
    "I like <th",
    "I like <think",
    "I like <think of=",
    "I like [THIN",
    "I like ◁/",
    "I like <|chan",
    "  \n Good day. \n",
    " \n",
    "",
    '{"a": ["<b", "[c"]}',
    f"<think {'a' * 200}>",
]


def parts_of(text: str, chance: random.Random) -> list[str]:
    longest, parts = chance.choice((1, 2, 5, 30)), []
    while text:
        size = chance.randint(1, longest)
        parts.append(text[:size])
        text = text[size:]
    return parts


def streamed(parts: list[str], *, unopened: bool = False) -> tuple[list[str], Thoughts]:
    thoughts = Thoughts(unopened=unopened)
    return [*(thoughts.feed(part) for part in parts), thoughts.end()], thoughts


@pytest.mark.parametrize(("text", "said", "thoughts"), FORMS.values(), ids=FORMS.keys())
def test_thoughts_are_taken_out(text: str, said: str, thoughts: str) -> None:
    assert split_thoughts(text) == Split(said, thoughts, unopened=False)
    outs, split = streamed(list(text))
    assert ("".join(outs), split.thoughts, split.said_unopened) == (said, thoughts, False)


@pytest.mark.parametrize("text", SPEECH)
def test_speech_stays_as_it_is(text: str) -> None:
    assert split_thoughts(text) == split_thoughts(text, unopened=True) == Split(text, "", unopened=False)
    assert "".join(streamed(list(text))[0]) == "".join(streamed(list(text), unopened=True)[0]) == text


@given(st.text())
def test_any_text_without_a_mark_stays(text: str) -> None:
    text = " " + "".join(one for one in text if one not in "<[◁")
    assert split_thoughts(text).said == split_thoughts(text, unopened=True).said == text


@pytest.mark.parametrize(
    ("text", "said", "thoughts"),
    [*UNOPENED.values(), *CLOSED_TWICE.values()],
    ids=[*UNOPENED.keys(), *CLOSED_TWICE.keys()],
)
def test_what_closes_says_that_all_before_it_was_thoughts(text: str, said: str, thoughts: str) -> None:
    assert split_thoughts(text) == Split(said, thoughts, unopened=True)
    outs, split = streamed(list(text))
    assert (split.thoughts, split.said_unopened) == (thoughts, True)
    assert "".join(outs).endswith(said)


@pytest.mark.parametrize(("text", "said", "thoughts"), UNOPENED.values(), ids=UNOPENED.keys())
def test_nothing_is_shown_of_thoughts_that_the_prompt_opened(text: str, said: str, thoughts: str) -> None:
    outs, split = streamed(list(text), unopened=True)
    assert ("".join(outs), split.thoughts, split.said_unopened) == (said, thoughts, False)


def test_thoughts_that_the_prompt_opened_are_known_before_they_end() -> None:
    thoughts = Thoughts(unopened=True)
    assert (thoughts.feed("He "), thoughts.feed("lies. "), thoughts.thoughts) == ("", "", "He lies.")
    assert (thoughts.feed("</think>Good day."), thoughts.thoughts) == ("Good day.", "He lies.")


def test_in_thoughts_that_the_prompt_opened_any_tag_closes_and_none_opens() -> None:
    text = "He <think> and [THINK] <|START_THINKING|> lies.[/THINK]Good day."
    assert split_thoughts(text, unopened=True) == Split("Good day.", "He  and   lies.", unopened=False)


def test_where_nothing_closed_them_the_prompt_opened_none() -> None:
    thoughts = Thoughts(unopened=True)
    assert (thoughts.feed("Good "), thoughts.feed("day. <think>He lies"), thoughts.end()) == ("", "", "Good day. ")
    assert (thoughts.thoughts, thoughts.said_unopened) == ("He lies", False)


def test_what_was_said_before_a_closing_tag_is_taken_back() -> None:
    thoughts = Thoughts()
    assert (thoughts.feed("He lies. "), thoughts.said_unopened, thoughts.thoughts) == ("He lies. ", False, "")
    assert (thoughts.feed("So </thi"), thoughts.said_unopened) == ("So ", False)
    assert (thoughts.feed("nk> Good "), thoughts.said_unopened, thoughts.thoughts) == ("Good ", True, "He lies. So")
    assert (thoughts.feed("day."), thoughts.end()) == ("day.", "")


def test_speech_is_given_at_once_and_only_what_may_be_a_mark_waits() -> None:
    thoughts = Thoughts()
    assert [thoughts.feed(part) for part in ("Good ", "day <", "3 [", "TH", "E] ", "<tho", "rn>")] == [
        "Good ",
        "day ",
        "<3 ",
        "",
        "[THE] ",
        "",
        "<thorn>",
    ]
    assert thoughts.end() == ""


def test_cuts_change_nothing() -> None:
    chance = random.Random(20260917)
    texts = [text for text, *_ in [*FORMS.values(), *UNOPENED.values(), *CLOSED_TWICE.values()]] + SPEECH
    bits = [part for text in texts for part in text.replace("|>", "|>\0").replace(">", ">\0").split("\0")]
    for _ in range(8_000):
        text = chance.choice(texts) if chance.random() < 0.5 else "".join(chance.choices(bits, k=chance.randint(1, 5)))
        unopened = chance.random() < 0.3
        whole = split_thoughts(text, unopened=unopened)
        outs, split = streamed(parts_of(text, chance), unopened=unopened)
        assert (split.thoughts, split.said_unopened) == (whole.thoughts, whole.unopened), text
        said = "".join(outs)
        assert said.endswith(whole.said) if whole.unopened else said == whole.said, text


def test_no_part_of_a_thought_is_given_on_the_way() -> None:
    chance = random.Random(7)
    forms = [(text, said) for text, said, thoughts in FORMS.values() if thoughts]
    for _ in range(2_000):
        text, said = chance.choice(forms)
        so_far = ""
        for out in streamed(parts_of(text, chance))[0]:
            so_far += out
            assert said.startswith(so_far), text


@pytest.mark.parametrize(
    "text",
    ["<think>" + "he lies " * 25_000 + "</think>Hm.", "<" * 200_000, "<think a='" * 20_000, "\n" * 200_000],
    ids=["thoughts", "openings", "cut tags", "space"],
)
def test_long_texts_take_no_longer_for_being_cut(text: str) -> None:
    begin = perf_counter()
    outs, split = streamed([text[at : at + 3] for at in range(0, len(text), 3)])
    assert perf_counter() - begin < 10  # a second or less; the machine may be busy
    assert Split("".join(outs), split.thoughts, split.said_unopened) == split_thoughts(text)


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("<think>He lies.</think>Good day."),
        AIMessage("Good day.", additional_kwargs={"reasoning_content": "He lies."}),
        AIMessage(
            [{"type": "reasoning", "reasoning": "He "}, {"type": "reasoning", "reasoning": "lies."}, "Good day."]
        ),
        AIMessage([{"type": "thinking", "thinking": "He lies."}, {"type": "text", "text": "Good day."}]),
        AIMessage([{"type": "thinking", "thinking": [{"type": "text", "text": "He lies."}]}, "Good day."]),
        AIMessage([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "He lies."}]}, "Good day."]),
    ],
)
def test_thoughts_are_found_wherever_clients_put_them(message: AIMessage) -> None:
    assert thoughts_of(message) == "He lies."
    assert text_of(message) == "Good day."
