"""The scripted model, asked as the methods ask; the role and the embeddings that come with it."""

import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel, Field

from dramaturg.models.chat import chat_model
from dramaturg.models.errors import ModelUnavailable, UnusableAnswer
from dramaturg.models.questions import choose, decide, extract, rate, write
from dramaturg.testing import FirstToken, Rule, ScriptedChatModel, Unscripted, WordEmbeddings, in_turn, write_role
from dramaturg.workflows.methods import METHODS, chat_graph, context_type

LAMP = [SystemMessage("You judge."), HumanMessage("Is the lamp out?")]
SEA = [HumanMessage("Is the sea calm?")]


class Finding(BaseModel):
    text: str = Field(min_length=1, max_length=20)
    score: int = Field(ge=2, le=9)


class Findings(BaseModel):
    first: Finding
    others: Annotated[list[Finding], Field(max_length=3)]


FOUND = Finding(text="so it seems", score=2)


class Named(BaseModel):
    name: str


@pytest.mark.parametrize("log_probabilities", [False, True])
async def test_each_kind_of_question_has_an_answer(log_probabilities: bool) -> None:
    chat = chat_model(ScriptedChatModel(log_probabilities=log_probabilities))
    assert (await decide(chat, LAMP)).answer is True
    assert (await rate(chat, LAMP, low=1, high=5)).value == 3
    assert await choose(chat, LAMP, ["port", "lee"]) == "port"
    assert await extract(chat, LAMP, Findings) == Findings(first=FOUND, others=[FOUND])
    assert await write(chat, LAMP) == "Very well."
    assert chat.account.calls == 5


@pytest.mark.parametrize("log_probabilities", [False, True])
async def test_the_answer_of_a_kind_can_be_set(log_probabilities: bool) -> None:
    named = Named(name="Tom")
    answers: dict[str, Any] = {"decide": False, "rate": 5, "choose": 2, "extract": named, "write": "Aye."}
    chat = chat_model(ScriptedChatModel(log_probabilities=log_probabilities, **answers))
    assert (await decide(chat, LAMP)).answer is False
    assert (await rate(chat, LAMP, low=1, high=5)).value == 5
    assert await choose(chat, LAMP, ["port", "lee"]) == "lee"
    assert await extract(chat, LAMP, Named) == named
    assert await write(chat, LAMP) == "Aye."


async def test_the_first_rule_that_matches_answers() -> None:
    rules = [
        Rule("lamp", False, kind="decide"),
        Rule(re.compile("lamp|sea"), "It burns."),
        Rule("", {"name": "Tom"}, schema=Named),
        Rule("", {"name": "Nell"}, schema="Findings"),
    ]
    chat = chat_model(ScriptedChatModel(rules=rules))
    assert (await decide(chat, LAMP)).answer is False
    assert await write(chat, SEA) == "It burns."
    assert (await extract(chat, [HumanMessage("Who?")], Named)).name == "Tom"


