"""Answers are kept for the same question to the same model, and nothing else is in the file."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, Field

from dramaturg.models import answer_cache
from dramaturg.models.answer_cache import cache_key, open_answers
from dramaturg.models.chat import chat_model
from dramaturg.models.clients import openai_compatible
from dramaturg.models.errors import UnusableAnswer
from dramaturg.models.questions import Decision, Rating, choose, decide, extract, rate, write

from fakes import scripted

SECRET = "sk-planted-0123456789abcdef"
MESSAGES = [HumanMessage("Is it so?")]


class Person(BaseModel):
    name: str = Field(alias="called")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "answers.sqlite"


async def test_every_kind_of_answer_is_kept(file: Path) -> None:
    model = scripted("yes", "4", "2", '{"called": "Ludwig"}', "Good evening.")
    answers = []
    for _ in range(2):
        asked = chat_model(model, cache=file)
        answers.append(
            [
                await decide(asked, MESSAGES),
                await rate(asked, MESSAGES, low=1, high=5),
                await choose(asked, MESSAGES, ["red", "green"]),
                await extract(asked, MESSAGES, Person),
                await write(asked, MESSAGES),
            ]
        )
    first, again = answers
    assert first == again == [Decision(True, None), Rating(4, None), "green", Person(called="Ludwig"), "Good evening."]
    assert len(model.calls) == 5
    used = asked.account.usage()
    assert (used["calls"], used["cached"], used["prompt_tokens"]) == (0, 5, 0)


async def test_another_question_is_asked(file: Path) -> None:
    model = scripted("4")
    asked = chat_model(model, cache=file)
    await rate(asked, MESSAGES, low=1, high=5)
    await rate(asked, MESSAGES, low=1, high=6)
    await rate(asked, [*MESSAGES, AIMessage("No.")], low=1, high=5)
    await rate(asked, [AIMessage(MESSAGES[0].text)], low=1, high=5)
    assert len(model.calls) == 4
    assert asked.account.usage()["cached"] == 0


async def test_an_unusable_answer_is_not_kept(file: Path) -> None:
    model = scripted("perhaps", "perhaps", "yes")
    asked = chat_model(model, cache=file)
    with pytest.raises(UnusableAnswer):
        await decide(asked, MESSAGES)
    assert (await decide(asked, MESSAGES)).answer


async def test_a_kept_answer_that_no_longer_fits_is_asked_for_again(file: Path) -> None:
    asked = chat_model(scripted("yes", "no"), cache=file)
    assert (await decide(asked, MESSAGES)).answer
    with sqlite3.connect(file) as connection:
        connection.execute("""UPDATE cache SET val = '{"answer": "perhaps"}'""")
    connection.close()
    assert not (await decide(asked, MESSAGES)).answer
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE cache SET val = 'not json'")
    connection.close()
    assert not (await decide(asked, MESSAGES)).answer


async def test_a_file_that_fails_costs_no_answer(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked = chat_model(scripted("yes"), cache=file)
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE cache")
    connection.close()
    assert (await decide(asked, MESSAGES)).answer
    assert "cannot be kept" in caplog.text


@pytest.mark.parametrize("content", [b"this is not a database " * 100, None])
def test_a_file_that_cannot_be_used(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "answers.sqlite"
    file.mkdir() if content is None else file.write_bytes(content)
    with pytest.raises(ValueError, match="remove the file"):
        chat_model(scripted("yes"), cache=file)


def key(model: Any) -> str:
    return cache_key(chat_model(model).identity, "decide", MESSAGES, {})


def test_the_key_depends_on_the_model_and_on_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    one = openai_compatible("m", "http://one/v1", SECRET)
    assert key(one) == key(openai_compatible("m", "http://one/v1", SECRET))
    assert key(one) != key(openai_compatible("m", "http://one/v1", "another key"))
    assert key(one) != key(openai_compatible("n", "http://one/v1", SECRET))
    assert key(one) != key(openai_compatible("m", "http://two/v1", SECRET))
    assert key(one) != key(openai_compatible("m", "http://one/v1", SECRET, temperature=1))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one/v1")
    named = key("m")
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    assert key("m") != named
    monkeypatch.setenv("OPENAI_BASE_URL", "http://two/v1")
    assert key("m") != named


async def test_neither_prompts_nor_secrets_are_in_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    await decide(chat_model(scripted("yes"), cache=file), [HumanMessage("a private prompt")])
    for written in file.parent.iterdir():
        content = written.read_bytes()
        assert SECRET.encode() not in content
        assert b"private" not in content


def test_one_connection_a_file(file: Path) -> None:
    assert open_answers(file) is open_answers(file.parent / "." / file.name)


WRITER = """
import asyncio, sys
from pathlib import Path
from dramaturg.models.answer_cache import open_answers
async def main():
    answers = open_answers(Path(sys.argv[1]))
    for number in range(50):
        await answers.set(f"{sys.argv[2]}-{number}", {"answer": number})
asyncio.run(main())
"""


@pytest.mark.crash
def test_processes_share_a_file(file: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), str(who)]) for who in range(2)]
    assert [writer.wait(240) for writer in writers] == [0, 0]

    async def read() -> list[Any]:
        answers = open_answers(file)
        return [await answers.get(f"{who}-{number}") for who in range(2) for number in range(50)]

    assert asyncio.run(read()) == [{"answer": number} for number in range(50)] * 2


@pytest.fixture(autouse=True)
def no_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache, "_caches", {})
