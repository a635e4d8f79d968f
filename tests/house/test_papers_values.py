"""docs/reference/papers_values.md: what papers fix, and what none says, is what settings and constants are."""

import re
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.nodes.run import RoleContext, deviations
from dramaturg.workflows.methods import METHODS, context_type
from dramaturg.workflows.riverbend_agents import RiverbendContext

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "papers_values.md"
HEADING = re.compile(r"^## .*\(`([a-z-]+)`\)$", re.MULTILINE)


class Row(NamedTuple):
    """A row of the page; `of` is what its table is of: a method, the simulation, or the judges."""

    of: str
    what: str
    said: str
    where: str
    name: str
    paper: Any
    ours: Any


def rows() -> list[Row]:
    _, *parts = HEADING.split(PAGE.read_text(encoding="utf-8"))
    found = []
    for of, table in zip(parts[::2], parts[1::2], strict=True):
        lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
        for what, said, where, *cells in lines[2:]:
            name, paper, ours = (cell.strip("`") for cell in cells)
            found.append(Row(of, what, said, where, name, yaml.safe_load(paper), yaml.safe_load(ours)))
    return found


def is_here(row: Row) -> tuple[Any, Any]:
    """What a row speaks of is under the paper's rules, and under ours."""
    if "." in row.name:
        module, _, name = row.name.rpartition(".")
        value = getattr(import_module(module if module.startswith("studies") else f"dramaturg.{module}"), name)
        return value, value
    if row.of == "judges":
        return JUDGES[row.name].scale, JUDGES[row.name].scale
    if row.of == "riverbend":
        return getattr(RiverbendContext(), row.name), getattr(RiverbendContext(), row.name)
    kind = context_type(row.of)
    return getattr(kind(rules="paper"), row.name), getattr(kind(rules="ours"), row.name)


def test_a_value_is_what_the_page_says() -> None:
    for row in rows():
        assert is_here(row) == (row.paper, row.ours), row
        assert [type(one) for one in is_here(row)] == [type(row.paper), type(row.ours)], row


def test_what_a_paper_says_has_its_place_in_the_paper() -> None:
    assert [row for row in rows() if (row.said == "–") != (row.where == "–")] == []


def test_the_five_methods_stand_there_each_value_once() -> None:
    assert {"amadeus", "role-rag", "emotional-rag", "id-rag", "drmr"} <= {row.of for row in rows()}
    for of, group in groupby(rows(), key=lambda row: row.of):
        names = [row.name for row in group]
        assert len(set(names)) == len(names), of


@pytest.mark.parametrize("method", METHODS)
def test_replies_are_as_free_and_as_long_in_every_method(method: str) -> None:
    assert not {"temperature", "reply_tokens"} & deviations(context_type(method)).keys()
    for rules in ("paper", "ours"):
        context: Any = context_type(method)(rules=rules)
        assert isinstance(context, RoleContext)
        assert (context.temperature, context.reply_tokens) == (0.3, 250)
