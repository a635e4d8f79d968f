"""The documentation is that of this code: the picture, the links, the commands, the settings."""

import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dramaturg.workflows import drmr, emotional_rag, id_rag, role_rag
from dramaturg.workflows.amadeus import AmadeusContext, graph
from dramaturg.workflows.methods import METHODS
from dramaturg.workflows.riverbend_agents import RiverbendContext

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize(
    ("page", "drawn"),
    [
        ("README.md", graph),
        ("docs/role_rag.md", role_rag.graph),
        ("docs/emotional_rag.md", emotional_rag.graph),
        ("docs/drmr.md", drmr.graph),
        ("docs/id_rag.md", id_rag.graph),
    ],
)
def test_a_picture_is_that_of_the_graph(page: str, drawn: Any) -> None:
    lines = drawn.get_graph().draw_mermaid().split("---\n", 2)[2].strip()
    assert f"```mermaid\n{lines}\n```" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_page_is_linked_from_the_readme() -> None:
    assert {page.name for page in PAGES[1:]} <= set(re.findall(r"docs/([a-z_]+\.md)", README))


def test_the_readme_names_every_method_and_graph() -> None:
    served = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    assert all(f"`{name}`" in README for name in [*METHODS, *served])


def test_the_python_in_the_readme_compiles_and_is_short() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    compile(code, "README.md", "exec")
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("role_rag.md", role_rag.RoleRagContext),
        ("emotional_rag.md", emotional_rag.EmotionalRagContext),
        ("drmr.md", drmr.DrmrContext),
        ("id_rag.md", id_rag.IdRagContext),
        ("riverbend.md", RiverbendContext),
    ],
)
def test_settings_named_in_the_page_of_a_method_exist(name: str, context: Any) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)(?:=[a-z0-9.]+`|` = [0-9])", page))
    assert len(named) >= 6
    assert named <= set(context.model_fields)
    for setting, value in re.findall(r"`([a-z_]+)` = ([0-9]+)", page):
        assert float(value) == context.model_fields[setting].default, setting


def test_settings_named_in_the_page_of_amadeus_exist() -> None:
    page = (ROOT / "docs" / "amadeus.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)(?: ?=|\"|`)", page)) & {"knowledge", "remembered", "fallback", "slots"}
    assert named
    assert named <= set(AmadeusContext.model_fields)


@pytest.mark.parametrize(("name", "least"), [("emotional_rag.md", 8), ("drmr.md", 4), ("id_rag.md", 4)])
def test_the_examples_in_the_page_of_a_method_give_what_they_say(name: str, least: int) -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / name), module_relative=False)
    assert tried > least
    assert not failed
