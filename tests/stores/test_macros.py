"""Macros of cards stand for what the specifications say, and those that need a client stand as they are."""

import pytest

from dramaturg.stores.macros import Names, filled, unknown

NAMES = Names("Ada", "Jim", "What was there.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{char}} and {{USER}}, <BOT> and <user>", "Ada and Jim, Ada and Jim"),
        ("{{ char }}{{original}}", "AdaWhat was there."),
        ("a{{// a note }}b{{comment: another}}c{{hidden_key:x}}d", "abcd"),
        ("{{random:one}} {{pick:two}} {{random::three}}", "one two three"),
        (r"{{random:a\,b}}", "a,b"),
        ("{{roll:1}} {{roll:d1}} {{roll:3d1}} {{roll 2d1}}", "1 1 3 2"),
        ("{{roll:x}}{{random:}}", ""),
        ("{{random:{{char}},{{char}}}}", "Ada"),
        ("{{time}} {{getvar::x}} {{}} {{{char}}}", "{{time}} {{getvar::x}} {{}} {Ada}"),
        ("$char ${user} {char}", "$char ${user} {char}"),
    ],
)
def test_a_macro_stands_for_what_it_says(text: str, expected: str) -> None:
    assert filled(text, NAMES) == expected


def test_a_choice_is_made_anew_by_another_seed_and_a_pick_is_not() -> None:
    text = "{{random:a,b,c,d,e,f,g}}"
    assert filled(text, NAMES, "1") == filled(text, NAMES, "1")
    assert len({filled(text, NAMES, str(seed)) for seed in range(40)}) > 3
    assert len({filled(text.replace("random", "pick"), NAMES, str(seed)) for seed in range(40)}) == 1


def test_those_that_stand_are_named() -> None:
    assert unknown("{{time}} {{char}} {{GetVar::a}} {{roll:3}} {{}}") == {"{{time}}", "{{getvar}}"}
