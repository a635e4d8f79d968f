"""From an address and a key to a talk in two commands, and what `doctor` says of a model."""

import json
from collections.abc import Iterator

import pytest
from wild_endpoint import WildEndpoint, wild_endpoint

from dramaturg.models.environment import kept_endpoint, settings_file
from dramaturg.models.trial import Listed, listed

from commands import Command
from fault_server import SECRET


@pytest.fixture
def server() -> Iterator[WildEndpoint]:
    with wild_endpoint() as server:
        yield server


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is typed, in order."""
    lines: list[str] = []
    monkeypatch.setattr("typer.prompt", lambda *_, default=None, **__: lines.pop(0) or default)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: lines.pop(0) == "y")
    return lines


def address(server: WildEndpoint) -> str:
    return f"127.0.0.1:{server.server_port}"


def test_two_commands_from_an_address_and_a_key_to_a_talk(
    run: Command, server: WildEndpoint, typed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "DRAMATURG_CHAT_MODEL", "DRAMATURG_EMBEDDING_MODEL"):
        monkeypatch.delenv(name, raising=False)
    typed += [address(server), SECRET, "m", "words"]
    code, out, err = run("setup")
    assert code == 0
    assert "m answers" in " ".join(out.split())
    assert "Models there: m, words" in err
    assert SECRET not in out + err
    assert settings_file().stat().st_mode & 0o777 == 0o600
    code, out, _ = run("ask", "ada", "Do storms make you afraid?")
    assert code == 0
    assert "I keep the light." in out


def test_what_is_kept_gives_way_to_variables_as_a_whole(
    run: Command, server: WildEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "DRAMATURG_CHAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert run("setup", "--address", address(server), "--model", "m")[0] == 0
    kept = {"OPENAI_BASE_URL": f"http://{address(server)}/v1", "DRAMATURG_CHAT_MODEL": "m"}
    assert kept_endpoint() == kept
    monkeypatch.setenv("DRAMATURG_CHAT_MODEL", "another")
    server.asked.clear()
    assert run("ask", "ada", "Who are you?", "--method", "vanilla")[0] == 0
    assert server.asked[-1][1]["model"] == "another"
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    assert kept_endpoint() == {}  # a key of the surroundings does not go to the address that is kept
    monkeypatch.delenv("OPENAI_API_KEY")
    assert run("setup", "--forget")[0] == 0
    assert kept_endpoint() == {}


def test_a_model_that_does_not_answer_is_not_kept_and_asked_for_again(
    run: Command, server: WildEndpoint, typed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "DRAMATURG_CHAT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    server.ways = ["no model"]
    typed += [address(server), "", "x", "", "n"]
    code, _, err = run("setup")
    assert code == 3
    assert "There is no model 'x'" in " ".join(err.split())
    assert not settings_file().exists()
    assert run("setup", "--address", address(server), "--model", "x")[0] == 3
    assert run("setup", "--address", "http://", "--model", "x")[0] == 2


@pytest.mark.parametrize("written", ["{", "[]", '{"OPENAI_BASE_URL": 5}'])
def test_a_file_that_cannot_be_read_is_named(written: str, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    settings_file().parent.mkdir(parents=True, exist_ok=True)
    settings_file().write_text(written)
    code, _, err = run("roles")
    assert code == 2
    assert "run `dramaturg setup` again, or remove it" in " ".join(err.split())
    assert run("setup", "--forget")[0] == 0


@pytest.mark.parametrize(
    ("ways", "says"),
    [
        (["good"], {"· server": "does not take log-probabilities", "· amadeus": "it judges in words"}),
        (["temperature", "system"], {"· server": "does not take messages of the system, a temperature"}),
        (["think"], {"· habits": "thinks aloud"}),
        (["reasoning_content"], {"· habits": "thinks aloud"}),
        (["json_schema"], {"· extract": "put by JSON mode"}),
        (["context, vLLM"], {"· window": "1,024 tokens"}),
        (["context, llama.cpp"], {"· window": "1,024 tokens"}),
        (
            ["context, listed"],
            {"· window": "1,024 tokens", "· price": "$0.25 a million tokens read, $2.00 written"},
        ),
    ],
)
def test_doctor_tells_what_a_model_that_is_named_takes(
    ways: list[str], says: dict[str, str], run: Command, server: WildEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.variables().items():
        monkeypatch.setenv(name, value)
    server.ways = ways
    monkeypatch.setattr(server.model, "reply", answered)
    _, out, _ = run("doctor", "--model", "m", "--json")
    found = {row["what"]: row for row in json.loads(out)}
    for what, said in says.items():
        assert said in found[what]["found"]
    assert found["chat model"]["found"] == "m got 10 of 10 small questions right"
    assert found["· drmr"]["ok"] is True


def test_doctor_marks_a_model_that_gets_little_right(
    run: Command, server: WildEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.variables().items():
        monkeypatch.setenv(name, value)
    for reply, passes in ((answered, True), (lambda _: "perhaps", None)):
        monkeypatch.setattr(server.model, "reply", reply)
        _, out, _ = run("doctor", "--model", "m", "--json")
        assert {row["what"]: row["ok"] for row in json.loads(out)}["chat model"] is passes


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ({"max_model_len": 4096}, Listed(4096)),
        ({"context_length": 8192, "top_provider": {"context_length": 4096}}, Listed(4096)),
        ({"meta": {"n_ctx_train": 32_768, "n_ctx": 4096}}, Listed(4096)),
        ({"pricing": {"prompt": "0.00000025", "completion": "0.000002"}}, Listed(None, (0.25, 2.0))),
        ({"pricing": {"input": 0.9, "output": 0.9}}, Listed(None, (0.9, 0.9))),
        ({"pricing": {"prompt": "free", "completion": "free"}, "max_model_len": "long"}, Listed()),
    ],
)
def test_a_list_of_models_is_read_as_servers_write_it(about: dict[str, object], found: Listed) -> None:
    assert listed(about) == found


def answered(messages: list[object]) -> str:
    """A right answer to each question."""
    text = str(messages)
    if "is that so" in text.casefold():
        return '{"answer": "no"}' if "Whales" in text else '{"answer": "yes"}'
    if "From 1 to 5" in text:
        return '{"answer": 1}' if "furious" in text else '{"answer": 5}'
    if "capital" in text:
        return '{"answer": 2}' if "France" in text else '{"answer": 3}'
    for name, born in (("Clara Schumann", 1819), ("Ada Lovelace", 1815)):
        if name in text:
            return json.dumps({"name": name, "born": born})
    return "Good evening from the lighthouse."
