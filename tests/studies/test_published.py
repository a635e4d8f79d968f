"""`python -m studies.published`: the papers' tables, computed again."""

import json

from commands import Command


def test_it_says_what_it_gets_and_where_the_paper_is_off(run: Command) -> None:
    code, out, _ = run("studies.published")
    flat = " ".join(out.split())
    assert code == 0
    assert "Table 4, CRAG: the accuracy is 40/60 = 66.67 %, not 68.33 %." in flat
    assert "Table 4, AMADEUS: the mean F1 is 0.8394, not 0.8244." in flat


def test_a_program_gets_every_row(run: Command) -> None:
    _, out, _ = run("studies.published", "--json")
    rows = json.loads(out)
    assert {one["table"] for one in rows} == {4, 5}
    assert all(0 < one["floor_accuracy"] < 100 for one in rows)
