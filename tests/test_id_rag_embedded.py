"""ID-RAG with the embedded models, where their weights are in the cache: Alice is asked, and an hour is played."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.models.embedded import EMBEDDED_MODEL
from dramaturg.models.environment import environment
from dramaturg.workflows import id_rag, riverbend
from dramaturg.workflows.riverbend_agents import RiverbendContext

from embedded_models import use_real_models

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
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
    context = id_rag.IdRagContext(role="alice", library=str(tmp_path), deadline=600, reply_tokens=80)
    question = "Should we tear down the old market hall and put up a glass data centre?"
    output: Any = await id_rag.graph.ainvoke({"messages": [("user", question)]}, context=context)
    evidence = output["evidence"]
    assert output["messages"][-1].text
    assert evidence["identity"]["how"] == "strategy"
    assert set(evidence["identity"]["query"]) == {"high_priority", "medium_priority", "keywords"}
    assert evidence["identity"]["triples"]
    assert len(evidence["episodes"]) == 15
    for attempt in evidence["gate"]["attempts"]:
        assert (attempt["triple"] is None) == (attempt["probability"] is None)
        assert attempt["error"] == ""
    assert evidence["gate"]["outcome"] in ("allow", "block")


async def test_what_goes_against_a_core_value_is_found(tmp_path: Path) -> None:
    """The reply is given, so that the gate has something to find whatever the model would say."""
    context = id_rag.IdRagContext(role="alice", library=str(tmp_path), deadline=600, changes_of_mind=0, reply_tokens=60)
    options = ["Alice has the old market hall pulled down", "Alice walks the streets and listens"]
    given: Any = {"messages": [("user", "What does Alice do?")], "options": options, "now": "2024-10-01T09:00"}
    output: Any = await id_rag.graph.ainvoke(given, context=context)
    assert output["messages"][-1].text in options


async def test_an_hour_is_played(tmp_path: Path) -> None:
    (tmp_path / "square.yaml").write_text(TWO, encoding="utf-8")
    context = RiverbendContext(
        scenario=str(tmp_path / "square.yaml"),
        library=str(tmp_path / "library"),
        deadline=600,
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
