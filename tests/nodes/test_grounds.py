"""The grounds of several methods, joined and cut to one budget."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from dramaturg.nodes.reply import BYTES, Grounds, ground_text, grounds_of, joined, within_budget

KINDS = ("knowledge", "attributes", "memories", "records", "identity")
LETTERS = some.characters(min_codepoint=33, exclude_categories=["Cs"])
SEVERAL = some.lists(some.text(LETTERS, max_size=300), unique=True, max_size=6)
TEXTS = some.dictionaries(some.sampled_from(KINDS), SEVERAL)


def grounds(texts: Any = None, **limits: str) -> Grounds:
    return grounds_of({}, texts or {}, limits=limits)


def test_what_is_empty_is_left_out() -> None:
    found = grounds_of(
        {"evidence": {"a": 1, "b": 2}}, {"x": ["", " "], "y": ["z"]}, limits={"silent": ""}, shown=("a",)
    )
    assert found == {"texts": {"y": ["z"]}, "limits": {}, "asker": "", "evidence": {"a": 1}}


def test_kinds_and_limits_of_several_stand_together_each_text_once() -> None:
    one = grounds({"knowledge": ["a", "b"]}, unknown="the moon", silent="Leith")
    other = grounds({"knowledge": ["b", "c"], "memories": ["m"]}, unknown="the sun") | {"asker": "Tom"}
    found = joined([one, other, grounds()])
    assert found["texts"] == {"knowledge": ["a", "b", "c"], "memories": ["m"]}
    assert found["limits"] == {"unknown": "the moon\nthe sun", "silent": "Leith"}
    assert found["asker"] == "Tom"
    assert ground_text(found, " Ada. ") == "Ada.\n\na\n\nb\n\nc\n\nm"


@given(TEXTS, some.integers(1, 300))
def test_no_more_than_the_budget_and_what_is_left_out_is_counted(texts: dict[str, list[str]], tokens: int) -> None:
    whole = grounds(texts)
    found, counts = within_budget(whole, tokens)
    size = sum(len(text.encode()) for all_of in found["texts"].values() for text in all_of)
    assert size <= tokens * BYTES
    for kind, all_of in whole["texts"].items():
        kept = found["texts"][kind]
        assert len(kept) + counts["left_out"].get(kind, 0) == len(all_of)
        assert [one for one in kept if one in all_of] == [one for one in all_of if one in kept]
    if sum(len(text.encode()) for all_of in whole["texts"].values() for text in all_of) <= tokens:
        assert found["texts"] == whole["texts"]


def test_every_kind_has_its_share_before_a_second_text_of_any() -> None:
    found, counts = within_budget(grounds({"knowledge": ["k" * 900] * 3, "identity": ["i" * 900] * 3}), 300)
    assert [len(found["texts"][kind]) for kind in ("knowledge", "identity")] == [1, 1]
    assert counts["left_out"] == {"knowledge": 2, "identity": 2}
    assert all(text.endswith("…") for all_of in found["texts"].values() for text in all_of)
