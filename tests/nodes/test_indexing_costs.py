"""What indexing would cost, counted before it: as many questions as are asked then, and none once they were."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dramaturg.nodes.dialogues.index import cost_of_dialogues
from dramaturg.nodes.graph.index import cost_of_graph
from dramaturg.nodes.index_steps import IndexingCost
from dramaturg.nodes.memories.index import cost_of_memories
from dramaturg.stores.index.dialogues import DIALOGUE_KIND
from dramaturg.stores.role import Role
from dramaturg.workflows.drmr_index import DrmrIndexContext
from dramaturg.workflows.drmr_index import graph as drmr_index

import graph_roles
import memory_roles
from cast_roles import cast_role
from commands import Command
from graph_roles import DOG, WORK, graph_actor, graph_role, only
from memory_roles import feeling, memories_asked, memory_role
from roles import run_settings
from scope_roles import player, reasoned, shown
from stub_endpoint import Endpoint

SCORES = {"scores": True}


def files(folder: Path) -> dict[str, bytes]:
    """All that is written below a folder, but locks."""
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file() and one.name != ".lock"}


async def test_chunks_without_facts_are_counted_until_they_have_them(tmp_path: Path) -> None:
    role = graph_role(tmp_path, dog=DOG, work=WORK)
    before, model = files(tmp_path), graph_actor()
    cost = await cost_of_graph(graph_roles.settings(role, model), {})
    assert cost.unit == "chunks"
    assert cost.characters == sum(len(one.text.strip()) for one in role.documents())
    assert "at most 50 pairs for each name" in cost.later
    assert (model.calls, files(tmp_path)) == ([], before)
    await graph_roles.index(role, model)
    assert cost.questions == cost.there == len(graph_roles.asked(model, "facts")) > 1
    again = await cost_of_graph(graph_roles.settings(role, model), {})
    names, most = map(int, re.search(r"at most (\d+) pairs of (\d+) names", again.later).group(2, 1))  # type: ignore[union-attr]
    assert again.questions == 0
    assert most == sum(min(at, 50) for at in range(names)) >= len(graph_roles.asked(model, "same")) > 0
    assert (await cost_of_graph(graph_roles.settings(role, model), {"rebuild": True})).questions == cost.there


async def test_a_chunk_that_failed_is_counted_where_it_is_asked_again(tmp_path: Path) -> None:
    role = graph_role(tmp_path, dog=DOG, work=WORK)
    await graph_roles.index(role, graph_actor(only("facts", "no JSON", holding="brother fears")))
    context = graph_roles.settings(role, graph_actor())
    assert (await cost_of_graph(context, {})).questions == 0
    assert (await cost_of_graph(context, {"retry": True})).questions == 1


async def test_without_normalization_no_names_are_compared(tmp_path: Path) -> None:
    role = graph_role(tmp_path, life="# Ada\n\nAda keeps the light.")
    assert (
        "names" not in (await cost_of_graph(graph_roles.settings(role, graph_actor(), normalization=False), {})).later
    )


async def test_memories_without_a_mood_are_counted_until_they_have_one(tmp_path: Path) -> None:
    role, model = memory_role(tmp_path), feeling()
    cost = await cost_of_memories(memory_roles.context(role, model, emotion_encoder="model"), {})
    assert model.calls == []
    await memory_roles.index(role, model, emotion_encoder="model")
    assert cost.questions == cost.there == len(memories_asked(model)) > 0
    after = await cost_of_memories(memory_roles.context(role, model, emotion_encoder="model"), {})
    assert (after.there, after.questions, after.characters) == (cost.there, 0, 0)


async def test_moods_by_similarity_are_no_question(tmp_path: Path) -> None:
    cost = await cost_of_memories(memory_roles.context(memory_role(tmp_path), emotion_encoder="embedding"), {})
    assert cost.there > cost.questions == 0


async def test_edges_are_counted_where_they_are_scored_now(tmp_path: Path) -> None:
    role, model = cast_role(tmp_path), player(edge=lambda _: reasoned(3, "they talk"))
    context = DrmrIndexContext(**run_settings(tmp_path, model))
    assert (await cost_of_dialogues(context, {})).questions == 0
    cost = await cost_of_dialogues(context, SCORES)
    await drmr_index.ainvoke(SCORES, context=context)  # type: ignore[call-overload]
    assert cost.questions == cost.there == len(shown(model, "edge")) > 0
    assert (await cost_of_dialogues(context, SCORES)).questions == 0
    assert (await cost_of_dialogues(context, {**SCORES, "rebuild": True})).questions == cost.there
    assert Role(role.root).index(DIALOGUE_KIND).open()


# The command


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        ("role-rag", (), "question"),
        ("amadeus", (), "no question to the model"),
        ("drmr", (), "missing scores: 1; a turn asks for those it needs, --scores for all now"),
    ],
)
def test_a_dry_run_asks_nothing_and_says_so(
    run: Command, stub: Endpoint, method: str, more: tuple[str, ...], said: str
) -> None:
    code, out, _ = run("index", "ada", "--method", method, "--dry-run", *more)
    assert (code, stub.asked) == (0, [])
    assert said in out


def test_a_program_reads_the_cost(run: Command) -> None:
    found: dict[str, Any] = json.loads(run("index", "ada", "--method", "role-rag", "--dry-run", "--json")[1])
    assert list(found) == list(IndexingCost._fields)
    assert found["questions"] == found["there"] > 0


def test_nothing_to_index_is_said(run: Command, tmp_path: Path) -> None:
    for document in (tmp_path / "ada" / "persona").glob("*.md"):
        document.unlink()
    assert "0 chunks: there is nothing to index." in run("index", "ada", "--method", "role-rag", "--dry-run")[1]


def test_a_method_without_an_index_is_named(run: Command) -> None:
    assert "'vanilla' has no index" in run("index", "ada", "--method", "vanilla", "--dry-run")[2]
