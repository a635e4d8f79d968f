"""Intervals cover and tests err as often as docs/concepts/statistics.md says: a sample of it, and all of it."""

import numpy as np
import pytest
from statistics_page import BEGIN, COVERS, END, ERRS, PAGE, RUNS, TABLES, page, simulated, written

SAMPLE = 300
"""Runs of a quick test: two deviations of chance are allowed for."""
CELLS = [("shares", "1.2 | 0.97", 8), ("scores", "0.7 | 0.9", 4), ("no difference", "1.2 | 0.5", 6),
         ("sign flips", "1.2 | 0.5", 8), ("Student's t", "1.2 | 0.5", 4)]  # fmt: skip


@pytest.mark.parametrize(("name", "row", "roles"), CELLS, ids=[one[0] for one in CELLS])
def test_a_cell_of_the_simulation_holds(name: str, row: str, roles: int) -> None:
    found = TABLES[name].rows[row](np.random.default_rng(0), roles, SAMPLE)
    assert found >= COVERS - 0.03 if found > 0.5 else found <= ERRS + 0.03


def test_mcnemar_over_all_questions_errs_far_more_often() -> None:
    found = TABLES["McNemar"].rows["1.2 | 0.5"](np.random.default_rng(0), 8, SAMPLE)
    assert found > 0.2


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TABLES)
def test_all_cells_hold_and_the_page_has_them(name: str) -> None:
    found = simulated(name, RUNS)
    assert all(TABLES[name].holds(one) for of in found.values() for one in of.values())
    assert written(name, found) in PAGE.read_text(encoding="utf-8")


def test_the_page_has_every_table_and_names_its_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "python docs/generate/statistics_page.py" in text
    assert text.index(BEGIN) < text.index(END)
    for table in TABLES.values():
        assert f"**{table.title}**" in text
        assert all(f"| {row} | " in text for row in table.rows)


def test_the_page_is_made_anew_between_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("statistics_page.simulated", lambda name, runs: {"0 | 0.5": {4: 0.951}})
    text = page(1)
    before, rest = text.split(BEGIN)
    assert before == PAGE.read_text(encoding="utf-8").split(BEGIN)[0]
    assert "| 0 | 0.5 | 0.951 |" in rest
