"""What a server says is shown, in a line, without keys and without what was asked."""

import pytest

from dramaturg.models.server_words import MOST, said_in, shown

ASKED = [
    {"content": "I keep my sister's letters behind the lamp."},
    {"content": [{"type": "text", "text": "사랑하는 나의 오래된 등대에게"}]},
]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("Unsupported value: 'temperature'.", "Unsupported value: 'temperature'."),
        ("Two\nlines\tof\x1b[31m it", "Two lines of [31m it"),
        ("Incorrect API key provided: sk-abc123***xyz. See there.", "Incorrect API key provided: … See there."),
        ("Bearer abcdefgh12345678 is no key", "… is no key"),
        ("The key planted-secret-of-mine is none", "The key … is none"),
        ("in organization org-Zq81kd93mmz1 on requests", "in organization … on requests"),
        (
            "no model meta-llama/Llama-3.3-70B-Instruct-Turbo1234567",
            "no model meta-llama/Llama-3.3-70B-Instruct-Turbo1234567",
        ),
        ("input 'I keep my sister's letters behind the lamp.' is bad", "input ' … ' is bad"),
        (r"input 'I keep my sister\'s letters behind\nthe lamp.' is bad", "input ' … ' is bad"),
        ("입력 사랑하는 나의 오래된 등대에게 is bad", "입력 … is bad"),
        ("wo" * MOST + " rds", "…"),
    ],
)
def test_what_is_shown(words: str, line: str) -> None:
    model = "meta-llama/Llama-3.3-70B-Instruct-Turbo1234567"
    assert shown(words, ASKED, key="planted-secret-of-mine", model=model) == line


def test_it_is_a_line_of_bounded_length() -> None:
    line = shown("word " * 10_000)
    assert len(line) <= MOST + 2
    assert line.endswith(" …")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"message": "no"}, "no"),
        ({"error": {"message": "no"}}, "no"),
        ({"error": "no"}, "no"),
        ({"detail": [{"msg": "one"}, {"msg": "two"}]}, "one; two"),
        ({"message": "Provider returned error", "metadata": {"raw": "no"}}, "Provider returned error no"),
        ("<html><b>no</b></html>", "no"),
        (None, ""),
        ([5], ""),
    ],
)
def test_words_are_found_in_what_servers_send(body: object, words: str) -> None:
    assert said_in(body).strip() == words
