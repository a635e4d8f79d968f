"""What a conversation has changed, written into the chronicle: old lines end, new ones begin, and the rest stays."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.stores.documents.chronicle_changes import (
    Replacement,
    in_short,
    lines_after,
    unwritten,
    with_replacements,
    write_replacements,
)
from dramaturg.stores.documents.forms import CHRONICLE, Triple, parse_chronicle

ADA = Path("ada")
WRITTEN = """\
# Who Ada is.
triples:
  # What she lives by.
  - {subject: Ada, relation: keeps, object: the lamp, kind: goal, core: true}  # since she was a girl
  - subject: Ada
    relation: distrusts
    object: the harbour master   # he sold the old lamp
    kind: preference
  # Her brother.
  - subject: Ada
    relation: loves
    object: Tom
    kind: experience
sentences:
  keeps: $subject keeps $object.
"""


def triple(relation: str, thing: str, since: str | None = None, **more: object) -> Triple:
    return Triple.model_validate(
        {"subject": "Ada", "relation": relation, "object": thing, "kind": "goal", "since": since, **more}
    )


LAMP, MASTER = triple("keeps", "the lamp"), triple("distrusts", "the harbour master")
SAILS = Replacement(triple("sails", "the sea", "1862-03-01", core=True), (LAMP,))
TRUSTS = Replacement(triple("trusts", "the harbour master", "1862-03"), (MASTER,))


def after(text: str, *changes: Replacement) -> str:
    return with_replacements(text.encode(), changes, ADA).decode()


def test_old_lines_end_new_ones_begin_and_comments_and_order_stay() -> None:
    assert after(WRITTEN, SAILS, TRUSTS) == WRITTEN.replace("core: true}", "core: true, until: '1862-02-28'}").replace(
        "    kind: preference\n", "    kind: preference\n    until: 1862-02\n"
    ).replace(
        "    kind: experience\n",
        "    kind: experience\n"
        "  - subject: Ada\n    relation: sails\n    object: the sea\n    kind: goal\n    core: true\n"
        "    since: '1862-03-01'\n"
        "  - subject: Ada\n    relation: trusts\n    object: the harbour master\n    kind: goal\n    since: 1862-03\n",
    )


def test_written_once_it_is_not_written_again_whatever_was_filled_in_since() -> None:
    once = after(WRITTEN, SAILS, TRUSTS)
    assert after(once, SAILS, TRUSTS) == once
    filled = once.replace("object: the sea", "object: the sea\n    source: a letter")
    assert after(filled, SAILS, TRUSTS) == filled
    assert unwritten(parse_chronicle(filled.encode(), ADA).triples, [SAILS, TRUSTS]) == []


def test_what_held_for_less_than_a_day_is_no_line() -> None:
    first = Replacement(triple("sails", "the sea", "1862-03-01"), (LAMP,))
    second = Replacement(triple("mends", "nets", "1862-03-01"), (first.new,))
    both = after(WRITTEN, first, second)
    assert "sails" not in both
    assert "until: '1862-02-28'" in both
    assert after(after(WRITTEN, first), second).count("subject") == both.count("subject")  # taken out again
    assert unwritten(parse_chronicle(both.encode(), ADA).triples, [first, second]) == []


@pytest.mark.parametrize(
    ("since", "until"),
    [("1862", "1861"), ("1862-01", "1861-12"), ("1862-01-01", "1861-12-31"), ("1864-03-01", "1864-02-29")],
)
def test_what_ends_ends_the_day_the_month_or_the_year_before(since: str, until: str) -> None:
    kept, _ = lines_after([LAMP], [Replacement(triple("sails", "the sea", since), (LAMP,))])
    assert [one.until for one in kept if one] == [until]


def test_an_end_that_was_there_is_brought_forward() -> None:
    text = WRITTEN.replace("core: true}", "until: 1899, core: true}")
    assert "until: '1862-02-28', core: true}  # since she was a girl" in after(text, SAILS)


def test_what_the_chronicle_has_becomes_core_where_that_was_approved() -> None:
    change = Replacement(triple("loves", "Tom", "1862", core=True), (LAMP,))
    kept = parse_chronicle(after(WRITTEN, change).encode(), ADA).triples
    assert [(one.object, one.core, one.until) for one in kept if one.relation in {"loves", "keeps"}] == [
        ("the lamp", True, "1861"),
        ("Tom", True, None),
    ]


def test_a_list_in_one_line_and_a_file_that_is_not_there_are_written_too(tmp_path: Path) -> None:
    line = "triples: [{subject: Ada, relation: keeps, object: the lamp, kind: goal}]\n"
    assert "the lamp, kind: goal, until: '1862-02-28'}, {subject: Ada" in after(line, SAILS)
    role = tmp_path / "ada"
    role.mkdir()
    write_replacements(role, [SAILS])
    assert parse_chronicle((role / CHRONICLE).read_bytes(), role).triples == (SAILS.new,)


OBJECTS = st.sampled_from("abc")
DATES = st.sampled_from(["1862", "1862-03", "1862-03-02", "1863-01-01"])


def likes(new: str, since: str, old: list[str]) -> Replacement:
    return Replacement(triple("likes", new, since), tuple(triple("likes", one) for one in old if one != new))


CHANGES = st.lists(st.builds(likes, OBJECTS, DATES, st.lists(OBJECTS, max_size=2, unique=True)), max_size=4)


@given(st.lists(OBJECTS, max_size=3, unique=True), CHANGES)
def test_whatever_is_written_what_came_last_holds_and_can_be_read(
    objects: list[str], changes: list[Replacement]
) -> None:
    changes = sorted(changes, key=lambda one: one.since)
    lines = "".join(f"- {{subject: Ada, relation: likes, object: {one}, kind: goal}}\n" for one in objects)
    made = after(f"triples:\n{lines}" if lines else "", *changes)
    triples = parse_chronicle(made.encode(), ADA).triples
    assert unwritten(triples, in_short(changes)[-1:]) == []
    if changes:
        held = {one.object for one in triples if one.holds_at("1863-01-02")}
        assert changes[-1].new.object in held
        assert held.isdisjoint({one.object for one in changes[-1].old})
