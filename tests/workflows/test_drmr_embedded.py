"""DRMR with the embedded models, where their weights are in the cache: two people ask Long John Silver the same."""

from pathlib import Path
from typing import Any

import pytest

from dramaturg.models.environment import environment
from dramaturg.models.local.embedded import EMBEDDED_MODEL
from dramaturg.workflows.drmr import DrmrContext, graph

from embedded_models import PATIENT, SLOW, use_real_models

pytestmark = SLOW
CACHE = environment().cache  # before each test gets a cache of its own


@pytest.fixture(autouse=True)
def real_models(no_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    use_real_models(monkeypatch, CACHE, (EMBEDDED_MODEL, "xllamacpp"), ("minilm", "sentence_transformers"))


async def test_a_friend_and_an_enemy_who_ask_the_same_are_remembered_differently(tmp_path: Path) -> None:
    records = {}
    for user, name in (("jim", "Jim Hawkins"), ("smollett", "Captain Smollett")):
        context = DrmrContext(
            role="silver",
            library=str(tmp_path),
            user_role=user,
            reply_tokens=60,
            recalled_dialogues=2,
            memory_dialogues=1,
            record_tokens=60,
            revisions=0,
            **PATIENT,
        )
        output: Any = await graph.ainvoke({"messages": [("user", "Can I trust you now?")]}, context=context)
        evidence = output["evidence"]
        assert output["messages"][-1].text
        assert {"Long John Silver", name} <= set(evidence["relations"]["clique"])
        assert all(1 <= edge["score"] <= 5 for edge in evidence["relations"]["edges"])
        assert all(1 <= draft["score"] <= 5 for draft in evidence["drafts"])
        (records[user],) = [one["text"] for one in evidence["records"][:1]]
    assert records["jim"] != records["smollett"]
