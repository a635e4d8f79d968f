"""`--web-search`: the tool that only Python can give, named on the command line and handed to who searches the web."""

import sys
from pathlib import Path
from typing import Any

import pytest

from dramaturg.cli.options import given_object
from dramaturg.evaluation.comparison.contestants import contestant, key_of
from dramaturg.evaluation.comparison.run import EvaluationSettings
from dramaturg.evaluation.datasets.dataset import DatasetQuestion
from dramaturg.stores.role import Role

from commands import Command
from roles import small_role

SEARCH = "def search(query):\n    return [{'title': 'Storms', 'url': 'x', 'content': query}]\n"


def search(query: str) -> list[str]:
    """Find the query."""
    return [query]


def settings(**given: Any) -> EvaluationSettings:
    return EvaluationSettings(chat_model="some-model", embedding_model="minilm", **given)


def key(role: Role, method: str, **given: Any) -> str:
    return key_of(contestant(method), "made", role, "known", 0, DatasetQuestion(id="1", text="Who?"), settings(**given))


def test_who_searches_is_given_the_tool() -> None:
    assert contestant("crag").context(settings(web_search=search), "ada", 0).web_search is search  # type: ignore[attr-defined]
    assert contestant("crag").context(settings(), "ada", 0).web_search == "off"  # type: ignore[attr-defined]
    assert not hasattr(contestant("naive-rag").context(settings(web_search=search), "ada", 0), "web_search")


def test_a_reply_with_the_web_is_another_one(tmp_path: Path) -> None:
    small_role(tmp_path)
    role = Role(tmp_path / "ada")
    assert key(role, "crag", web_search=search) != key(role, "crag")
    assert key(role, "crag", web_search=search) != key(role, "crag", web_search=key)
    assert key(role, "naive-rag", web_search=search) == key(role, "naive-rag")


def test_a_module_of_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gull_search.py").write_text(SEARCH, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert given_object("--web-search", "gull_search:search")("q")[0]["content"] == "q"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("search", "takes MODULE:NAME"),
        ("no_such_module:search", "cannot be imported: No module named 'no_such_module'"),
        ("json:search", "cannot be imported: module 'json' has no attribute 'search'"),
    ],
)
def test_what_cannot_be_imported_is_said_before_anything_is_asked(run: Command, text: str, said: str) -> None:
    code, _, err = run("evaluate", "--methods", "crag", "--role", "ada", "--web-search", text, "--dry-run")
    assert code == 2
    assert said in " ".join(err.split())
