"""Methods of other packages: a process that asks this one for models; here the package is a few lines of a test."""

import asyncio
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dramaturg.evaluation.comparison import external
from dramaturg.evaluation.comparison.external import WORKER, ExternalFailed, external_method
from dramaturg.evaluation.external.lightrag_engine import Pieces
from dramaturg.models.errors import ModelUnavailable, UnusableAnswer
from dramaturg.models.servers.pace import BEGIN
from dramaturg.nodes.run import RoleContext

from fakes import ScriptedChatModel
from roles import run_settings, small_role

ENGINE = """
import asyncio, json, os, sys
from pathlib import Path

class Engine:
    version = "1.2.3"
    def __init__(self, calls, given):
        self.calls, self.given = calls, given
    async def index(self, texts):
        print("a package prints what it likes")
        indexed = Path(self.given["folder"], "indexed")
        indexed.write_text(indexed.read_text() + "+" if indexed.exists() else "+")
        asked = [self.calls.chat([{"role": "user", "content": text}], 50) for text in texts.values()]
        told = await asyncio.gather(*map(asyncio.wrap_future, asked), return_exceptions=True)
        return {"entities": sum(isinstance(one, str) for one in told)}
    async def answer(self, question):
        if question == "die":
            os._exit(3)
        if question == "fail":
            raise ValueError("no such graph")
        if question == "slow":
            while not Path(self.given["folder"], "given up").exists():
                await asyncio.sleep(0.05)
        vectors = self.calls.embed([question], query=True).result()  # from the thread of the event loop
        more = await asyncio.wrap_future(self.calls.embed(["a", "b"]))
        asked = [{"role": "system", "content": self.given["instruction"]}, {"role": "user", "content": question}]
        reply = await asyncio.wrap_future(self.calls.chat(asked, 99))
        sizes = [len(one) for one in vectors + more]
        seen = {"sizes": sizes, "given": self.given, "keys": sorted(os.environ), "cwd": os.getcwd()}
        return {"reply": "" if question == "nothing" else f" {reply} ", "evidence": seen}

async def open_engine(calls, **given):
    return Engine(calls, given)
"""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    small_role(tmp_path / "library")
    return tmp_path / "library"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The worker with an engine of this test's beside it."""
    (tmp_path / "worker").mkdir()
    shutil.copy(WORKER, tmp_path / "worker" / "worker.py")
    monkeypatch.setattr(external, "WORKER", tmp_path / "worker" / "worker.py")
    path = tmp_path / "worker" / "lightrag_engine.py"
    path.write_text(ENGINE, encoding="utf-8")
    return path


def told(reply: str | Exception = "I keep the light.") -> ScriptedChatModel:
    return ScriptedChatModel(reply=lambda _: reply)


def opened(library: Path, model: Any, **settings: Any) -> Any:
    """The method, open for Ada."""
    context = RoleContext(**run_settings(library, model, **settings))
    return external_method("lightrag", context, library.parent / "indexes")


async def test_a_question_is_answered_with_the_models_of_this_process(library: Path, engine: Path) -> None:
    model = told()
    async with opened(library, model) as method:
        answer = await method.answer("Who sails the mail boat?")
    assert answer.text == "I keep the light."
    assert answer.evidence["version"] == method.version == "1.2.3"
    assert answer.evidence["sizes"] == [1024] * 3
    assert answer.usage["calls"] == 1
    (call,) = model.calls
    assert [message.type for message in call.messages] == ["system", "human"]
    assert "You are Ada Quill." in call.text
    assert "A keeper of few words." in call.text
    assert call.parameters == {} or call.parameters.get("max_tokens", 99) == 99


async def test_the_package_indexes_what_the_role_has_been_told(library: Path, engine: Path) -> None:
    secret = "---\nknown_to: tom\n---\n\nTom hid the Birchdoc.\n"
    (library / "ada" / "persona" / "tom.md").write_text(secret, encoding="utf-8")
    async with opened(library, told()) as method:
        assert "Birchdoc" not in str(method._texts)


