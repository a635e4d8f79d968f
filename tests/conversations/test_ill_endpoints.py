"""Every method with an endpoint that is ill in every way, at both doors: what it does, and what it leaves to be done.

Whatever the fault, there is no traceback and no key in what is said, a reply is whole or there is none, and a turn that
was not answered is finished when the endpoint is well. Turns keep their deadline: a fault without an end has none, and
nothing else would end a turn that meets it before the test is given up.
"""

import asyncio
import io
import re
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import pytest
from all_methods import whole_role
from ill_endpoint import ALL_FAULTS, REPLIES, WITHOUT_END, IllEndpoint, ill_endpoint

from dramaturg.cli.app import main
from dramaturg.conversations.conversation import Conversation
from dramaturg.conversations.opening import open_conversation
from dramaturg.models.servers import connections
from dramaturg.nodes.run import RoleContext
from dramaturg.workflows.methods import METHODS, flow

from fault_server import SECRET

T = TypeVar("T")
QUESTION = "Do storms make you afraid, and what does Tom say of it?"
WELL: dict[str, float] = {"deadline": 3600, "turn_deadline": 3600}
WAITING: dict[str, float] = {"deadline": 3600, "turn_deadline": 1}
"""The settings with an endpoint that does not come to an end."""
QUICK = [
    ("amadeus", "503"),
    ("amadeus", "vectors: shorter"),
    ("vanilla", "no end"),
    ("vanilla", "401"),
]
"""A sample."""

# The client library warns of messages that are not made as they should be, before it fails on them.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")


class House(NamedTuple):
    """A library with a role, and the endpoint that its models are at."""

    library: Path
    endpoint: IllEndpoint
    prepared: set[str]

    @property
    def settings(self) -> dict[str, float]:
        return WAITING if self.endpoint.fault in WITHOUT_END else WELL

    def context(self, method: str) -> RoleContext:
        return flow(method).context(role="ada", library=str(self.library), **self.settings)

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
        # What is sent again is told by tests of its own.
        patch.setattr(connections, "RETRIES", 0)
        yield House(library, endpoint, set())


def by_conversation(house: House, method: str, fault: str) -> None:
    """Take a turn in process, and finish it when the endpoint is well."""
    thread = f"api {uuid4()}"
    house.endpoint.fault = fault
    output, error = None, None
    try:
        output = house.run(method, thread, lambda talk: talk.take_turn(QUESTION))
    except (ValueError, RuntimeError) as caught:
        error = caught
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


def by_command(house: House, method: str, fault: str) -> None:
    """Take a turn in a chat, and finish it in another one when the endpoint is well."""
    thread = f"command {uuid4()}"

    def chat(*typed: str) -> tuple[int, str]:
        """Chat with these lines; gives the exit code, and what was printed."""
        lines, said, code = iter([*typed, "/quit"]), io.StringIO(), 0
        options = [part for name, value in house.settings.items() for part in ("--set", f"{name}={value}")]
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
            patch.setattr("rich.console.Console.input", lambda *_: next(lines))
            patch.setattr(sys, "argv", ["dramaturg", "chat", "ada", "--method", method, "--thread", thread, *options])
            try:
                main()
            except SystemExit as ended:
                code = int(str(ended.code or 0))
        return code, said.getvalue()

    house.endpoint.fault = fault
    code, said = chat(QUESTION, "/evidence")
    house.endpoint.fault = ""
    again_code, again = chat("/retry") if "/retry" in said else (0, said)
    assert (code, again_code) == (0, 0)
    for text in (said, again):
        assert "Traceback" not in text
        assert SECRET not in text
    assert any(reply in again for reply in REPLIES)
    turns = house.run(method, thread, lambda talk: talk.history())
    assert len(turns) == 1
    assert turns[0].reply in REPLIES


DOORS = {"api": by_conversation, "command": by_command}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("method", "fault"), QUICK)
def test_a_sample(house: House, method: str, fault: str, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    house.prepare(method, monkeypatch)
    DOORS[door](house, method, fault)


@pytest.mark.crash
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", ALL_FAULTS)
def test_every_method(house: House, fault: str, door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each method meets each fault at one of the doors, and each fault half of the methods at each.

    HTTP's statuses are sixty of the faults and differ in what our client makes of them, which tests/models tell: each
    method meets a third of these, and each of these a third of the methods.
    """
    failed = {}
    at, status = [*ALL_FAULTS].index(fault), re.search(r"\b[45]\d\d\b", fault)
    for number, method in enumerate(METHODS):
        if (number + at + [*DOORS].index(door)) % 2 or (status and (number // 2 + at) % 3):
            continue
        house.prepare(method, monkeypatch)
        try:
            DOORS[door](house, method, fault)
        except AssertionError as error:
            failed[method] = error
    assert failed == {}


INDEXING = ("400", "401", "503", "html", "null", "choices empty", "no end", "not UTF-8", "empty")
INDEXING += ("vectors: 503", "vectors: html", "vectors: zeros", "vectors: NaN", "vectors: one too few", "vectors: null")


@pytest.mark.crash
@pytest.mark.parametrize("fault", INDEXING)
def test_a_role_that_is_indexed_in_the_turn(house: House, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = {}
    for method in ("amadeus", "role-rag", "emotional-rag", "drmr", "naive-rag", "crag", "graph-rag-local", "ensemble"):
        library = house.library.parent / f"{method} {fault}".replace(":", "")
        whole_role(library)
        one = House(library, house.endpoint, {method})
        one.prepare(method, monkeypatch)
        try:
            by_conversation(one, method, fault)
        except AssertionError as error:
            failed[method] = error
    assert failed == {}
