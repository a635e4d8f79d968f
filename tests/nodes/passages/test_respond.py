"""What a reply is made of: the prompt, the bounds of the model, and what is remembered from turn to turn."""

import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import ValidationError

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.environment import environment
from dramaturg.models.errors import ModelRefused, ModelTimeout, ModelUnavailable, UnusableAnswer
from dramaturg.nodes.passages.attributes import findings
from dramaturg.nodes.reply import earlier
from dramaturg.prompts import fence
from dramaturg.workflows.amadeus import AmadeusContext, build, graph

from fakes import ScriptedChatModel
from roles import FINDINGS, actor, fenced, run_settings, said, small_role

QUESTION: Any = {"messages": [("user", "Do storms make you afraid?")]}
THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    small_role(tmp_path)
    return tmp_path


async def answered(library: Path, model: ScriptedChatModel, **settings: Any) -> dict[str, Any]:
    """One turn without memory."""
    return await graph.ainvoke(QUESTION, context=AmadeusContext(**run_settings(library, model, **settings)))


def extractor(error: Exception) -> ScriptedChatModel:
    """Fail when attributes are asked for."""
    usual = actor()
    return ScriptedChatModel(
        reply=lambda messages: error if "<passages>" in said(messages) else usual.reply(messages)  # type: ignore[arg-type]
    )


async def test_a_passage_that_is_knowledge_and_selected_stands_in_the_prompt_once(library: Path) -> None:
    model = actor()
    output = await answered(library, model)
    shown = model.calls[-1].text
    selected = output["evidence"]["selection"]["selected"]
    assert [passage["text"] for passage in selected] == [p["text"] for p in output["evidence"]["knowledge"][:2]]
    for passage in selected:
        assert passage["text"] in fenced("knowledge", shown)
        assert shown.count(passage["text"]) == 1


async def test_temperature_and_length_reach_the_model(library: Path) -> None:
    model = actor()
    await answered(library, model, temperature=1.25, reply_tokens=77)
    assert model.calls[-1].parameters["temperature"] == 1.25
    assert model.calls[-1].parameters["max_tokens"] == 77


@pytest.mark.parametrize("kept", [True, False])
async def test_the_bounds_of_the_context_reach_the_chat_model_outside_the_event_loop(
    library: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    made = []

    def recorded(model: Any, **bounds: Any) -> ChatModel:
        made.append({**bounds, "thread": threading.current_thread()})
        return chat_model(model, **{**bounds, "cache": None})

    monkeypatch.setattr("dramaturg.nodes.run.chat_model", recorded)
    await answered(library, actor(), deadline=33, attempts=3, concurrency=5, answer_cache=kept)
    assert len(made) == 1
    for bounds in made:
        assert (bounds["deadline"], bounds["attempts"], bounds["concurrency"]) == (33, 3, 5)
        assert bounds["cache"] == (environment().cache / "answers.sqlite" if kept else None)
        assert bounds["thread"] is not threading.current_thread()


@pytest.mark.parametrize("error", [ModelRefused("no such model"), ModelUnavailable("nobody there")])
async def test_a_model_that_cannot_be_asked_for_attributes_is_an_error(library: Path, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        await answered(library, extractor(error))


@pytest.mark.parametrize("error", [ModelTimeout("too slow"), UnusableAnswer("no usable answer")])
async def test_attributes_that_come_too_late_leave_the_turn_going(library: Path, error: Exception) -> None:
    output = await answered(library, extractor(error))
    assert output["evidence"]["attributes"] == []
    assert str(error).split()[-1] in output["evidence"]["attributes_error"]
    assert output["messages"][-1].text == "I keep the light."


@pytest.mark.parametrize("remembered", [0, 1, 12])
async def test_what_was_found_in_this_turn_is_in_the_prompt_whatever_is_remembered(
    library: Path, remembered: int
) -> None:
    model = actor()
    output = await answered(library, model, remembered=remembered)
    shown = fenced("attributes", model.calls[-1].text)
    assert shown.count("- Ada is cheerful in storms.") == 1
    assert shown.count("- Ada holds that a light must never fail.") == 1
    assert len(output["evidence"]["role_memory"]) == min(remembered, 2)


async def test_a_role_does_not_remember_what_another_role_was_like(library: Path) -> None:
    small_role(library, role="ben")
    talk = build().compile(InMemorySaver())
    for role, found in (("ada", FINDINGS), ("ben", FINDINGS.replace("cheerful in storms", "uneasy in a calm"))):
        model = actor(findings=found)
        context = AmadeusContext(**{**run_settings(library, model), "role": role})
        output = await talk.ainvoke(QUESTION, THREAD, context=context)
    assert [a["attribute"] for a in output["evidence"]["role_memory"]] == [
        "Ada holds that a light must never fail.",
        "Ada is uneasy in a calm.",
    ]
    assert "cheerful in storms" not in fenced("attributes", model.calls[-1].text)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000"])
@pytest.mark.parametrize("kind", ["belief_and_value", "psychological_traits"])
def test_a_blank_attribute_is_refused(kind: str, text: str) -> None:
    answer: dict[str, Any] = {"belief_and_value": [], "psychological_traits": []}
    findings(1).model_validate({**answer, kind: [{"attribute": "x", "passage": 1}]})
    with pytest.raises(ValidationError):
        findings(1).model_validate({**answer, kind: [{"attribute": text, "passage": 1}]})


def test_a_message_without_text_is_not_shown_again() -> None:
    image: Any = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    messages: list[AnyMessage] = [
        HumanMessage("Who are you?"),
        AIMessage("Ada."),
        HumanMessage(image),
        AIMessage(""),
        AIMessage([{"type": "text", "text": "Look there."}]),
        HumanMessage("Where?"),
    ]
    assert [message.text for message in earlier(messages)] == ["Who are you?", "Ada.", "Look there."]


@pytest.mark.parametrize(
    "tag",
    [
        "</knowledge>",
        "</knowledge >",
        "</KNOWLEDGE>",
        "< /knowledge>",
        "</ knowledge>",
        "<knowledge x=1>",
        "<knowledge>",
    ],
)
def test_nothing_that_reads_like_a_tag_leaves_the_fence(tag: str) -> None:
    inside = (
        fence("knowledge", f"before {tag} after 2 < 3").removeprefix("<knowledge>\n").removesuffix("\n</knowledge>")
    )
    assert inside == f"before ‹{tag[1:]} after 2 < 3"
