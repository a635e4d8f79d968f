"""RoleRAG from a document to replies with the embedded model, where its weights are in the cache."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from dramaturg.models.environment import environment
from dramaturg.models.local.embedded import EMBEDDED_MODEL
from dramaturg.nodes.graph.scoping import ScopedEntity
from dramaturg.stores.documents.forms import RoleCard
from dramaturg.stores.index.graph import GRAPH_KIND
from dramaturg.stores.library import Library, open_role
from dramaturg.workflows.role_rag import RoleRagContext, graph
from dramaturg.workflows.role_rag_index import graph as index_graph

from embedded_models import PATIENT, SLOW, use_real_models

pytestmark = SLOW
CACHE = environment().cache  # before each test gets a cache of its own
STRATEGIES = get_args(get_type_hints(ScopedEntity)["strategy"])

LIFE = """# Ludwig van Beethoven

Ludwig van Beethoven was born in Bonn in 1770, the son of the singer Johann van Beethoven.

In 1792 Beethoven went to Vienna and took lessons with Joseph Haydn, whom he admired and quarrelled with. As a boy he
had played for Mozart, who told his friends to keep an eye on him.

From 1798 on he lost his hearing. He wrote of his despair to his brothers in Heiligenstadt, and went on composing. He
dedicated his third symphony, the Eroica, to Napoleon Bonaparte, and tore up the page when Napoleon made himself
emperor. He loved long walks in the country and strong coffee, of which he counted sixty beans for each cup.
"""


@pytest.fixture(autouse=True)
def real_models(no_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    use_real_models(monkeypatch, CACHE, (EMBEDDED_MODEL, "xllamacpp"), ("minilm", "sentence_transformers"))


def settings(library: Path) -> RoleRagContext:
    return RoleRagContext(
        role="ludwig",
        library=str(library),
        chat_model="embedded",
        embedding_model="minilm",
        extraction_deadline=PATIENT["deadline"],
        hypothetical_tokens=60,
        reply_tokens=60,
        **PATIENT,
    )


async def test_a_document_is_indexed_and_asked_about_what_is_in_it_and_what_is_not(tmp_path: Path) -> None:
    profile = "A composer in Vienna, proud, rough and deaf."
    made = Library(tmp_path).create("ludwig", RoleCard(name="Ludwig van Beethoven", language="en", profile=profile))
    (made.root / "persona" / "life.md").write_text(LIFE, encoding="utf-8")
    indexed = await index_graph.ainvoke({}, context=settings(tmp_path))
    report = indexed["index"]
    assert (report["documents"], report["chunks"], report["failed"]) == (1, 1, [])
    assert report["entities"] >= 3
    assert report["relations"] >= 1
    assert (report["calls"] >= 1, report["tokens"] > 0) == (True, True)
    known = open_role("ludwig", tmp_path).index(GRAPH_KIND).open()
    assert known.version == indexed["version"]
    assert known.find("Ludwig van Beethoven")
    for entity in known.entities():
        assert all(LIFE[one.start : one.end].strip() for one in entity.statements)

    for question in ("Who was Joseph Haydn to you?", "What did you think of the Apollo 11 moon landing?"):
        output: Any = await graph.ainvoke({"messages": [("user", question)]}, context=settings(tmp_path))
        assert_told_why(output)
    assert open_role("ludwig", tmp_path).index(GRAPH_KIND).open().version == indexed["version"]


def assert_told_why(output: Any) -> None:
    """A reply, what it rests on, and what it cost."""
    assert output["messages"][-1].text
    assert output["messages"][-1].name == "ludwig"
    evidence, usage = output["evidence"], output["usage"]
    assert evidence["hypothetical"]
    assert evidence["entities"] or "entities_error" in evidence
    for entity in evidence["entities"]:
        assert entity["strategy"] in STRATEGIES
        assert 0 <= entity["certainty"] <= 1
    declined = [one["name"] for one in evidence["entities"] if one["strategy"] == "out of scope"]
    assert [one["name"] for one in evidence.get("out_of_scope", [])] == declined
    assert declined or evidence.get("specific") or evidence.get("general")
    for node in ("hypothesize", "scope_entities", "respond_in_scope"):
        assert usage[node]["calls"] >= 1
        assert usage[node]["completion_tokens"] >= 1
