"""A stream that closes before it says that it is done is a cut answer, and no whole one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from dramaturg.models.chat import chat_model
from dramaturg.models.clients import openai_compatible
from dramaturg.models.errors import ModelError, ModelUnavailable, UnusableAnswer
from dramaturg.models.questions import decide, write, write_message
from dramaturg.models.servers.completions import adapting

from fakes import scripted
from fault_server import SECRET, FaultServer, serving
from stub_endpoint import endpoint

MESSAGES = [HumanMessage("Is it so?")]
BROKEN = ["no end", "no end, but a cost", "[DONE] said"]


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with serving() as server:
        yield server


def own_client(server: FaultServer, fault: str) -> Any:
    return openai_compatible("m", server.url(fault, "write"), SECRET, retries=0)


def users_client(server: FaultServer, fault: str) -> Any:
    return ChatOpenAI(model="m", base_url=server.url(fault, "write"), api_key=SecretStr(SECRET), max_retries=0)


@pytest.mark.parametrize("client", [own_client, users_client])
@pytest.mark.parametrize("fault", BROKEN)
async def test_a_stream_without_an_end_is_no_answer(server: FaultServer, fault: str, client: Any) -> None:
    with pytest.raises(UnusableAnswer, match="'m' broke off before its end"):
        await write(chat_model(client(server, fault)), MESSAGES)


async def test_what_nobody_saw_is_asked_for_again(server: FaultServer) -> None:
    server.hits.clear()
    asked = chat_model(own_client(server, "no end"), attempts=3)
    with pytest.raises(UnusableAnswer):
        await write(asked, MESSAGES, quiet=True)
    assert server.hits["no end"] == asked.account.usage()["failures"] == 3
    server.hits.clear()
    asked.shared.server.learn(unopened=0)  # else a first text is shown when it is whole
    with pytest.raises(UnusableAnswer):
        await write(asked, MESSAGES)
    assert server.hits["no end"] == 1


@pytest.mark.parametrize(
    ("fault", "error"), [("reset in the middle", ModelUnavailable), ("content filter", UnusableAnswer)]
)
async def test_what_was_cut_or_filtered_is_no_answer(server: FaultServer, fault: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        await write(chat_model(own_client(server, fault)), MESSAGES)


@pytest.mark.parametrize("client", [own_client, users_client])
@pytest.mark.parametrize("fault", ["no [DONE]", "no reason", "no reason, in parts", "length"])
async def test_one_mark_of_the_end_is_enough_at_the_token_limit_too(
    server: FaultServer, fault: str, client: Any
) -> None:
    assert await write(chat_model(client(server, fault)), MESSAGES) == "Good evening, my dear friend."


async def test_an_answer_in_one_piece_is_whole_without_a_reason(server: FaultServer) -> None:
    model = ChatOpenAI(
        model="m",
        base_url=server.url("whole, no reason", "write"),
        api_key=SecretStr(SECRET),
        max_retries=0,
        disable_streaming=True,
    )
    assert await write(chat_model(model), MESSAGES) == "Good evening, my dear friend."


async def test_models_that_never_say_how_they_ended_go_on_working() -> None:
    assert await write(chat_model(scripted("Very well, then.")), MESSAGES) == "Very well, then."


async def test_a_judgement_is_read_from_a_whole_answer_alone(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where LangChain streams what was not asked to be: a callback that taps tokens makes it."""
    model = users_client(server, "no end")
    model.streaming = True
    with pytest.raises(ModelError):
        await decide(chat_model(model), MESSAGES)


async def test_a_cut_answer_is_not_kept(server: FaultServer, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(UnusableAnswer):
            await write_message(chat_model(own_client(server, "no end"), cache=tmp_path / "answers"), MESSAGES)


FORMAT = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": False}}


@pytest.mark.parametrize("how", [{}, {"response_format": FORMAT, "stream": False}, {"streamed": True}], ids=str)
async def test_messages_are_sent_as_langchains_client_sends_them(how: dict[str, Any]) -> None:
    parts: Any = [{"type": "text", "text": "Is it"}, {"type": "text", "text": "so?"}]
    said = [SystemMessage("Speak."), HumanMessage("Who?", name="Tom"), AIMessage("Ada."), HumanMessage(parts)]
    with endpoint() as running:
        client = openai_compatible("m", running.variables()["OPENAI_BASE_URL"], SECRET)
        for one in (client, adapting(client)):
            if how == {"streamed": True}:
                assert [part async for part in one.astream(said, temperature=0.5)]
            else:
                assert (await one.ainvoke(said, temperature=0.5, **how)).text
        plain, ours = running.asked
    assert plain == ours


async def test_chunks_of_a_stream_are_read_as_langchains_client_reads_them() -> None:
    found = []
    with endpoint() as running:
        client = openai_compatible("m", running.variables()["OPENAI_BASE_URL"], SECRET)
        for one in (client, adapting(client)):
            parts = [part async for part in one.astream(MESSAGES, stream_usage=True)]
            found.append([part.model_dump(exclude={"id"}) for part in parts])
    assert found[0] == found[1]
    assert len(found[0]) > 2
    assert found[0][-1]["usage_metadata"] or found[0][-2]["usage_metadata"]
