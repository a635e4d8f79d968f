"""Indexing as a knowledge graph: what is made of the facts, what is asked, and how often."""

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from dramaturg.stores.index.graph import Statement
from dramaturg.stores.role import Role
from dramaturg.workflows import role_rag
from dramaturg.workflows.role_rag import RoleRagContext
from dramaturg.workflows.role_rag_index import build

from graph_roles import (
    DOG,
    JORY,
    TOM,
    WORK,
    asked,
    compared,
    graph_actor,
    graph_role,
    groups,
    index,
    only,
    part,
    put,
    served,
    settings,
    with_aliases,
)
from passage_samples import quick
from roles import fenced

pytestmark = pytest.mark.sample_of_file(4)

SPLITTINGS: list[dict[str, Any]] = [
    {},
    {"splitter": "acts", "descriptions": "quoted"},
    {"unit": "characters", "fixed_length": 120, "fixed_overlap": 60, "descriptions": "quoted"},
]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return graph_role(tmp_path)


def newest(role: Role, file: str) -> bytes:
    """A file of the version that is served."""
    versions = (path.parent for path in role.root.glob("index/graph/versions/*/manifest.json"))
    name = served(role).version
    return next((path / file).read_bytes() for path in versions if name in (path / "manifest.json").read_text())


def statements(role: Role, kind: str = "graph") -> list[Statement]:
    graph = served(role, kind)
    return [one for record in (*graph.entities(), *graph.relations()) for one in record.statements]


# What is made


async def test_a_published_graph(role: Role) -> None:
    report, graph = await index(role), served(role)
    counts = {key: report[key] for key in ("documents", "chunks", "entities", "relations", "merges", "failed")}
    assert counts == {"documents": 1, "chunks": 1, "entities": 6, "relations": 6, "merges": 2, "failed": []}
    assert report["version"] == graph.version
    assert {TOM, JORY, frozenset({"Ada Quill"})} <= groups(role)
    assert graph.entity("Petrel").type == "other"  # of a type that nobody knows
    assert graph.find("old lamp") in [one.name for one, _ in graph.neighbours("harbour master")]
    description = graph.entity(graph.find("Tom") or "").description
    assert description.startswith("In short: ")
    assert "Note: Tom sails the Petrel." in description


@pytest.mark.parametrize("given", SPLITTINGS, ids=["tokens", "acts", "overlapping"])
async def test_each_fact_is_traced_to_its_sentence(role: Role, given: dict[str, Any]) -> None:
    put(role, "work", WORK)
    await index(role, **given)
    documents = {one.name: one.text for one in role.documents()}
    passages = {one.id: one for one in served(role).passages}
    found = statements(role)
    assert {one.source for one in found} == {"life.md", "work.md"}
    for one in found:
        sentence = " ".join(documents[one.source][one.start : one.end].split())
        assert one.text == (f"Note: {sentence}" if "descriptions" not in given else sentence)
        assert passages[one.passage].start <= one.start < one.end <= passages[one.passage].end
    assert len({one.passage for one in found}) == len(passages)


async def test_a_name_in_several_spellings_is_one_without_a_question(role: Role) -> None:
    names = ["Kit", "KIT.", "“kit”", "Kit"]
    facts = [
        {"name": name, "type": "character", "sentence": 1, "description": f"{at}"} for at, name in enumerate(names)
    ]
    model = graph_actor(only("facts", json.dumps({"entities": facts, "relations": []})))
    report = await index(role, model)
    assert (report["entities"], asked(model, "same")) == (1, [])
    assert served(role).find("kIt") == "Kit"


async def test_names_of_the_card_are_one_without_a_question(role: Role) -> None:
    put(role, "work", WORK)
    with_aliases(role, "The keeper")
    model = graph_actor()
    await index(role, model)
    assert not [pair for pair in compared(model) if all("Ada Quill:" in one or "The keeper:" in one for one in pair)]
    assert frozenset({"Ada Quill", "The keeper"}) in groups(role)
    assert served(role).find("the keeper") == "Ada Quill"


async def test_without_normalization_only_equal_names_are_one(role: Role) -> None:
    await index(role, before := graph_actor())
    report = await index(role, model := graph_actor(), normalization=False)
    assert {part(call.text) for call in model.calls} <= {"summary"}  # facts are those that were had before
    assert (report["merges"], len(asked(before, "facts"))) == (0, 1)
    assert len(served(role, "graph-unmerged").entities()) == report["entities"] == 9
    assert all(len(one.names) == 1 for one in served(role, "graph-unmerged").entities())


