"""The double that behaves as the servers of others: it does what each of its ways says, and is good in all else."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from wild_endpoint import LOST, THOUGHT, WAYS, WildEndpoint, tokens, wild_endpoint

from dramaturg.prompts import load

from fakes import ScriptedChatModel

REPLY = "I keep the light."
ROLES = {"SystemMessage": "system", "HumanMessage": "user", "AIMessage": "assistant"}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}}


def prompt(name: str) -> list[dict[str, Any]]:
    """A prompt of the package, with something in each of its places."""
    one = load(name, "en")
    messages = one.messages(data=dict.fromkeys(one.places - {"role"}, "The lamp?"), role="Ada Quill")
    return [{"role": ROLES[type(message).__name__], "content": message.text} for message in messages]


SPOKEN, YES, MOOD = prompt("respond_by_name"), prompt("judge_level"), prompt("feel_memory")
READ = tokens("\n\n".join(one["content"] for one in SPOKEN))
TALK = [SPOKEN[0], {"role": "user", "content": "Who are you?"}, {"role": "assistant", "content": "Ada."}, SPOKEN[1]]


@pytest.fixture(scope="module")
def server() -> Iterator[WildEndpoint]:
    with wild_endpoint() as server:
        yield server


@pytest.fixture(autouse=True)
def good(server: WildEndpoint) -> None:
    server.ways, server.context = "good", 1024
    server.asked.clear()


def post(server: WildEndpoint, path: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{server.variables()['OPENAI_BASE_URL']}{path}", json={"model": "m", **body})


def chat(server: WildEndpoint, messages: list[dict[str, Any]] = SPOKEN, **more: Any) -> httpx.Response:
    return post(server, "/chat/completions", messages=messages, **more)


def choice(server: WildEndpoint, messages: list[dict[str, Any]] = SPOKEN, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = chat(server, messages, **more).json()["choices"][0]
    return found


def content(server: WildEndpoint, messages: list[dict[str, Any]] = SPOKEN, **more: Any) -> Any:
    return choice(server, messages, **more)["message"]["content"]


def events(response: httpx.Response) -> list[Any]:
    """The events of a stream; comments and the mark of the end as they are."""
    texts = [one.removeprefix("data: ") for one in response.text.split("\n\n") if one]
    return [json.loads(text) if text.startswith("{") else text for text in texts]


def deltas(server: WildEndpoint, *messages: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    found = events(chat(server, list(messages) or SPOKEN, stream=True, **more))
    return [one["choices"][0]["delta"] for one in found if isinstance(one, dict) and one["choices"]]


def test_a_good_server(server: WildEndpoint) -> None:
    usual: dict[str, Any] = {
        "temperature": 0,
        "top_p": 0.9,
        "seed": 1,
        "presence_penalty": 1,
        "max_tokens": 99,
        "logprobs": True,
    }
    more: dict[str, Any] = {
        "max_completion_tokens": 99,
        "top_logprobs": 20,
        "response_format": SCHEMA,
        "stop": ["\nUser:"],
    }
    assert content(server, **usual, **more) == content(server, TALK) == REPLY
    assert content(server, YES) == "yes"
    assert json.loads(content(server, MOOD))["joy"] == {"reason": "so it seems", "score": 7}
    assert content(server, stop=" the") == "I keep"
    cut = choice(server, max_completion_tokens=2)
    assert (cut["message"]["content"], cut["finish_reason"]) == (REPLY[:8], "length")
    streamed = events(chat(server, stream=True, stream_options={"include_usage": True}))
    assert "".join(one["choices"][0]["delta"].get("content", "") for one in streamed[:-2]) == REPLY
    assert streamed[-2]["usage"]["completion_tokens"] == 5
    assert streamed[-1] == "[DONE]"
    assert "usage" not in json.dumps(events(chat(server, stream=True))[:-1])
    assert server.asked[0][1]["seed"] == 1


def test_parts_are_found_wherever_they_stand(server: WildEndpoint) -> None:
    form = "Answer with nothing but one JSON object that fits this JSON Schema:\n\n{}"
    for messages, good in (TALK, REPLY), (YES, "yes"), (MOOD, content(server, MOOD)):
        whole = "\n\n".join(one["content"] for one in messages)
        assert content(server, [{"role": "user", "content": whole}]) == good
        assert content(server, [{"role": "user", "content": f"{whole}\n\n{form}"}]) == good
        assert content(server, [*messages, {"role": "user", "content": form}]) == good
        assert (
            content(server, [{**one, "content": [{"type": "text", "text": one["content"]}]} for one in messages])
            == good
        )
    assert server.lost == []
    assert content(server, [{"role": "user", "content": "Hello?"}]) == LOST
    assert server.lost == ["Hello?"]
    server.lost.clear()


OF_MISTRAL = {
    "type": "extra_forbidden",
    "loc": ["body", "max_completion_tokens"],
    "msg": "Extra inputs are not permitted",
}
TWO_OF_USER = [*SPOKEN, {"role": "user", "content": "Well?"}]
LATE_SYSTEM = [*SPOKEN, {"role": "system", "content": "Be brief."}]
REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "temperature": (
        {"temperature": 0.1},
        400,
        "'temperature' does not support 0.1 with this model. Only the default (1)",
    ),
    "temperature, as a parameter": ({"temperature": 1}, 400, "Unsupported parameter: 'temperature'"),
    "temperature, unnamed": ({"temperature": 0}, 400, "Bad Request"),
    "temperature, not zero": ({"temperature": 0}, 422, "`temperature` must be strictly positive"),
    "top_p": ({"top_p": 0.9}, 400, "'top_p' is not supported with this model"),
    "seed": ({"seed": 1}, 400, r"Unknown name \"seed\": Cannot find field."),
    "stop": ({"stop": ["x"]}, 400, "'stop' is not supported with this model"),
    "presence_penalty": ({"presence_penalty": 0}, 400, "'presence_penalty' is not supported with this model"),
    "presence_penalty, xAI": ({"presence_penalty": 0}, 400, '"Argument not supported on this model: presencePenalty"'),
    "max_completion_tokens": ({"max_completion_tokens": 9}, 422, json.dumps({**OF_MISTRAL, "input": 9})),
    "max_completion_tokens, vLLM": ({"max_completion_tokens": 9}, 400, "'loc': ('body', 'max_completion_tokens')"),
    "max_tokens": ({"max_tokens": 9}, 400, "Use 'max_completion_tokens' instead."),
    "limit of 2048": ({"max_tokens": 4096}, 400, "supports at most 2048 completion tokens, whereas you provided 4096."),
    "limit of 2048, Alibaba": ({"max_completion_tokens": 4096}, 400, "Range of max_tokens should be [1, 2048]"),
    "context": ({"max_tokens": 1024}, 400, f"({READ} in the messages, 1024 in the completion)"),
    "context, vLLM": ({"max_tokens": 1024}, 400, "'max_tokens' is too large: 1024."),
    "context, listed": ({"max_tokens": 1024}, 400, "maximum context length is 1024 tokens"),
    "context, llama.cpp": ({"messages": [{"role": "user", "content": "x" * 5000}]}, 400, '"n_ctx": 1024'),
    "system": ({}, 400, "System role not supported"),
    "system, named": ({}, 400, "'messages[0].role' does not support 'system' with this model."),
    "system first": ({"messages": LATE_SYSTEM}, 400, "System message must be at the beginning."),
    "alternation": ({"messages": TWO_OF_USER}, 400, "roles must alternate user/assistant/user/assistant/..."),
    "alternation, llama.cpp": ({"messages": TWO_OF_USER}, 500, "Jinja Exception: Conversation roles must alternate"),
    "assistant last": ({"messages": TALK[:-1]}, 400, "Expected last role User or Tool"),
    "empty content": ({"messages": [{"role": "system", "content": ""}, *SPOKEN]}, 400, "messages.0: all messages must"),
    "name": ({"messages": [{**SPOKEN[1], "name": "Tom"}]}, 422, '"loc": ["body", "messages", 0, "user", "name"]'),
    "name, xAI": ({"messages": [{**SPOKEN[0], "name": "Tom"}]}, 400, "Only messages of role 'user' can have a name."),
    "unknown fields": ({"user": "Tom"}, 422, '{"detail": [{"type": "extra_forbidden", "loc": ["body", "user"]'),
    "stream": ({"stream": True}, 400, "'stream' does not support true with this model."),
    "no stream": ({"stream": False}, 400, "only support stream mode"),
    "no stream, thinking": ({}, 400, "enable_thinking must be set to false for non-streaming calls"),
    "stream_options": ({"stream": True, "stream_options": {}}, 400, "'loc': ('body', 'stream_options')"),
    "stream_options, Venice": ({"stream": True, "stream_options": {}}, 400, "Unrecognized key(s)"),
    "logprobs": ({"logprobs": True}, 400, "`logprobs` is not supported with this model"),
    "top_logprobs": ({"logprobs": True, "top_logprobs": 20}, 400, "Expected an integer in range [0, 5]"),
    "json_schema": ({"response_format": SCHEMA}, 400, "This response_format type is unavailable now"),
    "json_object": ({"response_format": {"type": "json_object"}}, 400, "must be 'json_schema' or 'text'"),
    "json_object, unsaid": ({"response_format": {"type": "json_object"}}, 400, "must contain the word 'json'"),
    "response_format": ({"response_format": {"type": "text"}}, 400, "parameter is unsupported at the moment"),
    "429 in 200": ({}, 200, '"code": 429'),
    "400 in 200": ({"stream": True}, 200, '"finish_reason": "error"'),
    "html": ({}, 200, "<!doctype html>"),
    "filter": ({}, 400, '"code": "ResponsibleAIPolicyViolation"'),
    "no model": ({}, 404, "not found, try pulling it first"),
    "key": ({}, 401, '"code": "invalid_api_key"'),
}
TAKEN: dict[str, dict[str, Any]] = {
    "system": {"messages": SPOKEN[1:]},
    "system, named": {"messages": SPOKEN[1:]},
    "no stream": {"stream": True},
    "no stream, thinking": {"enable_thinking": False},
    "top_logprobs": {"logprobs": True, "top_logprobs": 5},
    "json_schema": {"response_format": {"type": "json_object"}},
    "json_object": {"response_format": SCHEMA},
    "alternation": {"messages": TALK},
    "context": {"max_tokens": 900},
    "temperature": {"temperature": 1},
}
"""What they take; it is a plain question in the others."""


@pytest.mark.parametrize("way", REFUSED)
def test_what_is_refused(server: WildEndpoint, way: str) -> None:
    server.ways = way
    more, status, words = REFUSED[way]
    response = chat(server, **more)
    assert response.status_code == status
    assert words in response.text
    if WAYS[way].expect == "answers":
        assert chat(server, **TAKEN.get(way, {})).status_code == 200


FINAL = "<|channel|>final<|message|>"
SAID = {
    "think": f"<think>\n{THOUGHT}\n</think>\n\n{REPLY}",
    "think, unopened": f"{THOUGHT}\n</think>\n\n{REPLY}",
    "think, empty": f"<think>\n\n</think>\n\n{REPLY}",
    "think, capitals": f"[THINK]{THOUGHT}[/THINK]{REPLY}",
    "think, channels": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant{FINAL}{REPLY}",
    "parts": [{"type": "text", "text": REPLY}],
    "thinking parts": [
        {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
        {"type": "text", "text": REPLY},
    ],
    "for others": f"{REPLY}\nUser: And then?\nAda Quill: Then I went up the stairs.",
    "for others, named": f"Ada Quill: {REPLY}\nUser: And then?\nAda Quill: Then I went up the stairs.",
}


@pytest.mark.parametrize("way", SAID)
def test_what_is_said(server: WildEndpoint, way: str) -> None:
    server.ways = way
    assert content(server) == SAID[way]
    if way.startswith("for others"):
        assert content(server, stop=["\nUser:"]).endswith(REPLY)
        assert content(server, YES) == "yes"
    elif way.startswith("think,"):
        assert "".join(one.get("content", "") for one in deltas(server)) == SAID[way]


FORMS = {
    "single quotes": "{'joy': {'reason': 'so it seems', 'score': 7}",
    "trailing commas": '{"joy": {"reason": "so it seems", "score": 7,}',
    "prose": 'Certainly! Here is what you asked for:\n\n{"joy": {',
    "fenced": '```json\n{\n  "joy": {',
}


@pytest.mark.parametrize("way", FORMS)
def test_json_in_other_forms(server: WildEndpoint, way: str) -> None:
    server.ways = way
    assert content(server, MOOD).startswith(FORMS[way])
    assert (content(server, YES), content(server)) == ("yes", REPLY)


def test_json_as_python_writes_it() -> None:
    with wild_endpoint("python") as server:
        server.model = ScriptedChatModel(reply=lambda _: '{"a": true, "b": [null, "it\'s"]}')
        assert content(server) == '{"a": True, "b": [None, "it\'s"]}'
        server.ways = ["single quotes", "trailing commas"]  # what is no JSON any more stays
        assert content(server) == "{'a': true, 'b': [null, 'it\\'s']}"


@pytest.mark.parametrize("way", ["reasoning_content", "reasoning"])
def test_thoughts_in_a_field(server: WildEndpoint, way: str) -> None:
    server.ways = way
    assert choice(server)["message"] == {"role": "assistant", "content": REPLY, way: THOUGHT}
    assert "".join(one.get(way, "") for one in deltas(server)) == THOUGHT
    assert "".join(one.get("content") or "" for one in deltas(server)) == REPLY


def test_thoughts_that_need_room(server: WildEndpoint) -> None:
    server.ways = "reasoning_content, long"
    few = choice(server, max_tokens=250)
    assert (few["message"]["content"], few["finish_reason"]) == ("", "length")
    assert content(server, max_tokens=1024) == REPLY
    server.ways = "think, long"
    few = choice(server, max_tokens=250)
    assert few["message"]["content"].startswith("<think>")
    assert ("</think>" in few["message"]["content"], few["finish_reason"]) == (False, "length")
    assert content(server, max_tokens=1024).endswith(f"</think>\n\n{REPLY}")


def test_forms_of_a_stream(server: WildEndpoint) -> None:
    def streamed(way: str) -> list[Any]:
        server.ways = way
        return events(chat(server, stream=True, stream_options={"include_usage": True}))

    assert streamed("kept alive")[:2] == [": OPENROUTER PROCESSING"] * 2
    assert streamed("first without choices")[0]["choices"] == []
    assert "usage" not in streamed("no usage")[-2]
    assert streamed("no [DONE]")[-1]["usage"]
    assert "id" not in streamed("no ids")[0]
    assert streamed("null first")[0]["choices"][0]["delta"]["content"] is None
    assert streamed("one chunk")[0]["choices"][0]["delta"] == {"role": "assistant", "content": REPLY}
    assert streamed("eos")[-3]["choices"][0]["finish_reason"] == "eos"
    assert streamed("no reason")[-3]["choices"][0]["finish_reason"] is None
    assert "role" not in streamed("no role")[0]["choices"][0]["delta"]
    assert streamed("filtered")[-3]["choices"][0]["finish_reason"] == "content_filter"
    assert all(one["choices"] == [] for one in streamed("choices empty")[:-1])
    assert streamed("thinking parts")[0]["choices"][0]["delta"]["content"][0]["type"] == "thinking"
    server.ways = "streaming unasked"
    assert events(chat(server))[-1] == "[DONE]"
    assert content(server, stream=False) == REPLY


def test_forms_of_an_answer(server: WildEndpoint) -> None:
    server.ways = "choices empty"
    assert chat(server).json()["choices"] == []
    server.ways = "filtered"
    assert (content(server), choice(server)["finish_reason"]) == ("", "content_filter")
    server.ways = "cut though whole"
    assert (content(server), choice(server)["finish_reason"]) == (REPLY, "length")
    server.ways = "tool call"
    called = choice(server, MOOD)["message"]
    assert called["content"] is None
    assert json.loads(called["tool_calls"][0]["function"]["arguments"])["joy"]["score"] == 7
    assert content(server) == REPLY
    server.ways = "probabilities"
    (first,) = choice(server, YES, max_tokens=1, logprobs=True, top_logprobs=20)["logprobs"]["content"]
    assert [one["token"] for one in first["top_logprobs"]] == ["yes", "no"]
    assert choice(server, YES)["logprobs"] is None


def test_a_window_that_cuts_the_front_off(server: WildEndpoint) -> None:
    server.ways = "context, cut silently"
    long = {"role": "user", "content": "x" * 9000}
    assert content(server, [long, *SPOKEN]) == REPLY
    server.context = 20
    assert content(server, YES) == LOST
    server.lost.clear()


def test_the_window_is_the_servers(server: WildEndpoint) -> None:
    server.context = 50
    for way, words in {
        "context": f"your messages resulted in {READ} tokens",
        "context, vLLM": f"your request has {READ} input tokens",
        "context, llama.cpp": f'"n_prompt_tokens": {READ}, "n_ctx": 50',
    }.items():
        server.ways = way
        assert words in chat(server).text


@pytest.mark.parametrize(
    ("way", "key", "window"),
    [("context, vLLM", "max_model_len", 1024), ("context, listed", "context_length", 2048), ("good", "", None)],
)
def test_models(server: WildEndpoint, way: str, key: str, window: int | None) -> None:
    server.ways = way
    listed = httpx.get(f"{server.variables()['OPENAI_BASE_URL']}/models").json()["data"]
    assert [one["id"] for one in listed] == ["m", "words"]
    assert {one.get(key) for one in listed} == {window}


def test_embeddings(server: WildEndpoint) -> None:
    def embedded(texts: int, way: str, form: str = "float") -> Any:
        server.ways = way
        response = post(server, "/embeddings", input=["The lamp."] * texts, encoding_format=form)
        return response.json()["data"] if response.status_code == 200 else (response.status_code, response.text)

    floats = embedded(12, "good")[11]["embedding"]
    packed = np.frombuffer(base64.b64decode(embedded(12, "good", "base64")[11]["embedding"]), "<f4")
    assert packed == pytest.approx(floats)
    assert embedded(2, "floats", "base64")[0]["embedding"] == floats
    for way, most, status, words in (
        ("batches of 10", 10, 400, "batch size is invalid, it should not be larger than 10.: input.contents"),
        ("batches of 4", 4, 413, "input batch size 5 > maximum allowed batch size 4"),
        ("batches of 1", 1, 400, "batchSize must be 1 but the entered value was 2."),
    ):
        assert len(embedded(most, way)) == most
        code, text = embedded(most + 1, way)
        assert (code, words in text) == (status, True)
    assert "base64 encoding is not currently supported" in embedded(1, "no base64", "base64")[1]
    assert len(embedded(1, "no base64")) == 1
    assert embedded(1, "no embeddings")[0] == 404
    assert embedded(1, "key")[0] == 401


def test_ways_together(server: WildEndpoint) -> None:
    server.ways = ["system", "alternation", "temperature", "kept alive", "reasoning", "eos"]
    assert "System role" in chat(server).text
    assert "alternate" in chat(server, [SPOKEN[1], SPOKEN[1]]).text
    assert "temperature" in chat(server, SPOKEN[1:], temperature=0).text
    heard = events(chat(server, SPOKEN[1:], stream=True))
    assert heard[0] == ": OPENROUTER PROCESSING"
    assert heard[-2]["choices"][0]["finish_reason"] == "eos"
    expected = [server.expect]
    server.ways = ["good", "key"]
    assert [*expected, server.expect] == ["answers", "fails"]
    with pytest.raises(KeyError):
        server.ways = "unheard of"


def test_every_way_is_shown() -> None:
    shown = {*REFUSED, *SAID, *FORMS, "good", "python", "reasoning_content", "reasoning", "reasoning_content, long"}
    shown |= {"think, long", "kept alive", "first without choices", "no usage", "no [DONE]", "no ids", "null first"}
    shown |= {"one chunk", "eos", "no reason", "no role", "filtered", "choices empty", "streaming unasked"}
    shown |= {"cut though whole", "tool call", "probabilities", "context, cut silently", "floats", "no base64"}
    shown |= {"batches of 10", "batches of 4", "batches of 1", "no embeddings"}
    assert shown == {*WAYS}
