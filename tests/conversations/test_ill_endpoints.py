"""Every method with an endpoint that is ill in every way, at both doors: what it does, and what it leaves to be done.

Whatever the fault, there is no traceback and no key in what is said, a reply is whole or there is none, and a turn that
was not answered is finished when the endpoint is well. Turns keep their deadline.
"""

import asyncio
import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
from all_methods import whole_role
from ill_endpoint import ALL_FAULTS, REPLIES, IllEndpoint, ill_endpoint

from dramaturg.cli.app import main
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.models import client, embeddings
from dramaturg.nodes.run import RoleContext
from dramaturg.workflows.methods import METHODS, flow

from fault_server import SECRET

T = TypeVar("T")
QUESTION = "Do storms make you afraid, and what does Tom say of it?"
DEADLINE = 0.5  # of a question
TURN_DEADLINE = 3.0
SETTINGS = {"deadline": DEADLINE} | (
    {"turn_deadline": TURN_DEADLINE} if "turn_deadline" in RoleContext.model_fields else {}
)
GRACE = 2.0  # seconds that a turn may take beyond its deadline
QUICK = [
    ("amadeus", "503"),
    ("amadeus", "vectors: shorter"),
    ("vanilla", "no end"),
    ("vanilla", "401"),
    ("vanilla", "html"),
    ("naive-rag", "reset in the middle"),
]
"""A sample."""
MATRIX = [
    pytest.param(method, fault, marks=[] if (method, fault) in QUICK else [pytest.mark.crash])
    for method in METHODS
    for fault in ALL_FAULTS
]

pytestmark = [
    # The client library warns of messages that are not made as they should be, before it fails on them.
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.parametrize(("method", "fault"), MATRIX),
]


class House(NamedTuple):
    """A library with a role, and the endpoint that its models are at."""

    library: Path
    endpoint: IllEndpoint
    prepared: set[str]

    def context(self, method: str) -> RoleContext:
        return flow(method).context(role="ada", library=str(self.library), **SETTINGS)

    def run(self, method: str, thread: str, act: Callable[[Conversation], Coroutine[Any, Any, T]]) -> T:
        """Do something on a thread."""

        async def opened() -> T:
            async with open_conversation(method, self.context(method), thread) as talk:
                return await act(talk)

        return asyncio.run(opened())

    def prepare(self, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have everything indexed, and the endpoint well."""
        for name, value in {**self.endpoint.variables(), "DRAMATURG_LIBRARY": str(self.library)}.items():
            monkeypatch.setenv(name, value)
        self.endpoint.fault = ""
        if method not in self.prepared:
            self.prepared.add(method)
            self.run(method, "", lambda talk: talk.take_turn(QUESTION))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    library = tmp_path_factory.mktemp("library")
    whole_role(library)
    with pytest.MonkeyPatch.context() as patch, ill_endpoint() as endpoint:
        for module in (client, embeddings):  # what the client library does again is told by its own tests
            patch.setattr(module, "RETRIES", 0)
        patch.setattr(embeddings, "TIMEOUT", DEADLINE)
        yield House(library, endpoint, set())


def kept(began: float, fault: str) -> bool:
    """Whether a turn has kept its deadline."""
    return "turn_deadline" not in SETTINGS or time.monotonic() - began < TURN_DEADLINE + GRACE


def test_in_process(house: House, method: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    house.prepare(method, monkeypatch)
    thread = f"api {method} {fault}"
    house.endpoint.fault, began = fault, time.monotonic()
    output, error = None, None
    try:
        output = house.run(method, thread, lambda talk: talk.take_turn(QUESTION))
    except (ValueError, RuntimeError) as caught:
        error = caught
    assert kept(began, fault)
    house.endpoint.fault = ""
    turns = house.run(method, thread, lambda talk: talk.history())
    if output is not None:
        assert [turn.reply for turn in turns] == [output["messages"][-1].text]
        assert SECRET not in str(output)
    else:
        assert error is not None
        assert SECRET not in "".join(traceback.format_exception(error))
        assert turns == []
        assert house.run(method, thread, lambda talk: talk.unfinished())
        output = house.run(method, thread, lambda talk: talk.finish())
        assert len(house.run(method, thread, lambda talk: talk.history())) == 1
    assert output["messages"][-1].text in REPLIES
    assert house.run(method, thread, lambda talk: talk.unfinished()) is None


def test_by_the_command(
    house: House, method: str, fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*typed: str) -> tuple[int, str]:
        """Chat with these lines; gives the exit code, and what was printed."""
        lines = iter([*typed, "/quit"])
        monkeypatch.setattr("rich.console.Console.input", lambda *_: next(lines))
        options = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
        arguments = ["chat", "ada", "--method", method, "--thread", f"command {method} {fault}", *options]
        monkeypatch.setattr(sys, "argv", ["dramaturg", *arguments])
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        said = capsys.readouterr()
        return int(str(code)), said.out + said.err

    house.prepare(method, monkeypatch)
    house.endpoint.fault, began = fault, time.monotonic()
    code, said = command(QUESTION, "/evidence")
    assert kept(began, fault)
    house.endpoint.fault = ""
    again_code, again = command("/retry") if "/retry" in said else (0, said)
    assert (code, again_code) == (0, 0)
    for text in (said, again):
        assert "Traceback" not in text
        assert SECRET not in text
    assert any(reply in again for reply in REPLIES)
    turns = house.run(method, f"command {method} {fault}", lambda talk: talk.history())
    assert len(turns) == 1
    assert turns[0].reply in REPLIES
