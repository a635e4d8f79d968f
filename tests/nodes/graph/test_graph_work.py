"""What indexing a graph takes: the same graph in whatever order answers come, each class made once, calls at once."""

import asyncio
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from dramaturg.nodes import asking, index_steps
from dramaturg.testing import ScriptedChatModel

from graph_roles import DOG, LIFE, WORK, graph_actor, graph_role, index
from kept_forms import nothing_more_kept
from passage_samples import quick
from stub_endpoint import Handler, endpoint

DOCUMENTS = {"life": LIFE, "work": WORK, "dog": DOG}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    quick(monkeypatch)


class Unsteady(ScriptedChatModel):
    """Answers as another model does, and each question some turns of the event loop later than the last."""

    drawn: Any

    async def _agenerate(self, messages: list[BaseMessage], *rest: Any, **named: Any) -> ChatResult:
        for _ in range(self.drawn.randint(0, 40)):
            await asyncio.sleep(0)
        return await super()._agenerate(messages, *rest, **named)


def unsteady(seed: int) -> Unsteady:
    actor = graph_actor()
    says = lambda call: actor.reply(list(call.messages))  # noqa: E731
    return Unsteady(
        drawn=random.Random(seed), log_probabilities=True, extract=says, decide=says, choose=says, write=says
    )


@pytest.mark.parametrize("how", [{}, {"pairs_at_once": 3, "reasons": True}], ids=["one", "several"])
async def test_the_version_is_the_same_in_whatever_order_answers_come(tmp_path: Path, how: dict[str, Any]) -> None:
    made = set()
    for seed, at_once in ((0, 1), (1, 3), (2, 16)):
        role = graph_role(tmp_path / str(seed), **DOCUMENTS)
        report = await index(role, unsteady(seed), concurrency=at_once, **how)
        made.add(report["version"])  # a digest of passages, graph, vectors and answers
    assert len(made) == 1


async def test_an_index_that_is_made_again_leaves_no_form_of_an_answer_in_memory(tmp_path: Path) -> None:
    role = graph_role(tmp_path, **DOCUMENTS)
    for _ in range(2):
        await index(role, wishes={"rebuild": True}, pairs_at_once=3)
    with nothing_more_kept():
        await index(role, wishes={"rebuild": True}, pairs_at_once=3)


async def test_an_endpoint_is_sent_as_many_calls_for_vectors_as_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_steps, "BATCH", 1)
    at_once = list[int]()
    opened, lock, four = 0, threading.Lock(), threading.Event()

    def slowly(handler: Handler) -> None:
        nonlocal opened
        with lock:
            opened += 1
            at_once.append(opened)
            if opened == 4:
                four.set()
        if len(at_once) > 1:  # the first comes alone
            four.wait(60)
        time.sleep(0.05)  # in which a fifth would come
        with lock:
            opened -= 1
        handler.answer(handler.body)

    with endpoint() as server:
        server.faults["embeddings"] = slowly
        for name, value in server.variables().items():
            monkeypatch.setenv(name, value)
        await index(graph_role(tmp_path, **DOCUMENTS), concurrency=4, embedding_model="openai:words")
    assert max(at_once) == 4
    assert len(at_once) == len(server.asked)


async def test_no_more_questions_are_begun_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "IN_WORK", 3)
    begun, most, kept, done = set[str](), 0, dict[str, Any](), list[int]()

    async def ask(question: str) -> dict[str, Any]:
        nonlocal most
        begun.add(question)
        most = max(most, len(begun))
        await asyncio.sleep(0)
        begun.remove(question)
        return {question: question}

    async def keep(answers: Any) -> None:
        kept.update(answers)

    questions = {str(at): str(at) for at in range(100)}
    await asking.answer_all(questions, ask, keep=keep, announce=done.append)
    assert (most, kept, done) == (3, questions, [*range(101)])
