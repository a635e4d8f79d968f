"""A wheel of emotions: a picture that is whole, legible and in its place, whatever the texts are."""

import random
import subprocess
import sys
from collections.abc import Sequence
from io import BytesIO
from itertools import combinations
from math import degrees, dist
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.cli.drawing.emotions import DRAWN, Spoke, draw, draw_wheel, picture
from dramaturg.cli.drawing.lettering import MISSING
from dramaturg.cli.drawing.wheel import COLOURS, SPACE, TOP, corners, free_place, place, strongest
from dramaturg.nodes.memories.emotions import EMOTIONS as ENCODED

from property_settings import property_settings
from sample_fonts import font_with

pytestmark = pytest.mark.sample_of_file(3)

pytest.importorskip("matplotlib")

EMOTIONS = list(COLOURS)
HAPPY = dict(zip(EMOTIONS, (8, 6, 2, 4, 1, 1, 1, 7), strict=True))
HOSTILE = ["$x^", r"\frac{1}{0} $5 my_file_name $", "a\x1b[31mred\x00\x0b\ud800", "W" * 900, "one\n\ntwo\tthree", ""]
LONG = "How the lamp came from Leith, and who stood on the shore to see it. " * 9


def spokes(number: int, texts: Sequence[str] = (LONG, "Short.", *HOSTILE)) -> list[Spoke]:
    """Memories with all sorts of moods, some of them the same, and one without."""
    dice = random.Random(number)
    moods = [HAPPY, dict.fromkeys(EMOTIONS, 1), {one: dice.randint(1, 10) for one in EMOTIONS}, None]
    return [Spoke(texts[at % len(texts)], moods[at % len(moods)], at / 10) for at in range(number)]


def drawn(mood: dict[str, int] | None, memories: Sequence[Spoke], title: str) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(dpi=120)
    FigureCanvasAgg(figure)
    draw(figure, mood, memories, title)
    return figure


def writing(figure: Any) -> list[Any]:
    """All texts of a picture that have a letter."""
    return [text for text in (*figure.texts, *figure.axes[0].texts) if text.get_text()]


def inside(box: Any, page: Any) -> bool:
    return bool(page.x0 <= box.x0 < box.x1 <= page.x1 and page.y0 <= box.y0 < box.y1 <= page.y1)


def said(figure: Any) -> str:
    return "\n".join(text.get_text() for text in writing(figure))


def pixels(data: bytes) -> np.ndarray[Any, Any]:
    from matplotlib.image import imread

    return np.asarray(imread(BytesIO(data), format="png"))


@pytest.mark.parametrize(
    ("name", "begins"), [("w.png", b"\x89PNG\r\n\x1a\n"), ("w.PDF", b"%PDF-"), ("w.svg", b"<?xml")]
)
def test_the_suffix_says_what_is_written(tmp_path: Path, name: str, begins: bytes) -> None:
    draw_wheel(HAPPY, spokes(3), tmp_path / name, title="Who are you?")
    data = (tmp_path / name).read_bytes()
    assert data.startswith(begins)
    if name.endswith("svg"):
        assert ElementTree.fromstring(data).tag.endswith("svg")
    elif name.endswith("png"):
        height, width = pixels(data).shape[:2]
        assert (width, 900 < height < 1100) == (1500, True)


@pytest.mark.parametrize("name", ["wheel.jpg", "wheel", ".png", "missing/wheel.png"])
def test_nothing_is_written_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name a file in a folder" if "/" in name else r"use \.png, \.svg or \.pdf"):
        draw_wheel(HAPPY, [], tmp_path / name, title="")
    assert not list(tmp_path.iterdir())


def test_every_mood_is_in_the_picture() -> None:
    empty, alone, one = (
        pixels(picture(mood, memories, "", "png"))
        for mood, memories in ((None, []), (HAPPY, []), (HAPPY, [Spoke("", dict.fromkeys(EMOTIONS, 9), 0.5)]))
    )
    assert empty.std() > 0.01
    assert (empty != alone).any(axis=2).sum() > 2000
    assert (alone != one)[:, : alone.shape[1] // 2].any(axis=2).sum() > 1000


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [0, 10, DRAWN + 10])
def test_no_writing_lies_over_another_or_outside(number: int) -> None:
    figure = drawn(HAPPY, spokes(number), LONG)
    page = figure.bbox.padded(-10)
    assert not [text.get_text() for text in writing(figure) if not inside(text.get_window_extent(), page)]
    apart = [text for text in writing(figure) if not text.get_text().isdecimal()]  # rings may lie below a number
    overlaps = [
        (one.get_text(), other.get_text())
        for one, other in combinations(apart, 2)
        if one.get_window_extent().overlaps(other.get_window_extent())
    ]
    assert not overlaps


