"""What a server takes: learned from one refusal, kept for a day, shared by all that ask it."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from wild_endpoint import Asked, Refusal, Way, WildEndpoint, having, openrouter_error, wild_endpoint

from dramaturg.models.chat import ChatModel, chat_model
from dramaturg.models.clock import TurnClock
from dramaturg.models.embeddings import embedder
from dramaturg.models.errors import Filtered, ModelError, PromptRefused, RequestRejected, UnusableAnswer
from dramaturg.models.questions import decide, write
from dramaturg.models.servers import endpoints, negotiation
from dramaturg.models.servers.completions import adapting
from dramaturg.models.servers.endpoints import Endpoint
from dramaturg.models.servers.forms import in_turns
from dramaturg.models.servers.refusals import Refusal as Refused
from dramaturg.models.servers.refusals import context_in, most_in

from fault_server import SECRET

MESSAGES = [SystemMessage("Speak as Ada."), HumanMessage("Who are you?")]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WildEndpoint]:
    with wild_endpoint() as server:
        for name, value in server.variables().items():
            monkeypatch.setenv(name, value)
        yield server


def forget() -> None:
    """What another process knows: what is kept."""
    endpoints._endpoints.clear()


async def asked_by(server: WildEndpoint, asked: ChatModel, **how: Any) -> list[dict[str, Any]]:
    """The requests of one question."""
    server.asked.clear()
    await write(asked, MESSAGES, temperature=0.5, **how)
    return [body for _, body in server.asked]


async def test_a_refusal_costs_one_question_once_and_is_known_to_the_next_process(server: WildEndpoint) -> None:
    server.ways = ["temperature"]
    first, second = await asked_by(server, chat_model("m"))
    assert "temperature" in first
    assert "temperature" not in second
    assert len(await asked_by(server, chat_model("m"))) == 1
    forget()
    assert len(await asked_by(server, chat_model("m", concurrency=3))) == 1
    assert len(await asked_by(server, chat_model("another"))) == 2  # another model's


async def test_it_is_kept_by_address_model_and_key_for_a_day(
    server: WildEndpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path))
    server.ways = ["temperature"]
    await asked_by(server, chat_model("m"))
    (kept,) = (tmp_path / "endpoints").iterdir()
    assert SECRET not in kept.name + kept.read_text()
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    assert len(await asked_by(server, chat_model("m"))) == 2
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    then = time.time() + endpoints.DAY + 1
    monkeypatch.setattr(time, "time", lambda: then)
    forget()
    assert len(await asked_by(server, chat_model("m"))) == 2


@pytest.mark.parametrize("found", ["{", '{"refused": 5}', "\xff"])
def test_what_is_kept_and_cannot_be_read_is_learned_anew(found: str, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_bytes(found.encode("latin-1"))
    one, other = Endpoint(file), Endpoint(file)
    one.read_blocking()
    assert one.refused == set()
    one.learn(["stream"])
    one.keep_blocking()
    other.learn(["seed"])  # in another process
    other.keep_blocking()
    again = Endpoint(file)
    again.read_blocking()
    assert again.refused == {"stream", "seed"}


async def test_who_cannot_write_it_down_asks_all_the_same(
    server: WildEndpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "endpoints").write_text("no folder")
    monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path))
    server.ways = ["temperature"]
    assert len(await asked_by(server, chat_model("m"))) == 2
    assert "cannot be kept" in caplog.text
    assert len(await asked_by(server, chat_model("m"))) == 1


async def test_twenty_at_once_are_refused_once(server: WildEndpoint) -> None:
    server.ways = ["max_completion_tokens"]
    many = [write(chat_model("m", concurrency=64), MESSAGES) for _ in range(20)]
    assert len(set(await asyncio.gather(*many))) == 1
    refused = [body for _, body in server.asked if "max_completion_tokens" in body]
    assert len(refused) == 1
    assert len(server.asked) == 21


async def test_whoever_is_answered_slowly_does_not_hold_up_the_others(
    server: WildEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "PATIENCE", 0.01)
    first, answered = threading.Event(), server.model.reply

    def reply(messages: Any) -> Any:
        if not first.is_set():
            first.set()
            server.ended.wait()
        return answered(messages)

    monkeypatch.setattr(server, "lock", nullcontext())
    monkeypatch.setattr(server.model, "reply", reply)
    slow = asyncio.create_task(write(chat_model("m"), MESSAGES))
    await asyncio.to_thread(first.wait)
    assert await write(chat_model("m"), MESSAGES)
    assert not slow.done()
    slow.cancel()
    await asyncio.wait([slow])
    server.ended.set()
    assert await write(chat_model("m"), MESSAGES)


async def test_what_is_refused_without_a_name_is_found_and_the_rest_is_not_left_out(server: WildEndpoint) -> None:
    server.ways = ["temperature, unnamed"]
    asked = chat_model("m")
    counts = [len(await asked_by(server, asked, quiet=True)) for _ in range(5)]
    assert counts[0] == 2
    assert sum(counts) <= 7
    (body,) = await asked_by(server, asked, quiet=True)
    assert "temperature" not in body
    assert body["max_completion_tokens"] == 1024
    assert body["messages"][0]["role"] == "system"


@pytest.mark.parametrize("ways", [["temperature", "system"], ["max_completion_tokens, vLLM", "stream_options"]])
async def test_two_refusals_are_told_from_each_other(server: WildEndpoint, ways: list[str]) -> None:
    server.ways = ways
    assert len(await asked_by(server, chat_model("m"))) == 3
    assert len(await asked_by(server, chat_model("m"))) == 1


async def test_a_server_that_refuses_everything_is_quoted_and_nothing_is_learned(server: WildEndpoint) -> None:
    server.ways = ["400 in 200"]
    asked = chat_model("m")
    with pytest.raises(RequestRejected, match=r"It says: “.*Invalid request.*”"):
        await write(asked, MESSAGES)
    assert len(server.asked) <= negotiation.TRIES
    assert asked.shared.server.refused == set()
    server.asked.clear()
    for _ in range(3):  # those who come later ask in one way, as long as it says no more
        with pytest.raises(RequestRejected):
            await decide(asked, [HumanMessage("Is the sea calm? yes or no:")])
    assert len(server.asked) == 3
    server.ways = ["good"]
    await write(asked, MESSAGES)
    assert not asked.shared.server.refuses_all()


async def test_a_server_that_gives_nothing_is_asked_no_more_by_those_who_ask_just_then(server: WildEndpoint) -> None:
    server.ways = ["choices empty"]
    asked = chat_model("m")
    said = await asyncio.gather(
        *(decide(asked, [HumanMessage(f"{at}? yes or no:")]) for at in range(8)), return_exceptions=True
    )
    assert {type(one) for one in said} == {UnusableAnswer}
    assert len(server.asked) < 8  # and each would have been tried in three ways


async def test_a_bare_refusal_of_the_first_question_is_not_the_answer_to_those_that_wait(server: WildEndpoint) -> None:
    first, bare = list[str](), Refusal(400, {"error": {"message": "Bad request"}})

    def refused(asked: Asked) -> Refusal | None:
        first.append(asked.prompt)
        return bare if asked.prompt == first[0] else None

    server.active = [Way("a gateway", check=refused)]
    asked, questions = chat_model("m"), [[HumanMessage(f"Is lamp number {at} lit?")] for at in range(8)]
    said = await asyncio.gather(*(write(asked, one) for one in questions), return_exceptions=True)
    assert sum(isinstance(one, ModelError) for one in said) == 1


async def test_in_a_turn_a_server_that_gives_nothing_is_asked_no_more_and_in_the_next_it_is(
    server: WildEndpoint,
) -> None:
    server.ways = ["choices empty"]
    for _ in range(2):
        asked = ChatModel(**{**vars(chat_model("m")), "clock": TurnClock(60.0)})
        server.asked.clear()
        for _ in range(3):
            with pytest.raises(UnusableAnswer):
                await write(asked, MESSAGES)
        assert 0 < len(server.asked) <= endpoints.SILENT + 1  # the third is not put at all
    server.ways = ["good"]
    assert await write(ChatModel(**{**vars(chat_model("m")), "clock": TurnClock(60.0)}), MESSAGES)


async def test_one_empty_answer_of_a_server_that_gives_others_is_asked_for_again(server: WildEndpoint) -> None:
    asked = chat_model("m")
    await write(asked, MESSAGES)
    for _ in range(endpoints.SILENT):
        server.ways = ["choices empty"]
        with pytest.raises(UnusableAnswer):
            await write(asked, MESSAGES)
    server.ways = ["good"]
    assert await write(asked, MESSAGES)


async def test_a_server_that_knows_no_format_of_answers_is_not_asked_for_another(server: WildEndpoint) -> None:
    server.ways = ["unknown fields"]
    with suppress(ModelError):
        await decide(chat_model("m"), [HumanMessage("Is the sea calm? yes or no:")])
    assert {"json_schema", "json_object"} <= chat_model("m").shared.server.refused


async def test_a_refusal_in_the_first_part_of_a_stream_is_heeded(server: WildEndpoint) -> None:
    refused = openrouter_error(400, "Unsupported parameter: 'temperature' is not supported with this model.")
    server.active = [Way("a gateway", check=having("temperature", lambda _: refused))]
    asked = chat_model("m")
    for requests in (2, 1):
        server.asked.clear()
        said = [part.text async for part in adapting(asked.client).astream(MESSAGES, temperature=0.5)]
        assert "".join(said)
        assert len(server.asked) == requests


async def test_an_answer_is_asked_for_no_longer_than_there_is_room(server: WildEndpoint) -> None:
    server.ways = ["context"]
    counts = [len(await asked_by(server, chat_model("m"), max_tokens=5000)) for _ in range(2)]
    assert counts == [2, 1]
    with pytest.raises(PromptRefused, match=f"its window has {server.context} tokens"):
        await write(chat_model("m"), [HumanMessage("The sea. " * server.context)])


async def test_a_question_whose_first_token_tells_nothing_is_asked_by_its_text(server: WildEndpoint) -> None:
    server.ways = ["probabilities"]
    question = [HumanMessage("Is the sea calm? yes or no:")]
    for _ in range(4):
        with suppress(ModelError):
            await decide(chat_model("m", attempts=1), question)
    assert sum(bool(body.get("logprobs")) for _, body in server.asked) == 2


async def test_texts_are_embedded_in_as_many_requests_as_the_server_wants(server: WildEndpoint) -> None:
    texts = [f"The lamp is number {number}." for number in range(23)]
    good = await embedder("openai:others", "en").documents(texts)
    server.ways = ["batches of 10", "no base64"]
    for refused in (2, 0):
        server.asked.clear()
        found = await embedder("openai:words", "en").documents(texts)
        assert found == pytest.approx(good, abs=1e-6)
        sizes = [len(body["input"]) for _, body in server.asked]
        assert len(sizes) == 3 + refused
        assert max(sizes[refused:]) <= 10


def test_instructions_stand_before_what_the_user_says_where_there_is_no_system() -> None:
    messages = [
        {"role": "system", "content": "Speak as Ada."},
        {"role": "assistant", "content": "Good evening."},
        {"role": "user", "content": "Who?"},
        {"role": "user", "content": [{"type": "text", "text": "And where?"}]},
    ]
    assert in_turns(messages, system=False) == [
        {"role": "user", "content": "Speak as Ada."},
        {"role": "assistant", "content": "Good evening."},
        {"role": "user", "content": [{"type": "text", "text": "Who?"}, {"type": "text", "text": "And where?"}]},
    ]
    assert [one["role"] for one in in_turns(messages, system=True)] == ["system", "assistant", "user"]
    assert json.dumps(messages).count("system") == 1


@pytest.mark.parametrize("transient", ["Bad Request", "upstream error: stream closed", "The grammar is invalid"])
async def test_one_bad_answer_of_a_good_server_teaches_nothing(server: WildEndpoint, transient: str) -> None:
    asked, question = chat_model("m"), [HumanMessage("Is the sea calm? yes or no:")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server.model, "reply", lambda _: '{"answer": "yes"}')
        for _ in range(3):
            assert (await decide(asked, question)).answer
            await write(asked, MESSAGES, temperature=0.5)
        known = asked.shared.server.refused
        bad = Way("a proxy", check=lambda _: Refusal(400, {"error": {"message": transient}}))
        server.active = [bad]
        for ask in (decide(asked, question), write(asked, MESSAGES, temperature=0.5)):
            with suppress(ModelError):
                await ask
        server.ways = ["good"]
        assert (await decide(asked, question)).answer
        assert asked.shared.server.refused == known


async def test_a_bare_refusal_is_about_the_prompt_where_others_like_it_were_taken(server: WildEndpoint) -> None:
    server.active = [Way("a gateway", check=lambda _: Refusal(400, {"error": {"message": "Bad request"}}))]
    with pytest.raises(RequestRejected):
        await write(chat_model("m"), MESSAGES)
    server.ways = ["good"]
    await write(chat_model("m"), MESSAGES)
    server.active = [Way("a gateway", check=lambda _: Refusal(400, {"error": {"message": "Bad request"}}))]
    with pytest.raises(PromptRefused, match=r"refuses this prompt .* and takes others"):
        await write(chat_model("m"), MESSAGES)
    assert not chat_model("m").shared.server.refused


@pytest.mark.parametrize("status", [400, 403])
async def test_a_filter_is_known_by_its_words_whatever_the_status(server: WildEndpoint, status: int) -> None:
    said = {"error": {"message": "Content violates usage guidelines."}}
    server.active = [Way("xAI", check=lambda _: Refusal(status, said))]
    with pytest.raises(Filtered):
        await write(chat_model("m"), MESSAGES)


async def test_a_filtered_answer_does_not_teach_that_there_are_no_probabilities(server: WildEndpoint) -> None:
    asked, question = chat_model("m"), [HumanMessage("Is the sea calm? yes or no:")]
    server.ways = ["filtered"]
    with pytest.raises(Filtered):
        await decide(asked, question)
    assert not asked.shared.server.refused


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ("This model's maximum context length is 4097 tokens. However, you requested 5000 tokens", 4097),
        ("maximum context length is 131,072 tokens", 131_072),
        ("a context window of 128k tokens", 128_000),
        ("context length exceeded: prompt has 9000 tokens, model supports 8192", 8192),
        ("prompt is too long: 200001 tokens > 200000 maximum", 200_000),
        ("the request exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("too many tokens", None),
    ],
)
def test_a_window_is_read_as_servers_say_it(said: str, window: int | None) -> None:
    assert context_in(said) == window


@pytest.mark.parametrize(
    ("said", "most"),
    [
        ("max_tokens is too large: 4096. This model supports at most 2048 completion tokens", 2048),
        ("Range of max_tokens should be [1, 2048]", 2048),
        ("max_tokens: 4096 > 1024, which is the maximum allowed number of output tokens", 1024),
        ("max_tokens is too large for this model", 2048),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 300 `inputs` tokens", None),
        ("`max_tokens` must be greater than `thinking.budget_tokens` (1024)", None),
        ("max" * 10_000, None),
    ],
)
def test_a_longest_answer_is_read_as_servers_say_it(said: str, most: int | None) -> None:
    assert most_in(Refused(status=400, text=said, fields=frozenset()), 4096) == most


async def test_a_loop_waits_for_no_disk(server: WildEndpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path))
    loop, threads = threading.get_ident(), list[int]()
    for name in ("read_blocking", "keep_blocking"):
        blocking = getattr(Endpoint, name)

        def noted(self: Endpoint, blocking: Any = blocking) -> None:
            threads.append(threading.get_ident())
            blocking(self)

        monkeypatch.setattr(Endpoint, name, noted)
    server.ways = ["temperature"]
    await asked_by(server, chat_model("m"))
    assert len(threads) >= 2
    assert loop not in threads
