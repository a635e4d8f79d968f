"""A prompt is cut to the window of the model by importance: the role and the question last; the evidence says what."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from wild_endpoint import WildEndpoint, wild_endpoint

from dramaturg.models.errors import PromptRefused
from dramaturg.nodes.reply import AskedState, ReplySettings, grounds_of, spoken
from dramaturg.nodes.run import open_run
from dramaturg.nodes.turn import SummaryState, TurnState

from roles import small_role

WINDOW = 1_500  # tokens
TALK: list[AnyMessage] = [
    (HumanMessage if number % 2 else AIMessage)(f"Line {number}. {'The sea is calm. ' * 12}") for number in range(1, 20)
]
TEXTS = {"knowledge": [f"Passage {number}. {'The lamp burns oil. ' * 20}" for number in range(12)]}
PROFILE = "Ada keeps the light."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WildEndpoint]:
    with wild_endpoint("context") as server:
        server.context = WINDOW
        for name, value in server.variables().items():
            monkeypatch.setenv(name, value)
        yield server


class Talk(TurnState, SummaryState):
    """A turn, with what was noted of earlier ones."""


async def reply(
    library: Path, talk: list[AnyMessage] = TALK, texts: dict[str, list[str]] = TEXTS
) -> tuple[dict[str, Any], str]:
    """The evidence of a reply, and the prompt that was answered."""

    async def respond(state: AskedState, runtime: Runtime[Any]) -> dict[str, Any]:
        run = await open_run(runtime, ReplySettings)
        line, evidence = await spoken(run, state, "respond_from_grounds", grounds_of({}, texts), user="a stranger")
        return {"messages": [line], "evidence": evidence}

    graph = StateGraph(Talk, context_schema=ReplySettings).add_node(respond).add_edge(START, "respond").compile()
    state: Any = {"messages": talk, "question": talk[-1].text, "summary": "They spoke of the sea."}
    output = await graph.ainvoke(state, context=ReplySettings(role="ada", library=str(library)))
    assert output["messages"][-1].text
    return output["evidence"], ""


async def test_what_has_no_room_is_left_out_and_the_question_never(server: WildEndpoint, tmp_path: Path) -> None:
    small_role(tmp_path)
    for requests in (2, 1):
        server.asked.clear()
        evidence, _ = await reply(tmp_path)
        assert len(server.asked) == requests
        prompt = str(server.asked[-1][1]["messages"])
        assert "Line 19." in prompt
        assert "Line 17." in prompt
        assert "Line 2." not in prompt
        assert "Passage 0." in prompt
        assert "They spoke of the sea." in prompt
        shown = {kind: len(re.findall(rf"{kind} \d+\.", prompt)) for kind in ("Line", "Passage")}
        left_out = evidence["fitted"]
        assert left_out["messages"] == len(TALK) - len({*re.findall(r"Line \d+\.", prompt)})
        assert left_out["knowledge"] >= len(TEXTS["knowledge"]) - shown["Passage"]  # one may be clipped
    assert (
        sum(len(one["content"]) for one in server.asked[-1][1]["messages"]) // 4 > WINDOW // 3
    )  # no more than need be


async def test_what_fits_is_left_as_it_is(server: WildEndpoint, tmp_path: Path) -> None:
    small_role(tmp_path)
    server.context = 100_000
    evidence, _ = await reply(tmp_path)
    assert "fitted" not in evidence


async def test_where_the_server_does_not_say_its_window_the_prompt_is_sent_shorter_a_few_times(
    server: WildEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_role(tmp_path)
    monkeypatch.setattr("dramaturg.models.servers.negotiation.context_in", lambda _: None)
    evidence, _ = await reply(tmp_path)
    assert evidence["fitted"]["messages"]


async def test_a_question_that_is_too_long_by_itself_is_refused_in_the_servers_words(
    server: WildEndpoint, tmp_path: Path
) -> None:
    small_role(tmp_path)
    with pytest.raises(PromptRefused, match="1500 tokens"):
        await reply(tmp_path, [HumanMessage("The sea. " * WINDOW)])
    asked = len(server.asked)
    assert asked <= 3
    with pytest.raises(PromptRefused, match="its window has 1500 tokens"):
        await reply(tmp_path, [HumanMessage("The sea. " * WINDOW)])
    assert len(server.asked) == asked  # it is known
