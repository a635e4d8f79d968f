"""A document that was edited: what is embedded again, and that the passages are still whole."""

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dramaturg.nodes.passages.index import split_one, stored
from dramaturg.nodes.passages.retrieval import PassageSettings
from dramaturg.nodes.text.boundaries import Unit, ruler
from dramaturg.nodes.text.splitter import Passage, Window, kept_length, longest_paragraph, split_again, split_document

from property_settings import property_settings

pytestmark = pytest.mark.sample_of_file(2)

PIECES = ["a ", "bb. ", "ccc ", "d\n", "\n\n", "# H\n", "## K x\n", "eeeeeeee ", "。", "  "]
text = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)


@property_settings(300)
@given(
    parts=st.tuples(text, text, text, text),
    method=st.sampled_from(["acts", "acts-document", "ats", "fixed"]),
    unit=st.sampled_from(["characters", "tokens"]),
)
def test_no_text_is_left_out_and_no_passage_is_too_long(
    parts: tuple[str, str, str, str], method: str, unit: Unit
) -> None:
    before, old_part, new_part, after = parts
    old_text, new_text = before + old_part + after, before + new_part + after
    given_: dict = {"method": method, "unit": unit, "longest": 12, "fixed_length": 12, "fixed_overlap": 3}
    l_max = min(longest_paragraph(old_text, unit), 12)
    assume(l_max and (method == "fixed" or l_max == min(longest_paragraph(new_text, unit), 12)))
    window = Window(12, 3) if method == "fixed" else Window(l_max, l_max // 2)
    old = split_document(old_text, **given_)
    assert split_again(old_text, old, method, unit, window) == old
    found, measure = split_again(new_text, old, method, unit, window), ruler(new_text, unit)
    spans = [(one.start, one.end) for one in found]
    assert spans == sorted(set(spans))
    assert all(one.text == new_text[one.start : one.end] for one in found)
    assert all(measure.length(*span) <= window.length for span in spans)
    covered = {at for span in spans for at in range(*span)}
    anew = {at for one in split_document(new_text, **given_) for at in range(one.start, one.end)}
    assert all(new_text[at].isspace() for at in anew - covered)
    if method == "acts":
        assert {one.headings for one in found} == {one.headings for one in split_document(new_text, **given_)}


@pytest.mark.parametrize(
    ("longest", "before", "kept"),
    [(400, None, 400), (400, 400, 400), (500, 400, 400), (300, 400, 400), (501, 400, 501), (299, 400, 299)],
)
def test_a_length_is_kept_while_the_longest_paragraph_is_about_as_long(
    longest: int, before: int | None, kept: int
) -> None:
    assert kept_length(longest, before) == kept


def long_document(characters: int) -> str:
    """Headings of three levels over paragraphs of different length; the last paragraph is the longest."""
    chance, parts, size = random.Random(0), list[str](), 0
    words = ["".join(chance.choices("abcdefghij", k=chance.randint(2, 9))) for _ in range(2000)]
    while size < characters:
        level = chance.choice([1, 2, 3, 0, 0, 0, 0])
        line = " ".join(chance.choices(words, k=3 if level else chance.randint(30, 110)))
        parts.append(f"{'#' * level} {line}" if level else f"{line}.")
        size += len(parts[-1]) + 2
    return "\n\n".join([*parts, " ".join(["paragraphs"] * 75) + "."])


def edited(before: str, places: int, seed: int) -> str:
    """Write one percent anew, in so many places, with words of other lengths; headings stay."""
    chance, size = random.Random(seed), len(before) // 100 // places
    for at in sorted((chance.randrange(len(before) - size - 1000) for _ in range(places)), reverse=True):
        lines = before[at : at + size].split("\n")
        new = (one if "#" in one else " ".join("xy" * chance.randint(1, 4) for _ in one.split()) for one in lines)
        before = before[:at] + "\n".join(new) + before[at + size :]
    return before


@pytest.fixture(scope="module")
def megabyte() -> str:
    return long_document(1_000_000)


@pytest.mark.parametrize("splitter", ["acts", pytest.param("ats", marks=pytest.mark.crash), "fixed"])
@pytest.mark.parametrize("places", [1, pytest.param(10, marks=pytest.mark.crash)])
def test_an_edit_of_one_percent_embeds_three_percent_at_most(megabyte: str, splitter: str, places: int) -> None:
    given_ = PassageSettings(role="ada", splitter=splitter)
    old, length = split_one(megabyte, given_, [], None)
    known = {stored("life.md", one).embedding_text for one in old}
    for seed in range(3):
        new, _ = split_one(edited(megabyte, places, seed), given_, old, length)
        texts = {stored("life.md", one).embedding_text for one in new} - known
        assert 0 < len(texts) <= 0.03 * len(old)


@pytest.mark.crash
def test_the_longest_paragraph_may_be_edited(megabyte: str) -> None:
    given_ = PassageSettings(role="ada")
    old, length = split_one(megabyte, given_, [], None)
    for new_text in (megabyte[:-200], megabyte + " One more sentence, and a bit of another."):
        new, kept = split_one(new_text, given_, old, length)
        assert kept == length != longest_paragraph(new_text)
        assert len({one.text for one in new} - {one.text for one in old}) <= 3
    _, changed = split_one(megabyte + "y" * 1000, given_, old, length)
    assert changed == longest_paragraph(megabyte) + 1000


def test_edits_do_not_leave_crumbs(megabyte: str) -> None:
    given_, text_now = PassageSettings(role="ada"), megabyte[:100_000]
    passages, length = split_one(text_now, given_, [], None)
    first = len(passages)
    for seed in range(30):
        text_now = edited(text_now, 3, seed)
        passages, length = split_one(text_now, given_, passages, length)
    assert len(passages) < 1.3 * first
    assert isinstance(passages[0], Passage)
