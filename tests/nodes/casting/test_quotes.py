"""Quotations of a prose text: every style of marks, what goes on over paragraphs, and what is no speech."""

import pytest

from dramaturg.nodes.casting.quotes import paragraphs_in, quotes_in


def said_in(text: str) -> list[str]:
    return [one.text for one in quotes_in(text)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("“Shut the gate,” said Mira.", ["Shut the gate,"]),
        ('"Shut the gate," said Mira. "It blows."', ["Shut the gate,", "It blows."]),
        ("‘Don’t shut the boys’ gate,’ said Mira.", ["Don’t shut the boys’ gate,"]),
        ("'Don't,' said Mira. 'It isn't ours.'", ["Don't,", "It isn't ours."]),
        ("« Fermez la porte », dit Mira.", ["Fermez la porte"]),
        ("„Mach das Tor zu“, sagte Mira.", ["Mach das Tor zu"]),
        ("»Mach das Tor zu«, sagte Mira.", ["Mach das Tor zu"]),
        ("「門を閉めて」と美良は言った。", ["門を閉めて"]),
        ("米拉说：“把门关上。”", ["把门关上。"]),
        ("미라가 말했다. “문을 닫아.”", ["문을 닫아."]),
        ("“He said ‘no’ and “never” to me,” said Mira.", ["He said ‘no’ and “never” to me,"]),
    ],
)
def test_what_stands_between_marks_of_any_style_is_a_quotation(text: str, said: list[str]) -> None:
    assert said_in(text) == said


def test_a_dash_at_the_beginning_of_paragraphs_is_a_mark_of_speech() -> None:
    text = "— Come in.\n\n— I am in — answered Tomas, laughing — and cold.\n\n— Sit down.\n\nHe sat — at last."
    assert said_in(text) == ["Come in.", "I am in", "and cold.", "Sit down."]


def test_a_mark_that_is_not_closed_goes_on_in_the_next_paragraph_that_opens_with_one() -> None:
    text = "“I went down to the quay.\n\n“The boat was gone.”\n\nNobody spoke.\n\n“Gone?”"
    assert [(one.text, one.goes_on, one.paragraph) for one in quotes_in(text)] == [
        ("I went down to the quay.", False, 0),
        ("The boat was gone.", True, 1),
        ("Gone?", False, 3),
    ]


def test_a_title_or_a_word_in_doubt_within_a_sentence_is_nobody_s_speech() -> None:
    assert said_in("They drank in the “Blue Heron” and called it “home” all winter.") == []


def test_a_quotation_knows_where_it_stands_with_its_marks() -> None:
    text = "# One\n\nMira rose. “Who is\nthere?” she asked."
    (one,) = quotes_in(text)
    assert (text[one.begin : one.end], one.text, one.paragraph) == ("“Who is\nthere?”", "Who is there?", 1)


def test_each_line_is_a_paragraph_where_lines_are_not_wrapped() -> None:
    text = "门开了。\n“谁？”他问。\n没有人回答。\n“是我。”"
    assert len(paragraphs_in(text)) == 4
    assert len(paragraphs_in("The gate was open and\nnobody had come\nthrough it.\n\nIt rained.")) == 2


@pytest.mark.parametrize("heading", ["## The quay", "CHAPTER IV. The quay", "第三章 码头", "제3장 부두"])
def test_a_heading_is_a_paragraph_of_its_own_and_holds_no_speech(heading: str) -> None:
    first, *_ = paragraphs_in(f"{heading}\nMira came.")
    assert first.heading
    assert said_in("## “Gone”\n\n“Gone,” said Mira.") == ["Gone,"]
