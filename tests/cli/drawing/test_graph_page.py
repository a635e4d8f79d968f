"""The page of a knowledge graph: nothing is lost on the way into it, and it asks nothing of the network."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dramaturg.cli.drawing.page import embedded, html
from dramaturg.stores.index.graph import Entity, KnowledgeGraph

from graph_samples import HOSTILE, knowledge, known_as_ada, star
from property_settings import property_settings


class Page(HTMLParser):
    """What a browser finds in a page: its elements, and the text of each script."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input"):
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data

    def data(self) -> Any:
        return json.loads(self.scripts[0])


@pytest.fixture(params=[0, 1, len(HOSTILE)], ids=["empty", "one", "hostile"])
def known(request: pytest.FixtureRequest) -> KnowledgeGraph:
    return star(HOSTILE[: request.param]) if request.param else knowledge([])


def test_the_page_parses_and_holds_its_data_and_one_script(known: KnowledgeGraph) -> None:
    page = Page(html(known, known_as_ada(known)))
    assert page.open == []
    kinds = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert kinds == ["application/json", "module"]
    assert [node["name"] for node in page.data()["nodes"]] == list(known.graph)


def test_the_page_fetches_nothing(known: KnowledgeGraph) -> None:
    text = html(known, known_as_ada(known)).decode()
    policy = [attributes["content"] for _, attributes in Page(text.encode()).elements if "http-equiv" in attributes]
    sums = r"('sha256-[\w+/=]{44}' ?)"
    assert re.fullmatch(
        rf"default-src 'none'; base-uri 'none'; form-action 'none'; style-src {sums}; script-src {sums}; "
        "require-trusted-types-for 'script'; trusted-types 'none'",
        policy[0],
    )
    text = text.replace("http://www.w3.org/2000/svg", "")  # a name, which nobody asks for
    assert not re.search(r"https?://|//[a-z]|\b(src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest|import\(", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)


def test_the_page_tells_where_each_statement_comes_from() -> None:
    data = Page(html(star(["Tom", "Leith"]), "Ada Quill")).data()
    assert data["role"] == 0
    told = {"text": "Kept the light.", "source": "life.md", "start": 4, "end": 18, "quote": "kept the light"}
    assert data["nodes"][0]["statements"] == [told]
    assert data["nodes"][1]["names"] == ["Tom", "Tom too"]
    edge = data["edges"][0]
    assert (edge["a"], edge["b"], edge["strength"], edge["description"]) == (0, 1, 1, "of Tom")


def test_relations_come_by_strength() -> None:
    strengths = [edge["strength"] for edge in Page(html(star([f"n{at}" for at in range(12)]), None)).data()["edges"]]
    assert strengths == sorted(strengths, reverse=True)


@given(st.text())
@property_settings(200)
def test_any_text_survives_into_the_page(text: str) -> None:
    page = Page(b'<script type="application/json">' + embedded({text: text}).encode() + b"</script>")
    assert page.data() == {text: text}
    assert len(page.elements) == 1


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4, unique=True))
@property_settings(25)
def test_any_name_survives_into_the_page(names: list[str]) -> None:
    known = knowledge([Entity(name=name, type="other", description=name, names=(name,)) for name in names])
    page = Page(html(known, names[0]))
    assert [node["name"] for node in page.data()["nodes"]] == names
    assert page.open == []


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_can_be_parsed(tmp_path: Path) -> None:
    (tmp_path / "page.mjs").write_text(Page(html(star(HOSTILE), None)).scripts[1], encoding="utf-8")
    command = ["node", "--check", str(tmp_path / "page.mjs")]
    checked = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_every_element_that_the_script_asks_for_is_in_the_page() -> None:
    page = Page(html(knowledge([]), None))
    there = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert set(re.findall(r'\$\("(\w+)"\)', "".join(page.scripts))) <= there


def test_without_its_data_the_page_weighs_less_than_half_a_megabyte() -> None:
    assert len(html(knowledge([]), None)) < 500_000
