"""What is kept of an answer on a chunk: types by other words, the paper's own form, sentences that were misnumbered."""

import json
from pathlib import Path
from typing import Any

import pytest

from dramaturg.stores.role import Role

from commands import Command
from graph_roles import graph_actor, graph_role, index, only, put, served
from passage_samples import quick
from stub_endpoint import Endpoint


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return graph_role(tmp_path)


def entity(name: str, **other: Any) -> dict[str, Any]:
    return {"name": name, "type": "character", "sentence": 1, "description": f"What is told of {name}.", **other}


def relation(source: str, target: str, **other: Any) -> dict[str, Any]:
    return {"source": source, "target": target, "sentence": 2, "description": "So it is.", "strength": 9, **other}


async def read(role: Role, answer: Any, **given: Any) -> dict[str, Any]:
    """Index with this answer on the chunk of Ada's life; gives the report."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return await index(role, graph_actor(only("facts", text, "lighthouse")), normalization=False, **given)


def facts(*entities: Any, relations: Any = ()) -> dict[str, Any]:
    return {"entities": list(entities), "relations": list(relations)}


async def test_a_type_is_read_by_its_usual_words(role: Role) -> None:
    words = {
        "character": ["CHARACTER", "Person", " people", "Character (person)", "人物", "인물"],
        "location": ["PLACE", "city", "地点", "장소"],
        "organization": ["Organisation", "Group", "family", "组织", "단체"],
        "time": ["Date", "period", "时间", "날짜"],
        "object": ["Thing", "work", "作品", "사물"],
        "concept": ["Interest", "belief", "信念", "신념"],
        "event": ["Events", "事件", "사건"],
        "other": ["vessel", "", "其他", "기타", 7],
    }
    given = [(kind, word) for kind, all_of in words.items() for word in all_of]
    await read(role, facts(*(entity(f"N{at}", type=word) for at, (_, word) in enumerate(given))), facts=100)
    found = {one.name: one.type for one in served(role, "graph-unmerged").entities()}
    assert [(found[f"N{at}"], word) for at, (_, word) in enumerate(given)] == given


@pytest.mark.parametrize(
    "answer",
    [
        '("entity"<|>"TOM QUILL"<|>"CHARACTER"<|>"Brings flour (on Fridays).")##\n'
        '("entity"<|>"Petrel"<|>"object"<|>"A boat [3].")##\n'
        '("relationship"<|>"Tom Quill"<|>"Ada Quill"<|>"Tom is her brother."<|>9)<|COMPLETE|>',
        "Here they are: (character<|>Tom Quill<|>Brings flour (on Fridays).) (object<|>Petrel<|>A boat [3].) "
        "(Tom Quill<|>Ada Quill<|>Tom is her brother.<|>9)",
        facts(
            {"name": "Tom Quill", "type": "CHARACTER", "description": "Brings flour (on Fridays)."},
            {"name": "Petrel", "type": "object", "description": "A boat [3]."},
            relations=[
                {"source": "Tom Quill", "target": "Ada Quill", "description": "Tom is her brother.", "strength": "9"}
            ],
        ),
    ],
    ids=["released", "figure", "json"],
)
async def test_the_form_of_the_paper_has_no_sentence_and_is_read(role: Role, answer: Any) -> None:
    put(role, "zoo", "Kit sleeps.")
    assert (await read(role, answer))["failed"] == []
    graph = served(role, "graph-unmerged")
    tom, petrel = (graph.entity(graph.find(name) or "") for name in ("Tom Quill", "Petrel"))
    assert [(one.type, one.description) for one in (tom, petrel)] == [
        ("character", "Brings flour (on Fridays)."),
        ("object", "A boat [3]."),
    ]
    text = role.documents()[0].text
    assert len(graph.relations()) == 1
    (statement,) = graph.relations()[0].statements
    assert text[statement.start : statement.end] == "Her brother Tom Quill brings flour to Ada Quill."
    assert text[petrel.statements[0].start : petrel.statements[0].end] == "Tom sails the Petrel."
    assert graph.relations()[0].strength == 9


async def test_a_fact_of_a_sentence_that_is_not_there_goes_to_the_one_that_names_it(role: Role) -> None:
    await read(role, facts(entity("Petrel", sentence=99), entity("Nobody", sentence=99), entity("Gull Rock")))
    graph = served(role, "graph-unmerged")
    assert {one.name for one in graph.entities()} == {"Petrel", "Gull Rock"}
    (petrel,) = graph.entity("Petrel").statements
    assert role.documents()[0].text[petrel.start : petrel.end] == "Tom sails the Petrel."


async def test_what_was_left_out_of_answers_is_in_the_report(role: Role) -> None:
    many = [entity(f"N{at}") for at in range(31)]
    report = await read(role, facts(*many, relations=[relation("N1", "N2", strength=11), relation("N1", "N3")]))
    assert (report["entities"], report["relations"]) == (30, 1)
    (left_out,) = report.get("dropped", [{"passage": "", "dropped": ""}])
    assert left_out["passage"].startswith("life.md:")
    assert "entities: 1 beyond 30 left out" in left_out["dropped"]
    assert "relations 1 strength" in left_out["dropped"]
    assert (await index(role, normalization=False))["dropped"] == report["dropped"]  # also of answers had before


def test_the_command_shows_what_was_left_out(run: Command, stub: Endpoint) -> None:
    before = stub.model
    stub.model = graph_actor(only("facts", json.dumps(facts(*(entity(f"N{at}") for at in range(31))))))
    code, out, _ = run("index", "ada", "--method", "graph-rag-local", "--set", "descriptions=written")
    stub.model = before
    words = " ".join(out.split())
    assert code == 0
    assert "Left out of answers" in words
    assert "1 beyond 30 left out" in words
