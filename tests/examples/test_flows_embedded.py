"""The flows of docs/how-to/composing.md on the embedded models, where their weights are in the cache."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dramaturg.models.environment import environment
from dramaturg.models.local.embedded import EMBEDDED_MODEL
from dramaturg.testing import write_role

from embedded_models import PATIENT, SLOW, use_real_models

pytestmark = SLOW
CACHE = environment().cache  # before each test gets a cache of its own
PART = {"deadline": PATIENT["deadline"]}  # of a part's questions; the turn is the flow's
SHORT = {**PATIENT, "reply_tokens": 40}
GIVEN: dict[str, dict[str, Any]] = {
    "all_five": {
        **SHORT,
        "revisions": 0,
        "verify": True,
        "relations": {**PART, "record_tokens": 40},
        "scope": {**PART, "extraction_deadline": PATIENT["deadline"]},
        **dict.fromkeys(("passages", "memories", "identity"), PART),
    },
    "own_judge": SHORT,
    "two_roles": {**PATIENT, "other": "ben"},
    "weather": {**SHORT, "weather": "It hails."},
}


@pytest.fixture(autouse=True)
def real_models(no_surroundings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    use_real_models(monkeypatch, CACHE, (EMBEDDED_MODEL, "xllamacpp"), ("minilm", "sentence_transformers"))


@pytest.mark.parametrize("name", GIVEN)
async def test_a_flow_speaks(name: str, tmp_path: Path) -> None:
    write_role(tmp_path)
    write_role(tmp_path, "ben", name="Ben Gunn", profile="He lives alone on an island.")
    graph = import_module(f"dramaturg.examples.flows.{name}").graph
    context = graph.context_schema(role="ada", library=str(tmp_path), **GIVEN[name])
    output = await graph.ainvoke({"messages": [("user", "Are you afraid of storms?")]}, context=context)
    said = [one for one in output["messages"] if one.type == "ai"]
    assert len(said) == (4 if name == "two_roles" else 1)
    assert all(one.text.strip() for one in said)
    if name == "all_five":
        assert {"selection", "entities", "memories", "relations", "identity", "gate"} <= set(output["evidence"])