def test_the_legend_says_what_is_known() -> None:
    figure = drawn(None, [Spoke("Of joy.", HAPPY, 0.25), Spoke("Of nothing.", None, 1.5)], "Who?")
    shown = said(figure)
    assert "distance 0.250 · joy 8, anticipation 7" in shown
    assert "distance 1.500 · mood unknown" in shown
    assert "Mood of the question\nmood unknown" in shown
    assert "No memory was recalled." in said(drawn(HAPPY, [], ""))


def test_too_many_memories_are_counted() -> None:
    shown = said(drawn(HAPPY, spokes(DRAWN + 7, ["One."]), ""))
    assert "… and 7 more" in shown
    assert shown.count("One.") == DRAWN


def test_texts_are_written_as_they_are_without_what_a_terminal_obeys() -> None:
    figure = drawn(HAPPY, spokes(12, HOSTILE), "$\\alpha_1$ costs $5\x1b]0;x\x07")
    figure.canvas.draw()
    shown = said(figure)
    assert "$\\alpha_1$ costs $5]0;x" in shown
    assert r"\frac{1}{0} $5 my_file_name $" in shown
    assert "a[31mred" in shown
    assert "one two three" in shown
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_letters_that_no_font_has_are_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.font_manager import fontManager

    monkeypatch.setattr(fontManager, "ttflist", [font for font in fontManager.ttflist if font.name == "DejaVu Sans"])
    memories = spokes(2, ["我听不见掌声，", "등대지기"])
    without = said(drawn(HAPPY, memories, "高兴"))
    assert MISSING * 7 in without
    assert "no installed font" in without
    fontManager.addfont(font_with("我听不见掌声，高兴등대지기", tmp_path / "sample.ttf"))
    figure = drawn(HAPPY, memories, "高兴")
    figure.canvas.draw()  # a letter that is missing is a warning now
    shown = said(figure)
    assert MISSING not in shown
    assert {"我听不见掌声，", "등대지기", "高兴"} <= set(shown.splitlines())


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(RuntimeError, match=r"pip install 'dramaturg\[plot\]'"):
        draw_wheel(HAPPY, [], tmp_path / "wheel.png", title="")


BESIDE = """
import sys
from pathlib import Path
from dramaturg.cli.drawing.emotions import Spoke, draw_wheel
print("matplotlib" in sys.modules)
from matplotlib import rcParams
before = {name: rcParams[name] for name in rcParams if name != "backend"}
draw_wheel({"joy": 3}, [Spoke("$x^", {"fear": 9}, 0.1)], Path(sys.argv[1]), title="安")
print("matplotlib.pyplot" in sys.modules, before != {name: rcParams[name] for name in before})
"""


@pytest.mark.crash
def test_a_wheel_is_drawn_beside_other_pictures(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", BESIDE, str(tmp_path / "wheel.svg")]
    told = subprocess.run(command, capture_output=True, check=True)
    assert told.stdout.split() == [b"False"] * 3


def test_each_emotion_has_its_sector() -> None:
    assert tuple(COLOURS) == ENCODED
    assert len(set(COLOURS.values())) == len(ENCODED)


def test_the_emotions_go_round_clockwise_from_the_top() -> None:
    points = corners(dict.fromkeys(EMOTIONS, 2))
    assert points[0] == pytest.approx((0, 2))
    assert points[2] == pytest.approx((2, 0))
    assert corners({})[3] == pytest.approx((0, 0))


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, TOP)), max_size=DRAWN))
@property_settings(30)
def test_numbers_stand_apart_in_the_sector_of_their_emotion(moods: list[tuple[int, int]]) -> None:
    taken = corners(HAPPY)
    for at, score in moods:
        spot = free_place(at, score, taken)
        assert min(dist(spot, one) for one in taken) >= SPACE
        assert dist(spot, (0, 0)) <= TOP + 1e-9
        turned = degrees(np.angle(complex(*spot) / complex(*place(at, 1))))
        assert score == 0 or abs(turned) < 22.5
        taken.append(spot)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ((8, 6, 2, 4, 1, 1, 1, 7), "joy 8, anticipation 7"),
        ((1, 9, 1, 1, 1, 1, 1, 1), "acceptance 9"),
        ((5, 5, 5, 2, 2, 2, 2, 2), "joy 5, acceptance 5"),
        ((3,) * 8, "none stands out"),
        ((), "none stands out"),
    ],
)
def test_the_strongest_emotions_are_named(scores: tuple[int, ...], words: str) -> None:
    assert strongest(dict(zip(EMOTIONS, scores, strict=False))) == words
