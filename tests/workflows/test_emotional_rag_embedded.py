"""Emotional RAG with the embedded models, where their weights are in the cache: index, recall by mood, reply."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.models.environment import environment
from dramaturg.models.local.embedded import EMBEDDED_MODEL
from dramaturg.stores.index.memories import MEMORY_KIND
from dramaturg.stores.library import open_role
from dramaturg.workflows.emotional_rag import EmotionalRagContext, graph
from dramaturg.workflows.emotional_rag_index import graph as index_graph

from embedded_models import PATIENT, SLOW, use_real_models
from roles import write_memories

pytestmark = SLOW
CACHE = environment().cache  # before each test gets a cache of its own
HAPPY = "I am so happy today, what a joy! Tell me about your nephew Karl."
SAD = "I am so sad today, I could weep. Tell me about your nephew Karl."


@pytest.fixture(autouse=True)
def real_models(no_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    use_real_models(monkeypatch, CACHE, (EMBEDDED_MODEL, "xllamacpp"), ("minilm", "sentence_transformers"))


def settings(library: Path, **more: Any) -> EmotionalRagContext:
    return EmotionalRagContext(role="beethoven", library=str(library), reply_tokens=60, **PATIENT, **more)


async def test_the_same_question_in_another_mood_brings_other_memories_back(tmp_path: Path) -> None:
    report = (await index_graph.ainvoke({}, context=settings(tmp_path)))["index"]
    assert report["encoder"] == "embedding:minilm"
    assert report["memories"] > 150
    recalled = {}
    for question in (HAPPY, SAD):
        output: Any = await graph.ainvoke({"messages": [("user", question)]}, context=settings(tmp_path))
        assert output["messages"][-1].text
        mood = output["evidence"]["mood"]["emotions"]
        recalled[max(mood, key=lambda name: mood[name]["score"])] = {
            m["memory"] for m in output["evidence"]["memories"]
        }
    assert set(recalled) == {"joy", "sadness"}
    assert len(recalled["joy"] & recalled["sadness"]) < 5


async def test_the_chat_model_gives_eight_scores_with_reasons(tmp_path: Path) -> None:
    role = open_role("beethoven", tmp_path)
    write_memories(
        role.root, [{"text": "My mother is dead, and I am alone with my father and two small brothers."}], []
    )
    output = await index_graph.ainvoke({}, context=settings(tmp_path, emotion_encoder="model"))
    assert output["index"]["failed"] == []
    (mood,) = role.index(MEMORY_KIND).open().moods
    assert len(mood.emotions or {}) == 8
    assert all(felt.reason for felt in (mood.emotions or {}).values())
    assert output["index"]["calls"] >= 1
