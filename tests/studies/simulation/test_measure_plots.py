"""Measures as a picture: a panel a measure, a line a condition, a band where there is one."""

import subprocess
import sys
from io import BytesIO
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dramaturg.evaluation.metrics.figures import new_figure
from dramaturg.nodes.identity.chronicle import Condition
from studies.simulation.curves import TITLES, Point, draw, picture
from studies.simulation.measures import REPETITION, UNITS
from studies.simulation.tasks import QUESTIONS

RISING = [Point(1, 0.2, 0.1, 0.3, 4, 0), Point(2, 0.4, 0.3, 0.6, 4, 1), Point(3, 0.5, 0.5, 0.5, 4, 0)]
WITH_A_GAP = [Point(1, 0.6, None, None, 1, 0), Point(2, None, None, None, 0, 20), Point(3, -0.1, None, None, 1, 0)]
MEASURES = {"recall": {"id-rag": RISING, "baseline": WITH_A_GAP}, "tokens": {"id-rag": RISING}, "calls": {}}


@pytest.fixture
def panels() -> Any:
    pytest.importorskip("matplotlib")
    figure = new_figure()
    draw(figure, {**MEASURES, "calls": {"full": RISING}})
    return figure.axes


def test_a_panel_a_measure_and_a_line_a_condition(panels: Any) -> None:
    assert [one.get_title() for one in panels] == [TITLES[name] for name in MEASURES]
    legends = [[text.get_text() for text in one.get_legend().get_texts()] for one in panels]
    assert legends == [["id-rag (n = 4)", "baseline (n = 0 to 1)"], ["id-rag (n = 4)"], ["full (n = 4)"]]
    assert len({line.get_color() for line in (*panels[0].lines, *panels[2].lines)}) == 3


def test_lines_and_bands_are_the_data(panels: Any) -> None:
    whole, gap = (line.get_xydata().tolist() for line in panels[0].lines)
    assert whole == [[1, 0.2], [2, 0.4], [3, 0.5]]
    assert (gap[0], gap[2], isnan(gap[1][1])) == ([1, 0.6], [3, -0.1], True)
    band, none = ([path.vertices for path in one.get_paths()] for one in panels[0].collections)
    assert {(x, round(y, 9)) for x, y in np.concatenate(band)} == {(1, 0.1), (2, 0.3), (3, 0.5), (1, 0.3), (2, 0.6)}
    assert none == []


@pytest.mark.parametrize(("form", "begins"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("pdf", b"%PDF-")])
def test_a_picture_is_written_as_wanted(form: str, begins: bytes) -> None:
    pytest.importorskip("matplotlib")
    assert picture({"recall": {"id-rag": RISING}}, form).startswith(begins)


def test_a_picture_shows_something() -> None:
    from matplotlib.image import imread

    one, other = (
        np.asarray(imread(BytesIO(picture({"recall": {"id-rag": points}}, "png")), format="png"))
        for points in (RISING, WITH_A_GAP)
    )
    assert one.shape == other.shape
    assert (one != other).any(axis=2).sum() > 1000


def test_every_measure_has_a_title_and_every_condition_a_colour() -> None:
    from studies.simulation.curves import COLOURS

    assert {*TITLES} == {*QUESTIONS, REPETITION, *UNITS}
    assert {*COLOURS} == {*Condition.__args__}  # type: ignore[attr-defined]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RuntimeError, match=r"pip install 'dramaturg\[plot\]'"):
        picture({"recall": {"id-rag": RISING}}, "png")


@pytest.mark.crash
def test_measures_need_neither_scipy_nor_matplotlib() -> None:
    program = (
        "import sys; sys.modules['scipy'] = sys.modules['matplotlib'] = None\n"
        "from studies.simulation import curves, measures\n"
        "read = [curves.Reading('full', run, '', 1, value) for run, value in (('a', 1.0), ('b', 3.0))]\n"
        "print(curves.curves(read)['full'][0][1:5])"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    said = subprocess.run(command, capture_output=True, check=True, cwd=Path(__file__).parents[3])
    assert said.stdout.startswith(b"(2.0, None, None, 2)")
