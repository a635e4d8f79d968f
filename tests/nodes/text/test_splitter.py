"""The adaptive splitter: limits, offsets, nothing lost, right headings, and each point that the paper leaves open."""

import json
import textwrap
import time
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from dramaturg.nodes.text.boundaries import Tokens, Unit
from dramaturg.nodes.text.langchain import PersonaTextSplitter
from dramaturg.nodes.text.splitter import Method, Passage, longest_paragraph, split_document

BOM = "\ufeff"
FAMILY = "👩\u200d👩\u200d👧"
METHODS: tuple[Method, ...] = ("acts", "acts-document", "ats", "fixed")
UNITS: tuple[Unit, ...] = ("characters", "tokens")


class Block(NamedTuple):
    """A heading (level 1 to 6) or a piece of text (level 0)."""

    level: int
    lines: tuple[str, ...]
    title: str = ""


def heading(level: int, title: str, style: str) -> Block:
    underline = "=" if level == 1 else "-"
    if style == "setext" and level <= 2:
        return Block(level, (title, underline * 3), title)
    closing = " " + "#" * level if style == "closed" else ""
    return Block(level, (f"{'#' * level} {title}{closing}",), title)


words = st.sampled_from(
    ["alpha", "beta.", "gamma!", "한국어", "문장이다.", "中文句子。", "他说：“好。”", FAMILY, "e\u0301", "x" * 30]
)
lines = st.lists(words, min_size=1, max_size=8).flatmap(
    lambda some: st.sampled_from(["".join(some), " ".join(some), " ".join(some) + "  "])
)
titles = st.sampled_from(["Life", "Later years", "生平", "어린 시절", "A #1 hit", "*Op.* 18"])
headings = st.builds(heading, st.integers(1, 6), titles, st.sampled_from(["atx", "closed", "setext"]))
texts = st.one_of(
    st.lists(lines, min_size=1, max_size=4).map(lambda some: Block(0, tuple(some))),
    st.just(Block(0, ("```python", "# no heading", "", "Title", "=====", "```"))),
    st.just(Block(0, ("- one", "- two", "  - three"))),
    st.just(Block(0, ("| a | b |", "|---|---|", "| 1 | 2 |"))),
    st.just(Block(0, ("> # a quoted heading",))),
)


class Sample(NamedTuple):
    """A document, and for each of its blocks where it stands and what headings are above it, itself included."""

    text: str
    blocks: list[tuple[Block, int, int, tuple[str, ...]]]
    eol: str


def sample(blocks: list[Block], eol: str, bom: bool, final: bool) -> Sample:
    text = BOM if bom else ""
    placed: list[tuple[Block, int, int, tuple[str, ...]]] = []
    path: list[Block] = []
    for block in blocks:
        if block.level:
            path = [*(above for above in path if above.level < block.level), block]
        start = len(text) if placed else 0  # a byte order mark belongs to the first block
        text += eol.join(block.lines)
        placed.append((block, start, len(text), tuple(above.title for above in path)))
        text += eol * 2
    return Sample(text if final else text.rstrip(), placed, eol)