async def test_the_package_is_told_what_it_needs_and_sees_nothing_else(
    library: Path, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with opened(library, told()) as method:
        evidence = (await method.answer("Who?")).evidence
    given = evidence["given"]
    assert (given["dimension"], given["language"], given["tokens"], given["concurrency"]) == (1024, "en", 6000, BEGIN)
    assert Path(evidence["cwd"]) == Path(given["folder"])
    assert "OPENAI_API_KEY" not in evidence["keys"]
    assert "secret" not in json.dumps(evidence)


async def test_a_role_is_indexed_once_for_texts_and_models(library: Path, engine: Path) -> None:
    async with opened(library, told("A text.")) as method:
        usage = await method.prepare()
        assert usage["calls"] == 1
        assert (await method.prepare())["calls"] == 0
    async with opened(library, told()) as method:
        assert (await method.prepare())["calls"] == 0
    (library / "ada" / "persona" / "life.md").write_text("# Ada\n\nShe left.", encoding="utf-8")
    async with opened(library, told()) as method:
        assert (await method.prepare())["calls"] == 1
    places = list((library.parent / "indexes" / "lightrag").iterdir())
    assert len(places) == 2
    reports = [json.loads((place / "indexed.json").read_text()) for place in places]
    assert [(one["entities"], one["version"]) for one in reports] == [(1, "1.2.3")] * 2
    assert any("prints what it likes" in (place / "log.txt").read_text() for place in places)


async def test_questions_at_once_are_done_one_after_the_other(library: Path, engine: Path) -> None:
    async with opened(library, ScriptedChatModel(reply=lambda messages: f"To {messages[-1].text}")) as method:
        answers = await asyncio.gather(*(method.answer(f"question {n}") for n in range(5)))
    assert [one.text for one in answers] == [f"To question {n}" for n in range(5)]
    assert [one.usage["calls"] for one in answers] == [1] * 5


async def test_an_answer_that_was_given_up_does_not_become_the_next(library: Path, engine: Path) -> None:
    async with opened(library, ScriptedChatModel(reply=lambda messages: f"To {messages[-1].text}")) as method:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(method.answer("slow"), 0.1)
        for place in (library.parent / "indexes" / "lightrag").iterdir():
            (place / "given up").touch()
        assert (await method.answer("Who?")).text == "To Who?"


# What goes wrong


async def test_a_package_that_is_missing_is_named_with_what_to_do(library: Path, engine: Path) -> None:
    await asyncio.to_thread(engine.write_text, "import a_package_that_is_not_there\n")
    with pytest.raises(ExternalFailed, match=r"LightRAG is not there.*`pip install lightrag-hku`.*LIGHTRAG_PYTHON"):
        async with opened(library, told()):
            pass


async def test_a_python_that_is_missing_is_named(
    library: Path, engine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DRAMATURG_LIGHTRAG_PYTHON", str(tmp_path / "nowhere" / "python"))
    with pytest.raises(ExternalFailed, match=r"nowhere.*DRAMATURG_LIGHTRAG_PYTHON"):
        async with opened(library, told()):
            pass


@pytest.mark.parametrize(
    ("question", "error", "text"),
    [
        ("fail", ExternalFailed, r"LightRAG failed \(ValueError: no such graph\): .*log.txt"),
        ("die", ExternalFailed, r"The process of LightRAG ended: .*log.txt"),
        ("nothing", UnusableAnswer, "no reply"),
    ],
)
async def test_a_failure_of_the_package_is_an_error(
    library: Path, engine: Path, question: str, error: type[Exception], text: str
) -> None:
    async with opened(library, told()) as method:
        with pytest.raises(error, match=text):
            await method.answer(question)


async def test_a_process_that_has_ended_fails_at_once(library: Path, engine: Path) -> None:
    async with opened(library, told()) as method:
        for _ in range(2):
            with pytest.raises(ExternalFailed, match="ended"):
                await method.answer("die")


async def test_a_model_that_is_away_is_an_error_even_if_the_package_goes_on(library: Path, engine: Path) -> None:
    async with opened(library, told(ModelUnavailable("away"))) as method:
        with pytest.raises(ModelUnavailable):
            await method.prepare()
    assert not list((library.parent / "indexes" / "lightrag").glob("*/indexed.json"))


async def test_an_answer_that_cannot_be_used_is_the_packages_to_deal_with(library: Path, engine: Path) -> None:
    async with opened(library, told("")) as method:
        usage = await method.prepare()
    assert usage["failures"] == usage["calls"] > 0


# The tokenizer that is brought


@pytest.mark.parametrize(
    "text", ["", "Ada keeps the light.", "  two\n\nlines\t", "孙悟空大闹天宫。", "등대지기 é🦋", "a" * 99]
)
def test_pieces_are_the_text_again(text: str) -> None:
    pieces = Pieces()
    assert pieces.decode(pieces.encode(text)) == text


def test_a_piece_is_about_a_token() -> None:
    assert len(Pieces().encode("Ada keeps the light, and has kept it for thirty years.")) == 17


def test_the_workers_python_needs_nothing_of_this_one() -> None:
    for path in WORKER.parent.glob("*.py"):
        assert "import dramaturg" not in path.read_text(encoding="utf-8")
        assert "from dramaturg" not in path.read_text(encoding="utf-8")
    assert os.access(WORKER, os.R_OK)
