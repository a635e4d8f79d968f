"""The sentences of the documents beside the graph: what is no entity is recalled, too."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.nodes.graph import recall
from dramaturg.stores.role import Role
from dramaturg.workflows import role_rag
from dramaturg.workflows.role_rag import RoleRagContext

from graph_roles import LIFE, asked, graph_actor, graph_role, index, put, served
from passage_samples import quick
from roles import fenced, run_settings

SWIM = "She has never learnt to swim, and dreads deep water."


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    role = graph_role(tmp_path)
    put(role, "life", f"{LIFE}\n{SWIM} It rains.\n")
    return role


async def turn(role: Role, question: str = "Have you learnt to swim?", **given: Any) -> tuple[str, dict[str, Any]]:
    """What the reply was shown, and the evidence."""
    usual = {"descriptions": "written", "neighbours": 50, "reasons": False}
    context = RoleRagContext(**{**run_settings(role.root.parent, model := graph_actor()), **usual, **given})
    output = await role_rag.graph.ainvoke({"messages": [("user", question)]}, context=context)
    (shown,) = asked(model, "reply")
    return fenced("knowledge", shown), output["evidence"]


async def test_a_fact_that_is_no_entity_is_recalled(role: Role) -> None:
    knowledge, evidence = await turn(role)
    assert SWIM in knowledge
    best = evidence["sentences"][0]
    assert role.documents()[0].text[best["start"] : best["end"]] == best["text"] == SWIM
    assert (best["source"], best["score"] > evidence["sentences"][-1]["score"]) == ("life.md", True)


async def test_by_the_rules_of_the_paper_there_are_entities_and_relations_only(role: Role) -> None:
    knowledge, evidence = await turn(role, rules="paper")
    assert SWIM not in knowledge
    assert "sentences" not in evidence
    assert "Ada Quill (character)" in knowledge


@pytest.mark.parametrize("most", [1, 3])
async def test_as_many_sentences_as_are_wanted_each_once(role: Role, most: int) -> None:
    put(role, "again", f"{SWIM}\n")
    knowledge, evidence = await turn(role, source_sentences=most, descriptions="quoted")
    assert len(evidence["sentences"]) == most
    assert len({one["text"] for one in evidence["sentences"]}) == most
    beside = knowledge.split("\n\n")[-1].split("\n")  # what no description has
    assert SWIM in beside
    assert all(knowledge.count(text) == 1 for text in beside)


async def test_what_cannot_be_known_has_no_sentences(role: Role) -> None:
    _, evidence = await turn(role, "Did Apollo swim?")
    assert [one["strategy"] for one in evidence["entities"]] == ["out of scope"]
    assert "sentences" not in evidence


async def test_sentences_have_a_share_of_what_is_shown(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "ALL", 400)
    knowledge, _ = await turn(role, "Does Tom swim with the harbour master, Jory Penrose and Petrel?")
    assert SWIM in knowledge
    assert len(knowledge) <= 400 + 20  # lines between texts


async def test_the_sentences_of_a_graph_are_embedded_once(role: Role) -> None:
    await index(role)
    assert (await index(role))["calls"] == 0
    graph = served(role)
    assert [one.text for one in graph.sentences][-2:] == [SWIM, "It rains."]
    assert len(graph.search(graph.vectors()[0], 99)) == len(graph.entities())  # sentences are no entities
