"""A knowledge graph as a picture and as a file: every entity has its place, nothing is lost, and it can be repeated."""

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.cli.drawing.graph import graphml, node_link_json, xml_text
from dramaturg.cli.drawing.lettering import Fonts
from dramaturg.cli.drawing.page import html
from dramaturg.cli.drawing.picture import png
from dramaturg.server.layout import COLOURS, CORE, positions
from dramaturg.stores.index.graph import TYPES, Entity, KnowledgeGraph, decode_graph

import graph_samples
from graph_samples import HOSTILE, knowledge, known_as_ada, star
from property_settings import property_settings
from sample_fonts import font_with

pytestmark = pytest.mark.sample_of_file(2)


@pytest.fixture(params=[0, 1, len(HOSTILE)], ids=["empty", "one", "hostile"])
def known(request: pytest.FixtureRequest) -> KnowledgeGraph:
    return star(HOSTILE[: request.param]) if request.param else knowledge([])


@pytest.mark.parametrize("write", [html, graphml, node_link_json])
def test_the_same_graph_has_the_same_bytes(write: Any) -> None:
    assert write(star(HOSTILE), "Ada Quill") == write(star(HOSTILE), "Ada Quill")


@pytest.mark.crash
def test_places_do_not_depend_on_the_order_of_sets() -> None:
    program = (
        "import networkx as nx; from types import SimpleNamespace as R\n"
        "from dramaturg.server.layout import positions\n"
        "tree = nx.relabel_nodes(nx.random_labeled_tree(60, seed=1), str)\n"
        "nx.set_edge_attributes(tree, R(strength=5), 'relation'); tree.add_nodes_from('abc'); print(positions(tree))"
    )
    command = [sys.executable, "-c", program]
    said = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert said[0].count(b"(") == 63


def test_a_graph_larger_than_the_core_is_placed_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    known = star([f"n{at}" for at in range(CORE + 200)])
    places = positions(known.graph)
    assert list(places) == list(known.graph)
    assert len(set(places.values())) > CORE + 150


def test_components_stand_apart() -> None:
    single = [Entity(name=f"n{at}", type="other", description="", names=(f"n{at}",)) for at in range(30)]
    places = list(positions(knowledge(single).graph).values())
    assert min(abs(a[0] - b[0]) + abs(a[1] - b[1]) for at, a in enumerate(places) for b in places[:at]) > 20


def test_each_type_has_its_colour() -> None:
    assert set(COLOURS) == set(TYPES)
    assert len(set(COLOURS.values())) == len(TYPES)


def test_json_is_the_graph_that_is_kept(known: KnowledgeGraph) -> None:
    read = decode_graph(node_link_json(known, known_as_ada(known)))
    assert (dict(read.nodes), list(read.edges(data=True))) == (
        dict(known.graph.nodes),
        list(known.graph.edges(data=True)),
    )


def test_graphml_reads_back(known: KnowledgeGraph) -> None:
    read = nx.read_graphml(BytesIO(graphml(known, known_as_ada(known))))
    assert list(read) == [xml_text(name) for name in known.graph]
    assert {frozenset(ends) for ends in read.edges} == {frozenset(map(xml_text, ends)) for ends in known.graph.edges}
    for entity in known.entities():
        found = read.nodes[xml_text(entity.name)]
        assert found["names"].split(" | ") == [xml_text(name) for name in entity.names]
        assert (found["type"], found["is_role"]) == (entity.type, int(entity.name == "Ada Quill"))


@given(st.lists(st.text(), min_size=1, max_size=5, unique=True))
@property_settings(50)
def test_graphml_holds_any_names(names: list[str]) -> None:
    known = knowledge([Entity(name=name, type="other", description=name, names=(name,)) for name in names])
    assert len(nx.read_graphml(BytesIO(graphml(known, None)))) == len(names)


def pixels(data: bytes) -> np.ndarray[Any, Any]:
    from matplotlib.image import imread

    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return np.asarray(imread(BytesIO(data), format="png"))


def test_a_png_shows_something(known: KnowledgeGraph) -> None:
    pytest.importorskip("matplotlib")
    picture = pixels(png(known, known_as_ada(known)))
    assert picture.std() > 0.01
    assert min(picture.shape[:2]) > 600


@pytest.mark.crash
def test_a_png_is_drawn_beside_other_pictures() -> None:
    pytest.importorskip("matplotlib")
    program = (
        "import sys; from graph_samples import star; from dramaturg.cli.drawing.picture import png; "
        "png(star(['$x^', '安德烈']), None); print('matplotlib.pyplot' in sys.modules)"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    said = subprocess.run(command, cwd=Path(graph_samples.__file__).parent, capture_output=True, check=True)
    assert said.stdout.split() == [b"False"]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(RuntimeError, match=r"pip install 'dramaturg\[plot\]'"):
        png(star(["Tom"]), None)


def test_names_are_written_in_a_font_that_has_their_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = pytest.importorskip("matplotlib.font_manager").fontManager
    monkeypatch.setattr(manager, "ttflist", [font for font in manager.ttflist if font.name == "DejaVu Sans"])
    without = png(star(["安德烈", "등대"]), None)
    assert not Fonts(["安德烈"]).can_draw("安德烈")
    manager.addfont(font_with("安德烈", tmp_path / "sample.ttf"))
    fonts = Fonts(["安德烈", "등대", "Tom"])
    assert fonts.families == ["DejaVu Sans", "Sample Han"]
    assert [fonts.can_draw(name) for name in ("安德烈 & Tom", "등대", "Tom", "")] == [True, False, True, False]
    assert (pixels(png(star(["安德烈", "등대"]), None)) != pixels(without)).any()
