"""The settings of two methods inherited together, in either order: both run and stay whole, or it is refused."""

import asyncio
import re
import shutil
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from all_methods import whole_cast, whole_role
from langchain_core.messages import HumanMessage
from pydantic import create_model

from dramaturg.nodes.run import RoleContext
from dramaturg.stores.library import open_role
from dramaturg.workflows.methods import METHODS, chat_graph, context_type, preparations

from roles import run_settings

KINDS = ("amadeus", "role-rag", "emotional-rag", "drmr", "id-rag")
"""A method of each kind of knowledge."""
APART = {"id-rag", "ensemble"}
"""`identity` is a setting of both and means two things."""
PAIRS = [pair for pair in permutations(METHODS, 2) if {*pair} != APART]
QUICK = [*permutations(KINDS, 2), ("ensemble", "emotional-rag"), ("drmr", "ensemble")]
DIFFERS = re.compile(r"(\w+) \('?\w+'? of ")


def joined(*contexts: type[RoleContext]) -> tuple[type[Any], list[str]]:
    """The class of all these settings, and the names of those for which it must say which default holds."""
    refused = ""
    try:
        return type("Joined", contexts, {}), []
    except TypeError as error:
        refused = str(error)
    assert all(one.__name__ in refused for one in contexts), refused
    names = DIFFERS.findall(refused)
    fields = {name: one.model_fields[name] for one in contexts for name in names if name in one.model_fields}
    own: Any = {name: (field.annotation, field.default) for name, field in fields.items()}
    return create_model("Joined", __base__=contexts, **own), names


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a role of which nothing is indexed."""
    library = tmp_path_factory.mktemp("bare")
    whole_role(library)
    return library


@pytest.fixture(scope="module")
def indexed(bare: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, prepared for every method by its own settings."""
    library = tmp_path_factory.mktemp("indexed") / "library"
    shutil.copytree(bare, library)

    async def prepare() -> None:
        for method in METHODS:
            await require_reply(method, plain(method, library))

    asyncio.run(prepare())
    return library


def plain(method: str, library: Path) -> Any:
    """A method's own settings."""
    return context_type(method)(**run_settings(library, whole_cast()))


def versions(method: str, context: Any) -> list[str]:
    """The versions that a method reads."""
    role = open_role("ada", context.library)
    return [role.index(one.kind).open().version for one in preparations(method, context).values()]


async def require_reply(method: str, context: Any) -> None:
    """Take a turn."""
    graph = chat_graph(method).compile()
    output = await graph.ainvoke({"messages": [HumanMessage("Do storms scare Tom?")]}, context=context)
    assert output["messages"][-1].text == "I keep the light."
    assert "warning" not in output["evidence"]


async def require_both(pair: tuple[str, str], library: Path) -> None:
    """Both methods run by the joined settings, and after that by their own."""
    kind, differ = joined(*map(context_type, pair))
    context = kind(**run_settings(library, whole_cast()))
    for method in pair:
        await require_reply(method, context)
    made = {method: versions(method, context) for method in pair}
    for method in pair:
        own = plain(method, library)
        await require_reply(method, own)
        assert versions(method, own) == made[method] or differ
    for method in pair:
        await require_reply(method, context)
    assert {method: versions(method, context) for method in pair} == made or differ


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "pair",
    [pytest.param(pair, marks=[pytest.mark.crash] if number % 3 else []) for number, pair in enumerate(QUICK)],
    ids="+".join,
)
async def test_both_methods_run_by_joined_settings_and_by_their_own(
    pair: tuple[str, str], bare: Path, tmp_path: Path
) -> None:
    shutil.copytree(bare, tmp_path / "library")
    await require_both(pair, tmp_path / "library")


@pytest.mark.crash
@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
async def test_indexes_that_were_there_stay_whole(pair: tuple[str, str], indexed: Path, tmp_path: Path) -> None:
    shutil.copytree(indexed, tmp_path / "library")
    await require_both(pair, tmp_path / "library")


@pytest.mark.sample(30)
@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_settings_that_disagree_are_joined_where_each_is_given(pair: tuple[str, str]) -> None:
    one, other = map(context_type, pair)
    kind, names = joined(one, other)
    shared = one.model_fields.keys() & other.model_fields.keys()
    assert {*names} == {name for name in shared if one.model_fields[name].default != other.model_fields[name].default}
    assert kind().role == "beethoven"


def test_settings_of_which_one_name_means_two_things_are_refused() -> None:
    for pair in permutations(APART):
        with pytest.raises(TypeError, match=r"identity is another setting in each\. Run one of them as a part"):
            type("Joined", (*map(context_type, pair),), {})
        with pytest.raises(TypeError, match="identity is another setting"):
            create_model("Joined", __base__=(*map(context_type, pair),), identity=(str, "id-rag"))


def test_all_methods_are_joined_in_any_order() -> None:
    contexts = [context_type(method) for method in METHODS if method != "ensemble"]
    own: Any = dict.fromkeys(("splitter", "unit", "fixed_length", "normalization", "verify", "notes"), (object, None))
    for start in range(len(contexts)):
        create_model("Joined", __base__=(*contexts[start:], *contexts[:start]), **own)
        create_model("Joined", __base__=(*contexts[:start][::-1], *contexts[start:][::-1]), **own)
