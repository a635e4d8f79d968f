"""Pages of docs/reference are what the code says: commands, settings, state, routes, errors, and the Python API."""

import re
from importlib import import_module

import pytest

from dramaturg.models import errors as of_models
from dramaturg.stores import errors as of_stores

from reference_pages import FOLDER, PAGES, REMEDIES


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == PAGES[name](), "Run `make docs`."


def test_a_remedy_is_that_of_an_error() -> None:
    assert all(hasattr(of_stores, name) or hasattr(of_models, name) for name in REMEDIES)


def test_every_module_of_the_python_api_lists_what_is_public_and_has_it_described() -> None:
    page = (FOLDER / "python.md").read_text(encoding="utf-8")
    modules = re.findall(r"^::: (\S+)$", page, re.MULTILINE)
    assert len(modules) > 10
    for name in modules:
        module = import_module(name)
        assert all(hasattr(module, public) for public in module.__all__), name
        undescribed = [
            public
            for public in module.__all__
            if callable(getattr(module, public)) and not getattr(module, public).__doc__
        ]
        assert undescribed == [], name
