"""ID-RAG with the embedded models, where their weights are in the cache: Alice is asked, and an hour is played."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph

from dramaturg.models.environment import environment
from dramaturg.models.local.embedded import EMBEDDED_MODEL
from dramaturg.nodes.identity.gate import GateState, validate
from dramaturg.workflows import id_rag, riverbend
from dramaturg.workflows.riverbend_agents import RiverbendContext

from embedded_models import PATIENT, SLOW, use_real_models

pytestmark = SLOW
CACHE = environment().cache  # before each test gets a cache of its own
TWO = """name: The square
about: Two candidates meet.
shared: [Alice and Bob both want to be mayor.]
agents:
- {role: alice, goal: to be elected, candidate: true}
- {role: bob, goal: to be elected, candidate: true}
clock: {start: "2024-10-01T11:00", steps: 1}
polls: {open: "2024-10-01T11:00", close: "2024-10-01T12:00"}
"""


@pytest.fixture(autouse=True)
def real_models(no_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    use_real_models(monkeypatch, CACHE, (EMBEDDED_MODEL, "xllamacpp"), ("minilm", "sentence_transformers"))


async def test_alice_is_asked(tmp_path: Path) -> None:
    context = id_rag.IdRagContext(role="alice", library=str(tmp_path), reply_tokens=80, **PATIENT)
    question = "Should we tear down the old market hall and put up a glass data centre?"
    output: Any = await id_rag.graph.ainvoke({"messages": [("user", question)]}, context=context)
    evidence = output["evidence"]
    assert output["messages"][-1].text
    assert evidence["identity"]["how"] == "strategy"
    assert set(evidence["identity"]["query"]) == {"high_priority", "medium_priority", "keywords"}
    assert evidence["identity"]["triples"]
    assert len(evidence["episodes"]) == 25
    for attempt in evidence["gate"]["attempts"]:
        assert (attempt["triple"] is None) == (attempt["probability"] is None)
        assert attempt["error"] == ""
    assert evidence["gate"]["outcome"] in ("allow", "block")


async def verdict(line: str, library: Path) -> dict[str, Any]:
    """What the gate says of a line, whatever the model would have answered itself."""
    builder = StateGraph(GateState, context_schema=id_rag.IdRagContext)
    builder.add_node(validate)
    builder.add_edge(START, "validate")
    context = id_rag.IdRagContext(role="alice", library=str(library), changes_of_mind=0, **PATIENT)
    question = "Should we tear down the market hall?"
    given: Any = {
        "messages": [HumanMessage(question, id="m")],
        "question": question,
        "percept": {"scene": "", "observations": None, "options": [], "now": ""},
        "drafts": [{"turn": "m", "id": None, "text": line, "error": "", "checkers": ["gate"], "verdicts": {}}],
    }
    given = await builder.compile().ainvoke(given, context=context)
    found: dict[str, Any] = given["drafts"][-1]["verdicts"]["gate"]
    return found | found["details"]


async def test_what_goes_against_a_core_triple_is_blocked_and_names_it(tmp_path: Path) -> None:
    line = "Yes, pull it down and put up a glass data centre. New technology matters more than old walls."
    found = await verdict(line, tmp_path)
    assert (found["outcome"], found["triple"]["core"]) == ("block", True)
    assert found["reason"]
    kept = await verdict("No. That hall has stood for three hundred years, and I would rather repair it.", tmp_path)
    assert kept["outcome"] == "allow"


async def test_an_hour_is_played(tmp_path: Path) -> None:
    (tmp_path / "square.yaml").write_text(TWO, encoding="utf-8")
    context = RiverbendContext(
        scenario=str(tmp_path / "square.yaml"),
        library=str(tmp_path / "library"),
        deadline=PATIENT["deadline"],
        talk_lines=2,
        talks=1,
        action_tokens=60,
        context_tokens=40,
    )
    log = (await riverbend.graph.ainvoke({}, context=context))["log"]
    kinds = [one["kind"] for one in log]
    assert [kinds.count(kind) for kind in ("action", "outcome", "vote", "cost")] == [2, 2, 2, 1]
    assert all(one["text"] for one in log if one["kind"] in ("action", "line"))
    assert all(one["choice"] in ("alice", "bob", "") for one in log if one["kind"] == "vote")
    assert {one["identity"]["how"] for one in log if one["kind"] == "context"} <= {"strategy", "similarity"}