async def test_a_graph_that_is_not_there_is_made_before_the_reply(role: Role) -> None:
    context = RoleRagContext(**dict(settings(role, model := graph_actor())))
    question: Any = {"messages": [("user", "Has Tom heard of Apollo?")]}
    found = (await role_rag.graph.ainvoke(question, context=context))["evidence"]
    assert {(one["name"], one["strategy"]) for one in found["entities"]} == {
        ("Tom", "specific"),
        ("Apollo", "out of scope"),
    }
    assert "Note: Tom sails the Petrel." in asked(model, "reply")[0]
    assert served(role).find("Tom") == "Her brother"
    await role_rag.graph.ainvoke(question, context=context)
    assert Counter(part(call.text) for call in model.calls)["facts"] == 1


# What is asked, and how often


async def test_only_what_changed_is_asked(role: Role) -> None:
    models = [graph_actor() for _ in range(5)]
    first = await index(role, models[0])
    assert sum(compared(models[0]).values()) == len(list(combinations(range(9), 2)))
    await index(role, models[1])
    assert models[1].calls == []
    put(role, "work", WORK)
    second = await index(role, models[2])
    assert [fenced("text", text) for text in asked(models[2], "facts")] == [
        "# Work\n[1] The keeper trims the old lamp at Gull Rock.\n[2] Her brother fears the harbour master."
    ]
    assert (first["calls"], second["calls"]) == (len(models[0].calls), len(models[2].calls))
    (role.root / "persona" / "work.md").unlink()
    await index(role, models[3])
    put(role, "dog", DOG)
    await index(role, models[4])
    assert len(asked(models[3], "facts")) == 0 < len(asked(models[4], "facts"))
    assert max(compared(*models).values()) == 1


async def test_nothing_is_left_of_a_document_that_is_gone(role: Role) -> None:
    put(role, "zoo", DOG)
    await index(role)
    assert all(b"Kit" in newest(role, file) for file in ("graph.json", "answers.jsonl", "passages.jsonl"))
    (role.root / "persona" / "zoo.md").unlink()
    model = graph_actor()
    await index(role, model)
    assert not any(b"Kit" in newest(role, file) for file in ("graph.json", "answers.jsonl", "passages.jsonl"))
    assert (served(role).find("Kit"), asked(model, "facts"), asked(model, "same")) == (None, [], [])
    assert {one.source for one in statements(role)} == {"life.md"}


async def test_pairs_that_are_joined_already_need_no_question(tmp_path: Path) -> None:
    roles = [graph_role(tmp_path / name, work=WORK) for name in ("all", "fewer")]
    models = [graph_actor(), graph_actor()]
    for one, model in zip(roles, models, strict=True):
        await index(one, model, skip_joined=one is roles[1], concurrency=1)
    assert groups(roles[0]) == groups(roles[1])
    questions = [sum(compared(model).values()) for model in models]
    joined = sum((len(names) - 1) * (len(names) - 2) // 2 for names in groups(roles[0]))
    assert questions[1] == questions[0] - joined < questions[0]
    await index(roles[1], again := graph_actor(), skip_joined=True)
    assert again.calls == []


async def test_several_pairs_in_one_question(tmp_path: Path) -> None:
    roles = [graph_role(tmp_path / name) for name in ("apart", "at_once")]
    await index(roles[0], alone := graph_actor(), reasons=True)
    await index(roles[1], together := graph_actor(), pairs_at_once=5, reasons=True)
    assert groups(roles[0]) == groups(roles[1])
    assert (len(asked(alone, "same")), len(asked(together, "pairs"))) == (36, 8)
    assert (len(asked(alone, "why")), len(asked(together, "why"))) == (4, 0)  # with the verdicts come the reasons
    assert asked(together, "same") == []


async def test_a_rebuild_asks_all_anew(role: Role) -> None:
    models = [graph_actor() for _ in range(3)]
    reports = [await index(role, model, {"rebuild": at == 1}) for at, model in enumerate(models)]
    first, again, after = (Counter(part(call.text) for call in model.calls) for model in models)
    assert (first, after) == (again, Counter())
    assert len({report["version"] for report in reports}) == 1


async def test_wishes_are_not_remembered(role: Role) -> None:
    graph, thread = build().compile(InMemorySaver()), {"configurable": {"thread_id": "t"}}
    calls = []
    for wish in ({}, {"rebuild": True}, {}, {"rebuild": True, "plan": True}, {"retry": True}, {}):
        output = await graph.ainvoke(wish, thread, context=settings(role, model := graph_actor()))  # type: ignore
        calls.append((len(model.calls) > 0, bool(output["version"])))
    assert calls == [(True, True), (True, True), (False, True), (True, False), (False, True), (False, True)]
