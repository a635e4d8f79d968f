"""What a model thinks aloud is counted, can be seen beside the reply, and is in no message and no later question."""

import asyncio
import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest
from wild_endpoint import THOUGHT, WildEndpoint, wild_endpoint

from dramaturg.cli.app import main
from dramaturg.conversations.opening import open_conversation
from dramaturg.stores.library import library_at
from dramaturg.workflows.methods import flow

from roles import small_role
from served_roles import served

WAYS = ("think", "think, unopened", "reasoning_content", "reasoning", "thinking parts")


@pytest.fixture(params=WAYS)
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WildEndpoint]:
    small_role(tmp_path)
    with wild_endpoint(request.param) as server:
        for name, value in {**server.variables(), "DRAMATURG_LIBRARY": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("DRAMATURG_CACHE", str(tmp_path / "cache"))
        yield server


async def test_the_evidence_has_them_and_the_talk_has_not(server: WildEndpoint, tmp_path: Path) -> None:
    context = flow("vanilla").context(role="ada", library=str(tmp_path))
    async with open_conversation("vanilla", context, "one") as talk:
        for _ in range(2):
            output = await talk.take_turn("Who are you?")
            assert THOUGHT in output["evidence"]["thoughts"]
            assert output["usage"]["respond_by_name"]["thought_tokens"] > 0
            assert THOUGHT not in str(output["messages"])
    assert THOUGHT not in str([body for _, body in server.asked])


def test_who_asks_for_evidence_is_shown_them(server: WildEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    lines, said = iter(["Who are you?", "/evidence", "/usage", "/quit"]), io.StringIO()
    monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
    monkeypatch.setattr(sys, "argv", ["dramaturg", "chat", "ada", "--method", "vanilla"])
    with redirect_stdout(said), suppress(SystemExit):
        main()
    reply, _, evidence = " ".join(said.getvalue().split()).partition("The model's thoughts:")
    assert THOUGHT in evidence
    assert "of the tokens out are thoughts." in evidence
    assert THOUGHT not in reply


@pytest.mark.parametrize("wanted", [True, False])
def test_clients_get_them_in_the_field_for_it(server: WildEndpoint, tmp_path: Path, wanted: bool) -> None:
    async def answer() -> tuple[str, str, int]:
        own = {"chat_model": "auto", "embedding_model": "auto"}
        async with served(tmp_path / "data", library=library_at(tmp_path), method="vanilla", settings=own) as http:
            said = {
                "model": "ada",
                "messages": [{"role": "user", "content": "Who are you?"}],
                "stream": True,
                "stream_options": {"include_usage": True},
                "include_reasoning": wanted,
            }
            body = (await http.post("/v1/chat/completions", json=said)).text
        events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith("data: {")]
        deltas = [one["choices"][0]["delta"] for one in events if one["choices"]]
        fields = ["".join(one.get(name) or "" for one in deltas) for name in ("content", "reasoning_content")]
        return fields[0], fields[1], events[-1]["usage"]["completion_tokens_details"]["reasoning_tokens"]

    content, thoughts, counted = asyncio.run(answer())
    assert THOUGHT not in content
    assert (THOUGHT in thoughts) == wanted
    assert counted > 0