samples = st.builds(
    sample,
    st.lists(st.one_of(headings, texts), max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.booleans(),
)


def count(text: str, unit: Unit) -> int:
    return len(text) if unit == "characters" else Tokens(text).length(0, len(text))


def slow_longest(made: Sample, unit: Unit) -> int:
    """Equation 3 the obvious way: group the lines of each text into runs that are not blank."""
    longest = 0
    for number, (block, *_) in enumerate(made.blocks):
        runs: list[list[str]] = [[]]
        for line in () if block.level else block.lines:
            runs = [*runs, []] if not line else [*runs[:-1], [*runs[-1], line]]
        if runs[0] and number == 0 and made.text.startswith(BOM):
            runs[0][0] = BOM + runs[0][0]
        longest = max([longest, *(count(made.eol.join(run), unit) for run in runs)])
    return longest


def uncovered(text: str, passages: list[Passage]) -> set[int]:
    seen = {position for passage in passages for position in range(passage.start, passage.end)}
    return {n for n, character in enumerate(text) if not character.isspace() and n not in seen}


def check_offsets_and_progress(text: str, passages: list[Passage]) -> None:
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        assert passage.text
        assert passage.text == passage.text.strip()
    for one, following in pairwise(passages):
        assert one.start < following.start
        assert one.end < following.end


def check_overlap(text: str, passages: list[Passage], at_most: int, unit: Unit) -> None:
    for one, following in pairwise(passages):
        assert count(text[following.start : one.end], unit) <= at_most


@given(samples, st.sampled_from(UNITS))
def test_longest_paragraph_is_what_the_obvious_way_finds(made: Sample, unit: Unit) -> None:
    # The last line is cut short where the sample ends without blank lines.
    if made.text.endswith(made.eol) or not made.blocks:
        assert longest_paragraph(made.text, unit) == slow_longest(made, unit)


@given(samples, st.sampled_from(UNITS), st.none() | st.integers(1, 60))
def test_acts_keeps_limit_text_and_headings(made: Sample, unit: Unit, longest: int | None) -> None:
    passages = split_document(made.text, method="acts", unit=unit, longest=longest)
    check_offsets_and_progress(made.text, passages)
    l_max = longest_paragraph(made.text, unit)
    limit = min(l_max or len(made.text), longest or len(made.text))
    assert all(count(passage.text, unit) <= limit for passage in passages)
    if l_max:
        check_overlap(made.text, passages, limit // 2, unit)
    inside = {n for block, start, end, _ in made.blocks if block.level for n in range(start, end)}
    assert uncovered(made.text, passages) <= (inside | {0} if made.text.startswith(BOM) else inside)
    for passage in passages:
        above = {path for _, start, end, path in made.blocks if start < passage.end and passage.start < end}
        assert above == {passage.headings}


@given(samples)
def test_each_title_is_kept(made: Sample) -> None:
    kept = {title for passage in split_document(made.text) for title in passage.headings}
    assert kept == {block.title for block, *_ in made.blocks if block.level}


@given(samples, st.sampled_from(UNITS))
def test_ats_differs_in_the_headings_only(made: Sample, unit: Unit) -> None:
    passages = split_document(made.text, method="ats", unit=unit)
    check_offsets_and_progress(made.text, passages)
    assert not uncovered(made.text, passages) - {0}
    assert all(passage.headings == () for passage in passages)
    l_max = longest_paragraph(made.text, unit)
    if l_max:
        assert all(count(passage.text, unit) <= l_max for passage in passages)
        check_overlap(made.text, passages, l_max // 2, unit)


anything = st.text(
    st.sampled_from("ab.。！ \n\r\t\f#=-`>*🇰🇷\u0301\u200d한中\u3000\ufeff\x00\u2028)”"), max_size=200
) | st.text(max_size=80)


@given(anything, st.integers(1, 30), st.data(), st.sampled_from(UNITS))
def test_fixed_keeps_length_overlap_and_text_of_anything(
    text: str, length: int, data: st.DataObject, unit: Unit
) -> None:
    overlap = data.draw(st.integers(0, length - 1))
    passages = split_document(text, method="fixed", unit=unit, fixed_length=length, fixed_overlap=overlap)
    check_offsets_and_progress(text, passages)
    check_overlap(text, passages, overlap, unit)
    assert all(count(passage.text, unit) <= length for passage in passages)
    assert not uncovered(text, passages) or not text.strip(BOM + " \n\r\t\f\u3000\u2028")


@given(anything, st.sampled_from(UNITS), st.none() | st.integers(1, 10))
def test_acts_leaves_out_heading_lines_of_anything_at_most(text: str, unit: Unit, longest: int | None) -> None:
    passages = split_document(text, unit=unit, longest=longest)
    check_offsets_and_progress(text, passages)
    limit = min(longest_paragraph(text, unit) or len(text), longest or len(text))
    assert all(count(passage.text, unit) <= limit for passage in passages)
    missing = "".join(text[n] for n in sorted(uncovered(text, passages)))
    titles = "".join(title for passage in passages for title in passage.headings).replace("\ufffd", "\x00")
    assert set(missing) <= set(titles) | set("#=-") | {BOM}


def test_a_run_of_spaces_in_the_window_does_not_hold_it_back() -> None:
    text = "a" * 8 + " " * 7 + "b" * 20
    passages = split_document(text, method="fixed", fixed_length=16, fixed_overlap=8)
    check_offsets_and_progress(text, passages)
    assert not uncovered(text, passages)


def sentences(number: int, size: int = 8) -> str:
    return " ".join(" ".join(f"word{n}x{m}" for m in range(size)).capitalize() + "." for n in range(number))


def test_windows_advance_by_half_and_meet_at_sentences() -> None:
    text = "\n\n".join(sentences(10) for _ in range(12))
    l_max = longest_paragraph(text)
    assert l_max == len(sentences(10))
    passages = split_document(text)
    assert len(passages) > 20
    for one, following in pairwise(passages):
        assert l_max * 3 / 8 - 2 <= one.end - following.start <= l_max / 2
        assert len(one.text) >= l_max * 3 / 4 - 2
        assert one.text.endswith(".")
        assert following.text.startswith("Word")


def test_paragraph_ends_are_preferred_to_later_sentence_ends() -> None:
    first = sentences(8)
    text = f"{first}\n\n{sentences(20, 4)}"
    assert split_document(text, longest=600)[0].text == first


def test_a_good_end_at_the_limit_is_taken() -> None:
    text = f"{'a' * 31} bcdefgh. Another sentence follows here."
    assert split_document(text, longest=40)[0].text == text[:40]


def test_a_far_sentence_does_not_shorten_the_overlap() -> None:
    text = sentences(60, 25)
    for one, following in pairwise(split_document(text, longest=800)):
        assert 300 - 10 <= one.end - following.start <= 400


def test_words_are_kept_where_there_are_no_sentences() -> None:
    text = " ".join(f"word{n}" for n in range(200))
    vocabulary = set(text.split())
    for passage in split_document(text, longest=60):
        assert set(passage.text.split()) <= vocabulary


@pytest.mark.parametrize("text", ["", " ", "\n\n\r\n\t", "\f", BOM, f"{BOM}\r\n", "\u3000\u2028"])
@pytest.mark.parametrize("method", METHODS)
def test_a_blank_document_has_no_passages(text: str, method: Method) -> None:
    assert split_document(text, method=method) == []
    assert longest_paragraph(text) == 0


def test_one_paragraph_is_one_passage() -> None:
    assert split_document("  He was born in Bonn.\n") == [Passage("He was born in Bonn.", (), 2, 22)]
    assert longest_paragraph("  He was born in Bonn.\n") == 22


def test_lines_of_a_paragraph_are_counted_with_their_breaks() -> None:
    assert longest_paragraph("ab\ncd\n\nxyz\n") == 5
    assert longest_paragraph("ab\r\ncd\r\n\r\nxyz\r\n") == 6
    assert longest_paragraph("ab\r\ncd") == 6
    assert longest_paragraph("# A very long heading\nab\n") == 2


def test_a_giant_paragraph_is_capped_by_longest() -> None:
    text = f"Short.\n\n{sentences(200)}"
    assert max(len(passage.text) for passage in split_document(text)) > 10_000
    assert max(len(passage.text) for passage in split_document(text, longest=500)) <= 500
    assert split_document(text, longest=10**6) == split_document(text)


def test_a_document_without_headings_is_one_section() -> None:
    text = "\n\n".join(sentences(3) for _ in range(5))
    assert split_document(text, method="acts") == split_document(text, method="ats")


def test_a_passage_stays_in_its_section() -> None:
    text = "Before.\n\n# Life\n\nA paragraph of some length.\n\n## Bonn\n\nShort.\n\n### Deep\nx\n\n"
    text += "## Vienna\n\ny\n\n# Work\n\nz\n"
    assert [(passage.headings, passage.text) for passage in split_document(text)] == [
        ((), "Before."),
        (("Life",), "A paragraph of some length."),
        (("Life", "Bonn"), "Short."),
        (("Life", "Bonn", "Deep"), "x"),
        (("Life", "Vienna"), "y"),
        (("Work",), "z"),
    ]


def test_a_skipped_level_is_no_gap_in_the_path() -> None:
    found = split_document("# A\n\n### C\n\nText.\n\n## B\n\nMore.\n")
    assert [passage.headings for passage in found] == [("A", "C"), ("A", "B")]


def test_ats_and_fixed_read_headings_as_text() -> None:
    text = "# Life\n\nHe was born in Bonn.\n"
    assert [passage.text for passage in split_document(text, method="fixed")] == [text.strip()]
    assert split_document(text, method="ats")[0].text.startswith("# Life")


def test_a_heading_with_nothing_under_it_is_a_passage() -> None:
    found = split_document("# Life\n\n## Bonn\n\nHe was born here, in 1770.\n\n## Vienna\n\n# Works\n")
    assert [(passage.headings, passage.text) for passage in found] == [
        (("Life", "Bonn"), "He was born here, in 1770."),
        (("Life", "Vienna"), "## Vienna"),
        (("Works",), "# Works"),
    ]


def test_a_document_of_headings_is_cut_by_its_longest_heading() -> None:
    text = "# Life\n## Birth\n## Youth and schooling\n"
    assert longest_paragraph(text) == 0
    assert [passage.text for passage in split_document(text)] == ["## Birth", "## Youth and schooling"]
    for method in ("ats", "fixed"):
        assert not uncovered(text, split_document(text, method=method))


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("# Life", "Life"),
        ("###### Life ######", "Life"),
        ("# Life #", "Life"),
        ("   # Life", "Life"),
        ("Life\n====", "Life"),
        ("Life\n---", "Life"),
        (f"{BOM}# Life", "Life"),
        (f"{BOM}Life\r\n====", "Life"),
        ("# *Life* in C#", "*Life* in C#"),
        ("# 生平", "生平"),
    ],
)
def test_headings(markup: str, title: str) -> None:
    found = split_document(f"{markup}\n\nText.\n")
    assert [(passage.headings, passage.text) for passage in found] == [((title,), "Text.")]


@pytest.mark.parametrize(
    "text",
    [
        "#Life\n\nText.",
        "####### Life\n\nText.",
        "    # Life\n\nText.",
        "#\n\nText.",
        "```\n# Life\n```\n\nText.",
        "~~~~\n# Life\n~~~\n# Life\n~~~~\n\nText.",
        "```\n# Life\n\nnever closed",
        "- a\n  ```\n  # Life\n  ```",
        "- # Life\n\nText.",
        "> # Life\n\nText.",
        "<!--\n# Life\n-->\n\nText.",
        "One line\nand another\n---\n\nText.",
        "Text.\n\n---\n\nText.",
        "| a | b |\n| - | - |\n| # | 1 |",
    ],
)
def test_what_is_no_heading(text: str) -> None:
    found = split_document(text)
    assert {passage.headings for passage in found} == {()}
    assert not uncovered(text, found)


def test_lists_tables_and_code_are_paragraphs() -> None:
    for text in ("- one\n- two\n- three", "| a | b |\n|---|---|\n| 1 | 2 |", "```\nx = 1\n```"):
        assert longest_paragraph(f"a\n\n{text}\n\nb\n") == len(text)
    assert longest_paragraph("```\nx\n\nlonger\n```") == len("longer\n```")


def test_lists_are_cut_between_items() -> None:
    text = "\n".join(f"- item {n} of the list" for n in range(40))
    for passage in split_document(text, longest=400):
        assert passage.text.startswith("- item")
        assert passage.text.endswith("list")


def test_chinese_is_cut_after_full_stops_and_quotes() -> None:
    text = "".join(f"这是第{n}句话，说的是孙悟空。他说：“俺老孙来也！”" for n in range(60))
    found = split_document(text, longest=200)
    assert len(found) > 10
    assert all(passage.text.endswith(("。", "！”")) for passage in found)
    assert all(passage.text.startswith(("这", "他")) for passage in found)


def test_korean_is_cut_after_sentences() -> None:
    text = " ".join(f"이것은 {n}번째 문장이다." for n in range(100))
    assert all(passage.text.endswith("다.") for passage in split_document(text, longest=150))


def test_line_ends_of_all_kinds_give_the_same_passages() -> None:
    text = "# Life\n\nBorn in Bonn.\nBaptised there.\n\n## Vienna\n\nDied in Vienna.\n"
    expected = [(p.headings, p.text) for p in split_document(text)]
    for eol in ("\r\n", "\r"):
        changed = text.replace("\n", eol)
        found = split_document(changed)
        assert [(p.headings, p.text.replace(eol, "\n")) for p in found] == expected
        assert all(changed[p.start : p.end] == p.text for p in found)


def test_a_byte_order_mark_is_counted_and_kept() -> None:
    assert split_document(f"{BOM}Text.") == [Passage(f"{BOM}Text.", (), 0, 6)]
    assert split_document(f"{BOM}# Life\n\nText.") == [Passage("Text.", ("Life",), 9, 14)]


def test_a_form_feed_ends_a_line() -> None:
    assert longest_paragraph("abc\fdefg") == 8
    assert longest_paragraph("abc\n\fdefg") == 4
    assert split_document("Page one.\n\f# Life\n\nText.")[-1].headings == ("Life",)


@pytest.mark.parametrize("cluster", [FAMILY, "e\u0301", "🇰🇷", "👍🏽", "\u1112\u1161\u11ab", "हि", "❤\ufe0f"])
def test_visible_characters_stay_whole(cluster: str) -> None:
    text = cluster * 60
    for passage in (passage for longest in range(16, 32) for passage in split_document(text, longest=longest)):
        assert passage.start % len(cluster) == 0
        assert passage.end % len(cluster) == 0


def test_a_visible_character_longer_than_the_limit_is_cut() -> None:
    text = "e" + "\u0301" * 200
    found = split_document(text, longest=10)
    assert not uncovered(text, found)
    assert max(len(passage.text) for passage in found) <= 10


def test_tokens_are_words_marks_and_cjk_characters() -> None:
    assert longest_paragraph("Don't stop, 悟空! 한국.", "tokens") == 3 + 2 + 3 + 3
    assert longest_paragraph("x" * 33, "tokens") == 3


@pytest.mark.parametrize("overlap", [0, 1])
@pytest.mark.parametrize("length", [2, 3, 4, 7])
def test_tokens_cut_for_the_sake_of_an_accent_are_neither_lost_nor_too_many(length: int, overlap: int) -> None:
    text = "cafe\u0301" * 50  # "cafe" is a token and so is the accent, but "e" and the accent are one letter
    found = split_document(text, method="fixed", unit="tokens", fixed_length=length, fixed_overlap=overlap)
    assert not uncovered(text, found)
    assert max(count(passage.text, "tokens") for passage in found) <= length


def test_tokens_do_not_count_spaces() -> None:
    text = sentences(40)
    found = split_document(text, unit="tokens", longest=30)
    assert max(count(passage.text, "tokens") for passage in found) <= 30
    assert {p.text for p in found} == {
        " ".join(p.text.split()) for p in split_document(text.replace(" ", "   "), unit="tokens", longest=30)
    }


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ({"method": "semantic"}, "use fixed, ats, acts, acts-document"),
        ({"unit": "words"}, 'use "characters" or "tokens"'),
        ({"longest": 0}, "set longest to 1 or more"),
        ({"method": "fixed", "fixed_length": 0}, "set fixed_length to 1 or more"),
        ({"method": "fixed", "fixed_overlap": -1}, "from 0 to 999"),
        ({"method": "fixed", "fixed_length": 5, "fixed_overlap": 5}, "from 0 to 4"),
    ],
)
def test_wrong_settings_are_refused_with_advice(wrong: dict[str, Any], advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        split_document("", **wrong)
    with pytest.raises(ValueError, match=advice):
        PersonaTextSplitter(**wrong)


def test_longest_paragraph_refuses_an_unknown_unit() -> None:
    with pytest.raises(ValueError, match='use "characters" or "tokens"'):
        longest_paragraph("Text.", "words")  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_langchain_splitter_gives_the_same_passages(method: Method) -> None:
    text = f"# Life\n\n{sentences(30)}\n\n## Vienna\n\n{sentences(9)}\n"
    splitter = PersonaTextSplitter(method=method, longest=300)
    expected = split_document(text, method=method, longest=300)
    assert splitter.split_text(text) == [passage.text for passage in expected]
    source = Document(text, metadata={"source": "life.md", "tags": ["life"]})
    for made in (splitter.split_documents([source]), splitter.transform_documents([source])):
        assert [
            Passage(d.page_content, d.metadata["headings"], d.metadata["start"], d.metadata["end"]) for d in made
        ] == expected
        assert {d.metadata["source"] for d in made} == {"life.md"}
        assert all(d.metadata["tags"] is not source.metadata["tags"] for d in made)
    assert json.loads(splitter.create_documents([text])[0].model_dump_json())["metadata"]["start"] == expected[0].start
    assert "start" not in source.metadata


LONG = {
    "a megabyte": "".join(f"# Part {n}\n\n{sentences(12)}\n\n{sentences(5)}\n\n" for n in range(550)),
    "one line": "a" * 2_000_000,
    "dots": "." * 500_000,
    "marks": "\u0301" * 500_000,
    "flags": "🇰" * 500_000,
    "spaces": "a" + " " * 1_000_000 + "b",
    "sparse words": ("a" + " " * 998) * 1000,
    "headings": "# Heading\n" * 10_000,
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("unit", UNITS)
def test_time_grows_with_the_length_only(name: str, unit: Unit) -> None:
    begun = time.process_time()
    found = split_document(LONG[name], unit=unit, longest=1000)
    assert time.process_time() - begun < 30  # far from what grows otherwise
    assert found[-1].end == len(LONG[name].rstrip())


# Documents of which each line is a paragraph


def told(number: int) -> str:
    return f"In the year {1700 + number} he wrote. " + "It was long and it was good. " * (number % 7 + 1)


def test_lines_that_are_paragraphs_are_seen_without_blank_lines() -> None:
    lines = [told(number).strip() for number in range(100)]
    document = "\n".join(lines)
    assert longest_paragraph(document) == max(map(len, lines))
    assert len(split_document(document)) > 50
    sectioned = "# He\n\n## Youth\n" + "\n".join(lines[:50]) + "\n\n## Age\n" + "\n".join(lines[50:])
    assert longest_paragraph(sectioned) == max(map(len, lines))


def test_lines_that_are_paragraphs_are_seen_in_chinese() -> None:
    lines = ["他生在花果山。" * (number % 5 + 1) for number in range(40)]
    assert longest_paragraph("\n".join(lines)) == 35


@pytest.mark.parametrize(
    "document",
    [
        textwrap.fill(" ".join(told(number) for number in range(20)), 72),
        "\n\n".join(told(number).strip().replace(". ", ".\n") for number in range(20)),
        "\n".join(f"- {told(number).strip()}" for number in range(20)),
        "The sea.\nThe sand.",
    ],
    ids=["wrapped", "a sentence a line, with blank lines", "list", "two lines"],
)
def test_lines_of_a_paragraph_are_none(document: str) -> None:
    assert longest_paragraph(document) == max(map(len, document.split("\n\n")))
