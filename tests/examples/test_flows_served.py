"""The flows of docs/how-to/composing.md in `langgraph dev`: asked, and edited after a part."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk import get_client

from dramaturg.testing import write_role

from dev_server import STARTS_A_SERVER, dev_server
from fakes import ScriptedChatModel
from flow_models import answered
from stub_endpoint import endpoint

pytestmark = STARTS_A_SERVER

FLOWS = ("all_five", "own_judge", "two_roles", "weather")
QUESTION = {"messages": [{"role": "user", "content": "Do storms frighten you?"}]}
CONTEXT: dict[str, dict[str, Any]] = {
    "all_five": {"role": "ada", "passages": {"slots": 1}},
    "own_judge": {"role": "ada", "slots": 1},
    "two_roles": {"role": "ada", "other": "ben"},
    "weather": {"role": "ada", "slots": 1, "weather": "It hails."},
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("flows")
    for role, name in (("ada", "Ada Quill"), ("ben", "Ben Gunn")):
        write_role(folder / "library", role, name=name)
    graphs = {name: f"dramaturg.examples.flows.{name}:graph" for name in FLOWS}
    config = folder / "langgraph.json"
    config.write_text(json.dumps({"dependencies": ["."], "graphs": graphs}), encoding="utf-8")
    with endpoint() as stub:
        stub.model = ScriptedChatModel(reply=answered)
        with dev_server(folder, config, stub.variables()) as url:
            yield url


@pytest.mark.parametrize("name", FLOWS)
async def test_a_flow_is_asked_twice_and_edited(name: str, url: str) -> None:
    async with get_client(url=url) as client:
        thread = (await client.threads.create())["thread_id"]
        for turns in (1, 2):
            last: Any = await client.runs.wait(thread, name, input=QUESTION, context=CONTEXT[name])
            assert last["messages"][-1]["content"] == "I keep the light."
            assert sum(one["type"] == "human" for one in last["messages"]) == turns
        if name != "two_roles":
            assert len(last["evidence"]["selection"]["selected"]) == 1
        history = await client.threads.get_history(thread, limit=100)
        before = next(one for one in history if one["next"] in (["draft"], ["other"]))
        after = {"all_five": "memories", "own_judge": "shortest", "two_roles": "one", "weather": "look_outside"}[name]
        fork = await client.threads.update_state(
            thread, {"evidence": {"edited": True}}, checkpoint=before["checkpoint"], as_node=after
        )
        last = await client.runs.wait(thread, name, input=None, context=CONTEXT[name], checkpoint=fork["checkpoint"])
        assert last["evidence"]["edited"] is True
        assert last["messages"][-1]["type"] == "ai"
