"""What OpenAI's clients may legally send: it has its meaning, or makes no difference, or is refused by its name."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from openai import AsyncOpenAI, BadRequestError, NotFoundError

from dramaturg.models.clients import openai_compatible
from dramaturg.testing import Answer, Call

from fakes import ScriptedChatModel
from served_roles import Screen, served
from stub_endpoint import endpoint
from talks import Player

SCHEMA = {
    "type": "json_schema",
    "json_schema": {"name": "mood", "schema": {"type": "object", "properties": {"mood": {"type": "string"}}}},
}
HI: Any = [{"role": "user", "content": "hi"}]
PICTURE = {"type": "image_url", "image_url": {"url": "data:,"}}
CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


class Noting(ScriptedChatModel):
    """Notes with what parameters its replies are asked for, and ends them as a server does."""

    stop: list[str] | None = None
    seed: int | None = None
    asked: list[Any] = []  # noqa: RUF012 (pydantic copies it)

    def script(self, call: Call) -> Answer:
        self.asked.append((self.stop, self.seed))
        return super().script(call)


@asynccontextmanager
async def client_of(folder: Path, model: Any = None) -> AsyncIterator[AsyncOpenAI]:
    async with served(folder, model, method="vanilla") as http:
        yield AsyncOpenAI(base_url=f"{http.base_url}/v1", api_key="none", http_client=http, max_retries=0)


async def test_what_a_role_cannot_give_is_refused_by_its_name(tmp_path: Path) -> None:
    refused: list[dict[str, Any]] = [
        {"n": 2},
        {"logprobs": True, "top_logprobs": 3},
        {"logprobs": 5},
        {"tools": [TOOL], "tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "look"}}},
        {"function_call": {"name": "look"}},
        {"modalities": ["text", "audio"]},
        {"response_format": {"type": "json_object"}},
        {"response_format": SCHEMA},
        {"stop": ["a", "b", "c", "d", "e"]},
        {"temperature": 3},
        {"max_completion_tokens": 0},
        {"messages": [{"role": "narrator", "content": "It rains."}]},
        {"messages": [*HI, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": [PICTURE]}]},
    ]
    async with client_of(tmp_path) as client:
        for body in refused:
            wanted = next(reversed(body)) if "tools" in body else next(iter(body))
            for stream in (False, True):
                with pytest.raises(BadRequestError, match=wanted) as refusal:
                    await client.chat.completions.create(model="ada", messages=HI, stream=stream, extra_body=body)
                assert str(refusal.value.param).startswith(wanted)
                assert "Value error" not in str(refusal.value)


async def test_what_makes_no_difference_to_a_reply_is_left_aside(tmp_path: Path) -> None:
    aside: dict[str, Any] = {
        "n": 1,
        "logprobs": False,
        "top_p": 0.5,
        "presence_penalty": 1,
        "frequency_penalty": -1,
        "logit_bias": {"50256": -100},
        "tools": [TOOL],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "response_format": {"type": "text"},
        "modalities": ["text"],
        "user": "u" * 64,
        "safety_identifier": "s",
        "store": True,
        "service_tier": "auto",
        "prediction": {"type": "content", "content": "x"},
        "verbosity": "low",
        "stream_options": {"include_usage": False},
        "stop": None,
        "max_tokens": None,
        "temperature": None,
        "seed": None,
    }
    said: list[Any] = [
        {"role": "developer", "content": [{"type": "text", "text": "It rains."}]},
        {"role": "user", "content": [{"type": "text", "text": "one"}], "name": "Tom"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "nothing"},
        {"role": "assistant", "content": [{"type": "text", "text": "Two?"}, {"type": "refusal", "refusal": "no"}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": "three"}, {"type": "image_url", "image_url": {"url": ""}}],
        },
    ]
    player = Player()
    async with client_of(tmp_path, ScriptedChatModel(reply=player)) as client:
        whole = await client.chat.completions.create(model="ada", messages=said, extra_body=aside)
        assert whole.choices[0].message.content == "Reply 1 to three"
        assert whole.choices[0].finish_reason == "stop"
        assert whole.choices[0].logprobs is None
        assert "It rains." in player.shown[-1]
        assert "Two?" in player.shown[-1]
        assert "nothing" not in player.shown[-1]


async def test_seed_and_stops_reach_the_model_and_a_line_of_the_users_is_one_of_them(tmp_path: Path) -> None:
    model = Noting(reply=Player())
    async with client_of(tmp_path, model) as client:

        async def ask(body: dict[str, Any], **headers: str) -> Any:
            await client.chat.completions.create(model="ada", messages=HI, extra_body=body, extra_headers=headers)
            return model.asked[-1]

        assert await ask({}) == (["\nUser:"], None)
        assert await ask({"stop": "END", "seed": 7}) == (["END", "\nUser:"], 7)
        assert await ask({"stop": ["a", "b"], "seed": -(2**63)}) == (["a", "b", "\nUser:"], 0)
        named = {"X-Role-User": "Tom", "X-Role-Char": "Ada", "X-Role-Group": "Ada, Bert"}
        assert await ask({"stop": "END"}, **named) == (["END", "\nTom:", "\nBert:", "\nUser:"], None)
        assert await ask({"stop": ["a", "b", "c", "d"]}, **named) == (["a", "b", "c", "d"], None)
        assert await ask({"stop": "END"}, **named, **{"X-Gen-Type": "quiet"}) == (["END"], None)


async def test_an_endpoint_is_asked_for_them_as_openai_has_it(tmp_path: Path) -> None:
    with endpoint() as stub:
        stub.model = ScriptedChatModel(reply=Player())
        model = openai_compatible("stub", stub.variables()["OPENAI_BASE_URL"], "key")
        async with client_of(tmp_path, model) as client:
            body = {"stop": "END", "seed": 7}
            await client.chat.completions.create(model="ada", messages=HI, extra_body=body)
            assert {name: stub.asked[-1].get(name) for name in body} == {**body, "stop": ["END", "\nUser:"]}


async def test_what_is_no_turn_may_be_asked_for_in_a_form(tmp_path: Path) -> None:
    model = ScriptedChatModel(reply=lambda _: 'It is: {"mood": "joy"}')
    async with client_of(tmp_path, model) as client:
        for form in (SCHEMA, {"type": "json_object"}):
            answer = await client.chat.completions.create(
                model="ada", messages=HI, extra_body={"response_format": form}, extra_headers={"X-Gen-Type": "quiet"}
            )
            assert json.loads(str(answer.choices[0].message.content)) == {"mood": "joy"}


async def test_names_beyond_latin_come_percent_encoded_as_utf8_or_in_metadata(tmp_path: Path) -> None:
    async with served(tmp_path, method="vanilla") as http:
        for number, headers in enumerate(
            [
                {"X-Role-Thread": "차 한잔"},
                {"X-Role-Thread": "%EC%B0%A8%20%ED%95%9C%EC%9E%94"},
                {"X-OpenWebUI-Chat-Id": "%ec%b0%a8 %ed%95%9c%ec%9e%94"},
            ]
        ):
            body = Screen(http, said=[("user", f"question {number}")]).body(stream=False)
            raw = {name: value.encode() for name, value in headers.items()}
            response = await http.post("/v1/chat/completions", json=body, headers=raw)
            assert response.json()["thread"] == "차 한잔"
            assert response.headers["X-Role-Thread"] == "%EC%B0%A8 %ED%95%9C%EC%9E%94"
        assert [one["id"] for one in (await http.get("/v1/threads?role=ada")).json()["data"]] == ["차 한잔"]
        half = await http.post("/v1/chat/completions", json=body, headers={"X-Role-Thread": "100% of %ff"})
        assert half.json()["thread"] == "100% of %ff"
        for name in ("a%41", "100% of %ff", "차", "a/b c"):
            told = await http.post("/v1/chat/completions", json=body | {"metadata": {"thread_id": name}})
            again = {"X-Role-Thread": told.headers["X-Role-Thread"]}
            assert (await http.post("/v1/chat/completions", json=body, headers=again)).json()["thread"] == name


async def test_vectors_have_the_length_and_form_that_they_have(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        own = len((await client.embeddings.create(model="x", input="a light")).data[0].embedding)
        assert (await client.embeddings.create(model="x", input="a light", dimensions=own)).data
        for name, given in {"dimensions": own + 1, "encoding_format": "int8", "input": [[1, 2]]}.items():
            with pytest.raises(BadRequestError, match=name) as refusal:
                await client.embeddings.create(**{"model": "x", "input": "a light", name: given})
            assert str(refusal.value.param).startswith(name)
        with pytest.raises(BadRequestError, match="send texts, not tokens"):
            await client.embeddings.create(model="x", input=[1, 2])


@pytest.mark.parametrize("kind", ["normal", "quiet"])
async def test_who_reads_a_reply_is_told_that_its_tokens_ended_before_it(tmp_path: Path, kind: str) -> None:
    whole, cut = AIMessage("I keep it."), AIMessage("I kee", response_metadata={"finish_reason": "length"})
    for written, why in ((whole, "stop"), (cut, "length")):
        async with client_of(tmp_path, ScriptedChatModel(reply=lambda _, said=written: said)) as client:  # type: ignore[misc]
            given: Any = {"model": "ada", "messages": HI, "extra_headers": {"X-Gen-Type": kind}}
            once = await client.chat.completions.create(**given)
            assert once.choices[0].finish_reason == why
            parts = [part async for part in await client.chat.completions.create(**given, stream=True)]
            assert [part.choices[0].finish_reason for part in parts][-1] == why


async def test_what_is_not_there_is_said_with_what_is(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        with pytest.raises(NotFoundError, match="/v1/chat/completions"):
            await client.responses.create(model="ada", input="hi")
        with pytest.raises(BadRequestError, match="nothing to answer") as refusal:
            await client.chat.completions.create(model="ada", messages=[{"role": "user", "content": " "}])
        assert refusal.value.param == "messages"


@pytest.mark.parametrize("stream", [False, True])
async def test_instructions_without_a_chat_are_no_turn(tmp_path: Path, stream: bool) -> None:
    async with served(tmp_path, method="vanilla") as http:
        body = {"model": "ada", "messages": [{"role": "system", "content": "Write a title."}], "stream": stream}
        response = await http.post("/v1/chat/completions", json=body, headers={"X-Role-Thread": "tea"})
        assert "Reply 1" in response.text
        assert not (await http.get("/v1/threads?role=ada")).json()["data"]
