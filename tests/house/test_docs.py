"""The documentation is that of this code: the picture, the links, the commands, the settings."""

import ast
import doctest
import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dramaturg.workflows import drmr, emotional_rag, ensemble, id_rag, role_rag
from dramaturg.workflows.amadeus import AmadeusContext, graph
from dramaturg.workflows.methods import METHODS
from dramaturg.workflows.riverbend_agents import RiverbendContext

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
HOUSE = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
FOLDERS = "cli|conversations|evaluation|examples|models|nodes|prompts|stores|testing|tests|workflows"


@pytest.mark.parametrize(
    ("page", "drawn"),
    [
        ("README.md", graph),
        ("docs/concepts/role_rag.md", role_rag.graph),
        ("docs/concepts/emotional_rag.md", emotional_rag.graph),
        ("docs/concepts/drmr.md", drmr.graph),
        ("docs/concepts/id_rag.md", id_rag.graph),
        ("docs/concepts/ensemble.md", ensemble.graph),
    ],
)
def test_a_picture_is_that_of_the_graph(page: str, drawn: Any) -> None:
    lines = drawn.get_graph().draw_mermaid().split("---\n", 2)[2].strip()
    assert f"```mermaid\n{lines}\n```" in (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", [*PAGES, *HOUSE, ROOT / "CHANGELOG.md"], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_links_lead_somewhere(page: Path) -> None:
    for target, section in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
        there = page.parent / target if target else page
        assert there.exists(), target
        if section:
            assert section in sections(there), f"{target}#{section}"


def sections(page: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_menu_of_the_site() -> None:
    assert "](docs/index.md" in README
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES[1:]}
    assert pages == {*re.findall(r"- (\S+\.md)$", menu, re.MULTILINE)} - {"changelog.md"}  # of CHANGELOG.md


@pytest.mark.parametrize("page", [*PAGES, *HOUSE], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_are_named_are_there(page: Path) -> None:
    for name in re.findall(rf"`((?:{FOLDERS})/[a-z0-9_*./-]+)`", page.read_text(encoding="utf-8")):
        assert any(ROOT.glob(name.rstrip("/"))), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_names_that_are_imported_are_there(page: Path) -> None:
    if page.name == "inspect.md":
        pytest.importorskip("inspect_ai")
    for line in re.findall(r"^(?:>>> )?(from dramaturg\..+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        (statement,) = ast.parse(line).body
        assert isinstance(statement, ast.ImportFrom)
        module = import_module(statement.module or "")
        assert all(hasattr(module, one.name) for one in statement.names), line


def test_the_changelog_says_where_each_name_is() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| `.+` \| `(dramaturg\..+)` \|$", changelog, re.MULTILINE)
    assert len(rows) > 10
    for names, module in rows:
        assert all(hasattr(import_module(module), name) for name in re.findall(r"`(\w+)`", names)), names


def test_the_readme_names_every_method_and_graph() -> None:
    served = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    assert all(f"`{name}`" in README for name in [*METHODS, *served])


def test_the_python_in_the_readme_compiles_and_is_short() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    compile(code, "README.md", "exec")
    assert len([line for line in code.splitlines() if line.strip()]) <= 12


async def test_the_test_in_the_page_of_testing_passes(tmp_path: Path) -> None:
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / "testing.md").read_text(encoding="utf-8"), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(compile(code, "testing.md", "exec"), names)
    (test,) = [names[name] for name in names if name.startswith("test_")]
    await test(tmp_path)


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("concepts/role_rag.md", role_rag.RoleRagContext),
        ("concepts/emotional_rag.md", emotional_rag.EmotionalRagContext),
        ("concepts/drmr.md", drmr.DrmrContext),
        ("concepts/id_rag.md", id_rag.IdRagContext),
        ("how-to/riverbend.md", RiverbendContext),
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
    page = (ROOT / "docs" / "concepts" / "amadeus.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+)(?: ?=|\"|`)", page)) & {"knowledge", "remembered", "fallback", "slots"}
    assert named
    assert named <= set(AmadeusContext.model_fields)


@pytest.mark.parametrize(
    ("name", "least"), [("concepts/emotional_rag.md", 8), ("concepts/drmr.md", 4), ("concepts/id_rag.md", 4)]
)
def test_the_examples_in_the_page_of_a_method_give_what_they_say(name: str, least: int) -> None:
    failed, tried = doctest.testfile(str(ROOT / "docs" / name), module_relative=False)
    assert tried > least
    assert not failed
