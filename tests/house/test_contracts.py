"""Forms of answers that are made for a question: made once for each of its sizes, as a class costs time and stays."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("models", "nodes", "evaluation", "stores", "workflows")


def makers() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions that make a class of pydantic."""
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "create_model(" in text else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "create_model(" in ast.unparse(node):
                yield f"{path.relative_to(ROOT)}:{node.name}", node


def test_a_form_of_answer_is_made_once_for_each_size() -> None:
    found = dict(makers())
    assert found
    assert [
        name for name, node in found.items() if not any("cache" in ast.unparse(one) for one in node.decorator_list)
    ] == []