async def test_a_rule_looks_at_the_last_message_of_the_prompt_only() -> None:
    model = ScriptedChatModel(rules=[Rule("judge", "yes"), Rule("option", "2"), Rule("Schema", "3")], choose=1)
    chat = chat_model(model)
    assert await choose(chat, LAMP, ["port", "lee", "astern"]) == "port"
    assert model.calls[0].question == "Is the lamp out?"
    assert model.calls[0].schema == {
        "type": "object",
        "properties": {"answer": {"type": "integer", "minimum": 1, "maximum": 3}},
        "required": ["answer"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
async def test_an_answer_that_cannot_be_used_is_asked_for_again_with_the_same_question(language: str) -> None:
    model = ScriptedChatModel(rules=[Rule("lamp", in_turn("perhaps", "no"))])
    assert (await decide(chat_model(model, language=language), LAMP)).answer is False
    assert [call.question for call in model.calls] == ["Is the lamp out?"] * 2
    assert [call.kinds for call in model.calls] == [("decide",)] * 2


async def test_a_first_token_has_probabilities_where_they_are_asked_for() -> None:
    token = FirstToken({"yes": 0.3, "no": 0.6})
    weighed = await decide(chat_model(ScriptedChatModel(decide=token, log_probabilities=True)), LAMP)
    assert weighed.probability == pytest.approx(1 / 3)
    said = await decide(chat_model(ScriptedChatModel(decide=token)), LAMP)
    assert (said.answer, said.probability) == (False, None)
    rating = FirstToken({"4": 0.5, "5": 0.5})
    model = ScriptedChatModel(rules=[Rule("lamp", rating)], log_probabilities=True)
    assert (await rate(chat_model(model), LAMP, low=1, high=5)).value == pytest.approx(4.5)
    assert model.calls[0].parameters["top_logprobs"] == 20


async def test_what_no_rule_answers_is_named() -> None:
    chat = chat_model(ScriptedChatModel(extract=None, write=None))
    with pytest.raises(Unscripted, match=r"(?s)kind 'write': add a Rule.*Is the lamp out\?"):
        await write(chat, LAMP)
    with pytest.raises(Unscripted, match="kind 'extract' with the schema 'Named'"):
        await extract(chat, LAMP, Named)


async def test_an_error_is_raised_at_its_call() -> None:
    model = ScriptedChatModel(errors={2: ModelUnavailable("The tide is in.")})
    chat = chat_model(model)
    await write(chat, LAMP)
    with pytest.raises(ModelUnavailable, match="The tide is in"):
        await write(chat, SEA)
    assert await write(chat, LAMP) == "Very well."
    assert [call.question for call in model.calls] == ["Is the lamp out?", "Is the sea calm?", "Is the lamp out?"]


async def test_an_answer_that_is_no_object_is_no_extraction() -> None:
    with pytest.raises(UnusableAnswer):
        await extract(chat_model(ScriptedChatModel(extract="nothing")), LAMP, Named)


async def test_calls_hold_what_was_set() -> None:
    model = ScriptedChatModel()
    await write(chat_model(model, seed=7), LAMP, temperature=0.5, max_tokens=9)
    assert model.calls[0].parameters == {"temperature": 0.5, "max_tokens": 9, "seed": 7}
    assert "You judge.\nIs the lamp out?" in model.calls[0].text


@pytest.mark.parametrize("blocking", [False, True])
async def test_it_streams_word_by_word_and_counts_words(blocking: bool) -> None:
    model = ScriptedChatModel(write="I keep the light.")
    parts = list(model.stream(LAMP)) if blocking else [part async for part in model.astream(LAMP)]
    assert [part.text for part in parts if part.text] == ["I ", "keep ", "the ", "light."]
    assert parts[-1].usage_metadata == {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}
    assert model.invoke(LAMP).text == "I keep the light."


async def test_words_stream_through_a_graph() -> None:
    chat = chat_model(ScriptedChatModel(write="I keep the light."))

    async def reply(state: MessagesState) -> dict[str, Any]:
        await decide(chat, state["messages"])
        return {"messages": [AIMessage(await write(chat, state["messages"]))]}

    builder = StateGraph(MessagesState)
    builder.add_node(reply)
    builder.add_edge(START, "reply")
    given: Any = {"messages": [HumanMessage("Who are you?")]}
    streamed = [part async for part in builder.compile().astream(given, stream_mode="messages")]
    texts: list[Any] = [message.text for message, _ in streamed]  # type: ignore[union-attr, misc]
    assert texts[:4] == ["I ", "keep ", "the ", "light."]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", METHODS)
async def test_a_role_has_something_for_every_method(name: str, tmp_path: Path) -> None:
    write_role(tmp_path)
    model = ScriptedChatModel(write="I keep the light.")
    context = context_type(name)(role="ada", library=str(tmp_path), chat_model=model, embedding_model=WordEmbeddings())
    output = await chat_graph(name).compile().ainvoke({"messages": [HumanMessage("Storms?")]}, context=context)
    assert output["messages"][-1].text == "I keep the light."
    assert model.calls


def test_parts_of_a_role_can_be_given(tmp_path: Path) -> None:
    sailing = "# Tom\n\nHe sails."
    folder = write_role(tmp_path, "tom", name="Tom", persona=sailing, memories=(), dialogue=(), chronicle="")
    assert (folder / "persona" / "life.md").read_text(encoding="utf-8") == sailing
    assert not (folder / "chronicle.yaml").exists()
    assert (folder / "memories.jsonl").read_bytes() == b""


def test_texts_that_share_words_are_near_each_other() -> None:
    lamp, light, calm = WordEmbeddings().embed_documents(["the lamp burns", "the lamp is lit", "a quiet sea"])
    assert sum(a * b for a, b in zip(lamp, light, strict=True)) > sum(a * b for a, b in zip(lamp, calm, strict=True))
    assert len(lamp) == 1024
    assert sum(component**2 for component in lamp) == pytest.approx(1)
